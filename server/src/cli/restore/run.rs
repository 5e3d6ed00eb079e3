//! The course of a restore: shows its plan, asks on a terminal, and carries it out.

use backstitch_core::ConversationRecords;
use backstitch_core::restore::{ActionKind, Applied, Goal};

use crate::cli::context::CommandContext;
use crate::cli::files;
use crate::cli::restore::conversation::show_of_branch;
use crate::cli::restore::job::{RestoreRun, answer, look, show};
use crate::cli::restore::outcome::{
    conflict, finish, is_reached, left_uncertain, nothing, reached, refused,
};
use crate::file_changes::FileChange;
use crate::render::{self, BOLD};
use crate::restore_plan::ShownPlan;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out;
use crate::terminal::questions::{self, Confirmation};
use crate::to_protocol;

/// Runs a restore, or shows its plan alone.
pub fn run(context: &mut CommandContext, mut job: RestoreRun) -> CliResult<()> {
    let calls = context.engine.capture().open_calls()?;
    if calls > 0 {
        let calls = render::plural(calls, "tool call is", "tool calls are");
        let word = format!("an agent is at work: {calls} under way, and may write to these files");
        context.out.note("warning", &word);
    }
    job.before = context.engine.history().head()?;
    if job.options.dry_run {
        let shown = look(context, &job)?;
        return dry_run(context, &job, &shown);
    }
    let mut fingerprint = job.options.plan.clone();
    let asked = !job.options.yes && !context.out.json && questions::can_ask();
    if asked {
        match ask(context, &mut job)? {
            Asked::Confirmed(shown) => fingerprint = fingerprint.or(Some(shown)),
            Asked::NothingToDo => return Ok(()),
        }
    }
    make_conversation(context, &mut job)?;
    let job = &job;
    let mut progress = context.out.progress();
    let outcome =
        context
            .engine
            .restore_mut()
            .apply(&job.request, fingerprint.as_deref(), &mut progress);
    drop(progress);
    settle_conversation(context, job, outcome.as_ref().ok())?;
    match outcome {
        Ok(applied) => {
            finish(context, job, &applied, asked)?;
            match (&job.conversation, &job.request.goal) {
                (Some(conversation), _) => conversation.show_opening(context),
                (None, Goal::Switch { branch, .. }) => show_of_branch(context, branch),
                (None, _) => Ok(()),
            }
        }
        Err(error @ backstitch_core::Error::Conflicts { .. }) => Err(refused(context, job, error)),
        Err(error) => Err(error.into()),
    }
}

/// Makes the conversation of a restore, before its files go back: all that can fail without a change of them.
fn make_conversation(context: &mut CommandContext, job: &mut RestoreRun) -> CliResult<()> {
    if let Some(conversation) = &mut job.conversation {
        let made = conversation.make(context)?;
        if let Some(half) = &mut job.request.conversation {
            half.made = Some(made);
        }
    }
    Ok(())
}

/// Keeps the conversation of a restore whose files are where they should be, or removes it: both halves, or neither.
fn settle_conversation(
    context: &mut CommandContext,
    job: &RestoreRun,
    applied: Option<&Applied>,
) -> CliResult<()> {
    let made = job.conversation.as_ref().and_then(|run| run.made.as_ref());
    let Some(made) = made else {
        return Ok(());
    };
    let is_there = applied.is_some_and(|applied| is_reached(job, applied));
    made.settle(&mut context.engine, applied, is_there)?;
    let is_done = applied.is_some_and(|applied| applied.operation.is_some());
    if let (Goal::Fork { name, .. }, true) = (&job.request.goal, is_done) {
        let branch = context.engine.forks().branch(name)?;
        ConversationRecords::of(&mut context.engine).join_branch(made.id, branch.id)?;
    }
    Ok(())
}

enum Asked {
    /// The fingerprint of the plan that was shown: exactly that one is applied.
    Confirmed(String),
    NothingToDo,
}

/// Shows the plan and asks, until the user has decided.
fn ask(context: &mut CommandContext, job: &mut RestoreRun) -> CliResult<Asked> {
    loop {
        let shown = look(context, job)?;
        if let Some(files) = left_uncertain(job, &shown.plan) {
            show(context, job, &shown)?;
            let question =
                format!("The author of the change in {files} is uncertain. Take it out, too?");
            if questions::ask(&question)? {
                job.request.take_uncertain = true;
            } else {
                job.keeps_uncertain = true;
            }
            continue;
        }
        if let Some(conflict) = conflict(context, job, &shown) {
            show(context, job, &shown)?;
            return Err(conflict);
        }
        if shown.plan.is_empty() && job.conversation.is_none() {
            reached(nothing(context, job, &shown)?)?;
            return Ok(Asked::NothingToDo);
        }
        show(context, job, &shown)?;
        match decision(context, job, &shown)? {
            Confirmation::Yes => return Ok(Asked::Confirmed(shown.plan.fingerprint)),
            Confirmation::No | Confirmation::ShowChanges => return Err(CliError::declined()),
            Confirmation::TheirsToo => job.request.all_sessions = true,
        }
    }
}

/// Asks about a plan that was shown. Its changes are shown where the user asks for them, as often as wanted.
fn decision(
    context: &CommandContext,
    job: &RestoreRun,
    shown: &ShownPlan,
) -> CliResult<Confirmation> {
    // a long plan has scrolled away
    let changed = shown.plan.actions.iter();
    let changed = changed.filter(|action| action.kind != ActionKind::Skip);
    let what = match changed.count() {
        // a switch to a branch with the same files, whose plan shows nothing
        0 => shown.title.clone(),
        count => format!("Change {}", render::plural(count, "file", "files")),
    };
    let question = match shown.plan.git_moved {
        Some(_) => format!("git's HEAD has moved since. {what} anyway?"),
        None => format!("{what}?"),
    };
    let theirs = has_theirs(job, shown);
    loop {
        let answer = questions::ask_about_plan(&question, theirs)?;
        if answer != Confirmation::ShowChanges {
            return Ok(answer);
        }
        let actions = shown.plan.actions.iter();
        let changed = actions.filter(|action| action.kind != ActionKind::Skip);
        let loaded =
            changed.map(|action| FileChange::planned(&context.engine, &shown.plan, action));
        let loaded = loaded.collect::<Result<Vec<_>, _>>()?;
        context.out.page();
        files::patches(&loaded, context.out)?;
        context.out.end_paging()?;
    }
}

/// True if the plan leaves work of other sessions, which it could take along.
fn has_theirs(job: &RestoreRun, shown: &ShownPlan) -> bool {
    let request = &job.request;
    matches!(request.goal, Goal::Rewind(_))
        && !request.all_sessions
        && request.session.is_none()
        && shown.leaves_other_sessions
}

fn dry_run(context: &CommandContext, job: &RestoreRun, shown: &ShownPlan) -> CliResult<()> {
    if let Some(conflict) = conflict(context, job, shown) {
        show(context, job, shown)?;
        return Err(conflict);
    }
    if context.out.json {
        let document = to_protocol::value(&shown.document);
        return out::answer(answer(context, job, &shown.plan, document));
    }
    if shown.plan.is_empty() && job.conversation.is_none() {
        let nothing = nothing(context, job, shown)?;
        if nothing.is_reached {
            return Ok(());
        }
        return context.out.remark(&format!("{}\n", nothing.text));
    }
    show(context, job, shown)?;
    let fingerprint = format!("--plan {}", shown.plan.fingerprint);
    let plan = context.out.paint.on(BOLD, &fingerprint);
    context.out.remark(&format!(
        "Nothing was changed. {plan} applies exactly this plan, or refuses.\n"
    ))
}
