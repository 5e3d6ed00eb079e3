//! The agent's last turn in one step, and plans that say whose work goes and whose stays.

use serde_json::Value;

use crate::rewind::refused;
use crate::support::World;
use crate::support::scenarios::{NINE_LINES, first_of_two_turns, two_turns_around_an_own_edit};
use crate::support::tree::assert_same;

fn strings(list: &Value, name: &str) -> Vec<String> {
    let items = list.as_array().expect("a list");
    let text = |item: &Value| item[name].as_str().unwrap_or_default().to_owned();
    items.iter().map(text).collect()
}

/// S4-037: undo restores the previous state. S4-049: undo last turn, here `rewind` without a place, then the one before.
/// S4-050: redo last turn, here `undo`, which brings it back.
#[test]
fn rewind_without_a_place_undoes_the_last_turn() {
    let world = two_turns_around_an_own_edit();
    let both = world.tree();
    world.ok(["rewind", "t2"]);
    let one = world.tree();
    world.ok(["undo"]);
    assert_same(&world.tree(), &both);

    let done = world.ok(["rewind"]).stdout;
    assert!(done.contains("Rewound to before “"), "{done}");
    assert_same(&world.tree(), &one);
    world.ok(["rewind"]);
    assert!(!world.exists("b.txt"), "the first turn's file");
    refused(
        &world,
        &["rewind"],
        &["no agent's turn is left to undo", "backstitch log"],
    );
    world.ok(["undo"]);
    assert_same(&world.tree(), &one);
    world.ok(["rewind", "@turn"]);
    world.ok(["undo"]);
    assert_same(&world.tree(), &one);
}

/// `undo` without an operation names the step that was meant.
#[test]
fn undo_without_an_operation_offers_the_last_turn() {
    let world = two_turns_around_an_own_edit();
    refused(
        &world,
        &["undo"],
        &[
            "no operation to undo",
            "`backstitch rewind` undoes the agent's last turn",
        ],
    );
}

/// Three turns of one session, and t3 of another one between them: in one file, and in its own file.
fn two_agents() -> World {
    let world = World::committed(&[("a.txt", NINE_LINES), ("c.txt", "c\n")]);
    let mut agent = world.agent();
    first_of_two_turns(&mut agent);
    world.write("a.txt", world.read("a.txt").replace("nine", "NINE (mine)"));
    agent.turn("second", |agent| {
        agent.edit("a.txt", "five", "5");
        agent.bash("rm c.txt");
    });
    world.turn("Translate it", |other| {
        other.edit("a.txt", "eight", "EIGHT");
        other.write("other.txt", "other\n");
    });
    agent.turn("third", |agent| {
        agent.edit("a.txt", "three", "3");
    });
    world
}

/// A plan names the turns that are undone and those that stay, with the letters of their sessions.
#[test]
fn a_plan_says_whose_work_goes_and_whose_stays() {
    let world = two_agents();
    let plan = world.plan(["rewind", "t2"]);
    assert_eq!(strings(&plan["takes"], "turn"), ["t4", "t2"]);
    assert_eq!(strings(&plan["takes"], "letter"), ["A", "A"]);
    assert_eq!(strings(&plan["stays"], "turn"), ["t3"]);
    assert_eq!(strings(&plan["stays"], "letter"), ["B"]);
    assert_eq!(plan["stays"][0]["prompt"], "Translate it");
    let letters = strings(&plan["actions"], "letter");
    assert_eq!(letters, ["M", "A"], "{plan}");

    let text = world.ok(["rewind", "t2", "--dry-run"]).stdout;
    for words in [
        "Rewind to before “",
        "Undoes 2 turns (t2, t4) of session A.",
        "Keeps turn “Translate it” of session B.",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    world.ok(["rewind", "t2"]);
    assert!(world.read("a.txt").contains("EIGHT"));
    assert!(world.exists("other.txt"));
    let operations = world.json(["oplog"]);
    let title = operations["operations"][0]["title"].as_str();
    let title = title.expect("a title").to_owned();
    assert!(title.starts_with("rewind to before “"), "{title}");
    let text = world.ok(["undo", "--dry-run"]).stdout;
    assert!(text.contains(&format!("Undo the {title}")), "{text}");
    assert!(text.contains("Brings back 2 turns (t2, t4)."), "{text}");
}

/// `--all-sessions` undoes the later work of the other agents, too, and keeps the user's edit.
#[test]
fn all_sessions_can_be_rewound_together() {
    let world = two_agents();
    let before = world.tree();
    let plan = world.plan(["rewind", "t2", "--all-sessions"]);
    assert_eq!(strings(&plan["takes"], "turn"), ["t4", "t3", "t2"]);
    assert_eq!(strings(&plan["stays"], "turn"), [""; 0]);
    world.ok(["rewind", "t2", "--all-sessions"]);
    assert!(!world.exists("other.txt"));
    let text = world.read("a.txt");
    assert!(text.contains("(mine)") && !text.contains("EIGHT"), "{text}");
    world.ok(["undo"]);
    assert_same(&world.tree(), &before);
}

/// A plan names the user's own edits: those that stay, and those that an exact rewind discards.
#[test]
fn a_plan_names_the_users_own_edits() {
    let world = two_turns_around_an_own_edit();
    let plan = world.plan(["rewind", "t1"]);
    assert_eq!(
        plan["own_edits"].as_array().map(Vec::len),
        Some(1),
        "{plan}"
    );
    let text = world.ok(["rewind", "t1", "--dry-run"]).stdout;
    assert!(text.contains("Your own edits in a.txt stay."), "{text}");
    let text = world.ok(["rewind", "t1", "--exact", "--dry-run"]).stdout;
    assert!(text.contains("Discards your own edits in a.txt."), "{text}");
}

/// Sessions are told apart in the log as soon as there are two.
#[test]
fn the_log_has_letters_for_two_sessions() {
    let world = two_turns_around_an_own_edit();
    let of_turns = |text: &str| -> Vec<String> {
        let turns = text
            .lines()
            .filter(|line| line.contains("t1 ") || line.contains("t3 "));
        turns.map(str::to_owned).collect()
    };
    let one = world.ok(["log"]).stdout;
    assert!(!of_turns(&one).iter().any(|l| l.contains(" A ")), "{one}");
    let world = two_agents();
    let text = world.ok(["log"]).stdout;
    let lines = of_turns(&text);
    assert!(lines.iter().any(|l| l.contains(" A ")), "{text}");
    assert!(lines.iter().any(|l| l.contains(" B ")), "{text}");
    let history = world.checkpoints();
    let of_second = history.iter().find(|c| c.json["turn"] == "t3");
    assert_eq!(of_second.expect("t3").json["letter"], "B");
}

/// A plan that moves a part of a turn says so: one of its steps, one of its files, or some of its lines. So does the log.
#[test]
fn a_part_of_a_turn_is_told_from_the_whole() {
    let world = two_turns_around_an_own_edit();
    let said = |args: &[&str]| {
        let mut all = args.to_vec();
        all.push("--dry-run");
        world.ok(all).stdout
    };
    let log = world.json(["log", "--kind", "step"]);
    let steps = strings(&log["checkpoints"], "id");
    let [.., second_of_first, edit_of_first] = steps.as_slice() else {
        panic!("{log}");
    };
    for (args, part) in [
        (
            vec!["revert", edit_of_first],
            "Undoes a part of turn “first”.",
        ),
        (
            vec!["rewind", edit_of_first],
            "Undoes turn “second” and a part of turn “first”.",
        ),
        (vec!["rewind", second_of_first], "Undoes turn “second”."),
    ] {
        let text = said(&args);
        assert!(text.contains(part), "{args:?}: {text}");
    }
    let plan = world.plan(["revert", edit_of_first]);
    assert_eq!(plan["takes"][0]["part"], true, "{plan}");
    assert_eq!(world.plan(["revert", "t1"])["takes"][0]["part"], false);

    // a file of a turn: the title says so
    let text = said(&["rewind", "t2", "--path", "c.txt"]);
    assert!(text.contains("Rewind c.txt to before “second”"), "{text}");
    assert!(!text.contains("Undoes"), "{text}");

    // some lines: the log and the undo name them as that
    let diff = world.json(["diff", "t1"]);
    let hunk = |file: &Value| file["hunks"][0]["id"].as_str().map(str::to_owned);
    let files = diff["files"].as_array().expect("files");
    let file = files.iter().find(|file| file["path"] == "a.txt");
    let id = file.and_then(hunk).expect("a hunk");
    world.ok(["rewind", "t1", "--hunk", &id]);
    let title = "rewind of some lines of a.txt to before “first”";
    let operations = world.json(["oplog"]);
    assert_eq!(operations["operations"][0]["title"], title);
    assert!(world.ok(["log"]).stdout.contains(title));
    let text = said(&["undo"]);
    assert!(text.contains(&format!("Undo the {title}")), "{text}");

    // an undo brings back the part, not the steps that are in force anyway
    world.ok(["undo"]);
    world.ok(["revert", edit_of_first]);
    let text = said(&["undo"]);
    assert!(
        text.contains("Brings back a part of turn “first”"),
        "{text}"
    );
    // a path that is given twice is one; a few are named
    let text = said(&["rewind", "t1", "--path", "a.txt", "--path", "./a.txt"]);
    assert!(text.contains("Rewind a.txt to before"), "{text}");
    let text = said(&["rewind", "t1", "--path", "a.txt", "--path", "c.txt"]);
    assert!(text.contains("Rewind a.txt, c.txt to before"), "{text}");
}

/// A turn that changed nothing, or whose work is undone, is skipped and named.
#[test]
fn turns_that_are_skipped_are_named() {
    let world = two_turns_around_an_own_edit();
    world.turn("look around", |_| ());
    let done = world.ok(["rewind"]);
    assert!(
        done.stderr
            .contains("nothing of t3 is in force; this undoes the turn before"),
        "{done}"
    );
    assert!(done.stdout.contains("Rewound to before “second”"), "{done}");
}

/// Work that is to go, and waits for the decision of a conflict, is not said to stay.
#[test]
fn a_conflict_keeps_no_turn_that_is_to_go() {
    let world = World::new();
    world.write("a.txt", NINE_LINES);
    let (mut first, mut second) = (world.agent(), world.agent());
    first.prompt("first");
    first.edit("a.txt", "two", "2");
    first.stop();
    second.prompt("second");
    second.edit("a.txt", "six", "6");
    second.stop();
    let keeps = "Keeps turn “second”";
    let kept = world.ok(["rewind", "t1", "--dry-run"]).stdout;
    assert!(kept.contains(keeps), "the other session's: {kept}");

    world.write("a.txt", world.read("a.txt").replace('6', "mine"));
    world.ok(["checkpoint"]);
    let all = ["rewind", "t1", "--all-sessions", "--dry-run"];
    let undecided = refused(&world, &all, &["conflicts in"]).stdout;
    assert!(!undecided.contains(keeps), "{undecided}");
}

/// Everything that moves is in conflict: the plan still says whose work it is.
#[test]
fn a_plan_of_conflicts_alone_names_its_session() {
    let world = World::new();
    world.write("a.txt", NINE_LINES);
    let (mut first, mut second) = (world.agent(), world.agent());
    first.turn("first", |agent| {
        agent.edit("a.txt", "one", "1");
    });
    second.turn("second", |agent| {
        agent.edit("a.txt", "six", "6");
    });
    first.turn("third", |agent| {
        agent.edit("a.txt", "two", "2");
    });
    world.write("a.txt", world.read("a.txt").replace('6', "mine"));
    world.ok(["checkpoint"]);
    let text = refused(&world, &["rewind", "t2", "--dry-run"], &["conflicts in"]).stdout;
    let words = "Undoes turn “second” of session B, once its conflicts are decided.";
    assert!(text.contains(words), "{text}");
    let words = "Keeps turn “third” of session A.";
    assert!(text.contains(words), "{text}");
}

/// An undo of one file names it, and leaves the rest of the operation to be undone.
#[test]
fn an_undo_of_a_part_leaves_the_rest() {
    let world = two_turns_around_an_own_edit();
    let before = world.tree();
    world.ok(["rewind", "t1"]);
    let rewound = world.tree();
    let title = "rewind to before “first”";
    let done = world.ok(["undo", "--path", "c.txt"]).stdout;
    assert!(
        done.contains(&format!("Undid the {title} in c.txt")),
        "{done}"
    );
    assert!(!world.exists("c.txt") && !world.exists("b.txt"));
    assert!(world.ok(["log"]).stdout.contains(title));
    let oplog = world.json(["oplog"]);
    assert_eq!(
        oplog["operations"][0]["title"],
        format!("undo of the {title} in c.txt")
    );
    // the rest, and all of it again
    world.ok(["undo"]);
    assert_same(&world.tree(), &before);
    world.ok(["redo"]);
    assert_same(&world.tree(), &rewound);
    // a part is done again, then the rest
    world.ok(["undo"]);
    world.ok(["redo", "--path", "b.txt"]);
    assert!(!world.exists("c.txt") && !world.exists("b.txt"));
    world.ok(["redo"]);
    assert_same(&world.tree(), &rewound);
    // paths that are all of it name the operation as a whole
    let whole = world.ok(["undo", "--path", "a.txt", "b.txt", "c.txt"]);
    assert!(!whole.stdout.contains(" in a.txt"), "{whole}");
    assert_same(&world.tree(), &before);
    refused(&world, &["undo"], &["no operation to undo"]);
}

/// Without a place, the last turn is that of the named session, or the last one that changed the named path.
#[test]
fn the_last_turn_of_a_session_or_of_a_path() {
    let world = two_agents();
    let title = |args: &[&str]| {
        let text = world.ok(args).stdout;
        text.lines().next().unwrap_or_default().to_owned()
    };
    for (limit, turn) in [
        (vec!["--session", "B"], "Rewind to before “Translate it”"),
        (vec!["--session", "A"], "Rewind to before “third”"),
        (vec!["--path", "c.txt"], "Rewind c.txt to before “second”"),
        (
            vec!["--path", "other.txt"],
            "Rewind other.txt to before “Translate it”",
        ),
    ] {
        let args = [&["rewind", "--dry-run"], limit.as_slice()].concat();
        let line = title(&args);
        assert!(line.starts_with(turn), "{args:?}: {line}");
    }
    world.ok(["rewind", "--session", "B"]);
    let none = ["no turn of session B is left to undo"];
    refused(&world, &["rewind", "--session", "B"], &none);
    world.write("mine.txt", "mine\n");
    world.ok(["checkpoint"]);
    let none = ["no agent's turn is left to undo on this branch in these paths"];
    refused(&world, &["rewind", "--path", "mine.txt"], &none);
}

/// A last turn that was undone by hand is skipped and named.
#[test]
fn a_turn_taken_back_by_hand_is_skipped() {
    let world = two_turns_around_an_own_edit();
    let before = world.tree();
    world.turn("by hand", |agent| {
        agent.edit("a.txt", "three", "3");
    });
    // not recorded yet
    world.write("a.txt", world.read("a.txt").replace('3', "three"));
    let done = world.ok(["rewind"]);
    assert!(done.stdout.contains("Rewound to before “second”"), "{done}");
    assert!(done.stderr.contains("nothing of t3"), "{done}");
    world.ok(["undo"]);
    assert_same(&world.tree(), &before);
}

/// A place that was typed among the paths is not a path, and the message says where it belongs.
#[test]
fn a_place_after_paths_has_a_hint() {
    let world = two_turns_around_an_own_edit();
    let typed = ["rewind", "--path", "a.txt", "t1"];
    let output = world.run(typed).expect_code(3);
    for words in ["t1", "`backstitch rewind t1 --path a.txt`"] {
        assert!(output.stderr.contains(words), "no {words:?} in {output}");
    }
}
