//! Texts that a command runs: scripts of shells, inputs, outputs of processes, and code with calls.

use super::{MAX_DEPTH, MAX_DIRS, Walker};
use crate::command_words::forms::{MAX_TEXTS, text_of};
use crate::command_words::lexer::{Word, WordPart, parts_of_code, tokens};
use crate::command_words::nodes::{Command, ShellNode, nodes};
use crate::command_words::{carried, code, output, programs};

impl Walker<'_> {
    /// Runs through the texts that a shell, or `eval`, is given. The program is the word at `start`. Returns the place of the
    /// script behind it.
    pub(super) fn run_scripts(
        &mut self,
        all: &[String],
        start: usize,
        documents: &[String],
        depth: usize,
    ) -> Option<usize> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let words = &all[start..];
        let program = words[0].as_str();
        let name = programs::base(program);
        let after_options = || words[1..].iter().skip_while(|word| *word == "--");
        if name == "eval" {
            let text: Vec<&str> = after_options().map(String::as_str).collect();
            self.script(&text.join(" "), depth + 1);
            return None;
        }
        if name == "trap" {
            let dirs = self.dirs.clone();
            self.script(after_options().next().map_or("", String::as_str), depth + 1);
            self.dirs = dirs;
            return None;
        }
        if let Some(reader) = programs::reader(words) {
            for document in documents {
                self.read(reader, document, depth);
            }
        }
        for text in carried::commands_in(words) {
            self.commands_of(&text, depth + 1);
        }
        // `xargs sh -c`, `find -exec sh -c`, `su -c`
        let is_runner =
            programs::is_runner(program) || all[..start].iter().any(|w| programs::is_runner(w));
        let has_own_script = ["su", "script", "runuser"].contains(&name);
        let shells = (0..words.len()).filter(|at| {
            programs::is_shell(&words[*at]) && (*at == 0 || is_runner) || *at == 0 && has_own_script
        });
        let mut scripts: Vec<usize> = shells
            .filter_map(|shell| Some(shell + programs::script_of_shell(&words[shell..])?))
            .collect();
        scripts.dedup();
        for at in scripts.iter().take(MAX_DIRS) {
            let dirs = self.dirs.clone();
            let text = if programs::joins_words(program) {
                words[*at..].join(" ")
            } else {
                words[*at].clone()
            };
            self.script(&text, depth + 1);
            self.dirs = dirs;
        }
        if scripts.is_empty() && is_runner {
            // `watch 'cmd'`, `ssh host 'cmd'`, `nodemon --exec='cmd'`
            let whole = words[1..].iter().filter(|word| word.contains(' '));
            for word in whole {
                let value = word
                    .strip_prefix("--")
                    .and_then(|word| word.split_once('='));
                let command = value.map_or(word.as_str(), |(_, value)| value);
                self.commands_of(command, depth + 1);
            }
        }
        scripts.last().copied()
    }

    /// Looks through the text on the standard input of a command that runs it.
    pub(super) fn read(&mut self, reader: programs::TextReader, text: &str, depth: usize) {
        match reader {
            programs::TextReader::Shell => self.script(text, depth + 1),
            programs::TextReader::OtherShell => self.commands_of(text, depth + 1),
            programs::TextReader::Make => {
                // the signs before a recipe
                let lines = text.lines();
                let lines = lines.map(|line| line.trim_start_matches(['\t', ' ', '@', '-', '+']));
                let lines: Vec<&str> = lines.collect();
                self.commands_of(&lines.join("\n"), depth + 1);
            }
            programs::TextReader::Interpreter => self.calls(text, depth),
        }
    }

    /// Runs through the output of a process that a shell is given as its script: `bash <(echo …)`, `. <(echo …)`.
    pub(super) fn run_processes(&mut self, texts: &[String], words: &[Word], depth: usize) {
        let program = texts[0].as_str();
        let is_source = [".", "source"].contains(&program);
        let is_script = programs::is_shell(program) && programs::script_of_shell(texts).is_none();
        let is_code = programs::is_interpreter(program);
        if depth >= MAX_DEPTH || !(is_source || is_script || is_code) {
            return;
        }
        for word in words {
            let [WordPart::Process(script)] = &word.pieces[..] else {
                continue;
            };
            let Some(text) = self.output(script, depth) else {
                continue;
            };
            if is_code {
                self.calls(&text, depth);
            } else {
                self.script(&text, depth + 1);
            }
        }
    }

    /// The text that a script prints, where it is known.
    pub(super) fn output(&mut self, script: &str, depth: usize) -> Option<String> {
        if depth >= MAX_DEPTH {
            return None;
        }
        let tokens = tokens(script, self.left)?;
        self.left -= tokens.len();
        let mut all = String::new();
        let mut is_piped = false;
        for node in nodes(tokens) {
            let ShellNode::Command(command) = node else {
                continue;
            };
            let forms = self.split_forms(&command.words, depth + 1);
            let texts: Vec<String> = forms.iter().map(|(form, _)| text_of(form)).collect();
            let words = &texts[programs::program_at(&texts)..];
            let (name, arguments) = match words.split_first() {
                Some((program, arguments)) => (programs::base(program), arguments),
                None => ("cat", &[][..]),
            };
            let documents = self.documents(&command, depth);
            match output::printed(name, arguments) {
                Some(text) => {
                    all.push_str(&text);
                    all.push('\n');
                }
                None if !documents.is_empty() => all.extend(documents),
                // a filter writes a similar text on
                None if is_piped => {}
                None => return None,
            }
            is_piped = command.is_piped;
        }
        Some(all)
    }

    /// Notes the commands that the calls in a code run.
    pub(super) fn calls(&mut self, text: &str, depth: usize) {
        for call in code::calls(text) {
            self.parts(call, depth);
        }
    }

    /// Notes the commands in a part of a code: each string, and all words as one command.
    fn parts(&mut self, code: &str, depth: usize) {
        let parts = parts_of_code(code, MAX_TEXTS);
        for part in parts.iter().filter(|part| part.contains(' ')) {
            self.commands_of(part, depth + 1);
        }
        self.commands
            .push(std::iter::once("env".to_owned()).chain(parts).collect());
    }

    /// Notes the commands in the code that an interpreter is given: `os.system('rm -rf x')`, `run(['rm', '-rf', 'x'])`.
    pub(super) fn pass_code(&mut self, program: &str, words: &[String], depth: usize) {
        if !programs::is_interpreter(program) {
            return;
        }
        for code in words[1..]
            .iter()
            .filter(|word| word.contains(['\'', '"', '(', '`']))
        {
            self.parts(code, depth);
        }
    }

    /// Notes the commands of a text, and not its files.
    pub(super) fn commands_of(&mut self, text: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let mut inner = Walker {
            left: self.left,
            ..Walker::new(None)
        };
        inner.script(text, depth);
        self.left = inner.left;
        self.commands.extend(inner.commands);
    }

    /// The way in which a command runs the text of its standard input. None: it does not.
    pub(super) fn reader(&mut self, command: &Command) -> Option<programs::TextReader> {
        let words = self.without_grammar(&command.words, MAX_DEPTH);
        let words: Vec<String> = words
            .iter()
            .flat_map(|word| self.forms(word, MAX_DEPTH))
            .map(|form| text_of(&form))
            .collect();
        let start = programs::program_at(&words);
        let is_wrapped = start > 0;
        programs::reader(&words[start..])
            .or_else(|| is_wrapped.then(|| programs::reader(&words)).flatten())
    }
}
