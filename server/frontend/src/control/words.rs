//! Words about held calls, for the model and for people. Pure.

use std::path::Path;
use std::time::Duration;

use backstitch_agents as agents;
use backstitch_control::{
    Attempt, BreakpointId, BreakpointSpec, HeldCall, Pause, PauseDecision, PauseOutcome,
    PauseState, Subject,
};
use backstitch_protocol::{CallFile, Text};
use serde_json::Value;

use super::pattern;
use super::proposal::Proposal;
use crate::render;

/// Stands in place of the front end that decided, where an agent withdraws its proposal.
pub const WITHDRAWN: &str = "withdrawn";

/// Tells the user of a decision that an agent tried to make.
pub fn attempt(attempt: &Attempt) -> String {
    format!(
        "an agent tried to decide: `{}` was refused ({})",
        render::clean(&attempt.command),
        render::clean(&attempt.reason)
    )
}

/// Tells the model that the user changed its call.
pub fn changed(input: &Value) -> String {
    format!("The user changed this call before it ran. Its input is now: {input}")
}

/// Reason of a question that the agent asks its own user.
pub fn asked(why: &str) -> String {
    format!("Backstitch: a breakpoint stops here ({why}).")
}

/// Denial of a call whose decision its agent cannot receive.
pub fn not_possible(decision: &PauseDecision) -> String {
    let what = if matches!(decision, PauseDecision::Change { .. }) {
        "changed this call, and its agent takes no changed input"
    } else {
        "decided on this call, and its agent takes no such decision"
    };
    format!("The user {what}. The call did not run. Ask the user.")
}

pub fn skipped() -> String {
    "The user skipped this call. Continue without it.".to_owned()
}

/// Denial by the user without a reason.
pub fn refused() -> String {
    "The user refused this call.".to_owned()
}

pub fn stopped() -> String {
    "The user stopped this turn. Do nothing more until the next prompt.".to_owned()
}

/// Denial of a breakpoint without its own message.
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

/// Denial of a call whose payload cannot be read.
pub fn unreadable(why: &str) -> String {
    format!(
        "A breakpoint of the user is armed, and this call cannot be read ({why}), so it does not run. Try it again in \
         smaller parts."
    )
}

/// Denial of a call that nobody sees.
pub fn unattended(why: &str) -> String {
    format!("A breakpoint of the user stops here ({why}), and nobody watches. Ask the user.")
}

/// Denial of what nobody decided on in time and is not tried again.
pub fn nobody_answered() -> String {
    "nobody answered in time".to_owned()
}

/// Denial of what nobody sees and no breakpoint stopped.
pub fn nobody_watches() -> String {
    "no editor and no terminal shows it".to_owned()
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

/// Tells the model that calls before this one were reverted.
pub fn back(steps: usize, what: &str, has_run: bool) -> String {
    let steps = match steps {
        1 => "last step".to_owned(),
        count => format!("last {count} steps"),
    };
    let this = if has_run {
        "This call has run"
    } else {
        "This call did not run"
    };
    format!(
        "The user reverted your {steps} ({what}). {this}. Read the files again before you continue."
    )
}

/// Maximum columns of the list of files in a line; more are counted.
const LISTED_COLUMNS: usize = 60;
/// Maximum number of files that a line lists.
const MAX_LISTED: usize = 3;

/// Text of a call's shell command. None: its tool is not a shell.
pub fn command(call: &HeldCall, input: &Value) -> Option<String> {
    match agents::agent(&call.agent) {
        Some(agent) => agent.command(&call.tool, input),
        None => input
            .get("command")
            .and_then(Value::as_str)
            .map(str::to_owned),
    }
}

/// A held call in one line, with all its files: `Edit src/auth.rs`, `apply_patch: M app.js, A mod/extra.js`, or, if they are
/// many, `apply_patch: app.js +3 files (1 A, 2 M, 1 D)`. `input`: the one with which it runs.
pub fn summary(call: &HeldCall, input: &Value, files: &[CallFile]) -> String {
    if let Some(proposal) = Proposal::of(call) {
        let count = render::plural(proposal.files.len(), "file", "files");
        let title = render::clean(&proposal.title);
        let is_plain = files.iter().all(|file| file.letter == "M");
        let letters = if is_plain {
            String::new()
        } else {
            letters(files)
        };
        return format!("{title}: {count}{}", in_brackets(&letters));
    }
    let command = command(call, input);
    let tool = render::clean(&call.tool);
    let is_patch = command.as_deref().is_some_and(|command| {
        let command = command.trim_start();
        !files.is_empty() && command.starts_with("*** Begin Patch")
    });
    if let Some(command) = command.filter(|_| !is_patch) {
        let line = format!("{tool} {}{}", render::clean(&command), more_lines(&command));
        return match files {
            [] => line,
            files => format!("{line}: {}", listed(files)),
        };
    }
    match files {
        [file] if file.letter == "M" => format!("{tool} {}", name(file)),
        [] => match call.files.as_slice() {
            [] => tool,
            [name] => format!("{tool} {}", render::clean(name)),
            [name, more @ ..] => {
                let more = render::plural(more.len(), "file", "files");
                format!("{tool} {} +{more}", render::clean(name))
            }
        },
        [file] => format!("{tool} {}", lettered(file)),
        files => format!("{tool}: {}", listed(files)),
    }
}

fn name(file: &CallFile) -> String {
    let plain = |text: &Text| render::clean(Text::plain(text).unwrap_or("?"));
    match &file.moved_from {
        Some(from) => format!("{} → {}", plain(from), plain(&file.path)),
        None => plain(&file.path),
    }
}

fn lettered(file: &CallFile) -> String {
    format!("{} {}", file.letter, name(file))
}

/// Each file with its letter, or the first one and their number.
fn listed(files: &[CallFile]) -> String {
    let all: Vec<String> = files.iter().map(lettered).collect();
    let all = all.join(", ");
    match files {
        [first, more @ ..]
            if files.len() > MAX_LISTED
                || !more.is_empty() && render::columns(&all) > LISTED_COLUMNS =>
        {
            let first = render::cut(&name(first), LISTED_COLUMNS / 2);
            let more = render::plural(more.len(), "file", "files");
            format!("{first} +{more}{}", in_brackets(&letters(files)))
        }
        _ => all,
    }
}

fn in_brackets(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(" ({text})")
    }
}

/// Numbers of files by their letters: `1 A, 2 M`.
fn letters(files: &[CallFile]) -> String {
    let counts = ["A", "M", "D", "R"].into_iter().filter_map(|letter| {
        let count = files.iter().filter(|file| file.letter == letter).count();
        (count > 0).then(|| format!("{count} {letter}"))
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// Changed lines of all files: `+4 −1`, and the number of those that are binary. Empty: nothing is known of them.
pub fn counts(files: &[CallFile]) -> String {
    let sum = |count: fn(&CallFile) -> Option<usize>| files.iter().filter_map(count).sum::<usize>();
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    let mut parts = Vec::new();
    if added + removed > 0 {
        parts.push(format!("+{added} −{removed}"));
    }
    let binary = files.iter().filter(|file| file.binary).count();
    if binary > 0 {
        parts.push(format!("{binary} binary"));
    }
    parts.join(", ")
}

/// The place of a held call among others: session, turn and prompt.
pub fn turn_of(pause: &Pause) -> String {
    let call = &pause.call;
    let mut parts = Vec::new();
    parts.extend(call.letter.clone());
    parts.extend(call.turn.map(|turn| format!("t{turn}")));
    if let Some(prompt) = call
        .prompt
        .as_deref()
        .filter(|text| !text.trim().is_empty())
    {
        parts.push(format!("“{}”", render::cut(&render::clean(prompt), 30)));
    }
    parts.join(" ")
}

/// Remarks on a new breakpoint, each a line: what its pattern stands for now, and what its kind does not see. `typed`: the
/// pattern of paths as it was typed.
pub fn remarks(root: &Path, typed: Option<&str>, spec: &BreakpointSpec) -> Vec<String> {
    let of_pattern = typed
        .zip(spec.paths())
        .and_then(|(typed, glob)| pattern::remark(root, typed, glob));
    let limits = spec.limits().map(str::to_owned);
    of_pattern.into_iter().chain(limits).collect()
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
        (PauseState::Parked, _) if pause.decision.is_some() => {
            "decided, waiting for retry".to_owned()
        }
        (PauseState::Parked, _) => "time ran out, retry requested".to_owned(),
        (PauseState::Decided, _) => "decided".to_owned(),
        (PauseState::Slipped, _) => "ran unasked".to_owned(),
        (PauseState::Lost, _) => match pause.call.subject {
            Subject::Program => "its program ended".to_owned(),
            Subject::Proposal => "its server ended".to_owned(),
            Subject::Call | Subject::Edit => "its hook died".to_owned(),
        },
        (PauseState::Ended, _) => match (pause.call.subject, pause.decided_by.as_deref()) {
            (Subject::Program, _) => "given up by the program".to_owned(),
            (Subject::Proposal, Some(WITHDRAWN) | None) => "withdrawn".to_owned(),
            (Subject::Proposal, Some(_)) => "accepted, but no longer possible".to_owned(),
            (Subject::Call | Subject::Edit, _) => "given up by the agent".to_owned(),
        },
        (PauseState::Expired, _) => "expired".to_owned(),
        (PauseState::Answered | PauseState::Used | PauseState::Handed, outcome) => {
            outcome.map_or("ended", PauseOutcome::name).to_owned()
        }
    }
}
