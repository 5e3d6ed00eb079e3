//! Documents that differ from their file in form: line ends, a final newline, a symbolic link. Records have the form
//! of the file, and restored documents that of the document.

use serde_json::json;

use super::client::{Client, Editor};
use super::unsaved_text::until_unsaved;
use crate::support::World;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// Emacs shows plain newlines where a file has CRLF. That is not unsaved text, typed text is recorded with the file's
/// line ends, and a rewind uses the document's.
#[test]
fn a_crlf_file_shown_with_newlines_is_not_unsaved_text() {
    let world = World::committed(&[("a.txt", &crlf(TEXT))]);
    world.ok(["checkpoint"]);
    let mut client = Client::start(&world, Editor::Eglot);
    client.open_with("a.txt", TEXT);
    client.type_over("a.txt", "five", "mine");
    client.idle();
    until_unsaved(&world, &["a.txt"]);
    world.ok(["checkpoint"]);
    let kept = world.ok(["cat", "@", "a.txt", "--unsaved"]);
    assert_eq!(kept.stdout, crlf(&TEXT.replace("five", "mine")));
    client.type_over("a.txt", "mine", "five");
    client.idle();
    until_unsaved(&world, &[]);

    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two", "2");
    agent.stop();
    // the buffer is reloaded
    client.type_over("a.txt", "two", "2");
    client.idle();
    let lines: Vec<u64> = client.lenses("a.txt").iter().map(|lens| lens.0).collect();
    assert_eq!(lines, [0, 1, 1, 1]);
    until_unsaved(&world, &[]);
    let done = client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(done["conflicts"], json!([]), "{done}");
    assert_eq!(client.text("a.txt"), TEXT);
    client.save_as("a.txt", &crlf(TEXT));
    let undone = client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(undone["conflicts"], json!([]), "{undone}");
    assert_eq!(client.text("a.txt"), TEXT.replace("two", "2"));
    client.save_as("a.txt", &crlf(&TEXT.replace("two", "2")));
    until_unsaved(&world, &[]);
    let by = world.json(["blame", "a.txt"]);
    assert_eq!(by["runs"][1]["turn"], "t1", "{by}");
    let alarmed = |said: &&String| said.contains("unsaved") || said.contains("did not apply");
    assert_eq!(client.said.iter().find(alarmed), None);
    client.leave();
    world.ok(["verify"]);
}

/// A command-line rewind of such a document with unsaved text edits the document with its own line ends.
#[test]
fn a_command_line_rewind_edits_a_crlf_document_by_its_own_lines() {
    let world = World::committed(&[("a.txt", &crlf(TEXT))]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two", "2");
    agent.stop();
    let mut client = Client::start(&world, Editor::Eglot);
    client.open_with("a.txt", &TEXT.replace("two", "2"));
    client.type_over("a.txt", "five", "mine");
    client.idle();
    until_unsaved(&world, &["a.txt"]);
    std::thread::scope(|scope| {
        let rewind = scope.spawn(|| world.json(["rewind", "t1"]));
        client.until(|client| client.edited > 0);
        loop {
            client.ok("backstitch/sessions", json!({}));
            if rewind.is_finished() {
                break rewind.join().expect("an answer");
            }
        }
    });
    assert_eq!(client.text("a.txt"), TEXT.replace("five", "mine"));
    client.save_as("a.txt", &crlf(&TEXT.replace("five", "mine")));
    until_unsaved(&world, &[]);
    client.leave();
}

/// Neovim shows a file without a final newline as if it had one.
#[test]
fn a_final_newline_that_only_the_editor_shows_is_no_edit() {
    let open = TEXT.trim_end();
    let world = World::committed(&[("a.txt", open)]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two", "2");
    agent.stop();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open_with("a.txt", &TEXT.replace("two", "2"));
    client.type_over("a.txt", "five", "mine");
    until_unsaved(&world, &["a.txt"]);
    world.ok(["checkpoint"]);
    let kept = world.ok(["cat", "@", "a.txt", "--unsaved"]);
    let mine = TEXT.replace("two", "2").replace("five", "mine");
    assert_eq!(kept.stdout, mine.trim_end());
    client.type_over("a.txt", "mine", "five");
    until_unsaved(&world, &[]);
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(client.text("a.txt"), TEXT);
    client.save_as("a.txt", open);
    until_unsaved(&world, &[]);
    world.ok(["checkpoint"]);
    assert_eq!(world.json(["status"])["pending_saves"], json!([]));
    client.leave();
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

fn latin(text: &str) -> Vec<u8> {
    let byte = |c: char| u8::try_from(c).expect("Latin-1");
    text.chars().map(byte).collect()
}

/// In another encoding: typed text is recorded in the encoding of the file, and a rewind does not change the file
/// below it.
#[test]
fn unsaved_text_in_another_encoding_blocks_a_rewind_of_its_file() {
    for encoded in [utf16, latin] {
        let world = World::committed(&[("b.txt", "other\n")]);
        world.write("a.txt", encoded("eins é\nzwei\n"));
        let mut agent = world.agent();
        agent.prompt("make it two");
        agent.edit("b.txt", "other", "another");
        let octal = encoded("eins é\n2\n")
            .into_iter()
            .map(|b| format!("\\{b:03o}"));
        agent.bash(&format!("printf '{}' > a.txt", octal.collect::<String>()));
        agent.stop();
        let mut client = Client::start(&world, Editor::Vscode);
        client.open_with("a.txt", "eins é\n2\n");
        client.type_over("a.txt", "2", "mine");
        until_unsaved(&world, &["a.txt"]);
        let plan = client.ok("backstitch/plan", json!({ "rev": "t1" }));
        let gaps = plan["gaps"].as_array().expect("gaps").iter();
        let found: Vec<_> = gaps.filter(|gap| gap["path"] == "a.txt").collect();
        assert_eq!(found.len(), 1, "{plan}");
        assert_eq!(found[0]["kind"], "unsaved", "{plan}");
        let dry = world.json(["rewind", "t1", "--dry-run"]);
        assert_eq!(dry["gaps"], plan["gaps"], "{dry}");
        client.command(
            "backstitch.rewind",
            json!({ "rev": "t1", "confirm": false }),
        );
        assert_eq!(world.bytes("a.txt"), encoded("eins é\n2\n"));
        assert_eq!(world.read("b.txt"), "other\n");
        assert_eq!(client.text("a.txt"), "eins é\nmine\n");
        client.type_over("a.txt", "mine", "2");
        until_unsaved(&world, &[]);
        client.leave();
        world.ok(["verify"]);
    }
}

/// A linked document is the file that it points to: its lenses, unsaved text and rewinds work.
#[test]
fn a_linked_document_is_the_file_it_points_to() {
    let world = World::committed(&[("real.txt", TEXT)]);
    world.symlink("real.txt", "link.txt");
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("real.txt", "two", "2");
    agent.stop();
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("link.txt");
    assert_eq!(client.lenses("link.txt").len(), 4);
    client.type_over("link.txt", "five", "mine");
    until_unsaved(&world, &["real.txt"]);
    let uri = client.uri("link.txt");
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "uri": uri, "paths": [uri], "confirm": false }),
    );
    assert_eq!(client.text("link.txt"), TEXT.replace("five", "mine"));
    client.leave();
}
