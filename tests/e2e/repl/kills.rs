//! A talk with a paused program, of which one side is killed at a random moment: the program, its bridge, or the terminal that
//! asks. No pause is left that nobody can end, and no answer is lost that somebody has got.

use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::python::{Program, world};
use crate::support::World;
use crate::support::limits::EVENT_TIMEOUT;
use crate::support::rng::{self, Rng};

const TALK: &str = r#"
import backstitch_debug as bs
print("before")
bs.on()
state = {"n": 100}
def main():
    bs.pause("here")
main()
print("after")
"#;
const INPUTS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Program,
    Bridge,
    Terminal,
}

fn kill(pid: u32) {
    let mut kill = std::process::Command::new("kill");
    kill.args(["-9", &pid.to_string()]);
    // it may have ended by itself
    kill.stderr(std::process::Stdio::null());
    kill.status().expect("kill");
}

/// The bridge of a program. None: it has none now.
fn bridge_of(program: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{program}/task/{program}/children")).ok()?;
    children.split_whitespace().find_map(|child| {
        let line = fs::read_to_string(format!("/proc/{child}/cmdline")).ok()?;
        line.split('\0')
            .any(|word| word == "bridge")
            .then_some(())?;
        child.parse().ok()
    })
}

/// The open pauses, oldest first.
fn open(world: &World) -> Vec<String> {
    let all = world.json(["pauses"]);
    let all = all["pauses"].as_array().expect("pauses").iter();
    all.map(|one| one["id"].as_str().expect("an id").to_owned())
        .collect()
}

/// Asks until the talk is over or the program has ended. Returns the answers that came.
fn talk(
    world: &World,
    program: &mut Program,
    terminal: &Mutex<Option<u32>>,
) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    let until = Instant::now() + EVENT_TIMEOUT;
    let mut asked = 0;
    while asked < INPUTS {
        assert!(Instant::now() < until, "{asked} of {INPUTS} inputs");
        if program.has_ended() {
            break;
        }
        let Some(pause) = open(world).pop() else {
            continue;
        };
        let input = format!("state[\"n\"] + {asked}");
        let mut command = world.backstitch();
        command.args(["--json", "repl", &pause, "-e", &input]);
        command.stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::null());
        let child = command.spawn().expect("a terminal");
        *terminal.lock().expect("a lock") = Some(child.id());
        let output = child.wait_with_output().expect("an end");
        *terminal.lock().expect("a lock") = None;
        asked += 1;
        if let Ok(said) = serde_json::from_slice::<Value>(&output.stdout) {
            let entry = &said["entry"];
            if entry["isError"] == false {
                let output = entry["output"].as_str().expect("text");
                answers.push((input, output.to_owned()));
            }
        }
    }
    answers
}

fn play(rng: &mut Rng, victim: Victim) {
    let world = world();
    let mut program = Program::start(&world, TALK);
    let pid = program.pid();
    let moment = Duration::from_millis(rng.below(500) as u64);
    let terminal = Mutex::new(None);
    let answers = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(moment);
            match victim {
                Victim::Program => kill(pid),
                Victim::Bridge => {
                    if let Some(bridge) = bridge_of(pid) {
                        kill(bridge);
                    }
                }
                Victim::Terminal => {
                    // its process is waited for only after this lock is free
                    let there = terminal.lock().expect("a lock");
                    if let Some(pid) = *there {
                        kill(pid);
                    }
                }
            }
        });
        talk(&world, &mut program, &terminal)
    });
    let until = Instant::now() + EVENT_TIMEOUT;
    while !(program.has_ended() && open(&world).is_empty()) {
        assert!(Instant::now() < until, "{victim:?}: {:?}", open(&world));
        if victim != Victim::Program {
            for pause in open(&world) {
                // it may be over by now
                world.run(["resume", &pause]);
            }
        }
    }
    let (code, output, errors) = program.end();
    if victim != Victim::Program {
        assert_eq!(
            (code, &*output),
            (0, "before\nafter\n"),
            "{victim:?}: {errors}"
        );
    }
    check(&world, &answers);
}

/// Each answer that came is in a transcript, and each entry is its own.
fn check(world: &World, answers: &[(String, String)]) {
    let list = world.json(["repl", "list"]);
    let mut kept = Vec::new();
    for session in list["sessions"].as_array().expect("sessions") {
        assert_eq!(session["status"], "closed", "{session:#}");
        let id = session["id"].as_str().expect("an id");
        let shown = world.json(["repl", "show", id]);
        for entry in shown["entries"].as_array().expect("entries") {
            let input = entry["input"].as_str().expect("text").to_owned();
            let output = entry["output"].as_str().expect("text").to_owned();
            if entry["isError"] == json!(false) {
                let number: u32 = input
                    .rsplit(' ')
                    .next()
                    .expect("a word")
                    .parse()
                    .expect("a number");
                assert_eq!(output, (100 + number).to_string(), "{entry:#}");
            }
            kept.push((input, output));
        }
    }
    for answer in answers {
        assert!(kept.contains(answer), "{answer:?} is lost: {kept:?}");
    }
    let verified = world.json(["verify"]);
    assert_eq!(verified["ok"], true, "{verified:#}");
}

/// Whatever dies in a talk, the rest goes on, and ends.
#[test]
fn one_side_of_a_talk_is_killed() {
    let mut rng = Rng::new(Rng::seed("BACKSTITCH_KILL_SEED", 20_261_125));
    let cases = rng::cases("BACKSTITCH_KILL_CASES", 12, 300);
    let victims = [Victim::Program, Victim::Bridge, Victim::Terminal];
    for (case, victim) in (0..cases).zip(victims.into_iter().cycle()) {
        eprintln!("case {case}: {victim:?}");
        play(&mut rng, victim);
    }
}
