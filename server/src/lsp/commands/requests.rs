//! The custom requests of Backstitch's own clients. Their answers have the shapes of the command line's JSON. Makes
//! no decisions.

use std::sync::Arc;

use backstitch_core::model::Kind;
use backstitch_core::{By, Engine, LogFilter, ReviewDocument, ReviewFile, ReviewSelection};
use backstitch_protocol::{
    AgentSession, AgentTurn, BlameResult, BlameRun, ChangedFile, CheckpointParams,
    CheckpointResult, DiffParams, DiffResult, PlanParams, PlanResult, PlannedText, ReviewParams,
    ReviewResult, SessionsResult, Text, TimelineParams, TimelineResult, Where, Words, WrittenBy,
};

use super::restore::{self, RestoreCommand};
use crate::file_changes::FileChange;
use crate::host::workspace::WriteAccess;
use crate::lsp::documents::blame_groups::{self, LineMap};
use crate::lsp::documents::hunk_selection;
use crate::lsp::documents::position::Encoding;
use crate::lsp::documents::spans;
use crate::lsp::features::views;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::handler::targets;
use crate::lsp::messages::refusal;
use crate::lsp::session::ServerState;
use crate::lsp::verb::Verb;
use crate::to_protocol;

/// Default number of rows of a page.
const DEFAULT_PAGE: usize = 200;
/// Maximum number of rows of a page.
const MAX_PAGE: usize = 100_000;

pub async fn timeline(server: &ServerState, params: TimelineParams) -> Reply<TimelineResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let path = params.uri.as_deref().map(|uri| targets::path(&handle, uri));
    let path = path.transpose()?;
    let kind = params.kind.as_deref().map(|name| {
        let mut all = Kind::ALL.into_iter();
        all.find(|kind| kind.name() == name)
            .ok_or_else(|| Failure::usage(refusal::no_kind(name)))
    });
    let kind = kind.transpose()?;
    let root = to_protocol::text(handle.root().as_os_str().as_encoded_bytes());
    let workspace = root.clone();
    let answered = handle.ask(move |engine| {
        let before = params
            .before
            .as_deref()
            .map(|rev| engine.history().resolve(rev));
        let limit = params.limit.unwrap_or(DEFAULT_PAGE).min(MAX_PAGE);
        let mut entries = engine.history().log(&LogFilter {
            limit: Some(limit + 1),
            before: before.transpose()?,
            session: params.session.map(String::from),
            agent: params.agent.map(String::from),
            path,
            text: params.text,
            kind,
            branch: params.branch.map(String::from),
            all_branches: params.all_branches.unwrap_or_default(),
            ..LogFilter::default()
        })?;
        let more = entries.len() > limit;
        entries.truncate(limit);
        Ok(TimelineResult {
            workspace,
            checkpoints: entries.iter().map(to_protocol::checkpoint).collect(),
            branches: engine
                .history()
                .branches()?
                .iter()
                .map(to_protocol::branch)
                .collect(),
            head: engine.history().head()?.map(|head| head.to_string()),
            branch: engine.history().branch_name()?,
            more,
            at_work: (engine.capture().at_work()?.iter())
                .map(to_protocol::at_work)
                .collect(),
        })
    });
    match answered.await {
        Err(backstitch_core::Error::NoStore(_)) => Ok(TimelineResult {
            workspace: root,
            checkpoints: Vec::new(),
            branches: Vec::new(),
            head: None,
            branch: "main".to_owned(),
            more: false,
            at_work: Vec::new(),
        }),
        answered => Ok(answered?),
    }
}

pub async fn checkpoint(server: &ServerState, params: CheckpointParams) -> Reply<CheckpointResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let answered = handle.ask(move |engine| {
        let node = engine.history().resolve(&params.rev)?;
        let checkpoint = to_protocol::checkpoint(&engine.history().entry(node)?);
        let steps = engine.history().turn_steps(node)?.into_iter();
        let steps = steps.map(|step| Ok(to_protocol::checkpoint(&engine.history().entry(step)?)));
        Ok(CheckpointResult {
            checkpoint,
            steps: steps.collect::<backstitch_core::Result<_>>()?,
        })
    });
    Ok(answered.await?)
}

/// Returns hunks with line ranges on both sides, and the words that differ.
pub async fn diff(server: &ServerState, params: DiffParams) -> Reply<DiffResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let path = params.uri.as_deref().map(|uri| targets::path(&handle, uri));
    let path = path.transpose()?;
    let (from, target) = (
        params.from.to_string(),
        views::DiffTarget::read(params.to.as_deref(), &server.documents, &handle),
    );
    let to = target.name();
    let encoding = server.client.features().encoding;
    let answered = handle.act(false, move |WriteAccess { engine, .. }| {
        let files = views::changed(engine, &params.from, &target, path.as_ref())?;
        let since = match target {
            views::DiffTarget::Rev(_) => Vec::new(),
            _ => engine
                .reviews()
                .kept_since(engine.history().resolve(&params.from)?, path.as_ref())?,
        };
        let shape = |file: &FileChange| {
            let mut shape = with_words(file, encoding);
            if let Some(kept) = since.iter().find(|kept| file.is_of(kept)) {
                shape.shown = Some(to_protocol::shown_state(kept.shown));
                if let Some(base) = &kept.base {
                    file.mark_kept(base, &mut shape);
                }
            }
            shape
        };
        Ok(files.iter().map(shape).collect::<Vec<_>>())
    });
    Ok(DiffResult {
        from,
        to,
        files: answered.await?,
    })
}

fn with_words(file: &FileChange, encoding: Encoding) -> ChangedFile {
    let mut file = file.shape();
    for hunk in &mut file.hunks {
        let plain = |line| Text::plain(line).unwrap_or_default();
        let removed_lines: Vec<&str> = hunk.removed.iter().map(plain).collect();
        let added_lines: Vec<&str> = hunk.added.iter().map(plain).collect();
        let (removed, added) = spans::of(&removed_lines, &added_lines, encoding);
        hunk.words = Some(Words { removed, added });
    }
    file
}

/// Returns the plan of a restore.
pub async fn plan(server: &Arc<ServerState>, typed: PlanParams) -> Reply<PlanResult> {
    let choices = typed.choices();
    let handle = targets::workspace_handle(server, &typed.place())?;
    let (verb, rev) = if let Some(branch) = typed.branch {
        let carry = typed.carry.unwrap_or_default();
        (Verb::Switch { carry }, Some(branch))
    } else if let Some(rev) = typed.turn.or(typed.step) {
        (Verb::Revert, Some(rev))
    } else if let Some(rev) = typed.rev {
        (Verb::Rewind, Some(rev))
    } else if typed.redo == Some(true) {
        (Verb::Redo, None)
    } else {
        // `undo` or `op`, since the arguments were checked
        (Verb::Undo, typed.op)
    };
    let mut job = RestoreCommand::new(
        server,
        handle.clone(),
        verb,
        rev.map(String::from),
        &choices,
    )?;
    let mut hunks = None;
    if let (Some(uri), Some(lines)) = (&typed.uri, typed.lines) {
        let (first, end) = *lines;
        job = job.at_lines(server, uri, first..end).await?;
        hunks = Some(job.hunks().to_vec());
    }
    let shown = restore::plan(server, &job).await?;
    let texts = if typed.texts.unwrap_or_default() {
        let plan = shown.plan.clone();
        let decided = if plan.open_conflicts() > 0 {
            Some(restore::plan_for_target(server, &job).await?.plan)
        } else {
            None
        };
        let texts = handle.ask(move |engine| {
            let mut texts = views::planned(engine, &plan);
            // files in conflict, as they would be with the target's lines
            let decided = decided.map(|plan| views::planned(engine, &plan));
            let is_new = |text: &PlannedText| texts.iter().all(|known| known.path != text.path);
            let more: Vec<_> = decided.into_iter().flatten().filter(is_new).collect();
            texts.extend(more);
            Ok(texts)
        });
        Some(texts.await?)
    } else {
        None
    };
    Ok(PlanResult {
        texts,
        hunks,
        empty: shown.plan.is_empty(),
        exact: job.is_exact(),
        summary: shown.after_first(),
        sentence: shown.sentences.first,
        other_sessions: shown.leaves_other_sessions,
        plan: shown.document,
        title: shown.title,
    })
}

/// Returns the author of each line of an open document, unsaved text included.
pub async fn blame(server: &ServerState, uri: &str) -> Reply<BlameResult> {
    let Some((document, history)) = server.history(uri).await? else {
        return Ok(BlameResult {
            version: None,
            runs: Vec::new(),
            checkpoints: None,
        });
    };
    let place = LineMap::of(&history.blame, &document.text);
    let run = |run| lines(run, &place);
    Ok(BlameResult {
        version: Some(document.version),
        runs: history.blame.runs.iter().map(run).collect(),
        checkpoints: Some(history.checkpoints),
    })
}

fn lines(run: &backstitch_core::BlameRun, place: &LineMap) -> BlameRun {
    let start = place.line(run.start - 1);
    let end = place.line(run.start - 1 + run.count);
    let author = &run.author;
    let work = blame_groups::work(author);
    let turn = work.and_then(|work| work.turn.as_ref());
    let by = match &author.by {
        By::Agent(_) => WrittenBy::Agent,
        By::User => WrittenBy::User,
        By::Unsaved => WrittenBy::Unsaved,
        By::Unknown => WrittenBy::Unknown,
        By::Before => WrittenBy::Before,
    };
    BlameRun {
        by,
        checkpoint: author.node.map(|id| id.to_string()),
        time: author.time.map(to_protocol::time),
        agent: work.map(|w| w.session.agent.clone()),
        session: work.map(|w| w.session.native.clone()),
        letter: work.map(|w| w.session.id.letter()),
        certainty: work.map(|w| to_protocol::certainty(w.session_certainty)),
        turn: turn.map(|t| format!("t{}", t.number)),
        prompt: turn.map(|t| t.prompt.clone()),
        tool: work.and_then(|w| w.tool.clone()),
        iteration: work.and_then(|w| w.iteration),
        start,
        count: end - start,
    }
}

/// One of the actions of a review.
type ReviewWork = fn(&mut Engine, &ReviewSelection) -> backstitch_core::Result<Vec<ReviewFile>>;

/// Returns the work that is not reviewed, or marks it as reviewed.
pub async fn review(server: &ServerState, params: ReviewParams) -> Reply<ReviewResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let path = params.uri.as_deref().map(|uri| targets::path(&handle, uri));
    let path = path.transpose()?;
    let work: ReviewWork = match params.action.as_deref() {
        None | Some("none") => |engine, selection| engine.reviews_mut().review(selection),
        Some("keep") => |engine, selection| engine.reviews_mut().keep_reviewed(selection),
        Some("unkeep") => |engine, selection| engine.reviews_mut().unkeep_reviewed(selection),
        Some(other) => return Err(Failure::usage(refusal::no_action(other))),
    };
    let is_keep = params.action.as_deref() == Some("keep");
    let with_hunks = path.is_some();
    let shown = params.shown.as_deref().map(|name| {
        to_protocol::read_shown_state(name).ok_or_else(|| Failure::usage(refusal::no_state(name)))
    });
    let document = params.uri.as_deref();
    let document = document.and_then(|uri| server.documents.get(uri));
    let edited = document.as_ref().and_then(|document| {
        Some(ReviewDocument {
            text: document.as_saved()?,
            // a list is about the newest state
            base: document.base().filter(|_| is_keep),
        })
    });
    let lines = params.lines.map(|lines| {
        let (first, end) = *lines;
        match &document {
            Some(document) => {
                let lines = hunk_selection::in_text(&document.text, &(first..end));
                // lines that are gone
                lines.start..if first == end { lines.start } else { lines.end }
            }
            None => first..end,
        }
    });
    let mut selection = ReviewSelection {
        paths: path.into_iter().collect(),
        lines,
        document: edited,
        since: None,
        shown: shown.transpose()?,
    };
    let answered = handle.act(false, move |WriteAccess { engine, .. }| {
        let since = params
            .since
            .as_deref()
            .map(|rev| engine.history().resolve(rev));
        selection.since = since.transpose()?;
        let files = work(engine, &selection)?;
        let files = files.iter();
        Ok(files
            .map(|file| to_protocol::review_file(file, with_hunks))
            .collect())
    });
    match answered.await {
        Err(backstitch_core::Error::NoStore(_)) => Ok(ReviewResult { files: Vec::new() }),
        answered => Ok(ReviewResult { files: answered? }),
    }
}

/// Returns the sessions of the newest turns, newest first.
pub async fn sessions(server: &ServerState, here: &Where) -> Reply<SessionsResult> {
    let handle = targets::workspace_handle(server, here)?;
    let entries = handle.ask(|engine| {
        engine.history().log(&LogFilter {
            kind: Some(Kind::Turn),
            all_branches: true,
            limit: Some(1000),
            ..LogFilter::default()
        })
    });
    let entries = match entries.await {
        Err(backstitch_core::Error::NoStore(_)) => Vec::new(),
        entries => entries?,
    };
    let mut sessions: Vec<AgentSession> = Vec::new();
    for entry in &entries {
        let (Some(of), Some(turn)) = (&entry.session, &entry.turn) else {
            continue;
        };
        let turn = AgentTurn {
            turn: format!("t{}", turn.number),
            prompt: turn.prompt.clone(),
            checkpoint: entry.node.id.to_string(),
            time: to_protocol::time(entry.node.time),
        };
        match sessions.iter_mut().find(|s| s.session == of.native) {
            Some(session) => {
                session.agent.clone_from(&of.agent);
                session.turns.push(turn);
            }
            None => sessions.push(AgentSession {
                session: of.native.clone(),
                letter: of.id.letter(),
                agent: of.agent.clone(),
                turns: vec![turn],
            }),
        }
    }
    Ok(SessionsResult { sessions })
}
