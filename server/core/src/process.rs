//! Processes by number and start time: a number alone is used again.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
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
    /// The letter of its state (proc(5)).
    pub state: char,
    pub parent: u32,
    /// The session of the operating system, not of an agent.
    pub session: u32,
    pub start: u64,
}

impl ProcessStat {
    /// Reads `/proc`. None: there is no such process, or no `/proc`.
    pub fn of(pid: u32) -> Option<Self> {
        let text = read(pid, "stat")?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Option<Self> {
        // the name in parentheses may hold anything: proc(5)
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        Some(Self {
            state: fields.next()?.chars().next()?,
            parent: fields.next()?.parse().ok()?,
            session: fields.nth(1)?.parse().ok()?,
            start: fields.nth(15)?.parse().ok()?,
        })
    }

    /// True if it is stopped, by a signal or by a tracer.
    pub fn is_stopped(self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    /// True if it has ended, and its parent has not asked for its end yet.
    pub fn has_ended(self) -> bool {
        matches!(self.state, 'Z' | 'X')
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

/// Returns the permission bits that files and directories made by this process do not get.
pub fn umask() -> u32 {
    let text = read(std::process::id(), "status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Umask:"));
    let bits = line.and_then(|bits| u32::from_str_radix(bits.trim(), 8).ok());
    bits.unwrap_or(0o022)
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

/// Returns the living processes below one, parents before their children, without those of `left_out` and all below them.
/// A subreaper keeps those whose parent has ended below itself. Other systems than Linux list none.
pub fn descendants(root: u32, left_out: &[u32]) -> io::Result<Vec<(u32, ProcessStat)>> {
    if !cfg!(target_os = "linux") {
        return Ok(Vec::new());
    }
    let mut children: HashMap<u32, Vec<(u32, ProcessStat)>> = HashMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        // it may have ended since
        if let Some((pid, stat)) = pid.and_then(|pid| Some((pid, ProcessStat::of(pid)?))) {
            children.entry(stat.parent).or_default().push((pid, stat));
        }
    }
    let mut found = Vec::new();
    let mut left = vec![root];
    while let Some(parent) = left.pop() {
        let of_parent = children.remove(&parent).unwrap_or_default().into_iter();
        for (pid, stat) in of_parent.filter(|(pid, _)| !left_out.contains(pid)) {
            left.push(pid);
            if !stat.has_ended() {
                found.push((pid, stat));
            }
        }
    }
    Ok(found)
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

    #[test]
    fn a_name_may_have_any_character() {
        let line = "7 (a) Z 1 (x) S 42 7 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 555 0";
        let stat = ProcessStat {
            state: 'S',
            parent: 42,
            session: 9,
            start: 555,
        };
        assert_eq!(ProcessStat::parse(line), Some(stat));
        assert_eq!(ProcessStat::parse("garbage"), None);
    }

    #[test]
    fn a_child_stands_below_this_process_until_it_has_ended() {
        let mut child = crate::launch::program("cat")
            .unwrap()
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        let below = |left_out: &[u32]| {
            let all = descendants(std::process::id(), left_out).unwrap();
            all.iter().any(|(one, _)| *one == pid)
        };
        assert!(below(&[]));
        assert!(!below(&[pid]));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!below(&[]));
    }
}
