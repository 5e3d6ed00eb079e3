//! The job and the step that a start names, and their names where there is no such one.

use std::collections::BTreeMap;

use backstitch_job::repository::ProjectRepository;
use backstitch_job::run::{plain_name, step_matches};
use backstitch_job::state::EnvVariables;
use backstitch_job::template::TokenKind;
use backstitch_job::workflow::{self, Body, StepAction, Workflow, WorkflowJob, WorkflowStep};

use crate::terminal::error::{CliError, CliResult, ExitKind};

use super::arguments::{JobLaunch, problems_of};
use super::given::outputs_of;
use super::workflow_file::{read_workflow, workflow_file};

/// The same with the job of a workflow that has one alone.
pub fn with_only_job(args: &JobLaunch, repository: &ProjectRepository) -> CliResult<JobLaunch> {
    let file = workflow_file(repository, &args.file)?;
    let (name, text) = read_workflow(repository, &file)?;
    let (workflow, problems) = workflow::read(&name, &text);
    let jobs = workflow.ok_or_else(|| problems_of(&problems))?.jobs;
    let ids: Vec<&str> = jobs.iter().map(|job| job.id.value.as_str()).collect();
    let hint = match ids.as_slice() {
        [only] => {
            return Ok(JobLaunch {
                job: Some((*only).to_owned()),
                ..args.clone()
            });
        }
        [] => format!("name it with {}", args.names.job),
        all => format!(
            "name it with {}; jobs there: {}",
            args.names.job,
            all.join(", ")
        ),
    };
    Err(CliError::usage("no job is named").hint(hint))
}

/// Refuses a job or a step that the workflow does not have.
pub fn check_choice(args: &JobLaunch, workflow: &Workflow) -> CliResult<()> {
    let chosen = |job: &&WorkflowJob| args.job.as_ref().is_none_or(|id| job.id.value == *id);
    let has_matrix =
        |job: &WorkflowJob| job.strategy.matrix.is_some() || job.strategy.expression.is_some();
    let mut jobs = workflow.jobs.iter().filter(chosen).peekable();
    if !args.matrix.is_empty() && jobs.peek().is_some() && !jobs.any(has_matrix) {
        let about = args.job.as_deref().unwrap_or(&workflow.file);
        return Err(
            CliError::usage(format!("{}: {about} has no matrix", args.names.matrix))
                .hint("leave the option out"),
        );
    }
    let Some(id) = &args.job else { return Ok(()) };
    let Some(job) = workflow.jobs.iter().find(|job| job.id.value == *id) else {
        let known: Vec<&str> = workflow
            .jobs
            .iter()
            .map(|job| job.id.value.as_str())
            .collect();
        return Err(CliError::new(
            ExitKind::NotFound,
            format!("{id}: no such job in {}", workflow.file),
        )
        .hint(format!("jobs there: {}", known.join(", "))));
    };
    let Some(step) = &args.step else {
        return Ok(());
    };
    let steps = match &job.body {
        Body::Steps(body) => body.steps.as_slice(),
        Body::Call(_) => &[],
    };
    let is_known = steps
        .iter()
        .enumerate()
        .any(|(place, known)| step_matches(known, place, step));
    if !is_known {
        return Err(CliError::new(
            ExitKind::NotFound,
            format!("{step}: no such step in the job {id}"),
        )
        .hint(match &job.body {
            Body::Steps(_) => format!("steps there: {}", step_names(steps).join(", ")),
            Body::Call(call) => format!("it calls {}, and has no steps", call.uses.value),
        }));
    }
    let given = outputs_of(args)?;
    let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    let needs: Vec<&str> = job.needs.iter().map(|need| need.value.as_str()).collect();
    check_parts(args, &given.steps, &ids, "step")?;
    check_parts(args, &given.jobs, &needs, "needed job")
}

/// Names and ids of the steps of a workflow. None: it has others that are not known before a run, as those of actions.
pub fn known_names(workflow: &Workflow) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for job in &workflow.jobs {
        let Body::Steps(body) = &job.body else {
            return None;
        };
        for step in &body.steps {
            let may_have_steps = matches!(&step.action, StepAction::Uses { uses, .. } if !uses.value.starts_with("actions/"));
            if may_have_steps {
                return None;
            }
            let name = plain_name(step)?;
            if matches!(step.action, StepAction::Uses { .. }) {
                names.push(format!("Post {name}"));
            }
            names.push(name);
            names.push(step.id.clone());
        }
    }
    Some(names)
}

/// Refuses outputs of parts that the job does not have. `kind`: for people.
fn check_parts(
    args: &JobLaunch,
    given: &BTreeMap<String, EnvVariables>,
    known: &[&str],
    kind: &str,
) -> CliResult<()> {
    let Some(unknown) = given.keys().find(|id| !known.contains(&id.as_str())) else {
        return Ok(());
    };
    let named: Vec<&str> = known
        .iter()
        .copied()
        .filter(|id| !id.starts_with("__"))
        .collect();
    let job = args.job.as_deref().unwrap_or_default();
    let error = format!(
        "{} {unknown}: no such {kind} in the job {job}",
        args.names.output
    );
    Err(
        CliError::new(ExitKind::NotFound, error).hint(if named.is_empty() {
            format!("no {kind} of it has an id")
        } else {
            format!("ids there: {}", named.join(", "))
        }),
    )
}

/// Steps as people name them: by number, and by id or name.
fn step_names(steps: &[WorkflowStep]) -> Vec<String> {
    let names = steps.iter().enumerate().map(|(place, step)| {
        let name = match step.name.as_ref().map(|token| &token.kind) {
            Some(TokenKind::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let id = Some(step.id.as_str()).filter(|id| !id.starts_with("__"));
        match id.or(name) {
            Some(name) => format!("{} {name}", place + 1),
            None => (place + 1).to_string(),
        }
    });
    names.collect()
}
