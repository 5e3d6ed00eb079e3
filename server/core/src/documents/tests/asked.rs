//! Requests between processes, and several editors at once.

use super::*;
use crate::restore::RequestOutcome;

/// Opens another connection to the workspace, like another process.
fn another(s: &Scene) -> Engine {
    let workspace = crate::Workspace {
        root: s.root.clone(),
        store_dir: s.dir.path().join("store"),
        shared: false,
        kind: crate::WorkspaceKind::Project,
    };
    Engine::open(&workspace).expect("opens")
}

#[test]
fn a_command_asks_the_editor_that_holds_unsaved_text() {
    let (mut s, lease) = scene();
    s.engine
        .documents_mut()
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    let mut server = another(&s);
    let request = s.request("t1");
    let mut command = another(&s);
    let shown = command.restore_mut().plan(&request).expect("planned");
    assert_eq!(shown.edits[0].to, id(MERGED));
    let fingerprint = shown.fingerprint.clone();
    let asked = std::thread::spawn(move || {
        command
            .restore_mut()
            .apply(&request, Some(&fingerprint), &mut |_| {})
    });
    let handed = loop {
        if let Some(handed) = server
            .restore_mut()
            .take_requests(&lease)
            .expect("asked")
            .pop()
        {
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
    let outcome = server.restore_mut().serve(&handed, open, &mut |_| {});
    assert!(
        server
            .restore_mut()
            .answer_request(handed.id, &RequestOutcome::of(&outcome))
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
            .restore_mut()
            .answer_request(handed.id, &RequestOutcome::default())
            .expect("asked")
    );
}

#[test]
fn a_request_without_an_answer_is_withdrawn() {
    let (mut s, lease) = scene();
    s.engine
        .documents_mut()
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
            command
                .restore_mut()
                .hand_over(&editor, &request, ("", "a.txt"), limit, &mut |_| {})
        });
        let mut handed = None;
        while taken && handed.is_none() {
            handed = server
                .restore_mut()
                .take_requests(&lease)
                .expect("asked")
                .pop();
        }
        let refused = asked.join().expect("no panic").expect_err("refused");
        let message = refused.to_string();
        assert!(
            message.contains("Helix") && message.contains("a.txt"),
            "{message}"
        );
        assert!(message.contains("does not answer"), "{message}");
        // it cannot run later
        assert_eq!(
            server
                .restore_mut()
                .take_requests(&lease)
                .expect("asked")
                .len(),
            0
        );
        if let Some(handed) = handed {
            let late = server
                .restore_mut()
                .serve(&handed, vec![dirty(TYPED, AGENT)], &mut |_| {});
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
        .documents_mut()
        .put_buffer(&lease, &typed(TYPED, AGENT))
        .expect("put");
    let request = s.request("t1");
    let mut command = another(&s);
    let asked =
        std::thread::spawn(move || command.restore_mut().apply(&request, None, &mut |_| {}));
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
    // no live editor holds the text now
    s.rewind("t1");
    assert_eq!(s.text("a.txt").as_deref(), Some(BASE));
    assert_eq!(
        s.engine.documents().orphan_buffers().expect("read").len(),
        1
    );
}

#[test]
fn two_editors_with_unsaved_text_are_both_named() {
    let (mut s, helix) = scene();
    let emacs = s
        .engine
        .documents_mut()
        .attach_editor("Emacs")
        .expect("attached");
    for lease in [&helix, &emacs] {
        s.engine
            .documents_mut()
            .put_buffer(lease, &typed(TYPED, AGENT))
            .expect("put");
    }
    let r = s.request("t1");
    let refused = s
        .engine
        .restore_mut()
        .apply(&r, None, &mut |_| {})
        .expect_err("refused");
    let message = refused.to_string();
    assert!(
        message.contains("Helix") && message.contains("Emacs") && message.contains("a.txt"),
        "{message}"
    );
    // a request from one of them names the other
    let r = rewind(&s, &helix, vec![dirty(TYPED, AGENT)]);
    let message = s
        .engine
        .restore_mut()
        .apply(&r, None, &mut |_| {})
        .expect_err("refused")
        .to_string();
    assert!(message.contains("Emacs"), "{message}");
    // a checkpoint has the text of both
    let manual = s.engine.capture_mut().checkpoint(None).expect("made");
    assert_eq!(
        s.engine.documents().unsaved_at(manual).expect("read").len(),
        2
    );
    assert_eq!(
        (recorded(&s).as_str(), s.text("a.txt").as_deref()),
        (AGENT, Some(AGENT))
    );
}

#[test]
fn news_differs_after_a_commit() {
    let (mut s, _lease) = scene();
    let watcher = another(&s);
    let before = watcher.documents().news().expect("read");
    assert_eq!(watcher.documents().news().expect("read"), before);
    let node = s.engine.capture_mut().checkpoint(None).expect("made");
    let after = watcher.documents().news().expect("read");
    assert_eq!(after.node, Some(node));
    assert_ne!(after.data_version, before.data_version);
    assert_eq!(
        (after.operation, after.event),
        (before.operation, before.event)
    );
}
