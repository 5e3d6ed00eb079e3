//! Files of a checkout: a copy of the user's working tree as it is.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::copy::{Directories, copy_file, copy_link, path_of, remove_entry};
use super::options::{CheckoutOptions, cannot_write};
use crate::place::RunPlace;
use crate::repository::ProjectRepository;
use crate::repository::git::{Git, GitError};

/// Threads that copy.
const MAX_THREADS: usize = 4;

/// Names that a note lists.
const MAX_NAMES: usize = 5;

/// First line of a file that stands for one in large file storage.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// Counts of a working tree.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub files: usize,
    pub changed: usize,
    pub deleted: usize,
    pub new: usize,
    /// Sentences about what was left out.
    pub notes: Vec<String>,
}

/// Paths of the working tree, relative to its root.
#[derive(Debug, Default)]
struct TreeListing {
    tracked: Vec<PathBuf>,
    /// Tracked files that a sparse working tree of the user does not have.
    sparse: Vec<PathBuf>,
    submodules: Vec<PathBuf>,
    new: Vec<PathBuf>,
    /// Repositories within the working tree that it does not track.
    nested: Vec<PathBuf>,
}

/// One entry that is to be copied.
#[derive(Debug)]
struct TreeEntry {
    path: PathBuf,
    kind: CopyKind,
    is_tracked: bool,
}

#[derive(Clone, Copy, Debug)]
enum CopyKind {
    File { is_executable: bool },
    Link,
}

/// Copies tracked files as they are, and those that are neither tracked nor ignored.
pub(super) fn copy_working_tree(
    place: &RunPlace,
    source: &ProjectRepository,
    git: &Git,
    options: &CheckoutOptions<'_>,
    target: &Path,
) -> Result<Changes, String> {
    let unreadable = |error: GitError| {
        format!(
            "the files of {} cannot be listed: {error}",
            source.root.display()
        )
    };
    let mut listing = list(source, target).map_err(unreadable)?;
    let runs = place.dir.parent().unwrap_or(&place.dir);
    listing
        .new
        .retain(|path| !source.root.join(path).starts_with(runs));
    if !options.sparse.patterns.is_empty() {
        for paths in [
            &mut listing.tracked,
            &mut listing.sparse,
            &mut listing.submodules,
            &mut listing.new,
        ] {
            *paths = in_sparse(git, paths).map_err(|error| {
                format!(
                    "the input sparse-checkout of actions/checkout needs git 2.41 or newer: {error}"
                )
            })?;
        }
    }
    let mut changes = Changes::default();
    let entries = plan(&source.root, &listing, target).map_err(|error| cannot_write(&error))?;
    changes.files = entries.len() + listing.sparse.len();
    copy_all(&source.root, target, &entries, &mut changes)?;
    if !listing.sparse.is_empty() {
        let input = nul_separated(&listing.sparse);
        git.fed_bytes(&["checkout-index", "-q", "-f", "-z", "--stdin"], &input)
            .map_err(|error| {
                format!("files that your sparse checkout leaves out cannot be written: {error}")
            })?;
    }
    if !listing.nested.is_empty() {
        changes.notes.push(note(
            "Repositories that are not submodules are left out",
            &listing.nested,
        ));
    }
    Ok(changes)
}

fn list(source: &ProjectRepository, target: &Path) -> Result<TreeListing, GitError> {
    let mut git = Git::reading(&source.root);
    let mut listing = TreeListing::default();
    if source.git.is_some() {
        let tracked = git.bytes(&["ls-files", "-z", "-t", "-s"])?;
        for entry in tracked.split(|byte| *byte == 0) {
            listing.add_tracked(entry);
        }
        listing.tracked.dedup();
    } else {
        // only a repository knows the rules of `.gitignore`
        let mut dir = OsString::from("--git-dir=");
        dir.push(target.join(".git"));
        git = git.with(dir).with("--work-tree=.");
    }
    let new = git.bytes(&["ls-files", "-z", "--others", "--exclude-standard"])?;
    for path in new.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        match path.strip_suffix(b"/") {
            Some(dir) => listing.nested.push(path_of(dir).to_owned()),
            None => listing.new.push(path_of(path).to_owned()),
        }
    }
    Ok(listing)
}

impl TreeListing {
    /// Adds an entry `TAG MODE OBJECT STAGE<tab>PATH`.
    fn add_tracked(&mut self, entry: &[u8]) {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else {
            return;
        };
        let path = path_of(&entry[tab + 1..]).to_owned();
        if entry[1..].starts_with(b" 160000 ") {
            self.submodules.push(path);
        } else if entry[0].eq_ignore_ascii_case(&b'S') {
            self.sparse.push(path);
        } else {
            self.tracked.push(path);
        }
    }
}

fn nul_separated(paths: &[PathBuf]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}

/// Paths that the rules of the run's sparse checkout include.
fn in_sparse(git: &Git, paths: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
    let listed = git.fed_bytes(
        &["sparse-checkout", "check-rules", "-z"],
        &nul_separated(paths),
    )?;
    let paths = listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty());
    Ok(paths.map(|path| path_of(path).to_owned()).collect())
}

/// Decides on each path, and makes all directories. A path below a link is not in the working tree, as for git.
fn plan(root: &Path, listing: &TreeListing, target: &Path) -> io::Result<Vec<TreeEntry>> {
    let mut sources = Directories::below(root);
    let mut targets = Directories::below(target);
    let mut entries = Vec::with_capacity(listing.tracked.len() + listing.new.len());
    let tracked = listing.tracked.iter().map(|path| (path, true));
    let new = listing.new.iter().map(|path| (path, false));
    for (path, is_tracked) in tracked.chain(new) {
        let above = path.parent().unwrap_or(Path::new(""));
        let is_there = sources.are_real(above);
        let found = is_there.then(|| fs::symlink_metadata(root.join(path)).ok());
        let kind = found.flatten().and_then(|found| {
            if found.is_symlink() {
                return Some(CopyKind::Link);
            }
            let is_executable = found.permissions().mode() & 0o100 != 0;
            found.is_file().then_some(CopyKind::File { is_executable })
        });
        if let Some(kind) = kind {
            targets.make(above)?;
            let path = path.clone();
            entries.push(TreeEntry {
                path,
                kind,
                is_tracked,
            });
        } else if targets.are_real(above) {
            remove_entry(&target.join(path))?;
        }
    }
    for path in &listing.submodules {
        if sources.are_real(path) {
            targets.make(path)?;
        }
    }
    for path in &listing.sparse {
        targets.make(path.parent().unwrap_or(Path::new("")))?;
    }
    Ok(entries)
}

/// Copies with several threads. A tracked file that cannot be read fails the checkout; a new one is left out and named.
fn copy_all(
    root: &Path,
    target: &Path,
    entries: &[TreeEntry],
    changes: &mut Changes,
) -> Result<(), String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut unread = Vec::new();
        while let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (from, to) = (root.join(&entry.path), target.join(&entry.path));
            let copied = match entry.kind {
                CopyKind::Link => copy_link(&from, &to),
                CopyKind::File { is_executable } => copy_file(&from, &to, is_executable).map(drop),
            };
            match copied {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound && !from.exists() => {}
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied
                        && !to.exists()
                        && !entry.is_tracked =>
                {
                    unread.push(entry.path.clone());
                }
                Err(error) => {
                    next.store(entries.len(), Ordering::Relaxed);
                    return Err(cannot_write(&error));
                }
            }
        }
        Ok(unread)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<Result<Vec<PathBuf>, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.min(MAX_THREADS))
            .map(|_| scope.spawn(work))
            .collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| {
                Err("the checkout failed: a thread that copies ended".to_owned())
            })
        });
        joined.collect()
    });
    let mut unread = Vec::new();
    for result in results {
        unread.extend(result?);
    }
    if !unread.is_empty() {
        unread.sort();
        changes.files -= unread.len();
        changes
            .notes
            .push(note("New files that cannot be read are left out", &unread));
    }
    Ok(())
}

fn note(what: &str, paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .take(MAX_NAMES)
        .map(|path| path.display().to_string())
        .collect();
    let more = paths.len().saturating_sub(MAX_NAMES);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("::notice::{what}: {}{more}", names.join(", "))
}

/// Compares the run's files with its commit, and counts the differences.
pub(super) fn count_changes(git: &Git, changes: &mut Changes) -> Result<(), GitError> {
    // its exit code tells of changed files
    git.output(&["update-index", "-q", "--refresh"])?;
    let status = git.bytes(&[
        "status",
        "--porcelain",
        "-z",
        "-uall",
        "--no-renames",
        "--ignore-submodules=all",
    ])?;
    for entry in status.split(|byte| *byte == 0) {
        match entry.get(..2) {
            Some(b"??") => changes.new += 1,
            Some(b" D") => changes.deleted += 1,
            Some(_) => changes.changed += 1,
            None => {}
        }
    }
    Ok(())
}

/// An error if files of large file storage are there only by their names.
pub(super) fn check_lfs(git: &Git, target: &Path) -> Result<(), String> {
    let listed = git
        .bytes(&["ls-files", "-z"])
        .map_err(|error| format!("the files of the checkout cannot be listed: {error}"))?;
    for path in listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
    {
        let file = target.join(path_of(path));
        let is_small =
            fs::symlink_metadata(&file).is_ok_and(|found| found.is_file() && found.len() < 1024);
        if is_small && fs::read(&file).is_ok_and(|bytes| bytes.starts_with(LFS_POINTER)) {
            return Err(format!(
                "{} is not here but in large file storage, and nothing is downloaded: run `git lfs pull` in your repository",
                path_of(path).display()
            ));
        }
    }
    Ok(())
}
