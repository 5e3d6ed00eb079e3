//! One step: its variables, its condition, what it runs, and its result.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::contexts::At;
use crate::report::Level;
use crate::state::{EnvVariables, StepOutcome, StepResult};
use crate::step::StepProgram;
use crate::step::command_files::{CommandFiles, FileCommands};
use crate::step::output::{OutputCommands, StepOutput};
use crate::step::process::{
    OutputSink, ProgramEnding, ProgramLimits, ProgramWait, Ready, RunningProgram, end_orphans,
};
use crate::template::{expand_bool, expand_number, expand_text, expand_variables};
use crate::workflow::{StepAction, WorkflowStep};

use super::builtin::builtin_ended;
use super::chosen::{first_line, name_of_action};
use super::condition::{holds, reason};
use super::environment::Layers;
use super::frozen::{AfterProgram, FrozenStep};
use super::job::{JobRun, deadline_in, milliseconds};
use super::open::{OpenStep, ProgramOf, Ran, outcome_of};
use crate::report::{StepEnd, StepName, StepPart};

impl JobRun {
    /// Runs a step to its end, or enters its composite action.
    pub(super) fn run_step(&mut self, step: &WorkflowStep, path: Vec<usize>) {
        let mut open = match self.open_with_env(step, path) {
            Ok(open) => open,
            Err(failed) => {
                let (open, reason) = *failed;
                self.report().step_started(&open.name);
                return self.close(&open, Ran::failed(reason));
            }
        };
        match holds(&step.condition, &self.at_step(&open)) {
            Ok(true) => {}
            Ok(false) => return self.skip(&open, &step.condition),
            Err(reason) => {
                self.report().step_started(&open.name);
                let reason = format!(
                    "The condition '{}' cannot be evaluated: {reason}",
                    step.condition
                );
                return self.close(&open, Ran::failed(reason));
            }
        }
        self.report().step_started(&open.name);
        let minutes = step
            .timeout_minutes
            .as_ref()
            .map(|token| expand_number(token, &self.at_step(&open)));
        match minutes.transpose() {
            Ok(minutes) => {
                let own = minutes
                    .filter(|minutes| *minutes > 0.0)
                    .and_then(deadline_in);
                open.deadline = [own, open.deadline].into_iter().flatten().min();
            }
            Err(error) => {
                let reason = self.template_error(&open.name.file, &error);
                return self.close(&open, Ran::failed(reason));
            }
        }
        let ran = match &step.action {
            StepAction::Run {
                script,
                shell,
                working_directory,
            } => self.run_script(&open, script, shell.as_ref(), working_directory.as_ref()),
            StepAction::Uses { uses, with } => self.run_action(&open, &uses.value, with.as_ref()),
            StepAction::Background(key) => Some(Ran::failed(format!(
                "'{}' is not supported here.",
                key.value
            ))),
        };
        close_with(self, open, ran);
    }

    /// Adds the variables of the step's `env`. The error is a sentence.
    pub(super) fn add_step_env(&self, open: &mut OpenStep) -> Result<(), String> {
        let Some(env) = &open.step.env else {
            return Ok(());
        };
        let env = expand_variables(env, &self.at_step(open))
            .map_err(|error| self.template_error(&open.name.file, &error))?;
        open.env.extend(
            env.iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        Ok(())
    }

    pub(super) fn open(&mut self, step: &WorkflowStep, path: Vec<usize>) -> OpenStep {
        let is_inner = self.frames.len() > 1;
        let job_status = self.state.status();
        let mut env = self.state.env.clone();
        let restarts = self.state.restarts;
        let (job_deadline, frame) = (self.deadline, self.frame());
        env.extend(frame.env.iter());
        let mut github = frame
            .composite
            .as_ref()
            .map(|composite| composite.github.clone())
            .unwrap_or_default();
        github.push(("action", step.id.clone()));
        if restarts > 0 {
            github.push(("run_attempt", (restarts + 1).to_string()));
        }
        OpenStep {
            step: step.clone(),
            name: StepName {
                path,
                id: step.id.clone(),
                name: String::new(),
                part: StepPart::Main,
                line: step.range.start.line,
                file: frame.file.clone(),
            },
            scope: frame.scope.clone(),
            env,
            inputs: frame
                .composite
                .as_ref()
                .map(|composite| composite.inputs.clone()),
            status: if is_inner { frame.status } else { job_status },
            github,
            deadline: [frame.deadline, job_deadline].into_iter().flatten().min(),
            began: Instant::now(),
        }
    }

    /// The contexts at a step.
    pub(super) fn at_step<'a>(&'a self, open: &'a OpenStep) -> At<'a> {
        At {
            facts: &self.setup.facts,
            state: &self.state,
            scope: &open.scope,
            env: &open.env,
            inputs: open.inputs.as_ref(),
            status: open.status,
            github: &open.github,
            workspace: &self.setup.place.workspace,
            home: &self.setup.place.home,
        }
    }

    /// The name that people see: that of the file, or `Run …`. As on GitHub it is the first line of that.
    pub(super) fn display_name(&self, open: &OpenStep) -> String {
        if let Some(name) = &open.step.name
            && let Ok(name) = expand_text(name, &self.at_step(open))
            && !name.trim().is_empty()
        {
            return self.setup.masks.apply(first_line(&name));
        }
        self.setup.masks.apply(&name_of_action(&open.step))
    }

    pub(super) fn skip(&mut self, open: &OpenStep, condition: &str) {
        let reason = reason(condition, open.status, "an earlier step failed");
        close_skipped(self, open, reason);
    }

    /// Keeps the result of a step, and lets it count for the job or the composite action around it.
    pub(super) fn close(&mut self, open: &OpenStep, ran: Ran) {
        let token = open.step.continue_on_error.as_ref();
        let continues = token.map(|token| expand_bool(token, &self.at_step(open)));
        let (continues, error) = match continues.transpose() {
            Ok(continues) => (continues.unwrap_or_default(), None),
            Err(error) => (false, Some(self.template_error(&open.name.file, &error))),
        };
        let outcome = if error.is_some() {
            StepOutcome::Failure
        } else {
            ran.outcome
        };
        let conclusion = if continues && outcome == StepOutcome::Failure {
            StepOutcome::Success
        } else {
            outcome
        };
        let result = StepResult {
            outcome: Some(outcome),
            conclusion: Some(conclusion),
            outputs: ran.outputs,
        };
        // a post counts for the job, and is not a step of the workflow
        if open.name.part == StepPart::Main {
            self.state.set_result(&open.scope, &open.step.id, result);
        }
        self.count(conclusion);
        let reason = error
            .or(ran.reason)
            .map(|reason| self.setup.masks.apply(&reason));
        let end = StepEnd {
            outcome,
            conclusion,
            milliseconds: milliseconds(open.began),
            reason,
        };
        self.report().step_ended(&open.name, &end);
        self.ended.push((open.name.clone(), end.clone()));
        self.last = Some((open.name.clone(), end));
    }

    /// Merges a conclusion into the status around it.
    fn count(&mut self, conclusion: StepOutcome) {
        if self.frames.len() > 1 {
            let frame = self.frame();
            let before = frame.status;
            frame.status = before.merge(conclusion);
            self.status_before = before;
        } else {
            self.status_before = self.state.status();
            self.state.status = Some(self.status_before.merge(conclusion));
        }
    }

    /// Runs a program as a step: with its command files, its log and its limits. Takes over what it wrote. None if it was frozen.
    pub(super) fn run_program(
        &mut self,
        open: &OpenStep,
        own: &[(String, String)],
        program_of: &ProgramOf,
    ) -> Option<Ran> {
        let files = self.command_files(open);
        if let Err(error) = files.reset() {
            return Some(Ran::failed(format!(
                "The command files in {} cannot be made: {error}",
                self.setup.place.temp.display()
            )));
        }
        let mut own = own.to_vec();
        own.extend(open.github.iter().map(|(name, value)| {
            (
                format!("GITHUB_{}", name.to_ascii_uppercase()),
                value.clone(),
            )
        }));
        let program = match program_of(&self.layers(open, &own, &files)) {
            Ok(program) => program,
            Err(reason) => return Some(Ran::failed(reason)),
        };
        let output = self.output_of(open, &program.header);
        self.supervise(open, &program.program, &output, AfterProgram::Files(files))
    }

    /// Runs a program under a supervisor, and the rest of its step. None if it was frozen.
    pub(super) fn supervise(
        &mut self,
        open: &OpenStep,
        program: &StepProgram,
        output: &Arc<Mutex<StepOutput>>,
        then: AfterProgram,
    ) -> Option<Ran> {
        let supervisor = match self.take_supervisor() {
            Ok(supervisor) => supervisor,
            Err(error) => {
                return Some(Ran::failed(format!(
                    "The supervisor of the step cannot be started: {error}"
                )));
            }
        };
        let limits = ProgramLimits {
            deadline: open.deadline,
            stop: &self.setup.stop,
            heeded: self.heeded,
        };
        let started = supervisor.start(program, &limits);
        // the next one starts while this program runs
        self.ready = self.setup.supervisor.start().ok();
        let ran = started.and_then(|running| self.wait_for(open, running, output, then));
        ran.unwrap_or_else(|error| {
            let program = program.program.display();
            Some(Ran::failed(format!("{program} cannot be started: {error}")))
        })
    }

    /// Waits until a program ends, and does the rest of its step. None if it was frozen.
    pub(super) fn wait_for(
        &mut self,
        open: &OpenStep,
        running: RunningProgram,
        output: &Arc<Mutex<StepOutput>>,
        then: AfterProgram,
    ) -> std::io::Result<Option<Ran>> {
        let sink: Arc<Mutex<dyn OutputSink>> = Arc::clone(output) as Arc<Mutex<dyn OutputSink>>;
        let waited = running.wait(&sink);
        if let Ok(ProgramWait::Frozen(program)) = waited {
            self.report().step_frozen(&open.name);
            self.frozen = Some(FrozenStep {
                open: open.clone(),
                program,
                output: Arc::clone(output),
                then,
                env: self.state.env.clone(),
            });
            return Ok(None);
        }
        let asked = output
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .finish();
        let ProgramWait::Ended(ended) = waited? else {
            return Ok(None);
        };
        self.leftovers.retain_mut(|(_, left)| !left.are_gone());
        if ended.ending == ProgramEnding::SupervisorLost {
            let frozen = self.frozen.as_ref();
            end_orphans(
                self.leftovers
                    .iter()
                    .map(|(_, left)| left)
                    .chain(self.ready.as_ref().map(Ready::leftovers))
                    .chain(frozen.map(|frozen| frozen.program.leftovers())),
            );
        }
        self.programs += 1;
        self.leftovers.push((self.programs, ended.leftovers));
        Ok(Some(match then {
            AfterProgram::Files(files) => {
                self.take_over(open, output, ended.ending, files.read(), asked)
            }
            AfterProgram::Builtin(call) => builtin_ended(self, open, call, ended.ending),
        }))
    }

    /// The variables of a step's program.
    pub(super) fn layers<'a>(
        &'a self,
        open: &'a OpenStep,
        own: &'a [(String, String)],
        files: &'a CommandFiles,
    ) -> Layers<'a> {
        Layers {
            base: &self.setup.base,
            state: &self.state,
            env: &open.env,
            facts: &self.variables,
            own,
            files,
        }
    }

    pub(super) fn command_files(&self, open: &OpenStep) -> CommandFiles {
        CommandFiles::of(
            &self.setup.place.temp.join("_runner_file_commands"),
            &open.name.key(),
        )
    }

    /// The reader of a step's output, whose log begins with the step's header.
    pub(super) fn output_of(&self, open: &OpenStep, header: &str) -> Arc<Mutex<StepOutput>> {
        let (log, log_error) = match File::create(self.log_file(&open.name.key(), &open.name.name))
        {
            Ok(log) => (Some(log), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let report = Arc::clone(&self.setup.report);
        let mut output = StepOutput::new(self.setup.masks.clone(), log, report);
        output.log_error = log_error;
        output.debug = self.setup.options.debug;
        output.unsecure = open
            .env
            .get("ACTIONS_ALLOW_UNSECURE_COMMANDS")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"));
        output.matchers = self.matchers.for_step(&self.setup.place.workspace);
        output.header(header);
        Arc::new(Mutex::new(output))
    }

    /// Takes over what a step wrote and asked for, and gives its result.
    fn take_over(
        &mut self,
        open: &OpenStep,
        output: &Mutex<StepOutput>,
        ending: ProgramEnding,
        written: FileCommands,
        asked: OutputCommands,
    ) -> Ran {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in &written.warnings {
            output.annotate(Level::Error, warning);
        }
        let mut errors = asked.errors;
        errors.extend(written.errors);
        for error in &errors {
            output.annotate(Level::Error, error);
        }
        if let Some(error) = &output.log_error {
            let notice = format!("The log of '{}' is not complete: {error}", open.name.name);
            self.report().notice(&notice);
        }
        output.close();
        drop(output);
        for (name, value) in asked.env.iter().chain(&written.env) {
            self.state.set_variable(name, value);
        }
        for directory in asked.path.iter().chain(&written.path) {
            self.state.prepend_path(directory);
        }
        let key = open.name.key();
        for (name, value) in asked.state.iter().chain(&written.state) {
            self.state
                .state
                .entry(key.clone())
                .or_default()
                .set(name, value);
        }
        let outputs = asked.outputs.into_iter().chain(written.outputs).collect();
        let (outcome, reason) = match outcome_of(ending, self.deadline) {
            (StepOutcome::Success, _) if !errors.is_empty() => {
                (StepOutcome::Failure, Some(errors.join(" ")))
            }
            other => other,
        };
        Ran {
            outcome,
            reason,
            outputs,
        }
    }
}

/// Keeps the result of a step that does not run.
pub(super) fn close_skipped(run: &mut JobRun, open: &OpenStep, reason: String) {
    if open.name.part == StepPart::Main {
        let result = StepResult {
            outcome: Some(StepOutcome::Skipped),
            conclusion: Some(StepOutcome::Skipped),
            outputs: EnvVariables::default(),
        };
        run.state.set_result(&open.scope, &open.step.id, result);
    }
    let end = StepEnd {
        outcome: StepOutcome::Skipped,
        conclusion: StepOutcome::Skipped,
        milliseconds: 0,
        reason: Some(reason),
    };
    run.report().step_ended(&open.name, &end);
    run.ended.push((open.name.clone(), end.clone()));
    run.last = Some((open.name.clone(), end));
}

/// Ends a step, now or with its frozen program.
pub(super) fn close_with(run: &mut JobRun, open: OpenStep, ran: Option<Ran>) {
    match (ran, &mut run.frozen) {
        (Some(ran), _) => run.close(&open, ran),
        (None, Some(frozen)) => frozen.open = open,
        // a composite action was entered
        (None, None) => {}
    }
}
