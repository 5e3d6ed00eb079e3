//! All processes below one process, and signals to all of them.

#[cfg(target_os = "linux")]
use std::collections::HashMap;
use std::collections::HashSet;
#[cfg(target_os = "linux")]
use std::fs;
use std::io;
use std::thread;

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

/// Living processes below `root`, from `/proc`. A subreaper keeps those whose parent has ended below itself.
#[cfg(target_os = "linux")]
pub fn descendants(root: Pid) -> io::Result<Vec<Pid>> {
    descendants_but(root, &[])
}

/// The same without some children and all below them. Parents come before their children.
#[cfg(target_os = "linux")]
pub fn descendants_but(root: Pid, left_out: &[i32]) -> io::Result<Vec<Pid>> {
    let all = living(root, left_out)?;
    Ok(all.into_iter().map(|one| one.pid).collect())
}

/// A living process, its parent, and the letter of its state.
struct LivingProcess {
    pid: Pid,
    parent: i32,
    state: String,
}

impl LivingProcess {
    fn is_stopped(&self) -> bool {
        matches!(self.state.as_str(), "T" | "t")
    }
}

/// Living processes below one, parents before their children.
#[cfg(target_os = "linux")]
fn living(root: Pid, left_out: &[i32]) -> io::Result<Vec<LivingProcess>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let mut states = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        // it may have ended since
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
            continue;
        };
        let Some((state, parent)) = state_and_parent(&stat) else {
            continue;
        };
        states.insert(pid, state.to_owned());
        children.entry(parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut left = vec![root.as_raw_nonzero().get()];
    while let Some(parent) = left.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            if left_out.contains(&child) {
                continue;
            }
            left.push(child);
            let state = states.remove(&child).unwrap_or_default();
            if state != "Z" && state != "X" {
                found.extend(Pid::from_raw(child).map(|pid| LivingProcess { pid, parent, state }));
            }
        }
    }
    Ok(found)
}

/// The state letter and the parent of a line of `/proc/…/stat` (proc(5)). The name before them may have any character.
#[cfg(target_os = "linux")]
fn state_and_parent(stat: &str) -> Option<(&str, i32)> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_ascii_whitespace();
    let state = fields.next()?;
    Some((state, fields.next()?.parse().ok()?))
}

/// Elsewhere nobody lists them: the group of the step is all that is known.
#[cfg(not(target_os = "linux"))]
pub fn descendants(_root: Pid) -> io::Result<Vec<Pid>> {
    Ok(Vec::new())
}

#[cfg(not(target_os = "linux"))]
pub fn descendants_but(_root: Pid, _left_out: &[i32]) -> io::Result<Vec<Pid>> {
    Ok(Vec::new())
}

#[cfg(not(target_os = "linux"))]
fn living(_root: Pid, _left_out: &[i32]) -> io::Result<Vec<LivingProcess>> {
    Ok(Vec::new())
}

/// The processes below one, for people.
pub fn processes(root: Pid) -> io::Result<Vec<StepProcess>> {
    let all = living(root, &[])?.into_iter();
    let shown = all.map(|LivingProcess { pid, state, .. }| {
        let pid = pid.as_raw_nonzero().get();
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        StepProcess {
            pid,
            state,
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
        let all = living(root, &[])?;
        let moving: Vec<&LivingProcess> = all
            .iter()
            .filter(|one| !one.is_stopped() && !refused.contains(&one.pid))
            .collect();
        if moving.is_empty() {
            break;
        }
        let parents: HashSet<i32> = moving
            .iter()
            .map(|one| one.pid.as_raw_nonzero().get())
            .collect();
        for one in moving {
            if parents.contains(&one.parent) && round < PARENTS_FIRST {
                continue;
            }
            if kill_process(one.pid, Signal::STOP) == Err(rustix::io::Errno::PERM) {
                refused.insert(one.pid);
            }
        }
        thread::yield_now();
    }
    descendants(root)
}

/// Lets all descendants continue, children before their parents: a shell that controls jobs must not find one stopped.
pub fn thaw(root: Pid) -> io::Result<()> {
    for pid in descendants(root)?.iter().rev() {
        let _ = kill_process(*pid, Signal::CONT);
    }
    Ok(())
}

/// Sends a signal to all descendants.
pub fn signal_all(root: Pid, signal: Signal) -> io::Result<usize> {
    let all = descendants(root)?;
    for pid in &all {
        let _ = kill_process(*pid, signal);
    }
    Ok(all.len())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_any_character() {
        assert_eq!(
            state_and_parent("7 (a) Z 1 (x) S 42 7 7 0"),
            Some(("S", 42))
        );
        assert_eq!(state_and_parent("garbage"), None);
    }
}
