//! The state of a job as a value: all that a step finds, but for files.

use std::collections::{BTreeMap, BTreeSet};

use backstitch_core::model::RelPath;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The rule for names of variables: on Windows `Path` and `PATH` are one variable, elsewhere two (S1-017, S1-019).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameCase {
    Folded,
    Kept,
}

impl NameCase {
    fn is_same(self, there: &str, name: &str) -> bool {
        match self {
            NameCase::Folded => there.to_lowercase() == name.to_lowercase(),
            NameCase::Kept => there == name,
        }
    }
}

impl Default for NameCase {
    /// The rule of this system.
    fn default() -> NameCase {
        if cfg!(windows) {
            NameCase::Folded
        } else {
            NameCase::Kept
        }
    }
}

/// Variables in the order in which they were set: texts alone (S1-018). As JSON: pairs of name and value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EnvVariables {
    pairs: Vec<(String, String)>,
    #[serde(skip)]
    case: NameCase,
}

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
    /// Variables as the workflow and the job declare them, above those of the user's file.
    pub declared: EnvVariables,
    /// Names of variables that a step or a person has set: no declaration changes them.
    pub set_since: BTreeSet<String>,
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
    /// The user's working tree, as the last checkout of it brought it.
    #[serde(default)]
    pub sources: Option<SourceTree>,
    /// Times that a person has begun the job anew.
    #[serde(default)]
    pub restarts: u32,
    /// Values of `vars` and `inputs` of the workflow that a person has set instead of those of the launch.
    #[serde(default)]
    pub vars: EnvVariables,
    #[serde(default)]
    pub inputs: EnvVariables,
}

/// Names of variables that another declaration concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredChange {
    /// Those that have the new value, or are gone.
    pub taken: Vec<String>,
    /// Those that stay, since a step or a person has set them.
    pub kept: Vec<String>,
}

/// A working tree that a checkout brought, and the edits of it that were taken up since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceTree {
    /// Its directory, relative to the workspace.
    pub dir: String,
    /// The checkpoint that has its files; none until its step has ended.
    pub node: Option<i64>,
    /// Files and links of the checkpoint that the user's tree did not have: of submodules, and those that a step had made before.
    #[serde(default)]
    pub other: BTreeSet<RelPath>,
    /// Files and links as they were taken up, by path.
    #[serde(with = "pairs")]
    pub taken: BTreeMap<RelPath, TakenSource>,
}

/// A file or a link of the user's, as it was taken up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TakenSource {
    Removed,
    /// Digest of the content, and the bit of the owner.
    #[serde(rename_all = "camelCase")]
    File {
        digest: String,
        is_executable: bool,
    },
    /// The target.
    Link(Vec<u8>),
}

/// A map as a list of pairs: a path is not a text, which a key of JSON has to be.
mod pairs {
    use super::{BTreeMap, Deserialize, Serialize};
    use serde::{Deserializer, Serializer};

    pub fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub fn deserialize<'a, K, V, D>(from: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'a> + Ord,
        V: Deserialize<'a>,
        D: Deserializer<'a>,
    {
        Ok(Vec::deserialize(from)?.into_iter().collect())
    }
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
    /// The state as JSON with sorted keys and without a clock, so that two runs of the same steps have equal texts.
    pub fn canonical(&self) -> serde_json::Value {
        let pairs = |pairs: &EnvVariables| -> serde_json::Value {
            let all: std::collections::BTreeMap<_, _> = pairs.iter().collect();
            serde_json::json!(all)
        };
        let mut steps = std::collections::BTreeMap::new();
        for (scope, results) in &self.steps {
            let mut all = std::collections::BTreeMap::new();
            for (id, result) in results {
                let one = serde_json::json!({
                    "conclusion": result.conclusion,
                    "outcome": result.outcome,
                    "outputs": pairs(&result.outputs),
                });
                all.insert(id, one);
            }
            steps.insert(scope, all);
        }
        let kept: std::collections::BTreeMap<_, _> = self
            .state
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(key, values)| (key, pairs(values)))
            .collect();
        let mut all = serde_json::json!({
            "env": pairs(&self.env),
            "job": {"result": self.result, "status": self.status},
            "path": self.path,
            "post": self.post,
            "state": kept,
            "steps": steps,
        });
        for (name, set) in [("inputs", &self.inputs), ("vars", &self.vars)] {
            if !set.is_empty() {
                all[name] = pairs(set);
            }
        }
        all
    }

    /// Sets a variable for a step or a person.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        self.env.set(name, value);
        self.set_since.insert(name.to_owned());
    }

    /// Removes a variable for a person. False if there is none.
    pub fn remove_variable(&mut self, name: &str) -> bool {
        self.set_since.insert(name.to_owned());
        self.env.remove(name)
    }

    /// Takes up another declaration: the variables that it changes, but for those that were set since.
    pub fn declare(&mut self, declared: EnvVariables) -> DeclaredChange {
        let mut change = DeclaredChange::default();
        let gone = self.declared.iter().map(|(name, _)| name);
        let gone = gone.filter(|name| declared.get(name).is_none());
        let names = gone.chain(declared.iter().map(|(name, _)| name));
        for name in names {
            let value = declared.get(name);
            if self.declared.get(name) == value {
                continue;
            }
            if self.set_since.contains(name) {
                change.kept.push(name.to_owned());
                continue;
            }
            change.taken.push(name.to_owned());
            match value {
                Some(value) => self.env.set(name, value),
                None => {
                    self.env.remove(name);
                }
            }
        }
        self.declared = declared;
        change
    }

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
    /// No variables, under a rule for their names.
    pub fn with(case: NameCase) -> EnvVariables {
        EnvVariables {
            pairs: Vec::new(),
            case,
        }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self
            .pairs
            .iter()
            .find(|(there, _)| self.case.is_same(there, name));
        found.map(|(_, value)| value.as_str())
    }

    /// Sets a variable. One that is there keeps its place.
    pub fn set(&mut self, name: &str, value: &str) {
        let found = (self.pairs.iter()).position(|(there, _)| self.case.is_same(there, name));
        match found {
            Some(at) => value.clone_into(&mut self.pairs[at].1),
            None => self.pairs.push((name.to_owned(), value.to_owned())),
        }
    }

    /// Removes a variable. False if there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.pairs.len();
        let case = self.case;
        self.pairs.retain(|(there, _)| !case.is_same(there, name));
        self.pairs.len() < before
    }

    pub fn extend<'a>(&mut self, more: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (name, value) in more {
            self.set(name, value);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub fn as_pairs(&self) -> &[(String, String)] {
        &self.pairs
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

    fn variables(case: NameCase, pairs: &[(&str, &str)]) -> EnvVariables {
        let mut variables = EnvVariables::with(case);
        variables.extend(pairs.iter().copied());
        variables
    }

    /// A copy of the environment, names without regard to case where the system has that rule (S1-017).
    #[test]
    fn s1_017_names_of_a_copy_follow_the_rule_of_the_system() {
        let set = [("Path", "1"), ("PATH", "2"), ("É", "3"), ("é", "4")];
        let copy = variables(NameCase::Folded, &set).clone();
        assert_eq!(copy.len(), 2);
        assert_eq!((copy.get("path"), copy.get("É")), (Some("2"), Some("4")));
        let copy = variables(NameCase::Kept, &set).clone();
        assert_eq!(copy.len(), 4);
        assert_eq!((copy.get("Path"), copy.get("path")), (Some("1"), None));
    }

    /// A copy of the env context, strings only (S1-018).
    #[test]
    fn s1_018_a_copy_has_strings_only() {
        let read = |json: &str| serde_json::from_str::<JobState>(json);
        let state = JobState {
            env: variables(NameCase::Kept, &[("N", "1"), ("T", "true")]),
            ..JobState::default()
        };
        let json = serde_json::to_string(&state).unwrap();
        assert!(json.contains(r#"[["N","1"],["T","true"]]"#), "{json}");
        assert_eq!(read(&json).unwrap(), state);
        assert!(read(&json.replace(r#""1""#, "1")).is_err());
        assert!(read(&json.replace(r#""1""#, "{}")).is_err());
    }

    /// The env context copy works with either case rule (S1-019).
    #[test]
    fn s1_019_both_rules_keep_the_first_place_and_the_last_value() {
        for (case, expected) in [
            (NameCase::Folded, vec![("A", "3"), ("B", "2")]),
            (NameCase::Kept, vec![("A", "1"), ("B", "2"), ("a", "3")]),
        ] {
            let copy = variables(case, &[("A", "1"), ("B", "2"), ("a", "3")]);
            assert_eq!(copy.iter().collect::<Vec<_>>(), expected);
        }
    }

    /// The prepended PATH entries in order (S1-020).
    #[test]
    fn s1_020_directories_before_path_keep_their_order() {
        let mut state = JobState::default();
        for directory in ["/b", "/a", "/c"] {
            state.prepend_path(directory);
        }
        let json = serde_json::to_string(&state).unwrap();
        let copy: JobState = serde_json::from_str(&json).unwrap();
        assert_eq!(copy.path, ["/b", "/a", "/c"]);
    }

    /// The job result, or none (S1-021); the job status, or none (S1-022).
    #[test]
    fn s1_021_s1_022_result_and_status_may_be_unset() {
        let mut state = JobState::default();
        for (status, result) in [
            (None, None),
            (Some(StepOutcome::Failure), None),
            (Some(StepOutcome::Success), Some(StepOutcome::Success)),
        ] {
            (state.status, state.result) = (status, result);
            let json = serde_json::to_string(&state).unwrap();
            let copy: JobState = serde_json::from_str(&json).unwrap();
            assert_eq!((copy.status, copy.result), (status, result));
        }
    }

    /// Outcome, conclusion and outputs by scope and step name (S1-023).
    #[test]
    fn s1_023_results_stand_by_scope_and_step() {
        let mut state = JobState::default();
        let result = StepResult {
            outcome: Some(StepOutcome::Failure),
            conclusion: Some(StepOutcome::Success),
            outputs: variables(NameCase::Kept, &[("v", "1")]),
        };
        state.set_result("", "build", result.clone());
        state.set_result("outer.inner", "build", StepResult::default());
        state.set_result("", "__run_2", result.clone());
        let json = serde_json::to_string(&state).unwrap();
        let copy: JobState = serde_json::from_str(&json).unwrap();
        assert_eq!(copy.steps[""]["build"], result);
        assert_eq!(copy.steps["outer.inner"]["build"], StepResult::default());
        assert_eq!(copy.steps[""].len(), 1);
    }

    /// Outcome words are read without regard to case; unknown ones mean unset (S1-028).
    #[test]
    fn s1_028_outcomes_are_read_without_case() {
        let words = ["SUCCESS", "Cancelled", "skipped", "fAiLuRe", "neutral", ""];
        assert_eq!(
            words.map(StepOutcome::parse),
            [
                Some(StepOutcome::Success),
                Some(StepOutcome::Cancelled),
                Some(StepOutcome::Skipped),
                Some(StepOutcome::Failure),
                None,
                None
            ]
        );
    }

    /// Later changes of the live state do not reach a checkpoint (S1-029).
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

    /// Masks of secrets are not in checkpoints and stay in force after a restore (S1-030).
    #[test]
    fn s1_030_masks_stand_beside_the_state() {
        let masks = crate::step::mask::Masks::default();
        let mut live = JobState::default();
        live.env.set("A", "1");
        let checkpoint = serde_json::to_string(&live).unwrap();
        masks.add("hidden-word");
        live.env.set("A", "2");
        assert!(
            !serde_json::to_string(&live)
                .unwrap()
                .contains("hidden-word")
        );
        live = serde_json::from_str(&checkpoint).unwrap();
        assert_eq!(live.env.get("A"), Some("1"));
        assert_eq!(masks.apply("a hidden-word"), "a ***");
    }

    /// A declaration changes what nobody has set since, also where the value is that of the old declaration.
    #[test]
    fn a_declaration_changes_variables_that_nobody_has_set() {
        let mut state = JobState::default();
        let first = variables(
            NameCase::Kept,
            &[("A", "1"), ("B", "1"), ("C", "1"), ("D", "1"), ("E", "1")],
        );
        assert_eq!(state.declare(first).taken, ["A", "B", "C", "D", "E"]);
        state.set_variable("B", "1");
        state.set_variable("N", "set");
        assert!(state.remove_variable("D"));
        let before = state.clone();
        let pairs = [("A", "2"), ("B", "2"), ("D", "2"), ("E", "1"), ("N", "2")];
        let second = variables(NameCase::Kept, &pairs);
        let change = state.declare(second.clone());
        assert_eq!(change.taken, ["C", "A"]);
        assert_eq!(change.kept, ["B", "D", "N"]);
        let all: Vec<_> = state.env.iter().collect();
        assert_eq!(all, [("A", "2"), ("B", "1"), ("E", "1"), ("N", "set")]);
        assert_eq!(state.declare(second), DeclaredChange::default());
        // the state of a checkpoint takes it up again
        let json = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<JobState>(&json).unwrap(), before);
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
