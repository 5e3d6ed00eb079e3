//! Reads blobs from a git repository through git itself: `cat-file` takes no lock and writes nothing. Its output is
//! used only if it hashes to the object's name.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use gix_hash::{Kind, ObjectId};

use crate::content::blob_id;
use crate::error::{Error, Result};
use crate::system::{program_on_path, read_small};

/// Places of git after the search path. Editors are often started without a `PATH` that has git.
const GIT_PATHS: [&str; 3] = [
    "/usr/bin/git",
    "/usr/local/bin/git",
    "/opt/homebrew/bin/git",
];

/// True if these bytes are that blob.
pub(crate) fn is_blob(object: &ObjectId, bytes: &[u8]) -> bool {
    blob_id(object.kind(), bytes).as_ref() == Some(object)
}

/// A repository whose objects can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The work tree.
    work: PathBuf,
    /// The directory that has its index.
    pub dir: PathBuf,
    /// The directory that linked work trees share.
    pub common: PathBuf,
}

impl Repository {
    /// Returns the repository whose work tree is `root`.
    pub(crate) fn of(root: &Path) -> Option<Self> {
        let (dir, common) = (super::dir(root)?, super::common_dir(root)?);
        common.join("objects").is_dir().then(|| Self {
            work: root.to_path_buf(),
            dir,
            common,
        })
    }

    fn config(&self) -> String {
        let text = read_small(&self.common.join("config"), true).unwrap_or_default();
        String::from_utf8_lossy(&text).to_lowercase()
    }

    /// Returns the hash kind of its object ids. With the wrong kind nothing can be read.
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

    /// True if some of its objects may be elsewhere, to be fetched on demand.
    pub(crate) fn is_partial(&self) -> bool {
        let config = self.config();
        config.contains("promisor") || config.contains("partialclone")
    }

    /// Returns the sizes of these blobs in their order; None for an object that is not a blob here.
    pub(crate) fn sizes(&self, objects: &[ObjectId]) -> Result<Vec<Option<u64>>> {
        let args = [
            "cat-file",
            "--batch-check=%(objecttype) %(objectsize)",
            "--buffer",
        ];
        let (sizes, _) = self.run(&args, names(objects), |out| {
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
            return Err(cannot_run(std::io::Error::other("its output ended early")));
        }
        Ok(sizes)
    }

    /// Reads these blobs and calls `each` once per blob, in their order. None: the object is missing or damaged.
    pub(crate) fn blobs(
        &self,
        objects: &[ObjectId],
        mut each: impl FnMut(usize, Option<Vec<u8>>) -> Result<()>,
    ) -> Result<()> {
        let (mut done, mut read_again) = (0, None);
        while done < objects.len() {
            let start = done;
            let mut failed = None;
            self.run(
                &["cat-file", "--batch", "--buffer"],
                names(&objects[done..]),
                |out| {
                    for object in &objects[start..] {
                        let blob = match next_blob(out)? {
                            BatchReply::Blob(bytes) => Some(bytes),
                            BatchReply::Missing => None,
                            BatchReply::End => break,
                        };
                        if let Err(e) = each(done, blob.filter(|bytes| is_blob(object, bytes))) {
                            failed = Some(e);
                            break;
                        }
                        done += 1;
                    }
                    Ok(())
                },
            )?;
            if let Some(e) = failed {
                return Err(e);
            }
            if done == objects.len() {
                break;
            }
            // git exits at a damaged object; or it does not work at all, which says nothing about any object
            if !self.output(&["rev-parse", "--git-dir"], Vec::new())?.1 {
                return Err(cannot_run(std::io::Error::other("it failed")));
            }
            // git may have failed at the first read for another reason, which is gone by now
            if read_again != Some(done) {
                read_again = Some(done);
                continue;
            }
            each(done, None)?;
            done += 1;
        }
        Ok(())
    }

    /// Reads blobs by names such as `HEAD:a.txt`, which have no line ends. None: there is none, or it is larger than
    /// `limit`.
    pub(crate) fn texts(&self, names: &[Vec<u8>], limit: u64) -> Result<Vec<Option<Vec<u8>>>> {
        let input = [names.join(&b'\n'), b"\n".to_vec()].concat();
        let (texts, _) = self.run(&["cat-file", "--batch", "--buffer"], input, |out| {
            let mut texts = Vec::with_capacity(names.len());
            for _ in names {
                texts.push(match next_blob(out)? {
                    BatchReply::Blob(bytes) => Some(bytes).filter(|b| b.len() as u64 <= limit),
                    BatchReply::Missing => None,
                    BatchReply::End => break,
                });
            }
            Ok(texts)
        })?;
        Ok(texts)
    }

    /// Returns git's output for these arguments and true if it succeeded.
    pub(crate) fn output(&self, args: &[&str], input: Vec<u8>) -> Result<(Vec<u8>, bool)> {
        self.run(args, input, |out| {
            let mut output = Vec::new();
            out.read_to_end(&mut output)?;
            Ok(output)
        })
    }

    /// Runs git in this repository only, ignoring any git environment variables. Returns the parsed output and true
    /// if git succeeded.
    fn run<T>(
        &self,
        args: &[&str],
        input: Vec<u8>,
        read: impl FnOnce(&mut BufReader<ChildStdout>) -> std::io::Result<T>,
    ) -> Result<(T, bool)> {
        if let Some(odd) = self.odd_file() {
            let error = format!("{} is not a file", odd.display());
            return Err(cannot_run(std::io::Error::other(error)));
        }
        let mut spawned = Err(ErrorKind::NotFound.into());
        let others = GIT_PATHS.iter().map(PathBuf::from);
        for path in program_on_path("git").into_iter().chain(others) {
            spawned = self.command(&path).args(args).spawn();
            if !matches!(&spawned, Err(e) if e.kind() == ErrorKind::NotFound) {
                break;
            }
        }
        let mut child = spawned.map_err(cannot_run)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let result = std::thread::scope(|s| {
            if let Some(mut stdin) = stdin {
                // write while reading, because both pipes fill up
                s.spawn(move || stdin.write_all(&input).ok());
            }
            let mut stdout =
                BufReader::with_capacity(1 << 16, stdout.ok_or(ErrorKind::BrokenPipe)?);
            read(&mut stdout)
        });
        let succeeded = child.wait().is_ok_and(|status| status.success());
        Ok((result.map_err(cannot_run)?, succeeded))
    }

    /// Returns a file of the repository that git would wait for without end, such as a fifo.
    fn odd_file(&self) -> Option<PathBuf> {
        const SHARED: [&str; 5] = [
            "config",
            "packed-refs",
            "info/attributes",
            "objects/info/alternates",
            "commondir",
        ];
        let own = ["HEAD", "index", "config.worktree"].map(|name| self.dir.join(name));
        let shared = SHARED.map(|name| self.common.join(name));
        let attributes = self.work.join(".gitattributes");
        let mut all = own.into_iter().chain(shared).chain([attributes]);
        all.find(|path| {
            path.metadata()
                .is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
        })
    }

    /// The repository may be a stranger's: nothing that its configuration names is started. These commands run no hook, no
    /// filter and no pager; without a protocol they fetch nothing either, by whatever program.
    fn command(&self, git: &Path) -> Command {
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
            .env("GIT_ALLOW_PROTOCOL", "none")
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
        what: "run git, which holds the earlier content of files".into(),
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

/// One reply of `cat-file --batch`.
enum BatchReply {
    Blob(Vec<u8>),
    /// The object is not a blob, or not here.
    Missing,
    /// The output has ended.
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
