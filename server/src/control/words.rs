//! Words about held calls, for the model and for people. Pure.

use std::time::Duration;

use backstitch_core::control::{BreakpointId, Pause, PauseState};
use serde_json::Value;

use super::proposal::Proposal;
use crate::agents;
use crate::render;

/// Stands in place of the front end that decided, where an agent withdraws its proposal.
pub const WITHDRAWN: &str = "withdrawn";

/// Tells the model that the user changed its call.
pub fn changed(input: &Value) -> String {
    format!("The user changed this call before it ran. Its input is now: {input}")
}

/// Reason of a question that the agent asks its own user.
pub fn asked(why: &str) -> String {
    format!("Backstitch: a breakpoint stops here ({why}).")
}

pub fn skipped() -> String {
    "The user skipped this call. Go on without it.".to_owned()
}

/// Denial by the user without a reason.
pub fn refused() -> String {
    "The user refused this call.".to_owned()
}

pub fn stopped() -> String {
    "The user stopped this turn. Do nothing more until the next prompt.".to_owned()
}

/// Denial of a breakpoint without a message of its own.
pub fn denied(breakpoint: BreakpointId, why: &str) -> String {
    format!("The user's breakpoint {breakpoint} refuses this call ({why}).")
}

/// Denial of a call that nobody decided on in time.
pub fn timed_out(why: &str, waited: Duration) -> String {
    let waited = match waited.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    };
    format!(
        "Backstitch held this call for the user for {waited} ({why}), and nobody answered. Ask the user, then try the \
         same call again."
    )
}

/// Denial of a call that nobody sees.
pub fn unattended(why: &str) -> String {
    format!("A breakpoint of the user stops here ({why}), and nobody watches. Ask the user.")
}

/// Denial of a call that has to be held and cannot be.
pub fn cannot_hold(reason: &str) -> String {
    format!(
        "A breakpoint of the user stops here, and the call cannot be held: {reason}. `backstitch doctor` shows more."
    )
}

/// Denial of any call that may write, where nothing is known about the breakpoints.
pub fn unknown(reason: &str) -> String {
    format!(
        "The breakpoints of this workspace cannot be read, so that nothing may write: {reason}. `backstitch doctor` \
         shows more."
    )
}

/// Tells the model that calls before this one were taken out.
pub fn back(steps: usize, what: &str, has_run: bool) -> String {
    let steps = render::plural(steps, "step", "steps");
    let this = if has_run {
        "this call has run"
    } else {
        "this call did not run"
    };
    format!(
        "The user took your last {steps} out ({what}), and {this}. Read the files again before you go on."
    )
}

/// A held call in one line: `Edit src/auth.rs`.
pub fn summary(pause: &Pause) -> String {
    let call = &pause.call;
    if let Some(proposal) = Proposal::of(pause) {
        return proposal.line();
    }
    let input = super::input::read(call.input.as_bytes()).ok();
    let command = input
        .as_ref()
        .and_then(|input| match agents::agent(&call.agent) {
            Some(agent) => agent.command(&call.tool, input),
            None => input.get("command")?.as_str().map(str::to_owned),
        });
    let tool = render::clean(&call.tool);
    match (call.files.first(), command) {
        (_, Some(command)) => {
            format!("{tool} {}{}", render::clean(&command), more_lines(&command))
        }
        (Some(file), None) => format!("{tool} {}", render::clean(file)),
        (None, None) => tool,
    }
}

/// Says that a command has more lines than the one that is shown.
fn more_lines(command: &str) -> String {
    let lines = command.lines().filter(|line| !line.trim().is_empty());
    match lines.count() {
        0 | 1 => String::new(),
        2 => " … (1 more line)".to_owned(),
        count => format!(" … ({} more lines)", count - 1),
    }
}

/// The state of a pause, for people.
pub fn state(pause: &Pause) -> String {
    match (pause.state, pause.outcome) {
        (PauseState::Held, _) => "held".to_owned(),
        (PauseState::Parked, _) if pause.decision.is_some() => "decided, until it tries".to_owned(),
        (PauseState::Parked, _) => "told to try again".to_owned(),
        (PauseState::Decided, _) => "decided".to_owned(),
        (PauseState::Slipped, _) => "ran unasked".to_owned(),
        (PauseState::Lost, _) if pause.is_program => "its program ended".to_owned(),
        (PauseState::Lost, _) if pause.call.is_proposal() => "its server ended".to_owned(),
        (PauseState::Lost, _) => "its hook died".to_owned(),
        (PauseState::Ended, _) if pause.is_program => "given up by the program".to_owned(),
        (PauseState::Ended, _) if pause.call.is_proposal() => match pause.decided_by.as_deref() {
            Some(WITHDRAWN) | None => "withdrawn".to_owned(),
            Some(_) => "accepted, not possible any more".to_owned(),
        },
        (PauseState::Ended, _) => "given up by the agent".to_owned(),
        (PauseState::Expired, _) => "expired".to_owned(),
        (_, Some(outcome)) => outcome.name().to_owned(),
        (_, None) => "ended".to_owned(),
    }
}
