//! Reverts of one turn or step in the middle: allowed, refused, and with nothing to do.

use crate::rewind::with;
use crate::support::World;
use crate::support::history::conflicts;
use crate::support::scenarios::two_turns_around_an_own_edit;
use crate::support::tree::assert_same;

/// The common story, and a turn of another session after it: t3 edits line two.
fn two_sessions() -> (World, [String; 2]) {
    let world = two_turns_around_an_own_edit();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("third");
    agent.edit("a.txt", "two", "2");
    agent.stop();
    let of = |line: &str| {
        let session = world.checkpoint(line).json["session"].clone();
        session.as_str().expect("an id").to_owned()
    };
    let ids = [of("t1: first"), of("t3: third")];
    (world, ids)
}

#[track_caller]
fn nothing(world: &World, args: &[&str], why: &str) {
    let before = world.history();
    let said = world.ok(args);
    let all = format!("{}{}", said.stdout, said.stderr);
    assert!(all.contains(&format!("Nothing to do: {why}")), "{said}");
    assert_eq!(world.json(args)["nothing"], why, "{args:?}");
    assert_eq!(world.history(), before);
}

/// `--session` leaves the work of all others alone, for a turn and for the revert of a rewind.
#[test]
fn a_revert_can_be_limited_to_one_session() {
    let (world, [first, second]) = two_sessions();
    world.ok(["revert", "t1", "t3", "--session", &second]);
    let edits = [("one", "1"), ("five", "5"), ("nine", "NINE (mine)")];
    assert_eq!(world.read("a.txt"), with(&edits));
    assert!(world.exists("b.txt"), "the first session's");
    world.ok(["undo"]);
    world.ok(["revert", "t1", "t2", "t3"]);
    assert_eq!(world.read("a.txt"), with(&[("nine", "NINE (mine)")]));
    world.ok(["revert", "@", "--session", &second]);
    assert_eq!(
        world.read("a.txt"),
        with(&[("two", "2"), ("nine", "NINE (mine)")])
    );
    assert!(!world.exists("b.txt"));
    world.ok(["undo"]);
    nothing(
        &world,
        &["revert", "t3", "--session", &first],
        &format!("session {first} changed nothing in t3"),
    );
    let before = world.tree();
    world
        .run(["revert", "t1", "--session", "nobody"])
        .expect_code(3);
    // a revert has no target whose exact state it could restore
    world.run(["revert", "t1", "--exact"]).expect_code(2);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// A turn and its revert cannot both be taken out.
#[test]
fn reverting_a_turn_and_its_revert_is_refused() {
    let (world, _) = two_sessions();
    let reverted = world.json(["revert", "t2"])["checkpoint"].clone();
    let reverted = reverted.as_str().expect("an id");
    let (tree, history) = (world.tree(), world.history());
    for args in [["revert", "t2", reverted], ["revert", reverted, "t2"]] {
        let output = world.run(args).expect_code(2);
        for word in ["t2", reverted, "contradict"] {
            assert!(output.stderr.contains(word), "no {word} in {output}");
        }
    }
    assert_same(&world.tree(), &tree);
    assert_eq!(world.history(), history);
    // each alone, and those that are independent, as before
    world.ok(["revert", reverted, "t3"]);
    assert!(!world.exists("c.txt"));
    assert!(world.read("a.txt").contains("two"));
}

/// A revert with nothing to do says why.
#[test]
fn a_revert_with_nothing_to_do_says_why() {
    let (world, _) = two_sessions();
    nothing(&world, &["revert", "c1"], "c1 changed nothing");
    let reverted = world.json(["revert", "t2"])["checkpoint"].clone();
    let reverted = reverted.as_str().expect("an id");
    let why = format!("the changes of t2 are already undone, by {reverted}");
    nothing(&world, &["revert", "t2"], &why);
    nothing(&world, &["revert", "t2", "--dry-run"], &why);
    let again = world.json(["revert", reverted])["checkpoint"].clone();
    let again = again.as_str().expect("an id");
    nothing(
        &world,
        &["revert", reverted],
        &format!("the changes of {reverted} are already undone, by {again}"),
    );
    world.ok(["fork", "t1", "idea2", "--switch"]);
    nothing(
        &world,
        &["revert", "t3"],
        "t3 is not in the history of the current state, and none of its changes are in force here",
    );
    assert!(conflicts(&world.plan(["revert", "t3"])).is_empty());
}
