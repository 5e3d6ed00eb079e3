//! Conversations that go back from an editor.

use serde_json::{Value, json};

use super::{made_so_far, said};
use crate::lsp::client::{Client, Editor};

/// S3-032: one operation: a turn and a scope. S3-040: front ends hear of it and draw anew. S3-048: a turn offers both, conversation,
/// code, cancel. S3-049: after a conversation rewind the prompt is there to edit. S3-052: it offers code, conversation, both, fork.
#[test]
fn s3_032_s3_040_s3_048_s3_049_s3_052_conversations_go_back_from_an_editor() {
    let Some((spoken, session)) = said("conversations_go_back_from_an_editor", "claude") else {
        return;
    };
    let world = &spoken.world;
    world.configure("[summarize]\ncommand = 'cat > /dev/null; echo SHORT'\n");
    let mut client = Client::with(world, Editor::Vscode, &json!({"notifications": true}));
    client.open("t1.txt");
    // the plan of both names the conversation, and makes nothing
    let asked = json!({"rev": "t3", "scope": "both"});
    let plan = client.ok("backstitch/plan", &asked);
    let planned = &plan["conversation"];
    assert_eq!(
        (&planned["session"], &planned["kept"]),
        (&json!(session), &json!(2)),
        "{plan:#}"
    );
    let line = "Conversation: before t3 “prompt charlie” · Claude Code · 2 of 5 prompts stay.";
    assert!(plan["summary"].to_string().contains(line), "{plan:#}");
    assert_eq!(made_so_far(world), 0);
    // alone: the files stay, and the prompt is there to edit
    client.will_choose("Make Conversation");
    let alone = client.command(
        "backstitch.rewind",
        json!({"rev": "t4", "scope": "conversation"}),
    );
    let made = &alone["conversation"];
    assert_eq!(
        (&made["turn"], &made["prompt"]),
        (&json!("t4"), &json!("prompt delta")),
        "{alone:#}"
    );
    assert_eq!(made["prefilled"], true);
    assert_eq!(world.read("main.txt"), "start\n1\n2\n3\n4\n5\n");
    // cancelled: nothing is made
    client.will_choose("Cancel");
    let params = json!({"command": "backstitch.rewind", "arguments": [{"rev": "t2", "scope": "conversation"}]});
    client.fails("workspace/executeCommand", params);
    assert_eq!(made_so_far(world), 1);
    // both, as the plan was shown
    let both = json!({"rev": "t3", "scope": "both", "plan": plan["plan"]});
    let done = client.command("backstitch.rewind", both);
    let new = &done["conversation"]["new"];
    assert!(new.is_string(), "{done:#}");
    assert_eq!(world.read("main.txt"), "start\n1\n2\n");
    let is_told = |(method, params): &(String, Value)| {
        method == "backstitch/didRewind"
            && params["operation"]["id"] == done["operation"]
            && params["conversation"]["new"] == *new
    };
    client.until(|client| client.notified.iter().any(is_told));
    let last = client.command("backstitch.conversation", json!({}));
    assert_eq!(last["conversation"]["new"], *new);
    assert_eq!(last["conversation"]["argv"][2], *new);
    client.command("backstitch.undo", json!({"confirm": false}));
    assert_eq!(world.read("main.txt"), "start\n1\n2\n3\n4\n5\n");
    // a fork, with its directory
    let into = world.root.with_file_name("second");
    let forked = client.command(
        "backstitch.fork",
        json!({"rev": "t3", "name": "second", "into": into, "scope": "both"}),
    );
    assert_eq!(forked["conversation"]["cwd"], json!(into), "{forked:#}");
    assert!(into.join("t2.txt").exists() && !into.join("t3.txt").exists());
    // a summary is read first, and made as it is sent
    let part = json!({"turn": "t3", "part": "up_to"});
    let made = made_so_far(world);
    let summed = client.command("backstitch.summarize", &part);
    assert!(
        summed["summary"].to_string().contains("SHORT"),
        "{summed:#}"
    );
    assert_eq!(made_so_far(world), made);
    let summed = client.command(
        "backstitch.summarize",
        json!({"turn": "t3", "part": "up_to", "summary": "edited by hand"}),
    );
    assert_eq!(summed["conversation"]["kept"], 3, "{summed:#}");
    assert_eq!(made_so_far(world), made + 1);
    for (command, wrong) in [
        (
            "backstitch.summarize",
            json!({"turn": "t3", "part": "middle"}),
        ),
        (
            "backstitch.fork",
            json!({"rev": "t3", "name": "x", "scope": "conversation"}),
        ),
        (
            "backstitch.revert",
            json!({"turn": "t3", "scope": "both", "confirm": false}),
        ),
        ("backstitch.conversation", json!({"rev": "c1"})),
    ] {
        let params = json!({"command": command, "arguments": [wrong]});
        client.fails("workspace/executeCommand", params);
    }
    assert_eq!(made_so_far(world), made + 1);
    client.leave();
}
