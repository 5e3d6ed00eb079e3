//! Linked worktrees of git that a command names. Each is a separate workspace: a command that works in one is a call there, too.
//! One that may remove it takes all that is in it along: its files are recorded here before the command runs.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Capture;
use super::calls::Attribution;
use super::event::{AgentEvent, Effect, EventKind, ToolCall};
use super::named_ignored::named_in;
use super::named_record::{adopt, update_record};
use super::snapshot::keep_ahead;
use super::write_txn::{AFTER, WriteTxn};
use crate::command_words::NamedFiles;
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{Image, RelPath};
use crate::store::tables::root::scan;
use crate::worktree;
use crate::worktree::clean_index::CleanIndex;
use crate::worktree::directories::NotedDirs;
use crate::worktree::disk::{DiskEntry, Root};
use crate::worktree::file_state::{self, FileStates};
use crate::worktree::linked_worktrees::{self, LinkedWorktrees};
use crate::worktree::pending_saves::Pending;
use crate::worktree::scan::{Baseline, Findings};

/// Above this number of files, those of a worktree that git has unchanged are left to git.
const MAX_BACKED: usize = 20_000;

/// The files of a worktree, with paths relative to it.
pub(super) struct WorktreeFiles {
    dir: RelPath,
    findings: Findings,
}

/// The part that a worktree has in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WorktreeRole {
    /// The command works in it.
    Place,
    /// The command may remove it.
    Object,
}

impl Capture<&mut Engine> {
    /// Reads the worktrees that a command may remove, as far as the time of a hook lets it. A failure costs that worktree alone.
    pub(super) fn read_named_worktrees(
        &self,
        e: &AgentEvent,
        call: &ToolCall,
        deadline: Option<Instant>,
    ) -> Vec<WorktreeFiles> {
        let named = self.removable_worktrees(e, call).into_iter();
        named
            .filter_map(|dir| self.read_worktree(dir, deadline).ok())
            .collect()
    }

    /// Forgets the files of the worktrees that a command has left in place: they belong to their own workspaces.
    pub(super) fn forget_worktrees(&mut self, e: &AgentEvent, call: &ToolCall) -> Result<()> {
        let named = self.removable_worktrees(e, call);
        if named.is_empty() {
            return Ok(());
        }
        let root = self.engine.here.root;
        self.engine.store.write(AFTER, |conn| {
            let mut all = named.iter();
            all.try_for_each(|dir| file_state::forget_adopted(conn, root, dir))
        })
    }

    fn read_worktree(&self, dir: RelPath, deadline: Option<Instant>) -> Result<WorktreeFiles> {
        let engine = &*self.engine;
        let sources = std::sync::Arc::clone(&engine.root.sources);
        let root = Root::open(&engine.root.path.join(dir.to_path()), sources)?;
        let known = FileStates::default();
        // contents are read from the repository of the workspace alone
        let common = |dir: &Path| crate::git::common_dir(dir)?.canonicalize().ok();
        let is_shared = common(&root.path).is_some_and(|of| common(&engine.root.path) == Some(of));
        let clean_index = is_shared.then(|| CleanIndex::of(&root.path)).flatten();
        let against = Baseline {
            known: &known,
            pending: &Pending::default(),
            excludes: &root.excludes(),
            others: &[],
            only: None,
            store_contents: true,
            clean_index: clean_index.as_ref(),
            repositories: &[],
            work_trees: &[],
            stale_entries: &rustc_hash::FxHashSet::default(),
            cancel: None,
            usual_dir_mode: None,
        };
        let store = &engine.store;
        let mut findings =
            worktree::scan::scan(&root, &store.dir, &against, deadline, &mut |_| {})?;
        keep_ahead(store, &root, &known, deadline, &mut findings)?;
        if findings.found.len() > MAX_BACKED {
            let is_backed = |image: &Image| matches!(image, Image::InGit { .. });
            findings.found.retain(|found| !is_backed(&found.image));
        }
        Ok(WorktreeFiles { dir, findings })
    }
}

impl<E: Deref<Target = Engine>> Capture<E> {
    /// Returns the worktrees in the root that a command works in, or may change as a whole. Absolute.
    pub fn worktrees_at_work(&self, e: &AgentEvent) -> Vec<PathBuf> {
        let (EventKind::Before(call)
        | EventKind::Announced { call, .. }
        | EventKind::Starts(call)
        | EventKind::After { call, .. }) = &e.kind
        else {
            return Vec::new();
        };
        if !matches!(call.effect, Effect::Any { .. }) {
            return Vec::new();
        }
        let named = self.named_worktrees(e, call).into_iter();
        named
            .map(|(dir, _)| self.engine.root.path.join(dir.to_path()))
            .collect()
    }

    fn removable_worktrees(&self, e: &AgentEvent, call: &ToolCall) -> Vec<RelPath> {
        let named = self.named_worktrees(e, call).into_iter();
        named
            .filter(|(_, part)| *part == WorktreeRole::Object)
            .map(|(dir, _)| dir)
            .collect()
    }

    /// Returns the worktrees in the root that a command names for more than to read from them.
    fn named_worktrees(&self, e: &AgentEvent, call: &ToolCall) -> BTreeMap<RelPath, WorktreeRole> {
        let root = &self.engine.root;
        let mut known = linked_worktrees::of_repository(root);
        // those of other repositories, as the last scan met them; without its list they are found by their names alone
        let (conn, here) = (&self.engine.store.conn, self.engine.here.root);
        let noted = scan::noted_dirs::<NotedDirs>(conn, here).ok().flatten();
        let of_others = noted
            .map_or_else(Vec::new, |noted| noted.worktrees)
            .into_iter();
        let is_there = |dir: &RelPath| root.vcs.is_worktree(&root.path.join(dir.to_path()));
        known.extend(of_others.filter(is_there));
        let mut on_disk = LinkedWorktrees::new(root, Vec::new());
        let mut found = BTreeMap::new();
        let mut note = |dir: RelPath, part: WorktreeRole| {
            let noted = found.entry(dir).or_insert(part);
            *noted = part.max(*noted);
        };
        for (_, named) in named_in(call, &root.path, e.cwd.as_deref()) {
            for (name, enters) in places(&named) {
                if let Some(holder) = RelPath::new(name).and_then(|dir| on_disk.holding(&dir)) {
                    let is_whole = holder.bytes() == name.as_bytes() && !enters;
                    note(
                        holder,
                        if is_whole {
                            WorktreeRole::Object
                        } else {
                            WorktreeRole::Place
                        },
                    );
                }
                let is_below = |path: &&RelPath| name == "." || path.within(name.as_bytes());
                for dir in known.iter().filter(is_below).filter(|_| !enters) {
                    note(dir.clone(), WorktreeRole::Object);
                }
            }
        }
        found
    }
}

/// Returns the places that a command changes or goes into, each with true if it goes into it.
fn places(named: &NamedFiles) -> impl Iterator<Item = (&str, bool)> {
    let changes = |path: &&String| path.ends_with("/.") || !named.only_read.contains(path);
    let names = named.paths.iter().filter(changes);
    let names = names.map(|path| match path.strip_suffix("/.") {
        Some(dir) => (dir, true),
        None => (path.trim_end_matches('/'), false),
    });
    // a shell expands a wildcard to names in the directory before it
    let patterns = named.patterns.iter().filter(changes).map(|pattern| {
        let literal = pattern.split(['*', '?', '[', '{']).next();
        let dir = literal.and_then(|text| text.rsplit_once('/'));
        (dir.map_or(".", |(dir, _)| dir), false)
    });
    let searched = named.searched.iter();
    let searched = searched.map(|search| (search.dir.as_str(), false));
    names.chain(patterns).chain(searched)
}

/// Records the files that `read_named_worktrees` has read.
pub(super) fn record(txn: &WriteTxn<'_>, worktrees: Vec<WorktreeFiles>) -> Result<()> {
    // without a start there is no state that they could return to
    if txn.head()?.is_none() {
        return Ok(());
    }
    for WorktreeFiles { dir, findings } in worktrees {
        let (conn, root) = (txn.conn, txn.here.root);
        // those of an earlier command are of an earlier state
        file_state::forget_adopted(conn, root, &dir)?;
        if let Some(pack) = &findings.pack {
            pack.insert(conn)?;
        }
        for found in findings.found {
            let Some(path) = RelPath::new([dir.bytes(), b"/", found.path.bytes()].concat()) else {
                continue;
            };
            if file_state::row(conn, root, &path)?.is_some() {
                let entry = DiskEntry {
                    image: found.image,
                    stat: found.stat,
                    bytes: found.bytes,
                    is_dir: false,
                };
                update_record(txn, &path, &entry, Attribution::USER, 0)?;
            } else if txn.store_bytes(&path, found.image, found.bytes.as_deref(), None)? {
                adopt(txn, &path, found.image, found.stat)?;
            }
        }
    }
    Ok(())
}
