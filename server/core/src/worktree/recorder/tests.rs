//! What a recorder's look does, and what it leaves to others.

use super::Extent;
use super::touched::ChangedPaths;
use crate::capture::{Effect, EventKind, ToolCall, ToolReport};
use crate::engine::Engine;
use crate::model::{Kind, RelPath};
use crate::restore::tests::Scene;

fn path(p: &str) -> RelPath {
    RelPath::new(p.as_bytes()).expect("a path")
}

fn touched(paths: &[&str], trees: &[&str]) -> Extent {
    let all = |of: &[&str]| of.iter().map(|p| path(p)).collect();
    Extent::Only(ChangedPaths {
        paths: all(paths),
        trees: all(trees),
    })
}

fn differ(scene: &mut Scene, extent: &Extent, record: bool) -> Vec<String> {
    let findings = scene.engine.catch_up(extent, record).expect("a look");
    findings.found.iter().map(|f| f.path.display()).collect()
}

#[test]
fn what_a_command_writes_is_left_to_its_end() {
    let mut s = Scene::new(&[("a.txt", "one\n")]);
    s.prompt("make");
    let call = ToolCall {
        id: Some("c1".into()),
        tool: "Bash".into(),
        input: b"{}".to_vec(),
        effect: Effect::Any { background: false },
    };
    s.tell(EventKind::Before(call.clone()));
    let before = s.engine.head().expect("a head");
    s.user("made.txt", "made\n");
    let news = touched(&["made.txt"], &[]);
    assert_eq!(
        differ(&mut s, &news, true),
        ["made.txt"],
        "it stays touched"
    );
    assert_eq!(s.engine.head().expect("a head"), before);
    s.tell(EventKind::After {
        call,
        told: ToolReport::default(),
        failed: false,
    });
    let head = s.engine.head().expect("a head").expect("a node");
    assert_eq!(s.engine.entry(head).expect("it").node.kind, Kind::Step);
    assert!(differ(&mut s, &news, true).is_empty());
    // between calls it is recorded
    s.user("made.txt", "by hand\n");
    assert!(differ(&mut s, &news, true).is_empty());
    let head = s.engine.head().expect("a head").expect("a node");
    assert_eq!(s.engine.entry(head).expect("it").node.kind, Kind::External);
}

#[test]
fn a_part_is_seen_as_the_whole_is() {
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
    // an empty directory was there before what comes into it: a rewind leaves it
    s.user("g/empty/new.txt", "new\n");
    assert!(differ(&mut s, &touched(&["g/empty/new.txt"], &[]), true).is_empty());
    let mut back = s.request("@~1");
    back.exact = true;
    s.apply(&back).expect("rewound");
    assert!(s.root.join("g/empty").is_dir());
    assert!(!s.root.join("g/empty/new.txt").exists());
}

#[test]
fn what_a_tool_named_in_an_ignored_place_is_looked_at_without_being_told() {
    let mut s = Scene::new(&[(".gitignore", "out/\n"), ("a.txt", "a\n")]);
    s.prompt("write");
    s.edit("out/kept.txt", "one\n");
    s.user("out/kept.txt", "two\n");
    // nobody watches there
    let nothing = touched(&[], &[]);
    assert_eq!(differ(&mut s, &nothing, false), ["out/kept.txt"]);
    assert!(differ(&mut s, &nothing, true).is_empty());
}

#[test]
fn other_rules_are_a_reason_to_walk() {
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
        .tree_at(s.engine.head().expect("a head").expect("a node"));
    assert!(tree.expect("a tree").contains_key(&path("x.log")));
}

/// Who looked before, and has not committed yet, may have seen what is gone by now.
#[test]
fn what_others_are_about_to_record_is_waited_for() {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use crate::store::Durable;
    use crate::worktree::file_state;

    let mut s = Scene::new(&[("a.txt", "one\n")]);
    let writer = Engine::open(&s.workspace()).expect("the same store");
    let here = writer.here;
    let row = file_state::row(&writer.store.conn, here.root, &path("a.txt")).expect("rows");
    let row = row.expect("a row");
    let (seen, sees) = channel();
    let (looked, looks) = channel();
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
                seen.send(()).expect("somebody hears");
                // so much time has who does not wait
                looks.recv_timeout(Duration::from_millis(300)).ok();
                Ok(())
            };
            writer
                .store
                .write(Durable::Process, write)
                .expect("recorded");
        });
        sees.recv().expect("it is about to commit");
        let found = differ(&mut s, &touched(&["gone.txt"], &[]), false);
        looked.send(()).ok();
        assert_eq!(found, ["gone.txt"]);
    });
}

/// However many files come before anybody reads of them, each is told.
#[cfg(target_os = "linux")]
#[test]
fn no_event_of_a_burst_is_lost() {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::watch::{Event, Watch};

    let s = Scene::new(&[("a.txt", "one\n")]);
    let questions = tempfile::tempdir().expect("a directory");
    let mut watch = Watch::new(&s.engine.root, questions.path()).expect("a watch");
    watch.set().expect("the watches are set");
    let all: BTreeSet<RelPath> = (0..3000)
        .map(|n| path(&format!("a-name-of-some-length-{n}.txt")))
        .collect();
    for made in &all {
        s.user(&made.display(), "");
    }
    let mut told = BTreeSet::new();
    loop {
        let events = watch.wait(Duration::ZERO).expect("events");
        if events.is_empty() {
            break;
        }
        told.extend(events.into_iter().filter_map(|event| match event {
            Event::Path(path) => Some(path),
            _ => None,
        }));
    }
    assert_eq!(all.difference(&told).count(), 0);
}
