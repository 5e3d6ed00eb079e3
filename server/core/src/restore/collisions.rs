//! What stands in the way of a plan's files on the disk.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::PlanBuilder;
use super::types::{Conflict, FilePlan, GapKind, OnConflict, Resolution};
use crate::error::Result;
use crate::model::RelPath;
use crate::worktree::file_state;

/// What is in the way of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    /// A link that leads elsewhere.
    Escape,
    /// Nothing of the history.
    Untracked,
    Tracked,
}

impl PlanBuilder<'_> {
    /// What is in the way: another file at the path, a file where a directory is needed, a directory
    /// where a file goes, something untracked, a link on the way out of the root.
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
                        if let Some((why, what)) = self.in_the_way(part, &leaving, &arriving)? {
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
                // a branch whose file is another one on disk would take that for an edit of the user
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
                });
            }
        }
    }

    fn in_the_way(
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
                        "a link stands where its directory was"
                    } else {
                        "a file stands where its directory is needed"
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
                "another file stands at its path".into(),
                Obstacle::Tracked,
            ))),
            None => {
                let look = root.look(&to.path)?;
                if look.is_dir {
                    let full = root.path.join(to.path.to_path());
                    return Ok(first_that_stays(&full, &to.path, leaving).map(|held| {
                        (
                            format!("a directory stands at its path, with {held} in it"),
                            Obstacle::Untracked,
                        )
                    }));
                }
                Ok((!look.image.is_absent()).then(|| {
                    (
                        "something untracked stands at its path".to_owned(),
                        Obstacle::Untracked,
                    )
                }))
            }
        }
    }
}

/// Something in a directory that the plan does not take away.
fn first_that_stays(
    full: &std::path::Path,
    dir: &RelPath,
    leaving: &BTreeSet<&RelPath>,
) -> Option<String> {
    for entry in std::fs::read_dir(full).ok()?.flatten() {
        let name = crate::model::os_bytes(&entry.file_name());
        let path = RelPath::new([dir.bytes(), b"/", &name].concat())?;
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            if let Some(held) = first_that_stays(&entry.path(), &path, leaving) {
                return Some(held);
            }
        } else if !leaving.contains(&path) {
            return Some(path.display());
        }
    }
    None
}
