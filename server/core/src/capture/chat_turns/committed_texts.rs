//! The texts of files before and after a commit of aider, as git has them.

use std::collections::BTreeMap;
use std::path::Path;

use super::batch::Step;
use crate::content::MAX_MERGE_BYTES;
use crate::git::objects::Repository;
use crate::model::RelPath;
use crate::system::read_small;

/// Attributes with which a file's text may differ from that in its commit.
const CONVERTING: [&str; 3] = ["filter", "ident", "working-tree-encoding"];

/// The texts of a file before and after a commit; None: the file did not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommittedTexts {
    pub before: Option<Vec<u8>>,
    pub after: Vec<u8>,
}

/// The texts by commit and path.
#[derive(Debug, Default)]
pub(super) struct Commits {
    texts: BTreeMap<(String, RelPath), CommittedTexts>,
    /// True if git may store other bytes than the disk has.
    converts: bool,
}

impl Commits {
    /// Reads the texts of all edits whose commit is known. Without git there are none.
    pub(super) fn read<'s>(root: &Path, steps: impl Iterator<Item = &'s Step>) -> Self {
        let mut commits = Self::default();
        let mut named = Vec::new();
        for step in steps {
            let Some(commit) = &step.commit else {
                continue;
            };
            for path in step
                .paths
                .iter()
                .filter_map(|path| RelPath::from_path(path))
            {
                // a name with a line end cannot be asked for
                if !path.bytes().contains(&b'\n') {
                    named.push((commit.hash.clone(), path));
                }
            }
        }
        let Some(repository) = Repository::of(root).filter(|_| !named.is_empty()) else {
            return commits;
        };
        let names = named.iter().flat_map(|(hash, path)| {
            let at = |revision: String| [revision.as_bytes(), b":", path.bytes()].concat();
            [at(format!("{hash}^")), at(hash.clone())]
        });
        let Ok(texts) = repository.texts(&names.collect::<Vec<_>>(), MAX_MERGE_BYTES) else {
            return commits;
        };
        let mut texts = texts.into_iter();
        for key in named {
            let (Some(before), Some(after)) = (texts.next(), texts.next()) else {
                break;
            };
            if let Some(after) = after {
                commits.texts.insert(key, CommittedTexts { before, after });
            }
        }
        commits.converts = converts(root, &repository.common);
        commits
    }

    /// Returns the texts of a step's commit at a path, if they are those that were on the disk. `now`: the bytes there.
    pub(super) fn of(
        &self,
        step: &Step,
        path: &RelPath,
        now: Option<&[u8]>,
    ) -> Option<&CommittedTexts> {
        let commit = step.commit.as_ref()?;
        let texts = self.texts.get(&(commit.hash.clone(), path.clone()))?;
        let is_plain = |text: &[u8]| !text.contains(&b'\r') && std::str::from_utf8(text).is_ok();
        let is_exact = now == Some(texts.after.as_slice());
        let is_reliable = !self.converts && is_plain(&texts.after) && now.is_none_or(is_plain);
        (is_exact || is_reliable).then_some(texts)
    }
}

/// True if the attributes of a repository may convert texts.
fn converts(root: &Path, common: &Path) -> bool {
    [root.join(".gitattributes"), common.join("info/attributes")]
        .iter()
        .any(|path| {
            let text = read_small(path, true).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            CONVERTING.iter().any(|name| text.contains(name))
        })
}
