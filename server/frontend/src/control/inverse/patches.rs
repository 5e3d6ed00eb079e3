//! The inverse of patches: a new patch with as much context as it needs.

use std::path::{Path, PathBuf};

use backstitch_core::diff::Hunk;
use serde_json::{Value, json};

use super::{Inverse, ToolInput, hunks, is, lines};
use crate::control::predict::{
    FilePatch, InputField, Outlook, PredictedContent, PredictedFile, Prediction, absolute,
    apply_patch, parse_patch, predict,
};

/// Returns an input with a patch that leads to the wanted texts, and else to what is predicted.
pub(super) fn inverse(
    call: &ToolInput,
    files: &[PredictedFile],
    wanted: &[(PathBuf, Vec<u8>)],
) -> Inverse {
    let name = InputField::Patch
        .name(call.input)
        .ok_or("the input has no patch")?;
    let patch = InputField::Patch
        .text(call.input)
        .ok_or("the input has no patch")?;
    let patch = parse_patch(patch)?;
    let mut text = String::from("*** Begin Patch\n");
    let mut goals = Vec::new();
    for file in files {
        if let Outlook::Unsure(reason) = &file.outlook {
            return Err(format!("{}: {reason}", file.path.display()));
        }
        let goal = match wanted.iter().find(|(path, _)| *path == file.path) {
            Some((_, bytes)) => Some(std::str::from_utf8(bytes).map_err(|e| e.to_string())?),
            None => goal(file)?,
        };
        let written = SpelledPaths::of(&patch.0, file, call.cwd);
        text.push_str(
            &part(file, goal, &written).map_err(|reason| format!("{}: {reason}", written.path))?,
        );
        goals.push((file, goal));
    }
    if text.lines().count() < 2 {
        return Err("nothing is left to change; skip the call instead".to_owned());
    }
    text.push_str("*** End Patch\n");
    let mut input = call.input.clone();
    input[name] = json!(text);
    check(call, &input, &goals)?;
    Ok(input)
}

/// The text that a file has after the call, if the user does not say so; None: absent.
fn goal(file: &PredictedFile) -> Result<Option<&str>, String> {
    match (&file.outlook, &file.after) {
        (Outlook::Fails(reason), _) => Err(format!("{}: {reason}", file.path.display())),
        (_, PredictedContent::Absent) => Ok(None),
        (_, after) => {
            let bytes = after.text().ok_or("the file is binary or too large")?;
            std::str::from_utf8(bytes)
                .map(Some)
                .map_err(|e| e.to_string())
        }
    }
}

/// Paths of a file as the old patch writes them.
struct SpelledPaths {
    path: String,
    /// The path before a move.
    from: Option<String>,
}

impl SpelledPaths {
    fn of(changes: &[FilePatch], file: &PredictedFile, cwd: &Path) -> Self {
        let spelling = |path: &Path| {
            let named = changes.iter().flat_map(|change| match change {
                FilePatch::Add { path, .. } | FilePatch::Delete { path } => [Some(*path), None],
                FilePatch::Update { path, move_to, .. } => [Some(*path), *move_to],
            });
            named
                .flatten()
                .find(|name| absolute(cwd, Path::new(name)) == path)
                .map_or_else(|| path.display().to_string(), str::to_owned)
        };
        Self {
            path: spelling(&file.path),
            from: file.moved_from.as_deref().map(spelling),
        }
    }
}

/// Returns the part of one file; empty if it stays as it is.
fn part(
    file: &PredictedFile,
    goal: Option<&str>,
    written: &SpelledPaths,
) -> Result<String, String> {
    let path = &written.path;
    let before = match &file.before {
        PredictedContent::Absent => None,
        PredictedContent::Text(bytes) => {
            Some(std::str::from_utf8(bytes).map_err(|e| e.to_string())?)
        }
        PredictedContent::Size(_) if goal.is_none() => Some(""),
        PredictedContent::Size(_) | PredictedContent::Unknown => {
            return Err("it is binary or too large".to_owned());
        }
    };
    match (before, goal) {
        (None, None) => Ok(String::new()),
        (Some(_), None) => Ok(format!("*** Delete File: {path}\n")),
        (None, Some(text)) => {
            if !text.is_empty() && !text.ends_with('\n') {
                return Err("a patch ends a file with a newline".to_owned());
            }
            let lines: String = lines(text).iter().flat_map(|line| ["+", line]).collect();
            Ok(format!("*** Add File: {path}\n{lines}"))
        }
        (Some(before), Some(text)) => {
            let header = match &written.from {
                Some(from) => format!("*** Update File: {from}\n*** Move to: {path}\n"),
                None if before == text => return Ok(String::new()),
                None => format!("*** Update File: {path}\n"),
            };
            Ok(header + &update(before, text)?)
        }
    }
}

/// Returns chunks that lead from one text to the other.
fn update(before: &str, after: &str) -> Result<String, String> {
    const FIRST: usize = 3;
    if !after.is_empty() && !after.ends_with(['\n', '\r']) {
        return Err("a patch ends a file with a newline".to_owned());
    }
    let (old, new) = (plain_lines(before), plain_lines(after));
    let hunks = hunks(&lf(before), &lf(after));
    let mut context = FIRST;
    loop {
        let is_all = context >= old.len();
        let chunks = chunks(&old, &new, &hunks, context);
        let patch = format!("*** Begin Patch\n*** Update File: x\n{chunks}*** End Patch\n");
        let parsed = parse_patch(&patch)?;
        if let [FilePatch::Update { chunks: parsed, .. }] = &parsed.0[..]
            && apply_patch(before, parsed).is_ok_and(|text| text == after)
        {
            return Ok(chunks);
        }
        if is_all {
            return Err("a patch keeps the line endings and the last newline of a file".to_owned());
        }
        context *= 4;
    }
}

fn chunks(old: &[&str], new: &[&str], hunks: &[Hunk], context: usize) -> String {
    let mut text = String::new();
    let mut put = |sign: char, lines: &[&str]| {
        for line in lines {
            text.push(sign);
            text.push_str(line);
            text.push('\n');
        }
    };
    if hunks.is_empty() {
        // a move needs a chunk; an empty line stands for the end of an empty file
        put('@', &["@"]);
        put(' ', &[old.first().copied().unwrap_or_default()]);
        return text;
    }
    // a chunk, from its first line on
    let mut done: Option<usize> = None;
    for hunk in hunks {
        let start = hunk.old.start.saturating_sub(context);
        match done {
            Some(end) if start <= (end + context).min(old.len()) => {
                put(' ', &old[end..hunk.old.start]);
            }
            _ => {
                if let Some(end) = done {
                    put(' ', &old[end..(end + context).min(old.len())]);
                }
                put('@', &["@"]);
                put(' ', &old[start..hunk.old.start]);
            }
        }
        put('-', &old[hunk.old.clone()]);
        put('+', &new[hunk.new.clone()]);
        done = Some(hunk.old.end);
    }
    if let Some(end) = done {
        put(' ', &old[end..(end + context).min(old.len())]);
    }
    text
}

fn lf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Lines without their endings, as Codex splits them.
fn plain_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        lines.push(&rest[..end]);
        let ending = match &rest[end..] {
            tail if tail.starts_with("\r\n") => 2,
            "" => 0,
            _ => 1,
        };
        rest = &rest[end + ending..];
    }
    lines
}

/// Predicts the new patch, and compares it with what it is for.
fn check(
    call: &ToolInput,
    input: &Value,
    goals: &[(&PredictedFile, Option<&str>)],
) -> Result<(), String> {
    let Prediction::Files(files) = predict(call.tool, input, call.cwd, call.read) else {
        return Err("the new patch is not understood".to_owned());
    };
    for (old, goal) in goals {
        let found = files.iter().find(|file| file.path == old.path);
        let reached = match (found, goal) {
            (Some(file), Some(text)) => is(file, text),
            (Some(file), None) => file.after == PredictedContent::Absent,
            (None, goal) => old.before.text() == goal.map(str::as_bytes),
        };
        if !reached {
            return Err(format!(
                "{}: a patch cannot express this text",
                old.path.display()
            ));
        }
    }
    Ok(())
}
