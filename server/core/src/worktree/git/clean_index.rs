//! Which files of a first look need not be read, since git has them as they are: what its index vouches for, less all
//! where the bytes on disk may be others than the blob's.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gix_hash::ObjectId;
use rustc_hash::FxHashSet;

use super::index::{self, ATTRIBUTES, Index};
use super::objects::Repository;
use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::worktree::disk::{Root, Stat, read_small};

/// Attributes by which what git stores is not what it writes to the disk, though both may be of one size. A change of
/// line ends is never that.
const CONVERTING: [&str; 3] = ["filter", "ident", "working-tree-encoding"];
/// What is smaller in all is copied in no time, and then comes back even where the repository goes with its files.
const LEAST: u64 = 64 << 20;
/// Where git's own attributes are where nobody set another place.
const SYSTEM: [&str; 4] = [
    "/etc/gitattributes",
    "/usr/etc/gitattributes",
    "/usr/local/etc/gitattributes",
    "/opt/homebrew/etc/gitattributes",
];

/// A file that the index vouches for.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub path: RelPath,
    pub stat: Stat,
    pub object: ObjectId,
    /// Its place in the index.
    at: usize,
}

/// A file of attributes that a walk came by.
#[derive(Debug)]
pub(crate) struct Attributes {
    pub path: RelPath,
    pub text: Vec<u8>,
    pub stat: Stat,
}

/// What git says of its repository, asked for while the tree is walked.
#[derive(Debug)]
struct AttributeState {
    /// Of each blob of the index.
    sizes: Vec<Option<u64>>,
    /// Attributes from outside the tree.
    outside: Vec<Vec<u8>>,
    /// Whether there are filters that may keep a file's size.
    filters: bool,
}

#[derive(Debug)]
pub(crate) struct CleanIndex {
    repository: Repository,
    index: Index,
    /// What tells its index from others.
    pub signature: String,
    said: Mutex<Receiver<Result<AttributeState>>>,
}

impl CleanIndex {
    /// None where nothing is to be had of git: everything is read.
    pub(crate) fn of(root: &Path) -> Option<Self> {
        let repository = Repository::of(root).filter(|r| !r.is_partial())?;
        // of before it is read: a newer one is asked again
        let signature = index::signature(&repository);
        let index = Index::read(&repository)?;
        if index.bytes() < LEAST && !crate::fault::lends_always() {
            return None;
        }
        let objects: Vec<ObjectId> = index.entries().map(|(_, object)| object).collect();
        let (say, said) = channel();
        let asked = repository.clone();
        std::thread::spawn(move || say.send(ask(&asked, &objects)).ok());
        Some(Self {
            repository,
            index,
            signature,
            said: Mutex::new(said),
        })
    }

    pub(crate) fn candidate(&self, path: &RelPath, stat: &Stat) -> Option<Candidate> {
        let (at, object) = self.index.clean(path, stat)?;
        Some(Candidate {
            path: path.clone(),
            stat: *stat,
            object,
            at,
        })
    }

    /// Parts candidates into those that are their blobs, and those that are to be read. `attributes`: all files of
    /// attributes in the tree. None: it took too long.
    pub(crate) fn confirm(
        &self,
        candidates: Vec<Candidate>,
        attributes: &[Attributes],
        root: &Root,
        deadline: Option<Instant>,
    ) -> Option<(Vec<Candidate>, Vec<Candidate>)> {
        let left = deadline.map_or(Duration::from_hours(1), |d| {
            d.saturating_duration_since(Instant::now())
        });
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = match said.recv_timeout(left) {
            Ok(said) => said,
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => Err(Error::CalledOff),
        };
        // a git that cannot be asked lends nothing
        let Ok(said) = said else {
            return Some((Vec::new(), candidates));
        };
        let unsure = self.unsure(root, &said);
        let Ok(Some(converted)) = self.converted(&candidates, attributes, &said) else {
            return Some((Vec::new(), candidates));
        };
        let is_blob = |candidate: &Candidate| {
            let size = u64::try_from(candidate.stat.size).ok();
            let is_older = |a: &Attributes| {
                candidate.path.within(a.path.split().0)
                    && a.stat.ctime.max(a.stat.mtime) >= candidate.stat.ctime
            };
            // a large one is read by git's `cat-file` whole
            size.is_some_and(|size| size < crate::store::LARGE)
                && said.sizes.get(candidate.at).copied().flatten() == size
                && !unsure.iter().any(|dir| candidate.path.within(dir))
                && !converted.contains(candidate.path.bytes())
                && !(said.filters && attributes.iter().any(is_older))
        };
        Some(candidates.into_iter().partition(is_blob))
    }

    /// Directories whose attributes are not those of the index: files may have been written by others.
    fn unsure(&self, root: &Root, said: &AttributeState) -> Vec<&[u8]> {
        let is_sure = |path: &[u8]| {
            let path = RelPath::new(path)?;
            let stat = root.stat(&path)?;
            let (at, _) = self.index.clean(&path, &stat)?;
            let size = said.sizes.get(at).copied().flatten()?;
            (u64::try_from(stat.size) == Ok(size)).then_some(())
        };
        self.index
            .entries()
            .map(|(path, _)| path)
            .filter(|path| path.rsplit(|b| *b == b'/').next() == Some(ATTRIBUTES))
            .filter(|path| is_sure(path).is_none())
            .map(|path| &path[..path.len() - ATTRIBUTES.len()])
            .map(|dir| dir.strip_suffix(b"/").unwrap_or(dir))
            .collect()
    }

    /// The paths of those that git converts on their way to the disk. None: git does not say.
    fn converted(
        &self,
        candidates: &[Candidate],
        attributes: &[Attributes],
        said: &AttributeState,
    ) -> Result<Option<FxHashSet<Vec<u8>>>> {
        let texts = attributes.iter().map(|a| &a.text).chain(&said.outside);
        if !texts.into_iter().any(|text| converts(text)) {
            return Ok(Some(FxHashSet::default()));
        }
        let mut paths = Vec::new();
        for candidate in candidates {
            paths.extend_from_slice(candidate.path.bytes());
            paths.push(0);
        }
        let args = ["check-attr", "--stdin", "-z"];
        let args: Vec<&str> = args.into_iter().chain(CONVERTING).collect();
        let (said, true) = self.repository.say(&args, paths)? else {
            return Ok(None);
        };
        let mut converted = FxHashSet::default();
        let mut fields = said.split(|b| *b == 0);
        // PATH ATTRIBUTE VALUE, each ended by NUL
        while let (Some(path), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next())
        {
            if !matches!(value, b"unspecified" | b"unset") {
                converted.insert(path.to_vec());
            }
        }
        Ok(Some(converted))
    }
}

/// Whether a file of attributes speaks of a conversion, or of what may stand for one.
fn converts(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let words = || text.split(|c: char| c.is_whitespace() || c == '=');
    words().any(|word| CONVERTING.contains(&word)) || text.contains("[attr]")
}

fn ask(repository: &Repository, objects: &[ObjectId]) -> Result<AttributeState> {
    let pattern = r"^(core\.attributesfile|filter\..*)$";
    let settings = || repository.say(&["config", "-z", "--get-regexp", pattern], Vec::new());
    let (sizes, config) = std::thread::scope(|s| {
        let config = s.spawn(settings);
        (repository.sizes(objects), config.join())
    });
    // where nothing of it is set, git is not content
    let (sizes, (config, _)) = (sizes?, config.unwrap_or(Err(Error::CalledOff))?);
    let mut place = None;
    let mut filters = false;
    // KEY newline VALUE, each pair ended by NUL
    for pair in String::from_utf8_lossy(&config).split('\0') {
        let (key, value) = pair.split_once('\n').unwrap_or((pair, ""));
        if key == "core.attributesfile" {
            place = Some(value.to_owned());
        } else if key.starts_with("filter.") && !key.starts_with("filter.lfs.") {
            filters = true;
        }
    }
    let mut outside = vec![repository.common.join("info/attributes")];
    outside.extend(SYSTEM.map(PathBuf::from));
    outside.extend(personal(place.as_deref()));
    let outside = outside.iter().filter_map(|path| read_small(path, true));
    Ok(AttributeState {
        sizes,
        outside: outside.collect(),
        filters,
    })
}

/// Where the user's own attributes are.
fn personal(set: Option<&str>) -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    if let Some(path) = set {
        return match path.strip_prefix("~/") {
            Some(below) => Some(home()?.join(below)),
            None => Some(PathBuf::from(path)),
        };
    }
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty());
    let config = config.map(PathBuf::from);
    Some(
        config
            .or_else(|| Some(home()?.join(".config")))?
            .join("git/attributes"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_seen() {
        for text in [
            "*.bin filter=lfs",
            "a ident\n",
            "x working-tree-encoding=UTF-16",
            "[attr]z filter=a",
        ] {
            assert!(converts(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "*.c diff=cpp\n*.png binary\n",
            "* text=auto eol=lf\n",
            "filters text",
        ] {
            assert!(!converts(text.as_bytes()), "{text}");
        }
    }
}
