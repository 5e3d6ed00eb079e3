//! Clean files of a first scan: files that need not be read, because git's index vouches for their blobs. Excludes
//! every file whose bytes on disk may differ from its blob.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gix_hash::ObjectId;
use rustc_hash::FxHashSet;

use crate::error::{Error, Result};
use crate::git::objects::Repository;
use crate::model::RelPath;
use crate::system::read_small;
use crate::worktree::disk::{Root, Stat};
use crate::worktree::git_index::{self, ATTRIBUTES, Index};

/// Attributes that make git store other bytes than it writes to disk, though both may have the same size. A change of
/// line ends always changes the size.
const CONVERTING: [&str; 3] = ["filter", "ident", "working-tree-encoding"];
/// Below this total size copying is cheap, and then the content survives even if the repository is deleted with its
/// files.
const MIN_TOTAL_SIZE: u64 = 64 << 20;
/// Default places of git's system-wide attributes file.
const SYSTEM_ATTRIBUTES: [&str; 4] = [
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
    /// Its position in the index.
    at: usize,
}

/// An attributes file that the walk found.
#[derive(Debug)]
pub(crate) struct Attributes {
    pub path: RelPath,
    pub text: Vec<u8>,
    pub stat: Stat,
}

/// Answers of git about the repository, requested while the tree is walked.
#[derive(Debug)]
struct AttributeState {
    /// Size of each blob in the index.
    sizes: Vec<Option<u64>>,
    /// Texts of attributes files outside the tree.
    outside: Vec<Vec<u8>>,
    /// True if filters are configured, which may keep a file's size.
    filters: bool,
}

#[derive(Debug)]
pub(crate) struct CleanIndex {
    repository: Repository,
    index: Index,
    /// Identifies this version of the index.
    pub signature: String,
    reply: Mutex<Receiver<Result<AttributeState>>>,
}

impl CleanIndex {
    /// None if git cannot help: every file is read.
    pub(crate) fn of(root: &Path) -> Option<Self> {
        let repository = Repository::of(root).filter(|r| !r.is_partial())?;
        // taken before the index is read: a newer index is checked again
        let signature = git_index::signature(&repository);
        let index = Index::read(&repository)?;
        if index.bytes() < MIN_TOTAL_SIZE && !crate::fault::always_git_backed() {
            return None;
        }
        let objects: Vec<ObjectId> = index.entries().map(|(_, object)| object).collect();
        let (sender, reply) = channel();
        let queried = repository.clone();
        std::thread::spawn(move || sender.send(query(&queried, &objects)).ok());
        Some(Self {
            repository,
            index,
            signature,
            reply: Mutex::new(reply),
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

    /// Splits the candidates into those that equal their blobs and those to read. `attributes` has all attributes
    /// files of the tree. None: git took too long.
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
        let reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner);
        let state = match reply.recv_timeout(left) {
            Ok(state) => state,
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => Err(Error::CalledOff),
        };
        // if git fails, every candidate is read
        let Ok(state) = state else {
            return Some((Vec::new(), candidates));
        };
        let uncertain = self.uncertain_dirs(root, &state);
        let Ok(Some(converted)) = self.converted(&candidates, attributes, &state) else {
            return Some((Vec::new(), candidates));
        };
        let is_blob = |candidate: &Candidate| {
            let size = u64::try_from(candidate.stat.size).ok();
            let is_older = |a: &Attributes| {
                candidate.path.within(a.path.split().0)
                    && a.stat.ctime.max(a.stat.mtime) >= candidate.stat.ctime
            };
            // `cat-file` loads a large blob whole
            size.is_some_and(|size| size < crate::content::LARGE)
                && state.sizes.get(candidate.at).copied().flatten() == size
                && !uncertain.iter().any(|dir| candidate.path.within(dir))
                && !converted.contains(candidate.path.bytes())
                && !(state.filters && attributes.iter().any(is_older))
        };
        Some(candidates.into_iter().partition(is_blob))
    }

    /// Returns directories whose attributes file differs from the index: their files may have been written with other
    /// attributes.
    fn uncertain_dirs(&self, root: &Root, state: &AttributeState) -> Vec<&[u8]> {
        let is_unchanged = |path: &[u8]| {
            let path = RelPath::new(path)?;
            let stat = root.stat(&path)?;
            let (at, _) = self.index.clean(&path, &stat)?;
            let size = state.sizes.get(at).copied().flatten()?;
            (u64::try_from(stat.size) == Ok(size)).then_some(())
        };
        self.index
            .entries()
            .map(|(path, _)| path)
            .filter(|path| path.rsplit(|b| *b == b'/').next() == Some(ATTRIBUTES))
            .filter(|path| is_unchanged(path).is_none())
            .map(|path| &path[..path.len() - ATTRIBUTES.len()])
            .map(|dir| dir.strip_suffix(b"/").unwrap_or(dir))
            .collect()
    }

    /// Returns the candidates that git converts on checkout. None: git failed.
    fn converted(
        &self,
        candidates: &[Candidate],
        attributes: &[Attributes],
        state: &AttributeState,
    ) -> Result<Option<FxHashSet<Vec<u8>>>> {
        let texts = attributes.iter().map(|a| &a.text).chain(&state.outside);
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
        let (output, true) = self.repository.output(&args, paths)? else {
            return Ok(None);
        };
        let mut converted = FxHashSet::default();
        let mut fields = output.split(|b| *b == 0);
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

/// True if an attributes file sets a conversion, or defines a macro that may.
fn converts(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let words = || text.split(|c: char| c.is_whitespace() || c == '=');
    words().any(|word| CONVERTING.contains(&word)) || text.contains("[attr]")
}

fn query(repository: &Repository, objects: &[ObjectId]) -> Result<AttributeState> {
    let pattern = r"^(core\.attributesfile|filter\..*)$";
    let settings = || repository.output(&["config", "-z", "--get-regexp", pattern], Vec::new());
    let (sizes, config) = std::thread::scope(|s| {
        let config = s.spawn(settings);
        (repository.sizes(objects), config.join())
    });
    // git exits with an error if none of these keys is set
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
    outside.extend(SYSTEM_ATTRIBUTES.map(PathBuf::from));
    outside.extend(user_attributes(place.as_deref()));
    let outside = outside.iter().filter_map(|path| read_small(path, true));
    Ok(AttributeState {
        sizes,
        outside: outside.collect(),
        filters,
    })
}

/// Returns the path of the user's own attributes file.
fn user_attributes(set: Option<&str>) -> Option<PathBuf> {
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
    fn conversions_are_detected() {
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
