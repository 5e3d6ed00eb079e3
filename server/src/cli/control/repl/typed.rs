//! The line that is typed in the REPL: its history, which stays, and its completion.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use backstitch_core::state_dir;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};
use serde_json::Value;

use crate::terminal::error::{CliError, CliResult};

/// Inputs that are kept for the next conversation.
const KEPT: usize = 1_000;

/// The editor of a conversation.
pub struct ReplLine {
    editor: Editor<Names, DefaultHistory>,
    file: Option<PathBuf>,
}

impl ReplLine {
    /// `words` complete as whole lines, and the fields of `document` as of jq.
    pub fn new(words: Vec<String>, document: Value) -> CliResult<Self> {
        let config = Config::builder()
            .max_history_size(KEPT)
            .map_err(|error| failed(&error))?
            .build();
        let mut editor = Editor::with_config(config).map_err(|error| failed(&error))?;
        editor.set_helper(Some(Names { words, document }));
        let file = state_dir().ok().map(|dir| dir.join("repl-history"));
        let mut earlier = Vec::new();
        if let Some(open) = file.as_ref().and_then(|file| File::open(file).ok()) {
            let lines = BufReader::new(open).lines().map_while(Result::ok);
            earlier.extend(lines.filter_map(|line| serde_json::from_str::<String>(&line).ok()));
        }
        let left_out = earlier.len().saturating_sub(KEPT);
        for input in earlier.drain(left_out..) {
            editor.add_history_entry(input).ok();
        }
        Ok(Self { editor, file })
    }

    /// Sets what completes from now on.
    pub fn complete(&mut self, words: Vec<String>, document: Value) {
        self.editor.set_helper(Some(Names { words, document }));
    }

    /// Reads an input that begins with `begun`, of several lines where a line ends with `\`. Ctrl-C empties it. None: the
    /// input has ended.
    pub fn next(&mut self, prompt: &str, begun: &str) -> CliResult<Option<String>> {
        let mut input = String::new();
        loop {
            let (shown, begun) = if input.is_empty() {
                (prompt, begun)
            } else {
                ("... ", "")
            };
            match self.editor.readline_with_initial(shown, (begun, "")) {
                Ok(line) => {
                    let Some(line) = line.strip_suffix('\\') else {
                        input.push_str(&line);
                        break;
                    };
                    input.push_str(line);
                    input.push('\n');
                }
                Err(ReadlineError::Interrupted) => return Ok(Some(String::new())),
                // bytes that are not UTF-8 empty the input, as Ctrl-C does
                Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                    return Ok(Some(String::new()));
                }
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(failed(&error)),
            }
        }
        if !input.trim().is_empty() {
            self.keep(&input);
        }
        Ok(Some(input))
    }

    /// The conversation continues if the history cannot be written.
    fn keep(&mut self, input: &str) {
        self.editor.add_history_entry(input).ok();
        let Some(file) = &self.file else { return };
        let opened = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(file);
        if let (Ok(mut file), Ok(line)) = (opened, serde_json::to_string(input)) {
            file.write_all(format!("{line}\n").as_bytes()).ok();
        }
    }
}

/// Converts an error of the line.
pub fn failed(error: &ReadlineError) -> CliError {
    CliError::failed(format!("the terminal: {error}"))
}

/// Completes words of the REPL, and fields of a document in jq.
struct Names {
    words: Vec<String>,
    document: Value,
}

impl Names {
    /// Returns the begin of the word before the cursor, and the words that continue it.
    fn found(&self, line: &str) -> (usize, Vec<String>) {
        if line.starts_with(':') {
            let mut all = self.words.clone();
            all.sort_unstable();
            all.dedup();
            all.retain(|word| word.starts_with(line));
            return (0, all);
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
        let at = line.rfind(|c| !is_part(c)).map_or(0, |at| {
            at + line[at..].chars().next().map_or(1, char::len_utf8)
        });
        let path = line[at..].trim_start_matches('[');
        let at = line.len() - path.len();
        let Some(dot) = path.rfind('.') else {
            return (at, Vec::new());
        };
        let (before, begun) = (&path[..dot], &path[dot + 1..]);
        let mut value = &self.document;
        for part in before.split('.').filter(|part| !part.is_empty()) {
            let (name, index) = part.split_once('[').map_or((part, None), |(name, rest)| {
                (
                    name,
                    rest.strip_suffix(']').and_then(|n| n.parse::<usize>().ok()),
                )
            });
            value = if name.is_empty() { value } else { &value[name] };
            if part.contains('[') {
                value = &value[index.unwrap_or(0)];
            }
        }
        let fields = value
            .as_object()
            .into_iter()
            .flat_map(|fields| fields.keys());
        let plain = |name: &&String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let fields = fields.filter(plain).filter(|name| name.starts_with(begun));
        (at + dot + 1, fields.cloned().collect())
    }
}

impl Completer for Names {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> Result<(usize, Vec<String>), ReadlineError> {
        Ok(self.found(&line[..at]))
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::words;
    use super::*;

    #[test]
    fn fields_and_words_complete() {
        let names = Names {
            words: words::completions(),
            document: json!({
                "call": { "input": { "file_path": "a", "old string": "b" }, "tool": "Edit" },
                "recent": [{ "turn": 1 }], "error": null,
            }),
        };
        let found = |line: &str| names.found(line);
        let one = |at: usize, word: &str| (at, vec![word.to_owned()]);
        assert_eq!(found(".ca"), one(1, "call"));
        assert_eq!(found(".call.input.f"), one(12, "file_path"));
        assert_eq!(found("[.call.t"), one(7, "tool"));
        assert_eq!(
            found("ä | .recent[0].t"),
            one("ä | .recent[0].".len(), "turn")
        );
        assert_eq!(found(".recent[].t"), one(10, "turn"));
        assert_eq!(found(".nothing.x"), (9, Vec::new()));
        assert_eq!(
            found(":res"),
            (0, vec![":reset".to_owned(), ":resume".to_owned()])
        );
        assert_eq!(found("length"), (0, Vec::new()));
    }
}
