//! Linked worktrees of git that a command may remove. Each is a workspace of its own, and goes with all that is in it: its files
//! are recorded here before the command runs, as its removal is the work of a call here.

use std::time::Instant;

use super::Capture;
use super::calls::Attribution;
use super::event::{AgentEvent, ToolCall};
use super::named_ignored::named_in;
use super::named_record::{adopt, update_record};
use super::snapshot::keep_ahead;
use super::write_txn::{AFTER, WriteTxn};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{Image, RelPath};
use crate::places::is_linked_worktree;
use crate::worktree::clean_index::CleanIndex;
use crate::worktree::disk::{DiskEntry, Root};
use crate::worktree::file_state::{self, FileStates};
use crate::worktree::linked_worktrees;
use crate::worktree::pending_saves::Pending;
use crate::worktree::scan::{Baseline, Findings, scan};

/// Above this number of files, those of a worktree that git has unchanged are left to git.
const MAX_BACKED: usize = 20_000;

/// The files of a worktree, with paths relative to it.
pub(super) struct WorktreeFiles {
    dir: RelPath,
    findings: Findings,
}

impl Capture<&mut Engine> {
    /// Reads the worktrees that a command may remove, as far as the time of a hook lets it.
    pub(super) fn read_named_worktrees(
        &self,
        e: &AgentEvent,
        call: &ToolCall,
        deadline: Option<Instant>,
    ) -> Result<Vec<WorktreeFiles>> {
        let named = self.named_worktrees(e, call).into_iter();
        named.map(|dir| self.read_worktree(dir, deadline)).collect()
    }

    /// Forgets the files of the worktrees that a command has left in place: they belong to workspaces of their own.
    pub(super) fn forget_worktrees(&mut self, e: &AgentEvent, call: &ToolCall) -> Result<()> {
        let named = self.named_worktrees(e, call);
        if named.is_empty() {
            return Ok(());
        }
        let root = self.engine.here.root;
        self.engine.store.write(AFTER, |conn| {
            let mut all = named.iter();
            all.try_for_each(|dir| file_state::forget_adopted(conn, root, dir))
        })
    }

    /// Returns the worktrees in the root that a command names, or that are below a directory that it names, for more than to
    /// read from them.
    fn named_worktrees(&self, e: &AgentEvent, call: &ToolCall) -> Vec<RelPath> {
        let root = &self.engine.root;
        let known = linked_worktrees::of_repository(root);
        let mut found = Vec::new();
        for (_, named) in named_in(call, &root.path, e.cwd.as_deref()) {
            let written = |path: &&String| !path.ends_with("/.") && !named.only_read.contains(path);
            let names = named.paths.iter().filter(written).map(String::as_str);
            // a shell expands a wildcard to names in the directory before it
            let patterns = named.patterns.iter().filter(written);
            let above = patterns.map(|pattern| {
                let literal = pattern.split(['*', '?', '[', '{']).next();
                let dir = literal.and_then(|text| text.rsplit_once('/'));
                dir.map_or(".", |(dir, _)| dir)
            });
            let searched = named.searched.iter().map(|search| search.dir.as_str());
            for dir in names.chain(above).chain(searched) {
                let dir = dir.trim_end_matches('/');
                let is_below = |path: &&RelPath| dir == "." || path.within(dir.as_bytes());
                found.extend(known.iter().filter(is_below).cloned());
                let own = RelPath::new(dir.as_bytes());
                found.extend(own.filter(|dir| is_linked_worktree(&root.path.join(dir.to_path()))));
            }
        }
        found.sort();
        found.dedup();
        found
    }

    fn read_worktree(&self, dir: RelPath, deadline: Option<Instant>) -> Result<WorktreeFiles> {
        let engine = &*self.engine;
        let sources = std::sync::Arc::clone(&engine.root.sources);
        let root = Root::open(&engine.root.path.join(dir.to_path()), sources)?;
        let known = FileStates::default();
        let clean_index = CleanIndex::of(&root.path);
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
        let mut findings = scan(&root, &store.dir, &against, deadline, &mut |_| {})?;
        keep_ahead(store, &root, &known, deadline, &mut findings)?;
        if findings.found.len() > MAX_BACKED {
            let is_backed = |image: &Image| matches!(image, Image::InGit { .. });
            findings.found.retain(|found| !is_backed(&found.image));
        }
        Ok(WorktreeFiles { dir, findings })
    }
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
