//! Processes of a run whose debugger was killed. A variable of their environment names the run.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Variable that every process of a step has, as on GitHub.
const TRACKING: &str = "RUNNER_TRACKING_ID";
/// Variable that a supervisor has.
const SUPERVISED: &str = "BACKSTITCH_SUPERVISED_RUN";

/// Pause between two looks.
const RETRY: Duration = Duration::from_millis(10);
/// Time after which processes that do not end are left alone, and named.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The variable of steps in the run of a directory.
pub fn tracking(dir: &Path) -> (String, String) {
    (TRACKING.to_owned(), format!("backstitch_{}", dir.display()))
}

/// The variable of supervisors in the run of a directory.
pub fn supervised(dir: &Path) -> (String, String) {
    (SUPERVISED.to_owned(), dir.display().to_string())
}

/// Waits for supervisors of a run whose process was killed, and ends what a killed supervisor has left. Returns how many
/// processes were ended. Err: processes that did not end.
pub fn end_left_processes(dir: &Path) -> Result<usize, Vec<i32>> {
    let since = Instant::now();
    let mut ended = HashSet::new();
    loop {
        let (supervisors, left) = (with(&supervised(dir)), with(&tracking(dir)));
        if supervisors.is_empty() && left.is_empty() {
            return Ok(ended.len());
        }
        if since.elapsed() > TIMEOUT {
            let all = supervisors.iter().chain(&left);
            return Err(all.map(|pid| pid.as_raw_nonzero().get()).collect());
        }
        // a supervisor ends those below it, also those without the variable
        if supervisors.is_empty() {
            for pid in left {
                if kill_process(pid, Signal::KILL).is_ok() {
                    ended.insert(pid);
                }
            }
        }
        thread::sleep(RETRY);
    }
}

/// Living processes with a variable in their environment. Those of other users have none that can be read.
fn with((name, value): &(String, String)) -> Vec<Pid> {
    let wanted = format!("{name}={value}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        if variables.any(|variable| variable == wanted.as_bytes()) {
            found.extend(Pid::from_raw(pid));
        }
    }
    found
}
