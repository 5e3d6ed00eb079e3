//! Completions of the console: words, expressions, and files of commands.

use std::path::Path;

use backstitch_job::expr::function_names;
use dapts::{CompletionItem, CompletionsArguments};
use serde_json::{Value, json};

use super::request::{DapBody, DapRequest, body};
use super::server::DapServer;
use super::view::JobView;

/// Signs between the parts of an expression or of a command.
const SEPARATORS: &[char] = &[
    ' ', '\t', '{', '(', ')', ',', '!', '=', '&', '|', '<', '>', '\'', '"', ';',
];

/// Files that are offered at most.
const MAX_FILES: usize = 200;

pub fn completions(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: CompletionsArguments = request.read()?;
    let column = usize::try_from(wanted.column).unwrap_or_default();
    let column = column.saturating_sub(server.first_column);
    let line = wanted.line.unwrap_or_default();
    let line = usize::try_from(line).unwrap_or_default();
    let line = wanted
        .text
        .lines()
        .nth(line.saturating_sub(server.first_line as usize));
    let before: Vec<u16> = line
        .unwrap_or_default()
        .encode_utf16()
        .take(column)
        .collect();
    let before = String::from_utf16_lossy(&before);
    let view = server.shared.view();
    let (start, found) = found(&view, &before);
    let length = before.encode_utf16().count() - start;
    // a masked name completes nothing
    let plain = found
        .into_iter()
        .filter(|label| server.client.mask(label) == *label);
    let items = plain.map(|label| CompletionItem {
        detail: None,
        label,
        length: u64::try_from(length).ok(),
        selection_length: None,
        selection_start: None,
        sort_text: None,
        start: u64::try_from(start + server.first_column).ok(),
        text: None,
        ty: None,
    });
    body(json!({"targets": items.collect::<Vec<_>>()}))
}

/// The place of the text that is completed, in UTF-16 units from 0, and all that may stand there.
fn found(view: &JobView, before: &str) -> (usize, Vec<String>) {
    let at = before.rfind(SEPARATORS);
    let at = at.map_or(0, |at| {
        at + before[at..].chars().next().map_or(1, char::len_utf8)
    });
    let (front, token) = before.split_at(at);
    let start = front.encode_utf16().count();
    if before.trim_start().starts_with('!') {
        return (start, files(&view.workspace, token));
    }
    let lines = view.completions.iter();
    let lines: Vec<String> = lines
        .filter(|line| line.starts_with(before))
        .cloned()
        .collect();
    if !lines.is_empty() && !before.is_empty() && front.starts_with(':') {
        return (0, lines);
    }
    let mut all = if front.is_empty() { lines } else { Vec::new() };
    all.extend(of_expression(view, token));
    (start, all)
}

/// Contexts, their keys, and functions that begin so.
fn of_expression(view: &JobView, token: &str) -> Vec<String> {
    let here = view.frames.first().map(|frame| frame.scopes.as_slice());
    let mut contexts = here.unwrap_or_default().iter();
    let is_context = |name: &str| name != "Step" && name != "PATH";
    let Some((above, last)) = token.rsplit_once('.') else {
        let names = contexts.map(|scope| scope.name.clone());
        let names = names.filter(|name| is_context(name));
        let functions = function_names().into_iter().map(|name| format!("{name}("));
        let all = names.chain(functions);
        return all.filter(|name| name.starts_with(token)).collect();
    };
    let mut keys = above.split('.');
    let root = keys.next().unwrap_or_default();
    let values = contexts.find(|scope| is_context(root) && scope.name == root);
    let mut values = values.map(|scope| &scope.values);
    for key in keys {
        values = values.and_then(|values| values.get(key));
    }
    let Some(Value::Object(values)) = values else {
        return Vec::new();
    };
    let begins = values.keys().filter(|key| key.starts_with(last));
    begins.map(|key| format!("{above}.{key}")).collect()
}

/// Files below a directory whose path begins so.
fn files(workspace: &Path, token: &str) -> Vec<String> {
    let (dir, last) = match token.rsplit_once('/') {
        Some((dir, last)) => (format!("{dir}/"), last),
        None => (String::new(), token),
    };
    let Ok(entries) = workspace.join(&dir).read_dir() else {
        return Vec::new();
    };
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_shown = name.starts_with(last) && (!name.starts_with('.') || last.starts_with('.'));
        is_shown.then(|| format!("{dir}{name}{}", if is_dir { "/" } else { "" }))
    });
    let mut names: Vec<String> = names.take(MAX_FILES).collect();
    names.sort();
    names
}
