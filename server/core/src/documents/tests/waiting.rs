//! Files that wait for a save.

use super::*;

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
            .documents()
            .unsaved_at(applied.node.expect("a node"))
            .expect("read"),
        []
    );
    assert_eq!(s.text("a.txt").as_deref(), Some(AGENT));
    s.user("a.txt", BASE);
    s.engine.capture_mut().record_changes().expect("looked");
    assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
    // a save is not an edit
    assert_eq!(Some(newest(&s).0), applied.node);
    assert_eq!(recorded(&s), BASE);
    assert_consistent(&s);
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
    assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
}

#[test]
fn undo_during_a_pending_save_restores_the_text_on_disk() {
    // with the document open and unsaved, and with no document open
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
        assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
        assert_eq!(
            (recorded(&s).as_str(), s.text("a.txt").as_deref()),
            (AGENT, Some(AGENT))
        );
        s.engine.capture_mut().record_changes().expect("looked");
        assert_eq!(Some(newest(&s).0), applied.node);
        let redo = apply(&mut s, &Request::new(Goal::Redo));
        assert_eq!(
            (recorded(&s).as_str(), s.text("a.txt").as_deref()),
            (BASE, Some(BASE))
        );
        assert!(redo.node.is_some());
    }
}

/// Two restores in a row without a save between them.
#[test]
fn a_restore_over_a_pending_save() {
    let (mut s, lease) = scene();
    s.edit("a.txt", &AGENT.replace("four", "FOUR"));
    let disk = AGENT.replace("four", "FOUR");
    let step = s.engine.history().resolve("@~1").expect("the first step");
    let first = Request {
        goal: Goal::Rewind(step),
        ..rewind(&s, &lease, vec![plain()])
    };
    apply(&mut s, &first);
    assert_eq!(recorded(&s), AGENT);
    let r = rewind(&s, &lease, vec![dirty(AGENT, &disk)]);
    let applied = apply(&mut s, &r);
    assert_eq!(applied.plan.edits[0].to, id(BASE));
    let pending = s.engine.documents().pending_saves().expect("read");
    assert_eq!(
        (pending.len(), pending[0].operation),
        (1, applied.operation)
    );
    assert_eq!(s.text("a.txt"), Some(disk.clone()));
    // without the editor, the disk is written directly
    let undo = Request::new(Goal::Undo(None));
    apply(&mut s, &undo);
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
    assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
}

#[test]
fn an_edit_call_starts_from_the_disk_if_the_outcome_was_not_saved() {
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
    assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
    let parent = s
        .engine
        .history()
        .entry(step)
        .expect("read")
        .node
        .parent
        .expect("one");
    let between = s.engine.history().entry(parent).expect("read");
    assert_eq!(between.node.kind, crate::model::Kind::External);
    assert!(between.changes[0].change.origin.session.is_none());
    assert_eq!(recorded(&s), theirs);
    assert_consistent(&s);
}

#[test]
fn a_call_without_a_before_event_starts_from_the_disk_too() {
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
        report: ToolReport::default(),
        failed: false,
    });
    let (_, before, after, _) = newest(&s);
    assert_eq!((before.as_str(), after), (AGENT, theirs));
    assert_consistent(&s);
}

#[test]
fn a_shell_starts_from_the_disk() {
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
    assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
    assert_consistent(&s);
}

#[test]
fn closing_without_saving_writes_it_after_all() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![plain()]);
    let op = apply(&mut s, &r).operation.expect("one");
    let resolved = s
        .engine
        .restore_mut()
        .resolve_pending(&path("a.txt"), &PendingChoice::WriteNow(None));
    assert_eq!(
        resolved.expect("resolved"),
        PendingOutcome::Done { node: None }
    );
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (BASE, Some(BASE))
    );
    assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
    let again = s
        .engine
        .restore_mut()
        .resolve_pending(&path("a.txt"), &PendingChoice::WriteNow(None));
    assert_eq!(again.expect("resolved"), PendingOutcome::Nothing);
    let newest = s.engine.history().operations().expect("read").remove(0);
    assert_eq!(
        (newest.kind.name(), newest.target),
        ("save", op.to_string())
    );
    // writing is not a separate operation: undo reverses the rewind
    s.undo();
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
    s.apply(&Request::new(Goal::Redo)).expect("redone");
    assert_eq!(s.text("a.txt").as_deref(), Some(BASE));
}

#[test]
fn closing_without_saving_can_keep_the_typed_text() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![dirty(TYPED, AGENT)]);
    apply(&mut s, &r);
    let how = PendingChoice::WriteNow(Some(MERGED.into()));
    let resolved = s
        .engine
        .restore_mut()
        .resolve_pending(&path("a.txt"), &how)
        .expect("resolved");
    let (node, before, after, users) = newest(&s);
    assert_eq!(resolved, PendingOutcome::Done { node: Some(node) });
    assert_eq!(
        (before.as_str(), after.as_str(), users),
        (BASE, MERGED, true)
    );
    assert_eq!(s.text("a.txt").as_deref(), Some(MERGED));
    assert_consistent(&s);
}

#[test]
fn closing_without_saving_can_discard_the_outcome() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![plain()]);
    apply(&mut s, &r);
    let resolved = s
        .engine
        .restore_mut()
        .resolve_pending(&path("a.txt"), &PendingChoice::Forget)
        .expect("resolved");
    let (node, before, after, users) = newest(&s);
    assert_eq!(resolved, PendingOutcome::Done { node: Some(node) });
    assert_eq!(
        (before.as_str(), after.as_str(), users),
        (BASE, AGENT, true)
    );
    assert_eq!(s.text("a.txt").as_deref(), Some(AGENT));
    let again = s
        .engine
        .restore_mut()
        .resolve_pending(&path("a.txt"), &PendingChoice::Forget);
    assert_eq!(again.expect("resolved"), PendingOutcome::Nothing);
    assert_consistent(&s);
}

#[test]
fn a_pending_save_of_a_dead_editor_can_be_undone() {
    let (mut s, lease) = scene();
    let r = rewind(&s, &lease, vec![dirty(TYPED, AGENT)]);
    apply(&mut s, &r);
    kill(lease);
    assert_eq!(s.engine.documents().pending_saves().expect("read").len(), 1);
    s.engine.capture_mut().record_changes().expect("looked");
    assert_eq!(recorded(&s), BASE);
    s.undo();
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
    assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
}

#[test]
fn a_switch_keeps_unsaved_text_on_the_branch_that_is_left() {
    let (mut s, lease) = scene();
    let start = s.engine.history().resolve("t1").expect("a turn");
    s.engine
        .forks_mut()
        .create_branch(&BranchStart::new("other", start))
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
    assert_eq!(s.engine.documents().pending_saves().expect("read").len(), 1);
    let main = s.engine.history().resolve("main").expect("a branch");
    assert_eq!(
        s.engine.documents().unsaved_at(main).expect("read")[0].content,
        id(TYPED)
    );
    s.undo();
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
    assert_eq!(s.engine.documents().pending_saves().expect("read"), []);
}

/// A withdrawn rewind puts back in force the edits it had taken out, so that they can be taken out
/// again.
#[test]
fn an_unsaved_rewind_keeps_the_authors() {
    let (mut s, lease) = scene();
    s.edit("a.txt", &AGENT.replace("four", "FOUR"));
    let disk = AGENT.replace("four", "FOUR");
    let step = s.engine.history().resolve("@~1").expect("the first step");
    let first = Request {
        goal: Goal::Rewind(step),
        ..rewind(&s, &lease, vec![plain()])
    };
    // two rewinds, neither of them saved
    apply(&mut s, &first);
    let r = rewind(&s, &lease, vec![dirty(AGENT, &disk)]);
    apply(&mut s, &r);
    assert_eq!(recorded(&s), BASE);
    s.engine
        .restore_mut()
        .resolve_pending(&path("a.txt"), &PendingChoice::Forget)
        .expect("resolved");
    assert_eq!(recorded(&s), disk);
    let newest = s
        .engine
        .history()
        .log(&crate::LogFilter::default())
        .expect("read");
    assert_eq!(newest[0].node.label.as_deref(), Some("not saved"));
    assert_consistent(&s);
    let again = s.request("t1");
    apply(&mut s, &again);
    assert_eq!(s.text("a.txt").as_deref(), Some(BASE));
}

/// A save over a waiting file is attributed by the text it is closer to.
#[test]
fn a_save_ends_the_wait() {
    for (saved, waits_for, agents) in [
        (BASE.to_owned(), BASE.to_owned(), false),
        (
            BASE.replace("two", "TWO"),
            BASE.replace("two", "TWO"),
            false,
        ),
        (
            AGENT.replace("two", "TWO"),
            BASE.replace("two", "TWO"),
            true,
        ),
    ] {
        let (mut s, lease) = scene();
        let r = rewind(&s, &lease, vec![plain()]);
        apply(&mut s, &r);
        let waits = s
            .engine
            .documents_mut()
            .check_pending(&path("a.txt"))
            .expect("looked");
        assert!(waits.is_some());
        s.user("a.txt", &saved);
        let waits = s
            .engine
            .documents_mut()
            .check_pending(&path("a.txt"))
            .expect("looked");
        assert_eq!(waits, None);
        assert_eq!(recorded(&s), saved);
        assert_consistent(&s);
        // the user's part stays; the agent's part can be taken out if present
        let again = s.request("t1");
        let plan = s.engine.restore_mut().plan(&again).expect("planned");
        assert_eq!(!plan.is_empty(), agents, "{saved}");
        apply(&mut s, &again);
        assert_eq!(s.text("a.txt"), Some(waits_for));
    }
}
