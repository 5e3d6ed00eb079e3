//! A request of a client, and the parts that its handlers share.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

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
        let arguments = match &self.arguments {
            // a client may leave them out
            Value::Null => json!({}),
            arguments => arguments.clone(),
        };
        let command = &self.command;
        let Value::Object(all) = &arguments else {
            return Err(format!("The arguments of {command} are not an object."));
        };
        serde_json::from_value(arguments.clone()).map_err(|error| {
            // the argument that has the error by itself
            let wrong = all.iter().find_map(|(name, value)| {
                let alone = json!({name: value});
                let error = serde_json::from_value::<T>(alone).err()?.to_string();
                (!error.starts_with(MISSING))
                    .then(|| format!("{name} of {command}: {}", plain(&error)))
            });
            wrong.unwrap_or_else(|| format!("{command}: {}", plain(&error.to_string())))
        })
    }
}

/// The beginning of an error about an argument that is not there.
const MISSING: &str = "missing field ";

/// An error of a parser as a sentence, without names of types.
fn plain(error: &str) -> String {
    if let Some(name) = error.strip_prefix(MISSING) {
        return format!("{} is missing.", name.trim_matches('`'));
    }
    let Some((found, expected)) = error.split_once(", expected ") else {
        return if error.contains(" enum ") {
            "no value of this form is known.".to_owned()
        } else {
            format!("{error}.")
        };
    };
    let found = found.split_once(": ").map_or(found, |(_, found)| found);
    let expected = match expected.split(' ').next().unwrap_or_default() {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "struct" => "an object",
        _ => match expected {
            "a map" => "an object",
            "a sequence" => "a list",
            "path string" => "a path",
            other => other,
        },
    };
    let found = match found {
        "map" => "an object",
        "sequence" => "a list",
        found => found,
    };
    format!("{found} is there, where {expected} is expected.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dapts::{ScopesArguments, SetBreakpointsArguments};

    #[test]
    fn errors_have_no_names_of_types() {
        let error = |command: &str, arguments: Value| {
            let request = DapRequest {
                number: 1,
                command: command.to_owned(),
                arguments,
            };
            match command {
                "scopes" => request.read::<ScopesArguments>().err(),
                _ => request.read::<SetBreakpointsArguments>().err(),
            }
        };
        for (command, arguments, sentence) in [
            ("scopes", json!(null), "scopes: frameId is missing."),
            (
                "scopes",
                json!([1]),
                "The arguments of scopes are not an object.",
            ),
            (
                "scopes",
                json!({"frameId": -1}),
                "frameId of scopes: integer `-1` is there, where a whole number from 0 on is expected.",
            ),
            (
                "setBreakpoints",
                json!({"source": 1}),
                "source of setBreakpoints: integer `1` is there, where an object is expected.",
            ),
            (
                "setBreakpoints",
                json!({"source": {}, "breakpoints": {}}),
                "breakpoints of setBreakpoints: an object is there, where a list is expected.",
            ),
        ] {
            assert_eq!(error(command, arguments).as_deref(), Some(sentence));
        }
    }
}
