//! Proposed rewinds: another process decides, and the files are as they should be.

use std::time::Instant;

use serde_json::{Value, json};

use super::{LibraryClient, PlainClient, recorded, tools};
use crate::control::{HeldHook, Watcher, before, began, edit};
use crate::editors::screen;
use crate::lsp::client::{Client, Editor};
use crate::support::limits::EVENT_TIMEOUT;
use crate::support::{World, binary};

/// The file of `recorded` as it is, and after a rewind of the turn that keeps the user's line.
const NOW: &str = "one\nTWO\nthree\nmine\n";
const REWOUND: &str = "one\ntwo\nthree\nmine\n";

/// Proposes a rewind of the last turn, and returns the request and the pause that a person sees.
fn proposed(world: &World, client: &mut PlainClient, arguments: &Value) -> (i64, Value) {
    let mut watcher = Watcher::start(world);
    let id = client.send_call("propose_rewind", arguments);
    (id, watcher.until("held"))
}

/// The result of a proposal's call.
fn result(client: &mut PlainClient, id: i64) -> Value {
    client.answer_to(id)["result"].clone()
}

/// No pause is left that waits for somebody.
#[track_caller]
fn nothing_waits(world: &World) {
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"], json!([]), "{open:#}");
}

/// A person accepts: the files are rewound as the command line does it, the user's own line stays, and undo undoes it.
#[test]
fn an_accepted_proposal_rewinds() {
    let world = recorded();
    let mut client = PlainClient::begun(&world);
    let (id, pause) = proposed(
        &world,
        &mut client,
        &json!({ "reason": "it broke the build" }),
    );
    assert_eq!(pause["agent"], "plain");
    assert_eq!(pause["tool"], "propose_rewind");
    let summary = pause["summary"].as_str().expect("a summary");
    assert!(summary.starts_with("rewind to before “shout”"), "{summary}");
    assert!(summary.ends_with(": 1 file"), "{summary}");
    assert!(
        pause["why"]
            .as_str()
            .expect("why")
            .contains("it broke the build")
    );
    assert_eq!(pause["can"], json!(["rewind", "deny"]));
    let inspected = world.ok(["inspect", "p1"]).stdout;
    for shown in ["it broke the build", "-TWO", "+two", "a.txt"] {
        assert!(inspected.contains(shown), "{inspected}");
    }
    assert_eq!(world.read("a.txt"), NOW);
    let said = world.ok(["resume", "p1"]);
    // the command ends once it is carried out
    assert_eq!(world.read("a.txt"), REWOUND, "{said}");
    let result = result(&mut client, id);
    let document = &result["structuredContent"];
    assert_eq!(document["state"], "applied", "{document:#}");
    assert_eq!(document["proposal"], "p1");
    let operation = document["result"]["operation"].as_str().expect("an id");
    let log = world.json(["oplog"]);
    assert_eq!(log["operations"][0]["id"], operation);
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("The user accepted it"), "{text}");
    nothing_waits(&world);
    world.ok(["undo"]);
    assert_eq!(world.read("a.txt"), NOW);
}

/// The same rewind by the command line gives the same files.
#[test]
fn a_proposal_is_the_rewind_of_the_command_line() {
    let by_command = recorded();
    by_command.ok(["rewind", "t1", "--yes"]);
    assert_eq!(by_command.read("a.txt"), REWOUND);
    for arguments in [
        json!({ "rev": "t1", "exact": true }),
        json!({ "rev": "t1" }),
    ] {
        let world = recorded();
        let mut client = PlainClient::begun(&world);
        let plan = client.call("propose_rewind", &json!({ "rev": "t1", "dry_run": true }));
        assert_eq!(plan["state"], "planned");
        let dry = world.json(["rewind", "t1", "--dry-run"]);
        for field in ["actions", "plan", "conflicts", "takes", "own_edits"] {
            // an answer for a model leaves out what is empty
            match &dry[field] {
                Value::Array(all) if all.is_empty() => {
                    assert_eq!(plan["plan"][field], Value::Null, "{field}");
                }
                full => tools::within(&plan["plan"][field], full, field),
            }
        }
        nothing_waits(&world);
        let is_exact = arguments["exact"] == true;
        let (id, _) = proposed(&world, &mut client, &arguments);
        world.ok(["resume"]);
        result(&mut client, id);
        let expected = if is_exact {
            "one\ntwo\nthree\n"
        } else {
            REWOUND
        };
        assert_eq!(world.read("a.txt"), expected);
    }
}

/// A person denies: nothing changes, and the model gets the reason.
#[test]
fn a_denied_proposal_changes_nothing() {
    let world = recorded();
    let mut client = PlainClient::begun(&world);
    let (id, _) = proposed(&world, &mut client, &json!({}));
    world.ok(["deny", "p1", "-m", "keep it, fix the test"]);
    let result = result(&mut client, id);
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"]["state"], "denied");
    assert_eq!(
        result["structuredContent"]["reason"],
        "keep it, fix the test"
    );
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("keep it, fix the test"), "{text}");
    assert_eq!(world.read("a.txt"), NOW);
    nothing_waits(&world);
    // it can do nothing else
    let (_, pause) = proposed(&world, &mut client, &json!({ "reason": "again" }));
    let name = pause["id"].as_str().expect("an id");
    for command in ["skip", "back", "stop"] {
        let refused = world.run([command, name]);
        assert_ne!(refused.code, 0, "{refused}");
    }
    let repl = world.run(["repl", name, "-e", ".tool"]);
    assert!(repl.stderr.contains("proposed rewind"), "{repl}");
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
}

/// A call that ends before the decision names the proposal; the next call has the outcome.
#[test]
fn waiting_goes_on_with_the_next_call() {
    let world = recorded();
    let client = LibraryClient::start(&world);
    let waits = client.ok("propose_rewind", &json!({ "wait": 0 }));
    assert_eq!(waits.document["state"], "waiting");
    assert_eq!(waits.document["seen"], false);
    assert!(waits.text.contains("backstitch pauses"), "{}", waits.text);
    let proposal = waits.document["proposal"]
        .as_str()
        .expect("an id")
        .to_owned();
    // the same plan again is the same proposal
    let again = client.ok("propose_rewind", &json!({ "wait": 0 }));
    assert_eq!(again.document["proposal"], *proposal);
    let more = client.ok(
        "propose_rewind",
        &json!({ "proposal": proposal, "wait": 0 }),
    );
    assert_eq!(more.document["state"], "waiting");
    world.ok(["resume", &proposal]);
    assert_eq!(world.read("a.txt"), REWOUND);
    // the agent was not there, and asks later; a second time, too
    for _ in 0..2 {
        let done = client.ok("propose_rewind", &json!({ "proposal": proposal }));
        assert_eq!(done.document["state"], "applied");
    }
    let nothing = client.ok("propose_rewind", &json!({ "rev": "t1" }));
    assert_eq!(nothing.document["state"], "nothing");
    client.end();
    nothing_waits(&world);
}

/// The files changed since the plan: the rewind is refused, as `rewind --plan` is; the user and the model are informed.
#[test]
fn a_stale_proposal_is_refused() {
    let world = recorded();
    let mut client = PlainClient::begun(&world);
    let (id, _) = proposed(&world, &mut client, &json!({}));
    world.write("a.txt", "one\nTWO!\nthree\nmine\n");
    let refused = world.run(["resume", "p1"]).expect_code(1);
    assert!(refused.stderr.contains("nothing was changed"), "{refused}");
    assert_eq!(world.read("a.txt"), "one\nTWO!\nthree\nmine\n");
    let result = result(&mut client, id);
    assert_eq!(result["isError"], true, "{result:#}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("propose_rewind` again"), "{text}");
    nothing_waits(&world);
}

/// Conflicts are reported before anybody is asked.
#[test]
fn conflicts_are_told_at_once() {
    let world = recorded();
    world.write("a.txt", "one\nTWO and mine\nthree\n");
    let client = LibraryClient::start(&world);
    let said = client.call("propose_rewind", &json!({}));
    assert!(said.is_error);
    assert_eq!(said.document["error"]["kind"], "conflict");
    assert_eq!(said.document["plan"]["conflicts"][0]["path"], "a.txt");
    assert!(said.text.contains("on_conflict"), "{}", said.text);
    nothing_waits(&world);
    let waits = client.ok(
        "propose_rewind",
        &json!({ "on_conflict": "target", "wait": 0 }),
    );
    world.ok([
        "resume",
        waits.document["proposal"].as_str().expect("an id"),
    ]);
    assert!(world.read("a.txt").contains("two\n"));
    client.end();
}

/// A cancelled call withdraws its proposal.
#[test]
fn a_cancelled_call_withdraws_its_proposal() {
    let world = recorded();
    let mut client = PlainClient::begun(&world);
    let mut watcher = Watcher::start(&world);
    let id = client.send_call("propose_rewind", &json!({}));
    watcher.until("held");
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id, "reason": "esc" },
    });
    client.write(cancel.to_string());
    watcher.until("ended");
    nothing_waits(&world);
    let late = world.run(["resume", "p1"]);
    assert_ne!(late.code, 0, "{late}");
    assert_eq!(world.read("a.txt"), NOW);
    // the server continues
    assert!(client.call("log", &json!({}))["checkpoints"].is_array());
}

/// A client that goes away withdraws its proposals, whether it waits for them or not, and the server ends.
#[test]
fn a_client_that_goes_withdraws_its_proposals() {
    for waits in [true, false] {
        let world = recorded();
        let mut client = PlainClient::begun(&world);
        if waits {
            proposed(&world, &mut client, &json!({}));
        } else {
            client.call("propose_rewind", &json!({ "wait": 0 }));
        }
        let (code, _) = client.close();
        assert_eq!(code, Some(0));
        nothing_waits(&world);
        let all = world.json(["pauses", "--all"]);
        assert_eq!(all["pauses"][0]["state"], "ended", "{all:#}");
        assert_eq!(world.read("a.txt"), NOW);
        let doctor = world.run(["doctor"]).stdout;
        assert!(doctor.contains("0 calls are held"), "{doctor}");
    }
}

/// A server that is killed leaves no pause that nobody can end.
#[test]
fn a_killed_server_leaves_nothing_held() {
    let world = recorded();
    let mut client = PlainClient::begun(&world);
    proposed(&world, &mut client, &json!({}));
    client.kill();
    nothing_waits(&world);
    let all = world.json(["pauses", "--all"]);
    assert_eq!(all["pauses"][0]["state"], "lost", "{all:#}");
    let late = world.run(["resume", "p1"]);
    assert_ne!(late.code, 0, "{late}");
    assert_eq!(world.read("a.txt"), NOW);
    // the next server asks anew
    let mut client = PlainClient::begun(&world);
    let (id, _) = proposed(&world, &mut client, &json!({}));
    world.ok(["resume"]);
    assert_eq!(
        result(&mut client, id)["structuredContent"]["state"],
        "applied"
    );
}

/// After the time of `pause.timeout` a proposal is denied, and the model learns that nobody answered.
#[test]
fn nobody_answers_in_time() {
    let world = recorded();
    world.configure("[pause]\ntimeout = 1\n");
    let client = LibraryClient::start(&world);
    let said = client.ok("propose_rewind", &json!({}));
    assert_eq!(said.document["state"], "denied");
    assert_eq!(said.document["by"], "time limit");
    assert_eq!(world.read("a.txt"), NOW);
    client.end();
}

/// At most a few proposals of one client wait at the same time.
#[test]
fn proposals_are_bounded() {
    let world = World::committed(&[("a.txt", "0\n")]);
    let mut agent = world.agent();
    agent.session_start();
    for turn in 1..=6 {
        agent.prompt(&format!("turn {turn}"));
        agent.write("a.txt", &format!("{turn}\n"));
        agent.stop();
    }
    let client = LibraryClient::start(&world);
    let propose = |turn: usize| json!({ "rev": format!("t{turn}"), "wait": 0 });
    for turn in 1..=4 {
        client.ok("propose_rewind", &propose(turn));
    }
    let (kind, text) = client.fails("propose_rewind", &propose(5));
    assert_eq!(kind, "refused");
    assert!(text.contains("p1, p2, p3, p4"), "{text}");
    world.ok(["deny", "p1", "-m", "no"]);
    // the server hears of it a moment after the command has ended
    let denied = client.ok("propose_rewind", &json!({ "proposal": "p1" }));
    assert_eq!(denied.document["state"], "denied");
    client.ok("propose_rewind", &propose(5));
    client.end();
    nothing_waits(&world);
}

/// The user's edits while a proposal waits are the user's, although the agent's hooks tell of a call at that time; the rewind
/// is no work of the agent either.
#[test]
fn edits_beside_a_waiting_proposal_are_the_users() {
    let world = recorded();
    world.write("b.txt", "b\n");
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("undo that");
    let call = agent.pre("mcp__backstitch__propose_rewind", json!({ "rev": "t1" }));
    let mut client = PlainClient::begun(&world);
    let (id, _) = proposed(&world, &mut client, &json!({ "rev": "t1" }));
    world.write("b.txt", "b\nmine\n");
    world.ok(["resume"]);
    let document = result(&mut client, id)["structuredContent"].clone();
    assert_eq!(document["state"], "applied", "{document:#}");
    agent.post(&call, &json!([]));
    agent.stop();
    let blame = world.json(["blame", "b.txt"]);
    assert_eq!(blame["lines"][1]["by"], "user", "{blame:#}");
    let steps = world.json(["log", "--kind", "step"]);
    let steps = steps["checkpoints"].as_array().expect("steps");
    assert!(
        steps
            .iter()
            .all(|step| step["tool"] != "mcp__backstitch__propose_rewind"),
        "{steps:#?}"
    );
    assert_eq!(world.read("a.txt"), REWOUND);
}

/// A rewind that an agent proposes is carried out or denied, and nothing else: in one place for all front ends.
#[test]
fn a_proposed_rewind_takes_two_decisions() {
    let world = recorded();
    let mut proposer = PlainClient::begun(&world);
    let arguments = json!({ "reason": "it broke the build" });
    let (_, pause) = proposed(&world, &mut proposer, &arguments);
    assert_eq!(pause["can"], json!(["rewind", "deny"]), "{pause:#}");
    assert_eq!(pause["by"], "proposal");
    assert_eq!(pause["files"][0]["path"], "a.txt", "{pause:#}");
    let shown = world.ok(["inspect"]).stdout;
    for words in ["its reason: it broke the build", "M a.txt", "+two"] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
    assert!(!shown.contains("arguments"), "{shown}");
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let details = client.ok("backstitch/pause", json!({ "pause": "p1" }));
    assert_eq!(
        details["plan"]["reason"], "it broke the build",
        "{details:#}"
    );
    let turn = details["plan"]["turns"][0]["turn"]
        .as_str()
        .expect("a turn");
    assert!(shown.contains(&format!("{turn} ")), "{shown}");
    for command in [
        &["step"][..],
        &["step", "turn"],
        &["skip"],
        &["stop"],
        &["back"],
        &["skip", "--value", "1"],
    ] {
        let refused = world.run(command.iter().copied());
        assert_ne!(refused.code, 0, "{refused}");
    }
    for (command, more) in [
        ("backstitch.step", json!({})),
        ("backstitch.skip", json!({})),
        ("backstitch.stop", json!({})),
        ("backstitch.back", json!({})),
        ("backstitch.resume", json!({ "input": { "rev": "t1" } })),
    ] {
        let mut argument = more;
        argument["pause"] = json!("p1");
        let asked = json!({ "command": command, "arguments": [argument] });
        client.fails("workspace/executeCommand", asked);
    }
    client.fails("backstitch/draft", json!({ "pause": "p1", "input": {} }));
    assert_eq!(world.read("a.txt"), NOW, "nothing was carried out");
    world.ok(["resume"]);
    assert_eq!(world.read("a.txt"), REWOUND);
    client.leave();
}

/// Ctrl-C ends `debug` while a decision is carried out, also after its REPL was used. The decision stands.
#[test]
fn an_interrupt_ends_debug_while_a_proposal_is_carried_out() {
    let world = recorded();
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let editing = began(&world);
    let input = edit(&world, "a.txt", "one", "1");
    let hook = HeldHook::start(&world, &before(&editing, "c1", "Edit", &input), 600);
    let mut debug = screen::Editor::start(&world, "debug-interrupted", binary::path(), &["debug"]);
    debug.shows("(p1)");
    debug.keys("!echo here\r");
    debug.shows("\nhere");
    debug.keys("c");
    hook.answer();
    let mut agent = PlainClient::begun(&world);
    let id = agent.send_call("propose_rewind", &json!({ "reason": "wrong word" }));
    debug.shows("(p2)");
    // the server cannot carry it out
    agent.stop(&world);
    debug.keys("c");
    let until = Instant::now() + EVENT_TIMEOUT;
    let state = || world.json(["inspect", "p2"])["pause"]["state"].clone();
    while state() != "decided" {
        assert!(Instant::now() < until, "{}", debug.screen());
        std::thread::yield_now();
    }
    debug.keys("\x03");
    debug.shows("The decision on p2 stands. `backstitch pauses --all` shows its outcome.");
    debug.ends();
    agent.signal("-CONT");
    let answer = result(&mut agent, id);
    assert_eq!(answer["structuredContent"]["state"], "applied");
}
