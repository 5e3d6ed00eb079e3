//! Settings of a client, and the ways to send them.

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::World;
use crate::support::scenarios::two_sessions;

fn configure(client: &mut Client, settings: &Value) {
    client.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": settings }),
    );
}

/// Real Eglot sends an empty object right after the start: unnamed settings stay unchanged.
#[test]
fn unnamed_settings_stay_unchanged() {
    let world = two_sessions();
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
            .any(|said| said.contains("codelens: unknown setting"))
    });
    assert_eq!(client.lenses("a.txt").len(), 4);
    client.leave();
}

/// A client that supports settings requests is asked at the start and after each change.
#[test]
fn the_server_requests_settings() {
    let world = two_sessions();
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
fn the_latest_session_and_turn_are_the_workspaces() {
    for latest in ["session", "latestTurn"] {
        let world = two_sessions();
        let own = json!({ "codeLens": latest });
        let mut client = Client::with(&world, Editor::Nvim, &own);
        client.open("a.txt");
        client.open("b.txt");
        assert_eq!(client.lenses("a.txt").len(), 1, "{latest}");
        assert_eq!(client.lenses("b.txt").len(), 3, "{latest}");
        client.leave();
    }
}

const FILE: &str = ".backstitch.toml";

fn until_message(client: &mut Client, what: &str) {
    client.until(|client| client.said.iter().any(|said| said.contains(what)));
}

/// Waits until the server watches the files.
fn until_watching(client: &mut Client) {
    client.until(|client| {
        let mut all = client.notified.iter();
        all.any(|(method, params)| {
            method == "backstitch/status" && params["recorder"]["state"] == "watching"
        })
    });
}

/// Changed paths of the checkpoints in notifications.
fn recorded(client: &Client) -> Vec<String> {
    let notified = client.notified.iter();
    let notified = notified.filter(|(method, _)| method == "backstitch/didCheckpoint");
    let changes = notified.filter_map(|(_, p)| p["checkpoint"]["changes"].as_array());
    let paths = changes.flatten().map(|change| change["path"].as_str());
    paths.flatten().map(str::to_owned).collect()
}

/// The workspace's settings file can set lenses, too. It wins, and the server notices a change of it.
#[test]
fn lens_settings_of_the_workspace_win() {
    let world = two_sessions();
    world.write(FILE, "codeLens = \"off\"\n");
    let own = json!({ "codeLens": "all", "notifications": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    until_watching(&mut client);
    client.open("a.txt");
    assert_eq!(client.lenses("a.txt"), []);
    world.write(FILE, "codeLens = \"loud\"\n");
    until_message(
        &mut client,
        ":1: `codeLens`: \"loud\" is not one of all, session",
    );
    assert_eq!(client.lenses("a.txt").len(), 4);
    let said = client.said.len();
    world.write("b.txt", "once\n");
    client.until(|client| recorded(client).contains(&"b.txt".to_owned()));
    assert_eq!(client.lenses("a.txt").len(), 4);
    assert_eq!(
        client.said.len(),
        said,
        "once for each change: {:?}",
        client.said
    );
    client.leave();
}

/// Exclusions of the editor also apply to the hook and the command line, as long as the editor sends them.
#[test]
fn editor_settings_apply_to_hook_and_command_line() {
    for pulled in [false, true] {
        let world = World::committed(&[("a.txt", "one\n")]);
        let editor = if pulled {
            Editor::Vscode
        } else {
            Editor::Helix
        };
        let secret = json!({ "capture": { "exclude": ["secret"] } });
        let own = if pulled { Value::Null } else { secret.clone() };
        let mut client = Client::with(&world, editor, &own);
        if pulled {
            client.settings = secret;
        }
        client.open("a.txt");
        let exclude = |world: &World| world.json(["status"])["settings"]["capture.exclude"].clone();
        let editors = json!({ "value": ["secret"], "source": "editor" });
        while exclude(&world) != editors {
            client.lenses("a.txt");
        }
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        agent.bash("echo s > secret; echo two >> a.txt");
        agent.stop();
        assert_eq!(world.since_start(), ["t1: go", "t1 Bash: modify a.txt"]);
        client.open("secret");
        client.type_over("secret", "s\n", "typed\n");
        client.command(
            "backstitch.rewind",
            json!({ "rev": "t1", "confirm": false }),
        );
        assert_eq!(world.read("secret"), "s\n");
        assert_eq!(world.read("a.txt"), "one\n");
        let status = world.json(["status"]);
        let unsaved = status["editors"][0]["unsaved"].as_array();
        assert!(
            unsaved.is_some_and(|all| !all.contains(&json!("secret"))),
            "{status:#}"
        );
        // another editor without settings does not change them
        let mut other = Client::start(&world, Editor::Nvim);
        other.settings = json!({});
        other.open("a.txt");
        other.until(|client| client.pulled > 0);
        other.lenses("a.txt");
        other.leave();
        assert_eq!(exclude(&world), editors);
        client.settings = json!({});
        configure(&mut client, &json!({ "backstitch.capture.exclude": null }));
        if !pulled {
            // it was sent once, at the start
            assert_eq!(exclude(&world), editors);
            client.leave();
            client = Client::start(&world, editor);
            client.open("a.txt");
        }
        while exclude(&world) != json!({ "value": [], "source": "default" }) {
            client.lenses("a.txt");
        }
        world.write("a.txt", "three\n");
        world.ok(["checkpoint", "-m", "all"]);
        world.ok(["rewind", "t1", "--exact"]);
        assert_eq!(
            world.read("secret"),
            "s\n",
            "nobody made it, as far as is known"
        );
        client.leave();
    }
}

/// The recorder uses the current settings file.
#[test]
fn the_recorder_notices_a_changed_settings_file() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.write(FILE, "capture.exclude = [\"gen/\"]\n");
    world.write("gen/deep/x", "x\n");
    world.ok(["checkpoint"]);
    let own = json!({ "notifications": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    until_watching(&mut client);
    world.write(FILE, "capture.exclude = [\"other/\"]\n");
    client.until(|client| recorded(client).contains(&FILE.to_owned()));
    // now it is watched
    world.write("gen/deep/x", "y\n");
    client.until(|client| recorded(client).contains(&"gen/deep/x".to_owned()));
    world.write(FILE, "capture.exclude = [\"more/\"]\n");
    client.until(|client| recorded(client).iter().filter(|path| *path == FILE).count() == 2);
    world.write("more/x", "x\n");
    world.write("a.txt", "two\n");
    client.until(|client| recorded(client).contains(&"a.txt".to_owned()));
    assert!(!recorded(&client).contains(&"more/x".to_owned()));
    client.leave();
}

/// A line of the workspace's file that is not heeded is said, and so is a file that leaves nothing to record.
#[test]
fn settings_that_a_workspace_may_not_set_are_reported_in_the_editor() {
    let world = two_sessions();
    world.write(FILE, "store.dir = \".s\"\ncheckpoints.max = 1\n");
    let own = json!({ "notifications": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    until_watching(&mut client);
    client.open("a.txt");
    client.lenses("a.txt");
    until_message(&mut client, ":1: `store.dir`: a file in a workspace cannot");
    until_message(
        &mut client,
        ":2: `checkpoints.max`: a file in a workspace may",
    );
    world.write(FILE, "capture.exclude = [\"*\"]\n");
    until_message(&mut client, "excludes everything");
    assert!(!world.exists(".s"));
    client.leave();
}

/// A clone sets an editor's settings, too, so those that loosen anything do not count, in the editor, for hooks and for the
/// command line. The user hears of each, and where to set it.
#[test]
fn an_editor_loosens_nothing() {
    let world = two_sessions();
    let loose = json!({
        "capture": { "include": ["*", ".env"], "maxFileSize": "20 MiB" },
        "restore": { "default": "exact" },
        "store": { "keepDays": 1, "maxBytes": "2 MiB" },
        "checkpoints": { "max": 1 },
        "pause": { "timeout": 1, "onTimeout": "allow", "unattended": "allow" },
        "agents": { "allowControl": true },
        "repl": { "shell": "./evil", "evalTimeout": 1000, "maxObject": "9 MiB" },
    });
    let before = world.json(["status"])["settings"].clone();
    for pulled in [false, true] {
        let mut client = if pulled {
            let mut client = Client::start(&world, Editor::Vscode);
            client.settings = json!({});
            client.until(|client| client.pulled == 1);
            client.settings = loose.clone();
            configure(&mut client, &Value::Null);
            client.until(|client| client.pulled == 2);
            client
        } else {
            Client::with(&world, Editor::Helix, &loose)
        };
        client.open("a.txt");
        client.lenses("a.txt");
        world.write("b.txt", if pulled { "pulled\n" } else { "sent\n" });
        world.ok(["checkpoint"]);
        for group in loose.as_object().expect("groups") {
            for key in group.1.as_object().expect("keys").keys() {
                let name = format!("{}.{key}", group.0);
                until_message(&mut client, &format!("`{name}`: an editor's settings"));
                let status = world.json(["status"]);
                assert_eq!(status["settings"][&name], before[&name], "{name}");
            }
        }
        assert!(client.said.iter().any(|said| said.contains("config.toml")));
        // the server tells its user first, and other programs then
        while !world.run(["doctor"]).stdout.contains("`checkpoints.max`") {
            client.lenses("a.txt");
        }
        // the user's own word counts
        world.configure("checkpoints.max = 500\n");
        let now = world.json(["status"])["settings"]["checkpoints.max"].clone();
        assert_eq!(now["value"], 500);
        world.configure("");
        client.leave();
    }
}

/// "Do not record" is a wish that counts from an editor, too: a truth keeps its type on the way to hooks, nothing is
/// recorded, and everything says so.
#[test]
fn an_editor_turns_recording_off() {
    let world = two_sessions();
    let mut client = Client::start(&world, Editor::Vscode);
    client.settings = json!({ "checkpoints": { "automatic": false } });
    configure(&mut client, &Value::Null);
    client.open("a.txt");
    until_message(&mut client, "the editor's settings: recording is off");
    let off = json!({ "value": false, "source": "editor" });
    while world.json(["status"])["settings"]["checkpoints.automatic"] != off {
        client.lenses("a.txt");
    }
    let count = world.checkpoints().len();
    let mut agent = world.agent();
    agent.session_start();
    assert_eq!(agent.prompt("secret").stderr, "");
    agent.bash("echo secret >> a.txt");
    agent.stop();
    assert_eq!(world.checkpoints().len(), count);
    for command in ["status", "doctor"] {
        let said = world.run([command]);
        let said = format!("{}{}", said.stdout, said.stderr);
        assert!(
            said.contains("the editor's settings: recording is off"),
            "{said}"
        );
    }
    client.leave();
}

/// `restore.default` applies to rewinds of the editor, which can override it. An editor's settings only keep the user's own
/// edits: a project can set them.
#[test]
fn restore_default_applies_to_editor_rewinds() {
    let world = two_sessions();
    world.write("b.txt", "changed\nmine\n");
    world.configure("restore.default = \"exact\"\n");
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    let rewind = |client: &mut Client, more: Value| {
        let mut arguments = json!({ "rev": "t2", "confirm": false });
        arguments
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().expect("one"));
        client.command("backstitch.rewind", arguments);
    };
    rewind(&mut client, json!({ "exact": false }));
    assert_eq!(world.read("b.txt"), "other\nmine\n");
    client.command("backstitch.undo", json!({ "confirm": false }));
    rewind(&mut client, json!({}));
    assert_eq!(world.read("b.txt"), "other\n");
    client.command("backstitch.undo", json!({ "confirm": false }));
    // the workspace's settings have priority
    world.write(FILE, "restore.default = \"merge\"\n");
    rewind(&mut client, json!({}));
    assert_eq!(world.read("b.txt"), "other\nmine\n");
    client.leave();
    world.remove(FILE);
    world.ok(["undo"]);
    for (user, editor, left) in [
        ("exact", "merge", "other\nmine\n"),
        ("merge", "exact", "other\nmine\n"),
    ] {
        world.configure(&format!("restore.default = \"{user}\"\n"));
        let own = json!({ "restore": { "default": editor } });
        let mut client = Client::with(&world, Editor::Helix, &own);
        client.open("a.txt");
        rewind(&mut client, json!({}));
        assert_eq!(world.read("b.txt"), left, "{user} {editor}");
        client.command("backstitch.undo", json!({ "confirm": false }));
        client.leave();
    }
}

/// An editor's `store.dir` applies only to its server, which says so; a later change has no effect.
#[test]
fn an_editors_store_dir_applies_only_to_its_server() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let stores = world.state.join("mine");
    let own = json!({ "store": { "dir": stores } });
    let mut client = Client::with(&world, Editor::Helix, &own);
    client.open("a.txt");
    until_message(&mut client, "as backstitch.store.dir says");
    client.command("backstitch.checkpoint", json!({ "label": "here" }));
    assert!(stores.is_dir());
    assert_eq!(world.json(["status"])["checkpoints"], 0);
    let stores = stores.to_str().expect("plain").to_owned();
    let status = world.json(["--store-dir", &stores, "status"]);
    assert_ne!(status["checkpoints"], 0);
    configure(
        &mut client,
        &json!({ "backstitch.store.dir": "/elsewhere" }),
    );
    until_message(
        &mut client,
        "from initializationOptions.backstitch at its start",
    );
    client.leave();
}

/// A language server that an agent starts changes nothing for hooks. It does not end recording, and does not remove the
/// settings of the user's editor.
#[test]
fn an_agents_editor_sets_nothing_for_hooks() {
    let world = two_sessions();
    let mut client = Client::start(&world, Editor::Vscode);
    client.settings = json!({ "capture": { "exclude": ["private.txt"] } });
    configure(&mut client, &Value::Null);
    client.open("a.txt");
    let kept =
        |world: &World| world.json(["status"])["settings"]["capture.exclude"]["value"].clone();
    while kept(&world) != json!(["private.txt"]) {
        client.lenses("a.txt");
    }
    client.leave();
    let world = world.with("CLAUDECODE", "1");
    let mut client = Client::start(&world, Editor::Vscode);
    client.settings = json!({ "checkpoints": { "automatic": false } });
    configure(&mut client, &Value::Null);
    client.open("a.txt");
    until_message(&mut client, "started from inside an agent");
    client.leave();
    assert_eq!(kept(&world), json!(["private.txt"]));
    let automatic = world.json(["status"])["settings"]["checkpoints.automatic"]["value"].clone();
    assert_eq!(automatic, true);
}
