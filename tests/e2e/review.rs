//! `review`: the work of agents since the user last looked, across later turns, the user's edits, renames, branches and
//! rewinds.

use serde_json::Value;

use crate::support::World;
use crate::support::scenarios::{NINE_LINES, one_turn_in_two_files};

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Returns a line for each file and hunk of an answer: `modify a.txt`, `t1 2: two > 2`.
fn shown(answer: &Value) -> Vec<String> {
    let texts = |hunk: &Value, side: &str| -> String {
        let lines = hunk[side].as_array().expect("lines").iter();
        let lines: Vec<&str> = lines.map(|line| line.as_str().expect("text")).collect();
        lines.join(",")
    };
    let mut all = Vec::new();
    for file in answer["files"].as_array().expect("files") {
        let from = match word(file, "from") {
            "" => String::new(),
            from => format!(" from {from}"),
        };
        all.push(format!(
            "{} {}{from}",
            word(file, "kind"),
            word(file, "path")
        ));
        for hunk in file["hunks"].as_array().expect("hunks") {
            let (removed, added) = (texts(hunk, "removed"), texts(hunk, "added"));
            let line = &hunk["new"][0];
            all.push(format!(
                "{} {line}: {removed} > {added}",
                word(hunk, "turn")
            ));
        }
    }
    all
}

#[track_caller]
fn review<'a>(world: &World, args: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    shown(&world.json(["review"].into_iter().chain(args)))
}

const NONE: [&str; 0] = [];

#[test]
fn a_kept_file_is_listed_again_with_new_work_only() {
    let world = one_turn_in_two_files();
    let first = [
        "modify a.txt",
        "t1 2: two > 2",
        "modify b.txt",
        "t1 2: two > 2",
    ];
    assert_eq!(review(&world, []), first);
    assert_eq!(review(&world, ["a.txt", "--keep"]), first[..2]);
    assert_eq!(review(&world, []), first[2..]);
    let mut agent = world.agent();
    agent.prompt("second");
    agent.edit("a.txt", "five", "5");
    agent.stop();
    let second = ["modify a.txt", "t2 5: five > 5"];
    assert_eq!(review(&world, ["a.txt"]), second);
    assert_eq!(review(&world, []), [&second[..], &first[2..]].concat());
    let text = world.ok(["review"]).stdout;
    for part in ["M  a.txt", "M  b.txt", "2 files, 2 hunks to review"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let text = world.ok(["review", "a.txt"]).stdout;
    for part in ["a.txt:5  t2 second", "-five\n+5\n"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    world.ok(["review", "--keep"]);
    assert_eq!(world.ok(["review"]).stdout, "Nothing to review\n");
    // one step back, then another
    assert_eq!(review(&world, ["a.txt", "--unkeep"]), second);
    let both = ["modify a.txt", "t1 2: two > 2", "t2 5: five > 5"];
    assert_eq!(review(&world, ["a.txt", "--unkeep"]), both);
    assert_eq!(review(&world, ["a.txt", "--unkeep"]), both);
}

/// Returns the name of the state that a list shows of a file.
fn shown_state(world: &World, path: &str) -> String {
    let listed = world.json(["review", path]);
    word(&listed["files"][0], "shown").to_owned()
}

#[test]
fn hunks_at_lines_are_kept_and_taken_back() {
    let world = one_turn_in_two_files();
    let mut agent = world.agent();
    agent.prompt("second");
    agent.edit("a.txt", "five", "5");
    agent.edit("a.txt", "eight", "8");
    agent.stop();
    let lines = |lines: &[&'static str]| -> Vec<String> {
        let rest = review(
            &world,
            ["a.txt", "--lines"]
                .into_iter()
                .chain(lines.iter().copied()),
        );
        rest.into_iter().skip(1).collect()
    };
    let [two, five] = ["t1 2: two > 2", "t2 5: five > 5"];
    assert_eq!(lines(&["4,6"]), [five]);
    let text = world.ok(["review", "a.txt", "--keep", "--lines", "5-8"]);
    assert!(
        text.to_string().contains("Marked 2 hunks as reviewed"),
        "{text}"
    );
    assert_eq!(lines(&["1"]), [two]);
    // one of them is undone, and then the rest
    assert_eq!(lines(&["5,+1", "--unkeep"]), [five]);
    assert_eq!(review(&world, ["a.txt"])[1..], [two, five]);
    // the user's line in between moves the lines
    world.write("a.txt", format!("zero\n{}", world.read("a.txt")));
    assert_eq!(
        lines(&["3", "--unkeep"]),
        ["t1 3: two > 2", "t2 6: five > 5", "t2 9: eight > 8"]
    );
    for (args, words) in [
        (
            ["review", "--keep", "--lines", "1"].as_slice(),
            "--lines is about one file",
        ),
        (
            &["review", "a.txt", "--keep", "--lines", "x"],
            "is not a range of lines",
        ),
        (
            &["review", "a.txt", "--keep", "--shown", "x"],
            "is not the `shown`",
        ),
    ] {
        let output = world.run(args.iter().copied()).expect_code(2);
        assert!(output.stderr.contains(words), "{output}");
    }
}

#[test]
fn unkeep_walks_back_through_all_kept_states() {
    let world = one_turn_in_two_files();
    let mut expected = vec![review(&world, ["a.txt"])];
    world.ok(["review", "a.txt", "--keep"]);
    for (old, new) in [("four", "4"), ("six", "6"), ("eight", "8")] {
        let mut agent = world.agent();
        agent.prompt(new);
        agent.edit("a.txt", old, new);
        agent.stop();
        let step: Vec<String> = review(&world, ["a.txt"]);
        expected.push(step);
        world.ok(["review", "a.txt", "--keep"]);
    }
    let mut listed = Vec::new();
    while let Some(step) = expected.pop() {
        // everything that was kept since is listed, too
        let new: Vec<String> = step.into_iter().skip(1).collect();
        listed = [new, listed].concat();
        let left = review(&world, ["a.txt", "--unkeep"]);
        assert_eq!(left[1..], listed);
    }
    assert_eq!(review(&world, ["a.txt", "--unkeep"])[1..], listed);
    // a state that is kept again is the newest one
    world.ok(["review", "a.txt", "--keep"]);
    assert_eq!(review(&world, ["a.txt"]), NONE);
    assert_eq!(review(&world, ["a.txt", "--unkeep"])[1..], listed);
}

#[test]
fn only_the_shown_state_is_kept() {
    let world = one_turn_in_two_files();
    let shown = shown_state(&world, "a.txt");
    let mut agent = world.agent();
    agent.prompt("meanwhile");
    agent.edit("a.txt", "five", "5");
    agent.stop();
    world.write("a.txt", world.read("a.txt").replace("nine", "mine"));
    let second = ["modify a.txt", "t2 5: five > 5"];
    world.ok(["review", "a.txt", "--keep", "--shown", &shown]);
    assert_eq!(review(&world, ["a.txt"]), second);
    // an older list changes nothing
    let old = shown_state(&world, "a.txt");
    agent.prompt("again");
    agent.edit("a.txt", "six", "6");
    agent.stop();
    world.ok(["review", "a.txt", "--keep"]);
    assert_eq!(review(&world, ["a.txt", "--keep", "--shown", &old]), NONE);
    assert_eq!(review(&world, ["a.txt"]), NONE);
    let output = world.run(["review", "b.txt", "--keep", "--shown", "s999"]);
    let output = output.expect_code(1);
    assert!(
        output.stderr.contains("no longer in the history"),
        "{output}"
    );
}

/// As in `git diff`, such a file has changed.
#[test]
fn a_change_of_line_ends_alone_is_named() {
    let world = one_turn_in_two_files();
    world.ok(["review", "--keep"]);
    let mut agent = world.agent();
    agent.prompt("for Windows");
    agent.bash("sed -i 's/$/\\r/' a.txt");
    agent.stop();
    assert_eq!(review(&world, []), ["modify a.txt"]);
    let text = world.ok(["review"]).stdout;
    for part in ["a.txt", "line ends", "1 file to review"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert_eq!(world.json(["review"])["files"][0]["line_ends"], true);
    world.ok(["review", "--keep"]);
    assert_eq!(world.ok(["review"]).stdout, "Nothing to review\n");
}

#[test]
fn edits_of_the_user_are_reviewed() {
    let world = one_turn_in_two_files();
    world.write("a.txt", world.read("a.txt").replace("nine", "mine"));
    assert_eq!(review(&world, ["a.txt"]), ["modify a.txt", "t1 2: two > 2"]);
    // the user's own version of the agent's line
    world.write("a.txt", world.read("a.txt").replace("2\n", "II\n"));
    assert_eq!(review(&world, ["a.txt"]), NONE);
    let mut agent = world.agent();
    agent.prompt("lines");
    agent.edit("a.txt", "five\n", "five\nA\nB\nC\n");
    agent.edit("b.txt", "nine\n", "");
    agent.stop();
    world.write("a.txt", world.read("a.txt").replace("B\n", "mine, too\n"));
    world.write("b.txt", world.read("b.txt").replace("one\n", "1\n"));
    let left = [
        "modify a.txt",
        "t2 6:  > A",
        "t2 8:  > C",
        "modify b.txt",
        "t1 2: two > 2",
        "t2 9: nine > ",
    ];
    assert_eq!(review(&world, []), left);
}

#[test]
fn new_deleted_and_renamed_files() {
    let world = World::committed(&[
        ("a.txt", NINE_LINES),
        ("b.txt", "b\n"),
        ("c.txt", NINE_LINES),
    ]);
    let mut agent = world.agent();
    agent.prompt("files");
    agent.write("new.txt", "new\n");
    agent.bash("rm b.txt && mv c.txt d.txt");
    agent.edit("d.txt", "two", "2");
    agent.stop();
    let all = [
        "delete b.txt",
        "t1 1: b > ",
        "rename d.txt from c.txt",
        "t1 2: two > 2",
        "create new.txt",
        "t1 1:  > new",
    ];
    assert_eq!(review(&world, []), all);
    assert_eq!(review(&world, ["b.txt", "c.txt", "--keep"]), all[..4]);
    assert_eq!(review(&world, []), all[4..]);
    agent.prompt("more");
    agent.edit("d.txt", "five", "5");
    agent.bash("rm new.txt");
    agent.stop();
    assert_eq!(review(&world, []), ["modify d.txt", "t2 5: five > 5"]);
    // the user's rename
    world.sh("mv d.txt e.txt").expect_code(0);
    assert_eq!(review(&world, []), ["modify e.txt", "t2 5: five > 5"]);
}

#[test]
fn a_rewound_change_is_not_listed_until_it_is_undone() {
    let world = one_turn_in_two_files();
    let first = ["modify a.txt", "t1 2: two > 2"];
    world.ok(["review", "b.txt", "--keep"]);
    let mut agent = world.agent();
    agent.prompt("second");
    agent.edit("a.txt", "five", "5");
    agent.edit("b.txt", "five", "5");
    agent.stop();
    let before = review(&world, []);
    assert_eq!(before.len(), 5, "{before:?}");
    world.ok(["rewind", "t2", "--yes"]);
    assert_eq!(review(&world, []), first);
    // the reviewed change is rewound, too
    world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(review(&world, []), NONE);
    world.ok(["undo", "--yes"]);
    assert_eq!(review(&world, []), first);
    world.ok(["undo", "--yes"]);
    assert_eq!(review(&world, []), before);
}

#[test]
fn a_branch_has_its_own_reviews_and_those_before_its_fork() {
    let world = one_turn_in_two_files();
    world.ok(["review", "a.txt", "--keep"]);
    world.ok(["fork", "@", "idea", "--switch"]);
    let second = ["modify b.txt", "t1 2: two > 2"];
    assert_eq!(review(&world, []), second);
    world.ok(["review", "--keep"]);
    assert_eq!(review(&world, []), NONE);
    assert_eq!(
        review(&world, ["a.txt", "--unkeep"]),
        ["modify a.txt", "t1 2: two > 2"]
    );
    world.ok(["switch", "main", "--yes"]);
    assert_eq!(review(&world, []), second);
    world.ok(["switch", "idea", "--yes"]);
    assert_eq!(review(&world, []), ["modify a.txt", "t1 2: two > 2"]);
}

#[test]
fn gc_keeps_what_is_reviewed() {
    let world = one_turn_in_two_files();
    world.ok(["review", "a.txt", "--keep"]);
    let mut agent = world.agent();
    for line in ["three", "four", "five"] {
        agent.prompt(line);
        agent.edit("a.txt", line, &line.to_uppercase());
        agent.stop();
    }
    let lines = |all: Vec<String>| -> Vec<String> {
        let line = |text: &String| text.split_once(' ').map(|(_, line)| line.to_owned());
        all.iter().filter_map(line).collect()
    };
    let before = lines(review(&world, []));
    world.ok(["gc", "--keep", "1", "--keep-days", "0"]);
    assert_eq!(lines(review(&world, [])), before);
    world.ok(["verify"]);
}

#[test]
fn a_workspace_without_history_has_nothing_to_review() {
    let world = World::new();
    assert_eq!(world.ok(["review"]).stdout, "Nothing to review\n");
    assert_eq!(review(&world, []), NONE);
    let world = one_turn_in_two_files();
    let output = world.run(["review", "none.txt"]).expect_code(3);
    assert!(output.stderr.contains("none.txt"), "{output}");
}

/// Where several sessions wrote a file, its lines and changes are told apart by the sessions' letters.
#[test]
fn sessions_of_a_file_have_their_letters_in_blame_and_review() {
    let world = World::new();
    world.write("a.txt", NINE_LINES);
    let mut first = world.agent();
    first.prompt("the first");
    first.edit("a.txt", "two", "2");
    first.stop();
    for command in ["blame", "review"] {
        let alone = world.ok([command, "a.txt"]).stdout;
        assert!(!alone.contains(" A "), "{alone}");
    }
    let mut second = world.agent();
    second.prompt("the second");
    second.edit("a.txt", "eight", "8");
    second.stop();
    let blame = world.ok(["blame", "a.txt"]).stdout;
    let line = |number: usize| blame.lines().nth(number - 1).unwrap_or_default();
    assert!(
        line(2).contains(" A t1 Edit") && line(8).contains(" B t2 Edit"),
        "{blame}"
    );
    let review = world.ok(["review", "a.txt"]).stdout;
    assert!(review.contains("a.txt:2  A t1 the first"), "{review}");
    assert!(review.contains("a.txt:8  B t2 the second"), "{review}");
}
