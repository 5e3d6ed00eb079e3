//! `server/docs/coming-from.md` names the command for each command of other systems. Every command line in it is run.

mod command_lines;

use std::collections::BTreeSet;
use std::fs;

use crate::support::{Output, World, finish};

/// One row of a table.
#[derive(Debug)]
struct Row {
    heading: String,
    text: String,
}

impl Row {
    /// Texts in backquotes.
    fn code(&self) -> impl Iterator<Item = &str> {
        self.text.split('`').skip(1).step_by(2)
    }

    fn commands(&self) -> impl Iterator<Item = &str> {
        self.code().filter(|code| code.starts_with("backstitch "))
    }
}

fn page() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/docs/coming-from.md");
    let mut rows = Vec::new();
    let mut heading = String::new();
    for line in fs::read_to_string(path).expect("the page").lines() {
        if let Some(text) = line.strip_prefix("## ") {
            text.clone_into(&mut heading);
        } else if line.starts_with('|') {
            assert_eq!(line.matches('`').count() % 2, 0, "{line}");
            rows.push(Row {
                heading: heading.clone(),
                text: line.to_owned(),
            });
        }
    }
    rows
}

/// The history that the page describes for its examples, with something to undo and something to redo.
fn history() -> (World, String) {
    let world = World::in_memory();
    let session = play(&world);
    (world, session)
}

/// Plays the history, and returns its session.
fn play(world: &World) -> String {
    let lines = ["one", "two", "three", "four", "five", "six"];
    world.write("src/main.rs", lines.join("\n\n\n\n") + "\n");
    let mut agent = world.agent();
    agent.session_start();
    for (n, line) in lines.iter().take(5).enumerate() {
        agent.prompt(&format!("parser error {n}"));
        agent.edit("src/main.rs", line, &line.to_uppercase());
        agent.write(&format!("new{n}.txt"), "new\n");
        agent.stop();
        if n == 3 {
            world.ok(["checkpoint", "-m", "before the refactoring"]);
        }
    }
    world.ok(["tag", "works", "t4"]);
    world.ok(["fork", "t4", "idea2", "--switch"]);
    agent.prompt("the other way");
    agent.write("other.txt", "other\n");
    agent.stop();
    world.ok(["switch", "main"]);
    world.ok(["revert", "t1"]);
    world.ok(["revert", "t2"]);
    world.ok(["undo"]);
    agent.session()
}

/// Copies the world's directories to `saved` beside them, or back from there. Playing the history again would take ten
/// times as long.
fn copy(world: &World, script: &str) {
    let each = format!("cd .. && for d in work home state config; do {script}; done");
    world.sh(&each).expect_code(0);
}

/// Runs a line as typed in a shell, for quotes and `$(…)`.
fn typed(world: &World, line: &str) -> Output {
    let mut shell = world.command("sh");
    shell.env("BINARY", world.backstitch().get_program()).args([
        "-ec",
        &format!("backstitch() {{ \"$BINARY\" \"$@\"; }}\n{line}"),
    ]);
    finish(&mut shell, b"")
}

/// Everything that a command may have changed, except files.
fn recorded(world: &World) -> [String; 3] {
    let asked: [&[&str]; 3] = [
        &["log", "--all"],
        &["branch", "list", "--checkpoints"],
        &["oplog"],
    ];
    asked.map(|args| world.run(args.iter().chain(&["--json"])).stdout)
}

/// S2-D2: every command line on the page works as written, in both forms where there are two. Each runs on the history
/// that the page describes. Where a row says that a command refuses, or removes everything, it is refused in a script.
#[test]
fn docs_coming_from_quotes_only_working_commands() {
    let (world, session) = history();
    copy(&world, "mkdir -p saved && cp -a $d saved/");
    let before = recorded(&world);
    let mut seen = BTreeSet::new();
    for row in page() {
        for command in row.commands() {
            if !seen.insert(command.to_owned()) {
                continue;
            }
            let output = typed(&world, &command.replace(" ID", &format!(" {session}")));
            // a script that clears the history must confirm with `--yes`
            let refused = command == "backstitch clear"
                || command.contains("--scope conversation")
                || command.contains("backstitch summarize")
                || command.contains("--scope both");
            assert_eq!(
                output.code,
                i32::from(refused),
                "under “{}”: {command}\n{output}",
                row.heading
            );
            assert!(
                !refused
                    || ["refuses", "removes"]
                        .iter()
                        .any(|word| row.text.contains(word)),
                "{command} refuses and its row does not say so: {}",
                row.text
            );
            if recorded(&world) != before {
                // the directories themselves stay: the store knows the workspace by its directory
                copy(
                    &world,
                    "find $d -mindepth 1 -delete && cp -a saved/$d/. $d/",
                );
                assert_eq!(recorded(&world), before, "after {command}");
            }
        }
    }
    // the page is there and is read: both forms where there are two
    for command in [
        "backstitch checkpoint -m green",
        "backstitch checkpoint create green",
        "backstitch branch c12 idea3",
        "backstitch branch create idea3 --from c12",
        "backstitch switch idea2",
        "backstitch branch switch idea2",
        "backstitch rewind c12",
        "backstitch rewind \"before the refactoring\"",
        "backstitch rewind --iteration 7",
        "backstitch timeline",
        "backstitch log",
    ] {
        assert!(seen.contains(command), "{command} is not on the page");
    }
}

/// Commands that the page calls missing do not exist. A change that adds one must update the page.
#[test]
fn docs_coming_from_calls_missing_only_missing_commands() {
    let world = World::new();
    let rows = page();
    let missing: Vec<_> = rows
        .iter()
        .filter(|row| row.heading == "Not yet")
        .flat_map(Row::code)
        .filter(|code| code.chars().all(|c| c.is_ascii_lowercase()))
        .collect();
    assert!(missing.contains(&"replay"), "{missing:?}");
    for name in missing {
        let output = world.run([name, "--help"]).expect_code(2);
        assert!(
            output.stderr.contains("unrecognized subcommand"),
            "{output}"
        );
    }
}

/// The checks fail for a command, an option or a checkpoint that does not exist.
#[test]
fn docs_checks_detect_wrong_commands() {
    let (world, session) = history();
    for (line, code) in [
        ("backstitch rewind c12 --dry-run", 0),
        ("backstitch rewound c12", 2),
        ("backstitch rewind c12 --label green", 2),
        ("backstitch branch --from c12 --label idea3", 2),
        ("backstitch rewind c999", 3),
    ] {
        assert_eq!(typed(&world, line).code, code, "{line}");
    }
    // claims of the page's introduction about its examples
    let show = |rev: &str| world.json(["show", rev]);
    assert_eq!(
        (&show("c12")["kind"], &show("c12")["session"]),
        (&"step".into(), &session.into())
    );
    assert_eq!(show("before the refactoring")["kind"], "manual");
    for name in ["t1", "t5", "works", "idea2"] {
        show(name);
    }
}

/// The docs of tested editors show the screens that the tests recorded.
#[test]
fn docs_of_editors_show_the_recorded_screens() {
    for (page, screen) in [
        ("helix", "helix-actions"),
        ("neovim", "neovim-lenses"),
        ("emacs", "emacs-actions"),
    ] {
        let read = |path: String| std::fs::read_to_string(&path).expect(&path);
        let here = env!("CARGO_MANIFEST_DIR");
        let shown =
            read(format!("{here}/../server/docs/editors/{page}.md")).replace("2 min ago", "AGE");
        let screen = read(format!("{here}/e2e/editors/screens/{screen}.txt"));
        for line in screen.lines().skip(1).map(str::trim_end) {
            assert!(shown.contains(line), "{page}.md does not show: {line}");
        }
    }
}
