//! The contents of a workflow before it runs: its jobs, what they need, what is absent here, and the commands in it that reach out.

use crate::expr::{Dict, Value};
use crate::place::reach::reaching;
use crate::position::WorkflowProblem;
use crate::state::JobState;
use crate::template::{TemplateToken, TokenKind, expand};
use crate::workflow::{self, Body, StepAction, StepsBody, Workflow, matrix};

use super::uses::{ActionSources, UsesText};

/// A workflow file as people choose from it.
#[derive(Clone, Debug, Default)]
pub struct WorkflowListing {
    /// Path, relative to the repository.
    pub file: String,
    pub name: Option<String>,
    /// Names of the events that start it.
    pub events: Vec<String>,
    pub jobs: Vec<JobListing>,
    pub problems: Vec<WorkflowProblem>,
}

/// A job as people choose it.
#[derive(Clone, Debug, Default)]
pub struct JobListing {
    pub id: String,
    pub name: Option<String>,
    /// From 1.
    pub line: u32,
    pub runs_on: Option<String>,
    pub needs: Vec<String>,
    /// Path of the workflow that it calls.
    pub calls: Option<String>,
    pub steps: usize,
    pub matrix: MatrixListing,
    /// Actions that are neither built in nor in a named directory or a cache, and those whose tool is not here, with their lines.
    pub absent: Vec<LineText>,
    /// Parts that a run refuses, with their lines and the way out.
    pub refused: Vec<LineText>,
    /// Commands that reach out of the run: of other users, of package managers, to servers.
    pub reaching: Vec<LineText>,
}

/// The combinations of a matrix.
#[derive(Clone, Debug, Default)]
pub enum MatrixListing {
    #[default]
    None,
    Combinations(Vec<Dict>),
    /// It depends on values of the run, such as outputs of another job.
    Later(String),
}

/// A text with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineText {
    /// From 1.
    pub line: u32,
    pub text: String,
}

impl WorkflowListing {
    /// Reads a workflow for a list.
    pub fn of(file: &str, text: &str, actions: &ActionSources) -> WorkflowListing {
        let (workflow, problems) = workflow::read(file, text);
        let mut listing = WorkflowListing {
            file: file.to_owned(),
            problems,
            ..WorkflowListing::default()
        };
        if let Some(workflow) = workflow {
            listing.name.clone_from(&workflow.name);
            listing.events = workflow
                .events
                .iter()
                .map(|(event, _)| event.value.clone())
                .collect();
            listing.jobs = jobs_of(&workflow, actions);
        }
        listing
    }
}

/// The jobs of a workflow, in the order of the file.
pub fn jobs_of(workflow: &Workflow, actions: &ActionSources) -> Vec<JobListing> {
    let listed = workflow.jobs.iter().map(|job| {
        let mut listing = JobListing {
            id: job.id.value.clone(),
            name: job.name.as_ref().map(shown),
            line: job.id.range.start.line,
            needs: job.needs.iter().map(|need| need.value.clone()).collect(),
            matrix: matrix_of(job.strategy.matrix.as_ref()),
            ..JobListing::default()
        };
        match &job.body {
            Body::Steps(body) => list_steps(body, actions, &mut listing),
            Body::Call(call) => {
                listing.calls = Some(call.uses.value.clone());
                let is_local = call.uses.value.starts_with("./") || call.uses.value.starts_with("$/");
                if !is_local {
                    listing.refused.push(LineText {
                        line: call.uses.range.start.line,
                        text: format!("the workflow '{}' of another repository: copy it into .github/workflows", call.uses.value),
                    });
                }
            }
        }
        listing
    });
    listed.collect()
}

/// A job with steps, as people choose it.
pub(super) fn steps_listing(body: &StepsBody, actions: &ActionSources) -> JobListing {
    let mut listing = JobListing::default();
    list_steps(body, actions, &mut listing);
    listing
}

fn list_steps(body: &StepsBody, actions: &ActionSources, listing: &mut JobListing) {
    listing.runs_on = Some(shown(&body.runs_on));
    listing.steps = body.steps.len();
    for (key, token) in [("container", &body.container), ("services", &body.services)] {
        if let Some(token) = token {
            listing.refused.push(LineText {
                line: token.range.start.line,
                text: format!(
                    "'{key}': jobs run on this machine, without containers; leave the key out"
                ),
            });
        }
    }
    for step in &body.steps {
        match &step.action {
            StepAction::Run { script, .. } => list_commands(script, listing),
            StepAction::Uses { uses, .. } => {
                let line = uses.range.start.line;
                match UsesText::parse(&uses.value) {
                    UsesText::Remote(action) => {
                        if actions.lacks(&action) {
                            listing.absent.push(LineText { line, text: uses.value.clone() });
                        }
                    }
                    UsesText::Docker(image) => listing.refused.push(LineText {
                        line,
                        text: format!("the image '{image}': steps run on this machine; run its commands on the host"),
                    }),
                    UsesText::Workspace(_) | UsesText::Own(_) | UsesText::Invalid(_) => {}
                }
            }
            StepAction::Background(key) => listing.refused.push(LineText {
                line: key.range.start.line,
                text: format!(
                    "'{}': steps run one after the other; leave the key out",
                    key.value
                ),
            }),
        }
    }
}

/// Lists the commands of a script that reach out, at their lines in the file.
fn list_commands(script: &TemplateToken, listing: &mut JobListing) {
    let (text, is_block) = match &script.kind {
        TokenKind::Text(text) => (text.clone(), text.contains('\n')),
        TokenKind::Expression(expression) => {
            (expression.source.clone(), expression.source.contains('\n'))
        }
        _ => return,
    };
    // the text of a block begins in the line after its `|`
    let first = script.range.start.line + u32::from(is_block);
    for (line, command) in reaching(&text) {
        listing.reaching.push(LineText {
            line: first + line - 1,
            text: command,
        });
    }
}

/// A template as written, in one line.
fn shown(token: &TemplateToken) -> String {
    match &token.kind {
        TokenKind::Null | TokenKind::Insert => String::new(),
        TokenKind::Bool(value) => value.to_string(),
        TokenKind::Number(value) => Value::Number(*value).to_text(),
        TokenKind::Text(text) => text.clone(),
        TokenKind::Expression(expression) => expression.source.clone(),
        TokenKind::Sequence(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        TokenKind::Mapping(pairs) => {
            let pairs = pairs
                .iter()
                .map(|(key, value)| format!("{}: {}", shown(key), shown(value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The combinations of a matrix, as far as they are known before a run.
pub(super) fn matrix_of(token: Option<&TemplateToken>) -> MatrixListing {
    let Some(token) = token else {
        return MatrixListing::None;
    };
    if let Some(context) = asks_for(token, &["github", "needs", "inputs", "vars"]) {
        return MatrixListing::Later(context);
    }
    let facts = crate::contexts::JobFacts::default();
    let state = JobState::default();
    let at = crate::contexts::At::outside(&facts, &state, std::path::Path::new("/"));
    let combinations = expand(token, &at)
        .map_err(|error| error.message)
        .and_then(|value| matrix::expand(&value).map_err(|error| error.to_string()));
    match combinations {
        Ok(all) => MatrixListing::Combinations(all),
        Err(reason) => MatrixListing::Later(reason),
    }
}

/// The first expression with a value of one of these contexts.
pub(super) fn asks_for(token: &TemplateToken, contexts: &[&str]) -> Option<String> {
    match &token.kind {
        TokenKind::Expression(expression) => {
            let text = expression.text.to_ascii_lowercase();
            let asks = contexts.iter().any(|context| {
                text.contains(&format!("{context}.")) || text.contains(&format!("{context}["))
            });
            asks.then(|| expression.source.clone())
        }
        TokenKind::Sequence(items) => items.iter().find_map(|item| asks_for(item, contexts)),
        TokenKind::Mapping(pairs) => pairs
            .iter()
            .find_map(|(key, value)| asks_for(key, contexts).or_else(|| asks_for(value, contexts))),
        TokenKind::Null
        | TokenKind::Insert
        | TokenKind::Bool(_)
        | TokenKind::Number(_)
        | TokenKind::Text(_) => None,
    }
}
