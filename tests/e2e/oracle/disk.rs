//! Changes by the user and by agents' tools to the files of the workspace.

use std::fs;
use std::path::Path;

use super::model::{Entry, Files, Sure, Token, Who, hides, on_disk};
use super::ops::Edit;
use super::world::{Call, RULES_FILE, World};

impl World {
    pub fn disk(&self) -> Files {
        on_disk(&self.root).0
    }

    /// Writes a file in place, or replaces it by a new one, as tools do either.
    pub(super) fn write(&mut self, path: &str, bytes: &[u8]) {
        let full = self.root.join(path);
        if let Some(dir) = full.parent() {
            fs::create_dir_all(dir).expect("directories");
        }
        self.counter += 1;
        if self.counter.is_multiple_of(3) {
            let mode = fs::metadata(&full).map(|m| m.permissions());
            let beside = self.root.with_file_name("beside");
            fs::write(&beside, bytes).expect("a file beside");
            if let Ok(mode) = mode {
                fs::set_permissions(&beside, mode).expect("its mode");
            }
            fs::rename(&beside, &full).expect("a rename");
        } else {
            fs::write(&full, bytes).expect("a write");
        }
    }

    /// Gives the known files these states, as git does with a checkout. The ignore rules stay, and so do files in the way.
    pub(super) fn check_out(&mut self, files: &Files) {
        let now = self.disk();
        let known = |path: &&String| self.seen.contains_key(*path) && *path != RULES_FILE;
        for path in now.keys().filter(known) {
            if files.get(path) == now.get(path) {
                continue;
            }
            fs::remove_file(self.root.join(path)).expect("a removal");
            let mut dirs = Path::new(path).ancestors().skip(1);
            // a directory with other files stays
            while let Some(dir) = dirs.next().filter(|dir| dir.parent().is_some()) {
                if fs::remove_dir(self.root.join(dir)).is_err() {
                    break;
                }
            }
        }
        let left = self.disk();
        let is_hidden =
            |path: &String| !self.seen.contains_key(path) && hides(left.get(RULES_FILE), path);
        let seen: Vec<_> = files.iter().filter(|(path, _)| !is_hidden(path)).collect();
        for (path, entry) in seen {
            let full = self.root.join(path);
            if left.contains_key(path) || path == RULES_FILE || !self.is_free(path, &left) {
                continue;
            }
            match entry {
                Entry::File { mode, bytes } => {
                    use std::os::unix::fs::PermissionsExt as _;
                    self.write(path, bytes);
                    fs::set_permissions(&full, fs::Permissions::from_mode(*mode)).expect("a mode");
                }
                Entry::Link { target } => {
                    use std::os::unix::ffi::OsStrExt as _;
                    if let Some(dir) = full.parent() {
                        fs::create_dir_all(dir).expect("directories");
                    }
                    let target = std::ffi::OsStr::from_bytes(target);
                    std::os::unix::fs::symlink(target, &full).expect("a link");
                }
            }
        }
    }

    /// True if a file can be created at this path: no file or link is in the place of one of its directories.
    fn is_free(&self, path: &str, files: &Files) -> bool {
        let mut above = Path::new(path).ancestors().skip(1);
        !above.any(|dir| dir.to_str().is_some_and(|d| files.contains_key(d)))
            && !self.root.join(path).is_dir()
    }

    pub(super) fn lines(
        &mut self,
        who: Who,
        call: Option<&Call>,
        path: &str,
        count: u8,
        salt: u8,
    ) -> Vec<String> {
        (0..count)
            .map(|at| {
                self.counter += 1;
                if self.alike {
                    return ["}\n", "\n", "x\n"][(usize::from(salt ^ at) + self.counter) % 3]
                        .to_owned();
                }
                let token = format!("{}{}", who.letter(), self.counter);
                let sure = self.sureness(who, call, path);
                self.tokens.insert(
                    token.clone(),
                    Token {
                        who,
                        sure,
                        node: None,
                        early: false,
                    },
                );
                token + "\n"
            })
            .collect()
    }

    /// Certainty with which the engine must know the current writer.
    fn sureness(&self, who: Who, call: Option<&Call>, path: &str) -> Sure {
        let own = call.map(|c| c.number);
        let others = self.calls.iter().any(|c| {
            Some(c.number) != own && (c.names.is_none() || c.reserved.iter().any(|p| p == path))
        });
        match (call, who) {
            _ if others || !self.background.is_empty() => Sure::No,
            (Some(call), _) => Sure::When(call.number),
            (None, _) => Sure::Yes,
        }
    }

    /// Path that an edit changes, given these files.
    pub(super) fn subject(&self, edit: &Edit, files: &Files) -> Option<String> {
        let nth = |n: u8, of: Vec<&String>| {
            (!of.is_empty()).then(|| of[usize::from(n) % of.len()].clone())
        };
        let own = |p: &&String| p.as_str() != RULES_FILE;
        match edit {
            Edit::Insert { file, .. }
            | Edit::Delete { file, .. }
            | Edit::Replace { file, .. }
            | Edit::FinalNewline { file } => nth(
                *file,
                files
                    .iter()
                    .filter(|(_, e)| e.text().is_some())
                    .map(|(p, _)| p)
                    .filter(own)
                    .collect(),
            ),
            Edit::Remove { file }
            | Edit::Rename { file, .. }
            | Edit::Replaced { file, .. }
            | Edit::Copy { file, .. } => nth(*file, files.keys().filter(own).collect()),
            Edit::Chmod { file, .. } => nth(
                *file,
                files
                    .iter()
                    .filter(|(_, e)| matches!(e, Entry::File { .. }))
                    .map(|(p, _)| p)
                    .collect(),
            ),
            Edit::Create { path, .. } | Edit::Binary { path } | Edit::Link { path, .. } => {
                let path = super::ops::PATHS[usize::from(*path) % super::ops::PATHS.len()];
                let link = matches!(files.get(path), Some(Entry::Link { .. }));
                (self.is_free(path, files) && (!link || matches!(edit, Edit::Link { .. })))
                    .then(|| path.to_owned())
            }
            Edit::Rules { .. } => Some(RULES_FILE.to_owned()),
        }
    }

    /// Applies an edit to the disk.
    pub(super) fn edit(&mut self, edit: &Edit, who: Who, call: Option<&Call>) {
        let files = self.disk();
        let Some(path) = self.subject(edit, &files) else {
            return;
        };
        let full = self.root.join(&path);
        let text = files.get(&path).and_then(Entry::text).unwrap_or_default();
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        match edit {
            Edit::Insert { at, lines: n, .. } => {
                let at = usize::from(*at) % (lines.len() + 1);
                if at == lines.len()
                    && let Some(last) = lines.last_mut()
                    && !last.ends_with('\n')
                {
                    last.push('\n');
                }
                let new = self.lines(who, call, &path, *n, *n);
                lines.splice(at..at, new);
                self.write(&path, lines.concat().as_bytes());
            }
            Edit::Delete { at, lines: n, .. } | Edit::Replace { at, lines: n, .. } => {
                let at = usize::from(*at) % (lines.len() + 1);
                let end = (at + usize::from(*n)).min(lines.len());
                let new = if matches!(edit, Edit::Replace { .. }) {
                    self.lines(who, call, &path, *n, *n)
                } else {
                    Vec::new()
                };
                if at == lines.len()
                    && !new.is_empty()
                    && let Some(last) = lines.last_mut()
                    && !last.ends_with('\n')
                {
                    last.push('\n');
                }
                lines.splice(at..end, new);
                self.write(&path, lines.concat().as_bytes());
            }
            Edit::Create { lines: n, .. } => {
                let new = self.lines(who, call, &path, *n, *n);
                self.write(&path, new.concat().as_bytes());
            }
            Edit::Binary { .. } => {
                self.counter += 1;
                self.write(
                    &path,
                    format!("\0{}\n{}", self.counter, who.letter()).as_bytes(),
                );
            }
            Edit::Remove { .. } => {
                fs::remove_file(&full).expect("a removal");
                self.counter += 1;
                if self.counter.is_multiple_of(2) {
                    // as rm -r does; a directory that is not empty stays
                    for dir in full.ancestors().skip(1).take_while(|d| *d != self.root) {
                        fs::remove_dir(dir).ok();
                    }
                }
            }
            Edit::Rename { to, .. } => {
                let to = super::ops::PATHS[usize::from(*to) % super::ops::PATHS.len()];
                let target = self.root.join(to);
                if to == path || !self.is_free(to, &files) || target.starts_with(&full) {
                    return;
                }
                if let Some(dir) = target.parent() {
                    fs::create_dir_all(dir).expect("directories");
                }
                fs::rename(&full, &target).expect("a rename");
                // a line that the engine has not recorded yet counts as the mover's; where another call has announced
                // a write, every line may be that call's
                let own = call.map_or(Sure::Yes, |c| Sure::When(c.number));
                let announced = self.calls.iter().any(|c| {
                    call.is_none_or(|own| own.number != c.number)
                        && c.reserved.iter().any(|p| p == to)
                });
                // where an open call names the moved file, its end at this path may be that call's and its start at
                // the other the mover's: then the move is not followed, and the mover gets the lines
                let held = self.calls.iter().any(|c| {
                    call.is_none_or(|own| own.number != c.number) && c.reserved.contains(&path)
                });
                for line in text.lines() {
                    if let Some(token) = self.tokens.get_mut(line) {
                        token.early |= held;
                    }
                    if let Some(token) = self.tokens.get_mut(line)
                        && (announced
                            || held && token.who != who
                            || token.node.is_none() && (token.sure != own || token.who != who))
                    {
                        token.sure = Sure::No;
                    }
                }
            }
            Edit::Replaced { to, .. } | Edit::Copy { to, .. } => {
                let to = super::ops::PATHS[usize::from(*to) % super::ops::PATHS.len()];
                let target = self.root.join(to);
                let link = |p: &str| matches!(files.get(p), Some(Entry::Link { .. }));
                let regular = !link(&path) && !link(to);
                let free = self.is_free(to, &files) && !target.starts_with(&full);
                if to == path || !regular || !free {
                    return;
                }
                if let Some(dir) = target.parent() {
                    fs::create_dir_all(dir).expect("directories");
                }
                if matches!(edit, Edit::Replaced { .. }) {
                    fs::rename(&full, &target).expect("a rename");
                    fs::copy(&target, &full).expect("a copy");
                } else {
                    fs::copy(&full, &target).expect("a copy");
                }
                // from now on nobody can say which of the two a line is of
                for line in text.lines() {
                    if let Some(token) = self.tokens.get_mut(line) {
                        token.sure = Sure::No;
                    }
                }
            }
            Edit::Chmod { executable, .. } => {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = if *executable { 0o755 } else { 0o644 };
                fs::set_permissions(&full, fs::Permissions::from_mode(mode)).expect("a mode");
            }
            Edit::Link { target, .. } => {
                if full.symlink_metadata().is_ok() {
                    fs::remove_file(&full).expect("a removal");
                }
                if let Some(dir) = full.parent() {
                    fs::create_dir_all(dir).expect("directories");
                }
                let target = ["a.txt", "nowhere", "../outside", "gen"][usize::from(*target) % 4];
                std::os::unix::fs::symlink(target, &full).expect("a link");
            }
            Edit::FinalNewline { .. } => {
                let text = match text.strip_suffix('\n') {
                    Some(bare) => bare.to_owned(),
                    None => format!("{text}\n"),
                };
                self.write(&path, text.as_bytes());
            }
            Edit::Rules { rules } => {
                let text = super::ops::RULES[usize::from(*rules) % super::ops::RULES.len()];
                self.write(&path, text.as_bytes());
            }
        }
    }

    /// Paths that a tool may write when it names this path: itself and, for a link, its target.
    pub(super) fn leads_to(&self, path: &str) -> Vec<String> {
        let end = self.root.join(path).canonicalize().ok();
        let end = end.and_then(|e| Some(e.strip_prefix(&self.root).ok()?.to_str()?.to_owned()));
        let other = end.filter(|e| e != path && !e.is_empty());
        [path.to_owned()].into_iter().chain(other).collect()
    }
}
