//! `run` steps: shells, variables, outputs, conditions, results.

use super::{job, run, workflow};

/// Steps run in their order in an own directory, and their outputs, variables and PATH reach later steps.
#[test]
fn steps_hand_on_outputs_variables_and_path() {
    let world = workflow(&job(r#"
- id: one
  run: |
    echo "version=1.2" >> "$GITHUB_OUTPUT"
    echo "MODE=fast" >> "$GITHUB_ENV"
    mkdir -p bin; printf '#!/bin/sh\necho tool\n' > bin/tool; chmod +x bin/tool
    echo "$PWD/bin" >> "$GITHUB_PATH"
    echo "Title" >> "$GITHUB_STEP_SUMMARY"
- run: echo "${{ steps.one.outputs.version }} $MODE ${{ env.MODE }} $(tool) ${{ steps.one.conclusion }}" > seen
  env:
    MODE: step
- run: echo "$MODE" >> seen
"#));
    let before = world.tree();
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{:#}", ran.report);
    assert_eq!(ran.file("seen"), "1.2 step step tool success\nfast\n");
    assert_eq!(world.tree(), before, "the project is not touched");
}

#[test]
fn a_failed_step_skips_the_others_but_for_those_that_ask() {
    let world = workflow(&job("
- id: bad
  run: exit 7
- run: echo never
- if: failure()
  run: echo ${{ steps.bad.outcome }} > seen
- if: always()
  run: echo ${{ job.status }} >> seen
- if: success()
  run: echo never
"));
    let ran = run(&world, &[]);
    assert_eq!(ran.output.code, 1);
    assert_eq!(ran.result(), "failure");
    let outcomes: Vec<String> = ran
        .outcomes()
        .iter()
        .map(|line| line.rsplit(' ').next().expect("a word").to_owned())
        .collect();
    assert_eq!(
        outcomes,
        ["failure", "skipped", "success", "success", "skipped"]
    );
    assert_eq!(
        ran.step("bad")["reason"],
        "Process completed with exit code 7."
    );
    assert_eq!(ran.file("seen"), "failure\nfailure\n");
}

#[test]
fn continue_on_error_and_timeouts() {
    let world = workflow(&job("
- id: soft
  continue-on-error: true
  run: exit 1
- id: slow
  continue-on-error: ${{ true }}
  timeout-minutes: 0.01
  run: sleep 60
- run: echo ${{ steps.soft.outcome }} ${{ steps.soft.conclusion }} ${{ steps.slow.outcome }} > seen
"));
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{:#}", ran.report);
    assert_eq!(ran.file("seen"), "failure success failure\n");
    let reason = ran.step("slow")["reason"].as_str().expect("a reason");
    assert!(reason.contains("timed out"), "{reason}");
}

/// The time of a job is over in a step: that step is cancelled, as on GitHub, and says whose time it was.
#[test]
fn a_job_whose_time_is_over_is_cancelled() {
    let text = job("- {id: slow, run: sleep 60}\n- {id: last, if: always(), run: echo > seen}");
    let text = text.replace("    steps:", "    timeout-minutes: 0.02\n    steps:");
    let ran = run(&workflow(&text), &[]);
    assert_eq!(ran.result(), "cancelled", "{:#}", ran.report);
    assert_eq!(
        ran.outcomes(),
        ["Run sleep 60 cancelled", "Run echo > seen success"]
    );
    let reason = ran.step("slow")["reason"].as_str().expect("a reason");
    assert!(reason.contains("timeout-minutes of the job"), "{reason}");
}

#[test]
fn shells_and_directories() {
    let world = workflow(
        "on: push
env: {TOP: workflow}
defaults: {run: {shell: sh}}
jobs:
  build:
    runs-on: ubuntu-latest
    env: {TOP: job}
    defaults: {run: {working-directory: sub}}
    steps:
      - run: mkdir sub
        working-directory: .
      - run: echo \"$0 $TOP\" > a
      - run: |
          import os
          open('b', 'w').write(os.getcwd().split('/')[-1])
        shell: python3 {0}
      - run: false | true
        id: pipe
        shell: bash
        continue-on-error: true
      - run: false | true
      - run: echo
        id: bad
        shell: nosuch
        continue-on-error: true
",
    );
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{:#}", ran.report);
    assert!(ran.file("sub/a").ends_with(".sh job\n"));
    assert_eq!(ran.file("sub/b"), "sub");
    assert_eq!(ran.step("pipe")["outcome"], "failure");
    let reason = ran.step("bad")["reason"].as_str().expect("a reason");
    assert!(reason.contains("nosuch"), "{reason}");
}

/// One step alone runs with outputs that are given.
#[test]
fn a_step_alone() {
    let world = workflow(&job("
- id: prep
  run: exit 1
- id: build
  run: echo ${{ steps.prep.outputs.version }} > seen
"));
    let ran = run(
        &world,
        &[
            "-j",
            "build",
            "--step",
            "build",
            "--output",
            "prep.version=9",
        ],
    );
    assert_eq!(ran.result(), "success", "{:#}", ran.report);
    assert_eq!(ran.outcomes().len(), 1);
    assert_eq!(ran.file("seen"), "9\n");
}

/// Jobs run in the order of `needs`, each in a separate directory, with the outputs of those before.
#[test]
fn jobs_that_need_others() {
    let world = workflow(
        "on: push
jobs:
  last:
    needs: [first, maybe]
    if: always()
    runs-on: ubuntu-latest
    steps:
      - run: echo ${{ needs.first.outputs.v }} ${{ needs.maybe.result }} > seen; test ! -e mine
  first:
    runs-on: ubuntu-latest
    outputs: {v: '${{ steps.a.outputs.v }}'}
    steps:
      - id: a
        run: echo v=7 >> $GITHUB_OUTPUT; touch mine
  maybe:
    needs: first
    if: needs.first.outputs.v == '8'
    runs-on: ubuntu-latest
    steps: [{run: 'true'}]
",
    );
    let ran = run(&world, &["-j", "last"]);
    assert_eq!(ran.result(), "success", "{:#}", ran.report);
    let results: Vec<&str> = ran.report["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .map(|job| job["result"].as_str().expect("a result"))
        .collect();
    assert_eq!(results, ["success", "skipped", "success"]);
    assert_eq!(ran.file("seen"), "7 skipped\n");
}

/// A job that may fail does not fail the workflow, and counts as a success for those that need it.
#[test]
fn a_job_that_may_fail() {
    let world = workflow(
        "on: push
jobs:
  soft:
    runs-on: ubuntu-latest
    continue-on-error: true
    steps: [{run: exit 1}]
  after:
    needs: soft
    runs-on: ubuntu-latest
    steps: [{run: 'echo ${{ needs.soft.result }} > seen'}]
",
    );
    let ran = run(&world, &["-j", "after"]);
    assert_eq!(ran.result(), "success", "{:#}", ran.report);
    assert_eq!(ran.file("seen"), "success\n");
}

/// A step that is left out has the reason as people think of it: most conditions are the implied one.
#[test]
fn reasons_of_skips_are_told() {
    let world = workflow(
        "on: push
jobs:
  bad:
    runs-on: ubuntu-latest
    steps:
      - run: exit 1
      - {name: plain, run: 'true'}
      - {name: own, if: env.A == '1', run: 'true'}
      - {name: never, if: always() && env.A == '1', run: 'true'}
  after:
    needs: bad
    runs-on: ubuntu-latest
    steps: [{run: 'true'}]
",
    );
    let ran = run(&world, &[]);
    let reason = |step: &str| ran.step(step)["reason"].as_str().map(str::to_owned);
    assert_eq!(reason("plain").as_deref(), Some("an earlier step failed"));
    assert_eq!(reason("own").as_deref(), Some("an earlier step failed"));
    let never = "its condition does not hold: always() && env.A == '1'";
    assert_eq!(reason("never").as_deref(), Some(never));
    let jobs = &ran.report["jobs"];
    let after = "the job bad, which it needs, did not succeed";
    assert_eq!(jobs[1]["reason"], after, "{jobs:#}");
    // the report has the place of the logs, for each job that began
    let place = ran.place.to_str().expect("a path");
    assert_eq!(jobs[0]["directory"], place, "{jobs:#}");
    assert!(jobs[1]["directory"].is_null(), "{jobs:#}");
    let shown = world.run(["job", "run", "ci.yml"]).expect_code(1);
    let place = place.replace("bad-1", "bad-2");
    let end = format!("Logs and files:\n  {place}\n");
    assert!(shown.stdout.ends_with(&end), "{shown:?}");
}

/// A workflow that no push starts has its own first event by default.
#[test]
fn the_event_is_one_of_the_workflow() {
    let text = job("- run: echo ${{ github.event_name }} > seen");
    let world = workflow(&text.replace("on: push", "on: [pull_request, release]"));
    assert_eq!(run(&world, &[]).file("seen"), "pull_request\n");
    assert_eq!(
        run(&world, &["--event", "release"]).file("seen"),
        "release\n"
    );
    let ran = run(&world, &["--event", "push"]);
    let warned = "no event push starts it";
    assert!(ran.output.stderr.contains(warned), "{:?}", ran.output);
    world.write(
        ".github/workflows/ci.yml",
        text.replace("on: push", "on: [release, push]"),
    );
    assert_eq!(run(&world, &[]).file("seen"), "push\n");
}
