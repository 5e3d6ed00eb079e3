//! Texts about conversations: titles, excerpts, plain messages, ids and times of new rows.

use std::fmt::Write as _;

use super::{MessageAuthor, PlainMessage, SessionCut};

/// Bytes of a tool's result that a plain message keeps.
pub const MAX_RESULT: usize = 2 * 1024;
/// Characters of a prompt in a title or an error.
const MAX_EXCERPT: usize = 60;
/// Most bytes of a prompt in an argument of a command: Linux takes 128 KiB an argument.
const MAX_ARGUMENT: usize = 100 * 1024;

/// Cuts long texts.
#[derive(Clone, Copy, Debug)]
pub struct Excerpts;

impl Excerpts {
    /// Returns the first bytes of a tool's result, and how many are left out.
    pub fn result(text: &str) -> String {
        let end = text.floor_char_boundary(MAX_RESULT);
        if end == text.len() {
            return text.to_owned();
        }
        let rest = text.len() - end;
        format!("{}\n[{rest} more bytes]", &text[..end])
    }

    /// True if a prompt fits into an argument of a command.
    pub fn fits_argument(prompt: &str) -> bool {
        prompt.len() <= MAX_ARGUMENT && !prompt.contains('\0')
    }
}

/// Returns a prompt on one line, shortened.
pub fn excerpt(prompt: &str) -> String {
    let mut words = String::new();
    for word in prompt.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if words.chars().nth(MAX_EXCERPT).is_some() {
            let short: String = words.chars().take(MAX_EXCERPT - 1).collect();
            return format!("{}…", short.trim_end());
        }
    }
    words
}

/// Returns the title of a new conversation in the agent's own list.
pub fn title(cut: &SessionCut, prompt: &str) -> String {
    let prompt = excerpt(prompt);
    match cut {
        SessionCut::Before(_) => format!("before “{prompt}” · Backstitch"),
        SessionCut::SummaryOfRest(..) => format!("summary from “{prompt}” on · Backstitch"),
        SessionCut::SummaryOfStart(..) => format!("summary up to “{prompt}” · Backstitch"),
    }
}

/// Returns another id of the same form, made of a UUID and a number. Two numbers give two ids.
pub fn new_id(session: &str, number: u32) -> String {
    let at = session.len().saturating_sub(8);
    let tail = session.get(at..).unwrap_or_default();
    match u32::from_str_radix(tail, 16) {
        Ok(value) => format!("{}{:08x}", &session[..at], value ^ number),
        Err(_) => format!("{session}-{number}"),
    }
}

/// Returns a time in RFC 3339, in UTC with milliseconds. `time`: microseconds since 1970.
pub fn rfc3339(time: i64) -> String {
    let time = jiff::Timestamp::from_microsecond(time).unwrap_or_default();
    format!("{time:.3}")
}

/// Returns messages as text for a summary: role, text, calls by name and target, results.
pub fn plain_text(messages: &[PlainMessage]) -> String {
    let mut text = String::new();
    for message in messages {
        let role = match message.role {
            MessageAuthor::User => "User",
            MessageAuthor::Assistant => "Assistant",
            MessageAuthor::Summary => "Summary of earlier messages",
        };
        if !message.text.is_empty() {
            let _ = writeln!(text, "{role}: {}\n", message.text.trim_end());
        }
        for call in &message.calls {
            let target = call.target.as_deref().unwrap_or_default();
            let _ = writeln!(
                text,
                "{}",
                format!("Call: {} {target}", call.name).trim_end()
            );
        }
        for result in &message.results {
            let _ = writeln!(text, "Result: {}", result.trim_end());
        }
        if !message.calls.is_empty() || !message.results.is_empty() {
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{Anchor, PlainCall};
    use super::*;

    #[test]
    fn titles_are_one_short_line() {
        let anchor = Anchor {
            row: "r".to_owned(),
            native: None,
        };
        let long = format!("first\n\n \"line\"\t{}", "ü".repeat(100));
        let title = title(&SessionCut::Before(anchor), &long);
        let kept = "ü".repeat(46);
        assert_eq!(
            title,
            format!("before “first \"line\" {kept}…” · Backstitch")
        );
    }

    #[test]
    fn new_ids_differ_and_keep_their_form() {
        let session = "0aa98f10-7671-4cb2-9a7b-c6c79f6a9b06";
        assert_eq!(new_id(session, 1), "0aa98f10-7671-4cb2-9a7b-c6c79f6a9b07");
        assert_ne!(new_id(session, 1), new_id(session, 2));
    }

    #[test]
    fn times_have_milliseconds() {
        assert_eq!(rfc3339(1_796_045_487_491_000), "2026-11-30T13:31:27.491Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn messages_as_text() {
        let message = PlainMessage {
            role: MessageAuthor::Assistant,
            text: "Done.".to_owned(),
            calls: vec![PlainCall {
                name: "Write".to_owned(),
                target: Some("a.txt".to_owned()),
            }],
            results: vec![Excerpts::result(&"é".repeat(2000))],
        };
        let text = plain_text(&[message]);
        let cut = "é".repeat(1024);
        let expected =
            format!("Assistant: Done.\n\nCall: Write a.txt\nResult: {cut}\n[1952 more bytes]\n\n");
        assert_eq!(text, expected);
    }
}
