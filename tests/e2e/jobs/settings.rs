//! `[jobs]` in the settings: the user's own file, a project's file, and options of the command line.

use serde_json::{Value, json};

use super::{job, run, workflow};
use crate::support::World;

/// Ids of the runs that are kept, newest first.
fn kept(world: &World) -> Vec<String> {
    let runs = world.json(["job", "list", "--runs"])["runs"].clone();
    let ids = runs.as_array().expect("runs").iter();
    ids.map(|run| run["id"].as_str().expect("an id").to_owned())
        .collect()
}

/// The newest ended runs stay. All jobs of one command stay, however many there are.
#[test]
fn older_runs_are_removed() {
    let world = workflow(&job("- run: 'true'"));
    world.configure("[jobs]\nkeepRuns = 2\n");
    for _ in 0..2 {
        world.ok(["job", "run", "ci.yml"]);
    }
    assert_eq!(kept(&world), ["ci-build-2", "ci-build-1"]);
    let third = world.ok(["job", "run", "ci.yml"]);
    let line = "Removed 1 older run (jobs.keepRuns = 2).";
    assert!(third.stdout.contains(line), "{third:?}");
    assert_eq!(kept(&world), ["ci-build-3", "ci-build-2"]);
    let three = "on: push\njobs:\n  a: &a\n    runs-on: ubuntu-latest\n    steps: [{run: 'true'}]\n  b: *a\n  c: *a\n";
    world.write(".github/workflows/ci.yml", three);
    world.ok(["job", "run", "ci.yml"]);
    let mut left = kept(&world);
    left.sort();
    assert_eq!(left, ["ci-a-1", "ci-b-1", "ci-c-1"]);
}

/// The user's settings hold for each run, and an option holds instead.
#[test]
fn options_are_nearer_than_settings() {
    let steps = "- run: echo \"$MINE ${OTHER-unset}\" > seen\n- {id: lint, uses: acme/lint@v2}";
    let world = workflow(&job(steps))
        .with("MINE", "mine")
        .with("OTHER", "other");
    assert_eq!(run(&world, &[]).file("seen"), " unset\n");
    world.configure("[jobs]\nmissingActions = \"skip\"\ninheritEnv = [\"MIN*\"]\n");
    let ran = run(&world, &[]);
    assert_eq!(ran.file("seen"), "mine unset\n");
    assert_eq!(
        (ran.result(), &ran.step("lint")["outcome"]),
        ("success", &json!("skipped"))
    );
    let line = "steps get variables of yours: MIN* (jobs.inheritEnv)";
    assert!(ran.output.stderr.contains(line), "{:?}", ran.output);
    let ran = run(
        &world,
        &["--missing-actions", "fail", "--inherit-env", "OTHER"],
    );
    assert_eq!(ran.file("seen"), " other\n");
    assert_eq!(ran.step("lint")["outcome"], "failure");
    let line = "steps get variables of yours: OTHER (--inherit-env)";
    assert!(ran.output.stderr.contains(line), "{:?}", ran.output);
}

/// A project's file sets none of them, and the start of a run says so.
#[test]
fn a_project_sets_none_of_them() {
    let steps = "- run: echo \"${MINE-unset}\" > seen\n- {id: lint, uses: acme/lint@v2}";
    let world = workflow(&job(steps)).with("MINE", "mine");
    world.write(
        ".backstitch.toml",
        "[jobs]\nkeepRuns = 1\nmissingActions = \"skip\"\ninheritEnv = [\"MINE\"]\n",
    );
    for number in 1..3 {
        let ran = run(&world, &[]);
        assert_eq!(ran.file("seen"), "unset\n");
        assert_eq!(ran.step("lint")["outcome"], "failure");
        assert_eq!(kept(&world).len(), number);
        for key in ["keepRuns", "missingActions", "inheritEnv"] {
            let said =
                format!("`jobs.{key}`: a file in a workspace cannot set up the runs of jobs");
            assert!(ran.output.stderr.contains(&said), "{:?}", ran.output);
        }
    }
    let settings = &world.json(["status"])["settings"];
    let default = |value: Value| json!({ "value": value, "source": "default" });
    assert_eq!(settings["jobs.keepRuns"], default(json!(10)));
    assert_eq!(settings["jobs.missingActions"], default(json!("fail")));
    assert_eq!(settings["jobs.inheritEnv"], default(json!([])));
}
