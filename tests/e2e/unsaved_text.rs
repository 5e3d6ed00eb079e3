//! Unsaved text and pending saves: how the hook and the command line work with running editors. The tests play the
//! editor directly on the engine.

use std::thread;

use backstitch_core::model::{ContentId, RelPath};
use backstitch_core::restore::{OpenDoc, Request};
use backstitch_core::{
    EditorLease, Engine, Handed, Locate, OpenText, PendingChoice, RequestOutcome, Workspace,
};
use serde_json::{Value, json};

use crate::support::{Output, World};

const START: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const AGENT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n";
/// The agent's text with user edits.
const TYPED: &str = "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n";
/// The same edits without the agent's.
const MERGED: &str = "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n";
/// A user edit of the line that the agent wrote.
const RIVAL: &str = "one\ntwo\nthree\nfour\nfive\nsix\nmy seven\n";

fn path(path: &str) -> RelPath {
    RelPath::new(path).expect("a path")
}

fn id(text: &str) -> ContentId {
    ContentId::of(text.as_bytes())
}

/// A language server running on a world's workspace.
struct Editor {
    engine: Engine,
    lease: EditorLease,
}

impl Editor {
    fn new(world: &World, name: &str) -> Self {
        let stores = world.state.join("backstitch/workspaces");
        let workspace = Workspace::find(&Locate {
            workspace: Some(&world.root),
            store_dir: Some(&stores),
            cwd: &world.root,
        });
        let mut engine = Engine::open(&workspace.expect("a workspace")).expect("opens");
        let lease = engine
            .documents_mut()
            .attach_editor(name)
            .expect("attached");
        Self { engine, lease }
    }

    /// The user types into `a.txt`, which was loaded as `base`.
    fn types(&mut self, text: &str, base: &str) {
        let open = OpenText {
            path: path("a.txt"),
            text: text.into(),
            base: Some(id(base)),
            version: 1,
        };
        assert!(
            self.engine
                .documents_mut()
                .put_buffer(&self.lease, &open)
                .expect("put")
        );
    }

    /// Waits for the next request that another process hands to this editor.
    fn asked(&mut self) -> Handed {
        loop {
            let mut all = self
                .engine
                .restore_mut()
                .take_requests(&self.lease)
                .expect("read");
            if let Some(handed) = all.pop() {
                return handed;
            }
            thread::yield_now();
        }
    }

    /// Carries out such a request with this text in `a.txt`, and reports success.
    fn serves(&mut self, text: &str, base: &str) {
        let handed = self.asked();
        let outcome =
            self.engine
                .restore_mut()
                .serve(&handed, vec![dirty(text, base)], &mut |_| {});
        let answer = RequestOutcome::of(&outcome);
        assert!(
            self.engine
                .restore_mut()
                .answer_request(handed.id, &answer)
                .expect("told")
        );
    }

    /// Rewinds to the first turn from this editor, in which `a.txt` is open without unsaved text and is not reloaded.
    fn rewinds_plain(&mut self) {
        let doc = OpenDoc {
            path: path("a.txt"),
            text: None,
            base: None,
            on_disk: false,
        };
        let target = self.engine.history().resolve("t1").expect("a turn");
        let request = Request {
            editor: Some(self.lease.id()),
            open: vec![doc],
            ..Request::new(backstitch_core::restore::Goal::Rewind(target))
        };
        let applied = self.engine.restore_mut().apply(&request, None, &mut |_| {});
        assert_eq!(applied.expect("applied").plan.edits[0].to, id(START));
    }

    /// Dies as if by `kill -9`: the kernel frees its lock, and nothing is cleaned up. The lock file is copied away and
    /// back, since this process lives on and holds it.
    fn dies(self, world: &World) {
        let lock = world
            .store()
            .join(format!("editors/{}.lock", self.lease.id().0));
        std::fs::remove_file(&lock).expect("a lock");
        std::fs::write(&lock, "").expect("a lock that nobody holds");
        std::mem::forget(self.lease);
    }
}

fn dirty(text: &str, base: &str) -> OpenDoc {
    OpenDoc {
        path: path("a.txt"),
        text: Some(text.into()),
        base: Some(id(base)),
        on_disk: true,
    }
}

/// A workspace with a turn in which the agent changes `a.txt`.
fn turn() -> World {
    let world = World::new();
    world.write("a.txt", START);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("shout");
    agent.edit("a.txt", "seven", "SEVEN");
    agent.stop();
    world
}

fn pending(world: &World) -> Value {
    world.json(["status"])["pending_saves"].clone()
}

/// Text of `a.txt` at the newest checkpoint.
fn recorded(world: &World) -> String {
    world.ok(["cat", "@", "a.txt"]).stdout
}

#[track_caller]
fn whole(world: &World) {
    world.ok(["verify"]);
}

#[test]
fn unsaved_text_belongs_to_the_turn() {
    let world = turn();
    let mut editor = Editor::new(&world, "Helix");
    editor.types(TYPED, AGENT);
    let mut agent = world.agent();
    agent.prompt("go on");
    let shown = world.ok(["show", "t2"]).stdout;
    assert!(
        shown.contains("U  a.txt  +1 -1  not saved, in Helix"),
        "{shown}"
    );
    let entry = world.json(["show", "t2"]);
    let unsaved = json!([{"path": "a.txt", "added": 1, "removed": 1, "editor": "Helix"}]);
    assert_eq!(entry["unsaved"], unsaved);
    assert_eq!(world.ok(["cat", "t2", "a.txt", "--unsaved"]).stdout, TYPED);
    assert_eq!(world.ok(["cat", "t2", "a.txt"]).stdout, AGENT);
    let none = world
        .run(["cat", "t1", "a.txt", "--unsaved"])
        .expect_code(3);
    assert!(none.stderr.contains("no editor had unsaved text"), "{none}");
    // a step records no unsaved text, and an editor that left leaves nothing
    agent.edit("a.txt", "four", "FOUR");
    assert_eq!(world.json(["show", "@"])["unsaved"], json!([]));
    drop(editor.lease);
    let manual = world.json(["checkpoint"]);
    assert_eq!(manual["unsaved"], json!([]));
    whole(&world);
}

#[test]
fn status_names_running_editors() {
    let world = turn();
    let editor = Editor::new(&world, "Helix");
    let status = world.ok(["status"]).stdout;
    let pid = std::process::id();
    assert!(
        status.contains(&format!("Helix (process {pid})")),
        "{status}"
    );
    let listed = &world.json(["status"])["editors"];
    assert_eq!(listed[0]["name"], "Helix");
    assert_eq!(listed[0]["pid"], pid);
    drop(editor.lease);
    assert_eq!(world.json(["status"])["editors"], json!([]));
}

/// A command-line rewind over unsaved text goes through the editor that has it.
#[test]
fn a_command_line_rewind_goes_through_the_editor() {
    let world = turn();
    let mut editor = Editor::new(&world, "Helix");
    editor.types(TYPED, AGENT);
    // the plan announces the result
    let plan = world.json(["rewind", "t1", "--dry-run"]);
    assert_eq!(plan["edits"], json!([{"path": "a.txt", "pending": true}]));
    let fingerprint = plan["plan"].as_str().expect("one").to_owned();
    let answer = thread::scope(|scope| {
        let asked = scope.spawn(|| world.json(["rewind", "t1", "--plan", &fingerprint]));
        editor.serves(TYPED, AGENT);
        asked.join().expect("an answer")
    });
    assert_eq!(answer["editor"]["name"], "Helix");
    assert_eq!(answer["edits"], plan["edits"]);
    assert_eq!(
        (world.read("a.txt"), recorded(&world)),
        (AGENT.into(), START.into())
    );
    let waits = pending(&world);
    assert_eq!(
        (&waits[0]["path"], &waits[0]["editor"]),
        (&json!("a.txt"), &json!("Helix"))
    );
    assert_eq!(waits[0]["operation"], answer["operation"]);
    let status = world.ok(["status"]).stdout;
    assert!(
        status.contains("waits for a save of a.txt in Helix"),
        "{status}"
    );
    // the rewind records the typed text, whatever happens to the document
    assert_eq!(world.ok(["cat", "@", "a.txt", "--unsaved"]).stdout, TYPED);
    // once saved, it is the user's
    world.write("a.txt", MERGED);
    editor
        .engine
        .documents_mut()
        .drop_buffer(&editor.lease, &path("a.txt"))
        .expect("dropped");
    world.ok(["scan"]);
    assert_eq!(
        (pending(&world), recorded(&world)),
        (json!([]), MERGED.into())
    );
    world.ok(["undo"]);
    assert_eq!(world.read("a.txt"), TYPED);
    whole(&world);
}

/// U-19: unsaved text on the agent's lines is a conflict, which is decided before anything changes.
#[test]
fn conflicts_with_unsaved_text_are_decided_first() {
    let world = turn();
    let mut editor = Editor::new(&world, "Helix");
    editor.types(RIVAL, AGENT);
    let before = (world.tree(), world.json(["log"]));
    let refused = world.run(["rewind", "t1"]).expect_code(1);
    assert!(
        refused
            .stdout
            .contains("it conflicts with unsaved changes in Helix"),
        "{refused}"
    );
    assert_eq!((world.tree(), world.json(["log"])), before);
    let outcome = [
        ("current", RIVAL.to_owned()),
        ("target", START.to_owned()),
        (
            "markers",
            START.replace(
                "seven\n",
                "<<<<<<< not saved\nmy seven\n=======\nseven\n>>>>>>> before “shout”\n",
            ),
        ),
    ];
    for (how, expected) in outcome {
        let handed = thread::scope(|scope| {
            let asked = scope.spawn(|| world.json(["rewind", "t1", "--on-conflict", how]));
            let handed = editor.asked();
            let open = vec![dirty(RIVAL, AGENT)];
            let outcome = editor
                .engine
                .restore_mut()
                .serve(&handed, open, &mut |_| {});
            let answer = RequestOutcome::of(&outcome);
            editor
                .engine
                .restore_mut()
                .answer_request(handed.id, &answer)
                .expect("told");
            let applied = outcome.expect("applied");
            let edit = &applied.plan.edits[0];
            let text = editor
                .engine
                .restore()
                .text_of(&applied.plan, &edit.to)
                .expect("made");
            assert_eq!(
                asked.join().expect("an answer")["conflicts"][0]["resolution"],
                how
            );
            String::from_utf8(text).expect("text")
        });
        assert_eq!(handed, expected, "{how}");
        // and undo, in the editor that shows it
        editor.types(&handed, AGENT);
        thread::scope(|scope| {
            let asked = scope.spawn(|| world.run(["undo", "--on-conflict", "current"]));
            editor.serves(&handed, AGENT);
            asked.join().expect("an answer").expect_code(0);
        });
        assert_eq!(
            (world.read("a.txt"), recorded(&world)),
            (AGENT.into(), AGENT.into())
        );
        editor.types(RIVAL, AGENT);
    }
    whole(&world);
}

#[test]
fn an_editor_that_does_not_answer_is_named_and_nothing_changes() {
    let world = turn();
    let mut editor = Editor::new(&world, "Helix");
    editor.types(TYPED, AGENT);
    let before = (world.tree(), world.json(["log"]));
    let refused = world.run(["--json", "rewind", "t1"]).expect_code(1);
    let said = refused.json()["error"].clone();
    let message = said["message"].as_str().expect("one");
    assert!(
        message.contains("Helix")
            && message.contains("a.txt")
            && message.contains("does not answer"),
        "{said}"
    );
    assert!(
        said["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains("save")),
        "{said}"
    );
    assert_eq!((world.tree(), world.json(["log"])), before);
    // it is not done later either
    assert!(
        editor
            .engine
            .restore_mut()
            .take_requests(&editor.lease)
            .expect("read")
            .is_empty()
    );
    // other files have no unsaved text
    world.write("b.txt", "b\n");
    world.ok(["rewind", "t1", "--path", "b.txt"]);
}

#[test]
fn a_retry_succeeds_after_the_editor_died() {
    let world = turn();
    let mut editor = Editor::new(&world, "Helix");
    editor.types(TYPED, AGENT);
    let refused: Output = thread::scope(|scope| {
        let asked = scope.spawn(|| world.run(["rewind", "t1"]));
        editor.asked();
        editor.dies(&world);
        asked.join().expect("an answer")
    });
    let refused = refused.expect_code(1);
    assert!(refused.stderr.contains("went away"), "{refused}");
    assert_eq!(world.read("a.txt"), AGENT);
    // its unsaved text is named and does not block the rewind
    let left = &world.json(["status"])["unsaved_left"];
    assert_eq!(
        (&left[0]["path"], &left[0]["editor"]),
        (&json!("a.txt"), &json!("Helix"))
    );
    let status = world.ok(["status"]).stdout;
    assert!(status.contains("not saved when Helix"), "{status}");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), START);
    let mut next = Editor::new(&world, "Helix");
    let orphans = next.engine.documents().orphan_buffers().expect("read");
    let taken = next
        .engine
        .documents_mut()
        .keep_orphan(&orphans[0], "left")
        .expect("taken");
    assert_eq!(taken.expect("there").text, TYPED.as_bytes());
    assert_eq!(world.json(["status"])["unsaved_left"], json!([]));
}

#[test]
fn two_editors_on_one_file_are_both_named() {
    let world = turn();
    let mut helix = Editor::new(&world, "Helix");
    let mut emacs = Editor::new(&world, "Emacs");
    helix.types(TYPED, AGENT);
    emacs.types(RIVAL, AGENT);
    let refused = world
        .run(["rewind", "t1", "--on-conflict", "current"])
        .expect_code(1);
    assert!(
        refused.stderr.contains("Helix") && refused.stderr.contains("Emacs"),
        "{refused}"
    );
    assert_eq!(world.read("a.txt"), AGENT);
    assert_eq!(
        world.json(["checkpoint"])["unsaved"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

#[test]
fn a_file_with_a_pending_save_counts_as_rewound() {
    let world = turn();
    let mut editor = Editor::new(&world, "Kakoune");
    editor.rewinds_plain();
    assert_eq!(
        (world.read("a.txt"), recorded(&world)),
        (AGENT.into(), START.into())
    );
    // neither a scan nor an agent at work elsewhere records the disk as an edit
    let head = world.json(["status"])["head"].clone();
    world.ok(["scan"]);
    world.ok(["diff"]);
    let mut agent = world.agent();
    agent.prompt("elsewhere");
    agent.write("b.txt", "b\n");
    agent.bash("echo more >> b.txt");
    agent.stop();
    assert_eq!(recorded(&world), START);
    assert_eq!(pending(&world)[0]["operation"], "op1");
    assert_ne!(world.json(["status"])["head"], head);
    assert!(world.ok(["blame", "a.txt"]).stdout.contains("seven"));
    // then it is saved
    world.write("a.txt", START);
    world.ok(["scan"]);
    assert_eq!(
        (pending(&world), recorded(&world)),
        (json!([]), START.into())
    );
    whole(&world);
}

#[test]
fn a_different_save_is_the_users_edit() {
    let world = turn();
    Editor::new(&world, "Kakoune").rewinds_plain();
    world.write("a.txt", MERGED);
    world.ok(["scan"]);
    assert_eq!(pending(&world), json!([]));
    let newest = world.json(["show", "@"]);
    assert_eq!(newest["kind"], "external");
    assert_eq!(newest["changes"][0]["origin"]["by"], "user");
    assert_eq!(
        (
            &newest["changes"][0]["added"],
            &newest["changes"][0]["removed"]
        ),
        (&json!(1), &json!(1))
    );
    world.ok(["undo"]);
    assert_eq!(world.read("a.txt"), TYPED);
    whole(&world);
}

#[test]
fn undo_before_the_save_restores_the_text_on_disk() {
    let world = turn();
    let mut editor = Editor::new(&world, "Kakoune");
    editor.rewinds_plain();
    let before = world.tree();
    world.ok(["undo"]);
    assert_eq!((world.tree(), recorded(&world)), (before, AGENT.into()));
    assert_eq!(pending(&world), json!([]));
    world.ok(["redo"]);
    assert_eq!(
        (world.read("a.txt"), recorded(&world)),
        (START.into(), START.into())
    );
    whole(&world);
}

#[test]
fn the_user_decides_about_a_document_closed_without_saving() {
    for write in [true, false] {
        let world = turn();
        let mut editor = Editor::new(&world, "Kakoune");
        editor.rewinds_plain();
        let how = if write {
            PendingChoice::WriteNow(None)
        } else {
            PendingChoice::Forget
        };
        let settled = editor
            .engine
            .restore_mut()
            .resolve_pending(&path("a.txt"), &how);
        settled.expect("settled");
        let expected = if write { START } else { AGENT };
        assert_eq!(
            (world.read("a.txt"), recorded(&world)),
            (expected.into(), expected.into())
        );
        assert_eq!(pending(&world), json!([]));
        if write {
            let log = world.ok(["oplog"]).stdout;
            assert!(log.contains("save op1"), "{log}");
            let refused = world.run(["undo", "op2"]).expect_code(1);
            assert!(refused.stderr.contains("undo op1"), "{refused}");
            world.ok(["undo"]);
            assert_eq!(world.read("a.txt"), AGENT);
        } else {
            // the rewind is undone, and the line is the agent's again
            assert_eq!(
                world.json(["show", "@"])["changes"][0]["origin"]["by"],
                "restore"
            );
            world.ok(["rewind", "t1"]);
            assert_eq!(world.read("a.txt"), START);
        }
        whole(&world);
    }
}

/// The agent reads the file on disk, so its edit starts from that.
#[test]
fn an_agents_edit_starts_from_the_text_on_disk() {
    let world = turn();
    Editor::new(&world, "Kakoune").rewinds_plain();
    let mut agent = world.agent();
    agent.prompt("again");
    agent.edit("a.txt", "four", "FOUR");
    let step = world.json(["show", "@"]);
    assert_eq!(
        (&step["kind"], &step["changes"][0]["added"]),
        (&json!("step"), &json!(1))
    );
    assert_eq!(world.ok(["cat", "@^", "a.txt"]).stdout, AGENT);
    assert_eq!(
        world.json(["show", "@^"])["changes"][0]["origin"]["by"],
        "restore"
    );
    assert_eq!(pending(&world), json!([]));
    world.ok(["rewind", "t2"]);
    assert_eq!(world.read("a.txt"), AGENT);
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), START);
    whole(&world);
}

#[test]
fn pending_saves_of_a_dead_editor_are_named_and_can_be_undone() {
    let world = turn();
    let mut editor = Editor::new(&world, "Kakoune");
    editor.types(TYPED, AGENT);
    editor.rewinds_merged();
    editor.dies(&world);
    let status = world.ok(["status"]).stdout;
    assert!(
        status.contains("waits for a save of a.txt in Kakoune"),
        "{status}"
    );
    assert_eq!(recorded(&world), START);
    assert_eq!(world.ok(["cat", "@", "a.txt", "--unsaved"]).stdout, TYPED);
    world.ok(["undo"]);
    assert_eq!(
        (world.read("a.txt"), pending(&world)),
        (AGENT.into(), json!([]))
    );
    whole(&world);
}

#[test]
fn a_running_editor_survives_clearing_the_history() {
    let world = turn();
    let mut editor = Editor::new(&world, "Helix");
    editor.types(TYPED, AGENT);
    editor.rewinds_merged();
    world.ok(["clear", "--yes"]);
    assert_eq!(pending(&world), json!([]));
    editor.types(TYPED, AGENT);
    let manual = world.json(["checkpoint"]);
    assert_eq!(manual["unsaved"][0]["editor"], "Helix");
    assert_eq!(recorded(&world), AGENT);
    assert_eq!(world.json(["status"])["editors"][0]["name"], "Helix");
    whole(&world);
}

impl Editor {
    /// Rewinds to the first turn with unsaved text of its own.
    fn rewinds_merged(&mut self) {
        let target = self.engine.history().resolve("t1").expect("a turn");
        let request = Request {
            editor: Some(self.lease.id()),
            open: vec![dirty(TYPED, AGENT)],
            ..Request::new(backstitch_core::restore::Goal::Rewind(target))
        };
        let applied = self.engine.restore_mut().apply(&request, None, &mut |_| {});
        assert_eq!(applied.expect("applied").plan.edits[0].to, id(MERGED));
    }
}
