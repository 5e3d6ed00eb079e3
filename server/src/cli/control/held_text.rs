//! A held call as text: the reason, the places that it stands in, and the files that it would write.

use std::fmt::Write as _;

use backstitch_control::{decider, place};
use backstitch_protocol::{PauseDetails, PredictedFile, ProposedPlan, Text};
use serde_json::Value;

use crate::control::shown;
use crate::render::{self, BLUE, BOLD, DIM, GREEN, Paint, RED, YELLOW};

/// Maximum number of lines of a difference.
const MAX_LINES: usize = 200;

/// The extent of the text about a held call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldExtent {
    /// The input is left out where its effect on files is shown.
    Short,
    WithInput,
}

/// Shows a held call with everything that a person decides by.
pub fn text(details: &PauseDetails, extent: HeldExtent, paint: Paint) -> String {
    let pause = &details.pause;
    let mut text = String::new();
    let head = format!("{} {}", pause.id, render::clean(&pause.summary));
    writeln!(text, "{}", paint.on(BOLD, &head)).ok();
    let places: Vec<String> = details
        .stack
        .iter()
        .map(|frame| render::clean(&frame.name))
        .collect();
    writeln!(text, "  {}", paint.on(DIM, &places.join(" › "))).ok();
    let by = pause.breakpoint.as_deref();
    let by = by.map_or_else(String::new, |by| format!(" by {by}"));
    let why = format!("held{by}: {}", render::clean(&pause.why));
    writeln!(text, "  {}", paint.on(YELLOW, &why)).ok();
    if pause.state != "held" {
        let by = decider(pause.decided_by.as_deref());
        let state = pause.outcome.as_deref().unwrap_or(&pause.state);
        writeln!(
            text,
            "  {}",
            paint.on(
                BOLD,
                &format!("no longer held: {state}, {}", render::clean(&by))
            )
        )
        .ok();
    }
    if let Some(hit) = &pause.hit {
        let when = hit.when.as_deref().map(render::clean);
        let when = when.map_or_else(String::new, |jq| format!(", when {jq}"));
        let hits = hit.hits.as_deref().map(render::clean);
        let hits = hits.map_or_else(String::new, |hits| format!(", hits {hits}"));
        let summary = render::clean(&hit.summary);
        let line = format!("breakpoint: {} {summary}{when}{hits}", hit.kind);
        writeln!(text, "  {}", paint.on(DIM, line.trim_end())).ok();
    }
    if let Some(error) = &pause.error {
        writeln!(text, "  {}", paint.on(RED, "it failed:")).ok();
        text.push_str(&lines_of(error, paint));
    }
    if let Some(by) = &pause.changed_by {
        let changed = format!("its input was changed in {}", render::clean(place(by)));
        writeln!(text, "  {}", paint.on(YELLOW, &changed)).ok();
    }
    if let Some(problem) = &details.problem {
        let problem = format!("not sent without --force: {}", render::clean(problem));
        writeln!(text, "  {}", paint.on(YELLOW, &problem)).ok();
    }
    for other in &details.others {
        writeln!(text, "  {}", paint.on(DIM, &render::clean(other))).ok();
    }
    if let Some(plan) = &details.plan {
        text.push_str(&proposed(plan, paint));
    } else if details.unpredicted.is_some() || extent == HeldExtent::WithInput {
        text.push_str(&input(&details.input, paint));
    }
    if let Some(unpredicted) = &details.unpredicted {
        writeln!(text, "  {}", paint.on(DIM, &unpredicted.reason)).ok();
        for path in unpredicted.paths.iter().filter_map(Text::plain) {
            writeln!(text, "  may concern {}", render::clean(path)).ok();
        }
    }
    text.push_str(&differences(&details.predicted, paint));
    text
}

/// A proposed rewind: the reason, the turns that go, and whose work goes and stays.
fn proposed(plan: &ProposedPlan, paint: Paint) -> String {
    let mut text = String::new();
    if let Some(reason) = &plan.reason {
        writeln!(text, "  its reason: {}", render::clean(reason)).ok();
    }
    for sentence in &plan.summary {
        writeln!(text, "  {}", render::clean(sentence)).ok();
    }
    for turn in &plan.turns {
        let number = turn.turn.as_deref().unwrap_or("steps");
        let prompt = turn.prompt.as_deref().unwrap_or_default();
        let prompt = render::cut(&render::clean(prompt), 60);
        let part = if turn.part { ", in part" } else { "" };
        let turn = format!("  goes: {} {number} {prompt}{part}", turn.letter);
        writeln!(text, "{}", paint.on(DIM, turn.trim_end())).ok();
    }
    text
}

/// The lines of a text, at most so many.
fn lines_of(text: &str, paint: Paint) -> String {
    let mut shown = String::new();
    let mut lines = text.lines();
    for line in lines.by_ref().take(MAX_LINES) {
        writeln!(shown, "    {}", render::visible(line)).ok();
    }
    let left = lines.count();
    if left > 0 {
        let more = render::plural(left, "more line", "more lines");
        let more = format!("    {more}: `backstitch inspect --json` prints all");
        writeln!(shown, "{}", paint.on(DIM, &more)).ok();
    }
    shown
}

/// The files that a call would write.
pub fn differences(files: &[PredictedFile], paint: Paint) -> String {
    files.iter().map(|file| difference(file, paint)).collect()
}

/// The fields of an input, with all lines of their values.
fn input(input: &Value, paint: Paint) -> String {
    let mut text = String::new();
    let Some(fields) = input.as_object() else {
        return text;
    };
    for (name, value) in fields {
        let value = match value {
            Value::String(value) => render::visible(value),
            value => render::visible(&value.to_string()),
        };
        let name = paint.on(BLUE, &render::clean(name));
        let mut lines = value.lines();
        match (lines.next(), lines.clone().next()) {
            (first, None) => writeln!(text, "  {name} {}", first.unwrap_or_default()).ok(),
            (Some(first), Some(_)) => {
                // nothing of it is hidden that could run
                let all = std::iter::once(first).chain(lines.by_ref().take(MAX_LINES));
                let all: Vec<&str> = all.collect();
                writeln!(text, "  {name}\n    {}", all.join("\n    ")).ok()
            }
            (None, Some(_)) => None,
        };
        let left = lines.count();
        if left > 0 {
            let more = render::plural(left, "more line", "more lines");
            let more = format!("    {more}: `backstitch inspect --json` prints all");
            writeln!(text, "{}", paint.on(DIM, &more)).ok();
        }
    }
    text
}

fn difference(file: &PredictedFile, paint: Paint) -> String {
    let mut text = String::new();
    let path = render::clean(Text::plain(&file.path).unwrap_or("?"));
    let counts = match (file.added, file.removed) {
        _ if file.binary => "binary".to_owned(),
        (Some(added), Some(removed)) => paint.counts(added, removed),
        _ => String::new(),
    };
    let from = file.moved_from.as_ref().and_then(Text::plain);
    let from = from.map_or_else(String::new, |from| format!("{} → ", render::clean(from)));
    writeln!(text, "  {} {from}{path}  {counts}", file.letter).ok();
    if let Some(doubt) = shown::caveat(file) {
        writeln!(text, "  {}", paint.on(YELLOW, &doubt)).ok();
    }
    let unified = shown::unified(file);
    let mut lines = unified.lines();
    for line in lines.by_ref().take(MAX_LINES) {
        let style = match line.as_bytes().first() {
            Some(b'+') => GREEN,
            Some(b'-') => RED,
            Some(b'@') => BLUE,
            _ => DIM,
        };
        writeln!(text, "  {}", paint.on(style, &render::visible(line))).ok();
    }
    let left = lines.count();
    if left > 0 {
        let more = render::plural(left, "more line", "more lines");
        writeln!(text, "  {}", paint.on(DIM, &more)).ok();
    }
    text
}
