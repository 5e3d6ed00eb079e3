//! The record of a session, as its agent keeps it. It is only read.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use backstitch_agents::conversations::{Conversations, RecordCandidate, RecordPlace, RecordSource};

use backstitch_core::Conversation;

use crate::terminal::error::{CliError, CliResult};

/// Records that begin in one another at most.
const MAX_BASES: usize = 64;

/// The bytes of a record, and its file.
#[derive(Debug)]
pub(super) struct ReadRecord {
    pub bytes: Vec<u8>,
    pub file: PathBuf,
}

/// Reads the record of a session, with those in which it begins.
pub(super) fn read(
    agent: &str,
    conversations: &dyn Conversations,
    place: &RecordPlace,
) -> CliResult<ReadRecord> {
    let file = find(agent, conversations, place)?;
    let mut bytes = bytes_of(&file, None)?;
    let mut base = conversations.base(&bytes);
    let mut known = vec![place.session.clone()];
    let mut before: Vec<Vec<u8>> = Vec::new();
    while let Some(part) = base {
        if known.contains(&part.session) || known.len() > MAX_BASES {
            return Err(CliError::refused(format!(
                "the record of the session {} begins in itself",
                place.session
            )));
        }
        known.push(part.session.clone());
        let earlier = RecordPlace {
            session: part.session.clone(),
            transcript: None,
            ..place.clone()
        };
        let earlier = find(agent, conversations, &earlier)?;
        let whole = bytes_of(&earlier, None)?;
        base = conversations.base(&whole);
        before.push(whole.into_iter().take(part.bytes).collect());
    }
    for part in before {
        bytes.splice(0..0, part);
    }
    Ok(ReadRecord { bytes, file })
}

fn find(agent: &str, conversations: &dyn Conversations, place: &RecordPlace) -> CliResult<PathBuf> {
    let RecordSource::Files(candidates) = conversations.source(place) else {
        return Err(CliError::refused(format!(
            "{agent} has no record in a file: its conversations cannot go back yet"
        )));
    };
    let found = candidates.iter().find_map(|candidate| match candidate {
        RecordCandidate::File(file) => file.is_file().then(|| file.clone()),
        RecordCandidate::Search {
            root,
            depth,
            suffix,
        } => newest(root, *depth, suffix),
    });
    found.ok_or_else(|| {
        let session = &place.session;
        CliError::refused(format!(
            "{agent} has no record of the session {session} any longer"
        ))
        .hint("--scope code rewinds the files alone")
    })
}

/// The newest file with this end of its name, so many folders below a directory.
fn newest(root: &Path, depth: usize, suffix: &str) -> Option<PathBuf> {
    let mut folders = vec![root.to_owned()];
    for _ in 0..depth {
        let inner = folders.iter().flat_map(|folder| entries(folder));
        folders = inner.filter(|path| path.is_dir()).collect();
    }
    let files = folders.iter().flat_map(|folder| entries(folder));
    let named = files.filter(|path| path.to_string_lossy().ends_with(suffix) && path.is_file());
    named.max_by_key(|path| {
        let changed = path.metadata().and_then(|stat| stat.modified());
        changed.unwrap_or(SystemTime::UNIX_EPOCH)
    })
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    all.map(|entry| entry.path()).collect()
}

/// Names of the folders in a directory.
pub(super) fn folders_in(dir: &Path) -> Vec<String> {
    let folders = entries(dir).into_iter().filter(|path| path.is_dir());
    let names = folders.filter_map(|path| path.file_name().map(ToOwned::to_owned));
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// The bytes of a file, or its first ones.
pub(super) fn bytes_of(file: &Path, most: Option<u64>) -> CliResult<Vec<u8>> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let opened = fs::File::open(file)?;
        opened
            .take(most.unwrap_or(u64::MAX))
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| {
        CliError::failed(format!("{} cannot be read: {error}", file.display()))
            .hint("--scope code rewinds the files alone")
    })
}

/// True if the file of a session is still as it was written, or the agent keeps it.
pub(super) fn is_as_written(row: &Conversation) -> bool {
    let Some(path) = path_of(row) else {
        return true;
    };
    let bytes = fs::read(path).ok();
    let hash = bytes.map(|bytes| blake3::hash(&bytes).as_bytes().to_vec());
    hash.is_some() && hash == row.hash
}

/// The path of its file. None: the agent keeps it.
pub(super) fn path_of(row: &Conversation) -> Option<PathBuf> {
    let place = row.place.clone()?;
    Some(OsString::from_vec(place).into())
}
