//! Caches of one repository: a directory for each key and list of paths, complete from the moment it has its name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::super::stored_name::directory_name;
use super::archive::{self, Base, Compression};
use crate::digest::hexadecimal;
use crate::place::{RunPlace, WithPath, create_private, remove_tree, write_durably};
use crate::repository::ProjectRepository;

const RECORD: &str = "cache.json";

/// Bytes that all caches of a repository have together, as on GitHub.
const MAX_SIZE: u64 = 10 * 1024 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct CacheStore {
    dir: PathBuf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CacheEntry {
    pub key: String,
    /// Digest of the paths: caches of other paths are other caches.
    pub version: String,
    pub compression: Compression,
    /// Nanoseconds since 1970.
    pub created: u128,
    pub size: u64,
    #[serde(skip)]
    dir: PathBuf,
}

impl CacheEntry {
    pub fn archive(&self, base: Base) -> PathBuf {
        self.dir.join(base.file_name())
    }
}

impl CacheStore {
    pub fn of(place: &RunPlace, repository: &ProjectRepository) -> CacheStore {
        let name = directory_name(&repository.full_name());
        CacheStore {
            dir: place.caches.join("actions").join(name),
        }
    }

    /// The cache with the key, else the newest one whose key begins with it, else the same for each prefix in its order.
    pub fn find(
        &self,
        paths: &[&str],
        key: &str,
        prefixes: &[&str],
    ) -> io::Result<Option<CacheEntry>> {
        let version = version(paths);
        let mut entries = self.entries()?;
        entries.retain(|entry| entry.version == version);
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.created));
        let exact = entries.iter().find(|entry| entry.key == key);
        let by_prefix = || {
            let mut keys = std::iter::once(&key).chain(prefixes);
            keys.find_map(|key| entries.iter().find(|entry| entry.key.starts_with(key)))
        };
        Ok(exact.or_else(by_prefix).cloned())
    }

    pub fn has(&self, paths: &[&str], key: &str) -> bool {
        self.entry_dir(&version(paths), key).join(RECORD).exists()
    }

    fn entry_dir(&self, version: &str, key: &str) -> PathBuf {
        self.dir.join(directory_name(&format!("{version}-{key}")))
    }

    fn entries(&self) -> io::Result<Vec<CacheEntry>> {
        let listed = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.with_path(&self.dir)?,
        };
        let mut entries = Vec::new();
        for listed in listed {
            let dir = listed.with_path(&self.dir)?.path();
            let is_new = dir
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_new {
                continue;
            }
            let record = dir.join(RECORD);
            let text = match fs::read(&record) {
                // another run has just removed it
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                text => text.with_path(&record)?,
            };
            let read: Result<CacheEntry, _> = serde_json::from_slice(&text);
            let mut entry = read.map_err(io::Error::from).with_path(&record)?;
            entry.dir = dir;
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Directory of a cache that is not complete. A run saves one at a time.
    fn new_dir(&self, place: &RunPlace) -> PathBuf {
        self.dir.join(format!(".new-{}", place.id))
    }

    /// Removes a cache of this run that is not complete.
    pub fn clean_up(&self, place: &RunPlace) {
        // it is not listed in any case
        let _ = remove_tree(&self.new_dir(place));
    }

    /// Stores files and directories under a key. Returns the size, or none if another run was faster.
    pub fn save(
        &self,
        place: &RunPlace,
        paths: &[&str],
        key: &str,
        found: &[PathBuf],
    ) -> io::Result<Option<u64>> {
        create_private(&self.dir)?;
        let new = self.new_dir(place);
        remove_tree(&new)?;
        let stored = self.store(&new, place, paths, key, found);
        if !matches!(stored, Ok(Some(_))) {
            // the first error is the reason; what is left is not listed
            let _ = remove_tree(&new);
        }
        let size = stored?;
        self.trim()?;
        Ok(size)
    }

    fn store(
        &self,
        new: &Path,
        place: &RunPlace,
        paths: &[&str],
        key: &str,
        found: &[PathBuf],
    ) -> io::Result<Option<u64>> {
        create_private(new)?;
        let compression = Compression::available();
        let mut size = 0;
        for base in Base::ALL {
            let members = found.iter().map(|path| Base::of(place, path));
            let members: Vec<&Path> = members
                .filter(|(of, _)| *of == base)
                .map(|(_, path)| path)
                .collect();
            if members.is_empty() {
                continue;
            }
            let archive = new.join(base.file_name());
            archive::create(
                &archive,
                &new.join("list"),
                &base.directory(place),
                &outermost(&members),
                compression,
            )?;
            size += fs::metadata(&archive).with_path(&archive)?.len();
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let entry = CacheEntry {
            key: key.to_owned(),
            version: version(paths),
            compression,
            created: now.as_nanos(),
            size,
            dir: self.entry_dir(&version(paths), key),
        };
        write_durably(
            &new.join(RECORD),
            &serde_json::to_vec(&entry).map_err(io::Error::from)?,
        )?;
        match fs::rename(new, &entry.dir) {
            Ok(()) => Ok(Some(size)),
            Err(_) if entry.dir.join(RECORD).exists() => Ok(None),
            Err(error) => Err(error).with_path(&entry.dir),
        }
    }

    /// Removes the oldest caches while all together are too large.
    fn trim(&self) -> io::Result<()> {
        let mut entries = self.entries()?;
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.created));
        let mut size = 0;
        for entry in entries {
            size += entry.size;
            if size > MAX_SIZE {
                remove_tree(&entry.dir)?;
            }
        }
        Ok(())
    }
}

/// Paths of which none lies below another: tar takes a directory with all below it.
fn outermost<'a>(members: &[&'a Path]) -> Vec<&'a Path> {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    let mut all: Vec<&Path> = Vec::new();
    for path in sorted {
        if !all.last().is_some_and(|last| path.starts_with(last)) {
            all.push(path);
        }
    }
    all
}

fn version(paths: &[&str]) -> String {
    hexadecimal(&Sha256::digest(paths.join("\n").as_bytes()))
}
