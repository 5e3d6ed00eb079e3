//! Scenes of an editor beside an agent, told over the engine itself.

use std::time::Duration;

use super::{Answer, EditorLease, OpenText, Settle, Settled};
use crate::capture::{Effect, EventKind, Told, ToolCall};
use crate::model::{ContentId, NodeId, RelPath};
use crate::restore::tests::Scene;
use crate::restore::{Applied, GapKind, Goal, OnConflict, OpenDoc, Request};
use crate::{Engine, Error};

const BASE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
/// What the agent makes of it.
const AGENT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n";
/// What the user types over the agent's.
const TYPED: &str = "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n";
/// Both without the agent's.
const MERGED: &str = "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn path(p: &str) -> RelPath {
    RelPath::new(p).expect("a path")
}

fn id(text: &str) -> ContentId {
    ContentId::of(text.as_bytes())
}

fn typed(text: &str, base: &str) -> OpenText {
    OpenText {
        path: path("a.txt"),
        text: text.into(),
        base: Some(id(base)),
        version: 1,
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

/// A clean document of a client that does not reload.
fn plain() -> OpenDoc {
    OpenDoc {
        path: path("a.txt"),
        text: None,
        base: None,
        on_disk: false,
    }
}

/// A turn in which the agent changes `a.txt`, and an editor.
fn scene() -> (Scene, EditorLease) {
    let mut s = Scene::new(&[("a.txt", BASE)]);
    let lease = s.engine.attach_editor("Helix").expect("attached");
    s.prompt("shout");
    s.edit("a.txt", AGENT);
    (s, lease)
}

fn rewind(s: &Scene, lease: &EditorLease, open: Vec<OpenDoc>) -> Request {
    Request {
        editor: Some(lease.id()),
        open,
        ..s.request("t1")
    }
}

fn apply(s: &mut Scene, r: &Request) -> Applied {
    let applied = s.engine.apply(r, None, &mut |_| {}).expect("applied");
    whole(s);
    applied
}

#[track_caller]
fn whole(s: &Scene) {
    let verified = s.engine.verify(&mut |_| {}).expect("verifies");
    assert_eq!(verified.problems, Vec::<String>::new());
    assert_eq!(s.engine.misjudged().expect("read"), []);
}

/// What the record has of `a.txt`.
fn recorded(s: &Scene) -> String {
    let head = s.engine.head().expect("read").expect("a head");
    let tree = s.engine.tree_at(head).expect("read");
    let content = tree[&path("a.txt")].content().expect("a content");
    String::from_utf8(s.engine.content(&content).expect("read")).expect("text")
}

/// The newest change of `a.txt`: the node, what it led from and to, and whether it is the user's.
fn newest(s: &Scene) -> (NodeId, String, String, bool) {
    let entries = s.engine.log(&crate::LogFilter::default()).expect("read");
    let changed = entries.iter().find(|e| !e.changes.is_empty());
    let entry = changed.expect("a change");
    let change = &entry.changes[0].change;
    let text = |state: &crate::model::FileState| {
        let content = state.as_ref().and_then(|p| p.image.content());
        let bytes = content.map(|c| s.engine.content(&c).expect("read"));
        String::from_utf8(bytes.unwrap_or_default()).expect("text")
    };
    let users = change.origin.session.is_none();
    let texts = (text(&change.before), text(&change.after));
    (entry.node.id, texts.0, texts.1, users)
}

/// The editor's process is killed: its lock goes, its rows stay.
fn kill(mut lease: EditorLease) {
    lease.lock = None;
    std::mem::forget(lease);
}

#[test]
fn editors_are_those_that_are_alive() {
    let (mut s, helix) = scene();
    let emacs = s.engine.attach_editor("Emacs").expect("attached");
    let names = |s: &Scene| -> Vec<String> {
        let all = s.engine.editors().expect("read");
        all.into_iter().map(|e| e.name).collect()
    };
    assert_eq!(names(&s), ["Helix", "Emacs"]);
    assert_eq!(s.engine.status().expect("read").editors.len(), 2);
    kill(emacs);
    assert_eq!(names(&s), ["Helix"]);
    drop(helix);
    assert_eq!(names(&s), Vec::<String>::new());
    let zed = s.engine.attach_editor("Zed").expect("attached");
    let left: i64 = s
        .engine
        .store
        .conn
        .query_row("SELECT COUNT(*) FROM editor", [], |r| r.get(0))
        .expect("read");
    assert_eq!((names(&s), left), (vec!["Zed".to_owned()], 1));
    drop(zed);
}

#[test]
fn unsaved_text_belongs_to_turns_and_manual_checkpoints() {
    let (mut s, lease) = scene();
    s.engine
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    s.prompt("more");
    let turn = s.engine.head().expect("read").expect("a head");
    let unsaved = s.engine.unsaved_at(turn).expect("read");
    assert_eq!(unsaved.len(), 1);
    let first = &unsaved[0];
    assert_eq!((first.editor.as_str(), first.content), ("Helix", id(TYPED)));
    assert_eq!(
        (first.base, first.added, first.removed),
        (Some(id(AGENT)), 1, 1)
    );
    assert_eq!(
        s.engine.content(&first.content).expect("kept"),
        TYPED.as_bytes()
    );
    // on disk it is what it was, and a step is not the state of a moment
    assert_eq!(recorded(&s), AGENT);
    s.edit("b.txt", "new\n");
    let step = s.engine.head().expect("read").expect("a head");
    assert_eq!(s.engine.unsaved_at(step).expect("read"), []);
    // the same text again costs no content
    let blobs = |s: &Scene| s.engine.verify(&mut |_| {}).expect("verifies").blobs;
    let before = blobs(&s);
    let manual = s.engine.checkpoint(None).expect("made");
    assert_eq!(s.engine.unsaved_at(manual).expect("read").len(), 1);
    assert_eq!(blobs(&s), before);
    s.engine
        .drop_buffer(&lease, &path("a.txt"))
        .expect("dropped");
    let manual = s.engine.checkpoint(None).expect("made");
    assert_eq!(s.engine.entry(manual).expect("read").unsaved, []);
    whole(&s);
}

/// What the rules hide from the history is not in it by way of an editor.
#[test]
fn unsaved_text_of_ignored_files_is_not_kept() {
    let mut s = Scene::new(&[(".gitignore", ".env\n"), (".env", "KEY=old\n")]);
    let lease = s.engine.attach_editor("Helix").expect("attached");
    let mut put = |p: &str| {
        let open = OpenText {
            path: path(p),
            ..typed("KEY=new\n", "KEY=old\n")
        };
        s.engine.put_buffer(&lease, &open).expect("put")
    };
    assert_eq!((put(".env"), put("new.txt")), (false, true));
}

#[test]
fn typing_does_not_make_the_history_grow() {
    let (mut s, lease) = scene();
    let blobs = |s: &Scene| s.engine.verify(&mut |_| {}).expect("verifies").blobs;
    let before = blobs(&s);
    for n in 0..300 {
        let text = format!("{TYPED}{n}\n");
        s.engine
            .put_buffer(&lease, &typed(&text, AGENT))
            .expect("put");
    }
    assert_eq!(blobs(&s), before);
    let rows: i64 = s
        .engine
        .store
        .conn
        .query_row("SELECT COUNT(*) FROM buffer", [], |r| r.get(0))
        .expect("read");
    assert_eq!(rows, 1);
}

/// An agent's step under a dirty buffer: what was typed is kept at the step, and nothing of it is the agent's.
#[test]
fn an_agent_writes_under_unsaved_text() {
    let (mut s, lease) = scene();
    let open = typed(TYPED, AGENT);
    s.engine.put_buffer(&lease, &open).expect("put");
    s.edit("a.txt", &AGENT.replace("four", "FOUR"));
    let step = s.engine.head().expect("read").expect("a head");
    s.engine.keep_buffers(&lease, step, &[open]).expect("kept");
    assert_eq!(
        s.engine.unsaved_at(step).expect("read")[0].content,
        id(TYPED)
    );
    // taking that step out leaves the document, whose base is what comes back
    let node = Request {
        goal: Goal::Revert(vec![step]),
        ..rewind(&s, &lease, vec![dirty(TYPED, AGENT)])
    };
    let plan = s.engine.plan(&node).expect("planned");
    assert_eq!(plan.edits.len(), 1);
    let edit = &plan.edits[0];
    assert_eq!(
        (edit.from, edit.to, edit.pending),
        (id(TYPED), id(TYPED), true)
    );
}

#[test]
fn a_rewind_merges_with_unsaved_text() {
    let (mut s, lease) = scene();
    s.engine
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    let r = rewind(&s, &lease, vec![dirty(TYPED, AGENT)]);
    let applied = apply(&mut s, &r);
    let edit = &applied.plan.edits[0];
    assert_eq!(
        (edit.from, edit.to, edit.pending),
        (id(TYPED), id(MERGED), true)
    );
    let text = s.engine.text_of(&applied.plan, &edit.to).expect("known");
    assert_eq!(text, MERGED.as_bytes());
    // the disk is the editor's to write; the record has the outcome
    assert_eq!(s.text("a.txt").as_deref(), Some(AGENT));
    assert_eq!(recorded(&s), BASE);
    let kept = s
        .engine
        .unsaved_at(applied.node.expect("a node"))
        .expect("read");
    assert_eq!(kept[0].content, id(TYPED));
    let pending = s.engine.pending_saves().expect("read");
    assert_eq!((pending.len(), pending[0].editor.as_str()), (1, "Helix"));
    // looking changes nothing of that, however often
    for _ in 0..3 {
        s.engine.look().expect("looked");
        assert_eq!(recorded(&s), BASE);
    }
    s.engine
        .store
        .conn
        .execute("UPDATE file_state SET racy = 1", [])
        .expect("set");
    s.engine.look().expect("looked");
    assert_eq!(
        (
            recorded(&s).as_str(),
            s.engine.pending_saves().expect("read").len()
        ),
        (BASE, 1)
    );
    // saved: what the user typed is the user's, and nothing waits
    s.user("a.txt", MERGED);
    s.engine.look().expect("looked");
    assert_eq!(s.engine.pending_saves().expect("read"), []);
    let (_, before, after, users) = newest(&s);
    assert_eq!(
        (before.as_str(), after.as_str(), users),
        (BASE, MERGED, true)
    );
    whole(&s);
}

/// A server that forgets one of its documents: the row says what it holds.
#[test]
fn an_editors_own_row_counts_where_it_tells_nothing() {
    let (mut s, lease) = scene();
    s.engine
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    let r = rewind(&s, &lease, Vec::new());
    let applied = apply(&mut s, &r);
    assert_eq!(applied.plan.edits[0].to, id(MERGED));
    assert_eq!(s.text("a.txt").as_deref(), Some(AGENT));
}

#[test]
fn a_rewind_that_collides_with_unsaved_text_touches_nothing_unless_decided() {
    const MINE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nSeven, mine\n";
    let (mut s, lease) = scene();
    s.engine
        .put_buffer(&lease, &typed(MINE, AGENT))
        .expect("put");
    let mut r = rewind(&s, &lease, vec![dirty(MINE, AGENT)]);
    let head = s.engine.head().expect("read");
    let plan = s.engine.plan(&r).expect("planned");
    assert_eq!(plan.open_conflicts(), 1);
    assert!(
        plan.conflicts[0].reason.contains("unsaved text in Helix"),
        "{plan:?}"
    );
    let refused = s.engine.apply(&r, None, &mut |_| {}).expect_err("refused");
    assert!(matches!(refused, Error::Conflicts { open: 1 }));
    assert_eq!(
        (s.engine.head().expect("read"), s.text("a.txt").as_deref()),
        (head, Some(AGENT))
    );
    let mut outcome = |s: &mut Scene, how| {
        r.on_conflict = how;
        let plan = s.engine.plan(&r).expect("planned");
        assert_eq!(plan.open_conflicts(), 0);
        let text = s.engine.text_of(&plan, &plan.edits[0].to).expect("known");
        String::from_utf8(text).expect("text")
    };
    assert_eq!(outcome(&mut s, OnConflict::Current), MINE);
    assert_eq!(outcome(&mut s, OnConflict::Target), BASE);
    let both = outcome(&mut s, OnConflict::Markers);
    assert!(
        both.contains("<<<<<<< not saved\nSeven, mine\n=======\nseven\n>>>>>>> target"),
        "{both}"
    );
    // the target's very state, and what was typed is kept
    r.on_conflict = OnConflict::Fail;
    r.exact = true;
    let applied = apply(&mut s, &r);
    assert_eq!(applied.plan.edits[0].to, id(BASE));
    let kept = s
        .engine
        .unsaved_at(applied.node.expect("a node"))
        .expect("read");
    assert_eq!(kept[0].content, id(MINE));
}

/// The disk changed under the text: it is merged from what it was loaded from.
#[test]
fn unsaved_text_on_an_older_base_is_merged_from_that() {
    let (mut s, lease) = scene();
    const OLD: &str = "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n";
    let r = rewind(&s, &lease, vec![dirty(OLD, BASE)]);
    let applied = apply(&mut s, &r);
    assert_eq!(applied.plan.edits[0].to, id(OLD));
}

#[test]
fn a_plain_clients_document_is_changed_in_the_editor_and_saved_later() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![plain()]);
    let applied = apply(&mut s, &r);
    let edit = &applied.plan.edits[0];
    assert_eq!(
        (edit.from, edit.to, edit.pending),
        (id(AGENT), id(BASE), true)
    );
    assert_eq!(
        s.engine
            .unsaved_at(applied.node.expect("a node"))
            .expect("read"),
        []
    );
    assert_eq!(s.text("a.txt").as_deref(), Some(AGENT));
    s.user("a.txt", BASE);
    s.engine.look().expect("looked");
    assert_eq!(s.engine.pending_saves().expect("read"), []);
    // saving is no edit
    assert_eq!(Some(newest(&s).0), applied.node);
    assert_eq!(recorded(&s), BASE);
    whole(&s);
}

#[test]
fn a_client_that_reloads_gets_its_file_written() {
    let (mut s, lease) = scene();
    let doc = OpenDoc {
        on_disk: true,
        ..plain()
    };
    let r = rewind(&s, &lease, vec![doc]);
    let applied = apply(&mut s, &r);
    assert_eq!(applied.plan.edits, []);
    assert_eq!(s.text("a.txt").as_deref(), Some(BASE));
    assert_eq!(s.engine.pending_saves().expect("read"), []);
}

#[test]
fn undo_while_a_save_is_waited_for_gives_back_what_the_disk_holds() {
    // with the document open, with unsaved text, and without any
    for open in [true, false] {
        let (mut s, lease) = scene();
        let r = rewind(&s, &lease, vec![dirty(TYPED, AGENT)]);
        apply(&mut s, &r);
        let docs = if open {
            vec![dirty(MERGED, AGENT)]
        } else {
            Vec::new()
        };
        let undo = Request {
            editor: Some(lease.id()),
            open: docs,
            ..Request::new(Goal::Undo(None))
        };
        let applied = apply(&mut s, &undo);
        if open {
            let edit = &applied.plan.edits[0];
            assert_eq!((edit.to, edit.pending), (id(TYPED), false));
        }
        assert_eq!(s.engine.pending_saves().expect("read"), []);
        assert_eq!(
            (recorded(&s).as_str(), s.text("a.txt").as_deref()),
            (AGENT, Some(AGENT))
        );
        s.engine.look().expect("looked");
        assert_eq!(Some(newest(&s).0), applied.node);
        let redo = apply(&mut s, &Request::new(Goal::Redo));
        assert_eq!(
            (recorded(&s).as_str(), s.text("a.txt").as_deref()),
            (BASE, Some(BASE))
        );
        assert!(redo.node.is_some());
    }
}

/// Two restores, one after the other, with no save between them.
#[test]
fn a_restore_over_what_waits_for_a_save() {
    let (mut s, lease) = scene();
    s.edit("a.txt", &AGENT.replace("four", "FOUR"));
    let disk = AGENT.replace("four", "FOUR");
    let step = s.engine.resolve("@~1").expect("the first step");
    let first = Request {
        goal: Goal::Rewind(step),
        ..rewind(&s, &lease, vec![plain()])
    };
    apply(&mut s, &first);
    assert_eq!(recorded(&s), AGENT);
    let r = rewind(&s, &lease, vec![dirty(AGENT, &disk)]);
    let applied = apply(&mut s, &r);
    assert_eq!(applied.plan.edits[0].to, id(BASE));
    let pending = s.engine.pending_saves().expect("read");
    assert_eq!(
        (pending.len(), pending[0].operation),
        (1, applied.operation.expect("one"))
    );
    assert_eq!(s.text("a.txt"), Some(disk.clone()));
    // without the editor: the disk goes straight to where the record goes
    let undo = Request::new(Goal::Undo(None));
    apply(&mut s, &undo);
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
    assert_eq!(s.engine.pending_saves().expect("read"), []);
}

#[test]
fn an_edit_call_that_finds_what_was_never_saved_begins_there() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![plain()]);
    apply(&mut s, &r);
    let theirs = AGENT.replace("four", "FOUR");
    s.edit("a.txt", &theirs);
    let (step, before, after, users) = newest(&s);
    assert_eq!(
        (before.as_str(), after, users),
        (AGENT, theirs.clone(), false)
    );
    assert_eq!(s.engine.pending_saves().expect("read"), []);
    let parent = s
        .engine
        .entry(step)
        .expect("read")
        .node
        .parent
        .expect("one");
    let between = s.engine.entry(parent).expect("read");
    assert_eq!(between.node.kind, crate::model::Kind::External);
    assert!(between.changes[0].change.origin.session.is_none());
    assert_eq!(recorded(&s), theirs);
    whole(&s);
}

#[test]
fn a_call_whose_before_was_never_told_begins_there_too() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![plain()]);
    apply(&mut s, &r);
    let theirs = AGENT.replace("four", "FOUR");
    s.user("a.txt", &theirs);
    s.tell(EventKind::After {
        call: ToolCall {
            id: Some("late".into()),
            tool: "Write".into(),
            input: b"{}".to_vec(),
            effect: Effect::Names(vec![s.root.join("a.txt")]),
        },
        told: Told::default(),
        failed: false,
    });
    let (_, before, after, _) = newest(&s);
    assert_eq!((before.as_str(), after), (AGENT, theirs));
    whole(&s);
}

#[test]
fn a_shell_begins_with_what_the_disk_holds() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![plain()]);
    apply(&mut s, &r);
    s.shell(|root| {
        let text = std::fs::read_to_string(root.join("a.txt")).expect("read");
        std::fs::write(root.join("a.txt"), text.replace("four", "FOUR")).expect("written");
    });
    let (_, before, after, users) = newest(&s);
    assert_eq!((before.as_str(), users), (AGENT, false));
    assert_eq!(after, AGENT.replace("four", "FOUR"));
    assert_eq!(s.engine.pending_saves().expect("read"), []);
    whole(&s);
}

#[test]
fn closing_without_saving_writes_it_after_all() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![plain()]);
    let op = apply(&mut s, &r).operation.expect("one");
    let settled = s
        .engine
        .settle_pending(&path("a.txt"), &Settle::WriteNow(None));
    assert_eq!(settled.expect("settled"), Settled::Done { node: None });
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (BASE, Some(BASE))
    );
    assert_eq!(s.engine.pending_saves().expect("read"), []);
    let again = s
        .engine
        .settle_pending(&path("a.txt"), &Settle::WriteNow(None));
    assert_eq!(again.expect("settled"), Settled::Nothing);
    let newest = s.engine.operations().expect("read").remove(0);
    assert_eq!(
        (newest.kind.name(), newest.target),
        ("save", op.to_string())
    );
    // it is no step of its own: undo takes back the rewind
    s.undo();
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
    s.apply(&Request::new(Goal::Redo)).expect("redone");
    assert_eq!(s.text("a.txt").as_deref(), Some(BASE));
}

#[test]
fn closing_without_saving_may_keep_what_was_typed() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![dirty(TYPED, AGENT)]);
    apply(&mut s, &r);
    let how = Settle::WriteNow(Some(MERGED.into()));
    let settled = s
        .engine
        .settle_pending(&path("a.txt"), &how)
        .expect("settled");
    let (node, before, after, users) = newest(&s);
    assert_eq!(settled, Settled::Done { node: Some(node) });
    assert_eq!(
        (before.as_str(), after.as_str(), users),
        (BASE, MERGED, true)
    );
    assert_eq!(s.text("a.txt").as_deref(), Some(MERGED));
    whole(&s);
}

#[test]
fn closing_without_saving_may_be_meant() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![plain()]);
    apply(&mut s, &r);
    let settled = s
        .engine
        .settle_pending(&path("a.txt"), &Settle::Forget)
        .expect("settled");
    let (node, before, after, users) = newest(&s);
    assert_eq!(settled, Settled::Done { node: Some(node) });
    assert_eq!(
        (before.as_str(), after.as_str(), users),
        (BASE, AGENT, true)
    );
    assert_eq!(s.text("a.txt").as_deref(), Some(AGENT));
    let again = s.engine.settle_pending(&path("a.txt"), &Settle::Forget);
    assert_eq!(again.expect("settled"), Settled::Nothing);
    whole(&s);
}

/// What a rewind deletes, creates or renames is done on disk; the document is left as it is, and said to be.
#[test]
fn a_file_that_goes_leaves_the_document() {
    let mut s = Scene::new(&[("other.txt", "x\n")]);
    let lease = s.engine.attach_editor("Helix").expect("attached");
    s.prompt("make it");
    s.edit("a.txt", AGENT);
    let r = rewind(&s, &lease, vec![dirty(TYPED, AGENT)]);
    let applied = apply(&mut s, &r);
    assert_eq!((applied.plan.edits.len(), s.text("a.txt")), (0, None));
    let gap = applied
        .plan
        .gaps
        .iter()
        .find(|g| g.kind == GapKind::Unsaved);
    assert!(
        gap.is_some_and(|g| g.detail.contains("Helix")),
        "{:?}",
        applied.plan.gaps
    );
    let kept = s
        .engine
        .unsaved_at(applied.node.expect("a node"))
        .expect("read");
    assert_eq!(kept[0].content, id(TYPED));
}

#[test]
fn a_dead_editors_text_stays_until_somebody_takes_it() {
    let (mut s, lease) = scene();
    s.engine
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    assert_eq!(s.engine.orphan_buffers().expect("read"), []);
    kill(lease);
    // it is no state of a moment any more, and in nobody's way
    let manual = s.engine.checkpoint(None).expect("made");
    assert_eq!(s.engine.unsaved_at(manual).expect("read"), []);
    let next = s.engine.attach_editor("Helix").expect("attached");
    let orphans = s.engine.status().expect("read").orphans;
    assert_eq!((orphans.len(), orphans[0].content), (1, id(TYPED)));
    let taken = s
        .engine
        .adopt(&next, &orphans[0])
        .expect("taken")
        .expect("there");
    assert_eq!(taken, typed(TYPED, AGENT));
    assert_eq!(s.engine.adopt(&next, &orphans[0]).expect("asked"), None);
    assert_eq!(s.engine.orphan_buffers().expect("read"), []);
    let manual = s.engine.checkpoint(None).expect("made");
    assert_eq!(s.engine.unsaved_at(manual).expect("read").len(), 1);
}

#[test]
fn what_waits_for_a_dead_editor_can_be_settled_and_undone() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![dirty(TYPED, AGENT)]);
    apply(&mut s, &r);
    kill(lease);
    assert_eq!(s.engine.pending_saves().expect("read").len(), 1);
    s.engine.look().expect("looked");
    assert_eq!(recorded(&s), BASE);
    s.undo();
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
    assert_eq!(s.engine.pending_saves().expect("read"), []);
}

/// Another connection on the same workspace: another process, as far as the store can tell.
fn another(s: &Scene) -> Engine {
    let workspace = crate::Workspace {
        root: s.root.clone(),
        store_dir: s.dir.path().join("store"),
        shared: false,
    };
    Engine::open(&workspace).expect("opens")
}

#[test]
fn a_command_asks_the_editor_that_holds_unsaved_text() {
    let (mut s, lease) = scene();
    s.engine
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    let mut server = another(&s);
    let request = s.request("t1");
    let mut command = another(&s);
    let shown = command.plan(&request).expect("planned");
    assert_eq!(shown.edits[0].to, id(MERGED));
    let fingerprint = shown.fingerprint.clone();
    let asked =
        std::thread::spawn(move || command.apply(&request, Some(&fingerprint), &mut |_| {}));
    let handed = loop {
        if let Some(handed) = server.take_requests(&lease).expect("asked").pop() {
            break handed;
        }
        std::thread::yield_now();
    };
    assert_eq!(handed.request.editor, Some(lease.id()));
    // it has more documents than the command could know of
    let open = vec![
        dirty(TYPED, AGENT),
        OpenDoc {
            path: path("b.txt"),
            ..plain()
        },
    ];
    let outcome = server.serve(&handed, open, &mut |_| {});
    assert!(
        server
            .answer_request(handed.id, &Answer::of(&outcome))
            .expect("answered")
    );
    let applied = asked.join().expect("no panic").expect("applied");
    assert_eq!(applied.by.map(|e| e.name).as_deref(), Some("Helix"));
    assert_eq!(applied.node, outcome.expect("done").node);
    assert_eq!(applied.plan.edits[0].to, id(MERGED));
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (BASE, Some(AGENT))
    );
    assert!(
        !server
            .answer_request(handed.id, &Answer::default())
            .expect("asked")
    );
}

#[test]
fn a_request_that_is_not_answered_is_taken_back() {
    let (mut s, lease) = scene();
    s.engine
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    let mut server = another(&s);
    let request = s.request("t1");
    let editor = lease.info().clone();
    let mut ask = |s: &mut Scene, taken: bool| {
        let mut command = another(s);
        let (editor, request) = (editor.clone(), request.clone());
        let limit = Duration::from_millis(if taken { 300 } else { 50 });
        let asked = std::thread::spawn(move || {
            command.hand_over(&editor, &request, ("", "a.txt"), limit, &mut |_| {})
        });
        let mut handed = None;
        while taken && handed.is_none() {
            handed = server.take_requests(&lease).expect("asked").pop();
        }
        let refused = asked.join().expect("no panic").expect_err("refused");
        let said = refused.to_string();
        assert!(said.contains("Helix") && said.contains("a.txt"), "{said}");
        assert!(said.contains("does not answer"), "{said}");
        // it cannot run later
        assert_eq!(server.take_requests(&lease).expect("asked").len(), 0);
        if let Some(handed) = handed {
            let late = server.serve(&handed, vec![dirty(TYPED, AGENT)], &mut |_| {});
            assert!(late.expect_err("refused").to_string().contains("given up"));
        }
    };
    ask(&mut s, false);
    ask(&mut s, true);
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
}

#[test]
fn an_editor_that_dies_while_it_is_asked_leaves_nothing_done() {
    let (mut s, lease) = scene();
    s.engine
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    let request = s.request("t1");
    let mut command = another(&s);
    let asked = std::thread::spawn(move || command.apply(&request, None, &mut |_| {}));
    let waiting = "SELECT 1 FROM request";
    while !s
        .engine
        .store
        .conn
        .prepare(waiting)
        .expect("sql")
        .exists([])
        .expect("read")
    {
        std::thread::yield_now();
    }
    kill(lease);
    let refused = asked.join().expect("no panic").expect_err("refused");
    assert!(refused.to_string().contains("went away"), "{refused}");
    // nobody holds it now
    s.rewind("t1");
    assert_eq!(s.text("a.txt").as_deref(), Some(BASE));
    assert_eq!(s.engine.orphan_buffers().expect("read").len(), 1);
}

#[test]
fn two_editors_with_unsaved_text_are_both_named() {
    let (mut s, helix) = scene();
    let emacs = s.engine.attach_editor("Emacs").expect("attached");
    for lease in [&helix, &emacs] {
        s.engine
            .put_buffer(lease, &typed(TYPED, AGENT))
            .expect("put");
    }
    let r = s.request("t1");
    let refused = s.engine.apply(&r, None, &mut |_| {}).expect_err("refused");
    let said = refused.to_string();
    assert!(
        said.contains("Helix") && said.contains("Emacs") && said.contains("a.txt"),
        "{said}"
    );
    // from one of them, the other is named
    let r = rewind(&s, &helix, vec![dirty(TYPED, AGENT)]);
    let said = s
        .engine
        .apply(&r, None, &mut |_| {})
        .expect_err("refused")
        .to_string();
    assert!(said.contains("Emacs"), "{said}");
    // each is told of at a checkpoint
    let manual = s.engine.checkpoint(None).expect("made");
    assert_eq!(s.engine.unsaved_at(manual).expect("read").len(), 2);
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
}

#[test]
fn a_switch_keeps_unsaved_text_on_the_branch_that_is_left() {
    let (mut s, lease) = scene();
    let start = s.engine.resolve("t1").expect("a turn");
    s.engine
        .create_branch("other", start, None)
        .expect("forked");
    let goal = Goal::Switch {
        branch: "other".into(),
        carry: false,
    };
    let r = Request {
        editor: Some(lease.id()),
        open: vec![dirty(TYPED, AGENT)],
        ..Request::new(goal)
    };
    let applied = apply(&mut s, &r);
    assert_eq!(applied.plan.edits[0].to, id(MERGED));
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (BASE, Some(AGENT))
    );
    assert_eq!(s.engine.pending_saves().expect("read").len(), 1);
    let main = s.engine.resolve("main").expect("a branch");
    assert_eq!(
        s.engine.unsaved_at(main).expect("read")[0].content,
        id(TYPED)
    );
    s.undo();
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
    assert_eq!(s.engine.pending_saves().expect("read"), []);
}

#[test]
fn news_is_what_differs() {
    let (mut s, _lease) = scene();
    let watcher = another(&s);
    let before = watcher.news().expect("read");
    assert_eq!(watcher.news().expect("read"), before);
    let node = s.engine.checkpoint(None).expect("made");
    let after = watcher.news().expect("read");
    assert_eq!(after.node, Some(node));
    assert_ne!(after.data_version, before.data_version);
    assert_eq!(
        (after.operation, after.event),
        (before.operation, before.event)
    );
}

/// The hook looks at two empty tables, no more.
#[test]
fn with_nothing_open_an_event_costs_a_few_small_questions() {
    use rusqlite::StatementStatus::Run;
    let mut s = Scene::new(&[("a.txt", BASE)]);
    s.prompt("one");
    let runs = |s: &Scene| {
        [
            super::buffers::ANY,
            super::buffers::HELD,
            super::pending::ALL,
        ]
        .map(|sql| {
            let statement = s.engine.store.conn.prepare_cached(sql).expect("sql");
            statement.get_status(Run)
        })
    };
    let before = runs(&s);
    s.prompt("two");
    let after = runs(&s);
    let run = [0, 1, 2].map(|n| after[n] - before[n]);
    // the turn's; none; the scan's and the transaction's
    assert_eq!(run, [1, 0, 2]);
}
