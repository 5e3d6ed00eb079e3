//! Records of the real agent (`tests/agents/records`).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::CodexConversations;
use crate::conversations::{
    Conversations, CutRequest, Made, NewConversation, Placement, RecordBase, RecordPart,
    RecordPlace, RecordedPrompt, Refused, ServerCall, SessionCut, plain_text,
};

fn record(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/agents/records/codex"
    );
    std::fs::read(Path::new(folder).join(name).with_extension("jsonl")).unwrap()
}

fn turns(record: &[u8]) -> Vec<RecordedPrompt> {
    CodexConversations.turns(record).unwrap()
}

fn texts(record: &[u8]) -> Vec<String> {
    turns(record).into_iter().map(|turn| turn.text).collect()
}

fn cut(record: &[u8], cut: &SessionCut, into: Option<&Path>) -> Result<NewConversation, Refused> {
    let place = RecordPlace {
        session: "old".to_owned(),
        directory: PathBuf::from("/home/dev/project"),
        ..RecordPlace::default()
    };
    let request = CutRequest {
        place: &place,
        record: None,
        cut,
        into,
        session: "unused",
        now: 0,
        folders: &[],
    };
    CodexConversations.cut(record, &request)
}

fn calls(new: &NewConversation) -> &[ServerCall] {
    let Placement::Serve { argv, calls } = &new.placement else {
        panic!("{:?}", new.placement)
    };
    assert_eq!(argv, &["codex", "app-server"]);
    calls
}

fn methods(new: &NewConversation) -> Vec<&'static str> {
    calls(new).iter().map(|call| call.method).collect()
}

#[test]
fn prompts_in_order() {
    let four = [
        "prompt alpha",
        "prompt bravo",
        "prompt charlie",
        "prompt delta",
    ];
    assert_eq!(texts(&record("plain")), four);
    assert_eq!(texts(&record("compacted_thread")), four);
    assert!(texts(&record("lines"))[1].starts_with("first line\n\n  \"quoted\""));
    let turn = &turns(&record("plain"))[2];
    assert_eq!((turn.before, turn.branch), (2, 0));
    assert_eq!(turn.anchor.native.as_ref(), Some(&turn.anchor.row));
}

/// A thread is forked through the turn before, and its turns are compared before and after.
#[test]
fn a_fork_through_the_turn_before() {
    let record = record("plain");
    let turns = turns(&record);
    let at = SessionCut::Before(turns[2].anchor.clone());
    let new = cut(&record, &at, Some(Path::new("/home/dev/try"))).unwrap();
    let expected = [
        "initialize",
        "initialized",
        "thread/turns/list",
        "thread/fork",
        "thread/turns/list",
    ];
    assert_eq!(methods(&new), expected);
    let [_, _, list, fork, listed] = calls(&new) else {
        panic!()
    };
    let ids: Vec<&str> = turns.iter().map(|turn| turn.anchor.row.as_str()).collect();
    let requires = list.requires.as_ref().unwrap();
    assert_eq!(requires.values, ids[..3]);
    assert!(!requires.is_exact);
    let params = json!({"threadId": "old", "lastTurnId": ids[1], "excludeTurns": true, "cwd": "/home/dev/try"});
    assert_eq!((&fork.params, fork.new_id), (&params, Some("/thread/id")));
    let requires = listed.requires.as_ref().unwrap();
    assert_eq!(listed.takes_id, Some("/threadId"));
    let items = |ids: &[&str]| -> Vec<Value> { ids.iter().map(|id| json!({ "id": id })).collect() };
    assert!(requires.is_met(&items(&ids[..2]), true));
    assert!(!requires.is_met(&items(&ids[..2]), false));
    assert!(!requires.is_met(&items(&ids[..1]), true));
    assert!(!requires.is_met(&items(&ids[..3]), true));
    assert!(!requires.is_met(&items(&ids[1..3]), true));
    assert_eq!((new.dropped, new.tells.len()), (2, 2));
}

/// A compaction is a turn of the agent: it is forked through, too, and never offered as a target (C1).
#[test]
fn a_compaction_is_a_turn() {
    let record = record("compacted_thread");
    let turns = turns(&record);
    let new = cut(&record, &SessionCut::Before(turns[3].anchor.clone()), None).unwrap();
    let requires = calls(&new).last().unwrap().requires.as_ref().unwrap();
    assert_eq!((requires.values.len(), new.tells.len()), (4, 3));
    let summary = SessionCut::SummaryOfStart(turns[1].anchor.clone(), "Summary".to_owned());
    assert_eq!(
        cut(&record, &summary, None).unwrap_err().kind(),
        "turn_compacted"
    );
}

#[test]
fn nothing_before_the_first_prompt() {
    let record = record("plain");
    let new = cut(
        &record,
        &SessionCut::Before(turns(&record)[0].anchor.clone()),
        None,
    )
    .unwrap();
    assert_eq!((new.placement, new.dropped), (Placement::Fresh, 4));
}

#[test]
fn summaries_of_both_parts() {
    let record = record("plain");
    let anchor = turns(&record)[2].anchor.clone();
    let rest = cut(
        &record,
        &SessionCut::SummaryOfRest(anchor.clone(), "Summary".to_owned()),
        None,
    )
    .unwrap();
    let inject = calls(&rest).last().unwrap();
    assert_eq!(
        (inject.method, inject.takes_id),
        ("thread/inject_items", Some("/threadId"))
    );
    assert_eq!(inject.params["items"][0]["content"][0]["text"], "Summary");
    let start = cut(
        &record,
        &SessionCut::SummaryOfStart(anchor, "Summary".to_owned()),
        None,
    )
    .unwrap();
    let expected = [
        "initialize",
        "initialized",
        "thread/start",
        "thread/inject_items",
    ];
    assert_eq!(methods(&start), expected);
    let items = calls(&start)[3].params["items"].as_array().unwrap();
    let texts: Vec<&str> = items
        .iter()
        .filter_map(|item| item["content"][0]["text"].as_str())
        .collect();
    let expected = [
        "Summary",
        "prompt charlie",
        "answer 3",
        "prompt delta",
        "answer 4",
    ];
    assert_eq!(texts, expected);
    assert!(items.iter().all(|item| {
        item.as_object()
            .unwrap()
            .keys()
            .all(|key| !key.starts_with("internal_"))
    }));
    assert_eq!(calls(&start)[2].params["cwd"], "/home/dev/project");
}

/// A forked thread's record begins in another one.
#[test]
fn a_forked_thread_has_a_base() {
    let fork = record("forked_thread");
    assert_eq!(texts(&fork), ["prompt xray"]);
    let base = CodexConversations.base(&fork);
    let Some(RecordBase { session, bytes }) = base else {
        panic!()
    };
    assert!(!session.is_empty() && bytes > 1000);
    assert_eq!(CodexConversations.base(&record("plain")), None);
    // the records are masked, so that the length is another one
    let plain = record("plain");
    let third = turns(&plain)[2].anchor.clone();
    let part = cut(&plain, &SessionCut::Before(third), None).unwrap();
    let end = part.basis.last().unwrap().end;
    let whole = [&plain[..end], &fork].concat();
    assert_eq!(
        texts(&whole),
        ["prompt alpha", "prompt bravo", "prompt xray"]
    );
}

#[test]
fn messages_of_a_turn() {
    let record = record("plain");
    let anchor = turns(&record)[1].anchor.clone();
    let text = plain_text(
        &CodexConversations
            .messages(&record, &RecordPart::Turn(anchor))
            .unwrap(),
    );
    assert!(
        text.starts_with("User: prompt bravo\n\nCall: apply_patch t2.txt\n"),
        "{text}"
    );
    assert!(text.contains("Call: exec_command cat a.txt\n"), "{text}");
    assert!(text.ends_with("Assistant: answer 2\n\n"), "{text}");
}

#[test]
fn command_lines() {
    let made = Made {
        file: None,
        session: Some("new".to_owned()),
        ..Made::default()
    };
    let line = CodexConversations.opening(&made, "prompt");
    assert_eq!(line.argv, ["codex", "resume", "new"]);
    assert!(!line.prompt_in_it);
}
