//! The state that a step back restores, and the list of checkpoints that it leaves.

use serde_json::{Value, json};

use super::super::{job, newest, workflow};
use super::conversation::{Conversation, place_of};
use super::debug;
use super::exact::{Exact, differing, exact};
use super::stepped::{SteppedJob, place};
use crate::support::World;

const STEPS: &str = r#"
- name: One
  id: one
  run: echo "A=1" >> $GITHUB_ENV; echo "v=1" >> $GITHUB_OUTPUT; echo $PWD/bin1 >> $GITHUB_PATH
- name: Two
  id: two
  env: {OWN: "of ${{ env.A }}"}
  run: |
    echo "$A|${B-none}|${MINE-none}|$OWN|$PATH|${{ steps.three.outcome }}|${{ job.status }}" > seen
    echo "A=2" >> $GITHUB_ENV; echo "B=2" >> $GITHUB_ENV; echo "v=2" >> $GITHUB_OUTPUT
    echo $PWD/bin2 >> $GITHUB_PATH; echo $PWD/bin1 >> $GITHUB_PATH
- name: Three
  id: three
  run: echo "w=3" >> $GITHUB_OUTPUT; test -f mended
- name: Four
  if: always()
  run: echo ${{ job.status }} > status
"#;

/// All that expressions say of the state.
fn contexts(talk: &mut Conversation) -> [String; 4] {
    [":state", "toJSON(env)", "toJSON(steps)", "job.status"].map(|line| talk.said(line))
}

/// After a step back variables added since are removed (S1-036), and changed variables get their values back (S1-037). The env context
/// is as it was (S1-038), and the prepended PATH is as it was (S1-039). Job result and status are as they were (S1-040), and results of
/// later steps are hidden (S1-041). Limit: results of steps are captured, and not restored (S1-L6): here they are restored. The step
/// that runs again finds all of it.
#[test]
fn s1_036_s1_037_s1_038_s1_039_s1_040_s1_041_s1_l6_the_state_is_as_it_was() {
    let world = workflow(&job(STEPS));
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Two");
    let then = contexts(&mut talk);
    assert_eq!(talk.stop("c"), "failed Three");
    let seen = talk.read("seen");
    talk.said("!export MINE=yes A=9; unset B");
    talk.said(":env SET=yes");
    let now = contexts(&mut talk);
    for (then, now) in then.iter().zip(&now) {
        assert_ne!(then, now);
    }
    let state: Value = serde_json::from_str(&now[0]).expect("JSON");
    assert_eq!(state["job"]["status"], "failure");
    let back = talk.ask("b 2");
    assert_eq!(place_of(&back), "before Two");
    let said = back["said"].as_str().expect("a text");
    assert!(said.ends_with(" files, 3 variables."), "{said}");
    assert_eq!(contexts(&mut talk), then);
    let state: Value = serde_json::from_str(&then[0]).expect("JSON");
    assert_eq!(state["env"], json!({"A": "1"}));
    assert_eq!(state["path"], json!([talk.file("bin1")]));
    assert_eq!(state["job"], json!({"result": null, "status": "success"}));
    let results = state["steps"][""].as_object().expect("results");
    assert_eq!(results.keys().collect::<Vec<_>>(), ["one"]);
    for (expression, value) in [
        ("env.A", "1"),
        ("env.OWN", "of 1"),
        ("env.B", "null"),
        ("env.MINE", "null"),
        ("env.SET", "null"),
        ("steps.three.outputs.w", "null"),
        ("steps.two.outcome", "null"),
        ("success()", "true"),
    ] {
        assert_eq!(talk.said(expression), value, "{expression}");
    }
    talk.said("!touch mended");
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.read("seen"), seen);
    assert!(seen.starts_with("1|none|none|of 1|"), "{seen}");
    assert!(seen.ends_with("||success\n"), "{seen}");
    assert_eq!(talk.read("status"), "success\n");
    assert_eq!(talk.end(), 0);
}

/// Each step changes variables and files, so that no two moments are equal.
const CHAIN: &str = r#"
- {name: S0, run: 'echo 0 > log; echo "N=0" >> $GITHUB_ENV; mkdir d0'}
- {name: S1, run: 'echo 1 >> log; echo "N=1" >> $GITHUB_ENV; echo "X1=1" >> $GITHUB_ENV; chmod 700 d0'}
- {name: S2, run: 'echo 2 >> log; echo "N=2" >> $GITHUB_ENV; rmdir d0; ln -s log link'}
- {name: S3, run: 'echo 3 >> log; echo "N=3" >> $GITHUB_ENV; rm link; touch -d 2001-02-03 log'}
"#;

const COUNT: usize = 4;

/// The list of checkpoints up to one, at which the job stands.
fn list(last: usize, stands: bool) -> String {
    let line = |place: usize| {
        let mark = if stands && place == last { "■" } else { " " };
        format!("{mark} [{place}] before 'S{place}'")
    };
    (0..=last).map(line).collect::<Vec<_>>().join("\n")
}

/// A job that has ended, and the moments before its steps.
fn ended(world: &World) -> (Conversation, Vec<(String, Exact)>) {
    let mut talk = Conversation::begin(world);
    let mut moments = Vec::new();
    for _ in 0..=COUNT {
        moments.push((talk.said(":state"), exact(&talk.place.join("files"))));
        talk.ask("n");
    }
    (talk, moments)
}

fn assert_at(talk: &mut Conversation, moment: &(String, Exact), hint: &str) {
    assert_eq!(talk.said(":state"), moment.0, "{hint}");
    let changed = differing(&moment.1, &exact(&talk.place.join("files")));
    assert_eq!(changed, Vec::<String>::new(), "{hint}");
}

/// Wish: a jump to any checkpoint by its index (S1-F6). Restoring i deletes what is above i and keeps i (S1-042), and a console event names
/// checkpoint and step (S1-044).
#[test]
fn s1_042_s1_044_s1_f6_a_jump_to_each_checkpoint() {
    let world = workflow(&job(CHAIN));
    let (mut talk, moments) = ended(&world);
    for place in [2, 0, 3, 1] {
        let hint = format!("[{place}]");
        let answer = talk.ask(&format!(":goto {hint}"));
        assert_eq!(place_of(&answer), format!("before S{place}"));
        let said = answer["said"].as_str().expect("a text");
        let event = format!("Restored checkpoint [{place}] before 'S{place}': ");
        assert!(said.starts_with(&event), "{said}");
        assert_eq!(talk.said(":checkpoints"), list(place, true));
        assert_eq!(answer["checkpoints"], place);
        assert_at(&mut talk, &moments[place], &hint);
        assert_eq!(talk.stop(":undo"), "end");
        assert_eq!(talk.said(":checkpoints"), list(COUNT - 1, false));
        assert_at(&mut talk, &moments[COUNT], &hint);
    }
    // a deleted checkpoint does not come back by a jump
    talk.ask(":goto [1]");
    let gone = talk.stop(":goto [2]");
    assert_eq!(
        gone,
        "error: There is no checkpoint [2]: they have the numbers 0 to 1."
    );
    assert_eq!(talk.stop("c"), "end");
    assert_eq!(talk.read("log"), "0\n1\n2\n3\n");
    assert_eq!(talk.end(), 0);
}

/// A console event names checkpoint and step (S1-044), with each word that leads back.
#[test]
fn s1_044_each_restore_says_where_it_leads() {
    let world = workflow(&job(CHAIN));
    let (mut talk, _) = ended(&world);
    for (line, place) in [
        ("b", 3),
        (":goto S2", 2),
        (":again", 1),
        ("b 2", 0),
        ("r", 0),
    ] {
        let answer = talk.ask(line);
        let said = answer["said"].as_str().unwrap_or_default();
        let event = format!("Restored checkpoint [{place}] before 'S{place}': ");
        assert!(said.starts_with(&event), "{line}: {answer}");
    }
    talk.end();
}

/// An index out of range is refused, with the valid range (S1-035), and nothing changes. Without checkpoints the reason is another one.
#[test]
fn s1_035_an_index_out_of_range_changes_nothing() {
    let none = "error: There is no checkpoint to go back to: no step has run.";
    let world = workflow(&job(CHAIN));
    let ran = debug(&world, &[":goto [0]", "r", "b", "w"]);
    for line in 0..3 {
        assert_eq!(ran.stop(line), none);
    }
    assert_eq!(ran.stop(3), "before S0");
    let (mut talk, moments) = ended(&world);
    for index in [COUNT, 99] {
        let error = talk.stop(&format!(":goto [{index}]"));
        let range =
            format!("error: There is no checkpoint [{index}]: they have the numbers 0 to 3.");
        assert_eq!(error, range);
    }
    let error = talk.stop("b 5");
    assert_eq!(
        error,
        "error: 5 steps back are too many; checkpoints to go back to: 4."
    );
    assert!(
        talk.stop(":goto [-1]")
            .starts_with("error: [-1]: no such step")
    );
    assert_at(&mut talk, &moments[COUNT], "refused");
    assert_eq!(talk.said(":checkpoints"), list(COUNT - 1, false));
    assert_eq!(talk.stop("w"), "end");
    talk.end();
}

/// The list of completed steps is cut at the checkpoint (S1-043). The report has the steps before it, and each later one once after it
/// has run again.
#[test]
fn s1_043_completed_steps_are_cut() {
    for (lines, names) in [
        (&["c", ":goto [2]"][..], &["S0", "S1"][..]),
        (&["c", "b 3", "n"], &["S0", "S1"]),
        (&["c", "r"], &[]),
        (&["c", "r", "c", "b", "c"], &["S0", "S1", "S2", "S3"]),
        (&["c", "b", "b", ":undo"], &["S0", "S1", "S2"]),
    ] {
        let world = workflow(&job(CHAIN));
        let mut job = SteppedJob::start(&world);
        for line in lines {
            job.line(line).expect("an answer");
        }
        let (_, report) = job.end();
        let steps = report["jobs"][0]["steps"].as_array().expect("steps");
        let ended: Vec<&str> = steps
            .iter()
            .filter_map(|step| step["name"].as_str())
            .collect();
        assert_eq!(ended, names, "{lines:?}");
    }
}

/// Wish: checkpoints on disk survive a restart (S1-F3), of the process and of the machine: their list, their states and their files.
#[test]
fn s1_f3_checkpoints_survive_a_restart() {
    let world = workflow(&job(CHAIN));
    let mut job = SteppedJob::start(&world);
    let files = |place: &str| exact(&newest(&world).join("files").join(place));
    let mut moments = Vec::new();
    for _ in 0..COUNT {
        moments.push((job.said(":state"), files("")));
        job.line("n");
    }
    for (place, moment) in moments.iter().enumerate().rev() {
        if place % 2 == 0 {
            job.kill_machine();
        } else {
            job.kill();
        }
        job = SteppedJob::resume(&world);
        assert_eq!(
            job.said(":checkpoints").lines().count(),
            COUNT.min(place + 2)
        );
        assert_eq!(job.said("b"), format!("before S{place}"));
        assert_eq!(job.said(":state"), moment.0);
        assert_eq!(differing(&moment.1, &files("")), Vec::<String>::new());
    }
    assert_eq!(place(&job.line("c").expect("an answer")), "end");
    assert_eq!(job.end().0, Some(0));
}
