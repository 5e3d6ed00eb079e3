//! Texts on a terminal: contents are written out, names and prompts are one line. Nothing acts on the terminal, and piped output
//! keeps its bytes.

use crate::support::{World, finish};
use crate::terminal::Terminal;

/// Sets the clipboard, hides its line, turns the text around, ends as another line.
const EVIL: &str =
    "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{1b}[2K\u{1b}[1Gc\u{202e}d\u{9b}2Je\rf\u{1b}[8mg\u{200b}h";

const ACTS: [&str; 8] = [
    "\u{1b}]",
    "\u{1b}[2K",
    "\u{1b}[1G",
    "\u{1b}[8m",
    "\u{202e}",
    "\u{9b}",
    "\u{7}",
    "e\rf",
];

fn world() -> World {
    let world = World::committed(&[("f.txt", "hello\n")]);
    let mut agent = world.agent();
    agent.prompt(&format!("prompt {EVIL} end"));
    agent.edit("f.txt", "hello\n", &format!("evil() {EVIL}\n"));
    agent.write(&format!("name {EVIL}.txt"), &format!("new {EVIL}\n"));
    agent.stop();
    world
}

fn on_terminal(world: &World, args: &[&str], keys: &str) -> String {
    let mut command = world.backstitch();
    command.args(args).env("TERM", "xterm").env("PAGER", "cat");
    let mut terminal = Terminal::sized(command, 200, 200);
    if !keys.is_empty() {
        terminal.expect("]?");
        terminal.type_in(keys);
    }
    terminal.end().1
}

#[test]
fn nothing_acts_on_a_terminal() {
    let world = world();
    for (args, keys) in [
        (&["diff", "t1"][..], ""),
        (&["diff", "t1", "--word"], ""),
        (&["diff", "t1", "--stat"], ""),
        (&["diff", "t1", "--name-status"], ""),
        (&["show", "t1", "--patch"], ""),
        (&["show", "t1"], ""),
        (&["blame", "f.txt"], ""),
        (&["cat", "@", "f.txt"], ""),
        (&["review"], ""),
        (&["review", "f.txt"], ""),
        (&["review", "-i"], "q\n"),
        (&["log"], ""),
        (&["status"], ""),
        (&["oplog"], ""),
        (&["rewind", "t1", "--dry-run"], ""),
        (&["log", "--json"], ""),
        (&["show", "t1", "--patch", "--json"], ""),
        (&["blame", "f.txt", "--json"], ""),
        (&["diff", "t1", "--color", "always"], ""),
        (&["diff", "t1", "--color", "never"], ""),
    ] {
        let shown = on_terminal(&world, args, keys);
        for act in ACTS {
            // an own line end is a carriage return and a line feed on a terminal
            assert!(!shown.contains(act), "{args:?} shows {act:?}: {shown:?}");
        }
    }
    let shown = on_terminal(&world, &["diff", "t1", "--no-pager", "--", "f.txt"], "");
    assert!(
        shown.contains("^[]52;c;ZXZpbA==^Gb^[[2K^[[1Gc<U+202E>d<U+009B>2Je^Mf^[[8mg<U+200B>h"),
        "{shown}"
    );
}

/// A patch on a pipe is one that git applies, and a content is the content.
#[test]
fn piped_output_keeps_its_bytes() {
    let world = world();
    for args in [
        &["diff", "t1", "--", "f.txt"][..],
        &["show", "t1", "--patch"],
        &["blame", "f.txt"],
        &["cat", "@", "f.txt"],
    ] {
        let output = world.ok(args);
        assert!(output.stdout.contains(EVIL), "{args:?}: {output}");
    }
    let patch = world.ok(["diff", "t1", "--", "f.txt"]).stdout;
    world.write("f.txt", "hello\n");
    let mut git = world.command("git");
    git.args(["apply", "--check"]).current_dir(&world.root);
    finish(&mut git, patch.as_bytes()).expect_code(0);
}

/// The title of a plan is one line, as the names in its list are.
#[test]
fn a_title_is_one_line() {
    let world = World::committed(&[("new\nline", "one\n")]);
    let mut agent = world.agent();
    agent.prompt("change it");
    agent.edit("new\nline", "one", "two");
    agent.stop();
    let plan = world
        .ok(["rewind", "t1", "--dry-run", "--path", "new\nline"])
        .stdout;
    assert!(plan.contains("Rewind new\u{fffd}line to before"), "{plan}");
}

/// A pattern of a clone's settings that is none is reported in one line without marks of direction.
#[test]
fn a_wrong_pattern_is_told_without_its_marks() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.write(
        ".backstitch.toml",
        "[capture]\nexclude = [\"a\u{202e}[\\u001b\"]\n",
    );
    world.ok(["checkpoint"]);
    let output = world.run(["doctor"]);
    assert!(!output.stdout.contains('\u{202e}'), "{output}");
    let mut agent = world.agent();
    agent.prompt("x");
    let payload = serde_json::json!({
        "session_id": "s", "transcript_path": "/x", "cwd": world.root,
        "hook_event_name": "SessionStart", "source": "startup",
    });
    let said = world.hook(&payload);
    assert!(!said.stderr.contains(['\u{202e}', '\u{1b}']), "{said}");
}
