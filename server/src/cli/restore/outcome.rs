//! The outcome of a restore: nothing to do, conflicts, files that were left out, and the confirmation.

use std::collections::BTreeSet;

use backstitch_core::restore::{
    ActionKind, Applied, Conflict, Gap, GapKind, Goal, OnConflict, Plan,
};

use crate::cli::context::CommandContext;
use crate::cli::restore::conversation::old_conversation;
use crate::cli::restore::job::{RestoreRun, about, answer, show, switches_branch};
use crate::render::{self, BOLD, GREEN};
use crate::restore_plan::{self, ShownPlan};
use crate::restore_words::{self, NothingDone};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out;
use crate::to_protocol;

/// Shows a plan that changes no file, and says why.
pub fn nothing(
    context: &CommandContext,
    job: &RestoreRun,
    shown: &ShownPlan,
) -> CliResult<NothingDone> {
    show(context, job, shown)?;
    let nothing = nothing_done(job, &shown.plan);
    if nothing.is_reached {
        context.out.remark(&format!("{}\n", nothing.text))?;
    }
    Ok(nothing)
}

/// True if a restore that changed no file has left the files in the state that was asked for.
pub fn is_reached(job: &RestoreRun, applied: &Applied) -> bool {
    nothing_done(job, &applied.plan).is_reached
}

/// Says why a plan changes no file. Uncertain changes that stay as the user has said are not a failure.
fn nothing_done(job: &RestoreRun, plan: &Plan) -> NothingDone {
    let is_kept = |gap: &Gap| job.keeps_uncertain && gap.kind == GapKind::Uncertain;
    if !plan.gaps.iter().any(is_kept) {
        return restore_words::nothing_done(plan);
    }
    let mut decided = plan.clone();
    decided.gaps.retain(|gap| !is_kept(gap));
    let why = "the changes of uncertain origin stay".to_owned();
    decided.nothing = Some(why);
    restore_words::nothing_done(&decided)
}

/// Returns an error if the files do not have the state that was asked for.
pub fn reached(nothing: NothingDone) -> CliResult<()> {
    if nothing.is_reached {
        return Ok(());
    }
    Err(CliError::refused(nothing.text)
        .hint("`--dry-run` shows the plan; `backstitch show` names what was not captured"))
}

/// Returns the error for a plan with open conflicts.
pub fn conflict(context: &CommandContext, job: &RestoreRun, shown: &ShownPlan) -> Option<CliError> {
    let plan = &shown.plan;
    let open = plan.open_conflicts();
    if open == 0 {
        return None;
    }
    Some({
        let files = render::plural(open, "file", "files");
        let mut hint = "--on-conflict markers|current|target resolves them".to_owned();
        let is_open = |c: &&Conflict| c.resolution.is_none();
        let only_fixed = plan.conflicts.iter().filter(is_open).all(|c| c.is_fixed);
        if only_fixed {
            return Some(fixed_files(context, job, shown, &files));
        }
        if job.request.on_conflict != OnConflict::Fail {
            hint = String::from(
                "move away the files that are not in the history: a switch replaces all files or none",
            );
        } else if switches_branch(job, plan) {
            if matches!(job.request.goal, Goal::Switch { carry: true, .. }) {
                hint.push_str("; without --carry your edits stay on this branch");
            }
        } else {
            hint.push_str(", --path restores other files alone");
        }
        if !job.request.exact && matches!(job.request.goal, Goal::Rewind(_)) {
            hint.push_str(", --exact restores exactly the target's state");
        }
        let uncertain = |g: &Gap| g.kind == GapKind::Uncertain;
        if !job.request.take_uncertain && plan.gaps.iter().any(uncertain) {
            hint.push_str(", --uncertain take includes uncertain changes");
        }
        CliError::new(
            ExitKind::Conflict,
            format!("conflicts in {files}; nothing was changed"),
        )
        .hint(hint)
        .answer(answer(
            context,
            job,
            plan,
            to_protocol::value(&shown.document),
        ))
    })
}

/// Returns the error for a plan whose only obstacles are files that cannot be replaced. Its hint has the command that
/// restores the others.
fn fixed_files(
    context: &CommandContext,
    job: &RestoreRun,
    shown: &ShownPlan,
    files: &str,
) -> CliError {
    let plan = &shown.plan;
    let mut others = plan.actions.iter().filter(|a| a.kind != ActionKind::Skip);
    let hint = if switches_branch(job, plan) {
        "a switch replaces all files or none: make the file replaceable, then switch again"
            .to_owned()
    } else if let Some(other) = others.next() {
        let path = render::argument(&render::path(other.path.bytes()));
        format!(
            "--on-conflict current restores all other files and leaves this as it is; --path {path} restores that alone"
        )
    } else {
        "make the file replaceable, then try again; --path names other files to restore".to_owned()
    };
    let document = answer(context, job, plan, to_protocol::value(&shown.document));
    CliError::new(
        ExitKind::Conflict,
        format!("{files} cannot be replaced; nothing was changed"),
    )
    .hint(hint)
    .answer(document)
}

/// Converts a refusal of the engine, and adds the conflicts if they are the reason.
pub fn refused(
    context: &mut CommandContext,
    job: &RestoreRun,
    error: backstitch_core::Error,
) -> CliError {
    let plan = match context.engine.restore_mut().plan(&job.request) {
        Ok(plan)
            if job
                .options
                .plan
                .as_ref()
                .is_none_or(|f| *f == plan.fingerprint) =>
        {
            plan
        }
        _ => return error.into(),
    };
    let shown = match about(context, job, plan) {
        Ok(shown) => shown,
        Err(error) => return error,
    };
    match conflict(context, job, &shown) {
        Some(conflict) => match show(context, job, &shown) {
            Ok(()) => conflict,
            Err(closed) => closed,
        },
        None => error.into(),
    }
}

/// Prints the outcome of a restore that was carried out.
pub fn finish(
    context: &CommandContext,
    job: &RestoreRun,
    applied: &Applied,
    shown: bool,
) -> CliResult<()> {
    let incomplete = incomplete(applied).or_else(|| skipped(job, applied));
    if context.out.json {
        let (engine, rev) = (&context.engine, job.rev.as_deref());
        let document = restore_plan::applied(engine, &job.request, applied, rev)?;
        let document = to_protocol::value(&document);
        let mut document = answer(context, job, &applied.plan, document);
        if let Goal::Switch { branch, .. } | Goal::Fork { name: branch, .. } = &job.request.goal {
            document["branch"] = to_protocol::value(&to_protocol::branch(
                &context.engine.forks().branch(branch)?,
            ));
        }
        let nothing = (applied.node.is_none()).then(|| nothing_done(job, &applied.plan));
        let unreached = nothing.and_then(|nothing| reached(nothing).err());
        return match incomplete.or(unreached) {
            Some(incomplete) => Err(incomplete.answer(document)),
            None => out::answer(document),
        };
    }
    let (Some(node), Some(operation)) = (applied.node, applied.operation) else {
        return match incomplete {
            Some(incomplete) => Err(incomplete),
            None => reached(nothing(
                context,
                job,
                &about(context, job, applied.plan.clone())?,
            )?),
        };
    };
    let about = about(context, job, applied.plan.clone())?;
    if !shown && !context.out.quiet {
        show(context, job, &about)?;
    }
    let paint = context.out.paint;
    let (label, back) = if matches!(job.request.goal, Goal::Undo(_)) {
        ("To redo it", "backstitch redo")
    } else {
        ("To undo it", "backstitch undo")
    };
    let by = applied.by.as_ref();
    let by = by.map_or_else(String::new, |e| format!(" by {}", render::clean(&e.name)));
    let done = paint.on(GREEN.bold(), &restore_words::done(&about.subject));
    let back_again = paint.on(BOLD, back);
    let written = context.out.remark(&format!(
        "{done}{by}: checkpoint {node}, {operation}. {label}: {back_again}\n"
    ));
    written.map_err(|e| {
        e.hint(format!(
            "it was done anyway, as {operation}; `{back}` reverses it"
        ))
    })?;
    if matches!(job.request.goal, Goal::Undo(_)) {
        old_conversation(context, &applied.plan.target)?;
    }
    incomplete.map_or(Ok(()), Err)
}

/// Returns the files whose changes a rewind leaves, since their author is uncertain and the user has not said what to do.
pub fn left_uncertain(job: &RestoreRun, plan: &Plan) -> Option<String> {
    let chooses = matches!(job.request.goal, Goal::Rewind(_) | Goal::Revert(_));
    if !chooses || job.keeps_uncertain || job.request.take_uncertain || plan.is_switch() {
        return None;
    }
    let uncertain = plan
        .gaps
        .iter()
        .filter(|gap| gap.kind == GapKind::Uncertain);
    let files: BTreeSet<String> = uncertain
        .filter_map(|gap| gap.path.as_deref())
        .map(render::path)
        .collect();
    (!files.is_empty()).then(|| render::plural(files.len(), "file", "files"))
}

/// Returns an error for changes that a rewind left since their author is uncertain.
fn skipped(job: &RestoreRun, applied: &Applied) -> Option<CliError> {
    let files = left_uncertain(job, &applied.plan)?;
    let error = CliError::failed(format!(
        "the author of the change in {files} is uncertain: it stays"
    ));
    Some(error.hint("--uncertain take takes it out, too; --uncertain keep leaves it"))
}

/// Returns an error that names the files a restore left out.
fn incomplete(applied: &Applied) -> Option<CliError> {
    let message = restore_plan::incomplete(applied)?;
    let is_confirmed = applied.not_taken.is_empty() && applied.awaited.is_empty();
    Some(CliError::failed(message).hint(if !is_confirmed {
        "`backstitch undo` undoes it; closing the document there asks what to write"
    } else if applied.incomplete.is_empty() {
        "compare it with the file, then remove it"
    } else {
        "`backstitch oplog` lists the operation; run the command again for the remaining files"
    }))
}
