//! Line authors: agents, the user, or unknown, across rewinds, renames and every kind of text.

use std::time::{Duration, Instant};

use backstitch_core::model::RelPath;
use backstitch_core::{Against, By, Engine, Locate, Workspace};
use serde_json::{Value, json};

use crate::support::World;
use crate::support::limits::at_most;
use crate::support::scenarios::{FIVE_LINES, one_file, two_turns_around_an_own_edit};

/// Returns `text: author` for each line: the turn and tool, the user, or nobody. `?` marks an uncertain author, `new`
/// a line that is not recorded.
#[track_caller]
fn blame<'a>(world: &World, args: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let answer = world.json(["blame"].into_iter().chain(args));
    let runs = answer["runs"].as_array().expect("runs");
    let lines = answer["lines"].as_array().expect("lines");
    let who = |run: &Value| {
        let word = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
        let mut who = match word("by").as_str() {
            "agent" => format!("{} {}", word("turn"), word("tool"))
                .trim()
                .to_owned(),
            "user" => "you".to_owned(),
            other => other.to_owned(),
        };
        if run["session_certainty"] == "uncertain" {
            who.push_str(" ?");
        }
        if run["recorded"] == false {
            who.push_str(" new");
        }
        who
    };
    let mut next = lines
        .first()
        .map_or(1, |l| l["line"].as_u64().expect("a number"));
    for run in runs {
        assert_eq!(run["start"], next, "{answer:#}");
        next += run["count"].as_u64().expect("a count");
    }
    lines
        .iter()
        .map(|line| {
            let run = &runs[usize::try_from(line["run"].as_u64().expect("a run")).expect("small")];
            assert_eq!(
                (&line["by"], &line["checkpoint"]),
                (&run["by"], &run["checkpoint"])
            );
            let text = line["text"]
                .as_str()
                .map_or_else(|| line["text"].to_string(), str::to_owned);
            format!("{text}: {}", who(run))
        })
        .collect()
}

/// U-12, U-26: lines of an edit, a write, a shell command and the user each name their turn and tool. An inserted line
/// does not change the authors of others.
#[test]
fn each_line_has_its_author() {
    let world = one_file(FIVE_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("first");
    agent.edit("a.txt", "one\n", "zero\none\n");
    agent.stop();
    world.write("a.txt", world.read("a.txt").replace("two", "2 (mine)"));
    agent.prompt("second");
    agent.bash("sed -i 's/three/3/' a.txt");
    agent.write("b.txt", "b\n");
    agent.stop();
    world.write("a.txt", world.read("a.txt") + "last\n");
    let history = world.history();
    assert_eq!(
        blame(&world, ["a.txt"]),
        [
            "zero: t1 Edit",
            "one: before",
            "2 (mine): you",
            "3: t2 Bash",
            "four: before",
            "five: before",
            "last: you new",
        ]
    );
    assert_eq!(blame(&world, ["b.txt"]), ["b: t2 Write"]);
    assert_eq!(world.history(), history, "a question records nothing");
    assert_eq!(blame(&world, ["a.txt", "t1"])[0], "one: before");
    assert_eq!(
        blame(&world, ["a.txt", "t2"])[..3],
        ["zero: t1 Edit", "one: before", "2 (mine): you"]
    );
    world.ok(["checkpoint"]);
    assert_eq!(blame(&world, ["a.txt"])[6], "last: you");
}

/// U-12: blame prints JSON for scripts and text for people.
#[test]
fn blame_prints_json_and_text() {
    let world = one_file(FIVE_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("the prompt\nin two lines");
    agent.edit("a.txt", "two", "2");
    let step = world.id("t1 Edit: modify a.txt");
    let answer = world.json(["blame", "a.txt", "-L", "1,2"]);
    assert_eq!(
        (&answer["path"], &answer["against"]),
        (&json!("a.txt"), &json!("disk"))
    );
    assert_eq!(
        answer["lines"][1],
        json!({"line": 2, "text": "2", "by": "agent", "checkpoint": step, "turn": "t1", "run": 1})
    );
    let mut run = answer["runs"][1].clone();
    assert!(
        run["time"]
            .take()
            .as_str()
            .is_some_and(|t| t.ends_with('Z')),
        "{answer:#}"
    );
    assert_eq!(
        run,
        json!({
            "start": 2, "count": 1, "by": "agent", "recorded": true, "checkpoint": step, "time": null,
            "agent": "claude-code", "session": agent.session(), "session_certainty": "certain",
            "step_certainty": "certain", "turn": "t1", "prompt": "the prompt\nin two lines", "tool": "Edit",
            "iteration": 1, "subagent": null,
        })
    );
    assert_eq!(answer["runs"][0]["checkpoint"], Value::Null);
    assert_eq!(
        world.json(["blame", "a.txt", "t1"])["against"],
        world.json(["show", "t1"])["id"]
    );

    world.write("a.txt", world.read("a.txt") + "mine\n");
    let text = world.ok(["blame", "a.txt"]).stdout;
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|l| l.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["-", "before", "Backstitch", "1", "one"]);
    assert_eq!(rows[1][..3], [&*step, "t1", "Edit"]);
    assert_eq!(rows[1][rows[1].len() - 2..], ["2", "2"]);
    assert_eq!(rows[5], ["-", "you", "not", "recorded", "6", "mine"]);
    let column = |line: &str, word: &str| line.find(word).expect("a column");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        column(lines[0], "  1  one"),
        column(lines[5], "  6  mine"),
        "{text}"
    );
    let coloured = world
        .ok(["--color", "always", "blame", "a.txt", "-L", "3,4"])
        .stdout;
    let coloured: Vec<&str> = coloured.lines().collect();
    assert!(
        coloured[0].starts_with("\u{1b}[33m") && coloured[1].starts_with("\u{1b}[2m"),
        "{coloured:?}"
    );
}

/// A renamed file keeps the authors of its lines, whether the rename is recorded or not.
#[test]
fn a_renamed_file_keeps_its_authors() {
    let world = one_file(FIVE_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "two", "2");
    agent.bash("mkdir d && mv a.txt d/b.txt");
    agent.edit("d/b.txt", "three", "3");
    let lines = [
        "one: before",
        "2: t1 Edit",
        "3: t1 Edit",
        "four: before",
        "five: before",
    ];
    assert_eq!(blame(&world, ["d/b.txt"]), lines);
    assert_eq!(blame(&world, ["a.txt", "t1"])[1], "two: before");
    world.run(["blame", "a.txt"]).expect_code(3);
    std::fs::rename(world.path("d/b.txt"), world.path("c.txt")).expect("a rename");
    world.write("c.txt", world.read("c.txt") + "mine\n");
    assert_eq!(blame(&world, ["c.txt"])[..5], lines);
    assert_eq!(blame(&world, ["c.txt"])[5], "mine: you new");
}

/// U-20: lines restored by a rewind, undo, redo or revert keep their author.
#[test]
fn restored_lines_keep_their_author() {
    let world = two_turns_around_an_own_edit();
    let files = ["a.txt", "src/d.txt"];
    let all = || files.map(|f| blame(&world, [f]));
    let before = all();
    assert_eq!(before[0][0], "1: t1 Edit");
    assert_eq!(before[0][8], "NINE (mine): you");
    world.ok(["rewind", "t1"]);
    let rewound = all();
    assert_eq!(
        (&*rewound[0][0], &*rewound[0][4]),
        ("one: before", "five: before")
    );
    assert_eq!(rewound[0][8], "NINE (mine): you");
    world.ok(["undo"]);
    assert_eq!(all(), before);
    world.ok(["redo"]);
    assert_eq!(all(), rewound);
    world.ok(["undo"]);
    world.ok(["revert", "t1"]);
    assert_eq!(blame(&world, ["a.txt"])[0], "one: before");
    assert_eq!(blame(&world, ["a.txt"])[4], "5: t2 Edit");
    world.ok(["revert", "@"]);
    assert_eq!(all(), before);
}

/// U-19: a rewind merges to a state that never existed before. Lines that the agent had removed come back with their
/// author.
#[test]
fn a_merge_keeps_authors() {
    let world = World::committed(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("first");
    agent.edit("a.txt", "2\n", "two\n");
    world.write("a.txt", world.read("a.txt").replace("4\n", "4\nmine\n"));
    agent.prompt("second");
    agent.bash("sed -i '/two/d; /mine/d; /8/d' a.txt");
    agent.stop();
    world.write("a.txt", world.read("a.txt") + "also mine\n");
    agent.prompt("third");
    world.ok(["rewind", "t2"]);
    assert_eq!(
        blame(&world, ["a.txt"]),
        [
            "1: before",
            "two: t1 Edit",
            "3: before",
            "4: before",
            "mine: you",
            "5: before",
            "6: before",
            "7: before",
            "8: before",
            "9: before",
            "also mine: you",
        ]
    );
}

/// Conflict markers that the user has written into the file are the user's edit.
#[test]
fn conflict_markers_are_the_users() {
    let world = one_file(FIVE_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "three", "3");
    agent.edit("a.txt", "five", "5");
    agent.stop();
    world.write("a.txt", world.read("a.txt").replace("3\n", "mine\n"));
    world.run(["rewind", "t1"]).expect_code(1);
    world.ok(["rewind", "t1", "--on-conflict", "markers"]);
    let lines = blame(&world, ["a.txt"]);
    let of = |text: &str| {
        lines
            .iter()
            .find(|l| l.starts_with(text))
            .expect("a line")
            .clone()
    };
    for marker in ["<<<<<<<", "=======", ">>>>>>>"] {
        assert!(of(marker).ends_with(": you"), "{lines:#?}");
    }
    assert_eq!(
        (of("mine"), of("one")),
        ("mine: you".into(), "one: before".into())
    );
}

/// Two sessions at once: each has its own lines, and lines of unknown author are marked so.
#[test]
fn overlapping_sessions_keep_their_own_lines() {
    let world = one_file(FIVE_LINES);
    let (mut one, mut two) = (world.agent(), world.agent());
    one.session_start();
    two.session_start();
    one.prompt("first");
    two.prompt("second");
    let (first, second) = (one.pre_edit("a.txt", "one", "1"), two.pre_bash("true"));
    let response = one.apply(&first);
    one.post(&first, &response);
    let output = two.execute(&second);
    two.post_bash(&second, &output);
    two.edit("a.txt", "five", "5");
    let (x, y) = (
        one.pre_bash("sed -i 's/three/3/' a.txt"),
        two.pre_bash("true"),
    );
    let output = one.execute(&x);
    assert_eq!(blame(&world, ["a.txt"])[2], "3: unknown new");
    one.post_bash(&x, &output);
    let output = two.execute(&y);
    two.post_bash(&y, &output);
    assert_eq!(
        blame(&world, ["a.txt"]),
        [
            "1: t1 Edit",
            "two: before",
            "3: t1 Bash ?",
            "four: before",
            "5: t2 Edit"
        ]
    );
    assert!(world.ok(["blame", "a.txt"]).stdout.contains("t1 Bash ?"));
    // both have a task running in the background
    let task = json!([{"id": "b1", "type": "shell", "status": "running"}]);
    one.stop_with(&task);
    two.stop_with(&task);
    world.write("a.txt", world.read("a.txt").replace("two", "2"));
    world.ok(["checkpoint"]);
    assert_eq!(blame(&world, ["a.txt"])[1], "2: unknown");
}

/// Changes made during an open call are not attributed to the user.
#[test]
fn writes_of_an_open_call_are_not_the_users() {
    let world = one_file(FIVE_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    let call = agent.pre_edit("a.txt", "two", "2");
    let response = agent.apply(&call);
    assert_eq!(blame(&world, ["a.txt"])[1], "2: t1 Edit ? new");
    agent.post(&call, &response);
    assert_eq!(blame(&world, ["a.txt"])[1], "2: t1 Edit");
}

/// U-21: blame handles every kind of line ending, a missing final newline, non-UTF-8 bytes, and empty files.
#[test]
fn line_endings_binary_and_empty_files_are_blamed() {
    let world = one_file(FIVE_LINES);
    world.write("crlf.txt", "one\r\ntwo\r\nthree\r\n");
    world.write("open.txt", "one\ntwo");
    world.write("latin.txt", b"caf\xe9\nb\n");
    world.write("empty.txt", "");
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("crlf.txt", "two", "2");
    agent.bash("printf '\\nthree' >> open.txt; sed -i 's/b/B/' latin.txt");
    assert_eq!(blame(&world, ["crlf.txt"])[1], "2\r: t1 Edit");
    assert_eq!(
        blame(&world, ["open.txt"]),
        ["one: before", "two: before", "three: t1 Bash"]
    );
    agent.bash("sed -i 's/\\r$//' crlf.txt; echo >> open.txt");
    let plain = ["one: before", "2: t1 Edit", "three: before"];
    assert_eq!(
        blame(&world, ["crlf.txt"]),
        plain,
        "another terminator is no other line"
    );
    assert_eq!(blame(&world, ["open.txt"])[2], "three: t1 Bash");
    let latin = blame(&world, ["latin.txt"]);
    assert_eq!(latin, ["{\"bytes\":\"Y2Fm6Q==\"}: before", "B: t1 Bash"]);
    let text = world.ok(["blame", "latin.txt"]);
    assert!(text.bytes.windows(4).any(|w| w == b"caf\xe9"), "{text}");
    assert_eq!(world.ok(["blame", "empty.txt"]).stdout, "");
    assert_eq!(world.json(["blame", "empty.txt"])["runs"], json!([]));
}

/// `-L` limits blame to a part of the file. A wrong range gets a clear error.
#[test]
fn blame_can_be_limited_to_a_line_range() {
    let world = one_file(FIVE_LINES);
    world.ok(["checkpoint"]);
    let of = |lines: &str| {
        let found = blame(&world, ["a.txt", "-L", lines]);
        found
            .iter()
            .map(|l| l.replace(": before", ""))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("2,3"), ["two", "three"]);
    assert_eq!(of("4,+9"), ["four", "five"]);
    assert_eq!(of("2,+1"), ["two"]);
    assert_eq!(of("5"), ["five"]);
    let text = world.ok(["blame", "a.txt", "-L", "2,3"]).stdout;
    assert_eq!(text.lines().count(), 2, "{text}");
    for (lines, word) in [
        ("0", "-L 10,20"),
        ("3,2", "-L 10,20"),
        ("x", "-L 10,20"),
        ("6", "a.txt has 5 lines"),
    ] {
        let output = world.run(["blame", "a.txt", "-L", lines]).expect_code(2);
        assert!(output.stderr.contains(word), "{output}");
    }
}

/// A request that cannot be answered is refused with the reason and, where there is one, the next step.
#[test]
fn files_without_lines_are_refused_with_the_reason() {
    let world = one_file(FIVE_LINES);
    world.write("bin", b"a\0b");
    world.write("dir/x.txt", "x\n");
    world.write(".gitignore", "*.log\n");
    world.symlink("a.txt", "link");
    world.ok(["checkpoint"]);
    world.write("i.log", "i\n");
    let large = vec![b'x'; 11 << 20];
    world.write("large", large);
    for (args, code, words) in [
        (
            &["bin"][..],
            1,
            &["bin is binary", "backstitch log --path bin"][..],
        ),
        (&["bin", "@"], 1, &["bin is binary"]),
        (&["link"], 1, &["symbolic link"]),
        (&["link", "@"], 1, &["symbolic link"]),
        (&["large"], 1, &["too large"]),
        (&["i.log"], 1, &["ignore rules"]),
        (&["dir"], 2, &["dir is a directory"]),
        (&["dir", "@"], 2, &["dir is a directory"]),
        (&["."], 2, &["is a directory"]),
        (
            &["gone.txt"],
            3,
            &["`gone.txt` is in no checkpoint", "backstitch log --all"],
        ),
        (&["gone.txt", "@"], 3, &["`gone.txt` is in no checkpoint"]),
        (
            &["a.txt", "c99"],
            3,
            &["there is no checkpoint c99: the newest is c"],
        ),
        (&["../out.txt"], 2, &["not in the workspace"]),
    ] {
        let output = world.run(["blame"].iter().chain(args)).expect_code(code);
        for word in words {
            assert!(output.stderr.contains(word), "no {word:?} in {output}");
        }
        assert_eq!(output.stdout, "", "{output}");
    }
    // a file that no scan has recorded yet is the user's
    world.write("new.txt", "new\n");
    assert_eq!(blame(&world, ["new.txt"]), ["new: you new"]);
    World::new().run(["blame", "a.txt"]).expect_code(3);
}

fn engine(world: &World) -> Engine {
    let workspace = Workspace::find(&Locate {
        workspace: Some(&world.root),
        store_dir: Some(&world.state.join("backstitch/workspaces")),
        cwd: &world.root,
    });
    Engine::open(&workspace.expect("a workspace")).expect("the store")
}

/// Text from an editor: lines that are neither recorded nor on disk are marked as not saved.
#[test]
fn unsaved_text_is_marked_as_not_saved() {
    let world = one_file(FIVE_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "two", "2");
    world.write("a.txt", world.read("a.txt").replace("five", "FIVE"));
    let engine = engine(&world);
    assert_eq!(
        engine
            .history()
            .head()
            .expect("a head")
            .map(|h| h.to_string()),
        Some(world.id("t1 Edit: modify a.txt"))
    );
    let of = |path: &str, text: &str| -> Vec<String> {
        let path = RelPath::new(path).expect("a path");
        let blame = engine
            .blamer()
            .blame(&path, Against::Text(text.as_bytes()))
            .expect("an answer");
        assert_eq!(blame.text, text.as_bytes());
        let who = |by: &By| match by {
            By::Agent(work) => work.tool.clone().unwrap_or_default(),
            other => format!("{other:?}"),
        };
        blame
            .lines()
            .map(|(number, line, author)| {
                let line = String::from_utf8_lossy(line).trim_end().to_owned();
                format!("{number} {line} {}", who(&author.by))
            })
            .collect()
    };
    assert_eq!(
        of("a.txt", "typed\none\n2\nfour\nFIVE\n"),
        [
            "1 typed Unsaved",
            "2 one Before",
            "3 2 Edit",
            "4 four Before",
            "5 FIVE User"
        ]
    );
    assert_eq!(of("new.txt", "a\nb"), ["1 a Unsaved", "2 b Unsaved"]);
    assert_eq!(of("a.txt", ""), Vec::<String>::new());
}

/// A process that writes to the store does not block blame, and a cache of another content is not used.
#[test]
fn a_locked_store_and_a_wrong_cache_do_no_harm() {
    let world = one_file(FIVE_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "two", "2");
    agent.edit("a.txt", "three", "3");
    let store = rusqlite::Connection::open(world.store().join("store.db")).expect("the store");
    store
        .execute_batch("BEGIN IMMEDIATE")
        .expect("a transaction");
    let began = Instant::now();
    let expected = blame(&world, ["a.txt"]);
    assert!(
        began.elapsed() < at_most(Duration::from_secs(4)),
        "{:?}",
        began.elapsed()
    );
    let rows = |store: &rusqlite::Connection| -> i64 {
        store
            .query_row("SELECT COUNT(*) FROM blame", [], |r| r.get(0))
            .expect("a count")
    };
    store.execute_batch("ROLLBACK").expect("its end");
    assert_eq!(rows(&store), 0);
    assert_eq!(blame(&world, ["a.txt"]), expected);
    assert!(rows(&store) > 0);
    for wrong in [
        "x'01'",
        "x''",
        "zeroblob(40)",
        "substr(runs, 1, length(runs) - 1)",
        "runs || x'0100'",
    ] {
        let sql = format!("UPDATE blame SET runs = {wrong}");
        store.execute(&sql, []).expect("a row");
        assert_eq!(blame(&world, ["a.txt"]), expected, "{wrong}");
    }
}

/// The lines that an edit changed are recorded with it, so that blame does not read all states of a history.
#[test]
fn blame_does_not_read_intermediate_states() {
    let body = (0..60).map(|n| format!("line {n}\n")).collect::<Vec<_>>();
    let body = body.concat();
    let world = World::committed(&[("a.txt", &body)]);
    let mut agent = world.agent();
    agent.prompt("go");
    for n in 0..60 {
        agent.edit(
            "a.txt",
            &format!("line {n}\n"),
            &format!("{n} line\nand more\n"),
        );
    }
    let expected = blame(&world, ["a.txt"]);
    let store = rusqlite::Connection::open(world.store().join("store.db")).expect("the store");
    let run = |sql: &str| store.execute(sql, []).expect("a change of the store");
    assert!(run("DELETE FROM blame") > 0);
    // neither the first state, nor the last, nor the bases of their deltas
    let damaged = run(
        "UPDATE blob SET data = zeroblob(length(data)) WHERE n NOT IN (
           WITH RECURSIVE needed(n) AS (SELECT MAX(n) FROM blob WHERE size > 600 UNION SELECT MIN(n) FROM blob
             UNION SELECT base FROM blob JOIN needed USING (n) WHERE base IS NOT NULL) SELECT n FROM needed)
         AND data IS NOT NULL AND size > 600",
    );
    assert!(damaged > 40, "{damaged}");
    assert_eq!(blame(&world, ["a.txt"]), expected);
    // rows that do not match are ignored: then blame needs the states
    for wrong in ["x'01'", "x'0101010000'", "lines || x'00'"] {
        run("DELETE FROM blame");
        run(&format!(
            "UPDATE hunks SET lines = {wrong} WHERE change = (SELECT MAX(change) - 20 FROM hunks)"
        ));
        let refused = world.run(["blame", "a.txt"]);
        assert!(
            refused.code != 0 && refused.stderr.contains("content"),
            "{refused}"
        );
        assert_eq!(run("DELETE FROM blame"), 0);
    }
}

/// Blame distinguishes an editor's text from the saved one: `--contents FILE`, or `-` for stdin.
#[test]
fn the_contents_option_blames_unsaved_text() {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\n")]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "two", "2");
    agent.stop();
    world.write("a.txt", "one\n2\nthree\nsaved\n");
    let text = "zero\none\n2\nthree\nsaved\n";
    let mut command = world.backstitch();
    command.args(["--json", "blame", "a.txt", "--contents", "-"]);
    let piped = crate::support::finish(&mut command, text.as_bytes())
        .expect_code(0)
        .json();
    assert_eq!(piped["against"], "text");
    let lines = piped["lines"].as_array().expect("lines");
    let who: Vec<String> = lines
        .iter()
        .map(|l| {
            format!(
                "{} {}",
                l["text"].as_str().expect("text"),
                l["by"].as_str().expect("by")
            )
        })
        .collect();
    assert_eq!(
        who,
        [
            "zero user",
            "one before",
            "2 agent",
            "three before",
            "saved user"
        ]
    );
    assert_eq!(lines[2]["turn"], "t1");
    let named = world.home.join("buffer");
    std::fs::write(&named, text).expect("written");
    let named = named.to_str().expect("UTF-8");
    assert_eq!(world.json(["blame", "a.txt", "--contents", named]), piped);
    let shown = world.ok(["blame", "a.txt", "--contents", named, "-L", "1,1"]);
    assert!(
        shown.stdout.contains("you") && shown.stdout.contains("not saved"),
        "{shown}"
    );
    assert!(
        world.history().iter().all(|l| !l.starts_with("you")),
        "nothing was recorded"
    );
    world
        .run(["blame", "a.txt", "--contents", "/nowhere"])
        .expect_code(3);
    world
        .run(["blame", "a.txt", "t1", "--contents", named])
        .expect_code(2);
}

/// Hunks chosen by the user, and files with decided conflicts, keep the authors of the lines that come back. Only
/// lines that neither side had are the user's.
#[test]
fn chosen_hunks_keep_the_authors_of_their_lines() {
    let world = one_file(FIVE_LINES);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "one", "1");
    agent.stop();
    agent.prompt("second");
    agent.edit(
        "a.txt",
        "1\ntwo\nthree\nfour\nfive",
        "uno\ntwo\nthree\nfour\ncinque",
    );
    agent.stop();
    let diff = world.json(["diff", "@", "t2"]);
    let hunk = |added: &str| -> String {
        let hunks = diff["files"][0]["hunks"].as_array().expect("hunks").iter();
        let mut found = hunks.filter(|h| h["added"][0] == added);
        let id = &found.next().expect("a hunk")["id"];
        id.as_str().expect("an id").to_owned()
    };
    world.ok(["revert", "t2", "--hunk", &hunk("1")]);
    assert_eq!(
        blame(&world, ["a.txt"]),
        [
            "1: t1 Edit",
            "two: before",
            "three: before",
            "four: before",
            "cinque: t2 Edit"
        ]
    );
    world.ok(["undo"]);
    world.ok(["revert", "t2", "--hunk", &hunk("five")]);
    assert_eq!(
        blame(&world, ["a.txt"]),
        [
            "uno: t2 Edit",
            "two: before",
            "three: before",
            "four: before",
            "five: before"
        ]
    );
    world.ok(["undo"]);
    // decided by the user, who had edited the line
    world.write("a.txt", world.read("a.txt").replace("uno", "mine"));
    world.ok(["revert", "t2", "--on-conflict", "target"]);
    assert_eq!(blame(&world, ["a.txt"])[0], "1: t1 Edit");
    assert_eq!(blame(&world, ["a.txt"])[4], "five: before");
}
