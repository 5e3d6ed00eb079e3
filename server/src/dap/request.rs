//! A request of a client, and the parts that its handlers share.

use std::path::{Path, PathBuf};

use dapts::Source;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The answer to a request: a body, or a sentence.
pub type DapBody = Result<Option<Value>, String>;

pub fn body(body: impl serde::Serialize) -> DapBody {
    serde_json::to_value(body)
        .map(Some)
        .map_err(|error| error.to_string())
}

pub fn path_of(source: &Source) -> Result<PathBuf, String> {
    let path = source.path.as_deref().filter(|path| !path.is_empty());
    let path = path.ok_or("The source has no path.")?;
    let path = Path::new(path);
    Ok(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

/// A request of a client.
pub struct DapRequest {
    pub number: i64,
    pub command: String,
    pub arguments: Value,
}

impl DapRequest {
    /// Its arguments. Err: a sentence about those that are missing or of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        let arguments = self.arguments.clone();
        serde_json::from_value(arguments)
            .map_err(|error| format!("The arguments of {} have an error: {error}.", self.command))
    }
}
