//! Ignored files that a call reads, or that a command names: recorded before the call runs, so that they can come back. No
//! scan finds them, since the ignore rules hide them; once they have a row, each scan checks them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;
use serde_json::Value;

use super::Capture;
use super::event::{AgentEvent, ToolCall};
use super::named_record::update_record;
use super::write_txn::WriteTxn;
use crate::command_words::{CommandPlace, NamedFiles, named_files};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{Image, RelPath};
use crate::system::read_small;
use crate::worktree::disk::{DirListing, DiskEntry, Root};
use crate::worktree::file_state;
use crate::worktree::ignore_rules::{Rules, was_ignored};

/// Above this size, in bytes, an input is a text to write, and not searched for names.
const MAX_INPUT: usize = 64 << 10;
/// Maximum number of names of one call that are looked at.
const MAX_NAMES: usize = 64;
/// Maximum number of files that one call makes recorded by their own names.
const MAX_FILES: usize = 8;
/// Maximum number of ignored files in a named directory. One with more is the output of some program.
const MAX_BELOW: usize = 64;
/// Maximum number of entries that are looked at in the named directories of a call.
const MAX_ENTRIES: usize = 2000;

impl Capture<&mut Engine> {
    /// Reads the ignored files that a call names and that are not recorded yet. Costs one `stat` for each name, and a query
    /// for each that is a file.
    pub(super) fn read_named_ignored(
        &self,
        e: &AgentEvent,
        call: &ToolCall,
    ) -> Result<Vec<(RelPath, DiskEntry)>> {
        let mut entries = Vec::new();
        let root = &self.engine.root;
        let mut hidden = HiddenPaths::new(root);
        let (mut files, mut left) = (0, MAX_ENTRIES);
        for name in names(call, &root.path, e.cwd.as_deref()) {
            let path = name.path;
            if root.is_regular_file(&path) {
                if files < MAX_FILES
                    && let Some(entry) = self.new_entry(&path, &mut hidden)?
                {
                    files += 1;
                    entries.push((path, entry));
                }
            } else if name.is_changed && root.is_dir(path.bytes()) {
                for file in files_below(root, &path, &mut hidden, &mut left) {
                    if let Some(entry) = self.new_entry(&file, &mut hidden)? {
                        entries.push((file, entry));
                    }
                }
            }
        }
        let mut matched: Vec<RelPath> = Vec::new();
        for pattern in patterns(call, &root.path, e.cwd.as_deref()) {
            for path in expanded(root, &pattern, &mut left) {
                if root.is_dir(path.bytes()) {
                    matched.extend(files_below(root, &path, &mut hidden, &mut left));
                } else if root.is_regular_file(&path) {
                    matched.push(path);
                }
            }
        }
        for file in matched {
            // more are the output of some program
            if entries.len() < MAX_BELOW
                && let Some(entry) = self.new_entry(&file, &mut hidden)?
            {
                entries.push((file, entry));
            }
        }
        Ok(entries)
    }

    /// Reads an ignored file that is not recorded yet.
    fn new_entry(&self, path: &RelPath, hidden: &mut HiddenPaths<'_>) -> Result<Option<DiskEntry>> {
        let engine = &*self.engine;
        let (conn, root) = (&engine.store.conn, engine.here.root);
        if file_state::row(conn, root, path)?.is_some()
            || engine.root.vcs_dir(path).is_some()
            || engine.root.excluding().is_some_and(|all| all.holds(path))
            || !hidden.has(path)
        {
            return Ok(None);
        }
        let entry = self.disk_entry_stored(path)?;
        Ok(Some(entry).filter(|entry| !matches!(entry.image, Image::Opaque(_))))
    }
}

/// Answers if the rules that hold now hide a path.
struct HiddenPaths<'a> {
    root: &'a Root,
    base: Arc<Rules>,
    /// The files of rules that have been read.
    read: HashMap<RelPath, Option<Vec<u8>>>,
}

impl<'a> HiddenPaths<'a> {
    fn new(root: &'a Root) -> Self {
        Self {
            root,
            base: Rules::base(&root.excludes()),
            read: HashMap::new(),
        }
    }

    fn has(&mut self, path: &RelPath) -> bool {
        let (root, read) = (self.root, &mut self.read);
        let mut text = |file: &RelPath| {
            let text = || read_small(&root.path.join(file.to_path()), false);
            read.entry(file.clone()).or_insert_with(text).clone()
        };
        was_ignored(&self.base, path, &mut text)
    }
}

/// Returns the ignored files in a directory, at any depth. None, if there are too many. `left`: the number of entries that may
/// still be looked at.
fn files_below(
    root: &Root,
    dir: &RelPath,
    hidden: &mut HiddenPaths<'_>,
    left: &mut usize,
) -> Vec<RelPath> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.clone()];
    while let Some(dir) = dirs.pop() {
        let full = root.path.join(dir.to_path());
        // a worktree is a separate workspace
        let is_apart = root.vcs.is_worktree(&full);
        let listed = (!is_apart).then(|| DirListing::read(&full, root.vcs));
        let Some(Ok(listed)) = listed else {
            continue;
        };
        for (name, kind) in &listed.entries {
            let Some(path) = RelPath::new([dir.bytes(), b"/", name].concat()) else {
                continue;
            };
            if *left == 0 || found.len() > MAX_BELOW {
                return Vec::new();
            }
            *left -= 1;
            match kind {
                FileType::Directory if !root.vcs.is_entry(name, *kind) => dirs.push(path),
                FileType::RegularFile if hidden.has(&path) => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// Returns the words with wildcards of commands in an input that may change the files which they match.
fn patterns(call: &ToolCall, root: &Path, cwd: Option<&Path>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, named) in named_in(call, root, cwd) {
        let changed = named.patterns.into_iter();
        let changed = changed.filter(|pattern| !named.only_read.contains(pattern));
        found.extend(changed.take(MAX_NAMES.saturating_sub(found.len())));
    }
    found
}

/// Returns the paths that a word with wildcards matches now, as a shell expands it. `**` stands for everything below its
/// directory. `left`: the number of entries that may still be looked at.
fn expanded(root: &Root, pattern: &str, left: &mut usize) -> Vec<RelPath> {
    let mut paths: Vec<Vec<u8>> = vec![Vec::new()];
    for part in pattern
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
    {
        if part == "**" {
            break;
        }
        let glob = part.contains(['*', '?', '[', '{']).then(|| {
            let glob = globset::GlobBuilder::new(part)
                .literal_separator(true)
                .build();
            glob.map(|glob| glob.compile_matcher())
        });
        let Ok(glob) = glob.transpose() else {
            return Vec::new();
        };
        let mut next = Vec::new();
        for path in paths {
            let join = |name: &[u8]| match &*path {
                [] => name.to_vec(),
                path => [path, b"/", name].concat(),
            };
            let Some(glob) = &glob else {
                next.push(join(part.as_bytes()));
                continue;
            };
            let dir = root.path.join(OsStr::from_bytes(&path));
            let Ok(listed) = DirListing::read(&dir, root.vcs) else {
                continue;
            };
            for (name, _) in &listed.entries {
                if *left == 0 {
                    return Vec::new();
                }
                *left -= 1;
                if glob.is_match(OsStr::from_bytes(name)) {
                    next.push(join(name));
                }
            }
        }
        paths = next;
    }
    let paths = paths.iter().filter_map(|path| RelPath::new(&**path));
    // one that names all of the workspace is left to the directories that it names
    paths.filter(|path| !path.bytes().is_empty()).collect()
}

/// A path that a call names.
struct MentionedPath {
    path: RelPath,
    /// True if the call may change it.
    is_changed: bool,
}

/// Records the files that `read_named_ignored` has read.
pub(super) fn record(txn: &WriteTxn<'_>, entries: &[(RelPath, DiskEntry)]) -> Result<()> {
    // without a start there is no state that they could return to
    if txn.head()?.is_none() {
        return Ok(());
    }
    for (path, entry) in entries {
        update_record(txn, path, entry, super::calls::Attribution::USER, 0)?;
    }
    Ok(())
}

/// Returns the paths in the root that the texts of an input name: each as a path, and as a command.
fn names(call: &ToolCall, root: &Path, cwd: Option<&Path>) -> Vec<MentionedPath> {
    let mut found: Vec<MentionedPath> = Vec::new();
    for (text, named) in named_in(call, root, cwd) {
        let whole = inside(root, &cwd.unwrap_or(root).join(text));
        let whole = whole.map(|path| (path, true));
        let named_paths = named.paths.iter().filter_map(|text| {
            let is_changed = !named.only_read.contains(text);
            Some((RelPath::new(text.as_bytes())?, is_changed))
        });
        for (path, is_changed) in whole.into_iter().chain(named_paths) {
            if found.iter().all(|known| known.path != path) && found.len() < MAX_NAMES {
                found.push(MentionedPath { path, is_changed });
            }
        }
    }
    found
}

/// Returns the texts of an input, each with the files that it names as a command.
pub(super) fn named_in(
    call: &ToolCall,
    root: &Path,
    cwd: Option<&Path>,
) -> Vec<(String, NamedFiles)> {
    if call.input.is_empty() || call.input.len() > MAX_INPUT {
        return Vec::new();
    }
    let Ok(input) = serde_json::from_slice::<Value>(&call.input) else {
        return Vec::new();
    };
    let cwd = cwd.unwrap_or(root);
    let (root_text, cwd_text) = (root.to_string_lossy(), cwd.to_string_lossy());
    let place = CommandPlace {
        root: &root_text,
        cwd: &cwd_text,
        variable: &|name| std::env::var(name).ok(),
        is_dir: &|path| Path::new(path).is_dir(),
    };
    let mut values = vec![input];
    let mut found = Vec::new();
    while let Some(value) = values.pop() {
        match value {
            Value::String(text) => {
                let named = named_files(&text, place);
                found.push((text, named));
            }
            Value::Array(all) => values.extend(all),
            Value::Object(fields) => values.extend(fields.into_iter().map(|(_, value)| value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

/// Returns a path relative to the root, by its names alone. None: it is outside.
fn inside(root: &Path, path: &Path) -> Option<RelPath> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    RelPath::from_path(plain.strip_prefix(root).ok()?)
}
