//! The job as a whole: frames, posts, outputs, and its end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::builtin::BuiltinOptions;
use crate::contexts::{At, JobFacts};
use crate::expr::Dict;
use crate::place::RunPlace;
use crate::repository::ProjectRepository;
use crate::state::{EnvVariables, JobState, StepOutcome};
use crate::step::mask::Masks;
use crate::step::matcher::JobMatchers;
use crate::step::process::{Leftovers, Ready, SupervisorCommand};
use crate::step::stop::StopRequest;
use crate::template::{expand_number, expand_text, expand_variables};
use crate::workflow::{StepsBody, Workflow};

use super::chosen::runs_with;
use super::condition::continues;
use super::frame::Frame;
use super::frozen::FrozenStep;
use super::open::{Post, ReachedOut};
use super::uses::{ActionSources, MissingActions};
use crate::report::{JobEnd, JobName, RunReport, StepEnd, StepName};

/// Minutes that a job may take, as on GitHub.
const JOB_MINUTES: f64 = 360.0;

/// The user's choices for a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunOptions {
    pub actions: ActionSources,
    pub missing_actions: MissingActions,
    pub builtin: BuiltinOptions,
    /// Lines of `::debug::` are shown.
    pub debug: bool,
    /// Run this step alone: its id, its name, or its place from 1.
    pub only: Option<String>,
    /// Outputs of steps that do not run, by the id of the step.
    pub outputs: BTreeMap<String, EnvVariables>,
    /// Outputs of jobs that do not run, as one step runs alone, by the id of the job.
    #[serde(default)]
    pub needs: BTreeMap<String, EnvVariables>,
    /// Variables below those of the workflow.
    pub env: EnvVariables,
}

/// An end before the last step, with a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    /// It cannot continue, and has failed.
    Failed(String),
    /// A person left it. It is cancelled, unless a step has failed.
    Left(String),
}

/// All that a job needs to start.
#[derive(Clone)]
pub struct JobSetup {
    pub name: JobName,
    pub workflow: Arc<Workflow>,
    /// The text of the workflow.
    pub text: Arc<str>,
    pub body: Arc<StepsBody>,
    pub facts: JobFacts,
    pub place: Arc<RunPlace>,
    pub repository: Arc<ProjectRepository>,
    /// Variables of the place.
    pub base: Vec<(String, String)>,
    pub options: RunOptions,
    pub supervisor: SupervisorCommand,
    pub masks: Masks,
    pub stop: StopRequest,
    pub report: Arc<Mutex<dyn RunReport>>,
}

/// One job while it runs.
pub struct JobRun {
    pub(super) setup: JobSetup,
    pub(super) state: JobState,
    pub(super) frames: Vec<Frame>,
    /// Parts that run at the end, by the key of their step.
    pub(super) posts: BTreeMap<String, Post>,
    /// Processes that steps left running.
    /// Each with the number of its program.
    pub(super) leftovers: Vec<(u64, Leftovers)>,
    /// Programs that steps have started.
    pub(super) programs: u64,
    /// The end of the last step.
    pub(super) last: Option<(StepName, StepEnd)>,
    /// Steps that have ended, with those that were skipped.
    pub(super) ended: Vec<(StepName, StepEnd)>,
    /// Steps that have run with commands that reach out.
    pub(super) reached: Vec<ReachedOut>,
    /// The status before the last step counted.
    pub(super) status_before: StepOutcome,
    /// The step that is frozen.
    pub(super) frozen: Option<FrozenStep>,
    /// A supervisor for the next program.
    pub(super) ready: Option<Ready>,
    /// `GITHUB_…` and `RUNNER_…`.
    pub(super) variables: Vec<(String, String)>,
    pub(super) deadline: Option<Instant>,
    /// Problem matchers that steps have added.
    pub(super) matchers: JobMatchers,
    /// Wishes to stop that the job has heeded.
    pub(super) heeded: u8,
    began: Instant,
    reason: Option<String>,
}

impl std::fmt::Debug for JobSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobSetup")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for JobRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobRun")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl JobSetup {
    /// The variables of a workflow and of its job, above those of the user's file. They are those of a job at its beginning.
    pub(super) fn declared(
        &self,
        workflow: &Workflow,
        body: &StepsBody,
    ) -> Result<EnvVariables, String> {
        let mut state = JobState {
            env: self.options.env.clone(),
            ..JobState::default()
        };
        for env in [&workflow.env, &body.env].into_iter().flatten() {
            let at = At::outside(&self.facts, &state, &self.place.workspace);
            let set = expand_variables(env, &at)
                .map_err(|error| self.template_error(&workflow.file, &error))?;
            let set = set.iter();
            let set: EnvVariables = set
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            state.env.extend(set.iter());
        }
        Ok(state.env)
    }

    fn template_error(&self, file: &str, error: &crate::template::ExpandError) -> String {
        let start = error.range.start;
        let message = self.masks.apply(&error.message);
        format!(
            "The template is not valid. {file} (Line: {}, Col: {}): {message}",
            start.line, start.column
        )
    }
}

impl JobRun {
    /// A job at its beginning: the variables of the workflow and of the job are evaluated.
    pub fn new(setup: JobSetup) -> Result<JobRun, String> {
        let variables = super::facts::variables(&setup.facts.github, &setup.facts.runner);
        let body = Arc::clone(&setup.body);
        let workflow = Arc::clone(&setup.workflow);
        let mut run = JobRun {
            frames: vec![Frame {
                scope: String::new(),
                path: Vec::new(),
                file: workflow.file.clone(),
                steps: Arc::new(body.steps.clone()),
                next: 0,
                env: EnvVariables::default(),
                status: StepOutcome::Success,
                deadline: None,
                composite: None,
            }],
            state: JobState::default(),
            posts: BTreeMap::new(),
            leftovers: Vec::new(),
            programs: 0,
            last: None,
            ended: Vec::new(),
            reached: Vec::new(),
            status_before: StepOutcome::Success,
            frozen: None,
            ready: None,
            variables,
            deadline: None,
            matchers: JobMatchers::default(),
            heeded: setup.stop.wishes(),
            began: Instant::now(),
            reason: None,
            setup,
        };
        for (id, outputs) in run.setup.options.outputs.clone() {
            let result = crate::state::StepResult {
                outcome: Some(StepOutcome::Success),
                conclusion: Some(StepOutcome::Success),
                outputs,
            };
            run.state.set_result("", &id, result);
        }
        let declared = run.setup.declared(&workflow, &body)?;
        run.state.declare(declared);
        let minutes = body
            .timeout_minutes
            .as_ref()
            .map(|token| expand_number(token, &run.at()));
        let minutes = minutes
            .transpose()
            .map_err(|error| run.template_error(&workflow.file, &error))?;
        run.deadline = deadline_in(minutes.unwrap_or(JOB_MINUTES));
        Ok(run)
    }

    pub fn place(&self) -> &RunPlace {
        &self.setup.place
    }

    /// Runs all steps, the posts, and ends what they left running.
    pub fn run(mut self) -> JobEnd {
        self.begin();
        while self.run_next() {}
        self.finish(None)
    }

    /// Tells the start, and runs the parts of actions before the first step.
    pub(super) fn begin(&mut self) {
        self.began = Instant::now();
        self.report().job_started(&self.setup.name);
        self.run_pre_parts();
    }

    /// Runs the next step, or a post. False at the end of the job.
    pub(super) fn run_next(&mut self) -> bool {
        self.advance() || self.run_next_post()
    }

    /// Ends what the steps left running, and the job.
    pub(super) fn finish(mut self, early: Option<EarlyEnd>) -> JobEnd {
        match early {
            Some(EarlyEnd::Failed(reason)) => {
                self.state.status = Some(StepOutcome::Failure);
                self.reason = Some(reason);
            }
            Some(EarlyEnd::Left(reason)) => {
                let frames = self.frames.iter().map(|frame| frame.status);
                let has_failed = frames
                    .chain([self.state.status()])
                    .any(|status| status == StepOutcome::Failure);
                self.state.status = Some(if has_failed {
                    StepOutcome::Failure
                } else {
                    StepOutcome::Cancelled
                });
                self.reason.get_or_insert(reason);
                // the jobs after this one are not wanted either
                self.setup.stop.request();
            }
            None => {}
        }
        let name = self.setup.name.clone();
        let result = self.state.status();
        self.state.result = Some(result);
        let outputs = self.outputs();
        let result = self.state.result.unwrap_or(result);
        if result == StepOutcome::Failure && continues(&self.setup.body, &self.at()) {
            let reason = "its failure does not count (continue-on-error)";
            self.reason.get_or_insert_with(|| reason.to_owned());
        }
        self.leftovers.clear();
        self.ready = None;
        let end = JobEnd {
            result,
            milliseconds: milliseconds(self.began),
            outputs,
            steps: self.step_outputs(),
            reason: self.reason.take(),
            directory: Some(self.setup.place.dir.clone()),
        };
        self.report().job_ended(&name, &end);
        end
    }

    /// Runs the next step, or leaves a composite action. False at the end of the job's steps.
    fn advance(&mut self) -> bool {
        self.heed_stop();
        let Some(frame) = self.frames.last() else {
            return false;
        };
        if let Some((step, path)) = frame.next_step() {
            self.frame().next += 1;
            if is_chosen(self, &step, &path) {
                self.run_step(&step, path);
            }
            return true;
        }
        if self.frames.len() == 1 {
            return false;
        }
        self.leave_composite();
        true
    }

    /// Takes over a new wish to stop: the job is cancelled from now on.
    pub(super) fn heed_stop(&mut self) {
        if self.setup.stop.wishes() > self.heeded {
            self.heeded = self.setup.stop.wishes();
            self.state.status = Some(StepOutcome::Cancelled);
        }
        if self.deadline.is_some_and(|at| at <= Instant::now()) {
            self.deadline = None;
            self.state.status = Some(StepOutcome::Cancelled);
            let reason = "The job was cancelled: its timeout-minutes are over.".to_owned();
            self.report().notice(&reason);
            self.reason = Some(reason);
        }
    }

    /// The contexts outside of any step.
    pub(super) fn at(&self) -> At<'_> {
        At::outside(&self.setup.facts, &self.state, &self.setup.place.workspace)
    }

    /// The frame that runs.
    pub(super) fn frame(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    pub(super) fn report(&self) -> MutexGuard<'_, dyn RunReport + 'static> {
        self.setup
            .report
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// GitHub's sentence about a template that has no value.
    pub(super) fn template_error(
        &self,
        file: &str,
        error: &crate::template::ExpandError,
    ) -> String {
        self.setup.template_error(file, error)
    }

    /// The outputs of the job. One that may have a secret is left out, as on GitHub.
    fn outputs(&mut self) -> Vec<(String, String)> {
        let mut outputs = Vec::new();
        let mut notices = Vec::new();
        for (name, token) in &self.setup.body.outputs {
            match expand_text(token, &self.at()) {
                Ok(value) if self.setup.masks.apply(&value) != value => {
                    notices.push(format!("Skip output '{name}' since it may contain secret."));
                }
                Ok(value) => outputs.push((name.clone(), value)),
                Err(error) => {
                    notices.push(self.template_error(&self.setup.workflow.file, &error));
                    self.state.result = Some(StepOutcome::Failure);
                }
            }
        }
        for notice in notices {
            self.report().notice(&notice);
        }
        outputs
    }

    /// Outputs of the job's own steps, by their ids. One that may have a secret is left out.
    fn step_outputs(&self) -> BTreeMap<String, EnvVariables> {
        let masks = &self.setup.masks;
        let results = self.state.steps.get("").into_iter().flatten();
        let all = results.map(|(id, result)| {
            let public = result.outputs.iter();
            let public = public.filter(|(_, value)| masks.apply(value) == *value);
            let public = public.map(|(name, value)| (name.to_owned(), value.to_owned()));
            (id.clone(), public.collect::<EnvVariables>())
        });
        all.filter(|(_, outputs)| !outputs.is_empty()).collect()
    }

    /// A supervisor for a program that starts now. The next one is started at once, so that the next step need not wait for it.
    pub(super) fn take_supervisor(&mut self) -> std::io::Result<Ready> {
        if let Some(mut ready) = self.ready.take()
            && ready.waits()
        {
            return Ok(ready);
        }
        self.setup.supervisor.start()
    }

    /// The log file of a step.
    pub(super) fn log_file(&self, key: &str, name: &str) -> PathBuf {
        let slug: String = name
            .chars()
            .map(|character| {
                if character.is_ascii_alphanumeric() {
                    character.to_ascii_lowercase()
                } else {
                    '-'
                }
            })
            .take(40)
            .collect();
        self.setup
            .place
            .log
            .join(format!("{key}-{}.log", slug.trim_matches('-')))
    }
}

pub(super) fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The time in so many minutes; none if that is beyond all clocks.
pub(super) fn deadline_in(minutes: f64) -> Option<Instant> {
    let time = Duration::try_from_secs_f64(minutes.max(0.0) * 60.0).ok()?;
    Instant::now().checked_add(time)
}

/// Inputs as expressions see them: texts.
pub(super) fn texts(pairs: &[(String, String)]) -> Dict {
    let mut dict = Dict::default();
    for (name, value) in pairs {
        dict.set(name, value.as_str().into());
    }
    dict
}

/// False for a step that is left out, since another one runs alone.
pub(super) fn is_chosen(
    run: &JobRun,
    step: &crate::workflow::WorkflowStep,
    path: &[usize],
) -> bool {
    let Some(only) = &run.setup.options.only else {
        return true;
    };
    path.len() > 1 || runs_with(&run.setup.body.steps, step, path[0], only)
}
