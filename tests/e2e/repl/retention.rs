//! Retention of sessions, their transcripts and the values in them.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::kills::bridge_of;
use super::python::{Program, world};
use crate::control::Watcher;
use crate::lsp::client::{Client, Editor};
use crate::support::World;
use crate::support::limits::EVENT_TIMEOUT;

const PROGRAM: &str = r#"
import backstitch_debug as bs
bs.on()
def plan(n): return n
bs.pause("first")
bs.call(plan, 1)
bs.pause("second")
print("end")
"#;

fn database(world: &World) -> Connection {
    Connection::open(world.store().join("control.db")).expect("a database")
}

/// Moves everything that was recorded so far this number of days into the past.
fn age(world: &World, days: i64) {
    let shift = days * 24 * 3600 * 1_000_000;
    let set = |columns: &[&str]| {
        let columns = columns
            .iter()
            .map(|name| format!("{name} = {name} - {shift}"));
        columns.collect::<Vec<_>>().join(", ")
    };
    // without `process.started`, by which a program is known
    let all: [(&str, &[&str]); 7] = [
        ("repl_session", &["started", "closed"]),
        ("exchange", &["time"]),
        ("eval_request", &["made", "taken"]),
        ("object", &["made"]),
        ("pause", &["made", "decided", "ended"]),
        ("process", &["connected", "ended"]),
        ("function_call", &["started", "ended"]),
    ];
    let statements = all.map(|(table, columns)| format!("UPDATE {table} SET {};", set(columns)));
    let rows = database(world);
    rows.execute_batch(&statements.concat()).expect("columns");
}

/// Number of rows of a table.
fn count(world: &World, table: &str) -> i64 {
    let count = format!("SELECT COUNT(*) FROM {table}");
    let rows = database(world);
    rows.query_row(&count, [], |row| row.get(0))
        .expect("a number")
}

/// Evaluates these inputs in one session. Returns its id and the content ids of the values.
fn ask(world: &World, pause: &str, inputs: &[&str]) -> (String, Vec<String>) {
    let mut args = vec!["--json", "repl", pause];
    for input in inputs {
        args.extend(["-e", input]);
    }
    let said = world.ok(args).stdout;
    let all: Vec<Value> = serde_json::Deserializer::from_str(&said)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("JSON");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let values = all.iter().map(|one| &one["entry"]["cid"]);
    let values = values.filter(|cid| !cid.is_null()).map(text).collect();
    (text(&all[0]["session"]), values)
}

/// Ids of the sessions that are listed, sorted.
fn listed(world: &World, options: &[&str]) -> Vec<String> {
    let list = world.json(["repl", "list"].iter().chain(options));
    let all = list["sessions"].as_array().expect("sessions").iter();
    let mut ids: Vec<String> = all
        .map(|one| one["id"].as_str().expect("an id").to_owned())
        .collect();
    ids.sort();
    ids
}

fn sorted<const N: usize>(ids: [&String; N]) -> Vec<String> {
    let mut ids = ids.map(Clone::clone).to_vec();
    ids.sort();
    ids
}

/// No row belongs to one that is gone.
#[track_caller]
fn assert_whole(world: &World) {
    let orphans = [
        "exchange WHERE session NOT IN (SELECT id FROM repl_session)",
        "eval_request WHERE session NOT IN (SELECT id FROM repl_session)",
        "function_call WHERE process NOT IN (SELECT id FROM process)",
        "object WHERE cid NOT IN (SELECT cid FROM exchange WHERE cid IS NOT NULL)",
        "exchange WHERE cid IS NOT NULL AND cid NOT IN (SELECT cid FROM object)",
        "exchange_words WHERE rowid NOT IN (SELECT id FROM exchange)",
    ];
    for orphan in orphans {
        assert_eq!(count(world, orphan), 0, "{orphan}");
    }
    assert_eq!(count(world, "exchange"), count(world, "exchange_words"));
    let verified = world.json(["verify"]);
    assert_eq!(
        (&verified["ok"], &verified["problems"]),
        (&json!(true), &json!([]))
    );
}

/// S5-033, S5-F1: sessions older than `store.keepDays` go with their transcripts, their words and their values; those of a pause
/// that is still open stay, as do younger ones, and values that these name, too.
#[test]
fn old_transcripts_and_their_values_go() {
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, PROGRAM);
    watcher.until("held");
    let (old, values) = ask(
        &world,
        "p1",
        &["[1, 2, 3]", "'only' + ' old'", "print('words of old')"],
    );
    let [shared, only_old] = &values[..] else {
        panic!("{values:?}");
    };
    world.ok(["resume"]);
    watcher.until("held");
    let mut client = Client::with(&world, Editor::Vscode, &json!({ "panels": true }));
    client.open("a.txt");
    let started = client.ok("backstitch/repl/start", json!({ "pause": "p2" }));
    let open = started["session"]["id"].as_str().expect("an id").to_owned();
    let mut of_open = Vec::new();
    for input in ["[1, 2, 3]", "'of the ' + 'open'"] {
        let asked = json!({ "session": open, "input": input });
        let entry = client.ok("backstitch/repl/eval", asked)["entry"].clone();
        of_open.push(entry["cid"].as_str().expect("a content id").to_owned());
    }
    assert_eq!(&of_open[0], shared);

    // nothing is old yet
    world.ok(["gc"]);
    assert_eq!(listed(&world, &[]), sorted([&old, &open]));
    age(&world, 31);
    let other = Program::start(&world, PROGRAM);
    watcher.until("held");
    let (young, of_young) = ask(&world, "p3", &["'yo' + 'ung'"]);
    world.ok(["resume", "p3"]);
    watcher.until("held");

    world.ok(["gc", "--dry-run"]);
    // each limit of the settings keeps what is younger
    world.ok(["gc", "--keep-days", "32"]);
    assert_eq!(listed(&world, &[]), sorted([&old, &open, &young]));
    world.ok(["gc"]);
    assert_eq!(listed(&world, &[]), sorted([&open, &young]));
    assert_eq!(listed(&world, &["--search", "words of old"]), [""; 0]);
    assert_eq!(
        listed(&world, &["--search", "of the open"]),
        std::slice::from_ref(&open)
    );
    assert_whole(&world);
    let gone = world.run(["repl", "show", &old]);
    assert!(
        gone.code != 0 && gone.stderr.contains("there is no REPL session"),
        "{gone}"
    );
    let gone = world.run(["repl", "object", only_old]);
    assert!(
        gone.code != 0 && gone.stderr.contains("there is no value"),
        "{gone}"
    );
    for value in of_open.iter().chain(&of_young) {
        world.ok(["repl", "object", value, "--save", "value"]);
    }
    // the session of the open pause continues
    let asked = json!({ "session": open, "input": "plan(6) * 7" });
    let entry = client.ok("backstitch/repl/eval", asked)["entry"].clone();
    assert_eq!(
        (&entry["output"], &entry["index"]),
        (&json!("42"), &json!(3))
    );
    client.leave();
    let states = world.json(["pauses"]);
    let states = states["pauses"].as_array().expect("pauses").iter();
    assert!(states.clone().all(|pause| pause["state"] == "held"));
    assert_eq!(states.count(), 2);

    world.ok(["resume", "p2"]);
    world.ok(["resume", "p4"]);
    for one in [program, other] {
        assert_eq!(one.end(), (0, "end\n".to_owned(), String::new()));
    }
    // their bridges note it a moment later
    let until = Instant::now() + EVENT_TIMEOUT;
    while count(&world, "process WHERE ended IS NULL") > 0 {
        assert!(Instant::now() < until, "a program has no end");
    }
    age(&world, 31);
    world.ok(["gc"]);
    for table in [
        "repl_session",
        "exchange",
        "exchange_words",
        "eval_request",
        "object",
    ] {
        assert_eq!(count(&world, table), 0, "{table}");
    }
    for table in ["pause", "process", "function_call"] {
        assert_eq!(count(&world, table), 0, "{table}");
    }
    assert_whole(&world);
    assert_eq!(listed(&world, &[]), [""; 0]);
}

/// S5-033: a session of a terminal that left stays with its transcript and its values for as long as its pause is open.
#[test]
fn closed_sessions_of_an_open_pause_stay() {
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, PROGRAM);
    watcher.until("held");
    let (session, values) = ask(&world, "p1", &["'asked ' + 'long ago'"]);
    age(&world, 31);
    world.ok(["gc"]);
    assert_eq!(
        listed(&world, &["--pause", "p1"]),
        std::slice::from_ref(&session)
    );
    world.ok(["repl", "object", &values[0]]);
    let shown = world.json(["repl", "show", &session]);
    assert_eq!(
        shown["entries"][0]["output"], "'asked long ago'",
        "{shown:#}"
    );
    assert_whole(&world);
    world.ok(["resume"]);
    watcher.until("held");
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
    world.ok(["gc"]);
    assert_eq!(listed(&world, &[]), [""; 0]);
    assert_whole(&world);
}

/// Above a tenth of `store.maxBytes` the oldest sessions go, however young, and no more of them than needed; those of an open
/// pause stay.
#[test]
fn large_transcripts_go_the_oldest_first() {
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, PROGRAM);
    watcher.until("held");
    // 300 KB that do not compress, and 100 KB of their repr
    let large = "__import__('os').urandom(300_000)";
    let [first, second, third] = [0, 1, 2].map(|_| ask(&world, "p1", &[large]));
    world.ok(["resume"]);
    watcher.until("held");
    let (open, _) = ask(&world, "p2", &[large]);
    world.ok(["gc", "--max-bytes", "1000000000"]);
    let all = [&first.0, &second.0, &third.0, &open];
    assert_eq!(listed(&world, &[]), sorted(all));
    world.ok(["gc", "--max-bytes", "9000000"]);
    assert_eq!(listed(&world, &[]), sorted([&third.0, &open]));
    assert_whole(&world);
    for (gone, kept) in [(&first, &third), (&second, &third)] {
        assert_ne!(world.run(["repl", "object", &gone.1[0]]).code, 0);
        world.ok(["repl", "object", &kept.1[0]]);
    }
    world.ok(["gc", "--max-bytes", "1000000"]);
    assert_eq!(listed(&world, &[]), std::slice::from_ref(&open));
    assert_whole(&world);
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
    world.ok(["gc", "--max-bytes", "1000000"]);
    assert_eq!(listed(&world, &[]), [""; 0]);
    assert_whole(&world);
}

/// A workspace that has only programs: the end of one removes what is too old, once a day; `gc --if-due` does so, too.
#[test]
fn old_transcripts_go_in_the_background() {
    for background in [true, false] {
        let world = world();
        let mut watcher = Watcher::start(&world);
        let program = Program::start(&world, PROGRAM);
        watcher.until("held");
        ask(&world, "p1", &["1 + 1"]);
        world.ok(["resume"]);
        watcher.until("held");
        // its end removes what is old, too
        let bridge = bridge_of(program.pid()).expect("a bridge");
        world.ok(["resume"]);
        assert_eq!(program.end().0, 0);
        watcher.until("answered");
        let start = Instant::now();
        while Path::new(&format!("/proc/{bridge}")).exists() {
            assert!(start.elapsed() < EVENT_TIMEOUT, "the bridge still runs");
        }
        age(&world, 400);
        let last = "UPDATE meta SET value = value - 200000000000 WHERE key = 'gc'";
        database(&world).execute(last, []).expect("a row");
        if background {
            let program = Program::start(&world, PROGRAM);
            watcher.until("held");
            world.ok(["resume"]);
            watcher.until("held");
            world.ok(["resume"]);
            assert_eq!(program.end().0, 0);
            // the bridge ends a little after its program
            while count(&world, "repl_session") > 0 {}
        } else {
            world.ok(["gc", "--if-due"]);
        }
        assert_eq!(count(&world, "repl_session"), 0, "{background}");
        assert_whole(&world);
    }
}
