//! Steps that try to reach the user's home, accounts and toolchains, started as a run starts them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use backstitch_job::builtin::{ActionCall, Builtin, BuiltinOptions};
use backstitch_job::place::RunPlace;
use backstitch_job::place::environment::{EnvironmentOptions, Host, base};
use backstitch_job::repository::ProjectRepository;
use backstitch_job::step::shell::find_program;

/// Files of a user, with secrets that no step may see.
const FILES: [(&str, &str); 12] = [
    (
        ".netrc",
        "machine example.org login ada password hunter2-netrc",
    ),
    (
        ".gitconfig",
        "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[alias]\n\tx = !echo hunter2-alias\n",
    ),
    (".npmrc", "//registry.npmjs.org/:_authToken=hunter2-npm\n"),
    (
        ".cargo/credentials.toml",
        "[registry]\ntoken = \"hunter2-cargo\"\n",
    ),
    (".cargo/config.toml", "[alias]\nhunter2 = \"build\"\n"),
    (".cargo/registry/cache/host/a-1.0.0.crate", "a crate"),
    (
        ".config/gh/hosts.yml",
        "github.com:\n  oauth_token: hunter2-gh\n",
    ),
    (
        ".docker/config.json",
        "{\"auths\": {\"example.org\": {\"auth\": \"hunter2-docker\"}}}",
    ),
    (".ssh/id_ed25519", "hunter2-ssh"),
    (".m2/settings.xml", "<settings>hunter2-maven</settings>"),
    (".pypirc", "[pypi]\npassword = hunter2-pypi\n"),
    (
        ".rustup/settings.toml",
        "version = \"12\"\ndefault_toolchain = \"mine-x86_64-unknown-linux-gnu\"\n",
    ),
];

struct User {
    _dir: tempfile::TempDir,
    dir: PathBuf,
    home: PathBuf,
    root: PathBuf,
    host: Host,
}

impl User {
    fn new() -> User {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().canonicalize().expect("a path");
        let home = path.join("home");
        for (file, text) in FILES {
            let file = home.join(file);
            fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
            fs::write(file, text).expect("a file");
        }
        let toolchain = home.join(".rustup/toolchains/mine-x86_64-unknown-linux-gnu/bin");
        fs::create_dir_all(&toolchain).expect("directories");
        fs::write(toolchain.join("rustc"), "").expect("a file");
        let root = home.join("project");
        fs::create_dir(&root).expect("a directory");
        let mut host = Host::of_process();
        host.variables
            .retain(|(name, _)| name != "HOME" && name != "RUSTUP_HOME" && name != "CARGO_HOME");
        host.variables.push(("HOME".into(), home.clone().into()));
        for name in [
            "GITHUB_TOKEN",
            "NPM_TOKEN",
            "CARGO_REGISTRY_TOKEN",
            "SSH_AUTH_SOCK",
            "AWS_SECRET_ACCESS_KEY",
        ] {
            host.variables
                .push((name.into(), "hunter2-variable".into()));
        }
        let user = User {
            _dir: dir,
            dir: path,
            home,
            root,
            host,
        };
        user.git(&["init", "-q"]);
        fs::write(user.root.join("a"), "a").expect("a file");
        user.git(&["add", "."]);
        user.git(&["commit", "-qm", "One"]);
        user.git(&[
            "remote",
            "add",
            "origin",
            "https://ada:hunter2-remote@example.org/acme/tool.git",
        ]);
        user
    }

    fn git(&self, arguments: &[&str]) {
        let done = Command::new("git")
            .args(arguments)
            .current_dir(&self.root)
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    }

    fn has(&self, program: &str) -> bool {
        let found = find_program(program, &self.host.path().join(":"), Path::new("/")).is_some();
        if !found {
            assert!(std::env::var_os("CI").is_none(), "{program} is missing");
            eprintln!("skipped: a_step_reaches_nothing_of_the_user: no {program} is here");
        }
        found
    }
}

/// All files below a directory with their modes and contents.
fn state_of(dir: &Path, all: &mut Vec<(PathBuf, u32, Vec<u8>)>) {
    use std::os::unix::fs::PermissionsExt;
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let found = fs::symlink_metadata(&path).expect("a file");
        let content = if found.is_file() {
            fs::read(&path).expect("a file")
        } else {
            Vec::new()
        };
        all.push((path.clone(), found.permissions().mode(), content));
        if found.is_dir() {
            state_of(&path, all);
        }
    }
    all.sort();
}

#[test]
fn a_step_reaches_nothing_of_the_user() {
    let user = User::new();
    let mut before = Vec::new();
    state_of(&user.home, &mut before);
    let repository = ProjectRepository::of(&user.root).expect("a repository");
    let place =
        RunPlace::create(&user.dir.join("jobs"), "ci.yml", "build", &repository).expect("a run");
    let environment =
        base(&place, &user.host, &EnvironmentOptions::default()).expect("an environment");
    let mut printed = Vec::new();
    let options = BuiltinOptions {
        host: user.host.clone(),
        ..BuiltinOptions::default()
    };
    let call = ActionCall {
        version: "v4",
        inputs: &[("fetch-depth".to_owned(), "0".to_owned())],
        place: &place,
        repository: &repository,
        environment: &environment,
        print: &mut |line| printed.push(line.to_owned()),
        options: &options,
        state: &[],
    };
    Builtin::find("Actions/Checkout")
        .expect("the action")
        .run(call)
        .expect("a checkout");
    let mut output = printed.join("\n");
    let mut run = |script: &str| {
        let done = Command::new("timeout")
            .args(["60", "sh", "-c", script])
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&place.workspace)
            .output()
            .expect("a shell");
        output.push_str(&String::from_utf8_lossy(
            &[done.stdout, done.stderr].concat(),
        ));
        done.status.success()
    };
    run(
        "env; cat ~/.netrc ~/.npmrc ~/.cargo/credentials.toml ~/.config/gh/hosts.yml ~/.docker/config.json ~/.ssh/* ~/.pypirc .git/config",
    );
    for script in [
        "git push",
        "git push origin HEAD:x",
        "git push https://example.org/acme/tool HEAD:x",
        "git push git@example.org:acme/tool HEAD:x",
        "git x",
    ] {
        assert!(!run(script), "{script}");
    }
    assert!(run(
        "git config --global user.name Run && git config --global alias.y status && git config --list"
    ));
    assert!(run("git config --system core.editor run"));
    if user.has("ssh") {
        run(
            "ssh -G example.org; ssh -o ConnectTimeout=1 127.0.0.1 true; scp -o ConnectTimeout=1 a 127.0.0.1:a",
        );
    }
    if user.has("npm") {
        assert!(!run("npm whoami --offline"));
        assert!(run(
            "npm config set color=false && npm config set -g fund=false && npm config list"
        ));
    }
    if user.has("cargo") && user.has("rustup") {
        run(
            "rustup default mine-x86_64-unknown-linux-gnu; rustup set profile minimal; rustup toolchain uninstall mine-x86_64-unknown-linux-gnu; rustup override set stable",
        );
        run("rm -rf ~/.cargo/registry/cache ~/.rustup/toolchains/* ~/.cargo/config.toml");
    }
    if user.has("java") {
        assert!(run("java -XshowSettings:properties -version"));
    }
    if user.has("python3") {
        assert!(run(
            "python3 -c 'import os; print(os.path.expanduser(\"~\"))'"
        ));
    }
    let mut after = Vec::new();
    state_of(&user.home, &mut after);
    let changed: Vec<_> = before
        .iter()
        .filter(|file| !after.contains(file))
        .chain(after.iter().filter(|file| !before.contains(file)))
        .collect();
    assert!(changed.is_empty(), "{changed:?}");
    assert!(!output.contains("hunter2"), "{output}");
    assert!(
        output.contains("not committed") || output.contains("nothing is uncommitted"),
        "{output}"
    );
}
