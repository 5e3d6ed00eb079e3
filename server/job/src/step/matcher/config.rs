//! Files of problem matchers: the JSON of `problemMatcher`, checked as by GitHub's runner.

use std::fs;
use std::path::Path;

use fancy_regex::Regex;
use serde::{Deserialize, Serialize};

use super::ecmascript::compile;

/// Bytes that a file may have.
const MAX_FILE: u64 = 1024 * 1024;

/// A matcher: one pattern for a line, or several for lines after each other.
#[derive(Debug)]
pub(super) struct Matcher {
    pub owner: String,
    /// Empty if the file has none.
    pub severity: String,
    pub patterns: Vec<MatcherPattern>,
    /// The JSON that it was read from.
    pub text: String,
}

/// A pattern for one line, and the groups with the parts of a message.
#[derive(Debug)]
pub(super) struct MatcherPattern {
    pub regex: Regex,
    /// Groups by [`MessagePart`].
    pub groups: [Option<usize>; MessagePart::ALL.len()],
    pub is_loop: bool,
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessagePart {
    File,
    Line,
    Column,
    Severity,
    Code,
    Message,
    FromPath,
}

impl MessagePart {
    pub const ALL: [MessagePart; 7] = [
        MessagePart::File,
        MessagePart::Line,
        MessagePart::Column,
        MessagePart::Severity,
        MessagePart::Code,
        MessagePart::Message,
        MessagePart::FromPath,
    ];

    fn name(self) -> &'static str {
        match self {
            MessagePart::File => "file",
            MessagePart::Line => "line",
            MessagePart::Column => "column",
            MessagePart::Severity => "severity",
            MessagePart::Code => "code",
            MessagePart::Message => "message",
            MessagePart::FromPath => "fromPath",
        }
    }
}

#[derive(Deserialize)]
struct MatchersText {
    #[serde(rename = "problemMatcher", default)]
    matchers: Vec<MatcherText>,
}

#[derive(Serialize, Deserialize)]
struct MatcherText {
    #[serde(default)]
    owner: String,
    #[serde(default)]
    severity: String,
    #[serde(default)]
    pattern: Vec<PatternText>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PatternText {
    #[serde(default)]
    regexp: String,
    file: Option<i64>,
    line: Option<i64>,
    column: Option<i64>,
    severity: Option<i64>,
    code: Option<i64>,
    message: Option<i64>,
    from_path: Option<i64>,
    #[serde(default, rename = "loop")]
    is_loop: bool,
}

impl PatternText {
    fn group(&self, part: MessagePart) -> Option<i64> {
        match part {
            MessagePart::File => self.file,
            MessagePart::Line => self.line,
            MessagePart::Column => self.column,
            MessagePart::Severity => self.severity,
            MessagePart::Code => self.code,
            MessagePart::Message => self.message,
            MessagePart::FromPath => self.from_path,
        }
    }
}

/// Reads the matchers of a file. The error is a sentence.
pub(super) fn read(file: &Path) -> Result<Vec<Matcher>, String> {
    let shown = file.display();
    let found = fs::metadata(file).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    // a pipe would never end
    if !found.is_file() || found.len() > MAX_FILE {
        return Err(format!("{shown} is not a file of at most {MAX_FILE} bytes"));
    }
    let text =
        fs::read_to_string(file).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    parse(&text).map_err(|reason| format!("{shown}: {reason}"))
}

pub(super) fn parse(text: &str) -> Result<Vec<Matcher>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read: MatchersText = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut all: Vec<Matcher> = Vec::new();
    for matcher in read.matchers {
        let matcher = checked(matcher)?;
        if all
            .iter()
            .any(|known| is_owner(&known.owner, &matcher.owner))
        {
            return Err(format!("Duplicate owner name '{}'", matcher.owner));
        }
        all.push(matcher);
    }
    Ok(all)
}

/// Reads a matcher again from the text that it has.
pub(super) fn parse_one(text: &str) -> Result<Matcher, String> {
    let text = serde_json::from_str(text).map_err(|error| error.to_string())?;
    checked(text)
}

/// True for the same owner: its case does not matter.
pub(super) fn is_owner(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

fn checked(text: MatcherText) -> Result<Matcher, String> {
    let source = serde_json::to_string(&text).map_err(|error| error.to_string())?;
    let owner = text.owner;
    if owner.is_empty() {
        return Err("Owner must not be empty".to_owned());
    }
    let severities = ["", "error", "warning", "notice"];
    if !severities
        .iter()
        .any(|known| known.eq_ignore_ascii_case(&text.severity))
    {
        return Err(format!(
            "Matcher '{owner}' contains unexpected default severity '{}'",
            text.severity
        ));
    }
    if text.pattern.is_empty() {
        return Err(format!("Matcher '{owner}' does not contain any patterns"));
    }
    let mut known = [false; MessagePart::ALL.len()];
    let last = text.pattern.len() - 1;
    let mut patterns = Vec::new();
    for (place, pattern) in text.pattern.iter().enumerate() {
        if pattern.is_loop && (place == 0 || place != last) {
            return Err("Only the last pattern in a multiline matcher may set 'loop'".to_owned());
        }
        if pattern.is_loop && pattern.message.is_none() {
            return Err("The loop pattern must set 'message'".to_owned());
        }
        patterns.push(pattern_of(pattern, &mut known)?);
    }
    if !known[MessagePart::Message as usize] {
        return Err("At least one pattern must set 'message'".to_owned());
    }
    Ok(Matcher {
        owner,
        severity: text.severity,
        patterns,
        text: source,
    })
}

fn pattern_of(
    text: &PatternText,
    known: &mut [bool; MessagePart::ALL.len()],
) -> Result<MatcherPattern, String> {
    let regex = compile(&text.regexp)
        .map_err(|reason| format!("Invalid pattern '{}': {reason}", text.regexp))?;
    let mut groups = [None; MessagePart::ALL.len()];
    for part in MessagePart::ALL {
        let Some(number) = text.group(part) else {
            continue;
        };
        let name = part.name();
        if std::mem::replace(&mut known[part as usize], true) {
            return Err(format!("The property '{name}' is set twice"));
        }
        let group = usize::try_from(number)
            .ok()
            .filter(|group| *group < regex.captures_len());
        groups[part as usize] = Some(group.ok_or_else(|| {
            format!("The property '{name}' is set to {number} which is out of range")
        })?);
    }
    Ok(MatcherPattern {
        regex,
        groups,
        is_loop: text.is_loop,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn error_of(matcher: &Value) -> String {
        let file = json!({ "problemMatcher": [matcher] });
        parse(&file.to_string()).expect_err("an error")
    }

    #[test]
    fn files_are_checked_as_by_the_runner() {
        let message = json!({ "regexp": "(.)", "message": 1 });
        for (matcher, reason) in [
            (json!({ "pattern": [message] }), "Owner must not be empty"),
            (
                json!({ "owner": "o" }),
                "Matcher 'o' does not contain any patterns",
            ),
            (
                json!({ "owner": "o", "severity": "fatal", "pattern": [message] }),
                "Matcher 'o' contains unexpected default severity 'fatal'",
            ),
            (
                json!({ "owner": "o", "pattern": [{ "regexp": "(.)", "file": 1 }] }),
                "At least one pattern must set 'message'",
            ),
            (
                json!({ "owner": "o", "pattern": [{ "regexp": "(.)", "message": 2 }] }),
                "The property 'message' is set to 2 which is out of range",
            ),
            (
                json!({ "owner": "o", "pattern": [{ "regexp": ".", "message": -1 }] }),
                "The property 'message' is set to -1 which is out of range",
            ),
            (
                json!({ "owner": "o", "pattern": [message, message] }),
                "The property 'message' is set twice",
            ),
            (
                json!({ "owner": "o", "pattern": [{ "regexp": "(.)", "message": 1, "loop": true }] }),
                "Only the last pattern in a multiline matcher may set 'loop'",
            ),
            (
                json!({ "owner": "o", "pattern": [message, { "regexp": ".", "loop": true }] }),
                "The loop pattern must set 'message'",
            ),
            (
                json!({ "owner": "o", "pattern": [{ "regexp": "(", "message": 0 }] }),
                "Invalid pattern '(': ",
            ),
        ] {
            let error = error_of(&matcher);
            assert!(error.starts_with(reason), "{error}");
        }
        let twice = json!({ "owner": "o", "pattern": [message] });
        let file = json!({ "problemMatcher": [twice, { "owner": "O", "pattern": [message] }] });
        let error = parse(&file.to_string()).expect_err("an error");
        assert_eq!(error, "Duplicate owner name 'O'");
        assert!(parse("{").is_err());
        assert!(parse("{}").expect("none").is_empty());
    }
}
