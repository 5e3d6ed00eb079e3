//! What differs between two states: checkpoints, heads of branches, the disk.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry};
use crate::merge::is_text;
use crate::model::{ContentId, FileVersion, Image, NodeId, RelPath};
use crate::worktree::file_state;

/// Larger texts, and more pairs of texts than these, are not compared for their likeness.
const LARGEST: u64 = 1 << 20;
const PAIRS: usize = 400;

/// A file at two points of the history; the paths differ where it was renamed between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    pub old: FileVersion,
    pub new: FileVersion,
}

impl Engine {
    /// What differs between two nodes, by path.
    pub fn compare(&self, from: NodeId, to: NodeId) -> Result<Vec<Delta>> {
        let _moment = self.store.reading()?;
        let ancestry = Ancestry::new(&self.store.conn);
        let common = ancestry.common(from, to)?;
        let apart = common != Some(from) && common != Some(to);
        let mut deltas = Vec::new();
        for file in self.files_between(&ancestry, from, to)? {
            let state = |node| -> Result<FileVersion> {
                // on one chain, the earliest known state stands for what was not known before
                if apart && !self.known_at(&ancestry, file, node)? {
                    return Ok(None);
                }
                history::state_at(&ancestry, file, node)
            };
            let (old, new) = (state(from)?, state(to)?);
            if old != new {
                deltas.push(Delta { old, new });
            }
        }
        let mut deltas = joined(deltas);
        deltas.sort_by(|a, b| {
            let key = |d: &Delta| d.new.as_ref().or(d.old.as_ref()).map(|p| p.path.clone());
            key(a).cmp(&key(b))
        });
        Ok(deltas)
    }

    /// Joins what is gone with what has come where at least half of it is the same, and exactly one candidate is
    /// on each side: a file renamed and edited at once. For people: the history knows them as two files.
    pub fn joined_by_likeness(&self, deltas: Vec<Delta>) -> Result<Vec<Delta>> {
        let text = |state: &FileVersion| -> Result<Option<Vec<u8>>> {
            match state.as_ref().map(|p| p.image) {
                Some(Image::File { content, size, .. }) if size > 0 && size <= LARGEST => {
                    Ok(Some(self.store.content(&content)?).filter(|t| is_text(t)))
                }
                _ => Ok(None),
            }
        };
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for (at, delta) in deltas.iter().enumerate() {
            match (&delta.old, &delta.new) {
                (Some(_), None) => gone.push(at),
                (None, Some(_)) => come.push(at),
                _ => {}
            }
        }
        if gone.is_empty() || come.is_empty() || gone.len() * come.len() > PAIRS {
            return Ok(deltas);
        }
        let read = |ats: Vec<usize>, new: bool| -> Result<Vec<(usize, Vec<u8>)>> {
            let state = |at: usize| {
                if new {
                    &deltas[at].new
                } else {
                    &deltas[at].old
                }
            };
            let texts = ats.into_iter().map(|at| Ok((at, text(state(at))?)));
            let texts = texts.collect::<Result<Vec<_>>>()?.into_iter();
            Ok(texts.filter_map(|(at, text)| Some((at, text?))).collect())
        };
        let (gone, come) = (read(gone, false)?, read(come, true)?);
        let mut pairs = Vec::new();
        for (old, a) in &gone {
            for (new, b) in &come {
                if are_alike(a, b) {
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

    /// What differs between a node and the disk, which is looked at now: what has changed there becomes
    /// a node like any other find. `only`: files that alone matter, if any.
    pub fn compare_with_disk(&mut self, from: NodeId, only: &[RelPath]) -> Result<Vec<Delta>> {
        let conn = &self.store.conn;
        let mut files = BTreeSet::new();
        for path in only {
            let is_file = file_state::row(conn, self.here.root, path)?.is_some();
            files.extend(is_file.then(|| path.clone()));
        }
        let settled = !self.always_scan
            && !only.is_empty()
            && files.len() == only.len()
            && self.nobody_is_at_work()?
            && self.are_as_recorded(&files)?;
        if !settled {
            self.look()?;
        }
        match self.head()? {
            Some(head) => self.compare(from, head),
            None => Ok(Vec::new()),
        }
    }
}

/// Whether at least half of the larger text stands in the other, counted in bytes of whole lines, wherever these
/// stand.
fn are_alike(a: &[u8], b: &[u8]) -> bool {
    let larger = a.len().max(b.len());
    if 2 * a.len().min(b.len()) < larger {
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

/// Joins what is gone and what has come: at one path it is a change of what stands there; with one
/// content, and exactly one candidate on each side, it is a rename.
fn joined(deltas: Vec<Delta>) -> Vec<Delta> {
    let mut whole = Vec::new();
    let mut gone: BTreeMap<RelPath, Image> = BTreeMap::new();
    let mut come: BTreeMap<RelPath, Image> = BTreeMap::new();
    for delta in deltas {
        match (&delta.old, &delta.new) {
            (Some(old), None) => {
                gone.insert(old.path.clone(), old.image);
            }
            (None, Some(new)) => {
                come.insert(new.path.clone(), new.image);
            }
            _ => whole.push(delta),
        }
    }
    let placed = |path: &RelPath, image: Image| {
        Some(crate::model::Placed {
            path: path.clone(),
            image,
        })
    };
    let paths: Vec<RelPath> = gone
        .keys()
        .filter(|p| come.contains_key(p))
        .cloned()
        .collect();
    for path in paths {
        if let (Some(old), Some(new)) = (gone.remove(&path), come.remove(&path))
            && old != new
        {
            let (old, new) = (placed(&path, old), placed(&path, new));
            whole.push(Delta { old, new });
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
    let came = by_content(&come);
    for (content, from) in by_content(&gone) {
        if let ([from], Some([to])) = (from.as_slice(), came.get(&content).map(Vec::as_slice))
            && let (Some(old), Some(new)) = (gone.remove(from), come.remove(to))
        {
            let (old, new) = (placed(from, old), placed(to, new));
            whole.push(Delta { old, new });
        }
    }
    whole.extend(gone.iter().map(|(path, image)| Delta {
        old: placed(path, *image),
        new: None,
    }));
    whole.extend(come.iter().map(|(path, image)| Delta {
        old: None,
        new: placed(path, *image),
    }));
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Placed;

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

    fn shown(deltas: Vec<Delta>) -> Vec<String> {
        let path = |s: &FileVersion| s.as_ref().map_or("-".to_owned(), |p| p.path.display());
        let shown = |d: &Delta| format!("{} {}", path(&d.old), path(&d.new));
        let mut all: Vec<String> = joined(deltas).iter().map(shown).collect();
        all.sort();
        all
    }

    fn gone(path: &str, text: &str) -> Delta {
        Delta {
            old: Some(at(path, text)),
            new: None,
        }
    }

    fn come(path: &str, text: &str) -> Delta {
        Delta {
            old: None,
            new: Some(at(path, text)),
        }
    }

    #[test]
    fn what_comes_where_something_went_is_a_change() {
        assert_eq!(shown(vec![gone("a", "1"), come("a", "2")]), ["a a"]);
        assert_eq!(shown(vec![gone("a", "1"), come("a", "1")]), [""; 0]);
    }

    #[test]
    fn the_same_content_elsewhere_is_a_rename_if_nothing_else_can_be_meant() {
        assert_eq!(shown(vec![gone("a", "1"), come("b", "1")]), ["a b"]);
        let two = vec![gone("a", "1"), come("b", "1"), come("c", "1")];
        assert_eq!(shown(two), ["- b", "- c", "a -"]);
        assert_eq!(shown(vec![gone("a", ""), come("b", "")]), ["- b", "a -"]);
    }
}
