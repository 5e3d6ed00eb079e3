//! `pauses`, `resume` and the other commands on held calls.

use std::io::Read as _;
use std::time::Duration;

use backstitch_control::{
    Attempt, Control, Decided, Hit, Pause, PauseDecision, PauseFilter, PauseId, PauseState,
    Subject, Undone, WaitingMessage,
};
use backstitch_core::config::Config;
use backstitch_core::{Engine, Workspace};
use backstitch_protocol::PauseDetails;
use serde_json::{Value, json};

use super::args::{GlobalArgs, HeldCommand};
use super::breakpoint;
use super::control_args::{
    BackArgs, DenyArgs, HeldArgs, InjectArgs, InputArgs, PauseArgs, PausesArgs, ResumeArgs,
    StepArgs, StepHow, StopArgs,
};
use super::control_context::{ControlContext, FACE};
use super::debug;
use super::held_text::{self, HeldExtent};
use super::repl;
use crate::agents::{self, AnswerPart};
use crate::control::acts::{self, Back, GoOnObstacle, GoingOn, OwnEditor};
use crate::control::details::{self, Around};
use crate::control::predict::read_disk;
use crate::control::{shown, view, words};
use crate::opening;
use crate::render::{self, BOLD, DIM, PLAIN, Paint, RED, YELLOW};
use crate::safeguards;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};

/// Time for which `pauses` warns of a call that ran unasked, in microseconds.
pub const SLIPPED: i64 = 24 * 3600 * 1_000_000;
/// Calls that breakpoints denied, as `pauses --all` and `show` list them.
pub const DENIED: usize = 50;

/// Time in which `pauses --watch` lets an act come to its end.
const SETTLE: Duration = Duration::from_millis(50);

/// Runs a command about breakpoints and held calls.
pub fn run(command: HeldCommand, global: &GlobalArgs, out: &Out) -> CliResult<()> {
    let context = &ControlContext::open(global, out)?;
    match command {
        HeldCommand::Breakpoint(options) => breakpoint::run(context, options.command),
        HeldCommand::Pauses(options) => pauses(context, &options),
        HeldCommand::Pause(options) => pause(context, &options),
        HeldCommand::Resume(options) => resume(context, &options),
        HeldCommand::Step(options) => step(context, &options),
        HeldCommand::Skip(options) => {
            let decision = match options.value {
                Some(value) => PauseDecision::Replace { value },
                None => PauseDecision::Skip,
            };
            decide(context, &options.held, &decision)
        }
        HeldCommand::Deny(options) => deny(context, &options),
        HeldCommand::Stop(options) => stop(context, &options),
        HeldCommand::Inject(options) => inject(context, &options),
        HeldCommand::Back(options) => back(context, &options),
        HeldCommand::Inspect(options) => inspect(context, &options),
        HeldCommand::Repl(options) => repl::run(context, &options),
        HeldCommand::Debug(options) => debug::run(context, &options),
    }
}

fn pauses(context: &ControlContext, options: &PausesArgs) -> CliResult<()> {
    if options.watch {
        return watch(context, options);
    }
    let filter = if options.all {
        PauseFilter::All
    } else {
        PauseFilter::Open
    };
    let all = match context.existing()? {
        Some(control) => control.pauses().list(filter)?,
        None => Vec::new(),
    };
    let session = context.known_session(options.session.as_deref())?;
    let denied = match context.existing()? {
        Some(control) if options.all => control.hits().denied(session.as_deref(), None, DENIED)?,
        _ => Vec::new(),
    };
    let is_wanted = |pause: &&Pause| is_of(pause, session.as_deref());
    let all: Vec<&Pause> = all.iter().filter(is_wanted).collect();
    let attempts = safeguards::recent_attempts(&context.workspace);
    if context.out.json {
        let seq = context
            .existing()?
            .map(|control| control.seq())
            .transpose()?;
        let all: Vec<_> = all.iter().map(|pause| view::pause(pause)).collect();
        let attempts: Vec<_> = attempts.iter().map(attempt_json).collect();
        let seq = seq.unwrap_or(0);
        if !options.all {
            return out::answer(json!({ "seq": seq, "pauses": all, "attempts": attempts }));
        }
        let breakpoints = match context.existing()? {
            Some(control) => control.breakpoints().all()?,
            None => Vec::new(),
        };
        let denied: Vec<_> = denied
            .iter()
            .map(|hit| view::hit(hit, &breakpoints))
            .collect();
        return out::answer(json!({
            "seq": seq, "pauses": all, "denied": denied, "attempts": attempts,
        }));
    }
    if all.is_empty() && denied.is_empty() {
        context.out.text("No call is held.\n")?;
    }
    let lines = all.iter().map(|pause| line(context, pause));
    let text: String = lines.collect();
    context.out.text(&text)?;
    let lines = denied.iter().map(|hit| denied_line(hit, context.out.paint));
    context.out.text(&lines.collect::<String>())?;
    let hidden = if options.all {
        0
    } else {
        attempts.len().saturating_sub(1)
    };
    for attempt in &attempts[hidden..] {
        let said = words::attempt(attempt);
        let ago = context.out.paint.ago(attempt.time);
        context.out.note("warning", &format!("{ago}, {said}"));
    }
    if !options.all {
        tell_slipped(context, session.as_deref())?;
    }
    Ok(())
}

fn attempt_json(attempt: &Attempt) -> Value {
    json!({
        "command": attempt.command,
        "face": attempt.face,
        "reason": attempt.reason,
        "time": crate::to_protocol::time(attempt.time),
    })
}

/// A call that a breakpoint denied by itself.
pub fn denied_line(hit: &Hit, paint: Paint) -> String {
    TextLine::new()
        .column(BOLD, &hit.breakpoint.to_string(), 5)
        .column(DIM, "denied", 10)
        .add(BOLD, render::clean(&hit.tool))
        .add(DIM, format!("  {}  {}", hit.agent, render::clean(&hit.why)))
        .right(paint.ago(hit.time))
        .draw(paint)
}

/// Warns of calls that ran unasked within the last day.
fn tell_slipped(context: &ControlContext, session: Option<&str>) -> CliResult<()> {
    let Some(control) = context.existing()? else {
        return Ok(());
    };
    let since = backstitch_control::now() - SLIPPED;
    for pause in control.pauses().list(PauseFilter::All)? {
        if pause.state == PauseState::Slipped && pause.made > since && is_of(&pause, session) {
            context.out.note(
                "warning",
                &format!(
                    "{} ran unasked {}: {}. `backstitch doctor` shows why",
                    pause.id,
                    context.out.paint.ago(pause.made),
                    shown::summary(&pause)
                ),
            );
        }
    }
    Ok(())
}

/// True if a call is of this session, named by its id or the beginning of it.
pub fn is_of(pause: &Pause, session: Option<&str>) -> bool {
    session.is_none_or(|session| pause.call.session.starts_with(session))
}

fn line(context: &ControlContext, pause: &Pause) -> String {
    let call = &pause.call;
    let row = shown::row(pause);
    let state = words::state(pause);
    let style = if pause.state.is_open() { YELLOW } else { DIM };
    let counts = words::counts(&row.files);
    let changed = pause.draft.as_ref().map_or_else(String::new, |draft| {
        format!("  changed in {}", render::clean(&draft.by))
    });
    let turn = words::turn_of(pause);
    let turn = if turn.is_empty() {
        // two sessions that are not recorded yet are told apart all the same
        format!("session {}", render::cut(&render::clean(&call.session), 12))
    } else {
        turn
    };
    let error = call.error.as_deref().map_or_else(String::new, |error| {
        let line = error.lines().find(|line| !line.trim().is_empty());
        format!(
            "  {}",
            render::cut(&render::clean(line.unwrap_or_default()), 60)
        )
    });
    TextLine::new()
        .column(BOLD, &pause.id.to_string(), 5)
        .column(style, &state, 10)
        .add(BOLD, row.summary)
        .add(
            PLAIN,
            if counts.is_empty() {
                counts
            } else {
                format!("  {counts}")
            },
        )
        .add(YELLOW, changed)
        .add(RED, error)
        .add(
            DIM,
            format!("  {} {turn}  {}", call.agent, render::clean(&call.why)),
        )
        .right(context.out.paint.ago(pause.made))
        .draw(context.out.paint)
}

/// Shows held calls as they come. Each counts as seen.
fn watch(context: &ControlContext, options: &PausesArgs) -> CliResult<()> {
    let session = context.session(options.session.as_deref())?;
    let control = context.create()?;
    let face = format!("{FACE} {}", std::process::id());
    let mut shown: Vec<(PauseId, PauseState)> = Vec::new();
    let mut seq = None;
    let news = control.watch();
    loop {
        let now = control.seq()?;
        // a hook that died commits nothing
        let lost = control.pauses().notice_lost()?;
        if seq != Some(now) || !lost.is_empty() {
            let is_first = seq.is_none();
            seq = Some(now);
            for pause in control.pauses().list(PauseFilter::All)? {
                let state = (pause.id, pause.state);
                let is_old = is_first && !pause.state.is_open();
                let is_other = !is_of(&pause, session.as_deref());
                if shown.contains(&state) || is_other {
                    continue;
                }
                shown.retain(|(id, _)| *id != pause.id);
                shown.push(state);
                if is_old {
                    continue;
                }
                if context.out.json {
                    out::Out::json_line(&json!(view::pause(&pause)))?;
                } else {
                    context.out.text(&line(context, &pause))?;
                }
                if pause.state == PauseState::Held {
                    control.pauses().acknowledge(pause.id, &face)?;
                }
            }
        }
        news.wait(None);
        // the commits of one act are one piece of news
        std::thread::sleep(SETTLE);
    }
}

fn pause(context: &ControlContext, options: &PauseArgs) -> CliResult<()> {
    let control = context.create()?;
    let made = control.pauses().hold_next(
        context
            .known_session(options.session.as_deref())?
            .as_deref(),
        options.all,
        FACE,
    )?;
    if context.out.json {
        return out::answer(json!({ "breakpoint": view::breakpoint(&made) }));
    }
    context
        .out
        .remark("The next call is held. `backstitch pauses --watch` shows it.\n")
}

fn held(context: &ControlContext, pause: Option<&str>, session: Option<&str>) -> CliResult<Pause> {
    let session = context.known_session(session)?;
    Ok(context
        .required()?
        .pauses()
        .open(pause, session.as_deref())?)
}

fn decide(context: &ControlContext, options: &HeldArgs, decision: &PauseDecision) -> CliResult<()> {
    let pause = held(
        context,
        options.pause.as_deref(),
        options.session.as_deref(),
    )?;
    carry_out(context, &pause, decision)
}

/// Waits until a decision is carried out.
pub fn carried_out(control: &Control, workspace: &Workspace, undone: Undone) -> CliResult<Decided> {
    let one = Config::of(workspace).eval_timeout();
    Ok(undone.carried_out(control, one, &|| false)?)
}

/// Stores a decision that keeps a call from running, and says so.
fn carry_out(context: &ControlContext, pause: &Pause, decision: &PauseDecision) -> CliResult<()> {
    let control = context.required()?;
    let summary = shown::summary(pause);
    let undone = control.pauses().decide(pause.id, decision, None, FACE)?;
    let decided = carried_out(&control, &context.workspace, undone)?;
    say(context, pause, &summary, &decided, None)
}

/// Lets a held call continue with the input that it has now, or with another one, and says so.
fn go_on(
    context: &ControlContext,
    held: (Option<&str>, Option<&str>),
    input: &InputArgs,
    step: Option<StepHow>,
) -> CliResult<()> {
    let other = input.input.as_ref().map(|file| input_from(file));
    let pause = self::held(context, held.0, held.1)?;
    let wish = GoingOn {
        input: other.transpose()?,
        fingerprint: input.fingerprint.clone(),
        force: input.force,
    };
    let goes_on = acts::going_on(&pause, &wish).map_err(|obstacle| refusal(&pause, obstacle))?;
    let is_changed = matches!(goes_on.decision, PauseDecision::Change { .. });
    if is_changed && !context.out.json {
        let text = held_text::differences(&goes_on.shown.predicted, context.out.paint);
        context.out.remark(&text)?;
    }
    let until = step.and_then(|how| acts::step_until(&pause, how_name(how)));
    let control = context.required()?;
    let undone = acts::go_on(&control, &pause, &goes_on, until.as_ref(), FACE)
        .map_err(|obstacle| refusal(&pause, obstacle))?;
    let decided = carried_out(&control, &context.workspace, undone)?;
    say(context, &pause, &goes_on.shown.summary, &decided, step)
}

/// The reason why a held call does not continue, and the next step.
pub fn refusal(pause: &Pause, obstacle: GoOnObstacle) -> CliError {
    match obstacle {
        GoOnObstacle::Stale => CliError::refused(format!(
            "the input of {} or its files changed since it was shown",
            pause.id
        ))
        .hint("`backstitch inspect` shows it as it is now; it stays held"),
        GoOnObstacle::Input(problem) => CliError::refused(problem.reason).hint(problem.hint),
        GoOnObstacle::Error(error) => error.into(),
    }
}

fn say(
    context: &ControlContext,
    pause: &Pause,
    summary: &str,
    decided: &Decided,
    step: Option<StepHow>,
) -> CliResult<()> {
    if context.out.json {
        let decision = &decided.decision;
        return out::answer(json!({
            "pause": view::pause(&decided.pause),
            "outcome": decision.outcome().name(),
        }));
    }
    let text = told(pause, summary, &decided.decision, step);
    context.out.remark(&format!("{text}\n"))
}

/// Says what becomes of a call, in a line. `summary`: the call as it was shown.
pub fn told(
    pause: &Pause,
    summary: &str,
    decision: &PauseDecision,
    step: Option<StepHow>,
) -> String {
    let ends_turns = agents::takes(&pause.call.agent, AnswerPart::Stop);
    let what = match decision {
        PauseDecision::Continue if pause.call.subject == Subject::Proposal => "is carried out",
        PauseDecision::Continue => "continues",
        PauseDecision::Change { .. } => "continues with the changed input",
        PauseDecision::Deny { .. } => "was denied",
        PauseDecision::Skip => "was skipped",
        PauseDecision::Replace { .. } => "returns this value",
        PauseDecision::Stop { .. } if ends_turns => "was stopped, and its turn ends",
        PauseDecision::Stop { .. } => "was denied, and its agent is asked to end the turn",
        PauseDecision::Back { .. } => "was sent back",
        PauseDecision::Ask => "is left to the agent's own question",
    };
    let next = match step {
        Some(how) => format!(" The next stop: {}.", step_words(how, pause)),
        None => String::new(),
    };
    let parked = if pause.state == PauseState::Parked {
        " It holds for the agent's next try."
    } else {
        ""
    };
    let told = if let PauseDecision::Back { message } = decision {
        format!(" The model gets: {message}")
    } else {
        String::new()
    };
    format!("{}: {summary} {what}.{told}{next}{parked}", pause.id)
}

pub fn how_name(how: StepHow) -> &'static str {
    match how {
        StepHow::Over => "over",
        StepHow::Into => "into",
        StepHow::Out => "out",
        StepHow::File => "file",
        StepHow::Turn => "turn",
    }
}

fn step_words(how: StepHow, from: &Pause) -> &'static str {
    match how {
        StepHow::Out if from.call.subagent.is_none() => "the first call of another turn",
        StepHow::Over => "the next call of this thread",
        StepHow::Into => "the next call of any thread",
        StepHow::Out => "the next call of the main thread, or of another turn",
        StepHow::File => "the next call that names another file",
        StepHow::Turn => "the first call of another turn",
    }
}

fn resume(context: &ControlContext, options: &ResumeArgs) -> CliResult<()> {
    let held = (
        options.held.pause.as_deref(),
        options.held.session.as_deref(),
    );
    go_on(context, held, &options.input, None)
}

/// Reads the new input of a call.
fn input_from(file: &std::ffi::OsStr) -> CliResult<Value> {
    let name = file.to_string_lossy();
    let text = if file == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| CliError::failed(format!("stdin: {error}")))?;
        text
    } else {
        std::fs::read_to_string(file)
            .map_err(|error| CliError::failed(format!("{name}: {error}")))?
    };
    let input: Value = serde_json::from_str(&text)
        .map_err(|error| CliError::usage(format!("{name}: not JSON: {error}")))?;
    if !input.is_object() {
        return Err(
            CliError::usage(format!("{name}: the input of a tool is a JSON object"))
                .hint("`backstitch inspect --json` prints the input as it is"),
        );
    }
    Ok(input)
}

fn step(context: &ControlContext, options: &StepArgs) -> CliResult<()> {
    let held = (options.pause.as_deref(), options.session.as_deref());
    go_on(context, held, &options.input, Some(options.how))
}

fn deny(context: &ControlContext, options: &DenyArgs) -> CliResult<()> {
    let decision = PauseDecision::Deny {
        message: options.message.clone(),
    };
    decide(context, &options.held, &decision)
}

fn stop(context: &ControlContext, options: &StopArgs) -> CliResult<()> {
    let decision = PauseDecision::Stop {
        message: options.message.clone(),
    };
    decide(context, &options.held, &decision)
}

fn inject(context: &ControlContext, options: &InjectArgs) -> CliResult<()> {
    if options.list {
        return waiting(context);
    }
    if let Some(number) = options.withdraw {
        return withdraw(context, number);
    }
    let control = context.create()?;
    let session = context.known_session(options.session.as_deref())?;
    if let Some(agent) = context.agent_of(session.as_deref())?
        && !agents::takes(&agent, AnswerPart::Note)
    {
        return Err(
            CliError::refused(format!("{agent} takes no text for its model"))
                .hint("`backstitch deny -m TEXT` has one for the model of a held call"),
        );
    }
    let text = options.text.as_deref().unwrap_or_default();
    let number = control
        .messages()
        .inject(None, session.as_deref(), text, FACE)?;
    if context.out.json {
        return out::answer(json!({ "injected": true, "number": number }));
    }
    context.out.remark(&format!(
        "The text goes to the model with the next event that can carry it. `backstitch inject --withdraw {number}` takes it \
         back until then.\n"
    ))
}

/// Lists the texts that wait for an event.
fn waiting(context: &ControlContext) -> CliResult<()> {
    let waiting = match context.existing()? {
        Some(control) => control.messages().waiting()?,
        None => Vec::new(),
    };
    if context.out.json {
        let waiting: Vec<Value> = waiting
            .iter()
            .map(|one| {
                json!({
                    "number": one.id,
                    "agent": one.agent,
                    "session": one.session,
                    "text": one.text,
                    "made": crate::to_protocol::time(one.made),
                })
            })
            .collect();
        return out::answer(json!({ "waiting": waiting }));
    }
    if waiting.is_empty() {
        return context.out.text("No text waits.\n");
    }
    let line = |one: &WaitingMessage| {
        TextLine::new()
            .column(BOLD, &one.id.to_string(), 4)
            .add(PLAIN, render::cut(&render::clean(&one.text), 100))
            .add(
                DIM,
                match &one.session {
                    Some(session) => format!("  for {}", render::clean(session)),
                    None => "  for the session of the next event".to_owned(),
                },
            )
            .right(context.out.paint.ago(one.made))
            .draw(context.out.paint)
    };
    let text: String = waiting.iter().map(line).collect();
    context.out.text(&text)
}

fn withdraw(context: &ControlContext, number: i64) -> CliResult<()> {
    let withdrawn = match context.existing()? {
        Some(control) => control.messages().withdraw(number)?,
        None => false,
    };
    if !withdrawn {
        return Err(CliError::not_found(format!("no text {number} waits")).hint(
            "`backstitch inject --list` lists those that do; a sent one cannot be withdrawn",
        ));
    }
    if context.out.json {
        return out::answer(json!({ "withdrawn": number }));
    }
    context
        .out
        .remark(&format!("Text {number} is withdrawn.\n"))
}

fn back(context: &ControlContext, options: &BackArgs) -> CliResult<()> {
    let pause = held(
        context,
        options.pause.as_deref(),
        options.session.as_deref(),
    )?;
    let mut engine = Engine::open_with(&context.workspace, opening::COMMAND.existing())?;
    let control = context.required()?;
    let summary = shown::summary(&pause);
    let back = Back {
        steps: options.steps,
        on_conflict: options.on_conflict,
        face: FACE,
    };
    let editor = OwnEditor::default();
    let (undone, _) = acts::back(&mut engine, &control, &pause, &back, &editor)?;
    let decided = carried_out(&control, &context.workspace, undone)?;
    say(context, &pause, &summary, &decided, None)
}

fn inspect(context: &ControlContext, options: &HeldArgs) -> CliResult<()> {
    let control = context.required()?;
    let pause = control.pauses().open(
        options.pause.as_deref(),
        context
            .known_session(options.session.as_deref())?
            .as_deref(),
    )?;
    let shown = details::details(&pause, Around::default(), &read_disk);
    if context.out.json {
        return out::answer(json!({ "pause": document(&shown)? }));
    }
    context.out.text(&held_text::text(
        &shown,
        HeldExtent::WithInput,
        context.out.paint,
    ))
}

/// A held call in one document: the fields of its row, and those of its details beside them.
fn document(shown: &PauseDetails) -> CliResult<Value> {
    let failed = |error: serde_json::Error| CliError::failed(error.to_string());
    let mut document = serde_json::to_value(&shown.pause).map_err(failed)?;
    let details = serde_json::to_value(shown).map_err(failed)?;
    if let (Value::Object(row), Value::Object(details)) = (&mut document, details) {
        let left_out = ["pause", "seq", "recent", "others"];
        let details = details.into_iter();
        row.extend(details.filter(|(name, _)| !left_out.contains(&name.as_str())));
    }
    Ok(document)
}
