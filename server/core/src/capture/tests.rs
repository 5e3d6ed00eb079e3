//! Tests of what is recorded of an event, on the engine itself.

use super::{Effect, EventKind, PathReport, ToolCall, ToolReport, Wrote};
use crate::LogFilter;
use crate::model::{Certainty, FileVersion, Kind};
use crate::restore::tests::Scene;

/// A change as a test reads it: path, text before, text after, and certainty of session and step.
type Changed = (String, String, String, Certainty, Certainty);

/// The changes of the newest checkpoints that have any, newest first.
fn changed(s: &Scene) -> Vec<(Kind, Vec<Changed>)> {
    let text = |state: &FileVersion| {
        let content = state.as_ref().and_then(|placed| placed.image.content());
        let bytes = content.map(|content| s.engine.content(&content).expect("kept"));
        String::from_utf8(bytes.unwrap_or_default()).expect("text")
    };
    let entries = s.engine.history().log(&LogFilter::default()).expect("read");
    let with_changes = entries.iter().filter(|entry| !entry.changes.is_empty());
    let of_entry = |entry: &crate::Entry| {
        let changes = entry.changes.iter().map(|at| {
            let change = &at.change;
            let placed = change.after.as_ref().expect("no deletion");
            (
                placed.path.display(),
                text(&change.before),
                text(&change.after),
                change.origin.session_certainty,
                change.origin.step_certainty,
            )
        });
        (entry.node.kind, changes.collect())
    };
    with_changes.map(of_entry).collect()
}

fn replaced(s: &Scene, path: &str, old: &str, new: &str) -> PathReport {
    PathReport {
        path: s.root.join(path),
        found: None,
        wrote: Some(Wrote::Replace {
            old: old.into(),
            new: new.into(),
            all: false,
        }),
    }
}

/// A tool that reports on each of its files: the reported text is its step, and the rest at one path is not.
#[test]
fn several_paths_of_one_call_are_attributed_by_their_own_reports() {
    use Certainty::{Certain, Uncertain};
    let mut s = Scene::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    s.prompt("go");
    let call = ToolCall {
        id: Some("c1".into()),
        tool: "apply_patch".into(),
        input: b"{}".to_vec(),
        effect: Effect::Names(vec![s.root.join("a.txt"), s.root.join("b.txt")]),
    };
    s.tell(EventKind::Before(call.clone()));
    s.user("a.txt", "1\n");
    s.user("b.txt", "2\nfrom a formatter\n");
    let paths = vec![
        replaced(&s, "a.txt", "one", "1"),
        replaced(&s, "b.txt", "two", "2"),
    ];
    s.tell(EventKind::After {
        call,
        report: ToolReport {
            paths,
            ..ToolReport::default()
        },
        failed: false,
    });
    let change = |path: &str, before: &str, after: &str, certainty: Certainty| -> Changed {
        (
            path.into(),
            before.into(),
            after.into(),
            certainty,
            certainty,
        )
    };
    let rest = change("b.txt", "2\n", "2\nfrom a formatter\n", Uncertain);
    let step = [
        change("a.txt", "one\n", "1\n", Certain),
        change("b.txt", "two\n", "2\n", Certain),
    ];
    let all = changed(&s);
    assert_eq!(all[0], (Kind::External, vec![rest]));
    assert_eq!(all[1], (Kind::Step, step.to_vec()));
}
