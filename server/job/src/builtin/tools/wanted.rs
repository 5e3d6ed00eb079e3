//! The version that a step wants, from its inputs or from a file of the workspace.

use std::fs;

use super::super::ActionCall;
use super::super::target::{absolute, check_allowed};

/// Bytes of a version file that are read.
const MAX_FILE: u64 = 1024 * 1024;

/// Text of a file that an input names.
pub(super) fn named_file(
    call: &ActionCall<'_>,
    input: &str,
) -> Result<Option<(String, String)>, String> {
    let name = call.given().text(input);
    if name.is_empty() {
        return Ok(None);
    }
    match file(call, name)? {
        Some(text) => Ok(Some((name.to_owned(), text))),
        None => Err(format!(
            "The specified {} file at: {name} does not exist: check the input {input}",
            input.trim_end_matches("-file").replace('-', " ")
        )),
    }
}

/// Text of a file of the workspace, if it is there.
pub(super) fn file(call: &ActionCall<'_>, name: &str) -> Result<Option<String>, String> {
    let path = absolute(call, name);
    check_allowed(call, &path)?;
    if !fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() <= MAX_FILE) {
        return Ok(None);
    }
    let bytes =
        fs::read(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The first line that is neither empty nor a comment.
pub(super) fn first_line(text: &str) -> Option<&str> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(line).trim());
    lines.into_iter().find(|line| !line.is_empty())
}

/// Version of a tool in `.tool-versions`.
pub(super) fn tool_version<'a>(text: &'a str, tools: &[&str]) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut words = line.split('#').next().unwrap_or(line).split_whitespace();
        let tool = words.next()?;
        tools.contains(&tool).then(|| words.next()).flatten()
    })
}

/// Value of `key = "value"` in a section of a TOML file; without a section, that at its top.
pub(super) fn toml_value(text: &str, section: &str, key: &str) -> Option<String> {
    let mut current = "";
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            current = name
                .split(']')
                .next()
                .unwrap_or(name)
                .trim_matches(['[', ' ']);
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        if current == section && name.trim().trim_matches('"') == key {
            let value = value.trim();
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            return value[1..].split(quote).next().map(str::to_owned);
        }
    }
    None
}
