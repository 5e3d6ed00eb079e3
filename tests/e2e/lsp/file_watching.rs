//! The language server watches the files: unreported changes are recorded, its own writes cause no notification, and
//! another server takes over when it dies.

use std::thread;

use backstitch_core::{Engine, Locate, Recorder, RecorderStatus, Recording, Workspace};
use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::oracle::model::{differences, on_disk};
use crate::support::World;
use crate::support::rng::Rng;
use crate::support::tree::assert_same;

fn start(world: &World) -> Client<'_> {
    let mut client = Client::with(world, Editor::Vscode, &json!({ "notifications": true }));
    until_watching(&mut client);
    client
}

/// Waits until the client's server watches.
fn until_watching(client: &mut Client<'_>) {
    client.until(|client| {
        let mut all = client.notified.iter();
        all.any(|(method, params)| {
            method == "backstitch/status" && params["recorder"]["state"] == "watching"
        })
    });
}

/// Paths of each checkpoint of this kind in notifications.
fn notified_paths(client: &Client<'_>, kind: &str) -> Vec<Vec<String>> {
    let checkpoints = client.notified.iter().filter_map(|(method, params)| {
        let checkpoint = &params["checkpoint"];
        (method == "backstitch/didCheckpoint" && checkpoint["kind"] == kind).then_some(checkpoint)
    });
    let paths = |checkpoint: &Value| {
        let changes = checkpoint["changes"].as_array().into_iter().flatten();
        changes
            .map(|change| change["path"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    checkpoints.map(paths).collect()
}

fn begun() -> World {
    let world = World::committed(&[
        ("a.txt", "one\ntwo\n"),
        ("d/b.txt", "x\n"),
        (".gitignore", "out/\n"),
    ]);
    world.ok(["checkpoint"]);
    world
}

/// S2-057: each new checkpoint is announced with its id, label, iteration and branch, as the log has them.
#[test]
fn a_new_checkpoint_is_announced_as_the_log_has_it() {
    let world = begun();
    let mut client = start(&world);
    let mut agent = world.agent();
    agent.prompt("make it 2");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    world.ok(["checkpoint", "-m", "good"]);
    let mut announced = |line: &str| {
        let listed = world.checkpoint(line).json;
        let is_it = |(method, params): &&(String, Value)| {
            method == "backstitch/didCheckpoint" && params["checkpoint"]["id"] == listed["id"]
        };
        client.until(|client| client.notified.iter().any(|told| is_it(&told)));
        let told = client.notified.iter().find(is_it).expect("it");
        let told = told.1["checkpoint"].clone();
        for field in ["id", "label", "iteration", "branch"] {
            assert_eq!(told[field], listed[field], "{line}: {field}");
        }
        told
    };
    assert_eq!(announced("t1 Edit: modify a.txt")["iteration"], 1);
    let good = announced("\"good\"");
    assert_eq!(
        (&good["label"], &good["branch"]),
        (&json!("good"), &json!("main"))
    );
    client.leave();
}

/// A change that no agent reports soon becomes a separate checkpoint; writes of a rewind do not.
#[test]
fn unreported_changes_are_recorded() {
    let world = begun();
    let mut client = start(&world);
    world.write("a.txt", "one\ntwo\nthree\n");
    client.until(|client| notified_paths(client, "external") == [["a.txt"]]);
    // a tree that appears at once, and ignored files
    world.sh("mkdir -p new/deep out && echo 1 > new/deep/f && echo 2 > new/g && echo 3 > out/o");
    client.until(|client| notified_paths(client, "external").concat().len() == 3);
    assert_eq!(
        notified_paths(&client, "external").concat(),
        ["a.txt", "new/deep/f", "new/g"]
    );
    // its own writes cause no notification: the next one is for the change after them
    world.ok(["rewind", "c1", "--exact", "--yes"]);
    assert_eq!(world.read("a.txt"), "one\ntwo\n");
    world.write("d/b.txt", "y\n");
    client.until(|client| notified_paths(client, "external").concat().len() >= 4);
    assert_eq!(
        notified_paths(&client, "external").concat(),
        ["a.txt", "new/deep/f", "new/g", "d/b.txt"]
    );
    client.leave();
}

/// A client reacts to a notification with a diff request, which must not cause another notification.
#[test]
fn a_query_that_finds_no_change_sends_no_notification() {
    let world = begun();
    let mut agent = world.agent();
    agent.prompt("make things");
    // while a command runs, every request begins with a scan of all files
    let call = agent.pre_bash("echo made > made.txt");
    let mut client = start(&world);
    let diff = json!({ "from": "c1", "to": "disk" });
    client.ok("backstitch/diff", diff.clone());
    let bell = || std::fs::read(world.store().join("bell")).expect("a bell");
    let before = bell();
    for _ in 0..3 {
        client.ok("backstitch/diff", diff.clone());
        world.ok(["diff", "c1"]);
    }
    assert_eq!(bell(), before);
    world.write("a.txt", "other\n");
    let differs = client.ok("backstitch/diff", diff.clone());
    assert_eq!(differs["files"][0]["path"], "a.txt", "{differs}");
    assert_ne!(bell(), before);
    let before = bell();
    client.ok("backstitch/diff", diff.clone());
    assert_eq!(bell(), before);
    let output = agent.execute(&call);
    agent.post_bash(&call, &output);
    client.leave();
}

/// Writes of a running command are recorded at its end, and are then certainly its own.
#[test]
fn writes_of_a_running_command_are_recorded_at_its_end() {
    let world = begun();
    let mut client = start(&world);
    let mut agent = world.agent();
    agent.prompt("make things");
    let call = agent.pre_bash("echo made > made.txt");
    let output = agent.execute(&call);
    agent.post_bash(&call, &output);
    client.until(|client| !notified_paths(client, "step").is_empty());
    assert_eq!(notified_paths(&client, "step"), [["made.txt"]]);
    assert!(
        notified_paths(&client, "external").is_empty(),
        "{:?}",
        client.notified
    );
    let blame = world.json(["blame", "made.txt", "--json"]);
    assert_eq!(blame["runs"][0]["tool"], "Bash", "{blame}");
    assert_eq!(blame["runs"][0]["step_certainty"], "certain", "{blame}");
    client.leave();
}

/// One server watches at a time; when it is killed, the next takes over, and misses nothing in between.
#[test]
fn another_server_takes_over_the_watch() {
    let world = begun();
    let mut first = start(&world);
    let pid = |world: &World| world.json(["status", "--json"])["recorder"]["pid"].clone();
    let of_first = pid(&world);
    assert!(of_first.is_u64(), "{of_first}");
    let mut second = Client::with(&world, Editor::Nvim, &json!({ "notifications": true }));
    second.open("a.txt");
    second.until(|client| {
        client.notified.iter().any(|(method, params)| {
            method == "backstitch/status" && params["recorder"]["state"] == "waiting"
        })
    });
    first.kill();
    world.write("a.txt", "while nobody watched\n");
    until_watching(&mut second);
    assert_ne!(pid(&world), of_first);
    second.until(|client| notified_paths(client, "external") == [["a.txt"]]);
    let text = world.ok(["status"]).stdout;
    assert!(text.contains("watches the files"), "{text}");
    second.leave();
}

/// Mass renames, more events than the kernel queues, changing ignore rules: after each, the record equals the disk,
/// with the recorder and without.
#[test]
fn event_storms_lose_nothing() {
    let world = World::new();
    for n in 0..400 {
        world.write(format!("t/{}/{n}.txt", n % 20), format!("{n}\n"));
    }
    let workspace = Workspace::find(&Locate {
        workspace: Some(&world.root),
        store_dir: Some(&world.state.join("store")),
        cwd: &world.root,
    })
    .expect("a workspace");
    let mut engine = Engine::open(&workspace).expect("a store");
    engine
        .capture_mut()
        .record_changes()
        .expect("the first look");
    let (say, hear) = std::sync::mpsc::channel();
    let recorder = Recorder::start(&workspace, Recording::default(), move |standing| {
        say.send(standing).ok();
    })
    .expect("a recorder");
    while !matches!(
        hear.recv().expect("it lives"),
        RecorderStatus::Watching { .. }
    ) {}
    let mut rng = Rng::new(Rng::seed("BACKSTITCH_STORM_SEED", 7));
    for storm in 0..12 {
        let root = world.root.clone();
        let seed = rng.next();
        let weather = thread::spawn(move || {
            let mut rng = Rng::new(seed);
            for n in 0..300 {
                let (a, b) = (rng.below(30), rng.below(30));
                let dir = |n: usize| root.join(format!("t/{n}"));
                match rng.below(6) {
                    0 | 1 => drop(std::fs::rename(dir(a), dir(b))),
                    2 => drop(std::fs::create_dir_all(dir(a).join("deep"))),
                    3 => drop(std::fs::write(dir(a).join("deep/f.txt"), format!("{n}"))),
                    4 => drop(std::fs::remove_dir_all(dir(a))),
                    _ if storm % 4 == 3 => {
                        let rules = ["", "deep/\n", "*.txt\n"][n % 3];
                        drop(std::fs::write(root.join("t/.gitignore"), rules));
                    }
                    _ => drop(std::fs::write(dir(a).join("g.txt"), "g\n")),
                }
            }
            if storm % 4 == 1 {
                // more than the queue of events holds
                for n in 0..20_000 {
                    drop(std::fs::write(root.join("t/many.txt"), format!("{n}")));
                    drop(std::fs::remove_file(root.join("t/many.txt")));
                }
            }
            drop(std::fs::write(root.join("t/.gitignore"), ""));
        });
        while !weather.is_finished() {
            engine
                .capture_mut()
                .record_changes()
                .expect("a look into the storm");
        }
        weather.join().expect("the storm ends");
        engine
            .capture_mut()
            .record_changes()
            .expect("a look after it");
        let head = engine.history().head().expect("a head").expect("a node");
        let tree = engine.history().tree_at(head).expect("its tree");
        let wrong = differences(&on_disk(&world.root).0, &tree, &|_| false);
        assert_eq!(wrong, Vec::<String>::new(), "storm {storm}");
    }
    drop(recorder);
    let verified = engine
        .verifier()
        .verify(&mut |_| {})
        .expect("the store is whole");
    assert_eq!(verified.problems, Vec::<String>::new());
}

/// A diff compares with the current text, including unsaved text.
#[test]
fn a_diff_compares_with_unsaved_text() {
    let world = begun();
    let mut client = Client::with(&world, Editor::Vscode, &json!({ "contentProvider": true }));
    client.open("a.txt");
    client.type_over("a.txt", "two", "typed");
    let uri = client.uri("a.txt");
    let lines = |answer: &Value| {
        let hunks = answer["files"][0]["hunks"].as_array().into_iter().flatten();
        hunks
            .map(|hunk| hunk["added"].to_string())
            .collect::<Vec<_>>()
    };
    let disk = client.ok("backstitch/diff", json!({ "from": "c1", "uri": uri }));
    assert_eq!(disk["files"], json!([]));
    let buffer = json!({ "from": "c1", "to": "buffer", "uri": uri });
    let answer = client.ok("backstitch/diff", buffer);
    assert_eq!(lines(&answer), ["[\"typed\"]"], "{answer}");
    // shown as a virtual document, each time under a new name
    for showing in 1..=2 {
        let answer = client.command("backstitch.diff", json!({ "rev": "c1", "uri": uri }));
        assert_eq!(
            (&answer["to"], lines(&answer)),
            (&json!("buffer"), vec!["[\"typed\"]".to_owned()])
        );
        assert_eq!(client.shown.len(), showing);
    }
    assert_ne!(client.shown[0], client.shown[1]);
    let content = json!({ "uri": client.shown[1] });
    let patch = client.ok("workspace/textDocumentContent", content);
    let patch = patch["text"].as_str().expect("a text").to_owned();
    assert!(patch.contains("\n-two\n+typed\n"), "{patch}");
    client.leave();
}

/// S3-004, S3-043, S3-044, S3-056: each interface is notified of the others' operations, and all give the same
/// result.
#[test]
fn all_interfaces_agree_and_are_notified() {
    let world = begun();
    let mut agent = world.agent();
    agent.prompt("make it 2");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::with(
        &world,
        Editor::Vscode,
        &json!({ "notifications": true, "reloadsFromDisk": true }),
    );
    client.open("a.txt");
    let rewinds =
        |(_, _, command): &(u64, String, Value)| command["command"] == "backstitch.rewind";
    assert!(client.lenses("a.txt").iter().any(rewinds));
    let here = client.ok("backstitch/plan", json!({ "rev": "t1" }));
    let there = world.json(["rewind", "t1", "--dry-run"]);
    assert_eq!(here["plan"], there["plan"], "{here}\n{there}");
    assert_eq!(here["actions"], there["actions"]);
    let refreshed = client.refreshed;
    let plan = here["plan"].as_str().expect("a fingerprint").to_owned();
    let done = world.json(["rewind", "t1", "--plan", &plan]);
    client.until(|client| {
        let mut all = client.notified.iter();
        client.refreshed > refreshed
            && all.any(|(method, params)| {
                method == "backstitch/didRewind" && params["operation"]["id"] == done["operation"]
            })
    });
    client.reload("a.txt");
    assert!(
        !client.lenses("a.txt").iter().any(rewinds),
        "the agent's line is gone"
    );
    let by_command_line = world.tree();
    let back = client.command("backstitch.undo", json!({ "confirm": false }));
    assert_eq!(world.read("a.txt"), "one\n2\n", "{back}");
    client.reload("a.txt");
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_same(&world.tree(), &by_command_line);
    client.leave();
}

/// S2-074, S2-079: a fork and a switch by any process are announced, with name, parent, fork point and iteration.
#[test]
fn forks_and_switches_are_announced() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "one\n", "two\n");
    agent.stop();
    let mut client = Client::with(&world, Editor::Vscode, &json!({ "notifications": true }));
    client.open("a.txt");
    client.idle();
    let step = world.checkpoints().last().expect("a step").id.clone();
    world.ok(["fork", &step, "an idea"]);
    let found = |client: &Client<'_>, method: &str, branch: &str| {
        let mut all = client.notified.iter();
        let told = all.find(|(name, params)| name == method && params["branch"]["name"] == branch);
        told.map(|(_, params)| params.clone())
    };
    client.until(|client| found(client, "backstitch/didFork", "an idea").is_some());
    let forked = found(&client, "backstitch/didFork", "an idea").expect("told");
    assert_eq!(forked["branch"]["parent"], "main");
    assert_eq!(forked["branch"]["fork_point"], json!(step));
    world.ok(["switch", "an idea"]);
    client.until(|client| found(client, "backstitch/didSwitch", "an idea").is_some());
    let switched = found(&client, "backstitch/didSwitch", "an idea").expect("told");
    assert_eq!(switched["iteration"], 1, "{switched}");
    assert_eq!(switched["branch"]["current"], true);
    world.ok(["undo"]);
    client.until(|client| found(client, "backstitch/didSwitch", "main").is_some());
    client.leave();
}
