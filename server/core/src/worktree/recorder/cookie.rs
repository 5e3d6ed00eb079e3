//! The proof that a recorder has seen everything up to a moment. Who wants to know makes a file in a directory
//! that the recorder watches beside the tree: the kernel tells of it after all that happened before, so the answer
//! to it names all that was touched. Without an answer in time, nothing is proved and the tree is walked.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::dirty::Extent;
use super::touched::ChangedPaths;
use crate::model::RootId;
use crate::store;

/// How long a hook waits before it walks the tree itself.
pub(crate) const PATIENCE: Duration = Duration::from_millis(5);
const STEP: Duration = Duration::from_micros(100);
const ASK: &[u8] = b".ask";
const ANSWER: &str = "answer";
/// First line of an answer: its version, and whether the rest is all that was touched.
const ALL: &[u8] = b"1 all\n";
const SOME: &[u8] = b"1 some\n";

pub(super) fn lease(store: &Path, root: RootId) -> PathBuf {
    store.join(format!("recorder-{}.lock", root.0))
}

pub(super) fn dir(store: &Path, root: RootId) -> PathBuf {
    store.join(format!("recorder-{}", root.0))
}

/// Questions asked by this process.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Asks the recorder of this root, if there is one. None: nothing is proved.
pub(crate) fn ask(store: &Path, root: RootId, patience: Duration) -> Option<ChangedPaths> {
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
    let until = Instant::now() + patience;
    let said = loop {
        match fs::read(&answer) {
            Ok(said) => break Some(said),
            Err(_) if Instant::now() < until => std::thread::sleep(STEP),
            Err(_) => break None,
        }
    };
    fs::remove_file(&question).ok();
    fs::remove_file(&answer).ok();
    ChangedPaths::read(said?.strip_prefix(SOME)?)
}

/// Whether a process holds the lease. It is freed with the process, however that ends.
pub(super) fn is_held(lease: &Path) -> bool {
    let file = fs::File::open(lease);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

/// Whether a file of this name is a question.
pub(super) fn is_question(name: &[u8]) -> bool {
    name.ends_with(ASK)
}

/// Answers, whole or not at all. `linked` may have changed unseen.
pub(super) fn answer<'a>(
    question: &Path,
    extent: &Extent,
    linked: impl IntoIterator<Item = &'a crate::model::RelPath>,
) -> std::io::Result<()> {
    let mut said;
    match extent {
        Extent::All => said = ALL.to_vec(),
        Extent::Only(touched) => {
            said = SOME.to_vec();
            let mut touched = touched.clone();
            touched.paths.extend(linked.into_iter().cloned());
            touched.write(&mut said);
        }
    }
    // who asked is gone already: nobody would take the answer away
    if !question.exists() {
        return Ok(());
    }
    let part = question.with_extension("part");
    let mut file = store::private_file(&part)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&part)?;
    file.write_all(&said)?;
    drop(file);
    fs::rename(&part, question.with_extension(ANSWER))
}

/// Removes what askers left behind that died.
pub(super) fn sweep(dir: &Path) {
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
