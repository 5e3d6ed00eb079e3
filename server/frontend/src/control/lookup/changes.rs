//! Changes of a call, from its prediction or from the texts in its input.

use std::path::Path;

use backstitch_control::condition::ConditionChange;
use backstitch_control::{CallFacts, ChangedLines};
use serde_json::Value;

use crate::control::paths::{inside, relative};
use crate::control::predict::{Outlook, PredictedContent, PredictedFile, Prediction};

/// Files of a tool of an unknown form that are looked at.
const MAX_UNKNOWN: usize = 64;

/// Numbers of the lines that a change adds and removes.
pub(super) fn as_change(lines: &ChangedLines) -> ConditionChange {
    ConditionChange {
        path: lines.path.clone(),
        added: lines.added.len() as u64,
        removed: lines
            .ranges
            .iter()
            .map(|range| u64::from(range.count))
            .sum(),
    }
}

/// Numbers of the lines that a prediction adds and removes, by file.
pub(super) fn counted(prediction: &Prediction, root: &Path) -> Vec<ConditionChange> {
    will_write(prediction)
        .map(|file| {
            let side = |content: &PredictedContent| content.text().map(<[u8]>::to_vec);
            let (old, new) = (side(&file.before), side(&file.after));
            let (added, removed) = backstitch_core::diff::counts(
                old.as_deref().unwrap_or_default(),
                new.as_deref().unwrap_or_default(),
            );
            ConditionChange {
                path: relative(root, &file.path),
                added: added as u64,
                removed: removed as u64,
            }
        })
        .collect()
}

/// Lines that a prediction adds and removes, by file.
pub(super) fn by_line(prediction: &Prediction, root: &Path) -> Vec<ChangedLines> {
    let lines = |file: &PredictedFile| {
        let path = inside(root, &file.path);
        let side = |content: &PredictedContent| content.text().unwrap_or_default().to_vec();
        ChangedLines {
            unknown: is_unknown(file),
            ..ChangedLines::between(&path, &side(&file.before), &side(&file.after))
        }
    };
    may_write(prediction).map(lines).collect()
}

/// True if a side of a predicted file has no text that can be compared.
fn is_unknown(file: &PredictedFile) -> bool {
    use PredictedContent::{Size, Unknown};
    [&file.before, &file.after]
        .iter()
        .any(|side| matches!(side, Size(_) | Unknown))
}

/// The files that a call may write: also one whose text cannot be read here, whatever the prediction says of the tool.
fn may_write(prediction: &Prediction) -> impl Iterator<Item = &PredictedFile> {
    let files = match prediction {
        Prediction::Files(files) => files.as_slice(),
        Prediction::Unpredicted { .. } | Prediction::Reads { .. } => &[],
    };
    files
        .iter()
        .filter(|file| is_unknown(file) || !matches!(file.outlook, Outlook::Fails(_)))
}

/// The files that a call would write, unless the tool will refuse it.
fn will_write(prediction: &Prediction) -> impl Iterator<Item = &PredictedFile> {
    let files = match prediction {
        Prediction::Files(files) => files.as_slice(),
        Prediction::Unpredicted { .. } | Prediction::Reads { .. } => &[],
    };
    files
        .iter()
        .filter(|file| !matches!(file.outlook, Outlook::Fails(_)))
}

/// The files that a tool of an unknown form names, if it has a text to write: as of an MCP server.
pub(super) fn of_unknown_tool(facts: &CallFacts<'_>) -> Vec<ChangedLines> {
    if facts.reads {
        return Vec::new();
    }
    let mut added = Vec::new();
    written_texts("", facts.input, &mut |text| {
        added.extend(text.lines().map(str::to_owned));
    });
    if added.is_empty() {
        return Vec::new();
    }
    let named = facts.paths.iter().chain(facts.mentioned);
    let write = |path: &String| ChangedLines {
        path: path.clone(),
        added: added.clone(),
        unknown: true,
        ..ChangedLines::default()
    };
    named.take(MAX_UNKNOWN).map(write).collect()
}

/// Calls `f` with the texts that a tool of an unknown form may write.
fn written_texts(name: &str, value: &Value, f: &mut dyn FnMut(&str)) {
    const WRITTEN: [&str; 12] = [
        "content", "text", "body", "data", "code", "value", "new", "insert", "replace", "patch",
        "diff", "line",
    ];
    match value {
        Value::String(text) => {
            let name = name.to_ascii_lowercase();
            if WRITTEN.iter().any(|word| name.contains(word)) && !name.contains("old") {
                f(text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| written_texts(name, item, f)),
        Value::Object(fields) => {
            for (name, value) in fields {
                written_texts(name, value, f);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
