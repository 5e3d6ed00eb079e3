//! The graph of several branches (`log --graph`).

use crate::support::World;

/// A workspace with main, a branch at its second checkpoint, and another at that branch's head; all three have later
/// checkpoints.
fn three_branches() -> World {
    let world = World::new();
    let step = |name: &str| {
        world.write(name, "x\n");
        world.ok(["checkpoint", "-m", name]);
    };
    step("a");
    step("b");
    world.ok(["fork", "@", "idea"]);
    step("c");
    world.ok(["switch", "idea"]);
    step("d");
    world.ok(["fork", "@", "nested", "--switch"]);
    step("e");
    world.ok(["switch", "main"]);
    step("f");
    world
}

/// The graph without times and ids, which other tests cover.
fn graph(world: &World, args: &[&str]) -> String {
    let text = world.ok(["log"].iter().chain(args)).stdout;
    let line = |line: &str| {
        let line = line.trim_end().trim_end_matches("just now").trim_end();
        let words: Vec<&str> = line
            .split(' ')
            .filter(|w| !(w.starts_with('c') && w[1..].parse::<u32>().is_ok()))
            .collect();
        let line = words.join(" ");
        let body = line.trim_start_matches(['│', '├', '╰', '╭', '─', '╮', '╯', '┄', '┆', ' ']);
        let lanes = &line[..line.len() - body.len()];
        format!(
            "{}{}\n",
            lanes.trim_end(),
            body.split("  ")
                .filter(|w| !w.is_empty())
                .fold(String::new(), |all, word| format!("{all} {}", word.trim()))
        )
    };
    text.lines()
        .filter(|l| !l.contains("  A  "))
        .map(line)
        .collect()
}

/// S2-084, S2-085, S2-086: the graph shows every branch with its checkpoints, its fork point, and the current branch.
#[test]
fn the_graph_draws_every_branch() {
    let world = three_branches();
    assert_eq!(
        graph(&world, &["--graph", "--all"]).trim_start(),
        "\
◆ “f” ◀ main
 ◇ you
 ◆ “c”
 ◇ you
│ ◆ “e” ◀ nested
│ ◇ you
│ ╭─╯ nested forked from idea at
│ ◆ “d” ◀ idea
│ ◇ you
├─╯ idea forked from main at
 ◆ “b”
 ◇ you
 ◆ “a”
 ◆ “start”
"
    );
    let chain = graph(&world, &["--graph"]);
    assert!(chain.contains("├─ idea 2 checkpoints, newest"), "{chain}");
    assert!(!chain.contains("“d”"), "{chain}");
    let nested = graph(&world, &["--branch", "nested", "--graph"]);
    assert!(nested.contains("├┄ idea forked from main at"), "{nested}");
    assert!(
        nested.contains("“e” ◀ nested") && !nested.contains("“f”"),
        "{nested}"
    );

    let list = world.ok(["log", "--all"]).stdout;
    for part in [
        "▶ main (current)",
        "  idea  forked from main at c4",
        "  nested  forked from idea at c8",
        "“e”",
    ] {
        assert!(list.contains(part), "no {part:?} in\n{list}");
    }
}

/// S2-087: an empty graph says what to do.
#[test]
fn an_empty_graph_says_what_to_do() {
    let text = World::new().ok(["log", "--graph", "--all"]).stdout;
    assert!(text.contains("backstitch setup"), "{text}");
}

/// An undone turn is marked on its own branch, even while another branch is current.
#[test]
fn undone_turns_are_marked_on_their_own_branch() {
    let world = three_branches();
    assert!(!world.ok(["log", "--all"]).stdout.contains("taken out"));
    world.ok(["switch", "nested"]);
    world.ok(["revert", "@~1"]);
    let marked = |world: &World| {
        let log = world.json(["log", "--all"]);
        let all = log["checkpoints"].as_array().expect("rows").clone();
        let out = all.iter().filter(|c| c["taken_out"] == true);
        out.map(|c| c["branch"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(marked(&world), ["nested"]);
    world.ok(["switch", "main"]);
    assert_eq!(marked(&world), ["nested"]);
}

/// The graph uses ASCII in other locales than UTF-8. No line is wider than the terminal, with or without colour.
#[test]
fn the_graph_fits_ascii_locales_and_narrow_terminals() {
    let world = three_branches().with("COLUMNS", "60");
    for args in [
        &["log", "--graph", "--all"][..],
        &["log", "--all"],
        &["log"],
    ] {
        let text = world.ok(args).stdout;
        for line in text.lines() {
            assert!(line.chars().count() <= 60, "{line}");
        }
        let colour = world.ok(args.iter().chain(&["--color", "always"])).stdout;
        assert!(colour.contains("\u{1b}["), "{colour}");
    }
    let world = world.with("LC_ALL", "C");
    let text = world.ok(["log", "--graph", "--all"]).stdout;
    assert!(text.is_ascii(), "{text}");
    assert!(
        text.contains("|-' idea") && text.contains(".-' nested"),
        "{text}"
    );
}

/// Two hundred branches are named, not drawn, next to the current one.
#[test]
fn a_graph_of_many_branches_stays_readable() {
    let world = World::in_memory();
    world.write("a", "a\n");
    world.ok(["checkpoint", "-m", "start"]);
    let store = rusqlite::Connection::open(world.store().join("store.db")).expect("a database");
    // rows as `fork` writes them, each branch with its own checkpoint
    store
        .execute_batch(
            "BEGIN;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
             INSERT INTO branch (name, head, parent, fork_point, created)
               SELECT 'idea' || i, (SELECT MAX(id) FROM node), 1, (SELECT MAX(id) FROM node), i FROM n;
             INSERT INTO node (parent, depth, kind, branch, root, label, time)
               SELECT fork_point, (SELECT MAX(depth) + 1 FROM node), 'manual', id, 1, 'on ' || name, created
               FROM branch WHERE fork_point IS NOT NULL;
             UPDATE branch SET head = (SELECT MAX(id) FROM node WHERE branch = branch.id)
               WHERE fork_point IS NOT NULL;
             UPDATE branch SET head = (SELECT n.id FROM node n WHERE n.branch = branch.id ORDER BY n.id DESC LIMIT 1);
             COMMIT",
        )
        .expect("rows");
    assert!(world.json(["verify"])["ok"] == true);
    let text = world.ok(["log", "--graph"]).stdout;
    assert!(text.lines().count() < 10, "{text}");
    assert!(text.contains("and 197 more branches"), "{text}");
    let page = world.ok(["log", "--all", "-n", "5"]).stdout;
    assert!(page.lines().count() < 15, "{page}");
    assert!(
        page.contains("196 more branches without a checkpoint"),
        "{page}"
    );
    let all = world.ok(["log", "--graph", "--all"]).stdout;
    assert_eq!(all.matches("“on idea").count(), 200);
    for line in all.lines() {
        assert!(
            line.chars().take_while(|c| "│├╰─╮┄ ".contains(*c)).count() < 12,
            "{line}"
        );
    }
}
