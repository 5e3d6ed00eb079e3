//! All processes below one process, and signals to all of them.

#[cfg(target_os = "linux")]
use std::collections::HashMap;
use std::collections::HashSet;
#[cfg(target_os = "linux")]
use std::fs;
use std::io;

use rustix::process::{Pid, Signal, kill_process};

/// Rounds of a freeze: a process that starts others faster than they can be stopped is stopped itself within a few.
const MAX_ROUNDS: usize = 1000;

/// Living processes below `root`, from `/proc`. A subreaper keeps those whose parent has ended below itself.
#[cfg(target_os = "linux")]
pub fn descendants(root: Pid) -> io::Result<Vec<Pid>> {
    descendants_but(root, &[])
}

/// The same without some children and all below them.
#[cfg(target_os = "linux")]
pub fn descendants_but(root: Pid, left_out: &[i32]) -> io::Result<Vec<Pid>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let mut dead = HashSet::new();
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
        if state == "Z" || state == "X" {
            dead.insert(pid);
        }
        children.entry(parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut left = vec![root.as_raw_nonzero().get()];
    while let Some(pid) = left.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            if left_out.contains(&child) {
                continue;
            }
            left.push(child);
            if !dead.contains(&child) {
                found.extend(Pid::from_raw(child));
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

/// Stops all descendants, again and again until none is new. Returns them.
pub fn freeze(root: Pid) -> io::Result<Vec<Pid>> {
    let mut stopped = HashSet::new();
    for _ in 0..MAX_ROUNDS {
        let new: Vec<Pid> = descendants(root)?
            .into_iter()
            .filter(|pid| !stopped.contains(pid))
            .collect();
        if new.is_empty() {
            break;
        }
        for pid in new {
            let _ = kill_process(pid, Signal::STOP);
            stopped.insert(pid);
        }
    }
    descendants(root)
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
