//! Filters of the timeline: session, agent, path, words, kind, branch, time, page.

use serde_json::Value;

use crate::commands::says;
use crate::support::World;
use crate::support::scenarios::kinds_of_changes;

/// Checkpoints that `log` lists with these arguments, newest first.
#[track_caller]
fn found(world: &World, args: &[&str]) -> Vec<String> {
    let log = world.json(["log"].iter().chain(args));
    let all = log["checkpoints"].as_array().expect("checkpoints").iter();
    let name = |c: &Value, field: &str| c[field].as_str().unwrap_or_default().to_owned();
    all.map(|c| match c["kind"].as_str() {
        Some("turn") => name(c, "prompt"),
        Some("step") => name(c, "tool"),
        Some("manual") => name(c, "label"),
        _ => name(c, "kind"),
    })
    .collect()
}

/// A workspace with two agents' sessions; the second writes text to search for.
fn two_sessions() -> World {
    let world = World::committed(&[("a.txt", "one\n"), ("src/b.rs", "fn b() {}\n")]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("Fix BUG-4711 in the größte Straße");
    agent.edit("a.txt", "one", "eins");
    agent.stop();
    let mut other = world.agent();
    other.session_start();
    other.prompt("次の関数を直して please");
    other.write(
        "src/new.rs",
        "fn parse_config_v2() {\n    // needle_in_haystack\n}\n",
    );
    other.bash("rm src/b.rs");
    other.stop();
    world.ok(["checkpoint", "-m", "all tests green"]);
    world
}

/// Each filter alone, and several at once.
#[test]
fn filters_are_combined_with_and() {
    let world = kinds_of_changes();
    assert_eq!(found(&world, &["--kind", "step"]), ["Bash", "Edit"]);
    assert_eq!(found(&world, &["--kind", "turn"]), ["make it better"]);
    assert_eq!(found(&world, &["--kind", "external"]), ["external"]);
    assert_eq!(found(&world, &["--kind", "manual"]), ["green", "start"]);
    assert_eq!(
        found(&world, &["--agent", "claude-code", "--kind", "turn"]),
        ["make it better"]
    );
    assert_eq!(
        found(&world, &["--path", "a.txt", "--kind", "turn"]),
        [""; 0]
    );
    assert_eq!(
        found(&world, &["--path", "b.txt"]),
        ["Bash"],
        "what moved away was there"
    );
    assert_eq!(
        found(
            &world,
            &["--session", "0000", "--path", "n.txt", "--text", "empty"]
        ),
        ["Bash"]
    );
    assert_eq!(found(&world, &["--since", "1h"]).len(), 6);
    assert_eq!(found(&world, &["--until", "1h"]), [""; 0]);
    assert_eq!(
        found(&world, &["--since", "2020-01-01", "--until", "2020-12-31"]),
        [""; 0]
    );
    let green = world.json(["log", "-n", "1"])["checkpoints"][0]["time"].clone();
    let green = green.as_str().expect("a time");
    assert_eq!(found(&world, &["--since", green]), ["green"]);
    assert_eq!(found(&world, &["--until", green]).len(), 6);

    says(
        &world.run(["log", "--agent", "nobody"]),
        3,
        &["agent `nobody`"],
    );
    says(
        &world.run(["log", "--branch", "nowhere"]),
        3,
        &["branch `nowhere`", "backstitch branch"],
    );
    says(
        &world.run(["log", "--since", "soonish"]),
        2,
        &["soonish", "2h"],
    );
    says(&world.run(["log", "--text", "(*"]), 2, &["no word"]);
    says(&world.run(["log", "--before", "c99"]), 3, &["c99"]);
    world.run(["log", "--kind", "commit"]).expect_code(2);
    world
        .run(["log", "--branch", "main", "--all"])
        .expect_code(2);
    let text = world.ok(["log", "--path", "nothing"]).stdout;
    assert!(text.contains("No checkpoint matches"), "{text}");
}

/// The pages together show everything once. The text output says how to get the next page.
#[test]
fn pages_show_everything_once() {
    let world = kinds_of_changes();
    let all = world.json(["log"])["checkpoints"]
        .as_array()
        .expect("rows")
        .clone();
    for filter in [&[][..], &["--all"], &["--text", "a*"], &["--path", "."]] {
        let whole = world.json(["log"].iter().chain(filter))["checkpoints"].clone();
        let mut pages = Vec::new();
        let mut before = "c1000".to_owned();
        loop {
            let mut args = vec!["log", "-n", "2"];
            args.extend(filter);
            if !pages.is_empty() {
                args.extend(["--before", &before]);
            }
            let page = world.json(args)["checkpoints"]
                .as_array()
                .expect("rows")
                .clone();
            let Some(oldest) = page.last() else { break };
            before = oldest["id"].as_str().expect("an id").to_owned();
            pages.extend(page);
        }
        assert_eq!(Value::Array(pages), whole, "{filter:?}");
    }
    let second = all[1]["id"].as_str().expect("an id");
    let text = world.ok(["log", "-n", "2"]).stdout;
    assert!(text.contains(&format!("log --before {second}")), "{text}");
}

/// S4-070: the log shows the history of the current branch or of a named one, whichever branch is current. Path and
/// word filters work within it.
#[test]
fn log_lists_the_history_of_one_branch() {
    let world = kinds_of_changes();
    world.ok(["fork", "t1", "idea2", "--switch"]);
    world.write("new.txt", "new\n");
    world.ok(["checkpoint", "-m", "on idea2"]);
    let idea = ["on idea2", "external", "make it better", "start"];
    assert_eq!(found(&world, &[]), idea);
    assert_eq!(found(&world, &["--branch", "idea2"]), idea);
    let main = found(&world, &["--branch", "main"]);
    assert_eq!(
        main,
        [
            "green",
            "external",
            "Bash",
            "Edit",
            "make it better",
            "start"
        ]
    );
    assert_eq!(
        found(&world, &["--branch", "main", "--path", "a.txt"]),
        ["Edit"]
    );
    assert_eq!(found(&world, &["--path", "a.txt"]), [""; 0]);
    assert_eq!(found(&world, &["--text", "green"]), [""; 0]);
    assert_eq!(
        found(&world, &["--branch", "main", "--text", "green"]),
        ["green"]
    );
    assert_eq!(found(&world, &["--all", "--text", "green"]), ["green"]);
    assert_eq!(found(&world, &["--all"]).len(), 8);
}

/// Prompts, labels and tool inputs are found by their words, in any script. No word is treated as syntax.
#[test]
fn search_finds_words_in_any_script() {
    let world = two_sessions();
    let text = |words: &str| found(&world, &["--text", words]);
    assert_eq!(text("BUG-4711"), ["Fix BUG-4711 in the größte Straße"]);
    assert_eq!(text("bug größte"), ["Fix BUG-4711 in the größte Straße"]);
    assert_eq!(text("grosste"), [""; 0]);
    assert_eq!(text("関数"), ["次の関数を直して please"]);
    assert_eq!(text("数関"), [""; 0], "in this order");
    assert_eq!(text("parse_config_v2"), ["Write"]);
    assert_eq!(text("needle_in_haystack"), ["Write"]);
    assert_eq!(
        text("needle"),
        ["Write"],
        "a part between underscores is a word too"
    );
    assert_eq!(text("haysta"), [""; 0]);
    assert_eq!(text("haysta*"), ["Write"]);
    assert_eq!(text("new.rs"), ["Write"], "the path that it names");
    assert_eq!(text("eins"), ["Edit"]);
    assert_eq!(text("tests green"), ["all tests green"]);
    assert_eq!(text("tests red"), [""; 0], "all of the words");
    for odd in [
        "\"green",
        "green OR red",
        "NEAR(a b)",
        "body:green",
        "a AND",
        "^green",
        "(",
        "green)",
        "-green",
        "'",
    ] {
        let run = world.run(["log", "--text", odd]);
        assert!(run.code == 0 || run.code == 2, "{run}");
        assert!(!run.stderr.contains("database"), "{run}");
    }
    assert_eq!(text("\"green"), ["all tests green"]);
}

/// New text can be found at once, also while others read the index.
#[test]
fn the_search_index_stays_current() {
    let world = two_sessions();
    let text = |words: &str| found(&world, &["--text", words]);
    assert_eq!(text("tadpole"), [""; 0]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("about a tadpole");
    assert_eq!(text("tadpole"), ["about a tadpole"]);
    let write = agent.pre_write("pond.txt", "a frog\n");
    assert_eq!(text("frog"), [""; 0], "its checkpoint is not there yet");
    let response = agent.apply(&write);
    agent.post(&write, &response);
    agent.stop();
    assert_eq!(text("frog"), ["Write"]);
    world.ok(["checkpoint", "-m", "frog and tadpole"]);
    let both = ["frog and tadpole"];
    std::thread::scope(|scope| {
        let looks: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| text("frog tadpole")))
            .collect();
        for look in looks {
            assert_eq!(look.join().expect("an answer"), both);
        }
    });
    assert_eq!(text("frog"), ["frog and tadpole", "Write"]);
}

/// Lines are counted once and then cached. The counts are the same where the cache cannot be written.
#[test]
fn line_counts_are_cached() {
    let world = kinds_of_changes();
    let first = world.json(["log"]);
    assert_eq!(world.json(["log"]), first);
    let store = rusqlite::Connection::open(world.store().join("store.db")).expect("a database");
    let counted = || -> i64 {
        let count = store.query_row("SELECT COUNT(*) FROM counted", [], |r| r.get(0));
        count.expect("a number")
    };
    assert!(counted() > 0);
    store
        .execute_batch("DELETE FROM counted; BEGIN IMMEDIATE")
        .expect("the only writer");
    assert_eq!(world.json(["log"]), first, "while another writes");
    store.execute_batch("ROLLBACK").expect("over");
    assert_eq!(world.json(["log"]), first);
    assert!(counted() > 0);
}

/// An unknown name is answered with the known ones.
#[test]
fn unknown_names_are_answered_with_known_ones() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let mut agent = world.agent();
    agent.prompt("one");
    agent.edit("a.txt", "a", "b");
    agent.stop();
    let output = world.run(["log", "--agent", "zzz"]).expect_code(3);
    for word in ["agent `zzz` not found", "backstitch stats"] {
        assert!(output.stderr.contains(word), "no {word} in {output}");
    }
    assert!(world.ok(["stats"]).stdout.contains("claude-code"));
    let output = world.run(["diff", "t1", "--", "nope"]).expect_code(3);
    assert!(
        output.stderr.contains("`nope` is in no checkpoint"),
        "{output}"
    );
    world.ok(["diff", "t1", "--", "a.txt"]);
}

/// A turn of which no change is in force is marked, and so are its steps.
#[test]
fn undone_turns_are_marked() {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\nfour\nfive\n")]);
    let mut agent = world.agent();
    for (prompt, from, to) in [("first", "one", "1"), ("second", "five", "5")] {
        agent.prompt(prompt);
        agent.edit("a.txt", from, to);
        agent.stop();
    }
    agent.prompt("only a question");
    agent.stop();
    let out = |world: &World| -> Vec<String> {
        let all = world.checkpoints();
        let out = all.iter().filter(|c| c.json["taken_out"] == true);
        out.map(|c| c.line.clone()).collect()
    };
    assert_eq!(out(&world), Vec::<String>::new());
    world.ok(["revert", "t2"]);
    assert_eq!(out(&world), ["t2: second", "t2 Edit: modify a.txt"]);
    let log = world.ok(["log"]).stdout;
    let header = log.lines().find(|l| l.contains("t2 c")).expect("it");
    assert!(header.contains("(undone)"), "{log}");
    world.ok(["undo"]);
    assert_eq!(out(&world), Vec::<String>::new());
}
