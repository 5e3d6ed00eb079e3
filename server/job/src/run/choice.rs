//! The choice of jobs: conditions, combinations of a matrix, and jobs that cannot run here.

use crate::contexts::{At, JobFacts};
use crate::expr::{Dict, Value};
use crate::state::{JobState, StepOutcome};
use crate::template::{TemplateToken, TokenKind, expand, expand_text};
use crate::workflow::matrix::{self, Combination};
use crate::workflow::{Body, StepsBody, WorkflowJob, order};

use super::condition::{holds, reason};
use super::facts::{number, system};
use super::systems::other_system;
use super::whole::{Needs, WorkflowSetup};

/// The greatest number of combinations that an error lists.
const MAX_LISTED: usize = 8;

/// The combinations of a matrix, and those that run, with their places.
pub(super) struct Combinations {
    pub all: Vec<Combination>,
    pub chosen: Vec<(usize, Combination)>,
}

impl Combinations {
    /// The one combination of a job without a matrix.
    fn none() -> Combinations {
        let one = Combination {
            values: Dict::default(),
            segments: Vec::new(),
        };
        Combinations {
            all: vec![one.clone()],
            chosen: vec![(0, one)],
        }
    }
}

impl WorkflowSetup {
    /// The sentence about the chosen job, if it is known before anything runs that it cannot run here.
    pub fn check_job(&self) -> Result<(), String> {
        let chosen = self.job.as_ref();
        let mut jobs = self.workflow.jobs.iter();
        let Some(job) = jobs.find(|job| chosen == Some(&job.id.value)) else {
            return Ok(());
        };
        let mut facts = self.facts(job, &self.needs_of_step_alone());
        match &job.body {
            Body::Call(call) => self.path_of_call(call).map(drop),
            Body::Steps(body) => {
                // a matrix of outputs is not known yet
                if let Ok(combinations) = self.combinations(job, &facts)
                    && let [(_, combination), ..] = combinations.chosen.as_slice()
                {
                    facts.matrix = Some(combination.values.clone());
                }
                self.refusal(body, &facts)
            }
        }
    }

    /// The sentence about a job that cannot run here.
    pub(super) fn refusal(&self, body: &StepsBody, facts: &JobFacts) -> Result<(), String> {
        let file = &self.workflow.file;
        let keys = [("container", &body.container), ("services", &body.services)];
        let refused = keys.iter().filter_map(|(key, token)| {
            let line = token.as_ref()?.range.start.line;
            Some(format!(
                "{file} (Line: {line}): '{key}' is not supported here"
            ))
        });
        let refused: Vec<String> = refused.collect();
        if !refused.is_empty() {
            return Err(format!(
                "{}: jobs run on this machine, without containers. Leave the key out, or run this job on GitHub.",
                refused.join("; ")
            ));
        }
        let line = body.runs_on.range.start.line;
        if let Some(other) = self.other_system(body, facts)
            && !self.any_system
        {
            return Err(format!(
                "{file} (Line: {line}): the job runs on '{other}', and this machine is {}. {} runs it here all the same.",
                system(),
                self.names.any_system
            ));
        }
        Ok(())
    }

    /// The label of another system that a job asks for.
    pub(super) fn other_system(&self, body: &StepsBody, facts: &JobFacts) -> Option<String> {
        let state = JobState::default();
        let at = self.at(facts, &state);
        other_system(&body.runs_on, &at)
    }

    /// The reason why a job's condition does not hold.
    pub(super) fn skip_reason(&self, job: &WorkflowJob, needs: &Needs) -> String {
        let results = self.ancestors(job, needs);
        let mut unsuccessful = results.filter(|(_, result)| *result != StepOutcome::Success);
        match unsuccessful.next() {
            Some((need, _)) => {
                let before = format!("the job {need}, which it needs, did not succeed");
                reason(&job.condition, StepOutcome::Failure, &before)
            }
            None => reason(&job.condition, StepOutcome::Success, ""),
        }
    }

    /// Results of the jobs that a job needs, directly or by others.
    fn ancestors<'s>(
        &'s self,
        job: &WorkflowJob,
        needs: &'s Needs,
    ) -> impl Iterator<Item = (&'s str, StepOutcome)> {
        let mut all = order(&self.workflow, &job.id.value);
        // the last one is the job
        all.pop();
        let ids = all.into_iter().map(|job| job.id.value.as_str());
        ids.filter_map(|id| Some((id, needs.get(id)?.0)))
    }

    /// The condition of a job. `success()` and `failure()` ask for the jobs that it needs, directly or by others, as on GitHub.
    /// `cancelled()` asks for the run, which has ended then: a job that its own time has ended does not cancel those after it.
    pub(super) fn job_holds(
        &self,
        job: &WorkflowJob,
        facts: &JobFacts,
        needs: &Needs,
    ) -> Result<bool, String> {
        let results = self.ancestors(job, needs);
        let results: Vec<StepOutcome> = results.map(|(_, result)| result).collect();
        let all_succeeded = results.iter().all(|result| *result == StepOutcome::Success);
        let any_failed = results.contains(&StepOutcome::Failure);
        let state = JobState::default();
        let mut at_status = if all_succeeded {
            StepOutcome::Success
        } else {
            StepOutcome::Skipped
        };
        if any_failed {
            at_status = StepOutcome::Failure;
        }
        let at = At {
            status: at_status,
            ..self.at(facts, &state)
        };
        holds(&job.condition, &at).map_err(|reason| {
            format!(
                "{}: the condition '{}' of the job cannot be evaluated: {reason}",
                self.workflow.file, job.condition
            )
        })
    }

    /// The `strategy` context of a job, but for its index. `total`: the number of combinations.
    pub(super) fn strategy_context(
        &self,
        job: &WorkflowJob,
        facts: &JobFacts,
        total: usize,
    ) -> Result<Dict, String> {
        let state = JobState::default();
        let at = self.at(facts, &state);
        let strategy = &job.strategy;
        let value = |token: Option<&TemplateToken>| -> Result<Option<Value>, String> {
            let expanded = token
                .map(|token| (token, expand(token, &at)))
                .map(|(token, value)| {
                    let line = token.range.start.line;
                    let file = &self.workflow.file;
                    value.map_err(|error| format!("{file} (Line: {line}): {}", error.message))
                });
            expanded.transpose()
        };
        let whole = value(strategy.expression.as_ref())?;
        let of_whole = |name: &str| match &whole {
            Some(Value::Object(whole)) => whole.get(name).cloned(),
            _ => None,
        };
        let fail_fast = value(strategy.fail_fast.as_ref())?.or_else(|| of_whole("fail-fast"));
        let most = value(strategy.max_parallel.as_ref())?.or_else(|| of_whole("max-parallel"));
        let mut context = Dict::default();
        context.set("fail-fast", fail_fast.unwrap_or_else(|| true.into()));
        context.set("job-total", Value::Number(number(total)));
        context.set(
            "max-parallel",
            most.unwrap_or_else(|| Value::Number(number(total))),
        );
        Ok(context)
    }

    pub(super) fn combinations(
        &self,
        job: &WorkflowJob,
        facts: &JobFacts,
    ) -> Result<Combinations, String> {
        let strategy = &job.strategy;
        let Some(token) = strategy.matrix.as_ref().or(strategy.expression.as_ref()) else {
            return Ok(Combinations::none());
        };
        let state = JobState::default();
        let at = self.at(facts, &state);
        let place = |error: String| {
            format!(
                "{} (Line: {}): {error}",
                self.workflow.file, token.range.start.line
            )
        };
        let value = expand(token, &at).map_err(|error| place(error.message))?;
        let value = match &value {
            Value::Object(whole) if strategy.matrix.is_none() => match whole.get("matrix") {
                Some(matrix) => matrix.clone(),
                None => return Ok(Combinations::none()),
            },
            _ => value,
        };
        let all = matrix::combinations(&value).map_err(|error| place(error.to_string()))?;
        let matches = |combination: &Combination| {
            self.matrix
                .iter()
                .all(|(name, wanted)| match combination.values.get(name) {
                    Some(value) => value.to_text() == *wanted,
                    None => false,
                })
        };
        let mut fitting = all
            .iter()
            .enumerate()
            .filter(|(_, combination)| matches(combination));
        let fits_here = |combination: &Combination| {
            let mut facts = facts.clone();
            facts.matrix = Some(combination.values.clone());
            match &job.body {
                Body::Steps(body) => self.any_system || self.other_system(body, &facts).is_none(),
                Body::Call(_) => true,
            }
        };
        // one combination runs unless values choose another: the first one for this system
        let chosen = fitting
            .clone()
            .find(|(_, combination)| fits_here(combination))
            .or_else(|| fitting.next());
        let Some((place_of, combination)) = chosen else {
            let wanted: Vec<String> = self
                .matrix
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let text = |combination: &Combination| {
                let values = combination.values.iter();
                let values = values.map(|(name, value)| format!("{name}={}", value.to_text()));
                values.collect::<Vec<_>>().join(" ")
            };
            let known: Vec<String> = all.iter().take(MAX_LISTED).map(text).collect();
            let more = if all.len() > known.len() { "; …" } else { "" };
            return Err(place(format!(
                "no combination of the matrix has {}. There are: {}{more}. Name one by {}.",
                wanted.join(", "),
                known.join("; "),
                self.names.matrix
            )));
        };
        let chosen = vec![(place_of, combination.clone())];
        Ok(Combinations { all, chosen })
    }

    /// The name of a job with its matrix, as on GitHub.
    pub(super) fn shown_name(
        &self,
        job: &WorkflowJob,
        facts: &JobFacts,
        combination: &Combination,
        total: usize,
    ) -> String {
        let state = JobState::default();
        let at = self.at(facts, &state);
        let written = job
            .name
            .as_ref()
            .and_then(|name| expand_text(name, &at).ok())
            .filter(|name| !name.is_empty());
        let has_values = |name: &TemplateToken| !matches!(name.kind, TokenKind::Text(_));
        match written {
            Some(name) if total == 1 || job.name.as_ref().is_some_and(has_values) => name,
            Some(name) => matrix::display_name(&name, combination),
            None if total == 1 && combination.values.is_empty() => job.id.value.clone(),
            None => matrix::display_name(&job.id.value, combination),
        }
    }
}
