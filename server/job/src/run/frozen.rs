//! A step whose program is frozen, and what is left to do at its end: values.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::builtin::{Builtin, CallFile, CallPart};
use crate::state::EnvVariables;
use crate::step::command_files::CommandFiles;
use crate::step::output::StepOutput;
use crate::step::process::FrozenProgram;

use super::open::OpenStep;

/// A step whose program is frozen.
pub(super) struct FrozenStep {
    /// The step that ends with the program.
    pub open: OpenStep,
    pub program: FrozenProgram,
    pub output: Arc<Mutex<StepOutput>>,
    pub then: AfterProgram,
    /// Variables of the job when the program was started.
    pub env: EnvVariables,
}

/// The rest of a step after its program.
pub(super) enum AfterProgram {
    /// Take over what it wrote to its command files.
    Files(CommandFiles),
    /// Take over the answer of a built-in action.
    Builtin(BuiltinCall),
}

/// A call of a built-in action.
pub(super) struct BuiltinCall {
    pub builtin: Builtin,
    pub part: CallPart,
    pub version: String,
    pub inputs: Vec<(String, String)>,
    /// The text after `uses`.
    pub uses: String,
    pub file: CallFile,
}

impl FrozenStep {
    /// The step with the variables that were set since its program was started.
    pub fn open_now(&self, env: &EnvVariables) -> OpenStep {
        let mut open = self.open.clone();
        for (name, value) in env.iter() {
            if self.env.get(name) != Some(value) {
                open.env.set(name, value);
            }
        }
        open
    }

    /// Moves the deadline of the step, and its beginning.
    pub fn stood_still(&mut self, time: Duration) {
        self.program.stood_still(time);
        self.open.began = self.open.began.checked_add(time).unwrap_or(self.open.began);
    }
}
