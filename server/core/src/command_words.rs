//! Files that the text of a shell command names, and the simple commands in it. Follows what a person reads in the text:
//! quotes, variables that it sets, changes of the directory, substitutions whose result is known. Runs nothing. Pure.

mod carried;
mod code;
mod lexer;
mod output;
mod pattern;
mod pipes;
mod programs;

use std::collections::BTreeMap;

use lexer::{Separator, Token, Word, WordPart, literal, parts_of_code, tokens};

pub use pattern::{CommandPattern, has_expression_signs};

/// Levels of commands within one another that are looked into.
const MAX_DEPTH: usize = 6;
/// Tokens of one command text. One with more counts as naming the whole tree.
pub const MAX_TOKENS: usize = 20_000;
/// Texts that one word may stand for.
const MAX_TEXTS: usize = 64;
/// Directories that a command may be in.
const MAX_DIRS: usize = 8;
/// Paths that are kept of one command.
pub const MAX_PATHS: usize = 4096;
/// Commands that set variables.
const DECLARATIONS: &[&str] = &["export", "declare", "local", "readonly", "typeset"];
/// Stands for a value that is not known.
const UNKNOWN: char = '\0';

/// The place at which a command would run.
#[derive(Clone, Copy)]
pub struct CommandPlace<'a> {
    /// Absolute.
    pub root: &'a str,
    /// Absolute.
    pub cwd: &'a str,
    /// The value of a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// True if an absolute path is a directory.
    pub is_dir: &'a dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for CommandPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandPlace")
            .field("root", &self.root)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Files that a command names. Paths are relative to the root with `/`, absolute if they are outside of it. The root, and each
/// directory above it, is `.`. One that ends with `/.` is a directory that the command goes into, or lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFiles {
    pub paths: Vec<String>,
    /// Words with wildcards, which a shell expands.
    pub patterns: Vec<String>,
    /// Those of both that the command only reads.
    pub only_read: Vec<String>,
    /// Searches of a tree for files of a pattern.
    pub searched: Vec<SearchedFiles>,
}

/// Files below a directory whose path matches a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedFiles {
    /// Relative to the root; `.` is the root.
    pub dir: String,
    pub glob: String,
}

/// Returns the files that a command names.
pub fn named_files(command: &str, place: CommandPlace<'_>) -> NamedFiles {
    let mut walker = Walker::new(Some(place));
    walker.script(command, 0);
    if walker.left == 0 {
        walker.add(".", Access::Writes);
    }
    let mut found = walker.found;
    let only_read = |path: &&String| !walker.written.contains(path.as_str());
    found.only_read = found.paths.iter().filter(only_read).cloned().collect();
    found
        .only_read
        .extend(found.patterns.iter().filter(only_read).cloned());
    found
}

/// Returns the words of the simple commands in a text, also of those within substitutions, quotes and here-documents that a
/// shell runs.
pub fn simple_commands(command: &str) -> Vec<Vec<String>> {
    let mut walker = Walker::new(None);
    walker.script(command, 0);
    walker.commands
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Reads,
    Writes,
}

/// A simple command.
#[derive(Debug, Default)]
struct Command {
    words: Vec<Word>,
    redirections: Vec<(Access, Word)>,
    /// Texts on its standard input.
    documents: Vec<String>,
    strings: Vec<Word>,
    /// True if its output goes to the next command.
    is_piped: bool,
}

#[derive(Debug)]
enum ShellNode {
    Command(Command),
    /// Stands behind the command, or the end of the group, that writes into it.
    Pipe,
    Open,
    Close,
}

struct Walker<'a> {
    place: Option<CommandPlace<'a>>,
    found: NamedFiles,
    written: std::collections::HashSet<String>,
    seen: std::collections::HashSet<String>,
    commands: Vec<Vec<String>>,
    /// Directories in which the command may be. Absolute.
    dirs: Vec<String>,
    before: Vec<String>,
    variables: BTreeMap<String, Vec<String>>,
    /// True if a substitution stands for the text that it prints.
    expands_output: bool,
    left: usize,
}

impl<'a> Walker<'a> {
    fn new(place: Option<CommandPlace<'a>>) -> Self {
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
    fn script(&mut self, text: &str, depth: usize) {
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

    /// The forms of words, and true for those in quotes. The value of a variable without quotes may be several words.
    fn split_forms(&mut self, words: &[Word], depth: usize) -> Vec<(String, bool)> {
        let mut forms = Vec::new();
        for word in words {
            let is_open = |piece: &WordPart| match piece {
                WordPart::Variable { quoted, .. } => !quoted,
                WordPart::Script(_) => true,
                WordPart::Form(_) | WordPart::Process(_) => false,
            };
            let is_split = !word.quoted && word.pieces.iter().any(is_open);
            for form in self.forms(word, depth) {
                if is_split && form.contains(char::is_whitespace) {
                    let parts = form.split_whitespace();
                    forms.extend(parts.map(|part| (part.to_owned(), false)));
                } else {
                    forms.push((form, word.quoted));
                }
            }
        }
        forms
    }

    /// Adds the files that the words of a command name.
    fn name_files(
        &mut self,
        forms: &[(String, bool)],
        start: usize,
        is_script: Option<usize>,
        (command, documents): (&Command, &[String]),
    ) {
        let texts: Vec<String> = forms.iter().map(|(form, _)| text_of(form)).collect();
        let (program, arguments) = (&texts[start], &texts[start + 1..]);
        let name = programs::base(program);
        let access = if programs::only_reads(program, arguments) {
            Access::Reads
        } else {
            Access::Writes
        };
        let own = self.dirs.clone();
        let mut moved: Vec<String> = Vec::new();
        let wrapper = &texts[..start];
        let wrapped = wrapper.first().map_or(Vec::new(), |first| {
            programs::directories(first, &wrapper[1..])
        });
        let own_dirs = programs::directories(program, arguments);
        for dir in wrapped.into_iter().chain(own_dirs) {
            let bases = if moved.is_empty() { &own } else { &moved };
            moved = bases.iter().map(|base| absolute(base, &dir)).collect();
        }
        let shallow = programs::is_shallow(program, arguments);
        let texts_for_people = programs::texts(program, arguments);
        for dirs in [
            Some(own.clone()),
            Some(moved).filter(|dirs| !dirs.is_empty()),
        ] {
            let Some(dirs) = dirs else { continue };
            self.dirs = dirs;
            for (at, form) in forms.iter().enumerate() {
                let is_text = at > start && texts_for_people.contains(&(at - start - 1));
                if is_text || is_script == at.checked_sub(start) && is_script.is_some() {
                    continue;
                }
                self.mention(std::slice::from_ref(form), access, shallow && at > start);
            }
            if let Some(search) = programs::tree_search(program, arguments) {
                self.search(&search, access);
            }
            if programs::changes_tree(program, arguments) {
                self.name_here(Access::Writes);
            }
        }
        self.dirs = own;
        // the text that another program reads may be anything; `cat` and `tee` only write theirs on
        let is_text = ["cat", "tee"].contains(&name) && start == 0 && !command.is_piped;
        for document in documents {
            if !is_text && !programs::is_shell(program) {
                self.code(document, access, ["patch", "git"].contains(&name));
            }
        }
    }

    /// Runs through the texts that a shell, or `eval`, is given. The program is the word at `start`. Returns the place of the
    /// script behind it.
    fn run_scripts(
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
    fn read(&mut self, reader: programs::TextReader, text: &str, depth: usize) {
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
    fn run_processes(&mut self, texts: &[String], words: &[Word], depth: usize) {
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
    fn output(&mut self, script: &str, depth: usize) -> Option<String> {
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
    fn calls(&mut self, text: &str, depth: usize) {
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
    fn pass_code(&mut self, program: &str, words: &[String], depth: usize) {
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
    fn commands_of(&mut self, text: &str, depth: usize) {
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
    fn reader(&mut self, command: &Command) -> Option<programs::TextReader> {
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

    /// The forms that a word stands for.
    fn forms(&mut self, word: &Word, depth: usize) -> Vec<String> {
        let mut forms = vec![String::new()];
        for piece in &word.pieces {
            let parts: Vec<String> = match piece {
                WordPart::Form(form) => vec![form.clone()],
                WordPart::Variable {
                    name,
                    default,
                    quoted,
                } => self.values(name, default.as_deref(), *quoted),
                WordPart::Script(script) => vec![self.substituted(script, depth)],
                WordPart::Process(script) => {
                    self.substituted(script, depth);
                    vec![UNKNOWN.to_string()]
                }
            };
            let joined = forms
                .iter()
                .flat_map(|form| parts.iter().map(move |part| format!("{form}{part}")));
            forms = joined.take(MAX_TEXTS).collect();
        }
        let mut all = Vec::new();
        for form in forms {
            let form = self.at_home(form);
            braces(&form, &mut all);
        }
        all.truncate(MAX_TEXTS);
        all
    }

    /// The values of a variable, as forms.
    fn values(&self, name: &str, default: Option<&str>, quoted: bool) -> Vec<String> {
        let as_is = |value: &String| {
            if quoted {
                literal(&text_of(value))
            } else {
                value.clone()
            }
        };
        if let Some(values) = self.variables.get(name) {
            return values.iter().map(as_is).collect();
        }
        if name == "PWD" {
            return self.dirs.iter().map(|dir| literal(dir)).collect();
        }
        if name == "OLDPWD" && !self.before.is_empty() {
            return self.before.iter().map(|dir| literal(dir)).collect();
        }
        if name == "IFS" {
            return vec![" ".to_owned()];
        }
        let known = self.place.and_then(|place| (place.variable)(name));
        match known.as_deref().or(default) {
            Some(value) => vec![literal(value)],
            None => vec![UNKNOWN.to_string()],
        }
    }

    /// The result of a substitution, where it is known.
    fn substituted(&mut self, script: &str, depth: usize) -> String {
        let words: Vec<&str> = script.split_whitespace().collect();
        let is_text = words
            .first()
            .is_some_and(|first| output::is_printer(first) || first.starts_with("cat"));
        if is_text
            && self.expands_output
            && let Some(text) = self.output(script, depth)
        {
            let dirs = self.dirs.clone();
            self.script(script, depth + 1);
            self.dirs = dirs;
            return literal(text.trim_end_matches('\n'));
        }
        let place = self.place;
        let dir = self.dirs.first().cloned().unwrap_or_default();
        match (&words[..], place) {
            (["pwd", ..], _) => return literal(&dir),
            (["which", program] | ["command" | "type", _, program], _) => return literal(program),
            (["git", "rev-parse", "--show-toplevel"], Some(place)) => return literal(place.root),
            (
                [
                    "realpath" | "readlink" | "echo" | "printf" | "dirname",
                    ..,
                    path,
                ],
                _,
            ) if words.len() < 4 => {
                if depth < MAX_DEPTH {
                    self.script(script, depth + 1);
                }
                let mut known: Vec<String> = Vec::new();
                if let Some(tokens) = tokens(path, 8)
                    && let [Token::Word(word)] = &tokens[..]
                {
                    known = self.forms(word, MAX_DEPTH);
                }
                let known = known.into_iter().next().unwrap_or_default();
                return match words[0] {
                    "dirname" => known
                        .rsplit_once('/')
                        .map_or(".".to_owned(), |(dir, _)| dir.to_owned()),
                    _ => known,
                };
            }
            _ => {}
        }
        if depth < MAX_DEPTH {
            let dirs = self.dirs.clone();
            self.script(script, depth + 1);
            self.dirs = dirs;
        }
        UNKNOWN.to_string()
    }

    /// Expands the home directory at the start of a word.
    fn at_home(&self, form: String) -> String {
        if let Some(rest) = form.strip_prefix("~+")
            && (rest.is_empty() || rest.starts_with('/'))
            && let Some(dir) = self.dirs.first()
        {
            return format!("{}{rest}", literal(dir));
        }
        if let Some(rest) = form.strip_prefix("~-")
            && (rest.is_empty() || rest.starts_with('/'))
            && let Some(dir) = self.before.first()
        {
            return format!("{}{rest}", literal(dir));
        }
        let home = self.place.and_then(|place| (place.variable)("HOME"));
        match (form.strip_prefix('~'), home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                format!("{}{rest}", literal(&home))
            }
            _ => form,
        }
    }

    /// Adds the files that words name.
    fn mention(&mut self, forms: &[(String, bool)], access: Access, shallow: bool) {
        for (form, quoted) in forms {
            self.form(form, access, shallow);
            // code, or a list of words
            let text = text_of(form);
            if *quoted && is_pattern_of_a_program(&text) {
                self.path(&text, access, shallow);
            }
            let is_code = text.contains(|c: char| c.is_whitespace() || "'\"();&|<>`,".contains(c));
            if is_code && (*quoted || text.contains(',')) {
                self.code(&text, access, false);
            }
        }
    }

    /// Adds the paths in a code of any language. `is_patch`: its paths may begin with `a/` and `b/`.
    fn code(&mut self, text: &str, access: Access, is_patch: bool) {
        for part in parts_of_code(text, MAX_PATHS) {
            let part = literal(&part);
            self.form(&part, access, false);
            let stripped = part.strip_prefix("a/").or_else(|| part.strip_prefix("b/"));
            if let Some(stripped) = stripped.filter(|_| is_patch) {
                self.form(stripped, access, false);
            }
        }
    }

    /// Adds the paths that a word may be: as a whole, and the parts after `=`, `@` and around `:`.
    fn form(&mut self, form: &str, access: Access, shallow: bool) {
        if self.place.is_none() {
            return;
        }
        self.path(form, access, shallow);
        // the place of a name in `xargs -I{}` and `find -exec`
        if form.contains("{}") && form.contains('/') {
            self.path(&form.replace("{}", "*"), access, shallow);
        }
        let text = form.strip_prefix("file://").unwrap_or(form);
        if text != form {
            self.path(
                text.strip_prefix("localhost").unwrap_or(text),
                access,
                shallow,
            );
            return;
        }
        // an option with its value in one word: -Isrc/auth
        if let Some(rest) = form.strip_prefix('-')
            && !rest.starts_with('-')
            && form.contains('/')
            && let Some(value) = rest.get(1..)
        {
            self.path(value, access, shallow);
        }
        let is_address = form.contains("://");
        let is_end = |c: char| c == '=' || c == '@' || c == ';' || (c == ':' && !is_address);
        if form.contains(is_end) {
            for part in form.split(is_end) {
                self.path(&self.at_home(part.to_owned()), access, shallow);
            }
            // the rest after each sign as a whole: a path may have the others in it
            let mut rest = form;
            while let Some(at) = rest.find(is_end) {
                rest = &rest[at + 1..];
                self.path(rest, access, shallow);
            }
            // a revision's path begins at the root
            if let (Some((revision, path)), Some(place)) = (form.split_once(':'), self.place) {
                // `:/src` is the root's
                let path = match revision {
                    "" => path.trim_start_matches('/'),
                    _ => path,
                };
                let path = absolute(place.root, &text_of(path));
                self.add(&relative(&path, place.root), access);
            }
        }
    }

    /// Adds a path from each directory in which the command may be.
    fn path(&mut self, form: &str, access: Access, shallow: bool) {
        let Some(place) = self.place else { return };
        let Some(form) = known(form) else { return };
        if form.is_empty() {
            return;
        }
        for dir in self.dirs.clone() {
            let is_pattern = has_wildcard(&form);
            let text = text_of(&form);
            let path = relative(&absolute(&dir, &text), place.root);
            if shallow {
                if path != "." {
                    self.add(&format!("{path}/."), access);
                    if !(place.is_dir)(&absolute(&dir, &text)) {
                        self.add(&path, access);
                    }
                }
            } else {
                self.add(&path, access);
            }
            if is_pattern {
                let base = literal(&dir);
                let path = relative(&absolute(&base, &form), &literal(place.root));
                if !self.found.patterns.contains(&path) && self.found.patterns.len() < MAX_TEXTS {
                    self.note_access(&path, access);
                    self.found.patterns.push(path);
                }
            }
        }
    }

    fn add(&mut self, path: &str, access: Access) {
        self.note_access(path, access);
        if self.found.paths.len() < MAX_PATHS && self.seen.insert(path.to_owned()) {
            self.found.paths.push(path.to_owned());
        }
    }

    fn note_access(&mut self, path: &str, access: Access) {
        if access == Access::Writes {
            self.written.insert(path.to_owned());
        }
    }

    fn name_here(&mut self, access: Access) {
        let Some(place) = self.place else { return };
        for dir in self.dirs.clone() {
            self.add(&relative(&dir, place.root), access);
        }
    }

    /// Adds the files of a search of a tree.
    fn search(&mut self, search: &programs::TreeSearch, access: Access) {
        let Some(place) = self.place.filter(|_| search.is_here) else {
            return;
        };
        let Some(filter) = &search.filter else {
            return self.name_here(access);
        };
        for dir in self.dirs.clone() {
            let dir = relative(&dir, place.root);
            self.found.searched.push(SearchedFiles::of(&dir, filter));
        }
    }
}

impl SearchedFiles {
    /// A search below a directory. A pattern without `/` is one of names at any depth.
    pub fn of(dir: &str, pattern: &str) -> Self {
        let pattern = pattern.trim_start_matches("./");
        let below = match (pattern.contains('/'), pattern.strip_prefix('/')) {
            (_, Some(rest)) => rest.to_owned(),
            (true, None) => pattern.to_owned(),
            (false, None) => format!("**/{pattern}"),
        };
        let glob = match dir {
            "." | "" => below,
            dir => format!("{}/{below}", literal(dir)),
        };
        Self {
            dir: dir.to_owned(),
            glob,
        }
    }
}

/// True for a word with wildcards that a program expands by itself: `prettier '**/*.ts'`. One without `/` may mean any names.
fn is_pattern_of_a_program(text: &str) -> bool {
    let is_of_path = |c: char| c.is_alphanumeric() || "/._-*?[]{},@ ".contains(c);
    text.contains('*') && text.contains('/') && text.chars().all(is_of_path)
}

/// The text of a word without its own meaning.
fn plain(word: &Word) -> Option<&str> {
    match &word.pieces[..] {
        [WordPart::Form(form)] if !word.quoted => Some(form),
        _ => None,
    }
}

/// Groups tokens into commands.
fn nodes(tokens: Vec<Token>) -> Vec<ShellNode> {
    let mut nodes = Vec::new();
    let mut command = Command::default();
    let mut redirected = None;
    let mut is_string = false;
    let end = |command: &mut Command, nodes: &mut Vec<ShellNode>| {
        let done = std::mem::take(command);
        let is_empty = done.words.is_empty()
            && done.redirections.is_empty()
            && done.documents.is_empty()
            && done.strings.is_empty();
        if !is_empty {
            nodes.push(ShellNode::Command(done));
        }
    };
    for token in tokens {
        match token {
            Token::Word(word) => match redirected.take() {
                Some(access) => command.redirections.push((access, word)),
                None if is_string => {
                    is_string = false;
                    command.strings.push(word);
                }
                None => command.words.push(word),
            },
            Token::From => redirected = Some(Access::Reads),
            Token::To => redirected = Some(Access::Writes),
            Token::HereString => is_string = true,
            Token::HereDocument(text) => command.documents.push(text),
            Token::Separator(separator) => {
                command.is_piped = separator == Separator::Pipe;
                end(&mut command, &mut nodes);
                if separator == Separator::Pipe {
                    nodes.push(ShellNode::Pipe);
                }
            }
            Token::Open => {
                end(&mut command, &mut nodes);
                nodes.push(ShellNode::Open);
            }
            Token::Close => {
                end(&mut command, &mut nodes);
                nodes.push(ShellNode::Close);
            }
        }
    }
    end(&mut command, &mut nodes);
    nodes
}

/// The text of a form.
fn text_of(form: &str) -> String {
    let mut text = String::with_capacity(form.len());
    let mut chars = form.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => chars.next().unwrap_or('\\'),
            c => c,
        });
    }
    text
}

/// True if a shell expands a form.
fn has_wildcard(form: &str) -> bool {
    let mut chars = form.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '*' | '?' | '[' => return true,
            _ => {}
        }
    }
    false
}

/// A form whose unknown parts are wildcards. None: nothing of it is known. One that begins with an unknown directory is taken
/// from the present one.
fn known(form: &str) -> Option<String> {
    if !form.contains(UNKNOWN) {
        return Some(form.to_owned());
    }
    let after = form.trim_start_matches(UNKNOWN);
    if after.len() < form.len() {
        let rest = after.strip_prefix('/')?;
        return known(rest).filter(|rest| !rest.is_empty());
    }
    let fixed = &after[..after.find(UNKNOWN).unwrap_or(after.len())];
    if !fixed.contains('/') {
        return None;
    }
    let text: String = after
        .chars()
        .map(|c| if c == UNKNOWN { '*' } else { c })
        .collect();
    Some(text)
}

/// Expands the alternatives in braces.
fn braces(form: &str, into: &mut Vec<String>) {
    if into.len() >= MAX_TEXTS {
        return;
    }
    let Some((before, choices, after)) = first_braces(form) else {
        into.push(form.to_owned());
        return;
    };
    for choice in choices {
        braces(&format!("{before}{choice}{after}"), into);
    }
}

/// The first braces with alternatives: the text before, these, and the text after.
fn first_braces(form: &str) -> Option<(&str, Vec<&str>, &str)> {
    let mut open = None;
    let (mut depth, mut start) = (0_usize, 0);
    let mut choices = Vec::new();
    let mut chars = form.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '{' => {
                if depth == 0 {
                    (open, start) = (Some(at), at + 1);
                    choices.clear();
                }
                depth += 1;
            }
            ',' if depth == 1 => {
                choices.push(&form[start..at]);
                start = at + 1;
            }
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 && !choices.is_empty() {
                    choices.push(&form[start..at]);
                    return Some((&form[..open?], choices, &form[at + 1..]));
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns an absolute path. `.` and `..` are resolved by name.
fn absolute(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { base };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Returns an absolute path relative to the root, or as it is if it is outside.
fn relative(path: &str, root: &str) -> String {
    let of = |path: &str| -> Vec<String> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let (parts, root) = (of(path), of(root));
    if root.starts_with(&parts) {
        return ".".to_owned();
    }
    match parts.strip_prefix(root.as_slice()) {
        Some(below) => below.join("/"),
        None => format!("/{}", parts.join("/")),
    }
}
