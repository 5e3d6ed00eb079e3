//! The contents of a workflow before it runs: its jobs, what they need, what is absent here, and the commands in it that reach out.

use std::fs;
use std::path::{Path, PathBuf};

use crate::action::ActionRuns;
use crate::contexts::{At, JobFacts};
use crate::expr::{Dict, Value};
use crate::place::reach::reaching;
use crate::position::WorkflowProblem;
use crate::state::JobState;
use crate::step::shell::{ScriptShell, find_program};
use crate::template::{TemplateToken, TokenKind, expand};
use crate::workflow::{
    self, Body, Defaults, StepAction, StepsBody, Workflow, WorkflowStep, matrix,
};

use super::systems::other_system;
use super::uses::{ActionSources, FoundAction, MAX_DEPTH, UsesText, read_action};

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
    /// Shells of steps that are not here, with their lines. Steps and jobs that may not run here are left out.
    pub shells: Vec<LineText>,
    /// The label of another system, with its line: all combinations of the job ask for one.
    pub elsewhere: Option<LineText>,
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
    /// Reads a workflow for a list. `root`: the repository, which has the workflows and actions that it uses.
    pub fn of(file: &str, text: &str, root: &Path, actions: &ActionSources) -> WorkflowListing {
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
            listing.jobs = jobs_of(&workflow, root, actions);
            let text_of = |path: &str| fs::read_to_string(root.join(path)).ok();
            listing.problems = workflow::check_calls(&workflow, text_of);
        }
        listing
    }
}

impl WorkflowListing {
    /// A file that cannot be read, with the reason.
    pub fn unreadable(file: &str, reason: &str) -> WorkflowListing {
        WorkflowListing {
            file: file.to_owned(),
            problems: vec![WorkflowProblem {
                file: file.to_owned(),
                range: None,
                message: reason.to_owned(),
            }],
            ..WorkflowListing::default()
        }
    }

    /// Adds what is absent in some lines to the jobs of these lines.
    pub fn add_absent(&mut self, notes: Vec<LineText>) {
        for note in notes {
            let mut jobs = self.jobs.iter_mut().rev();
            if let Some(job) = jobs.find(|job| job.line <= note.line) {
                job.absent.push(note);
                job.absent.sort_by_key(|note| note.line);
            }
        }
    }
}

/// The jobs of a workflow, in the order of the file. Each has the parts of workflows and actions that it uses.
fn jobs_of(workflow: &Workflow, root: &Path, actions: &ActionSources) -> Vec<JobListing> {
    let used = UsedFiles {
        root,
        actions,
        above: Vec::new(),
    };
    used.jobs_of(workflow)
}

/// A job with steps, as people choose it.
pub(super) fn steps_listing(body: &StepsBody, root: &Path, actions: &ActionSources) -> JobListing {
    let mut listing = JobListing {
        runs_on: Some(shown(&body.runs_on)),
        steps: body.steps.len(),
        ..JobListing::default()
    };
    list_keys(body, &mut listing);
    let used = UsedFiles {
        root,
        actions,
        above: Vec::new(),
    };
    used.list_steps(&body.steps, &mut listing);
    listing
}

/// Workflows and actions that a job uses, and the places where they are found.
struct UsedFiles<'a> {
    root: &'a Path,
    actions: &'a ActionSources,
    /// The files around the one that is read: one that uses itself ends there.
    above: Vec<PathBuf>,
}

impl UsedFiles<'_> {
    fn jobs_of(&self, workflow: &Workflow) -> Vec<JobListing> {
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
            Body::Steps(body) => {
                listing.runs_on = Some(shown(&body.runs_on));
                listing.steps = body.steps.len();
                listing.elsewhere = elsewhere(body, &listing.matrix);
                list_keys(body, &mut listing);
                if listing.elsewhere.is_none() {
                    let defaults = [&body.defaults, &workflow.defaults];
                    self.list_shells(&body.steps, &defaults, &mut listing);
                }
                self.list_steps(&body.steps, &mut listing);
            }
            Body::Call(call) => {
                listing.calls = Some(call.uses.value.clone());
                let (line, uses) = (call.uses.range.start.line, &call.uses.value);
                match call.own_path() {
                    Some(path) => self.add_called(path, line, &mut listing),
                    None => listing.refused.push(LineText {
                        line,
                        text: format!("the workflow '{uses}' of another repository: copy it into .github/workflows"),
                    }),
                }
            }
        }
        listing
    });
        listed.collect()
    }

    /// Adds the parts of a workflow that a job calls. One that cannot be read fails in the run.
    fn add_called(&self, path: &str, line: u32, listing: &mut JobListing) {
        let file = self.root.join(path);
        let Some(below) = self.below(&file) else {
            return;
        };
        let text = fs::read_to_string(&file).unwrap_or_default();
        let (workflow, _) = workflow::read(path, &text);
        for job in workflow.iter().flat_map(|workflow| below.jobs_of(workflow)) {
            listing.add_parts(job, line, path);
        }
    }

    /// Adds the parts of a composite action that a step uses. One that cannot be read fails in the run.
    fn add_action(&self, directory: &Path, line: u32, listing: &mut JobListing) {
        let Some(below) = self.below(directory) else {
            return;
        };
        // a step may make it
        if !directory.is_dir() {
            return;
        }
        let place = directory.strip_prefix(self.root).unwrap_or(directory);
        let place = place.to_string_lossy();
        match read_action(directory).map(|action| action.runs) {
            Ok(ActionRuns::Composite(steps)) => {
                let mut inner = JobListing::default();
                below.list_steps(&steps, &mut inner);
                listing.add_parts(inner, line, &place);
            }
            Ok(ActionRuns::Docker(_)) => listing.refused.push(LineText {
                line,
                text: format!("the Docker action '{place}': steps run on this machine; run its commands on the host"),
            }),
            Ok(ActionRuns::Node(_)) => {}
            Err(reason) => listing.refused.push(LineText {
                line,
                text: format!("the action '{place}': {reason}"),
            }),
        }
    }

    /// The files below one; none if that is among those above it, or if there are too many.
    fn below(&self, file: &Path) -> Option<Self> {
        let is_new = self.above.len() < MAX_DEPTH && !self.above.iter().any(|above| above == file);
        is_new.then(|| {
            let mut above = self.above.clone();
            above.push(file.to_owned());
            Self { above, ..*self }
        })
    }

    /// Lists the shells that are not on PATH. A step with a condition may be one of another system.
    fn list_shells(
        &self,
        steps: &[WorkflowStep],
        defaults: &[&Defaults],
        listing: &mut JobListing,
    ) {
        let default = defaults.iter().find_map(|defaults| defaults.shell.as_ref());
        let path = self.actions.host.path().join(":");
        for step in steps.iter().filter(|step| step.condition == "success()") {
            let StepAction::Run { shell, .. } = &step.action else {
                continue;
            };
            let Some(token) = shell.as_ref().or(default) else {
                continue;
            };
            let Some(Ok(shell)) = token
                .as_text()
                .map(|name| ScriptShell::of(Some(name), true))
            else {
                continue;
            };
            // runs have a `python` where only `python3` is installed
            let is_python = shell.program == "python";
            let names = [shell.program.as_str(), "python3"];
            let mut names = names.into_iter().take(if is_python { 2 } else { 1 });
            let line = token.range.start.line;
            let text = format!("the shell '{}'", shell.program);
            let part = LineText { line, text };
            // a relative path is one of the workspace
            if !shell.program.contains('/')
                && !names.any(|name| find_program(name, &path, Path::new("/")).is_some())
                && !listing.shells.contains(&part)
            {
                listing.shells.push(part);
            }
        }
    }

    fn list_steps(&self, steps: &[WorkflowStep], listing: &mut JobListing) {
        for step in steps {
            match &step.action {
                StepAction::Run { script, .. } => list_commands(script, listing),
                StepAction::Uses { uses, .. } => {
                    let line = uses.range.start.line;
                    match UsesText::parse(&uses.value) {
                    UsesText::Remote(action) => match self.actions.find(&action) {
                        FoundAction::Directory(directory) => self.add_action(&directory, line, listing),
                        _ if self.actions.lacks(&action) => listing.absent.push(LineText { line, text: uses.value.clone() }),
                        FoundAction::Builtin(_) | FoundAction::Skipped | FoundAction::Absent => {}
                    },
                    UsesText::Workspace(path) | UsesText::Own(path) => self.add_action(&self.root.join(path), line, listing),
                    UsesText::Docker(image) => listing.refused.push(LineText {
                        line,
                        text: format!("the image '{image}': steps run on this machine; run its commands on the host"),
                    }),
                    UsesText::Invalid(_) => {}
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
}

impl JobListing {
    /// Adds the parts of a file that this job uses in a line, but for those that are there already.
    fn add_parts(&mut self, inner: JobListing, line: u32, file: &str) {
        let add = |parts: &mut Vec<LineText>, inner: Vec<LineText>| {
            for part in inner {
                let text = format!("{} (line {} of {file})", part.text, part.line);
                let part = LineText { line, text };
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        };
        add(&mut self.absent, inner.absent);
        add(&mut self.refused, inner.refused);
        add(&mut self.reaching, inner.reaching);
    }
}

/// The label of another system that all combinations of a job ask for.
fn elsewhere(body: &StepsBody, matrix: &MatrixListing) -> Option<LineText> {
    let label = |matrix: Option<Dict>| {
        let facts = JobFacts {
            matrix,
            ..JobFacts::default()
        };
        let state = JobState::default();
        other_system(&body.runs_on, &At::outside(&facts, &state, Path::new("/")))
    };
    let label = match matrix {
        MatrixListing::None => label(None),
        MatrixListing::Combinations(all) => {
            let mut labels = all.iter().map(|values| label(Some(values.clone())));
            let first = labels.next()?;
            first.filter(|_| labels.all(|label| label.is_some()))
        }
        MatrixListing::Later(_) => None,
    };
    label.map(|text| LineText {
        line: body.runs_on.range.start.line,
        text,
    })
}

/// Lists keys of a job that a run refuses.
fn list_keys(body: &StepsBody, listing: &mut JobListing) {
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
    let facts = JobFacts::default();
    let state = JobState::default();
    let at = At::outside(&facts, &state, Path::new("/"));
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
