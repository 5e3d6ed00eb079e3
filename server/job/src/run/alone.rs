//! The parts of a workflow that run, and one step alone: outputs of the parts that do not run.

use std::collections::{BTreeMap, BTreeSet};

use crate::expr;
use crate::place::{RunEntry, RunRecord, list};
use crate::state::{EnvVariables, StepOutcome};
use crate::template::{TemplateToken, TokenKind};
use crate::workflow::{Body, StepAction, WorkflowJob, WorkflowStep};

use super::chosen::step_matches;
use super::listing::{JobListing, WorkflowListing};
use super::tool_versions::ToolVersions;
use super::whole::{Needs, WorkflowSetup};

/// Outputs of a part that does not run, by the id of its step or job.
type Outputs = BTreeMap<String, EnvVariables>;

/// The kind of a part whose outputs a step uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PartKind {
    Step,
    Job,
}

/// An output that a step uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UsedOutput {
    kind: PartKind,
    id: String,
    name: String,
}

impl WorkflowSetup {
    /// The jobs that run, with what is absent, refused and reaches out. A step that runs alone has its parts alone.
    pub fn listings(&self) -> Vec<JobListing> {
        let (file, root) = (&self.workflow.file, &self.repository.root);
        let mut versions = ToolVersions::new(&self.options.actions, &self.repository);
        let mut listing = WorkflowListing::of(file, &self.text, root, &self.options.actions);
        listing.add_absent(versions.missing(file, &self.text));
        let running: Vec<&str> = self
            .jobs()
            .iter()
            .map(|job| job.id.value.as_str())
            .collect();
        listing
            .jobs
            .retain(|job| running.contains(&job.id.as_str()));
        let alone = self.step_alone().and_then(|(job, only)| step_of(job, only));
        if let Some(step) = alone {
            let lines = step.range.start.line..=step.range.end.line;
            for job in &mut listing.jobs {
                for parts in [&mut job.absent, &mut job.refused, &mut job.reaching] {
                    parts.retain(|part| lines.contains(&part.line));
                }
            }
        }
        listing.jobs
    }

    /// Jobs that stand as successful, as one step of another job runs alone.
    pub(super) fn needs_of_step_alone(&self) -> Needs {
        let given = |job: &WorkflowJob| {
            let needs = job.needs.iter().map(|need| {
                let outputs = self.options.needs.get(&need.value);
                let outputs = outputs.cloned().unwrap_or_default();
                (need.value.clone(), (StepOutcome::Success, outputs))
            });
            needs.collect()
        };
        self.step_alone()
            .map(|(job, _)| given(job))
            .unwrap_or_default()
    }

    /// The job with a step that runs alone, and the text that names the step.
    fn step_alone(&self) -> Option<(&WorkflowJob, &str)> {
        let (id, only) = (self.job.as_deref()?, self.options.only.as_deref()?);
        let job = self.workflow.jobs.iter().find(|job| job.id.value == id)?;
        Some((job, only))
    }

    /// Gives a step that runs alone the outputs that it uses and the user has not given: those of the newest runs that have them.
    /// Returns sentences about their sources, and about outputs that no run has.
    pub fn take_outputs_of_runs(&mut self) -> Vec<String> {
        let Some((job, only)) = self.step_alone() else {
            return Vec::new();
        };
        let Some(step) = step_of(job, only) else {
            return Vec::new();
        };
        let job_id = job.id.value.clone();
        let mut used = used_outputs(step);
        let (steps, jobs) = (&self.options.outputs, &self.options.needs);
        used.retain(|output| output.in_parts(steps, jobs).is_none());
        if used.is_empty() {
            return Vec::new();
        }
        // runs that cannot be read have no outputs
        let all = list(&self.jobs_dir).unwrap_or_default();
        let all: Vec<RunRecord> = all
            .into_iter()
            .filter_map(|run| self.record_of(run))
            .collect();
        let mut sources: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut missing = Vec::new();
        for output in &used {
            let found = all.iter().find_map(|run| {
                let value = match output.kind {
                    PartKind::Step if run.job == job_id => output.in_parts(&run.steps, &run.steps),
                    PartKind::Job if run.job == output.id => run.outputs.get(&output.name),
                    PartKind::Step | PartKind::Job => None,
                };
                Some((run, value?))
            });
            let Some((run, value)) = found else {
                missing.push(format!(
                    "{} has no value: --output {}=VALUE gives it one",
                    output.expression(),
                    output.option()
                ));
                continue;
            };
            sources
                .entry(&run.id)
                .or_default()
                .push(output.expression());
            let parts = match output.kind {
                PartKind::Step => &mut self.options.outputs,
                PartKind::Job => &mut self.options.needs,
            };
            let part = parts.entry(output.id.clone()).or_default();
            part.set(&output.name, value);
        }
        let sources = sources.into_iter();
        let sources =
            sources.map(|(run, names)| format!("{}: as in the run {run}", names.join(", ")));
        sources.chain(missing).collect()
    }

    /// The record of a run of this workflow; of the job with the step, also of the combination that the user named.
    fn record_of(&self, run: RunEntry) -> Option<RunRecord> {
        let record = run.record.ok()?;
        let fits = |(name, wanted): &(String, String)| {
            let value = record.matrix.get(name);
            let text = value.map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
            text.as_ref() == Some(wanted)
        };
        let is_of = record.repository == self.repository.root
            && record.workflow == self.workflow.file
            && (self.job.as_ref() != Some(&record.job) || self.matrix.iter().all(fits));
        is_of.then_some(record)
    }
}

impl UsedOutput {
    fn in_parts<'a>(&self, steps: &'a Outputs, jobs: &'a Outputs) -> Option<&'a str> {
        let parts = match self.kind {
            PartKind::Step => steps,
            PartKind::Job => jobs,
        };
        parts.get(&self.id)?.get(&self.name)
    }

    fn expression(&self) -> String {
        let context = match self.kind {
            PartKind::Step => "steps",
            PartKind::Job => "needs",
        };
        format!("{context}.{}.outputs.{}", self.id, self.name)
    }

    /// The name as the command line takes it.
    fn option(&self) -> String {
        match self.kind {
            PartKind::Step => format!("{}.{}", self.id, self.name),
            PartKind::Job => format!("needs.{}.{}", self.id, self.name),
        }
    }
}

fn step_of<'j>(job: &'j WorkflowJob, only: &str) -> Option<&'j WorkflowStep> {
    let Body::Steps(body) = &job.body else {
        return None;
    };
    let mut steps = body.steps.iter().enumerate();
    let found = steps.find(|(place, step)| step_matches(step, *place, only));
    found.map(|(_, step)| step)
}

/// Outputs of steps and jobs that the expressions of a step name.
fn used_outputs(step: &WorkflowStep) -> BTreeSet<UsedOutput> {
    let mut paths = expr::paths(&step.condition);
    let mut tokens: Vec<&TemplateToken> = Vec::new();
    tokens.extend(&step.name);
    tokens.extend(&step.env);
    tokens.extend(&step.timeout_minutes);
    tokens.extend(&step.continue_on_error);
    match &step.action {
        StepAction::Run {
            script,
            shell,
            working_directory,
        } => {
            tokens.push(script);
            tokens.extend(shell);
            tokens.extend(working_directory);
        }
        StepAction::Uses { with, .. } => tokens.extend(with),
        StepAction::Background(_) => {}
    }
    while let Some(token) = tokens.pop() {
        match &token.kind {
            TokenKind::Expression(expression) => paths.extend(expr::paths(&expression.text)),
            TokenKind::Sequence(items) => tokens.extend(items),
            TokenKind::Mapping(pairs) => {
                tokens.extend(pairs.iter().flat_map(|(key, value)| [key, value]));
            }
            TokenKind::Null
            | TokenKind::Insert
            | TokenKind::Bool(_)
            | TokenKind::Number(_)
            | TokenKind::Text(_) => {}
        }
    }
    let used = paths.into_iter().filter_map(|path| {
        let [context, id, outputs, name, ..] = path.as_slice() else {
            return None;
        };
        let kind = match context.to_ascii_lowercase().as_str() {
            "steps" => PartKind::Step,
            "needs" => PartKind::Job,
            _ => return None,
        };
        outputs.eq_ignore_ascii_case("outputs").then(|| UsedOutput {
            kind,
            id: id.clone(),
            name: name.clone(),
        })
    });
    used.collect()
}
