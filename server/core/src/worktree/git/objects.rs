//! Reading blobs out of a git repository, by git itself: `cat-file` takes no lock and writes nothing. What it gives
//! is taken only where it hashes to its name.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use gix_hash::{Kind, ObjectId};

use crate::error::{Error, Result};

/// Where git is where no path leads to it: editors are often started without one.
const PLACES: [&str; 4] = [
    "git",
    "/usr/bin/git",
    "/usr/local/bin/git",
    "/opt/homebrew/bin/git",
];

/// The name of a blob of these bytes.
pub(crate) fn name_of(kind: Kind, bytes: &[u8]) -> Option<ObjectId> {
    let mut hasher = gix_hash::hasher(kind);
    hasher.update(format!("blob {}\0", bytes.len()).as_bytes());
    hasher.update(bytes);
    hasher.try_finalize().ok()
}

/// Whether these bytes are that blob.
pub(crate) fn is(object: &ObjectId, bytes: &[u8]) -> bool {
    name_of(object.kind(), bytes).as_ref() == Some(object)
}

/// A repository whose objects can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The work tree.
    work: PathBuf,
    /// Where its index is.
    pub dir: PathBuf,
    /// What linked work trees share.
    pub common: PathBuf,
}

impl Repository {
    /// The one whose work tree is `root`.
    pub(crate) fn of(root: &Path) -> Option<Self> {
        let (dir, common) = (super::dir(root)?, super::common_dir(root)?);
        common.join("objects").is_dir().then(|| Self {
            work: root.to_path_buf(),
            dir,
            common,
        })
    }

    fn config(&self) -> String {
        let text = std::fs::read(self.common.join("config")).unwrap_or_default();
        String::from_utf8_lossy(&text).to_lowercase()
    }

    /// By what its objects are named. Where this is wrong, nothing can be read.
    pub(crate) fn kind(&self) -> Kind {
        let config = self.config();
        let sha256 = config.lines().any(|line| {
            let pair = line.split_once('=');
            pair.is_some_and(|(key, value)| {
                key.trim() == "objectformat" && value.trim() == "sha256"
            })
        });
        if sha256 { Kind::Sha256 } else { Kind::Sha1 }
    }

    /// Whether some of its objects are elsewhere, to be fetched when somebody asks for them.
    pub(crate) fn is_partial(&self) -> bool {
        let config = self.config();
        config.contains("promisor") || config.contains("partialclone")
    }

    /// The sizes of these blobs, in their order; None for what is no blob here.
    pub(crate) fn sizes(&self, objects: &[ObjectId]) -> Result<Vec<Option<u64>>> {
        let args = [
            "cat-file",
            "--batch-check=%(objecttype) %(objectsize)",
            "--buffer",
        ];
        let (sizes, _) = self.ask(&args, names(objects), |out| {
            let mut sizes = Vec::with_capacity(objects.len());
            for line in out.lines() {
                let line = line?;
                sizes.push(
                    line.strip_prefix("blob ")
                        .and_then(|size| size.parse().ok()),
                );
            }
            Ok(sizes)
        })?;
        if sizes.len() < objects.len() {
            return Err(cannot_run(std::io::Error::other("it ended early")));
        }
        Ok(sizes)
    }

    /// Reads these blobs; `each` hears of every one of them once, in their order. None: git says that it is not here, or
    /// what it has is damaged.
    pub(crate) fn blobs(
        &self,
        objects: &[ObjectId],
        mut each: impl FnMut(usize, Option<Vec<u8>>) -> Result<()>,
    ) -> Result<()> {
        let mut heard = 0;
        while heard < objects.len() {
            let before = heard;
            let mut failed = None;
            self.ask(
                &["cat-file", "--batch", "--buffer"],
                names(&objects[heard..]),
                |out| {
                    for object in &objects[before..] {
                        let blob = match next_blob(out)? {
                            BatchReply::Blob(bytes) => Some(bytes),
                            BatchReply::Missing => None,
                            BatchReply::End => break,
                        };
                        if let Err(e) = each(heard, blob.filter(|bytes| is(object, bytes))) {
                            failed = Some(e);
                            break;
                        }
                        heard += 1;
                    }
                    Ok(())
                },
            )?;
            if let Some(e) = failed {
                return Err(e);
            }
            if heard == objects.len() {
                break;
            }
            // git ends where it comes upon damage; or it does not work at all, which says nothing of any object
            if !self.say(&["rev-parse", "--git-dir"], Vec::new())?.1 {
                return Err(cannot_run(std::io::Error::other("it failed")));
            }
            each(heard, None)?;
            heard += 1;
        }
        Ok(())
    }

    /// What git says to these arguments, and whether it was content with them.
    pub(crate) fn say(&self, args: &[&str], input: Vec<u8>) -> Result<(Vec<u8>, bool)> {
        self.ask(args, input, |out| {
            let mut said = Vec::new();
            out.read_to_end(&mut said)?;
            Ok(said)
        })
    }

    /// Runs git in this repository alone, whatever the environment says of others. Whether it ended well is told with
    /// what it said.
    fn ask<T>(
        &self,
        args: &[&str],
        input: Vec<u8>,
        read: impl FnOnce(&mut BufReader<ChildStdout>) -> std::io::Result<T>,
    ) -> Result<(T, bool)> {
        let mut tried = Err(ErrorKind::NotFound.into());
        for place in PLACES {
            tried = self.command(place).args(args).spawn();
            if !matches!(&tried, Err(e) if e.kind() == ErrorKind::NotFound) {
                break;
            }
        }
        let mut child = tried.map_err(cannot_run)?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let said = std::thread::scope(|s| {
            if let Some(mut to) = to {
                // beside the reading: both pipes fill up
                s.spawn(move || to.write_all(&input).ok());
            }
            let mut from = BufReader::with_capacity(1 << 16, from.ok_or(ErrorKind::BrokenPipe)?);
            read(&mut from)
        });
        let ended_well = child.wait().is_ok_and(|status| status.success());
        Ok((said.map_err(cannot_run)?, ended_well))
    }

    fn command(&self, git: &str) -> Command {
        let mut command = Command::new(git);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        command
            .env("GIT_DIR", &self.dir)
            .env("GIT_WORK_TREE", &self.work)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("LC_ALL", "C")
            .current_dir(&self.work)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }
}

fn cannot_run(source: std::io::Error) -> Error {
    Error::Io {
        what: "run git, which holds what files were".into(),
        source,
    }
}

fn names(objects: &[ObjectId]) -> Vec<u8> {
    let mut names = Vec::with_capacity(objects.len() * 41);
    for object in objects {
        names.extend_from_slice(format!("{object}\n").as_bytes());
    }
    names
}

/// What `cat-file --batch` says of an object.
enum BatchReply {
    Blob(Vec<u8>),
    /// No blob, or not here.
    Missing,
    /// It says no more.
    End,
}

fn next_blob(out: &mut impl BufRead) -> std::io::Result<BatchReply> {
    let mut line = String::new();
    if out.read_line(&mut line)? == 0 {
        return Ok(BatchReply::End);
    }
    // NAME TYPE SIZE, or NAME missing
    let size = line
        .trim_end()
        .rsplit_once(' ')
        .and_then(|(_, size)| size.parse::<usize>().ok());
    let Some(size) = size else {
        return Ok(BatchReply::Missing);
    };
    let mut bytes = Vec::new();
    out.take(size as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() != size + 1 {
        return Ok(BatchReply::End);
    }
    bytes.pop();
    Ok(if line.contains(" blob ") {
        BatchReply::Blob(bytes)
    } else {
        BatchReply::Missing
    })
}
