//! Checkpoints: the moments at which they are made, their contents, and their list.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use super::super::{job, workflow, workflow_with};
use super::conversation::{Conversation, place_of};
use super::exact::{differing, exact};
use super::stepped::{SteppedJob, place};
use super::{FILE, debug};
use crate::support::World;

/// The answer to `:state`.
fn state(talk: &mut Conversation) -> Value {
    serde_json::from_str(&talk.said(":state")).expect("JSON")
}

/// The step that makes tools, and the one that changes everything.
const TWO: &str = r#"
- name: One
  id: one
  run: |
    echo "A=1" >> $GITHUB_ENV; echo "v=1" >> $GITHUB_OUTPUT; echo $PWD/bin >> $GITHUB_PATH
    mkdir -p kept gone/in; echo a > kept/a; echo b > gone/b; touch -d 2001-02-03 kept/a; git init -q
    echo 'export SOURCED=yes' > vars.sh
- name: Two
  id: two
  run: |
    echo "A=2" >> $GITHUB_ENV; echo "w=2" >> $GITHUB_OUTPUT; echo $PWD/other >> $GITHUB_PATH
    rm -r gone kept/a; echo more > kept/b; chmod 700 kept; touch log; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; git tag v1
"#;

/// Edits that no reading of the command would find: of variables, of PATH, and of files.
const EDITS: [&str; 3] = [
    "!. ./vars.sh; printf -v TEXT 'two\\nlines'; export TEXT; unset A; set -a; read -r READ < kept/a; set +a",
    "!f() { eval \"ex\"\"port SPLIT=1\"; }; f; PATH=$PWD/own:$PATH",
    "!ln -s a kept/link; chmod 640 kept/a; mkdir -m 711 empty; touch -d 1999-01-01 gone; rm vars.sh; git add kept",
];

/// REPL changes are captured as state, without parsing commands (S1-004). A step's checkpoint equals the state the step began with
/// (S1-005): environment, PATH, outputs, contents, modes, times and git.
#[test]
fn s1_004_s1_005_a_checkpoint_is_the_state_before_its_step() {
    let world = workflow(&job(TWO));
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Two");
    for edit in EDITS {
        talk.said(edit);
    }
    let before = (state(&mut talk), exact(&talk.place.join("files")));
    assert_eq!(
        before.0["env"],
        json!({"READ": "a", "SOURCED": "yes", "SPLIT": "1", "TEXT": "two\nlines"})
    );
    assert_eq!(before.0["path"].as_array().map(Vec::len), Some(2));
    assert_eq!(talk.stop("n"), "end");
    assert_eq!(talk.said("env.A"), "2");
    let changed = differing(&before.1, &exact(&talk.place.join("files")));
    assert!(changed.len() > 10, "{changed:?}");
    assert_eq!(talk.stop("b"), "before Two");
    assert_eq!(state(&mut talk), before.0);
    let changed = differing(&before.1, &exact(&talk.place.join("files")));
    assert_eq!(changed, Vec::<String>::new());
    talk.end();
}

/// Steps whose names and places are not those of the file.
const NAMED: &str = r#"
- name: One
  run: echo "KIND=debug" >> $GITHUB_ENV
- name: Never
  if: false
  run: exit 1
- name: Build ${{ env.KIND }}
  run: echo build
- run: |
    echo first
    echo second
"#;

/// A checkpoint has the step's index, from 0 (S1-015), the step's display name (S1-016), and its own place in the list (S1-027). The
/// number of checkpoints can be asked for (S1-033): each answer about a place has it.
#[test]
fn s1_015_s1_016_s1_027_s1_033_index_name_place_and_number() {
    let world = workflow(&job(NAMED));
    let ran = debug(
        &world,
        &[
            "n",
            "n",
            "n",
            ":checkpoints",
            ":goto [1]",
            ":checkpoints",
            ":state",
            "n",
            ":checkpoints",
        ],
    );
    let counts = [0, 1, 2, 4, 7].map(|line| ran.checkpoints(line));
    assert_eq!(counts, [1, 2, 3, 1, 2]);
    let [one, build] = ["  [0] before 'One'", "before 'Build debug'"];
    assert_eq!(
        ran.said(3),
        format!("{one}\n  [1] {build}\n  [2] before 'Run echo first'")
    );
    let said = ran.said(4);
    assert!(
        said.starts_with(&format!("Restored checkpoint [1] {build}: ")),
        "{said}"
    );
    // the step that was passed over counts for the index, and has no checkpoint
    assert_eq!(ran.answer(4)["path"], json!([2]));
    let state: Value = serde_json::from_str(ran.said(6)).expect("JSON");
    assert_eq!(state["stepIndex"], 2);
    assert_eq!(ran.said(5), format!("{one}\n■ [1] {build}"));
    assert_eq!(ran.said(8), format!("{one}\n  [1] {build}  attempt 2"));
}

/// Its own place in the list (S1-027) counts anew where the oldest checkpoint is gone.
#[test]
fn s1_027_places_count_from_the_oldest() {
    let world = workflow(&job(NAMED));
    world.configure("[jobs]\nkeep = 2\n");
    let ran = debug(&world, &["c", ":goto [0]", ":goto [1]", "b"]);
    assert_eq!(ran.stop(1), "before Build debug");
    assert_eq!(ran.answer(1)["path"], json!([2]));
    assert_eq!(
        ran.stop(2),
        "error: There is no checkpoint [1]: they have the numbers 0 to 0."
    );
    assert!(
        ran.stop(3)
            .starts_with("error: There is no checkpoint to go back to")
    );
}

/// Microseconds since 1970, UTC.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.expect("a time").as_micros()).expect("a number")
}

/// Moments of the checkpoints of a run, in the order of the list.
fn created(run: &Path) -> Vec<i64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = Connection::open_with_flags(run.join("run.db"), flags).expect("the run's file");
    let mut rows = conn
        .prepare("SELECT created FROM point WHERE cut = 0 ORDER BY place")
        .expect("a statement");
    let rows = rows.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("numbers")
}

/// The time of creation, UTC (S1-026), whatever the zone of the user; a checkpoint that is replaced has a new one.
#[test]
fn s1_026_checkpoints_have_their_time() {
    let world = workflow(&job(TWO)).with("TZ", "Asia/Kolkata");
    let mut talk = Conversation::begin(&world);
    let mut moments = vec![now()];
    for line in ["n", "n"] {
        talk.ask(line);
        moments.push(now());
    }
    let first = created(&talk.place);
    let is_within = |(at, limits): (&i64, &[i64])| limits[0] <= *at && *at <= limits[1];
    assert_eq!(first.len(), 2);
    assert!(
        first.iter().zip(moments.windows(2)).all(is_within),
        "{first:?} {moments:?}"
    );
    assert_eq!(talk.stop("b"), "before Two");
    let again = now();
    assert_eq!(talk.stop("n"), "end");
    let second = created(&talk.place);
    assert_eq!(second[0], first[0]);
    assert!(second[1] >= again, "{second:?} {again}");
    talk.end();
}

const ACTION: &str = "name: a
runs:
  using: composite
  steps:
    - {id: in1, name: Inner one, shell: bash, run: echo in1 >> log}
    - {id: in2, name: Inner two, shell: bash, run: echo in2 >> log}
    - {id: in3, name: Inner three, shell: bash, run: echo in3 >> log}
";

const DEEP: &str = "
- uses: actions/checkout@v4
- id: kept
  uses: actions/cache@v4
  with: {path: x, key: k}
- id: use
  uses: ./act
- id: last
  name: Last
  run: echo last >> log";

/// A job whose last two steps have run, the composite action step by step, and whose workflow is gone.
fn deep() -> (World, SteppedJob) {
    let world = workflow_with(&job(DEEP), &[("act/action.yml", ACTION)]);
    let mut job = SteppedJob::start(&world);
    for line in ["n", "n", "s", "n", "n", "n", "n"] {
        job.line(line).expect("an answer");
    }
    assert_eq!(job.said("w"), "before Post Run actions/cache@v4");
    world.remove(FILE);
    (world, job)
}

/// A checkpoint has the step about to run, so that it can run again (S1-024). It also has the queue of later steps in order (S1-025).
/// Both hold within a composite action, in another process, and without the workflow's file.
#[test]
fn s1_024_s1_025_the_step_and_those_after_it() {
    let (world, mut job) = deep();
    let ahead = |job: &mut SteppedJob| {
        let state: Value = serde_json::from_str(&job.said(":state")).expect("JSON");
        (state["pending"].clone(), state["queue"].clone())
    };
    assert_eq!(ahead(&mut job), (json!("post:kept"), json!([])));
    assert_eq!(job.said(":goto [4]"), "before Inner two");
    let inner = (json!("use.in2"), json!(["use.in3", "last", "post:kept"]));
    assert_eq!(ahead(&mut job), inner);
    job.kill();
    let mut job = SteppedJob::resume(&world);
    assert_eq!(place(&job.first), "before Inner two");
    assert_eq!(ahead(&mut job), inner);
    let (mut talked, log) = (
        Vec::new(),
        super::super::newest(&world).join("files/work/work/work/log"),
    );
    for line in ["n", "n", "n", "n"] {
        talked.push(job.said(line));
    }
    let after =
        ["Inner three", "Last", "Post Run actions/cache@v4"].map(|step| format!("before {step}"));
    assert_eq!(talked[..3], after);
    assert_eq!(talked[3], "end");
    let log = fs::read_to_string(log).expect("a log");
    assert_eq!(log, "in1\nin2\nin3\nlast\n");
    let (code, report) = job.end();
    assert_eq!((code, &report["result"]), (Some(0), &json!("success")));
}

/// Lines of the log of checkpoints that tell of one that was made.
fn made(run: &Path) -> Vec<String> {
    let log = fs::read_to_string(run.join("log/checkpoints.log")).unwrap_or_default();
    let lines = log.lines().filter(|line| line.starts_with("checkpoint "));
    lines.map(str::to_owned).collect()
}

/// Asking for a checkpoint without a pending step warns and changes nothing (S1-013).
#[test]
fn s1_013_no_checkpoint_at_the_end() {
    let world = workflow(&job(TWO));
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("c"), "end");
    let facts = |talk: &mut Conversation| {
        let files = exact(&talk.place.join("files"));
        (
            talk.said(":state"),
            talk.said(":checkpoints"),
            made(&talk.place),
            created(&talk.place),
            files,
        )
    };
    let before = facts(&mut talk);
    assert_eq!(before.2.len(), 2);
    for word in ["n", "s", "o", "c"] {
        let warning = "error: The job has ended. Step back with `b`: steps after that place, new ones too, run then.";
        assert_eq!(talk.stop(word), warning, "{word}");
    }
    assert_eq!(talk.stop("w"), "end");
    assert_eq!(facts(&mut talk), before);
    assert_eq!(talk.stop("b"), "before Two");
    talk.end();
}

/// A step that runs, one that is passed over, one that fails, and one that runs nevertheless.
const MIXED: &str = "
- name: One
  run: echo one
- name: Never
  if: false
  run: exit 1
- name: Bad
  run: exit 3
- name: Last
  if: always()
  run: echo last";

/// A forward command's wish for a checkpoint is used up once (S1-014). One step that begins has one checkpoint. Nothing that follows
/// makes another, until the next command forward.
#[test]
fn s1_014_one_checkpoint_for_each_step_that_begins() {
    let world = workflow(&job(MIXED));
    let mut talk = Conversation::begin(&world);
    let looks = [
        "w",
        "!true",
        ":env A=1",
        "env.A",
        ":checkpoints",
        ":sync",
        ":diff",
        ":state",
        ":ps",
    ];
    let mut count = 0;
    for (line, stop, new) in [
        ("n", "before Bad", 1),
        ("n", "failed Bad", 1),
        (":outcome success", "before Last", 0),
        ("c", "end", 1),
        (
            "c",
            "error: The job has ended. Step back with `b`: steps after that place, new ones too, run then.",
            0,
        ),
        ("r", "before One", 0),
        // to the failure: of the step that is passed over there is none
        ("c", "failed Bad", 2),
        ("c", "end", 1),
    ] {
        assert_eq!(place_of(&talk.ask(line)), stop, "{line}");
        count += new;
        for look in looks {
            talk.ask(look);
        }
        assert_eq!(made(&talk.place).len(), count, "{line}");
    }
    assert_eq!(created(&talk.place).len(), 3);
    talk.end();
}
