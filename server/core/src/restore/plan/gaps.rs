//! Gaps of a plan: what the checkpoints did not capture, what is not known, and where git is now.

use std::collections::BTreeSet;

use super::builder::PlanBuilder;
use crate::error::Result;
use crate::git;
use crate::history::{self, Ancestry, OpKind};
use crate::model::{CoverageItem, GitHead, Image, Node, NodeId, Reason, RelPath};
use crate::restore::not_captured::IN_ITS_PLACE;
use crate::restore::types::{COME_BACK, Gap, GapKind, Goal};
use crate::shell_word::shell_word;
use crate::store::tables::root;
use crate::worktree::file_state;

/// Maximum number of newly captured files that a plan names one by one.
const MAX_NAMED_FILES: usize = 50;

impl PlanBuilder<'_> {
    /// Adds the gaps of the plan that are not about its conflicts. `target`: the checkpoint that it goes to.
    pub(super) fn gaps(&mut self, ancestry: &Ancestry<'_>, target: Option<NodeId>) -> Result<()> {
        self.note_links_and_owners();
        let Some(target) = target else {
            return Ok(());
        };
        self.note_coverage(ancestry, target)?;
        self.note_git_head(target)?;
        if matches!(self.r.goal, Goal::Rewind(_)) {
            self.note_unknown_files(ancestry, target)?;
            self.note_unreadable_files()?;
        }
        self.drop_what_unknown_says();
        Ok(())
    }

    /// Adds gaps for files with other hard links, and for owners and attributes that do not come along.
    fn note_links_and_owners(&mut self) {
        for part in &self.plan.files {
            let Some(at) = part.before.as_ref().filter(|_| part.before != part.after) else {
                continue;
            };
            if matches!(at.image, Image::File { .. }) && self.engine.root.links(&at.path) > 1 {
                self.plan.gaps.push(Gap {
                    path: Some(at.path.bytes().to_vec()),
                    kind: GapKind::HardLink,
                    detail: "it has other hard links, which keep its current content".into(),
                });
            }
            let moves = part.after.as_ref().is_some_and(|to| to.path != at.path);
            let gap = if moves {
                self.engine.root.left_behind(&at.path)
            } else {
                self.engine.root.unowned(&at.path)
            };
            self.plan.gaps.extend(gap.map(|detail| Gap {
                path: Some(at.path.bytes().to_vec()),
                kind: GapKind::Attributes,
                detail,
            }));
        }
    }

    /// Adds the coverage of the checkpoints after the target as gaps. The target's own counts if its scan has failed, or still
    /// runs.
    fn note_coverage(&mut self, ancestry: &Ancestry<'_>, target: NodeId) -> Result<()> {
        let conn = &self.engine.store.conn;
        let common = ancestry.common(target, self.head)?;
        let late = |n: &Node| n.coverage.pending || n.coverage.count(Reason::Failed) > 0;
        let here = Some(target).filter(|t| history::node(conn, *t).is_ok_and(|n| late(&n)));
        for id in ancestry.after(common, self.head)?.into_iter().chain(here) {
            let node = history::node(conn, id)?;
            if node.coverage.pending {
                self.plan.gaps.push(Gap {
                    path: None,
                    kind: GapKind::Pending,
                    detail: format!("the scan of {id} is still running"),
                });
            }
            for item in &node.coverage.items {
                self.note_not_covered(id, item);
            }
        }
        Ok(())
    }

    /// Adds a path that a checkpoint could not capture.
    fn note_not_covered(&mut self, node: NodeId, item: &CoverageItem) {
        // a large file that did not change is not a gap
        if item.detail.is_empty() && item.reason != Reason::Failed {
            return;
        }
        let kind = GapKind::from(item.reason);
        let path = (kind != GapKind::Failed).then(|| item.path.clone());
        let is_same = |gap: &Gap| {
            gap.path == path && gap.kind == kind && (path.is_some() || gap.detail == item.detail)
        };
        if self.plan.gaps.iter().any(is_same) {
            return;
        }
        let detail = if path.is_some() {
            format!("not captured in {node}: {}", item.detail)
        } else {
            item.detail.clone()
        };
        self.plan.gaps.push(Gap { path, kind, detail });
    }

    /// Adds a gap if git's HEAD or branch has moved since the target.
    fn note_git_head(&mut self, target: NodeId) -> Result<()> {
        let conn = &self.engine.store.conn;
        let git_then = history::node(conn, target)?.git;
        let git_now = git::head(&self.engine.root.path);
        // a forked directory has no git repository by design
        let in_fork = git_now == GitHead::default()
            && history::root_of(conn, target)? != self.engine.here.root;
        if git_then != git_now && (git_then.head.is_some() || git_then.branch.is_some()) && !in_fork
        {
            self.plan.gaps.push(Gap {
                path: None,
                kind: GapKind::GitHead,
                detail: "git's HEAD or branch has moved since; git itself is not rewound".into(),
            });
            self.plan.git_moved = Some((git_then, git_now));
        }
        Ok(())
    }

    /// Removes gaps of ignored files that are recorded by now: that their earlier state is unknown says it already.
    fn drop_what_unknown_says(&mut self) {
        let of_kind = |kind: GapKind| move |gap: &&Gap| gap.kind == kind;
        let unknown = self.plan.gaps.iter().filter(of_kind(GapKind::Unknown));
        let unknown: BTreeSet<Vec<u8>> = unknown.filter_map(|gap| gap.path.clone()).collect();
        let is_said = |gap: &Gap| gap.path.as_ref().is_some_and(|path| unknown.contains(path));
        let gaps = &mut self.plan.gaps;
        gaps.retain(|gap| gap.kind != GapKind::Ignored || !is_said(gap));
    }

    /// Says where the work is, if there is nothing to rewind since git is on another branch.
    pub(super) fn note_git_branch(&mut self) {
        let Some((then, now)) = &self.plan.git_moved else {
            return;
        };
        let (Some(then), Some(now)) = (&then.branch, &now.branch) else {
            return;
        };
        let takes_edits = self.plan.files.iter().any(|f| !f.taken_out.is_empty());
        let is_empty = self.plan.is_empty() && self.plan.conflicts.is_empty();
        if then != now && is_empty && takes_edits && self.plan.kind == OpKind::Rewind {
            self.plan.nothing = Some(format!(
                "git is on branch {now}, and the work was done on {then}; run `git switch {}` first to rewind it",
                shell_word(then)
            ));
        }
    }

    /// Adds gaps for files first captured after the target: their state at the target is unknown.
    fn note_unknown_files(&mut self, ancestry: &Ancestry<'_>, target: NodeId) -> Result<()> {
        let all = file_state::adopted_unchanged(&self.engine.store.conn, self.engine.here.root)?;
        let mut unknown = BTreeSet::new();
        for (path, since) in all {
            if !ancestry.is_ancestor(since, target)? && self.is_in_scope(&path) {
                unknown.insert(path);
            }
        }
        let more = unknown.len().saturating_sub(MAX_NAMED_FILES);
        for path in unknown.into_iter().take(MAX_NAMED_FILES) {
            self.plan.gaps.push(Gap {
                path: Some(path.bytes().to_vec()),
                kind: GapKind::Unknown,
                detail: format!("its state at {target} is not known; it stays as it is"),
            });
        }
        if more > 0 {
            self.plan.gaps.push(Gap {
                path: None,
                kind: GapKind::Unknown,
                detail: format!(
                    "{more} more files were first captured after {target} and stay as they are"
                ),
            });
        }
        Ok(())
    }

    /// Adds gaps for files whose current content cannot be read. They keep their last recorded state.
    fn note_unreadable_files(&mut self) -> Result<()> {
        let root = self.engine.here.root;
        for item in root::scan::coverage(&self.engine.store.conn, root)?.items {
            let (kind, detail) = match item.reason {
                Reason::Unreadable => (
                    GapKind::Unreadable,
                    "its current content cannot be captured; it stays as it is",
                ),
                Reason::Special => (GapKind::Special, IN_ITS_PLACE),
                _ => continue,
            };
            let Some(path) = RelPath::new(item.path) else {
                continue;
            };
            let known = file_state::get(&self.engine.store.conn, root, &path)?;
            let is_file = known.is_some_and(|k| !matches!(k.image, Image::Opaque(_)));
            let bytes = Some(path.bytes().to_vec());
            let is_named = self.plan.gaps.iter().any(|g| g.path == bytes);
            if is_file && !is_named && self.is_in_scope(&path) {
                self.plan.gaps.push(Gap {
                    path: bytes,
                    kind,
                    detail: detail.into(),
                });
            }
        }
        Ok(())
    }

    /// Says of an ignored directory that its recorded files come back: those that a command named.
    pub(super) fn note_ignored_that_come_back(&mut self) {
        let comes_back = |dir: &[u8]| {
            let paths = self
                .plan
                .files
                .iter()
                .filter_map(|part| part.after.as_ref());
            let mut paths = paths.map(|placed| placed.path.bytes());
            paths.any(|path| path.starts_with(dir))
        };
        let is_dir = |gap: &&mut Gap| {
            gap.kind == GapKind::Ignored && gap.path.as_ref().is_some_and(|p| p.ends_with(b"/"))
        };
        for gap in self.plan.gaps.iter_mut().filter(is_dir) {
            if gap.path.as_deref().is_some_and(comes_back) {
                gap.detail = format!("{}; {COME_BACK}", gap.detail);
            }
        }
    }
}
