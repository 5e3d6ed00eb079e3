//! A repository of a user and a run, for the tests of built-in actions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ActionCall, ActionResult, Builtin, BuiltinError, BuiltinOptions};
use crate::place::RunPlace;
use crate::place::environment::{EnvironmentOptions, Host, base};
use crate::repository::ProjectRepository;
use crate::small_disk::SmallDisk;

pub(super) struct Fixture {
    _dir: tempfile::TempDir,
    pub dir: PathBuf,
    /// The user's project.
    pub root: PathBuf,
    pub options: BuiltinOptions,
    /// Lines that the action printed.
    pub printed: Vec<String>,
    /// Variables of the steps.
    pub environment: Vec<(String, String)>,
    place: Option<RunPlace>,
    /// Directory of the runs.
    jobs: PathBuf,
    disk: Option<SmallDisk>,
}

impl Fixture {
    /// A project without git.
    pub fn folder() -> Fixture {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().canonicalize().expect("a path");
        let root = path.join("project");
        fs::create_dir(&root).expect("a directory");
        Fixture {
            _dir: dir,
            jobs: path.join("jobs"),
            dir: path,
            root,
            options: BuiltinOptions::default(),
            printed: Vec::new(),
            environment: Vec::new(),
            place: None,
            disk: None,
        }
    }

    /// Puts the runs on a small disk; false where none can be mounted.
    pub fn on_small_disk(&mut self, size: &str) -> bool {
        self.disk = SmallDisk::mount(size);
        if let Some(disk) = &self.disk {
            self.jobs = disk.path().join("jobs");
        }
        self.disk.is_some()
    }

    /// A project with one commit of `a` and `sub/b`, and a remote on GitHub.
    pub fn project() -> Fixture {
        let fixture = Fixture::folder();
        fixture.git(&["init", "-q"]);
        fixture.write("a", "one\n");
        fixture.write("sub/b", "two\n");
        fixture.write(".gitignore", "ignored\n");
        fixture.commit("One");
        let origin = "https://github.com/acme/tool.git";
        fixture.git(&["remote", "add", "origin", origin]);
        fixture
    }

    pub fn write(&self, path: &str, text: &str) {
        let file = self.root.join(path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        fs::write(file, text).expect("a file");
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.root, arguments)
    }

    /// The run, made at the first call.
    pub fn place(&mut self) -> &RunPlace {
        if self.place.is_none() {
            let repository = ProjectRepository::of(&self.root).expect("a repository");
            let place =
                RunPlace::create(&self.jobs, "ci.yml", "build", &repository).expect("a run");
            let mut host = Host::of_process();
            let user = self.dir.join("user");
            host.variables.retain(|(name, _)| name == "PATH");
            host.variables.push(("HOME".into(), user.into()));
            self.environment =
                base(&place, &host, &EnvironmentOptions::default()).expect("an environment");
            self.place = Some(place);
        }
        self.place.as_ref().expect("a run")
    }

    /// The run ends, and the next call has another one.
    pub fn next_run(&mut self) {
        self.place = None;
    }

    /// Sets a variable of the steps.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    pub fn in_place(&mut self) {
        let repository = ProjectRepository::of(&self.root).expect("a repository");
        let place = RunPlace::in_place(&self.jobs, "ci.yml", "build", &repository);
        self.place = Some(place.expect("a run"));
    }

    pub fn workspace(&mut self) -> PathBuf {
        self.place().workspace.clone()
    }

    pub fn run(
        &mut self,
        name: &str,
        inputs: &[(&str, &str)],
    ) -> Result<ActionResult, BuiltinError> {
        self.call(name, inputs, &[], false)
    }

    pub fn post(
        &mut self,
        name: &str,
        inputs: &[(&str, &str)],
        state: &[(String, String)],
    ) -> Result<ActionResult, BuiltinError> {
        self.call(name, inputs, state, true)
    }

    fn call(
        &mut self,
        name: &str,
        inputs: &[(&str, &str)],
        state: &[(String, String)],
        is_post: bool,
    ) -> Result<ActionResult, BuiltinError> {
        self.place();
        let repository = ProjectRepository::of(&self.root).expect("a repository");
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let inputs: Vec<_> = inputs.iter().map(pair).collect();
        let printed = &mut self.printed;
        printed.clear();
        let (name, version) = name.split_once('@').unwrap_or((name, "v9"));
        let call = ActionCall {
            version,
            inputs: &inputs,
            place: self.place.as_ref().expect("a run"),
            repository: &repository,
            environment: &self.environment,
            print: &mut |line| printed.push(line.to_owned()),
            options: &self.options,
            state,
        };
        let builtin = Builtin::find(name).expect("a built-in action");
        if is_post {
            builtin.post(call)
        } else {
            builtin.run(call)
        }
    }

    /// Runs a script as a step would, and returns its exit code with all of its output.
    pub fn step(&mut self, script: &str) -> (i32, String) {
        let directory = self.workspace();
        let output = Command::new("sh")
            .args(["-ec", script])
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(directory)
            .output()
            .expect("a shell");
        let text = [output.stdout, output.stderr].concat();
        let code = output.status.code().unwrap_or(-1);
        (code, String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// The output of a script that succeeds.
    pub fn output(&mut self, script: &str) -> String {
        let (code, text) = self.step(script);
        assert_eq!(code, 0, "{script}: {text}");
        text
    }
}

/// Runs git as the user.
pub(super) fn git(dir: &Path, arguments: &[&str]) -> String {
    let who = [
        "user.name=Ada",
        "user.email=ada@example.org",
        "init.defaultBranch=main",
        "protocol.file.allow=always",
    ];
    let mut command = Command::new("git");
    for setting in who {
        command.args(["-c", setting]);
    }
    let output = command
        .args(arguments)
        .current_dir(dir)
        .output()
        .expect("git");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// All paths below a directory with their kinds, modes and contents.
pub(super) fn state_of(dir: &Path) -> Vec<(PathBuf, String)> {
    use std::os::unix::fs::PermissionsExt;
    let mut all = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let found = fs::symlink_metadata(&path).expect("a file");
            let mode = found.permissions().mode();
            let text = if found.is_dir() {
                open.push(path.clone());
                String::new()
            } else if found.is_symlink() {
                format!("{:?}", fs::read_link(&path).expect("a link"))
            } else {
                format!("{:?}", fs::read(&path).ok())
            };
            all.push((path, format!("{mode:o} {text}")));
        }
    }
    all.sort();
    all
}

pub(super) fn output_of<'a>(done: &'a ActionResult, name: &str) -> Option<&'a str> {
    let named = |(known, _): &&(String, String)| known == name;
    done.outputs
        .iter()
        .find(named)
        .map(|(_, value)| value.as_str())
}

/// True if a program is here. Where tests have to be complete, a missing one is an error.
pub(super) fn has_program(test: &str, program: &str) -> bool {
    let path = Host::of_process().path().join(":");
    let found = crate::step::shell::find_program(program, &path, Path::new("/")).is_some();
    if !found {
        assert!(
            std::env::var_os("CI").is_none(),
            "{test}: {program} is missing"
        );
        eprintln!("skipped: {test}: no {program} is here");
    }
    found
}
