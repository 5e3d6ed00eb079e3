//! The kill test: `kill -9` at hundreds of moments of capture, scan, rewind, undo, revert and recovery.
//!
//! At any moment: the store is intact, no operation stays open, every path is as before, as after, or as another
//! writer left it. Backstitch leaves no file in the workspace, and earlier records are there byte for byte.
//!
//! `BACKSTITCH_KILLS` is the total number of kills, `BACKSTITCH_SEED` repeats a run.

mod collected;
mod faithful;
mod packs;
mod places;
mod story;
mod switches;

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::rng::{Rng, cases};
use crate::support::{World, finish};
use story::Story;

/// Kills processes of a run; it learns on the way how long they take.
#[derive(Debug)]
struct Killer {
    kind: Kind,
    /// For each kind of run: the limit beyond which it ends without being killed.
    reach: std::collections::BTreeMap<&'static str, u64>,
    kills: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Kill at the n-th fault point that the process reaches.
    Points,
    /// Kill after this many microseconds.
    Clock,
}

impl Killer {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            reach: std::collections::BTreeMap::new(),
            kills: 0,
        }
    }

    /// Runs a command and kills it at the chosen moment. Returns true if it was still running then.
    fn run(
        &mut self,
        rng: &mut Rng,
        what: &'static str,
        command: &mut Command,
        input: &str,
    ) -> bool {
        let longest = match (self.kind, what) {
            (Kind::Points, "gc") => 200,
            (Kind::Points, _) => 60,
            // it pauses between its steps, and other writers run in between
            (Kind::Clock, "gc") => 2_000_000,
            (Kind::Clock, _) => 30_000,
        };
        let reach = self.reach.entry(what).or_insert(longest);
        let at =
            1 + u64::try_from(rng.below(usize::try_from(*reach).expect("small"))).expect("small");
        let killed = match self.kind {
            Kind::Points => {
                command.env("BACKSTITCH_FAULT", at.to_string());
                let output = finish(command, input.as_bytes());
                assert!(output.code == 137 || output.code < 2, "{what}: {output}");
                output.code == 137
            }
            Kind::Clock => kill_after(command, input, Duration::from_micros(at)),
        };
        *reach = if killed {
            (*reach + 1 + *reach / 16).min(longest)
        } else {
            at.max(if self.kind == Kind::Points { 3 } else { 1_500 })
        };
        self.kills += u64::from(killed);
        killed
    }
}

/// The pause is a random moment, not a wait for something.
fn kill_after(command: &mut Command, input: &str, pause: Duration) -> bool {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let mut pipe = child.stdin.take().expect("a pipe");
    // it may be dead before it has read anything
    pipe.write_all(input.as_bytes()).ok();
    drop(pipe);
    thread::sleep(pause);
    child.kill().expect("a child to kill");
    child.wait().expect("an end").signal() == Some(9)
}

fn rounds(kind: Kind, share: u64, place: impl Fn() -> World) {
    let seed = Rng::seed("BACKSTITCH_SEED", 20_261_103);
    let wanted = cases("BACKSTITCH_KILLS", 60, 500) * share / 100;
    println!("BACKSTITCH_SEED={seed} {kind:?}: {wanted} kills");
    let mut rng = Rng::new(seed ^ share);
    let mut killer = Killer::new(kind);
    let mut stories = 0;
    while killer.kills < wanted {
        let world = place();
        println!("-- story {stories} after {} kills", killer.kills);
        let mut story = Story::begin(&world, &mut rng);
        // captures and restores are killed in different stories: changes that a killed hook did not report are
        // uncertain
        let restores = stories % 3 != 0;
        let end = (killer.kills + 14).min(wanted);
        while killer.kills < end {
            if restores {
                story.kill_a_restore(&mut rng, &mut killer);
            } else {
                story.kill_a_capture(&mut rng, &mut killer);
            }
        }
        story.end();
        stories += 1;
    }
    println!("{} kills in {stories} stories", killer.kills);
}

/// U-20, S3-028, S4-024: killed at every fault point.
#[test]
fn killed_at_any_point_nothing_is_lost_or_half_done() {
    rounds(Kind::Points, 60, World::in_memory);
}

/// U-20, S3-028, S4-024: killed at any moment.
#[test]
fn killed_at_any_moment_nothing_is_lost_or_half_done() {
    rounds(Kind::Clock, 40, World::in_memory);
}

/// U-20: the same where the file system cannot exchange two names.
#[test]
fn killed_where_names_cannot_be_exchanged_nothing_is_lost_or_half_done() {
    rounds(Kind::Points, 12, || {
        World::in_memory().with("BACKSTITCH_NO_EXCHANGE", "1")
    });
}

/// U-20, S4-025: the very first event may die at every fault point of creating the store; the next event completes it.
#[test]
fn killed_while_the_store_is_made_the_next_event_makes_it() {
    let mut killed = 0;
    for point in 1..40 {
        let world = World::in_memory();
        world.write("big.bin", Rng::new(point).bytes(1_300_000));
        let mut agent = world.agent();
        let payload = agent.payload("UserPromptSubmit", serde_json::json!({"prompt": "first"}));
        let mut hook = world.hook_command();
        hook.env("BACKSTITCH_FAULT", point.to_string());
        let output = finish(&mut hook, payload.to_string().as_bytes());
        if output.code == 0 {
            break;
        }
        assert_eq!(output.code, 137, "{output}");
        killed += 1;
        world.ok(["verify"]);
        let output = agent.prompt("next");
        assert_eq!(output.stderr, "", "{output}");
        let into = world.home.join("out");
        world.ok(["materialize", "@", "--into", into.to_str().expect("UTF-8")]);
        assert!(crate::support::tree::tree(&into) == world.tree());
    }
    println!("{killed} points");
    assert!(killed > 8, "{killed} points");
}

/// U-20: a hook that waits for a dying rewind does not record its half-done tree.
#[test]
fn a_hook_that_waits_for_a_dying_rewind_records_nothing_half_done() {
    let seed = Rng::seed("BACKSTITCH_SEED", 7);
    println!("BACKSTITCH_SEED={seed}");
    let mut rng = Rng::new(seed);
    let world = World::in_memory();
    let mut story = Story::begin(&world, &mut rng);
    for _ in 0..25 {
        story.rewind_dies_beside_hooks(&mut rng);
    }
    story.end();
}
