//! Processes that steps leave behind: none outlives its run.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::{job, run, run_until_ready, workflow};
use crate::support::limits::{EVENT_TIMEOUT, at_most};

/// Ways in which a step leaves a process that has this mark among its arguments.
pub const WAYS: &[(&str, &str)] = &[
    ("background", "sleep MARK &"),
    ("nohup", "nohup sleep MARK > /dev/null 2>&1 &"),
    ("session", "setsid sleep MARK &"),
    ("double fork", "(setsid sh -c 'sleep MARK & exit' &) "),
    ("empty environment", "env -i /bin/sleep MARK &"),
    ("timeout", "timeout 1000 sleep MARK &"),
    ("job control", "set -m; sleep MARK & set +m"),
    (
        "ignores signals",
        "sh -c 'trap \"\" INT TERM HUP; sleep MARK; sleep MARK' &",
    ),
    (
        "closed pipes",
        "setsid sh -c 'exec > /dev/null 2>&1 < /dev/null; sleep MARK' &",
    ),
    (
        "fork loop",
        "sh -c 'f() { sleep MARK & sleep 0.01; f; }; f' > /dev/null 2>&1 &",
    ),
];

/// Processes with this text in their command line.
pub fn processes(mark: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has_mark = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line)
            .split('\0')
            .any(|word| word == mark)
    };
    pids.filter(has_mark).collect()
}

pub fn until_gone(mark: &str, limit: Duration) -> Vec<u32> {
    let since = Instant::now();
    loop {
        let left = processes(mark);
        if left.is_empty() || since.elapsed() > limit {
            return left;
        }
        thread::yield_now();
    }
}

/// A number that no other process of the machine sleeps for.
pub fn mark_of(seed: usize) -> String {
    format!("{}.{seed}", 40_000 + std::process::id())
}

/// Whatever way a process left its parent, the end of the run ends it; a later step finds it running.
#[test]
fn no_process_outlives_its_run() {
    for (number, (way, command)) in WAYS.iter().enumerate() {
        let mark = mark_of(number);
        let command = command.replace("MARK", &mark);
        let world = workflow(&job(&format!(
            "- run: |\n    {command}\n- run: |\n    until test -s seen; do for file in /proc/[0-9]*/cmdline; do\n      \
             case $(tr '\\0' ' ' < $file 2>/dev/null || true) in *'sleep {mark}'*) echo found >> seen;; esac\n    \
             done; done\n  timeout-minutes: 2"
        )));
        let ran = run(&world, &[]);
        assert_eq!(
            ran.result(),
            "success",
            "{way}: {:#}\n{}",
            ran.report,
            ran.log()
        );
        assert!(
            !ran.file("seen").trim().is_empty(),
            "{way}: the next step finds it"
        );
        let left = until_gone(&mark, at_most(Duration::from_secs(1)));
        assert_eq!(left, Vec::<u32>::new(), "{way}");
    }
}

/// The runner dies by `kill -9` while a step runs: all processes are gone within a second.
#[test]
fn a_killed_runner_takes_its_steps_along() {
    let mark = mark_of(100);
    let lines: Vec<String> = WAYS
        .iter()
        .map(|(_, command)| format!("    {}", command.replace("MARK", &mark)))
        .collect();
    let world = workflow(&job(&format!(
        "- run: |\n{}\n    echo ready\n    sleep {mark}",
        lines.join("\n")
    )));
    let (mut runner, _lines) = run_until_ready(&world);
    let since = Instant::now();
    while processes(&mark).len() <= 5 && since.elapsed() < EVENT_TIMEOUT {
        thread::yield_now();
    }
    let running = processes(&mark).len();
    runner.kill().expect("killed");
    assert_eq!(runner.wait().expect("ended").signal(), Some(9));
    assert!(running > 5, "{running} processes");
    let left = until_gone(&mark, at_most(Duration::from_secs(1)));
    assert_eq!(left, Vec::<u32>::new());
}

/// Ctrl-C cancels the job: `always()` steps run, and nothing stays.
#[test]
fn ctrl_c_cancels_the_job() {
    let mark = mark_of(101);
    let world = workflow(&job(&format!(
        "- run: |\n    setsid sleep {mark} &\n    echo ready\n    sleep {mark}\n- run: echo never\n- if: cancelled()\n  run: echo cleanup ${{{{ job.status }}}}"
    )));
    let (mut runner, lines) = run_until_ready(&world);
    let pid = i32::try_from(runner.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let rest: Vec<String> = lines.collect();
    assert_eq!(runner.wait().expect("ended").code(), Some(1), "{rest:#?}");
    assert!(
        rest.iter().any(|line| line.trim() == "cleanup cancelled"),
        "{rest:#?}"
    );
    assert!(!rest.iter().any(|line| line.trim() == "never"), "{rest:#?}");
    assert_eq!(
        until_gone(&mark, at_most(Duration::from_secs(1))),
        Vec::<u32>::new()
    );
}

/// A helper that hangs up fails its step, and the rest of the job continues: here the step kills its supervisor (J11).
#[test]
fn j11_a_step_that_kills_its_supervisor() {
    let mark = mark_of(102);
    let world = workflow(&job(&format!(
        "- id: bad\n  run: |\n    setsid sleep {mark} &\n    kill -9 $PPID\n    sleep {mark}\n- if: always()\n  run: echo on > seen"
    )));
    let ran = run(&world, &[]);
    assert_eq!(ran.step("bad")["outcome"], "failure");
    assert_eq!(ran.file("seen"), "on\n");
    assert_eq!(
        until_gone(&mark, at_most(Duration::from_secs(1))),
        Vec::<u32>::new()
    );
}

#[test]
fn the_machine_has_a_process_table() {
    assert!(
        Path::new("/proc/self/stat").exists(),
        "these tests read /proc"
    );
}
