//! `job list`: jobs, lines, problems; runs that are kept.

use serde_json::json;

use super::{job, workflow, workflow_with};

#[test]
fn problems_have_lines_and_columns_in_githubs_words() {
    let world = workflow_with(
        &job("- run: 'true'"),
        &[(
            ".github/workflows/bad.yml",
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    stepz: []\n    needs: nobody\n",
        )],
    );
    let listed = world.run(["job", "list"]).expect_code(1);
    let line = ".github/workflows/bad.yml (Line: 5, Col: 5): Unexpected value 'stepz'";
    assert!(listed.stdout.contains(line), "{listed:?}");
    let listed = world
        .run(["--json", "job", "list", "bad.yml"])
        .expect_code(1)
        .json();
    assert_eq!(
        listed["workflows"][0]["problems"][0]["line"], 5,
        "{listed:#}"
    );
    let refused = world.run(["job", "run", "bad.yml"]).expect_code(1);
    assert!(refused.stderr.contains("(Line: 5, Col: 5)"), "{refused:?}");
}

#[test]
fn jobs_with_their_lines() {
    let world = workflow_with(
        "name: CI\non: [push, pull_request]\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps: [{run: 'true'}]\n  b:\n    needs: a\n    uses: ./.github/workflows/x.yml\n",
        &[(
            ".github/workflows/x.yml",
            "on: workflow_call\njobs:\n  c:\n    runs-on: ubuntu-latest\n    steps: [{run: 'true'}]\n",
        )],
    );
    let listed = world.json(["job", "list", "ci"]);
    let workflow = &listed["workflows"][0];
    assert_eq!(workflow["events"], json!(["push", "pull_request"]));
    assert_eq!(
        (
            workflow["jobs"][0]["line"].as_u64(),
            workflow["jobs"][1]["line"].as_u64()
        ),
        (Some(4), Some(7))
    );
    assert_eq!(workflow["jobs"][1]["calls"], "./.github/workflows/x.yml");
    let missing = world.run(["job", "list", "nosuch.yml"]).expect_code(3);
    assert!(missing.stderr.contains("ci.yml"), "{missing:?}");
}

#[test]
fn runs_are_kept_and_removed() {
    let world = workflow(&job(
        "- run: mkdir -p a/b; touch a/b/c; chmod 0555 a/b; chmod 0 a",
    ));
    world.ok(["job", "run", "ci.yml"]);
    world.ok(["job", "run", "ci.yml"]);
    let runs = world.json(["job", "list", "--runs"])["runs"].clone();
    assert_eq!(runs.as_array().map(Vec::len), Some(2), "{runs:#}");
    assert_eq!(runs[0]["status"], "success");
    let id = runs[0]["id"].as_str().expect("an id");
    world.ok(["job", "rm", id]);
    world.run(["job", "rm", id]).expect_code(3);
    world.ok(["job", "rm", "--all"]);
    assert_eq!(world.json(["job", "list", "--runs"])["runs"], json!([]));
}
