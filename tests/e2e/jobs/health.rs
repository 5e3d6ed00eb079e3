//! Runs and workflows in `doctor`, `status` and `stats`.

use std::fs;

use serde_json::{Value, json};

use super::{job, newest, run, run_until_ready, workflow};
use crate::support::World;

/// Findings of `doctor` about jobs: state, text and hint.
fn findings(world: &World) -> Vec<(String, String, String)> {
    let output = world.run(["--json", "doctor"]);
    let answer: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = answer["findings"].as_array().expect("findings").iter();
    all.filter(|finding| finding["about"] == "jobs")
        .map(|finding| {
            (
                text(&finding["state"]),
                text(&finding["said"]),
                text(&finding["hint"]),
            )
        })
        .collect()
}

/// A project without workflows and runs shows nothing new.
#[test]
fn projects_without_jobs_show_nothing() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.ok(["checkpoint"]);
    assert_eq!(findings(&world), []);
    for command in ["status", "stats"] {
        let text = world.ok([command]).stdout;
        assert!(!text.contains("job"), "{text}");
    }
    assert_eq!(world.json(["status"])["job_runs"], json!([]));
    let none = json!({"count": 0, "bytes": 0});
    assert_eq!(world.json(["stats"])["job_runs"], none);
}

/// `doctor` names the programs that are here, and what each workflow lacks.
#[test]
fn doctor_names_programs_and_absent_actions() {
    let world = workflow(&job(
        "- uses: actions/setup-go@v5\n- uses: acme/lint@v2\n- run: 'true'",
    ));
    let bin = world.home.join("bin");
    fs::create_dir_all(&bin).expect("a directory");
    for program in ["bash", "git", "sh"] {
        let found = world.sh(&format!("command -v {program}")).stdout;
        std::os::unix::fs::symlink(found.trim(), bin.join(program)).expect("a link");
    }
    let world = world.with("PATH", bin.to_str().expect("a path"));
    let found = findings(&world);
    let (state, said, _) = &found[0];
    assert_eq!(state, "good");
    assert!(
        said.starts_with("bash ") && said.contains(", git "),
        "{said}"
    );
    let absent =
        "node is absent (JavaScript actions), python is absent (run steps with `shell: python`)";
    assert!(said.ends_with(absent), "{said}");
    let (state, said, hint) = &found[1];
    assert_eq!(state, "warning");
    assert_eq!(
        said,
        ".github/workflows/ci.yml needs actions or tools that are absent: actions/setup-go@v5 (line 6), acme/lint@v2 (line 7)"
    );
    assert!(hint.contains("--action NAME=DIR"), "{hint}");
    world.write(".github/workflows/ci.yml", "on: push\njobs: 1\n");
    let found = findings(&world);
    assert!(found[1].1.contains("ci.yml (Line: 2, Col: 7)"), "{found:?}");
}

/// `doctor` names jobs of other systems, parts that a run refuses, and shells that are not here.
#[test]
fn doctor_names_other_systems_and_absent_shells() {
    let world = workflow(
        "on: push
jobs:
  win:
    runs-on: windows-latest
    steps:
      - run: dir
        shell: pwsh
  some:
    runs-on: ${{ matrix.os }}
    strategy: {matrix: {os: [ubuntu-latest, macos-latest]}}
    container: alpine
    defaults: {run: {shell: 'nosuchshell {0}'}}
    steps:
      - run: ls
      - run: ls
        if: runner.os == 'Windows'
        shell: othershell {0}
      - run: ls
        shell: bash
",
    );
    let found = findings(&world);
    let file = ".github/workflows/ci.yml";
    assert_eq!(
        (found[1].0.as_str(), found[1].1.as_str()),
        (
            "warning",
            format!(
                "{file} needs actions or tools that are absent: the shell 'nosuchshell' (line 12)"
            )
            .as_str()
        )
    );
    assert_eq!(
        (found[2].0.as_str(), found[2].1.as_str()),
        (
            "good",
            format!(
                "{file} has parts that do not run here: the job win is for windows-latest (line 4; --any-system runs it all the \
                 same), 'container': jobs run on this machine, without containers; leave the key out (line 11)"
            )
            .as_str()
        )
    );
}

/// `doctor` compares the versions of tools with those that a workflow wants, also by its matrix and by version files.
#[test]
fn doctor_names_versions_of_tools_that_are_not_here() {
    let steps = "- uses: actions/setup-node@v4\n  with: {node-version: '${{ matrix.node }}', token: '${{ secrets.T }}'}\n\
                 - uses: actions/setup-go@v5\n  with: {go-version-file: go.mod}\n\
                 - uses: actions/setup-node@v4\n  with: {node-version: '${{ env.NODE }}'}\n\
                 - uses: actions/setup-node@v4\n  with: {node-version: lts/*}\n\
                 - uses: dtolnay/rust-toolchain@1.40";
    let matrix = "runs-on: ubuntu-latest\n    strategy: {matrix: {node: [18, '22.1', 24]}}";
    let text = job(steps).replace("runs-on: ubuntu-latest", matrix);
    let world = workflow(&text);
    world.write("go.mod", "module a\n\ngo 1.99\n");
    let bin = world.home.join("bin");
    fs::create_dir_all(&bin).expect("a directory");
    for (name, says) in [
        ("node", "v22.1.0"),
        ("go", "go version go1.22.3 linux/amd64"),
        ("rustc", "rustc 1.95.0 (abc 2026-04-14)"),
    ] {
        let file = bin.join(name);
        fs::write(&file, format!("#!/bin/sh\necho '{says}'\n")).expect("a file");
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("a mode");
    }
    let world = world
        .with("PATH", &format!("{}:/usr/bin:/bin", bin.display()))
        .with("RUSTUP_HOME", bin.to_str().expect("a path"));
    let (state, said, _) = findings(&world).swap_remove(1);
    assert_eq!(state, "warning");
    let mut notes = said.split("absent: ").nth(1).expect("notes").split("), ");
    // the machine may have other versions, too
    for (wanted, here, line) in [
        ("actions/setup-node@v4: Node 18", "22.1.0", "(line 7"),
        ("actions/setup-node@v4: Node 24", "22.1.0", "(line 7"),
        ("actions/setup-go@v5: Go 1.99", "1.22.3", "(line 9"),
        (
            "dtolnay/rust-toolchain@1.40: Rust 1.40",
            "1.95.0",
            "(line 15",
        ),
    ] {
        let note = notes.next().unwrap_or_default();
        let known = format!("{wanted} is not on this machine (here: ");
        assert!(
            note.starts_with(&known) && note.contains(here) && note.contains(line),
            "{said}"
        );
    }
    assert_eq!(notes.next(), None, "{said}");
}

/// Damaged and orphaned runs are named with the way out, and `job rm` is that.
#[test]
fn doctor_names_damaged_and_orphaned_runs() {
    let world = workflow(&job("- run: 'true'"));
    run(&world, &[]);
    fs::write(newest(&world).join("run.json"), "{").expect("written");
    let other = world.beside("other");
    other.write("a.txt", "one\n");
    other.git_ok(["init", "-q"]);
    other.write(".github/workflows/ci.yml", job("- run: 'true'"));
    other.ok(["job", "run", "ci.yml"]);
    fs::remove_dir_all(&other.root).expect("removed");
    let found = findings(&world);
    let named = |text: &str, id: &str| {
        let way_out = format!("`backstitch job rm {id}` removes it");
        let is_named = |one: &(String, String, String)| {
            one.0 == "warning" && one.1.contains(text) && one.2.starts_with(&way_out)
        };
        assert!(found.iter().any(is_named), "{text} in {found:?}");
        world.ok(["job", "rm", id]);
    };
    named("the run ci-build-1 is damaged: ", "ci-build-1");
    named(
        "the repository of the run ci-build-2 is gone: ",
        "ci-build-2",
    );
    assert_eq!(findings(&world).len(), 1);
}

/// `status` shows the run at work, then the newest one, and `stats` the space of all.
#[test]
fn status_and_stats_show_runs() {
    let world = workflow(&job(
        "- run: head -c 300000 /dev/zero > big\n- run: |\n    echo ready\n    while :; do sleep 1; done",
    ));
    let (mut runner, _lines) = run_until_ready(&world);
    let text = world.ok(["status"]).stdout;
    let row = |state: &str| format!("job         ci.yml build  {state}, started ");
    assert!(text.contains(&row("running")), "{text}");
    assert!(findings(&world).iter().all(|one| one.0 == "good"));
    runner.kill().expect("killed");
    runner.wait().expect("ended");
    let text = world.ok(["status"]).stdout;
    assert!(text.contains(&row("cut off")), "{text}");
    let runs = &world.json(["status"])["job_runs"];
    assert_eq!(
        (&runs[0]["id"], &runs[0]["status"]),
        (&json!("ci-build-1"), &json!("cut off"))
    );
    let found = findings(&world);
    assert!(
        found
            .iter()
            .any(|one| one.1 == "the run ci-build-1 was cut off before its end"),
        "{found:?}"
    );
    let stats = &world.json(["stats"])["job_runs"];
    assert_eq!(stats["count"], 1);
    assert!(stats["bytes"].as_u64() > Some(300_000), "{stats}");
    let text = world.ok(["stats"]).stdout;
    assert!(text.contains("jobs         1 run, "), "{text}");
}
