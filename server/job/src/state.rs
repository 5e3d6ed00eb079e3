//! The state of a job as a value: all that a step finds, but for files.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Variables in the order in which they were set. Names have case, as on Unix: `Path` and `PATH` are two (S1-017).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvVariables(Vec<(String, String)>);

/// A step's result before (outcome) or after (conclusion) `continue-on-error`, or a job's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepOutcome {
    Success,
    Failure,
    Cancelled,
    Skipped,
}

/// The results of a step that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResult {
    pub outcome: Option<StepOutcome>,
    pub conclusion: Option<StepOutcome>,
    pub outputs: EnvVariables,
}

/// Results of steps, by the scope (empty for the job, the path of ids for a composite action) and the id of the step (S1-023).
pub type Results = BTreeMap<String, IndexMap<String, StepResult>>;

/// State that a step finds, but for files. A copy does not change with the live state (S1-029).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobState {
    /// Variables of the workflow, the job, and `GITHUB_ENV`.
    pub env: EnvVariables,
    /// Directories before PATH, in the order in which they were added (S1-020).
    pub path: Vec<String>,
    /// The job's status so far; none is success (S1-022).
    pub status: Option<StepOutcome>,
    /// The job's result; none before its end (S1-021).
    pub result: Option<StepOutcome>,
    pub steps: Results,
    /// `STATE_*` of actions, by the key of the step.
    pub state: BTreeMap<String, EnvVariables>,
    /// Keys of steps with a post step, in the order in which their steps ran.
    pub post: Vec<String>,
}

impl StepOutcome {
    /// Reads an outcome without case; another text is none (S1-028).
    pub fn parse(text: &str) -> Option<StepOutcome> {
        let all = [
            StepOutcome::Success,
            StepOutcome::Failure,
            StepOutcome::Cancelled,
            StepOutcome::Skipped,
        ];
        all.into_iter()
            .find(|outcome| outcome.as_str().eq_ignore_ascii_case(text))
    }

    pub fn as_str(self) -> &'static str {
        match self {
            StepOutcome::Success => "success",
            StepOutcome::Failure => "failure",
            StepOutcome::Cancelled => "cancelled",
            StepOutcome::Skipped => "skipped",
        }
    }

    /// The worse of two results, as the runner merges them: a cancellation stays, then a failure.
    #[must_use]
    pub fn merge(self, other: StepOutcome) -> StepOutcome {
        let rank = |outcome| match outcome {
            StepOutcome::Skipped | StepOutcome::Success => 0,
            StepOutcome::Failure => 1,
            StepOutcome::Cancelled => 2,
        };
        if rank(other) > rank(self) {
            other
        } else {
            self
        }
    }
}

impl JobState {
    pub fn status(&self) -> StepOutcome {
        self.status.unwrap_or(StepOutcome::Success)
    }

    /// Prepends a directory to PATH. One that is there moves to the front.
    pub fn prepend_path(&mut self, directory: &str) {
        self.path.retain(|there| there != directory);
        self.path.push(directory.to_owned());
    }

    /// Keeps the result of a step. Steps without an id in the file, which begin with `__`, have none.
    pub fn set_result(&mut self, scope: &str, id: &str, result: StepResult) {
        if !id.is_empty() && !id.starts_with("__") {
            self.steps
                .entry(scope.to_owned())
                .or_default()
                .insert(id.to_owned(), result);
        }
    }
}

impl EnvVariables {
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(there, _)| there == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Sets a variable. One that is there keeps its place.
    pub fn set(&mut self, name: &str, value: &str) {
        match self.0.iter_mut().find(|(there, _)| there == name) {
            Some((_, there)) => value.clone_into(there),
            None => self.0.push((name.to_owned(), value.to_owned())),
        }
    }

    pub fn extend<'a>(&mut self, more: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (name, value) in more {
            self.set(name, value);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_pairs(&self) -> &[(String, String)] {
        &self.0
    }
}

impl FromIterator<(String, String)> for EnvVariables {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(pairs: T) -> EnvVariables {
        let mut variables = EnvVariables::default();
        for (name, value) in pairs {
            variables.set(&name, &value);
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S1-028.
    #[test]
    fn s1_028_outcomes_are_read_without_case() {
        assert_eq!(StepOutcome::parse("SUCCESS"), Some(StepOutcome::Success));
        assert_eq!(
            StepOutcome::parse("Cancelled"),
            Some(StepOutcome::Cancelled)
        );
        assert_eq!(StepOutcome::parse("skipped"), Some(StepOutcome::Skipped));
        assert_eq!(StepOutcome::parse("neutral"), None);
    }

    /// S1-029.
    #[test]
    fn s1_029_a_copy_stays_as_it_was() {
        let mut live = JobState::default();
        live.env.set("A", "1");
        live.prepend_path("/a");
        let copy = live.clone();
        live.env.set("A", "2");
        live.prepend_path("/b");
        live.status = Some(StepOutcome::Failure);
        live.set_result("", "build", StepResult::default());
        assert_eq!(copy.env.get("A"), Some("1"));
        assert_eq!(
            (copy.path.len(), copy.status, copy.steps.len()),
            (1, None, 0)
        );
    }

    #[test]
    fn a_directory_moves_to_the_front_of_the_path() {
        let mut state = JobState::default();
        for directory in ["/a", "/b", "/a"] {
            state.prepend_path(directory);
        }
        assert_eq!(state.path, ["/b", "/a"]);
    }
}
