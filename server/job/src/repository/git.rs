//! git commands: those that only read the user's repository, and those within a run's own one.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Characters of git's own words that an error shows.
const MAX_WORDS: usize = 400;

/// Variables that lead git to another repository than that of its directory, or to other files of it.
const LEADING: [&str; 13] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
];

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git cannot be started ({0}): install git")]
    Start(io::Error),
    #[error("git says: {0}")]
    Failed(String),
    #[error("git gave no answer")]
    NoAnswer,
}

impl GitError {
    pub(crate) fn of(output: &Output) -> GitError {
        let text = String::from_utf8_lossy(&output.stderr);
        let text: String = text.trim().chars().take(MAX_WORDS).collect();
        if text.is_empty() {
            GitError::NoAnswer
        } else {
            GitError::Failed(text)
        }
    }

    pub(crate) fn is_no_repository(&self) -> bool {
        matches!(self, GitError::Failed(text) if text.contains("not a git repository"))
    }
}

/// A directory in which git commands run, with their environment.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    dir: PathBuf,
    options: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Git {
    /// Commands that read the user's repository. None takes a lock, writes the index or starts a hook or a file monitor.
    pub(crate) fn reading(dir: &Path) -> Git {
        let options = [
            "--no-optional-locks",
            "--no-pager",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "gc.auto=0",
        ];
        Git {
            dir: dir.to_owned(),
            options: options.map(OsString::from).to_vec(),
            environment: vec![
                // a missing object is not fetched, by old versions of git, either
                ("GIT_NO_LAZY_FETCH".into(), "1".into()),
                ("GIT_ALLOW_PROTOCOL".into(), "none".into()),
                ("LC_ALL".into(), "C".into()),
                ("GIT_TERMINAL_PROMPT".into(), "0".into()),
            ],
        }
    }

    /// Commands within a repository of the run: nobody's settings, no hooks, no network.
    pub(crate) fn of_run(dir: &Path) -> Git {
        let mut git = Git::reading(dir);
        let settings = [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ALLOW_PROTOCOL", "file"),
            // the files of refs are written directly
            ("GIT_DEFAULT_REF_FORMAT", "files"),
            ("GIT_DEFAULT_HASH", "sha1"),
        ];
        git.environment
            .extend(settings.map(|(name, value)| (name.into(), value.into())));
        git
    }

    /// Adds an option that stands before the command, such as `--git-dir`.
    pub(crate) fn with(mut self, option: impl Into<OsString>) -> Git {
        self.options.push(option.into());
        self
    }

    fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new("git");
        for name in LEADING {
            command.env_remove(name);
        }
        command
            .args(&self.options)
            .args(arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.dir)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn output<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Output, GitError> {
        self.command(arguments).output().map_err(GitError::Start)
    }

    pub(crate) fn bytes<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<u8>, GitError> {
        let output = self.output(arguments)?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(GitError::of(&output))
        }
    }

    /// The answer without its line end.
    pub(crate) fn text<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String, GitError> {
        let bytes = self.bytes(arguments)?;
        Ok(String::from_utf8_lossy(without_line_end(&bytes)).into_owned())
    }

    pub(crate) fn path<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<PathBuf, GitError> {
        let bytes = self.bytes(arguments)?;
        match without_line_end(&bytes) {
            [] => Err(GitError::NoAnswer),
            path => Ok(PathBuf::from(OsString::from_vec(path.to_vec()))),
        }
    }

    /// Gives the command an input. The answer is read at the same time, so that neither side waits for the other.
    pub(crate) fn fed<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        input: &[u8],
    ) -> Result<Output, GitError> {
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(GitError::Start)?;
        let pipe = child.stdin.take();
        std::thread::scope(|scope| {
            // a command that ends early has said why on its standard error
            scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(input)));
            child.wait_with_output().map_err(GitError::Start)
        })
    }

    pub(crate) fn fed_bytes<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let output = self.fed(arguments, input)?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(GitError::of(&output))
        }
    }
}

fn without_line_end(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\n").unwrap_or(bytes)
}
