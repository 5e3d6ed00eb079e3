//! Rewinds from an editor: confirmed, carried out, and equal in buffer and file.

use serde_json::{Value, json};

use super::client::{Client, Editor, Edits};
use crate::support::scenarios::{SEVEN_LINES, two_files};

fn client_options() -> Value {
    json!({ "reloadsFromDisk": true, "notifications": true })
}

/// The main task in every editor: lens, confirmation, rewind, equal buffer and file, undo.
#[test]
fn a_lens_rewinds_and_undo_restores() {
    for editor in Editor::ALL {
        let world = two_files(SEVEN_LINES);
        let mut agent = world.agent();
        agent.prompt("make it two");
        agent.edit("a.txt", "two\n", "2\n");
        agent.bash("echo new > new.txt");
        agent.stop();
        let mut client = Client::start(&world, editor);
        client.open("a.txt");
        let offered = match editor {
            Editor::Helix | Editor::Eglot => client.actions("a.txt", 1..2)[0].1.clone(),
            _ => client.lenses("a.txt")[1].2.clone(),
        };
        client.will_choose("Rewind");
        let answer = client.run(&offered);
        let [asked] = client.asked.as_slice() else {
            panic!("{editor:?}: {:?}", client.asked)
        };
        let (title, counts) = ("Rewind to before “", ": 2 files change (1 deleted).");
        assert!(asked.starts_with(title), "{editor:?}: {asked}");
        assert!(asked.contains(counts), "{editor:?}: {asked}");
        assert!(answer["operation"].is_string(), "{answer}");
        assert_eq!(client.text("a.txt"), SEVEN_LINES, "{editor:?}");
        // a client that shows labels of edits gets them
        let labels = ["Backstitch: lines of a checkpoint"];
        let shown = usize::from(editor == Editor::Vscode);
        assert_eq!(client.labels, labels[..shown], "{editor:?}");
        assert!(!world.exists("new.txt"));
        // a client without reload gets the text as an edit, and saves it when its user does
        client.save("a.txt");
        assert_eq!(world.read("a.txt"), SEVEN_LINES);
        client.will_choose("Undo");
        client.command("backstitch.undo", json!({}));
        client.save("a.txt");
        assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("two", "2"));
        assert_eq!(client.text("a.txt"), SEVEN_LINES.replace("two", "2"));
        assert_eq!(world.read("new.txt"), "new\n");
        client.leave();
    }
}

/// For a client that reloads clean documents, the server writes the files.
#[test]
fn a_clean_document_of_a_client_that_reloads_is_written_on_disk() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    client.reload("a.txt");
    let lenses = client.lenses("a.txt");
    assert_eq!(lenses.len(), 1, "{lenses:?}");
    client.leave();
}

/// Several commands before the client has reloaded its file: each writes to disk.
#[test]
fn a_document_not_reloaded_yet_is_not_dirty() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    for (prompt, old, new) in [
        ("make it two", "two\n", "2\n"),
        ("and five", "five\n", "5\n"),
    ] {
        agent.prompt(prompt);
        agent.edit("a.txt", old, new);
        agent.stop();
    }
    let both = SEVEN_LINES.replace("two", "2").replace("five", "5");
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    let quiet = json!({ "confirm": false });
    for (command, rev, expected) in [
        ("rewind", json!("t2"), SEVEN_LINES.replace("two", "2")),
        ("rewind", json!("t1"), SEVEN_LINES.to_owned()),
        ("undo", Value::Null, SEVEN_LINES.replace("two", "2")),
        ("undo", Value::Null, both.clone()),
        ("redo", Value::Null, SEVEN_LINES.replace("two", "2")),
    ] {
        let mut arguments = quiet.clone();
        if !rev.is_null() {
            arguments["rev"] = rev;
        }
        client.command(&format!("backstitch.{command}"), arguments);
        assert_eq!(world.read("a.txt"), expected, "{command}");
    }
    assert_eq!(client.edited, 0);
    assert_eq!(world.json(["status"])["pending_saves"], json!([]));
    client.leave();
}

/// Many documents get their texts at once: a slow editor applies all of them together.
#[test]
fn many_documents_are_changed_at_once() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("more");
    for path in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        agent.write(path, "agent\n");
    }
    agent.prompt("yet more");
    for path in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        agent.write(path, "more\n");
    }
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    for path in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        client.open(path);
    }
    client.edits = Edits::Held;
    let rewind = json!({ "rev": "t2", "confirm": false });
    let asked = json!({ "command": "backstitch.rewind", "arguments": [rewind] });
    let id = client.begin("workspace/executeCommand", &asked);
    client.until(|client| client.edited == 4);
    client.edits = Edits::Taken;
    client.answer_held();
    let answer = client.response(id)["result"].clone();
    // if sent one after the other, the first would have timed out by now
    assert!(answer["awaited"].is_null(), "{answer}");
    assert!(answer["not_taken"].is_null(), "{answer}");
    assert_eq!(client.text("d.txt"), "agent\n");
    client.leave();
}

/// A rewind keeps unsaved text by merging.
#[test]
fn a_rewind_over_a_dirty_document_keeps_typed_text() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    client.type_over("a.txt", "six", "mine");
    let answer = client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(
        client.text("a.txt"),
        SEVEN_LINES.replace("six", "mine"),
        "{answer}"
    );
    assert_eq!(
        world.read("a.txt"),
        SEVEN_LINES.replace("two", "2"),
        "not saved yet"
    );
    client.save("a.txt");
    client.command("backstitch.undo", json!({ "confirm": false }));
    client.reload("a.txt");
    let both = SEVEN_LINES.replace("two", "2").replace("six", "mine");
    assert_eq!(world.read("a.txt"), both);
    client.leave();
}

/// Conflicts with typed text are asked about first.
#[test]
fn conflicts_with_typed_text_are_the_users_decision() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    client.type_over("a.txt", "2", "2 and mine");
    let error = client.fails(
        "workspace/executeCommand",
        json!({ "command": "backstitch.rewind", "arguments": [{ "rev": "t1", "confirm": false }] }),
    );
    assert_eq!(error["data"]["kind"], "conflict", "{error}");
    assert_eq!(
        client.text("a.txt"),
        SEVEN_LINES.replace("two", "2 and mine")
    );
    client.will_choose("Cancel");
    let params = json!({ "command": "backstitch.rewind", "arguments": [{ "rev": "t1" }] });
    let error = client.fails("workspace/executeCommand", params);
    assert_eq!(error["data"]["kind"], "cancelled", "{error}");
    client.will_choose("Keep the current lines");
    client.will_choose("Rewind");
    client.command("backstitch.rewind", json!({ "rev": "t1" }));
    assert_eq!(
        client.text("a.txt"),
        SEVEN_LINES.replace("two", "2 and mine")
    );
    client.leave();
}

/// An editor that reports an edit as applied but does not apply it is detected.
#[test]
fn an_edit_that_the_editor_only_pretends_is_reported() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    client.edits = Edits::Pretended;
    let answer = client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(answer["awaited"], json!(["a.txt"]));
    client.until(|c| {
        c.said
            .iter()
            .any(|said| said.contains("did not apply the new text of a.txt"))
    });
    let status = world.json(["status"]);
    assert_eq!(status["pending_saves"][0]["path"], "a.txt", "{status}");
    client.leave();
}

/// Eglot sends an edit's changes only after the response to its command: each edit is applied once, and nothing waits
/// for each other.
#[test]
fn an_editor_that_reports_late_gets_each_edit_once() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("make it more");
    agent.edit("a.txt", "two\n", "2\n2 and a half\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Eglot);
    client.open("a.txt");
    let quiet = json!({ "rev": "t1", "confirm": false });
    let answer = client.command("backstitch.rewind", quiet);
    assert_eq!(answer["awaited"], json!(["a.txt"]), "{answer}");
    assert_eq!((client.edited, client.text("a.txt")), (1, SEVEN_LINES));
    client.idle();
    client.save("a.txt");
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(client.edited, 2);
    client.save("a.txt");
    assert_eq!(world.read("a.txt"), client.text("a.txt"));
    assert!(world.read("a.txt").contains("2 and a half"));
    let unseen = |said: &String| said.contains("did not apply");
    assert!(!client.said.iter().any(unseen), "{:?}", client.said);
    client.leave();
}

/// Long work shows progress and can be cancelled: then nothing is changed.
#[test]
fn long_work_shows_progress_and_can_be_cancelled() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    assert!(client.lenses("a.txt").len() > 1);
    // another restore, which does not end
    let gate = std::fs::File::options()
        .append(true)
        .open(world.store().join("restore.gate"))
        .expect("the gate");
    gate.lock().expect("held");
    let rewind =
        json!({ "command": "backstitch.rewind", "arguments": [{ "rev": "t1", "confirm": false }] });
    let id = client.begin("workspace/executeCommand", &rewind);
    client.until(|client| !client.progress.is_empty());
    let (token, begun) = client.progress[0].clone();
    assert_eq!(
        (&begun["kind"], &begun["cancellable"]),
        (&json!("begin"), &json!(true))
    );
    assert_eq!(begun["title"], "Rewind to t1", "{begun}");
    client.notify("window/workDoneProgress/cancel", json!({ "token": token }));
    client.ok("backstitch/sessions", json!({}));
    drop(gate);
    let answer = client.response(id);
    assert_eq!(answer["result"]["error"]["kind"], "cancelled", "{answer}");
    let ended = |client: &Client<'_>| {
        client
            .progress
            .last()
            .map(|(_, value)| value["kind"] == "end")
    };
    client.until(|client| ended(client) == Some(true));
    assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("two", "2"));
    // the next command is independent of it and works
    let done = client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert!(done["operation"].is_string(), "{done}");
    client.leave();
}

/// A client that shows plans and results itself gets the texts of a plan, including unsaved text, and no message.
#[test]
fn plans_include_texts_for_clients_that_show_them() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.write("new.txt", "new\n");
    agent.bash("rm b.txt");
    agent.stop();
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    client.type_over("a.txt", "seven", "7");
    let typed = client.text("a.txt").to_owned();
    let planned = |client: &mut Client<'_>, what: &Value| {
        let plan = client.ok("backstitch/plan", what);
        let texts = plan["texts"].as_array().cloned().unwrap_or_default();
        let all = texts.iter().map(|text| {
            let path = text["path"].as_str().expect("a path").to_owned();
            (path, text["now"].clone(), text["then"].clone())
        });
        let all: Vec<_> = all.collect();
        (plan, all)
    };
    let (plan, texts) = planned(&mut client, &json!({ "rev": "t1", "texts": true }));
    let then = SEVEN_LINES.replace("seven", "7");
    assert_eq!(
        texts,
        [
            ("a.txt".to_owned(), json!(typed), json!(then)),
            ("b.txt".to_owned(), Value::Null, json!("other\n")),
            ("new.txt".to_owned(), json!("new\n"), Value::Null),
        ]
    );
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "plan": plan["plan"] }),
    );
    assert_eq!(client.text("a.txt"), then);
    let (plan, _) = planned(&mut client, &json!({ "undo": true }));
    client.command("backstitch.undo", json!({ "plan": plan["plan"] }));
    assert_eq!(client.text("a.txt"), typed);
    let (plan, texts) = planned(&mut client, &json!({ "redo": true, "texts": true }));
    assert_eq!(texts[0], ("a.txt".to_owned(), json!(typed), json!(then)));
    assert_eq!(
        plan["title"], "Redo the rewind to before “make it two”",
        "{plan}"
    );
    assert!(planned(&mut client, &json!({ "redo": true })).1.is_empty());
    assert_eq!((&client.said, &client.asked), (&Vec::new(), &Vec::new()));
    client.leave();
}
