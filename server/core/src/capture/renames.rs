//! Renames: joins a deletion and a creation of one scan that are the same file. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::transition::Transition;
use crate::model::{ContentId, Image, Placed};
use crate::worktree::disk::Stat;
use crate::worktree::file_state::FileStates;

/// Joins a deletion and a creation into a rename: the same inode and birth time, or the same
/// non-empty content with exactly one candidate on each side.
pub(super) fn follow_renames(steps: &mut Vec<Transition>, known: &FileStates) {
    let born = |s: &Stat| (s.dev, s.inode, s.btime);
    let size = |i: &Image| matches!(i, Image::File { size, .. } if *size > 0);
    let mut by_inode: HashMap<(i64, i64, i64), Vec<usize>> = HashMap::new();
    let mut deleted_by_content: BTreeMap<ContentId, Vec<usize>> = BTreeMap::new();
    let mut created_by_content: BTreeMap<ContentId, Vec<usize>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        match (&step.before, &step.after) {
            (Some(before), None) => {
                if let Some(row) = known.get(&before.path)
                    && row.stat.btime != 0
                {
                    by_inode.entry(born(&row.stat)).or_default().push(at);
                }
                if let Some(content) = before.image.content().filter(|_| size(&before.image)) {
                    deleted_by_content.entry(content).or_default().push(at);
                }
            }
            (None, Some(after)) => {
                if let Some(content) = after.image.content().filter(|_| size(&after.image)) {
                    created_by_content.entry(content).or_default().push(at);
                }
            }
            _ => {}
        }
    }
    // a rename is the work of one writer
    let may_join = |from: usize, to: usize| steps[from].attribution == steps[to].attribution;
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if step.before.is_some() || step.after.is_none() {
            continue;
        }
        let Some(gone) = step.stat.as_ref().and_then(|s| by_inode.get_mut(&born(s))) else {
            continue;
        };
        // several deleted files have one inode if one of them had moved where no scan saw it
        let content = |step: &Option<Placed>| step.as_ref().map(|placed| placed.image);
        let unchanged = |from: usize| content(&steps[from].before) == content(&step.after);
        let found = gone
            .iter()
            .position(|from| may_join(*from, at) && unchanged(*from));
        let found = found.or_else(|| gone.iter().position(|from| may_join(*from, at)));
        if let Some(found) = found {
            pairs.push((gone.swap_remove(found), at));
        }
    }
    let paired: BTreeSet<usize> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    for (content, gone) in &deleted_by_content {
        if let ([from], Some([to])) = (
            gone.as_slice(),
            created_by_content.get(content).map(Vec::as_slice),
        ) && !paired.contains(from)
            && !paired.contains(to)
            && may_join(*from, *to)
        {
            pairs.push((*from, *to));
        }
    }
    let mut joined = BTreeSet::new();
    for (from, to) in pairs {
        let before = steps[from].before.clone();
        let (file, since) = (steps[from].file, steps[from].since);
        let step = &mut steps[to];
        step.before = before;
        step.file = file;
        step.since = since;
        joined.insert(from);
    }
    let mut at = 0;
    steps.retain(|_| {
        at += 1;
        !joined.contains(&(at - 1))
    });
}
