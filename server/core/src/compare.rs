//! What differs between two states: checkpoints, heads of branches, the disk.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry};
use crate::model::{ContentId, FileState, Image, NodeId, RelPath};

/// A file at two points of the history; the paths differ where it was renamed between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    pub old: FileState,
    pub new: FileState,
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
            let state = |node| -> Result<FileState> {
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

    /// What differs between a node and the disk, which is looked at now: what has changed there becomes
    /// a node like any other find.
    pub fn compare_with_disk(&mut self, from: NodeId) -> Result<Vec<Delta>> {
        self.look()?;
        match self.head()? {
            Some(head) => self.compare(from, head),
            None => Ok(Vec::new()),
        }
    }
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
        let path = |s: &FileState| s.as_ref().map_or("-".to_owned(), |p| p.path.display());
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
