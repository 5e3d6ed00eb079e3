//! All processes below one process, and signals to all of them.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::thread;

use backstitch_core::process::{self, ProcessStat};
use rustix::process::{Pid, Signal, kill_process};

/// Rounds of a freeze. A process that starts others faster than they can be stopped is stopped itself within a few. The rest is
/// for one that waits for a disk, which stops later.
const MAX_ROUNDS: usize = 1000;

/// Rounds for which a parent is waited for that does not stop.
const PARENTS_FIRST: usize = 500;

/// A process below a step's supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepProcess {
    pub pid: i32,
    /// The letter of its state (proc(5)): `T` for a stopped one.
    pub state: String,
    /// The command line, with spaces between its words.
    pub command: String,
}

/// Living processes below `root`, parents before their children, without those of `left_out` and all below them.
fn below(root: Pid, left_out: &[u32]) -> io::Result<Vec<(Pid, ProcessStat)>> {
    let all = process::descendants(number(root), left_out)?.into_iter();
    let known =
        all.filter_map(|(pid, stat)| Some((Pid::from_raw(i32::try_from(pid).ok()?)?, stat)));
    Ok(known.collect())
}

/// The number by which the system's texts name a process.
fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// The processes below one, for people.
pub fn processes(root: Pid) -> io::Result<Vec<StepProcess>> {
    let all = below(root, &[])?.into_iter();
    let shown = all.map(|(pid, stat)| {
        let pid = pid.as_raw_nonzero().get();
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        StepProcess {
            pid,
            state: stat.state.to_string(),
            command: words.trim_end().to_owned(),
        }
    });
    Ok(shown.collect())
}

/// Stops all descendants until each one stands: a process that has got the signal may start another one before it stops.
/// A parent stands before its children get the signal, since a shell that controls jobs must not see a child stop. Returns all of
/// them. Those of other users continue.
pub fn freeze(root: Pid) -> io::Result<Vec<Pid>> {
    let mut refused = HashSet::new();
    for round in 0..MAX_ROUNDS {
        let all = below(root, &[])?;
        let moving: Vec<_> = all
            .iter()
            .filter(|(pid, stat)| !stat.is_stopped() && !refused.contains(pid))
            .collect();
        if moving.is_empty() {
            break;
        }
        let parents: HashSet<u32> = moving.iter().map(|(pid, _)| number(*pid)).collect();
        for (pid, stat) in moving {
            if parents.contains(&stat.parent) && round < PARENTS_FIRST {
                continue;
            }
            if kill_process(*pid, Signal::STOP) == Err(rustix::io::Errno::PERM) {
                refused.insert(*pid);
            }
        }
        thread::yield_now();
    }
    Ok(below(root, &[])?.into_iter().map(|(pid, _)| pid).collect())
}

/// Lets all descendants continue, children before their parents: a shell that controls jobs must not find one stopped.
pub fn thaw(root: Pid) -> io::Result<()> {
    for (pid, _) in below(root, &[])?.iter().rev() {
        let _ = kill_process(*pid, Signal::CONT);
    }
    Ok(())
}

/// Sends a signal to all descendants but those of `left_out` and all below them. Returns how many they are.
pub fn signal_all(root: Pid, signal: Signal, left_out: &[u32]) -> io::Result<usize> {
    let all = below(root, left_out)?;
    for (pid, _) in &all {
        let _ = kill_process(*pid, signal);
    }
    Ok(all.len())
}
