//! Texts about breakpoints and held calls.

use std::fmt::Write as _;

use backstitch_control::{Ability, Breakpoint, CallMoment, Pause, Subject, decider, place};
use backstitch_protocol::{PredictResult, Text};

use crate::control::proposal::Proposal;
use crate::control::{shown, words};
use crate::render;

pub const CONTINUE: &str = "Continue";
pub const STEP: &str = "Step";
pub const REWIND: &str = "Rewind";
pub const DENY: &str = "Deny";
pub const DETAILS: &str = "Details";

/// The reason of the end of a REPL.
pub const CLOSED_REPL: &str = "it was closed";
pub const WHICH_CALL: &str = "Which held call?";
pub const NOTHING_HELD: &str = "no call is held";
pub const NOTHING_HELD_HINT: &str = "`backstitch.breakpoint.toggle` stops agents at lines; `backstitch.pause` stops one at its next call";
pub const NO_BREAKPOINTS: &str = "there are no breakpoints";
pub const STALE: &str = "the files or the input changed since this prediction was shown";
pub const STALE_HINT: &str =
    "look at the call again; without `fingerprint` it continues as it is now";
pub const FORCE_HINT: &str = "change the input, or send it with `force`; the call stays held";
pub const EVAL_FAILED: &str = "the evaluation failed";
pub const GATE_FAILED: &str = "the breakpoints could not be checked; nothing was changed";
pub const LENS_STOPS: &str = "⏸ agents stop here";

/// Answers to the question about a held call. The first one does nothing: some editors choose it with any return.
pub fn offered_answers(pause: &Pause) -> Vec<&'static str> {
    let mut all = vec![DETAILS];
    for can in pause.possible() {
        match can {
            Ability::Rewind => all.push(REWIND),
            Ability::Continue => all.extend([CONTINUE, STEP]),
            Ability::Deny => all.push(DENY),
            _ => {}
        }
    }
    all
}

/// Question about a call that is held now: `claude-code wants to run Edit src/auth.rs (+3 −1). Held by b3: path src/**`.
pub fn held(pause: &Pause, shown: &PredictResult) -> String {
    let call = &pause.call;
    let (agent, summary) = (render::clean(&call.agent), render::cut(&shown.summary, 100));
    let proposal = Proposal::of(call);
    let mut text = if proposal.is_some() {
        format!("{agent} proposes a {summary}")
    } else if call.subject == Subject::Program {
        format!("A {agent} program is paused: {summary}")
    } else if call.moment == CallMoment::After {
        format!("{agent} has run {summary}")
    } else {
        format!("{agent} wants to run {summary}")
    };
    let counts = words::counts(&shown.files);
    if !counts.is_empty() {
        write!(text, " ({counts})").ok();
    }
    if let Some(proposal) = proposal {
        for sentence in &proposal.summary {
            write!(text, ". {}", render::clean(sentence).trim_end_matches('.')).ok();
        }
        if let Some(reason) = &proposal.reason {
            write!(text, ". Its reason: {}", render::clean(reason)).ok();
        }
        return text;
    }
    if let Some(error) = &call.error {
        write!(
            text,
            ". It failed: {}",
            render::cut(&render::clean(error), 200)
        )
        .ok();
    }
    if let Some(draft) = &pause.draft {
        write!(
            text,
            ". Its input was changed in {}",
            render::clean(place(&draft.by))
        )
        .ok();
    }
    for file in shown.predicted.iter().filter(|file| file.fails) {
        let why = file.why.as_deref().unwrap_or("it gives no reason");
        write!(text, ". It will fail: {}", render::clean(why)).ok();
    }
    let by = call
        .breakpoint
        .map_or_else(String::new, |id| format!(" by {id}"));
    write!(text, ". Held{by}: {}", render::clean(&call.why)).ok();
    let turn = words::turn_of(pause);
    if !turn.is_empty() {
        write!(text, ". {turn}").ok();
    }
    text
}

/// A held call and what became of it: `p1 Edit a.txt: continued, in a terminal`.
fn outcome(pause: &Pause) -> String {
    format!(
        "{} {}: {}, {}",
        pause.id,
        render::cut(&shown::summary(pause), 60),
        words::state(pause),
        pause.decider()
    )
}

/// Tells of a call whose question stands, and which is no longer held.
pub fn void(pause: &Pause) -> String {
    format!(
        "{}. The question about it changes nothing any longer.",
        outcome(pause)
    )
}

/// Tells of a call whose question stands, and which runs with another input by now.
pub fn changed(pause: &Pause) -> String {
    let by = pause
        .draft
        .as_ref()
        .map(|draft| render::clean(place(&draft.by)));
    match by {
        Some(by) => format!(
            "The input of {} was changed in {by}: {}.",
            pause.id,
            shown::summary(pause)
        ),
        None => format!("The input of {} is the agent's own again.", pause.id),
    }
}

/// An answer to a question that came after the call was decided.
pub fn too_late(answer: &str, pause: &Pause) -> String {
    format!(
        "{answer} came too late, and changed nothing. {}.",
        outcome(pause)
    )
}

/// A call that its agent ran although a breakpoint stops it: the hook died.
pub fn slipped(pause: &Pause) -> String {
    format!(
        "{} ran {} unasked: its hook died ({}).",
        render::clean(&pause.call.agent),
        render::cut(&shown::summary(pause), 80),
        pause.id
    )
}

/// A held call in a list.
pub fn offered(pause: &Pause) -> String {
    format!(
        "{} {} · {} {}",
        pause.id,
        render::cut(&shown::summary(pause), 60),
        render::clean(&pause.call.agent),
        words::turn_of(pause)
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
    format!("{}: {} ({outcome}).", pause.id, shown::summary(pause))
}

pub fn added(breakpoint: &Breakpoint, remarks: &[String]) -> String {
    let mut text = format!(
        "Breakpoint {}: agents stop at {} {}.",
        breakpoint.id,
        breakpoint.spec.kind(),
        render::clean(&breakpoint.spec.summary())
    );
    for remark in remarks {
        text.push(' ');
        text.push_str(&render::clean(remark));
    }
    text
}

pub fn removed(ids: &[String]) -> String {
    format!("Removed {}.", ids.join(", "))
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

/// Error of a tool that cannot write the wanted texts.
pub fn not_invertible(reason: &str) -> String {
    format!("the call cannot write this text: {reason}")
}

pub const NOT_INVERTIBLE_HINT: &str = "edit its input instead";

pub fn other_held(pause: &Pause) -> String {
    format!("{} is held, too: {}", pause.id, shown::summary(pause))
}

/// A proposed rewind in a document.
fn proposed(plan: &backstitch_protocol::ProposedPlan) -> String {
    let mut text = format!("## {}\n\n", render::clean(&plan.title));
    if let Some(reason) = &plan.reason {
        writeln!(text, "- its reason: {}", render::clean(reason)).ok();
    }
    for sentence in &plan.summary {
        writeln!(text, "- {}", render::clean(sentence)).ok();
    }
    for turn in &plan.turns {
        let number = turn.turn.as_deref().unwrap_or("steps");
        let prompt = turn.prompt.as_deref().unwrap_or_default();
        let prompt = render::cut(&render::clean(prompt), 60);
        let part = if turn.part { ", in part" } else { "" };
        writeln!(text, "- goes: {number} {prompt}{part}").ok();
    }
    text.push('\n');
    text
}

/// A held call as a document, for editors without panels.
pub fn document(details: &backstitch_protocol::PauseDetails) -> String {
    let pause = &details.pause;
    let mut text = format!("# {} — {}\n\n", pause.id, render::clean(&pause.summary));
    if pause.state != "held" {
        let by = decider(pause.decided_by.as_deref());
        let outcome = pause.outcome.as_deref().unwrap_or(&pause.state);
        writeln!(
            text,
            "**No longer held: {outcome}, {}.**\n",
            render::clean(&by)
        )
        .ok();
    }
    writeln!(text, "- why: {}", render::clean(&pause.why)).ok();
    if let Some(hit) = &pause.hit {
        let when = hit.when.as_deref();
        let when = when.map_or_else(String::new, |jq| format!(", when `{}`", render::clean(jq)));
        let summary = render::clean(&hit.summary);
        writeln!(text, "- breakpoint: {} {summary}{when}", hit.kind).ok();
    }
    if let Some(error) = &pause.error {
        writeln!(text, "- error: {}", render::clean(error)).ok();
    }
    for frame in &details.stack {
        writeln!(text, "- {}: {}", frame.kind, render::clean(&frame.name)).ok();
    }
    if let Some(until) = pause.until.as_ref().and_then(|until| until.0.as_ref()) {
        writeln!(text, "- until: {until}").ok();
    }
    if !pause.can.is_empty() {
        writeln!(text, "- possible: {}", pause.can.join(", ")).ok();
    }
    text.push('\n');
    if let Some(plan) = &details.plan {
        text.push_str(&proposed(plan));
    } else {
        let by = pause.changed_by.as_deref();
        let by = by.map_or_else(String::new, |by| {
            format!(", changed in {}", render::clean(place(by)))
        });
        let input = serde_json::to_string_pretty(&details.input).unwrap_or_default();
        writeln!(text, "## Input{by}\n\n```json\n{input}\n```\n").ok();
        if let Some(problem) = &details.problem {
            writeln!(text, "{}\n", render::clean(problem)).ok();
        }
    }
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
        if let Some(doubt) = shown::caveat(file) {
            writeln!(text, "{doubt}\n").ok();
        }
        let unified = shown::unified(file);
        if !unified.is_empty() {
            writeln!(text, "```diff\n{unified}```\n").ok();
        }
    }
    text
}
