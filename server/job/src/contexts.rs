//! The contexts of expressions: `github`, `env`, `steps` and the others, made from a job's facts and its state.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::expr::{Contexts, Dict, ExpressionError, Value, hash_files};
use crate::state::{EnvVariables, JobState, StepOutcome, StepResult};

/// Values that hold for a whole job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobFacts {
    pub github: Dict,
    pub runner: Dict,
    pub job: Dict,
    pub vars: Dict,
    pub secrets: Dict,
    pub inputs: Dict,
    /// The values of the combination; none without a matrix.
    pub matrix: Option<Dict>,
    pub strategy: Dict,
    pub needs: Dict,
    /// Results of jobs, for the outputs of a called workflow.
    pub jobs: Dict,
}

/// The contexts at one step.
#[derive(Clone, Debug)]
pub struct At<'a> {
    pub facts: &'a JobFacts,
    pub state: &'a JobState,
    /// The scope of `steps`: empty for the job, else the path of a composite action.
    pub scope: &'a str,
    /// Variables of `env`: those of the state, and those of the step.
    pub env: &'a EnvVariables,
    /// Inputs of a composite action instead of those of the workflow.
    pub inputs: Option<&'a Dict>,
    /// Status that `success()` and `failure()` ask: of the job, or of a composite action.
    pub status: StepOutcome,
    /// Values of `github` that change with the step, such as `action` and `action_path`.
    pub github: &'a [(&'static str, String)],
    /// Directory of `hashFiles`, and of `~` in its patterns.
    pub workspace: &'a Path,
    pub home: &'a Path,
}

impl Contexts for At<'_> {
    fn context(&self, name: &str) -> Value {
        let facts = self.facts;
        match name.to_ascii_lowercase().as_str() {
            "github" => self.github(),
            "env" => variables(self.env, Dict::case_sensitive()),
            "steps" => self.steps(),
            "job" => {
                let mut job = facts.job.clone();
                job.set("status", self.state.status().as_str().into());
                job.into()
            }
            "runner" => facts.runner.clone().into(),
            "vars" => with_set(&facts.vars, &self.state.vars).into(),
            "secrets" => facts.secrets.clone().into(),
            "inputs" => match self.inputs {
                Some(of_action) => of_action.clone().into(),
                None => with_set(&facts.inputs, &self.state.inputs).into(),
            },
            "matrix" => facts.matrix.clone().map_or(Value::Null, Value::from),
            "strategy" => facts.strategy.clone().into(),
            "needs" => facts.needs.clone().into(),
            "jobs" => facts.jobs.clone().into(),
            _ => Value::Null,
        }
    }

    fn function(&self, name: &str, arguments: &[Value]) -> Result<Value, ExpressionError> {
        let cancelled = self.state.status() == StepOutcome::Cancelled;
        Ok(match name.to_ascii_lowercase().as_str() {
            "always" => true.into(),
            "cancelled" => cancelled.into(),
            "success" => (!cancelled && self.status == StepOutcome::Success).into(),
            "failure" => (!cancelled && self.status == StepOutcome::Failure).into(),
            "hashfiles" => {
                let patterns: Vec<String> = arguments.iter().map(Value::to_text).collect();
                hash_files(self.workspace, self.home, &patterns)
                    .map_err(|error| ExpressionError {
                        message: format!("hashFiles('{}') failed: {error}", patterns.join("', '")),
                    })?
                    .into()
            }
            _ => {
                let message = format!("Unrecognized function: '{name}'");
                return Err(ExpressionError { message });
            }
        })
    }
}

impl<'a> At<'a> {
    /// The contexts outside of any step, where no key has `hashFiles`.
    pub fn outside(facts: &'a JobFacts, state: &'a JobState, workspace: &'a Path) -> At<'a> {
        At {
            facts,
            state,
            scope: "",
            env: &state.env,
            inputs: None,
            status: state.status(),
            github: &[],
            workspace,
            home: workspace,
        }
    }

    fn github(&self) -> Value {
        let mut github = self.facts.github.clone();
        for (name, value) in self.github {
            github.set(name, value.as_str().into());
        }
        github.into()
    }

    fn steps(&self) -> Value {
        let mut steps = Dict::default();
        for (id, result) in self.state.steps.get(self.scope).into_iter().flatten() {
            steps.set(id, result_of(result));
        }
        steps.into()
    }
}

/// Values of a launch, with those that a person has set since.
fn with_set(given: &Dict, set: &EnvVariables) -> Dict {
    let mut all = given.clone();
    for (name, text) in set.iter() {
        // it was checked when it was set
        let value = alike(given.get(name), text);
        all.set(name, value.unwrap_or_else(|_| text.into()));
    }
    all
}

/// A text as a value of the kind of another one. Err: a sentence.
pub fn alike(known: Option<&Value>, text: &str) -> Result<Value, String> {
    match known {
        Some(Value::Bool(_)) => match text {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => Err(format!("{text}: write true or false.")),
        },
        Some(Value::Number(_)) => {
            let number = Value::from(text).to_number();
            if number.is_nan() {
                return Err(format!("{text} is not a number."));
            }
            Ok(Value::Number(number))
        }
        _ => Ok(text.into()),
    }
}

fn result_of(result: &StepResult) -> Value {
    let mut step = Dict::default();
    let outcome = |outcome: Option<StepOutcome>| {
        outcome.map_or(Value::Null, |outcome| outcome.as_str().into())
    };
    step.set("outputs", variables(&result.outputs, Dict::default()));
    step.set("outcome", outcome(result.outcome));
    step.set("conclusion", outcome(result.conclusion));
    step.into()
}

/// An object of texts.
pub fn variables(variables: &EnvVariables, mut dict: Dict) -> Value {
    for (name, value) in variables.iter() {
        dict.set(name, value.into());
    }
    Value::Object(Arc::new(dict))
}
