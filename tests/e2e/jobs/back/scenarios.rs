//! Whole stories: steps forward, back, and forward again.

use super::super::{job, workflow, workflow_with};
use super::debug;

const THREE: &str = r#"
- name: One
  run: echo one >> log; echo "A=1" >> $GITHUB_ENV
- name: Two
  run: echo two >> log; echo "A=2" >> $GITHUB_ENV
- name: Three
  run: echo "three $A" >> log
"#;

/// After two steps, one step back lands before the second and forward runs it again (S1-078). No checkpoint is added by it:
/// back and then forward replaces the step's checkpoint, it does not add one (S1-007).
#[test]
fn s1_078_s1_007_one_step_back() {
    let world = workflow(&job(THREE));
    let ran = debug(
        &world,
        &["n", "n", "b", "n", ":checkpoints", "n", "!cat log"],
    );
    assert_eq!(ran.stop(1), "before Three");
    assert_eq!(
        (ran.stop(2).as_str(), ran.checkpoints(2)),
        ("before Two", 1)
    );
    assert_eq!(
        (ran.stop(3).as_str(), ran.checkpoints(3)),
        ("before Three", 2)
    );
    assert_eq!(
        ran.said(4),
        "  [0] before 'One'\n  [1] before 'Two'  attempt 2"
    );
    assert_eq!((ran.stop(5).as_str(), ran.checkpoints(5)), ("end", 3));
    assert_eq!(ran.file("log"), "one\ntwo\nthree 2\n");
    assert_eq!(ran.code, 0);
}

/// A variable set before step 1 is there again after going back to it (S1-079). For the shell: what the REPL changed in the environment
/// while paused is in the next forward command's checkpoint (S1-003). A step back drops REPL changes made since that checkpoint (S1-006).
#[test]
fn s1_079_s1_003_s1_006_variables_of_the_shell() {
    let world = workflow(&job(THREE));
    let ran = debug(
        &world,
        &[
            "!export EARLY=yes",
            "n",
            "!export LATE=yes",
            "!touch late",
            "b",
            "env.EARLY",
            "env.LATE",
            "!ls",
            "n",
            "env.EARLY",
        ],
    );
    assert_eq!(ran.said(0), "Set: EARLY.");
    assert_eq!(ran.stop(4), "before One");
    assert_eq!((ran.said(5), ran.said(6)), ("yes", "null"));
    assert_eq!(ran.said(9), "yes");
    assert!(!ran.workspace().join("late").exists());
}

/// Each further step back moves one step, down to checkpoint 0 (S1-080); two steps back move two steps (U-03).
#[test]
fn s1_080_u_03_further_steps_back() {
    let world = workflow(&job(THREE));
    let ran = debug(&world, &["c", "b", "b", "b", "b", "c", "b 2", "b 5", "b 0"]);
    assert_eq!(
        (0..9).map(|line| ran.stop(line)).collect::<Vec<_>>(),
        [
            "end",
            "before Three",
            "before Two",
            "before One",
            "error: There is no checkpoint to go back to: no step has run.",
            "end",
            "before Two",
            "error: 5 steps back are too many; checkpoints to go back to: 1.",
            "error: 0: no number from 1",
        ]
    );
    assert_eq!(ran.file("log"), "one\n");
}

/// reverseContinue before step 4 restores all of checkpoint 0 (S1-081).
#[test]
fn s1_081_back_to_the_start() {
    let world = workflow(&job(THREE));
    let ran = debug(
        &world,
        &[":state", "!ls -A", "n", "n", "n", "r", ":state", "c"],
    );
    assert_eq!(ran.stop(5), "before One");
    assert_eq!(ran.said(6), ran.said(0));
    assert_eq!(ran.file("log"), "one\ntwo\nthree 2\n");
}

/// Change, forward, back, change, forward: the second value counts (S1-082); changes made after a step back are captured when the
/// step runs again (S1-008).
#[test]
fn s1_082_s1_008_the_second_value_counts() {
    let world = workflow(&job(
        "- name: One\n  run: echo $X > seen\n- name: Two\n  run: echo $X >> seen",
    ));
    let ran = debug(
        &world,
        &["!export X=1", "n", "b", ":env X=2", "n", "b", "env.X", "c"],
    );
    assert_eq!(ran.said(6), "2");
    assert_eq!(ran.file("seen"), "2\n2\n");
}

/// Paused before the first step, a job has no checkpoints (S1-009). Pausing before a step takes none (S1-002). A checkpoint is taken when
/// the user commits to a step (next, continue), not before (S1-001). Checkpoints are counted from 0 in the order of executed steps
/// (S1-010).
#[test]
fn s1_001_s1_002_s1_009_s1_010_points_are_made_by_forward_commands() {
    let world = workflow(&job(THREE));
    let ran = debug(
        &world,
        &[
            ":checkpoints",
            "w",
            "w",
            "n",
            ":checkpoints",
            "c",
            ":checkpoints",
        ],
    );
    assert_eq!(ran.said(0), "There are no checkpoints: no step has run.");
    assert_eq!(ran.checkpoints(2), 0);
    assert_eq!(ran.said(4), "  [0] before 'One'");
    assert_eq!(
        ran.said(6),
        "  [0] before 'One'\n  [1] before 'Two'\n  [2] before 'Three'"
    );
}

/// The job stands at the step that failed, with its files, and the step can be run again (J22). It runs with the files as they were, or
/// as they are now. Environment, PATH and outputs are as at its first start, and earlier steps do not run again (J23). The job
/// continues to its end, and shows which attempt of the step it is (J24).
#[test]
fn j22_j23_j24_a_failed_step_is_mended() {
    let world = workflow(&job(r#"
- name: Count
  run: echo x >> count
- name: Build
  run: |
    echo "LEFT=1" >> $GITHUB_ENV
    echo "started with ${LEFT:-none}" >> starts
    mkdir out
    test -f fixed
- name: After
  run: wc -l < count; cat starts
"#));
    let ran = debug(
        &world,
        &[
            "c",
            "!ls",
            ":again",
            "!touch fixed; rmdir out",
            ":retry",
            ":checkpoints",
            "c",
        ],
    );
    assert_eq!(ran.stop(0), "failed Build");
    assert_eq!(ran.stop(2), "failed Build");
    assert_eq!(ran.stop(4), "before After");
    assert!(
        ran.said(5).contains("[1] before 'Build'  attempt 3"),
        "{}",
        ran.said(5)
    );
    assert_eq!(ran.stop(6), "end");
    assert_eq!(ran.code, 0);
    assert_eq!(ran.file("count"), "x\n");
    assert_eq!(ran.file("starts"), "started with none\nstarted with none\n");
}

/// The user decides on the outcome of a failed step, and goes back from the end of the job.
#[test]
fn an_outcome_that_the_user_decides() {
    let world = workflow(&job(
        "- name: Bad\n  run: exit 3\n- name: Good\n  run: echo good > seen",
    ));
    let ran = debug(
        &world,
        &["n", ":outcome success", "c", "job.status", "b", "n"],
    );
    assert_eq!(ran.stop(0), "failed Bad");
    assert_eq!(ran.stop(1), "before Good");
    assert_eq!((ran.stop(2).as_str(), ran.said(3)), ("end", "success"));
    assert_eq!(
        (ran.stop(4).as_str(), ran.stop(5).as_str()),
        ("before Good", "end")
    );
    assert_eq!(ran.code, 0);
}

/// Steps are reached by their names: ahead, without the steps between, and back.
#[test]
fn steps_are_reached_by_their_names() {
    let world = workflow(&job(THREE));
    let lines = [
        "n",
        ":goto Three",
        "n",
        ":goto 3",
        "n",
        ":goto One",
        "n",
        ":goto Nowhere",
    ];
    let ran = debug(&world, &lines);
    assert_eq!(ran.stop(1), "before Three");
    assert_eq!(ran.stop(2), "end");
    assert_eq!(ran.stop(3), "before Three");
    assert_eq!(ran.stop(5), "before One");
    assert_eq!(ran.stop(6), "before Two");
    assert!(ran.stop(7).starts_with("error: Nowhere: no such step"));
    assert_eq!(ran.file("log"), "one\n");
}

/// stepIn and stepOut are answered, not failed (U-08): they enter and leave composite actions, whose inner steps have checkpoints.
#[test]
fn u_08_composite_actions_are_entered_and_left() {
    let action = "name: a
runs:
  using: composite
  steps:
    - {name: Inner one, shell: bash, run: echo 1 >> log}
    - {name: Inner two, shell: bash, run: echo 2 >> log}
";
    let steps = "- uses: actions/checkout@v4\n- name: Use\n  uses: ./act\n- name: Last\n  run: echo last >> log";
    let world = workflow_with(&job(steps), &[("act/action.yml", action)]);
    let ran = debug(
        &world,
        &["n", "s", "s", "b", "b", "n", "b", "s", "n", "o", "c"],
    );
    assert_eq!(
        (0..11).map(|line| ran.stop(line)).collect::<Vec<_>>(),
        [
            "before Use",
            "before Inner one",
            "before Inner two",
            "before Inner one",
            "before Use",
            "before Last",
            "before Use",
            "before Inner one",
            "before Inner two",
            "before Last",
            "end",
        ]
    );
    assert_eq!(ran.file("log"), "1\n2\nlast\n");
}

/// A step back ends the processes that later steps left running. Those of steps before stay.
#[test]
fn processes_of_a_step_that_is_taken_back_end() {
    let world = workflow(&job(
        "- name: Server\n  run: sleep 4711 & echo $! > server\n- name: Worker\n  run: setsid sleep 4712 & echo $! > worker\n- name: Last\n  run: \"true\"",
    ));
    let ran = debug(
        &world,
        &[
            "n",
            "n",
            "!cp worker $RUNNER_TEMP/../pid",
            "!kill -0 $(cat worker) && kill -0 $(cat server) && echo > both",
            "b",
            "!kill -0 $(cat server) && echo > one; ! pgrep -f 'sleep 471[2]' && echo > gone",
        ],
    );
    assert_eq!(ran.stop(4), "before Worker");
    assert_eq!(
        (ran.file("one"), ran.file("gone")),
        ("\n".to_owned(), "\n".to_owned())
    );
}

/// A shell that cannot hand its environment over says so, and nothing of it is believed.
#[test]
fn a_shell_that_hands_nothing_over() {
    let world = workflow(&job("- name: One\n  run: echo ${X:-none} > seen"));
    let ran = debug(
        &world,
        &[
            "!export X=1; exec true",
            "!export X=2; kill -9 $$",
            "!export X=3; exit 4",
            "!export Y=1; export PATH=/own:$PATH; export Z='a\nb'",
            "n",
        ],
    );
    for line in [0, 1] {
        assert!(
            ran.said(line).contains("could not hand"),
            "{}",
            ran.said(line)
        );
    }
    assert!(ran.said(2).contains("exit code 4") && ran.said(2).contains("Set: X."));
    assert_eq!(ran.file("seen"), "3\n");
}

/// Secrets stand in no answer, state or checkpoint, and stay masked after a step back.
#[test]
fn secrets_stay_masked_after_a_step_back() {
    let world = workflow(&job(
        "- name: One\n  run: echo \"KEY=${{ secrets.KEY }}\" >> $GITHUB_ENV; later=hidden-later; echo \"::add-mask::$later\"\n- name: Two\n  run: echo $KEY hidden-later",
    ));
    world.write(".secrets", "KEY=hunter2-top-secret\n");
    let mut command = world.backstitch();
    command.args(["--json", "job", "debug", "ci.yml", "-j", "build", "--yes"]);
    command.args(["--secret-file", ".secrets"]);
    let lines = "n\nenv.KEY\nsecrets\n:state\n!echo $KEY\nb\n!echo hidden-later\nc\n";
    let output = crate::support::finish(&mut command, lines.as_bytes());
    for text in [&output.stdout, &output.stderr] {
        assert!(
            !text.contains("hunter2-top-secret") && !text.contains("hidden-later"),
            "{text}"
        );
    }
    assert!(output.stdout.contains("***"), "{}", output.stdout);
}

/// Waits of the user take no time from a job, also before a step that is gone back to.
#[test]
fn deadlines_wait_with_the_job_at_a_stop() {
    let world =
        workflow(&job(THREE).replace("    runs-on", "    timeout-minutes: 0.08\n    runs-on"));
    let ran = debug(&world, &["n", "!sleep 5", "b", "n", "!sleep 5", "c"]);
    assert_eq!(ran.stop(5), "end");
    assert_eq!(ran.code, 0, "{:?}", ran.answers);
    assert_eq!(ran.file("log"), "one\ntwo\nthree 2\n");
}
