//! Steps that run again: as the first time, with nothing left of the earlier attempt but what a person kept.

use serde_json::{Value, json};

use super::super::{job, workflow};
use super::conversation::Conversation;
use super::stepped::SteppedJob;

const STEPS: &str = "
- uses: actions/checkout@v4
- id: kept
  name: Kept
  uses: actions/cache@v4
  with: {path: x, key: k}
- id: count
  name: Count ${{ env.N }}
  env: {OWN: '${{ env.N }}-${{ hashFiles(''n'') != '''' }}'}
  run: |
    echo \"$OWN\" >> seen
    echo \"v${N}=$OWN\" >> $GITHUB_OUTPUT; echo \"N=$((N + 1))\" >> $GITHUB_ENV
    test -f n
- name: Last
  if: success() && steps.count.outcome == 'success'
  run: echo last >> seen";

/// A step restored from a checkpoint is reset before it runs again (U-01). Its expressions have their values anew, and its results are
/// those of the last attempt. A part that it adds at the end is added once.
#[test]
fn u_01_a_step_runs_again_as_the_first_time() {
    let world = workflow(&job(STEPS));
    let mut talk = Conversation::begin(&world);
    talk.said(":env N=1");
    let steps = |talk: &mut Conversation| -> Value {
        serde_json::from_str(&talk.said(":state")).expect("JSON")
    };
    assert_eq!(talk.stop("n"), "before Kept");
    for _ in 0..3 {
        assert_eq!(talk.stop("n"), "before Count 1");
        let state = steps(&mut talk);
        assert_eq!(
            (&state["post"], &state["steps"][""]["count"]),
            (&json!(["1"]), &Value::Null)
        );
        assert_eq!(talk.stop("n"), "failed Count 1");
        let state = steps(&mut talk);
        let result =
            json!({"conclusion": "failure", "outcome": "failure", "outputs": {"v1": "1-false"}});
        assert_eq!(state["steps"][""]["count"], result);
        assert_eq!(state["env"]["N"], "2");
        assert_eq!(talk.read("seen"), "1-false\n");
        assert_eq!(talk.stop("b 2"), "before Kept");
    }
    assert_eq!(talk.stop("n"), "before Count 1");
    talk.said("!touch n; export N=7");
    assert_eq!(talk.stop("w"), "before Count 7");
    assert_eq!(talk.stop("n"), "before Last");
    let state = steps(&mut talk);
    let result =
        json!({"conclusion": "success", "outcome": "success", "outputs": {"v7": "7-true"}});
    assert_eq!(state["steps"][""]["count"], result);
    assert_eq!(talk.stop("n"), "before Post Kept");
    assert_eq!(talk.stop("n"), "end");
    assert_eq!(talk.read("seen"), "7-true\nlast\n");
    assert_eq!(talk.end(), 0);
}

/// A step with three seconds of time, which needs more until a file is there.
const TIMED: &str = "
- name: Timed
  timeout-minutes: 0.05
  run: echo begun >> log; touch ready; until test -f go; do sleep 0.02; done; echo done >> log
- name: Last
  if: ${{ !cancelled() }}
  run: echo last >> log";

/// A step that runs again has fresh cancellation (U-02). It has all of its time after an attempt without any left. A wish to end the
/// attempt before does not concern it.
#[test]
fn u_02_a_step_has_its_time_again() {
    let world = workflow(&job(TIMED));
    let mut talk = Conversation::begin(&world);
    let timed_out = talk.ask("n");
    assert_eq!(timed_out["stop"], "failed");
    let reason = timed_out["reason"].as_str().expect("a reason");
    assert!(reason.contains("timed out"), "{reason}");
    assert_eq!(talk.stop("b"), "before Timed");
    talk.said("!touch go");
    for word in ["n", ":again", ":again"] {
        assert_eq!(talk.stop(word), "before Last", "{word}");
    }
    assert_eq!(talk.stop("b"), "before Timed");
    talk.said("!rm go");
    // one that is killed
    talk.tell("n");
    talk.until_file("ready");
    assert_eq!(talk.stop("pause"), "frozen Timed");
    assert_eq!(talk.stop(":kill"), "failed Timed");
    talk.said("!touch go; rm ready");
    assert_eq!(talk.stop(":retry"), "before Last");
    assert_eq!(talk.said("job.status"), "success");
    assert_eq!(talk.stop("n"), "end");
    assert_eq!(talk.read("log"), "begun\nbegun\ndone\nlast\n");
    assert_eq!(talk.end(), 0);
}

/// A step that runs again has fresh cancellation (U-02), also in another process than the attempt that was cut off.
#[test]
fn u_02_a_step_that_was_cut_off_runs_again() {
    let world = workflow(&job(TIMED));
    let mut job = SteppedJob::start(&world);
    job.write("n");
    let ready = super::super::newest(&world).join("files/work/work/work/ready");
    super::stepped::until("the step runs", || ready.exists());
    job.kill_machine();
    let mut job = SteppedJob::resume(&world);
    assert_eq!(job.said("!touch go"), "");
    assert_eq!(job.said("n"), "before Last");
    assert_eq!(job.said("n"), "end");
    assert_eq!(job.end().0, Some(0));
}
