//! Built-in actions as steps.

use crate::builtin::{ActionCall, ActionResult, Builtin, BuiltinError, CallFile, CallPart};
use crate::state::SourceTree;
use crate::step::StepProgram;
use crate::step::left_processes::tracking;
use crate::step::process::ProgramEnding;

use super::frozen::{AfterProgram, BuiltinCall};
use super::job::{JobRun, JobSetup};
use super::open::{OpenStep, PostAction, Ran, outcome_of};

impl JobRun {
    /// Calls a built-in action in a separate process, under the supervisor and with the limits of a step. Its lines are the step's
    /// output. None if it was frozen.
    pub(super) fn call_builtin(
        &mut self,
        open: &OpenStep,
        (builtin, part): (Builtin, CallPart),
        version: &str,
        inputs: Vec<(String, String)>,
        uses: &str,
    ) -> Option<Ran> {
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
                inputs: &inputs,
                place: &self.setup.place,
                repository: &self.setup.repository,
                environment: &environment,
                print: &mut |_| {},
                options: &self.setup.options.builtin,
                state: state.as_pairs(),
            },
        );
        let file = match written {
            Ok(file) => file,
            Err(error) => {
                return Some(Ran::failed(format!("The action cannot be called: {error}")));
            }
        };
        let program = builtin_program(&self.setup, &file);
        let call = BuiltinCall {
            builtin,
            part,
            version: version.to_owned(),
            inputs,
            uses: uses.to_owned(),
            file,
        };
        self.supervise(open, &program, &output, AfterProgram::Builtin(call))
    }
}

/// This program with its hidden command, in the user's environment as the run got it: the step's own is in the call.
fn builtin_program(setup: &JobSetup, file: &CallFile) -> StepProgram {
    let mut arguments = setup.supervisor.builtin.clone();
    arguments.push(file.path().into());
    let (name, value) = tracking(&setup.place.dir);
    let mut environment = setup.options.builtin.host.variables.clone();
    environment.push((name.into(), value.into()));
    StepProgram {
        program: setup.supervisor.program.clone(),
        arguments,
        directory: setup.place.dir.clone(),
        environment,
    }
}

/// Takes over what an action has set.
fn take_done(run: &mut JobRun, open: &OpenStep, done: ActionResult) -> Ran {
    for (name, value) in &done.environment {
        run.state.set_variable(name, value);
    }
    for directory in &done.path {
        run.state.prepend_path(directory);
    }
    let state = run.state.state.entry(open.name.key()).or_default();
    state.extend(
        done.state
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    if let Some(dir) = done.working_tree {
        run.state.sources = Some(SourceTree {
            dir,
            ..SourceTree::default()
        });
    }
    Ran {
        outputs: done.outputs.into_iter().collect(),
        ..Ran::succeeded()
    }
}

/// The result of a call whose process has ended so.
pub(super) fn builtin_ended(
    run: &mut JobRun,
    open: &OpenStep,
    call: BuiltinCall,
    ending: ProgramEnding,
) -> Ran {
    let builtin = call.builtin;
    if ending != ProgramEnding::Exited(0) {
        builtin.clean_up(&run.setup.place, &run.setup.repository, &call.inputs);
        let (outcome, reason) = outcome_of(ending, run.deadline);
        return Ran {
            outcome,
            reason,
            ..Ran::succeeded()
        };
    }
    match (call.part, call.file.answer()) {
        (CallPart::Main, Ok(done)) => {
            if done.has_post {
                run.add_post(
                    open,
                    builtin.post_condition(),
                    call.inputs,
                    open.github.clone(),
                    PostAction::Builtin {
                        builtin,
                        version: call.version,
                    },
                );
            }
            take_done(run, open, done)
        }
        (CallPart::Main, Err(BuiltinError::Absent(why))) => run.absent(&call.uses, &why),
        (CallPart::Post, Ok(_)) => Ran::succeeded(),
        (
            CallPart::Main | CallPart::Post,
            Err(BuiltinError::Absent(reason) | BuiltinError::Failed(reason)),
        ) => Ran::failed(reason),
    }
}
