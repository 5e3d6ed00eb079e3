//! The template of a workflow to the typed workflow.

use super::conversion::{ConversionError, Problems, mapping, text};
use super::model::{Defaults, Workflow};
use super::{events, job, settings};
use crate::position::{Located, WorkflowProblem};
use crate::template::TemplateToken;

/// Keys of a workflow that a local run does not heed.
const UNHEEDED: [&str; 2] = ["concurrency", "permissions"];

pub(super) fn convert(
    file: &str,
    root: &TemplateToken,
) -> (Option<Workflow>, Vec<WorkflowProblem>) {
    let mut problems = Problems::new(file);
    let converted = convert_root(file, root, &mut problems);
    let workflow = problems.note(converted);
    let problems = problems.into_vec();
    (workflow.filter(|_| problems.is_empty()), problems)
}

fn convert_root(
    file: &str,
    root: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<Workflow, ConversionError> {
    let mut workflow = Workflow {
        file: file.to_owned(),
        name: None,
        run_name: None,
        events: Vec::new(),
        dispatch_inputs: Vec::new(),
        call: None,
        env: None,
        defaults: Defaults::default(),
        jobs: Vec::new(),
        unheeded: Vec::new(),
    };
    for (key, value) in mapping(root, "root")? {
        let name = text(key, "root key")?;
        match name {
            "on" => {
                let on = events::convert(value, problems);
                let on = problems.note(on).unwrap_or_default();
                workflow.events = on.all;
                workflow.dispatch_inputs = on.dispatch_inputs;
                workflow.call = on.call;
            }
            "jobs" => {
                let jobs = job::convert_jobs(value, problems);
                workflow.jobs = problems.note(jobs).unwrap_or_default();
            }
            "concurrency" => {
                let checked = settings::check_concurrency(value, problems);
                problems.note(checked);
            }
            "env" => workflow.env = Some(value.clone()),
            "name" => workflow.name = Some(value.display()),
            "run-name" => workflow.run_name = Some(value.clone()),
            "defaults" => workflow.defaults = settings::defaults(value),
            _ => {}
        }
        if UNHEEDED.contains(&name) {
            workflow.unheeded.push(Located {
                value: name.to_owned(),
                range: key.range,
            });
        }
    }
    Ok(workflow)
}
