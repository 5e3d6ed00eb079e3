//! Held calls with something that happens at a random moment: deaths, decisions by several clients at once, damage, edits.
//! None runs unasked but those that are said to, each of these is reported, and none waits for ever.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{HeldHook, after, before, began, decision, edit};
use crate::lsp::client::{Client, Editor};
use crate::nvim::rig::{self, Neovim};
use crate::robustness::broken_stores::Small;
use crate::support::World;
use crate::support::agent::Agent;
use crate::support::limits::EVENT_TIMEOUT;
use crate::support::rng::{self, Rng};

const FILE: &str = "a.txt";

/// Something that happens while a call is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Decide,
    DecideTwice,
    KillHook,
    KillAgent,
    KillWatcher,
    RemoveBreakpoint,
    EditFile,
    Rewind,
    Timeout,
    Unwritable,
    KillServer,
    FullDisk,
    ThreeFaces,
    KillEditor,
}

const EVENTS: [Event; 14] = [
    Event::Decide,
    Event::DecideTwice,
    Event::KillHook,
    Event::KillAgent,
    Event::KillWatcher,
    Event::RemoveBreakpoint,
    Event::EditFile,
    Event::Rewind,
    Event::Timeout,
    Event::Unwritable,
    Event::KillServer,
    Event::FullDisk,
    Event::ThreeFaces,
    Event::KillEditor,
];

/// Waits for the state of a held call, without a watcher that would acknowledge it.
fn until(world: &World, state: &str) -> Value {
    let deadline = std::time::Instant::now() + EVENT_TIMEOUT;
    loop {
        let all = world.json(["pauses", "--all"]);
        let newest = all["pauses"].as_array().and_then(|all| all.last().cloned());
        if let Some(newest) = newest.filter(|one| one["state"] == state) {
            return newest;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "never {state}: {all:#}"
        );
    }
}

/// True if the call continues: the agent was told nothing.
fn goes_on(answer: &Value) -> bool {
    decision(answer).is_none()
}

/// An editor that shows held calls.
fn panels(world: &World) -> Client<'_> {
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(world, Editor::Vscode, &own);
    client.open(FILE);
    client
}

fn sees_held(client: &mut Client<'_>) {
    let deadline = std::time::Instant::now() + EVENT_TIMEOUT;
    loop {
        let there = client.ok("backstitch/pauses", json!({}));
        if there["pauses"][0]["state"] == "held" {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{there:#}");
    }
}

fn run_call(world: &World, agent: &Agent<'_>, id: &str, input: &Value) {
    let text = world.read(FILE);
    world.write(FILE, text.replace("one", "1"));
    let response = json!({"filePath": world.path(FILE), "oldString": "one", "newString": "1",
        "originalFile": text, "structuredPatch": [], "userModified": false, "replaceAll": false});
    world
        .hook(&after(agent, id, "Edit", input, &response))
        .expect_code(0);
}

fn play(rng: &mut Rng, event: Event) {
    let files = [(FILE, "one\ntwo\nthree\n")];
    let world = match event {
        Event::KillEditor => rig::world(&files),
        _ => World::committed(&files),
    };
    let mut small = None;
    if event == Event::FullDisk {
        let name = "control::generated::no_call_slips_and_none_hangs";
        small = Small::mount(name, &world.state.join("backstitch"));
        if small.is_none() {
            return;
        }
    }
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    if event == Event::Timeout {
        world.configure("[pause]\ntimeout = 1\n");
    }
    let input = edit(&world, FILE, "one", "1");
    let mut hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    // a moment of the hook's work, or of the wait
    thread::sleep(Duration::from_millis(rng.below(40) as u64));
    let mut slips = false;
    match event {
        Event::KillHook => {
            hook.kill();
            world.json(["pauses"]);
            // the guard of the real entry denies; without it the agent runs the call
            run_call(&world, &agent, "c1", &input);
            let all = world.json(["pauses", "--all"]);
            let all = all["pauses"].as_array().expect("pauses");
            // it may have died before it held anything
            let states: Vec<&Value> = all.iter().map(|one| &one["state"]).collect();
            assert_eq!(states, ["slipped"], "{all:#?}");
            check(&world);
            return;
        }
        Event::KillAgent => {
            until(&world, "held");
            drop(hook.take_stdout());
            until(&world, "ended");
            hook.end();
            check(&world);
            return;
        }
        Event::Unwritable => {
            // before the next call: this one is held already, or is denied
            until(&world, "held");
            world.ok(["skip"]);
            assert!(!goes_on(&hook.answer()));
            let place = world.store().join("control.db");
            std::fs::remove_file(world.store().join("control.db-wal")).ok();
            std::fs::remove_file(world.store().join("control.db-shm")).ok();
            std::fs::write(
                &place,
                "not a database, but long enough to be read as one".repeat(30),
            )
            .expect("written");
            agent.let_complain();
            let second = HeldHook::start(&world, &before(&agent, "c2", "Edit", &input), 600);
            assert_eq!(decision(&second.answer()), Some("deny"));
            return;
        }
        Event::Decide => {
            until(&world, "held");
            let (command, runs) = *rng.pick(&[
                ("resume", true),
                ("skip", false),
                ("stop", false),
                ("step", true),
            ]);
            world.ok([command]);
            slips = runs;
        }
        Event::DecideTwice => {
            until(&world, "held");
            let (sender, outcomes) = channel();
            thread::scope(|scope| {
                for command in ["resume", "skip"] {
                    let sender = sender.clone();
                    let world = &world;
                    scope.spawn(move || {
                        let output = world.run([command]);
                        sender.send((command, output.code)).expect("sent");
                    });
                }
            });
            let won: Vec<&str> = outcomes
                .try_iter()
                .filter(|(_, code)| *code == 0)
                .map(|(command, _)| command)
                .collect();
            assert_eq!(won.len(), 1, "the first decision counts");
            slips = won == ["resume"];
        }
        Event::KillWatcher => {
            let watcher = super::Watcher::start(&world);
            until(&world, "held");
            drop(watcher);
            world.ok(["skip"]);
        }
        Event::RemoveBreakpoint => {
            until(&world, "held");
            world.ok(["breakpoint", "clear"]);
            assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
            world.ok(["skip"]);
        }
        Event::EditFile => {
            until(&world, "held");
            world.write(FILE, "one\ntwo\nthree\nmine\n");
            world.ok(["resume"]);
            slips = true;
        }
        Event::Rewind => {
            until(&world, "held");
            world.write("other.txt", "mine\n");
            world.ok(["checkpoint"]);
            world.ok(["rewind", "@~1", "--exact", "--yes"]);
            world.ok(["skip"]);
        }
        Event::Timeout => {
            until(&world, "parked");
        }
        Event::KillServer => {
            let mut client = panels(&world);
            sees_held(&mut client);
            client.kill();
            assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
            // the next one shows it, and decides
            let mut next = panels(&world);
            sees_held(&mut next);
            next.command("backstitch.skip", json!({ "pause": "p1" }));
            next.leave();
        }
        Event::KillEditor => {
            until(&world, "held");
            if let Some(mut nvim) = Neovim::start(&world, "plugin-held", &[FILE]) {
                nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
                // it dies before its decision, during it or after it
                nvim.ex("Backstitch deny no");
                thread::sleep(Duration::from_millis(rng.below(60) as u64));
            }
            // refused where the editor's decision counts
            world.run(["skip"]);
        }
        Event::FullDisk => {
            until(&world, "held");
            let small = small.as_ref().expect("mounted");
            small.fill();
            let refused = world.run(["skip"]);
            if refused.code != 0 {
                assert!(refused.stderr.contains("full"), "{refused}");
                assert!(!hook.has_ended(), "{refused}");
            }
            small.empty();
            if refused.code != 0 {
                world.ok(["skip"]);
            }
        }
        Event::ThreeFaces => {
            until(&world, "held");
            let wins = thread::scope(|scope| {
                let world = &world;
                let editor = |command: &'static str| {
                    scope.spawn(move || {
                        let mut client = panels(world);
                        let asked = json!({ "command": command, "arguments": [{ "pause": "p1" }] });
                        let id = client.begin("workspace/executeCommand", asked);
                        let won = client.response(id)["error"].is_null();
                        client.leave();
                        (command, won)
                    })
                };
                let editors = [editor("backstitch.resume"), editor("backstitch.skip")];
                let terminal = world.run(["deny", "-m", "no"]).code == 0;
                let mut all: Vec<_> = editors
                    .into_iter()
                    .map(|editor| editor.join().expect("answered"))
                    .collect();
                all.push(("deny", terminal));
                all.retain(|(_, won)| *won);
                all
            });
            assert_eq!(wins.len(), 1, "the first decision counts: {wins:?}");
            slips = wins[0].0 == "backstitch.resume";
        }
    }
    let answer = hook.answer();
    assert_eq!(goes_on(&answer), slips, "{event:?}: {answer:#}");
    if slips {
        run_call(&world, &agent, "c1", &input);
    }
    let all = world.json(["pauses", "--all"]);
    let all = all["pauses"].as_array().expect("pauses");
    assert!(
        all.iter()
            .all(|one| one["state"] != "slipped" && one["state"] != "held"),
        "{event:?}: {all:#?}"
    );
    check(&world);
}

/// The store and the database of breakpoints are intact, and nothing is left of the hold.
fn check(world: &World) {
    let verified = world.json(["verify"]);
    assert_eq!(verified["ok"], true, "{verified:#}");
    let holds = world.store().join("holds");
    let locks = std::fs::read_dir(holds).map_or(0, Iterator::count);
    assert!(locks <= 1, "{locks} locks");
}

/// Whatever happens while a call is held, it does not run unasked, or is reported, and does not wait for ever.
#[test]
fn no_call_slips_and_none_hangs() {
    let seed = Rng::seed("BACKSTITCH_HELD_SEED", 20_261_125);
    let mut rng = Rng::new(seed);
    let cases = rng::cases("BACKSTITCH_HELD_CASES", 20, 300);
    for case in 0..cases {
        let event = EVENTS[usize::try_from(case).expect("a small number") % EVENTS.len()];
        eprintln!("case {case}: {event:?}");
        play(&mut rng, event);
    }
}
