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

#[test]
fn wrong_arguments_are_refused() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let mut client = Client::start(&world, Editor::Vscode);
    for (params, words) in [
        (json!({ "action": "kep" }), "kep"),
        (json!({ "lines": [1, 2] }), "needs `uri`"),
        (json!({ "path": "a.txt" }), "`path`"),
    ] {
        let error = client.fails("backstitch/review", params);
        let message = error["message"].as_str().expect("words");
        assert!(message.contains(words), "{message}");
    }
    client.leave();
}
