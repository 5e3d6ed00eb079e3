//! Texts of the language server: lenses, actions, hovers, questions, messages, and the documents that it shows.

use std::fmt::Write as _;

use serde_json::json;

use super::{check, days_ago};
use crate::lsp::client::{Client, Editor};
use crate::support::World;
use crate::support::scenarios::{NINE_LINES, two_files};

/// t1 "make it two" edits two places, t2 "and eight" one, and the user edits the last line.
fn edited() -> World {
    let world = two_files(NINE_LINES);
    let mut agent = world.agent();
    agent.turn("make it two", |agent| {
        agent.edit("a.txt", "two\n", "2\ntwo and a half\n");
        agent.edit("a.txt", "six\n", "6\n");
        agent.write("b.txt", "another\n");
    });
    agent.turn("and eight", |agent| {
        agent.edit("a.txt", "eight\n", "8\n");
    });
    world.write("a.txt", world.read("a.txt").replace("nine", "mine"));
    world.ok(["checkpoint"]);
    days_ago(&world);
    world
}

fn document(client: &Client<'_>) -> String {
    let uri = client.shown.last().expect("shown");
    let path = uri.strip_prefix("file://").expect("a file");
    let path = path.replace("%20", " ").replace("%5E", "^");
    std::fs::read_to_string(path).expect("a text")
}

#[test]
fn texts_in_the_code() {
    let world = edited();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    let mut text = "lenses\n".to_owned();
    for (line, title, _) in client.lenses("a.txt") {
        writeln!(text, "{line:3}  {title}").expect("a text");
    }
    for (lines, place) in [(1..2, "at an agent's line"), (0..1, "at another line")] {
        writeln!(text, "\nactions {place}").expect("a text");
        for (title, _) in client.actions("a.txt", lines) {
            writeln!(text, "     {title}").expect("a text");
        }
    }
    for line in [1, 9] {
        let uri = client.uri("a.txt");
        let position = json!({ "line": line, "character": 0 });
        let params = json!({ "textDocument": { "uri": uri }, "position": position });
        let hover = client.ok("textDocument/hover", params);
        let hover = hover["contents"]["value"].as_str().unwrap_or("nothing");
        writeln!(text, "\nhover at line {line}\n{hover}").expect("a text");
    }
    client.leave();
    check("editor-code", &text);
}

#[test]
fn questions_and_documents() {
    let world = edited();
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    client.will_choose("Show changes");
    client.will_choose("Cancel");
    client.command("backstitch.rewind", json!({ "rev": "t1" }));
    check("editor-plan", &document(&client));
    client.will_choose("Rewind");
    client.command("backstitch.rewind", json!({ "rev": "t2" }));
    client.until(|client| !client.said.is_empty());
    client.save("a.txt");
    client.command("backstitch.undo", json!({ "confirm": false }));
    client.until(|client| client.said.len() > 1);
    client.save("a.txt");
    client.run(&json!({ "command": "backstitch.timeline", "arguments": [{}] }));
    check("editor-timeline", &document(&client));
    client.run(&json!({ "command": "backstitch.review", "arguments": [{}] }));
    check("editor-review", &document(&client));
    let mut text = "questions\n".to_owned();
    for question in &client.asked {
        writeln!(text, "  {question}").expect("a text");
    }
    text += "\nmessages\n";
    for message in &client.said {
        writeln!(text, "  {message}").expect("a text");
    }
    check("editor-questions", &text);
    client.leave();
}

#[test]
fn errors_of_commands() {
    let world = edited();
    world.write(
        "a.txt",
        world.read("a.txt").replace("two and a half", "my own"),
    );
    let own = json!({ "notifications": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let mut text = String::new();
    for (command, arguments) in [
        (
            "backstitch.rewind",
            json!({ "rev": "t1", "confirm": false }),
        ),
        ("backstitch.rewind", json!({ "rev": "t9" })),
        ("backstitch.rewind", json!({ "rev": "t1", "path": "a.txt" })),
        ("backstitch.undo", json!({ "confirm": false })),
        ("backstitch.redo", json!({ "confirm": false })),
        (
            "backstitch.switch",
            json!({ "branch": "nowhere", "confirm": false }),
        ),
        ("backstitch.diff", json!({ "rev": "nowhere" })),
    ] {
        let params = json!({ "command": command, "arguments": [arguments] });
        let error = client.fails("workspace/executeCommand", params);
        let message = error["message"].as_str().expect("a message");
        let hint = error["data"]["hint"].as_str().unwrap_or("none");
        writeln!(text, "{command} {arguments}\n  {message}\n  hint: {hint}\n").expect("a text");
    }
    client.leave();
    check("editor-errors", &text);
}
