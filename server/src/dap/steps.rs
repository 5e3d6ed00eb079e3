//! The steps in a file: of the jobs of a workflow, or of a composite action.

use std::fs;
use std::path::Path;

use backstitch_job::action::{self, ActionRuns};
use backstitch_job::workflow::{self, Body, WorkflowStep};

/// A step in a file. Lines are from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStep {
    pub first: u32,
    pub last: u32,
}

/// The steps of a workflow or an action as its file is now. Err: the reason why it has none.
pub fn steps_of(file: &Path) -> Result<Vec<FileStep>, String> {
    let shown = file.display();
    let text = fs::read_to_string(file);
    let text = text.map_err(|error| format!("{shown} cannot be read: {error}."))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let all: Vec<FileStep> = if name == "action.yml" || name == "action.yaml" {
        match action::read_to_run(&shown.to_string(), &text).0 {
            Some(action) => match &action.runs {
                ActionRuns::Composite(steps) => lines(steps, &text),
                ActionRuns::Node(_) | ActionRuns::Docker(_) => Vec::new(),
            },
            None => return Err(format!("{shown} has problems: no step of it is known.")),
        }
    } else {
        let (workflow, problems) = workflow::read(&shown.to_string(), &text);
        let Some(workflow) = workflow else {
            let first = problems.first().map(ToString::to_string);
            let first = first.unwrap_or_default();
            return Err(format!("The workflow has problems: {first}"));
        };
        let jobs = workflow.jobs.iter().map(|job| match &job.body {
            Body::Steps(body) => lines(&body.steps, &text),
            Body::Call(_) => Vec::new(),
        });
        jobs.flatten().collect()
    };
    if all.is_empty() {
        return Err(format!("{shown} has no steps."));
    }
    Ok(all)
}

/// The lines of steps in a text. A step that ends with a block of text does not have the line after that.
fn lines(steps: &[WorkflowStep], text: &str) -> Vec<FileStep> {
    let text: Vec<&str> = text.lines().collect();
    let is_of = |step: &WorkflowStep, line: u32| {
        let line = usize::try_from(line).unwrap_or_default();
        let line = text.get(line.saturating_sub(1)).copied();
        let line = line.unwrap_or_default();
        let indent = line.len() - line.trim_start_matches(' ').len() + 1;
        !line.trim().is_empty() && indent >= step.range.start.column as usize
    };
    let all = steps.iter().map(|step| {
        let first = step.range.start.line;
        let mut last = step.range.end.line.max(first);
        while last > first && !is_of(step, last) {
            last -= 1;
        }
        FileStep { first, last }
    });
    all.collect()
}
