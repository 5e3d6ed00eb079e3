//! A job of a crate with the real cargo, in a terminal. It fails, its source is mended, and after one step back it ends well.
//! `BACKSTITCH_FILMS=FOLDER` films it, and `BACKSTITCH_RENEW_SCREENS=1` draws the picture of the documentation again.

use std::fs;
use std::num::NonZeroU16;
use std::path::Path;

use vt100::{Parser, Screen};

use super::second_runs::toolchains;
use crate::editors::picture::svg;
use crate::support::{World, skip};
use crate::terminal::Terminal;

const WORKFLOW: &str = "name: CI
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Build
        run: cargo build --offline --quiet
      - name: Test
        run: cargo test --offline --quiet --test slugs
      - name: Package
        run: cargo package --offline --allow-dirty --quiet
";
const MANIFEST: &str = r#"[package]
name = "slugs"
version = "0.1.0"
edition = "2021"
license = "MIT"
description = "Titles as parts of addresses"
repository = "https://example.com/slugs"
"#;
const SOURCE: &str = "/// Returns a title as a part of an address.
pub fn slug(title: &str) -> String {
    title.to_lowercase().replace(' ', \"-\")
}
";
const MENDED: &str = "/// Returns a title as a part of an address.
pub fn slug(title: &str) -> String {
    let words = title.to_lowercase();
    words.replace([',', '!'], \"\").replace(' ', \"-\")
}
";
const TESTS: &str = r#"use slugs::slug;

#[test]
fn words_are_joined() {
    assert_eq!(slug("Hello World"), "hello-world");
}

#[test]
fn signs_are_left_out() {
    assert_eq!(slug("Ready, set, go!"), "ready-set-go");
}
"#;

const ROWS: u16 = 40;
const COLUMNS: u16 = 104;
/// Lines of the picture, at most.
const MAX_ROWS: u16 = 120;
/// The repository's path in the picture.
const SHOWN_ROOT: &str = "/home/ada/slugs";

/// The crate in its repository.
fn world() -> World {
    let files = [
        (".github/workflows/ci.yml", WORKFLOW),
        (".gitignore", "target\n"),
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", SOURCE),
        ("tests/slugs.rs", TESTS),
    ];
    let mut world = World::committed_for_a_screen(&files);
    for (name, place) in toolchains() {
        world = world.with(name, &place.to_string_lossy());
    }
    world
}

/// A screen with all of this output.
fn screen(output: &str) -> Screen {
    let size = |rows| NonZeroU16::new(rows).expect("rows");
    let mut tall = Parser::new(size(MAX_ROWS), size(COLUMNS), 0);
    tall.process(output.as_bytes());
    let (row, _) = tall.screen().cursor_position();
    let mut fitting = Parser::new(size(row + 1), size(COLUMNS), 0);
    fitting.process(output.as_bytes());
    fitting.screen().clone()
}

#[test]
fn a_job_of_a_crate_fails_is_mended_and_ends_well() {
    let is_here = |program: &str| std::process::Command::new(program).arg("-V").output();
    if is_here("cargo").is_err() {
        skip("jobs::back::story", "cargo is not here");
        return;
    }
    let world = world();
    let mut command = world.backstitch();
    command.args(["job", "debug", "ci.yml", "-j", "test", "--yes"]);
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    let mut job = Terminal::filmed(command, "job-story", ROWS, COLUMNS);
    job.expect_next("before step 1 of 4");
    job.expect_next("job> ");
    job.type_in("c\r");
    job.expect_next("signs_are_left_out");
    job.expect_next("failed: step 3 of 4: Test");
    job.expect_next("job> ");
    job.type_in("b\r");
    job.expect_next("Restored checkpoint [2] before 'Test'");
    job.expect_next("before step 3 of 4: Test");
    job.expect_next("job> ");
    world.write("src/lib.rs", MENDED);
    job.type_in("c\r");
    job.expect_next("Your edits were taken up: src/lib.rs.");
    job.expect_next("test result: ok. 2 passed");
    job.expect_next("at the end of the job");
    job.expect_next("job> ");
    job.type_in(":diff Test 1 2\r");
    let last = "words.replace([',', '!'], \"\").replace(' ', \"-\")";
    job.expect_next(last);
    job.expect_next("Binary files");
    job.expect_next("job> ");
    job.type_in("q\r");
    let (code, output) = job.end_raw();
    assert_eq!(code, 0, "{output}");
    let built = output.contains("GIT binary patch");
    assert!(!built, "a patch of what cargo built: {output}");

    let end = output.find(last).expect("the patch") + last.len();
    let root = world.root.to_string_lossy();
    let shown = screen(&output[..end].replace(&*root, SHOWN_ROOT));
    let text = shown.contents();
    for line in [
        "■ failed: step 3 of 4: Test – Process completed with exit code 101.",
        "Restored checkpoint [2] before 'Test'",
        "■ at the end of the job",
        "-    title.to_lowercase().replace(' ', \"-\")",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/docs/job-story.svg");
    if std::env::var_os("BACKSTITCH_RENEW_SCREENS").is_some() {
        let label = "A terminal: a job of a crate fails, steps back once, is mended, and ends well";
        fs::write(&path, svg(&shown, label)).expect("written");
    }
    let picture = fs::read_to_string(&path).expect("the picture");
    assert!(picture.contains("Restored checkpoint [2] before 'Test'"));
}
