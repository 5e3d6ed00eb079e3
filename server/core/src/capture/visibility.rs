//! Visibility of paths to the last scan. Tells files created since then from files that only became
//! visible.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::write_txn::WriteTxn;
use crate::error::Result;
use crate::model::{Reason, RelPath};
use crate::store;
use crate::worktree::file_state;
use crate::worktree::file_state::FileStates;
use crate::worktree::ignore_rules::{Excludes, Rules, was_ignored};
use crate::worktree::scan::Found;

pub(super) struct Visibility<'a> {
    txn: &'a WriteTxn<'a>,
    known: &'a FileStates,
    /// The rules of the last scan, if they have changed.
    old_rules: Option<(Arc<Rules>, Excludes)>,
    unreadable: Vec<Vec<u8>>,
    bare: BTreeSet<Vec<u8>>,
}

impl<'a> Visibility<'a> {
    pub(super) fn new(
        txn: &'a WriteTxn<'a>,
        known: &'a FileStates,
        now: &Excludes,
        found: &[Found],
    ) -> Result<Self> {
        let (coverage, bare): (String, Option<Vec<u8>>) = txn
            .conn
            .prepare_cached("SELECT coverage, bare_dirs FROM root WHERE id = ?1")?
            .query_row([txn.here.root], |r| Ok((r.get(0)?, r.get(1)?)))?;
        let excludes = file_state::excludes(txn.conn, txn.here.root)?.unwrap_or_default();
        let rule_file = |f: &Found| f.path.split().1 == crate::worktree::ignore_rules::FILE;
        let changed = excludes != *now || found.iter().any(rule_file);
        let coverage = file_state::coverage_from(txn.conn, txn.here.root, &coverage)?;
        Ok(Self {
            txn,
            known,
            old_rules: changed.then(|| (Rules::base(&excludes), excludes)),
            unreadable: coverage
                .items
                .into_iter()
                .filter(|i| i.reason == Reason::Unreadable)
                .map(|i| i.path)
                .collect(),
            bare: bare
                .unwrap_or_default()
                .split(|b| *b == 0)
                .map(<[u8]>::to_vec)
                .collect(),
        })
    }

    /// True if the last scan could not have seen this path. Its earlier state is then unknown.
    pub(super) fn was_out_of_sight(&self, path: &RelPath) -> bool {
        if self.unreadable.iter().any(|dir| path.within(dir)) {
            return true;
        }
        let Some((rules, excludes)) = &self.old_rules else {
            return false;
        };
        let (txn, known) = (self.txn, self.known);
        let mut is_damaged = false;
        let mut text = |file: &RelPath| {
            let content = excludes.content_at_scan(file, || known.get(file)?.image.content())?;
            let read = store::get(txn.conn, txn.dir, &content);
            is_damaged |= read.is_err();
            read.ok()
        };
        // rules that cannot be read may have hidden anything
        was_ignored(rules, path, &mut text) || is_damaged
    }

    /// Returns how many directories above a created path are not known to have existed before it.
    pub(super) fn made_dirs(&self, path: &RelPath) -> Result<u32> {
        let mut made = 0;
        let mut dir = path.parent();
        while let Some(at) = dir {
            if self.bare.contains(at.bytes())
                || file_state::directory_known(self.txn.conn, self.txn.here.root, &at)?
            {
                break;
            }
            made += 1;
            dir = at.parent();
        }
        Ok(made)
    }
}
