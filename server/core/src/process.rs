//! Processes by number and start time: a number alone is used again.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::str::FromStr;

/// A process. Its start time is in the kernel's ticks since the start of the system; 0 where it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessId {
    pub pid: u32,
    pub start: u64,
}

impl ProcessId {
    /// The process that calls this.
    pub fn own() -> Self {
        Self::of(std::process::id())
    }

    pub fn of(pid: u32) -> Self {
        Self {
            pid,
            start: ProcessStat::of(pid).map_or(0, |stat| stat.start),
        }
    }

    /// True if it is alive.
    pub fn is_alive(self) -> bool {
        match ProcessStat::of(self.pid) {
            Some(stat) => self.start == 0 || stat.start == self.start,
            // without /proc, nothing is known
            None => !cfg!(target_os = "linux"),
        }
    }
}

/// Facts about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    pub parent: u32,
    /// The session of the operating system, not of an agent.
    pub session: u32,
    pub start: u64,
}

impl ProcessStat {
    /// Reads `/proc`. None: there is no such process, or no `/proc`.
    pub fn of(pid: u32) -> Option<Self> {
        let text = read(pid, "stat")?;
        // the name in parentheses may hold anything: proc(5)
        let rest = &text[text.rfind(')')? + 1..];
        let mut fields = rest.split_ascii_whitespace().skip(1);
        Some(Self {
            parent: fields.next()?.parse().ok()?,
            session: fields.nth(1)?.parse().ok()?,
            start: fields.nth(15)?.parse().ok()?,
        })
    }
}

/// Reads a short text of `/proc` about a process.
fn read(pid: u32, file: &str) -> Option<String> {
    let mut text = [0; 1024];
    // one read: the system says that these texts are empty, so a buffer that grows takes six
    let length = File::open(format!("/proc/{pid}/{file}"))
        .and_then(|mut open| open.read(&mut text))
        .ok()?;
    Some(String::from_utf8_lossy(&text[..length]).into_owned())
}

/// Returns the name of a process: the first 15 bytes of its program's. None: there is no such process, or no `/proc`.
fn name(pid: u32) -> Option<String> {
    let text = read(pid, "comm")?;
    Some(text.trim_end().to_owned())
}

/// More ancestors than any process has.
const MAX_DEPTH: usize = 200;
/// Shells that agents run hooks by.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox"];

/// Returns the process that has started this one, apart from the shell in between.
pub fn starter() -> Option<ProcessId> {
    let mut pid = std::os::unix::process::parent_id();
    // no further than needed: each hook asks
    for _ in 0..MAX_DEPTH {
        let stat = ProcessStat::of(pid).filter(|_| pid > 1)?;
        if !name(pid).is_some_and(|name| SHELLS.contains(&name.as_str())) {
            return Some(ProcessId {
                pid,
                start: stat.start,
            });
        }
        pid = stat.parent;
    }
    None
}

/// Returns the process that has started this one, and those above it of the same program: an agent may have started
/// itself again.
pub fn agent_processes() -> Vec<ProcessId> {
    let Some(nearest) = starter() else {
        return Vec::new();
    };
    let program = name(nearest.pid);
    let above = ancestors(nearest.pid).into_iter();
    let same = above.take_while(|process| process.pid > 1 && name(process.pid) == program);
    std::iter::once(nearest).chain(same).collect()
}

/// Returns the ancestors of a process, its parent first.
pub fn ancestors(pid: u32) -> Vec<ProcessId> {
    let mut found = Vec::new();
    let mut next = ProcessStat::of(pid).map(|stat| stat.parent);
    while let Some(pid) = next.filter(|pid| *pid > 0)
        && found.len() < MAX_DEPTH
    {
        let Some(stat) = ProcessStat::of(pid) else {
            break;
        };
        found.push(ProcessId {
            pid,
            start: stat.start,
        });
        next = Some(stat.parent);
    }
    found
}

/// Returns the descendants of a process, parents before their children. Empty without `/proc`.
pub fn descendants(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> = pids
        .filter_map(|pid| Some((pid, ProcessStat::of(pid)?.parent)))
        .collect();
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        let children = parents.iter().filter(|(_, of)| *of == parent);
        let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
        found.extend(children.iter().filter(|pid| **pid != parent));
        at += 1;
    }
    found.remove(0);
    found
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.start)
    }
}

impl FromStr for ProcessId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (pid, start) = text.split_once(' ').ok_or("no start time")?;
        Ok(Self {
            pid: pid.parse().map_err(|_| "no process number")?,
            start: start.parse().map_err(|_| "no start time")?,
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_has_ancestors() {
        let own = ProcessId::own();
        assert!(own.is_alive());
        assert_eq!(own.to_string().parse(), Ok(own));
        let parent = std::os::unix::process::parent_id();
        assert_eq!(ancestors(own.pid).first().map(|p| p.pid), Some(parent));
        let reused = ProcessId {
            start: own.start + 1,
            ..own
        };
        assert!(!reused.is_alive());
    }
}
