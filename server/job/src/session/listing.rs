//! The list of the user's files while a job stands. A watch over their directories spares the listing: only touched files are
//! looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use backstitch_core::model::RelPath;

use crate::builtin::Directories;
use crate::repository::ProjectRepository;
use crate::repository::git::Git;

use super::dir_watch::DirWatch;

/// Above this many touched files all are listed.
const MAX_TOUCHED: usize = 500;

/// Files that say which others are listed: a change of one lists all.
const RULES: &str = ".gitignore";

/// Size and times of a file or a link: it is read anew when one of them has changed. Times are in seconds and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SourceStat {
    pub size: u64,
    pub modified: (i64, i64),
    /// Also changed by a new mode.
    pub changed: (i64, i64),
}

impl SourceStat {
    /// Stat of a file that is compared by its content.
    pub const UNKNOWN: SourceStat = SourceStat {
        size: u64::MAX,
        modified: (0, 0),
        changed: (0, 0),
    };

    fn of(stat: &fs::Metadata) -> SourceStat {
        SourceStat {
            size: stat.len(),
            modified: (stat.mtime(), stat.mtime_nsec()),
            changed: (stat.ctime(), stat.ctime_nsec()),
        }
    }
}

/// Tracked files and links, and those that are neither tracked nor ignored. Runs within the tree are left out.
#[derive(Debug, Default)]
pub(super) struct SourceListing {
    files: BTreeMap<RelPath, SourceStat>,
    /// Watches the directories of the list.
    watch: Option<DirWatch>,
    /// Stats of git's own files that decide which others are listed.
    rules: Vec<Option<SourceStat>>,
}

impl SourceListing {
    /// The files as they were at the last question.
    pub fn files(&self) -> &BTreeMap<RelPath, SourceStat> {
        &self.files
    }

    /// Sees the files as they are now. Returns those that may have changed since the last question; none: any may have.
    pub fn refresh(
        &mut self,
        repository: &ProjectRepository,
        run: &Path,
    ) -> Result<Option<BTreeSet<RelPath>>, String> {
        let Some(storage) = &repository.git else {
            return Ok(Some(BTreeSet::new()));
        };
        let own = ["index", "info/exclude"];
        let stat = |name: &&str| fs::metadata(storage.git_dir.join(name)).ok();
        let rules = own.iter().map(|name| Some(SourceStat::of(&stat(name)?)));
        let rules: Vec<_> = rules.collect();
        let has_same_rules = std::mem::replace(&mut self.rules, rules) == self.rules;
        let touched = self.watch.as_mut().and_then(DirWatch::touched);
        let is_known = |touched: &BTreeSet<PathBuf>| {
            let mut names = touched.iter().filter_map(|path| path.file_name());
            has_same_rules && touched.len() <= MAX_TOUCHED && names.all(|name| name != RULES)
        };
        let seen = match touched.filter(is_known) {
            Some(touched) => self.look_at(repository, run, &touched).map(Some),
            None => self.list_all(repository, run).map(|()| None),
        };
        if seen.is_err() {
            // the events are gone: the next question lists all
            self.watch = None;
        }
        seen
    }

    /// Lists all files. The next question is answered by a watch if it covers the directories of this list.
    fn list_all(&mut self, repository: &ProjectRepository, run: &Path) -> Result<(), String> {
        // watched before they are listed: a change is in the list, or among the events
        self.watch = DirWatch::of(&repository.root, &directories(&self.files));
        let mut listed = BTreeMap::new();
        list(repository, run, &[], |path, stat| {
            listed.insert(path, stat);
        })?;
        self.files = listed;
        let all = directories(&self.files);
        self.watch = self
            .watch
            .take()
            .filter(|watch| all.iter().all(|dir| watch.has(dir)));
        Ok(())
    }

    /// Looks at files that were touched.
    fn look_at(
        &mut self,
        repository: &ProjectRepository,
        run: &Path,
        touched: &BTreeSet<PathBuf>,
    ) -> Result<BTreeSet<RelPath>, String> {
        if touched.is_empty() {
            return Ok(BTreeSet::new());
        }
        let paths: BTreeSet<RelPath> = touched
            .iter()
            .filter_map(|path| RelPath::from_path(path))
            .collect();
        for path in &paths {
            self.files.remove(path);
        }
        let names: Vec<&OsStr> = touched.iter().map(|path| path.as_os_str()).collect();
        list(repository, run, &names, |path, stat| {
            self.files.insert(path, stat);
        })?;
        Ok(paths)
    }
}

/// The directories of files, with those above them.
fn directories(files: &BTreeMap<RelPath, SourceStat>) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::from([PathBuf::new()]);
    let mut last = PathBuf::new();
    for path in files.keys() {
        let dir = path.parent().map(|dir| dir.to_path()).unwrap_or_default();
        if dir == last {
            continue;
        }
        all.extend(dir.ancestors().map(Path::to_owned));
        last = dir;
    }
    all
}

/// Lists files, of these names alone if there are some.
fn list(
    repository: &ProjectRepository,
    run: &Path,
    names: &[&OsStr],
    mut found: impl FnMut(RelPath, SourceStat),
) -> Result<(), String> {
    let said = |error| {
        format!(
            "The files of {} cannot be listed: {error}",
            repository.root.display()
        )
    };
    let options = ["ls-files", "-z", "-c", "-o", "--exclude-standard", "--"];
    let mut arguments: Vec<OsString> = options.map(OsString::from).to_vec();
    arguments.extend(names.iter().map(|name| (*name).to_owned()));
    let git = Git::reading(&repository.root).with("--literal-pathspecs");
    let all = git.bytes(&arguments).map_err(said)?;
    let runs = run.parent().unwrap_or(run);
    let mut directories = Directories::below(&repository.root);
    for path in all.split(|byte| *byte == 0) {
        // a directory has a slash at its end
        let Some(path) = RelPath::new(path) else {
            continue;
        };
        let relative = path.to_path();
        let file: PathBuf = repository.root.join(&relative);
        let above = relative.parent().unwrap_or(Path::new(""));
        if file.starts_with(runs) || !directories.are_real(above) {
            continue;
        }
        if let Ok(stat) = file.symlink_metadata()
            && (stat.is_file() || stat.is_symlink())
        {
            found(path, SourceStat::of(&stat));
        }
    }
    Ok(())
}
