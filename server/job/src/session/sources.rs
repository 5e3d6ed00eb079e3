//! Edits of the user's working tree while a job stands: they are merged into the files of the run.
//!
//! The base of a merge is the file as the checkout brought it, or as it was taken up last. It belongs to the state of the job, so a
//! step back brings it back with the files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use backstitch_core::Engine;
use backstitch_core::merge::{Favor, merge3};
use backstitch_core::model::{NodeId, RelPath};
use sha2::{Digest as _, Sha256};

use crate::digest::hexadecimal;
use crate::place::{create_private, write_for_run};
use crate::repository::ProjectRepository;
use crate::repository::git::Git;
use crate::run::StandingJob;
use crate::state::SourceTree;

/// Directory in that of the run, with files as they were taken up.
const TAKEN: &str = "sources";

/// Paths that a sentence names.
const MAX_NAMES: usize = 5;

/// Size and time of a file: it is read anew when one of them has changed.
type SourceStat = (u64, i64, i64);

/// Stat of a file that is compared by its content.
const UNKNOWN: SourceStat = (u64::MAX, 0, 0);

/// The user's files as they were seen last: their stat, and their digest; none for a file as the checkout brought it.
#[derive(Debug, Default)]
pub(super) struct SeenSources {
    files: BTreeMap<String, (SourceStat, Option<String>)>,
}

/// A change of a file in the run.
enum SourceEdit {
    Write(Vec<u8>, u32),
    Remove,
    Nothing,
    /// Why the file stays as the run has it.
    Conflict(&'static str),
}

/// The sides of a merge. None: there is no such file.
struct SourceSides {
    base: Option<Vec<u8>>,
    ours: Option<Vec<u8>>,
    theirs: Option<Vec<u8>>,
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
        for (path, stat) in list(job.repository(), &job.place().dir)? {
            let stat = if stat.1 < since { stat } else { UNKNOWN };
            self.files.insert(path, (stat, None));
        }
        job.state_mut().sources = Some(sources);
        Ok(())
    }

    /// Merges the user's edits into the files of the run. Returns sentences for people.
    pub fn take_up(
        &mut self,
        job: &mut StandingJob,
        engine: &Engine,
    ) -> Result<Vec<String>, String> {
        let Some(sources) = job.state().sources.clone() else {
            return Ok(Vec::new());
        };
        let Some(node) = sources.node.map(NodeId) else {
            return Ok(Vec::new());
        };
        let now: BTreeMap<String, SourceStat> = list(job.repository(), &job.place().dir)?
            .into_iter()
            .collect();
        let mut run = SourceRun {
            root: job.repository().root.clone(),
            target: job.place().workspace.join(&sources.dir),
            store: job.place().dir.join(TAKEN),
            files: job.place().files.clone(),
            sources,
            node,
            engine,
        };
        let (mut taken, mut conflicts) = (Vec::new(), Vec::new());
        for path in self.changed(&now, &run.sources) {
            let stat = now.get(&path).copied();
            match run.take(&path, stat.is_some())? {
                SourceEdit::Conflict(reason) => {
                    conflicts.push(format!("{path} {reason}"));
                    continue;
                }
                SourceEdit::Write(..) | SourceEdit::Remove => taken.push(path.clone()),
                SourceEdit::Nothing => {}
            }
            let base = run.sources.taken.get(&path).cloned().flatten();
            self.files.insert(path, (stat.unwrap_or(UNKNOWN), base));
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
        Ok(notes)
    }

    /// Paths that may differ from the base.
    fn changed(&self, now: &BTreeMap<String, SourceStat>, sources: &SourceTree) -> Vec<String> {
        let gone = self
            .files
            .keys()
            .filter(|path| !now.contains_key(*path) && sources.taken.get(*path) != Some(&None));
        let mut paths: Vec<String> = gone.cloned().collect();
        for (path, stat) in now {
            let seen = self.files.get(path).filter(|(seen, _)| seen == stat);
            let is_same = match (seen, sources.taken.get(path)) {
                (Some((_, None)), None) => true,
                (Some((_, digest @ Some(_))), Some(base)) => digest == base,
                _ => false,
            };
            if !is_same {
                paths.push(path.clone());
            }
        }
        paths
    }
}

/// The run into which edits are merged.
struct SourceRun<'a> {
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
    fn take(&mut self, path: &str, is_there: bool) -> Result<SourceEdit, String> {
        let said = |error: std::io::Error| format!("{path} cannot be taken up: {error}");
        let source = self.root.join(path);
        let file = self.target.join(path);
        let theirs = is_there.then(|| fs::read(&source)).transpose();
        let sides = SourceSides {
            base: self.base(path, &file)?,
            ours: regular(&file),
            theirs: theirs.map_err(said)?,
        };
        if sides.theirs == sides.base {
            return Ok(SourceEdit::Nothing);
        }
        let edit = if is_below_link(&self.target, path) {
            SourceEdit::Conflict("is below a link in the run")
        } else if file.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            SourceEdit::Conflict("is not a file in the run")
        } else {
            edit_of(&sides, &source)
        };
        match &edit {
            SourceEdit::Conflict(_) => return Ok(edit),
            SourceEdit::Write(bytes, mode) => {
                let dir = file.parent().unwrap_or(&self.target);
                fs::create_dir_all(dir).map_err(said)?;
                write_for_run(&file, bytes).map_err(said)?;
                fs::set_permissions(&file, fs::Permissions::from_mode(*mode)).map_err(said)?;
            }
            SourceEdit::Remove => fs::remove_file(&file).map_err(said)?,
            SourceEdit::Nothing => {}
        }
        let digest = match &sides.theirs {
            None => None,
            Some(bytes) => {
                let digest = hexadecimal(&Sha256::digest(bytes));
                create_private(&self.store).map_err(said)?;
                write_for_run(&self.store.join(&digest), bytes).map_err(said)?;
                Some(digest)
            }
        };
        self.sources.taken.insert(path.to_owned(), digest);
        Ok(edit)
    }

    /// The file as it was taken up last, or as the checkout brought it.
    fn base(&self, path: &str, file: &Path) -> Result<Option<Vec<u8>>, String> {
        match self.sources.taken.get(path) {
            Some(None) => Ok(None),
            Some(Some(digest)) => {
                let kept = fs::read(self.store.join(digest));
                kept.map(Some)
                    .map_err(|error| format!("The earlier text of {path} cannot be read: {error}"))
            }
            None => {
                let place = file.strip_prefix(&self.files).ok();
                let Some(place) = place.and_then(RelPath::from_path) else {
                    return Ok(None);
                };
                let said = |error: backstitch_core::Error| error.to_string();
                let image = self.engine.history().image_at(self.node, &place);
                let content = image.map_err(said)?.content();
                let bytes = content.map(|id| self.engine.content(&id));
                bytes.transpose().map_err(said)
            }
        }
    }
}

fn edit_of(sides: &SourceSides, source: &Path) -> SourceEdit {
    let mode = fs::metadata(source).map_or(0o644, |found| found.mode() & 0o777);
    match (&sides.base, &sides.ours, &sides.theirs) {
        (_, ours, theirs) if ours == theirs => SourceEdit::Nothing,
        (base, ours, Some(theirs)) if base == ours => SourceEdit::Write(theirs.clone(), mode),
        (base, ours, None) if base == ours => SourceEdit::Remove,
        (_, _, None) => SourceEdit::Conflict("is removed, and the run has changed it"),
        (_, None, Some(_)) => SourceEdit::Conflict("is edited, and the run has removed it"),
        (base, Some(ours), Some(theirs)) => {
            let merged = merge3(
                base.as_deref().unwrap_or_default(),
                ours,
                theirs,
                Favor::Ours,
            );
            if merged.conflicts.is_empty() {
                SourceEdit::Write(merged.bytes, mode)
            } else {
                SourceEdit::Conflict("is changed in the same lines by the run")
            }
        }
    }
}

/// True if a name above the file is not a directory in the run.
fn is_below_link(target: &Path, path: &str) -> bool {
    let above = Path::new(path).ancestors().skip(1);
    let mut found = above.filter_map(|dir| target.join(dir).symlink_metadata().ok());
    found.any(|found| !found.is_dir())
}

/// Tracked files, and those that are neither tracked nor ignored. Runs within the tree are left out.
fn list(repository: &ProjectRepository, run: &Path) -> Result<Vec<(String, SourceStat)>, String> {
    if repository.git.is_none() {
        return Ok(Vec::new());
    }
    let said = |error| {
        format!(
            "The files of {} cannot be listed: {error}",
            repository.root.display()
        )
    };
    let git = Git::reading(&repository.root);
    let all = git
        .bytes(&["ls-files", "-z", "-c", "-o", "--exclude-standard"])
        .map_err(said)?;
    let runs = run.parent().unwrap_or(run);
    let mut files = Vec::new();
    for path in all.split(|byte| *byte == 0) {
        // a name that is not UTF-8 is left as the checkout brought it
        let Ok(path) = std::str::from_utf8(path) else {
            continue;
        };
        let file: PathBuf = repository.root.join(path);
        if path.is_empty() || file.starts_with(runs) {
            continue;
        }
        if let Ok(stat) = file.symlink_metadata()
            && stat.is_file()
        {
            files.push((
                path.to_owned(),
                (stat.len(), stat.mtime(), stat.mtime_nsec()),
            ));
        }
    }
    Ok(files)
}

fn regular(file: &Path) -> Option<Vec<u8>> {
    let is_file = file.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file.then(|| fs::read(file).ok()).flatten()
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
