//! Completion in a shell: revisions, branches, tags and sessions of the history; files, held calls, breakpoints and names.
//! `shells.rs` has real shells, this file their protocols.

mod shells;

use crate::control::{HeldHook, Watcher, before, began, edit};
use crate::support::{World, finish};

/// Candidates for the last of these words, as fish asks for them: a value, and what it is.
fn candidates(world: &World, words: &[&str]) -> Vec<(String, String)> {
    let mut asked = world.backstitch();
    asked
        .env("BACKSTITCH_COMPLETE", "fish")
        .args(["--", "backstitch"])
        .args(words);
    let answer = finish(&mut asked, b"").expect_code(0);
    let pair = |line: &str| {
        let (value, about) = line.split_once('\t').unwrap_or((line, ""));
        (value.to_owned(), about.to_owned())
    };
    answer.stdout.lines().map(pair).collect()
}

fn values(world: &World, words: &[&str]) -> Vec<String> {
    let all = candidates(world, words).into_iter();
    all.map(|(value, _)| value)
        .filter(|value| !value.starts_with('-'))
        .collect()
}

fn story() -> World {
    let world = World::new();
    world.write("a.txt", "one\n");
    let mut agent = world.agent();
    for (prompt, from, to) in [("make it two", "one", "two"), ("and three", "two", "three")] {
        agent.prompt(prompt);
        agent.edit("a.txt", from, to);
        agent.stop();
    }
    world.ok(["fork", "t2", "idea"]);
    world.ok(["tag", "works", "t2"]);
    world
}

#[test]
fn names_of_the_history_are_completed() {
    let world = story();
    let turns = [("t2", "and three"), ("t1", "make it two")];
    let turns = turns.map(|(a, b)| (a.to_owned(), b.to_owned()));
    for command in ["show", "rewind", "diff", "fork", "revert"] {
        assert_eq!(candidates(&world, &[command, "t"]), turns, "{command}");
    }
    let all = values(&world, &["show", ""]);
    assert_eq!(all, ["@", "t2", "t1", "works", "main", "idea"]);
    assert_eq!(values(&world, &["switch", ""]), ["main", "idea"]);
    assert_eq!(values(&world, &["branch", "delete", "i"]), ["idea"]);
    assert_eq!(values(&world, &["tag", "--delete", ""]), ["works"]);
    let checkpoints = candidates(&world, &["show", "c"]);
    assert!(checkpoints.len() > 4, "{checkpoints:?}");
    let step = checkpoints
        .iter()
        .find(|(_, about)| about == "Edit: and three");
    assert!(step.is_some(), "{checkpoints:?}");
    let sessions = candidates(&world, &["log", "--session", ""]);
    let log = world.json(["log", "--kind", "turn"]);
    let session = log["checkpoints"][0]["session"]
        .as_str()
        .expect("a session");
    let about = "claude-code, t2: and three".to_owned();
    assert_eq!(sessions, [("A".to_owned(), about.clone())]);
    // an id that is begun
    let sessions = candidates(&world, &["log", "--session", &session[..2]]);
    assert_eq!(sessions, [(session.to_owned(), about)]);
    assert_eq!(values(&world, &["undo", "op"])[0], "op2");
    // another workspace is named on the line
    let elsewhere = world.beside("elsewhere");
    std::fs::create_dir(&elsewhere.root).expect("a directory");
    let root = world.root.to_str().expect("a path").to_owned();
    let line = ["--workspace", &root, "show", "t"];
    assert_eq!(values(&elsewhere, &line), ["t2", "t1"]);
    assert_eq!(values(&elsewhere, &["show", "t"]), [""; 0]);
}

/// Nothing is recorded, and a shell that completes shows no error.
/// An agent can make tags and branches, and a clone brings files. bash inserts a candidate into the line that it runs, so
/// each sign of a shell is quoted.
#[test]
fn names_of_others_are_quoted_for_the_shells_that_insert_them() {
    let world = story();
    world.ok(["tag", "works>$(touch${IFS}pwned)", "t2"]);
    world.ok(["tag", "works;id|x", "t2"]);
    let answer = |shell: &str, line: &[&str]| {
        let mut asked = world.backstitch();
        asked.env("BACKSTITCH_COMPLETE", shell).arg("--").args(line);
        finish(&mut asked, b"").expect_code(0).stdout
    };
    let bash = answer("bash", &["backstitch cat works", "works", "9", "80"]);
    let bash: Vec<&str> = bash.lines().collect();
    assert_eq!(
        bash,
        [
            "works",
            r"works\;id\|x",
            r"works\>\$\(touch\$\{IFS\}pwned\)"
        ]
    );
    let powershell = answer("powershell", &["backstitch", "cat", "works"]);
    assert!(powershell.contains("'works;id|x'"), "{powershell}");
    assert!(
        powershell.contains("'works>$(touch${IFS}pwned)'"),
        "{powershell}"
    );
    // fish and zsh quote by themselves
    assert!(values(&world, &["cat", "works>"])[0].contains("$("));
}

#[test]
fn completion_is_quiet_without_a_history() {
    let world = World::new();
    assert_eq!(values(&world, &["show", "t"]), [""; 0]);
    assert_eq!(values(&world, &["rew"]), ["rewind"]);
    assert!(
        std::fs::read_dir(&world.state)
            .expect("state")
            .next()
            .is_none()
    );
}

/// Held calls, breakpoints and REPL sessions complete by their ids, with what they are; agents, tools and files by name.
#[test]
fn held_calls_breakpoints_and_files_are_completed() {
    let world = World::committed(&[("src/cart.rs", "one\n"), ("src/shop.rs", "two\n")]);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    world.ok(["breakpoint", "add", "path", "src/**"]);
    let agent = began(&world);
    let mut watcher = Watcher::start(&world);
    let input = edit(&world, "src/cart.rs", "one", "1");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    watcher.until("held");
    let pause = ("p1".to_owned(), "claude-code Edit src/cart.rs".to_owned());
    for command in [
        "resume", "inspect", "skip", "deny", "stop", "repl", "step", "back",
    ] {
        let all = candidates(&world, &[command, "p"]);
        assert_eq!(all, std::slice::from_ref(&pause), "{command}");
    }
    let all = candidates(&world, &["breakpoint", "remove", "b"]);
    let named = [("b1", "tool Edit"), ("b2", "path src/**")];
    assert_eq!(
        all,
        named.map(|(id, about)| (id.to_owned(), about.to_owned()))
    );
    world.ok(["repl", "p1", "-e", ".call.tool"]);
    let sessions = candidates(&world, &["repl", "show", ""]);
    let session = sessions.iter().find(|(_, about)| about.contains("p1"));
    assert!(session.is_some(), "{sessions:?}");
    // the letter of a session, with its prompt
    let sessions = candidates(&world, &["pauses", "--session", "A"]);
    let about = "claude-code, t1: change one to two".to_owned();
    assert_eq!(sessions, [("A".to_owned(), about)]);
    assert_eq!(values(&world, &["setup", "claude"]), ["claude-code"]);
    let tools = values(&world, &["breakpoint", "add", "tool", "NotebookE"]);
    assert_eq!(tools, ["NotebookEdit"]);
    for words in [
        &["blame", "src/c"][..],
        &["review", "src/c"],
        &["rewind", "t1", "--path", "src/c"],
        &["cat", "t1", "src/c"],
        &["breakpoint", "add", "line", "src/c"],
        &["resume", "--input", "src/c"],
    ] {
        assert_eq!(values(&world, words), ["src/cart.rs"], "{words:?}");
    }
    // zsh has the id, a colon, and what it is
    let mut asked = world.backstitch();
    asked
        .env("BACKSTITCH_COMPLETE", "zsh")
        .args(["--", "backstitch", "resume", "p"]);
    let zsh = finish(&mut asked, b"").expect_code(0).stdout;
    assert_eq!(zsh.trim(), "p1:claude-code Edit src/cart.rs");
    world.ok(["resume"]);
    hook.answer();
}
