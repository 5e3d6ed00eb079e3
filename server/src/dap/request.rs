//! A request of a client, and the parts that its handlers share.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shared::JOB_THREAD;

/// The answer to a request: a body, or a sentence.
pub type DapBody = Result<Option<Value>, String>;

pub fn body(body: impl serde::Serialize) -> DapBody {
    serde_json::to_value(body)
        .map(Some)
        .map_err(|error| error.to_string())
}

/// A request of a client.
pub struct DapRequest {
    pub number: i64,
    pub command: String,
    pub arguments: Value,
}

impl DapRequest {
    /// Err: it names another thread than that of the job.
    pub fn is_of_job(&self) -> Result<(), String> {
        let thread = &self.arguments["threadId"];
        if thread.is_null() || *thread == JOB_THREAD {
            return Ok(());
        }
        Err(format!(
            "The thread {thread} is not there, or does not stand."
        ))
    }

    /// Its arguments. Err: a sentence about those that are missing or of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        let arguments = self.arguments.clone();
        serde_json::from_value(arguments)
            .map_err(|error| format!("The arguments of {} have an error: {error}.", self.command))
    }
}
