//! Finds obstacles on disk to the files of a plan.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::PlanBuilder;
use super::types::{Conflict, FilePlan, GapKind, OnConflict, Resolution};
use crate::error::Result;
use crate::model::RelPath;
use crate::worktree::file_state;

/// Kind of obstacle to a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    /// A symlink that leads out of its directory.
    Escape,
    /// A file that is not in the history.
    Untracked,
    Tracked,
}

impl PlanBuilder<'_> {
    /// Turns obstacles into conflicts or skips: another file at the path, a file where a directory is needed, a
    /// directory where a file goes, an untracked file, or a symlink that leads out of the root.
    pub(super) fn collisions(&mut self) -> Result<()> {
        loop {
            let mut found = None;
            {
                let leaving: BTreeSet<&RelPath> = self
                    .plan
                    .files
                    .iter()
                    .filter_map(|f| f.before.as_ref().map(|p| &p.path))
                    .collect();
                let mut arriving: BTreeMap<&RelPath, usize> = BTreeMap::new();
                for (at, part) in self.plan.files.iter().enumerate() {
                    let Some(to) = &part.after else { continue };
                    if let Some(other) = arriving.insert(&to.path, at) {
                        found = Some((
                            at.max(other),
                            "another file is restored to the same path".to_owned(),
                            Obstacle::Tracked,
                        ));
                        break;
                    }
                }
                if found.is_none() {
                    for (at, part) in self.plan.files.iter().enumerate() {
                        if let Some((why, what)) = self.obstacle(part, &leaving, &arriving)? {
                            found = Some((at, why, what));
                            break;
                        }
                    }
                }
            }
            let Some((at, why, what)) = found else {
                return Ok(());
            };
            let part = self.plan.files.remove(at);
            let Some(path) = part.after.or(part.before).map(|p| p.path) else {
                continue;
            };
            if what == Obstacle::Escape {
                self.skip(path, GapKind::Outside, &why);
            } else {
                // after a switch, a different file at this path would be recorded as an edit by the user
                let foreign = self.plan.to_branch.is_some() && what == Obstacle::Untracked;
                let open = foreign || self.r.on_conflict == OnConflict::Fail;
                if !open {
                    self.skip(path.clone(), GapKind::Failed, &why);
                }
                self.plan.conflicts.push(Conflict {
                    path,
                    reason: why,
                    hunks: Vec::new(),
                    resolution: (!open).then_some(Resolution::Left),
                    is_fixed: false,
                });
            }
        }
    }

    /// Turns files that the system does not let be replaced into conflicts, or skips them if the request leaves conflicts
    /// as they are. A file that an open document changes is not replaced.
    pub(super) fn fixed(&mut self) {
        let is_in_document = |path: &RelPath| {
            let mut open = self.r.open.iter();
            open.any(|document| !document.on_disk && document.path == *path)
        };
        let root = &self.engine.root;
        let found = |part: &FilePlan| {
            let states = [&part.before, &part.after].into_iter().flatten();
            let mut paths = states.map(|placed| &placed.path);
            let changes = part.before != part.after;
            paths.find_map(|path| {
                let fixed = (changes && !is_in_document(path)).then(|| root.fixed(path));
                Some((path.clone(), fixed.flatten()?.reason()))
            })
        };
        let files = std::mem::take(&mut self.plan.files);
        let is_open = self.plan.to_branch.is_some() || self.r.on_conflict == OnConflict::Fail;
        for part in files {
            let Some((path, why)) = found(&part) else {
                self.plan.files.push(part);
                continue;
            };
            let reason = format!("it cannot be replaced: {why}");
            if !is_open {
                self.skip(path.clone(), GapKind::Failed, &reason);
            }
            self.plan.conflicts.push(Conflict {
                path,
                reason,
                hunks: Vec::new(),
                resolution: (!is_open).then_some(Resolution::Left),
                is_fixed: true,
            });
        }
    }

    fn obstacle(
        &self,
        part: &FilePlan,
        leaving: &BTreeSet<&RelPath>,
        arriving: &BTreeMap<&RelPath, usize>,
    ) -> Result<Option<(String, Obstacle)>> {
        let (root, conn) = (&self.engine.root, &self.engine.store.conn);
        for (state, stays) in [(&part.before, false), (&part.after, true)] {
            let Some(state) = state else { continue };
            let mut dir = state.path.parent();
            while let Some(at) = dir {
                let file_there = root
                    .stat(&at)
                    .is_some_and(|s| s.kind() != rustix::fs::FileType::Directory);
                if file_there && !leaving.contains(&at) {
                    let link = root
                        .stat(&at)
                        .is_some_and(|s| s.kind() == rustix::fs::FileType::Symlink);
                    let why = if link {
                        "a symlink has replaced its directory"
                    } else {
                        "a file is where its directory is needed"
                    };
                    let what = match file_state::get(conn, self.engine.here.root, &at)? {
                        _ if link => Obstacle::Escape,
                        Some(_) => Obstacle::Tracked,
                        None => Obstacle::Untracked,
                    };
                    return Ok(Some((format!("{why}: {}", at.display()), what)));
                }
                if stays && arriving.contains_key(&at) {
                    return Ok(Some((
                        format!(
                            "a file is restored where its directory is needed: {}",
                            at.display()
                        ),
                        Obstacle::Tracked,
                    )));
                }
                dir = at.parent();
            }
        }
        let Some(to) = &part.after else {
            return Ok(None);
        };
        if part.before.as_ref().is_some_and(|b| b.path == to.path) {
            return Ok(None);
        }
        match file_state::get(conn, self.engine.here.root, &to.path)? {
            Some(_) if leaving.contains(&to.path) => Ok(None),
            Some(_) => Ok(Some((
                "another file is at its path".into(),
                Obstacle::Tracked,
            ))),
            None => {
                let found = root.read_entry(&to.path)?;
                if found.is_dir {
                    let full = root.path.join(to.path.to_path());
                    return Ok(remaining(&full, &to.path, leaving, &|_| true).map(|held| {
                        (
                            format!("a directory is at its path, with {held} in it"),
                            Obstacle::Untracked,
                        )
                    }));
                }
                Ok((!found.image.is_absent()).then(|| {
                    (
                        "an untracked file is at its path".to_owned(),
                        Obstacle::Untracked,
                    )
                }))
            }
        }
    }
}

/// Returns a file in the directory that the plan does not remove, or an empty directory in it that does not go.
pub(super) fn remaining(
    full: &std::path::Path,
    dir: &RelPath,
    leaving: &BTreeSet<&RelPath>,
    goes: &dyn Fn(&RelPath) -> bool,
) -> Option<String> {
    for entry in std::fs::read_dir(full).ok()?.flatten() {
        let name = crate::model::os_bytes(&entry.file_name());
        let path = RelPath::new([dir.bytes(), b"/", &name].concat())?;
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            let held = remaining(&entry.path(), &path, leaving, goes);
            if held.is_some() {
                return held;
            }
            if !goes(&path) {
                return Some(path.display());
            }
        } else if !leaving.contains(&path) {
            return Some(path.display());
        }
    }
    None
}
