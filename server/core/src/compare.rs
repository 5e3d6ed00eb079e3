//! Differences between two states: checkpoints, heads of branches, the disk.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;

use crate::content::is_text;
use crate::diff;
use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry, EntryChange};
use crate::model::{ContentId, FileVersion, Image, NodeId, Placed, RelPath};
use crate::worktree::file_state;

/// Limits of similarity detection: text size, and number of text pairs.
const MAX_SIZE: u64 = 1 << 20;
const MAX_PAIRS: usize = 400;

/// A file at two points of the history. The paths differ if it was renamed in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    pub old: FileVersion,
    pub new: FileVersion,
}

/// Compares checkpoints with each other and with the files on disk. `E` is `&Engine` for questions, `&mut Engine` for the rest.
#[derive(Clone, Copy, Debug)]
pub struct Comparer<E> {
    engine: E,
}

impl Engine {
    /// Comparisons of states: questions.
    pub fn comparer(&self) -> Comparer<&Self> {
        Comparer { engine: self }
    }

    /// Comparisons of states.
    pub fn comparer_mut(&mut self) -> Comparer<&mut Self> {
        Comparer { engine: self }
    }
}

impl Comparer<&mut Engine> {
    /// Returns the differences between a node and the disk. The disk is scanned first, and changes
    /// become a node as usual. `only` limits the files that matter, if not empty.
    pub fn compare_with_disk(&mut self, from: NodeId, only: &[RelPath]) -> Result<Vec<Delta>> {
        let conn = &self.engine.store.conn;
        let mut files = BTreeSet::new();
        for path in only {
            let is_file = file_state::row(conn, self.engine.here.root, path)?.is_some();
            files.extend(is_file.then(|| path.clone()));
        }
        let is_current = !self.engine.always_scan
            && !only.is_empty()
            && files.len() == only.len()
            && self.engine.capture().no_agent_is_active()?
            && self.engine.capture().match_record(&files)?;
        if !is_current {
            self.engine.capture_mut().record_changes()?;
        }
        match self.engine.history().head()? {
            Some(head) => self.compare(from, head),
            None => Ok(Vec::new()),
        }
    }
}

impl<E: Deref<Target = Engine>> Comparer<E> {
    /// Returns the differences between two nodes, by path.
    pub fn compare(&self, from: NodeId, to: NodeId) -> Result<Vec<Delta>> {
        let _moment = self.engine.store.reading()?;
        let ancestry = Ancestry::new(&self.engine.store.conn);
        let common = ancestry.common(from, to)?;
        let diverged = common != Some(from) && common != Some(to);
        let mut deltas = Vec::new();
        for file in self.engine.history().files_between(&ancestry, from, to)? {
            let state = |node| -> Result<FileVersion> {
                // on one chain, the earliest known state stands for unknown earlier states
                if diverged && !self.engine.history().known_at(&ancestry, file, node)? {
                    return Ok(None);
                }
                history::state_at(&ancestry, file, node)
            };
            let (old, new) = (state(from)?, state(to)?);
            if old != new {
                deltas.push(Delta { old, new });
            }
        }
        Ok(as_patch(&deltas))
    }

    /// Joins the changes of a timeline row as [`Self::join_similar`] does, if that compares at most `budget` bytes, which it takes
    /// from the budget. Texts are read only if a file was deleted and another one of a similar size was created.
    pub fn join_similar_changes(
        &self,
        changes: &mut Vec<EntryChange>,
        budget: &mut u64,
    ) -> Result<()> {
        let is_one =
            |each: &&EntryChange| each.change.before.is_some() != each.change.after.is_some();
        let delta = |each: &EntryChange| Delta {
            old: each.change.before.clone(),
            new: each.change.after.clone(),
        };
        let deltas: Vec<Delta> = changes.iter().filter(is_one).map(delta).collect();
        let sizes = |side: fn(&Delta) -> &FileVersion| -> Vec<u64> {
            let sizes = deltas.iter().map(|delta| size(side(delta)));
            sizes.filter(|size| (1..=MAX_SIZE).contains(size)).collect()
        };
        let (old, new) = (sizes(|d| &d.old), sizes(|d| &d.new));
        let pairs = old.iter().flat_map(|a| new.iter().map(move |b| (*a, *b)));
        let cost: u64 = pairs
            .filter(|(a, b)| may_be_similar(*a, *b))
            .map(|(a, b)| a + b)
            .sum();
        let Some(left) = budget.checked_sub(cost).filter(|_| cost > 0) else {
            return Ok(());
        };
        *budget = left;
        for Delta { old, new } in self.join_similar(&deltas)? {
            let (Some(gone), Some(made)) = (&old, &new) else {
                continue;
            };
            let from = changes
                .iter()
                .position(|each| each.change.after.is_none() && each.change.before == old);
            let to = changes
                .iter()
                .position(|each| each.change.before.is_none() && each.change.after == new);
            let (Some(from), Some(to)) = (from, to) else {
                continue;
            };
            let text = |placed: &Placed| match placed.image.content() {
                Some(content) => self.engine.store.content(&content),
                None => Ok(Vec::new()),
            };
            let (added, removed, binary) = diff::count(&text(gone)?, &text(made)?);
            let joined = &mut changes[to];
            joined.change.before = old;
            (joined.added, joined.removed, joined.binary) = (added, removed, binary);
            changes.remove(from);
        }
        Ok(())
    }

    /// Joins a deletion and a creation into a rename if at least half of the file is the same, and
    /// each side has exactly one candidate. For display only: the history has them as two files.
    pub fn join_similar(&self, deltas: &[Delta]) -> Result<Vec<Delta>> {
        let deltas = as_patch(deltas);
        let text = |state: &FileVersion| -> Result<Option<Vec<u8>>> {
            match state.as_ref().map(|p| p.image) {
                Some(Image::File { content, size, .. }) if size > 0 && size <= MAX_SIZE => {
                    Ok(Some(self.engine.store.content(&content)?).filter(|t| is_text(t)))
                }
                _ => Ok(None),
            }
        };
        let (mut deleted, mut created) = (Vec::new(), Vec::new());
        for (at, delta) in deltas.iter().enumerate() {
            match (&delta.old, &delta.new) {
                (Some(_), None) => deleted.push(at),
                (None, Some(_)) => created.push(at),
                _ => {}
            }
        }
        if deleted.is_empty() || created.is_empty() || deleted.len() * created.len() > MAX_PAIRS {
            return Ok(deltas);
        }
        let read = |indices: Vec<usize>, new: bool| -> Result<Vec<(usize, Vec<u8>)>> {
            let state = |at: usize| {
                if new {
                    &deltas[at].new
                } else {
                    &deltas[at].old
                }
            };
            let texts = indices.into_iter().map(|at| Ok((at, text(state(at))?)));
            let texts = texts.collect::<Result<Vec<_>>>()?.into_iter();
            Ok(texts.filter_map(|(at, text)| Some((at, text?))).collect())
        };
        // a text without another one of a similar size is not read
        let may_join =
            |old: usize, new: usize| may_be_similar(size(&deltas[old].old), size(&deltas[new].new));
        let all_created = created.clone();
        created.retain(|new| deleted.iter().any(|old| may_join(*old, *new)));
        deleted.retain(|old| all_created.iter().any(|new| may_join(*old, *new)));
        let (deleted, created) = (read(deleted, false)?, read(created, true)?);
        let mut pairs = Vec::new();
        for (old, a) in &deleted {
            for (new, b) in &created {
                if are_similar(a, b) {
                    pairs.push((*old, *new));
                }
            }
        }
        let only = |(old, new): &&(usize, usize)| {
            pairs.iter().filter(|p| p.0 == *old).count() == 1
                && pairs.iter().filter(|p| p.1 == *new).count() == 1
        };
        let from: BTreeMap<usize, usize> = pairs.iter().filter(only).map(|p| (p.1, p.0)).collect();
        let moved: BTreeSet<usize> = from.values().copied().collect();
        let joined = deltas
            .iter()
            .enumerate()
            .filter(|(at, _)| !moved.contains(at));
        Ok(joined
            .map(|(at, delta)| Delta {
                old: from
                    .get(&at)
                    .map_or(&delta.old, |old| &deltas[*old].old)
                    .clone(),
                new: delta.new.clone(),
            })
            .collect())
    }
}

/// Size of a file; 0 of all else.
fn size(state: &FileVersion) -> u64 {
    match state.as_ref().map(|placed| placed.image) {
        Some(Image::File { size, .. }) => size,
        _ => 0,
    }
}

/// True if texts of these sizes can be similar: the smaller one has at least half of the larger one's bytes.
fn may_be_similar(a: u64, b: u64) -> bool {
    2 * a.min(b) >= a.max(b)
}

/// True if at least half of the larger text is in the other, counted in bytes of whole lines at any
/// position.
fn are_similar(a: &[u8], b: &[u8]) -> bool {
    let larger = a.len().max(b.len());
    if !may_be_similar(a.len() as u64, b.len() as u64) {
        return false;
    }
    let mut lines: HashMap<&[u8], usize> = HashMap::new();
    for line in a.split_inclusive(|byte| *byte == b'\n') {
        *lines.entry(line).or_default() += 1;
    }
    let mut same = 0;
    for line in b.split_inclusive(|byte| *byte == b'\n') {
        if let Some(left) = lines.get_mut(line).filter(|left| **left > 0) {
            *left -= 1;
            same += line.len();
        }
    }
    2 * same >= larger
}

/// Differences in the form that a patch can have, by path. A patch renames a file only from a path that is free afterwards, to
/// one that was free before, as git does: in a chain or a swap of names the files at the paths are compared instead.
pub fn as_patch(deltas: &[Delta]) -> Vec<Delta> {
    let paths = |side: fn(&Delta) -> &FileVersion| -> BTreeSet<RelPath> {
        let states = deltas.iter().filter_map(|delta| side(delta).as_ref());
        states.map(|placed| placed.path.clone()).collect()
    };
    let (old_paths, new_paths) = (paths(|d| &d.old), paths(|d| &d.new));
    let is_possible = |delta: &Delta| match (&delta.old, &delta.new) {
        (Some(old), Some(new)) if old.path != new.path => {
            !new_paths.contains(&old.path) && !old_paths.contains(&new.path)
        }
        _ => true,
    };
    let mut parts = Vec::with_capacity(deltas.len());
    for delta in deltas.iter().cloned() {
        if is_possible(&delta) {
            parts.push(delta);
        } else {
            let Delta { old, new } = delta;
            parts.push(Delta { old, new: None });
            parts.push(Delta { old: None, new });
        }
    }
    let mut joined = joined(parts);
    joined.sort_by(|a, b| {
        let key = |d: &Delta| d.new.as_ref().or(d.old.as_ref()).map(|p| p.path.clone());
        key(a).cmp(&key(b))
    });
    joined
}

/// Joins deletions and creations. At one path they are a change of the file. With one content and
/// exactly one candidate on each side, they are a rename.
fn joined(deltas: Vec<Delta>) -> Vec<Delta> {
    let mut joined_deltas = Vec::new();
    let mut deleted: BTreeMap<RelPath, Image> = BTreeMap::new();
    let mut created: BTreeMap<RelPath, Image> = BTreeMap::new();
    for delta in deltas {
        match (&delta.old, &delta.new) {
            (Some(old), None) => {
                deleted.insert(old.path.clone(), old.image);
            }
            (None, Some(new)) => {
                created.insert(new.path.clone(), new.image);
            }
            _ => joined_deltas.push(delta),
        }
    }
    let placed = |path: &RelPath, image: Image| {
        Some(crate::model::Placed {
            path: path.clone(),
            image,
        })
    };
    let paths: Vec<RelPath> = deleted
        .keys()
        .filter(|p| created.contains_key(p))
        .cloned()
        .collect();
    for path in paths {
        if let (Some(old), Some(new)) = (deleted.remove(&path), created.remove(&path))
            && old != new
        {
            let (old, new) = (placed(&path, old), placed(&path, new));
            joined_deltas.push(Delta { old, new });
        }
    }
    let by_content = |side: &BTreeMap<RelPath, Image>| {
        let mut by: BTreeMap<ContentId, Vec<RelPath>> = BTreeMap::new();
        for (path, image) in side {
            if let Image::File { content, size, .. } = image
                && *size > 0
            {
                by.entry(*content).or_default().push(path.clone());
            }
        }
        by
    };
    let created_by_content = by_content(&created);
    for (content, from) in by_content(&deleted) {
        if let ([from], Some([to])) = (
            from.as_slice(),
            created_by_content.get(&content).map(Vec::as_slice),
        ) && let (Some(old), Some(new)) = (deleted.remove(from), created.remove(to))
        {
            let (old, new) = (placed(from, old), placed(to, new));
            joined_deltas.push(Delta { old, new });
        }
    }
    joined_deltas.extend(deleted.iter().map(|(path, image)| Delta {
        old: placed(path, *image),
        new: None,
    }));
    joined_deltas.extend(created.iter().map(|(path, image)| Delta {
        old: None,
        new: placed(path, *image),
    }));
    joined_deltas
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, text: &str) -> Placed {
        Placed {
            path: RelPath::new(path).expect("a path"),
            image: Image::File {
                mode: 0o644,
                content: ContentId::of(text.as_bytes()),
                size: text.len() as u64,
            },
        }
    }

    fn shown(deltas: &[Delta]) -> Vec<String> {
        let path = |s: &FileVersion| s.as_ref().map_or("-".to_owned(), |p| p.path.display());
        let shown = |d: &Delta| format!("{} {}", path(&d.old), path(&d.new));
        let mut all: Vec<String> = as_patch(deltas).iter().map(shown).collect();
        all.sort();
        all
    }

    fn deleted(path: &str, text: &str) -> Delta {
        Delta {
            old: Some(at(path, text)),
            new: None,
        }
    }

    fn created(path: &str, text: &str) -> Delta {
        Delta {
            old: None,
            new: Some(at(path, text)),
        }
    }

    #[test]
    fn a_creation_at_a_deleted_path_is_a_change() {
        assert_eq!(shown(&[deleted("a", "1"), created("a", "2")]), ["a a"]);
        assert_eq!(shown(&[deleted("a", "1"), created("a", "1")]), [""; 0]);
    }

    #[test]
    fn the_same_content_elsewhere_is_a_rename_if_it_is_unambiguous() {
        assert_eq!(shown(&[deleted("a", "1"), created("b", "1")]), ["a b"]);
        let two = [deleted("a", "1"), created("b", "1"), created("c", "1")];
        assert_eq!(shown(&two), ["- b", "- c", "a -"]);
        assert_eq!(shown(&[deleted("a", ""), created("b", "")]), ["- b", "a -"]);
    }

    fn moved(from: &str, to: &str, text: &str) -> Delta {
        Delta {
            old: Some(at(from, text)),
            new: Some(at(to, text)),
        }
    }

    #[test]
    fn a_rename_takes_a_path_that_is_free_afterwards_to_one_that_was_free_before() {
        assert_eq!(shown(&[moved("a", "b", "1")]), ["a b"]);
        // the place was taken again
        let taken = [moved("a", "b", "1"), created("a", "2")];
        assert_eq!(shown(&taken), ["- b", "a a"]);
        // a chain, and a swap
        let chain = [moved("a", "b", "1"), moved("b", "c", "2")];
        assert_eq!(shown(&chain), ["- c", "a -", "b b"]);
        let swap = [moved("a", "b", "1"), moved("b", "a", "2")];
        assert_eq!(shown(&swap), ["a a", "b b"]);
        // the file that was at the new path is gone
        let over = [moved("a", "b", "1"), deleted("b", "2")];
        assert_eq!(shown(&over), ["a -", "b b"]);
    }
}
