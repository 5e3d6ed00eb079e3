//! Laws for a rewind, beyond those for every restore.

use backstitch_core::model::{Kind, NodeId, RelPath};
use backstitch_core::restore::{ActionKind, GapKind, OnConflict, Plan, Request};

use super::model::{Files, Sure, Token, Who, tokens_in, unlike};
use super::world::{Checked, World};

impl World {
    /// True if files may block a restore: untracked ones, and those whose state at the node is unknown. Reserved ones
    /// may change at the same time.
    pub(super) fn may_be_in_the_way(&self, files: &Files, node: NodeId) -> bool {
        let stays = |p: &String| !self.seen.contains_key(p) || self.unknown_at(p, node);
        let then = &self.expected[&node];
        // two files were adopted at one path: it is not known which of them was there before
        let unknown = |p: &String| self.unknown_at(p, node);
        let adopted = |path: &String| self.adopted.iter().filter(|(p, _)| p == path).count();
        let twice = |p: &String| adopted(p) > 1 && unknown(p);
        let twice = self.adopted.iter().any(|(p, _)| twice(p));
        is_impossible(then)
            || twice
            || files.keys().any(stays)
            || self.calls.iter().any(|c| c.names.is_some())
    }

    /// True if there is only one agent, and no other writer.
    pub(super) fn is_alone(&self) -> bool {
        !self.mix.user && !self.mix.overlap
    }

    /// L1, L7: tracked files equal the node's tree, but those whose state on another branch is said to be unknown.
    pub(super) fn equals(
        &self,
        what: &str,
        request: &Request,
        plan: &Plan,
        node: NodeId,
        disk: &Files,
    ) -> Checked {
        let elsewhere = self.head()?.is_some_and(|head| !self.stands_on(head, node));
        let said_unknown = |path: &str| {
            let unknown = plan.gaps.iter().filter(|g| g.kind == GapKind::Unknown);
            let mut paths = unknown.filter_map(|gap| gap.path.as_deref());
            paths.any(|gap| gap == path.as_bytes())
        };
        let skipped = |path: &str| {
            plan.actions
                .iter()
                .any(|a| a.kind == ActionKind::Skip && a.path.display() == path)
                || elsewhere && said_unknown(path)
        };
        let counts = |path: &&String| {
            let scope = request.paths.is_empty()
                || RelPath::new(path.as_bytes())
                    .is_some_and(|p| request.paths.iter().any(|s| p.within(s.bytes())));
            scope && !skipped(path) && !self.unknown_at(path, node) && !self.is_held(path)
        };
        let expected: &Files = &self.expected[&node];
        let tracked: Files = disk
            .iter()
            .filter(|(p, _)| counts(p) && (self.seen.contains_key(*p) || expected.contains_key(*p)))
            .map(|(p, e)| (p.clone(), e.clone()))
            .collect();
        let wanted: Files = expected
            .iter()
            .filter(|(p, _)| counts(p))
            .map(|(p, e)| (p.clone(), e.clone()))
            .collect();
        // a file unknown at that node is restored to its earliest known state, and never deleted
        let whole = request.paths.is_empty();
        let one_line = self.branches.len() == 1 && self.other.is_none();
        let later = |(_, since): &&(String, NodeId)| whole && one_line && *since > node;
        for (path, since) in self.adopted.iter().filter(later) {
            let once = self.adopted.iter().filter(|(p, _)| p == path).count() == 1;
            let earliest = self.expected.get(since).and_then(|tree| tree.get(path));
            let alone = !self.squashes.contains(since);
            if once && alone && !skipped(path) && !self.is_held(path) && disk.get(path) != earliest
            {
                let found = disk.get(path);
                return Err(format!(
                    "U-23: {what}: {path}, not known then, was {earliest:?} and is {found:?}"
                ));
            }
        }
        // a file whose place at that node is taken stays where it is under this choice
        let left = plan.actions.iter().any(|a| a.kind == ActionKind::Skip);
        if tracked == wanted || (left && request.on_conflict != OnConflict::Fail) {
            Ok(())
        } else {
            Err(format!("L1/L7: {what}: {:#?}", unlike(&wanted, &tracked)))
        }
    }

    /// Asserts that two states of the disk are equal, except for paths reserved by an open call, which are not
    /// scanned.
    pub(super) fn same(&self, expected: &Files, found: &Files) -> Checked {
        let free = |files: &Files| -> Files {
            let rest = files.iter().filter(|(p, _)| !self.is_held(p));
            rest.map(|(p, e)| (p.clone(), e.clone())).collect()
        };
        let wrong = unlike(&free(expected), &free(found));
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(format!("{wrong:#?}"))
        }
    }

    pub(super) fn is_held(&self, path: &str) -> bool {
        self.is_reserved(path)
    }

    /// Writers whose work a default rewind moves.
    pub(super) fn whose(&self, request: &Request, node: NodeId) -> Checked<Vec<Who>> {
        let entry = self
            .engine
            .history()
            .entry(node)
            .map_err(|e| format!("entry {node}: {e}"))?;
        let of = |native: &str| {
            vec![if native == Who::A.session() {
                Who::A
            } else {
                Who::B
            }]
        };
        Ok(match (&request.session, entry.node.kind, entry.session) {
            (Some(name), ..) => of(name),
            (None, Kind::Turn | Kind::Step, Some(session)) => of(&session.native),
            _ => vec![Who::A, Who::B],
        })
    }

    /// L4: lines of other writers are still there.
    pub(super) fn nobodys_lines_lost(
        &mut self,
        what: &str,
        request: &Request,
        node: NodeId,
        before: &Files,
        after: &Files,
        owned: &[Who],
    ) -> Checked {
        if request.on_conflict == OnConflict::Target || self.mixed {
            return Ok(());
        }
        let (had, has) = (tokens_in(before), tokens_in(after));
        let then = tokens_in(&self.expected[&node]);
        for (line, paths) in &had {
            let Some(token) = self.tokens.get(line) else {
                continue;
            };
            let kept = token.sure == Sure::Yes && !owned.contains(&token.who);
            // an older line may disappear with an edit that is put back
            let newer = token.node.is_some_and(|n| n > node) || then.contains_key(line);
            self.counts.lines_kept += usize::from(kept && newer);
            let out = token.sure == Sure::Yes && owned.contains(&token.who);
            let out = out && token.node.is_some_and(|n| n > node);
            self.counts.lines_gone += usize::from(out && !has.contains_key(line));
            if kept && newer && !has.contains_key(line) {
                return Err(format!(
                    "L4: {what}: {line} ({token:?}) was in {paths:?} and is lost"
                ));
            }
        }
        Ok(())
    }

    /// L4: no line of what is taken out remains without being reported.
    pub(super) fn none_remain(
        &self,
        what: &str,
        request: &Request,
        node: NodeId,
        plan: &Plan,
        after: &Files,
        owned: &[Who],
    ) -> Checked {
        if request.on_conflict != OnConflict::Fail || !request.paths.is_empty() || self.mixed {
            return Ok(());
        }
        for (line, paths) in tokens_in(after) {
            let Some(Token {
                who,
                sure,
                node: Some(at),
                ..
            }) = self.tokens.get(&line).copied()
            else {
                continue;
            };
            let said = plan.gaps.iter().any(|g| {
                g.path
                    .as_ref()
                    .is_some_and(|p| paths.iter().any(|q| q.as_bytes() == p.as_slice()))
            });
            let untracked = paths.iter().all(|p| !self.seen.contains_key(p));
            if sure == Sure::Yes && owned.contains(&who) && at > node && !said && !untracked {
                return Err(format!("L4: {what}: {line} of {at} remains in {paths:?}"));
            }
        }
        Ok(())
    }
}

/// True if a file stands in the place of another one's directory: paths reserved by a call were not scanned then.
pub(super) fn is_impossible(tree: &Files) -> bool {
    tree.keys().any(|p| {
        let mut above = std::path::Path::new(p).ancestors().skip(1);
        above.any(|dir| dir.to_str().is_some_and(|d| tree.contains_key(d)))
    })
}
