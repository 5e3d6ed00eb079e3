//! Read-only directories of a job's run: a step may have made them, and a restore changes entries in them.

use std::collections::BTreeSet;

use super::above;
use super::execution::{OWNER_CHANGES, is_open};
use crate::model::RelPath;
use crate::restore::types::Plan;
use crate::worktree::disk::Root;

/// Directories that were opened, the outermost first, each with its permission bits before.
pub(in crate::restore) type OpenedDirs = Vec<(RelPath, u32)>;

/// Lets the owner change the entries of all directories in which a plan changes some. The files of a run are nobody else's. Each
/// directory gets the bits of the goal with the plan that is made next. Those of other owners stay, and that plan says so.
pub(in crate::restore) fn open_dirs(root: &Root, plan: &Plan) -> OpenedDirs {
    if !root.has_past_times() {
        return Vec::new();
    }
    let files = plan.files.iter();
    let placed = files.flat_map(|file| [&file.before, &file.after].into_iter().flatten());
    let paths = placed
        .map(|placed| &placed.path)
        .chain(plan.conflicts.iter().map(|conflict| &conflict.path))
        .chain(plan.directories.iter().map(|change| &change.path));
    let mut dirs = BTreeSet::new();
    for path in paths {
        for dir in above(path) {
            if !dirs.insert(dir) {
                break;
            }
        }
    }
    let mut opened = Vec::new();
    for dir in dirs {
        if let Some(mode) = root.dir_mode(&dir).filter(|mode| !is_open(*mode))
            && is_closed(root, &dir)
            && root.make_dir(&dir, mode | OWNER_CHANGES).is_ok()
        {
            opened.push((dir, mode));
        }
    }
    opened
}

/// Gives the directories their bits of before, as far as they are there.
pub(in crate::restore) fn close_dirs(root: &Root, opened: &OpenedDirs) {
    for (dir, mode) in opened.iter().rev() {
        if root.dir_mode(dir) == Some(mode | OWNER_CHANGES) {
            // the restore has failed already, and its error is the one that counts
            root.make_dir(dir, *mode).ok();
        }
    }
}

/// True if the permission bits bind this user: they do not bind the superuser.
fn is_closed(root: &Root, dir: &RelPath) -> bool {
    let place = root.place(dir).ok().flatten();
    place.is_some_and(|place| place.is_closed())
}
