//! Workflows that jobs call.

use std::fs;
use std::sync::Arc;

use crate::contexts::JobFacts;
use crate::expr::{Dict, Value};
use crate::state::{EnvVariables, JobState, StepOutcome};
use crate::template::{expand, expand_text};
use crate::workflow::{self, CallBody, InputKind, Secrets, WorkflowInput};

use super::whole::{Needs, WorkflowSetup, needs_context};
use crate::report::{JobEnd, JobName};

/// Workflows within one another, as on GitHub.
const MAX_CALLS: usize = 10;

impl WorkflowSetup {
    pub(super) fn run_call(
        &self,
        name: &JobName,
        call: &CallBody,
        facts: &JobFacts,
        depth: usize,
    ) -> (Vec<(JobName, JobEnd)>, EnvVariables) {
        let called = self
            .called(call, facts, depth)
            .and_then(|setup| setup.run_within(Some(name), depth + 1));
        match called {
            Ok(end) => (end.jobs, end.outputs.into_iter().collect()),
            Err(reason) => self.not_run(name, StepOutcome::Failure, &reason),
        }
    }

    /// The path of the workflow that a job calls, in this repository.
    pub(super) fn path_of_call<'c>(&self, call: &'c CallBody) -> Result<&'c str, String> {
        let (file, line) = (&self.workflow.file, call.uses.range.start.line);
        let uses = &call.uses.value;
        call.own_path().ok_or_else(|| {
            format!(
                "{file} (Line: {line}): the workflow '{uses}' is in another repository, and those are not supported here. Copy it into \
                 .github/workflows, or run this job on GitHub."
            )
        })
    }

    /// The workflow that a job calls, with its inputs and secrets.
    pub(super) fn called(
        &self,
        call: &CallBody,
        facts: &JobFacts,
        depth: usize,
    ) -> Result<WorkflowSetup, String> {
        let (file, line) = (&self.workflow.file, call.uses.range.start.line);
        let path = self.path_of_call(call)?;
        if depth >= MAX_CALLS {
            return Err(format!(
                "{file} (Line: {line}): workflows call one another more than {MAX_CALLS} deep."
            ));
        }
        let text = fs::read_to_string(self.repository.root.join(path))
            .map_err(|error| format!("{file} (Line: {line}): {path} cannot be read: {error}"))?;
        let (workflow, problems) = workflow::read(path, &text);
        let workflow = workflow.ok_or_else(|| {
            problems
                .first()
                .map(ToString::to_string)
                .unwrap_or_default()
        })?;
        let Some(declared) = &workflow.call else {
            return Err(format!(
                "{file} (Line: {line}): {path} has no 'workflow_call' trigger."
            ));
        };
        let inputs = self.inputs_for(call, facts, &declared.inputs)?;
        let secrets = self.secrets_for(call, facts)?;
        Ok(WorkflowSetup {
            text: text.into(),
            caller: Some(self.caller.as_ref().unwrap_or(&self.workflow).clone()),
            workflow: Arc::new(workflow),
            inputs,
            secrets,
            job: None,
            matrix: Vec::new(),
            ..self.clone()
        })
    }

    /// The inputs of a called workflow: given, or by default.
    fn inputs_for(
        &self,
        call: &CallBody,
        facts: &JobFacts,
        declared: &[WorkflowInput],
    ) -> Result<Dict, String> {
        let (file, line) = (&self.workflow.file, call.uses.range.start.line);
        let state = JobState::default();
        let at = self.at(facts, &state);
        let given = match &call.with {
            Some(with) => expand(with, &at).map_err(|error| {
                format!(
                    "{file} (Line: {}): {}",
                    error.range.start.line, error.message
                )
            })?,
            None => Value::Null,
        };
        let mut inputs = Dict::default();
        for input in declared {
            let own = match &given {
                Value::Object(given) => given.get(&input.name).cloned(),
                _ => None,
            };
            let default = input
                .default
                .as_ref()
                .map(|token| expand(token, &at))
                .transpose();
            let default = default.map_err(|error| error.message)?;
            if own.is_none() && input.required {
                return Err(format!(
                    "{file} (Line: {line}): Input {} is required, but not provided while calling.",
                    input.name
                ));
            }
            inputs.set(
                &input.name,
                own.or(default).unwrap_or_else(|| empty(input.kind)),
            );
        }
        Ok(inputs)
    }

    fn secrets_for(&self, call: &CallBody, facts: &JobFacts) -> Result<Dict, String> {
        let state = JobState::default();
        let at = self.at(facts, &state);
        let secrets = match &call.secrets {
            Secrets::None => Dict::default(),
            Secrets::Inherit => self.secrets.clone(),
            Secrets::Mapping(token) => match expand(token, &at).map_err(|error| error.message)? {
                Value::Object(secrets) => (*secrets).clone(),
                _ => Dict::default(),
            },
        };
        for (_, value) in secrets.iter() {
            self.masks.add(&value.to_text());
        }
        Ok(secrets)
    }

    /// Outputs that a called workflow declares.
    pub(super) fn call_outputs(&self, needs: &Needs) -> Result<Vec<(String, String)>, String> {
        let Some(call) = &self.workflow.call else {
            return Ok(Vec::new());
        };
        let mut facts = JobFacts {
            vars: self.vars.clone(),
            inputs: self.inputs.clone(),
            ..JobFacts::default()
        };
        facts.jobs = needs_context(needs);
        let state = JobState::default();
        let at = self.at(&facts, &state);
        let outputs = call.outputs.iter().map(|(name, token)| {
            let value = expand_text(token, &at)
                .map_err(|error| format!("output '{name}': {}", error.message))?;
            Ok((name.clone(), value))
        });
        outputs.collect()
    }
}

fn empty(kind: InputKind) -> Value {
    match kind {
        InputKind::Boolean => false.into(),
        InputKind::Number => Value::Number(0.0),
        InputKind::String | InputKind::Choice | InputKind::Environment => "".into(),
    }
}
