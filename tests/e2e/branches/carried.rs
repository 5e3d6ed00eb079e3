//! Edits of the user that a switch carries to the other branch.

use serde_json::json;

use super::{names, nothing_new, says};
use crate::support::history::{actions, conflicts};
use crate::support::scenarios::{SEVEN_LINES, an_edit_and_a_new_file};
use crate::support::tree::assert_same;

/// `--carry` merges user edits into the other branch. They also stay on the branch that is left.
#[test]
fn carry_merges_user_edits_into_the_other_branch() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2"]);
    world.write("a.txt", world.read("a.txt").replace("seven", "mine"));
    world.write("new.txt", "new\n");
    let left = world.tree();
    let plan = world.plan(["switch", "idea2", "--carry"]);
    assert_eq!(actions(&plan), ["merge a.txt", "delete b.txt"]);
    assert_same(&world.tree(), &left);
    world.ok(["switch", "idea2", "--carry"]);
    assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("seven", "mine"));
    assert_eq!(world.read("new.txt"), "new\n");
    assert!(!world.exists("b.txt"));
    let there = world.tree();
    nothing_new(&world);
    world.ok(["switch", "main"]);
    assert_same(&world.tree(), &left);
    world.ok(["switch", "idea2"]);
    assert_same(&world.tree(), &there);
    world.ok(["verify"]);
}

/// Where carried edits conflict, nothing changes until the conflict is decided.
#[test]
fn a_carry_with_conflicts_changes_nothing() {
    let decided = |how: &str| {
        let world = an_edit_and_a_new_file();
        world.ok(["fork", "t1", "idea2"]);
        world.ok(["switch", "idea2"]);
        let mut agent = world.agent();
        agent.prompt("second idea");
        agent.edit("a.txt", "seven", "SEVEN");
        world.ok(["switch", "main"]);
        world.write("a.txt", world.read("a.txt").replace("seven", "mine"));
        let before = world.tree();
        let output = world.run(["--json", "switch", "idea2", "--carry"]);
        assert_eq!(
            (output.code, conflicts(&output.json())),
            (1, vec!["a.txt".to_owned()])
        );
        assert_same(&world.tree(), &before);
        assert_eq!(names(&world), ["main*", "idea2"]);
        world.ok(["switch", "idea2", "--carry", "--on-conflict", how]);
        assert_eq!(names(&world), ["main", "idea2*"]);
        let text = world.read("a.txt");
        world.ok(["switch", "main"]);
        assert_same(&world.tree(), &before);
        text
    };
    assert_eq!(decided("current"), SEVEN_LINES.replace("seven", "mine"));
    assert_eq!(decided("target"), SEVEN_LINES.replace("seven", "SEVEN"));
    let marked = decided("markers");
    for part in ["<<<<<<<", "SEVEN", "=======", "mine", ">>>>>>>"] {
        assert!(marked.contains(part), "{marked}");
    }
}

/// `--carry` takes the edits that the user made since the last switch, and nothing older: neither edits parked by an
/// earlier switch nor files from before the branch.
#[test]
fn carry_takes_only_edits_since_the_last_switch() {
    let world = an_edit_and_a_new_file();
    for name in ["idea2", "idea3", "idea4"] {
        world.ok(["fork", "t1", name]);
    }
    world.write("parked.txt", "parked\n");
    world.ok(["switch", "idea2"]);
    world.ok(["switch", "main"]);
    world.write("fresh.txt", "fresh\n");
    let carried = world.plan(["switch", "idea2", "--carry"]);
    assert_eq!(
        actions(&carried),
        ["write a.txt", "delete b.txt", "delete parked.txt"]
    );
    world.ok(["switch", "idea2", "--carry"]);
    assert!(!world.exists("parked.txt"));
    assert_eq!(world.read("fresh.txt"), "fresh\n");
    // edits carried here are carried on from here
    world.ok(["switch", "idea3", "--carry"]);
    assert_eq!(world.read("fresh.txt"), "fresh\n");
    world.ok(["switch", "main"]);
    assert!(world.exists("parked.txt") && world.exists("fresh.txt"));
    // the edits stay with the branch on which they were recorded
    world.write("c.txt", "mine\n");
    world.ok(["fork", "@", "side", "--switch"]);
    assert_eq!(world.read("c.txt"), "mine\n");
    world.ok(["switch", "idea4", "--carry"]);
    assert_eq!(world.read("c.txt"), "c\n");
    // after switching back, the files are as before
    world.ok(["switch", "main"]);
    world.write("again.txt", "again\n");
    world.ok(["switch", "idea4"]);
    world.ok(["undo"]);
    world.ok(["switch", "idea4", "--carry"]);
    assert_eq!(world.read("again.txt"), "again\n");
    assert!(!world.exists("parked.txt"));
    world.ok(["verify"]);
}

/// The undo of a switch takes out the edits that it carried, and redo carries them again. Nothing is lost.
#[test]
fn undo_of_a_switch_takes_out_carried_edits() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2"]);
    world.write("a.txt", world.read("a.txt").replace("seven", "mine"));
    world.write("new.txt", "new\n");
    let here = world.tree();
    let switched = world.json(["switch", "idea2", "--carry"]);
    let there = world.tree();
    let carried = world.at("@", "a.txt");
    for _ in 0..2 {
        let plan = world.plan(["undo"]);
        assert_eq!(plan["uncarried"], json!(["a.txt", "new.txt"]), "{plan:#}");
        world.ok(["undo"]);
        assert_same(&world.tree(), &here);
        assert_eq!(names(&world), ["main*", "idea2"]);
        assert_eq!(world.at("idea2", "a.txt").as_deref(), Some(SEVEN_LINES));
        assert_eq!(world.at("idea2", "new.txt"), None);
        nothing_new(&world);
        world.ok(["redo"]);
        assert_same(&world.tree(), &there);
        assert_eq!(names(&world), ["main", "idea2*"]);
        nothing_new(&world);
    }
    let node = switched["checkpoint"].as_str().expect("an id");
    assert_eq!(world.at(node, "a.txt"), carried);
    let op = switched["operation"].as_str().expect("an id");
    for line in [
        "you (carried from main): modify a.txt, create new.txt".to_owned(),
        format!("undo {op}: modify a.txt, delete new.txt"),
        format!("redo {op}: modify a.txt, create new.txt"),
    ] {
        assert!(world.history().contains(&line), "{:#?}", world.history());
    }
    // text that the user has written there since stays there
    world.write("a.txt", world.read("a.txt").replace("one", "since"));
    world.ok(["undo"]);
    assert_same(&world.tree(), &here);
    assert_eq!(
        world.at("idea2", "a.txt"),
        Some(SEVEN_LINES.replace("one", "since"))
    );
    world.ok(["switch", "idea2"]);
    assert!(!world.exists("new.txt"));
    world.ok(["switch", "main"]);
    assert_same(&world.tree(), &here);
    world.ok(["verify"]);
}

/// Where carried text was edited further, the undo is a conflict to decide. It is carried out on the branch that they
/// were carried to.
#[test]
fn undo_asks_where_carried_edits_were_changed() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea2"]);
    world.ok(["fork", "t1", "idea3"]);
    world.ok(["switch", "idea2"]);
    let mut agent = world.agent();
    agent.prompt("second idea");
    agent.edit("a.txt", "seven", "SEVEN");
    agent.stop();
    world.ok(["switch", "main"]);
    world.write("a.txt", world.read("a.txt").replace("seven", "mine"));
    let here = world.tree();
    let switched = world.json(["switch", "idea2", "--carry", "--on-conflict", "markers"]);
    assert!(world.read("a.txt").contains("<<<<<<<"));
    let op = switched["operation"].as_str().expect("an id");
    world.ok(["undo"]);
    assert_same(&world.tree(), &here);
    let before = SEVEN_LINES.replace("seven", "SEVEN");
    assert_eq!(world.at("idea2", "a.txt"), Some(before.clone()));
    world.ok(["redo"]);
    assert!(world.read("a.txt").contains("<<<<<<<"));
    world.ok(["switch", "idea3"]);
    says(
        &world.run(["undo", op]),
        1,
        &["idea2", "not the current branch"],
    );
    world.ok(["switch", "idea2"]);
    world.write("a.txt", world.read("a.txt").replace("mine", "mine, too"));
    let there = world.tree();
    let output = world.run(["--json", "undo", op]);
    assert_eq!(
        (output.code, conflicts(&output.json())),
        (1, vec!["a.txt".to_owned()])
    );
    assert_same(&world.tree(), &there);
    world.ok(["undo", op, "--on-conflict", "target"]);
    assert_same(&world.tree(), &here);
    assert_eq!(world.at("idea2", "a.txt"), Some(before));
    world.ok(["verify"]);
}
