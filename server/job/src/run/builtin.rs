//! Built-in actions as steps.

use crate::builtin::{ActionCall, ActionResult, Builtin, BuiltinError, CallFile, CallPart};
use crate::step::StepProgram;
use crate::step::process::ProgramEnding;

use super::job::{JobRun, JobSetup};
use super::open::{OpenStep, PostAction, Ran};
use super::step::outcome_of;

impl JobRun {
    pub(super) fn run_builtin(
        &mut self,
        open: &OpenStep,
        builtin: Builtin,
        version: &str,
        inputs: Vec<(String, String)>,
        uses: &str,
    ) -> Ran {
        match self.call_builtin(open, (builtin, CallPart::Main), version, &inputs) {
            Ok(Ok(done)) => {
                if done.has_post {
                    self.add_post(
                        open,
                        builtin.post_condition(),
                        inputs,
                        open.github.clone(),
                        PostAction::Builtin {
                            builtin,
                            version: version.to_owned(),
                        },
                    );
                }
                self.take_done(open, done)
            }
            Ok(Err(BuiltinError::Absent(why))) => self.absent(uses, &why),
            Ok(Err(BuiltinError::Failed(reason))) => Ran::failed(reason),
            Err(ran) => ran,
        }
    }

    /// Runs the post part of a built-in action.
    pub(super) fn post_builtin(
        &mut self,
        open: &OpenStep,
        builtin: Builtin,
        version: &str,
        inputs: &[(String, String)],
    ) -> Ran {
        match self.call_builtin(open, (builtin, CallPart::Post), version, inputs) {
            Ok(Ok(_)) => Ran::succeeded(),
            Ok(Err(BuiltinError::Absent(reason) | BuiltinError::Failed(reason))) => {
                Ran::failed(reason)
            }
            Err(ran) => ran,
        }
    }

    fn take_done(&mut self, open: &OpenStep, done: ActionResult) -> Ran {
        for (name, value) in &done.environment {
            self.state.env.set(name, value);
        }
        for directory in &done.path {
            self.state.prepend_path(directory);
        }
        let state = self.state.state.entry(open.name.key()).or_default();
        state.extend(
            done.state
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        Ran {
            outputs: done.outputs.into_iter().collect(),
            ..Ran::succeeded()
        }
    }

    /// Calls a built-in action in a separate process, under the supervisor and with the limits of a step. Its lines are the step's
    /// output. The outer error is the end of a call without an answer, such as a cancelled one.
    fn call_builtin(
        &mut self,
        open: &OpenStep,
        (builtin, part): (Builtin, CallPart),
        version: &str,
        inputs: &[(String, String)],
    ) -> Result<Result<ActionResult, BuiltinError>, Ran> {
        let output = self.output_of(open, "");
        let state = self
            .state
            .state
            .get(&open.name.key())
            .cloned()
            .unwrap_or_default();
        let files = self.command_files(open);
        let variables = self.layers(open, &[], &files).variables();
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let environment: Vec<(String, String)> = variables
            .into_iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect();
        let written = CallFile::write(
            builtin,
            part,
            &ActionCall {
                version,
                inputs,
                place: &self.setup.place,
                repository: &self.setup.repository,
                environment: &environment,
                print: &mut |_| {},
                options: &self.setup.options.builtin,
                state: state.as_pairs(),
            },
        );
        let file = written
            .map_err(|error| Ran::failed(format!("The action cannot be called: {error}")))?;
        let program = builtin_program(&self.setup, &file);
        let ended = self.supervise(open, &program, &output);
        let (ending, _) = ended.map_err(Ran::failed)?;
        if ending == ProgramEnding::Exited(0) {
            return Ok(file.answer());
        }
        builtin.clean_up(&self.setup.place, &self.setup.repository, inputs);
        let (outcome, reason) = outcome_of(ending);
        Err(Ran {
            outcome,
            reason,
            ..Ran::succeeded()
        })
    }
}

/// This program with its hidden command, in the user's environment as the run got it: the step's own is in the call.
fn builtin_program(setup: &JobSetup, file: &CallFile) -> StepProgram {
    let mut arguments = setup.supervisor.builtin.clone();
    arguments.push(file.path().into());
    StepProgram {
        program: setup.supervisor.program.clone(),
        arguments,
        directory: setup.place.dir.clone(),
        environment: setup.options.builtin.host.variables.clone(),
    }
}
