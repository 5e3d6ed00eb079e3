//! Data that can be watched and set: variables of `env`, results of steps, the status of the job, and files.

use std::path::{Component, Path};

use backstitch_job::session::{JobSession, StepAttempt};
use backstitch_job::state::StepOutcome;
use serde_json::Value;

/// A value that a step may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobData {
    /// Keys of a context: `env`, `steps` or `job`, and the keys in it.
    Value(Vec<String>),
    /// A path in the workspace.
    File(String),
}

/// Contexts that steps change. The others are the same in the whole job.
const CHANGING: [&str; 3] = ["env", "steps", "job"];

/// All contexts whose names a file is not taken for.
const FIXED: [&str; 8] = [
    "github", "inputs", "matrix", "needs", "runner", "secrets", "strategy", "vars",
];

/// Contexts with values that a person may set, and no step.
const SETTABLE: [&str; 2] = ["inputs", "vars"];

/// The keys of a value that a person may set. Err: a sentence.
pub fn settable(text: &str) -> Result<Vec<String>, String> {
    let text = text.trim();
    if let Some(mut keys) = keys_of(text)
        && let [root, _] = keys.as_mut_slice()
        && SETTABLE.contains(&root.to_ascii_lowercase().as_str())
    {
        root.make_ascii_lowercase();
        return Ok(keys);
    }
    match JobData::parse(text)? {
        JobData::Value(keys) => Ok(keys),
        JobData::File(_) => Err(format!("{text} is not a value of a context.")),
    }
}

impl JobData {
    /// `env.A`, `steps.build.outputs['v']`, `job.status`, or the path of a file.
    pub fn parse(text: &str) -> Result<JobData, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err(
                "No data is named: write env.NAME, steps.ID.outputs.NAME, job.status, or a file."
                    .to_owned(),
            );
        }
        let Some(mut keys) = keys_of(text) else {
            return file_of(text);
        };
        let root = keys[0].to_ascii_lowercase();
        if FIXED.contains(&root.as_str()) {
            return Err(format!("{text}: no step changes {root}."));
        }
        if !CHANGING.contains(&root.as_str()) {
            return Ok(JobData::File(text.to_owned()));
        }
        let parts: Vec<&str> = keys.iter().skip(1).map(String::as_str).collect();
        let is_value = matches!(
            (root.as_str(), parts.as_slice()),
            ("env", [_])
                | ("steps", [_, "outputs", _] | [_, "outcome" | "conclusion"])
                | ("job", ["status"])
        );
        if !is_value {
            return Err(format!(
                "{text} is not one value: write env.NAME, steps.ID.outputs.NAME, steps.ID.outcome or job.status."
            ));
        }
        keys[0] = root;
        Ok(JobData::Value(keys))
    }

    /// The same. A file may have the path that it has in the workspace of the run.
    pub fn parse_in(text: &str, workspace: &Path) -> Result<JobData, String> {
        let within = Path::new(text.trim()).strip_prefix(workspace);
        match within {
            Ok(within) if workspace.is_absolute() => file_of(&within.to_string_lossy()),
            Ok(_) | Err(_) => JobData::parse(text),
        }
    }

    /// The text that [`JobData::parse`] reads.
    pub fn text(&self) -> String {
        match self {
            JobData::Value(keys) => {
                let rest = keys[1..]
                    .iter()
                    .map(|key| format!("['{}']", key.replace('\'', "''")));
                keys[0].clone() + &rest.collect::<String>()
            }
            JobData::File(path) => format!("./{path}"),
        }
    }

    /// The data as people read it.
    pub fn words(&self) -> String {
        match self {
            JobData::Value(keys) => keys.join("."),
            JobData::File(path) => path.clone(),
        }
    }

    /// The value in the state of a job.
    pub fn value_in(&self, state: &Value) -> Option<Value> {
        let JobData::Value(keys) = self else {
            return None;
        };
        // steps of the job are those without a scope
        let root = if keys[0] == "steps" {
            &state["steps"][""]
        } else {
            &state[&keys[0]]
        };
        let mut value = root;
        for key in &keys[1..] {
            value = value.get(key)?;
        }
        match value {
            // as the expression has it: no step has failed
            Value::Null if keys[0] == "job" => Some(StepOutcome::Success.as_str().into()),
            Value::Null => None,
            value => Some(value.clone()),
        }
    }
}

/// A file by its path in the workspace.
fn file_of(text: &str) -> Result<JobData, String> {
    let mut names = Vec::new();
    for part in Path::new(text).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => names.push(name.to_string_lossy()),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(format!(
                    "{text} is not in the workspace: write a path that begins there, as src/main.rs."
                ));
            }
        }
    }
    if names.is_empty() {
        return Err(format!("{text} is not a file."));
    }
    Ok(JobData::File(names.join("/")))
}

/// Keys of an expression that leads to a value. None: the text is another expression, or none.
fn keys_of(text: &str) -> Option<Vec<String>> {
    let is_of_name = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '-';
    let name = |text: &str| text.find(|one| !is_of_name(one)).unwrap_or(text.len());
    let end = name(text);
    let mut keys = vec![text[..end].to_owned()];
    let mut rest = &text[end..];
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = name(after);
            keys.push(after[..end].to_owned());
            rest = &after[end..];
        } else {
            let after = rest.strip_prefix("['")?;
            let mut key = String::new();
            let mut from = after;
            rest = loop {
                let at = from.find('\'')?;
                key.push_str(&from[..at]);
                from = &from[at + 1..];
                if let Some(more) = from.strip_prefix('\'') {
                    key.push('\'');
                    from = more;
                } else {
                    break from.strip_prefix(']')?;
                }
            };
            keys.push(key);
        }
    }
    keys.iter().all(|key| !key.is_empty()).then_some(keys)
}

/// The state of a job before steps, from which changes are seen.
#[derive(Debug)]
pub struct DataBefore {
    state: Value,
    attempts: usize,
}

impl DataBefore {
    pub fn of(session: &JobSession) -> DataBefore {
        DataBefore {
            state: session.job().live().canonical(),
            attempts: session.attempts().all().len(),
        }
    }

    /// Those of some data that have changed since, each with a sentence about it.
    pub fn changed(&self, session: &JobSession, all: &[(u64, JobData)]) -> Vec<(u64, String)> {
        let state = session.job().live().canonical();
        let steps = session
            .attempts()
            .all()
            .get(self.attempts..)
            .unwrap_or_default();
        let changed = all.iter().filter_map(|(id, data)| {
            let sentence = match data {
                JobData::Value(_) => {
                    value_changed(data, data.value_in(&self.state), data.value_in(&state))?
                }
                JobData::File(path) => {
                    let step = steps
                        .iter()
                        .rev()
                        .find(|step| changes_file(session, step, path))?;
                    format!("'{}' changed {path}", step.step.name)
                }
            };
            Some((*id, sentence))
        });
        changed.collect()
    }
}

/// A sentence about two values that differ.
pub fn value_changed(data: &JobData, was: Option<Value>, is: Option<Value>) -> Option<String> {
    let is_other = was != is;
    let words = |value: Option<Value>| match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => format!("'{text}'"),
        Some(other) => other.to_string(),
    };
    let text = data.words();
    is_other.then(|| format!("{text} changed from {} to {}", words(was), words(is)))
}

/// True if a step changed a file of the workspace.
pub fn changes_file(session: &JobSession, step: &StepAttempt, path: &str) -> bool {
    let changed = super::changes::changed_between(session, step.before(), step.after());
    let changed = changed.unwrap_or_default();
    changed.iter().any(|one| one.path == path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::JobData;

    /// Names of data are read as people write them, and their texts are read again.
    #[test]
    fn names_of_data() {
        for (text, keys) in [
            ("env.A", vec!["env", "A"]),
            ("ENV['A']", vec!["env", "A"]),
            ("steps.a-b.outputs.v", vec!["steps", "a-b", "outputs", "v"]),
            (
                "steps['a'].outputs['it''s']",
                vec!["steps", "a", "outputs", "it's"],
            ),
            (" job.status ", vec!["job", "status"]),
        ] {
            let keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
            let data = JobData::parse(text);
            assert_eq!(data, Ok(JobData::Value(keys)), "{text}");
            let again = data.clone().and_then(|data| JobData::parse(&data.text()));
            assert_eq!(again, data, "{text}");
        }
        for (text, path) in [
            ("Cargo.toml", "Cargo.toml"),
            ("./src/main.rs", "src/main.rs"),
            ("./env", "env"),
            ("a file", "a file"),
        ] {
            let data = JobData::parse(text);
            assert_eq!(data, Ok(JobData::File(path.to_owned())), "{text}");
        }
        for text in [
            "",
            "env",
            "github.sha",
            "steps.a",
            "env.A.B",
            "secrets.X",
            "/etc/passwd",
            "../x",
            "src/../../x",
            "./",
        ] {
            assert!(JobData::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_of_a_step_is_that_of_the_job() {
        let state =
            json!({"env": {"A": "1"}, "steps": {"": {"a": {"outputs": {"v": "2"}}}, "b": {}}});
        let value = |text: &str| JobData::parse(text).expect("data").value_in(&state);
        assert_eq!(value("env.A"), Some(json!("1")));
        assert_eq!(value("steps.a.outputs.v"), Some(json!("2")));
        assert_eq!(value("env.B"), None);
    }
}
