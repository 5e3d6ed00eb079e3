//! `rewind`, `revert`, `undo`, `redo` and `switch`: build a request, show its plan, ask on a terminal, and
//! print the outcome. The engine decides what a restore does.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use backstitch_core::model::{Kind as ModelKind, NodeId, Session};
use backstitch_core::restore::{
    ActionKind, Applied, Conflict, Gap, GapKind, Goal, OnConflict, Plan, Request,
};
use backstitch_core::{Entry, Hint, LAST_TURN, LogFilter};
use serde_json::{Value, json};

use super::args::{self, ConfirmArgs, RestoreArgs, SelectionArgs, UncertainChoice};
use super::context::CommandContext;
use super::plan;
use crate::render::{self, BOLD, GREEN, YELLOW};
use crate::restore_plan::{self, ShownPlan};
use crate::restore_words::{self, NothingDone};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out;
use crate::terminal::questions::{self, Confirmation};
use crate::to_protocol;

/// A restore as typed, before it is planned.
struct RestoreRun<'a> {
    request: Request,
    /// The head before the disk was scanned.
    before: Option<NodeId>,
    /// The target as typed.
    rev: Option<String>,
    options: &'a ConfirmArgs,
    /// True if the user has said that uncertain changes stay.
    keeps_uncertain: bool,
}

pub fn rewind(context: &mut CommandContext, options: &args::RewindArgs) -> CliResult<()> {
    let by_default = || !options.merge && context.engine.config().rewinds_exactly();
    let mut request = Request {
        exact: options.exact || by_default(),
        all_sessions: options.all_sessions,
        ..request(
            context,
            Goal::Redo,
            Some(&options.selection),
            &options.restore,
        )?
    };
    request.goal = Goal::Rewind(match (options.rev.as_deref(), options.iteration) {
        (None, Some(number)) => iteration(context, number, options.selection.session.as_deref())?,
        (Some(LAST_TURN) | None, _) => {
            let last = restore_plan::last_turn(&mut context.engine, &request)?;
            name_skipped(context, &last.skipped);
            last.start
        }
        (Some(rev), _) => context.node_now(rev)?,
    });
    run(
        context,
        RestoreRun {
            before: None,
            request,
            rev: options.rev.clone(),
            options: &options.restore.confirm,
            keeps_uncertain: keeps_uncertain(&options.selection),
        },
    )
}

fn keeps_uncertain(selection: &SelectionArgs) -> bool {
    selection.uncertain == Some(UncertainChoice::Keep)
}

fn name_skipped(context: &CommandContext, turns: &[i64]) {
    if turns.is_empty() {
        return;
    }
    let names: Vec<String> = turns.iter().map(|number| format!("t{number}")).collect();
    let names = names.join(", ");
    let note = format!("nothing of {names} is in force; this undoes the turn before");
    context.out.note("note", &note);
}

pub fn revert(context: &mut CommandContext, options: &args::RevertArgs) -> CliResult<()> {
    let nodes = options
        .revs
        .iter()
        .map(|rev| context.node_now(rev))
        .collect::<CliResult<_>>()?;
    let request = request(
        context,
        Goal::Revert(nodes),
        Some(&options.selection),
        &options.restore,
    )?;
    run(
        context,
        RestoreRun {
            before: None,
            request,
            rev: Some(options.revs.join(" ")),
            options: &options.restore.confirm,
            keeps_uncertain: keeps_uncertain(&options.selection),
        },
    )
}

pub fn undo(context: &mut CommandContext, options: &args::UndoArgs) -> CliResult<()> {
    let op = options
        .op
        .as_deref()
        .map(|op| context.engine.history().resolve_op(op))
        .transpose()?;
    let mut request = request(context, Goal::Undo(op), None, &options.restore)?;
    let mut rev = options.op.clone();
    let confirm = &options.restore.confirm;
    if op.is_none() && !confirm.yes && !confirm.dry_run && !context.out.json && questions::can_ask()
    {
        // the plan is shown and confirmed anyway
        let refusal = context.engine.restore_mut().plan(&request).err();
        if let Some(refusal) = &refusal
            && let Some(Hint::UndoBefore { op, .. }) = refusal.hint()
        {
            context
                .out
                .note("note", &format!("{refusal}, which is undone here"));
            request.goal = Goal::Undo(Some(op));
            rev = Some(op.to_string());
        } else if let Some(refusal) = &refusal
            && matches!(refusal.hint(), Some(Hint::NothingToUndo))
            && let Ok(last) = restore_plan::last_turn(&mut context.engine, &request)
        {
            let note = format!("{refusal}; this undoes the agent's last turn");
            context.out.note("note", &note);
            name_skipped(context, &last.skipped);
            request.goal = Goal::Rewind(last.start);
        }
    }
    run(
        context,
        RestoreRun {
            before: None,
            request,
            rev,
            options: confirm,
            keeps_uncertain: false,
        },
    )
}

pub fn redo(context: &mut CommandContext, options: &args::RedoArgs) -> CliResult<()> {
    let request = request(context, Goal::Redo, None, &options.restore)?;
    run(
        context,
        RestoreRun {
            before: None,
            request,
            rev: None,
            options: &options.restore.confirm,
            keeps_uncertain: false,
        },
    )
}

/// Returns the checkpoint of a tool call, by its number in the session. A call that changed nothing has no
/// checkpoint of its own; the newest one before it has the same state.
fn iteration(context: &CommandContext, number: i64, session: Option<&str>) -> CliResult<NodeId> {
    let entries = context.engine.history().log(&LogFilter {
        session: session.map(str::to_owned),
        ..LogFilter::default()
    })?;
    let mut reaching: Vec<&Session> = Vec::new();
    for entry in &entries {
        if let (Some(call), Some(session)) = (&entry.call, &entry.session)
            && call.iteration >= number
            && reaching.iter().all(|known| known.id != session.id)
        {
            reaching.push(session);
        }
    }
    let session = match reaching.as_slice() {
        [session] if number > 0 => session.id,
        [] | [_] => {
            return Err(
                CliError::not_found(format!("no checkpoint of iteration {number}")).hint(
                    "`backstitch log --json` lists the iteration of each step; --session names the session",
                ),
            );
        }
        several => {
            let mut letters: Vec<String> = several.iter().map(|s| s.id.letter()).collect();
            letters.sort();
            return Err(CliError::usage(format!(
                "several sessions have an iteration {number}: {}",
                letters.join(", ")
            ))
            .hint("--session selects one"));
        }
    };
    let of_session = || {
        let own = move |entry: &&Entry| entry.session.as_ref().is_some_and(|s| s.id == session);
        entries.iter().filter(own)
    };
    let at = |entry: &&Entry| entry.call.as_ref().map(|call| call.iteration);
    let found = of_session()
        .find(|entry| at(entry) == Some(number))
        .or_else(|| of_session().find(|entry| at(entry).is_some_and(|n| n < number)))
        // The session had changed nothing yet.
        .or_else(|| {
            let mut turns =
                of_session().filter(|entry| entry.turn.is_some() && entry.call.is_none());
            turns.next_back()
        });
    found
        .map(|entry| entry.node.id)
        .ok_or_else(|| CliError::not_found(format!("no checkpoint of iteration {number}")))
}

fn request(
    context: &CommandContext,
    goal: Goal,
    selection: Option<&SelectionArgs>,
    options: &RestoreArgs,
) -> CliResult<Request> {
    let mut request = Request::new(goal);
    request.paths = context.paths(&options.paths)?;
    for (path, typed) in request.paths.iter().zip(&options.paths) {
        context
            .require(path)
            .map_err(|error| match misplaced(context, typed, options) {
                Some(hint) => error.hint(hint),
                None => error,
            })?;
    }
    request.on_conflict = options.confirm.on_conflict;
    if let Some(selection) = selection {
        request.scope = selection.scope;
        request.session.clone_from(&selection.session);
        request.hunks.clone_from(&selection.hunks);
        request.take_uncertain = selection.uncertain == Some(UncertainChoice::Take);
    }
    Ok(request)
}

/// Returns a hint if the place was typed after the paths, and was taken for one of them.
fn misplaced(context: &CommandContext, typed: &OsStr, options: &RestoreArgs) -> Option<String> {
    let rev = typed.to_str()?;
    context.engine.history().resolve(rev).ok()?;
    let others = options.paths.iter().filter(|path| *path != typed);
    let paths: Vec<String> = others
        .map(|path| render::argument(&path.to_string_lossy()))
        .collect();
    let (rev, paths) = (render::argument(rev), paths.join(" "));
    (!paths.is_empty()).then(|| {
        format!("a checkpoint goes before the paths: `backstitch rewind {rev} --path {paths}`")
    })
}

pub fn switch(context: &mut CommandContext, options: &args::SwitchArgs) -> CliResult<()> {
    let mut request = Request::new(Goal::Switch {
        branch: options.name.clone(),
        carry: options.carry,
    });
    request.on_conflict = options.confirm.on_conflict;
    run(
        context,
        RestoreRun {
            before: None,
            request,
            rev: Some(options.name.clone()),
            options: &options.confirm,
            keeps_uncertain: false,
        },
    )
}

/// Creates a branch and switches to it, after one question. Nothing is created if it is declined.
pub fn fork_and_switch(
    context: &mut CommandContext,
    options: &args::ForkArgs,
    from: NodeId,
) -> CliResult<()> {
    let request = Request::new(Goal::Fork {
        name: options.name.clone(),
        from,
        description: options.description.clone(),
    });
    run(
        context,
        RestoreRun {
            before: None,
            request,
            rev: Some(options.name.clone()),
            options: &ConfirmArgs::only(options.yes),
            keeps_uncertain: false,
        },
    )
}

fn run(context: &mut CommandContext, mut job: RestoreRun) -> CliResult<()> {
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
    let job = &job;
    let mut progress = context.out.progress();
    let outcome =
        context
            .engine
            .restore_mut()
            .apply(&job.request, fingerprint.as_deref(), &mut progress);
    drop(progress);
    match outcome {
        Ok(applied) => finish(context, job, &applied, asked),
        Err(error @ backstitch_core::Error::Conflicts { .. }) => Err(refused(context, job, error)),
        Err(error) => Err(error.into()),
    }
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
        if shown.plan.is_empty() {
            reached(nothing(context, job, &shown)?)?;
            return Ok(Asked::NothingToDo);
        }
        show(context, job, &shown)?;
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
        let decision = if has_theirs(job, &shown) {
            questions::ask_or_theirs_too(&question)?
        } else if questions::ask(&question)? {
            Confirmation::Yes
        } else {
            Confirmation::No
        };
        match decision {
            Confirmation::Yes => return Ok(Asked::Confirmed(shown.plan.fingerprint)),
            Confirmation::No => return Err(CliError::declined()),
            Confirmation::TheirsToo => job.request.all_sessions = true,
        }
    }
}

/// True if the plan leaves work of other sessions, which it could take along.
fn has_theirs(job: &RestoreRun, shown: &ShownPlan) -> bool {
    let request = &job.request;
    let takes = &shown.document.takes;
    let is_other = |turn: &backstitch_protocol::PlannedTurn| {
        takes.iter().all(|taken| taken.session != turn.session)
    };
    matches!(request.goal, Goal::Rewind(_))
        && !request.all_sessions
        && request.session.is_none()
        && shown.document.stays.iter().any(is_other)
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
fn answer(context: &CommandContext, job: &RestoreRun, plan: &Plan, mut document: Value) -> Value {
    if let Some(recorded) = RecordedBefore::find(context, job, plan) {
        document["recorded"] = json!(recorded.node.to_string());
    }
    document
}

fn show(context: &CommandContext, job: &RestoreRun, shown: &ShownPlan) -> CliResult<()> {
    if context.out.json {
        return Ok(());
    }
    if let Some(recorded) = RecordedBefore::find(context, job, &shown.plan) {
        context
            .out
            .text(&context.out.paint.on(YELLOW, &recorded.text()))?;
    }
    let text = plan::text(&context.engine, shown, context.out.paint);
    context.out.text(&text)
}

/// Plans the restore.
fn look(context: &mut CommandContext, job: &RestoreRun) -> CliResult<ShownPlan> {
    let plan = context.engine.restore_mut().plan(&job.request)?;
    about(context, job, plan)
}

/// Adds to a plan everything that is shown about it.
fn about(context: &CommandContext, job: &RestoreRun, plan: Plan) -> CliResult<ShownPlan> {
    let (engine, rev) = (&context.engine, job.rev.as_deref());
    Ok(ShownPlan::of(engine, &job.request, plan, rev)?)
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
    if shown.plan.is_empty() {
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

/// Shows a plan that changes no file, and says why.
fn nothing(
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

/// Says why a plan changes no file. Uncertain changes that stay as the user has said are no failure.
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
fn reached(nothing: NothingDone) -> CliResult<()> {
    if nothing.is_reached {
        return Ok(());
    }
    Err(CliError::refused(nothing.text)
        .hint("`--dry-run` shows the plan; `backstitch show` names what was not captured"))
}

fn switches_branch(job: &RestoreRun, plan: &Plan) -> bool {
    plan.is_switch() || matches!(job.request.goal, Goal::Switch { .. } | Goal::Fork { .. })
}

/// Returns the error for a plan with open conflicts.
fn conflict(context: &CommandContext, job: &RestoreRun, shown: &ShownPlan) -> Option<CliError> {
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
fn refused(
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

fn finish(
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
    incomplete.map_or(Ok(()), Err)
}

/// Returns the files whose changes a rewind leaves, since their author is uncertain and the user has not said what to do.
fn left_uncertain(job: &RestoreRun, plan: &Plan) -> Option<String> {
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
