//! Snapshots of what people see: help, views, plans, errors and the texts in editors. `snapshots/` has one file per view.
//!
//! A snapshot shows each command with its output, and its exit status unless that is 0. Filters replace ids, times,
//! sizes, versions and temporary paths. [`days_ago`] moves a history into the past, so that ages are the same in each run.

mod editor;
mod errors;
mod plans;

use std::fmt::Write as _;

use crate::support::World;
use crate::support::scenarios::{
    SEVEN_LINES, kinds_of_changes, one_turn_in_two_files, six_turns_and_an_own_edit, two_files,
    two_sessions, two_turns_around_an_own_edit,
};

/// Texts that differ between runs, and their replacements.
const FILTERS: [(&str, &str); 11] = [
    (r"work-[0-9a-f]{16}", "[STORE]"),
    (r"/[^\s`'“]*backstitch-test-\w+", "[DIR]"),
    (r"\b[0-9a-f]{13,64}\b", "[HASH]"),
    (r"\b\d+(\.\d+)? ([KMG]i)?B\b", "[SIZE]"),
    (r"backstitch \d+\.\d+\.\d+", "backstitch [VERSION]"),
    (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?", "[TIME]"),
    (r" +(just now|\d+ (s|min) ago)\b", " [NOW]"),
    (r"\((just now|\d+ (s|min) ago)\)", "([NOW])"),
    (r"\bpid \d+\b", "pid [PID]"),
    (r"this one knows \d+", "this one knows [SCHEMA]"),
    (r" +\n", "\n"),
];

/// Compares a view with its snapshot.
#[track_caller]
fn check(name: &str, text: &str) {
    let mut settings = insta::Settings::new();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (pattern, replacement) in FILTERS {
        settings.add_filter(pattern, replacement);
    }
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// A command line with its output, as on a terminal.
fn shown(world: &World, args: &[&str]) -> String {
    let quoted = |arg: &&str| {
        if arg.contains(' ') {
            format!("\"{arg}\"")
        } else {
            (*arg).to_owned()
        }
    };
    let words: Vec<String> = args.iter().map(quoted).collect();
    let output = world.run(args);
    let mut text = format!("$ backstitch {}\n", words.join(" ").trim());
    text += &output.stdout;
    text += &output.stderr;
    if output.code != 0 {
        writeln!(text, "[exit status {}]", output.code).expect("a text");
    }
    text
}

/// Several commands, one after the other.
fn session(world: &World, all: &[&[&str]]) -> String {
    let all: Vec<String> = all.iter().map(|args| shown(world, args)).collect();
    all.join("\n")
}

/// Moves all that has been recorded three days into the past.
fn days_ago(world: &World) {
    let db = rusqlite::Connection::open(world.store().join("store.db")).expect("a database");
    for table in ["node", "operation"] {
        let sql = format!("UPDATE {table} SET time = time - 3 * 86400000000");
        db.execute(&sql, []).expect("older");
    }
}

/// Commands that a help lists, in a section or in several ones, after the examples and before the options.
fn listed(help: &str) -> Vec<String> {
    let is_example = |line: &str| line.starts_with("  ") || line.is_empty();
    let mut lines = help.lines().peekable();
    while let Some(line) = lines.next_if(|line| *line != "Options:") {
        if ["Examples:", "Start here:"].contains(&line) {
            while lines.next_if(|line| is_example(line)).is_some() {}
            break;
        }
    }
    let lines = lines.take_while(|line| *line != "Options:");
    let rows = lines.filter_map(|line| line.strip_prefix("  "));
    let rows = rows.filter(|row| row.starts_with(|first: char| first.is_ascii_lowercase()));
    let names = rows.filter_map(|row| row.split_whitespace().next());
    names.map(str::to_owned).collect()
}

#[test]
fn help_of_every_command() {
    let world = World::new();
    // the last ones are not listed
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    open.extend(["acp", "hook", "lsp", "mcp"].map(|name| vec![name.to_owned()]));
    let mut count = 0;
    while let Some(command) = open.pop() {
        let mut args: Vec<&str> = command.iter().map(String::as_str).collect();
        args.push("--help");
        let help = world.ok(&args).stdout;
        let name = ["help"]
            .into_iter()
            .chain(args[..args.len() - 1].iter().copied());
        let name: Vec<&str> = name.collect();
        check(&name.join("-"), &help);
        count += 1;
        let below = listed(&help).into_iter().filter(|name| name != "help");
        open.extend(below.map(|name| [&command[..], &[name]].concat()));
    }
    assert!(count > 30, "{count}");
}

#[test]
fn a_workspace_without_a_history() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let all: [&[&str]; 8] = [
        &["status"],
        &["log"],
        &["init"],
        &["review"],
        &["tag"],
        &["branch"],
        &["oplog"],
        &["gc"],
    ];
    check("without-history", &session(&world, &all));
}

#[test]
fn status() {
    let world = two_turns_around_an_own_edit();
    world.ok(["rewind", "t2"]);
    let all: [&[&str]; 3] = [&["status"], &["oplog"], &["stats"]];
    days_ago(&world);
    check("status", &session(&world, &all));
}

#[test]
fn the_timeline() {
    let world = two_turns_around_an_own_edit();
    world.ok(["rewind", "t2"]);
    world.ok(["tag", "works"]);
    world.ok(["fork", "t2", "idea", "--switch"]);
    world.turn(
        "another idea, with a prompt that is too long for a narrow terminal",
        |agent| {
            agent.edit("a.txt", "six", "6");
        },
    );
    days_ago(&world);
    check(
        "log",
        &session(&world, &[&["log"], &["log", "--all", "--kind", "turn"]]),
    );
    check("log-graph", &shown(&world, &["log", "--graph", "--all"]));
    for (name, columns) in [("narrow", "48"), ("wide", "140")] {
        let world = world.beside("work").with("COLUMNS", columns);
        let all: [&[&str]; 2] = [&["log"], &["log", "--graph", "--all"]];
        check(&format!("log-{name}"), &session(&world, &all));
    }
}

#[test]
fn a_checkpoint_and_its_changes() {
    let world = kinds_of_changes();
    let step = world.checkpoints()[3].id.clone();
    world.write("a.txt", "one\nTWO\nmine\n");
    days_ago(&world);
    check(
        "show",
        &session(
            &world,
            &[&["show", "t1"], &["show", &step], &["show", "green"]],
        ),
    );
    let all: [&[&str]; 4] = [
        &["diff", "--stat", "t1"],
        &["diff", "--name-status", "t1"],
        &["diff", "t1", "--", "a.txt"],
        &["diff", "--word", "t1", "--", "a.txt"],
    ];
    check("diff", &session(&world, &all));
}

#[test]
fn authors_of_lines() {
    let world = two_turns_around_an_own_edit();
    days_ago(&world);
    check("blame", &shown(&world, &["blame", "a.txt"]));
}

#[test]
fn work_to_review() {
    let world = one_turn_in_two_files();
    days_ago(&world);
    let all: [&[&str]; 5] = [
        &["review"],
        &["review", "a.txt"],
        &["review", "a.txt", "--keep"],
        &["review"],
        &["review", "a.txt", "--unkeep"],
    ];
    check("review", &session(&world, &all));
}

#[test]
fn branches_and_tags() {
    let world = two_sessions();
    days_ago(&world);
    let all: [&[&str]; 12] = [
        &["fork", "t2", "idea", "-m", "another way"],
        &["branch"],
        &["switch", "idea"],
        &["branch", "rename", "idea", "better-idea"],
        &["switch", "main"],
        &["branch", "delete", "better-idea"],
        &["branch"],
        &["tag", "works"],
        &["tag", "before", "t1"],
        &["tag"],
        &["tag", "--delete", "works"],
        &["ancestor", "t2", "before"],
    ];
    check("branches-and-tags", &session(&world, &all));
}

#[test]
fn retention() {
    let world = six_turns_and_an_own_edit();
    days_ago(&world);
    let all: [&[&str]; 6] = [
        &["gc", "--dry-run", "--keep-days", "1"],
        &["gc", "--keep-days", "1"],
        &["gc", "--dry-run", "--keep-days", "1", "--trust-clock"],
        &["gc", "--keep-days", "1", "--trust-clock"],
        &["log"],
        &["verify"],
    ];
    check("gc", &session(&world, &all));
}

#[test]
fn other_commands() {
    let world = two_files(SEVEN_LINES);
    world.turn("make it two", |agent| {
        agent.edit("a.txt", "two", "2");
    });
    days_ago(&world);
    world.write("a.txt", "mine\n");
    let all: [&[&str]; 5] = [
        &["checkpoint", "-m", "mine"],
        &["checkpoint"],
        &["materialize", "t1", "--into", "../copy"],
        &["cat", "t1", "b.txt"],
        &["clear", "--yes"],
    ];
    check("other-commands", &session(&world, &all));
}
