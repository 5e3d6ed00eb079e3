//! `rewind`, `revert`, `undo`, `redo`: a request, its plan shown, a question where there is somebody to
//! ask, and the outcome. What a restore does is the engine's decision.

use backstitch_core::model::{Kind as ModelKind, NodeId, Session};
use backstitch_core::restore::{Applied, Gap, GapKind, Goal, OnConflict, Plan, Request};
use backstitch_core::{Entry, LogFilter};
use serde_json::{Value, json};

use super::args::{self, Act, Choice, Resolve, Restore, Uncertain, What};
use super::context::Desk;
use super::error::{Error, Kind, Result};
use super::log;
use super::out;
use super::plan;
use crate::render::{self, BOLD, GREEN, YELLOW};
use crate::to_protocol;

/// A restore as typed, ready to be planned.
struct Job<'a> {
    request: Request,
    /// The head before anybody looked at the disk.
    before: Option<NodeId>,
    /// What was typed to name the target.
    rev: Option<String>,
    /// `rewind`, as the title says it.
    verb: &'static str,
    scope: &'static str,
    options: &'a Act,
}

pub fn rewind(desk: &mut Desk, options: &args::Rewind) -> Result<()> {
    only_code(options.choice.scope)?;
    let target = match (&options.rev, options.iteration) {
        (Some(rev), _) => desk.node_now(rev)?,
        (None, Some(number)) => iteration(desk, number, options.choice.session.as_deref())?,
        (None, None) => return Err(Error::usage("no revision named")),
    };
    let by_default = || !options.merge && desk.engine.config().rewinds_exactly();
    let request = Request {
        exact: options.exact || by_default(),
        ..request(
            desk,
            Goal::Rewind(target),
            Some(&options.choice),
            &options.restore,
        )?
    };
    run(
        desk,
        Job {
            before: None,
            request,
            rev: options.rev.clone(),
            verb: "rewind to",
            scope: "code",
            options: &options.restore.act,
        },
    )
}

pub fn revert(desk: &mut Desk, options: &args::Revert) -> Result<()> {
    only_code(options.choice.scope)?;
    let nodes = options
        .revs
        .iter()
        .map(|rev| desk.node_now(rev))
        .collect::<Result<_>>()?;
    let request = request(
        desk,
        Goal::Revert(nodes),
        Some(&options.choice),
        &options.restore,
    )?;
    run(
        desk,
        Job {
            before: None,
            request,
            rev: Some(options.revs.join(" ")),
            verb: "revert",
            scope: "code",
            options: &options.restore.act,
        },
    )
}

pub fn undo(desk: &mut Desk, options: &args::Undo) -> Result<()> {
    let op = options
        .op
        .as_deref()
        .map(|op| desk.engine.resolve_op(op))
        .transpose()?;
    let request = request(desk, Goal::Undo(op), None, &options.restore)?;
    run(
        desk,
        Job {
            before: None,
            request,
            rev: options.op.clone(),
            verb: "undo",
            scope: "code",
            options: &options.restore.act,
        },
    )
}

pub fn redo(desk: &mut Desk, options: &args::Redo) -> Result<()> {
    let request = request(desk, Goal::Redo, None, &options.restore)?;
    run(
        desk,
        Job {
            before: None,
            request,
            rev: None,
            verb: "redo",
            scope: "code",
            options: &options.restore.act,
        },
    )
}

/// Neither side is touched unless both can be.
fn only_code(scope: What) -> Result<()> {
    if scope == What::Code {
        return Ok(());
    }
    let message = format!(
        "--scope {}: rewinding the conversation is not supported for this agent yet",
        scope.name()
    );
    Err(Error::refused(message).hint("--scope code rewinds the files alone; nothing was changed"))
}

/// The checkpoint of a tool call, by its number in the session. A call that changed nothing has none of
/// its own; the state after it is that of the newest one before.
fn iteration(desk: &Desk, number: i64, session: Option<&str>) -> Result<NodeId> {
    let entries = desk.engine.log(&LogFilter {
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
                Error::not_found(format!("no checkpoint of iteration {number}")).hint(
                    "`backstitch log --json` has the iteration of each step; --session names the session",
                ),
            );
        }
        several => {
            let ids: Vec<String> = several.iter().map(|s| render::clean(&s.native)).collect();
            return Err(Error::usage(format!(
                "several sessions have an iteration {number}: {}",
                ids.join(", ")
            ))
            .hint("--session names the one that is meant"));
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
        // Nothing of it had changed yet.
        .or_else(|| {
            let mut turns =
                of_session().filter(|entry| entry.turn.is_some() && entry.call.is_none());
            turns.next_back()
        });
    found
        .map(|entry| entry.node.id)
        .ok_or_else(|| Error::not_found(format!("no checkpoint of iteration {number}")))
}

fn request(desk: &Desk, goal: Goal, choice: Option<&Choice>, options: &Restore) -> Result<Request> {
    let mut request = Request::new(goal);
    request.paths = desk.paths(&options.paths)?;
    for path in &request.paths {
        desk.known(path)?;
    }
    request.on_conflict = on_conflict(options.act.on_conflict);
    if let Some(choice) = choice {
        request.session.clone_from(&choice.session);
        request.hunks.clone_from(&choice.hunks);
        request.take_uncertain = choice.uncertain == Uncertain::Take;
    }
    Ok(request)
}

fn on_conflict(how: Resolve) -> OnConflict {
    match how {
        Resolve::Fail => OnConflict::Fail,
        Resolve::Markers => OnConflict::Markers,
        Resolve::Current => OnConflict::Current,
        Resolve::Target => OnConflict::Target,
    }
}

pub fn switch(desk: &mut Desk, options: &args::Switch) -> Result<()> {
    let mut request = Request::new(Goal::Switch {
        branch: options.name.clone(),
        carry: options.carry,
    });
    request.on_conflict = on_conflict(options.act.on_conflict);
    run(
        desk,
        Job {
            before: None,
            request,
            rev: Some(options.name.clone()),
            verb: "switch to",
            scope: "code",
            options: &options.act,
        },
    )
}

fn run(desk: &mut Desk, mut job: Job) -> Result<()> {
    let calls = desk.engine.open_calls()?;
    if calls > 0 {
        let calls = render::plural(calls, "tool call is", "tool calls are");
        let word = format!("an agent is at work: {calls} under way, and may write to these files");
        desk.out.note("warning", &word);
    }
    job.before = desk.engine.head()?;
    let job = &job;
    if job.options.dry_run {
        let plan = desk.engine.plan(&job.request)?;
        return dry_run(desk, job, &plan);
    }
    let mut fingerprint = job.options.plan.clone();
    let asked = !job.options.yes && !desk.out.json && out::can_ask();
    if asked {
        let plan = desk.engine.plan(&job.request)?;
        if let Some(conflict) = conflict(desk, job, &plan) {
            show(desk, job, &plan)?;
            return Err(conflict);
        }
        if plan.is_empty() {
            return nothing(desk, job, &plan);
        }
        show(desk, job, &plan)?;
        let question = match plan.git_moved {
            Some(_) => "git is not where it was then. Change the files all the same?",
            None => "Change these files?",
        };
        if !out::ask(question)? {
            return Err(Error::refused("not confirmed; nothing was changed"));
        }
        // What was shown is what is done.
        fingerprint = fingerprint.or(Some(plan.fingerprint));
    }
    let mut progress = desk.out.progress();
    let outcome = desk
        .engine
        .apply(&job.request, fingerprint.as_deref(), &mut progress);
    drop(progress);
    match outcome {
        Ok(applied) => finish(desk, job, &applied, asked),
        Err(error @ backstitch_core::Error::Conflicts { .. }) => Err(refused(desk, job, error)),
        Err(error) => Err(error.into()),
    }
}

/// The user's edits that the look before a switch recorded on the branch that is left.
struct Recorded {
    node: NodeId,
    files: usize,
    branch: String,
}

impl Recorded {
    fn find(desk: &Desk, job: &Job, plan: &Plan) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut at = Some(plan.head).filter(|_| leads_elsewhere(job, plan));
        while let Some(id) = at.filter(|id| Some(*id) != job.before) {
            let entry = desk.engine.entry(id).ok()?;
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

/// The answer in JSON, with what the look recorded.
fn answer(desk: &Desk, job: &Job, plan: &Plan, mut document: Value) -> Value {
    if let Some(recorded) = Recorded::find(desk, job, plan) {
        document["recorded"] = json!(recorded.node.to_string());
    }
    document
}

fn title(desk: &Desk, job: &Job, plan: &Plan) -> String {
    format!(
        "{} {}",
        job.verb,
        log::target_name(&desk.engine, &plan.target)
    )
}

fn show(desk: &Desk, job: &Job, plan: &Plan) -> Result<()> {
    if desk.out.json {
        return Ok(());
    }
    if let Some(recorded) = Recorded::find(desk, job, plan) {
        desk.out
            .text(&desk.out.paint.on(YELLOW, &recorded.text()))?;
    }
    desk.out.text(&plan::text(
        &desk.engine,
        plan,
        &title(desk, job, plan),
        desk.out.paint,
    ))
}

fn dry_run(desk: &Desk, job: &Job, plan: &Plan) -> Result<()> {
    if let Some(conflict) = conflict(desk, job, plan) {
        show(desk, job, plan)?;
        return Err(conflict);
    }
    if desk.out.json {
        let document = to_protocol::value(&to_protocol::plan(plan, job.rev.as_deref(), job.scope));
        return out::answer(answer(desk, job, plan, document));
    }
    if plan.is_empty() {
        return nothing(desk, job, plan);
    }
    show(desk, job, plan)?;
    let plan = desk
        .out
        .paint
        .on(BOLD, &format!("--plan {}", plan.fingerprint));
    desk.out.remark(&format!(
        "Nothing was changed. {plan} does exactly this, or refuses.\n"
    ))
}

fn nothing(desk: &Desk, job: &Job, plan: &Plan) -> Result<()> {
    show(desk, job, plan)?;
    desk.out.remark(&match &plan.nothing {
        Some(why) => format!("Nothing to do: {}.\n", render::clean(why)),
        None => "Nothing to do: the files are as they would be.\n".to_owned(),
    })
}

fn leads_elsewhere(job: &Job, plan: &Plan) -> bool {
    plan.is_switch() || matches!(job.request.goal, Goal::Switch { .. })
}

/// The refusal that a plan with open conflicts comes to.
fn conflict(desk: &Desk, job: &Job, plan: &Plan) -> Option<Error> {
    let open = plan.open_conflicts();
    (open > 0).then(|| {
        let files = render::plural(open, "file", "files");
        let mut hint = "--on-conflict markers|current|target decides them".to_owned();
        if job.request.on_conflict != OnConflict::Fail {
            hint = String::from(
                "move away what is not of the history: a switch brings its files whole, or does nothing",
            );
        } else if leads_elsewhere(job, plan) {
            if matches!(job.request.goal, Goal::Switch { carry: true, .. }) {
                hint.push_str("; without --carry your edits stay on the branch that you leave");
            }
        } else {
            hint.push_str(", --path leaves them out");
        }
        if !job.request.exact && matches!(job.request.goal, Goal::Rewind(_)) {
            hint.push_str(", --exact takes the target's very state");
        }
        let uncertain = |g: &Gap| g.kind == GapKind::Uncertain;
        if !job.request.take_uncertain && plan.gaps.iter().any(uncertain) {
            hint.push_str(", --uncertain take takes out what nobody is sure of, too");
        }
        Error::new(
            Kind::Conflict,
            format!("edits collide in {files}; nothing was changed"),
        )
        .hint(hint)
        .answer(answer(
            desk,
            job,
            plan,
            to_protocol::value(&to_protocol::plan(plan, job.rev.as_deref(), job.scope)),
        ))
    })
}

/// A refusal of the engine: with the conflicts behind it, where these are the reason.
fn refused(desk: &mut Desk, job: &Job, error: backstitch_core::Error) -> Error {
    let plan = match desk.engine.plan(&job.request) {
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
    match conflict(desk, job, &plan) {
        Some(conflict) => match show(desk, job, &plan) {
            Ok(()) => conflict,
            Err(closed) => closed,
        },
        None => error.into(),
    }
}

fn finish(desk: &Desk, job: &Job, applied: &Applied, shown: bool) -> Result<()> {
    let trouble = trouble(applied);
    if desk.out.json {
        let document = to_protocol::value(&to_protocol::applied(
            applied,
            job.rev.as_deref(),
            job.scope,
        ));
        let mut document = answer(desk, job, &applied.plan, document);
        if let Goal::Switch { branch, .. } = &job.request.goal {
            document["branch"] =
                to_protocol::value(&to_protocol::branch(&desk.engine.branch(branch)?));
        }
        return match trouble {
            Some(trouble) => Err(trouble.answer(document)),
            None => out::answer(document),
        };
    }
    let (Some(node), Some(operation)) = (applied.node, applied.operation) else {
        return match trouble {
            Some(trouble) => Err(trouble),
            None => nothing(desk, job, &applied.plan),
        };
    };
    if !shown && !desk.out.quiet {
        show(desk, job, &applied.plan)?;
    }
    let paint = desk.out.paint;
    let back = if job.verb == "undo" {
        "backstitch redo"
    } else {
        "backstitch undo"
    };
    let by = applied.by.as_ref();
    let by = by.map_or_else(String::new, |e| format!(" by {}", render::clean(&e.name)));
    let said = desk.out.remark(&format!(
        "{}{by} {}: checkpoint {node}, operation {operation}. Back again: {}\n",
        paint.on(GREEN.bold(), "done"),
        title(desk, job, &applied.plan),
        paint.on(BOLD, back),
    ));
    said.map_err(|e| {
        e.hint(format!(
            "it was done all the same, as {operation}; `{back}` takes it back"
        ))
    })?;
    trouble.map_or(Ok(()), Err)
}

/// What was left out of a restore that was done otherwise.
fn trouble(applied: &Applied) -> Option<Error> {
    let left = applied.incomplete.iter();
    let left = left.map(|path| format!("{} (changed meanwhile)", render::path(path.bytes())));
    let left: Vec<String> = left.collect();
    let saved = applied.saved.iter();
    let saved: Vec<String> = saved.map(|path| render::path(path.bytes())).collect();
    let mut said = Vec::new();
    if !left.is_empty() {
        said.push(format!("left as they were: {}", left.join(", ")));
    }
    if !saved.is_empty() {
        said.push(format!(
            "something wrote to a file while it was exchanged, and what it left was saved as {}",
            saved.join(", ")
        ));
    }
    let editor = applied
        .by
        .as_ref()
        .map_or("the editor", |e| e.name.as_str());
    let unseen = [&applied.not_taken, &applied.awaited];
    let unseen: Vec<String> = unseen
        .into_iter()
        .flatten()
        .map(|path| render::path(path.bytes()))
        .collect();
    if !unseen.is_empty() {
        said.push(format!(
            "{} did not show the new text of {}, which waits for a save there",
            render::clean(editor),
            unseen.join(", ")
        ));
    }
    (!said.is_empty()).then(|| {
        Error::failed(said.join("; ")).hint(if !unseen.is_empty() {
            "`backstitch undo` takes it back; closing the document there asks what is to be written"
        } else if left.is_empty() {
            "compare it with the file, then remove it"
        } else {
            "`backstitch oplog` has the operation; run the command again for what is left"
        })
    })
}
