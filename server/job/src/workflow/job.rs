//! Jobs of a workflow.

use super::condition::{self, condition_of};
use super::conversion::{ConversionError, Problems, located, mapping, sequence, text};
use super::model::{
    Body, CallBody, Defaults, Secrets, StepsBody, Strategy, WorkflowJob, WorkflowStep,
};
use super::{container, ids, needs, settings, steps, strategy};
use crate::position::Located;
use crate::template::schema::TemplateSchema;
use crate::template::{TemplateToken, TokenKind};

/// Keys of a job that a local run does not heed.
const UNHEEDED: [&str; 5] = [
    "cancel-timeout-minutes",
    "concurrency",
    "environment",
    "permissions",
    "snapshot",
];

pub(super) fn convert_jobs(
    token: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<Vec<WorkflowJob>, ConversionError> {
    let mut jobs = Vec::new();
    let mut needed = Vec::new();
    for (key, value) in mapping(token, "jobs")? {
        let id = located(key, "job name")?;
        let entries = mapping(value, &format!("job {}", id.value))?;
        let converted = JobDraft::read(entries, &id, problems);
        if let Some(draft) = problems.note(converted) {
            needed.push((id.value.clone(), draft.needs.clone()));
            jobs.extend(draft.into_job(id));
        }
    }
    needs::check(&needed, token.range, problems);
    Ok(jobs)
}

/// A job whose kind is known only at its end.
#[derive(Default)]
struct JobDraft {
    name: Option<TemplateToken>,
    needs: Vec<Located<String>>,
    condition: Option<String>,
    strategy: Strategy,
    uses: Option<Located<String>>,
    with: Option<TemplateToken>,
    secrets: Option<Secrets>,
    runs_on: Option<TemplateToken>,
    env: Option<TemplateToken>,
    defaults: Defaults,
    outputs: Vec<(String, TemplateToken)>,
    timeout_minutes: Option<TemplateToken>,
    continue_on_error: Option<TemplateToken>,
    container: Option<TemplateToken>,
    services: Option<TemplateToken>,
    steps: Vec<WorkflowStep>,
    unheeded: Vec<Located<String>>,
}

impl JobDraft {
    fn read(
        entries: &[(TemplateToken, TemplateToken)],
        id: &Located<String>,
        problems: &mut Problems<'_>,
    ) -> Result<JobDraft, ConversionError> {
        if let Err(message) = ids::check(&id.value) {
            problems.add(id.range, message);
        }
        let mut draft = JobDraft::default();
        for (key, value) in entries {
            let name = text(key, "job property name")?;
            draft.property(name, value, problems)?;
            if UNHEEDED.contains(&name) {
                let value = name.to_owned();
                let range = key.range;
                draft.unheeded.push(Located { value, range });
            }
        }
        Ok(draft)
    }

    fn property(
        &mut self,
        name: &str,
        value: &TemplateToken,
        problems: &mut Problems<'_>,
    ) -> Result<(), ConversionError> {
        let token = || Some(value.clone());
        match name {
            "concurrency" => {
                let checked = settings::check_concurrency(value, problems);
                problems.note(checked);
            }
            "container" => {
                container::check(value, false, problems)?;
                self.container = token();
            }
            "env" => self.env = token(),
            "environment" => {
                problems.note(settings::check_environment(value));
            }
            "if" => {
                let allowed = TemplateSchema::workflow().allowed("job-if");
                self.condition = Some(condition_of(value, &allowed, problems));
            }
            "name" => self.name = token().filter(|name| name.as_text() != Some("")),
            "needs" => self.needs = job_needs(value)?,
            "outputs" => {
                let outputs = job_outputs(value);
                self.outputs = problems.note(outputs).unwrap_or_default();
            }
            "runs-on" => {
                let checked = settings::check_runs_on(value, problems);
                problems.note(checked);
                self.runs_on = token();
            }
            "services" => {
                container::check_services(value, problems)?;
                self.services = token();
            }
            "steps" => self.steps = steps::convert(value, problems)?,
            "strategy" => {
                let checked = strategy::check(value, problems);
                problems.note(checked);
                self.strategy = strategy_of(value);
            }
            "uses" => self.uses = Some(located(value, "job uses value")?),
            "with" => {
                problems.note(mapping(value, "uses-with value"));
                self.with = token();
            }
            "secrets" => {
                self.secrets = if value.as_text() == Some("inherit") {
                    Some(Secrets::Inherit)
                } else {
                    problems.note(mapping(value, "uses-secrets value"));
                    Some(Secrets::Mapping(value.clone()))
                };
            }
            "defaults" => self.defaults = settings::defaults(value),
            "timeout-minutes" => self.timeout_minutes = token(),
            "continue-on-error" => self.continue_on_error = token(),
            _ => {}
        }
        Ok(())
    }

    fn into_job(self, id: Located<String>) -> Option<WorkflowJob> {
        let body = match self.uses {
            Some(uses) => Body::Call(Box::new(CallBody {
                uses,
                with: self.with,
                secrets: self.secrets.unwrap_or(Secrets::None),
            })),
            None => Body::Steps(Box::new(StepsBody {
                runs_on: self.runs_on?,
                env: self.env,
                defaults: self.defaults,
                outputs: self.outputs,
                timeout_minutes: self.timeout_minutes,
                continue_on_error: self.continue_on_error,
                container: self.container,
                services: self.services,
                steps: self.steps,
                unheeded: self.unheeded,
            })),
        };
        Some(WorkflowJob {
            id,
            name: self.name,
            needs: self.needs,
            condition: self
                .condition
                .unwrap_or_else(|| condition::DEFAULT.to_owned()),
            strategy: self.strategy,
            body,
        })
    }
}

fn job_needs(token: &TemplateToken) -> Result<Vec<Located<String>>, ConversionError> {
    match token.kind {
        TokenKind::Sequence(_) => sequence(token, "job needs")?
            .iter()
            .map(|need| located(need, "job needs id"))
            .collect(),
        TokenKind::Text(_) => Ok(vec![located(token, "job needs id")?]),
        _ => Ok(Vec::new()),
    }
}

fn job_outputs(token: &TemplateToken) -> Result<Vec<(String, TemplateToken)>, ConversionError> {
    let mut outputs = Vec::new();
    for (key, value) in mapping(token, "job outputs")? {
        outputs.push((text(key, "job output")?.to_owned(), value.clone()));
    }
    Ok(outputs)
}

fn strategy_of(token: &TemplateToken) -> Strategy {
    Strategy {
        matrix: token.get("matrix").cloned(),
        fail_fast: token.get("fail-fast").cloned(),
        max_parallel: token.get("max-parallel").cloned(),
        expression: Some(token).filter(|token| token.is_expression()).cloned(),
    }
}
