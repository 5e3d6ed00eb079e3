//! The order in which jobs run.

use super::model::{Workflow, WorkflowJob};
use std::collections::HashSet;

/// The jobs that a job needs, directly or not, each after those that it needs itself; the job is the last. Empty if
/// there is no such job.
pub fn order<'w>(workflow: &'w Workflow, job: &str) -> Vec<&'w WorkflowJob> {
    let find = |id: &str| {
        let mut jobs = workflow.jobs.iter();
        jobs.find(|job| job.id.value.eq_ignore_ascii_case(id))
    };
    let mut ordered: Vec<&WorkflowJob> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    // a job, and the place of its next need
    let mut path: Vec<(&WorkflowJob, usize)> = find(job).map(|job| (job, 0)).into_iter().collect();
    while let Some((job, next)) = path.last_mut() {
        let need = job.needs.get(*next);
        *next += 1;
        match need.and_then(|need| find(&need.value)) {
            Some(needed) => {
                if seen.insert(&needed.id.value) {
                    path.push((needed, 0));
                }
            }
            None if need.is_some() => {}
            None => {
                ordered.push(job);
                path.pop();
            }
        }
    }
    ordered
}
