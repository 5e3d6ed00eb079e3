//! Tests of the timeline's text, with synthetic entries.

use backstitch_core::model::{
    BranchId, Call, CallId, Certainty, Change, ChangeId, ContentId, Coverage, FileId, FileVersion,
    GitHead, Image, Node, NodeId, Origin, Placed, Reason, RelPath, Session, SessionId, Turn,
    TurnId,
};

use super::*;

const NOW: i64 = 1_000_000_000_000;

fn entry(id: i64, kind: Kind) -> Entry {
    Entry {
        node: Node {
            id: NodeId(id),
            parent: None,
            depth: id,
            kind,
            branch: BranchId(1),
            session: None,
            turn: None,
            call: None,
            description: None,
            label: None,
            time: NOW - 120_000_000,
            git: GitHead::default(),
            coverage: Coverage::default(),
            squashed: None,
        },
        branch: "main".into(),
        tags: Vec::new(),
        pinned: false,
        session: None,
        turn: None,
        call: None,
        changes: Vec::new(),
        taken_out: false,
        operation: None,
        subject: None,
        unsaved: Vec::new(),
        command: None,
    }
}

fn turn(id: i64, number: i64, prompt: &str) -> Entry {
    Entry {
        session: Some(Session {
            id: SessionId(1),
            agent: "claude-code".into(),
            native: "s".into(),
            transcript: None,
        }),
        turn: Some(Turn {
            id: TurnId(number),
            number,
            session: SessionId(1),
            prompt: prompt.into(),
            node: NodeId(id),
        }),
        ..entry(id, Kind::Turn)
    }
}

fn step(id: i64, tool: &str, changes: Vec<EntryChange>) -> Entry {
    Entry {
        call: Some(Call {
            id: CallId(id),
            session: SessionId(1),
            turn: None,
            native: String::new(),
            subagent: None,
            tool: tool.into(),
            iteration: id,
            group: None,
            failed: false,
            exit: None,
            input: None,
        }),
        changes,
        ..entry(id, Kind::Step)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a file's state may also be none")]
fn state(path: &str) -> FileVersion {
    let image = Image::File {
        mode: 0o644,
        content: ContentId::of(path.as_bytes()),
        size: 1,
    };
    Some(Placed {
        path: RelPath::new(path).unwrap(),
        image,
    })
}

fn change(before: FileVersion, after: FileVersion, added: usize, removed: usize) -> EntryChange {
    EntryChange {
        change: Change {
            id: ChangeId(1),
            node: NodeId(1),
            file: FileId(1),
            role: Role::Edit,
            before,
            after,
            origin: Origin::USER,
            made_dirs: 0,
        },
        added,
        removed,
        binary: false,
    }
}

fn draw(entries: &[Entry], graph: bool) -> String {
    let paint = Paint {
        color: false,
        width: 64,
        now: NOW,
    };
    let timeline = Timeline {
        paint,
        graph,
        paths: 3,
        columns: Columns::of(entries),
        turns: HashSet::new(),
        start: None,
        heads: HashMap::new(),
        order: RowOrder::default(),
    };
    let mut text = String::new();
    timeline.draw(entries.iter(), &mut text);
    text
}

fn sample_entries() -> Vec<Entry> {
    let mut bash = step(
        4,
        "Bash",
        vec![
            change(state("a.rs"), state("a.rs"), 2, 1),
            change(state("old.rs"), state("new.rs"), 0, 0),
            change(state("gone"), None, 0, 9),
            change(None, state("gen/1"), 1, 0),
        ],
    );
    bash.taken_out = true;
    let mut uncertain = change(None, state("b"), 1, 0);
    uncertain.change.origin.session_certainty = Certainty::Uncertain;
    let mut hand = entry(3, Kind::External);
    hand.changes = vec![uncertain];
    hand.node.coverage.note(b"big.bin", Reason::TooLarge, "");
    let mut manual = entry(5, Kind::Manual);
    manual.node.label = Some("green".into());
    manual.tags = vec!["v1".into()];
    vec![turn(1, 1, "rename the thing\nplease"), hand, bash, manual]
}

#[test]
fn graph_draws_history_from_old_to_new() {
    assert_eq!(
        draw(&sample_entries(), true),
        "\
●   t1 c1  rename the thing              claude-code · 2 min ago
◇      c3  unknown                                     2 min ago
│          A  b ?  +1
│          ! not captured: big.bin (too large)
├─○    c4  Bash       (undone)                         2 min ago
│          M  a.rs             +2 -1
│          R  old.rs → new.rs
│          … and 2 more
◆      c5  “green”  [v1]                               2 min ago
"
    );
}

#[test]
fn plain_log_has_one_line_for_each_checkpoint() {
    let text = draw(&sample_entries(), false);
    assert_eq!(text.lines().count(), 4);
    assert!(
        text.contains("  ○    c4  Bash       a.rs +2 -1, old.rs → new.rs, g"),
        "{text}"
    );
}

#[test]
fn edits_are_yours_only_if_that_is_certain() {
    let mut found = entry(1, Kind::External);
    found.changes = vec![
        change(None, state("a"), 1, 0),
        change(None, state("b"), 1, 0),
    ];
    assert_eq!(who(&found), "you");
    found.changes[0].change.origin.session_certainty = Certainty::Uncertain;
    assert_eq!(who(&found), "you", "one of them is");
    found.changes[1].change.origin.session_certainty = Certainty::Uncertain;
    assert_eq!(who(&found), "unknown");
    found.session = turn(1, 1, "x").session;
    assert_eq!(who(&found), "unknown", "the session is not named as origin");
    found.changes[0].change.origin.session = Some(SessionId(1));
    assert_eq!(who(&found), "claude-code?");
}

#[test]
fn lines_fit_the_terminal() {
    for graph in [true, false] {
        for line in draw(&sample_entries(), graph).lines() {
            assert!(render::columns(line) <= 64, "{line}");
        }
    }
}

#[test]
fn last_step_closes_the_line() {
    let text = draw(&[turn(1, 1, "x"), step(2, "Edit", Vec::new())], true);
    assert!(text.contains("╰─○"), "{text}");
}
