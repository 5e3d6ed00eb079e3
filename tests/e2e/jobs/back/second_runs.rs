//! Steps that fail if they find what their first run left: after a step back they run as the first time.

use std::ffi::OsString;

use super::super::{job, workflow_with};
use super::debug;

/// The toolchains of whoever runs the tests: the home of a test has none.
pub(super) fn toolchains() -> Vec<(&'static str, OsString)> {
    let home = std::env::home_dir().expect("a home");
    let of = |name, place: &str| {
        let own = std::env::var_os(name).unwrap_or_else(|| home.join(place).into());
        (name, own)
    };
    vec![of("RUSTUP_HOME", ".rustup"), of("CARGO_HOME", ".cargo")]
}

/// Runs a step after others, steps back, and runs it again: both times it must succeed.
fn runs_twice(before: &str, script: &str, files: &[(&str, &str)]) {
    let indent = |text: &str| text.replace('\n', "\n    ");
    let steps = format!(
        "- uses: actions/checkout@v4\n- name: Before\n  run: |\n    {}\n- name: Step\n  run: |\n    {}",
        indent(before),
        indent(script)
    );
    let mut world = workflow_with(&job(&steps), files);
    for (name, place) in toolchains() {
        world = world.with(name, &place.to_string_lossy());
    }
    let ran = debug(&world, &["n", "n", "n", "b", "n", "b", "n"]);
    for line in [2, 4, 6] {
        assert_eq!(ran.stop(line), "end", "{script}: {:?}", ran.answers);
    }
    assert_eq!(ran.code, 0);
}

#[test]
fn mkdir_and_links() {
    runs_twice("true", "mkdir made\nln -s made link\nmkfifo pipe", &[]);
}

#[test]
fn git_tags_branches_and_clones() {
    let script = "git tag v1\ngit checkout -q -b new\ngit clone -q . ../clone\ngit -c user.name=a -c user.email=a@b commit -q --allow-empty -m more";
    runs_twice("true", script, &[("a", "a\n")]);
}

/// A stale object: `make` decides by times.
#[test]
fn make_builds_again() {
    let makefile = "out: in\n\tcp in out\n\techo built >> log\n";
    let script = "test $(wc -l < log) = 1\nsleep 0.02\necho 2 > in\nmake -s\ntest $(wc -l < log) = 2\ngrep -q 2 out";
    runs_twice("make -s", script, &[("Makefile", makefile), ("in", "1\n")]);
}

/// The index of git knows the restored files without a refresh.
#[test]
fn git_finds_nothing_changed() {
    let script = "git diff-index --quiet HEAD\necho b > a\n! git diff-index --quiet HEAD\ntest \"$(git status --porcelain)\" = ' M a'";
    runs_twice("git status --porcelain", script, &[("a", "a\n")]);
}

#[test]
fn cargo_builds_again() {
    let files = [
        (
            "Cargo.toml",
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        ("src/main.rs", "fn main() { println!(\"hello\"); }\n"),
    ];
    let script = "test \"$(cargo build -q --offline 2>&1)\" = ''\nsed -i s/hello/there/ src/main.rs\ncargo build -q --offline\ntest $(./target/debug/small) = there";
    runs_twice(
        "cargo build -q --offline\ntest $(./target/debug/small) = hello",
        script,
        &files,
    );
}

#[test]
fn a_python_environment_is_made_again() {
    if std::process::Command::new("python3")
        .arg("-V")
        .output()
        .is_err()
    {
        crate::support::skip("jobs::back::second_runs", "python3 is not here");
        return;
    }
    runs_twice(
        "true",
        "python3 -m venv --without-pip env\n. env/bin/activate\ntest \"$(python -c 'import sys; print(sys.prefix)')\" = \"$PWD/env\"\ntest ! -e env/mark\ntouch env/mark",
        &[],
    );
}

/// A step that first asks git for changes, and then commits some: the second run finds none.
#[test]
fn git_diff_index_is_quiet_again() {
    let before = "git config user.name a; git config user.email a@b\necho b > b; git add b; git commit -qm b\ngit diff-index --quiet HEAD";
    let script = "git diff-index --quiet HEAD\necho more >> b; rm a; echo new > c; git add c\n! git diff-index --quiet HEAD\ngit commit -qam more\ngit diff-index --quiet HEAD";
    runs_twice(before, script, &[("a", "a\n")]);
}

/// A clean install of a package that is a file of the project.
#[test]
fn npm_ci_installs_again() {
    let npm = std::process::Command::new("npm").arg("-v").output();
    if !npm.is_ok_and(|npm| npm.status.success()) {
        crate::support::skip("jobs::back::second_runs", "npm is not here");
        return;
    }
    let files = [
        (
            "package.json",
            r#"{"name": "small", "version": "1.0.0", "dependencies": {"local": "file:local-1.0.0.tgz"}}"#,
        ),
        (
            "local/package.json",
            r#"{"name": "local", "version": "1.0.0", "main": "index.js"}"#,
        ),
        ("local/index.js", "module.exports = 7;\n"),
    ];
    let before =
        "npm pack --silent ./local\nnpm install --package-lock-only --offline --no-audit --no-fund";
    let script = "test ! -e node_modules\nnpm ci --offline --no-audit --no-fund\nnode -e 'process.exit(require(\"local\") - 7)'\n\
                  echo 'module.exports = 8;' > node_modules/local/index.js\nnpm version --no-git-tag-version patch";
    runs_twice(before, script, &files);
}
