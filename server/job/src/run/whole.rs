//! The run of a workflow: its jobs in the order of `needs`, their conditions, their matrix, and workflows that they call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use sha2::{Digest, Sha256};

use crate::contexts::{At, JobFacts};
use crate::digest::hexadecimal;
use crate::expr::{Dict, Value};
use crate::place::environment::{EnvironmentOptions, Host, base};
use crate::place::{RunPlace, RunRecord, RunStatus};
use crate::repository::ProjectRepository;
use crate::state::{EnvVariables, JobState, StepOutcome};
use crate::step::left_processes::tracking;
use crate::step::mask::Masks;
use crate::step::process::{SupervisorCommand, adopt_orphans};
use crate::step::stop::StopRequest;
use crate::workflow::{Body, StepsBody, Workflow, WorkflowJob, order};

use super::condition::continues;
use super::facts::{RunNames, WorkflowEvent, github, number, runner};
use super::job::{JobRun, JobSetup, RunOptions};
use crate::report::{JobEnd, JobName, RunReport};

/// The reason of jobs that a run does not begin after a wish to stop.
const STOPPED: &str = "the run was cancelled";

/// All that a run of a workflow needs.
#[derive(Clone)]
pub struct WorkflowSetup {
    pub repository: Arc<ProjectRepository>,
    pub workflow: Arc<Workflow>,
    /// The workflow that was started, if this one is called by it: the `github` context is that one's.
    pub caller: Option<Arc<Workflow>>,
    /// The text of the workflow.
    pub text: Arc<str>,
    /// Directory of all runs.
    pub jobs_dir: PathBuf,
    pub in_place: bool,
    pub host: Host,
    pub environment: EnvironmentOptions,
    pub event: WorkflowEvent,
    pub actor: String,
    pub token: String,
    pub vars: Dict,
    pub secrets: Dict,
    pub inputs: Dict,
    /// The job to run, with those that it needs; none for all. A job with a step that runs alone needs none.
    pub job: Option<String>,
    /// Values that the combination of a matrix must have.
    pub matrix: Vec<(String, String)>,
    /// Jobs for other systems run here, too.
    pub any_system: bool,
    /// Names of choices as the user writes them.
    pub names: ChoiceNames,
    pub options: RunOptions,
    pub supervisor: SupervisorCommand,
    pub masks: Masks,
    pub stop: StopRequest,
    pub report: Arc<Mutex<dyn RunReport>>,
    /// Steps through a job, in place of its run to the end.
    pub driver: Option<Arc<dyn JobDriver>>,
    /// Directories with artifacts of the jobs that have run.
    pub artifacts: Arc<Mutex<Vec<PathBuf>>>,
}

/// Names of choices, which errors tell.
#[derive(Clone, Copy, Debug)]
pub struct ChoiceNames {
    pub any_system: &'static str,
    pub matrix: &'static str,
    /// Steps that have checkpoints.
    pub points: &'static str,
}

/// Steps through a job.
pub trait JobDriver: Send + Sync {
    /// True for a job that is stepped through. The others run to their end.
    fn drives(&self, job: &JobName) -> bool;

    fn drive(&self, job: JobRun) -> JobEnd;
}

/// Results and outputs of jobs, by their ids.
pub(super) type Needs = BTreeMap<String, (StepOutcome, EnvVariables)>;

/// The end of a workflow.
#[derive(Clone, Debug, Default)]
pub struct WorkflowEnd {
    pub jobs: Vec<(JobName, JobEnd)>,
    /// Outputs of `on.workflow_call`.
    pub outputs: Vec<(String, String)>,
}

impl std::fmt::Debug for WorkflowSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkflowSetup")
            .field("file", &self.workflow.file)
            .finish_non_exhaustive()
    }
}

impl WorkflowEnd {
    /// The worst result of all jobs.
    pub fn result(&self) -> StepOutcome {
        let all = self.jobs.iter().map(|(_, end)| end.result);
        all.fold(StepOutcome::Success, StepOutcome::merge)
    }
}

impl WorkflowSetup {
    /// Runs the jobs. The error is a sentence about the choice of the user, before anything has run.
    pub fn run(&self) -> Result<WorkflowEnd, String> {
        adopt_orphans();
        self.run_within(None, 0)
            .map_err(|reason| self.masks.apply(&reason))
    }

    /// The jobs to run, each after those that it needs.
    pub(super) fn jobs(&self) -> Vec<&WorkflowJob> {
        let mut all: Vec<&WorkflowJob> = Vec::new();
        let chosen = self
            .workflow
            .jobs
            .iter()
            .filter(|job| self.job.as_ref().is_none_or(|id| *id == job.id.value));
        for job in chosen {
            if self.options.only.is_some() {
                return vec![job];
            }
            for next in order(&self.workflow, &job.id.value) {
                if !all.iter().any(|there| there.id.value == next.id.value) {
                    all.push(next);
                }
            }
        }
        all
    }

    pub(super) fn run_within(
        &self,
        above: Option<&JobName>,
        depth: usize,
    ) -> Result<WorkflowEnd, String> {
        let mut end = WorkflowEnd::default();
        let mut needs = self.needs_of_step_alone();
        for job in self.jobs() {
            let (ends, outputs) = self.run_job(job, &needs, above, depth);
            let result = ends
                .iter()
                .map(|(_, end)| end.result)
                .fold(None, |all: Option<StepOutcome>, one| {
                    Some(all.map_or(one, |all| all.merge(one)))
                });
            needs.insert(
                job.id.value.clone(),
                (result.unwrap_or(StepOutcome::Skipped), outputs),
            );
            end.jobs.extend(ends);
        }
        end.outputs = self.call_outputs(&needs)?;
        Ok(end)
    }

    /// Runs a job once for each combination of its matrix that was chosen, or the workflow that it calls.
    fn run_job(
        &self,
        job: &WorkflowJob,
        needs: &Needs,
        above: Option<&JobName>,
        depth: usize,
    ) -> (Vec<(JobName, JobEnd)>, EnvVariables) {
        let name = name_of(above, &job.id.value, &job.id.value);
        let facts = self.facts(job, needs);
        let without = |result, reason: String| self.not_run(&name, result, &reason);
        if self.stop.wishes() > 0 {
            return without(StepOutcome::Cancelled, STOPPED.to_owned());
        }
        match self.job_holds(job, &facts, needs) {
            Ok(true) => {}
            Ok(false) => {
                let reason = self.skip_reason(job, needs);
                return without(StepOutcome::Skipped, reason);
            }
            Err(reason) => return without(StepOutcome::Failure, reason),
        }
        let combinations = match self.combinations(job, &facts) {
            Ok(combinations) => combinations,
            Err(reason) => return without(StepOutcome::Failure, reason),
        };
        let total = combinations.all.len();
        let strategy = match self.strategy_context(job, &facts, total) {
            Ok(strategy) => strategy,
            Err(reason) => return without(StepOutcome::Failure, reason),
        };
        let mut ends = Vec::new();
        let mut outputs = EnvVariables::default();
        for (place, combination) in combinations.chosen {
            let mut facts = facts.clone();
            facts.matrix = (!combination.values.is_empty()).then(|| combination.values.clone());
            facts.strategy.clone_from(&strategy);
            facts
                .strategy
                .set("job-index", Value::Number(number(place)));
            let shown = self.shown_name(job, &facts, &combination, total);
            let name = name_of(above, &job.id.value, &shown);
            let (more, set) = match &job.body {
                _ if self.stop.wishes() > 0 => self.not_run(&name, StepOutcome::Cancelled, STOPPED),
                Body::Steps(body) => self.run_steps(&name, job, body, facts),
                Body::Call(call) => self.run_call(&name, call, &facts, depth),
            };
            outputs.extend(set.iter());
            ends.extend(more);
        }
        (ends, outputs)
    }

    fn run_steps(
        &self,
        name: &JobName,
        job: &WorkflowJob,
        body: &StepsBody,
        mut facts: JobFacts,
    ) -> (Vec<(JobName, JobEnd)>, EnvVariables) {
        let ended = self
            .refusal(body, &facts)
            .and_then(|()| self.start(name, job, body, &mut facts));
        let end = match ended {
            Ok((run, mut record)) => {
                let dir = run.place().dir.clone();
                let driver = self.driver.as_ref().filter(|driver| driver.drives(name));
                let mut end = match driver {
                    Some(driver) => driver.drive(run),
                    None => run.run(),
                };
                let continues = continues(body, &self.at(&facts, &JobState::default()));
                record_end(&mut end, continues, &mut record, &dir, &self.report);
                end
            }
            Err(reason) => return self.not_run(name, StepOutcome::Failure, &reason),
        };
        let outputs = end.outputs.iter().cloned().collect();
        (vec![(name.clone(), end)], outputs)
    }

    /// The end of a job that did not run, with its reason.
    pub(super) fn not_run(
        &self,
        name: &JobName,
        result: StepOutcome,
        reason: &str,
    ) -> (Vec<(JobName, JobEnd)>, EnvVariables) {
        let end = JobEnd {
            result,
            milliseconds: 0,
            outputs: Vec::new(),
            steps: BTreeMap::new(),
            reason: Some(self.masks.apply(reason)),
            directory: None,
        };
        self.report
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .job_ended(name, &end);
        (vec![(name.clone(), end)], EnvVariables::default())
    }

    /// Makes the place of a job, and the job.
    fn start(
        &self,
        name: &JobName,
        job: &WorkflowJob,
        body: &StepsBody,
        facts: &mut JobFacts,
    ) -> Result<(JobRun, RunRecord), String> {
        let place = self.place_for(job)?;
        let mut record = self.record(&place, job, facts);
        record.write(&place.dir).map_err(|error| {
            format!(
                "The record of the run in {} cannot be written: {error}",
                place.dir.display()
            )
        })?;
        let event = self.event_in(&place).map_err(|error| {
            format!(
                "The event cannot be written to {}: {error}",
                place.temp.display()
            )
        })?;
        let caller = self.caller.as_ref().unwrap_or(&self.workflow);
        let names = RunNames {
            workflow_name: caller.name.clone().unwrap_or_else(|| caller.file.clone()),
            workflow_file: caller.file.clone(),
            job: job.id.value.clone(),
            actor: self.actor.clone(),
            run_id: place.number.to_string(),
            run_number: place.number,
            attempt: 1,
        };
        facts.github = github(&names, &event, &self.repository, &place, &self.token);
        facts.runner = runner(&place, self.options.debug);
        let mut variables = base(&place, &self.host, &self.environment).map_err(|error| {
            format!(
                "The environment of the run cannot be made in {}: {error}",
                place.dir.display()
            )
        })?;
        // as on GitHub, everybody may set it otherwise
        if !variables.iter().any(|(name, _)| name == "CI") {
            variables.push(("CI".into(), "true".into()));
        }
        variables.push(tracking(&place.dir));
        let mut options = self.options.clone();
        let mut artifacts = self
            .artifacts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        options.builtin.needed_artifacts.clone_from(&artifacts);
        artifacts.push(place.artifacts.clone());
        drop(artifacts);
        let dir = place.dir.clone();
        let run = JobRun::new(JobSetup {
            name: name.clone(),
            workflow: Arc::clone(&self.workflow),
            text: Arc::clone(&self.text),
            body: Arc::new(body.clone()),
            facts: facts.clone(),
            place: Arc::new(place),
            repository: Arc::clone(&self.repository),
            base: variables,
            options,
            supervisor: self.supervisor.for_run(&dir),
            masks: self.masks.clone(),
            stop: self.stop.clone(),
            report: Arc::clone(&self.report),
        });
        if run.is_err() {
            record.status = RunStatus::Failure;
            // the reason is reported; without the record the run counts as cut off
            let _ = record.write(&dir);
        }
        Ok((run?, record))
    }

    /// A new place for a job.
    fn place_for(&self, job: &WorkflowJob) -> Result<RunPlace, String> {
        let file = PathBuf::from(&self.workflow.file);
        let stem = file
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        let made = if self.in_place {
            RunPlace::in_place(&self.jobs_dir, &stem, &job.id.value, &self.repository)
        } else {
            RunPlace::create(&self.jobs_dir, &stem, &job.id.value, &self.repository)
        };
        made.map_err(|error| {
            format!(
                "No place for the run can be made in {}: {error}",
                self.jobs_dir.display()
            )
        })
    }

    fn record(&self, place: &RunPlace, job: &WorkflowJob, facts: &JobFacts) -> RunRecord {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let matrix = facts
            .matrix
            .clone()
            .map(|matrix| Value::from(matrix).to_json());
        RunRecord {
            id: place.id.clone(),
            repository: self.repository.root.clone(),
            workflow: self.workflow.file.clone(),
            text: digest(&self.text),
            job: job.id.value.clone(),
            matrix: matrix
                .and_then(|text| serde_json::from_str(&text).ok())
                .unwrap_or_default(),
            event: self.event.name.clone(),
            started: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            status: RunStatus::Running,
            outputs: EnvVariables::default(),
            steps: BTreeMap::new(),
        }
    }

    /// The event, written to a file in the place.
    fn event_in(&self, place: &RunPlace) -> io::Result<WorkflowEvent> {
        let dir = place.temp.join("_github_workflow");
        fs::create_dir_all(&dir)?;
        let file = dir.join("event.json");
        fs::write(&file, self.event.payload.to_json())?;
        Ok(WorkflowEvent {
            file,
            ..self.event.clone()
        })
    }

    pub(super) fn facts(&self, job: &WorkflowJob, needs: &Needs) -> JobFacts {
        let own: Needs = job
            .needs
            .iter()
            .filter_map(|need| {
                needs
                    .get(&need.value)
                    .map(|result| (need.value.clone(), result.clone()))
            })
            .collect();
        let mut github = Dict::default();
        github.set("event_name", self.event.name.as_str().into());
        github.set("event", self.event.payload.clone());
        github.set("ref", self.repository.git_ref.as_str().into());
        github.set(
            "sha",
            self.repository.sha.clone().unwrap_or_default().into(),
        );
        github.set(
            "repository",
            format!("{}/{}", self.repository.owner, self.repository.name).into(),
        );
        github.set("repository_owner", self.repository.owner.as_str().into());
        github.set("actor", self.actor.as_str().into());
        github.set("ref_name", self.repository.ref_name().into());
        let mut strategy = Dict::default();
        strategy.set("fail-fast", true.into());
        strategy.set("max-parallel", Value::Number(1.0));
        JobFacts {
            github,
            vars: self.vars.clone(),
            secrets: self.secrets.clone(),
            inputs: self.inputs.clone(),
            strategy,
            needs: needs_context(&own),
            ..JobFacts::default()
        }
    }

    pub(super) fn at<'a>(&'a self, facts: &'a JobFacts, state: &'a JobState) -> At<'a> {
        At::outside(facts, state, &self.repository.root)
    }
}

/// Writes the end of a run into its record. `continues`: a failure does not count for the workflow.
pub(super) fn record_end(
    end: &mut JobEnd,
    continues: bool,
    record: &mut RunRecord,
    dir: &Path,
    report: &Mutex<dyn RunReport>,
) {
    if end.result == StepOutcome::Failure && continues {
        end.result = StepOutcome::Success;
        let reason = "failed, and the workflow continues (continue-on-error)";
        end.reason = Some(reason.to_owned());
    }
    record.status = match end.result {
        StepOutcome::Success | StepOutcome::Skipped => RunStatus::Success,
        StepOutcome::Failure => RunStatus::Failure,
        StepOutcome::Cancelled => RunStatus::Cancelled,
    };
    record.outputs = end.outputs.iter().cloned().collect();
    record.steps.clone_from(&end.steps);
    // the end of the job is known; a record that says otherwise is only told
    if let Err(error) = record.write(dir) {
        let dir = dir.display();
        let notice = format!("The record of the run in {dir} cannot be written: {error}");
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        report.notice(&notice);
    }
}

/// SHA-256 of a text, in hexadecimal digits.
pub fn digest(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

pub(super) fn needs_context(needs: &Needs) -> Dict {
    let mut all = Dict::default();
    for (id, (result, outputs)) in needs {
        let mut one = Dict::default();
        one.set("result", result.as_str().into());
        one.set(
            "outputs",
            crate::contexts::variables(outputs, Dict::default()),
        );
        all.set(id, one.into());
    }
    all
}

/// The name of a job, with those that call it.
fn name_of(above: Option<&JobName>, id: &str, shown: &str) -> JobName {
    let Some(above) = above else {
        return JobName {
            id: id.to_owned(),
            name: shown.to_owned(),
        };
    };
    JobName {
        id: [&above.id, JobName::BETWEEN, id].concat(),
        name: [&above.name, JobName::BETWEEN, shown].concat(),
    }
}
