//! Agents inside the editor: edits through `backstitch/applyEdit` are the agent's, typed text is the user's.

use serde_json::{Value, json};

use super::client::{Client, Editor, Edits};
use crate::support::World;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn client_options() -> Value {
    json!({ "reloadsFromDisk": true, "notifications": true })
}

fn replace(client: &Client, path: &str, line: usize, new: &str) -> Value {
    let range = json!({
        "start": { "line": line, "character": 0 },
        "end": { "line": line + 1, "character": 0 },
    });
    json!({ "changes": { client.uri(path): [{ "range": range, "newText": new }] } })
}

fn begin(client: &mut Client, prompt: &str) {
    client.ok(
        "backstitch/turnBegin",
        json!({ "agent": "helper", "session": "s1", "prompt": prompt }),
    );
}

/// An edit through the editor is a step of the agent's turn. Text that the user types next to it is the user's, in the
/// same file and before anything is saved.
#[test]
fn edits_through_the_editor_are_attributed_to_the_agent() {
    let world = World::committed(&[("a.txt", TEXT), ("b.txt", "other\n")]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    client.type_over("a.txt", "seven", "typed before");
    begin(&mut client, "make it two");
    let edit = replace(&client, "a.txt", 1, "2\n");
    let answer = client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    assert_eq!(answer["applied"], true, "{answer}");
    client.type_over("a.txt", "four", "typed after");
    let edit = replace(&client, "a.txt", 4, "5\n");
    client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    client.ok(
        "backstitch/turnEnd",
        json!({ "agent": "helper", "session": "s1" }),
    );
    assert_eq!(
        world.since_start(),
        [
            "t1: make it two",
            "you: modify a.txt",
            "t1 Edit: modify a.txt",
            "you: modify a.txt",
            "t1 Edit: modify a.txt",
        ]
    );
    assert_eq!(world.read("a.txt"), TEXT, "nothing was saved");
    let titles: Vec<u64> = client.lenses("a.txt").iter().map(|lens| lens.0).collect();
    assert_eq!(titles, [0, 1, 1, 1, 4, 4, 4]);
    client.save("a.txt");
    let saved = "one\n2\nthree\ntyped after\n5\nsix\ntyped before\n";
    assert_eq!(world.read("a.txt"), saved);
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    client.reload("a.txt");
    assert_eq!(
        client.text("a.txt"),
        "one\ntwo\nthree\ntyped after\nfive\nsix\ntyped before\n"
    );
    client.leave();
    world.ok(["verify"]);
}

/// The agent may edit excluded files in the editor, too, and they are not recorded. A deletion that could not be
/// undone is refused.
#[test]
fn excluded_files_are_not_recorded() {
    let world = World::committed(&[("a.txt", TEXT)]);
    world.write(".backstitch.toml", "capture.exclude = [\"secret\"]\n");
    world.write("secret", TEXT);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("secret");
    begin(&mut client, "make it two");
    let edit = replace(&client, "secret", 1, "2\n");
    let edit = json!({ "label": "Edit", "edit": edit });
    assert_eq!(client.ok("backstitch/applyEdit", edit)["applied"], true);
    client.save("secret");
    let removed = json!({ "kind": "delete", "uri": client.uri("secret") });
    let edit = json!({ "label": "Delete", "edit": { "documentChanges": [removed] } });
    let refused = client.fails("backstitch/applyEdit", edit);
    assert!(
        refused.to_string().contains("excluded by your settings"),
        "{refused}"
    );
    client.ok(
        "backstitch/turnEnd",
        json!({ "agent": "helper", "session": "s1" }),
    );
    let step = world
        .checkpoints()
        .into_iter()
        .find(|c| c.line.starts_with("t1 Edit"));
    let step = step.expect("a step");
    assert_eq!(step.not_captured(), ["excluded secret"]);
    assert_eq!(step.json["changes"], json!([]));
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "exact": true, "confirm": false }),
    );
    assert!(world.read("secret").starts_with("one\n2\nthree\n"));
    client.leave();
}

/// A rewind before any save changes only the document.
#[test]
fn a_rewind_before_the_save_changes_only_the_document() {
    let world = World::committed(&[("a.txt", TEXT), ("b.txt", "other\n")]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    begin(&mut client, "make it two");
    let edit = replace(&client, "a.txt", 1, "2\n");
    client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    client.ok(
        "backstitch/turnEnd",
        json!({ "agent": "helper", "session": "s1" }),
    );
    client.type_over("a.txt", "six", "mine");
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(client.text("a.txt"), TEXT.replace("six", "mine"));
    assert_eq!(world.read("a.txt"), TEXT);
    client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(
        client.text("a.txt"),
        TEXT.replace("six", "mine").replace("two", "2")
    );
    client.leave();
    world.ok(["verify"]);
}

/// An edit that the editor refuses is not recorded.
#[test]
fn an_edit_that_the_editor_refuses_is_not_recorded() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    let edit = replace(&client, "a.txt", 1, "2\n");
    let error = client.fails("backstitch/applyEdit", json!({ "edit": edit }));
    assert_eq!(error["data"]["kind"], "usage", "{error}");
    begin(&mut client, "make it two");
    client.edits = Edits::Pretended;
    let answer = client.ok("backstitch/applyEdit", json!({ "edit": edit }));
    assert_eq!(answer["applied"], false, "{answer}");
    assert_eq!(answer["checkpoints"], json!([]), "{answer}");
    assert_eq!(world.since_start(), ["t1: make it two"]);
    client.leave();
}

/// Files that are not open are written on disk, with their own line ends, and are the agent's. The editor gets no edit
/// of files that it does not have open.
#[test]
fn edits_of_closed_files_are_written_to_disk() {
    let world = World::committed(&[("a.txt", TEXT), ("b.txt", "b1\r\nb2\r\n")]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    begin(&mut client, "make it two");
    let mut edit = replace(&client, "a.txt", 1, "2\n");
    let other = replace(&client, "b.txt", 1, "two\nthree\n");
    let uri = client.uri("b.txt");
    edit["changes"][&uri] = other["changes"][&uri].clone();
    let answer = client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    assert_eq!(answer["applied"], true, "{answer}");
    assert_eq!(answer["checkpoints"].as_array().expect("both").len(), 2);
    assert_eq!(world.read("b.txt"), "b1\r\ntwo\r\nthree\r\n");
    assert_eq!(client.text("a.txt"), TEXT.replace("two", "2"));
    assert_eq!(
        world.since_start(),
        [
            "t1: make it two",
            "t1 Edit: modify b.txt",
            "t1 Edit: modify a.txt"
        ]
    );
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(world.read("b.txt"), "b1\r\nb2\r\n");
    assert_eq!(client.text("a.txt"), TEXT);
    client.leave();
    world.ok(["verify"]);
}

/// Files that an agent creates, renames and deletes are its own changes, like their contents.
#[test]
fn file_operations_are_attributed_to_the_agent() {
    let world = World::committed(&[("a.txt", TEXT), ("b.txt", "other\n"), ("dir/c.txt", "c\n")]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    begin(&mut client, "move things");
    let uri = |path: &str| client.uri(path);
    let at = json!({ "line": 0, "character": 0 });
    let insert = |path: &str, text: &str| {
        let document = json!({ "uri": uri(path), "version": null });
        json!({ "textDocument": document, "edits": [{ "range": { "start": at, "end": at }, "newText": text }] })
    };
    let edit = json!({ "documentChanges": [
        { "kind": "create", "uri": uri("new.txt") },
        insert("new.txt", "new\n"),
        { "kind": "rename", "oldUri": uri("b.txt"), "newUri": uri("moved/b.txt") },
        { "kind": "delete", "uri": uri("dir"), "options": { "recursive": true } },
        { "kind": "rename", "oldUri": uri("a.txt"), "newUri": uri("a2.txt") },
    ]});
    let answer = client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Move", "edit": edit }),
    );
    assert_eq!(answer["applied"], true, "{answer}");
    assert_eq!(world.read("new.txt"), "new\n");
    assert_eq!(world.read("moved/b.txt"), "other\n");
    assert!(!world.exists("dir/c.txt") && !world.exists("b.txt"));
    assert_eq!(client.text("a2.txt"), TEXT);
    let step = &world.json(["show", answer["checkpoints"][0].as_str().expect("one")]);
    assert_eq!(step["turn"], "t1", "{step}");
    assert_eq!(
        step["changes"].as_array().expect("changes").len(),
        4,
        "{step}"
    );
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(world.read("b.txt"), "other\n");
    assert_eq!(world.read("dir/c.txt"), "c\n");
    assert!(!world.exists("new.txt") && !world.exists("a2.txt"));
    client.leave();
    world.ok(["verify"]);
}

/// An edit that cannot be applied as a whole is not begun.
#[test]
fn an_edit_that_cannot_be_done_changes_nothing() {
    let world = World::committed(&[("a.txt", TEXT), ("b.txt", "other\n")]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    begin(&mut client, "go");
    let rename =
        json!({ "kind": "rename", "oldUri": client.uri("a.txt"), "newUri": client.uri("c.txt") });
    let taken = json!({ "kind": "create", "uri": client.uri("b.txt") });
    let outside = json!({ "kind": "create", "uri": "file:///backstitch-nowhere.txt" });
    for (wrong, why) in [(taken, "exists already"), (outside, "in no open workspace")] {
        let edit = json!({ "documentChanges": [rename, wrong] });
        let error = client.fails("backstitch/applyEdit", json!({ "edit": edit }));
        let message = error["message"].as_str().expect("words");
        assert!(message.contains(why), "{message}");
    }
    assert!(world.exists("a.txt") && !world.exists("c.txt"));
    assert_eq!(world.since_start(), ["t1: go"]);
    client.leave();
}

/// Text typed during an edit is the user's, and the edit is still the agent's.
#[test]
fn text_typed_during_an_edit_is_the_users() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let mut client = Client::with(&world, Editor::Eglot, &client_options());
    client.edits = Edits::Taken;
    client.open("a.txt");
    begin(&mut client, "make it two");
    let edit = replace(&client, "a.txt", 1, "2\n");
    client.types_meanwhile = Some(("a.txt".into(), "seven".into(), "typed".into()));
    let answer = client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    assert_eq!(answer["applied"], true, "{answer}");
    let mine = TEXT.replace("two", "2").replace("seven", "typed");
    assert_eq!(client.text("a.txt"), mine);
    client.save("a.txt");
    world.ok(["checkpoint"]);
    let blame = world.json(["blame", "a.txt"]);
    let turns: Vec<&Value> = blame["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| &run["turn"])
        .collect();
    assert_eq!(
        turns.iter().filter(|turn| **turn == "t1").count(),
        1,
        "{blame}"
    );

    // on the same line as the edit: it is recorded as requested, and the typed text is the user's
    let at = json!({ "line": 3, "character": 0 });
    let insert = json!({ "range": { "start": at, "end": at }, "newText": "and " });
    let edit = json!({ "changes": { client.uri("a.txt"): [insert] } });
    client.types_meanwhile = Some(("a.txt".into(), "four".into(), "fourth".into()));
    let answer = client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    assert_eq!(answer["applied"], true, "{answer}");
    assert_eq!(answer["checkpoints"].as_array().expect("one").len(), 1);
    assert_eq!(client.text("a.txt"), mine.replace("four", "and fourth"));
    let step = answer["checkpoints"][0].as_str().expect("one");
    assert_eq!(
        world.ok(["cat", step, "a.txt"]).stdout,
        mine.replace("four", "and four")
    );
    client.leave();
    world.ok(["verify"]);
}

/// A document whose text in the editor is unknown to the server is not edited for an agent: the authors of its lines
/// would be unknown.
#[test]
fn an_out_of_sync_document_is_not_edited() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    begin(&mut client, "make it two");
    let document = json!({ "uri": client.uri("a.txt"), "version": 2 });
    let change = json!({ "range": { "start": { "line": -1 } }, "text": "!" });
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": document, "contentChanges": [change] }),
    );
    let edit = replace(&client, "a.txt", 1, "2\n");
    let error = client.fails("backstitch/applyEdit", json!({ "edit": edit }));
    assert_eq!(error["data"]["kind"], "refused", "{error}");
    assert_eq!(client.edited, 0);
    client.reload("a.txt");
    let answer = client.ok("backstitch/applyEdit", json!({ "edit": edit }));
    assert_eq!(answer["applied"], true, "{answer}");
    client.leave();
}

fn rename(client: &Client, old: &str, new: &str) -> Value {
    let options = json!({ "overwrite": true });
    json!({ "kind": "rename", "oldUri": client.uri(old), "newUri": client.uri(new), "options": options })
}

fn delete(client: &Client, path: &str) -> Value {
    let options = json!({ "recursive": true });
    json!({ "kind": "delete", "uri": client.uri(path), "options": options })
}

fn operations(client: &mut Client, all: &[Value]) -> Value {
    client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Move", "edit": { "documentChanges": all } }),
    )
}

/// Files that an edit deletes or overwrites are recorded first, whatever the ignore rules say, also next to a rename.
#[test]
fn files_that_an_edit_destroys_can_be_restored() {
    let world = World::committed(&[
        (".gitignore", "*.log\n"),
        ("a.txt", TEXT),
        ("dir/x.txt", "tracked\n"),
        ("old.txt", "old\n"),
    ]);
    world.write("keep.log", "precious\n");
    world.write("dir/y.log", "hidden\n");
    world.write("dir/deep/z.log", "deep\n");
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    begin(&mut client, "tidy up");
    let moves = [
        rename(&client, "a.txt", "keep.log"),
        delete(&client, "dir"),
        rename(&client, "old.txt", "new.txt"),
    ];
    let answer = operations(&mut client, &moves);
    assert_eq!(answer["applied"], true, "{answer}");
    assert_eq!(world.read("keep.log"), TEXT);
    assert!(!world.exists("dir") && !world.exists("old.txt"));
    let step = answer["checkpoints"][0].as_str().expect("one");
    let step = world.json(["show", step]);
    let files = step["changes"].as_array().expect("changes").len();
    assert_eq!(files, 6, "a rename is one: {step}");
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(world.read("keep.log"), "precious\n");
    assert_eq!(world.read("a.txt"), TEXT);
    assert_eq!(world.read("dir/x.txt"), "tracked\n");
    assert_eq!(world.read("dir/y.log"), "hidden\n");
    assert_eq!(world.read("dir/deep/z.log"), "deep\n");
    assert_eq!(world.read("old.txt"), "old\n");
    client.leave();
    world.ok(["verify"]);
}

/// An edit that would destroy content that cannot be recorded does nothing.
#[test]
fn an_edit_that_destroys_unrecordable_content_is_refused() {
    let world = World::committed(&[("a.txt", TEXT), ("dir/x.txt", "x\n")]);
    world.write("dir/large.bin", vec![0; 11 << 20]);
    world.write("nest/n.txt", "n\n");
    world.git_ok(["init", "-q", "nest"]);
    world.write("over/o.txt", "o\n");
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    begin(&mut client, "tidy up");
    for (wrong, named) in [
        (delete(&client, "dir"), "dir/large.bin"),
        (
            rename(&client, "dir/x.txt", "dir/large.bin"),
            "dir/large.bin",
        ),
        (delete(&client, "nest"), "nest"),
        (delete(&client, "nest/.git"), "nest/.git"),
        (rename(&client, "nest", "elsewhere"), "nest"),
        (rename(&client, "dir/x.txt", ".git/x.txt"), ".git/x.txt"),
        (rename(&client, "dir/x.txt", "over"), "over"),
    ] {
        let first = rename(&client, "a.txt", "b.txt");
        let edit = json!({ "documentChanges": [first, wrong] });
        let error = client.fails("backstitch/applyEdit", json!({ "edit": edit }));
        let message = error["message"].as_str().expect("words");
        assert!(message.contains(named), "{named}: {message}");
        assert!(message.contains("nothing was changed"), "{message}");
        assert!(error["data"]["hint"].is_string(), "{error}");
        assert!(
            world.exists("a.txt") && world.exists("dir/x.txt"),
            "{message}"
        );
    }
    assert!(world.exists("nest/.git/HEAD") && world.exists("dir/large.bin"));
    assert_eq!(world.since_start(), ["t1: tidy up"]);
    client.leave();
}

/// A renamed directory keeps its unrecorded files, and is not read for that.
#[test]
fn renaming_a_directory_keeps_unrecorded_files() {
    let world = World::committed(&[(".gitignore", "*.log\n"), ("dir/x.txt", "x\n")]);
    world.write("dir/y.log", "hidden\n");
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    begin(&mut client, "rename");
    let moved = [rename(&client, "dir", "other")];
    let answer = operations(&mut client, &moved);
    assert_eq!(answer["applied"], true, "{answer}");
    assert_eq!(world.read("other/y.log"), "hidden\n");
    assert_eq!(
        world.since_start(),
        ["t1: rename", "t1 Move: rename dir/x.txt -> other/x.txt"]
    );
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(world.read("dir/x.txt"), "x\n");
    assert_eq!(world.read("other/y.log"), "hidden\n");
    client.leave();
    world.ok(["verify"]);
}

/// With several agents at work, an edit is attributed to the session that it names, or to none.
#[test]
fn edits_are_attributed_to_the_session_they_name() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    for (agent, session) in [("first", "sa"), ("second", "sb")] {
        client.ok(
            "backstitch/turnBegin",
            json!({ "agent": agent, "session": session, "prompt": session }),
        );
    }
    let edit = replace(&client, "a.txt", 1, "2\n");
    let error = client.fails("backstitch/applyEdit", json!({ "edit": edit }));
    let message = error["message"].as_str().expect("words");
    assert!(message.contains("first `sa`, second `sb`"), "{message}");
    let error = client.fails(
        "backstitch/applyEdit",
        json!({ "session": "sc", "edit": edit }),
    );
    let message = error["message"].as_str().expect("words");
    assert!(message.contains("`sc`"), "{message}");
    assert_eq!(client.text("a.txt"), TEXT);
    let by = |client: &mut Client, who: Value, line, text| {
        let mut asked = json!({ "label": "Edit", "edit": replace(client, "a.txt", line, text) });
        if let Some(session) = who.as_str() {
            asked["session"] = session.into();
        }
        client.ok("backstitch/applyEdit", asked);
    };
    by(&mut client, json!("sa"), 1, "2\n");
    by(&mut client, json!("sb"), 2, "3\n");
    client.fails("backstitch/turnEnd", json!({ "session": "sc" }));
    client.ok("backstitch/turnEnd", json!({ "session": "sb" }));
    by(&mut client, Value::Null, 3, "4\n");
    assert_eq!(
        world.since_start(),
        [
            "t1: sa",
            "t2: sb",
            "t1 Edit: modify a.txt",
            "t2 Edit: modify a.txt",
            "t1 Edit: modify a.txt",
        ]
    );
    client.ok("backstitch/turnEnd", json!({}));
    client.fails("backstitch/turnEnd", json!({}));
    client.leave();
}

/// Another agent writes the file on disk before the edit is saved: after the save each line still has its author.
#[test]
fn saving_after_another_writer_keeps_each_lines_author() {
    for (writes, again) in [
        ("a shell", false),
        ("an edit tool", false),
        ("a shell", true),
    ] {
        let world = World::committed(&[("a.txt", TEXT)]);
        let mut client = Client::with(&world, Editor::Vscode, &client_options());
        client.open("a.txt");
        begin(&mut client, "make it two");
        let edit = replace(&client, "a.txt", 1, "2\n");
        client.ok(
            "backstitch/applyEdit",
            json!({ "label": "Edit", "edit": edit }),
        );
        let mut other = world.agent();
        other.prompt("more");
        if writes == "a shell" {
            other.bash("echo eight >> a.txt");
        } else {
            other.edit("a.txt", "seven\n", "seven\neight\n");
        }
        // a second edit of the first agent, on the unsaved text
        if again {
            let edit = replace(&client, "a.txt", 3, "4\n");
            client.ok(
                "backstitch/applyEdit",
                json!({ "label": "Edit", "edit": edit }),
            );
        }
        // both, and a line of the user
        client.type_over("a.txt", "seven\n", "seven\neight\nmine\n");
        client.save("a.txt");
        client.ok("backstitch/diff", json!({ "from": "@" }));
        let blame = world.json(["blame", "a.txt"]);
        let turns = |run: &Value| {
            let count = run["count"].as_u64().expect("lines");
            let turn = run["turn"].as_str().unwrap_or("-").to_owned();
            std::iter::repeat_n(turn, usize::try_from(count).expect("few"))
        };
        let runs = blame["runs"].as_array().expect("runs");
        let lines: Vec<String> = runs.iter().flat_map(turns).collect();
        assert_eq!(
            lines,
            if again {
                // that edit was based on a text without the shell's line, which the user has typed
                ["-", "t1", "-", "t1", "-", "-", "-", "-", "-"]
            } else {
                ["-", "t1", "-", "-", "-", "-", "-", "t2", "-"]
            },
            "{writes}: {blame}"
        );
        client.leave();
        world.ok(["verify"]);
    }
}

/// An edit of an agent inside the editor is held like a hook's call: nothing is changed until the decision, a denial fails it with the
/// reason, and a cancelled request is denied.
#[test]
fn an_edit_through_the_editor_is_held() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    begin(&mut client, "make it two");
    world.ok(["breakpoint", "add", "line", "a.txt:2"]);
    let held = |client: &Client<'_>| {
        let told = client.notified.iter();
        told.filter(|(method, _)| method == "backstitch/didPause")
            .count()
    };
    // another line is not held
    let edit = replace(&client, "a.txt", 5, "6\n");
    client.ok(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    let edit = replace(&client, "a.txt", 1, "2\n");
    let asked = json!({ "label": "Edit", "edit": edit });
    let id = client.begin("backstitch/applyEdit", asked.clone());
    client.until(|client| held(client) == 1);
    let details = client.ok("backstitch/pause", json!({ "pause": "p1" }));
    assert_eq!(details["predicted"][0]["path"], "a.txt", "{details:#}");
    assert_eq!(details["pause"]["agent"], "helper");
    client.command(
        "backstitch.deny",
        json!({ "pause": "p1", "message": "not here" }),
    );
    let refused = client.response(id);
    assert_eq!(refused["error"]["message"], "not here", "{refused}");

    let id = client.begin("backstitch/applyEdit", asked);
    client.until(|client| held(client) == 2);
    client.command("backstitch.resume", json!({ "pause": "p2" }));
    let done = client.response(id);
    assert_eq!(done["result"]["applied"], true, "{done}");
    let blame = client.ok("backstitch/blame", json!({ "uri": client.uri("a.txt") }));
    assert!(
        blame["runs"]
            .as_array()
            .is_some_and(|runs| !runs.is_empty())
    );
    let edit = replace(&client, "a.txt", 1, "zwei\n");
    let id = client.begin(
        "backstitch/applyEdit",
        json!({ "label": "Edit", "edit": edit }),
    );
    client.until(|client| held(client) == 3);
    let before = client.text("a.txt").to_owned();
    client.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    assert_eq!(client.text("a.txt"), before);
    let all = world.json(["pauses", "--all"]);
    let last = all["pauses"].as_array().and_then(|all| all.last());
    let last = last.expect("a pause");
    assert_eq!(
        (&last["outcome"], &last["decidedBy"]),
        (&json!("denied"), &json!("cancelled"))
    );
    client.leave();
}
