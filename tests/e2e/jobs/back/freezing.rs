//! Steps that are frozen while they run: looked at, continued, killed, and undone by a step back.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::super::leftovers::{WAYS, mark_of, processes, until_gone};
use super::super::{job, workflow, workflow_with};
use super::conversation::{Conversation, place_of};
use crate::support::limits::EVENT_TIMEOUT;

/// The letter of a process's state; none if it has ended.
fn state(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(") ")?;
    after.split(' ').next().map(str::to_owned)
}

/// A step leaves a process in this way and runs on. All of it is frozen, looked at, continued, and gone after a step back.
fn freezes(way: &str) {
    let (place, (_, command)) = WAYS
        .iter()
        .enumerate()
        .find(|(_, (name, _))| *name == way)
        .expect("a way");
    let mark = mark_of(300 + place);
    let command = command.replace("MARK", &mark);
    let world = workflow(&job(&format!(
        "- name: First\n  run: echo first > first\n- name: Work\n  run: |\n    {command}\n    touch ready\n    sleep {mark}\n- name: Last\n  run: \"true\""
    )));
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Work");
    for attempt in 1..=2 {
        talk.tell("n");
        talk.until_file("ready");
        let since = Instant::now();
        // the step's last command, and what it left
        while processes(&mark).len() < 2 && since.elapsed() < EVENT_TIMEOUT {
            std::thread::yield_now();
        }
        let frozen = talk.ask("pause");
        assert_eq!(place_of(&frozen), "frozen Work", "{way}");
        assert_eq!(frozen["attempt"], attempt, "{way}");
        let all = processes(&mark);
        assert!(all.len() >= 2, "{way}: {all:?}");
        for pid in &all {
            assert_eq!(state(*pid).as_deref(), Some("T"), "{way}");
        }
        let listed = talk.said(":ps");
        for pid in &all {
            assert!(listed.contains(&format!("{pid} T ")), "{way}: {listed}");
        }
        // files, variables and a shell are at hand
        talk.said("!test -e ready && export SEEN=yes");
        assert_eq!(talk.said("env.SEEN"), "yes", "{way}");
        assert_eq!(processes(&mark), all, "{way}: nothing moves meanwhile");
        // it continues where it was, and is frozen once more
        talk.tell("n");
        let since = Instant::now();
        while all.iter().any(|pid| state(*pid).as_deref() == Some("T")) {
            assert!(since.elapsed() < EVENT_TIMEOUT, "{way}: it continues");
            std::thread::yield_now();
        }
        assert_eq!(talk.stop("pause"), "frozen Work", "{way}");
        let back = talk.ask("b");
        assert_eq!(place_of(&back), "before Work", "{way}");
        assert_eq!(back["checkpoints"], 1);
        let left = until_gone(&mark, Duration::ZERO);
        assert_eq!(left, Vec::<u32>::new(), "{way}: all are gone");
        assert!(!talk.file("ready").exists(), "{way}");
        assert_eq!(talk.said("env.SEEN"), "null", "{way}");
    }
    talk.end();
}

macro_rules! ways {
    ($($test:ident: $way:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            freezes($way);
        })*

        #[test]
        fn every_way_of_leaving_a_step_has_a_test() {
            let tested = [$($way),*];
            let all: Vec<&str> = WAYS.iter().map(|(way, _)| *way).collect();
            assert_eq!(tested.as_slice(), all);
        }
    };
}

ways! {
    a_background_process_is_frozen: "background",
    a_process_of_nohup_is_frozen: "nohup",
    a_process_of_another_session_is_frozen: "session",
    a_process_that_forked_twice_is_frozen: "double fork",
    a_process_without_an_environment_is_frozen: "empty environment",
    a_process_under_timeout_is_frozen: "timeout",
    a_process_of_job_control_is_frozen: "job control",
    a_process_that_ignores_signals_is_frozen: "ignores signals",
    a_process_with_closed_pipes_is_frozen: "closed pipes",
    a_loop_of_forks_is_frozen: "fork loop",
}

/// A step that waits for a file of the test.
const WAITS: &str = "- name: Work\n  timeout-minutes: 0.1\n  run: |\n    touch ready\n    until test -f go; do sleep 0.02; done\n    echo done > done\n- name: Last\n  run: \"true\"";

/// Deadlines of a step and of its job wait with it.
#[test]
fn deadlines_stand_still_while_a_step_is_frozen() {
    let world =
        workflow(&job(WAITS).replace("    runs-on", "    timeout-minutes: 0.15\n    runs-on"));
    let mut talk = Conversation::begin(&world);
    talk.tell("n");
    talk.until_file("ready");
    assert_eq!(talk.stop("pause"), "frozen Work");
    talk.said("!sleep 10; touch go");
    assert_eq!(talk.stop("n"), "before Last");
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.read("done"), "done\n");
    assert_eq!(talk.end(), 0);
}

/// A frozen step is killed: it has failed, and can be run again.
#[test]
fn a_frozen_step_is_killed() {
    let world = workflow(&job(WAITS));
    let mut talk = Conversation::begin(&world);
    assert_eq!(
        talk.stop(":kill"),
        "error: No step is frozen here, so none can be killed."
    );
    assert_eq!(
        talk.stop("pause"),
        "error: No step runs here, so none can be frozen."
    );
    talk.tell("c");
    talk.until_file("ready");
    assert_eq!(talk.stop("pause"), "frozen Work");
    assert!(
        talk.stop(":goto Last")
            .starts_with("error: A step is frozen")
    );
    assert_eq!(talk.stop(":kill"), "failed Work");
    talk.said("!touch go");
    assert_eq!(talk.stop(":retry"), "before Last");
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.end(), 0);
}

/// Ctrl-C freezes the step that runs, and does not cancel the job.
#[test]
fn ctrl_c_freezes_the_step() {
    let world = workflow(&job(WAITS));
    let mut talk = Conversation::begin(&world);
    talk.tell("c");
    talk.until_file("ready");
    talk.signal(Signal::INT);
    assert_eq!(place_of(&talk.answer()), "frozen Work");
    talk.said("!touch go");
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.said("job.status"), "success");
    assert_eq!(talk.end(), 0);
}

/// An inner step of a composite action is frozen. The action continues to its end, and a step back undoes all of it.
#[test]
fn a_composite_action_is_frozen() {
    let action = "name: a
runs:
  using: composite
  steps:
    - {name: One, shell: bash, run: echo one >> log}
    - {name: Two, shell: bash, run: touch ready; until test -f go; do sleep 0.02; done}
    - {name: Three, shell: bash, run: echo three >> log}
";
    let steps =
        "- uses: actions/checkout@v4\n- name: Use\n  uses: ./act\n- name: Last\n  run: \"true\"";
    let world = workflow_with(&job(steps), &[("act/action.yml", action)]);
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Use");
    talk.tell("n");
    talk.until_file("ready");
    assert_eq!(talk.stop("pause"), "frozen Two");
    talk.said("!touch go");
    assert_eq!(talk.stop("n"), "before Last");
    assert_eq!(talk.read("log"), "one\nthree\n");
    assert_eq!(talk.stop("b"), "before Use");
    assert!(!talk.file("log").exists());
    talk.end();
}

/// A shell that controls jobs does not take a frozen child for a stopped job.
#[test]
fn a_shell_with_job_control_continues() {
    let step = "- name: Work\n  run: |\n    set -m\n    sh -c 'touch ready; until test -f go; do sleep 0.02; done; exit 3' || echo $? > status\n- name: Last\n  run: \"true\"";
    let world = workflow(&job(step));
    let mut talk = Conversation::begin(&world);
    talk.tell("n");
    talk.until_file("ready");
    for _ in 0..5 {
        assert_eq!(talk.stop("pause"), "frozen Work");
        talk.tell("n");
    }
    assert_eq!(talk.stop("pause"), "frozen Work");
    talk.said("!touch go");
    assert_eq!(talk.stop("n"), "before Last");
    assert_eq!(talk.read("status"), "3\n");
    talk.end();
}

/// A command of the shell that Ctrl-C ends leaves the job as it was.
#[test]
fn ctrl_c_ends_a_command_alone() {
    let world = workflow(&job(WAITS));
    let mut talk = Conversation::begin(&world);
    talk.tell("!touch ready; sleep 4713");
    talk.until_file("ready");
    talk.signal(Signal::INT);
    talk.answer();
    talk.said("!touch go");
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.said("job.status"), "success");
    assert_eq!(talk.end(), 0);
}

/// The end of the lines while a step is frozen ends the job, and all its processes.
#[test]
fn a_frozen_job_ends_with_its_lines() {
    let mark = mark_of(350);
    let world = workflow(&job(&format!(
        "- name: Work\n  run: |\n    setsid sleep {mark} &\n    touch ready\n    sleep {mark}"
    )));
    let mut talk = Conversation::begin(&world);
    talk.tell("n");
    talk.until_file("ready");
    assert_eq!(talk.stop("pause"), "frozen Work");
    talk.end();
    assert_eq!(until_gone(&mark, Duration::ZERO), Vec::<u32>::new());
}
