//! The plan of a rewind and its execution: the same as the command line's.

use std::fmt::Write as _;

use backstitch_core::Engine;
use backstitch_core::restore::{Goal, OnConflict, Plan, Request, Scope};
use backstitch_core::{Hint, LAST_TURN};
use backstitch_protocol::PredictedFile;
use serde_json::{Value, json};

use super::access::WorkspaceAccess;
use super::answer::{ToolAnswer, ToolError, ToolResult};
use super::arguments::{Conflicts, RewindArguments, Uncertain};
use super::{bounds, hints, history};
use crate::control::predict::MAX_PREDICTED;
use crate::control::proposal::MAX_SHOWN;
use crate::file_changes::FileChange;
use crate::query::revs;
use crate::render;
use crate::restore_plan::{self, ShownPlan};
use crate::restore_words;
use crate::to_protocol;

const REST: &str = "`paths` limits the rewind to some files";
/// Maximum number of files that a proposal shows with their changes.
const MAX_FILES: usize = 500;

/// A rewind that can be carried out.
#[derive(Clone, Debug)]
pub struct PlannedRewind {
    pub request: Request,
    /// The target as the agent named it.
    pub rev: Option<String>,
    pub shown: ShownPlan,
}

impl PlannedRewind {
    /// Plans a rewind as `backstitch rewind --dry-run` does. Open conflicts are an error that has the plan.
    pub fn of(
        engine: &mut Engine,
        access: &WorkspaceAccess,
        arguments: &RewindArguments,
    ) -> Result<Self, ToolError> {
        let exact = arguments.exact == Some(true);
        if arguments.all_sessions && (arguments.session.is_some() || exact) {
            return Err(
                ToolError::usage("`all_sessions` excludes `session` and `exact`")
                    .hint("leave one of them out"),
            );
        }
        let mut request = Request {
            scope: Scope::Code,
            exact: arguments
                .exact
                .unwrap_or_else(|| engine.config().rewinds_exactly()),
            session: arguments.session.clone(),
            all_sessions: arguments.all_sessions,
            paths: access.paths(engine, &arguments.paths)?,
            hunks: arguments.hunks.clone(),
            take_uncertain: matches!(arguments.uncertain, Uncertain::Take),
            on_conflict: match arguments.on_conflict {
                Conflicts::Fail => OnConflict::Fail,
                Conflicts::Markers => OnConflict::Markers,
                Conflicts::Current => OnConflict::Current,
                Conflicts::Target => OnConflict::Target,
            },
            ..Request::new(Goal::Redo)
        };
        let target = match arguments.rev.as_deref() {
            None | Some(LAST_TURN) => restore_plan::last_turn(engine, &request)?.start,
            Some(rev) => revs::node_now(engine, rev)?,
        };
        request.goal = Goal::Rewind(target);
        let plan = engine.restore_mut().plan(&request)?;
        let rev = arguments.rev.clone();
        let shown = ShownPlan::of(engine, &request, plan, rev.as_deref())?;
        let planned = Self {
            request,
            rev,
            shown,
        };
        let open = planned.shown.plan.open_conflicts();
        if open > 0 {
            let files = render::plural(open, "file", "files");
            return Err(
                ToolError::conflict(format!("conflicts in {files}; nothing was changed"))
                    .hint(hints::text(&Hint::Decide))
                    .document(json!({ "plan": planned.document() })),
            );
        }
        Ok(planned)
    }

    pub fn plan(&self) -> &Plan {
        &self.shown.plan
    }

    /// The plan as the command line has it, with its title and summary.
    pub fn document(&self) -> Value {
        let mut document = to_protocol::value(&self.shown.document);
        document["title"] = json!(self.title());
        document["summary"] = json!(self.shown.sentences.after_title);
        bounds::trim(&mut document, REST);
        document
    }

    /// For example `rewind to before “Add a cart”`.
    pub fn title(&self) -> String {
        restore_words::noun(&self.shown.subject)
    }

    /// The plan in lines.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.title());
        for sentence in &self.shown.sentences.after_title {
            writeln!(text, "  {sentence}").ok();
        }
        for action in &self.shown.document.actions {
            let letter = action.letter.as_deref().unwrap_or(" ");
            let path = history::shown_text(&action.path);
            let counts = match (action.added, action.removed) {
                (Some(added), Some(removed)) => format!(" +{added} -{removed}"),
                _ => String::new(),
            };
            writeln!(text, "  {letter} {path}{counts}").ok();
        }
        text
    }

    /// Each file as it is, and as it would be.
    pub fn files(&self, engine: &Engine) -> Vec<PredictedFile> {
        let mut left = MAX_SHOWN;
        let plan = self.plan();
        let actions = plan
            .actions
            .iter()
            .filter(|action| action.before != action.after || action.from.is_some());
        let file = |action| {
            let changed = FileChange::planned_in_editor(engine, plan, action).ok()?;
            let limit = usize::try_from(MAX_PREDICTED)
                .unwrap_or(usize::MAX)
                .min(left);
            let texts = changed.texts(limit);
            let [now, then] = texts.unwrap_or_default();
            let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            left = left.saturating_sub(size(&now) + size(&then));
            let counts = (!changed.is_binary()).then(|| changed.counts());
            let line = now.as_ref().zip(then.as_ref()).and_then(|(now, then)| {
                backstitch_core::diff::first_change(now.as_bytes(), then.as_bytes())
            });
            Some(PredictedFile {
                path: to_protocol::text(&changed.path),
                moved_from: changed.from.as_deref().map(to_protocol::text),
                letter: changed.what.letter().to_string(),
                now,
                then,
                added: counts.map(|counts| counts.0),
                removed: counts.map(|counts| counts.1),
                line,
                certain: true,
                binary: changed.is_binary(),
                fails: false,
                why: None,
            })
        };
        actions.take(MAX_FILES).filter_map(file).collect()
    }
}

/// Carries out exactly the plan with this fingerprint, or nothing.
pub fn apply(
    engine: &mut Engine,
    request: &Request,
    rev: Option<&str>,
    fingerprint: &str,
) -> ToolResult {
    let applied = engine
        .restore_mut()
        .apply(request, Some(fingerprint), &mut |_| {})?;
    let document = restore_plan::applied(engine, request, &applied, rev)?;
    let mut document = to_protocol::value(&document);
    bounds::trim(&mut document, REST);
    let subject = engine.restore().subject(&applied.plan)?;
    engine.tidy();
    let done = restore_words::done(&subject);
    let text = match (applied.node, &applied.operation) {
        (Some(node), Some(operation)) => format!(
            "{done}: checkpoint {node}, {operation}. Read the files again before you continue. The user undoes it with `backstitch undo`.\n"
        ),
        _ => format!("{}\n", restore_words::nothing_done(&applied.plan).text),
    };
    if let Some(left) = restore_plan::incomplete(&applied) {
        return Err(
            ToolError::failed(format!("{done}, but not all of it: {left}"))
                .hint("`diff` shows the state now")
                .document(json!({ "state": "applied", "result": document })),
        );
    }
    Ok(ToolAnswer::new(document, text))
}
