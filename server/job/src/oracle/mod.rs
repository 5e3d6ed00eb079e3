//! Comparison with GitHub's own parser (npm `@actions/workflow-parser`), which `tests/jobs/install.sh` installs.
//!
//! Where it is not installed, a test says so and passes; with `CI=true` it fails.

mod compare;
mod differences;
mod mutate;
mod node;

use compare::{Case, Tally, compare};
use mutate::{Random, mutate};

use crate::yaml;
use node::corpus;
pub use node::packages;

const WORKFLOWS: [&str; 4] = [
    include_str!("seeds/build.yml"),
    include_str!("seeds/call.yml"),
    include_str!("seeds/containers.yml"),
    include_str!("seeds/anchors.yml"),
];

const ACTIONS: [&str; 3] = [
    include_str!("seeds/composite.yml"),
    include_str!("seeds/node.yml"),
    include_str!("seeds/docker.yml"),
];

/// Workflows and actions of published packages, at least: 110 of crates and 25 of source packages in November 2026.
const MIN_PUBLISHED: usize = 100;

/// Mutated texts in a run, and in a long one.
const MUTATIONS: usize = 10_000;
const MUTATIONS_LONG: usize = 100_000;

#[test]
fn published_workflows_have_the_problems_that_github_finds() {
    let Some(packages) = packages("published_workflows") else {
        return;
    };
    let mut cases = corpus(&packages);
    assert!(cases.len() >= MIN_PUBLISHED, "{} files", cases.len());
    cases.extend(WORKFLOWS.map(|text| Case::workflow(text.to_owned())));
    cases.extend(ACTIONS.map(|text| Case::action(text.to_owned())));
    let tally = compare(&packages, &cases);
    tally.report("published workflows");
}

#[test]
fn mutated_workflows_have_the_problems_that_github_finds() {
    let Some(packages) = packages("mutated_workflows") else {
        return;
    };
    let is_long = std::env::var_os("BACKSTITCH_LONG").is_some_and(|long| !long.is_empty());
    let count = if is_long { MUTATIONS_LONG } else { MUTATIONS };
    let found = corpus(&packages);
    let mut random = Random::new(42);
    let mut cases = Vec::with_capacity(count);
    while cases.len() < count {
        // half of them from the seeds, which have more kinds of keys
        let case = match cases.len() % 4 {
            0 => Case::action(mutate(random.pick(&ACTIONS), &mut random)),
            3 => {
                let case = &found[random.below(found.len())];
                Case {
                    is_action: case.is_action,
                    text: mutate(&case.text, &mut random),
                }
            }
            _ => Case::workflow(mutate(random.pick(&WORKFLOWS), &mut random)),
        };
        // some texts that are not YAML are enough: only their first problem is compared
        if random.below(8) == 0 || yaml::parse(&case.text).is_ok() {
            cases.push(case);
        }
    }
    let tally: Tally = compare(&packages, &cases);
    tally.report("mutations");
    assert_eq!(tally.cases, count);
}
