//! Proposed rewinds in editors: shown beside held calls, and answered there.

use serde_json::json;

use super::{PlainClient, recorded};
use crate::lsp::client::{Client, Editor};
use crate::lsp::unsaved_text::until_unsaved;

const NOW: &str = "one\nTWO\nthree\nmine\n";
const REWOUND: &str = "one\ntwo\nthree\nmine\n";

/// An editor with panels shows the proposal with the change in its file; its answer carries it out.
#[test]
fn an_editor_with_panels_accepts() {
    let world = recorded();
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut editor = Client::with(&world, Editor::Vscode, &own);
    editor.open("a.txt");
    let mut agent = PlainClient::begun(&world);
    let id = agent.send_call("propose_rewind", &json!({ "reason": "wrong word" }));
    let is_paused = |editor: &Client<'_>| {
        let mut notified = editor.notified.iter();
        notified.any(|(name, _)| name == "backstitch/didPause")
    };
    editor.until(is_paused);
    let details = editor.ok("backstitch/pause", json!({ "pause": "p1" }));
    assert_eq!(details["pause"]["tool"], "propose_rewind", "{details:#}");
    assert_eq!(details["input"]["reason"], "wrong word");
    let file = &details["predicted"][0];
    assert_eq!(
        (&file["path"], &file["letter"]),
        (&json!("a.txt"), &json!("M"))
    );
    assert_eq!(
        (&file["now"], &file["then"]),
        (&json!(NOW), &json!(REWOUND))
    );
    assert_eq!((&file["added"], &file["removed"]), (&json!(1), &json!(1)));
    // the right side of a comparison writes nothing here
    let then = json!([{ "path": "a.txt", "text": "else" }]);
    let refused = editor.fails("backstitch/predict", json!({ "pause": "p1", "then": then }));
    let message = refused["message"].as_str().expect("a message");
    assert!(message.contains("as it is, or denied"), "{message}");
    editor.command(
        "backstitch.resume",
        json!({ "pause": "p1", "fingerprint": details["fingerprint"] }),
    );
    assert_eq!(world.read("a.txt"), REWOUND);
    let answer = agent.answer_to(id);
    assert_eq!(answer["result"]["structuredContent"]["state"], "applied");
    // a stale one: the editor gets the reason
    world.ok(["undo"]);
    let id = agent.send_call("propose_rewind", &json!({}));
    editor.until(|editor| {
        let notified = editor.notified.iter();
        notified
            .filter(|(name, _)| name == "backstitch/didPause")
            .count()
            == 2
    });
    world.write("a.txt", "one\nTWO!\nthree\nmine\n");
    let params = json!({ "command": "backstitch.resume", "arguments": [{ "pause": "p2" }] });
    let refused = editor.fails("workspace/executeCommand", params);
    let message = refused["message"].as_str().expect("a message");
    assert!(message.contains("nothing was changed"), "{message}");
    assert_eq!(agent.answer_to(id)["result"]["isError"], true);
    editor.leave();
}

/// A plain editor asks, and its answer is the decision.
#[test]
fn a_plain_editor_asks() {
    let world = recorded();
    let mut editor = Client::start(&world, Editor::Helix);
    editor.open("a.txt");
    editor.will_choose("Deny");
    let mut agent = PlainClient::begun(&world);
    let id = agent.send_call("propose_rewind", &json!({ "reason": "wrong word" }));
    editor.until(|editor| editor.asked.len() == 1);
    let asked = &editor.asked[0];
    for words in [
        "plain proposes a rewind to before “shout”",
        "(+1 −1)",
        "Its reason: wrong word",
    ] {
        assert!(asked.contains(words), "no {words:?} in {asked}");
    }
    let answer = agent.answer_to(id);
    assert_eq!(
        answer["result"]["structuredContent"]["state"], "denied",
        "{answer:#}"
    );
    assert_eq!(world.read("a.txt"), NOW);
    editor.leave();
}

/// Unsaved text of the editor is merged, as with a rewind of the command line.
#[test]
fn unsaved_text_stays() {
    let world = recorded();
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut editor = Client::with(&world, Editor::Vscode, &own);
    editor.open("a.txt");
    editor.type_over("a.txt", "three", "THREE, not saved");
    editor.idle();
    // the plan that is proposed knows the text
    until_unsaved(&world, &["a.txt"]);
    let mut agent = PlainClient::begun(&world);
    let id = agent.send_call("propose_rewind", &json!({}));
    editor.until(|editor| {
        let mut notified = editor.notified.iter();
        notified.any(|(name, _)| name == "backstitch/didPause")
    });
    editor.command("backstitch.resume", json!({ "pause": "p1" }));
    let answer = agent.answer_to(id);
    let document = &answer["result"]["structuredContent"];
    assert_eq!(document["state"], "applied", "{document:#}");
    // the document gets it by this restore, or follows the disk
    let merged = "one\ntwo\nTHREE, not saved\nmine\n";
    editor.until(|editor| editor.text("a.txt") == merged);
    editor.leave();
}
