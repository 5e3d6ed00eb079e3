//! Files of variables, secrets and events, in act's form.

use std::fs;
use std::path::Path;

use crate::terminal::error::{CliError, CliResult, ExitKind};

/// Text of a file that an option names.
pub fn text_of(option: &str, file: &Path) -> CliResult<String> {
    fs::read_to_string(file).map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ExitKind::NotFound,
            _ => ExitKind::Failed,
        };
        CliError::new(
            kind,
            format!("{option}: {} cannot be read: {error}", file.display()),
        )
        .hint("name a file of text; its path is relative to the current directory")
    })
}

/// Reads a file of `NAME=value` lines: comments, `export`, quotes, and texts of several lines in double quotes.
pub fn pairs_of(option: &str, file: &Path) -> CliResult<Vec<(String, String)>> {
    let text = text_of(option, file)?;
    pairs(&text).map_err(|(line, reason)| {
        CliError::new(
            ExitKind::Failed,
            format!("{option}: {}:{line}: {reason}", file.display()),
        )
        .hint("write NAME=value, one in each line")
    })
}

fn pairs(text: &str) -> Result<Vec<(String, String)>, (usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut all = Vec::new();
    let mut rest = text;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            rest = after;
            continue;
        }
        let assignment = trimmed
            .strip_prefix("export ")
            .unwrap_or(trimmed)
            .trim_start();
        // a secret must not stand in an error, so the line is not shown
        let (name, value) = assignment
            .split_once('=')
            .ok_or((number, "no '=' is in the line".to_owned()))?;
        let name = name.trim_end();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err((number, format!("'{name}' is not a name")));
        }
        let value = value.trim_start();
        if let Some(quote @ ('"' | '\'')) = value.chars().next() {
            // the text from the quote on, in the whole rest: it may have several lines
            let start = value.as_ptr() as usize - rest.as_ptr() as usize + 1;
            let body = &rest[start..];
            let end = closing(body, quote)
                .ok_or_else(|| (number, format!("the quote of '{name}' is not closed")))?;
            let value = &body[..end];
            number += value.matches('\n').count();
            all.push((
                name.to_owned(),
                if quote == '"' {
                    unescaped(value)
                } else {
                    value.to_owned()
                },
            ));
            rest = body[end + 1..]
                .split_once('\n')
                .map_or("", |(_, after)| after);
        } else {
            let value = value
                .split_once(" #")
                .map_or(value, |(value, _)| value)
                .trim_end();
            all.push((name.to_owned(), value.to_owned()));
            rest = after;
        }
    }
    Ok(all)
}

/// Place of the closing quote; in double quotes a backslash escapes it.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(place, character)| {
        if quote == '"' && character == '\\' && !escaped {
            escaped = true;
            return None;
        }
        let found = character == quote && !escaped;
        escaped = false;
        found.then_some(place)
    })
}

fn unescaped(text: &str) -> String {
    let mut all = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => all.push('\n'),
                Some('r') => all.push('\r'),
                Some('t') => all.push('\t'),
                Some(other) => all.push(other),
                None => all.push('\\'),
            },
            other => all.push(other),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_quotes_and_comments() {
        let text = "# c\nA=1\nexport B = 'x # y'\nC=\"two\\nlines\nmore\" # end\nD=a b # c\nE=\n";
        let read = pairs(text).expect("pairs");
        let read: Vec<(&str, &str)> = read
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            read,
            [
                ("A", "1"),
                ("B", "x # y"),
                ("C", "two\nlines\nmore"),
                ("D", "a b"),
                ("E", "")
            ]
        );
    }

    #[test]
    fn a_bad_line_is_named_without_its_text() {
        assert_eq!(
            pairs("A=1\nsecret\n"),
            Err((2, "no '=' is in the line".to_owned()))
        );
        assert_eq!(
            pairs("A=\"x\n"),
            Err((1, "the quote of 'A' is not closed".to_owned()))
        );
    }
}
