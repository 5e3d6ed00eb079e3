//! Proof that a recorder has processed every event up to a moment. The asker creates a file in a directory that the
//! recorder also watches. The kernel reports it after all earlier events, so the answer names everything touched
//! before. Without an answer in time nothing is proved, and the tree is walked.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::dirty::Extent;
use crate::model::RootId;
use crate::store;
use crate::worktree::changed_paths::ChangedPaths;

/// Time a hook waits for the answer before it walks the tree itself.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_millis(5);
const POLL_INTERVAL: Duration = Duration::from_micros(100);
const ASK: &[u8] = b".ask";
const ANSWER: &str = "answer";
/// First line of an answer: its version, then `all`, or `some` if the rest lists every touched path.
const ALL: &[u8] = b"1 all\n";
const SOME: &[u8] = b"1 some\n";

pub(crate) fn lease(store: &Path, root: RootId) -> PathBuf {
    store.join(format!("recorder-{}.lock", root.0))
}

pub(crate) fn dir(store: &Path, root: RootId) -> PathBuf {
    store.join(format!("recorder-{}", root.0))
}

/// Number of questions asked by this process.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Asks the recorder of this root, if there is one. None: nothing is proved.
pub(crate) fn ask(store: &Path, root: RootId, timeout: Duration) -> Option<ChangedPaths> {
    if !is_held(&lease(store, root)) {
        return None;
    }
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let question = dir(store, root).join(format!("{}-{number}.ask", std::process::id()));
    let answer = question.with_extension(ANSWER);
    fs::remove_file(&answer).ok();
    store::private_file(&question)
        .write(true)
        .create_new(true)
        .open(&question)
        .ok()?;
    let until = Instant::now() + timeout;
    let reply = loop {
        match fs::read(&answer) {
            Ok(reply) => break Some(reply),
            Err(_) if Instant::now() < until => std::thread::sleep(POLL_INTERVAL),
            Err(_) => break None,
        }
    };
    fs::remove_file(&question).ok();
    fs::remove_file(&answer).ok();
    ChangedPaths::read(reply?.strip_prefix(SOME)?)
}

/// True if a process holds the lease. The kernel frees it when the process ends.
pub(crate) fn is_held(lease: &Path) -> bool {
    let file = fs::File::open(lease);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

/// Returns the id of the process that watches this root, if any.
pub(crate) fn holder(store: &Path, root: RootId) -> Option<u32> {
    let lease = lease(store, root);
    if !is_held(&lease) {
        return None;
    }
    fs::read_to_string(lease).ok()?.trim().parse().ok()
}

/// True if a file of this name is a question.
pub(crate) fn is_question(name: &[u8]) -> bool {
    name.ends_with(ASK)
}

/// Writes the answer atomically. Paths in `linked` may have changed without an event.
pub(crate) fn answer<'a>(
    question: &Path,
    extent: &Extent,
    linked: impl IntoIterator<Item = &'a crate::model::RelPath>,
) -> std::io::Result<()> {
    let mut reply;
    match extent {
        Extent::All => reply = ALL.to_vec(),
        Extent::Only(touched) => {
            reply = SOME.to_vec();
            let mut touched = touched.clone();
            touched.paths.extend(linked.into_iter().cloned());
            touched.write(&mut reply);
        }
    }
    // the asker is gone: nobody would remove the answer
    if !question.exists() {
        return Ok(());
    }
    let part = question.with_extension("part");
    let mut file = store::private_file(&part)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&part)?;
    file.write_all(&reply)?;
    drop(file);
    fs::rename(&part, question.with_extension(ANSWER))
}

/// Removes files that dead askers left behind.
pub(crate) fn sweep(dir: &Path) {
    let old = |entry: &fs::DirEntry| {
        let time = entry.metadata().and_then(|m| m.modified()).ok();
        time.and_then(|t| t.elapsed().ok())
            .is_some_and(|age| age > Duration::from_mins(1))
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries.filter(old) {
        fs::remove_file(entry.path()).ok();
    }
}
