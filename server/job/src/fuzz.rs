//! Subjects of fuzzing: workflows and actions as texts. Each takes any bytes and panics if a rule is broken.

use crate::position::WorkflowProblem;
use crate::{action, workflow};

/// Reads a text as a workflow and as an action. One that is refused has problems at places in the text, and a workflow
/// that is taken has an order of its jobs.
pub fn workflow(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let (workflow, problems) = workflow::read("file.yml", text);
    check(text, workflow.is_some(), &problems);
    if let Some(workflow) = workflow {
        for job in &workflow.jobs {
            let order = workflow::order(&workflow, &job.id.value);
            assert_eq!(order.last().map(|last| &last.id.value), Some(&job.id.value));
        }
    }
    let (action, problems) = action::read("action.yml", text);
    check(text, action.is_some(), &problems);
}

fn check(text: &str, is_read: bool, problems: &[WorkflowProblem]) {
    assert_eq!(is_read, problems.is_empty());
    let lines = text.matches('\n').count() + 1;
    for range in problems.iter().filter_map(|problem| problem.range) {
        assert!(
            (1..=lines).contains(&(range.start.line as usize)),
            "{range:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    /// Replays the inputs that fuzzing found (`tests/fuzz/found`).
    #[test]
    fn inputs_that_were_found_keep_the_rules() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/fuzz/found/workflow"
        );
        let mut count = 0;
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            super::workflow(&fs::read(path).expect("a file"));
            count += 1;
        }
        assert!(count > 0);
    }
}
