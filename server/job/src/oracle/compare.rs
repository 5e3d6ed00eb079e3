//! Our problems beside those of GitHub's parser.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::differences::reason;
use super::node::{Answer, GithubProblem, answers};
use crate::position::WorkflowProblem;
use crate::workflow::{self, Body};

#[derive(Debug)]
pub struct Case {
    pub is_action: bool,
    pub text: String,
}

impl Case {
    pub fn workflow(text: String) -> Case {
        let is_action = false;
        Case { is_action, text }
    }

    pub fn action(text: String) -> Case {
        let is_action = true;
        Case { is_action, text }
    }
}

/// The answer of our reader.
#[derive(Debug)]
pub struct Ours {
    pub problems: Vec<GithubProblem>,
    pub jobs: Option<Value>,
    /// True if the text is not YAML.
    pub syntax: bool,
}

/// Counts of a comparison.
#[derive(Debug, Default)]
pub struct Tally {
    pub cases: usize,
    equal: usize,
    without_problems: usize,
    listed: BTreeMap<&'static str, usize>,
    different: Vec<String>,
}

impl Tally {
    /// Prints the counts, and fails if there is a difference without a reason.
    pub fn report(&self, name: &str) {
        println!(
            "{name}: {} cases, {} equal, of them {} without a problem",
            self.cases, self.equal, self.without_problems
        );
        for (reason, count) in &self.listed {
            println!("{count:6} {reason}");
        }
        let shown: Vec<&String> = self.different.iter().take(20).collect();
        for difference in &shown {
            println!("{difference}");
        }
        assert!(shown.is_empty(), "{} differences", self.different.len());
    }
}

pub fn compare(packages: &Path, cases: &[Case]) -> Tally {
    let mut answers = answers(packages, cases);
    for told in answers.iter_mut().flat_map(|answer| &mut answer.problems) {
        told.message.truncate(without_place(&told.message).len());
    }
    assert_eq!(answers.len(), cases.len());
    let mut tally = Tally::default();
    for (case, answer) in cases.iter().zip(&answers) {
        let ours = read(case);
        tally.cases += 1;
        if ours.problems == answer.problems && ours.jobs == answer.jobs {
            tally.equal += 1;
            tally.without_problems += usize::from(ours.problems.is_empty());
        } else if let Some(reason) = reason(case, &ours, answer) {
            *tally.listed.entry(reason).or_default() += 1;
        } else {
            tally.different.push(difference(case, &ours, answer));
        }
    }
    tally
}

fn read(case: &Case) -> Ours {
    let syntax = crate::yaml::parse(&case.text).is_err();
    let (problems, jobs) = if case.is_action {
        let (_, problems) = crate::action::read("file.yml", &case.text);
        (problems, None)
    } else {
        let (workflow, problems) = workflow::read("file.yml", &case.text);
        (problems, workflow.as_ref().map(jobs))
    };
    let told = |problem: &WorkflowProblem| GithubProblem {
        line: problem.range.map(|range| range.start.line),
        column: problem.range.map(|range| range.start.column),
        message: without_place(&problem.message).to_owned(),
    };
    Ours {
        problems: problems.iter().map(told).collect(),
        jobs,
        syntax,
    }
}

/// A message without the place in an expression, which the package tells for some errors only.
fn without_place(message: &str) -> &str {
    message
        .split(". Located at position ")
        .next()
        .unwrap_or(message)
}

/// The jobs in the form of `tests/jobs/oracle.mjs`.
fn jobs(workflow: &workflow::Workflow) -> Value {
    let steps = |body: &Body| match body {
        Body::Steps(body) => body
            .steps
            .iter()
            .map(|step| json!({"id": step.id, "if": step.condition}))
            .collect(),
        Body::Call(_) => Vec::new(),
    };
    let job = |job: &workflow::WorkflowJob| json!({"id": job.id.value, "if": job.condition, "steps": steps(&job.body)});
    workflow.jobs.iter().map(job).collect()
}

fn difference(case: &Case, ours: &Ours, answer: &Answer) -> String {
    let list = |problems: &[GithubProblem]| {
        let line = |told: &GithubProblem| {
            let line = told.line.map_or(String::new(), |line| line.to_string());
            let column = told
                .column
                .map_or(String::new(), |column| column.to_string());
            format!("  {line}:{column} {}\n", told.message)
        };
        problems.iter().map(line).collect::<String>()
    };
    let lines: Vec<u32> = (ours.problems.iter().chain(&answer.problems))
        .filter_map(|told| told.line)
        .collect();
    let numbered = case.text.lines().zip(1..);
    let near = |number: u32| lines.iter().any(|line| line.abs_diff(number) < 3);
    let text: Vec<String> = numbered
        .filter(|(_, number)| near(*number))
        .map(|(text, number)| format!("{number:4} {text}\n"))
        .collect();
    let text = text.concat();
    format!(
        "=== {}\n{text}ours {:?}:\n{}GitHub's {:?}:\n{}",
        if case.is_action { "action" } else { "workflow" },
        ours.jobs,
        list(&ours.problems),
        answer.jobs,
        list(&answer.problems)
    )
}
