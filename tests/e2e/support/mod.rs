//! The fixture of the end-to-end tests: a workspace, a home and an environment that nothing else uses.
//!
//! [`World`] owns the directories and runs the binary; [`agent::Agent`] simulates a coding agent with its hook events;
//! [`tree`] compares files on disk.
#![allow(dead_code, reason = "a toolbox: not every test needs every tool")]

pub mod agent;
pub mod binary;
pub mod history;
pub mod limits;
pub mod pty;
pub mod rng;
pub mod scenarios;
pub mod tree;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::{fmt, fs, iter, thread};

use serde_json::Value;
use tempfile::TempDir;

use agent::Agent;
use tree::{GitDigest, Tree};

/// A workspace with home, state and configuration directories of its own. All of them are removed when it is dropped.
#[derive(Debug)]
pub struct World {
    dir: Arc<TempDir>,
    /// Root of the workspace.
    pub root: PathBuf,
    pub home: PathBuf,
    /// `XDG_STATE_HOME`
    pub state: PathBuf,
    /// `XDG_CONFIG_HOME`
    pub config: PathBuf,
    agents: AtomicU32,
    more: Vec<(&'static str, OsString)>,
    /// A copy of the binary for an ordinary user: everything then runs as that user, whom permissions bind.
    bound: Option<PathBuf>,
}

/// User id of an ordinary user.
const NOBODY: u32 = 65534;

impl World {
    /// An empty workspace without version control.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// The same in memory, where the system supports it: for tests that would mostly wait for disk syncs, and do not
    /// test these.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        let writable = tempfile::tempdir_in(memory).is_ok();
        if writable {
            Self::below(memory)
        } else {
            Self::new()
        }
    }

    fn below(place: &Path) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("backstitch-test-")
            .tempdir_in(place)
            .expect("a temporary directory");
        // the real path, in case the temporary directory is behind a link
        let base = dir.path().canonicalize().expect("canonical");
        let [root, home, state, config] = ["work", "home", "state", "config"].map(|name| {
            let path = base.join(name);
            fs::create_dir(&path).expect("a directory");
            path
        });
        let agents = AtomicU32::new(0);
        Self {
            dir: Arc::new(dir),
            root,
            home,
            state,
            config,
            agents,
            more: Vec::new(),
            bound: None,
        }
    }

    /// Another directory of the same user, with its own agents.
    pub fn beside(&self, name: &str) -> Self {
        let agents = self.agents.load(Ordering::Relaxed) + 1000;
        Self {
            dir: Arc::clone(&self.dir),
            root: self.root.with_file_name(name),
            home: self.home.clone(),
            state: self.state.clone(),
            config: self.config.clone(),
            agents: AtomicU32::new(agents),
            more: self.more.clone(),
            bound: self.bound.clone(),
        }
    }

    /// The same with a clock that may be wrong.
    pub fn with_clock(self) -> Self {
        let file = self.clock_file();
        self.with("BACKSTITCH_CLOCK_ERROR", &file.to_string_lossy())
    }

    /// Sets the error of the clock in seconds, for all that starts or runs.
    pub fn set_clock_error(&self, seconds: i64) {
        std::fs::write(self.clock_file(), seconds.to_string()).expect("written");
    }

    fn clock_file(&self) -> PathBuf {
        self.root.with_extension("clock")
    }

    /// The same with this variable in the environment of every command.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.more.push((name, value.into()));
        self
    }

    /// The same, with all files, for an ordinary user: permissions do not bind the superuser.
    pub fn for_ordinary_user(mut self) -> Self {
        if fs::metadata(&self.root).expect("the workspace").uid() == 0 {
            let base = self.dir.path().canonicalize().expect("canonical");
            let copy = base.join("backstitch");
            fs::copy(binary::path(), &copy).expect("a copy");
            let mut chown = Command::new("chown");
            chown.args(["-R", &format!("{NOBODY}:{NOBODY}")]).arg(base);
            finish(&mut chown, b"").expect_code(0);
            self.bound = Some(copy);
        }
        self
    }

    /// An empty workspace that is a git repository without commits.
    pub fn git() -> Self {
        let world = Self::new();
        world.git_ok(["init", "-q", "-b", "main"]);
        world
    }

    /// A git repository with these files in one commit.
    pub fn committed(files: &[(&str, &str)]) -> Self {
        Self::new().commit(files)
    }

    /// The same in a directory whose path is short: where paths are shown on a screen, longer ones break its lines.
    pub fn committed_for_a_screen(files: &[(&str, &str)]) -> Self {
        Self::below(Path::new("/tmp")).commit(files)
    }

    fn commit(self, files: &[(&str, &str)]) -> Self {
        let world = self;
        world.git_ok(["init", "-q", "-b", "main"]);
        for (path, content) in files {
            world.write(path, content);
        }
        world.git_ok(["add", "-A"]);
        world.git_ok(["commit", "-q", "-m", "start"]);
        world
    }

    // ---- running ---------------------------------------------------------------------------------------------------

    /// A command in the workspace, with nothing of the caller's environment but the search path.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.env())
            .stdin(Stdio::null());
        if self.bound.is_some() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Environment that makes a run hermetic.
    pub fn env(&self) -> Vec<(&'static str, OsString)> {
        let text = |s: &str| OsString::from(s);
        let mut env = vec![
            ("HOME", self.home.clone().into_os_string()),
            ("XDG_STATE_HOME", self.state.clone().into_os_string()),
            ("XDG_CONFIG_HOME", self.config.clone().into_os_string()),
            ("LANG", text("C.UTF-8")),
            ("TZ", text("UTC")),
            ("NO_COLOR", text("1")),
            ("GIT_CONFIG_NOSYSTEM", text("1")),
            ("GIT_CONFIG_GLOBAL", text("/dev/null")),
            ("GIT_TERMINAL_PROMPT", text("0")),
        ];
        for who in ["AUTHOR", "COMMITTER"] {
            let [name, email, date] = match who {
                "AUTHOR" => ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"],
                _ => [
                    "GIT_COMMITTER_NAME",
                    "GIT_COMMITTER_EMAIL",
                    "GIT_COMMITTER_DATE",
                ],
            };
            env.extend([
                (name, text("Dev")),
                (email, text("dev@example.com")),
                (date, text("2026-01-02T03:04:05Z")),
            ]);
        }
        env.extend(self.more.iter().cloned());
        env
    }

    /// The binary under test, without arguments yet.
    pub fn backstitch(&self) -> Command {
        match &self.bound {
            Some(copy) => self.command(copy),
            None => self.command(binary::path()),
        }
    }

    /// Runs the binary with these arguments to its end.
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        finish(self.backstitch().args(args), b"")
    }

    /// Runs the binary, and asserts exit status 0.
    #[track_caller]
    pub fn ok<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        self.run(args).expect_code(0)
    }

    /// Runs the binary with `--json`. Returns its answer, which must have schema 1.
    #[track_caller]
    pub fn json<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Value {
        let args = args.into_iter().map(|a| a.as_ref().to_owned());
        let args = iter::once(OsString::from("--json")).chain(args);
        let value = self.ok(args).json();
        assert_eq!(value["schema"], 1, "{value:#}");
        value
    }

    /// Runs the hook of Claude Code on a payload, as the agent does.
    pub fn hook(&self, payload: &Value) -> Output {
        finish(&mut self.hook_command(), payload.to_string().as_bytes())
    }

    /// The hook of Claude Code as a command, to be run as the agent does.
    pub fn hook_command(&self) -> Command {
        let mut command = self.backstitch();
        command
            .args(["hook", "claude-code"])
            .env("CLAUDECODE", "1")
            .env("CLAUDE_PROJECT_DIR", &self.root);
        command
    }

    /// Directory of the workspace's store, once it exists.
    #[track_caller]
    pub fn store(&self) -> PathBuf {
        let all = self.state.join("backstitch/workspaces");
        let found = fs::read_dir(&all).unwrap_or_else(|e| panic!("{}: {e}", all.display()));
        let found: Vec<_> = found
            .map(|e| e.expect("an entry").path())
            // other entries next to the stores
            .filter(|path| {
                path.file_name()
                    .is_none_or(|n| n.as_encoded_bytes()[0] != b'.')
            })
            .collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }

    /// A new session of a coding agent.
    pub fn agent(&self) -> Agent<'_> {
        Agent::new(self, self.agents.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Runs git in the workspace.
    pub fn git_run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        finish(self.command("git").args(args), b"")
    }

    /// Runs git in the workspace, and asserts success. Returns its output.
    #[track_caller]
    pub fn git_ok<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        self.git_run(args).expect_code(0).stdout
    }

    /// Runs a shell command in the workspace.
    pub fn sh(&self, command: &str) -> Output {
        finish(self.command("sh").args(["-c", command]), b"")
    }

    // ---- files -----------------------------------------------------------------------------------------------------

    /// Path of a file in the workspace; an absolute one stays unchanged.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file, and creates its directories.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// Text of a file.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        String::from_utf8(self.bytes(path)).expect("UTF-8")
    }

    /// Content of a file.
    #[track_caller]
    pub fn bytes(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(path);
        fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Writes the user's own settings.
    pub fn configure(&self, text: &str) {
        self.write(self.config.join("backstitch/config.toml"), text);
    }

    /// True if anything has this name, including a dangling link.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    #[track_caller]
    pub fn remove(&self, path: impl AsRef<Path>) {
        fs::remove_file(self.path(path)).expect("a file to remove");
    }

    /// Permission bits of a file, such as 0o644.
    #[track_caller]
    pub fn mode(&self, path: impl AsRef<Path>) -> u32 {
        let metadata = self.path(path).symlink_metadata().expect("a file");
        metadata.permissions().mode() & 0o7777
    }

    #[track_caller]
    pub fn set_mode(&self, path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).expect("a file");
    }

    #[track_caller]
    pub fn symlink(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path(path)).expect("a link");
    }

    /// All files in the workspace, except `.git`.
    pub fn tree(&self) -> Tree {
        tree::tree(&self.root)
    }

    /// All files in `.git`, byte for byte; a rewind that "does not touch git" leaves it equal.
    pub fn git_digest(&self) -> GitDigest {
        tree::git_digest(&self.root.join(".git"))
    }
}

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Output {
    pub command: String,
    /// Exit status; 128 + n if signal n ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    /// Standard output as bytes, where it need not be text.
    pub bytes: Vec<u8>,
}

impl Output {
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|e| panic!("no JSON: {e}\n{self}"))
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            command,
            code,
            stdout,
            stderr,
            ..
        } = self;
        write!(
            f,
            "{command}: exit status {code}\n-- stdout\n{stdout}\n-- stderr\n{stderr}"
        )
    }
}

/// Runs a command to its end with this on its standard input.
pub fn finish(command: &mut Command, stdin: &[u8]) -> Output {
    let words = iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    let shown = words.join(" ");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{shown}: {e}"));
    let mut pipe = child.stdin.take().expect("a pipe");
    let output = thread::scope(|scope| {
        // concurrently with the reading, or both sides may wait; a process that closes its input early is not an error
        scope.spawn(move || drop(pipe.write_all(stdin)));
        child.wait_with_output().expect("an output")
    });
    let status = output.status;
    Output {
        command: shown,
        code: status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        bytes: output.stdout,
    }
}

/// Reports that a test cannot run here; with `CI=true` that fails it.
#[track_caller]
pub fn skip(test: &str, reason: &str) {
    let in_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    assert!(!in_ci, "{test}: {reason}");
    eprintln!("SKIPPED: {test}: {reason}");
}

/// Sets a flag when dropped, also when a check fails: it tells threads next to the test to end.
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_is_hermetic() {
        let world = World::committed(&[("a.txt", "one\n")]);
        assert_eq!(
            world.git_ok(["log", "--format=%an %ae %s"]),
            "Dev dev@example.com start\n"
        );
        let env = world.sh("env").expect_code(0).stdout;
        let names: Vec<_> = env.lines().filter_map(|l| l.split_once('=')).collect();
        assert!(names.contains(&("HOME", world.home.to_str().unwrap())));
        assert!(!env.contains("CARGO"), "{env}");
        assert!(world.root.starts_with(world.home.parent().unwrap()));
    }

    #[test]
    fn a_run_reports_code_output_and_signal() {
        let world = World::new();
        let output = finish(
            world.command("sh").args(["-c", "cat; echo no >&2; exit 3"]),
            b"in",
        );
        assert_eq!(
            (output.code, &*output.stdout, &*output.stderr),
            (3, "in", "no\n")
        );
        assert_eq!(world.sh("kill -9 $$").code, 128 + 9);
        let much = vec![b'x'; 1 << 20];
        assert_eq!(finish(&mut world.command("cat"), &much).bytes, much);
        assert_eq!(finish(&mut world.command("true"), &much).code, 0);
    }

    #[test]
    fn files_are_written_and_read_with_modes() {
        let world = World::new();
        world.write("a/b.txt", "one");
        world.set_mode("a/b.txt", 0o755);
        world.symlink("nowhere", "dangling");
        assert_eq!(
            (world.read("a/b.txt").as_str(), world.mode("a/b.txt")),
            ("one", 0o755)
        );
        assert!(world.exists("dangling") && !world.exists("nowhere"));
        world.remove("dangling");
        assert!(!world.exists("dangling"));
    }
}
