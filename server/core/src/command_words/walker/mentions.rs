//! Files that a command names: its words, the paths in code, and searches of a tree.

use super::{MAX_PATHS, Walker};
use crate::command_words::forms::{
    MAX_TEXTS, has_wildcard, is_pattern_of_a_program, known, text_of,
};
use crate::command_words::lexer::{literal, parts_of_code};
use crate::command_words::named::SearchedFiles;
use crate::command_words::nodes::{Access, Command};
use crate::command_words::paths::{absolute, relative};
use crate::command_words::programs;

impl Walker<'_> {
    /// Adds the files that the words of a command name.
    pub(super) fn name_files(
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

    /// Adds the files that words name.
    pub(super) fn mention(&mut self, forms: &[(String, bool)], access: Access, shallow: bool) {
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
    pub(super) fn form(&mut self, form: &str, access: Access, shallow: bool) {
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

    pub(in crate::command_words) fn add(&mut self, path: &str, access: Access) {
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
