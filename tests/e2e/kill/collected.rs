//! `gc` next to working agents, killed again and again: held checkpoints are there byte for byte, and an unfinished
//! run does not block the next one.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{Killer, Kind};
use crate::support::agent::Agent;
use crate::support::rng::{Rng, cases};
use crate::support::{Over, World};

const AGENTS: usize = 8;
/// More than held checkpoints take: an empty store, the newest turn of each agent, and the files at the end.
const LIMIT: &str = "6000000";

/// Text of a file at a tag.
type Kept = BTreeMap<(String, String), String>;

/// An agent writes its own file, and tags some of its checkpoints.
fn work(world: &World, agent: &mut Agent<'_>, name: &str, over: &AtomicBool, kept: &Mutex<Kept>) {
    let path = format!("{name}.txt");
    for n in 0_u64.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        if n % 4 == 0 {
            agent.prompt(&format!("{name} {n}"));
        }
        let noise = Rng::new(n * 31 + name.len() as u64).bytes(3000);
        let text = format!("{name} wrote {n}\n{noise:x?}\n");
        agent.write(&path, &text);
        if n % 25 == 3 {
            let tag = format!("{name}-{n}");
            world.ok(["tag", &tag]);
            let mut kept = kept.lock().expect("no panic");
            kept.insert((tag, path.clone()), text);
        }
        if n % 12 == 2 && name == "agent-0" {
            // enough data to go to a pack, of which only one file is held
            agent.bash(&format!(
                "for i in 1 2 3 4 5 6; do head -c 150000 /dev/urandom | od -An -tx1 > made-{n}-$i.txt; done"
            ));
            agent.bash(&format!("rm made-{n}-[2-6].txt"));
            if n % 36 == 2 {
                let (tag, path) = (format!("made-{n}"), format!("made-{n}-1.txt"));
                world.ok(["tag", &tag]);
                let text = world.read(&path);
                kept.lock().expect("no panic").insert((tag, path), text);
            }
            agent.bash(&format!("rm made-{n}-1.txt"));
        }
        if n % 4 == 3 {
            agent.stop();
        }
    }
}

fn run(kind: Kind, kills: u64) {
    let seed = Rng::seed("BACKSTITCH_SEED", 11);
    println!("BACKSTITCH_SEED={seed}");
    let mut rng = Rng::new(seed);
    let world = World::in_memory();
    world.git_ok(["init", "-q", "-b", "main"]);
    world.write("README", "together\n");
    let mut agents: Vec<Agent<'_>> = (0..AGENTS).map(|_| world.agent()).collect();
    agents[0].prompt("the first");
    let (over, kept) = (AtomicBool::new(false), Mutex::new(Kept::new()));
    let mut killer = Killer::new(kind);
    let (mut whole, mut runs) = (0, 0);
    thread::scope(|scope| {
        let (world, over, kept) = (&world, &over, &kept);
        for (n, agent) in agents.iter_mut().enumerate() {
            scope.spawn(move || work(world, agent, &format!("agent-{n}"), over, kept));
        }
        let _over = Over(over);
        while killer.kills < kills {
            runs += 1;
            assert!(runs < kills * 20, "{} of {runs} were killed", killer.kills);
            let mut gc = world.backstitch();
            gc.args(["gc", "--keep", "20", "--max-bytes", LIMIT]);
            whole += u64::from(!killer.run(&mut rng, "gc", &mut gc, ""));
            if killer.kills.is_multiple_of(20) {
                world.ok(["verify"]);
            }
        }
    });
    println!("{} kills, {whole} ended by themselves", killer.kills);
    let done = world.json(["gc", "--keep", "20", "--max-bytes", LIMIT]);
    world.ok(["verify"]);
    let kept = kept.into_inner().expect("no panic");
    for ((tag, path), text) in &kept {
        assert!(
            world.ok(["cat", tag, path]).stdout == *text,
            "{path} at {tag} is not as it was"
        );
    }
    assert!(done["gone"].is_u64() && !kept.is_empty(), "{done}");
    // and the whole tree can be read: all agents' work up to then
    for (at, ((tag, path), text)) in kept.iter().enumerate().take(8) {
        let into = world.home.join(format!("tree-{at}"));
        let name = into.to_str().expect("a text");
        world.ok(["materialize", "--into", name, tag]);
        let there = std::fs::read_to_string(into.join(path)).expect("the file");
        assert!(there == *text, "{path} is not as at {tag}");
    }
    // nothing is held any longer: the store gets below its limit
    for (tag, _) in kept.keys() {
        world.ok(["tag", "--delete", tag]);
    }
    for agent in &mut agents {
        agent.session_end();
    }
    let done = world.json(["gc", "--keep", "20", "--max-bytes", LIMIT]);
    assert_eq!(done["over_limit"], serde_json::json!(false), "{done}");
    let left = world.json(["log", "--all"]);
    let left = left["checkpoints"].as_array().map_or(0, Vec::len);
    assert!(left < 140, "{left} checkpoints");
    world.ok(["verify"]);
    // the rest can be rewound and undone; the agents' last calls alone may have changed nothing in the end
    world.write("README", "at the end\n");
    let before = world.tree();
    world.ok(["rewind", "@~3", "--exact"]);
    world.ok(["undo"]);
    crate::support::tree::assert_same(&world.tree(), &before);
}

/// U-20, S2-R5: killed at every fault point.
#[test]
fn gc_killed_at_any_point_beside_agents_loses_nothing() {
    run(Kind::Points, cases("BACKSTITCH_GC_KILLS", 10, 100));
}

/// U-20, S2-R5: killed at any moment.
#[test]
fn gc_killed_at_any_moment_beside_agents_loses_nothing() {
    run(Kind::Clock, cases("BACKSTITCH_GC_KILLS", 10, 100));
}
