//! Words of `job debug`: what they name, what they refuse, and the order of what they say.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::super::{job, newest, workflow, workflow_with};
use super::conversation::Conversation;
use super::debug;
use super::stepped::{SteppedJob, place};
use crate::support::finish;

const ACTION: &str = "name: a
runs:
  using: composite
  steps:
    - {name: Inner one, shell: bash, run: echo in1 >> log}
    - {name: Inner two, shell: bash, run: echo in2 >> log}
    - {name: Inner three, shell: bash, run: echo in3 >> log}
";

/// Steps that end at once.
const SHORT: &str = "
- {run: 'true'}
- {run: 'true'}
- {run: 'true'}
- {run: 'true'}";

const COMPOSITE: &str = "
- uses: actions/checkout@v4
- {name: Two, run: echo two >> log}
- {id: use, uses: ./act}
- {name: Four, run: echo four >> log}";

/// A number is that of a step of the job, also within a composite action, whose steps have two.
#[test]
fn numbers_of_inner_steps_have_two_parts() {
    let world = workflow_with(&job(COMPOSITE), &[("act/action.yml", ACTION)]);
    let lines = [
        "n",
        "n",
        "s",
        ":goto 3.3",
        "n",
        ":goto 3.1",
        ":goto 2",
        "n",
        "s",
        "n",
        "n",
        ":goto 3.2",
        ":diff 3.1",
        ":goto 3.9",
        ":goto 0",
        ":goto 1",
        "n",
        ":goto 3.2",
    ];
    let ran = debug(&world, &lines);
    let stops: Vec<String> = [2, 3, 4, 6, 8, 11].map(|line| ran.stop(line)).into();
    assert_eq!(
        stops,
        [
            "before Inner one",
            "before Inner three",
            "before Four",
            "before Two",
            "before Inner one",
            "before Inner two",
        ]
    );
    // the steps were left out from there on
    assert_eq!(ran.stop(5), "before Inner one");
    assert!(ran.said(12).contains("+in1"), "{}", ran.said(12));
    for line in [13, 14] {
        assert!(
            ran.stop(line).contains("no such step"),
            "{}",
            ran.stop(line)
        );
    }
    let early = ran.stop(17);
    assert!(early.contains("the step 3 has not begun"), "{early}");
}

/// Steps that are left out are not lost: a step back leads to before them, and a restart to the beginning.
#[test]
fn a_way_ahead_is_taken_back() {
    let steps = "
- {name: One, run: 'true'}
- {name: Two, run: 'true'}
- {name: Three, run: 'true'}
- {name: Four, run: 'true'}";
    let world = workflow(&job(steps));
    let lines = [
        ":goto 3",
        ":checkpoints",
        "b",
        ":skip",
        ":goto 4",
        "b 2",
        "n",
        ":checkpoints",
        ":goto 4",
        "r",
        "!echo by hand > hand",
        ":skip",
        "!rm hand",
        "b",
        "!cat hand",
        "c",
    ];
    let ran = debug(&world, &lines);
    let stops: Vec<String> = [0, 2, 3, 4, 5, 6, 8, 9, 11, 13, 15]
        .map(|line| ran.stop(line))
        .into();
    assert_eq!(
        stops,
        [
            "before Three",
            "before One",
            "before Two",
            "before Four",
            "before One",
            "before Two",
            "before Four",
            "before One",
            "before Two",
            "before One",
            "end",
        ]
    );
    let left = ran.said(1);
    assert!(left.contains("before 'One'  left out"), "{left}");
    // its first run is the first attempt
    let ran_once = ran.said(7);
    assert!(
        !ran_once.contains("left out") && !ran_once.contains("attempt"),
        "{ran_once}"
    );
    assert!(ran.said(14).contains("by hand"), "{}", ran.said(14));
}

/// A variable that steps have from the runner cannot be set, and nobody says that it is.
#[test]
fn a_variable_of_the_runner_is_refused() {
    let world = workflow(&job("- run: echo $GITHUB_REF_NAME $MINE > seen"));
    let lines = [
        ":env GITHUB_REF_NAME=x",
        "!export GITHUB_REF_NAME=y MINE=z",
        "n",
    ];
    let ran = debug(&world, &lines);
    let reason = "GITHUB_REF_NAME is not set: the runner sets it for each step.";
    assert_eq!(ran.stop(0), format!("error: {reason}"));
    assert_eq!(ran.said(1), format!("Set: MINE. {reason}"));
    assert_eq!(ran.file("seen"), "main z\n");
}

/// The list of checkpoints has the times of the user's day.
#[test]
fn checkpoints_are_listed_with_their_times() {
    let world = workflow(&job("- {name: One, run: echo}")).with("TZ", "Asia/Kolkata");
    let mut command = world.backstitch();
    command.args(["job", "debug", "ci.yml", "--yes"]);
    // seconds of the day, half an hour from a whole zone
    let of_day = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        (since.expect("a time").as_secs() + 19_800) % 86_400
    };
    let before = of_day();
    let output = finish(&mut command, b"n\n:checkpoints\n");
    let line = output
        .stdout
        .lines()
        .find(|line| line.contains("[0] before 'One'"));
    let line = line.unwrap_or_else(|| panic!("{}", output.stdout));
    let time = line.rsplit(' ').next().expect("a time");
    let parts = time
        .split(':')
        .map(|part| part.parse::<u64>().expect("a number"));
    let time = parts.fold(0, |all, part| all * 60 + part);
    // the day may end meanwhile
    let after = (of_day() + 86_400 - before) % 86_400;
    assert!((time + 86_400 - before) % 86_400 <= after, "{line}");
}

/// A name of several lines is its first one, as on GitHub.
#[test]
fn a_name_of_several_lines_is_its_first() {
    let world = workflow(&job("- name: |\n    One\n    two\n  run: echo > a"));
    let ran = debug(&world, &["n", ":checkpoints"]);
    assert_eq!(ran.answers[0]["step"], "One");
    let said = ran.said(1);
    assert!(said.starts_with("  [0] before 'One'"), "{said}");
    assert_eq!(said.lines().count(), 1);
}

/// Sentences about restores and edits stand before the output of the step that follows.
#[test]
fn notes_come_before_the_output_of_a_step() {
    let world = workflow(&job("
- uses: actions/checkout@v4
- {name: Count, run: wc -l < text}"));
    world.write("text", "one\n");
    let mut command = world.backstitch();
    command.args(["job", "debug", "ci.yml", "--yes"]);
    let edit = format!("!echo two >> {}\n", world.root.join("text").display());
    let output = finish(
        &mut command,
        format!("n\nn\nb\n{edit}n\n:again\n").as_bytes(),
    );
    let at = |text: &str| {
        let found = output.stdout.rfind(text);
        found.unwrap_or_else(|| panic!("{text}\n{}", output.stdout))
    };
    let taken = at("Your edits were taken up: text.");
    let two = output.stdout[taken..].find("\n    2\n").expect("a count");
    let restored = at("Restored checkpoint [1] before 'Count'");
    assert!(taken + two < restored, "{}", output.stdout);
    assert!(restored < at("\n    2\n"), "{}", output.stdout);
}

/// A word of `--points` that no step has is named before the run, with those that there are.
#[test]
fn points_without_a_step_are_told_before_the_run() {
    let world = workflow(&job("- {id: a, name: First, run: echo}\n- run: echo two"));
    let warned = |words: &[&str]| {
        let mut args = vec!["job", "debug", "ci.yml", "--yes"];
        for word in words {
            args.extend(["--points", *word]);
        }
        let output = world.run(args);
        assert_eq!(output.code, 1, "the job is left: {output:?}");
        output.stderr
    };
    let text = warned(&["tset*", "First"]);
    assert!(text.contains("--points tset*: no step of"), "{text}");
    assert!(text.contains("there are: First, a, Run echo two"), "{text}");
    assert!(!warned(&["a", "Run echo*"]).contains("--points"));
}

/// The secrets of a run are on disk only as long as it can continue.
#[test]
fn secrets_go_with_the_end_of_the_run() {
    let world = workflow(&job("- run: echo ${{ secrets.KEY }}"));
    world.write(".secrets", "KEY=a-secret-value\n");
    let mut command = world.backstitch();
    command.args([
        "job",
        "debug",
        "ci.yml",
        "--yes",
        "--secret-file",
        ".secrets",
    ]);
    let output = finish(&mut command, b"n\n");
    assert_eq!(output.code, 0, "{output:?}");
    let run = newest(&world);
    assert!(run.join("run.db").exists());
    assert!(!run.join("secrets.json").exists());
}

/// Fails until a variable and an output of an earlier step are right.
const NEEDS_VALUES: &str = "
- {id: a, run: echo o=old >> $GITHUB_OUTPUT}
- name: Check
  run: echo \"$CODE ${{ steps.a.outputs.o }}\" >> seen; exit ${CODE:-7}";

/// Values that a person has set at a stop are there when the step runs again with the files of now, also after a kill. A run with the
/// files of before does not have them: that is a step back.
#[test]
fn a_retry_keeps_what_was_set_by_hand() {
    let world = workflow(&job(NEEDS_VALUES));
    let set = [
        ":env CODE=8",
        ":output a o=new",
        "!export CODE=0; unset NONE",
    ];
    let mut job = SteppedJob::start(&world);
    assert_eq!(job.said("c"), "failed Check");
    for line in set {
        job.line(line).expect("an answer");
    }
    job.kill();
    let mut job = SteppedJob::resume(&world);
    assert_eq!(place(&job.first), "failed Check");
    // an undone step back gives them back
    assert_eq!(job.said("b"), "before Check");
    assert_eq!(job.said(":undo"), "failed Check");
    assert_eq!(job.said(":retry"), "end");
    assert_eq!(job.said("!cat seen"), " old\n0 new");
    job.line("b").expect("an answer");
    assert_eq!(job.said(":again"), "before Check");
    assert_eq!(job.said("n"), "failed Check");
}

/// A step that is left out is skipped, and has its outputs from the person.
#[test]
fn a_step_that_is_left_out_is_skipped() {
    let world = workflow(&job(NEEDS_VALUES));
    let lines = [
        ":skip",
        "steps.a.outcome",
        ":output a o=mine",
        ":env CODE=0",
        "n",
        "b 1",
        "steps.a.outcome",
    ];
    let ran = debug(&world, &lines);
    assert_eq!((ran.said(1), ran.stop(4).as_str()), ("skipped", "end"));
    assert_eq!(ran.said(6), "skipped");
    let world = workflow(&job(NEEDS_VALUES));
    let ran = debug(
        &world,
        &[":goto Check", "steps.a.conclusion", ":env CODE=0", "n"],
    );
    assert_eq!((ran.said(1), ran.stop(3).as_str()), ("skipped", "end"));
}

/// The last step is the same for both words, also after a composite action was entered.
#[test]
fn again_and_retry_run_the_same_step() {
    let world = workflow_with(&job(COMPOSITE), &[("act/action.yml", ACTION)]);
    let mut job = SteppedJob::start(&world);
    for line in ["n", "n", "s", "n", "n", "n"] {
        job.line(line).expect("an answer");
    }
    assert_eq!(job.said(":retry"), "before Four");
    assert_eq!(job.said("!cat log"), "two\nin1\nin2\nin3\nin1\nin2\nin3");
    assert_eq!(job.said(":again"), "before Four");
    assert_eq!(job.said("!cat log"), "two\nin1\nin2\nin3\nin1\nin2\nin3");
}

/// A line that is not UTF-8, an unknown word and a wrong name are errors of that line alone.
#[test]
fn bad_lines_are_errors_of_their_own() {
    let world = workflow(&job("- {name: One, run: echo one}"));
    world.write(".secrets", "KEY=a-secret-value\n");
    let mut command = world.backstitch();
    command.args([
        "--json",
        "job",
        "debug",
        "ci.yml",
        "--yes",
        "--secret-file",
        ".secrets",
    ]);
    let input = b"\xff\xfe\nnn\n:env A B=1\n:goto a-secret-value\n!unset HOME_OF_NOBODY; echo out; echo err >&2\nn\n";
    let output = finish(&mut command, input);
    assert_eq!(output.code, 0, "{output:?}");
    let all = serde_json::Deserializer::from_str(&output.stdout).into_iter::<Value>();
    let all: Vec<Value> = all.map(|one| one.expect("JSON")).collect();
    let error = |line: usize| all[line]["error"].as_str().unwrap_or_default().to_owned();
    assert_ne!(error(1), "");
    assert!(
        error(2).starts_with("Unrecognized named-value: 'nn'"),
        "{}",
        error(2)
    );
    assert!(error(3).contains("no blank before the ="), "{}", error(3));
    assert!(error(4).starts_with("***: no such step"), "{}", error(4));
    let said = all[5]["said"].as_str().expect("a text");
    assert!(said.contains("out") && said.contains("err"), "{said}");
    assert_eq!(all[6]["stop"], "end");
}

/// Problems of the workflow are said each time that steps run without its edit.
#[test]
fn problems_of_the_workflow_are_told_each_time() {
    let world = workflow(&job(
        "- {name: One, run: echo one}\n- {name: Two, run: echo two}",
    ));
    let mut talk = Conversation::begin(&world);
    super::edit(&world, "  build:\n", "  build:\n    bogus: 1\n");
    for line in [":sync", ":sync", "n"] {
        let said = talk.ask(line)["said"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(
            said.contains("bogus") && said.contains("stay as they were"),
            "{line}: {said}"
        );
    }
    super::edit(&world, "    bogus: 1\n", "");
    assert_eq!(
        talk.said(":sync"),
        "Neither the workflow nor your files have changed."
    );
    talk.end();
}

/// A run that can be continued has not ended: neither the number of kept runs nor `job rm --all` removes it.
#[test]
fn a_run_that_can_be_continued_stays() {
    let world = workflow(&job("- run: echo one\n- run: echo two"));
    world.configure("[jobs]\nkeepRuns = 1\n");
    let mut job = SteppedJob::start(&world);
    job.line("n").expect("an answer");
    job.kill();
    let cut_off = newest(&world);
    for _ in 0..3 {
        debug(&world, &["c"]);
    }
    assert!(cut_off.exists());
    let output = world.ok(["job", "rm", "--all"]);
    let id = cut_off.file_name().expect("a name").to_string_lossy();
    assert!(
        output
            .stdout
            .contains(&format!("Not ended, and kept: {id}.")),
        "{output:?}"
    );
    let mut job = SteppedJob::resume(&world);
    assert_eq!(job.said("c"), "end");
}

/// A step that runs again has what a command wrote to the command files. Its outputs are of no step, and the answer says so.
#[test]
fn a_retry_has_what_a_command_wrote_to_the_files() {
    let steps = "
- {name: One, run: echo X=first >> $GITHUB_ENV}
- name: Two
  id: two
  run: echo $X >> log; command -v mine && test $X = good";
    let world = workflow(&job(steps));
    let lines = [
        "n",
        "n",
        "!mkdir bin; printf '#!/bin/sh\\n' > bin/mine; chmod +x bin/mine; echo X=good >> $GITHUB_ENV; echo $PWD/bin >> $GITHUB_PATH; echo v=1 >> $GITHUB_OUTPUT",
        "steps.two",
        ":retry",
    ];
    let ran = debug(&world, &lines);
    assert_eq!(ran.stop(1), "failed Two");
    assert!(
        ran.said(2).contains("GITHUB_OUTPUT is not kept"),
        "{}",
        ran.said(2)
    );
    assert_eq!(ran.stop(4), "end");
    assert_eq!(ran.file("log"), "first\ngood\n");
}

/// The way to a step says where the job does not get to: a step that is passed over, and one around a composite action.
#[test]
fn ways_that_lead_elsewhere_are_told() {
    let world = workflow_with(&job(COMPOSITE), &[("act/action.yml", ACTION)]);
    let ran = debug(&world, &["n", "n", "s", ":goto 4"]);
    let around = ran.stop(3);
    assert!(around.contains("Go out of it first (o)"), "{around}");
    let steps = "\n- {name: Bad, run: exit 1}\n- {name: Last, run: 'true'}";
    let ran = debug(&workflow(&job(steps)), &["n", ":goto Last"]);
    let passed = ran.said(1);
    assert!(passed.contains("'Last' is passed over"), "{passed}");
}

/// Outputs within a composite action are those of its steps, and no answer has a secret.
#[test]
fn values_by_hand_are_those_of_the_place() {
    let action = "name: a\nruns:\n  using: composite\n  steps:\n    - {id: one, shell: bash, run: echo x=1 >> $GITHUB_OUTPUT}\n    - {shell: bash, run: 'echo ${{ steps.one.outputs.x }} > seen'}\n";
    let steps = "\n- uses: actions/checkout@v4\n- uses: ./act\n- run: 'true'";
    let world = workflow_with(&job(steps), &[("act/action.yml", action)]);
    world.write("secrets", "KEY=hidden-value\n");
    let mut command = world.backstitch();
    command.args([
        "--json",
        "job",
        "debug",
        "ci.yml",
        "--yes",
        "--secret-file",
        "secrets",
    ]);
    let lines = b"n\ns\nn\n:output one x=2\n:env hidden-value=1\nn\n!cat seen\n";
    let output = finish(&mut command, lines).stdout;
    assert!(output.contains("steps.one.outputs.x is set"), "{output}");
    assert!(!output.contains("hidden-value"), "{output}");
    let seen = newest(&world).join("files/work/work/work/seen");
    assert_eq!(std::fs::read_to_string(seen).expect("a file"), "2\n");
}

/// A job that a request to end has cancelled says so at its end.
#[test]
fn a_cancelled_job_says_so() {
    let world = workflow(&job(SHORT));
    let mut job = SteppedJob::start(&world);
    let answer = loop {
        job.interrupt();
        let answer = job.line("n").expect("an answer");
        match answer["stop"].as_str() {
            Some("end") => break answer,
            // the signal came while the step ran
            Some("frozen") => drop(job.line("b").expect("an answer")),
            // it comes while the job stands: the next word meets it
            _ => {}
        }
    };
    let reason = answer["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("cancelled"), "{answer}");
}

/// A supervisor that was killed while it waited for its step is replaced.
#[test]
fn a_supervisor_that_was_killed_is_replaced() {
    let world = workflow(&job(
        "\n- {name: One, run: 'true'}\n- {name: Two, run: echo two > two}",
    ));
    let mut job = SteppedJob::start(&world);
    assert_eq!(job.said("n"), "before Two");
    job.kill_below();
    assert_eq!(job.said("n"), "end");
}
