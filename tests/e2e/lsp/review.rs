//! `backstitch/review`: the unreviewed work of agents, and its review by files and by hunks.

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::World;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

fn hunks(answer: &Value) -> Vec<String> {
    let file = &answer["files"][0];
    let hunks = file["hunks"].as_array().into_iter().flatten();
    let line = |hunk: &Value| {
        let word = |name: &str| hunk[name].as_str().unwrap_or_default().to_owned();
        let added = hunk["added"][0].as_str().unwrap_or_default();
        format!("{} {}: {added}", word("turn"), word("prompt"))
    };
    hunks.map(line).collect()
}

#[test]
fn files_and_hunks_are_kept_and_taken_back() {
    let world = World::committed(&[("a.txt", TEXT), ("b.txt", TEXT)]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "two", "2");
    agent.edit("b.txt", "two", "2");
    agent.prompt("second");
    agent.edit("a.txt", "eight", "8");
    agent.stop();
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    let uri = client.uri("a.txt");
    let all = client.ok("backstitch/review", json!({}));
    let counts = |answer: &Value| -> Vec<(String, u64)> {
        let files = answer["files"].as_array().expect("files").iter();
        let count = |file: &Value| {
            assert!(file.get("hunks").is_none(), "{file}");
            let path = file["path"].as_str().expect("a path").to_owned();
            (path, file["unreviewed"].as_u64().expect("a number"))
        };
        files.map(count).collect()
    };
    let both = [("a.txt".to_owned(), 2), ("b.txt".to_owned(), 1)];
    assert_eq!(counts(&all), both);
    let file = client.ok("backstitch/review", json!({ "uri": uri }));
    assert_eq!(hunks(&file), ["t1 first: 2", "t2 second: 8"]);
    // one hunk
    let one = json!({ "uri": uri, "action": "keep", "lines": [7, 8] });
    assert_eq!(
        hunks(&client.ok("backstitch/review", one)),
        ["t2 second: 8"]
    );
    // the text with this hunk alone is nowhere else in the history
    world.ok(["gc"]);
    let file = client.ok("backstitch/review", json!({ "uri": uri }));
    assert_eq!(hunks(&file), ["t1 first: 2"]);
    client.ok("backstitch/review", json!({ "uri": uri, "action": "keep" }));
    let left = client.ok("backstitch/review", json!({}));
    assert_eq!(counts(&left), both[1..]);
    // both steps back
    let back = json!({ "uri": uri, "action": "unkeep" });
    assert_eq!(
        hunks(&client.ok("backstitch/review", &back)),
        ["t1 first: 2"]
    );
    assert_eq!(hunks(&client.ok("backstitch/review", &back)).len(), 2);
    client.ok("backstitch/review", json!({ "action": "keep" }));
    assert_eq!(counts(&client.ok("backstitch/review", json!({}))), []);
    // the command line has the same reviews
    assert_eq!(world.ok(["review"]).stdout, "Nothing to review\n");
    client.leave();
}

/// Returns `old > new` for each change since a checkpoint, `kept: ` before those that the user kept.
fn since(client: &mut Client<'_>, rev: &str, path: &str) -> Vec<String> {
    let uri = client.uri(path);
    let params = json!({ "from": rev, "to": "buffer", "uri": uri });
    let answer = client.ok("backstitch/diff", params);
    let Some(file) = answer["files"].get(0) else {
        return Vec::new();
    };
    let hunks = file["hunks"].as_array().expect("hunks");
    let line = |hunk: &Value| {
        let kept = if hunk["kept"] == true { "kept: " } else { "" };
        let side = |name: &str| hunk[name][0].as_str().unwrap_or_default().trim().to_owned();
        format!("{kept}{} > {}", side("removed"), side("added"))
    };
    let all: Vec<String> = hunks.iter().map(line).collect();
    let is_kept = all.iter().all(|line| line.starts_with("kept: "));
    assert_eq!(file["kept"] == true, is_kept, "{file}");
    all
}

/// A comparison with a checkpoint has the user's changes, too. Each is marked until it is kept.
#[test]
fn changes_since_a_checkpoint_are_kept() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "two", "2");
    agent.edit("a.txt", "eight", "8");
    agent.stop();
    world.write("a.txt", world.read("a.txt").replace("five", "mine"));
    let own = json!({ "reloadsFromDisk": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let uri = client.uri("a.txt");
    let [two, five, eight] = ["two > 2", "five > mine", "eight > 8"];
    assert_eq!(since(&mut client, "t1", "a.txt"), [two, five, eight]);
    // a line that is not saved moves the others
    client.type_over("a.txt", "one", "zero\none");
    let keep = |client: &mut Client<'_>, lines: [u64; 2]| {
        let params = json!({ "uri": uri, "since": "t1", "action": "keep", "lines": lines });
        let kept = client.ok("backstitch/review", params);
        kept["files"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(keep(&mut client, [2, 3]), 1);
    let zero = " > zero";
    let [kept_two, kept_five] = [two, five].map(|line| format!("kept: {line}"));
    let expected = [zero, &kept_two, five, eight];
    assert_eq!(since(&mut client, "t1", "a.txt"), expected);
    // the agent's change is reviewed with that
    let left = client.ok("backstitch/review", json!({ "uri": uri }));
    assert_eq!(hunks(&left), ["t1 first: 8"]);
    client.save("a.txt");
    assert_eq!(keep(&mut client, [5, 6]), 1);
    let expected = [zero, &kept_two, &kept_five, eight];
    assert_eq!(since(&mut client, "t1", "a.txt"), expected);
    // the text that an editor compares with
    let there = uri
        .strip_suffix("/a.txt")
        .expect("a file")
        .strip_prefix("file://")
        .expect("a file");
    let there = format!("backstitch://{}/t1/a.txt", there.replace('/', "%2F"));
    let content = client.ok("backstitch/content", json!({ "uri": there, "kept": true }));
    let text = TEXT.replace("two", "2").replace("five", "mine");
    assert_eq!(
        (content["text"].as_str(), &content["kept"]),
        (Some(&*text), &json!(true))
    );
    let content = client.ok("backstitch/content", json!({ "uri": there }));
    assert_eq!(content["text"], TEXT);
    // a rewind of the kept changes leaves nothing to mark, and its undo keeps them
    world.ok(["rewind", "t1", "--exact", "--yes"]);
    client.reload("a.txt");
    assert_eq!(since(&mut client, "t1", "a.txt"), [""; 0]);
    world.ok(["undo", "--yes"]);
    client.reload("a.txt");
    assert_eq!(since(&mut client, "t1", "a.txt"), expected);
    // all of them are marked again
    let back = json!({ "uri": uri, "since": "t1", "action": "unkeep" });
    client.ok("backstitch/review", back);
    assert_eq!(since(&mut client, "t1", "a.txt"), [zero, two, five, eight]);
    client.leave();
}

#[test]
fn a_kept_file_has_nothing_left_until_it_changes_again() {
    let world = World::committed(&[("a.txt", TEXT), ("gone.txt", "gone\n"), ("x.bin", "\0one")]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.write("new.txt", "new\n");
    agent.bash("rm gone.txt && printf '\\0two' > x.bin");
    agent.stop();
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    let list = |client: &mut Client<'_>| -> Vec<(String, bool)> {
        let answer = client.ok("backstitch/diff", json!({ "from": "t1" }));
        let files = answer["files"].as_array().expect("files").iter();
        let word = |file: &Value| file["path"].as_str().expect("a path").to_owned();
        files
            .map(|file| (word(file), file["kept"] == true))
            .collect()
    };
    let names = ["gone.txt", "new.txt", "x.bin"].map(String::from);
    let all = |kept: bool| names.clone().map(|name| (name, kept));
    assert_eq!(list(&mut client), all(false));
    let answer = client.ok("backstitch/diff", json!({ "from": "t1" }));
    for file in answer["files"].as_array().expect("files") {
        let uri = client.uri(file["path"].as_str().expect("a path"));
        let keep = json!({ "uri": uri, "since": "t1", "action": "keep", "shown": file["shown"] });
        client.ok("backstitch/review", keep);
    }
    assert_eq!(list(&mut client), all(true));
    assert_eq!(
        client.ok("backstitch/review", json!({}))["files"],
        json!([])
    );
    let there = client.uri("gone.txt");
    let there = there
        .strip_suffix("/gone.txt")
        .expect("a file")
        .strip_prefix("file://");
    let there = format!(
        "backstitch://{}/t1/gone.txt",
        there.expect("a file").replace('/', "%2F")
    );
    let content = client.ok("backstitch/content", json!({ "uri": there, "kept": true }));
    assert_eq!(
        content,
        json!({ "text": "", "kept": true, "deleted": true })
    );
    agent.prompt("second");
    agent.edit("new.txt", "new", "newer");
    agent.write("gone.txt", "another\n");
    agent.stop();
    let expected: Vec<_> = names.iter().cloned().zip([false, false, true]).collect();
    assert_eq!(list(&mut client), expected);
    client.ok(
        "backstitch/review",
        json!({ "since": "t1", "action": "unkeep" }),
    );
    assert_eq!(list(&mut client), all(false));
    client.leave();
}

#[test]
fn what_was_shown_is_kept_and_other_editors_hear_of_it() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "two", "2");
    agent.stop();
    let own = json!({ "notifications": true });
    let mut client = Client::start(&world, Editor::Vscode);
    let mut other = Client::with(&world, Editor::Nvim, &own);
    other.open("a.txt");
    let uri = client.uri("a.txt");
    let listed = client.ok("backstitch/review", json!({ "uri": uri }));
    agent.prompt("second");
    agent.edit("a.txt", "eight", "8");
    agent.stop();
    other.until(|other| {
        other
            .notified
            .iter()
            .any(|(name, _)| name == "backstitch/timelineChanged")
    });
    other.idle();
    other.notified.clear();
    let shown = &listed["files"][0]["shown"];
    client.ok(
        "backstitch/review",
        json!({ "uri": uri, "action": "keep", "shown": shown }),
    );
    other.until(|other| {
        other
            .notified
            .iter()
            .any(|(name, _)| name == "backstitch/timelineChanged")
    });
    let left = other.ok("backstitch/review", json!({ "uri": uri }));
    assert_eq!(hunks(&left), ["t2 second: 8"]);
    assert_eq!(world.json(["review"])["files"][0]["unreviewed"], 1);
    client.leave();
    other.leave();
}

/// A plain client gets the list as a document.
#[test]
fn the_command_shows_files_and_hunks() {
    let world = World::committed(&[("a.txt", TEXT), ("b.txt", TEXT)]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "two", "2");
    agent.edit("b.txt", "two\n", "");
    agent.prompt("second");
    agent.edit("a.txt", "eight", "8\n8½");
    agent.stop();
    world.write("b.txt", world.read("b.txt").replace("nine", "mine"));
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    let listed = client.command("backstitch.review", json!({}));
    assert_eq!(hunks(&listed), ["t1 first: 2", "t2 second: 8"]);
    let shown = client.shown.last().expect("a document");
    let shown = shown.strip_prefix("file://").expect("a file");
    let text = std::fs::read_to_string(shown).expect("a text");
    for row in [
        "\nM a.txt  +3 -2\n     2  +1 -1  t1 first · claude-code  ",
        "\n     8  +2 -1  t2 second · claude-code  ",
        // the user's own line is not listed
        "\n\nM b.txt  +0 -1\n     2  +0 -1  t1 first · claude-code  ",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
    let count = client.shown.len();
    client.ok("backstitch/review", json!({ "action": "keep" }));
    let listed = client.command("backstitch.review", json!({}));
    assert_eq!(listed["files"], json!([]));
    client.until(|client| client.said.iter().any(|said| said == "Nothing to review."));
    assert_eq!(client.shown.len(), count);
    client.leave();
}

#[test]
fn wrong_arguments_are_refused() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let mut client = Client::start(&world, Editor::Vscode);
    for (params, words) in [
        (json!({ "action": "kep" }), "kep"),
        (json!({ "lines": [1, 2] }), "needs `uri`"),
        (json!({ "shown": "s1" }), "needs `uri`"),
        (
            json!({ "uri": "a.txt", "shown": "1" }),
            "`1` is not the `shown`",
        ),
        (json!({ "path": "a.txt" }), "`path`"),
    ] {
        let error = client.fails("backstitch/review", params);
        let message = error["message"].as_str().expect("words");
        assert!(message.contains(words), "{message}");
    }
    client.leave();
}
