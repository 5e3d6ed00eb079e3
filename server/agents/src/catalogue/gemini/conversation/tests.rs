//! Records of the real agent (`tests/agents/records/gemini`), cut at every prompt, and journals in small.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::GeminiConversations;
use crate::conversations::{
    Conversations, CutRequest, Made, NewConversation, Placement, RecordPart, RecordPlace,
    RecordedPrompt, Refused, SessionCut, plain_text,
};

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

fn record(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/agents/records/gemini"
    );
    std::fs::read(Path::new(folder).join(name).with_extension("jsonl")).unwrap()
}

fn turns(record: &[u8]) -> Vec<RecordedPrompt> {
    GeminiConversations.turns(record).unwrap()
}

fn places(record: &[u8]) -> Vec<(String, usize, usize)> {
    let all = turns(record).into_iter();
    all.map(|turn| (turn.text, turn.branch, turn.before))
        .collect()
}

fn cut(record: &[u8], cut: &SessionCut) -> Result<NewConversation, Refused> {
    let place = RecordPlace {
        session: "old".to_owned(),
        transcript: Some(PathBuf::from(
            "/home/dev/.gemini/tmp/project/chats/session-2026-11-30T18-31-4cbf6445.jsonl",
        )),
        directory: PathBuf::from("/home/dev/project"),
        home: None,
    };
    let request = CutRequest {
        place: &place,
        record: place.transcript.as_deref(),
        cut,
        into: None,
        session: SESSION,
        now: 1_900_000_000_123_000,
        folders: &[],
    };
    GeminiConversations.cut(record, &request)
}

fn bytes(new: &NewConversation) -> &[u8] {
    let Placement::File { bytes, .. } = &new.placement else {
        panic!("{:?}", new.placement)
    };
    bytes
}

fn document(new: &NewConversation) -> Value {
    serde_json::from_slice(bytes(new)).unwrap()
}

fn told(new: &NewConversation) -> Vec<&str> {
    new.tells.iter().map(|one| one.text.as_str()).collect()
}

/// A new session tells the turns before the prompt and nothing later.
#[test]
fn a_cut_tells_what_was_before() {
    for name in ["plain", "lines"] {
        let record = record(name);
        let all = turns(&record);
        assert!(all.len() >= 3, "{name}");
        for (number, turn) in all.iter().enumerate() {
            assert_eq!((turn.branch, turn.before), (0, number), "{name}");
            let new = cut(&record, &SessionCut::Before(turn.anchor.clone())).unwrap();
            let before: Vec<&str> = all[..number].iter().map(|one| one.text.as_str()).collect();
            assert_eq!((told(&new), new.dropped), (before, all.len() - number));
            if number == 0 {
                assert_eq!(new.placement, Placement::Fresh);
                continue;
            }
            let part = RecordPart::Before(turn.anchor.clone());
            let old = GeminiConversations.messages(&record, &part).unwrap();
            let kept = GeminiConversations.messages(bytes(&new), &RecordPart::Shown);
            assert_eq!(plain_text(&kept.unwrap()), plain_text(&old));
        }
    }
}

/// The new file is beside the agent's chats, not among them: the agent deletes files there. Its title names the prompt.
#[test]
fn the_new_file_is_beside_the_chats() {
    let record = record("plain");
    let new = cut(
        &record,
        &SessionCut::Before(turns(&record)[2].anchor.clone()),
    )
    .unwrap();
    let Placement::File { path, .. } = &new.placement else {
        panic!()
    };
    let folder = Path::new("/home/dev/.gemini/tmp/project/backstitch");
    assert_eq!(*path, folder.join(format!("{SESSION}.json")));
    let document = document(&new);
    assert_eq!(document["summary"], "before “prompt charlie” · Backstitch");
    assert!(document["projectHash"].is_string());
}

/// The agent writes the result of a call twice at a resume. The model is to be shown it once.
#[test]
fn twins_of_results_are_left_out() {
    let record = record("plain");
    let new = cut(
        &record,
        &SessionCut::Before(turns(&record)[3].anchor.clone()),
    )
    .unwrap();
    let document = document(&new);
    let mut ids = Vec::new();
    for message in document["messages"].as_array().unwrap() {
        let calls = message["toolCalls"].as_array().into_iter().flatten();
        let of_calls = calls.filter_map(|call| call["result"].as_array()).flatten();
        let content = message["content"].as_array().into_iter().flatten();
        for part in of_calls.chain(content) {
            if let Some(id) = part["functionResponse"]["id"].as_str() {
                ids.push(id.to_owned());
            }
        }
    }
    assert_eq!(ids.len(), 3);
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

/// Prompts that were removed in the agent are on another branch, and can be gone to.
#[test]
fn a_rewind_in_the_agent() {
    let prompt = |id: &str| {
        format!("{{\"id\":\"{id}\",\"type\":\"user\",\"content\":[{{\"text\":\"{id}\"}}]}}\n")
    };
    let record = [
        "{\"sessionId\":\"s\",\"projectHash\":\"p\"}\n".to_owned(),
        prompt("a"),
        prompt("b"),
        prompt("c"),
        "{\"$rewindTo\":\"b\"}\n".to_owned(),
        prompt("d"),
    ]
    .concat();
    let of = |text: &str, branch, before| (text.to_owned(), branch, before);
    let expected = [of("a", 0, 0), of("d", 0, 1), of("b", 1, 1), of("c", 1, 2)];
    assert_eq!(places(record.as_bytes()), expected);
    let before = |text: &str| {
        let all = turns(record.as_bytes()).into_iter();
        let turn = all.into_iter().find(|turn| turn.text == text).unwrap();
        cut(record.as_bytes(), &SessionCut::Before(turn.anchor)).unwrap()
    };
    assert_eq!(told(&before("c")), ["a", "b"]);
    assert_eq!(told(&before("d")), ["a"]);
}

/// Turns before a compaction are still there, and those after it are counted on.
#[test]
fn a_compaction_keeps_the_order() {
    let prompt = |id: &str| format!("{{\"id\":\"{id}\",\"type\":\"user\",\"content\":\"{id}\"}}");
    let summary = "{\"id\":\"s\",\"type\":\"user\",\"content\":\"<state_snapshot>\"},{\"id\":\"t\",\"type\":\"gemini\",\"content\":\"ok\"}";
    let record = [
        prompt("a"),
        prompt("b"),
        format!("{{\"$set\":{{\"messages\":[{summary}]}}}}"),
        prompt("c"),
        String::new(),
    ]
    .join("\n");
    let of = |text: &str, branch, before| (text.to_owned(), branch, before);
    let expected = [of("c", 0, 2), of("a", 1, 0), of("b", 1, 1)];
    assert_eq!(places(record.as_bytes()), expected);
}

#[test]
fn summaries_of_both_parts() {
    let record = record("plain");
    let anchor = turns(&record)[2].anchor.clone();
    let text = "Summary of the earlier part of this conversation:\n1 \"file\"".to_owned();
    let rest = cut(
        &record,
        &SessionCut::SummaryOfRest(anchor.clone(), text.clone()),
    )
    .unwrap();
    assert_eq!(told(&rest), ["prompt alpha", "prompt bravo"]);
    let document_of_rest = document(&rest);
    let last = document_of_rest["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    assert_eq!(last["content"][0]["text"], *text);
    let start = cut(
        &record,
        &SessionCut::SummaryOfStart(anchor.clone(), text.clone()),
    )
    .unwrap();
    assert_eq!(told(&start), ["prompt charlie", "prompt delta"]);
    assert_eq!(document(&start)["messages"][0]["content"][0]["text"], *text);
    let empty = cut(&record, &SessionCut::SummaryOfRest(anchor, " ".to_owned()));
    assert_eq!(empty.unwrap_err().kind(), "summary_empty");
}

#[test]
fn command_lines() {
    let made = Made {
        file: Some(PathBuf::from("/f.json")),
        ..Made::default()
    };
    let line = GeminiConversations.opening(&made, "a");
    assert_eq!(line.argv, ["gemini", "--session-file", "/f.json"]);
    let old = Made {
        session: Some(SESSION.to_owned()),
        ..Made::default()
    };
    let line = GeminiConversations.opening(&old, "a");
    assert_eq!(line.argv, ["gemini", "--resume", SESSION]);
}

/// Records with lines dropped, doubled, swapped and truncated: never a panic, and a cut tells what it says.
#[test]
fn mutated_records_do_not_panic() {
    crate::exercise_mutations(&record("plain"));
}
