//! Kills at random moments: of points, restores, undos, shell commands and what they hand over. The run always continues, and
//! nothing is lost but what is said.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::World;
use crate::support::rng::{Rng, cases};

use super::super::leftovers::processes;
use super::super::{job, newest, workflow};
use super::resume::verified;
use super::stepped::{SteppedJob, place};

/// Steps of the job.
const STEPS: usize = 5;

/// Time within which a kill comes after a command.
const MOMENTS: u64 = 150;

/// Each step adds its number to a file and to a variable, makes a directory that must not be there, and leaves a process.
fn chain(mark: &str) -> World {
    let step = |number: usize| {
        format!(
            "- name: S{number}\n  run: mkdir d{number}; echo {number} >> log; echo \"C=$C.{number}\" >> $GITHUB_ENV; (sleep {mark} &)\n"
        )
    };
    workflow(&job(&(0..STEPS).map(step).collect::<String>()))
}

/// The number of the step before which the job stands; that of all steps at the end.
fn position(answer: &Value) -> usize {
    let at = place(answer);
    match at.strip_prefix("before S") {
        Some(number) => number.parse().expect("a number"),
        None if at == "end" => STEPS,
        None => panic!("{answer}"),
    }
}

/// The files and the variables are those of the position: the job is never between two.
fn is_whole(world: &World, job: &mut SteppedJob, at: usize, hint: &str) {
    let workspace = newest(world).join("files/work/work/work");
    let log = fs::read_to_string(workspace.join("log")).unwrap_or_default();
    let numbers = |before: &str, after: &str| {
        (0..at).fold(String::new(), |all, number| {
            all + before + &number.to_string() + after
        })
    };
    let expected = numbers("", "\n");
    assert_eq!(log, expected, "{hint}");
    for number in 0..STEPS {
        assert_eq!(
            workspace.join(format!("d{number}")).exists(),
            number < at,
            "d{number}: {hint}"
        );
    }
    let counted = numbers(".", "");
    let said = job.said("format('{0}', env.C)");
    assert_eq!(said, counted, "{hint}");
}

/// A command, and the positions to which it may have led when it was cut off.
fn command(rng: &mut Rng, at: usize) -> (String, Vec<usize>) {
    match rng.below(8) {
        0..=2 => ("n".to_owned(), vec![at, STEPS.min(at + 1)]),
        3 => ("c".to_owned(), (at..=STEPS).collect()),
        4 => ("b".to_owned(), vec![at, at.saturating_sub(1)]),
        5 => ("b 2".to_owned(), vec![at, at.saturating_sub(2)]),
        6 => (":undo".to_owned(), (0..=STEPS).collect()),
        _ => {
            let value = rng.below(1000);
            (format!("!export X={value}; echo {value} > x"), vec![at])
        }
    }
}

/// Kills one run again and again.
fn kills(rng: &mut Rng, count: u64, hint: &str) {
    let mark = format!("{}.3", 60_000 + std::process::id());
    let world = chain(&mark);
    let mut job = SteppedJob::start(&world);
    let mut at = 0;
    let mut known = "null".to_owned();
    for number in 0..count {
        let (line, allowed) = command(rng, at);
        let is_shell = line.starts_with('!');
        let hint = format!("{hint}, kill {number} of {count} after {line} at {at}");
        let value = line.split(['=', ';']).nth(1).unwrap_or_default().to_owned();
        job.write(&line);
        let moment = Duration::from_micros(rng.next() % (MOMENTS * 1000));
        let since = Instant::now();
        while since.elapsed() < moment {
            std::thread::yield_now();
        }
        if rng.once_in(2) {
            job.kill_machine();
        } else {
            job.kill();
        }
        job = SteppedJob::resume(&world);
        at = position(&job.first);
        assert!(allowed.contains(&at), "{}: {hint}", job.first);
        assert_eq!(processes(&mark), Vec::<u32>::new(), "{hint}");
        is_whole(&world, &mut job, at, &hint);
        let now = job.said("env.X");
        if is_shell {
            // it is handed over, or lost with a word about it
            let said = job.first["said"].as_str().unwrap_or_default();
            let is_there = now == value || now == known;
            assert!(is_there, "{now}, not {known} or {value}: {hint}");
            let file = newest(&world).join("files/work/work/work/x");
            let written = fs::read_to_string(file).unwrap_or_default();
            let is_partial = now != value && written.trim() == value && known != value;
            assert!(
                !is_partial || said.contains("A command of yours was cut off"),
                "{said}: {hint}"
            );
        }
        known = now;
    }
    // it still leads to its end
    let end = job.line("c").expect("an answer");
    assert!(at == STEPS || position(&end) == STEPS, "{end}: {hint}");
    is_whole(&world, &mut job, STEPS, hint);
    let (code, report) = job.end();
    assert_eq!(code, Some(0), "{report}: {hint}");
    verified(&world);
}

/// The number of kills is that of `BACKSTITCH_JOB_KILLS`, the first seed that of `BACKSTITCH_JOB_SEED`.
#[test]
fn a_run_continues_after_kills_at_any_moment() {
    let all = cases("BACKSTITCH_JOB_KILLS", 40, 2_000);
    let first = Rng::seed("BACKSTITCH_JOB_SEED", 1);
    let each = 20;
    for seed in first..first + all.div_ceil(each) {
        kills(&mut Rng::new(seed), each, &format!("seed {seed}"));
    }
}
