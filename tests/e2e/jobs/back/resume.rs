//! Runs that continue after the end of their process.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::json;

use super::super::leftovers::processes;
use super::super::{job, newest, run, workflow};
use super::stepped::{SteppedJob, place, until};
use super::{Files, debug, tree};
use crate::support::{World, finish};

const THREE: &str = r#"
- name: One
  id: one
  run: echo one >> log; echo "A=1" >> $GITHUB_ENV; echo "v=1" >> $GITHUB_OUTPUT; echo $PWD/bin >> $GITHUB_PATH
- name: Two
  run: echo two >> log; mkdir -p d; chmod 700 d; ln -s log link
- name: Three
  run: echo "three $A" >> log; test -z "$FAILS"
"#;

/// The files of the workspace.
fn files(world: &World) -> Files {
    tree(&newest(world).join("files/work/work/work"))
}

/// A job that stands continues in another process: its points, its variables, its outputs, and its report.
#[test]
fn a_standing_job_continues_after_a_kill() {
    let world = workflow(&job(THREE));
    let mut job = SteppedJob::start(&world);
    assert_eq!(job.said("n"), "before Two");
    assert_eq!(job.said("n"), "before Three");
    job.line("!export B=2; echo mine > mine");
    let state = job.said(":state");
    job.kill();
    let runs = world.json(["job", "list", "--runs"]);
    assert_eq!(
        (&runs["runs"][0]["status"], &runs["runs"][0]["resumable"]),
        (&json!("cut off"), &json!(true))
    );
    let mut job = SteppedJob::resume(&world);
    assert_eq!(place(&job.first), "before Three");
    assert_eq!(job.first["checkpoints"], 2);
    assert_eq!(job.said(":state"), state);
    assert_eq!(job.said("env.B"), "2");
    assert_eq!(job.said("n"), "end");
    let (code, report) = job.end();
    assert_eq!((code, &report["result"]), (Some(0), &json!("success")));
    let steps = report["jobs"][0]["steps"].as_array().expect("steps");
    let names: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["name"].as_str())
        .collect();
    assert_eq!(names, ["One", "Two", "Three"]);
    let workspace = newest(&world).join("files/work/work/work");
    let text = |file: &str| fs::read_to_string(workspace.join(file)).expect("a file");
    assert_eq!(
        (text("log").as_str(), text("mine").as_str()),
        ("one\ntwo\nthree 1\n", "mine\n")
    );
    let runs = world.json(["job", "list", "--runs"]);
    assert_eq!(runs["runs"][0]["resumable"], json!(false));
}

/// Each process that continues a run adds its steps to the history, also within one second.
#[test]
fn steps_of_each_process_are_in_the_history() {
    const PROCESSES: usize = 4;
    let world = workflow(&job(THREE));
    let mut job = SteppedJob::start(&world);
    for rest in (0..PROCESSES).rev() {
        assert_eq!(job.said("n"), "before Two");
        assert_eq!(place(&job.line("b").expect("an answer")), "before One");
        job.kill();
        job = SteppedJob::resume(&world);
        assert_eq!(place(&job.first), "before One", "{rest} left");
    }
    job.end();
    let mut log = world.backstitch();
    log.args(["log", "--all"])
        .current_dir(newest(&world).join("files"));
    let log = finish(&mut log, b"").stdout;
    assert_eq!(log.matches("step  One").count(), PROCESSES, "{log}");
}

/// The end of the terminal is as a kill: the job continues later.
#[test]
fn a_job_continues_after_the_end_of_its_terminal() {
    let world = workflow(&job(THREE));
    let mut job = SteppedJob::start(&world);
    assert_eq!(job.said("n"), "before Two");
    job.hang_up();
    let mut job = SteppedJob::resume(&world);
    assert_eq!(place(&job.first), "before Two");
    assert_eq!(job.said("c"), "end");
    assert_eq!(job.end().0, Some(0));
}

/// A job that stands at a failure, too, with its points: the step can be run again.
#[test]
fn a_failure_is_still_there_after_a_kill() {
    let world = workflow(&job(THREE));
    let mut job = SteppedJob::start(&world);
    job.line(":env FAILS=1");
    assert_eq!(job.said("c"), "failed Three");
    job.kill_machine();
    let mut job = SteppedJob::resume(&world);
    assert_eq!(place(&job.first), "failed Three");
    assert_eq!(job.said(":env FAILS="), "FAILS is set");
    // its variables are those of its first start
    assert_eq!(job.said(":again"), "failed Three");
    // attempts are counted on, also those of the process that is gone
    assert_eq!(job.said(":diff Three 1 2"), "The files are equal.");
    assert_eq!(job.said("b"), "before Three");
    job.line(":env FAILS=");
    assert_eq!(job.said("c"), "end");
    assert_eq!(job.end().0, Some(0));
}

/// A step that was cut off is gone: its point is restored, and its processes are ended, whatever was killed.
#[test]
fn a_step_that_was_cut_off_is_taken_back() {
    for machine in [false, true] {
        let mark = format!("{}.7{}", 50_000 + std::process::id(), u8::from(machine));
        let steps = format!(
            "- name: One\n  run: echo one > log\n- name: Two\n  run: |\n    echo two >> log; mkdir d; setsid sleep {mark} &\n    \
             test -z \"$SLOW\" || {{ touch $RUNNER_TEMP/../begun; sleep {mark}; }}"
        );
        let world = workflow(&job(&steps));
        let mut job = SteppedJob::start(&world);
        job.line("n");
        job.line(":env SLOW=1");
        let before = (files(&world), job.said(":state"));
        job.write("n");
        let begun = newest(&world).join("files/begun");
        until("the step runs", || begun.exists());
        if machine {
            job.kill_machine();
        } else {
            job.kill();
        }
        let mut job = SteppedJob::resume(&world);
        assert_eq!(place(&job.first), "before Two");
        let said = job.first["said"].as_str().expect("a text");
        assert!(
            said.contains("The step was cut off: checkpoint [1] before 'Two'"),
            "{said}"
        );
        assert_eq!(processes(&mark), Vec::<u32>::new());
        assert_eq!((files(&world), job.said(":state")), before);
        job.line(":env SLOW=");
        assert_eq!(job.said("n"), "end");
        assert_eq!(job.end().0, Some(0));
    }
}

/// `undo` after a step back brings back files, state and points, also in another process; a step ends that.
#[test]
fn undo_brings_back_what_was_there_before_a_restore() {
    let world = workflow(&job(THREE));
    let mut job = SteppedJob::start(&world);
    for line in [
        "n",
        "n",
        "!export B=2; echo mine > mine; touch -d @5 mine",
        "n",
    ] {
        job.line(line);
    }
    let there = |job: &mut SteppedJob| (job.said(":state"), job.said(":checkpoints"));
    let (before, files_before) = (there(&mut job), files(&world));
    let mine = newest(&world).join("files/work/work/work/mine");
    assert_eq!(job.said("b 3"), "before One");
    assert!(!mine.exists());
    assert_eq!(job.said(":undo"), "end");
    assert_eq!(
        (there(&mut job), files(&world)),
        (before.clone(), files(&world))
    );
    assert_eq!(files(&world), files_before);
    assert_eq!(fs::metadata(&mine).expect("a file").mtime(), 5);
    assert!(
        job.said(":undo")
            .starts_with("error: No step back is there")
    );
    assert_eq!(job.said("b 2"), "before Two");
    job.kill();
    let mut job = SteppedJob::resume(&world);
    assert_eq!(place(&job.first), "before Two");
    assert_eq!(job.said(":undo"), "end");
    assert_eq!((there(&mut job), files(&world)), (before, files_before));
    job.line("b");
    job.line("n");
    assert!(
        job.said(":undo")
            .starts_with("error: No step back is there")
    );
    assert_eq!(job.end().0, Some(0));
}

/// A restore or an undo that is killed at any point is finished by the next process.
#[test]
fn a_restore_that_was_cut_off_is_finished() {
    let world = workflow(&job(THREE));
    let mut job = SteppedJob::start(&world);
    for line in ["n", "!echo user > user; chmod 600 log"] {
        job.line(line);
    }
    let at_point = job.said(":state");
    let files_at_point = files(&world);
    job.line("c");
    let (at_end, files_at_end) = (job.said(":state"), files(&world));
    job.kill();
    let (mut killed, mut point) = (0, 0);
    loop {
        point += 1;
        let mut job = SteppedJob::of(&world, &["--resume"], Some(point));
        let is_whole = job.line("b 2").is_some() && job.line(":undo").is_some();
        job.kill();
        killed += u32::from(!is_whole);
        let mut job = SteppedJob::resume(&world);
        match place(&job.first).as_str() {
            "end" => assert_eq!(
                (job.said(":state"), &files(&world)),
                (at_end.clone(), &files_at_end)
            ),
            "before Two" => {
                assert_eq!(
                    (job.said(":state"), &files(&world)),
                    (at_point.clone(), &files_at_point)
                );
                assert_eq!(job.said(":undo"), "end", "point {point}");
                assert_eq!(
                    (job.said(":state"), &files(&world)),
                    (at_end.clone(), &files_at_end)
                );
            }
            other => panic!("point {point}: {other}"),
        }
        job.kill();
        if is_whole {
            break;
        }
    }
    assert!(killed > 10, "{killed} were killed");
    verified(&world);
}

/// The history of the newest run is whole.
pub fn verified(world: &World) {
    let files = newest(world).join("files");
    let mut command = world.backstitch();
    command.arg("verify").current_dir(files);
    let output = crate::support::finish(&mut command, b"");
    assert_eq!(output.code, 0, "{output:?}");
}

/// Secrets and masks are in a private file beside the database, and hold in the next process.
#[test]
fn masks_hold_in_the_next_process() {
    let world = workflow(&job(
        "- name: One\n  run: later=hidden-later; echo \"::add-mask::$later\"\n- name: Two\n  run: echo ${{ secrets.KEY }} hidden-later > $RUNNER_TEMP/seen; cat $RUNNER_TEMP/seen; grep -q hunter2 $RUNNER_TEMP/seen",
    ));
    world.write(
        ".secrets",
        "KEY=hunter2-top-secret\nGITHUB_TOKEN=token-of-mine\n",
    );
    let args = [
        "ci.yml",
        "-j",
        "build",
        "--yes",
        "--secret-file",
        ".secrets",
    ];
    let mut job = SteppedJob::of(&world, &args, None);
    job.line("n");
    job.kill();
    let run = newest(&world);
    for name in ["run.db", "run.db-wal"] {
        let bytes = fs::read(run.join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        for secret in ["hunter2-top-secret", "hidden-later", "token-of-mine"] {
            // the workflow's own text has the second one
            assert!(
                secret == "hidden-later" || !text.contains(secret),
                "{secret} in {name}"
            );
        }
    }
    for name in ["run.db", "secrets.json"] {
        let mode = fs::metadata(run.join(name)).expect("a file").mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let mut job = SteppedJob::resume(&world);
    assert_eq!(job.said("github.token"), "***");
    assert_eq!(
        job.said("format('{0} hidden-later', secrets.KEY)"),
        "*** ***"
    );
    assert_eq!(job.said("n"), "end");
    assert_eq!(job.end().0, Some(0));
}

/// Each refusal names the run, the reason and the next step.
#[test]
fn refusals_name_the_next_step() {
    let refused = |world: &World, args: &[&str], texts: &[&str]| {
        let mut all = vec!["job", "debug"];
        all.extend_from_slice(args);
        let output = world.run(all);
        assert_ne!(output.code, 0);
        for text in texts {
            assert!(output.stderr.contains(text), "{text} in {}", output.stderr);
        }
    };
    let world = workflow(&job(THREE));
    refused(
        &world,
        &["--resume"],
        &["no run of", "can be resumed", "job list --runs"],
    );
    refused(
        &world,
        &["--resume", "nope"],
        &["nope: no such run", "job list --runs"],
    );
    run(&world, &[]);
    refused(
        &world,
        &["--resume", "ci-build-1"],
        &[
            "the run ci-build-1 has ended (success)",
            "job debug .github/workflows/ci.yml -j build",
        ],
    );
    let job = SteppedJob::start(&world);
    let held = format!("process {} holds the run ci-build-2", job.pid());
    for args in [&["--resume", "ci-build-2"][..], &["--resume"]] {
        refused(&world, args, &[&held, "end that process"]);
    }
    job.kill();
    world.remove(".github/workflows/ci.yml");
    let gone = ".github/workflows/ci.yml is gone: the run continues";
    let mut command = world.backstitch();
    command.args(["job", "debug", "--resume"]);
    let output = crate::support::finish(&mut command, b"c\n");
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains(gone), "{}", output.stderr);
}

/// A run whose repository is gone does not continue.
#[test]
fn a_run_without_its_repository_does_not_continue() {
    let world = workflow(&job(THREE));
    SteppedJob::start(&world).kill();
    let other = world.root.with_extension("moved");
    fs::rename(&world.root, &other).expect("moved");
    let mut command = world.backstitch();
    command
        .args(["job", "debug", "--resume", "ci-build-1"])
        .current_dir(&other);
    let output = crate::support::finish(&mut command, b"");
    fs::rename(&other, &world.root).expect("moved");
    assert_ne!(output.code, 0);
    for text in [
        "the repository",
        "of the run ci-build-1 is gone",
        "job rm ci-build-1",
    ] {
        assert!(output.stderr.contains(text), "{}", output.stderr);
    }
}

/// A job with `timeout-minutes` has its time left after a kill: neither the stop nor the time without a process counts.
#[test]
fn deadlines_wait_without_a_process() {
    let world =
        workflow(&job(THREE).replace("    runs-on", "    timeout-minutes: 0.05\n    runs-on"));
    let mut job = SteppedJob::start(&world);
    job.line("n");
    job.kill();
    let since = std::time::Instant::now();
    until("the time passes", || since.elapsed().as_secs_f64() > 3.2);
    let mut job = SteppedJob::resume(&world);
    assert_eq!(job.said("c"), "end");
    assert_eq!(job.end().0, Some(0));
}

/// At most 50 checkpoints per session (S1-031): `jobs.keep` is another number, which the user alone sets. One more drops the oldest and
/// logs that (S1-032).
#[test]
fn s1_031_s1_032_the_oldest_checkpoint_goes() {
    let world = workflow(&job(THREE));
    world.write(".backstitch.toml", "[jobs]\nkeep = 1\n");
    world.configure("[jobs]\nkeep = 2\n");
    let ran = debug(&world, &["c", ":checkpoints", "b 2", "b"]);
    assert_eq!(ran.said(1), "  [0] before 'Two'\n  [1] before 'Three'");
    assert_eq!(ran.stop(2), "before Two");
    assert!(ran.stop(3).starts_with("error: There is no checkpoint"));
    let log = fs::read_to_string(ran.place.join("log/checkpoints.log")).expect("a log");
    assert!(
        log.contains("removed checkpoint before 'One': jobs.keep is 2"),
        "{log}"
    );
}

/// Each creation is logged with index, name and counts (S1-034): those of variables and of directories.
#[test]
fn s1_034_checkpoints_are_logged() {
    let world = workflow(&job(THREE));
    let ran = debug(&world, &["c"]);
    let log = fs::read_to_string(ran.place.join("log/checkpoints.log")).expect("a log");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 3, "{log}");
    for (line, start) in lines.iter().zip([
        "checkpoint [0] before 'One': 0 variables, 0 directories of PATH",
        "checkpoint [1] before 'Two': 1 variables, 1 directories of PATH",
        "checkpoint [2] before 'Three': 1 variables, 1 directories of PATH",
    ]) {
        assert!(line.starts_with(start), "{line}");
    }
}

/// Wish: conditional checkpoints, only of chosen steps (S1-F5): a step back undoes the others with the step before, and says so.
#[test]
fn s1_f5_checkpoints_of_chosen_steps() {
    let world = workflow(&job(THREE));
    let points = |points: &[&str]| {
        let mut args = vec!["ci.yml", "-j", "build", "--yes"];
        for word in points {
            args.extend(["--points", word]);
        }
        SteppedJob::of(&world, &args, None)
    };
    let mut job = points(&["O*", "${{ env.A == '1' && steps.one.outputs.v == '2' }}"]);
    job.line("n");
    job.line("n");
    job.kill();
    let mut job = SteppedJob::resume(&world);
    assert_eq!(place(&job.first), "before Three");
    job.line(":output one v=2");
    job.line("n");
    assert_eq!(
        job.said(":checkpoints"),
        "  [0] before 'One'\n  [1] before 'Three'"
    );
    assert_eq!(job.said("b"), "before Three");
    assert!(
        job.said(":again")
            .contains("'Two' has no checkpoint, so it cannot run again")
    );
    let back = job.line("b").expect("an answer");
    assert_eq!(place(&back), "before One");
    assert!(
        back["said"]
            .as_str()
            .is_some_and(|said| said.contains("without a checkpoint: 'Two'"))
    );
    assert_eq!(job.end().0, Some(1));
    let output = world.run([
        "job",
        "debug",
        "ci.yml",
        "-j",
        "build",
        "--points",
        "${{ env. }}",
    ]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("--points ${{ env. }}: "),
        "{}",
        output.stderr
    );
}
