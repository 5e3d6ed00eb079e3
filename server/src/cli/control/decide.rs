//! Decisions on held calls: the call that is meant, the input that it continues with, and the answer.

use std::ffi::OsString;
use std::io::Read as _;

use backstitch_agents::{self as agents, AnswerPart};
use backstitch_control::{Control, Decided, Pause, PauseDecision, PauseState, Subject, Undone};
use backstitch_core::Workspace;
use backstitch_core::config::Config;
use clap::Args;
use serde_json::{Value, json};

use crate::cli::complete;
use crate::cli::control::held_text;
use crate::cli::control_context::{CLIENT, ControlContext};
use crate::control::acts::{self, ContinueObstacle, ContinueRequest, StepHow};
use crate::control::{shown, view};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out;

/// A held call that a command is about.
#[derive(Debug, Args)]
pub struct HeldArgs {
    /// Held call: p7 [default: the only one]
    #[arg(value_name = "PAUSE")]
    pub pause: Option<String>,
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
}

/// The input with which a held call continues.
#[derive(Debug, Default, Args)]
pub struct InputArgs {
    /// Let the call run with this input: a file with JSON, or `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub input: Option<OsString>,
    /// Send the input even if the tool will refuse it
    #[arg(long)]
    pub force: bool,
    /// Only if the call is still the one with this `fingerprint`, as `inspect --json` shows it
    #[arg(long, value_name = "TEXT")]
    pub fingerprint: Option<String>,
}

/// A word after `step` or `back`: the held call, or what is done with it.
#[derive(Clone, Debug)]
pub enum HeldWord<T> {
    Pause(String),
    What(T),
}

impl<T: Clone + Send + Sync + 'static> HeldWord<T> {
    /// Parses `p7`, or else by `what`, which returns the reason why a word is none.
    pub fn parser(
        what: fn(&str) -> Result<T, String>,
    ) -> impl Fn(&str) -> Result<Self, String> + Clone + Send + Sync + 'static {
        move |typed| {
            let number = typed.strip_prefix('p').unwrap_or_default();
            let is_pause = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            if is_pause {
                return Ok(Self::Pause(typed.to_owned()));
            }
            what(typed).map(Self::What)
        }
    }

    /// Returns the held call and the other word, of which each stands there at most once.
    pub fn read(words: &[Self], option: Option<&str>) -> CliResult<(Option<String>, Option<T>)> {
        let (mut pause, mut other) = (option.map(str::to_owned), None);
        for word in words {
            let twice = match word {
                Self::Pause(name) => pause.replace(name.clone()).is_some(),
                Self::What(word) => other.replace(word.clone()).is_some(),
            };
            if twice {
                return Err(CliError::usage("one held call, and one word for it")
                    .hint("write `step p7 into`, `back p7 2`"));
            }
        }
        Ok((pause, other))
    }
}

/// Returns the held call that is meant.
pub fn held(
    context: &ControlContext,
    pause: Option<&str>,
    session: Option<&str>,
) -> CliResult<Pause> {
    let session = context.known_session(session)?;
    Ok(context
        .required()?
        .pauses()
        .open(pause, session.as_deref())?)
}

/// Takes a decision that keeps a call from running.
pub fn decide(
    context: &ControlContext,
    options: &HeldArgs,
    decision: &PauseDecision,
) -> CliResult<()> {
    let pause = held(
        context,
        options.pause.as_deref(),
        options.session.as_deref(),
    )?;
    carry_out(context, &pause, decision)
}

/// Stores a decision that keeps a call from running, and says so.
fn carry_out(context: &ControlContext, pause: &Pause, decision: &PauseDecision) -> CliResult<()> {
    let control = context.required()?;
    let summary = shown::summary(pause);
    let undone = control.pauses().decide(pause.id, decision, None, CLIENT)?;
    let decided = carried_out(&control, &context.workspace, undone)?;
    say(context, pause, &summary, &decided, None)
}

/// Waits until a decision is carried out.
pub fn carried_out(control: &Control, workspace: &Workspace, undone: Undone) -> CliResult<Decided> {
    carried_out_until(control, workspace, undone, &|| false)
}

/// The same. `is_over`: asked from time to time; true ends the wait with an error, and the decision stands.
pub fn carried_out_until(
    control: &Control,
    workspace: &Workspace,
    undone: Undone,
    is_over: &dyn Fn() -> bool,
) -> CliResult<Decided> {
    let one = Config::of(workspace).eval_timeout();
    Ok(undone.carried_out(control, one, is_over)?)
}

/// Lets a held call continue with the input that it has now, or with another one, and says so.
pub fn continue_call(
    context: &ControlContext,
    held: (Option<&str>, Option<&str>),
    input: &InputArgs,
    step: Option<StepHow>,
) -> CliResult<()> {
    let other = input.input.as_ref().map(|file| input_from(file));
    let pause = self::held(context, held.0, held.1)?;
    let wish = ContinueRequest {
        input: other.transpose()?,
        fingerprint: input.fingerprint.clone(),
        force: input.force,
    };
    let continued =
        acts::check_continue(&pause, &wish).map_err(|obstacle| refusal(&pause, obstacle))?;
    let is_changed = matches!(continued.decision, PauseDecision::Change { .. });
    if is_changed && !context.out.json {
        let text = held_text::differences(&continued.shown.predicted, context.out.paint);
        context.out.remark(&text)?;
    }
    let until = step.map(|how| how.until(&pause));
    let control = context.required()?;
    let undone = acts::continue_call(&control, &pause, &continued, until.as_ref(), CLIENT)
        .map_err(|obstacle| refusal(&pause, obstacle))?;
    let decided = carried_out(&control, &context.workspace, undone)?;
    say(context, &pause, &continued.shown.summary, &decided, step)
}

/// The reason why a held call does not continue, and the next step.
pub fn refusal(pause: &Pause, obstacle: ContinueObstacle) -> CliError {
    match obstacle {
        ContinueObstacle::Stale => CliError::refused(format!(
            "the input of {} or its files changed since it was shown",
            pause.id
        ))
        .hint("`backstitch inspect` shows it as it is now; it stays held"),
        ContinueObstacle::Input(problem) => CliError::refused(problem.reason).hint(problem.hint),
        ContinueObstacle::Error(error) => error.into(),
    }
}

/// Says the decision that was carried out.
pub fn say(
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
    let text = outcome_line(pause, summary, &decided.decision, step);
    context.out.remark(&format!("{text}\n"))
}

/// Says what becomes of a call, in a line. `summary`: the call as it was shown.
pub fn outcome_line(
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
