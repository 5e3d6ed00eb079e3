//! `action.yml`: an action as a typed value, with the problems that GitHub's parser finds in its text.

use crate::expr::{self, Allowed};
use crate::position::{Located, WorkflowProblem};
use crate::template::schema::TemplateSchema;
use crate::template::{TemplateToken, TokenKind};
use crate::workflow::{
    ConversionError, Ids, Problems, StepAction, WorkflowStep, check_uses, condition_of, conversion,
    id_words, template,
};

/// An action file that has no problems.
#[derive(Clone, Debug)]
pub struct ActionFile {
    /// Path as it was given.
    pub file: String,
    pub name: String,
    pub inputs: Vec<ActionInput>,
    /// Names of outputs. Only those of composite actions have a template.
    pub outputs: Vec<(String, Option<TemplateToken>)>,
    pub runs: ActionRuns,
}

#[derive(Clone, Debug)]
pub struct ActionInput {
    pub name: String,
    pub required: bool,
    pub default: Option<TemplateToken>,
    /// The message for those who give it.
    pub deprecation: Option<String>,
}

/// `runs`.
#[derive(Clone, Debug)]
pub enum ActionRuns {
    Composite(Vec<WorkflowStep>),
    Node(Box<NodeRuns>),
    Docker(Box<DockerRuns>),
}

/// An action in JavaScript. Its scripts are paths within its directory.
#[derive(Clone, Debug)]
pub struct NodeRuns {
    /// `node20`, with its place.
    pub using: Located<String>,
    pub main: String,
    pub pre: Option<String>,
    /// The condition; `always()` if the file has none.
    pub pre_if: String,
    pub post: Option<String>,
    pub post_if: String,
}

/// An action in a container, which is refused.
#[derive(Clone, Debug)]
pub struct DockerRuns {
    pub using: Located<String>,
    pub image: String,
}

/// Reads an action. There is an action if there are no problems.
pub fn read(file: &str, text: &str) -> (Option<ActionFile>, Vec<WorkflowProblem>) {
    let (token, found) = template(TemplateSchema::action(), "action-root-strict", file, text);
    typed(file, token, found)
}

/// Reads an action that is to run. GitHub's runner does not ask for the texts that its marketplace asks for.
pub fn read_to_run(file: &str, text: &str) -> (Option<ActionFile>, Vec<WorkflowProblem>) {
    let (token, mut found) = template(TemplateSchema::action(), "action-root-strict", file, text);
    found.retain(|problem| !is_for_marketplace(problem));
    typed(file, token, found)
}

/// True for the problem of a text that only GitHub's marketplace asks for.
pub fn is_for_marketplace(problem: &WorkflowProblem) -> bool {
    let missing = problem
        .message
        .strip_prefix("Required property is missing: ");
    missing.is_some_and(|key| matches!(key, "name" | "description"))
}

fn typed(
    file: &str,
    token: Option<TemplateToken>,
    found: Vec<WorkflowProblem>,
) -> (Option<ActionFile>, Vec<WorkflowProblem>) {
    let Some(root) = token.filter(|_| found.is_empty()) else {
        return (None, found);
    };
    let mut problems = Problems::new(file);
    let converted = convert(file, &root, &mut problems);
    let action = problems.note(converted);
    let problems = problems.into_vec();
    (action.filter(|_| problems.is_empty()), problems)
}

fn convert(
    file: &str,
    root: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<ActionFile, ConversionError> {
    let text = |name: &str| {
        root.get(name)
            .map(TemplateToken::display)
            .unwrap_or_default()
    };
    let mut inputs = Vec::new();
    let mut outputs = Vec::new();
    let mut runs = ActionRuns::Composite(Vec::new());
    for (key, value) in conversion::mapping(root, "action")? {
        match conversion::text(key, "action key")? {
            "inputs" => inputs = convert_inputs(value)?,
            "outputs" => {
                for (name, settings) in conversion::mapping(value, "outputs")? {
                    let name = conversion::text(name, "output id")?.to_owned();
                    outputs.push((name, settings.get("value").cloned()));
                }
            }
            "runs" => runs = convert_runs(value, problems)?,
            _ => {}
        }
    }
    Ok(ActionFile {
        file: file.to_owned(),
        name: text("name"),
        inputs,
        outputs,
        runs,
    })
}

fn convert_inputs(token: &TemplateToken) -> Result<Vec<ActionInput>, ConversionError> {
    let mut inputs = Vec::new();
    for (name, settings) in conversion::mapping(token, "inputs")? {
        let is_true = |token: &TemplateToken| match &token.kind {
            TokenKind::Bool(value) => *value,
            _ => token.as_text() == Some("true"),
        };
        inputs.push(ActionInput {
            name: conversion::text(name, "input id")?.to_owned(),
            required: settings.get("required").is_some_and(is_true),
            default: settings.get("default").cloned(),
            deprecation: settings
                .get("deprecationMessage")
                .map(TemplateToken::display),
        });
    }
    Ok(inputs)
}

/// `runs`. Its conditions and steps are checked in the order of the file.
fn convert_runs(
    token: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<ActionRuns, ConversionError> {
    let mut conditions = [None, None];
    let mut steps = None;
    let allowed = TemplateSchema::action().allowed("runs-if");
    for (key, value) in conversion::mapping(token, "runs")? {
        match conversion::text(key, "runs property")? {
            "pre-if" => conditions[0] = Some(runs_condition(value, &allowed, problems)),
            "post-if" => conditions[1] = Some(runs_condition(value, &allowed, problems)),
            "steps" => steps = Some(convert_steps(value, problems)?),
            _ => {}
        }
    }
    let text = |name: &str| token.get(name).map(TemplateToken::display);
    let using = token.get("using").unwrap_or(token);
    let located = Located {
        value: using.display(),
        range: using.range,
    };
    let missing = |message: &str| ConversionError {
        range: token.range,
        message: message.to_owned(),
    };
    match located.value.as_str() {
        "composite" => {
            let reason = "You are using a composite action but there are no steps provided.";
            steps
                .map(ActionRuns::Composite)
                .ok_or_else(|| missing(reason))
        }
        "docker" => {
            let reason = "You are using a Container Action but an image is not provided.";
            let image = text("image").ok_or_else(|| missing(reason))?;
            let using = located;
            Ok(ActionRuns::Docker(Box::new(DockerRuns { using, image })))
        }
        _ => {
            let reason = "You are using a JavaScript Action but there is not an entry JavaScript file provided.";
            let [pre_if, post_if] = conditions;
            let always = || "always()".to_owned();
            Ok(ActionRuns::Node(Box::new(NodeRuns {
                using: located,
                main: text("main").ok_or_else(|| missing(reason))?,
                pre: text("pre"),
                pre_if: pre_if.unwrap_or_else(always),
                post: text("post"),
                post_if: post_if.unwrap_or_else(always),
            })))
        }
    }
}

/// `pre-if` or `post-if`, which imply no status.
fn runs_condition(token: &TemplateToken, allowed: &Allowed, problems: &mut Problems<'_>) -> String {
    if let TokenKind::Expression(expression) = &token.kind {
        return expression.text.clone();
    }
    let text = token.display();
    if !text.is_empty()
        && let Err(error) = expr::check(&text, allowed)
    {
        problems.add(token.range, error.to_string());
    }
    text
}

fn convert_steps(
    token: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<Vec<WorkflowStep>, ConversionError> {
    let allowed = TemplateSchema::action().allowed("step-if");
    let mut ids = Ids::default();
    let mut steps = Vec::new();
    for item in conversion::sequence(token, "steps")? {
        steps.extend(convert_step(item, &allowed, &mut ids, problems));
    }
    for step in steps.iter_mut().filter(|step| step.id.is_empty()) {
        step.id = ids.make(&id_words(&step.action));
    }
    Ok(steps)
}

fn convert_step(
    token: &TemplateToken,
    allowed: &Allowed,
    ids: &mut Ids,
    problems: &mut Problems<'_>,
) -> Option<WorkflowStep> {
    let mut id = String::new();
    let mut condition = None;
    let TokenKind::Mapping(entries) = &token.kind else {
        return None;
    };
    for (key, value) in entries {
        match key.as_text() {
            Some("id") => match ids.take(&value.display()) {
                Ok(()) => id = value.display(),
                Err(message) => problems.add(value.range, message),
            },
            Some("if") => condition = Some(condition_of(value, allowed, problems)),
            _ => {}
        }
    }
    let part = |name: &str| token.get(name).cloned();
    let action = match (part("run"), token.get("uses")) {
        (Some(script), _) => StepAction::Run {
            script,
            shell: part("shell"),
            working_directory: part("working-directory"),
        },
        (None, uses) => {
            let uses = Located {
                value: uses?.display(),
                range: uses?.range,
            };
            check_uses(&uses, problems);
            let with = part("with");
            StepAction::Uses { uses, with }
        }
    };
    Some(WorkflowStep {
        id,
        range: token.range,
        name: part("name"),
        condition: condition.unwrap_or_else(|| "success()".to_owned()),
        env: part("env"),
        timeout_minutes: None,
        continue_on_error: part("continue-on-error"),
        action,
    })
}

#[cfg(test)]
mod tests;
