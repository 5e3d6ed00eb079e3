//! The Node processes of `tests/jobs`.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Case;

/// An answer of GitHub's parser.
#[derive(Debug, Deserialize)]
pub struct Answer {
    pub problems: Vec<GithubProblem>,
    pub jobs: Option<Value>,
    /// True if the text is not YAML.
    #[serde(default)]
    pub syntax: bool,
}

/// A problem of its. One of the whole file has no line.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct GithubProblem {
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub message: String,
}

fn in_tests(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests")
        .join(path)
}

/// The directory with the packages. None where they are missing and may be.
pub fn packages(test: &str) -> Option<PathBuf> {
    let folder =
        env::var_os("BACKSTITCH_TEST_JOBS").map_or_else(|| in_tests(".cache/jobs"), PathBuf::from);
    if folder
        .join("node_modules/@actions/workflow-parser")
        .exists()
    {
        return Some(folder);
    }
    let in_ci = env::var_os("CI").is_some_and(|ci| ci == "true");
    let reason = "GitHub's parser is not installed (tests/jobs/install.sh)";
    assert!(!in_ci, "{test}: {reason}");
    eprintln!("SKIPPED: {test}: {reason}");
    None
}

/// Workflows and actions of published packages: the crates in the lock file, as far as cargo has them, and source packages.
pub fn corpus(packages: &Path) -> Vec<Case> {
    let output = Command::new("node")
        .arg(in_tests("jobs/corpus.mjs"))
        .arg(in_tests("../Cargo.lock"))
        .arg(packages)
        .output()
        .expect("node runs");
    assert!(output.status.success(), "{output:?}");
    let lines = output.stdout.lines().map_while(Result::ok);
    let case = |line: String| {
        let value: Value = serde_json::from_str(&line).expect("JSON");
        Case {
            is_action: value["kind"] == "action",
            text: value["text"].as_str().unwrap_or_default().to_owned(),
        }
    };
    lines.map(case).collect()
}

/// Answers of GitHub's parser, in the order of the cases.
pub fn answers(packages: &Path, cases: &[Case]) -> Vec<Answer> {
    let mut child = Command::new("node")
        .arg(in_tests("jobs/oracle.mjs"))
        .arg(packages)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node runs");
    let mut input = child.stdin.take().expect("a pipe");
    let output = child.stdout.take().expect("a pipe");
    let answers = thread::scope(|scope| {
        scope.spawn(move || {
            for case in cases {
                let kind = if case.is_action { "action" } else { "workflow" };
                let line = json!({"kind": kind, "text": case.text});
                writeln!(input, "{line}").expect("node reads");
            }
        });
        let lines = BufReader::new(output).lines();
        let answer = |line: Result<String, _>| serde_json::from_str(&line.expect("a line"));
        lines.map(|line| answer(line).expect("an answer")).collect()
    });
    child.wait().expect("node ends");
    answers
}
