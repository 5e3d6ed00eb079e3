//! Concurrency in one workspace: agents, their subagents, and people at the command line.

mod rewinds;
mod scans;

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::agent::Agent;
use crate::support::{Output, World};

/// Asserts an empty output and exit status 0, as an agent expects of its hook.
#[track_caller]
fn quiet(output: Output) {
    let output = output.expect_code(0);
    assert!(
        output.stdout.is_empty() && output.stderr.is_empty(),
        "{output}"
    );
}

fn database(world: &World) -> Connection {
    Connection::open(world.store().join("store.db")).expect("the store")
}

fn checkpoints(world: &World) -> Vec<Value> {
    let log = world.json(["log", "--all"]);
    log["checkpoints"].as_array().expect("a list").clone()
}

/// Changes of these checkpoints as (path, origin, certainty of the session, certainty of the step).
fn changes(checkpoints: &[Value]) -> Vec<(String, String, String, String)> {
    let of = |v: &Value| v.as_str().unwrap_or("-").to_owned();
    let all = checkpoints
        .iter()
        .rev()
        .flat_map(|c| c["changes"].as_array().expect("a list"));
    all.map(|c| {
        let o = &c["origin"];
        (
            of(&c["path"]),
            of(&o["by"]),
            of(&o["session_certainty"]),
            of(&o["step_certainty"]),
        )
    })
    .collect()
}

/// Runs one thread of a session on its own files; every file's content names its writer.
fn work(world: &World, agent: &Agent<'_>, name: &str, events: usize) {
    for n in 0..events / 2 {
        let (path, text) = (
            format!("{name}/f{}.txt", n % 4),
            format!("{name} wrote {n}\n"),
        );
        if n % 5 == 4 {
            let call = agent.pre_bash(&format!(
                "mkdir -p {name} && echo {name} sh {n} > {name}/sh-{n}.txt"
            ));
            let output = agent.execute(&call);
            quiet(call.answer.clone());
            quiet(agent.post_bash(&call, &output));
        } else {
            let call = match n % 5 {
                3 if world.exists(&path) => agent.pre_edit(&path, "wrote", "edited"),
                _ => agent.pre_write(&path, &text),
            };
            let response = agent.apply(&call);
            quiet(call.answer.clone());
            quiet(agent.post(&call, &response));
        }
    }
}

/// S4-023: no event is lost, duplicated, or attributed to the wrong session.
#[test]
fn a_thousand_events_of_eight_agents_beside_two_people() {
    let world = World::committed(&[("README", "together\n")]);
    let mut sessions: Vec<Agent<'_>> = (0..4).map(|_| world.agent()).collect();
    for agent in &mut sessions {
        quiet(agent.session_start());
        quiet(agent.prompt("work"));
    }
    let subagents: Vec<Agent<'_>> = sessions.iter().map(Agent::subagent).collect();
    let done = AtomicBool::new(false);
    let (world, sessions) = (&world, &sessions);
    thread::scope(|scope| {
        let people = [
            vec![vec!["log", "--all"], vec!["status"], vec!["diff", "--stat"]],
            vec![
                vec!["checkpoint", "-m", "beside"],
                vec!["log", "-n", "5"],
                vec!["oplog"],
            ],
        ];
        for commands in people {
            let done = &done;
            scope.spawn(move || {
                for command in commands.iter().cycle() {
                    let output = world.run(command).expect_code(0);
                    assert_eq!(output.stderr, "", "{output}");
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        let workers: Vec<_> = sessions
            .iter()
            .chain(&subagents)
            .enumerate()
            .map(|(n, agent)| scope.spawn(move || work(world, agent, &directory_of(n), 124)))
            .collect();
        let results: Vec<_> = workers
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        done.store(true, Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok), "an agent failed");
    });
    for (agent, subagent) in sessions.iter().zip(&subagents) {
        quiet(subagent.subagent_stop());
        quiet(agent.stop());
    }
    world.ok(["verify"]);
    let sent: usize = sessions.iter().map(|a| a.sent().len()).sum();
    assert!(sent >= 1000, "{sent}");
    assert_eq!(events_in_order(world, sessions), sent);
    assert_attribution(world, sessions);
    let log = checkpoints(world);
    let kinds = |kind: &str| log.iter().filter(|c| c["kind"] == kind).count();
    assert_eq!(kinds("turn"), 4);
    let by_user = |c: &&(String, String, String, String)| c.1 == "user" && c.2 != "uncertain";
    let found = changes(&log);
    let by_user: Vec<_> = found.iter().filter(by_user).collect();
    assert!(by_user.is_empty(), "nobody but agents wrote: {by_user:?}");
    let status = world.json(["status"]);
    assert_eq!(
        (&status["open_calls"], &status["gaps"]),
        (&json!(0), &json!([])),
        "{status:#}"
    );
}

/// Directory of the n-th worker: sessions first, then their subagents.
fn directory_of(n: usize) -> String {
    format!("s{}-{}", n % 4, n / 4)
}

/// Asserts that every sent event is recorded once, in the order of its thread. Returns their number.
fn events_in_order(world: &World, sessions: &[Agent<'_>]) -> usize {
    let db = database(world);
    let mut total = 0;
    for agent in sessions {
        let mut sent: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for payload in agent.sent() {
            let of = |field: &str| payload[field].as_str().unwrap_or("").to_owned();
            let row = (of("hook_event_name"), of("tool_use_id"));
            sent.entry(of("agent_id")).or_default().push(row);
        }
        let mut recorded: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        let mut select = db
            .prepare(
                "SELECT COALESCE(e.subagent, ''), e.name, COALESCE(c.native, o.native, '')
                 FROM event e JOIN session s ON s.id = e.session LEFT JOIN call c ON c.id = e.call
                 LEFT JOIN call o ON o.opened_seq = e.seq WHERE s.native = ?1 ORDER BY e.seq",
            )
            .expect("a statement");
        let mut rows = select.query([agent.session()]).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            let of = |n: usize| row.get::<_, String>(n).expect("text");
            recorded.entry(of(0)).or_default().push((of(1), of(2)));
            total += 1;
        }
        assert_eq!(recorded, sent);
    }
    total
}

/// Asserts that changes attributed with certainty have the right session, and that changes of edit tools are certain.
fn assert_attribution(world: &World, sessions: &[Agent<'_>]) {
    let db = database(world);
    let mut select = db
        .prepare(
            "SELECT CAST(COALESCE(h.after_path, h.before_path) AS TEXT), COALESCE(s.native, ''), h.session_certainty,
               COALESCE(c.subagent, ''), COALESCE(c.tool, ''), h.step_certainty
             FROM change h LEFT JOIN session s ON s.id = h.session LEFT JOIN call c ON c.id = h.call",
        )
        .expect("a statement");
    let mut rows = select.query([]).expect("rows");
    let (mut sure, mut edits, mut all) = (0, 0, 0);
    while let Some(row) = rows.next().expect("a row") {
        let of = |n: usize| row.get::<_, String>(n).expect("text");
        let (path, session, subagent, tool) = (of(0), of(1), of(3), of(4));
        let (certainty, step): (i64, i64) =
            (row.get(2).expect("a number"), row.get(5).expect("a number"));
        let owner = (0..8)
            .find(|n| path.starts_with(&directory_of(*n)))
            .unwrap_or_else(|| panic!("{path}?"));
        let is_edit = !path.contains("/sh-");
        all += 1;
        edits += usize::from(is_edit);
        if certainty != 2 {
            assert_eq!(session, sessions[owner % 4].session(), "{path} by {tool}");
            sure += usize::from(is_edit);
        }
        if step == 0 {
            assert_eq!(
                !subagent.is_empty(),
                owner >= 4,
                "{path} by {tool} of {subagent:?}"
            );
            assert_eq!(tool == "Bash", !is_edit, "{path} by {tool}");
        }
    }
    println!("{all} changes, {edits} by edit tools, {sure} of them sure");
    // half-written files may be recorded, too
    assert!(all >= 8 * 62, "at least one change per call");
    let idle: i64 = db
        .query_row("SELECT COUNT(*) FROM change WHERE before_path IS after_path AND before_image IS after_image", [], |r| r.get(0))
        .expect("a number");
    assert_eq!(idle, 0, "changes that change nothing");
    assert!(sure * 10 >= edits * 9, "{sure} of {edits} edits are sure");
}

/// S4-025: concurrent first events create the store once.
#[test]
fn concurrent_first_events_make_one_store() {
    for _ in 0..8 {
        let world = World::committed(&[("a.txt", "one\n")]);
        let mut agents: Vec<Agent<'_>> = (0..8).map(|_| world.agent()).collect();
        let barrier = Barrier::new(agents.len());
        thread::scope(|scope| {
            for agent in &mut agents {
                scope.spawn(|| {
                    barrier.wait();
                    quiet(agent.prompt("go"));
                });
            }
        });
        let log = checkpoints(&world);
        let kinds = |kind: &str| log.iter().filter(|c| c["kind"] == kind).count();
        assert_eq!(
            (kinds("turn"), kinds("manual"), log.len()),
            (8, 1, 9),
            "{log:#?}"
        );
        world.ok(["verify"]);
    }
}

/// U-13: an event reported twice at once counts once.
#[test]
fn concurrent_duplicate_events_count_once() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mut agent = world.agent();
    agent.prompt("begin");
    let twice = |payload: &Value| {
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    barrier.wait();
                    quiet(world.hook(payload));
                });
            }
        });
    };
    for n in 0..10 {
        let mut prompt =
            agent.payload("UserPromptSubmit", json!({"prompt": format!("prompt {n}")}));
        prompt["prompt_id"] = json!(format!("prompt-{n}"));
        twice(&prompt);
        for tool in ["Write", "Bash"] {
            let path = format!("{tool}-{n}.txt");
            let (file, command) = (world.path(&path), format!("echo {n} > {path}"));
            let input = json!({"file_path": file, "content": format!("{n}\n"), "command": command});
            let fields = json!({"tool_name": tool, "tool_input": input, "tool_use_id": format!("{tool}-{n}")});
            twice(&agent.payload("PreToolUse", fields.clone()));
            world.write(&path, format!("{n}\n"));
            twice(&agent.payload("PostToolUse", fields));
        }
    }
    let log = checkpoints(&world);
    let kinds = |kind: &str| log.iter().filter(|c| c["kind"] == kind).count();
    assert_eq!(
        (kinds("turn"), kinds("step"), kinds("external")),
        (11, 20, 0)
    );
    let found = changes(&log);
    assert_eq!(found.len(), 20, "{found:#?}");
    assert!(
        found
            .iter()
            .all(|c| (&*c.1, &*c.2, &*c.3) == ("agent", "certain", "certain")),
        "{found:#?}"
    );
    let events: i64 = database(&world)
        .query_row(
            "SELECT COUNT(*) FROM event WHERE name LIKE '%ToolUse'",
            [],
            |r| r.get(0),
        )
        .expect("a number");
    assert_eq!(events, 40);
}

/// U-17: changes during overlapping shells of two sessions are uncertain; changes during one of them are its own.
#[test]
fn overlapping_shells_of_two_sessions_are_uncertain() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let (mut a, mut b) = (world.agent(), world.agent());
    a.prompt("a");
    b.prompt("b");
    let first = a.pre_bash("echo a > by-a.txt");
    let second = b.pre_bash("echo b > by-b.txt");
    a.post_bash(&first, &a.execute(&first));
    b.post_bash(&second, &b.execute(&second));
    a.bash("echo a > alone.txt");
    let found: BTreeMap<_, _> = changes(&checkpoints(&world))
        .into_iter()
        .map(|c| (c.0.clone(), (c.1, c.2)))
        .collect();
    let of = |path: &str| (found[path].0.as_str(), found[path].1.as_str());
    assert_eq!(of("by-a.txt").1, "uncertain");
    // the first had reported its end, and all its changes were recorded, before this file appeared
    assert_eq!(of("by-b.txt"), ("agent", "certain"));
    assert_eq!(of("alone.txt"), ("agent", "certain"));
    // uncertain changes stay, and are named
    let plan = world.json(["rewind", "t1", "--session", &a.session(), "--dry-run"]);
    assert!(plan["gaps"].to_string().contains("by-a.txt"), "{plan:#}");
    let session = a.session();
    world
        .run(["rewind", "t1", "--session", &session])
        .expect_code(1);
    assert!(world.exists("by-a.txt") && world.exists("by-b.txt") && !world.exists("alone.txt"));
}

/// U-17: overlapping shell calls of one session are one group, and are rewound together.
#[test]
fn overlapping_shells_of_one_session_are_one_group() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mut agent = world.agent();
    agent.prompt("two at once");
    let (first, second) = (
        agent.pre_bash("echo 1 > one.txt"),
        agent.pre_bash("echo 2 > two.txt"),
    );
    let outputs = [agent.execute(&first), agent.execute(&second)];
    agent.post_bash(&first, &outputs[0]);
    agent.post_bash(&second, &outputs[1]);
    agent.batch(&[&first, &second]);
    agent.bash("echo 3 > three.txt");
    let log = checkpoints(&world);
    for (path, by, session, step) in changes(&log) {
        let wanted = if path == "three.txt" {
            "certain"
        } else {
            "group"
        };
        assert_eq!(
            (&*by, &*session, &*step),
            ("agent", "certain", wanted),
            "{path}"
        );
    }
    let step = log
        .iter()
        .find(|c| c["changes"].to_string().contains("one.txt"))
        .expect("a step");
    world.ok(["revert", step["id"].as_str().expect("an id")]);
    assert!(!world.exists("one.txt") && !world.exists("two.txt") && world.exists("three.txt"));
}
