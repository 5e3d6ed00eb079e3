//! Edits of links, of executable bits and of names that are not UTF-8 while a job stands.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::super::{job, workflow, workflow_with};
use super::conversation::{Conversation, place_of};
use crate::support::World;

const STEPS: &str = "
- uses: actions/checkout@v4
- name: Build
  run: echo built > out
- name: Test
  run: ./check
- name: Last
  run: \"true\"";

/// A tree with a script that is not executable, two files, and a link.
fn world() -> World {
    let files = [
        ("check", "#!/bin/sh\nexit 0\n"),
        ("one", "1\n"),
        ("two", "2\n"),
    ];
    let world = workflow_with(&job(STEPS), &files);
    world.symlink("one", "link");
    world
}

fn target(file: &Path) -> PathBuf {
    fs::read_link(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).expect("a file").mode() & 0o111 == 0o111
}

/// The history of a run knows the files of the checkout: one that is deleted while no process has the run is taken up, too.
#[test]
fn a_file_that_is_deleted_before_a_run_is_resumed_is_taken_up() {
    let world = world();
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("c"), "failed Test");
    let (two, out) = (talk.file("two"), talk.file("out"));
    talk.kill();
    world.remove("two");
    world.write("one", "changed\n");
    let mut talk = Conversation::resume(&world);
    let said = talk.ask(":sync")["said"].clone();
    assert_eq!(said, "Your edits were taken up: two, one.");
    assert!(!two.exists() && out.exists());
    assert_eq!(talk.read("one"), "changed\n");
    assert_eq!(talk.stop("b"), "before Test");
    assert!(two.exists(), "the point before the step has the file");
    talk.end();
}

/// The next process does not take files for deleted that the user's tree never had. Steps made them before the checkout, or they are
/// of a submodule.
#[test]
fn files_that_the_user_never_had_stay_over_a_resume() {
    let steps = "
- uses: actions/checkout@v4
- run: echo > before
- {uses: actions/checkout@v4, with: {clean: false, submodules: true}}
- name: Last
  run: \"true\"";
    let world = workflow_with(&job(steps), &[("one", "1\n"), ("sub/inner", "2\n")]);
    let module = "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n";
    world.write(".gitmodules", module);
    world.git_ok(["rm", "-rq", "--cached", "sub"]);
    for words in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "inner"],
    ] {
        world.git_ok([&["-C", "sub"][..], words].concat());
    }
    world.git_ok(["add", "-A"]);
    world.git_ok(["commit", "-q", "-m", "module"]);
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Run echo > before");
    assert_eq!(talk.stop("n"), "before Run actions/checkout@v4");
    assert_eq!(talk.stop("n"), "before Last");
    talk.kill();
    world.remove("one");
    let mut talk = Conversation::resume(&world);
    let said = talk.ask(":sync")["said"].clone();
    assert_eq!(said, "Your edits were taken up: one.");
    assert!(talk.file("before").exists() && talk.file("sub/inner").exists());
    talk.end();
}

/// A file that the checkout could not read is not an edit, for the next process either. One that lost its permissions since is a
/// conflict.
#[test]
fn an_unreadable_file_is_no_edit() {
    let world = world();
    world.write("closed", "1\n");
    world.set_mode("closed", 0o0);
    let world = world.for_ordinary_user();
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Build");
    talk.kill();
    world.set_mode("one", 0o0);
    let mut talk = Conversation::resume(&world);
    let said = talk.ask(":sync")["said"].to_string();
    assert!(
        said.contains("one cannot be read") && !said.contains("closed"),
        "{said}"
    );
    talk.end();
}

/// A tree without git.
fn bare_world() -> World {
    let world = World::new();
    world.write(".github/workflows/ci.yml", job(STEPS));
    world.write("check", "#!/bin/sh\nexit 0\n");
    world.write("one", "1\n");
    world.write(".gitignore", "*.log\n");
    world
}

/// Without git the repository of the run knows the user's files: edits, new files and deletions are taken up. Ignored files are not,
/// nor is a file that only a step has.
#[test]
fn edits_without_git_are_taken_up() {
    let world = bare_world();
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("c"), "failed Test");
    world.write("one", "2\n");
    world.write("new", "new\n");
    world.write("my.log", "mine\n");
    talk.said("!git add -A");
    assert_eq!(
        talk.ask(":sync")["said"],
        "Your edits were taken up: new, one."
    );
    assert_eq!(
        (talk.read("one"), talk.read("new")),
        ("2\n".into(), "new\n".into())
    );
    assert!(talk.file("out").exists() && !talk.file("my.log").exists());
    world.remove("new");
    world.remove("one");
    talk.kill();
    let mut talk = Conversation::resume(&world);
    assert_eq!(
        talk.ask(":sync")["said"],
        "Your edits were taken up: new, one."
    );
    assert!(!talk.file("one").exists() && !talk.file("new").exists());
    world.set_mode("check", 0o755);
    assert_eq!(talk.stop("b"), "before Test");
    let answer = talk.ask("n");
    assert_eq!(place_of(&answer), "before Last");
    assert!(!talk.file("one").exists() && talk.file("out").exists());
    talk.end();
}

/// A step that removes the repository of the run leaves nobody who knows the user's files: none is taken for one that was deleted.
#[test]
fn a_checkout_without_git_keeps_its_files() {
    let world = bare_world();
    world.write(
        ".github/workflows/ci.yml",
        job(STEPS).replace("echo built > out", "echo built > out; rm -rf .git"),
    );
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("c"), "failed Test");
    talk.kill();
    let mut talk = Conversation::resume(&world);
    assert_eq!(talk.stop("b"), "before Test");
    assert_eq!(talk.stop("n"), "failed Test");
    assert_eq!(
        (talk.read("one"), talk.read("out")),
        ("1\n".into(), "built\n".into())
    );
    assert!(talk.file("check").exists());
    talk.end();
}

/// A script that lacks its executable bit is mended by `chmod +x` alone. The time of the file stays as it was.
#[test]
fn an_executable_bit_is_taken_up() {
    let world = world();
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("c"), "failed Test");
    let modified = || {
        fs::metadata(talk.file("check"))
            .expect("a file")
            .mtime_nsec()
    };
    let before = modified();
    world.set_mode("check", 0o755);
    assert_eq!(modified(), before);
    let answer = talk.ask(":retry");
    assert_eq!(place_of(&answer), "before Last");
    assert_eq!(answer["said"], "Your edits were taken up: check.");
    assert!(is_executable(&talk.file("check")));
    let taken = fs::metadata(talk.file("check")).expect("a file");
    assert_eq!(taken.mtime_nsec(), before);
    // the point before the step has the old bit, and the edit comes again
    assert_eq!(talk.stop("b 2"), "before Build");
    assert!(!is_executable(&talk.file("check")));
    assert_eq!(talk.ask("n")["said"], "Your edits were taken up: check.");
    // the bit is taken away, while the run has another text
    talk.said("!echo '# run' >> check");
    world.set_mode("check", 0o644);
    assert_eq!(talk.stop("n"), "failed Test");
    assert_eq!(talk.read("check"), "#!/bin/sh\nexit 0\n# run\n");
    assert!(!is_executable(&talk.file("check")));
    talk.end();
}

/// Links that are new, lead elsewhere, or take the place of a file are taken up. So is a file in the place of a link or a directory.
#[test]
fn links_are_taken_up() {
    let world = world();
    world.write("dir/inner", "inner\n");
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Build");
    assert_eq!(talk.stop("n"), "before Test");
    assert_eq!(target(&talk.file("link")), Path::new("one"));
    world.symlink("nowhere", "new");
    world.remove("link");
    world.symlink("two", "link");
    world.remove("one");
    world.symlink("two", "one");
    fs::remove_dir_all(world.path("dir")).expect("removed");
    world.write("dir", "a file\n");
    let answer = talk.ask("n");
    assert_eq!(
        answer["said"],
        "Your edits were taken up: dir/inner, dir, link, new, one."
    );
    assert_eq!(target(&talk.file("link")), Path::new("two"));
    assert_eq!(target(&talk.file("new")), Path::new("nowhere"));
    assert_eq!(target(&talk.file("one")), Path::new("two"));
    assert_eq!(talk.read("dir"), "a file\n");
    // a link becomes a file, another one a directory
    world.remove("link");
    world.write("link", "text\n");
    world.remove("new");
    world.write("new/file", "below\n");
    world.remove("one");
    assert_eq!(
        talk.said(":sync"),
        "Your edits were taken up: new, one, link, new/file."
    );
    assert_eq!(talk.read("link"), "text\n");
    assert_eq!(talk.read("new/file"), "below\n");
    assert!(!talk.file("one").exists());
    assert_eq!(
        talk.said(":sync"),
        "Neither the workflow nor your files have changed."
    );
    assert_eq!(talk.stop("b 2"), "before Build");
    assert_eq!(target(&talk.file("link")), Path::new("one"));
    assert_eq!(talk.read("one"), "1\n");
    assert_eq!(talk.read("dir/inner"), "inner\n");
    talk.end();
}

/// A link or a file that the run has changed stays, and the conflict is named.
#[test]
fn conflicts_of_links_are_named_and_left() {
    let world = world();
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Build");
    talk.said(
        "!ln -sf run link; ln -sf run one; echo run > two; rm check; mkdir check; touch check/x",
    );
    for name in ["link", "one", "two", "check"] {
        world.remove(name);
    }
    world.symlink("mine", "link");
    world.symlink("mine", "two");
    world.write("one", "mine\n");
    world.write("check", "mine\n");
    let said = talk.said(":sync");
    let named = "not taken up: check is not a file in the run, link leads elsewhere in the run, one is a link in the run, two is a \
                 link now, and the run has changed it. Mend them in ";
    assert!(said.contains(named), "{said}");
    assert_eq!(target(&talk.file("link")), Path::new("run"));
    assert_eq!(target(&talk.file("one")), Path::new("run"));
    assert_eq!(talk.read("two"), "run\n");
    assert!(talk.file("check/x").exists());
    talk.end();
}

/// A path below a link of the user's is not a file of the tree: the link alone is taken up.
#[test]
fn nothing_below_a_link_is_taken_up() {
    let world = world();
    world.write("dir/inner", "inner\n");
    world.git_ok(["add", "dir"]);
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Build");
    fs::rename(world.path("dir"), world.path("other")).expect("renamed");
    world.symlink("other", "dir");
    assert_eq!(
        talk.said(":sync"),
        "Your edits were taken up: dir/inner, dir, other/inner."
    );
    assert_eq!(target(&talk.file("dir")), Path::new("other"));
    assert_eq!(talk.read("other/inner"), "inner\n");
    talk.end();
}

/// A name that is not UTF-8 is edited, removed and made like others.
#[test]
fn names_that_are_not_utf_8_are_taken_up() {
    let name = |bytes: &'static [u8]| Path::new(OsStr::from_bytes(bytes));
    let (edited, gone, new) = (name(b"edited\xff"), name(b"gone\xfe"), name(b"n\xfdw"));
    let world = world();
    world.write(edited, "old\n");
    world.write(gone, "gone\n");
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Build");
    assert_eq!(talk.stop("n"), "before Test");
    let file = |talk: &Conversation, name: &Path| talk.file("").join(name);
    assert!(file(&talk, gone).exists());
    world.write(edited, "mine\n");
    world.write(new, "new\n");
    world.remove(gone);
    let answer = talk.ask("n");
    assert_eq!(place_of(&answer), "failed Test");
    assert_eq!(
        answer["said"],
        "Your edits were taken up: gone\u{fffd}, edited\u{fffd}, n\u{fffd}w."
    );
    assert_eq!(fs::read(file(&talk, edited)).expect("a file"), b"mine\n");
    assert_eq!(fs::read(file(&talk, new)).expect("a file"), b"new\n");
    assert!(!file(&talk, gone).exists());
    assert_eq!(talk.stop("b 2"), "before Build");
    assert_eq!(fs::read(file(&talk, edited)).expect("a file"), b"old\n");
    assert!(file(&talk, gone).exists());
    talk.end();
}

/// An edit of a composite action in which the job stands takes effect from the step that uses it on, and the answer says so.
#[test]
fn an_edit_of_an_entered_action_is_told() {
    let action = |word: &str| {
        format!(
            "name: a\nruns:\n  using: composite\n  steps:\n    - {{name: First, shell: bash, run: 'true'}}\n    - {{name: Inner, shell: bash, run: {word}}}\n"
        )
    };
    let steps =
        "\n- uses: actions/checkout@v4\n- {name: Use, uses: ./act}\n- {name: Last, run: 'true'}";
    let world = workflow_with(&job(steps), &[("act/action.yml", &action("exit 1"))]);
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("c"), "failed Inner");
    world.write("act/action.yml", action("echo mended > mended"));
    let said = talk.ask(":sync")["said"].to_string();
    assert!(said.contains("go back before 'Use' (:goto 2)"), "{said}");
    assert_eq!(talk.stop(":goto 2"), "before Use");
    assert_eq!(talk.stop("n"), "before Last");
    assert_eq!(talk.read("mended"), "mended\n");
    talk.end();
}

/// An edit of the workflow that moves a step leaves its attempts with it, and a new step at its place begins with the first.
#[test]
fn attempts_move_with_their_step() {
    let steps = "\n- {name: A, run: 'true'}\n- {name: C, run: 'true'}\n- {name: D, run: 'true'}";
    let world = workflow(&job(steps));
    let mut talk = Conversation::begin(&world);
    for line in ["n", "n", "b", "n", "b"] {
        talk.ask(line);
    }
    let moved = steps.replace("- {name: C", "- {name: Fresh, run: 'true'}\n- {name: C");
    world.write(".github/workflows/ci.yml", job(&moved));
    let fresh = talk.ask(":sync");
    assert_eq!(
        (&fresh["step"], &fresh["attempt"]),
        (&"Fresh".into(), &1.into())
    );
    let moved = talk.ask("n");
    assert_eq!(
        (&moved["step"], &moved["attempt"]),
        (&"C".into(), &3.into())
    );
    talk.end();
}
