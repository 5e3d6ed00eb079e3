//! Ignored files that a call reads, or that a command names: recorded before the call runs, so that they can come back. No
//! scan finds them, since the ignore rules hide them; once they have a row, each scan checks them.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::Capture;
use super::event::{AgentEvent, ToolCall};
use super::named_record::update_record;
use super::write_txn::WriteTxn;
use crate::control::{CommandPlace, NamedFiles, named_files};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{Image, RelPath};
use crate::system::read_small;
use crate::worktree::disk::{DiskEntry, Root};
use crate::worktree::file_state;
use crate::worktree::ignore_rules::{Rules, was_ignored};

/// Above this size, in bytes, an input is a text to write, and not searched for names.
const MAX_INPUT: usize = 64 << 10;
/// Maximum number of names of one call that are looked at.
const MAX_NAMES: usize = 64;
/// Maximum number of files that one call makes recorded.
const MAX_FILES: usize = 8;

impl Capture<&mut Engine> {
    /// Reads the ignored files that a call names and that are not recorded yet. Costs one `stat` for each name, and a query
    /// for each that is a file.
    pub(super) fn read_named_ignored(
        &self,
        e: &AgentEvent,
        call: &ToolCall,
    ) -> Result<Vec<(RelPath, DiskEntry)>> {
        let mut entries = Vec::new();
        let engine = &*self.engine;
        for path in names(call, &engine.root.path, e.cwd.as_deref()) {
            let is_file = engine.root.is_regular_file(&path);
            let (conn, root) = (&engine.store.conn, engine.here.root);
            if !is_file
                || file_state::row(conn, root, &path)?.is_some()
                || engine.root.vcs_dir(&path).is_some()
                || engine.root.excluding().is_some_and(|all| all.holds(&path))
                || !is_hidden(&engine.root, &path)
            {
                continue;
            }
            let entry = self.disk_entry_stored(&path)?;
            if !matches!(entry.image, Image::Opaque(_)) {
                entries.push((path, entry));
            }
            if entries.len() == MAX_FILES {
                break;
            }
        }
        Ok(entries)
    }
}

/// True if the rules that hold now hide a path.
fn is_hidden(root: &Root, path: &RelPath) -> bool {
    let base = Rules::base(&root.excludes());
    let mut text = |file: &RelPath| read_small(&root.path.join(file.to_path()), false);
    was_ignored(&base, path, &mut text)
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
fn names(call: &ToolCall, root: &Path, cwd: Option<&Path>) -> Vec<RelPath> {
    let mut found = Vec::new();
    for (text, named) in named_in(call, root, cwd) {
        let whole = inside(root, &cwd.unwrap_or(root).join(text));
        let named = named.paths.into_iter().filter_map(RelPath::new);
        for path in whole.into_iter().chain(named) {
            if !found.contains(&path) && found.len() < MAX_NAMES {
                found.push(path);
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
