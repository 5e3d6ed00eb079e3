//! Built-in actions as steps.

use std::sync::PoisonError;

use crate::builtin::{ActionCall, ActionResult, Builtin, BuiltinError};
use crate::report::Stream;
use crate::step::process::OutputSink;

use super::job::JobRun;
use super::open::{OpenStep, PostAction, Ran};

impl JobRun {
    pub(super) fn run_builtin(
        &mut self,
        open: &OpenStep,
        builtin: Builtin,
        version: &str,
        inputs: Vec<(String, String)>,
        uses: &str,
    ) -> Ran {
        let done = self.call_builtin(open, version, &inputs, |call| builtin.run(call));
        match done {
            Ok(done) => {
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
            Err(BuiltinError::Absent(why)) => self.absent(uses, &why),
            Err(BuiltinError::Failed(reason)) => Ran::failed(reason),
        }
    }

    pub(super) fn take_done(&mut self, open: &OpenStep, done: ActionResult) -> Ran {
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

    /// Calls a built-in action. Its lines are the step's output.
    pub(super) fn call_builtin<T>(
        &mut self,
        open: &OpenStep,
        version: &str,
        inputs: &[(String, String)],
        call: impl FnOnce(ActionCall) -> Result<T, BuiltinError>,
    ) -> Result<T, BuiltinError> {
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
        let mut print = |line: &str| {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            output.output(Stream::Stdout, format!("{line}\n").as_bytes());
        };
        let done = call(ActionCall {
            version,
            inputs,
            place: &self.setup.place,
            repository: &self.setup.repository,
            environment: &environment,
            print: &mut print,
            options: &self.setup.options.builtin,
            state: state.as_pairs(),
        });
        output
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .finish();
        done
    }
}
