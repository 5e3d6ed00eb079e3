//! Reads the text of aider's chat history. Pure. The format is that of aider's `io.py`: a line `# aider chat started at TIME`
//! begins a session, each line of a prompt is `#### TEXT`, each message of aider itself is `> TEXT`, and everything else is an
//! answer of the model. Aider ends its own lines and those of prompts with two spaces.

use backstitch_core::chat_history::HistoryEntry;
use serde::{Deserialize, Serialize};

/// Heading of a session, followed by its local time.
const HEADING: &str = "# aider chat started at ";
/// Length of a heading's time, `2026-11-26 03:21:07`.
const TIME_LEN: usize = 19;
/// End of each line of a prompt and of aider itself.
const HARD_BREAK: &str = "  ";

/// Reader of a text that grows. Its state is stored between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reader {
    /// The newest session. Times in this form sort as text.
    #[serde(skip)]
    pub session: Option<String>,
    /// Code block of an answer that is not closed yet: its character, and its length.
    fence: Option<(char, usize)>,
    after: After,
}

/// The line before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum After {
    #[default]
    Blank,
    Prompt,
    Text,
}

impl Reader {
    /// Reads complete lines.
    pub(super) fn read(&mut self, text: &str) -> Vec<HistoryEntry> {
        let mut entries = Vec::new();
        for line in text.lines() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            self.line(line, &mut entries);
        }
        let has_text =
            |entry: &HistoryEntry| !matches!(entry, HistoryEntry::Prompt(text) if text.is_empty());
        entries.retain(has_text);
        entries
    }

    fn line(&mut self, line: &str, entries: &mut Vec<HistoryEntry>) {
        let after = std::mem::replace(&mut self.after, After::Text);
        if line.is_empty() {
            self.after = After::Blank;
        } else if let Some(session) = self.heading(line, after) {
            self.fence = None;
            self.session = Some(session.clone());
            entries.push(HistoryEntry::Session(session));
        } else if let Some(text) = own_line(line, "> ") {
            self.message(text, entries);
        } else if let Some(text) = self.prompt_line(line, after) {
            self.after = After::Prompt;
            match (after, entries.last_mut()) {
                (After::Prompt, Some(HistoryEntry::Prompt(prompt))) => {
                    prompt.push('\n');
                    prompt.push_str(text);
                }
                // the beginning of the prompt was read before
                (After::Prompt, _) => {}
                _ => entries.push(HistoryEntry::Prompt(text.to_owned())),
            }
        } else {
            self.answer_line(line);
        }
    }

    /// Returns the session of a heading. In a code block, which may be a copy of such a file, only a newer one counts.
    fn heading(&self, line: &str, after: After) -> Option<String> {
        let time = line.strip_prefix(HEADING)?.trim_end();
        let is_newer = self.session.as_deref().is_none_or(|session| time > session);
        let counts = is_time(time) && after == After::Blank && (self.fence.is_none() || is_newer);
        counts.then(|| time.to_owned())
    }

    /// Returns the text of a line of a prompt. A heading in an answer has no hard break, or is in a code block.
    fn prompt_line<'l>(&self, line: &'l str, after: After) -> Option<&'l str> {
        if self.fence.is_some() || after == After::Text {
            return None;
        }
        let text = own_line(line, "####")?;
        // the first line has text, and further ones may be blank
        match text.strip_prefix(' ') {
            Some("<blank>") if after == After::Blank => Some(""),
            Some(text) => Some(text.trim_end()),
            None => text.is_empty().then_some(""),
        }
    }

    fn message(&mut self, text: &str, entries: &mut Vec<HistoryEntry>) {
        let is_report = text.starts_with("Tokens: ") && text.contains(" sent");
        // aider writes them after an answer, even if that has left a code block open
        if is_report || text.starts_with("^C ") {
            self.fence = None;
            entries.push(HistoryEntry::Answered);
        } else if self.fence.is_some() {
        } else if let Some(path) = text.strip_prefix("Applied edit to ") {
            entries.push(HistoryEntry::Applied(path.to_owned()));
        } else if let Some((hash, subject)) = commit(text) {
            entries.push(HistoryEntry::Commit {
                hash: hash.to_owned(),
                subject: subject.to_owned(),
            });
        }
    }

    fn answer_line(&mut self, line: &str) {
        let text = line.trim_start_matches(' ');
        let Some(mark @ ('`' | '~')) = text.chars().next() else {
            return;
        };
        let rest = text.trim_start_matches(mark);
        let length = text.len() - rest.len();
        if length < 3 || line.len() - text.len() > 3 {
            return;
        }
        match self.fence {
            None if mark == '~' || !rest.contains('`') => self.fence = Some((mark, length)),
            Some((open, needed)) if open == mark && length >= needed && rest.trim().is_empty() => {
                self.fence = None;
            }
            _ => {}
        }
    }
}

/// Returns the text of a line that aider wrote with this prefix and a hard break.
fn own_line<'l>(line: &'l str, prefix: &str) -> Option<&'l str> {
    let text = line.strip_prefix(prefix)?.strip_suffix(HARD_BREAK)?;
    Some(text.trim_end())
}

/// True for `2026-11-26 03:21:07`.
fn is_time(text: &str) -> bool {
    text.len() == TIME_LEN
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            10 => byte == b' ',
            13 | 16 => byte == b':',
            _ => byte.is_ascii_digit(),
        })
}

/// Returns hash and subject of `Commit abc1234 subject`.
fn commit(text: &str) -> Option<(&str, &str)> {
    let (hash, subject) = text.strip_prefix("Commit ")?.split_once(' ')?;
    let is_hash = (4..=64).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then_some((hash, subject.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "\n# aider chat started at 2026-11-26 03:21:07\n\n> Aider v0.86.2  \n> Model: openai/mock with diff edit format  \n\n";

    fn read(text: &str) -> Vec<HistoryEntry> {
        Reader::default().read(text)
    }

    fn session(time: &str) -> HistoryEntry {
        HistoryEntry::Session(time.into())
    }

    fn prompt(text: &str) -> HistoryEntry {
        HistoryEntry::Prompt(text.into())
    }

    fn applied(path: &str) -> HistoryEntry {
        HistoryEntry::Applied(path.into())
    }

    fn committed(hash: &str, subject: &str) -> HistoryEntry {
        HistoryEntry::Commit {
            hash: hash.into(),
            subject: subject.into(),
        }
    }

    fn prompts(text: &str) -> Vec<String> {
        let entries = read(text).into_iter();
        let text = entries.filter_map(|entry| match entry {
            HistoryEntry::Prompt(text) => Some(text),
            _ => None,
        });
        text.collect()
    }

    #[test]
    fn a_session_as_aider_writes_it() {
        let text = format!(
            "{START}#### change one to two  \n#### and more  \n\nHere it is:\n\nsrc/main.rs\n```rust\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n```\n\n> Tokens: 1.0k sent, 30 received.  \n> Applied edit to src/main.rs  \n> Applied edit to docs/a b.md  \n> Commit 6703fb2 feat: change one to two  \n\n#### thanks  \n\nWelcome.\n\n> Tokens: 800 sent, 3 received.  \n"
        );
        let expected = [
            session("2026-11-26 03:21:07"),
            prompt("change one to two\nand more"),
            HistoryEntry::Answered,
            applied("src/main.rs"),
            applied("docs/a b.md"),
            committed("6703fb2", "feat: change one to two"),
            prompt("thanks"),
            HistoryEntry::Answered,
        ];
        assert_eq!(read(&text), expected);
    }

    #[test]
    fn each_line_can_be_read_alone() {
        let text = format!(
            "{START}#### one  \n\n```\ncode\n\n#### no prompt  \n```\n\n> Tokens: 1 sent, 1 received.  \n> Applied edit to a.txt  \n\n#### two  \n"
        );
        let mut reader = Reader::default();
        let mut entries = Vec::new();
        for line in text.split_inclusive('\n') {
            // as it is stored between two readings
            let stored = serde_json::to_string(&reader).expect("JSON");
            reader = serde_json::from_str(&stored).expect("a reader");
            entries.extend(reader.read(line));
        }
        assert_eq!(entries, read(&text));
        assert_eq!(entries.len(), 5, "{entries:?}");
    }

    #[test]
    fn the_rest_of_a_prompt_that_was_read_before_is_none() {
        let mut reader = Reader::default();
        assert_eq!(reader.read("\n#### one  \n"), [prompt("one")]);
        assert_eq!(reader.read("#### more  \n#### and more  \n"), []);
        assert_eq!(reader.read("\n#### two  \n"), [prompt("two")]);
    }

    #[test]
    fn a_heading_of_an_answer_is_no_prompt() {
        // in a code block; without the hard break; in the middle of a paragraph; without the space
        for answer in [
            "```md\n\n#### a heading  \n```\n",
            "````md\n```\n\n#### a heading  \n````\n",
            "~~~\n```\n\n#### a heading  \n~~~\n",
            "\n#### a heading\n",
            "text\n#### a heading  \n",
            "\n####a heading  \n",
            "\n##### a heading  \n",
        ] {
            let text =
                format!("{START}#### ask  \n\n{answer}\n> Tokens: 1 sent.  \n\n#### next  \n");
            assert_eq!(prompts(&text), ["ask", "next"], "{answer:?}");
        }
    }

    #[test]
    fn a_code_block_that_stays_open_ends_with_its_answer() {
        for end in [
            "> Tokens: 1.2k sent, 5 received. Cost: $0.01 message.  \n",
            "> ^C KeyboardInterrupt  \n",
            "\n# aider chat started at 2026-11-26 04:00:00\n",
        ] {
            let text =
                format!("{START}#### ask  \n\n```rust\nfn\n\n#### no  \n{end}\n#### next  \n");
            assert_eq!(prompts(&text), ["ask", "next"], "{end:?}");
        }
    }

    #[test]
    fn a_copy_of_a_history_in_a_code_block_is_no_session() {
        let text = format!(
            "{START}#### ask  \n\n```\n\n# aider chat started at 2025-01-01 00:00:00\n\n#### old  \n\n> Applied edit to a.txt  \n```\n\n> Tokens: 1 sent.  \n"
        );
        let expected = [
            session("2026-11-26 03:21:07"),
            prompt("ask"),
            HistoryEntry::Answered,
        ];
        assert_eq!(read(&text), expected);
    }

    #[test]
    fn blank_lines_belong_to_a_prompt() {
        assert_eq!(
            prompts("\n#### one  \n####   \n#### ```  \n#### #### x  \n"),
            ["one\n\n```\n#### x"]
        );
        assert_eq!(prompts("\n#### <blank>  \n"), [""; 0]);
        assert_eq!(prompts("\n####   \n"), [""; 0]);
    }

    #[test]
    fn only_aiders_own_lines_are_messages() {
        for line in [
            "Applied edit to a.txt  ",
            "> Applied edit to a.txt",
            ">Applied edit to a.txt  ",
            " > Applied edit to a.txt  ",
            "> Did not apply edit to a.txt (--dry-run)  ",
            "> Commit abc  ",
            "> Commit xyz1234 subject  ",
            "> Committing a.txt before applying edits.  ",
            "#### ",
            "> ",
            "# aider chat started at yesterday",
            "# aider chat started at 2026-11-26T03:21:07",
            "# aider chat started at 2026-11-26 03:21:071",
        ] {
            assert_eq!(read(&format!("\n{line}\n")), [], "{line:?}");
        }
        assert_eq!(
            read("> Commit abcdef0123456789 Änderung: 1 → 2  \r\n"),
            [committed("abcdef0123456789", "Änderung: 1 → 2")]
        );
    }

    #[test]
    fn any_text_is_read() {
        let parts = [
            "",
            " ",
            "  ",
            "\n",
            "\r",
            "#",
            "####",
            "> ",
            "```",
            "~~~",
            "\u{fffd}",
            "é",
            HEADING,
            "Tokens: ",
            "Applied edit to ",
            "Commit abcd ",
            "2026-11-26 03:21:07",
            "\0",
        ];
        let mut seed = 7_usize;
        for _ in 0..5000 {
            let mut text = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(parts[(seed >> 33) % parts.len()]);
            }
            let mut reader = Reader::default();
            for line in text.split_inclusive('\n') {
                reader.read(line);
            }
            read(&text);
        }
    }
}
