//! Differences from GitHub's parser for editors that are meant, each with its reason.
//!
//! The package is made for editors. GitHub's service has another parser, whose source is in the runner's repository
//! (src/Sdk/WorkflowParser). Where both differ, ours takes and refuses what the service does.

use serde_json::Value;

use super::compare::{Case, Ours};
use super::node::{Answer, GithubProblem};

/// Problems of the service alone.
const SERVICE: [&str; 5] = [
    "Expected format {org}/{repo}",
    "Matrix ",
    "Concurrency group name must be",
    "You are using a ",
    "The identifier '",
];

/// Problems of the package alone.
const PACKAGE: [(&str, &str); 4] = [
    (
        "'job env'",
        "the service evaluates an `env` that is an expression",
    ),
    (
        "'step env'",
        "the service evaluates an `env` that is an expression",
    ),
    (
        "reading 'services'",
        "the service evaluates `services` that are an expression",
    ),
    (
        "Container image cannot be empty",
        "for the service a container without an image is none",
    ),
];

/// The reason for a difference; None if there is none.
pub fn reason(case: &Case, ours: &Ours, answer: &Answer) -> Option<&'static str> {
    let told = |part: &str| any(&answer.problems, part);
    let has = |part: &str| case.text.contains(part);
    if told("is not a function") {
        return Some(
            "a key that is a number or a boolean ends the package's reading with an error of JavaScript",
        );
    }
    if told("'repository_dispatch'") {
        return Some("the package's schema has another event's name for `on: repository_dispatch`");
    }
    if any(&ours.problems, "Unknown anchor") {
        return Some(
            "the service refuses an alias without an anchor, which the package passes over",
        );
    }
    if any(&ours.problems, "Maximum YAML nodes exceeded") {
        return Some(
            "the service refuses an alias within its own anchor, which the package passes over",
        );
    }
    if ours.syntax && answer.syntax {
        return Some(syntax(ours, answer));
    }
    let is_lost =
        told("Expected a scalar value, a sequence, or a mapping") || told("Expected mapping end");
    if is_lost && (has("? ") || has("{")) {
        return Some("the package loses its place at a key without a colon, whose value is null");
    }
    if case.text.matches("? ").count() > 1 && !answer.syntax {
        return Some("the package takes a key for the value of a key without a colon");
    }
    if told("must be sufficiently indented") {
        return Some("the service takes lines of a flow collection that are indented less");
    }
    if has("? ") && any(&ours.problems, "'undefined'") && told("'undefined'") {
        return Some("the package tells a key that is a mapping one column late");
    }
    if ours.syntax && case.text.starts_with('%') {
        return Some("the package passes over a directive without a name");
    }
    let is_colon = |line: &str| line.trim_start().starts_with(": ");
    if ours.syntax && (has("]:") || case.text.lines().any(is_colon)) {
        return Some("the package takes a key of several lines");
    }
    if ours.syntax && has("'''") {
        return Some(
            "the package takes a quoted text without an end, if it begins with three quotes",
        );
    }
    if ours.syntax && has("? ") {
        return Some(
            "the package takes a value that is indented otherwise than the `?` of its key",
        );
    }
    if has("1e30") && shown(ours).contains("1E+30") {
        return Some("the service writes a number that becomes a text with 15 digits and `E+`");
    }
    if ours.problems == answer.problems
        && without_spaces(ours.jobs.as_ref()) == without_spaces(answer.jobs.as_ref())
    {
        return Some("the package's conditions of several lines have the indentation of the file");
    }
    let without_feeds = |problems: &[GithubProblem]| format!("{problems:?}").replace("\\n", "");
    if !case.text.ends_with('\n')
        && without_feeds(&ours.problems) == without_feeds(&answer.problems)
    {
        return Some("the service adds no line feed to a block at the end of a file");
    }
    if without_null_keys(&ours.problems) == without_null_keys(&answer.problems) {
        return Some(
            "the package tells a key that is not there at the end of what precedes its colon",
        );
    }
    if let Some((_, reason)) = PACKAGE.iter().find(|(part, _)| told(part)) {
        return Some(reason);
    }
    service(ours, answer)
}

fn any(problems: &[GithubProblem], part: &str) -> bool {
    problems
        .iter()
        .any(|problem| problem.message.contains(part))
}

/// Problems, those of null keys without their places.
fn without_null_keys(problems: &[GithubProblem]) -> Vec<GithubProblem> {
    let place = |told: &GithubProblem| match told.message.as_str() {
        "Unexpected value 'null'" => GithubProblem {
            line: None,
            column: None,
            message: told.message.clone(),
        },
        _ => told.clone(),
    };
    problems.iter().map(place).collect()
}

/// All that ours says, as one text.
fn shown(ours: &Ours) -> String {
    format!("{:?} {:?}", ours.problems, ours.jobs)
}

fn without_spaces(jobs: Option<&Value>) -> String {
    let text = jobs.map(Value::to_string).unwrap_or_default();
    text.replace("\\n", "").replace(' ', "")
}

fn syntax(ours: &Ours, answer: &Answer) -> &'static str {
    let line = |problems: &[GithubProblem]| problems.first().and_then(|told| told.line);
    match (line(&ours.problems), line(&answer.problems)) {
        (Some(ours), Some(theirs)) if ours.abs_diff(theirs) <= 1 => {
            "text that is not YAML: words of libyaml, as on GitHub; within one line of the package's first problem"
        }
        _ => {
            "text that is not YAML: words of libyaml, as on GitHub; farther from the package's first problem"
        }
    }
}

/// Problems that only the service finds, beside all that the package finds.
fn service(ours: &Ours, answer: &Answer) -> Option<&'static str> {
    let is_service =
        |told: &&GithubProblem| SERVICE.iter().any(|start| told.message.starts_with(start));
    let others: Vec<&GithubProblem> = ours
        .problems
        .iter()
        .filter(|told| !is_service(told))
        .collect();
    let theirs: Vec<&GithubProblem> = answer
        .problems
        .iter()
        .filter(|told| !is_service(told))
        .collect();
    (others == theirs && ours.problems.len() > answer.problems.len()).then_some(
        "a problem of an id, `uses`, `matrix`, `runs` or `concurrency` that only the service finds",
    )
}
