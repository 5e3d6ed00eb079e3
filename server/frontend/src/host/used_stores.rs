//! The stores that hooks have used for each workspace: a note in the user's state directory, so that a setting which leads them to
//! another store does not hide the history and the breakpoints that were there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use backstitch_control::now;
use backstitch_core::{Locate, Workspace, state_dir};
use serde::{Deserialize, Serialize};

use super::binding::private_dir;

/// Maximum number of earlier stores that are kept.
const MAX_EARLIER: usize = 8;

/// A store that hooks used before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierStore {
    pub dir: PathBuf,
    /// The time at which another one took its place, in microseconds since 1970. None: no hook has run since.
    pub until: Option<i64>,
}

impl EarlierStore {
    /// True if breakpoints are armed in it.
    pub fn is_armed(&self) -> bool {
        self.dir.join("armed").exists()
    }

    fn is_there(&self) -> bool {
        ["store.db", "control.db"]
            .iter()
            .any(|name| self.dir.join(name).is_file())
    }
}

/// News about the store of a workspace, for the hook that finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreNews {
    /// The settings lead to another store than before.
    Other(EarlierStore),
    /// The history that hooks recorded until now is gone from its place.
    Removed,
}

/// File in a store with a name by chance, so that another store in its place is known. It comes along with a copy or a backup, and
/// numbers of the file system may change at each start of the machine.
const NAME: &str = "name";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct UsedStores {
    store: PathBuf,
    earlier: Vec<EarlierStore>,
    /// The name in the store as a hook saw it. None: no hook has yet.
    #[serde(default)]
    name: Option<String>,
    /// The time at which a hook found it gone, in microseconds since 1970.
    #[serde(default)]
    removed: Option<i64>,
}

impl UsedStores {
    fn read(root: &Path) -> Option<Self> {
        let text = fs::read(file(root)?).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Returns the note of a workspace that has none: until now hooks used its usual store, if there is one.
    fn first(workspace: &Workspace) -> Self {
        let usual = usual(&workspace.root);
        Self {
            store: usual.unwrap_or_else(|| workspace.store_dir.clone()),
            earlier: Vec::new(),
            name: None,
            removed: None,
        }
    }

    /// True if another store is in the place of the one that hooks used, or none. One that cannot be read may be the same.
    fn is_removed(&self, now: &io::Result<String>) -> bool {
        let is_other = |before: &String| match now {
            Ok(now) => now != before,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        self.name.as_ref().is_some_and(is_other)
    }

    /// Makes this store the one in use. Returns the one that was, if that has changed.
    fn change(&mut self, store: &Path) -> Option<EarlierStore> {
        if self.store == store {
            return None;
        }
        let before = EarlierStore {
            dir: std::mem::replace(&mut self.store, store.to_path_buf()),
            until: Some(now()),
        };
        self.earlier
            .retain(|one| one.dir != before.dir && one.dir != store);
        self.earlier.insert(0, before.clone());
        self.earlier.truncate(MAX_EARLIER);
        (self.name, self.removed) = (None, None);
        before.is_there().then_some(before)
    }

    fn write(&self, root: &Path) -> Option<()> {
        let file = file(root)?;
        let dir = file.parent()?;
        private_dir(dir).ok()?;
        let mut part = tempfile::NamedTempFile::new_in(dir).ok()?;
        std::io::Write::write_all(&mut part, &serde_json::to_vec(self).ok()?).ok()?;
        part.persist(&file).ok().map(drop)
    }
}

/// Notes the store that a hook uses. Returns news, if it is another one than hooks used until now.
pub fn note(workspace: &Workspace) -> Option<StoreNews> {
    let root = &workspace.root;
    let known = UsedStores::read(root);
    let name = name_of(&workspace.store_dir);
    let is_noted = known.as_ref().is_some_and(|known| {
        known.store == workspace.store_dir
            && known.name.is_some()
            && known.name.as_ref() == name.as_ref().ok()
    });
    if is_noted {
        return None;
    }
    let mut note = known.unwrap_or_else(|| UsedStores::first(workspace));
    let before = note.change(&workspace.store_dir);
    let is_removed = note.is_removed(&name);
    if is_removed {
        note.removed = Some(now());
    }
    if is_removed || note.name.is_none() {
        note.name = name.or_else(|_| give_name(workspace)).ok();
    }
    // a failure costs the note alone
    note.write(root);
    match before {
        Some(before) => Some(StoreNews::Other(before)),
        None => is_removed.then_some(StoreNews::Removed),
    }
}

/// Returns the time at which the history of a workspace was found gone, in microseconds since 1970.
pub fn removed(workspace: &Workspace) -> Option<i64> {
    let note = UsedStores::read(&workspace.root)?;
    if note.store != workspace.store_dir {
        return None;
    }
    let is_removed = note.is_removed(&name_of(&workspace.store_dir));
    if is_removed {
        Some(now())
    } else {
        note.removed
    }
}

fn name_of(store_dir: &Path) -> io::Result<String> {
    fs::read_to_string(store_dir.join(NAME))
}

/// Writes a name into a store that has none. Another hook may have done so meanwhile.
fn give_name(workspace: &Workspace) -> io::Result<String> {
    let dir = &workspace.store_dir;
    let mut part = tempfile::NamedTempFile::new_in(dir)?;
    let chance = part.path().as_os_str().as_encoded_bytes();
    let name = blake3::hash(&[chance, &now().to_le_bytes()].concat()).to_hex();
    std::io::Write::write_all(&mut part, name.as_bytes())?;
    part.persist_noclobber(dir.join(NAME)).ok();
    name_of(dir)
}

/// Returns the stores with a history or breakpoints of a workspace that are no longer in use, the last one first.
pub fn earlier(workspace: &Workspace) -> Vec<EarlierStore> {
    let root = &workspace.root;
    let by_settings = Workspace::find(&Locate {
        workspace: Some(root),
        store_dir: None,
        cwd: root,
    });
    // a store that was asked for by name is not a change of the settings
    if !by_settings.is_ok_and(|found| found.store_dir == workspace.store_dir) {
        return Vec::new();
    }
    let mut note = UsedStores::read(root).unwrap_or_else(|| UsedStores::first(workspace));
    if note.change(&workspace.store_dir).is_some()
        && let Some(newest) = note.earlier.first_mut()
    {
        newest.until = None;
    }
    note.earlier.retain(EarlierStore::is_there);
    note.earlier
}

/// Returns the store of a workspace without any setting.
fn usual(root: &Path) -> Option<PathBuf> {
    let stores = state_dir().ok()?.join("workspaces");
    let found = Workspace::find(&Locate {
        workspace: Some(root),
        store_dir: Some(&stores),
        cwd: root,
    });
    let found = found.ok()?.store_dir;
    found.is_dir().then_some(found)
}

fn file(root: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    let hash = blake3::hash(root.as_os_str().as_bytes()).to_hex();
    Some(
        state_dir()
            .ok()?
            .join("used-stores")
            .join(&hash.as_str()[..32]),
    )
}
