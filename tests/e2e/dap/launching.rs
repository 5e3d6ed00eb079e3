//! Arguments of a launch, jobs that it refuses, and files as clients name them.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::talk::DapTalk;
use crate::jobs::{job, newest, workflow};

const STEPS: &str = "
- uses: actions/checkout@v4
- {name: One, run: echo one >> log}
- {id: two, name: Two, run: cp a b}
- {name: Three, run: rm a}";

fn started(world: &crate::support::World) -> DapTalk {
    let mut talk = DapTalk::start(world);
    talk.ok("initialize", &json!({"adapterID": "backstitch-job"}));
    talk
}

/// The id of the frame whose name begins so.
fn frame_named(talk: &mut DapTalk, name: &str) -> u64 {
    let stack = talk.ok("stackTrace", &json!({"threadId": 1}));
    let mut frames = stack["stackFrames"].as_array().expect("frames").iter();
    let is_it = |frame: &&serde_json::Value| {
        let shown = frame["name"].as_str();
        shown.is_some_and(|shown| shown.starts_with(name))
    };
    let found = frames.find(is_it).expect("a frame");
    found["id"].as_u64().expect("a number")
}

/// A job that cannot run here is refused by the answer to its launch, with the argument that helps, and another launch follows.
#[test]
fn jobs_that_cannot_run_are_refused_at_once() {
    let steps = "{name: One, run: 'true'}";
    let world = workflow(&format!(
        "on: push
jobs:
  windows:
    runs-on: windows-latest
    steps: [{steps}]
  remote:
    uses: acme/other/.github/workflows/x.yml@v1
  served:
    runs-on: ubuntu-latest
    services: {{db: {{image: postgres}}}}
    steps: [{steps}]
  many:
    strategy: {{matrix: {{node: [18, 20]}}}}
    runs-on: ubuntu-latest
    steps: [{steps}]
"
    ));
    let mut talk = started(&world);
    for (arguments, words) in [
        (
            json!({"job": "windows"}),
            &["(Line: 4)", "windows-latest", "\"anySystem\": true"][..],
        ),
        (
            json!({"job": "remote"}),
            &["(Line: 7)", "another repository"],
        ),
        (json!({"job": "served"}), &["(Line: 10)", "services"]),
    ] {
        let mut wanted = arguments;
        wanted["workflow"] = "ci.yml".into();
        let said = talk.refused("launch", &wanted);
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(!said.contains("--"), "{said}");
    }
    let wanted = json!({"workflow": "ci.yml", "job": "windows", "anySystem": true});
    talk.ok("launch", &wanted);
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), "entry: before 'One'");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// Steps of `points` have checkpoints, and the others are undone with them. Edits of files wait for `:sync` where the launch says so.
#[test]
fn arguments_of_a_launch_hold() {
    let world = workflow(&job(STEPS));
    world.write("a", "mine\n");
    let mut talk = started(&world);
    let with = |name: &str, value: serde_json::Value| {
        let mut all = json!({"workflow": "ci.yml", "missingActions": "pause"});
        all[name] = value;
        all
    };
    for (name, value, said) in [
        ("sync", json!("ask"), "write auto or never"),
        ("points", json!(["["]), "["),
        ("missingActions", json!("stop"), "pause, "),
    ] {
        let refused = talk.refused("launch", &with(name, value));
        assert!(refused.contains(said), "{refused}");
    }
    let mut wanted = with("points", json!(["Two", "*checkout*"]));
    wanted["sync"] = "never".into();
    wanted["secrets"] = json!({"TOKEN": "literal"});
    talk.ok("launch", &wanted);
    assert!(
        talk.output().contains("name a file by secretsFile"),
        "{}",
        talk.output()
    );
    assert!(!talk.output().contains("literal"));
    talk.ok("configurationDone", &json!({}));
    talk.stop();
    talk.go("next");
    talk.go("next");
    world.write("a", "edited\n");
    assert_eq!(talk.go("next"), "step: before 'Three'");
    let workspace = newest(&world).join("files/work/work/work");
    let read = |name: &str| std::fs::read_to_string(workspace.join(name)).unwrap_or_default();
    assert_eq!(
        (read("a"), read("b")),
        ("mine\n".to_owned(), "mine\n".to_owned())
    );
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'Two'");
    assert_eq!(
        talk.go("stepBack"),
        "step: stepped back: before 'Run actions/checkout@v4'"
    );
    assert!(
        talk.output().contains("taken back without a checkpoint"),
        "{}",
        talk.output()
    );
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// Scopes have the files that a step changed, and its processes; the step itself has its name, its shell and its directory.
#[test]
fn scopes_have_changed_files_and_processes() {
    let steps = format!(
        "{STEPS}\n- {{name: Four, working-directory: sub, shell: sh, run: 'sleep 100 & until grep -q sleep /proc/$!/cmdline; do :; done'}}\n- run: 'true'"
    );
    let world = workflow(&job(&steps));
    world.write("a", "mine\n");
    world.write("sub/x", "");
    let mut talk = DapTalk::launch(&world, &json!({}));
    talk.ok("configurationDone", &json!({}));
    talk.stop();
    for _ in 0..4 {
        talk.go("next");
    }
    let names = |talk: &mut DapTalk, scope: &str| {
        let reference = talk.scope(scope);
        talk.values(reference)
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(names(&mut talk, "Changed files"), [pair("a", "deleted")]);
    let step = names(&mut talk, "Step");
    let directory = newest(&world).join("files/work/work/work/sub");
    for (name, value) in [
        ("name", "Four"),
        ("shell", "sh -e {0}"),
        ("directory", &directory.to_string_lossy()),
    ] {
        assert!(step.contains(&pair(name, value)), "{name}: {step:?}");
    }
    // a step that has run has its own
    let frame = frame_named(&mut talk, "Two (checkpoint");
    let scopes = talk.ok("scopes", &json!({"frameId": frame}));
    let all = scopes["scopes"].as_array().expect("scopes").clone();
    let changed = all.iter().find(|scope| scope["name"] == "Changed files");
    let reference = changed.expect("a scope")["variablesReference"].as_u64();
    let reference = reference.expect("a number");
    assert_eq!(talk.values(reference), [pair("b", "added")]);
    assert_eq!(talk.values(reference), [pair("b", "added")]);
    talk.go("next");
    let left = names(&mut talk, "Processes");
    assert!(
        left.iter()
            .any(|(_, command)| command.contains("sleep 100")),
        "{left:?}"
    );
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A step that is left out is before a step back, too, and a restart leads to the first step.
#[test]
fn a_step_ahead_is_taken_back() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::launch(&world, &json!({}));
    talk.ok("configurationDone", &json!({}));
    let first = talk.stop();
    assert_eq!(talk.console(":goto Two"), "");
    assert_eq!(talk.stop(), "step: before 'Two'");
    let frames = talk.frames();
    let names: Vec<&str> = frames.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names[2], "Run actions/checkout@v4 (checkpoint 0, left out)",
        "{names:?}"
    );
    let frame = frame_named(&mut talk, "Run actions/checkout");
    let scopes = talk.ok("scopes", &json!({"frameId": frame}));
    assert!(!scopes.to_string().contains("Changed files"));
    assert_eq!(
        talk.go("stepBack").replace("step: stepped back", "entry"),
        first
    );
    assert_eq!(talk.console(":goto Two"), "");
    talk.stop();
    assert_eq!(
        talk.go("restart").replace("restart: stepped back", "entry"),
        first
    );
    talk.go("next");
    let step = talk.events("backstitchStep").last().expect("an event");
    let body = &step["body"];
    let told =
        [&body["index"], &body["attempt"], &body["checkpoint"]].map(serde_json::Value::as_u64);
    assert_eq!(told, [Some(0), Some(1), Some(0)], "{body}");
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// A project behind a link has the client's own paths, in stops, breakpoints and output, and URIs where the client wants them.
#[test]
fn files_have_the_paths_of_the_client() {
    let world = workflow(&job(STEPS));
    let link = world.root.with_file_name("linked");
    symlink(&world.root, &link).expect("a link");
    for format in ["path", "uri"] {
        let mut talk = DapTalk::start(&world);
        talk.ok(
            "initialize",
            &json!({"adapterID": "backstitch-job", "pathFormat": format}),
        );
        let file = link.join(".github/workflows/ci.yml");
        let shown = match format {
            "uri" => format!("file://{}", file.display()),
            _ => file.display().to_string(),
        };
        let source = json!({"path": shown});
        talk.ok("launch", &json!({"workflow": file, "job": "build"}));
        let set = json!({"source": source, "breakpoints": [{"line": 9}]});
        let set = talk.ok("setBreakpoints", &set);
        assert_eq!(set["breakpoints"][0]["source"]["path"], shown, "{set:#}");
        talk.ok("configurationDone", &json!({}));
        talk.stop();
        let stack = talk.ok("stackTrace", &json!({"threadId": 1}));
        assert_eq!(
            stack["stackFrames"][0]["source"]["path"], shown,
            "{stack:#}"
        );
        talk.go("next");
        let all = talk.events("output");
        let places: Vec<&str> = all
            .filter_map(|event| event["body"]["source"]["path"].as_str())
            .collect();
        assert!(places.iter().all(|path| *path == shown), "{places:?}");
        talk.leave(&json!({"terminateDebuggee": true}));
    }
}

/// The console has the two commands of GitHub's own debugger, and a line that only reads changes no variables.
#[test]
fn the_console_has_the_commands_of_github() {
    let world = workflow(&job(STEPS));
    world.write("sub/x", "");
    let mut talk = DapTalk::launch(&world, &json!({}));
    talk.ok("configurationDone", &json!({}));
    talk.stop();
    talk.go("next");
    assert_eq!(talk.console("help"), talk.console(":help"));
    for line in ["env", ":checkpoints", ":diff", "github.run_id"] {
        talk.console(line);
    }
    assert_eq!(talk.events("invalidated").count(), 0);
    talk.console(r#"run("export A=1; pwd > here")"#);
    talk.event("invalidated");
    assert_eq!(talk.console("env.A"), "1");
    let options = r#"run("echo $A $B > there; export A=2", shell: "sh", env: { B: "b c" }, working_directory: "sub")"#;
    talk.console(options);
    let workspace = newest(&world).join("files/work/work/work");
    let there = std::fs::read_to_string(workspace.join("sub/there"));
    assert_eq!(there.expect("a file"), "1 b c\n");
    assert_eq!(talk.console("env.A"), "1");
    let wrong = json!({"expression": "run(ls)", "context": "repl"});
    let said = talk.refused("evaluate", &wrong);
    assert!(said.contains("!COMMAND"), "{said}");
    talk.leave(&json!({"terminateDebuggee": true}));
}
