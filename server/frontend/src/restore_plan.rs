//! A plan as people and scripts get it: its document with counts and authors, its title and its summary. Reads the store.

use backstitch_core::restore::{ActionKind, Applied, LastTurn, Plan, PlannedWork, Request};
use backstitch_core::{Engine, OperationSubject, Result};
use backstitch_protocol as protocol;

use crate::file_changes::{Difference, difference};
use crate::render;
use crate::restore_words::{self, PlanSentences};
use crate::to_protocol;

/// Maximum number of files whose lines are counted. A plan of more files is shown without further counts.
const MAX_COUNTED: usize = 2000;

/// A plan and everything that is shown about it.
#[derive(Clone, Debug)]
pub struct ShownPlan {
    pub plan: Plan,
    pub subject: OperationSubject,
    pub document: protocol::Plan,
    /// For example `Rewind to before “Add a cart” (2 min ago)`.
    pub title: String,
    /// Sentences about whose work goes and whose stays.
    pub sentences: PlanSentences,
    pub warning: Option<&'static str>,
    /// True if later work of other sessions stays.
    pub leaves_other_sessions: bool,
    /// True if a tool call of an agent is under way.
    pub is_agent_at_work: bool,
}

impl ShownPlan {
    /// The sentences that follow the title, and the warning after them.
    pub fn after_title(&self) -> Vec<String> {
        self.with_warning(&self.sentences.after_title)
    }

    /// The sentences that follow the first one, and the warning after them.
    pub fn after_first(&self) -> Vec<String> {
        self.with_warning(&self.sentences.others)
    }

    fn with_warning(&self, sentences: &[String]) -> Vec<String> {
        let sentences = sentences.iter().cloned();
        sentences.chain(self.warning.map(str::to_owned)).collect()
    }

    /// `rev`: the target as it was typed.
    pub fn of(engine: &Engine, request: &Request, plan: Plan, rev: Option<&str>) -> Result<Self> {
        let work = engine.restore().planned_work(request, &plan)?;
        let subject = engine.restore().subject(&plan)?;
        let now = jiff::Timestamp::now().as_microsecond();
        let is_moved = plan.actions.iter().any(|a| a.kind != ActionKind::Skip);
        let waits = !plan.conflicts.is_empty() && !is_moved;
        Ok(Self {
            title: restore_words::title(&subject, now),
            sentences: restore_words::sentences(&subject, &work, waits, now),
            warning: restore_words::warning(&work),
            leaves_other_sessions: restore_words::leaves_other_sessions(&subject, &work),
            is_agent_at_work: work.is_agent_at_work,
            document: document(engine, &plan, &work, rev),
            plan,
            subject,
        })
    }
}

/// Returns the document of a restore that was applied.
pub fn applied(
    engine: &Engine,
    request: &Request,
    applied: &Applied,
    rev: Option<&str>,
) -> Result<protocol::Applied> {
    let work = engine.restore().planned_work(request, &applied.plan)?;
    let document = document(engine, &applied.plan, &work, rev);
    Ok(to_protocol::applied(applied, document))
}

/// Finds the agent's last turn within the limits of a request. Changes on disk become a checkpoint first.
pub fn last_turn(engine: &mut Engine, request: &Request) -> Result<LastTurn> {
    engine.capture_mut().record_changes()?;
    engine.restore().last_turn(request)
}

/// Names the files that a restore left out. None: it is complete.
pub fn incomplete(applied: &Applied) -> Option<String> {
    let left = applied.incomplete.iter();
    let left = left.map(|path| format!("{} (changed meanwhile)", render::path(path.bytes())));
    let left: Vec<String> = left.collect();
    let saved = applied.saved.iter();
    let saved: Vec<String> = saved.map(|path| render::path(path.bytes())).collect();
    let mut messages = Vec::new();
    if !left.is_empty() {
        messages.push(format!("left as they were: {}", left.join(", ")));
    }
    if !saved.is_empty() {
        messages.push(format!(
            "another program wrote to a file while it was replaced; its version was saved as {}",
            saved.join(", ")
        ));
    }
    let editor = applied
        .by
        .as_ref()
        .map_or("the editor", |e| e.name.as_str());
    let unconfirmed: Vec<String> = [&applied.not_taken, &applied.awaited]
        .into_iter()
        .flatten()
        .map(|path| render::path(path.bytes()))
        .collect();
    if !unconfirmed.is_empty() {
        messages.push(format!(
            "{} did not show the new text of {}, which waits for a save there",
            render::clean(editor),
            unconfirmed.join(", ")
        ));
    }
    (!messages.is_empty()).then(|| messages.join("; "))
}

fn document(engine: &Engine, plan: &Plan, work: &PlannedWork, rev: Option<&str>) -> protocol::Plan {
    let mut document = to_protocol::plan(plan, work, rev);
    let actions = plan.actions.iter().zip(&mut document.actions);
    for (action, shape) in actions.take(MAX_COUNTED) {
        if action.kind == ActionKind::Skip {
            continue;
        }
        let (letter, difference) = difference(engine, plan, action);
        shape.letter = letter.map(String::from);
        if let Difference::Lines(added, removed) = difference {
            (shape.added, shape.removed) = (Some(added), Some(removed));
        }
    }
    document
}
