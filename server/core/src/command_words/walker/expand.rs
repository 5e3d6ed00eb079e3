//! Expansion of words: the forms that variables, substitutions, braces and home directories stand for.

use super::{MAX_DEPTH, Walker};
use crate::command_words::forms::{MAX_TEXTS, UNKNOWN, braces, text_of};
use crate::command_words::lexer::{Token, Word, WordPart, literal, tokens};
use crate::command_words::output;

impl Walker<'_> {
    /// The forms that a word stands for.
    pub(super) fn forms(&mut self, word: &Word, depth: usize) -> Vec<String> {
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

    /// The forms of words, and true for those in quotes. The value of a variable without quotes may be several words.
    pub(super) fn split_forms(&mut self, words: &[Word], depth: usize) -> Vec<(String, bool)> {
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
    pub(super) fn at_home(&self, form: String) -> String {
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
}
