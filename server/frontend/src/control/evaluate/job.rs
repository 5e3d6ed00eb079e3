//! One input with everything that its evaluation needs, its result, and its evaluation as jq or as a command of the shell.

use std::path::PathBuf;
use std::time::Duration;

use backstitch_control::condition;
use backstitch_control::mask::{mask, secret_values};
use backstitch_control::shell;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Starts a command for the shell.
const SHELL: char = '!';
/// Address space of an evaluation in bytes. A thread reserves a stack of 512 MiB.
const MEMORY: u64 = 2 << 30;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EvaluationJob {
    pub expression: String,
    /// The call and its surroundings. `call.held` has the facts of the pause, such as its beginning (`made`).
    pub document: Value,
    /// The input of the call, with the user's changes.
    pub input: Value,
    pub shell: String,
    pub cwd: PathBuf,
    /// In milliseconds.
    pub time: u64,
}

/// The child's answer.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct EvaluationResult {
    pub result: String,
    pub stdout: String,
    pub error: Option<String>,
    /// The input was changed: to this, or back to the agent's.
    pub changed: Option<InputChange>,
    /// The parent has to show the difference.
    pub shows_difference: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InputChange {
    pub input: Option<Value>,
}

impl EvaluationResult {
    pub fn said(result: String) -> Self {
        Self {
            result,
            ..Self::default()
        }
    }

    pub fn failed(error: impl Into<String>) -> Self {
        Self {
            error: Some(error.into()),
            ..Self::default()
        }
    }

    pub fn changed(input: Option<Value>) -> Self {
        Self {
            changed: Some(InputChange { input }),
            ..Self::default()
        }
    }
}

/// Returns the error of an input that took too long.
pub(super) fn stopped(time: Duration) -> String {
    format!(
        "it did not end within {} s, and was stopped",
        time.as_secs()
    )
}

impl EvaluationJob {
    /// Returns the shell command that was typed. None: it is an expression, or a word of the REPL.
    pub fn command(&self) -> Option<&str> {
        let command = self.expression.trim().strip_prefix(SHELL)?;
        Some(command.trim())
    }

    pub fn time(&self) -> Duration {
        Duration::from_millis(self.time)
    }

    /// Evaluates an expression in jq, within the limits of this process.
    pub fn jq(&self, expression: &str) -> EvaluationResult {
        let limit = Rlimit {
            current: Some(MEMORY),
            maximum: Some(MEMORY),
        };
        // an evaluation without the limit is better than none: jq counts its memory itself
        let _ = setrlimit(Resource::As, limit);
        match condition::outputs(expression, &self.document, self.time()) {
            Ok(outputs) => EvaluationResult::said(outputs.join("\n")),
            Err(error) => EvaluationResult::failed(error),
        }
    }

    /// Runs a command in the shell, with the agent's environment. Its output is masked.
    pub fn run_command(&self, command: &str) -> EvaluationResult {
        if command.is_empty() {
            return EvaluationResult::failed("write a command after the `!`");
        }
        shell::limit_this_process();
        let time = self.time();
        let ran = shell::run(&self.shell, command, &self.cwd, time);
        let (printed, status) = match ran {
            Ok(ran) => ran,
            Err(error) => return EvaluationResult::failed(format!("{}: {error}", self.shell)),
        };
        let done = EvaluationResult {
            stdout: mask(&printed, &secret_values()),
            ..EvaluationResult::default()
        };
        match status {
            None => {
                shell::kill_descendants(std::process::id());
                EvaluationResult {
                    error: Some(stopped(time)),
                    ..done
                }
            }
            Some(status) if status.code() == Some(0) => done,
            Some(status) => EvaluationResult {
                result: status.to_string(),
                ..done
            },
        }
    }
}
