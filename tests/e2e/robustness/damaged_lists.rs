//! Damaged lists in rows: each is an error that names the row, and never as good as an empty list.

use rusqlite::Connection;

use crate::support::scenarios::two_turns_of_edits_and_commands;
use crate::support::tree::assert_same;
use crate::support::{Output, World, finish};

fn damage(world: &World, sql: &str) {
    let db = Connection::open(world.store().join("store.db")).expect("the store");
    let rows = db.execute(sql, []).expect("damaged");
    assert!(rows > 0, "{sql}");
}

#[track_caller]
fn is_named(output: &Output, row: &str) {
    assert_ne!(output.code, 0, "{output}");
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains(row), "{row}: {output}");
    assert!(said.contains("damaged"), "{output}");
}

/// The list of edits of an interrupted restore cannot be read: nothing of it is recorded as if it were nothing, and the
/// files are as before it.
#[test]
fn the_journal_of_a_restore() {
    let mut seen = 0;
    for point in 1..40 {
        for column in ["taken_out", "put_back"] {
            let world = two_turns_of_edits_and_commands();
            let before = world.tree();
            let mut rewind = world.backstitch();
            rewind
                .args(["rewind", "t1"])
                .env("BACKSTITCH_FAULT", point.to_string());
            if finish(&mut rewind, b"").code != 137 {
                continue;
            }
            let db = Connection::open(world.store().join("store.db")).expect("the store");
            let open = "SELECT EXISTS (SELECT 1 FROM operation WHERE state = 'open')";
            let is_open: bool = db.query_row(open, [], |r| r.get(0)).expect("a state");
            drop(db);
            if !is_open {
                continue;
            }
            seen += 1;
            damage(
                &world,
                &format!("UPDATE journal_file SET {column} = '[1, '"),
            );
            let output = world.run(["log"]);
            is_named(&output, &format!("{column} of file"));
            assert!(output.stderr.contains("backstitch verify"), "{output}");
            assert_same(&world.tree(), &before);
            // it is undone by now, and named where one looks for it
            is_named(&world.run(["verify"]), "in journal_file of op1");
            world.ok(["rewind", "t1"]);
        }
        if seen >= 4 {
            return;
        }
    }
    panic!("{seen} were open");
}

/// The selection of a partial rewind says which checkpoints belong together: `gc` lets none of them go.
#[test]
fn what_a_part_of_a_rewind_moved() {
    for column in ["taken_out", "put_back"] {
        let world = two_turns_of_edits_and_commands();
        world.ok(["rewind", "t2"]);
        damage(
            &world,
            &format!("UPDATE journal_file SET as_user = 1, {column} = ''"),
        );
        let output = world.run(["gc", "--keep-days", "0"]);
        is_named(&output, &format!("{column} of file"));
        assert!(output.stderr.contains("backstitch verify"), "{output}");
        world.ok(["show", "t1"]);
        is_named(&world.run(["verify"]), "in journal_file of op1");
    }
}

/// Coverage, the rules of the last scan, and what a checkpoint stands for.
#[test]
fn what_is_known_of_looks() {
    for (sql, row, command) in [
        (
            "UPDATE node SET coverage = '{' WHERE id = (SELECT MAX(id) FROM node)",
            "the coverage of c",
            &["show", "@"][..],
        ),
        (
            "UPDATE root SET coverage = '{'",
            "the coverage of root 1",
            &["status"],
        ),
        (
            "UPDATE root SET excludes = '{'",
            "the rules of root 1",
            &["checkpoint", "-m", "x"],
        ),
        (
            "UPDATE node SET squashed = '{' WHERE id = (SELECT MAX(id) FROM node)",
            "the squashed nodes of c",
            &["show", "@"],
        ),
    ] {
        let world = two_turns_of_edits_and_commands();
        damage(&world, sql);
        world.write("a.txt", "mine\n");
        world.write(".gitignore", "x\n");
        is_named(&world.run(command), row);
        is_named(&world.run(["verify"]), row);
        assert_eq!(world.read("a.txt"), "mine\n");
    }
}

/// Values of columns that are none of ours: a kind, a state, an author, an image.
#[test]
fn values_that_no_column_has() {
    for (sql, row, command) in [
        (
            "UPDATE operation SET kind = 'bake'",
            "row 1 of table operation",
            &["oplog"][..],
        ),
        (
            "UPDATE operation SET state = 'baked'",
            "row 1 of table operation",
            &["undo"],
        ),
        (
            "UPDATE root SET pending = -7",
            "row 1 of table root",
            &["checkpoint", "-m", "x"],
        ),
        (
            "UPDATE file_state SET image = x'09' WHERE path = x'612e747874'",
            "row `a.txt` of table file_state",
            &["checkpoint", "-m", "x"],
        ),
    ] {
        let world = two_turns_of_edits_and_commands();
        world.ok(["rewind", "t2"]);
        damage(&world, sql);
        world.write("a.txt", "mine\n");
        is_named(&world.run(command), row);
        is_named(&world.run(["verify"]), row);
        assert_eq!(world.read("a.txt"), "mine\n");
    }
    let world = two_turns_of_edits_and_commands();
    damage(&world, "UPDATE call SET effect = 9");
    is_named(&world.run(["verify"]), "row 1 of table call");
}

/// A number or a word that is not a value of an enum: an error that names the table.
#[test]
fn what_is_none_of_an_enum() {
    for (sql, row, command) in [
        (
            "UPDATE change SET role = 7",
            "of table change",
            &["log"][..],
        ),
        (
            "UPDATE change SET session_certainty = 9",
            "of table change",
            &["log"],
        ),
        ("UPDATE moved SET sign = 0", "of table moved", &["log"]),
        (
            "UPDATE node SET kind = 'none' WHERE id = (SELECT MAX(id) FROM node)",
            "of table node",
            &["show", "@"],
        ),
    ] {
        let world = two_turns_of_edits_and_commands();
        world.ok(["rewind", "t2"]);
        damage(&world, sql);
        is_named(&world.run(command), row);
        is_named(&world.run(["verify"]), row);
    }
}
