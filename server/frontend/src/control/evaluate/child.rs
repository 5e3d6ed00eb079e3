//! The child of the hook that evaluates one input.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use super::job::{EvaluationJob, EvaluationResult};
use super::words;

/// Reads an input, and prints its answer.
pub fn child() -> ExitCode {
    let mut text = Vec::new();
    let read = std::io::stdin().read_to_end(&mut text);
    let job = read.map_err(|error| error.to_string()).and_then(|_| {
        serde_json::from_slice::<EvaluationJob>(&text).map_err(|error| error.to_string())
    });
    let done = match job {
        Ok(job) => run(&job),
        Err(error) => EvaluationResult::failed(error),
    };
    let text = serde_json::to_vec(&done).unwrap_or_default();
    let printed = std::io::stdout().write_all(&text);
    ExitCode::from(u8::from(printed.is_err()))
}

fn run(job: &EvaluationJob) -> EvaluationResult {
    if let Some(command) = job.command() {
        return job.run_command(command);
    }
    let typed = job.expression.trim();
    if let Some(word) = typed.strip_prefix(words::PREFIX) {
        return words::run(job, word);
    }
    // as CI writes expressions; a shell would run it
    let inner = typed
        .strip_prefix("${{")
        .and_then(|rest| rest.strip_suffix("}}"));
    job.jq(inner.unwrap_or(&job.expression))
}
