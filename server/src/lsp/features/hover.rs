//! Hover: the turn, prompt, agent and tool that wrote a line, with the change that they made there. Reads through the
//! engine.

use backstitch_core::model::RelPath;
use backstitch_core::{Author, Delta, Engine, Result};
use backstitch_protocol::{Hunk, Text};

use crate::file_changes::FileChange;
use crate::lsp::messages::{self, Now};
use crate::render;

/// Maximum number of lines of the change.
const MAX_LINES: usize = 16;

/// Returns None for a line from before Backstitch, or one that is not saved yet.
pub fn text(
    engine: &Engine,
    author: &Author,
    path: &RelPath,
    line: &str,
    now: Now,
    markdown: bool,
) -> Result<Option<String>> {
    let Some(mut text) = messages::hover_author(author, now, markdown) else {
        return Ok(None);
    };
    if let Some(change) = change(engine, author, path, line)? {
        let (open, close) = if markdown {
            ("\n\n```diff\n", "```")
        } else {
            ("\n\n", "")
        };
        text.push_str(open);
        text.push_str(&change);
        text.push_str(close);
    }
    Ok(Some(render::visible(&text)))
}

/// Returns the hunk that added a line, as a diff.
fn change(engine: &Engine, author: &Author, path: &RelPath, line: &str) -> Result<Option<String>> {
    let (Some(node), Some(change)) = (author.node, author.change) else {
        return Ok(None);
    };
    let entry = engine.history().entry(node)?;
    let mut changes = entry.changes.iter();
    let Some(found) = changes.find(|c| c.change.id == change) else {
        tracing::debug!("{path:?}: {node} does not have change {change:?}");
        return Ok(None);
    };
    let changed = FileChange::load(
        engine,
        &Delta {
            old: found.change.before.clone(),
            new: found.change.after.clone(),
        },
    )?;
    let lines = |lines: &[Text]| -> Vec<String> {
        let plain = |line: &Text| line.plain().unwrap_or("…").to_owned();
        lines.iter().map(plain).collect()
    };
    let hunks = changed.shape().hunks;
    let brought = |hunk: &&Hunk| lines(&hunk.added).iter().any(|added| added == line);
    let Some(hunk) = hunks.iter().find(brought) else {
        return Ok(None);
    };
    let removed = lines(&hunk.removed).into_iter().map(|l| format!("-{l}"));
    let added = lines(&hunk.added).into_iter().map(|l| format!("+{l}"));
    let all: Vec<String> = removed.chain(added).collect();
    let mut text = String::new();
    for line in all.iter().take(MAX_LINES) {
        text.push_str(line);
        text.push('\n');
    }
    if all.len() > MAX_LINES {
        text.push_str(&messages::more_lines(all.len() - MAX_LINES));
        text.push('\n');
    }
    Ok(Some(text))
}
