//! Names of branches and tags: which are taken, and which are refused.

use serde_json::json;

use super::{names, says};
use crate::support::scenarios::{SEVEN_LINES, an_edit_and_a_new_file};

/// S2-070, S2-071: names of branches, tags and labels may have blanks, in both forms and in every command that takes one.
#[test]
fn names_may_have_blanks() {
    let world = an_edit_and_a_new_file();
    world.ok(["checkpoint", "-m", "all tests green"]);
    world.ok([
        "branch",
        "create",
        "my second idea",
        "--from",
        "all tests green",
    ]);
    let made = world.ok(["branch", "t1", "a c1 fix"]).stdout;
    assert!(
        made.contains("To switch: backstitch switch 'a c1 fix'"),
        "{made}"
    );
    world.ok(["tag", "works on c2", "all tests green"]);
    assert_eq!(names(&world), ["main*", "my second idea", "a c1 fix"]);
    world.ok(["switch", "my second idea"]);
    world.ok(["diff", "a c1 fix", "works on c2^"]);
    world.ok(["rewind", "works on c2", "--exact"]);
    world.ok(["switch", "a c1 fix"]);
    assert!(
        world
            .ok(["log", "--graph", "--all"])
            .stdout
            .contains("◀ a c1 fix")
    );
    world.ok(["branch", "rename", "my second idea", "another idea"]);
    world.ok(["branch", "delete", "another idea"]);
    assert_eq!(names(&world), ["main", "a c1 fix*"]);
    let oplog = world.ok(["oplog"]).stdout;
    assert!(oplog.contains("a c1 fix"), "{oplog}");
    let refused = world.run(["undo"]).expect_code(1);
    let again = "`backstitch branch create 'another idea' --from c5` restores it";
    assert!(refused.stderr.contains(again), "{refused}");
    world.ok(["tag", "--delete", "works on c2"]);
    world.ok(["verify"]);
}

/// S2-070, S2-071, S2-073, S2-077, S2-082, S2-D2, S4-062, S4-071, S4-072: names, both forms of each command, and the
/// names that they refuse. Each command is a separate process that reads the names saved by an earlier one.
#[test]
fn branch_and_tag_names_are_checked() {
    let world = an_edit_and_a_new_file();
    let t1 = world.id("t1: first idea");
    world.ok(["branch", "create", "one", "--from", "t1"]);
    world.ok(["branch", "t1", "two"]);
    world.ok(["branch", "create", "three"]);
    world.ok(["checkpoint", "-m", "a label"]);
    world.ok(["branch", "create", "four", "--from", "a label"]);
    assert_eq!(names(&world), ["main*", "one", "two", "three", "four"]);
    assert_eq!(
        world.json(["ancestor", "two", "main"])["ancestor"],
        json!(t1)
    );
    world.ok(["branch", "rename", "two", "deux"]);
    world.ok(["branch", "delete", "one"]);
    assert_eq!(names(&world), ["main*", "deux", "three", "four"]);
    // the name is free again
    world.ok(["branch", "create", "one"]);
    world.ok(["tag", "works", "t1"]);
    world.ok(["tag", "now"]);
    assert_eq!(world.json(["show", "works"])["tags"], json!(["works"]));
    let tags = world.json(["tag"])["tags"].clone();
    assert_eq!(
        (&tags[0]["name"], &tags[1]["checkpoint"]),
        (&json!("now"), &json!(t1))
    );
    world.ok(["tag", "--delete", "works"]);
    for (args, code, words) in [
        (
            vec!["switch", "nowhere"],
            3,
            vec!["nowhere", "backstitch branch"],
        ),
        (
            vec!["branch", "create", "x", "--from", "c99"],
            3,
            vec!["c99"],
        ),
        (vec!["branch", "create", "main"], 1, vec!["main", "already"]),
        (
            vec!["branch", "create", "now"],
            1,
            vec!["tag `now`", "already"],
        ),
        (vec!["tag", "three"], 1, vec!["branch `three`", "already"]),
        (vec!["tag", "c1"], 1, vec!["c1", "numbers"]),
        (vec!["branch", "create", "t7"], 1, vec!["t7", "numbers"]),
        (vec!["branch", "create", "a\tb"], 1, vec!["character"]),
        (vec!["branch", "create", " a"], 1, vec!["blank"]),
        (vec!["tag", "a  b"], 1, vec!["a  b", "blank"]),
        (
            vec!["branch", "create", "x (deleted, 3)"],
            1,
            vec!["deleted branches"],
        ),
        (vec!["branch", "create", ""], 2, vec!["empty"]),
        (vec!["branch", "delete", "main"], 1, vec!["main", "current"]),
        (
            vec!["branch", "delete", "one and only"],
            3,
            vec!["one and only"],
        ),
        (
            vec!["branch", "rename", "three", "main"],
            1,
            vec!["main", "already"],
        ),
        (
            vec!["tag", "--delete", "works"],
            3,
            vec!["works", "backstitch tag"],
        ),
        (vec!["branch", "t1"], 2, vec!["NAME"]),
    ] {
        says(&world.run(&args), code, &words);
    }
}

/// Names that git refuses, that are invisible, or that are too long are refused with the reason.
#[test]
fn names_that_git_refuses_are_refused() {
    let world = an_edit_and_a_new_file();
    let long = "x".repeat(256);
    for (name, why) in [
        ("a..b", "two dots"),
        ("..", "two dots"),
        ("../../etc", "two dots"),
        ("a//b", "slash"),
        ("/a", "slash"),
        ("a/", "slash"),
        (".hidden", "dot"),
        ("a/.b", "dot"),
        ("a.", "dot"),
        ("a.lock", ".lock"),
        ("a.lock/b", ".lock"),
        ("a\tb", "character"),
        ("a?", "character"),
        ("a*", "character"),
        ("a[b", "character"),
        ("\u{202e}abc", "character"),
        ("a\u{200b}b", "character"),
        ("a\u{1b}b", "character"),
        (&long, "255 bytes"),
    ] {
        let refused = world.run(["fork", "@", name]);
        says(&refused, 1, &["cannot be a name", why]);
        let misleads = |c: char| ['\u{202e}', '\u{1b}'].contains(&c);
        assert!(!refused.stderr.contains(misleads), "{:?}", refused.stderr);
        says(&world.run(["tag", name]), 1, &["cannot be a name", why]);
    }
    assert_eq!(names(&world), ["main*"]);
    for name in ["feature/one-two_3.4", "ü", "x.locked", &long[..255]] {
        world.ok(["fork", "@", name]);
    }
    // the third form
    world.ok(["branch", "--from", "t1", "--name", "idea2"]);
    world.ok(["branch", "--name", "idea3"]);
    assert_eq!(world.at("idea2", "a.txt").as_deref(), Some(SEVEN_LINES));
    world.run(["branch", "--from", "t1"]).expect_code(2);
    // a long name does not shift the other columns, and deleted names are marked
    world.ok(["branch", "delete", "idea3"]);
    let list = world.ok(["branch", "list"]).stdout;
    let row = |name: &str| {
        let found = list.lines().find(|line| line[2..].starts_with(name));
        found
            .unwrap_or_else(|| panic!("no {name} in {list}"))
            .to_owned()
    };
    assert!(
        row("xxx").starts_with(&format!("  {}…  c", "x".repeat(31))),
        "{list}"
    );
    assert!(row("idea3 ").contains(" deleted  from "), "{list}");
    assert!(!row("idea2 ").contains("deleted"), "{list}");
    assert!(
        list.lines().last().expect("a line").starts_with("  idea3 "),
        "{list}"
    );
}
