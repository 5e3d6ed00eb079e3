//! Rewinds while agents work.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{checkpoints, quiet};
use crate::support::agent::Agent;
use crate::support::limits::at_most;
use crate::support::{Over, World};

/// U-20: rewinds while agents work: every edit is in the history, and no process hangs.
#[test]
fn rewinds_beside_agents_lose_no_edit() {
    let world = World::committed(&[("README", "together\n")]);
    let mut agents: Vec<Agent<'_>> = (0..3).map(|_| world.agent()).collect();
    for agent in &mut agents {
        quiet(agent.prompt("work"));
    }
    let (done, rewound) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (world, agents) = (&world, &agents);
    let written = thread::scope(|scope| {
        let workers: Vec<_> = agents
            .iter()
            .enumerate()
            .map(|(n, agent)| scope.spawn(move || write_and_write(world, agent, n)))
            .collect();
        let (done, rewound) = (&done, &rewound);
        scope.spawn(move || {
            for command in [
                &["rewind", "t1"][..],
                &["undo"],
                &["rewind", "t2"],
                &["redo"],
            ]
            .iter()
            .cycle()
            {
                let output = world.run(*command);
                assert!(output.code < 2, "{output}");
                rewound.fetch_add(usize::from(output.code == 0), Ordering::Relaxed);
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let written: Vec<_> = workers
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        done.store(true, Ordering::Relaxed);
        written
            .into_iter()
            .flat_map(|w| w.expect("an agent"))
            .collect::<Vec<_>>()
    });
    let rewound = rewound.into_inner();
    println!("{rewound} rewinds beside {} edits", written.len());
    assert!(rewound >= 3, "{rewound} rewinds got through");
    world.ok(["verify"]);
    let status = world.json(["status"]);
    assert_eq!(
        (&status["open_operation"], &status["gaps"]),
        (&Value::Null, &json!([]))
    );
    let entries = checkpoints(world);
    let found: Vec<(String, String)> = entries
        .iter()
        .filter(|c| c["kind"] != "rewind")
        .flat_map(|c| {
            let paths = c["changes"].as_array().expect("a list").iter();
            paths.map(|change| {
                (
                    c["id"].as_str().expect("an id").to_owned(),
                    change["path"].as_str().expect("a path").to_owned(),
                )
            })
        })
        .collect();
    let contents: Vec<String> = found
        .iter()
        .map(|(id, path)| world.run(["cat", id, path]).stdout)
        .collect();
    for text in &written {
        assert!(
            contents.contains(text),
            "{text:?} is nowhere in the history"
        );
    }
    assert!(
        !world
            .tree()
            .keys()
            .any(|p| p.to_string_lossy().contains(".backstitch"))
    );
}

/// Writes whole files, one after the other. Returns their contents.
fn write_and_write(world: &World, agent: &Agent<'_>, n: usize) -> Vec<String> {
    let mut written = Vec::new();
    for round in 0..30 {
        let (path, text) = (
            format!("w{n}-{}.txt", round % 3),
            format!("agent {n} round {round}\n"),
        );
        let call = agent.pre_write(&path, &text);
        quiet(call.answer.clone());
        fs::write(world.path(&path), &text).expect("a file");
        written.push(text);
        quiet(agent.post(&call, &json!({})));
    }
    written
}

/// U-20: busy agents do not block a rewind, and it does not block them.
#[test]
fn a_rewind_gets_its_turn_among_eight_busy_agents() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mut agents: Vec<Agent<'_>> = (0..8).map(|_| world.agent()).collect();
    for agent in &mut agents {
        quiet(agent.prompt("work"));
    }
    agents[0].write("a.txt", "two\n");
    let done = AtomicBool::new(false);
    let (world, agents, done) = (&world, &agents, &done);
    thread::scope(|scope| {
        for agent in agents {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let call = agent.pre_bash("true");
                    quiet(call.answer.clone());
                    quiet(agent.post(&call, &json!({})));
                }
            });
        }
        let outputs: Vec<_> = [
            ["rewind", "t1"],
            ["undo", "--yes"],
            ["redo", "--yes"],
            ["rewind", "t1"],
        ]
        .iter()
        .map(|command| {
            let began = Instant::now();
            (world.run(command), began.elapsed())
        })
        .collect();
        done.store(true, Ordering::Relaxed);
        for (output, waited) in outputs {
            println!("{waited:?} {}", output.command);
            assert_eq!(output.code, 0, "{output}");
            assert!(
                waited < at_most(Duration::from_secs(8)),
                "{waited:?}: {output}"
            );
        }
    });
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(["verify"]);
}

/// A lock is not released: the agent continues after two seconds, and the gap is shown.
#[test]
fn a_hook_waits_two_seconds_for_a_rewind_and_then_leaves_a_gap() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mut agent = world.agent();
    agent.prompt("begin");
    let lock = File::options()
        .read(true)
        .write(true)
        .open(world.store().join("restore.lock"))
        .expect("a lock");
    lock.lock().expect("the lock");
    agent.let_complain();
    let began = Instant::now();
    let input = json!({"file_path": world.path("b.txt"), "content": "two\n"});
    let fields = json!({"tool_name": "Write", "tool_input": input, "tool_use_id": "late"});
    let answer = world.hook(&agent.payload("PreToolUse", fields.clone()));
    let waited = began.elapsed();
    assert!(
        waited > Duration::from_millis(1500) && waited < at_most(Duration::from_secs(4)),
        "{waited:?}"
    );
    assert_eq!(
        (
            answer.code,
            answer.stdout.as_str(),
            answer.stderr.lines().count()
        ),
        (0, "", 1),
        "{answer}"
    );
    assert!(answer.stderr.contains("rewind"), "{answer}");
    let gaps = world.json(["status"])["gaps"].clone();
    assert!(
        gaps[0].as_str().is_some_and(|g| g.contains("rewind")),
        "{gaps}"
    );
    lock.unlock().expect("unlocked");
    world.write("b.txt", "two\n");
    quiet(world.hook(&agent.payload("PostToolUse", fields)));
    let log = checkpoints(&world);
    let gap = log
        .iter()
        .find(|c| c["coverage"]["failed"] == 1)
        .expect("a checkpoint that says so");
    assert!(
        gap["coverage"]["items"].to_string().contains("rewind"),
        "{gap:#}"
    );
    assert_eq!(world.json(["status"])["gaps"], json!([]));
    assert!(
        Path::new(&world.store())
            .join("gaps.log")
            .symlink_metadata()
            .is_err()
    );
}

/// A rewind and its undo are complete while `gc` squashes older turns again and again.
#[test]
fn rewinds_beside_gc_find_what_they_need() {
    let world = World::committed(&[("a.txt", "at first\n")]);
    world.ok(["init"]);
    let mut agent = world.agent();
    let over = AtomicBool::new(false);
    let gone = thread::scope(|scope| {
        let collector = scope.spawn(|| {
            let mut gone = 0;
            while !over.load(Ordering::Relaxed) {
                let done = world.json(["gc", "--keep", "5"]);
                gone += done["gone"].as_u64().expect("a number");
            }
            gone
        });
        let _over = Over(&over);
        let mut before = "at first\n".to_owned();
        for n in 1..=25 {
            let after = format!("turn {n}\n");
            agent.prompt(&after);
            for step in 0..4 {
                agent.write("a.txt", &format!("turn {n}, step {step}\n"));
            }
            agent.write("a.txt", &after);
            agent.stop();
            world.ok(["rewind", &format!("t{n}")]);
            assert_eq!(world.read("a.txt"), before);
            world.ok(["undo"]);
            assert_eq!(world.read("a.txt"), after);
            before = after;
        }
        over.store(true, Ordering::Relaxed);
        collector.join().expect("the collector")
    });
    assert!(gone > 20, "{gone} checkpoints went");
    world.ok(["verify"]);
}
