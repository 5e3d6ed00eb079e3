//! Records of the real agent (`tests/agents/records`), cut at every prompt, and with lines dropped, doubled and swapped.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::ClaudeConversations;
use crate::conversations::{
    Conversations, CutRequest, Made, NewConversation, Placement, RecordCandidate, RecordPart,
    RecordPlace, RecordSource, RecordedPrompt, Refused, SessionCut, plain_text,
};

const SESSION: &str = "11111111-2222-4333-8444-555555555555";
const NOW: i64 = 1_900_000_000_123_000;
const RECORDS: [&str; 8] = [
    "plain",
    "lines",
    "parallel",
    "rewind",
    "fork",
    "compaction",
    "kept_end",
    "system_prompt",
];

fn record(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/agents/records/claude"
    );
    std::fs::read(Path::new(folder).join(name).with_extension("jsonl")).unwrap()
}

fn turns(record: &[u8]) -> Vec<RecordedPrompt> {
    ClaudeConversations.turns(record).unwrap()
}

fn turn(record: &[u8], text: &str) -> RecordedPrompt {
    let all = turns(record);
    let found = all.into_iter().find(|turn| turn.text == text);
    found.unwrap_or_else(|| panic!("no turn {text}"))
}

fn place() -> RecordPlace {
    RecordPlace {
        session: "old".to_owned(),
        transcript: Some(PathBuf::from(
            "/home/dev/.claude/projects/-home-dev-project/old.jsonl",
        )),
        directory: PathBuf::from("/home/dev/project"),
        home: None,
    }
}

fn cut_into(
    record: &[u8],
    cut: &SessionCut,
    into: Option<&Path>,
) -> Result<NewConversation, Refused> {
    let place = place();
    let request = CutRequest {
        place: &place,
        record: place.transcript.as_deref(),
        cut,
        into,
        session: SESSION,
        now: NOW,
        folders: &[],
    };
    ClaudeConversations.cut(record, &request)
}

fn cut(record: &[u8], cut: &SessionCut) -> Result<NewConversation, Refused> {
    cut_into(record, cut, None)
}

fn before(record: &[u8], text: &str) -> NewConversation {
    cut(record, &SessionCut::Before(turn(record, text).anchor)).unwrap()
}

fn bytes(new: &NewConversation) -> &[u8] {
    let Placement::File { bytes, .. } = &new.placement else {
        panic!("{:?}", new.placement)
    };
    bytes
}

fn rows(record: &[u8]) -> Vec<Value> {
    let lines = record.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

fn prompts_told(new: &NewConversation) -> Vec<&str> {
    new.tells.iter().map(|turn| turn.text.as_str()).collect()
}

/// Reads a record a second time, in a slow and simple way. Returns the prompts on the chain of parents up to a row, with those that
/// its compactions kept. None: the chain is uncertain.
fn naive(rows: &[Value], from: &str) -> Option<Vec<String>> {
    let mut by_id: HashMap<&str, &Value> = HashMap::new();
    for row in rows.iter().filter(|row| row["isSidechain"] != true) {
        if let Some(id) = row["uuid"].as_str()
            && by_id.insert(id, row).is_some_and(|other| other != row)
        {
            by_id.insert(id, &Value::Null);
        }
    }
    let mut path = Vec::new();
    let mut at = Some(from.to_owned());
    while let Some(id) = at {
        let row = by_id.get(id.as_str()).filter(|row| !row.is_null())?;
        if path.len() > rows.len() {
            return None;
        }
        path.push(*row);
        at = match row.get("parentUuid")? {
            Value::Null => None,
            parent => Some(parent.as_str()?.to_owned()),
        };
    }
    let mut told = Vec::new();
    let mut add = |row: &Value| {
        let content = &row["message"]["content"];
        let text = content.as_str().or_else(|| content[0]["text"].as_str());
        if row["type"] == "user" && !row["promptSource"].is_null() {
            told.push(text.unwrap_or_default().to_owned());
        }
    };
    for row in path.iter().rev() {
        add(row);
        for boundary in &path {
            let kept = &boundary["compactMetadata"]["preservedMessages"];
            if kept["anchorUuid"] == row["uuid"] {
                for id in kept["allUuids"].as_array()? {
                    add(by_id.get(id.as_str()?)?);
                }
            }
        }
    }
    Some(told)
}

fn naive_before(rows: &[Value], anchor: &str) -> Option<Vec<String>> {
    let row = rows.iter().find(|row| row["uuid"] == anchor)?;
    match row["parentUuid"].as_str() {
        Some(parent) => naive(rows, parent),
        None => Some(Vec::new()),
    }
}

fn last_id(rows: &[Value]) -> &str {
    rows.iter()
        .rev()
        .find_map(|row| row["uuid"].as_str())
        .unwrap()
}

/// Every prompt of every branch is listed, the open branch first; `/rewind` leaves the other in the file (C9).
#[test]
fn prompts_of_all_branches() {
    let listed = |name| -> Vec<(String, usize, usize)> {
        let turns = turns(&record(name)).into_iter();
        turns
            .map(|turn| (turn.text.replace("prompt ", ""), turn.branch, turn.before))
            .collect()
    };
    let of = |expected: &[(&str, usize, usize)]| -> Vec<(String, usize, usize)> {
        let all = expected.iter();
        all.map(|(text, branch, before)| ((*text).to_owned(), *branch, *before))
            .collect()
    };
    let four = [
        ("alpha", 0, 0),
        ("bravo", 0, 1),
        ("charlie", 0, 2),
        ("delta", 0, 3),
    ];
    assert_eq!(listed("plain"), of(&four));
    assert_eq!(listed("fork"), of(&four));
    assert_eq!(listed("parallel"), of(&four[..3]));
    let branches = [
        ("alpha", 0, 0),
        ("xray", 0, 1),
        ("yankee", 0, 2),
        ("bravo", 1, 1),
        ("charlie", 1, 2),
    ];
    assert_eq!(listed("rewind"), of(&branches));
    // turns before a compaction are still there, and neither its summary nor its command is a turn (C1)
    let five = [four.as_slice(), &[("echo", 0, 4)]].concat();
    assert_eq!(listed("compaction"), of(&five));
    let kept = [four[0], four[1], four[2], ("xray", 0, 3)];
    assert_eq!(listed("kept_end"), of(&kept));
}

/// A fork gives the rows that it copies the id of its first prompt: that id means its last prompt.
#[test]
fn the_id_of_a_fork_is_its_first_prompt() {
    let ids: Vec<bool> = turns(&record("fork"))
        .iter()
        .map(|turn| turn.anchor.native.is_some())
        .collect();
    assert_eq!(ids, [false, false, true, true]);
}

/// A new session tells the turns before the prompt and nothing later (C4, C12), word for word (C2). It is cut by rows, whatever a
/// list counts (C7).
#[test]
fn a_cut_tells_what_was_before() {
    for name in RECORDS {
        let record = record(name);
        let old = rows(&record);
        for turn in turns(&record) {
            let new = cut(&record, &SessionCut::Before(turn.anchor.clone())).unwrap();
            let expected = naive_before(&old, &turn.anchor.row).unwrap();
            assert_eq!(prompts_told(&new), expected, "{name}: {}", turn.text);
            if new.placement == Placement::Fresh {
                assert_eq!(turn.before, 0);
                continue;
            }
            let new_rows = rows(bytes(&new));
            assert_eq!(
                naive(&new_rows, last_id(&new_rows)),
                Some(expected),
                "{name}"
            );
            new.verify(&ClaudeConversations, bytes(&new)).unwrap();
            let part = RecordPart::Before(turn.anchor.clone());
            let old = ClaudeConversations.messages(&record, &part).unwrap();
            let all = ClaudeConversations
                .messages(bytes(&new), &RecordPart::Shown)
                .unwrap();
            assert_eq!(plain_text(&all), plain_text(&old), "{name}: {}", turn.text);
        }
    }
}

/// A row stays as it is, but for the session's id, the place and the time of the last one.
#[test]
fn rows_stay_byte_for_byte() {
    let record = record("lines");
    let old = String::from_utf8(record.clone()).unwrap();
    let new = before(&record, "prompt charlie");
    let new = String::from_utf8(bytes(&new).to_vec()).unwrap();
    let id = rows(&record)[2]["sessionId"].as_str().unwrap().to_owned();
    let lines: Vec<&str> = new.lines().collect();
    let (title, kept) = lines.split_last().unwrap();
    let (last, kept) = kept.split_last().unwrap();
    for line in kept {
        assert!(old.contains(&line.replace(SESSION, &id)), "{line}");
    }
    assert!(
        last.contains("\"timestamp\":\"2030-03-17T17:46:40.123Z\""),
        "{last}"
    );
    let expected = format!(
        "{{\"type\":\"custom-title\",\"customTitle\":\"before “prompt charlie” · Backstitch\",\"sessionId\":\"{SESSION}\"}}"
    );
    assert_eq!(*title, expected);
    let kinds = ["user", "assistant", "attachment", "system", "custom-title"];
    for row in rows(new.as_bytes()) {
        assert!(kinds.contains(&row["type"].as_str().unwrap()), "{row}");
    }
}

/// The attachments hold the system prompt and the model: they stay.
#[test]
fn a_changed_system_prompt_stays() {
    let record = record("system_prompt");
    let kinds = |text: &str| -> Vec<String> {
        let new = before(&record, text);
        let rows = rows(bytes(&new));
        let kinds = rows
            .iter()
            .filter_map(|row| row["attachment"]["type"].as_str());
        kinds.map(str::to_owned).collect()
    };
    for kind in ["prompt_snapshot", "model", "environment"] {
        assert!(kinds("prompt bravo").contains(&kind.to_owned()), "{kind}");
    }
    let start =
        SessionCut::SummaryOfStart(turn(&record, "prompt charlie").anchor, "Summary".to_owned());
    let new = cut(&record, &start).unwrap();
    let rows = rows(bytes(&new));
    let snapshots = rows
        .iter()
        .filter(|row| row["attachment"]["type"] == "prompt_snapshot");
    assert_eq!(snapshots.count(), 1);
}

/// Results of parallel calls are siblings: those whose call is kept are kept.
#[test]
fn results_of_parallel_calls_stay() {
    let record = record("parallel");
    let new = before(&record, "prompt bravo");
    let rows = rows(bytes(&new));
    let count = |kind: &str| {
        let blocks = rows
            .iter()
            .filter_map(|row| row["message"]["content"].as_array());
        blocks
            .flatten()
            .filter(|block| block["type"] == kind)
            .count()
    };
    assert_eq!((count("tool_use"), count("tool_result")), (3, 3));
}

/// Before a compaction its summary is unknown (C5); after it the summary stands for what it replaced, never beside it (C3, C6).
#[test]
fn compactions_are_followed() {
    let record = record("compaction");
    let summaries = |new: &NewConversation| {
        let rows = rows(bytes(new));
        rows.iter()
            .filter(|row| row["isCompactSummary"] == true)
            .count()
    };
    let early = before(&record, "prompt charlie");
    assert_eq!(prompts_told(&early), ["prompt alpha", "prompt bravo"]);
    assert_eq!(summaries(&early), 0);
    let late = before(&record, "prompt echo");
    assert_eq!(prompts_told(&late), ["prompt delta"]);
    assert_eq!((summaries(&late), late.dropped), (1, 4));
    let kept = before(&self::record("kept_end"), "prompt xray");
    assert_eq!(prompts_told(&kept), ["prompt bravo", "prompt charlie"]);
    assert_eq!(summaries(&kept), 1);
}

/// Another directory: the file lies in its folder, and the rows name it.
#[test]
fn another_directory() {
    let record = record("plain");
    let cut = SessionCut::Before(turn(&record, "prompt charlie").anchor);
    let new = cut_into(&record, &cut, Some(Path::new("/home/dev/try \"1\""))).unwrap();
    let Placement::File { path, bytes } = &new.placement else {
        panic!()
    };
    let folder = "/home/dev/.claude/projects/-home-dev-try--1-";
    assert_eq!(*path, Path::new(folder).join(format!("{SESSION}.jsonl")));
    for row in rows(bytes).iter().filter(|row| row.get("cwd").is_some()) {
        assert_eq!(row["cwd"], "/home/dev/try \"1\"");
    }
    // a folder whose name has an unknown hash: the old session's own
    let long = format!("/{}", "a".repeat(300));
    let new = cut_into(&record, &cut, Some(Path::new(&long))).unwrap();
    let Placement::File { path, .. } = &new.placement else {
        panic!()
    };
    assert!(path.starts_with("/home/dev/.claude/projects/-home-dev-project"));
}

#[test]
fn summaries_of_both_parts() {
    let record = record("plain");
    let anchor = turn(&record, "prompt charlie").anchor;
    let text = "Summary of the earlier part of this conversation:\n1 \"file\"";
    let rest = cut(
        &record,
        &SessionCut::SummaryOfRest(anchor.clone(), text.to_owned()),
    )
    .unwrap();
    assert_eq!(prompts_told(&rest), ["prompt alpha", "prompt bravo"]);
    let all = ClaudeConversations
        .messages(bytes(&rest), &RecordPart::All)
        .unwrap();
    assert_eq!(all.last().unwrap().text, text);
    let start = cut(
        &record,
        &SessionCut::SummaryOfStart(anchor.clone(), text.to_owned()),
    )
    .unwrap();
    assert_eq!(prompts_told(&start), ["prompt charlie", "prompt delta"]);
    let all = ClaudeConversations
        .messages(bytes(&start), &RecordPart::All)
        .unwrap();
    assert_eq!(all[0].text, text);
    let part = RecordPart::From(anchor.clone());
    let old = ClaudeConversations.messages(&record, &part).unwrap();
    assert_eq!(all[1..], old);
    let refused = cut(
        &record,
        &SessionCut::SummaryOfRest(anchor, " \n".to_owned()),
    )
    .unwrap_err();
    assert_eq!(refused.kind(), "summary_empty");
    // the agent has summed up the same rows already
    let record = self::record("compaction");
    let anchor = turn(&record, "prompt bravo").anchor;
    let refused = cut(
        &record,
        &SessionCut::SummaryOfStart(anchor, text.to_owned()),
    )
    .unwrap_err();
    assert_eq!(refused.kind(), "turn_compacted");
}

/// The agent writes at this moment: a last line without its end is left out.
#[test]
fn an_unfinished_line_is_left_out() {
    let whole = record("plain");
    let new = before(&whole, "prompt charlie");
    let last = rows(&whole)
        .iter()
        .rposition(|row| row["uuid"].is_string())
        .unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let mut cut = lines[..=last].concat();
    cut.truncate(cut.len() - 30);
    assert_eq!(before(&cut, "prompt charlie"), new);
}

#[test]
fn places_of_records() {
    let home = PathBuf::from("/home/dev/.claude");
    let place = RecordPlace {
        home: Some(home.clone()),
        transcript: None,
        ..place()
    };
    let root = home.join("projects");
    assert_eq!(
        ClaudeConversations.folders(&place, None),
        Some(root.clone())
    );
    let search = RecordCandidate::Search {
        root,
        depth: 1,
        suffix: "old.jsonl".to_owned(),
    };
    assert_eq!(
        ClaudeConversations.source(&place),
        RecordSource::Files(vec![search])
    );
}

/// The prompt is in the command line from the version on that takes it (C13). No permission mode is.
#[test]
fn command_lines() {
    let line = |version: &str, prompt: &str| {
        let made = Made {
            file: None,
            session: Some(SESSION.to_owned()),
            directory: PathBuf::from("/w"),
            version: Some(version.to_owned()),
        };
        let line = ClaudeConversations.opening(&made, prompt);
        (line.argv[1..].join(" "), line.prompt_in_it)
    };
    let resume = format!("--resume {SESSION}");
    assert_eq!(
        line("2.1.330", "a $b"),
        (format!("{resume} --prefill a $b"), true)
    );
    assert_eq!(
        line("2.2.0", "--x"),
        (format!("{resume} --prefill=--x"), true)
    );
    assert_eq!(line("2.1.329", "a"), (resume.clone(), false));
    assert_eq!(line("unknown", "a"), (resume.clone(), false));
    assert_eq!(line("2.1.332", &"a".repeat(200_000)), (resume, false));
    let fresh = ClaudeConversations.opening(&Made::default(), "a");
    assert_eq!(
        (fresh.argv, fresh.prompt_in_it),
        (vec!["claude".to_owned()], false)
    );
}

/// Records with lines dropped, doubled, swapped and truncated, and with other parents. A cut is refused, or tells the turns that a
/// slow reading of the same record gives. If no parent changed, these are the turns of the whole record, too.
#[test]
fn mutated_records_are_refused_or_exact() {
    let mut random: u64 = 45;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random >> 1).unwrap() % below.max(1)
    };
    let (mut exact, mut refused) = (0, 0);
    for name in RECORDS {
        let whole = record(name);
        let original = rows(&whole);
        let lines: Vec<Vec<u8>> = whole
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        for round in 0..10 {
            let mut lines = lines.clone();
            let mut is_same_tree = true;
            for _ in 0..=next(4) {
                let (at, other) = (next(lines.len()), next(lines.len()));
                match next(6) {
                    0 => drop(lines.remove(at)),
                    1 => lines.insert(other, lines[at].clone()),
                    2 => lines.swap(at, other),
                    3 => lines[at].truncate(other),
                    4 => lines.truncate(at.max(lines.len() / 2)),
                    _ => {
                        is_same_tree &= !has_new_parent(&mut lines, at, other);
                    }
                }
            }
            let mutated = lines.concat();
            let Ok(turns) = ClaudeConversations.turns(&mutated) else {
                continue;
            };
            let rows = rows(&mutated);
            for turn in turns {
                match cut(&mutated, &SessionCut::Before(turn.anchor.clone())) {
                    Ok(new) => {
                        exact += 1;
                        let plan = naive_before(&rows, &turn.anchor.row).expect("a certain chain");
                        assert_eq!(prompts_told(&new), plan, "{name}");
                        if is_same_tree {
                            assert_eq!(
                                naive_before(&original, &turn.anchor.row).as_ref(),
                                Some(&plan)
                            );
                        }
                        if new.placement != Placement::Fresh {
                            let new = self::rows(bytes(&new));
                            assert_eq!(naive(&new, last_id(&new)), Some(plan), "{name}");
                        }
                    }
                    Err(_) => refused += 1,
                }
            }
            if round % 5 == 0 {
                crate::exercise_record(&mutated);
            }
        }
    }
    assert!(exact > 60 && refused > 30, "{exact} {refused}");
}

/// Gives a row another row as parent. False: one of the lines has none.
fn has_new_parent(lines: &mut [Vec<u8>], at: usize, other: usize) -> bool {
    let read = |line: &[u8]| serde_json::from_slice::<Value>(line).ok();
    let (Some(mut row), Some(parent)) = (read(&lines[at]), read(&lines[other])) else {
        return false;
    };
    if row["uuid"].is_null() || parent["uuid"].is_null() {
        return false;
    }
    row["parentUuid"] = parent["uuid"].clone();
    lines[at] = format!("{row}\n").into_bytes();
    true
}

/// A thousand branches, and a chain that bites its own tail.
#[test]
fn hostile_trees() {
    let row = |id: usize, parent: Option<usize>| {
        let parent = parent.map_or("null".to_owned(), |id| format!("\"{id}\""));
        format!(
            "{{\"uuid\":\"{id}\",\"parentUuid\":{parent},\"type\":\"user\",\"promptSource\":\"x\",\"message\":{{\"content\":\"{id}\"}}}}\n"
        )
    };
    let mut record = row(0, None);
    for id in 1..=1000 {
        record += &row(id, Some(id / 3));
    }
    let turns = turns(record.as_bytes());
    assert_eq!(turns.len(), 1001);
    assert!(turns.iter().map(|turn| turn.branch).max() > Some(600));
    let new = before(record.as_bytes(), "1000");
    assert_eq!(
        prompts_told(&new),
        ["0", "1", "4", "12", "37", "111", "333"]
    );
    let circle = row(1, Some(3)) + &row(2, Some(1)) + &row(3, Some(2)) + &row(4, Some(3));
    let all = self::turns(circle.as_bytes());
    assert_eq!(all.len(), 4);
    for turn in all {
        let refused = cut(circle.as_bytes(), &SessionCut::Before(turn.anchor)).unwrap_err();
        assert_eq!(refused.kind(), "record_broken");
    }
}
