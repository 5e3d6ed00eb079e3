//! Artifacts as directories: each is complete from the moment it has its name (J8).

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::super::copy::{Directories, copy_file, is_plain_file};
use super::super::stored_name::directory_name;
use crate::digest::hexadecimal;
use crate::place::{WithPath, create_private, remove_tree, write_durably};

const RECORD: &str = "artifact.json";
const FILES: &str = "files";

/// Name of an artifact that is not complete. A run has one upload at a time.
const NEW: &str = ".new";

/// Characters that neither an artifact's name nor a path in it has, as on GitHub.
const FORBIDDEN: [(char, &str); 9] = [
    ('"', "Double quote \""),
    (':', "Colon :"),
    ('<', "Less than <"),
    ('>', "Greater than >"),
    ('|', "Vertical bar |"),
    ('*', "Asterisk *"),
    ('?', "Question mark ?"),
    ('\r', "Carriage return \\r"),
    ('\n', "Line feed \\n"),
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Artifact {
    pub name: String,
    pub id: u64,
    /// SHA-256 over names and contents, in hexadecimal digits.
    pub digest: String,
    pub files: usize,
    pub size: u64,
    #[serde(skip)]
    pub dir: PathBuf,
}

/// A file of an artifact and its path in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArtifactFile {
    pub source: PathBuf,
    pub path: PathBuf,
}

impl Artifact {
    pub fn files_dir(&self) -> PathBuf {
        self.dir.join(FILES)
    }
}

/// Refuses a name that GitHub refuses.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("Provided artifact name input during validation is empty".to_owned());
    }
    let forbidden = FORBIDDEN
        .iter()
        .chain(&[('\\', "Backslash \\"), ('/', "Forward slash /")]);
    for (character, text) in forbidden {
        if name.contains(*character) {
            return Err(format!(
                "The artifact name is not valid: {name}. Contains the following character: {text}"
            ));
        }
    }
    Ok(())
}

/// Refuses a path in an artifact that GitHub refuses.
pub(super) fn check_path(path: &Path) -> Result<(), String> {
    let text = path.to_string_lossy();
    for (character, name) in FORBIDDEN {
        if text.contains(character) {
            return Err(format!(
                "The path for one of the files in artifact is not valid: {text}. Contains the following character: {name}"
            ));
        }
    }
    Ok(())
}

/// All artifacts below a directory, by their names. A directory that is not complete is none.
pub(super) fn all(dir: &Path) -> io::Result<Vec<Artifact>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_path(dir)?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry.with_path(dir)?;
        if entry.file_name().as_bytes().starts_with(b".") {
            continue;
        }
        let record = entry.path().join(RECORD);
        let text = fs::read(&record).with_path(&record)?;
        let read: Result<Artifact, _> = serde_json::from_slice(&text);
        let mut artifact = read.map_err(io::Error::from).with_path(&record)?;
        artifact.dir = entry.path();
        all.push(artifact);
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Stores an artifact; one with the same name is replaced.
pub(super) fn put(dir: &Path, name: &str, files: &[ArtifactFile]) -> io::Result<Artifact> {
    create_private(dir)?;
    let new = dir.join(NEW);
    remove_tree(&new)?;
    let stored = store(dir, &new, name, files);
    if stored.is_err() {
        // the first error is the reason; what is left is not listed
        let _ = remove_tree(&new);
    }
    stored
}

/// Removes an artifact that is not complete.
pub(super) fn clean_up(dir: &Path) {
    // it is not listed in any case, and goes with the run
    let _ = remove_tree(&dir.join(NEW));
}

fn store(dir: &Path, new: &Path, name: &str, files: &[ArtifactFile]) -> io::Result<Artifact> {
    let content = new.join(FILES);
    create_private(&content)?;
    let mut directories = Directories::below(&content);
    let mut digest = Sha256::new();
    let mut size = 0;
    for file in files {
        directories.make(file.path.parent().unwrap_or(Path::new("")))?;
        let target = content.join(&file.path);
        // a zip keeps no modes, and the action says so
        size += copy_file(&file.source, &target, false)?;
        digest.update(file.path.as_os_str().as_bytes());
        digest.update([0]);
        io::copy(
            &mut fs::File::open(&target).with_path(&target)?,
            &mut HashWriter(&mut digest),
        )?;
    }
    let known = all(dir)?;
    let artifact = Artifact {
        name: name.to_owned(),
        id: known.iter().map(|artifact| artifact.id).max().unwrap_or(0) + 1,
        digest: hexadecimal(&digest.finalize()),
        files: files.len(),
        size,
        dir: dir.join(directory_name(name)),
    };
    write_durably(
        &new.join(RECORD),
        &serde_json::to_vec(&artifact).map_err(io::Error::from)?,
    )?;
    if artifact.dir.exists() {
        let old = dir.join(format!(".old-{}", std::process::id()));
        remove_tree(&old)?;
        fs::rename(&artifact.dir, &old).with_path(&artifact.dir)?;
        fs::rename(new, &artifact.dir).with_path(&artifact.dir)?;
        let _ = remove_tree(&old);
    } else {
        fs::rename(new, &artifact.dir).with_path(&artifact.dir)?;
    }
    Ok(artifact)
}

/// Regular files of an artifact, with their paths in it.
pub(super) fn files(artifact: &Artifact) -> io::Result<Vec<ArtifactFile>> {
    let root = artifact.files_dir();
    let mut open = vec![PathBuf::new()];
    let mut all = Vec::new();
    while let Some(below) = open.pop() {
        let dir = root.join(&below);
        for entry in fs::read_dir(&dir).with_path(&dir)? {
            let entry = entry.with_path(&dir)?;
            let path = below.join(entry.file_name());
            if entry.file_type().with_path(&dir)?.is_dir() {
                open.push(path);
            } else if is_plain_file(&entry.path()) {
                all.push(ArtifactFile {
                    source: entry.path(),
                    path,
                });
            }
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
