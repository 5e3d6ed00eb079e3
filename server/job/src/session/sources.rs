//! Edits of the user's working tree while a job stands: they are merged into the files of the run.
//!
//! The base of a merge is the file as the checkout brought it, or as it was taken up last. It belongs to the state of the job, so a
//! step back brings it back with the files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use backstitch_core::Engine;
use backstitch_core::model::{Image, NodeId, RelPath};
use sha2::{Digest as _, Sha256};

use crate::digest::hexadecimal;
use crate::place::{create_private, link_for_run, write_for_run};
use crate::run::StandingJob;
use crate::state::{SourceTree, TakenSource};

use super::listing::{SourceListing, SourceStat, UserTree};
use super::source_merge::{EXECUTABLE, SourceEdit, SourceEntry, SourceSides};

/// Directory in that of the run, with files as they were taken up.
const TAKEN: &str = "sources";

/// Paths that a sentence names.
const MAX_NAMES: usize = 5;

/// Mode of a file that only the user has.
const NEW_FILE: u32 = 0o644;

/// The user's files and links as they were seen last. Each has its stat, and how it was taken up; none: as the checkout brought it.
#[derive(Debug, Default)]
pub(super) struct SeenSources {
    files: BTreeMap<RelPath, (SourceStat, Option<TakenSource>)>,
    listing: SourceListing,
    /// Paths that are compared at each question: those that were taken up once, and those that may differ from the base.
    open: BTreeSet<RelPath>,
}

/// Edits that were taken up.
#[derive(Debug, Default)]
pub(super) struct TakenEdits {
    /// Sentences for people.
    pub notes: Vec<String>,
    /// Files of the run that have changed.
    pub files: Vec<PathBuf>,
}

impl SeenSources {
    /// The step of a checkout has ended: its files are the base from now on. Files that changed since it began are compared later.
    pub fn begin(
        &mut self,
        job: &mut StandingJob,
        engine: &Engine,
        since: i64,
    ) -> Result<(), String> {
        let Some(sources) = job
            .state()
            .sources
            .as_ref()
            .filter(|tree| tree.node.is_none())
        else {
            return Ok(());
        };
        let mut sources = sources.clone();
        let head = engine.history().head().map_err(|error| error.to_string())?;
        sources.node = head.map(|node| node.0);
        self.files.clear();
        self.open.clear();
        self.listing.refresh(&user_tree(job, &sources))?;
        if let Some(node) = head {
            let target = job.place().workspace.join(&sources.dir);
            let there = paths_below(engine, node, &job.place().files, &target)?;
            let (now, missing) = (self.listing.files(), self.listing.missing());
            let other = there.into_iter().filter(|path| !now.contains_key(path));
            // one that the user has deleted since the checkout began is an edit
            let (deleted, other) = other.partition(|path| missing.contains(path));
            sources.other = other;
            let deleted: BTreeSet<RelPath> = deleted;
            for path in deleted {
                self.open.insert(path.clone());
                self.files.insert(path, (SourceStat::UNKNOWN, None));
            }
        }
        for (path, stat) in self.listing.files() {
            let is_old = stat.changed.0 < since;
            if !is_old {
                self.open.insert(path.clone());
            }
            let stat = if is_old { *stat } else { SourceStat::UNKNOWN };
            self.files.insert(path.clone(), (stat, None));
        }
        job.state_mut().sources = Some(sources);
        Ok(())
    }

    /// A sentence where edits of the user's files cannot be seen.
    pub fn blindness(job: &StandingJob) -> Option<String> {
        let sources = job.state().sources.as_ref()?;
        let tree = user_tree(job, sources);
        (!tree.is_known()).then(|| {
            "Edits of your files are not seen: the project has no git, and the repository of the run is gone.".to_owned()
        })
    }

    /// Merges the user's edits into the files of the run. Returns sentences for people.
    pub fn take_up(
        &mut self,
        job: &mut StandingJob,
        engine: &Engine,
    ) -> Result<TakenEdits, String> {
        let Some(sources) = job.state().sources.clone() else {
            return Ok(TakenEdits::default());
        };
        let Some(node) = sources.node.map(NodeId) else {
            return Ok(TakenEdits::default());
        };
        let touched = self.listing.refresh(&user_tree(job, &sources))?;
        // where nothing is listed, nothing is gone
        let is_new = touched.is_none() && self.files.is_empty();
        let mut run = SourceRun {
            is_new,
            root: job.repository().root.clone(),
            target: job.place().workspace.join(&sources.dir),
            store: job.place().dir.join(TAKEN),
            files: job.place().files.clone(),
            sources,
            node,
            engine,
        };
        let (mut taken, mut conflicts, mut files) = (Vec::new(), Vec::new(), Vec::new());
        let mut changed = self.changed(touched, &run.sources);
        if is_new {
            // another process has seen the files: the history knows those that are gone, and the state those that were taken up
            let (now, taken) = (self.listing.files(), &run.sources.taken);
            let mut gone = paths_below(engine, node, &run.files, &run.target)?;
            let other = &run.sources.other;
            gone.retain(|path| !taken.contains_key(path) && !other.contains(path));
            let were_there = taken.iter();
            let were_there = were_there.filter(|(_, was)| **was != TakenSource::Removed);
            gone.extend(were_there.map(|(path, _)| path.clone()));
            gone.retain(|path| !now.contains_key(path));
            changed.splice(0..0, gone);
        }
        // also those after one that fails
        self.open.extend(changed.iter().cloned());
        for path in changed {
            let stat = self.listing.files().get(&path).copied();
            match run.take(&path, stat.is_some())? {
                SourceEdit::Conflict(reason) => {
                    conflicts.push(format!("{} {reason}", path.display()));
                    continue;
                }
                SourceEdit::Write(..) | SourceEdit::Remove => {
                    files.push(run.target.join(path.to_path()));
                    taken.push(path.display());
                }
                SourceEdit::Nothing => {}
            }
            let base = run.sources.taken.get(&path).cloned();
            self.files
                .insert(path, (stat.unwrap_or(SourceStat::UNKNOWN), base));
        }
        let target = run.target;
        job.state_mut().sources = Some(run.sources);
        let mut notes = Vec::new();
        if !taken.is_empty() {
            notes.push(format!("Your edits were taken up: {}.", names(&taken)));
        }
        if !conflicts.is_empty() {
            notes.push(format!(
                "Conflicts with your edits, which were not taken up: {}. Mend them in {}.",
                names(&conflicts),
                target.display()
            ));
        }
        Ok(TakenEdits { notes, files })
    }

    /// Paths that may differ from the base, of those that were touched; none: of all. Those that are gone come first: their names may
    /// be directories now.
    fn changed(&self, touched: Option<BTreeSet<RelPath>>, sources: &SourceTree) -> Vec<RelPath> {
        let now = self.listing.files();
        let mut all: Vec<RelPath> = match touched {
            Some(mut touched) => {
                touched.extend(self.open.iter().cloned());
                touched.extend(sources.taken.keys().cloned());
                touched.into_iter().collect()
            }
            None => now.keys().chain(self.files.keys()).cloned().collect(),
        };
        all.retain(|path| {
            let (seen, taken) = (self.files.get(path), sources.taken.get(path));
            match (now.get(path), seen) {
                (Some(stat), Some((seen, was_taken))) => {
                    stat != seen || was_taken.as_ref() != taken
                }
                (Some(_), None) => true,
                (None, Some(_)) => taken != Some(&TakenSource::Removed),
                (None, None) => false,
            }
        });
        all.sort_by_key(|path| (now.contains_key(path), path.clone()));
        all.dedup();
        all
    }
}

fn user_tree(job: &StandingJob, sources: &SourceTree) -> UserTree {
    let copy = job.place().workspace.join(&sources.dir);
    UserTree::new(job.repository(), &job.place().dir, &copy)
}

/// Paths of the files that a directory had at a checkpoint, without git's own.
fn paths_below(
    engine: &Engine,
    node: NodeId,
    root: &Path,
    dir: &Path,
) -> Result<Vec<RelPath>, String> {
    let all = engine.history().paths_at(node);
    let all = all.map_err(|error| error.to_string())?;
    let below = dir.strip_prefix(root).unwrap_or(dir);
    let found = all.into_iter().filter_map(|path| {
        let path = path.to_path().strip_prefix(below).ok()?.to_owned();
        let path = Some(path).filter(|path| !path.starts_with(".git"))?;
        RelPath::from_path(&path)
    });
    Ok(found.collect())
}

/// The run into which edits are merged.
struct SourceRun<'a> {
    /// True if this process sees the user's files for the first time.
    is_new: bool,
    /// The user's working tree.
    root: PathBuf,
    /// Its copy in the run.
    target: PathBuf,
    /// Files as they were taken up.
    store: PathBuf,
    /// The root of the history.
    files: PathBuf,
    sources: SourceTree,
    node: NodeId,
    engine: &'a Engine,
}

impl SourceRun<'_> {
    /// Merges the edit of one file, and makes it the base. A conflict changes nothing.
    fn take(&mut self, path: &RelPath, is_there: bool) -> Result<SourceEdit, String> {
        let said =
            |error: std::io::Error| format!("{} cannot be taken up: {error}", path.display());
        let file = self.target.join(path.to_path());
        let theirs = if is_there {
            SourceEntry::read(&self.root.join(path.to_path()))
        } else {
            Ok(None)
        };
        let theirs = match theirs {
            Ok(theirs) => theirs.filter(|entry| *entry != SourceEntry::Other),
            // the checkout has named a file that it could not read, too
            Err(_) if self.is_new && self.base(path, &file)?.is_none() => {
                return Ok(SourceEdit::Nothing);
            }
            Err(error) => return Ok(SourceEdit::Conflict(format!("cannot be read: {error}"))),
        };
        let base = self.base(path, &file)?;
        if theirs == base {
            return Ok(SourceEdit::Nothing);
        }
        if is_below_link(&self.target, path) {
            return Ok(SourceEdit::Conflict(
                "is below a link in the run".to_owned(),
            ));
        }
        let ours = SourceEntry::read(&file).map_err(said)?;
        let sides = SourceSides { base, ours, theirs };
        let edit = sides.edit();
        match &edit {
            SourceEdit::Conflict(_) => return Ok(edit),
            SourceEdit::Write(entry) => {
                write(&file, sides.ours.as_ref(), entry).map_err(said)?;
            }
            SourceEdit::Remove => fs::remove_file(&file).map_err(said)?,
            SourceEdit::Nothing => {}
        }
        let taken = match sides.theirs {
            None | Some(SourceEntry::Other) => TakenSource::Removed,
            Some(SourceEntry::Link(target)) => TakenSource::Link(target),
            Some(SourceEntry::File {
                bytes,
                is_executable,
            }) => {
                let digest = hexadecimal(&Sha256::digest(&bytes));
                create_private(&self.store).map_err(said)?;
                write_for_run(&self.store.join(&digest), &bytes).map_err(said)?;
                TakenSource::File {
                    digest,
                    is_executable,
                }
            }
        };
        self.sources.taken.insert(path.clone(), taken);
        Ok(edit)
    }

    /// The file as it was taken up last, or as the checkout brought it.
    fn base(&self, path: &RelPath, file: &Path) -> Result<Option<SourceEntry>, String> {
        match self.sources.taken.get(path) {
            Some(TakenSource::Removed) => Ok(None),
            Some(TakenSource::Link(target)) => Ok(Some(SourceEntry::Link(target.clone()))),
            Some(TakenSource::File {
                digest,
                is_executable,
            }) => {
                let kept = fs::read(self.store.join(digest)).map_err(|error| {
                    let path = path.display();
                    format!("The earlier text of {path} cannot be read: {error}")
                })?;
                Ok(Some(SourceEntry::File {
                    bytes: kept,
                    is_executable: *is_executable,
                }))
            }
            None => {
                let place = file.strip_prefix(&self.files).ok();
                let Some(place) = place.and_then(RelPath::from_path) else {
                    return Ok(None);
                };
                let said = |error: backstitch_core::Error| error.to_string();
                let image = self.engine.history().image_at(self.node, &place);
                let image = image.map_err(said)?;
                let content = image.content().map(|id| self.engine.content(&id));
                let content = content.transpose().map_err(said)?;
                Ok(content.map(|bytes| match image {
                    Image::Symlink { .. } => SourceEntry::Link(bytes),
                    Image::File { mode, .. } | Image::InGit { mode, .. } => SourceEntry::File {
                        bytes,
                        is_executable: mode & EXECUTABLE != 0,
                    },
                    Image::Absent | Image::Opaque(_) => SourceEntry::Other,
                }))
            }
        }
    }
}

/// Writes an entry in place of what the run has under its name. A file keeps its other bits.
fn write(file: &Path, ours: Option<&SourceEntry>, entry: &SourceEntry) -> std::io::Result<()> {
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    if ours.is_none() && file.is_dir() {
        fs::remove_dir(file)?;
    }
    let (bytes, is_executable) = match entry {
        SourceEntry::File {
            bytes,
            is_executable,
        } => (bytes, *is_executable),
        SourceEntry::Link(target) => {
            return link_for_run(file, Path::new(OsStr::from_bytes(target)));
        }
        SourceEntry::Other => return Ok(()),
    };
    let (was, mode) = match ours {
        Some(SourceEntry::File { bytes, .. }) => {
            (Some(bytes), file.symlink_metadata()?.permissions().mode())
        }
        Some(SourceEntry::Link(_) | SourceEntry::Other) | None => (None, NEW_FILE),
    };
    // a new mode alone leaves the time as it was
    if was != Some(bytes) {
        write_for_run(file, bytes)?;
    }
    let mode = if is_executable {
        mode | (mode & 0o444) >> 2
    } else {
        mode & !0o111
    };
    fs::set_permissions(file, fs::Permissions::from_mode(mode & 0o7777))
}

/// True if a name above the file is not a directory in the run.
fn is_below_link(target: &Path, path: &RelPath) -> bool {
    let path = path.to_path();
    let above = path.ancestors().skip(1);
    let mut found = above.filter_map(|dir| target.join(dir).symlink_metadata().ok());
    found.any(|found| !found.is_dir())
}

fn names(all: &[String]) -> String {
    let shown = all
        .iter()
        .take(MAX_NAMES)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match all.len().saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
