//! Needs of jobs: unknown ones and cycles.

use super::conversion::Problems;
use std::collections::VecDeque;

use crate::position::{Located, Range};

/// Notes needs that no job meets. `jobs` are all, with what they need. Ids have no case.
pub(super) fn check(
    jobs: &[(String, Vec<Located<String>>)],
    range: Range,
    problems: &mut Problems<'_>,
) {
    let is_ready = |(_, needs): &&(String, Vec<Located<String>>)| needs.is_empty();
    let mut ready: VecDeque<String> = jobs
        .iter()
        .filter(is_ready)
        .map(|(name, _)| name.clone())
        .collect();
    if ready.is_empty() {
        let message = "The workflow must contain at least one job with no dependencies.";
        problems.add(range, message);
        return;
    }
    let mut waiting: Vec<(String, Vec<Located<String>>)> =
        jobs.iter().filter(|job| !is_ready(job)).cloned().collect();
    while let Some(done) = ready.pop_front() {
        // from the end, in which order GitHub starts them
        let mut started = Vec::new();
        for (name, needs) in waiting.iter_mut().rev() {
            needs.retain(|need| !need.value.eq_ignore_ascii_case(&done));
            if needs.is_empty() {
                started.push(name.clone());
            }
        }
        waiting.retain(|(_, needs)| !needs.is_empty());
        ready.extend(started);
    }
    for (name, needs) in &waiting {
        for need in needs {
            let message = if jobs
                .iter()
                .any(|(job, _)| job.eq_ignore_ascii_case(&need.value))
            {
                format!(
                    "Job '{name}' depends on job '{}' which creates a cycle in the dependency graph.",
                    need.value
                )
            } else {
                format!("Job '{name}' depends on unknown job '{}'.", need.value)
            };
            problems.add(need.range, message);
        }
    }
}
