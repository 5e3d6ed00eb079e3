//! Lower bounds: the least work that a scan can do, in this process. Backstitch's own scan is compared with it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result};

const THREADS: usize = 2;
/// Number of paths that a thread takes at a time.
const BATCH: usize = 64;

/// Lists every file below a directory, except those of git.
pub fn walk(root: &Path) -> Result<Vec<PathBuf>> {
    let (mut dirs, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                files.push(entry.path());
            } else if entry.file_name() != ".git" {
                dirs.push(entry.path());
            }
        }
    }
    Ok(files)
}

/// Visits every directory that can contain tracked files.
fn walk_past(root: &Path) -> Result<()> {
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let passed_over = [".git", "node_modules"]
                .iter()
                .any(|name| entry.file_name() == *name);
            if entry.file_type()?.is_dir() && !passed_over {
                dirs.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Lists every file that no ignore rule hides: those that a scan covers.
pub fn tracked(root: &Path) -> Result<Vec<PathBuf>> {
    if !root.join(".git").exists() {
        return walk(root);
    }
    let output = std::process::Command::new("git")
        .current_dir(root)
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
        ])
        .output()?;
    anyhow::ensure!(output.status.success(), "git ls-files: {output:?}");
    let names = output
        .stdout
        .split(|b| *b == 0)
        .filter(|name| !name.is_empty());
    Ok(names
        .map(|name| root.join(OsStr::from_bytes(name)))
        .collect())
}

/// Runs a function on all paths, on two threads; each batch's results go to `done`.
fn each<T>(
    paths: &[PathBuf],
    work: impl Fn(&Path) -> Result<T> + Sync,
    done: impl Fn(Vec<T>) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let run = || -> Result<()> {
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = paths.get(from..(from + BATCH).min(paths.len())) else {
                return Ok(());
            };
            if batch.is_empty() {
                return Ok(());
            }
            done(batch.iter().map(|path| work(path)).collect::<Result<_>>()?)?;
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(run)).collect();
        run()?;
        others
            .into_iter()
            .try_for_each(|t| t.join().ok().context("a thread")?)
    })
}

/// Stats all paths.
pub fn stat(paths: &[PathBuf]) -> Result<()> {
    let look = |path: &Path| Ok(path.symlink_metadata()?.len());
    each(paths, look, |_| Ok(()))
}

/// Reads, hashes and compresses all of these files into one file, and syncs it.
pub fn pack(root: &Path, paths: &[PathBuf], into: &Path) -> Result<()> {
    walk_past(root)?;
    let file = Mutex::new(BufWriter::with_capacity(1 << 20, File::create(into)?));
    let coded = |path: &Path| {
        thread_local! {
            static CODER: std::cell::RefCell<Option<zstd::bulk::Compressor<'static>>> =
                std::cell::RefCell::new(zstd::bulk::Compressor::new(1).ok());
        }
        let bytes = if path.is_symlink() {
            fs::read_link(path)?.into_os_string().into_encoded_bytes()
        } else {
            fs::read(path)?
        };
        let hash = blake3::hash(&bytes);
        let data = CODER.with_borrow_mut(|c| c.as_mut().map(|c| c.compress(&bytes)));
        Ok((hash, data.context("a compressor")??))
    };
    each(paths, coded, |batch| {
        let mut file = file.lock().ok().context("the file")?;
        for (hash, data) in batch {
            file.write_all(hash.as_bytes())?;
            file.write_all(&data)?;
        }
        Ok(())
    })?;
    let file = file.into_inner().ok().context("the file")?.into_inner()?;
    Ok(file.sync_all()?)
}
