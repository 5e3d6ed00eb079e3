//! The step before which a job stands: known before the stop, gone after its run, and back after a restore, which runs nothing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::{job, newest, run, workflow};
use super::conversation::Conversation;
use super::exact::{differing, exact};
use super::stepped::{SteppedJob, place};
use super::{FILE, debug, tree};
use crate::support::World;
use crate::terminal::Terminal;

/// Each step writes its name into a file of the run, and into one that no restore reaches.
const FOUR: &str = "
- {id: one, name: One, run: echo one | tee -a log >> LEDGER}
- {id: two, name: Two, run: echo two | tee -a log >> LEDGER}
- {id: three, name: Three, run: echo three | tee -a log >> LEDGER}
- {id: four, name: Four, run: echo four | tee -a log >> LEDGER}";

/// A file out of the run: it has the steps that really ran.
struct Ledger(PathBuf);

impl Ledger {
    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn with_ledger(steps: &str) -> (World, Ledger) {
    let world = workflow("on: push");
    let ledger = world.root.with_file_name("ledger");
    let steps = steps.replace("LEDGER", &ledger.display().to_string());
    world.write(FILE, job(&steps));
    (world, Ledger(ledger))
}

/// The step ahead, its index, and the queue after it.
fn ahead(text: &str) -> (Value, Value, Value) {
    let mut state: Value = serde_json::from_str(text).expect("JSON");
    let mut take = |name: &str| state[name].take();
    (take("pending"), take("stepIndex"), take("queue"))
}

/// The place of these ids in a job of them.
fn expected(all: &[&str], index: usize) -> (Value, Value, Value) {
    match all.get(index) {
        Some(id) => (json!(id), json!(index), json!(all[index + 1..])),
        None => (Value::Null, Value::Null, json!([])),
    }
}

const IDS: [&str; 4] = ["one", "two", "three", "four"];

/// The pending step (step, index, queue) is known before the pause begins (S1-011). A process that is killed right after the answer
/// about a stop has left all of it to the next one.
#[test]
fn s1_011_the_pending_step_is_known_at_a_stop() {
    let (world, ledger) = with_ledger(FOUR);
    SteppedJob::start(&world).kill_machine();
    for index in 0..IDS.len() {
        let mut job = SteppedJob::resume(&world);
        let first = job.first.clone();
        assert_eq!(
            (&first["stop"], &first["path"]),
            (&json!("before"), &json!([index]))
        );
        assert_eq!(ahead(&job.said(":state")), expected(&IDS, index));
        job.line("n").expect("the next stop");
        job.kill_machine();
    }
    let mut job = SteppedJob::resume(&world);
    assert_eq!(place(&job.first), "end");
    assert_eq!(ahead(&job.said(":state")), expected(&IDS, IDS.len()));
    assert_eq!(ledger.lines(), IDS);
    job.end();
}

/// The pending step is cleared when it is done, skipped or a restore happens (S1-012). The job then stands before another one, and
/// before none at its end.
#[test]
fn s1_012_the_pending_step_is_cleared() {
    let (world, ledger) = with_ledger(FOUR);
    let mut talk = Conversation::begin(&world);
    let mut leads = |line: &str, index: usize| {
        talk.ask(line);
        assert_eq!(ahead(&talk.said(":state")), expected(&IDS, index), "{line}");
    };
    // done, skipped, restored, done again
    leads("n", 1);
    leads(":skip", 2);
    leads("b", 1);
    leads("b", 0);
    leads("n", 1);
    leads("n", 2);
    leads(":skip", 3);
    leads(":skip", 4);
    assert_eq!(
        talk.stop(":skip"),
        "error: The job has ended: no step is left."
    );
    assert_eq!(ledger.lines(), ["one", "one", "two"]);
    talk.end();
}

/// The queue is emptied and refilled: the step, then those after it (S1-047), also where steps had been left out or had all run. The step
/// counter is set back (S1-048).
#[test]
fn s1_047_s1_048_queue_and_counter_of_a_restore() {
    let (world, ledger) = with_ledger(FOUR);
    let mut talk = Conversation::begin(&world);
    for (line, index) in [
        ("n", 1),
        (":goto Four", 3),
        (":goto [0]", 0),
        ("c", 4),
        ("b 3", 1),
        ("c", 4),
        ("r", 0),
    ] {
        let answer = talk.ask(line);
        let path = if index < 4 {
            json!([index])
        } else {
            Value::Null
        };
        assert_eq!(answer["path"], path, "{line}");
        assert_eq!(ahead(&talk.said(":state")), expected(&IDS, index), "{line}");
    }
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.read("log"), "one\ntwo\nthree\nfour\n");
    let ran = [
        "one",
        "one two three four",
        "two three four",
        "one two three four",
    ]
    .join(" ");
    assert_eq!(ledger.lines().join(" "), ran);
    talk.end();
}

/// On a terminal the step counter is set back (S1-048), and a console event names checkpoint and step (S1-044).
#[test]
fn s1_044_s1_048_a_terminal_tells_the_restored_place() {
    let (world, _) = with_ledger(FOUR);
    let mut command = world.backstitch();
    command.args(["job", "debug", "ci.yml", "-j", "build", "--yes"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::sized(command, 40, 160);
    let mut leads = |line: &str, texts: &[&str]| {
        terminal.expect_next("job> ");
        terminal.type_in(&format!("{line}\r"));
        for text in texts {
            terminal.expect_next(text);
        }
    };
    leads("n", &["■ before step 2 of 4: Two", "checkpoints: 1"]);
    leads("n", &["■ before step 3 of 4: Three", "checkpoints: 2"]);
    leads(
        "b",
        &[
            "Restored checkpoint [1] before 'Two': ",
            "■ before step 2 of 4: Two",
            "checkpoints: 1",
        ],
    );
    leads("c", &["■ at the end of the job", "checkpoints: 4"]);
    leads(
        ":goto [2]",
        &[
            "Restored checkpoint [2] before 'Three': ",
            "■ before step 3 of 4: Three",
            "checkpoints: 2",
        ],
    );
    leads("q", &["Logs and files"]);
}

/// After a restore the session is paused before that step, which has not run (S1-049). The step that was pending when stepping back does not
/// run (S1-050). A step back never advances the job (S1-052), wherever it is asked for, and also if it is refused.
#[test]
fn s1_049_s1_050_s1_052_a_step_back_runs_nothing() {
    let (world, ledger) = with_ledger(FOUR);
    let mut talk = Conversation::begin(&world);
    let refused = "error: There is no checkpoint to go back to: no step has run.";
    let mut ran: Vec<&str> = Vec::new();
    for (line, stop, runs) in [
        ("b", refused, &[][..]),
        ("w", "before One", &[]),
        ("n", "before Two", &["one"]),
        ("n", "before Three", &["two"]),
        ("b", "before Two", &[]),
        ("b", "before One", &[]),
        ("b", refused, &[]),
        ("w", "before One", &[]),
        ("c", "end", &["one", "two", "three", "four"]),
        ("b", "before Four", &[]),
        (
            "b 9",
            "error: 9 steps back are too many; checkpoints to go back to: 3.",
            &[],
        ),
        ("w", "before Four", &[]),
        (":undo", "end", &[]),
        ("r", "before One", &[]),
        (":undo", "end", &[]),
        (":goto Two", "before Two", &[]),
        ("n", "before Three", &["two"]),
        (":goto [0]", "before One", &[]),
    ] {
        assert_eq!(talk.stop(line), stop, "{line}");
        ran.extend(runs);
        assert_eq!(ledger.lines(), ran, "{line}");
    }
    assert!(!talk.file("log").exists());
    talk.end();
    assert_eq!(ledger.lines(), ran);
}

/// A step that waits, one that fails, and one that runs nevertheless.
const STOPS: &str = "
- name: Wait
  run: echo wait >> LEDGER; touch ready; until test -f go; do sleep 0.02; done
- name: Bad
  run: echo bad >> LEDGER; exit 1
- name: After
  if: always()
  run: echo after >> LEDGER";

/// A step back never advances the job (S1-052) from a step that is frozen, and from one that failed.
#[test]
fn s1_052_frozen_and_failed_steps_are_not_left_ahead() {
    let (world, ledger) = with_ledger(STOPS);
    let mut talk = Conversation::begin(&world);
    talk.tell("c");
    talk.until_file("ready");
    assert_eq!(talk.stop("pause"), "frozen Wait");
    assert_eq!(talk.stop("b"), "before Wait");
    talk.said("!touch go");
    assert_eq!(talk.stop("c"), "failed Bad");
    assert_eq!(talk.stop("b"), "before Bad");
    assert_eq!(talk.stop("b"), "before Wait");
    talk.end();
    assert_eq!(ledger.lines(), ["wait", "wait", "bad"]);
}

/// A pending restore can be taken once (S1-051). The next process finishes one that a kill cut off. The one after that stands where the
/// job stands.
#[test]
fn s1_051_a_restore_is_taken_once() {
    let (world, ledger) = with_ledger(FOUR);
    let mut job = SteppedJob::start(&world);
    let at_first = exact(&newest(&world).join("files"));
    for line in ["n", "n", "n"] {
        job.line(line);
    }
    job.kill();
    let cut_off = |job: &SteppedJob| {
        let said = job.first["said"].as_str().unwrap_or_default();
        let line = said.lines().find(|line| line.contains("cut off"));
        line.map(str::to_owned)
    };
    // the first point of time at which the wish is written down, and not fulfilled
    let mut point = 0;
    let finished = loop {
        point += 1;
        let mut job = SteppedJob::of(&world, &["--resume"], Some(point));
        assert!(job.line("r").is_none(), "no restore was cut off");
        job.kill();
        let job = SteppedJob::resume(&world);
        if let Some(said) = cut_off(&job) {
            assert!(
                said.ends_with("A step back was cut off, and is finished: checkpoint [0] before 'One' is restored."),
                "{said}"
            );
            break job;
        }
        job.kill();
    };
    assert_eq!(place(&finished.first), "before One");
    let files = exact(&newest(&world).join("files"));
    assert_eq!(differing(&at_first, &files), Vec::<String>::new());
    finished.kill();
    // it is not taken again, with or without a step since
    let mut job = SteppedJob::resume(&world);
    assert_eq!(
        (place(&job.first), cut_off(&job)),
        ("before One".to_owned(), None)
    );
    assert_eq!(job.said("n"), "before Two");
    job.kill();
    let mut job = SteppedJob::resume(&world);
    assert_eq!(
        (place(&job.first), cut_off(&job)),
        ("before Two".to_owned(), None)
    );
    assert_eq!(job.said("c"), "end");
    assert_eq!(ledger.lines().join(" "), "one two three one two three four");
    assert_eq!(job.end().0, Some(0));
}

const PLAIN: &str = r#"
- id: one
  name: One
  run: env | sed 's/=.*//' | sort > names; echo "A=1" >> $GITHUB_ENV; echo v=1 >> $GITHUB_OUTPUT; mkdir -m 700 d
- name: Never
  if: false
  run: exit 1
- name: Two
  run: echo "$A ${{ steps.one.outputs.v }}" > seen; chmod 600 seen; exit 3
- name: Last
  if: always()
  run: echo last >> seen; ln -s seen link
"#;

/// Without a debug session nothing is different and no checkpoint is made (S1-075).
#[test]
fn s1_075_a_run_makes_no_checkpoints() {
    let world = workflow(&job(PLAIN));
    let plain = run(&world, &[]);
    let debugged = debug(&world, &["c", "c"]);
    assert_ne!(plain.place, debugged.place);
    let made = |run: &Path| {
        let names = ["run.db", "store", "log/checkpoints.log"];
        names.map(|name| run.join(name).exists())
    };
    assert_eq!(made(&plain.place), [false; 3]);
    assert_eq!(made(&debugged.place), [true; 3]);
    assert_eq!(debugged.stop(1), "end");
    assert_eq!(
        (plain.result(), plain.output.code, debugged.code),
        ("failure", 1, 1)
    );
    assert_eq!(plain.file("seen"), "1 1\nlast\n");
    assert_eq!(tree(&plain.workspace()), tree(&debugged.workspace()));
}

/// Decided: stepping back takes the checkpoint off the list, going forward records it anew (S1-D1). The one that the job stands at is shown,
/// and no step back leads to it.
#[test]
fn s1_d1_a_checkpoint_is_recorded_anew() {
    let (world, _) = with_ledger(FOUR);
    let mut talk = Conversation::begin(&world);
    talk.ask("n");
    let two = talk.ask("n");
    assert_eq!(two["checkpoints"], 2);
    let back = talk.ask("b");
    assert_eq!(
        (&back["step"], &back["checkpoints"]),
        (&json!("Two"), &json!(1))
    );
    assert_eq!(
        talk.said(":checkpoints"),
        "  [0] before 'One'\n■ [1] before 'Two'"
    );
    // the new one has the changes of the meantime, and the old one has not
    talk.said("!echo mine > mine; export MINE=yes");
    assert_eq!(talk.ask("n")["checkpoints"], 2);
    assert_eq!(
        talk.said(":checkpoints"),
        "  [0] before 'One'\n  [1] before 'Two'  attempt 2"
    );
    talk.said("!rm mine; unset MINE");
    assert_eq!(talk.stop("b"), "before Two");
    assert_eq!(
        (talk.read("mine").as_str(), talk.said("env.MINE").as_str()),
        ("mine\n", "yes")
    );
    assert_eq!(talk.stop("b"), "before One");
    assert!(!talk.file("mine").exists());
    talk.end();
}

/// Decided: n steps back move n steps (S1-D2), in one command or in n of them.
#[test]
fn s1_d2_n_steps_back_move_n_steps() {
    let (world, _) = with_ledger(FOUR);
    let mut talk = Conversation::begin(&world);
    let facts = |talk: &mut Conversation| (talk.said(":state"), exact(&talk.place.join("files")));
    let mut moments = vec![facts(&mut talk)];
    for _ in IDS {
        talk.ask("n");
        moments.push(facts(&mut talk));
    }
    for steps in 1..=IDS.len() {
        let together = [format!("b {steps}")];
        let single = vec!["b".to_owned(); steps];
        for lines in [&together[..], &single] {
            for line in lines {
                talk.ask(line);
            }
            let (state, files) = facts(&mut talk);
            let then = &moments[IDS.len() - steps];
            assert_eq!(state, then.0, "{lines:?}");
            assert_eq!(
                differing(&then.1, &files),
                Vec::<String>::new(),
                "{lines:?}"
            );
            assert_eq!(talk.stop("c"), "end");
        }
    }
    assert_eq!(talk.end(), 0);
}
