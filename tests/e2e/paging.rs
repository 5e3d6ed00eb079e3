//! Long output: a pager on a terminal, chosen and called as git does, and whole lines in a pipe.

use crate::support::World;
use crate::terminal::Terminal;

/// A workspace with this many labelled checkpoints.
fn checkpoints(count: usize) -> World {
    let world = World::in_memory();
    for n in 1..=count {
        world.write("a.txt", format!("{n}\n"));
        world.ok(["checkpoint", "-m", &format!("label {n}")]);
    }
    world
}

fn on_screen(world: &World, env: &[(&str, &str)], args: &[&str]) -> (i32, String) {
    let mut command = world.backstitch();
    command.args(args).env("TERM", "xterm").envs(env.to_vec());
    Terminal::sized(command, 24, 80).end()
}

/// Marks what came through the pager, and shows its environment.
const MARKS: &str = "sh -c 'sed s/^/paged:/; echo LESS=$LESS'";

#[test]
fn output_longer_than_the_screen_goes_to_the_pager() {
    let world = checkpoints(14);
    let pager = [("BACKSTITCH_PAGER", MARKS), ("PAGER", "false")];
    let long: [&[&str]; 5] = [
        &["log"],
        &["diff", "c2", "@"],
        &["show", "@"],
        &["blame", "b.txt"],
        &["log", "--help"],
    ];
    let lines = "a line\n".repeat(60);
    world.write("b.txt", &lines);
    world.write("a.txt", &lines);
    world.ok(["checkpoint"]);
    for args in long {
        let (code, shown) = on_screen(&world, &pager, args);
        assert_eq!(code, 0, "{args:?}: {shown}");
        if args == ["show", "@"] {
            assert!(!shown.contains("paged:"), "it fits on the screen: {shown}");
            continue;
        }
        assert!(shown.starts_with("paged:"), "{args:?}: {shown}");
        assert!(shown.contains("LESS=FRX"), "{args:?}: {shown}");
        let own = [pager[0], pager[1], ("LESS", "-S")];
        assert!(on_screen(&world, &own, args).1.contains("LESS=-S"));
    }
    // less than a screen, and no wish for a pager
    let few = on_screen(&world, &pager, &["log", "-n", "3"]).1;
    assert!(few.contains("label 14") && !few.contains("paged:"), "{few}");
    // people are told which states the rows mean, a program is not
    let states = "t4: the state before that turn; c12: the state after that checkpoint";
    assert_eq!(few.lines().next().map(str::trim), Some(states));
    assert!(!world.ok(["log"]).stdout.contains(states));
    for (env, args) in [
        (&pager[..], &["log", "--no-pager"][..]),
        (&pager, &["--no-pager", "log", "--help"]),
        (&[("PAGER", "cat")], &["log"]),
        (&[("PAGER", "")], &["log"]),
        (&[("PAGER", MARKS), ("TERM", "dumb")], &["log"]),
        (&[("PAGER", "a-program-that-is-not-there")], &["log"]),
    ] {
        let (code, shown) = on_screen(&world, env, args);
        assert_eq!(code, 0, "{shown}");
        assert!(
            !shown.contains("paged:") && shown.len() > 200,
            "{env:?}: {shown}"
        );
    }
    // JSON, and a pipe
    let json = on_screen(&world, &pager, &["log", "--json"]).1;
    assert!(json.starts_with('{'), "{json}");
    let mut command = world.backstitch();
    command.arg("log").env("TERM", "xterm").env("PAGER", MARKS);
    let piped = command.output().expect("it runs").stdout;
    assert!(!String::from_utf8_lossy(&piped).contains("paged:"));
}

/// A pager that the user leaves before it has read everything is not a failure; colors go through it.
#[test]
fn a_pager_may_be_left_early() {
    let world = checkpoints(2);
    let long = "a line\n".repeat(200_000);
    world.write("a.txt", long);
    let (code, shown) = on_screen(&world, &[("PAGER", "head -n 1")], &["diff"]);
    assert_eq!((code, shown.lines().count()), (0, 1), "{shown}");
    let color = [("PAGER", "cat -v"), ("NO_COLOR", "")];
    let (_, shown) = on_screen(&world, &color, &["diff"]);
    assert!(shown.contains("^[[32m+a line"), "{shown:.300}");
    // ^C is for the pager
    let mut command = world.backstitch();
    command.arg("diff").env("TERM", "xterm").env(
        "PAGER",
        "sh -c 'trap : INT; kill -INT $PPID; echo still there; cat >/dev/null'",
    );
    let (code, shown) = Terminal::sized(command, 24, 80).end();
    assert_eq!((code, shown.trim()), (0, "still there"));
}

/// Nothing is cut in a pipe, so that a search finds every word; a terminal cuts lines to its width.
#[test]
fn lines_are_cut_on_a_terminal_only() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let label = "a label that goes on and on ".repeat(10);
    let label = label.trim();
    world.ok(["checkpoint", "-m", label]);
    world.ok(["tag", "works"]);
    for args in [&["log"][..], &["log", "--graph"], &["checkpoint", "list"]] {
        let text = world.ok(args).stdout;
        assert!(text.contains(label), "{text}");
        assert!(
            text.lines().all(|line| line.len() < 400),
            "no padding: {text}"
        );
        let (_, shown) = on_screen(&world, &[], args);
        assert!(!shown.contains(label) && shown.contains('…'), "{shown}");
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
    }
}

/// The newest checkpoint is the first, in text and graph as in JSON; `--reverse` shows the oldest first.
#[test]
fn the_log_is_newest_first() {
    let world = checkpoints(3);
    let json = world.json(["log"]);
    let listed = json["checkpoints"].as_array().expect("checkpoints");
    let labels: Vec<&str> = listed.iter().filter_map(|c| c["label"].as_str()).collect();
    assert_eq!(labels, ["label 3", "label 2", "label 1", "start"]);
    let order = |args: &[&str]| -> Vec<String> {
        let text = world.ok(["log"].iter().chain(args)).stdout;
        let labels = text
            .split('“')
            .skip(1)
            .filter_map(|rest| rest.split('”').next());
        labels.map(str::to_owned).collect()
    };
    let backwards: Vec<&str> = labels.iter().rev().copied().collect();
    for form in [&[][..], &["--graph"], &["--all"]] {
        assert_eq!(order(form), labels);
        assert_eq!(order(&[form, &["--reverse"]].concat()), backwards);
    }
    // the next page begins where this one ends
    let page = world.ok(["log", "-n", "1"]).stdout;
    let more = page.lines().last().expect("a hint").trim();
    let more = more.strip_prefix("… more: backstitch ").expect("a command");
    assert!(page.contains("“label 3”"), "{page}");
    let next = world.ok(more.split(' ').chain(["--kind", "manual"])).stdout;
    assert!(
        next.contains("“label 2”") && !next.contains("“label 3”"),
        "{next}"
    );
    let first = world.ok(["log", "-n", "1", "--reverse"]).stdout;
    assert!(first.starts_with("… more: "), "{first}");
}
