//! The walk through the commands of a text: directories, variables and groups, as a shell would see them. Runs nothing.

mod expand;
mod mentions;
mod scripts;

use std::collections::BTreeMap;

use super::forms::{MAX_TEXTS, UNKNOWN, text_of};
use super::lexer::{Word, WordPart, tokens};
use super::named::{CommandPlace, NamedFiles};
use super::nodes::{Access, Command, ShellNode, nodes, plain};
use super::paths::absolute;
use super::{carried, code, output, pipes, programs};

/// Levels of commands within one another that are looked into.
const MAX_DEPTH: usize = 6;
/// Tokens of one command text. One with more counts as naming the whole tree.
pub const MAX_TOKENS: usize = 20_000;
/// Directories that a command may be in.
const MAX_DIRS: usize = 8;
/// Paths that are kept of one command.
pub const MAX_PATHS: usize = 4096;
/// Commands that set variables.
const DECLARATIONS: &[&str] = &["export", "declare", "local", "readonly", "typeset"];

pub(super) struct Walker<'a> {
    place: Option<CommandPlace<'a>>,
    pub found: NamedFiles,
    pub written: std::collections::HashSet<String>,
    seen: std::collections::HashSet<String>,
    pub commands: Vec<Vec<String>>,
    /// Directories in which the command may be. Absolute.
    dirs: Vec<String>,
    before: Vec<String>,
    variables: BTreeMap<String, Vec<String>>,
    /// True if a substitution stands for the text that it prints.
    expands_output: bool,
    pub left: usize,
}

impl<'a> Walker<'a> {
    pub(super) fn new(place: Option<CommandPlace<'a>>) -> Self {
        let cwd = place.map_or("/", |place| place.cwd).to_owned();
        Self {
            place,
            found: NamedFiles::default(),
            written: std::collections::HashSet::new(),
            seen: std::collections::HashSet::new(),
            commands: Vec::new(),
            dirs: vec![cwd],
            before: Vec::new(),
            variables: BTreeMap::new(),
            expands_output: place.is_none(),
            left: MAX_TOKENS,
        }
    }

    /// Looks through a text that a shell would run.
    pub(super) fn script(&mut self, text: &str, depth: usize) {
        let Some(tokens) = tokens(text, self.left) else {
            self.left = 0;
            return;
        };
        self.left -= tokens.len();
        if code::has_call(&tokens) {
            self.calls(text, depth);
        }
        let nodes = nodes(tokens);
        let readers = pipes::readers(&nodes);
        let mut stack = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            match node {
                ShellNode::Open => stack.push((self.dirs.clone(), self.before.clone())),
                ShellNode::Close => {
                    if let Some((dirs, before)) = stack.pop() {
                        (self.dirs, self.before) = (dirs, before);
                    }
                }
                ShellNode::Command(command) => {
                    let readers = readers[at].iter().filter_map(|at| match &nodes[*at] {
                        ShellNode::Command(reader) => Some(reader),
                        _ => None,
                    });
                    self.command(command, &readers.collect::<Vec<_>>(), depth);
                }
                ShellNode::Pipe => {}
            }
        }
    }

    /// Looks through a command. `readers`: those that may read its output.
    fn command(&mut self, command: &Command, readers: &[&Command], depth: usize) {
        for (access, word) in &command.redirections {
            for form in self.forms(word, depth) {
                self.form(&form, *access, false);
            }
        }
        let words = self.without_grammar(&command.words, depth);
        let mut forms = self.split_forms(words, depth);
        let mut texts: Vec<String> = forms.iter().map(|(form, _)| text_of(form)).collect();
        let mut start = programs::program_at(&texts);
        let runs_texts = texts.get(start).is_some_and(|program| {
            programs::is_shell(program) || ["eval", "trap"].contains(&programs::base(program))
        });
        if runs_texts && !self.expands_output {
            self.expands_output = true;
            forms = self.split_forms(words, depth);
            self.expands_output = false;
            texts = forms.iter().map(|(form, _)| text_of(form)).collect();
            start = programs::program_at(&texts);
        }
        self.assign(&texts, &forms);
        let documents = self.documents(command, depth);
        if texts.is_empty() {
            return;
        }
        self.commands.push(texts.clone());
        let set = match texts.get(start) {
            Some(program) if DECLARATIONS.contains(&program.as_str()) => &texts[..],
            _ => &texts[..start],
        };
        let mut carried = carried::commands_in_variables(set);
        if start > 0 {
            // `env -S 'cmd'`
            carried.extend(carried::commands_in(&texts));
        }
        for text in carried {
            self.commands_of(&text, depth + 1);
        }
        let Some(program) = texts.get(start) else {
            self.mention(&forms, Access::Writes, false);
            return;
        };
        let arguments = &texts[start + 1..];
        let is_script = self.run_scripts(&texts, start, &documents, depth);
        self.run_processes(&texts[start..], words, depth);
        let name = programs::base(program);
        // the text that a shell is given by `echo … | sh`
        let prints = output::is_printer(name);
        let printed = output::printed(name, arguments);
        let given: Vec<&String> = printed.iter().chain(&documents).collect();
        if !given.is_empty() && depth < MAX_DEPTH {
            let found: Vec<_> = readers.iter().filter_map(|one| self.reader(one)).collect();
            for reader in found {
                for text in &given {
                    self.read(reader, text, depth);
                }
            }
        }
        self.pass_code(program, &texts[start..], depth);
        if prints && !command.is_piped {
            return;
        }
        self.name_files(&forms, start, is_script, (command, &documents));
        self.change_dir(name, arguments);
    }

    /// The words without those of the grammar before the command. Notes the values of the variable of a `for`.
    fn without_grammar<'w>(&mut self, words: &'w [Word], depth: usize) -> &'w [Word] {
        let mut rest = words;
        while let Some((first, after)) = rest.split_first() {
            match plain(first) {
                Some("for" | "select") => {
                    // `for name do …` has no values
                    if let [_, sign, ..] = after
                        && plain(sign) == Some("do")
                    {
                        rest = &after[1..];
                        continue;
                    }
                    if let [name, _, values @ ..] = after {
                        let values = values.iter().flat_map(|word| self.forms(word, depth));
                        let values: Vec<String> = values.take(MAX_TEXTS).collect();
                        if let Some(name) = plain(name) {
                            self.variables.insert(name.to_owned(), values);
                        }
                    }
                    return after;
                }
                Some("case") => return after,
                Some("function") => rest = after.get(1..).unwrap_or_default(),
                // `coproc name { …; }`
                Some("coproc") if after.get(1).and_then(plain) == Some("{") => rest = &after[1..],
                Some(word) if programs::KEYWORDS.contains(&word) => rest = after,
                _ => break,
            }
        }
        rest
    }

    /// Notes the variables that a command sets.
    fn assign(&mut self, texts: &[String], forms: &[(String, bool)]) {
        let declares = texts
            .first()
            .is_some_and(|first| DECLARATIONS.contains(&first.as_str()));
        for (form, _) in forms {
            match programs::assignment(form) {
                Some((name, value)) => {
                    let values = self.variables.entry(name.to_owned()).or_default();
                    // an alternative: the text may set it in a branch
                    if !values.iter().any(|one| one == value) && values.len() < MAX_TEXTS {
                        values.insert(0, value.to_owned());
                    }
                }
                None if declares => {}
                None => return,
            }
        }
    }

    /// The texts that a command reads from its standard input.
    fn documents(&mut self, command: &Command, depth: usize) -> Vec<String> {
        let mut documents = command.documents.clone();
        for word in &command.strings {
            documents.extend(self.forms(word, depth).iter().map(|form| text_of(form)));
        }
        for (access, word) in &command.redirections {
            if let ([WordPart::Process(script)], Access::Reads) = (&word.pieces[..], access) {
                documents.extend(self.output(script, depth));
            }
        }
        documents
    }

    /// Follows a change of the directory.
    fn change_dir(&mut self, name: &str, arguments: &[String]) {
        let Some(place) = self.place else { return };
        match name {
            "cd" | "pushd" | "chdir" => {
                let to = arguments
                    .iter()
                    .find(|word| !word.starts_with('-') || *word == "-");
                let to: Vec<String> = match to.map(String::as_str) {
                    Some("-") => self.before.clone(),
                    Some(to) if !to.contains(UNKNOWN) => {
                        self.dirs.iter().map(|dir| absolute(dir, to)).collect()
                    }
                    Some(_) => Vec::new(),
                    None => (place.variable)("HOME").into_iter().collect(),
                };
                self.before.clone_from(&self.dirs);
                // one that is not there is made meanwhile, or the command stays where it is
                let is_certain = !to.is_empty() && to.iter().all(|dir| (place.is_dir)(dir));
                let mut dirs = to;
                if !is_certain {
                    dirs.extend(self.dirs.iter().cloned());
                }
                dirs.dedup();
                dirs.truncate(MAX_DIRS);
                self.dirs = dirs;
            }
            "popd" if !self.before.is_empty() => {
                std::mem::swap(&mut self.dirs, &mut self.before);
            }
            _ => {}
        }
    }
}
