//! Scenarios of an editor beside an agent, on the engine itself.

mod asked;
mod waiting;

use std::time::Duration;

use super::{EditorLease, OpenText, PendingChoice, PendingOutcome};
use crate::capture::{Effect, EventKind, ToolCall, ToolReport};
use crate::model::{ContentId, NodeId, RelPath};
use crate::restore::tests::Scene;
use crate::restore::{Applied, GapKind, Goal, OnConflict, OpenDoc, Request};
use crate::{BranchStart, Engine, Error};

const BASE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
/// The agent's version.
const AGENT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n";
/// The user's edit of the agent's version.
const TYPED: &str = "ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n";
/// The user's edit without the agent's change.
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

/// A turn in which the agent changes `a.txt`, with an editor attached.
fn scene() -> (Scene, EditorLease) {
    let mut s = Scene::new(&[("a.txt", BASE)]);
    let lease = s
        .engine
        .documents_mut()
        .attach_editor("Helix")
        .expect("attached");
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
    let applied = s
        .engine
        .restore_mut()
        .apply(r, None, &mut |_| {})
        .expect("applied");
    assert_consistent(s);
    applied
}

#[track_caller]
fn assert_consistent(s: &Scene) {
    let verified = s.engine.verifier().verify(&mut |_| {}).expect("verifies");
    assert_eq!(verified.problems, Vec::<String>::new());
    assert_eq!(s.engine.history().inconsistent_edits().expect("read"), []);
}

/// Returns the recorded text of `a.txt`.
fn recorded(s: &Scene) -> String {
    let head = s.engine.history().head().expect("read").expect("a head");
    let tree = s.engine.history().tree_at(head).expect("read");
    let content = tree[&path("a.txt")].content().expect("a content");
    String::from_utf8(s.engine.content(&content).expect("read")).expect("text")
}

/// Returns the newest change of `a.txt`: node, text before, text after, and whether it is the
/// user's.
fn newest(s: &Scene) -> (NodeId, String, String, bool) {
    let entries = s
        .engine
        .history()
        .log(&crate::LogFilter::default())
        .expect("read");
    let changed = entries.iter().find(|e| !e.changes.is_empty());
    let entry = changed.expect("a change");
    let change = &entry.changes[0].change;
    let text = |state: &crate::model::FileVersion| {
        let content = state.as_ref().and_then(|p| p.image.content());
        let bytes = content.map(|c| s.engine.content(&c).expect("read"));
        String::from_utf8(bytes.unwrap_or_default()).expect("text")
    };
    let users = change.origin.session.is_none();
    let texts = (text(&change.before), text(&change.after));
    (entry.node.id, texts.0, texts.1, users)
}

/// Simulates a killed editor process: its lock is gone, its rows stay.
fn kill(mut lease: EditorLease) {
    lease.lock = None;
    std::mem::forget(lease);
}

#[test]
fn editors_are_those_that_are_alive() {
    let (mut s, helix) = scene();
    let emacs = s
        .engine
        .documents_mut()
        .attach_editor("Emacs")
        .expect("attached");
    let names = |s: &Scene| -> Vec<String> {
        let all = s.engine.documents().editors().expect("read");
        all.into_iter().map(|e| e.name).collect()
    };
    assert_eq!(names(&s), ["Helix", "Emacs"]);
    assert_eq!(s.engine.status().expect("read").editors.len(), 2);
    kill(emacs);
    assert_eq!(names(&s), ["Helix"]);
    drop(helix);
    assert_eq!(names(&s), Vec::<String>::new());
    let zed = s
        .engine
        .documents_mut()
        .attach_editor("Zed")
        .expect("attached");
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
        .documents_mut()
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    s.prompt("more");
    let turn = s.engine.history().head().expect("read").expect("a head");
    let unsaved = s.engine.documents().unsaved_at(turn).expect("read");
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
    // the disk is unchanged, and a step is not the state of a moment
    assert_eq!(recorded(&s), AGENT);
    s.edit("b.txt", "new\n");
    let step = s.engine.history().head().expect("read").expect("a head");
    assert_eq!(s.engine.documents().unsaved_at(step).expect("read"), []);
    // the same text again stores no new content
    let blobs = |s: &Scene| {
        s.engine
            .verifier()
            .verify(&mut |_| {})
            .expect("verifies")
            .blobs
    };
    let before = blobs(&s);
    let manual = s.engine.capture_mut().checkpoint(None).expect("made");
    assert_eq!(
        s.engine.documents().unsaved_at(manual).expect("read").len(),
        1
    );
    assert_eq!(blobs(&s), before);
    s.engine
        .documents_mut()
        .drop_buffer(&lease, &path("a.txt"))
        .expect("dropped");
    let manual = s.engine.capture_mut().checkpoint(None).expect("made");
    assert_eq!(s.engine.history().entry(manual).expect("read").unsaved, []);
    assert_consistent(&s);
}

/// Ignored files do not enter the history through an editor.
#[test]
fn unsaved_text_of_ignored_files_is_not_kept() {
    let mut s = Scene::new(&[(".gitignore", ".env\n"), (".env", "KEY=old\n")]);
    let lease = s
        .engine
        .documents_mut()
        .attach_editor("Helix")
        .expect("attached");
    let mut put = |p: &str| {
        let open = OpenText {
            path: path(p),
            ..typed("KEY=new\n", "KEY=old\n")
        };
        s.engine
            .documents_mut()
            .put_buffer(&lease, &open)
            .expect("put")
    };
    assert_eq!((put(".env"), put("new.txt")), (false, true));
}

#[test]
fn typing_does_not_make_the_history_grow() {
    let (mut s, lease) = scene();
    let blobs = |s: &Scene| {
        s.engine
            .verifier()
            .verify(&mut |_| {})
            .expect("verifies")
            .blobs
    };
    let before = blobs(&s);
    for n in 0..300 {
        let text = format!("{TYPED}{n}\n");
        s.engine
            .documents_mut()
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

/// An agent's step under a dirty buffer: the typed text is attached to the step, and none of it is
/// the agent's.
#[test]
fn an_agent_writes_under_unsaved_text() {
    let (mut s, lease) = scene();
    let open = typed(TYPED, AGENT);
    s.engine
        .documents_mut()
        .put_buffer(&lease, &open)
        .expect("put");
    s.edit("a.txt", &AGENT.replace("four", "FOUR"));
    let step = s.engine.history().head().expect("read").expect("a head");
    s.engine
        .documents_mut()
        .keep_buffers(&lease, step, &[open])
        .expect("kept");
    assert_eq!(
        s.engine.documents().unsaved_at(step).expect("read")[0].content,
        id(TYPED)
    );
    // taking that step out does not change the document: its file is written under it
    let r = Request {
        goal: Goal::Revert(vec![step]),
        ..rewind(&s, &lease, vec![dirty(TYPED, AGENT)])
    };
    let applied = apply(&mut s, &r);
    assert_eq!((applied.plan.edits, applied.plan.gaps), (vec![], vec![]));
    assert_eq!(s.text("a.txt").as_deref(), Some(AGENT));
    assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
    let kept = s
        .engine
        .documents()
        .unsaved_at(applied.node.expect("a node"));
    assert_eq!(kept.expect("read")[0].content, id(TYPED));
}

#[test]
fn a_rewind_merges_with_unsaved_text() {
    let (mut s, lease) = scene();
    s.engine
        .documents_mut()
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    let r = rewind(&s, &lease, vec![dirty(TYPED, AGENT)]);
    let applied = apply(&mut s, &r);
    let edit = &applied.plan.edits[0];
    assert_eq!(
        (edit.from, edit.to, edit.pending),
        (id(TYPED), id(MERGED), true)
    );
    let text = s
        .engine
        .restore()
        .text_of(&applied.plan, &edit.to)
        .expect("known");
    assert_eq!(text, MERGED.as_bytes());
    // the editor has to write the disk; the record has the outcome
    assert_eq!(s.text("a.txt").as_deref(), Some(AGENT));
    assert_eq!(recorded(&s), BASE);
    let kept = s
        .engine
        .documents()
        .unsaved_at(applied.node.expect("a node"))
        .expect("read");
    assert_eq!(kept[0].content, id(TYPED));
    let pending = s.engine.documents().pending_saves().expect("read");
    assert_eq!((pending.len(), pending[0].editor.as_str()), (1, "Helix"));
    // scans do not change that
    for _ in 0..3 {
        s.engine.capture_mut().record_changes().expect("looked");
        assert_eq!(recorded(&s), BASE);
    }
    s.engine
        .store
        .conn
        .execute("UPDATE file_state SET racy = 1", [])
        .expect("set");
    s.engine.capture_mut().record_changes().expect("looked");
    assert_eq!(
        (
            recorded(&s).as_str(),
            s.engine.documents().pending_saves().expect("read").len()
        ),
        (BASE, 1)
    );
    // once saved, the typed text is the user's and nothing waits
    s.user("a.txt", MERGED);
    s.engine.capture_mut().record_changes().expect("looked");
    assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
    let (_, before, after, users) = newest(&s);
    assert_eq!(
        (before.as_str(), after.as_str(), users),
        (BASE, MERGED, true)
    );
    assert_consistent(&s);
}

/// The buffer row counts if the server does not send one of its documents.
#[test]
fn a_buffer_row_counts_if_the_server_sends_no_document() {
    let (mut s, lease) = scene();
    s.engine
        .documents_mut()
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    let r = rewind(&s, &lease, Vec::new());
    let applied = apply(&mut s, &r);
    assert_eq!(applied.plan.edits[0].to, id(MERGED));
    assert_eq!(s.text("a.txt").as_deref(), Some(AGENT));
}

#[test]
fn a_rewind_that_conflicts_with_unsaved_text_changes_nothing_unless_decided() {
    const MINE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nSeven, mine\n";
    let (mut s, lease) = scene();
    s.engine
        .documents_mut()
        .put_buffer(&lease, &typed(MINE, AGENT))
        .expect("put");
    let mut r = rewind(&s, &lease, vec![dirty(MINE, AGENT)]);
    let head = s.engine.history().head().expect("read");
    let plan = s.engine.restore_mut().plan(&r).expect("planned");
    assert_eq!(plan.open_conflicts(), 1);
    assert!(
        plan.conflicts[0]
            .reason
            .contains("unsaved changes in Helix"),
        "{plan:?}"
    );
    let refused = s
        .engine
        .restore_mut()
        .apply(&r, None, &mut |_| {})
        .expect_err("refused");
    assert!(matches!(refused, Error::Conflicts { open: 1 }));
    assert_eq!(
        (
            s.engine.history().head().expect("read"),
            s.text("a.txt").as_deref()
        ),
        (head, Some(AGENT))
    );
    let mut outcome = |s: &mut Scene, how| {
        r.on_conflict = how;
        let plan = s.engine.restore_mut().plan(&r).expect("planned");
        assert_eq!(plan.open_conflicts(), 0);
        let text = s
            .engine
            .restore()
            .text_of(&plan, &plan.edits[0].to)
            .expect("known");
        String::from_utf8(text).expect("text")
    };
    assert_eq!(outcome(&mut s, OnConflict::Current), MINE);
    assert_eq!(outcome(&mut s, OnConflict::Target), BASE);
    let both = outcome(&mut s, OnConflict::Markers);
    assert!(
        both.contains("<<<<<<< not saved\nSeven, mine\n=======\nseven\n>>>>>>> before “shout”\n"),
        "{both}"
    );
    // the exact state of the target; the typed text is kept
    r.on_conflict = OnConflict::Fail;
    r.exact = true;
    let applied = apply(&mut s, &r);
    assert_eq!(applied.plan.edits[0].to, id(BASE));
    let kept = s
        .engine
        .documents()
        .unsaved_at(applied.node.expect("a node"))
        .expect("read");
    assert_eq!(kept[0].content, id(MINE));
}

/// Text with an older base than the disk is merged from that base.
#[test]
fn unsaved_text_on_an_older_base_is_merged_from_that() {
    let (mut s, lease) = scene();
    let further = AGENT.replace("four", "FOUR");
    s.edit("a.txt", &further);
    let first = s.engine.history().resolve("@~1").expect("the first step");
    let r = Request {
        goal: Goal::Rewind(first),
        ..rewind(&s, &lease, vec![dirty(MERGED, BASE)])
    };
    // loaded before the turn: the text lacks the second step and gets the rest of the turn
    let applied = apply(&mut s, &r);
    assert_eq!(applied.plan.edits[0].to, id(TYPED));
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt")),
        (AGENT, Some(further))
    );
}

/// A rewind deletes, creates or renames files on disk. Their documents stay as they are, and the
/// plan says so.
#[test]
fn a_deleted_file_leaves_its_document() {
    let mut s = Scene::new(&[("other.txt", "x\n")]);
    let lease = s
        .engine
        .documents_mut()
        .attach_editor("Helix")
        .expect("attached");
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
        .documents()
        .unsaved_at(applied.node.expect("a node"))
        .expect("read");
    assert_eq!(kept[0].content, id(TYPED));
}

#[test]
fn a_dead_editors_text_stays_until_somebody_takes_it() {
    let (mut s, lease) = scene();
    s.engine
        .documents_mut()
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    assert_eq!(s.engine.documents().orphan_buffers().expect("read"), []);
    kill(lease);
    // a dead editor's text is not part of a checkpoint and blocks nothing
    let manual = s.engine.capture_mut().checkpoint(None).expect("made");
    assert_eq!(s.engine.documents().unsaved_at(manual).expect("read"), []);
    let next = s
        .engine
        .documents_mut()
        .attach_editor("Helix")
        .expect("attached");
    let orphans = s.engine.status().expect("read").orphans;
    assert_eq!((orphans.len(), orphans[0].content), (1, id(TYPED)));
    // the new editor has its own text of the file, which stays
    let own = typed(BASE, AGENT);
    s.engine
        .documents_mut()
        .put_buffer(&next, &own)
        .expect("put");
    let taken = s
        .engine
        .documents_mut()
        .keep_orphan(&orphans[0], "left")
        .expect("taken");
    assert_eq!(taken, Some(typed(TYPED, AGENT)));
    let again = s
        .engine
        .documents_mut()
        .keep_orphan(&orphans[0], "left")
        .expect("asked");
    assert_eq!(again, None);
    assert_eq!(s.engine.documents().orphan_buffers().expect("read"), []);
    let head = s.engine.history().resolve("@~0").expect("the head");
    let kept = s.engine.documents().unsaved_at(head).expect("read");
    let mut kept: Vec<_> = kept.iter().map(|unsaved| unsaved.content).collect();
    kept.sort();
    let mut both = [id(TYPED), id(BASE)];
    both.sort();
    assert_eq!(kept, both);
    assert_eq!(s.engine.documents().unsaved().expect("read").len(), 1);
}

/// A hook queries two empty tables, no more.
#[test]
fn an_event_without_open_documents_runs_few_queries() {
    use rusqlite::StatementStatus::Run;
    let mut s = Scene::new(&[("a.txt", BASE)]);
    s.prompt("one");
    let runs = |s: &Scene| {
        [
            crate::store::tables::buffer::ANY,
            crate::store::tables::buffer::ALL_ROWS,
            crate::store::tables::pending_save::ALL,
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
