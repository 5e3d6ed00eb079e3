//! Tests of what a recorder's scan records and what it leaves to others.

use super::Extent;
use crate::capture::{Effect, EventKind, ToolCall, ToolReport};
use crate::engine::Engine;
use crate::model::{Kind, RelPath};
use crate::restore::tests::Scene;
use crate::worktree::changed_paths::ChangedPaths;

fn path(p: &str) -> RelPath {
    RelPath::new(p.as_bytes()).expect("a path")
}

fn touched(paths: &[&str], trees: &[&str]) -> Extent {
    let all = |names: &[&str]| names.iter().map(|p| path(p)).collect();
    Extent::Only(ChangedPaths {
        paths: all(paths),
        trees: all(trees),
    })
}

fn differ(scene: &mut Scene, extent: &Extent, record: bool) -> Vec<String> {
    let findings = scene
        .engine
        .capture_mut()
        .catch_up(extent, record)
        .expect("a scan");
    findings.found.iter().map(|f| f.path.display()).collect()
}

#[test]
fn files_that_a_command_writes_are_recorded_at_its_end() {
    let mut s = Scene::new(&[("a.txt", "one\n")]);
    s.prompt("make");
    let call = ToolCall {
        id: Some("c1".into()),
        tool: "Bash".into(),
        input: b"{}".to_vec(),
        effect: Effect::Any { background: false },
    };
    s.tell(EventKind::Before(call.clone()));
    let before = s.engine.history().head().expect("a head");
    s.user("made.txt", "made\n");
    let changed = touched(&["made.txt"], &[]);
    assert_eq!(
        differ(&mut s, &changed, true),
        ["made.txt"],
        "it stays touched"
    );
    assert_eq!(s.engine.history().head().expect("a head"), before);
    s.tell(EventKind::After {
        call,
        report: ToolReport::default(),
        failed: false,
    });
    let head = s.engine.history().head().expect("a head").expect("a node");
    assert_eq!(
        s.engine.history().entry(head).expect("it").node.kind,
        Kind::Step
    );
    assert!(differ(&mut s, &changed, true).is_empty());
    // between calls it is recorded
    s.user("made.txt", "by hand\n");
    assert!(differ(&mut s, &changed, true).is_empty());
    let head = s.engine.history().head().expect("a head").expect("a node");
    assert_eq!(
        s.engine.history().entry(head).expect("it").node.kind,
        Kind::External
    );
}

#[test]
fn a_partial_scan_agrees_with_a_full_scan() {
    let mut s = Scene::new(&[("a.txt", "a\n"), ("d/b.txt", "b\n"), ("d/e/c.txt", "c\n")]);
    std::fs::rename(s.root.join("d"), s.root.join("f")).expect("renamed");
    std::fs::create_dir_all(s.root.join("g/empty")).expect("made");
    let moved = touched(&[], &["d", "f", "g"]);
    assert_eq!(
        differ(&mut s, &moved, false),
        ["d/b.txt", "d/e/c.txt", "f/b.txt", "f/e/c.txt"]
    );
    assert!(differ(&mut s, &moved, true).is_empty());
    assert!(differ(&mut s, &Extent::All, false).is_empty());
    // an empty directory existed before its first file: a rewind keeps it
    s.user("g/empty/new.txt", "new\n");
    assert!(differ(&mut s, &touched(&["g/empty/new.txt"], &[]), true).is_empty());
    let mut back = s.request("@~1");
    back.exact = true;
    s.apply(&back).expect("rewound");
    assert!(s.root.join("g/empty").is_dir());
    assert!(!s.root.join("g/empty/new.txt").exists());
}

/// A path that is gone leaves a bare directory only where nothing else is, and where no rule hides it.
#[test]
fn a_partial_scan_finds_the_bare_directories_of_a_full_scan() {
    let files = [("a.txt", "a\n"), ("d/b.txt", "b\n"), ("e/c.txt", "c\n")];
    let mut s = Scene::new(&[&files[..], &[(".gitignore", "out/\n")]].concat());
    for dir in ["out", "f"] {
        std::fs::create_dir(s.root.join(dir)).expect("made");
    }
    std::fs::remove_file(s.root.join("d/b.txt")).expect("removed");
    std::fs::remove_file(s.root.join("e/c.txt")).expect("removed");
    s.user("d/new.txt", "new\n");
    s.user("f/new.txt", "new\n");
    let temporary = ["out/x", "d/x", "f/x"];
    let changed = [
        &["d/b.txt", "d/new.txt", "e/c.txt", "f/new.txt"],
        &temporary[..],
    ]
    .concat();
    let mut bare = |extent: &Extent| {
        let found = s.engine.capture_mut().catch_up(extent, false);
        String::from_utf8(found.expect("a scan").bare_dirs).expect("UTF-8")
    };
    assert_eq!(bare(&touched(&changed, &[])), "e");
    assert_eq!(bare(&Extent::All), "e");
}

#[test]
fn ignored_files_that_a_tool_named_are_always_scanned() {
    let mut s = Scene::new(&[(".gitignore", "out/\n"), ("a.txt", "a\n")]);
    s.prompt("write");
    s.edit("out/kept.txt", "one\n");
    s.user("out/kept.txt", "two\n");
    // no watch covers this directory
    let nothing = touched(&[], &[]);
    assert_eq!(differ(&mut s, &nothing, false), ["out/kept.txt"]);
    assert!(differ(&mut s, &nothing, true).is_empty());
}

#[test]
fn changed_rules_cause_a_walk() {
    let mut s = Scene::new(&[
        (".gitignore", "*.log\n"),
        ("a.txt", "a\n"),
        ("x.log", "x\n"),
    ]);
    s.user(".gitignore", "");
    let rules = touched(&[".gitignore"], &[]);
    differ(&mut s, &rules, true);
    let tree = s
        .engine
        .history()
        .tree_at(s.engine.history().head().expect("a head").expect("a node"));
    assert!(tree.expect("a tree").contains_key(&path("x.log")));
}

/// A scan that began before and has not committed yet may have read a file that is gone by now.
#[test]
fn a_scan_waits_for_writers_that_have_not_committed() {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use crate::store::Durable;
    use crate::worktree::file_state;

    let mut s = Scene::new(&[("a.txt", "one\n")]);
    let writer = Engine::open(&s.workspace()).expect("the same store");
    let here = writer.here;
    let row = file_state::row(&writer.store.conn, here.root, &path("a.txt")).expect("rows");
    let row = row.expect("a row");
    let (written, on_written) = channel();
    let (scanned, on_scanned) = channel();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            let write = |conn: &rusqlite::Connection| {
                file_state::put(
                    conn,
                    here.root,
                    &path("gone.txt"),
                    &row,
                    file_state::Observed::ByWalk,
                )?;
                written.send(()).expect("somebody hears");
                // a reader that does not wait has this much time
                on_scanned.recv_timeout(Duration::from_millis(300)).ok();
                Ok(())
            };
            writer
                .store
                .write(Durable::Process, write)
                .expect("recorded");
        });
        on_written.recv().expect("it is about to commit");
        let found = differ(&mut s, &touched(&["gone.txt"], &[]), false);
        scanned.send(()).ok();
        assert_eq!(found, ["gone.txt"]);
    });
}

/// Every file of a burst is reported, however many come before the queue is read.
#[cfg(target_os = "linux")]
#[test]
fn no_event_of_a_burst_is_lost() {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::watch::{Event, Watch};

    let s = Scene::new(&[("a.txt", "one\n")]);
    let questions = tempfile::tempdir().expect("a directory");
    let mut watch = Watch::new(&s.engine.root, questions.path(), None).expect("a watch");
    watch.set().expect("the watches are set");
    let all: BTreeSet<RelPath> = (0..3000)
        .map(|n| path(&format!("a-name-of-some-length-{n}.txt")))
        .collect();
    for made in &all {
        s.user(&made.display(), "");
    }
    let mut reported = BTreeSet::new();
    loop {
        let events = watch.wait(Duration::ZERO, None).expect("events");
        if events.is_empty() {
            break;
        }
        reported.extend(events.into_iter().filter_map(|event| match event {
            Event::Path(path) => Some(path),
            _ => None,
        }));
    }
    assert_eq!(all.difference(&reported).count(), 0);
}

/// A directory with another time has the entries that it had. With another mode, all in it may be readable or not.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_with_another_time_is_touched_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    use super::watch::{Event, Watch};

    let s = Scene::new(&[("d/a.txt", "one\n"), ("e/b.txt", "two\n")]);
    let questions = tempfile::tempdir().expect("a directory");
    let mut watch = Watch::new(&s.engine.root, questions.path(), None).expect("a watch");
    watch.set().expect("the watches are set");
    // `touch -m` sets the time of modification alone, which the kernel reports as another event
    for times in [&["-d", "2001-02-03"][..], &["-m", "-d", "2001-02-04"]] {
        let mut touch = std::process::Command::new("touch");
        let status = touch.args(times).arg(s.root.join("d")).status();
        assert!(status.expect("touch runs").success());
    }
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(s.root.join("e"), mode).expect("a mode");
    let mut events = watch.wait(Duration::ZERO, None).expect("events");
    events.dedup();
    assert_eq!(events, [Event::Path(path("d")), Event::Tree(path("e"))]);
}

/// A recorder has seen a new directory. Until it is recorded, it is named alone, and still one without a file.
#[test]
fn a_new_directory_without_a_file_stays_touched_until_it_is_recorded() {
    let mut s = Scene::run(&[("a.txt", "a\n")]);
    s.engine.capture_mut().record_changes().expect("recorded");
    std::fs::create_dir_all(s.root.join("made/in")).expect("made");
    let mut late = |changed: &Extent| {
        let findings = s.engine.capture_mut().catch_up(changed, false);
        let late = findings.expect("a scan").late;
        let late: std::collections::BTreeSet<String> = late.iter().map(RelPath::display).collect();
        late.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(late(&touched(&[], &["made"])), ["made", "made/in"]);
    assert_eq!(
        late(&touched(&["made", "made/in"], &[])),
        ["made", "made/in"]
    );
}

/// The times and permission bits of a run are in its record, too. A path stays touched until a scan has recorded them, also where
/// its content is as recorded.
#[test]
fn times_and_modes_of_a_run_stay_touched_until_they_are_recorded() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut s = Scene::run(&[("a.txt", "a\n"), ("d/b.txt", "b\n"), ("e/c.txt", "c\n")]);
    s.engine.capture_mut().record_changes().expect("recorded");
    let later = std::time::SystemTime::now() + std::time::Duration::from_mins(1);
    let file = std::fs::File::options()
        .write(true)
        .open(s.root.join("a.txt"));
    file.and_then(|file| file.set_modified(later))
        .expect("a time");
    // a file that comes and goes changes the time of its directory alone
    s.user("d/passing.txt", "made\n");
    std::fs::remove_file(s.root.join("d/passing.txt")).expect("removed");
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(s.root.join("e"), mode).expect("a mode");
    let changed = touched(&["a.txt", "d/passing.txt"], &["e"]);
    let late = |s: &mut Scene| {
        let findings = s.engine.capture_mut().catch_up(&changed, false);
        let findings = findings.expect("a scan");
        assert_eq!(findings.found.len(), 0, "the contents are as recorded");
        let late: std::collections::BTreeSet<String> =
            findings.late.iter().map(RelPath::display).collect();
        late.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(late(&mut s), ["a.txt", "d", "e"]);
    s.engine.capture_mut().record_changes().expect("recorded");
    assert_eq!(late(&mut s), [""; 0]);
}

/// A recorder that has seen a private empty directory go while a call is open no longer names it. The end of the call knows that it
/// is gone: a later rewind to that moment does not make it.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_went_while_a_call_was_open_is_not_forgotten() {
    use super::{Recorder, Recording};
    use crate::worktree::cookie;
    use std::os::unix::fs::PermissionsExt as _;
    let mut s = Scene::new(&[("a.txt", "a\n")]);
    std::fs::create_dir(s.root.join("empty")).expect("made");
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(s.root.join("empty"), private).expect("a mode");
    s.shell(|_| ());
    let (store, root) = (s.engine.store.dir.clone(), s.engine.here.root);
    let until_nothing_is_touched = || {
        let asked = || cookie::ask(&store, root, std::time::Duration::from_secs(1));
        while asked().is_none_or(|changed| !changed.paths.is_empty() || !changed.trees.is_empty()) {
            std::thread::yield_now();
        }
    };
    let recorder = Recorder::start(&s.workspace(), Recording::default(), |_| ());
    let _recorder = recorder.expect("started");
    until_nothing_is_touched();
    s.shell(|root| {
        std::fs::remove_dir(root.join("empty")).expect("removed");
        until_nothing_is_touched();
    });
    s.shell(|root| std::fs::write(root.join("b.txt"), "b\n").expect("written"));
    s.rewind("@~1");
    assert!(!s.root.join("empty").exists());
}

/// An undo puts a file back into a directory that its rewind had emptied. Where a recorder spares the walk, the scan after it does
/// not take the directory for an empty one. Else the next rewind would not note that it is, and a later one removed it.
#[cfg(target_os = "linux")]
#[test]
fn an_empty_directory_stays_one_over_rewinds_and_an_undo() {
    use super::{Recorder, Recording};
    use crate::restore::{Goal, Request};
    let mut s = Scene::new(&[("a.txt", "a\n")]);
    let head = |s: &Scene| s.engine.history().head().expect("a head").expect("a node");
    let rewind = |s: &mut Scene, to| {
        let request = Request::new(Goal::Rewind(to));
        s.apply(&request).expect("rewound");
        s.engine.capture_mut().record_changes().expect("recorded");
    };
    std::fs::create_dir(s.root.join("empty")).expect("made");
    s.shell(|_| ());
    let recorder = Recorder::start(&s.workspace(), Recording::default(), |_| ());
    let _recorder = recorder.expect("started");
    let empty = head(&s);
    s.shell(|root| std::fs::write(root.join("empty/x"), "x\n").expect("written"));
    rewind(&mut s, empty);
    s.undo();
    s.engine.capture_mut().record_changes().expect("recorded");
    assert!(s.root.join("empty/x").exists());
    rewind(&mut s, empty);
    assert!(s.root.join("empty").exists() && !s.root.join("empty/x").exists());
    let again = head(&s);
    s.shell(|root| std::fs::write(root.join("b.txt"), "b\n").expect("written"));
    rewind(&mut s, again);
    assert!(s.root.join("empty").exists() && !s.root.join("b.txt").exists());
}

/// A stop at any moment of the first scan is reported by no failure.
#[cfg(target_os = "linux")]
#[test]
fn a_stop_is_no_failure() {
    use super::{Recorder, RecorderStatus, Recording};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;
    let s = Scene::new(&[("a.txt", "a\n")]);
    for number in 0..400 {
        s.user(&format!("d{}/{number}.txt", number % 20), "text\n");
    }
    let workspace = s.workspace();
    let failures = Arc::new(Mutex::new(Vec::new()));
    for moment in 0..20 {
        let reported = Arc::clone(&failures);
        let recorder = Recorder::start(&workspace, Recording::default(), move |status| {
            if let RecorderStatus::Failed(why) = status {
                reported.lock().expect("it").push(why);
            }
        });
        std::thread::sleep(Duration::from_micros(moment * 1_500));
        drop(recorder.expect("started"));
    }
    assert_eq!(*failures.lock().expect("it"), Vec::<String>::new());
}
