//! What a client sets, and how it may say so.

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::World;

fn start() -> World {
    let world = World::committed(&[("a.txt", "one\ntwo\n"), ("b.txt", "other\n")]);
    for (path, old) in [("a.txt", "two"), ("b.txt", "other")] {
        let mut agent = world.agent();
        agent.prompt("change it");
        agent.edit(path, old, "changed");
        agent.stop();
    }
    world
}

fn configure(client: &mut Client, settings: &Value) {
    client.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": settings }),
    );
}

/// Real Eglot sends an empty object right after the start: what is not named stays as it is.
#[test]
fn what_is_not_named_stays_as_it_is() {
    let world = start();
    let off = json!({ "codeLens": "off" });
    let mut client = Client::with(&world, Editor::Eglot, &off);
    client.settings = json!({});
    client.open("a.txt");
    for nothing in [json!({}), json!(null), json!({ "backstitch": {} })] {
        configure(&mut client, &nothing);
        assert_eq!(client.lenses("a.txt"), [], "{nothing}");
    }
    configure(&mut client, &json!({ "backstitch.codeLens": "all" }));
    assert_eq!(client.lenses("a.txt").len(), 4);
    configure(&mut client, &json!({ "backstitch": { "codelens": "off" } }));
    client.until(|client| {
        client
            .said
            .iter()
            .any(|said| said.contains("codelens: there is no such setting"))
    });
    assert_eq!(client.lenses("a.txt").len(), 4);
    client.leave();
}

/// A client that answers for its settings is asked, at the start and when something changed.
#[test]
fn settings_are_asked_for() {
    let world = start();
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    client.until(|client| client.pulled == 1);
    client.settings = json!({ "codeLens": "off" });
    configure(&mut client, &Value::Null);
    client.until(|client| client.pulled == 2);
    while !client.lenses("a.txt").is_empty() {}
    client.leave();
}

/// The newest session and turn are those of the workspace, not of the file.
#[test]
fn the_latest_is_the_workspaces() {
    for latest in ["session", "latestTurn"] {
        let world = start();
        let own = json!({ "codeLens": latest });
        let mut client = Client::with(&world, Editor::Nvim, &own);
        client.open("a.txt");
        client.open("b.txt");
        assert_eq!(client.lenses("a.txt").len(), 1, "{latest}");
        assert_eq!(client.lenses("b.txt").len(), 4, "{latest}");
        client.leave();
    }
}
