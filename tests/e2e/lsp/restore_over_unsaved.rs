//! Restores over unsaved text: the agent's changes are undone and typed text stays, in every order of events.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Editor, Edits};
use super::unsaved_text::until_unsaved;
use crate::support::World;
use crate::support::scenarios::{SEVEN_LINES, one_file};

fn client_options() -> Value {
    json!({ "reloadsFromDisk": true, "notifications": true })
}

fn quiet(rev: &str) -> Value {
    json!({ "rev": rev, "confirm": false })
}

/// Author of each line of the file, as saved.
fn authors(world: &World) -> Vec<String> {
    let blame = world.json(["blame", "a.txt"]);
    let lines = blame["lines"].as_array().expect("lines").iter();
    lines
        .map(|line| line["by"].as_str().expect("words").to_owned())
        .collect()
}

/// Two turns below typed text are reverted one after the other, without a save in between: each disappears from the
/// document, too, and undo brings each back.
#[test]
fn two_reverts_without_a_save_both_change_the_document() {
    for (editor, own) in [
        (Editor::Nvim, json!({})),
        (Editor::Vscode, client_options()),
    ] {
        let world = one_file(SEVEN_LINES);
        let mut agent = world.agent();
        let mut client = Client::with(&world, editor, &own);
        client.open("a.txt");
        client.type_over("a.txt", "one\n", "TYPED\none\n");
        agent.prompt("first");
        agent.edit("a.txt", "three\n", "three\nA1\n");
        agent.prompt("second");
        agent.edit("a.txt", "five\n", "five\nA2\n");
        agent.stop();
        client.command("backstitch.rewind", quiet("t2"));
        let first = client.text("a.txt").to_owned();
        assert!(
            first.contains("TYPED\n") && !first.contains("A2"),
            "{first}"
        );
        client.command("backstitch.rewind", quiet("t1"));
        let typed = SEVEN_LINES.replace("one\n", "TYPED\none\n");
        assert_eq!(client.text("a.txt"), typed, "{editor:?}");
        client.command("backstitch.undo", json!({ "confirm": false }));
        assert_eq!(client.text("a.txt"), first, "{editor:?}");
        client.command("backstitch.redo", json!({ "confirm": false }));
        assert_eq!(client.text("a.txt"), typed, "{editor:?}");
        client.save("a.txt");
        client.leave();
        assert_eq!(world.read("a.txt"), typed);
        assert_eq!(authors(&world)[0], "user");
        assert!(authors(&world)[1..].iter().all(|by| by == "before"));
        world.ok(["verify"]);
    }
}

/// A key right after the editor has reloaded the file: the text before it is the agent's.
#[test]
fn text_typed_right_after_a_reload_is_the_users() {
    for own in [json!({}), client_options()] {
        let world = one_file(SEVEN_LINES);
        let mut agent = world.agent();
        let mut client = Client::with(&world, Editor::Vscode, &own);
        client.open("a.txt");
        client.idle();
        agent.prompt("first");
        agent.edit("a.txt", "three\n", "three\nA1\n");
        client.type_over("a.txt", "three\n", "three\nA1\n");
        client.type_over("a.txt", "seven\n", "seven\nTYPED\n");
        client.command("backstitch.rewind", quiet("t1"));
        let typed = format!("{SEVEN_LINES}TYPED\n");
        assert_eq!(client.text("a.txt"), typed);
        client.save("a.txt");
        client.leave();
        assert_eq!(authors(&world)[7], "user");
        assert!(authors(&world)[..7].iter().all(|by| by == "before"));
    }
}

/// The agent changed a file and its mode: both are restored, and typed text stays.
#[test]
fn a_rewind_restores_mode_and_content_and_keeps_typed_text() {
    let world = one_file(SEVEN_LINES);
    let mut agent = world.agent();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    agent.prompt("make it run");
    agent.bash("sed -i 's/^two$/2/' a.txt && chmod +x a.txt");
    agent.stop();
    client.type_over("a.txt", "two\n", "2\n");
    client.type_over("a.txt", "seven\n", "seven\nTYPED\n");
    let done = client.command("backstitch.rewind", quiet("t1"));
    assert_eq!(done["gaps"], json!([]), "{done}");
    let typed = format!("{SEVEN_LINES}TYPED\n");
    assert_eq!(client.text("a.txt"), typed);
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    assert_eq!(world.mode("a.txt") & 0o111, 0);
    client.save("a.txt");
    client.leave();
    assert_eq!(world.read("a.txt"), typed);
    assert_eq!(authors(&world)[1], "before");
    world.ok(["verify"]);
}

/// Text that an exact rewind removes from a document is named before. `undo` restores it, with text typed since.
#[test]
fn undo_of_an_exact_rewind_brings_back_unsaved_text() {
    let world = one_file(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    client.type_over("a.txt", "seven\n", "seven\nTYPED\n");
    let typed = client.text("a.txt").to_owned();
    client.will_choose("Rewind");
    client.command("backstitch.rewind", json!({ "rev": "t1", "exact": true }));
    assert_eq!(client.text("a.txt"), SEVEN_LINES);
    let asked = client.asked[0].clone();
    assert!(asked.contains("unsaved text is replaced"), "{asked}");
    client.type_over("a.txt", "one\n", "ONE\n");
    client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(client.text("a.txt"), typed.replace("one\n", "ONE\n"));
    client.leave();
    world.ok(["verify"]);
}

/// A text that the user saves while an agent's command runs is the user's, and no rewind removes it. Text that the
/// command had written before, and the editor had reloaded, is the agent's.
#[test]
fn saves_during_an_agents_command_are_the_users() {
    let world = one_file(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    let mut client = Client::with(&world, Editor::Vscode, &client_options());
    client.open("a.txt");
    agent.prompt("run the tests");
    let call = agent.pre_bash("true");
    client.type_over("a.txt", "seven\n", "seven\nmine\n");
    client.save("a.txt");
    until_user(&world, "mine");
    world.write("a.txt", world.read("a.txt").replace("two\n", "2\n"));
    client.reload("a.txt");
    // by then the server knows the file's content
    client.ok("backstitch/sessions", json!({}));
    client.type_over("a.txt", "one\n", "mine, too\none\n");
    client.save("a.txt");
    until_user(&world, "mine, too");
    let output = agent.execute(&call);
    agent.post_bash(&call, &output);
    agent.stop();
    let authors = authors(&world);
    assert_eq!(
        authors,
        [
            "user", "before", "agent", "before", "before", "before", "before", "before", "user"
        ]
    );
    let done = client.command("backstitch.rewind", quiet("t1"));
    assert_eq!(done["gaps"], json!([]), "{done}");
    client.reload("a.txt");
    let expected = format!("mine, too\n{SEVEN_LINES}mine\n");
    assert_eq!(client.text("a.txt"), expected);
    client.leave();
    assert_eq!(world.read("a.txt"), expected);
    world.ok(["verify"]);
}

/// Waits until a line is recorded as the user's.
fn until_user(world: &World, line: &str) {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let blame = world.json(["blame", "a.txt"]);
        let lines = blame["lines"].as_array().expect("lines").iter();
        let mut lines = lines.filter(|l| l["text"] == line);
        if lines.any(|l| l["by"] == "user" && l["checkpoint"].is_string()) {
            return;
        }
        assert!(Instant::now() < deadline, "{blame}");
    }
}

/// An editor dies before its rewind was saved: the file that is written later is the rewind, with the typed text.
#[test]
fn a_rewind_unsaved_by_a_dead_editor_is_written_with_typed_text() {
    for taken in [true, false] {
        let world = World::committed(&[("a.txt", SEVEN_LINES), ("b.txt", SEVEN_LINES)]);
        let mut agent = world.agent();
        agent.prompt("make it two");
        agent.edit("a.txt", "two\n", "2\n");
        agent.stop();
        let mut client = Client::start(&world, Editor::Nvim);
        client.open("a.txt");
        client.type_over("a.txt", "seven\n", "seven\nTYPED\n");
        until_unsaved(&world, &["a.txt"]);
        if !taken {
            client.edits = Edits::Refused;
        }
        client.command("backstitch.rewind", quiet("t1"));
        client.kill();
        let mut next = Client::start(&world, Editor::Helix);
        next.open("b.txt");
        next.will_choose("Write it");
        next.until(|client| !client.asked.is_empty());
        let deadline = Instant::now() + Duration::from_mins(1);
        while world.read("a.txt").contains("2\n") {
            assert!(Instant::now() < deadline, "not written");
        }
        assert_eq!(
            world.read("a.txt"),
            format!("{SEVEN_LINES}TYPED\n"),
            "{taken}"
        );
        next.ok("backstitch/sessions", json!({}));
        next.leave();
        let authors = authors(&world);
        assert_eq!(
            (authors[1].as_str(), authors[7].as_str()),
            ("before", "user")
        );
        world.ok(["verify"]);
    }
}

/// Two editors of the same name have unsaved text of one file: a checkpoint has both texts.
#[test]
fn unsaved_text_of_two_editors_of_the_same_name_is_kept() {
    let world = one_file(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut clients = ["first", "second"].map(|typed| {
        let mut client = Client::start(&world, Editor::Nvim);
        client.open("a.txt");
        client.type_over("a.txt", "seven\n", typed);
        client
    });
    until_unsaved(&world, &["a.txt", "a.txt"]);
    let made = world.json(["checkpoint"]);
    let kept = made["unsaved"].as_array().expect("texts").iter();
    let kept: Vec<&Value> = kept.map(|text| &text["path"]).collect();
    assert_eq!(kept, ["a.txt", "a.txt"]);
    for client in &mut clients {
        client.kill();
    }
    // the next editor is offered both, next to text of its own
    let mut next = Client::start(&world, Editor::Nvim);
    next.open("a.txt");
    next.type_over("a.txt", "one\n", "third\n");
    next.will_choose("Show it");
    next.will_choose("Show it");
    next.until(|client| client.asked.len() == 2);
    until_left(&world, 0);
    until_unsaved(&world, &["a.txt"]);
    let id = made["id"].as_str().expect("an id");
    let cat = |which| world.ok(["cat", id, "a.txt", which]).stdout;
    let mut texts = ["--unsaved=1", "--unsaved=2"].map(cat);
    texts.sort();
    let typed = ["first", "second"].map(|typed| SEVEN_LINES.replace("seven\n", typed));
    assert_eq!(texts, typed);
    let none = world.run(["cat", id, "a.txt", "--unsaved=3"]);
    assert!(none.stderr.contains("2 editors had"), "{none}");
    next.leave();
    world.ok(["verify"]);
}

fn until_left(world: &World, count: usize) {
    let deadline = Instant::now() + Duration::from_mins(1);
    let left = || {
        world.json(["status"])["unsaved_left"]
            .as_array()
            .map(Vec::len)
    };
    while left() != Some(count) {
        assert!(Instant::now() < deadline, "{:?}", left());
    }
}

/// One file is open under two names in one editor: the clean document does not remove the other's text from the store.
#[test]
fn a_clean_alias_does_not_drop_unsaved_text() {
    let world = one_file(SEVEN_LINES);
    world.ok(["checkpoint"]);
    world.symlink("a.txt", "l.txt");
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    client.type_over("a.txt", "seven\n", "mine\n");
    until_unsaved(&world, &["a.txt"]);
    client.open("l.txt");
    client.close("l.txt");
    // a checkpoint records all open documents
    client.command("backstitch.checkpoint", json!({}));
    until_unsaved(&world, &["a.txt"]);
    client.kill();
    until_left(&world, 1);
}

/// A manual checkpoint or a tag includes the text typed until that moment.
#[test]
fn a_checkpoint_includes_the_last_keystroke() {
    let world = one_file(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    client.type_over("a.txt", "seven\n", "mine\n");
    let made = client.command("backstitch.checkpoint", json!({}));
    assert_eq!(made["unsaved"][0]["path"], "a.txt", "{made}");
    let id = made["id"].as_str().expect("an id").to_owned();
    let kept = world.ok(["cat", &id, "a.txt", "--unsaved"]).stdout;
    assert_eq!(kept, SEVEN_LINES.replace("seven", "mine"));
    client.leave();
}

/// A history cleared while an editor runs begins again with the editor's unsaved text.
#[test]
fn a_cleared_history_begins_again_with_unsaved_text() {
    let world = one_file(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    client.type_over("a.txt", "seven\n", "mine\n");
    until_unsaved(&world, &["a.txt"]);
    world.ok(["clear", "--yes"]);
    let mut agent = world.agent();
    agent.prompt("go");
    until_unsaved(&world, &["a.txt"]);
    client.leave();
}

/// A command-line rewind of files that an editor shows, clean or typed into a moment ago: the documents follow.
#[test]
fn documents_follow_a_command_line_rewind() {
    for editor in [Editor::Nvim, Editor::Helix, Editor::Eglot] {
        let world = World::committed(&[("a.txt", SEVEN_LINES), ("b.txt", SEVEN_LINES)]);
        let mut agent = world.agent();
        agent.prompt("make it two");
        agent.edit("a.txt", "two\n", "2\n");
        agent.edit("b.txt", "two\n", "2\n");
        agent.stop();
        let mut client = Client::with(&world, editor, &json!({ "notifications": true }));
        client.open("a.txt");
        client.open("b.txt");
        client.idle();
        until_listening(&world, &mut client);
        let typed = SEVEN_LINES.replace("seven\n", "seven\nTYPED\n");
        // a moment ago: the store may not have it yet
        client.type_over("b.txt", "seven\n", "seven\nTYPED\n");
        client.idle();
        std::thread::scope(|scope| {
            let rewind = scope.spawn(|| world.run(["rewind", "t1"]));
            client.until(|client| {
                client.text("a.txt") == SEVEN_LINES && client.text("b.txt") == typed
            });
            while !rewind.is_finished() {
                client.ok("backstitch/sessions", json!({}));
            }
            rewind.join().expect("an answer").expect_code(0);
        });
        client.save("a.txt");
        client.save("b.txt");
        assert_eq!(world.read("a.txt"), SEVEN_LINES);
        assert_eq!(world.read("b.txt"), typed);
        // another branch, in the same way
        std::thread::scope(|scope| {
            let undo = scope.spawn(|| world.run(["undo"]));
            client.until(|client| client.text("a.txt") == SEVEN_LINES.replace("two", "2"));
            while !undo.is_finished() {
                client.ok("backstitch/sessions", json!({}));
            }
            undo.join().expect("an answer").expect_code(0);
        });
        client.leave();
        world.ok(["verify"]);
    }
}

/// A command-line rewind of files in which two editors have unsaved text: each merges its own, and an undo, too.
#[test]
fn two_editors_each_merge_their_own_unsaved_text() {
    let files = ["a.txt", "b.txt", "c.txt"];
    let world = World::committed(&files.map(|file| (file, SEVEN_LINES)));
    let mut agent = world.agent();
    agent.prompt("make it two");
    for file in files {
        agent.edit(file, "two\n", "2\n");
    }
    agent.stop();
    let own = json!({ "notifications": true });
    let mut clients = [("a.txt", Editor::Nvim), ("b.txt", Editor::Helix)].map(|(file, editor)| {
        let mut client = Client::with(&world, editor, &own);
        client.open(file);
        client.idle();
        until_listening(&world, &mut client);
        client.type_over(file, "seven\n", "seven\nTYPED\n");
        (file, client)
    });
    until_unsaved(&world, &["a.txt", "b.txt"]);
    let typed = SEVEN_LINES.replace("seven\n", "seven\nTYPED\n");
    world.ok(["rewind", "t1"]);
    for (file, client) in &mut clients {
        client.until(|client| client.text(file) == typed);
        assert_eq!(
            world.read(*file),
            SEVEN_LINES,
            "the disk has no unsaved text"
        );
    }
    assert_eq!(world.read("c.txt"), SEVEN_LINES);
    world.ok(["undo"]);
    for (file, client) in &mut clients {
        client.until(|client| client.text(file) == typed.replace("two", "2"));
        client.save(file);
    }
    for file in ["a.txt", "b.txt"] {
        assert_eq!(world.read(file), typed.replace("two", "2"));
    }
    let [(_, one), (_, two)] = clients;
    one.leave();
    two.leave();
    assert_eq!(authors(&world)[1], "agent");
    assert_eq!(authors(&world)[7], "user");
    world.ok(["verify"]);
}

/// Waits until the server notices changes by other processes.
fn until_listening(world: &World, client: &mut Client<'_>) {
    loop {
        world.ok(["checkpoint"]);
        if client
            .notified
            .iter()
            .any(|(what, _)| what == "backstitch/didCheckpoint")
        {
            break;
        }
        client.ok("backstitch/sessions", json!({}));
    }
}

/// A switch on the command line, with a clean document open.
#[test]
fn documents_follow_a_switch() {
    let world = one_file(SEVEN_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    world.ok(["branch", "create", "other", "--from", "t1"]);
    let mut client = Client::with(&world, Editor::Helix, &json!({ "notifications": true }));
    client.open("a.txt");
    until_listening(&world, &mut client);
    for (branch, text) in [
        ("other", SEVEN_LINES.to_owned()),
        ("main", SEVEN_LINES.replace("two", "2")),
    ] {
        // the editor may have to carry out the second one: its document was not saved
        std::thread::scope(|scope| {
            let switch = scope.spawn(|| world.run(["switch", branch]));
            client.until(|client| client.text("a.txt") == text);
            while !switch.is_finished() {
                client.ok("backstitch/sessions", json!({}));
            }
            switch.join().expect("an answer").expect_code(0);
        });
    }
    client.leave();
}

/// However a save is reported, typed text is the user's: with another key right after it, with a final newline that
/// the document lacks, found on disk before the report, of a new file, or over another writer's change.
#[test]
fn typed_text_is_the_users_however_the_save_is_reported() {
    let world = World::committed(&[
        ("a.txt", SEVEN_LINES),
        ("b.txt", SEVEN_LINES),
        ("c.txt", SEVEN_LINES),
        ("d.txt", SEVEN_LINES),
    ]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("d.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Nvim);
    for path in ["a.txt", "b.txt", "c.txt"] {
        client.open(path);
    }
    // the state before the agent's edit, which the editor has not reloaded
    client.open_with("d.txt", SEVEN_LINES);
    client.open_with("new.txt", "");
    client.ok("backstitch/sessions", json!({}));
    agent.prompt("second");
    let call = agent.pre_bash("true");
    client.type_over("a.txt", "one\n", "mine\none\n");
    client.save("a.txt");
    client.type_over("a.txt", "seven\n", "seven\nmine, too\n");
    client.save("a.txt");
    client.type_over("b.txt", "seven\n", "seven\nmine");
    client.save_as("b.txt", &format!("{SEVEN_LINES}mine\n"));
    client.type_over("c.txt", "one\n", "mine\none\n");
    let is_unsaved = || {
        world.json(["status"])["editors"]
            .to_string()
            .contains("c.txt")
    };
    while !is_unsaved() {}
    world.write("c.txt", client.text("c.txt"));
    world.ok(["tag", "rings", "t1"]);
    while is_unsaved() {}
    client.save("c.txt");
    client.type_over("d.txt", "seven\n", "seven\nmine\n");
    client.save("d.txt");
    client.replace("new.txt", 0..0, "mine\n");
    client.save("new.txt");
    client.ok("backstitch/sessions", json!({}));
    until(&world, "new.txt");
    let output = agent.execute(&call);
    agent.post_bash(&call, &output);
    agent.stop();
    let turn = world.json(["rewind", "t2", "--dry-run"]);
    assert_eq!(turn["actions"], json!([]), "{turn}");
    for path in ["a.txt", "b.txt", "c.txt", "d.txt", "new.txt"] {
        let blame = world.json(["blame", path]);
        let lines = blame["lines"].as_array().expect("lines").clone();
        for line in lines.iter().filter(|line| line["by"] != "before") {
            assert_eq!(line["by"], "user", "{path}: {blame}");
        }
    }
    client.leave();
    world.ok(["verify"]);
}

/// Waits until the content of this file is recorded.
fn until(world: &World, path: &str) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while world.at("@", path).is_none() {
        assert!(Instant::now() < deadline, "{path} is not recorded");
    }
}

/// An exact rewind over unsaved text in two editors is refused as a whole, and says what to do: no editor can replace the
/// other's text, and a rewind of some files would not be exact. It works once the texts are saved.
#[test]
fn an_exact_rewind_over_text_in_two_editors_is_refused_until_it_is_saved() {
    let world = World::committed(&[
        ("a.txt", SEVEN_LINES),
        ("b.txt", SEVEN_LINES),
        ("c.txt", "c\n"),
    ]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.bash("sed -i 's/^two$/2/' a.txt b.txt; echo more >> c.txt");
    agent.stop();
    let mut clients = [(Editor::Nvim, "a.txt"), (Editor::Helix, "b.txt")].map(|(editor, path)| {
        let mut client = Client::start(&world, editor);
        client.open(path);
        client.type_over(path, "seven\n", "seven\nTYPED\n");
        (client, path)
    });
    until_unsaved(&world, &["a.txt", "b.txt"]);
    let before = world.tree();
    for options in [&[][..], &["--on-conflict", "target"]] {
        let exact = [&["rewind", "t1", "--exact"][..], options].concat();
        let refused = world.run(exact).expect_code(1);
        for words in ["a.txt", "b.txt", "save or close"] {
            assert!(refused.stderr.contains(words), "{words}: {refused}");
        }
        assert!(world.tree() == before, "{refused}");
    }
    for (client, path) in &mut clients {
        assert!(client.text(path).contains("TYPED"));
        client.save(path);
    }
    until_unsaved(&world, &[]);
    world.ok(["rewind", "t1", "--exact"]);
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    assert_eq!(world.read("b.txt"), SEVEN_LINES);
    assert_eq!(world.read("c.txt"), "c\n");
    world.ok(["undo"]);
    assert!(world.read("b.txt").contains("TYPED"));
    for (client, _) in clients {
        client.leave();
    }
    world.ok(["verify"]);
}
