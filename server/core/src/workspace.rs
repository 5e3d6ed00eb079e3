//! Maps trees to stores: finds the workspace of a path, and its store in the user's state directory.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config;
use crate::error::{Context, Error, Result};
use crate::hint::Hint;
use crate::model::{ContentId, bytes_path, os_bytes};
use crate::owner;
use crate::places::{
    MARK, is_linked_worktree, is_marked, is_versioned, jobs_dir, state_dir, too_wide, user_stores,
};
pub use crate::places::{Workspace, WorkspaceKind};
use crate::store;
use crate::system::DirIdentity;

/// Input for finding a workspace.
#[derive(Clone, Copy, Debug)]
pub struct Locate<'a> {
    /// Directory named by the user. Disables the search.
    pub workspace: Option<&'a Path>,
    /// Directory for the stores of all workspaces. Overrides the user's state directory and the settings.
    pub store_dir: Option<&'a Path>,
    pub cwd: &'a Path,
}

/// File in the place of a forked directory's own store: the path of the shared store.
const SHARED: &str = "shared";
/// Names in the directory of a CI job's run: its files, and the store of their history.
pub const RUN_FILES: &str = "files";
const RUN_STORE: &str = "store";
/// File in a store whose directory was moved: a new directory at the old path is another workspace.
const AWAY: &str = "away";

fn set_away(store_dir: &Path) -> Result<()> {
    let away = store_dir.join(AWAY);
    store::private_file(&away)
        .create(true)
        .append(true)
        .open(&away)
        .at("write", &away)?;
    Ok(())
}

/// Notes of directories by identity: the store of each, and its last known path.
struct Noted;

impl Noted {
    fn dir(base: &Path) -> PathBuf {
        match state_dir() {
            Ok(state) if state.join("workspaces") == base => state.join("places"),
            _ => base.join(".places"),
        }
    }

    fn file(base: &Path, identity: DirIdentity) -> PathBuf {
        Self::dir(base).join(format!("{:x}-{:x}", identity.inode, identity.btime))
    }

    fn read(base: &Path, identity: DirIdentity) -> Option<(PathBuf, PathBuf)> {
        let text = std::fs::read(Self::file(base, identity)).ok()?;
        let mut fields = text.split(|b| *b == 0).map(bytes_path);
        Some((fields.next()?, fields.next()?))
    }

    fn write(base: &Path, identity: DirIdentity, workspace: &Workspace) -> Result<()> {
        // several engines of one process may write the note of the same directory
        static LAST: AtomicU64 = AtomicU64::new(0);
        let file = Self::file(base, identity);
        store::make_private_dir(&Self::dir(base))?;
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let part = file.with_extension(format!("{}-{number}", std::process::id()));
        let store = os_bytes(workspace.store_dir.as_os_str());
        let text = [store, os_bytes(workspace.root.as_os_str())].join(&0);
        store::private_file(&part)
            .create(true)
            .truncate(true)
            .write(true)
            .open(&part)
            .and_then(|mut file| std::io::Write::write_all(&mut file, &text))
            .and_then(|()| std::fs::rename(&part, &file))
            .at("write", &file)
    }

    fn forget(base: &Path, identity: DirIdentity) {
        std::fs::remove_file(Self::file(base, identity)).ok();
    }
}

impl Workspace {
    /// Finds the workspace of a path: an existing one or a linked worktree that encloses it; else the nearest `.backstitch.toml`.
    /// Without one it is the outermost version-control root, or else the directory itself. The root of the file system and the home
    /// directory must be initialised explicitly.
    pub fn find(l: &Locate<'_>) -> Result<Self> {
        let from = l.workspace.unwrap_or(l.cwd);
        let from = from.canonicalize().at("open the workspace", from)?;
        if !from.is_dir() {
            return Err(Error::Usage(format!(
                "{} is not a directory",
                from.display()
            )));
        }
        if let Some(run) = Self::of_run(&from) {
            return Ok(run);
        }
        let base = stores(l)?;
        let known = |root: &Path| Self::known(&base, root);
        if l.workspace.is_some() {
            return match known(&from) {
                Some(here) => Ok(here),
                None if too_wide(&from) => Err(refusal(&from)),
                None => Ok(Self::at(&base, &from)),
            };
        }
        for dir in from.ancestors() {
            if let Some(known) = known(dir) {
                return Ok(known);
            }
            if is_linked_worktree(dir) {
                return Ok(Self::at(&base, dir));
            }
        }
        let marked = from.ancestors().find(|dir| dir.join(MARK).is_file());
        let versioned = || {
            from.ancestors()
                .filter(|dir| !too_wide(dir))
                .filter(|dir| is_versioned(dir))
                .last()
        };
        let root = marked.or_else(versioned).unwrap_or(&from);
        if too_wide(root) {
            Err(refusal(root))
        } else {
            Ok(Self::at(&base, root))
        }
    }

    /// Makes the workspace of a CI job's run: the files in the directory of the run, and a store beside them.
    pub fn run(dir: &Path) -> Result<Self> {
        let workspace = Self::run_in(&dir.canonicalize().at("open", dir)?);
        owner::make(&workspace.store_dir, &workspace.root)?;
        Ok(workspace)
    }

    fn run_in(dir: &Path) -> Self {
        Self {
            root: dir.join(RUN_FILES),
            store_dir: dir.join(RUN_STORE),
            shared: false,
            kind: WorkspaceKind::Run,
        }
    }

    /// The directory of the run whose files these are. None for the files of a user.
    pub fn run_dir(&self) -> Option<&Path> {
        match self.kind {
            WorkspaceKind::Run => self.root.parent(),
            WorkspaceKind::Project => None,
        }
    }

    /// Finds the run that a path lies in: only the user's own directory of runs has one.
    fn of_run(from: &Path) -> Option<Self> {
        // each hook asks, and hardly any path has the name
        if !from.iter().any(|part| part == RUN_FILES) {
            return None;
        }
        let jobs = jobs_dir().ok()?.canonicalize().ok()?;
        let below = from.strip_prefix(&jobs).ok()?;
        let mut names = below.components();
        let (run, files) = (names.next()?, names.next()?);
        let run = Self::run_in(&jobs.join(run));
        (files.as_os_str() == RUN_FILES && run.exists()).then_some(run)
    }

    /// True if the directory is marked as a workspace: by version control, or by its own file.
    pub fn is_marked(&self) -> bool {
        is_marked(&self.root)
    }

    /// Returns the directory that holds its store and those of other workspaces.
    pub fn stores(&self) -> &Path {
        beside(&self.store_dir)
    }

    /// Returns the file that is rewritten after each commit that other processes should notice.
    pub fn bell(&self) -> PathBuf {
        self.store_dir.join(store::BELL)
    }

    /// The same for breakpoints and held calls.
    pub fn control_bell(&self) -> PathBuf {
        self.store_dir.join(crate::store::CONTROL_BELL)
    }

    fn at(base: &Path, root: &Path) -> Self {
        let own = own_dir(base, root);
        let shared = std::fs::read(own.join(SHARED)).ok();
        Self {
            root: root.to_path_buf(),
            shared: shared.is_some(),
            kind: WorkspaceKind::Project,
            store_dir: shared.map_or(own, |other| bytes_path(&other)),
        }
    }

    fn exists(&self) -> bool {
        self.shared || self.store_dir.join("store.db").is_file()
    }

    /// Finds an existing workspace: a moved directory, or one with a store for this path.
    fn known(base: &Path, root: &Path) -> Option<Self> {
        let by_path = || Some(Self::at(base, root)).filter(Self::exists);
        Self::moved(base, root).or_else(by_path)
    }

    /// Finds the workspace of a directory that was moved away from its last known path.
    fn moved(base: &Path, root: &Path) -> Option<Self> {
        let identity = DirIdentity::of(root)?;
        let (store_dir, path) = Noted::read(base, identity)?;
        let moved = path != root
            && DirIdentity::of(&path) != Some(identity)
            && store_dir.join("store.db").is_file();
        moved.then(|| Self {
            root: root.to_path_buf(),
            store_dir,
            shared: true,
            kind: WorkspaceKind::Project,
        })
    }

    /// Finds the workspace that encloses a path and has a store beside this one.
    pub(crate) fn enclosing(place: &Path, store_dir: &Path) -> Option<Self> {
        let base = beside(store_dir);
        let mut above = place.ancestors().skip(1);
        above.find_map(|dir| Self::known(base, dir))
    }

    /// Finds the workspace again, after the first result turned out to be wrong.
    pub(crate) fn again(&self) -> Result<Self> {
        if let Some(identity) = DirIdentity::of(&self.root) {
            Noted::forget(beside(&self.store_dir), identity);
        }
        Self::find(&Locate {
            workspace: None,
            store_dir: Some(beside(&self.store_dir)),
            cwd: &self.root,
        })
    }

    /// Registers the directory with this store, by path and, for moves, by identity. `taken`: true if another directory
    /// of the store is at a path.
    pub(crate) fn bind(
        &self,
        identity: DirIdentity,
        taken: impl Fn(&Path) -> Result<bool>,
    ) -> Result<()> {
        let base = beside(&self.store_dir);
        let was = Noted::read(base, identity);
        if was.as_ref().is_some_and(|(store, path)| {
            (store.as_path(), path.as_path()) == (&self.store_dir, &self.root)
        }) {
            return Ok(());
        }
        let own = is_family(&self.store_dir, &self.root);
        if !own && !self.shared {
            // a store at an explicit path is found by that path
            return Ok(());
        }
        let moved = was.filter(|(store, path)| *store == self.store_dir && *path != self.root);
        if let Some((_, left)) = moved
            && !taken(&left)?
        {
            if own_dir(base, &left) == self.store_dir {
                set_away(&self.store_dir)?;
            } else {
                unshare(&left, &self.store_dir);
            }
        }
        if own {
            std::fs::remove_file(self.store_dir.join(AWAY)).ok();
        } else {
            // the previous directory at this path no longer exists
            let own = own_dir(base, &self.root);
            if own.join("store.db").exists() {
                set_away(&own)?;
            } else if may_share(&self.root, &self.store_dir).is_err() {
                std::fs::remove_file(own.join(SHARED)).at("remove", &own)?;
            }
            share(&self.root, &self.store_dir)?;
        }
        Noted::write(base, identity, self)
    }

    /// Makes a directory its own workspace, even inside another one.
    pub fn init(l: &Locate<'_>, dir: &Path) -> Result<Self> {
        let root = dir.canonicalize().at("open", dir)?;
        if !root.is_dir() {
            return Err(Error::Usage(format!(
                "{} is not a directory",
                root.display()
            )));
        }
        let store_dir = own_dir(&stores(l)?, &root);
        if store_dir.join(SHARED).is_file() {
            return Err(Error::refused(
                format!(
                    "{} is already a workspace, forked from another",
                    root.display()
                ),
                Hint::terminal("`backstitch status` there shows which"),
            ));
        }
        owner::make(&store_dir, &root)?;
        Ok(Self {
            root,
            store_dir,
            shared: false,
            kind: WorkspaceKind::Project,
        })
    }
}

/// State of a directory's own store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shares {
    Nothing,
    /// A reference to this store.
    This,
}

/// Checks that a directory may use this store, because it has no history of its own.
pub(crate) fn may_share(root: &Path, store_dir: &Path) -> Result<Shares> {
    let own = own_dir(beside(store_dir), root);
    let other = std::fs::read(own.join(SHARED)).ok();
    let this = other
        .as_ref()
        .map(|o| *o == os_bytes(store_dir.as_os_str()));
    if own.join("store.db").exists() || this == Some(false) {
        return Err(Error::refused(
            format!("{} has its own history", root.display()),
            format!("name another directory, or move {} aside", own.display()),
        ));
    }
    Ok(if this.is_some() {
        Shares::This
    } else {
        Shares::Nothing
    })
}

/// Makes a directory use the store of another.
pub(crate) fn share(root: &Path, store_dir: &Path) -> Result<()> {
    if may_share(root, store_dir)? == Shares::This {
        return Ok(());
    }
    let own = own_dir(beside(store_dir), root);
    store::make_private_dir(&own)?;
    let path = own.join(SHARED);
    store::private_file(&path)
        .create(true)
        .truncate(true)
        .write(true)
        .open(&path)
        .and_then(|mut file| {
            std::io::Write::write_all(&mut file, &os_bytes(store_dir.as_os_str()))?;
            file.sync_all()
        })
        .at("write", &path)
}

/// Undoes `share`.
pub(crate) fn unshare(root: &Path, store_dir: &Path) {
    let own = own_dir(beside(store_dir), root);
    let ours = std::fs::read(own.join(SHARED)).ok();
    if ours.is_some_and(|ours| ours == os_bytes(store_dir.as_os_str())) {
        std::fs::remove_file(own.join(SHARED)).ok();
        std::fs::remove_dir(own).ok();
    }
}

/// Returns the directory that holds this store and those of other workspaces.
fn beside(store_dir: &Path) -> &Path {
    store_dir.parent().unwrap_or(store_dir)
}

/// Returns the path of a directory's own store: the first that no moved directory holds.
fn own_dir(base: &Path, root: &Path) -> PathBuf {
    let mut name = store_name(root);
    while base.join(&name).join(AWAY).exists() {
        name.push(NEXT);
    }
    base.join(name)
}

const NEXT: char = '+';

/// True if the store was created for this path.
fn is_family(store_dir: &Path, root: &Path) -> bool {
    let name = store_dir.file_name().unwrap_or_default().to_string_lossy();
    name.trim_end_matches(NEXT) == store_name(root)
}

/// The directory that holds the stores: the command line names it, else the user's own settings, else it is in the
/// user's state directory. A file in a workspace has no say: it may come with a clone, and so may a store.
fn stores(l: &Locate<'_>) -> Result<PathBuf> {
    match l.store_dir {
        Some(dir) => std::path::absolute(dir).at("find", dir),
        None => match config::user_store_dir(l.workspace.unwrap_or(l.cwd)) {
            Some(dir) => Ok(dir),
            None => user_stores(),
        },
    }
}

/// Returns a readable name that is unique for every root.
fn store_name(root: &Path) -> String {
    let name: String = root
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '_'
            }
        })
        .take(48)
        .collect();
    let hash = ContentId::of(&os_bytes(root.as_os_str())).to_string();
    format!(
        "{}-{}",
        if name.is_empty() { "root" } else { &name },
        &hash[..16]
    )
}

fn refusal(dir: &Path) -> Error {
    Error::refused(
        format!("{} is too wide to be a workspace by itself", dir.display()),
        Hint::TooWide,
    )
}
