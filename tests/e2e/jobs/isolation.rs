//! A run touches nothing of the user's: repository, remotes, home, logins, toolchains.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{job, run, workflow};
use crate::support::World;

/// Files that a user has at home, with logins in them.
const HOME: &[(&str, &str)] = &[
    (
        ".gitconfig",
        "[user]\n\tname = Me\n[credential]\n\thelper = store\n",
    ),
    (".git-credentials", "https://me:git-login@example.com\n"),
    (
        ".netrc",
        "machine example.com login me password netrc-login\n",
    ),
    (".npmrc", "//registry.npmjs.org/:_authToken=npm-login\n"),
    (
        ".cargo/credentials.toml",
        "[registry]\ntoken = \"cargo-login\"\n",
    ),
    (
        ".config/gh/hosts.yml",
        "github.com:\n  oauth_token: gh-login\n",
    ),
    (
        ".docker/config.json",
        "{\"auths\":{\"x\":{\"auth\":\"docker-login\"}}}\n",
    ),
    (".ssh/id_ed25519", "ssh-login\n"),
    (".pypirc", "[pypi]\npassword = pypi-login\n"),
    (".rustup/settings.toml", "default_toolchain = \"stable\"\n"),
    (".rustup/toolchains/stable-host/bin/rustc", "compiler\n"),
    (
        ".rustup/toolchains/stable-host/lib/rustlib/components",
        "rustc\n",
    ),
];

/// All files below a directory with their content, modes and times.
fn snapshot(dir: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut all = Vec::new();
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let found = fs::symlink_metadata(&path).expect("metadata");
            let content = if found.is_file() {
                fs::read(&path).expect("a file")
            } else {
                Vec::new()
            };
            all.push((path.clone(), found.permissions().mode(), content));
            if found.is_dir() {
                left.push(path);
            }
        }
    }
    all.sort();
    all
}

fn with_home() -> World {
    let world = workflow(&job(r#"
- uses: actions/checkout@v4
- run: |
    set +e
    git config --global user.name Other; git config --global alias.x y
    git config user.email me@example.com; git config user.name Me
    echo change > file; git add -A; git commit -qm change; git tag v9
    git push origin HEAD:refs/heads/pushed; git push --tags
    git push "$(git config remote.origin.url)" HEAD:refs/heads/by-url
    git push ssh://git@localhost/x HEAD:refs/heads/by-ssh
    git remote -v
- run: |
    set +e
    cat ~/.netrc ~/.git-credentials ~/.npmrc ~/.cargo/credentials.toml ~/.config/gh/hosts.yml ~/.docker/config.json ~/.ssh/id_ed25519 ~/.pypirc
    cat "$CARGO_HOME/credentials.toml" "$XDG_CONFIG_HOME/gh/hosts.yml"
    env | grep -i -e token -e SSH_AUTH -e DBUS
    command -v gh && gh auth status
    command -v docker && docker login --get-login
    true
- run: |
    set +e
    rustup default nightly; npm config set prefix /nowhere; pip config set global.index-url http://nowhere
    cargo login --registry crates-io abc < /dev/null; npm publish --dry-run; cargo publish
    echo x > ~/marker; echo x > "$CARGO_HOME/marker"; echo x > "${RUSTUP_HOME:-$HOME/.rustup}/marker"; echo x > "$XDG_CONFIG_HOME/marker"
    echo 'export EVIL=1' >> ~/.bashrc
    cd "$RUSTUP_HOME/toolchains/stable-host" && mv bin/rustc bin/old && echo other > bin/rustc && : > lib/rustlib/components
    true
"#));
    for (path, content) in HOME {
        let file = world.home.join(path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        fs::write(file, content).expect("a file");
    }
    world
}

/// A workflow that pushes, publishes and reads logins changes nothing of the user's and finds none of them.
#[test]
fn nothing_of_the_user_is_used_or_changed() {
    let world = with_home();
    let remote = world.root.with_file_name("remote.git");
    world.git_ok([
        "clone",
        "-q",
        "--bare",
        ".",
        remote.to_str().expect("a path"),
    ]);
    world.git_ok(["remote", "add", "origin", remote.to_str().expect("a path")]);
    let before = (
        snapshot(&world.root),
        snapshot(&world.home),
        snapshot(&remote),
    );
    let ran = run(&world, &[]);
    let log = ran.log();
    for name in [
        "git", "netrc", "npm", "cargo", "gh", "docker", "ssh", "pypi",
    ] {
        assert!(!log.contains(&format!("{name}-login")), "{name} in {log}");
    }
    assert_eq!(ran.result(), "success", "{:#}\n{log}", ran.report);
    let after = (
        snapshot(&world.root),
        snapshot(&world.home),
        snapshot(&remote),
    );
    let names = |all: &[(PathBuf, u32, Vec<u8>)]| {
        all.iter()
            .map(|(path, ..)| path.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&after.0), names(&before.0), "the repository");
    assert_eq!(names(&after.1), names(&before.1), "the home directory");
    assert!(after == before, "byte for byte\n{log}");
}

/// The run's own home is empty, and the user's is given by the user's word alone.
#[test]
fn the_home_is_the_users_choice() {
    let world = workflow(&job(
        "- run: test -e ~/mine && echo found > seen || echo none > seen",
    ));
    fs::write(world.home.join("mine"), "").expect("a file");
    assert_eq!(run(&world, &[]).file("seen"), "none\n");
    let ran = run(&world, &["--user-home"]);
    assert_eq!(ran.file("seen"), "found\n");
    assert!(
        ran.output.stderr.contains("your own home"),
        "{:?}",
        ran.output
    );
}

/// Commands that reach out are listed with their lines before the first run of a text.
#[test]
fn commands_that_reach_out_are_told_first() {
    let world = workflow(&job(
        "- run: |\n    true\n    if false; then sudo apt-get install x; fi",
    ));
    let first = world.ok(["job", "run", "ci.yml"]);
    assert!(
        first.stderr.contains("line 8: sudo apt-get install x"),
        "{first:?}"
    );
    let second = world.ok(["job", "run", "ci.yml"]);
    assert!(!second.stderr.contains("sudo"), "{second:?}");
    let listed = world.json(["job", "list"]);
    let reaching = &listed["workflows"][0]["jobs"][0]["reaching"];
    assert_eq!(reaching[0]["line"], 8, "{listed:#}");
}
