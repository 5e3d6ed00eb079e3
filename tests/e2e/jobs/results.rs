//! Results of jobs that others need, that a person leaves, and that events start.

use super::back::conversation::Conversation;
use super::back::stepped::{SteppedJob, place, until};
use super::{job, newest, run, workflow, workflow_with};
use crate::support::finish;

/// Results by the ids of the jobs.
fn results(report: &serde_json::Value) -> Vec<String> {
    let jobs = report["jobs"].as_array().expect("jobs").iter();
    let text = |job: &serde_json::Value, key: &str| job[key].as_str().expect("a text").to_owned();
    jobs.map(|job| format!("{} {}", text(job, "id"), text(job, "result")))
        .collect()
}

/// A job that a person leaves before its end is cancelled, and those that need it do not run.
#[test]
fn a_job_that_is_left_is_cancelled() {
    let text = "on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n      - name: One\n        run: 'true'\n      - name: Two\n        run: exit 1\n  deploy:\n    needs: build\n    runs-on: ubuntu-latest\n    steps: [{run: 'true'}]\n";
    for (words, expected) in [
        ("n\nq\n", "cancelled"),
        ("", "cancelled"),
        ("c\nq\n", "failure"),
        ("c\n", "failure"),
    ] {
        let world = workflow(text);
        let debug = ["--json", "job", "debug", "ci.yml", "-j", "build", "--yes"];
        let ended = finish(world.backstitch().args(debug), words.as_bytes()).expect_code(1);
        assert!(
            ended
                .stdout
                .contains(&format!("\"result\": \"{expected}\"")),
            "{words:?}: {ended}"
        );
        let runs = world.json(["job", "list", "--runs"])["runs"].clone();
        assert_eq!(runs[0]["status"], expected, "{words:?}");
    }
    let world = workflow(text);
    let hold = ["job", "run", "ci.yml", "--yes", "--hold"];
    let ended = finish(world.backstitch().args(hold), b"b\nq\n")
        .expect_code(1)
        .stdout;
    for line in ["build   cancelled", "left at 'Two'", "deploy  cancelled"] {
        assert!(ended.contains(line), "{line}: {ended}");
    }
}

/// A job that calls a workflow is stepped through, also one with a matrix.
#[test]
fn called_jobs_of_a_matrix_are_stepped_through() {
    let text = "on: push\njobs:\n  build:\n    strategy: {matrix: {v: [1, 2]}}\n    uses: ./.github/workflows/called.yml\n";
    let called = "on: workflow_call\njobs:\n  in:\n    runs-on: ubuntu-latest\n    steps:\n      - name: One\n        run: echo one > one\n";
    let world = workflow_with(text, &[(".github/workflows/called.yml", called)]);
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "end");
    assert_eq!(talk.stop("b"), "before One");
    talk.end();
}

/// `failure()` and `success()` ask for all jobs above, as on GitHub.
#[test]
fn conditions_of_jobs_ask_for_all_jobs_above() {
    let one = "    runs-on: ubuntu-latest\n    steps: [{run: 'true'}]\n";
    let text = format!(
        "on: push\njobs:\n  f:\n    runs-on: ubuntu-latest\n    steps: [{{run: 'false'}}]\n  d:\n    needs: f\n{one}  d2:\n    needs: d\n    if: failure()\n{one}  s:\n    if: false\n{one}  b:\n    needs: s\n    if: always()\n{one}  c:\n    needs: b\n{one}"
    );
    let world = workflow(&text);
    let ran = run(&world, &[]);
    assert_eq!(
        results(&ran.report),
        [
            "f failure",
            "d skipped",
            "d2 success",
            "s skipped",
            "b success",
            "c skipped"
        ]
    );
}

/// A job that its own time has ended is cancelled. The run is not, so `cancelled()` is false in the jobs after it, as on GitHub.
#[test]
fn a_job_whose_time_is_over_does_not_cancel_the_run() {
    let one = "    runs-on: ubuntu-latest\n    steps: [{run: 'true'}]\n";
    let text = format!(
        "on: push\njobs:\n  t:\n    timeout-minutes: 0.02\n    runs-on: ubuntu-latest\n    steps: [{{run: sleep 60}}]\n  a:\n    needs: t\n{one}  b:\n    needs: t\n    if: ${{{{ !cancelled() }}}}\n{one}  c:\n    needs: t\n    if: cancelled() || failure()\n{one}  d:\n    needs: t\n    if: ${{{{ always() && needs.t.result == 'cancelled' }}}}\n{one}"
    );
    let ran = run(&workflow(&text), &[]);
    assert_eq!(
        results(&ran.report),
        [
            "t cancelled",
            "a skipped",
            "b success",
            "c skipped",
            "d success"
        ]
    );
}

/// Ctrl-C in a held run ends the command that runs, and not the jobs that come later.
#[test]
fn an_interrupt_of_a_command_does_not_cancel_the_run() {
    let text = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - name: One\n        run: test -f mended\n  b:\n    needs: a\n    runs-on: ubuntu-latest\n    steps: [{run: 'true'}]\n";
    let world = workflow(text);
    let mut job = SteppedJob::hold(&world);
    assert_eq!(place(&job.first), "failed One");
    job.write("!touch mended; sleep 60");
    let mended = newest(&world).join("files/work/work/work/mended");
    until("the file is there", || mended.exists());
    job.interrupt();
    let answer = job.answer().expect("an answer");
    let said = answer["said"].as_str().unwrap_or_default();
    // the shell itself ends where the signal comes between its two commands
    assert!(said.starts_with("The operation was canceled."), "{answer}");
    assert_eq!(job.said("!touch mended"), "");
    assert_eq!(job.said(":retry"), "end");
    let (code, report) = job.end();
    assert_eq!(results(&report), ["a success", "b success"]);
    assert_eq!(code, Some(0));
}

/// A failure within a composite action is one of the job, also where a person leaves there. A failure that does not count says so.
#[test]
fn failures_that_are_left_and_that_do_not_count() {
    let action = "name: a\nruns:\n  using: composite\n  steps: [{shell: bash, run: exit 1}]\n";
    let text = job("- uses: actions/checkout@v4\n- uses: ./act");
    let world = workflow_with(&text, &[("act/action.yml", action)]);
    let debug = ["--json", "job", "debug", "ci.yml", "--yes"];
    let ended = finish(world.backstitch().args(debug), b"n\ns\nn\nq\n").expect_code(1);
    assert!(ended.stdout.contains("\"result\": \"failure\""), "{ended}");
    let soft =
        job("- run: exit 1").replace("    steps:", "    continue-on-error: true\n    steps:");
    let ended = workflow(&soft).run(["job", "run", "ci.yml"]);
    assert_eq!(ended.code, 0, "{ended}");
    assert!(
        ended.stdout.contains("its failure does not count"),
        "{ended}"
    );
}

/// Inputs of a called workflow that nobody gives are false, 0 and empty, as GitHub documents them, also where it runs directly.
#[test]
fn inputs_without_values_have_those_of_their_types() {
    let text = "on:\n  workflow_call:\n    inputs:\n      b: {type: boolean}\n      n: {type: number}\n      s: {type: string}\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo \"${{ inputs.b }} ${{ inputs.n }} '${{ inputs.s }}'\" > seen\n";
    let world = workflow(text);
    assert_eq!(run(&world, &[]).file("seen"), "false 0 ''\n");
}

/// `CI` is true where nobody sets it otherwise.
#[test]
fn ci_can_be_set() {
    let steps = "
- run: echo $CI > one
- env: {CI: step}
  run: echo $CI > two
- run: echo CI=file >> $GITHUB_ENV
- run: echo $CI > three";
    let world = workflow(&job(steps));
    let ran = run(&world, &[]);
    assert_eq!(
        ["one", "two", "three"].map(|file| ran.file(file)),
        ["true\n", "step\n", "file\n"]
    );
    let text = job("- run: echo $CI > one").replace("jobs:", "env: {CI: false}\njobs:");
    let world = workflow(&text);
    assert_eq!(run(&world, &[]).file("one"), "false\n");
}

/// Inputs are those of their event alone. Those that are given choose it.
#[test]
fn inputs_belong_to_their_event() {
    let text = "on:\n  push:\n  workflow_dispatch:\n    inputs:\n      deploy: {type: boolean, default: true}\n      to: {type: string, required: true}\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo \"${{ github.event_name }} ${{ inputs.deploy }} ${{ inputs.to }}\" > seen\n";
    let world = workflow(text);
    assert_eq!(run(&world, &[]).file("seen"), "push  \n");
    let given = run(&world, &["--input", "to=x"]);
    assert_eq!(given.file("seen"), "workflow_dispatch true x\n");
    for (arguments, reason) in [
        (
            &["--event", "push", "--input", "to=x"][..],
            "the event push has no inputs",
        ),
        (
            &["--event", "workflow_dispatch"],
            "--input to=VALUE is missing",
        ),
        (
            &["--matrix", "a=1"],
            "--matrix: .github/workflows/ci.yml has no matrix",
        ),
    ] {
        let refused = world.run([&["job", "run", "ci.yml"][..], arguments].concat());
        let refused = refused.expect_code(2);
        assert!(refused.stderr.contains(reason), "{refused}");
    }
}

/// A file that cannot be read is listed with its reason, beside the others.
#[test]
fn an_unreadable_workflow_does_not_hide_the_others() {
    let world = workflow(&job("- run: 'true'"));
    world.write(".github/workflows/binary.yml", b"\xff\xfe\x00");
    world.symlink("nowhere", ".github/workflows/dangling.yml");
    let listed = world.run(["job", "list"]).expect_code(1).stdout;
    for part in [
        "binary.yml is not UTF-8",
        "dangling.yml cannot be read",
        "build  line 3",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let refused = world.run(["job", "run", "dangling.yml"]).expect_code(1);
    assert!(
        refused.stderr.contains("dangling.yml cannot be read"),
        "{refused}"
    );
}

/// The time in which a step was frozen does not count, also where it is killed then.
#[test]
fn a_frozen_step_that_is_killed_has_not_timed_out() {
    let world = workflow(&job(
        "- name: Slow\n  timeout-minutes: 0.02\n  run: |\n    touch ready\n    sleep 60",
    ));
    let mut talk = Conversation::begin(&world);
    talk.tell("n");
    talk.until_file("ready");
    talk.ask("pause");
    let since = std::time::Instant::now();
    while since.elapsed() < std::time::Duration::from_millis(1_300) {
        std::thread::yield_now();
    }
    let killed = talk.ask(":kill");
    let reason = killed["reason"].as_str().unwrap_or_default();
    assert!(!reason.contains("timed out"), "{killed:#}");
    talk.end();
}

/// A workflow that others call has its inputs, with their defaults, also when it runs directly.
#[test]
fn a_called_workflow_runs_directly_with_its_inputs() {
    let text = "on:\n  workflow_call:\n    inputs:\n      level: {type: number, default: 3}\n      to: {type: string, required: true}\n      ref: {type: string, default: \"${{ github.ref }}\"}\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo \"${{ inputs.level }} ${{ inputs.to }} ${{ inputs.ref }}\" > seen\n";
    let world = workflow(text);
    let ran = run(&world, &["--input", "to=x", "--input", "ref=r"]);
    assert_eq!(ran.file("seen"), "3 x r\n");
    for (given, missing) in [("ref=r", "to"), ("to=x", "ref")] {
        let output = world.run(["job", "run", "ci.yml", "--yes", "--input", given]);
        assert_eq!(output.code, 2, "{output:?}");
        let expected = format!("--input {missing}=VALUE is missing");
        assert!(output.stderr.contains(&expected), "{}", output.stderr);
    }
}

/// The `github` context of a called workflow is the caller's, as GitHub documents it. The `strategy` context has the job's own values.
#[test]
fn contexts_of_called_workflows_and_of_strategies() {
    let caller = "name: Caller\non: push\njobs:\n  c:\n    uses: ./.github/workflows/callee.yml\n  m:\n    runs-on: ubuntu-latest\n    strategy: {fail-fast: false, max-parallel: 3, matrix: {v: [1]}}\n    steps:\n      - run: echo \"${{ strategy.fail-fast }} ${{ strategy.max-parallel }} ${{ strategy.job-total }}\"\n";
    let callee = "name: Callee\non: {workflow_call: {}}\njobs:\n  x:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo \"${{ github.workflow }} $GITHUB_WORKFLOW ${{ github.workflow_ref }}\"\n";
    let world = workflow_with(caller, &[(".github/workflows/callee.yml", callee)]);
    let output = world.run(["job", "run", "ci.yml", "--yes"]);
    let text = &output.stdout;
    assert!(text.contains("false 3 1"), "{text}");
    assert!(
        text.contains("Caller Caller ") && text.contains("/ci.yml@refs/heads/main"),
        "{text}"
    );
}

/// As in GitHub's runner, `NODE_OPTIONS` is not stored and does not fail the step, pairs before a bad line count, and a carriage return
/// is a part of its line.
#[test]
fn command_files_are_read_as_by_the_runner() {
    let world = workflow(&job("
- {id: node, run: 'echo NODE_OPTIONS=q >> $GITHUB_ENV'}
- id: bad
  continue-on-error: true
  run: echo A=one >> $GITHUB_OUTPUT; echo bad >> $GITHUB_OUTPUT; echo E=one >> $GITHUB_ENV
- {id: returns, run: 'printf \"a=1\\r\\n\" >> $GITHUB_OUTPUT'}
- run: echo '${{ steps.node.outcome }} ${{ steps.bad.outcome }} ${{ steps.bad.outputs.A }}' $E $NODE_OPTIONS '${{ toJSON(steps.returns.outputs.a) }}' > seen
"));
    let ran = run(&world, &[]);
    assert_eq!(ran.file("seen"), "success failure one one \"1\\r\"\n");
}
