//! `review -i`, and the review of one turn across files.

use serde_json::json;

use crate::support::{Output, World, finish};
use crate::terminal::Terminal;

const NUMBERS: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

/// Two turns: the first changes both files, the second one of them.
fn two_turns() -> World {
    let world = World::committed(&[("a.txt", NUMBERS), ("b.txt", NUMBERS)]);
    let mut agent = world.agent();
    agent.prompt("shout the first");
    agent.edit("a.txt", "one\n", "ONE\n");
    agent.edit("b.txt", "two\n", "TWO\n");
    agent.stop();
    agent.prompt("shout the last");
    agent.edit("a.txt", "nine\n", "NINE\n");
    agent.stop();
    world
}

fn walk(world: &World, options: &[&str], answers: &str) -> Output {
    let mut command = world.backstitch();
    command.args(["review", "-i"]).args(options);
    finish(&mut command, answers.as_bytes())
}

fn places(world: &World, args: &[&str]) -> Vec<String> {
    let found = world.json(["review"].iter().chain(args));
    let mut all = Vec::new();
    for file in found["files"].as_array().expect("files") {
        for hunk in file["hunks"].as_array().expect("hunks") {
            let path = file["path"].as_str().expect("a path");
            all.push(format!(
                "{path}:{} {}",
                hunk["new"][0],
                hunk["turn"].as_str().expect("a turn")
            ));
        }
    }
    all
}

/// One turn is reviewed across files, and kept alone.
#[test]
fn one_turn_is_reviewed_across_files() {
    let world = two_turns();
    assert_eq!(
        places(&world, &[]),
        ["a.txt:1 t1", "a.txt:9 t2", "b.txt:2 t1"]
    );
    assert_eq!(
        places(&world, &["--turn", "t1"]),
        ["a.txt:1 t1", "b.txt:2 t1"]
    );
    let text = world.ok(["review", "--turn", "t1"]).stdout;
    assert!(
        text.contains("a.txt:1  t1 shout the first\n-one\n+ONE\n"),
        "{text}"
    );
    assert!(text.contains("2 files, 2 hunks to review"), "{text}");
    let kept = world.ok(["review", "--turn", "t1", "--keep"]).stdout;
    assert!(kept.contains("Marked 2 hunks as reviewed."), "{kept}");
    assert_eq!(places(&world, &[]), ["a.txt:9 t2"]);
    let wrong = world.run(["review", "--turn", "c1"]).expect_code(2);
    assert!(wrong.stderr.contains("c1 is not a turn"), "{wrong}");
}

/// Each answer is carried out at once: keep, undo, go on and back. An undo is an operation like any other.
#[test]
fn hunks_are_kept_and_undone_one_by_one() {
    let world = two_turns();
    let done = walk(&world, &[], "n\np\nk\nu\nq\n").expect_code(0).stdout;
    for part in [
        "(1/3) a.txt:1  t1 shout the first",
        "(2/3) a.txt:9  t2 shout the last",
        "(1/2) a.txt:9",
        "Undone in a.txt (op1). To bring it back: backstitch undo",
        "(1/1) b.txt:2",
        "Kept 1 change, undid 1 change; 1 change is left to review.",
    ] {
        assert!(done.contains(part), "no {part:?} in {done}");
    }
    assert_eq!(world.read("a.txt"), NUMBERS.replace("one", "ONE"));
    assert_eq!(world.read("b.txt"), NUMBERS.replace("two", "TWO"));
    assert_eq!(places(&world, &[]), ["b.txt:2 t1"]);
    world.ok(["undo"]);
    assert_eq!(
        world.read("a.txt"),
        NUMBERS.replace("one", "ONE").replace("nine", "NINE")
    );
    let rest = walk(&world, &["--turn", "t1"], "?\nk\n")
        .expect_code(0)
        .stdout;
    assert!(rest.contains("u - undo this change in the file"), "{rest}");
    assert!(rest.contains("nothing is left to review"), "{rest}");
    assert_eq!(walk(&world, &[], "").code, 0);
    world.ok(["verify"]);
}

/// A change that was undone and brought back is to be reviewed again, also where the rest of its file was kept in between.
#[test]
fn an_undone_change_that_comes_back_is_reviewed_again() {
    let world = two_turns();
    walk(&world, &[], "u\nk\nq\n").expect_code(0);
    assert_eq!(places(&world, &[]), ["b.txt:2 t1"]);
    world.ok(["undo"]);
    assert_eq!(
        world.read("a.txt"),
        NUMBERS.replace("one", "ONE").replace("nine", "NINE")
    );
    assert_eq!(places(&world, &[]), ["a.txt:1 t1", "b.txt:2 t1"]);
}

/// Files are skipped and kept as a whole; the end of the input changes nothing.
#[test]
fn a_walk_goes_from_file_to_file() {
    let world = two_turns();
    let done = walk(&world, &[], "f\n").expect_code(0).stdout;
    assert!(done.contains("(3/3) b.txt:2"), "{done}");
    assert!(
        done.contains("Nothing was changed; 3 changes are left to review."),
        "{done}"
    );
    let done = walk(&world, &[], "K\nq\n").expect_code(0).stdout;
    assert!(
        done.contains("Kept 2 changes; 1 change is left to review."),
        "{done}"
    );
    assert_eq!(world.json(["oplog"])["operations"], json!([]));
    let wrong = world.run(["review", "-i", "--json"]).expect_code(2);
    assert!(wrong.stderr.contains("--interactive asks"), "{wrong}");
}

/// On a terminal each answer is a key, without Enter, and a change is shown with the lines around it.
#[test]
fn a_walk_by_keys() {
    let world = two_turns();
    let mut command = world.backstitch();
    command.args(["review", "-i"]);
    let mut terminal = Terminal::run(command);
    terminal.expect_next("+ONE\r\n two\r\n three\r\n four\r\n");
    terminal.expect_next("]? ");
    terminal.type_in("n");
    terminal.expect_next(" six\r\n seven\r\n eight\r\n-nine\r\n+NINE\r\n");
    terminal.expect_next("]? ");
    terminal.type_in("u");
    terminal.expect_next("Undone in a.txt");
    terminal.expect_next("]? ");
    terminal.type_in("p");
    terminal.expect_next("(1/2) a.txt:1");
    terminal.expect_next("]? ");
    terminal.type_in("k");
    terminal.expect_next("(1/1) b.txt:2");
    terminal.expect_next("]? ");
    terminal.type_in("\u{3}");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("Kept 1 change, undid 1 change; 1 change is left to review."),
        "{shown}"
    );
    // a change that is undone and brought back waits for its review as before
    world.ok(["undo"]);
    assert_eq!(places(&world, &[]), ["a.txt:9 t2", "b.txt:2 t1"]);
}
