//! The owner of a store. A clone may bring a directory that looks like a store, and a store is believed: its journal
//! says what is written to the tree. So a store in a tree that may be a clone has to carry a stamp, which only the
//! user's own key on this machine makes. Elsewhere the place itself is the user's.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::places;
use crate::store::tables::operation;
use crate::store::{Store, make_private_dir, private_file};

/// In the state directory: the key of this user on this machine.
const KEY: &str = "machine";
/// In a store: its stamps, one line for each machine that works with it.
const STAMPS: &str = "owner";
/// The least length of a key.
const LEAST: usize = 32;

/// The outcome of a check that a store passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It has our stamp.
    Stamped,
    /// Its place is the user's own, and it has no stamp of this machine: an earlier version made it, or it was moved.
    Unstamped,
}

/// Makes the directory of a store for a workspace at `root`, with its stamp. One that is there is left as it is.
pub(crate) fn make(dir: &Path, root: &Path) -> Result<()> {
    places::check_state_dir(root)?;
    if dir.is_dir() {
        return Ok(());
    }
    make_private_dir(dir)?;
    begin(dir, root)
}

/// Takes over a store of the user's that an earlier version made: what was cut off in it is this machine's to
/// finish. A store that cannot take the stamp is taken over again the next time.
pub(crate) fn adopt(store: &Store) -> Result<()> {
    let machine = machine();
    if machine.is_some() && operation::any_without_machine(&store.conn)? {
        store.note(true, |conn| operation::adopt(conn, machine.as_deref()))?;
    }
    stamp(&store.dir).ok();
    Ok(())
}

/// Stamps an empty store. Without a key it could not be told from a prepared one the next time.
fn begin(dir: &Path, root: &Path) -> Result<()> {
    if !is_users_own(dir, root) {
        places::state_dir()?;
    }
    stamp(dir)
}

/// Checks that a store is the user's own, for a workspace at `root`. Nothing of it is read before. A store that is not
/// there yet is made.
pub fn check(dir: &Path, root: &Path) -> Result<Ownership> {
    places::check_state_dir(root)?;
    let Ok(meta) = std::fs::metadata(dir) else {
        make(dir, root)?;
        return Ok(Ownership::Stamped);
    };
    if !meta.is_dir() {
        // opening it gives the clearer error
        return Ok(Ownership::Unstamped);
    }
    for path in [dir.to_path_buf(), dir.join("store.db")] {
        private(&path)?;
    }
    if is_stamped(dir) {
        return Ok(Ownership::Stamped);
    }
    if is_users_own(dir, root) {
        return Ok(Ownership::Unstamped);
    }
    let is_empty = std::fs::read_dir(dir).at("read", dir)?.next().is_none();
    if is_empty {
        begin(dir, root)?;
        return Ok(Ownership::Stamped);
    }
    Err(Error::refused(
        format!(
            "the store {} lies in a tree that may have been cloned, and was not made by you on this machine. It is not \
             used, for it could have files written as it likes",
            dir.display()
        ),
        "if it is yours, move its directory out of the tree, and pass --store-dir or set `store.dir` in your own \
         config.toml; else remove it",
    ))
}

/// Refuses what is another user's, or may be written by one.
fn private(path: &Path) -> Result<()> {
    let Ok(meta) = std::fs::metadata(path) else {
        return Ok(());
    };
    let own = rustix::process::geteuid().as_raw();
    if meta.uid() != own {
        return Err(Error::refused(
            format!(
                "the store's {} belongs to another user (uid {}, yours is {own})",
                path.display(),
                meta.uid()
            ),
            "work as that user, or keep histories elsewhere: --store-dir names another directory",
        ));
    }
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(Error::refused(
            format!(
                "the store's {} can be written by other users (mode {mode:o})",
                path.display()
            ),
            format!(
                "`chmod -R go-w '{}'` makes it yours alone, if you trust what is in it",
                path.display()
            ),
        ));
    }
    Ok(())
}

/// True if nobody but the user can have put a store there: in the state directory, or outside of all trees that may
/// be clones.
fn is_users_own(dir: &Path, root: &Path) -> bool {
    let (Some(above), Some(name)) = (dir.parent(), dir.file_name()) else {
        return false;
    };
    let Ok(above) = above.canonicalize() else {
        return false;
    };
    let state = places::user_stores().and_then(|dir| dir.canonicalize().at("open", &dir));
    if state.is_ok_and(|state| state == above) {
        return true;
    }
    let place = above.join(name);
    let place = place.canonicalize().unwrap_or(place);
    !place.starts_with(root) && !places::is_in_a_clone(&place)
}

fn is_stamped(dir: &Path) -> bool {
    let Some(own) = stamp_of(dir) else {
        return false;
    };
    let stamps = crate::system::read_small(&dir.join(STAMPS), false).unwrap_or_default();
    stamps
        .split(|b| *b == b'\n')
        .any(|line| line == own.as_bytes())
}

/// Notes in a store that it is this machine's. Without a state directory there is nothing to note.
pub(crate) fn stamp(dir: &Path) -> Result<()> {
    let Some(own) = stamp_of(dir) else {
        return Ok(());
    };
    let path = dir.join(STAMPS);
    private_file(&path)
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(format!("{own}\n").as_bytes()))
        .at("write", &path)
}

/// The stamp of a store in this place: worth nothing in another, should anybody get to read it.
fn stamp_of(dir: &Path) -> Option<String> {
    let place = crate::model::os_bytes(dir.canonicalize().ok()?.as_os_str());
    keyed(&[b"store ", place.as_slice()].concat())
}

/// The name of this machine in journals. None: there is no state directory to keep a key in.
pub(crate) fn machine() -> Option<String> {
    keyed(b"journal")
}

fn keyed(what: &[u8]) -> Option<String> {
    let key = blake3::derive_key("backstitch 2026 owner of a store", &key()?);
    let hash = blake3::keyed_hash(&key, what).to_hex();
    Some(hash[..32].to_owned())
}

/// The key, which is made at the first time.
fn key() -> Option<Vec<u8>> {
    if cfg!(test) {
        return Some(b"of tests".to_vec());
    }
    let dir = places::state_dir().ok()?;
    let path = dir.join(KEY);
    let read = || std::fs::read(&path).ok().filter(|key| key.len() >= LEAST);
    if let Some(key) = read() {
        return Some(key);
    }
    make_private_dir(&dir).ok()?;
    make_key(&path).ok()?;
    read()
}

/// Another process may make one at the same time: the first one stays.
fn make_key(path: &Path) -> std::io::Result<()> {
    let mut key = [0; LEAST];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut key)?;
    let part: PathBuf = path.with_extension(std::process::id().to_string());
    private_file(&part)
        .create(true)
        .truncate(true)
        .write(true)
        .open(&part)
        .and_then(|mut file| {
            file.write_all(&key)?;
            file.sync_all()
        })?;
    if std::fs::metadata(path).is_ok_and(|meta| meta.len() < LEAST as u64) {
        // cut off by a full disk: nothing was stamped with it
        std::fs::remove_file(path)?;
    }
    let linked = std::fs::hard_link(&part, path);
    if linked.is_err() && !path.exists() {
        // this file system has no links
        return std::fs::rename(&part, path);
    }
    std::fs::remove_file(&part)
}
