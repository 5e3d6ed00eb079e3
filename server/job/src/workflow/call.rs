//! Jobs that call a workflow of the same repository.

use super::conversion::{Problems, mapping};
use super::model::{CallBody, Secrets, Workflow, WorkflowCall};
use crate::position::WorkflowProblem;
use crate::template::TemplateToken;

/// Problems of a call, in the file that has it. `called` is the workflow that `uses` names.
pub(super) fn check_call(file: &str, call: &CallBody, called: &Workflow) -> Vec<WorkflowProblem> {
    let mut problems = Problems::new(file);
    match &called.call {
        None => {
            let message = "workflow_call key is not defined in the referenced workflow.";
            problems.add(call.uses.range, message);
        }
        Some(declared) => {
            check_inputs(call, declared, &mut problems);
            check_secrets(call, declared, &mut problems);
        }
    }
    problems.into_vec()
}

fn check_inputs(call: &CallBody, declared: &WorkflowCall, problems: &mut Problems<'_>) {
    let given = entries(call.with.as_ref());
    for input in declared.inputs.iter().filter(|input| input.required) {
        if !is_given(given, &input.name) {
            let name = &input.name;
            let message = format!("Input {name} is required, but not provided while calling.");
            problems.add(call.uses.range, message);
        }
    }
    for (key, value) in given {
        let name = key.display();
        if !declared.inputs.iter().any(|input| same(&input.name, &name)) {
            let message =
                format!("Invalid input, {name} is not defined in the referenced workflow.");
            problems.add(value.range, message);
        }
    }
}

fn check_secrets(call: &CallBody, declared: &WorkflowCall, problems: &mut Problems<'_>) {
    let given = match &call.secrets {
        Secrets::Inherit => return,
        Secrets::None => &[],
        Secrets::Mapping(token) => entries(Some(token)),
    };
    for (name, is_required) in &declared.secrets {
        if *is_required && !is_given(given, name) {
            let message = format!("Secret {name} is required, but not provided while calling.");
            problems.add(call.uses.range, message);
        }
    }
    for (key, value) in given {
        let given = key.display();
        if !declared.secrets.iter().any(|(name, _)| same(name, &given)) {
            let message =
                format!("Invalid secret, {given} is not defined in the referenced workflow.");
            problems.add(value.range, message);
        }
    }
}

fn entries(token: Option<&TemplateToken>) -> &[(TemplateToken, TemplateToken)] {
    token
        .and_then(|token| mapping(token, "").ok())
        .unwrap_or_default()
}

fn is_given(given: &[(TemplateToken, TemplateToken)], name: &str) -> bool {
    given.iter().any(|(key, _)| same(&key.display(), name))
}

fn same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}
