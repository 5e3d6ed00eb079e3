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

/// The user's working tree, and the repository that knows which files of it are ignored.
#[derive(Clone, Debug)]
pub(super) struct UserTree {
    pub root: PathBuf,
    /// Directory of all runs, of which nothing is listed.
    runs: PathBuf,
    git_dir: PathBuf,
    /// False where the repository is that of the run, as the user's tree has none.
    has_git: bool,
}

impl UserTree {
    /// `copy`: the tree of the checkout in the run.
    pub fn new(repository: &ProjectRepository, run: &Path, copy: &Path) -> UserTree {
        let own = repository.git.as_ref();
        UserTree {
            root: repository.root.clone(),
            runs: run.parent().unwrap_or(run).to_owned(),
            git_dir: own.map_or_else(|| copy.join(".git"), |storage| storage.git_dir.clone()),
            has_git: own.is_some(),
        }
    }

    /// False if no repository knows which files are ignored.
    pub fn is_known(&self) -> bool {
        self.git_dir.is_dir()
    }

    fn git(&self) -> Git {
        let git = Git::reading(&self.root);
        if self.has_git {
            return git;
        }
        let mut dir = OsString::from("--git-dir=");
        dir.push(&self.git_dir);
        git.with(dir).with("--work-tree=.")
    }
}

/// Tracked files and links, and those that are neither tracked nor ignored. Runs within the tree are left out.
#[derive(Debug, Default)]
pub(super) struct SourceListing {
    files: BTreeMap<RelPath, SourceStat>,
    /// Tracked files that are not there.
    missing: BTreeSet<RelPath>,
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

    /// Tracked files that were not there at the last list of all.
    pub fn missing(&self) -> &BTreeSet<RelPath> {
        &self.missing
    }

    /// Sees the files as they are now. Returns those that may have changed since the last question; none: any may have.
    pub fn refresh(&mut self, tree: &UserTree) -> Result<Option<BTreeSet<RelPath>>, String> {
        if !tree.is_known() {
            // a step has removed the repository of the run: nothing is known, so nothing has changed
            return Ok(Some(BTreeSet::new()));
        }
        let own = ["index", "info/exclude"];
        let stat = |name: &&str| fs::metadata(tree.git_dir.join(name)).ok();
        let rules = own.iter().map(|name| Some(SourceStat::of(&stat(name)?)));
        let rules: Vec<_> = rules.collect();
        let has_same_rules = std::mem::replace(&mut self.rules, rules) == self.rules;
        let touched = self.watch.as_mut().and_then(DirWatch::touched);
        let is_known = |touched: &BTreeSet<PathBuf>| {
            let mut names = touched.iter().filter_map(|path| path.file_name());
            has_same_rules && touched.len() <= MAX_TOUCHED && names.all(|name| name != RULES)
        };
        let seen = match touched.filter(is_known) {
            Some(touched) => self.look_at(tree, &touched).map(Some),
            None => self.list_all(tree).map(|()| None),
        };
        if seen.is_err() {
            // the events are gone: the next question lists all
            self.watch = None;
        }
        seen
    }

    /// Lists all files. The next question is answered by a watch if it covers the directories of this list.
    fn list_all(&mut self, tree: &UserTree) -> Result<(), String> {
        // watched before they are listed: a change is in the list, or among the events
        self.watch = DirWatch::of(&tree.root, &directories(&self.files));
        let (mut listed, mut missing) = (BTreeMap::new(), BTreeSet::new());
        list(tree, &[], |path, stat| match stat {
            Some(stat) => drop(listed.insert(path, stat)),
            None => drop(missing.insert(path)),
        })?;
        (self.files, self.missing) = (listed, missing);
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
        tree: &UserTree,
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
        list(tree, &names, |path, stat| {
            if let Some(stat) = stat {
                self.files.insert(path, stat);
            }
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

/// Lists files, of these names alone if there are some. One that git tracks and that is not there has no stat.
fn list(
    tree: &UserTree,
    names: &[&OsStr],
    mut found: impl FnMut(RelPath, Option<SourceStat>),
) -> Result<(), String> {
    let said = |error| {
        format!(
            "The files of {} cannot be listed: {error}",
            tree.root.display()
        )
    };
    let options = ["ls-files", "-z", "-c", "-o", "--exclude-standard", "--"];
    let mut arguments: Vec<OsString> = options.map(OsString::from).to_vec();
    arguments.extend(names.iter().map(|name| (*name).to_owned()));
    let git = tree.git().with("--literal-pathspecs");
    let all = git.bytes(&arguments).map_err(said)?;
    let mut directories = Directories::below(&tree.root);
    for path in all.split(|byte| *byte == 0) {
        // a directory has a slash at its end
        let Some(path) = RelPath::new(path) else {
            continue;
        };
        let relative = path.to_path();
        let file: PathBuf = tree.root.join(&relative);
        let above = relative.parent().unwrap_or(Path::new(""));
        if file.starts_with(&tree.runs) || !directories.are_real(above) {
            continue;
        }
        match file.symlink_metadata() {
            Ok(stat) if stat.is_file() || stat.is_symlink() => {
                found(path, Some(SourceStat::of(&stat)));
            }
            Ok(_) => {}
            Err(_) => found(path, None),
        }
    }
    Ok(())
}
