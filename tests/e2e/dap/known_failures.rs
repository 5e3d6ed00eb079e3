//! Failures of other debuggers of CI jobs, by their number in the list of known failures, over the protocol.

use serde_json::json;

use super::super::jobs::{job, newest, workflow, workflow_with};
use super::talk::DapTalk;
use crate::support::World;

fn file(world: &World, path: &str) -> String {
    let file = newest(world).join("files/work/work/work").join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Steps of which the first one has this name.
fn begin(world: &World, more: &serde_json::Value, first: &str) -> DapTalk {
    let mut talk = DapTalk::launch(world, more);
    talk.ok("setExceptionBreakpoints", &json!({"filters": ["failed"]}));
    talk.ok("configurationDone", &json!({}));
    assert_eq!(talk.stop(), format!("entry: before '{first}'"));
    talk
}

fn leave(mut talk: DapTalk) {
    talk.leave(&json!({"terminateDebuggee": true}));
}

/// The files behind `GITHUB_ENV` and the others are there before a step begins (J7), and it can write them. So it is for a command of
/// the console, after a step back, and in a composite action.
#[test]
fn j7_command_files_are_there() {
    const CHECK: &str = "for f in $GITHUB_ENV $GITHUB_OUTPUT $GITHUB_PATH $GITHUB_STEP_SUMMARY; do test -f $f && test ! -s $f && echo A$N=x >> $f; done; N=$N";
    let action = format!(
        "name: a\nruns:\n  using: composite\n  steps:\n    - {{name: Inner, shell: bash, run: '{CHECK}'}}\n"
    );
    let steps = format!(
        "- {{name: One, run: '{CHECK}'}}\n- {{name: Two, uses: $/act}}\n- {{name: Three, run: 'true'}}"
    );
    let world = workflow_with(&job(&steps), &[("act/action.yml", &action)]);
    let mut talk = begin(&world, &json!({}), "One");
    talk.console("!for f in $GITHUB_ENV $GITHUB_OUTPUT $GITHUB_PATH $GITHUB_STEP_SUMMARY; do test -w $f && echo ok >> by-hand; done");
    assert_eq!(file(&world, "by-hand"), "ok\n".repeat(4));
    assert_eq!(talk.go("next"), "step: before 'Two'");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'One'");
    assert_eq!(talk.go("next"), "step: before 'Two'");
    assert_eq!(talk.go("next"), "step: before 'Three'");
    leave(talk);
}

/// A helper server of a step is reachable from later steps. A container has another network, and is refused by its line before a step
/// runs (J10).
#[test]
fn j10_helper_servers_are_reached() {
    let server = "import socket, os; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen(); open(\"p\", \"w\").write(str(s.getsockname()[1])); os.rename(\"p\", \"port\"); [s.accept()[0].sendall(b\"served\\n\") for _ in iter(int, 1)]";
    let steps = format!(
        "- name: Serve\n  run: |\n    python3 -c '{server}' &\n    until test -e port; do sleep 0.02; done\n- name: Ask\n  run: exec 3<>/dev/tcp/127.0.0.1/$(cat port); read -r line <&3; echo $line > answer\n"
    );
    let world = workflow(&job(&steps));
    let mut talk = begin(&world, &json!({}), "Serve");
    assert_eq!(talk.go("next"), "step: before 'Ask'");
    talk.console("!exec 3<>/dev/tcp/127.0.0.1/$(cat port); read -r line <&3; echo $line > by-hand");
    assert_eq!(file(&world, "by-hand"), "served\n");
    assert_eq!(talk.go("next"), "step: at the end of the job");
    assert_eq!(file(&world, "answer"), "served\n");
    leave(talk);

    let contained =
        job("- {name: One, run: 'true'}").replace("    steps", "    container: node:20\n    steps");
    let world = workflow(&contained);
    let mut talk = DapTalk::start(&world);
    talk.ok("initialize", &json!({"adapterID": "backstitch-job"}));
    let said = talk.refused("launch", &json!({"workflow": "ci.yml"}));
    assert!(
        said.contains("(Line: 5)") && said.contains("container"),
        "{said}"
    );
}

/// A job that fails beside it does not end a job that is paused (J21): one of another debugger, and one that it needs.
#[test]
fn j21_a_job_beside_it_fails() {
    let world = workflow(
        "on: push
jobs:
  bad:
    runs-on: ubuntu-latest
    steps: [{name: Bad, run: exit 3}]
  build:
    needs: bad
    if: always()
    runs-on: ubuntu-latest
    steps:
      - {name: One, run: 'echo ${{ needs.bad.result }} > seen'}
      - {name: Two, run: echo two >> seen}
",
    );
    let mut talk = begin(&world, &json!({}), "One");
    assert_eq!(talk.go("next"), "step: before 'Two'");
    let standing = world.state.join("backstitch/jobs/ci-build-1");
    let mut beside = DapTalk::launch(&world, &json!({"job": "bad", "noDebug": true}));
    beside.ok("configurationDone", &json!({}));
    assert_eq!(beside.ended(), 1);
    assert_eq!(talk.frames()[0].0, "Two");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'One'");
    talk.ok("continue", &json!({"threadId": 1}));
    talk.ended();
    let seen = std::fs::read_to_string(standing.join("files/work/work/work/seen"));
    assert_eq!(seen.expect("a file"), "failure\ntwo\n");
}

const FAILING: &str = r#"
- name: Count
  id: count
  run: echo x >> count; echo n=1 >> $GITHUB_OUTPUT; echo $PWD/bin >> $GITHUB_PATH
- name: Build
  run: |
    echo LEFT=1 >> $GITHUB_ENV
    echo "started with ${LEFT:-none} ${{ steps.count.outputs.n }} ${PATH%%:*}" | sed "s:$PWD:.:" >> starts
    mkdir out
    test -f fixed
- name: Use
  uses: $/act
- name: After
  run: cat starts"#;

const FAILING_ACTION: &str = "name: a
runs:
  using: composite
  steps:
    - {name: Inner, shell: bash, run: echo inner >> inner; test -f fixed-too}
";

/// After a failed step the job is paused, with its files, and that step can be run again, one with `uses` as well (J22). A step that is
/// run again has environment, PATH and outputs as at its first start. Edits of the workspace are seen, and earlier steps do not run
/// again (J23). After a mended step the job continues to its end, and shows which attempt of each step it is (J24).
#[test]
fn j22_j23_j24_a_failed_step_is_mended_and_run_again() {
    let world = workflow_with(&job(FAILING), &[("act/action.yml", FAILING_ACTION)]);
    let mut talk = begin(&world, &json!({}), "Count");
    assert_eq!(talk.go("continue"), "exception: 'Build' failed");
    assert_eq!(file(&world, "count"), "x\n");
    assert!(newest(&world).join("files/work/work/work/out").is_dir());
    // by its frame, with the files as they were before it
    let frames = talk.ok("stackTrace", &json!({"threadId": 1}))["stackFrames"].clone();
    assert_eq!(frames[0]["canRestart"], true, "{frames:#}");
    talk.ok("restartFrame", &json!({"frameId": frames[0]["id"]}));
    assert_eq!(talk.stop(), "restart: stepped back: before 'Build'");
    assert_eq!(talk.go("next"), "exception: 'Build' failed");
    // with the files as they are now
    talk.console("!touch fixed; rmdir out");
    talk.ok(
        "evaluate",
        &json!({"expression": ":retry", "context": "repl"}),
    );
    assert_eq!(talk.stop(), "step: before 'Use'");
    let names: Vec<String> = talk.frames().into_iter().map(|(name, _)| name).collect();
    assert!(
        names.contains(&"Build (checkpoint 1, attempt 3)".to_owned()),
        "{names:?}"
    );
    assert_eq!(file(&world, "count"), "x\n");
    assert_eq!(
        file(&world, "starts"),
        "started with none 1 ./bin\n".repeat(2)
    );

    assert_eq!(talk.go("continue"), "exception: 'Inner' failed");
    talk.console("!touch fixed-too");
    talk.ok(
        "evaluate",
        &json!({"expression": ":retry", "context": "repl"}),
    );
    assert_eq!(talk.stop(), "step: before 'After'");
    assert_eq!(file(&world, "inner"), "inner\ninner\n");
    talk.ok("continue", &json!({"threadId": 1}));
    assert_eq!(talk.ended(), 0);
}

/// A thing of an earlier set-up that is now passed over is there when a job is run again, or its absence is named (J25). A server is
/// named that ended with the process that ran the job, and outputs are named that no earlier step gives.
#[test]
fn j25_an_earlier_set_up_that_is_absent_is_named() {
    let world = workflow(&job(
        "
- name: Set up
  id: setup
  run: echo login=me > login; echo v=1 >> $GITHUB_OUTPUT
- name: Use
  run: cat login; echo ${{ steps.setup.outputs.v }} ${{ steps.setup.outputs.other }} > seen",
    ));
    // one step alone, before a run that has its outputs
    let talk = begin(&world, &json!({"step": "Use"}), "Use");
    let said = talk.output();
    assert!(said.contains("steps.setup.outputs.v"), "{said}");
    leave(talk);
    // the whole job: it is there again after a step back
    let mut talk = begin(&world, &json!({}), "Set up");
    talk.go("next");
    assert_eq!(talk.go("next"), "step: at the end of the job");
    assert_eq!(talk.go("stepBack"), "step: stepped back: before 'Use'");
    assert_eq!(talk.go("next"), "step: at the end of the job");
    assert_eq!(file(&world, "seen"), "1\n");
    leave(talk);
}
