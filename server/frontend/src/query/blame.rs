//! The author of each line, as a document.

use std::ops::RangeInclusive;

use backstitch_core::{Author, Blame, BlameRun, By};
use serde_json::{Map, Value, json};

use crate::render;
use crate::to_protocol;

/// Number of lines of the file.
pub fn line_count(blame: &Blame) -> usize {
    blame.runs.last().map_or(0, |run| run.start + run.count - 1)
}

/// Returns the runs that overlap these lines, each with its part of them.
pub fn within<'b>(
    blame: &'b Blame,
    lines: &RangeInclusive<usize>,
) -> Vec<(&'b BlameRun, RangeInclusive<usize>)> {
    let part = |run: &BlameRun| {
        let last = run.start + run.count - 1;
        run.start.max(*lines.start())..=last.min(*lines.end())
    };
    blame
        .runs
        .iter()
        .map(|run| (run, part(run)))
        .filter(|(_, part)| !part.is_empty())
        .collect()
}

/// Returns the lines, and the runs of one author that they are in.
pub fn documents(blame: &Blame, lines: &RangeInclusive<usize>) -> (Vec<Value>, Vec<Value>) {
    let (mut shown, mut runs) = (Vec::new(), Vec::new());
    let mut text = blame.lines().skip(lines.start() - 1);
    for (at, (run, part)) in within(blame, lines).into_iter().enumerate() {
        let author = author(&run.author);
        for line in part.clone() {
            let content = text.next().map_or(&b""[..], |(_, content, _)| content);
            shown.push(json!({
                "line": line,
                "text": to_protocol::text(content.strip_suffix(b"\n").unwrap_or(content)),
                "by": author["by"],
                "checkpoint": author["checkpoint"],
                "turn": author["turn"],
                "run": at,
            }));
        }
        let mut object = Map::new();
        object.insert("start".into(), (*part.start()).into());
        object.insert("count".into(), part.count().into());
        object.extend(author);
        runs.push(Value::Object(object));
    }
    (shown, runs)
}

/// Returns an author as JSON fields; null if one does not apply.
fn author(author: &Author) -> Map<String, Value> {
    let (by, work) = match &author.by {
        By::Agent(work) => ("agent", Some(work)),
        By::User | By::Unsaved => ("user", None),
        By::Unknown => ("unknown", None),
        By::Before => ("before", None),
    };
    let turn = work.and_then(|w| w.turn.as_ref());
    let fields = json!({
        "by": by,
        "recorded": author.change.is_some() || matches!(author.by, By::Before),
        "checkpoint": author.node.map(|id| id.to_string()),
        "time": author.time.map(to_protocol::time),
        "agent": work.map(|w| w.session.agent.as_str()),
        "session": work.map(|w| w.session.native.as_str()),
        "session_certainty": work.map(|w| render::certainty(w.session_certainty)),
        "step_certainty": work.map(|w| render::certainty(w.step_certainty)),
        "turn": turn.map(|t| format!("t{}", t.number)),
        "prompt": turn.map(|t| t.prompt.as_str()),
        "tool": work.and_then(|w| w.tool.as_deref()),
        "iteration": work.and_then(|w| w.iteration),
        "subagent": work.and_then(|w| w.subagent.as_deref()),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
