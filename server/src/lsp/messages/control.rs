//! Texts about breakpoints and held calls.

use std::fmt::Write as _;

use backstitch_core::control::{Breakpoint, Pause};
use backstitch_protocol::{PredictedFile, Text};

use crate::control::proposal::Proposal;
use crate::control::words;
use crate::render;

pub const CONTINUE: &str = "Continue";
pub const STEP: &str = "Step";
pub const DENY: &str = "Deny";
pub const DETAILS: &str = "Details";

pub const WHICH_CALL: &str = "Which held call?";
pub const NOTHING_HELD: &str = "no call is held";
pub const NOTHING_HELD_HINT: &str = "`backstitch.breakpoint.toggle` stops agents at lines; `backstitch.pause` stops one at its next call";
pub const NO_BREAKPOINTS: &str = "there are no breakpoints";
pub const STALE: &str = "the files or the input changed since this prediction was shown";
pub const STALE_HINT: &str =
    "look at the call again; without `fingerprint` it goes on as it is now";
pub const EVAL_FAILED: &str = "the evaluation failed";
pub const GATE_FAILED: &str = "the breakpoints could not be checked; nothing was changed";
pub const LENS_STOPS: &str = "⏸ agents stop here";

/// Question about a call that is held now: `claude-code wants to run Edit src/auth.rs (+3 −1). Held by b3: path src/**`.
pub fn held(pause: &Pause, predicted: &[PredictedFile]) -> String {
    let call = &pause.call;
    let (mut added, mut removed) = (0, 0);
    for file in predicted {
        added += file.added.unwrap_or(0);
        removed += file.removed.unwrap_or(0);
    }
    let (agent, summary) = (
        render::clean(&call.agent),
        render::cut(&words::summary(pause), 80),
    );
    let proposal = Proposal::of(pause);
    let mut text = if proposal.is_some() {
        format!("{agent} proposes a {summary}")
    } else if pause.is_program {
        format!("A {agent} program stands still: {summary}")
    } else {
        format!("{agent} wants to run {summary}")
    };
    if added + removed > 0 {
        write!(text, " (+{added} −{removed})").ok();
    }
    if let Some(proposal) = proposal {
        if let Some(reason) = &proposal.reason {
            write!(text, ". Its reason: {}", render::clean(reason)).ok();
        }
        return text;
    }
    let by = call
        .breakpoint
        .map_or_else(String::new, |id| format!(" by {id}"));
    write!(text, ". Held{by}: {}", render::clean(&call.why)).ok();
    text
}

/// A call that its agent ran although a breakpoint stops it: the hook died.
pub fn slipped(pause: &Pause) -> String {
    format!(
        "{} ran {} unasked: its hook died ({}).",
        render::clean(&pause.call.agent),
        render::cut(&words::summary(pause), 80),
        pause.id
    )
}

/// A held call in a list.
pub fn offered(pause: &Pause) -> String {
    format!(
        "{} {} · {}",
        pause.id,
        render::cut(&words::summary(pause), 60),
        render::clean(&pause.call.agent)
    )
}

/// A typed input that cannot be read.
pub fn not_json(why: &str) -> String {
    format!("the input is not JSON: {why}")
}

/// The breakpoints as a document.
pub fn breakpoints(all: &[backstitch_protocol::Breakpoint]) -> String {
    let mut text = "# Agent breakpoints\n\n".to_owned();
    if all.is_empty() {
        text.push_str("There are none. `backstitch.breakpoint.toggle` stops agents at lines.\n");
    }
    for one in all {
        let summary = render::clean(&one.summary);
        write!(text, "- {}: {} {summary}", one.id, one.kind).ok();
        if one.action != "pause" {
            write!(text, ", {}", one.action).ok();
        }
        if let Some(jq) = &one.when {
            write!(text, ", when `{}`", render::clean(jq)).ok();
        }
        if let Some(hits) = &one.hits {
            write!(text, ", hits {hits}").ok();
        }
        match &one.region {
            Some(region) if region.state == "gone" => text.push_str(", its lines are gone"),
            Some(region) => {
                write!(text, ", now from line {}", region.start + 1).ok();
            }
            None => {}
        }
        if !one.enabled {
            text.push_str(", disabled");
        }
        let hits = usize::try_from(one.hit_count).unwrap_or(0);
        writeln!(text, ", {}", render::plural(hits, "hit", "hits")).ok();
        if let Some(problem) = &one.problem {
            writeln!(text, "  - {}", render::clean(problem)).ok();
        }
    }
    text
}

/// Lens above the line that a held call changes.
pub fn lens(pause: &Pause) -> String {
    format!(
        "⏸ held: {} by {}",
        render::clean(&pause.call.tool),
        render::clean(&pause.call.agent)
    )
}

pub fn action_continue(pause: &Pause) -> String {
    format!("Continue the held {}", render::clean(&pause.call.tool))
}

pub fn action_deny(pause: &Pause) -> String {
    format!("Deny the held {}", render::clean(&pause.call.tool))
}

pub fn action_details(pause: &Pause) -> String {
    format!("Show the held {}", render::clean(&pause.call.tool))
}

pub const ACTION_STOP_HERE: &str = "Stop agents here";
pub const ACTION_NO_STOP: &str = "Let agents change these lines";

/// Report of a decision.
pub fn decided(pause: &Pause, outcome: &str) -> String {
    format!("{}: {} ({outcome}).", pause.id, words::summary(pause))
}

pub fn added(breakpoint: &Breakpoint) -> String {
    format!(
        "Breakpoint {}: agents stop at {} {}.",
        breakpoint.id,
        breakpoint.spec.kind(),
        render::clean(&breakpoint.spec.summary())
    )
}

pub fn removed(ids: &[String]) -> String {
    format!("Removed {}.", ids.join(", "))
}

pub fn wrong_spec(kind: &str, error: &str) -> String {
    format!("`spec` is not one of a breakpoint of the kind `{kind}`: {error}")
}

pub fn not_one_of(argument: &str, value: &str, all: &[&str]) -> String {
    format!("`{argument}` is `{value}`, not one of {}", all.join(", "))
}

pub fn no_time(typed: &str) -> String {
    format!("`{typed}` is not a time, such as 2026-11-25T09:30:00Z")
}

pub fn no_object(cid: &str) -> String {
    format!("there is no value `{cid}`")
}

pub fn condition(jq: &str, reason: &str) -> String {
    format!("the condition `{jq}`: {reason}")
}

pub fn no_file(path: &str) -> String {
    format!("`{path}` does not exist")
}

pub const NO_FILE_HINT: &str =
    "a line breakpoint begins with the lines as they are; a path breakpoint is for new files";

/// Error of a tool that cannot write the wanted texts.
pub fn not_invertible(reason: &str) -> String {
    format!("the call cannot write this text: {reason}")
}

pub const NOT_INVERTIBLE_HINT: &str = "edit its input instead";

pub fn other_held(pause: &Pause) -> String {
    format!("{} is held, too: {}", pause.id, words::summary(pause))
}

/// A held call as a document, for editors without panels.
pub fn document(details: &backstitch_protocol::PauseDetails) -> String {
    let pause = &details.pause;
    let mut text = format!("# {} — {}\n\n", pause.id, render::clean(&pause.summary));
    writeln!(text, "- why: {}", render::clean(&pause.why)).ok();
    for frame in &details.stack {
        writeln!(text, "- {}: {}", frame.kind, render::clean(&frame.name)).ok();
    }
    if let Some(until) = pause.until.as_ref().and_then(|until| until.0.as_ref()) {
        writeln!(text, "- until: {until}").ok();
    }
    writeln!(text, "- possible: {}\n", pause.can.join(", ")).ok();
    let input = serde_json::to_string_pretty(&details.input).unwrap_or_default();
    writeln!(text, "## Input\n\n```json\n{input}\n```\n").ok();
    if let Some(unpredicted) = &details.unpredicted {
        writeln!(
            text,
            "## Effect\n\nNothing is predicted: {}.",
            unpredicted.reason
        )
        .ok();
        for path in unpredicted.paths.iter().filter_map(Text::plain) {
            writeln!(text, "- may concern {}", render::clean(path)).ok();
        }
    }
    for file in &details.predicted {
        let path = render::clean(Text::plain(&file.path).unwrap_or("?"));
        writeln!(text, "## {} {path}\n", file.letter).ok();
        if let Some(why) = &file.why {
            let word = if file.fails { "will fail" } else { "not sure" };
            writeln!(text, "{word}: {why}\n").ok();
        }
        if let (Some(now), Some(then)) = (
            file.now.as_deref().or((file.letter == "A").then_some("")),
            file.then.as_deref().or((file.letter == "D").then_some("")),
        ) {
            let diff = similar::TextDiff::from_lines(now, then);
            let unified = diff.unified_diff().context_radius(3).to_string();
            writeln!(text, "```diff\n{unified}```\n").ok();
        }
    }
    text
}
