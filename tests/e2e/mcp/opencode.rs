//! The real opencode as a client: its model reads the history by our tools, and proposes a rewind that its user accepts.

use std::fs;
use std::thread;

use serde_json::json;

use crate::control::Watcher;
use crate::real_agents::{Session, real};

#[test]
fn opencode_reads_and_proposes() {
    let test = "mcp::opencode_reads_and_proposes";
    let Some(session) = Session::new(test, real("opencode")) else {
        return;
    };
    let world = &session.world;
    let config = world.env().into_iter();
    let mut config = config.filter(|(name, _)| *name == "XDG_CONFIG_HOME");
    let config = std::path::PathBuf::from(config.next().expect("a folder").1);
    let server = json!({
        "type": "local",
        "command": [crate::support::binary::path(), "mcp"],
        "environment": {"XDG_STATE_HOME": world.home.parent().expect("a folder").join("state")},
    });
    fs::create_dir_all(config.join("opencode")).expect("made");
    let settings = json!({ "mcp": { "backstitch": server } });
    fs::write(config.join("opencode/opencode.json"), settings.to_string()).expect("written");
    let main = world.path("src/main.rs");
    let part = json!([
        {"tool": "backstitch_checkpoint", "args": {"label": "before the change"}},
        {"tool": "read", "args": {"filePath": main}},
        {"tool": "edit", "args": {"filePath": main, "oldString": "\"one\"", "newString": "\"two\""}},
        {"tool": "backstitch_log", "args": {"limit": 5}},
        {"tool": "backstitch_blame", "args": {"path": "src/main.rs"}},
        {"tool": "backstitch_propose_rewind", "args": {"rev": "before the change", "reason": "it broke the build"}},
        {"text": "done"},
    ]);
    let report = thread::scope(|scope| {
        let mut watcher = Watcher::start(world);
        let playing = scope.spawn(|| session.play(Some(part), None));
        let pause = watcher.until("held");
        assert_eq!(pause["tool"], "propose_rewind", "{pause:#}");
        assert!(world.read("src/main.rs").contains("\"two\""));
        world.ok(["resume", "p1"]);
        playing.join().expect("it ends")
    });
    assert!(world.read("src/main.rs").contains("\"one\""));
    let log = report["logs"]["requests.jsonl"].as_str().expect("a log");
    let told = fs::read_to_string(log).expect("the model's log");
    let last = told.lines().last().expect("a request");
    for part in [
        "before the change",
        "src/main.rs",
        "t1",
        "The user accepted it",
    ] {
        assert!(last.contains(part), "{part}: {last}");
    }
    world.ok(["undo", "--yes"]);
    assert!(world.read("src/main.rs").contains("\"two\""));
}
