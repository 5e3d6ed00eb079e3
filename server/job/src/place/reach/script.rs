//! The simple commands of a shell script, with their lines. It follows quotes, substitutions and here-documents; it expands nothing.

/// A text within a script.
#[derive(Clone, Debug)]
pub(super) struct InnerScript {
    pub line: u32,
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SimpleCommand {
    pub line: u32,
    /// The command as written, with single spaces.
    pub text: String,
    /// Words without quotes, from the program on.
    pub words: Vec<String>,
    /// Texts of `$(…)`, of backquotes and of `<(…)`.
    pub substitutions: Vec<InnerScript>,
    /// Texts of here-documents.
    pub documents: Vec<InnerScript>,
}

/// Words before a program that are not it.
const RESERVED: [&str; 12] = [
    "!", "do", "elif", "else", "if", "then", "time", "until", "while", "{", "}", "fi",
];

/// Commands in groups that pipes connect.
pub(super) fn pipelines(script: &str, first_line: u32) -> Vec<Vec<SimpleCommand>> {
    let mut reader = ScriptReader {
        rest: script.chars().collect(),
        at: 0,
        line: first_line,
        ..ScriptReader::default()
    };
    reader.read();
    reader.done
}

#[derive(Default)]
struct ScriptReader {
    rest: Vec<char>,
    at: usize,
    line: u32,
    done: Vec<Vec<SimpleCommand>>,
    pipeline: Vec<SimpleCommand>,
    command: SimpleCommand,
    /// Place of the command's first character.
    start: Option<usize>,
    word: Option<String>,
    /// True if the next word is a file of a redirection.
    is_redirected: bool,
    /// Delimiters of here-documents that begin at the next line, with `<<-`.
    documents: Vec<(String, bool)>,
}

impl ScriptReader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek(0)?;
        self.at += 1;
        self.line += u32::from(next == '\n');
        Some(next)
    }

    fn push(&mut self, c: char) {
        self.begin();
        self.word.get_or_insert_default().push(c);
    }

    fn begin(&mut self) {
        if self.start.is_none() {
            self.start = Some(self.at.saturating_sub(1));
            self.command.line = self.line;
        }
    }

    fn read(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(other) => self.push(other),
                },
                '\'' => self.single_quotes(),
                '"' => self.double_quotes(),
                '`' => self.backquotes(),
                '$' => self.dollar(),
                '#' if self.word.is_none() => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end_pipeline(1);
                    self.here_documents();
                }
                '&' if self.peek(0) == Some('>') => self.end_word(),
                ';' | '(' | ')' | '&' => self.end_pipeline(1),
                '|' if self.peek(0) == Some('|') => {
                    self.end_pipeline(1);
                    self.at += 1;
                }
                '|' => {
                    self.end_command(1);
                    self.at += usize::from(self.peek(0) == Some('&'));
                }
                '<' | '>' => self.redirection(c),
                other => self.push(other),
            }
        }
        self.end_pipeline(0);
    }

    fn single_quotes(&mut self) {
        self.begin();
        self.word.get_or_insert_default();
        while let Some(c) = self.next() {
            match c {
                '\'' => return,
                other => self.push(other),
            }
        }
    }

    fn double_quotes(&mut self) {
        self.begin();
        self.word.get_or_insert_default();
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' => match self.next() {
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some('\n') | None => {}
                    Some(other) => {
                        self.push('\\');
                        self.push(other);
                    }
                },
                '`' => self.backquotes(),
                '$' => self.dollar(),
                other => self.push(other),
            }
        }
    }

    fn backquotes(&mut self) {
        self.push('`');
        let (line, start) = (self.line, self.at);
        while let Some(c) = self.next() {
            match c {
                '`' => break,
                '\\' => {
                    self.next();
                }
                _ => {}
            }
        }
        self.add_substitution(line, start, self.at.saturating_sub(1));
    }

    fn dollar(&mut self) {
        self.push('$');
        match (self.peek(0), self.peek(1)) {
            (Some('('), Some('(')) => {
                self.next();
                self.balanced('(', ')');
            }
            (Some('('), _) => self.substitution(),
            (Some('{'), _) => {
                self.next();
                self.balanced('{', '}');
            }
            _ => {}
        }
    }

    /// Reads `(…)` behind `$`, `<` or `>`.
    fn substitution(&mut self) {
        self.next();
        let (line, start) = (self.line, self.at);
        self.balanced('(', ')');
        self.add_substitution(line, start, self.at.saturating_sub(1));
    }

    fn add_substitution(&mut self, line: u32, start: usize, end: usize) {
        if start < end {
            let text = self.rest[start..end].iter().collect();
            self.command.substitutions.push(InnerScript { line, text });
        }
    }

    /// Reads to the sign that closes the open one, over quotes.
    fn balanced(&mut self, open: char, close: char) {
        let mut depth = 1;
        let mut quote = None;
        while depth > 0
            && let Some(c) = self.next()
        {
            match (quote, c) {
                (Some('\''), '\'') | (Some('"'), '"') => quote = None,
                (None | Some('"'), '\\') => {
                    self.next();
                }
                (None, '\'' | '"') => quote = Some(c),
                (None, c) if c == open => depth += 1,
                (None, c) if c == close => depth -= 1,
                _ => {}
            }
        }
    }

    fn redirection(&mut self, sign: char) {
        if self.peek(0) == Some('(') {
            self.push(sign);
            return self.substitution();
        }
        // digits before the sign name a file descriptor
        if self
            .word
            .as_ref()
            .is_some_and(|word| word.chars().all(|c| c.is_ascii_digit()))
        {
            self.word = None;
        }
        self.begin();
        self.end_word();
        if sign == '<' && self.peek(0) == Some('<') {
            self.next();
            match self.peek(0) {
                // a here-string is an argument
                Some('<') => self.at += 1,
                _ => self.delimiter(),
            }
            return;
        }
        while matches!(self.peek(0), Some('>' | '<' | '&' | '|')) {
            self.at += 1;
        }
        self.is_redirected = true;
    }

    fn delimiter(&mut self) {
        let is_indented = self.peek(0) == Some('-');
        self.at += usize::from(is_indented);
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let mut name = String::new();
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | ')' => break,
                '\'' | '"' | '\\' => {}
                other => name.push(other),
            }
            self.at += 1;
        }
        if !name.is_empty() {
            self.documents.push((name, is_indented));
        }
    }

    /// Gives the texts that begin here to the last pipeline.
    fn here_documents(&mut self) {
        for (name, is_indented) in std::mem::take(&mut self.documents) {
            let (line, mut text) = (self.line, String::new());
            while self.at < self.rest.len() {
                let start = self.at;
                while self.next().is_some_and(|c| c != '\n') {}
                let whole: String = self.rest[start..self.at].iter().collect();
                let bare = whole.trim_end_matches(['\n', '\r']);
                let bare = if is_indented {
                    bare.trim_start_matches('\t')
                } else {
                    bare
                };
                if bare == name {
                    break;
                }
                text.push_str(&whole);
            }
            let commands = self.done.last_mut().into_iter().flatten();
            for command in commands {
                command.documents.push(InnerScript {
                    line,
                    text: text.clone(),
                });
            }
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let is_socket = word.starts_with("/dev/tcp/") || word.starts_with("/dev/udp/");
        if std::mem::take(&mut self.is_redirected) && !is_socket {
            return;
        }
        let is_first = self.command.words.is_empty();
        if is_first && (RESERVED.contains(&word.as_str()) || is_assignment(&word)) {
            // a substitution in an assignment belongs to the command all the same
            if RESERVED.contains(&word.as_str()) {
                self.start = None;
            }
            return;
        }
        self.command.words.push(word);
    }

    /// Ends a command; `sign` is the length of what ended it.
    fn end_command(&mut self, sign: usize) {
        self.end_word();
        self.is_redirected = false;
        let mut command = std::mem::take(&mut self.command);
        let Some(start) = self.start.take() else {
            if !command.substitutions.is_empty() {
                self.pipeline.push(command);
            }
            return;
        };
        let end = self.at.saturating_sub(sign).max(start);
        let text: String = self.rest[start..end].iter().collect();
        let words = text.split_whitespace().filter(|word| *word != "\\");
        command.text = words.collect::<Vec<_>>().join(" ");
        self.pipeline.push(command);
    }

    fn end_pipeline(&mut self, sign: usize) {
        self.end_command(sign);
        if !self.pipeline.is_empty() {
            self.done.push(std::mem::take(&mut self.pipeline));
        }
    }
}

/// True for `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}
