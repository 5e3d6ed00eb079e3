//! A restore as typed, and its plan as it is shown.

use backstitch_core::model::{Kind as ModelKind, NodeId};
use backstitch_core::restore::{Goal, Plan, Request};
use serde_json::{Value, json};

use crate::cli::context::CommandContext;
use crate::cli::restore::conversation::ConversationRun;
use crate::cli::restore::options::ConfirmArgs;
use crate::cli::restore::plan;
use crate::render::{self, YELLOW};
use crate::restore_plan::ShownPlan;
use crate::terminal::error::CliResult;

/// A restore as typed, before it is planned.
pub struct RestoreRun<'a> {
    pub request: Request,
    /// The head before the disk was scanned.
    pub before: Option<NodeId>,
    /// The target as typed.
    pub rev: Option<String>,
    pub options: &'a ConfirmArgs,
    /// True if the user has said that uncertain changes stay.
    pub keeps_uncertain: bool,
    /// The conversation that goes back with the files.
    pub conversation: Option<ConversationRun>,
}

/// The user's edits that the scan before a switch recorded on the current branch.
struct RecordedBefore {
    node: NodeId,
    files: usize,
    branch: String,
}

impl RecordedBefore {
    fn find(context: &CommandContext, job: &RestoreRun, plan: &Plan) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut at = Some(plan.head).filter(|_| switches_branch(job, plan));
        while let Some(id) = at.filter(|id| Some(*id) != job.before) {
            let entry = context.engine.history().entry(id).ok()?;
            if entry.node.kind == ModelKind::External && !entry.changes.is_empty() {
                let one = found.get_or_insert(Self {
                    node: id,
                    files: 0,
                    branch: entry.branch,
                });
                one.files += entry.changes.len();
            }
            at = entry.node.parent;
        }
        found
    }

    fn text(&self) -> String {
        let files = render::plural(self.files, "file", "files");
        format!(
            "your edits in {files} were recorded as {} on {}\n",
            self.node,
            render::clean(&self.branch)
        )
    }
}

/// Adds the checkpoint that the scan recorded to the JSON answer.
pub fn answer(
    context: &CommandContext,
    job: &RestoreRun,
    plan: &Plan,
    mut document: Value,
) -> Value {
    if let Some(recorded) = RecordedBefore::find(context, job, plan) {
        document["recorded"] = json!(recorded.node.to_string());
    }
    if let Some(conversation) = &job.conversation {
        document["conversation"] = conversation.json();
    }
    document
}

/// Prints the plan, after the edits that were recorded before it.
pub fn show(context: &CommandContext, job: &RestoreRun, shown: &ShownPlan) -> CliResult<()> {
    if context.out.json {
        return Ok(());
    }
    if let Some(recorded) = RecordedBefore::find(context, job, &shown.plan) {
        context
            .out
            .text(&context.out.paint.on(YELLOW, &recorded.text()))?;
    }
    let text = plan::text(&context.engine, shown, context.out.paint);
    context.out.text(&text)?;
    match &job.conversation {
        Some(conversation) => conversation.show(context),
        None => Ok(()),
    }
}

/// Plans the restore.
pub fn look(context: &mut CommandContext, job: &RestoreRun) -> CliResult<ShownPlan> {
    let plan = context.engine.restore_mut().plan(&job.request)?;
    about(context, job, plan)
}

/// Adds to a plan everything that is shown about it.
pub fn about(context: &CommandContext, job: &RestoreRun, plan: Plan) -> CliResult<ShownPlan> {
    let (engine, rev) = (&context.engine, job.rev.as_deref());
    Ok(ShownPlan::of(engine, &job.request, plan, rev)?)
}

/// True if another branch is current afterwards.
pub fn switches_branch(job: &RestoreRun, plan: &Plan) -> bool {
    plan.is_switch() || matches!(job.request.goal, Goal::Switch { .. } | Goal::Fork { .. })
}
