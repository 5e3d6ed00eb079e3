//! Lenses, actions and hovers in the code, and the notifications that refresh them.

use serde_json::json;

use super::client::{Client, Editor};
use crate::support::scenarios::{FIVE_LINES, two_files};

fn without_age(title: &str) -> String {
    title
        .rsplit_once(" · ")
        .map_or(title, |(title, _)| title)
        .to_owned()
}

/// A lens appears in every editor above an agent's change, as soon as another process records it.
#[test]
fn a_lens_appears_when_an_agent_writes() {
    for editor in Editor::ALL {
        let world = two_files(FIVE_LINES);
        world.ok(["checkpoint"]);
        let mut client = Client::start(&world, editor);
        client.open("a.txt");
        assert_eq!(client.lenses("a.txt"), []);
        let mut agent = world.agent();
        agent.prompt("make it two");
        agent.edit("a.txt", "two\n", "2\ntwo and a half\n");
        agent.stop();
        if matches!(editor, Editor::Vscode | Editor::Nvim) {
            client.until(|client| client.refreshed > 0);
        }
        client.reload("a.txt");
        let lenses = client.lenses("a.txt");
        let titles: Vec<(u64, String)> = lenses
            .iter()
            .map(|(line, title, _)| (*line, without_age(title)))
            .collect();
        assert_eq!(
            titles,
            [
                (0, "1 checkpoint".into()),
                (1, "⟲ rewind to here · turn 1 “make it two”".into()),
                (1, "fork".into()),
                (1, "diff".into()),
            ],
            "{editor:?}"
        );
        assert_eq!(lenses[1].2["arguments"][0]["rev"], "t1");
        client.leave();
    }
}

/// Helix and Emacs draw no lenses: the same commands are offered as code actions.
#[test]
fn every_lens_is_also_a_code_action() {
    let world = two_files(FIVE_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    let titles: Vec<String> = client
        .actions("a.txt", 1..2)
        .into_iter()
        .map(|(title, _)| without_age(&title))
        .collect();
    assert_eq!(
        titles,
        [
            "Rewind to before turn 1 “make it two”",
            "Rewind this file to before turn 1 “make it two”",
            "Rewind these lines to before turn 1",
            "Revert only turn 1 “make it two”",
            "Show what turn 1 changed here",
            "Show changes since before turn 1 “make it two”",
            "Fork from before turn 1 “make it two”",
            "Undo the last rewind",
            "Redo the rewind",
            "Make a checkpoint",
            "Show the timeline",
        ]
    );
    let others = client.actions("a.txt", 4..5);
    assert_eq!(others[0].0, "Undo the last rewind");
    client.leave();
}

#[test]
fn a_hover_names_the_author_of_a_line() {
    let world = two_files(FIVE_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("make it *two*");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    let hover = |client: &mut Client, line: u64| {
        let uri = client.uri("a.txt");
        let params = json!({
            "textDocument": { "uri": uri },
            "position": { "line": line, "character": 0 },
        });
        client.ok("textDocument/hover", params)
    };
    let told = hover(&mut client, 1);
    let text = told["contents"]["value"].as_str().expect("text");
    assert!(
        text.starts_with("**turn 1** “make it \\*two\\*”  \nclaude\\-code Edit · c"),
        "{text}"
    );
    assert!(text.ends_with("\n\n```diff\n-two\n+2\n```"), "{text}");
    assert!(hover(&mut client, 0).is_null(), "nobody's line");
    client.leave();
}

/// Lenses and blame use the lines of the editor, including typed text.
#[test]
fn blame_follows_typed_text() {
    let world = two_files(FIVE_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    client.type_over("a.txt", "one\n", "one\nmy own\nlines\n");
    let lenses = client.lenses("a.txt");
    assert_eq!(lenses[1].0, 3, "{lenses:?}");
    let uri = client.uri("a.txt");
    let blame = client.ok("backstitch/blame", json!({ "uri": uri }));
    let by: Vec<&str> = blame["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| run["by"].as_str().expect("who"))
        .collect();
    assert_eq!(by, ["before", "unsaved", "agent", "before"]);
    client.leave();
}
