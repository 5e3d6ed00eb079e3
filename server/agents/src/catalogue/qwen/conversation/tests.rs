//! Records of the real agent (`tests/agents/records/qwen`), cut at every prompt.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::QwenConversations;
use crate::conversations::{
    Conversations, CutRequest, Made, NewConversation, Placement, RecordPart, RecordPlace,
    RecordedPrompt, Refused, SessionCut, WantedTurn, find, plain_text,
};

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

fn record(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/agents/records/qwen"
    );
    std::fs::read(Path::new(folder).join(name).with_extension("jsonl")).unwrap()
}

fn turns(record: &[u8]) -> Vec<RecordedPrompt> {
    QwenConversations.turns(record).unwrap()
}

fn cut(record: &[u8], cut: &SessionCut, into: Option<&Path>) -> Result<NewConversation, Refused> {
    let place = RecordPlace {
        session: "old".to_owned(),
        transcript: Some(PathBuf::from(
            "/home/dev/.qwen/projects/-home-dev-project/chats/old.jsonl",
        )),
        directory: PathBuf::from("/home/dev/project"),
        home: None,
    };
    let request = CutRequest {
        place: &place,
        record: place.transcript.as_deref(),
        cut,
        into,
        session: SESSION,
        now: 1_900_000_000_123_000,
        folders: &[],
    };
    QwenConversations.cut(record, &request)
}

fn file(new: &NewConversation) -> (&Path, Vec<Value>) {
    let Placement::File { path, bytes } = &new.placement else {
        panic!("{:?}", new.placement)
    };
    let rows = bytes.split(|byte| *byte == b'\n');
    let rows = rows.filter_map(|row| serde_json::from_slice(row).ok());
    (path, rows.collect())
}

/// A new session tells the turns before the prompt and nothing later. Rows stay as they are, but for the session.
#[test]
fn a_cut_tells_what_was_before() {
    for name in ["plain", "lines"] {
        let record = record(name);
        let all = turns(&record);
        for (number, turn) in all.iter().enumerate() {
            assert_eq!((turn.branch, turn.before), (0, number));
            let new = cut(&record, &SessionCut::Before(turn.anchor.clone()), None).unwrap();
            let told: Vec<&str> = new.tells.iter().map(|one| one.text.as_str()).collect();
            let before: Vec<&str> = all[..number].iter().map(|one| one.text.as_str()).collect();
            assert_eq!((told, new.dropped), (before, all.len() - number));
            if number == 0 {
                assert_eq!(new.placement, Placement::Fresh);
                continue;
            }
            let (path, rows) = file(&new);
            let folder = "/home/dev/.qwen/projects/-home-dev-project/chats";
            assert_eq!(path, Path::new(folder).join(format!("{SESSION}.jsonl")));
            assert!(rows.iter().all(|row| row["sessionId"] == SESSION));
            assert_eq!(rows.last().unwrap()["message"]["role"], "model");
            let bytes = match &new.placement {
                Placement::File { bytes, .. } => bytes,
                other => panic!("{other:?}"),
            };
            let part = RecordPart::Before(turn.anchor.clone());
            let old = QwenConversations.messages(&record, &part).unwrap();
            let kept = QwenConversations.messages(bytes, &RecordPart::Shown);
            assert_eq!(plain_text(&kept.unwrap()), plain_text(&old));
        }
    }
}

/// The record has no ids of turns: order and text find one, never one of them alone.
#[test]
fn order_and_text_find_a_turn() {
    let all = turns(&record("plain"));
    let at = |text, before| {
        let wanted = WantedTurn {
            native: None,
            text,
            before,
        };
        find(&all, &wanted).map(|turn| turn.text.clone())
    };
    assert_eq!(at("prompt charlie", 2), Ok("prompt charlie".to_owned()));
    assert!(at("prompt charlie", 1).is_err() && at("prompt x", 2).is_err());
}

#[test]
fn another_directory() {
    let record = record("plain");
    let cut_at = SessionCut::Before(turns(&record)[2].anchor.clone());
    let new = cut(&record, &cut_at, Some(Path::new("/home/dev/try 1"))).unwrap();
    let (path, rows) = file(&new);
    assert!(path.starts_with("/home/dev/.qwen/projects/-home-dev-try-1/chats"));
    assert!(rows.iter().all(|row| row["cwd"] == "/home/dev/try 1"));
}

#[test]
fn summaries_of_both_parts() {
    let record = record("plain");
    let anchor = turns(&record)[2].anchor.clone();
    let text = "Summary of the earlier part of this conversation:\n1 \"file\"".to_owned();
    let told = |new: &NewConversation| -> Vec<String> {
        new.tells.iter().map(|one| one.text.clone()).collect()
    };
    let rest = cut(
        &record,
        &SessionCut::SummaryOfRest(anchor.clone(), text.clone()),
        None,
    )
    .unwrap();
    assert_eq!(told(&rest), ["prompt alpha", "prompt bravo"]);
    let (_, rows) = file(&rest);
    assert_eq!(rows.last().unwrap()["message"]["parts"][0]["text"], *text);
    let start = cut(
        &record,
        &SessionCut::SummaryOfStart(anchor.clone(), text.clone()),
        None,
    )
    .unwrap();
    assert_eq!(told(&start), ["prompt charlie", "prompt delta"]);
    let (_, rows) = file(&start);
    assert_eq!(rows[0]["message"]["parts"][0]["text"], *text);
    assert_eq!(rows[1]["parentUuid"], rows[0]["uuid"]);
    let empty = cut(
        &record,
        &SessionCut::SummaryOfRest(anchor, " ".to_owned()),
        None,
    );
    assert_eq!(empty.unwrap_err().kind(), "summary_empty");
}

/// The agent shows the model its own summary in place of what was before. A prompt before it is still a turn.
#[test]
fn a_compaction_stands_for_what_was_before() {
    let row = |id: usize, more: &str| {
        let parent = match id {
            1 => "null".to_owned(),
            _ => format!("\"{}\"", id - 1),
        };
        format!("{{\"uuid\":\"{id}\",\"parentUuid\":{parent},{more}}}\n")
    };
    let prompt = |text: &str| {
        format!(
            "\"type\":\"user\",\"provenance\":\"real_user\",\"message\":{{\"parts\":[{{\"text\":\"{text}\"}}]}}"
        )
    };
    let compaction = "\"type\":\"system\",\"subtype\":\"chat_compression\",\"systemPayload\":{\"compressedHistory\":[{\"parts\":[{\"text\":\"in short\"}]}]}";
    let rows = [
        prompt("one"),
        compaction.to_owned(),
        prompt("two"),
        prompt("three"),
    ];
    let record: String = (1..).zip(&rows).map(|(id, more)| row(id, more)).collect();
    let all = turns(record.as_bytes());
    let places: Vec<(&str, usize)> = all
        .iter()
        .map(|one| (one.text.as_str(), one.before))
        .collect();
    assert_eq!(places, [("one", 0), ("two", 1), ("three", 2)]);
    let cut_at = SessionCut::Before(all[2].anchor.clone());
    let new = cut(record.as_bytes(), &cut_at, None).unwrap();
    let told: Vec<&str> = new.tells.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(told, ["two"]);
    let part = RecordPart::Before(all[2].anchor.clone());
    let shown = QwenConversations
        .messages(record.as_bytes(), &part)
        .unwrap();
    assert_eq!(
        plain_text(&shown),
        "Summary of earlier messages: in short\n\nUser: two\n\n"
    );
    let start = SessionCut::SummaryOfStart(all[0].anchor.clone(), "x".to_owned());
    assert_eq!(
        cut(record.as_bytes(), &start, None).unwrap_err().kind(),
        "turn_compacted"
    );
}

#[test]
fn command_lines() {
    let made = Made {
        session: Some(SESSION.to_owned()),
        ..Made::default()
    };
    let line = QwenConversations.opening(&made, "a");
    assert_eq!(line.argv, ["qwen", "--resume", SESSION]);
    assert!(!line.prompt_in_it);
}

/// Records with lines dropped, doubled, swapped and truncated: never a panic, and a cut tells what it says.
#[test]
fn mutated_records_do_not_panic() {
    crate::exercise_mutations(&record("plain"));
}
