//! `debug` in a terminal and on a pipe: edits, their refusals, and what runs then.

use std::fs::File;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::Value;

use super::{FILE, TEXT, held};
use crate::control::{HeldHook, Watcher, before, began, edit, reason};
use crate::support::{World, finish};

/// A `debug` in a terminal.
struct Debugger {
    process: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    shown: String,
}

/// Starts `debug` with an editor: a script of the shell, whose `$1` is the file.
fn debugger(world: &World, editor: &str) -> Debugger {
    world.write("../editor", format!("#!/bin/sh\n{editor}\n"));
    let editor = world.path("../editor");
    world.set_mode("../editor", 0o755);
    let (ours, theirs) = crate::support::pty::open();
    crate::support::pty::resize(&ours, 40, 120);
    let mut command = world.backstitch();
    command
        .arg("debug")
        .env("EDITOR", editor)
        .env("TERM", "xterm");
    let terminal = || Stdio::from(theirs.try_clone().expect("a terminal"));
    let process = command
        .stdin(terminal())
        .stdout(terminal())
        .stderr(terminal())
        .spawn()
        .expect("a debugger");
    drop(theirs);
    drop(command);
    let screen = crate::support::pty::output(&ours);
    Debugger {
        process,
        keys: ours,
        screen,
        shown: String::new(),
    }
}

impl Debugger {
    /// Waits for a text, and drops everything that was shown up to it.
    fn until(&mut self, wanted: &str) {
        let Self { screen, shown, .. } = self;
        loop {
            if let Some(at) = shown.find(wanted) {
                shown.drain(..at + wanted.len());
                return;
            }
            let limit = crate::support::limits::EVENT_TIMEOUT;
            let chunk = screen.recv_timeout(limit);
            let chunk = chunk.unwrap_or_else(|_| panic!("no {wanted:?} in {shown}"));
            shown.push_str(&String::from_utf8_lossy(&chunk));
        }
    }

    /// Waits for the prompt of a call, and presses keys: those before it are dropped.
    fn at(&mut self, pause: &str, keys: &str) {
        self.until(&format!("({pause}) "));
        self.types(keys);
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("typed");
    }

    /// Waits for its end, and returns its exit status.
    fn ends(&mut self) -> Option<i32> {
        self.process.wait().expect("it ends").code()
    }
}

impl Drop for Debugger {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `debug`: the edit that the difference shows runs with `n`, and a line says what becomes of the call.
#[test]
fn a_debugger_steps_with_its_change() {
    let world = World::committed(&[(FILE, TEXT)]);
    let (_agent, hook, _watcher, _) = held(&world);
    let mut debugger = debugger(&world, "sed -i 's/\"1\"/\"eins\"/' \"$1\"");
    debugger.at("p1", "e");
    debugger.until("+eins");
    debugger.at("p1", "n");
    debugger.until("continues with the changed input. The next stop: the next call of this thread");
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["updatedInput"]["new_string"],
        "eins"
    );
}

/// `debug`: an edit that is no JSON is kept for the next `e`. Until it is taken or dropped, the agent's input does not run.
#[test]
fn a_debugger_keeps_an_edit_that_is_not_taken() {
    let world = World::committed(&[(FILE, TEXT)]);
    let (_agent, hook, _watcher, _) = held(&world);
    // the first edit leaves out a quote, the next one adds it
    let script = "if grep -q '\"mine$' \"$1\"; then sed -i 's/\"mine$/\"mine\"/' \"$1\"; \
        else sed -i 's/\"1\"$/\"mine/; s/\"1\",$/\"mine\\n,/' \"$1\"; fi";
    let mut debugger = debugger(&world, script);
    debugger.at("p1", "u");
    debugger.until("no edit of p1 waits to be taken");
    debugger.at("p1", "e");
    debugger.until("is not JSON");
    for key in ["c", "n", "s", "o", "C", "\x1b[21~"] {
        debugger.at("p1", key);
        debugger.until("your edit of p1 was not taken, and would not run");
        assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    }
    debugger.at("p1", "e");
    debugger.until("+mine");
    debugger.at("p1", "c");
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["updatedInput"]["new_string"],
        "mine"
    );
}

/// `debug`: an edit that is not taken can be dropped, and the agent's input runs.
#[test]
fn a_debugger_drops_an_edit_on_request() {
    let world = World::committed(&[(FILE, TEXT)]);
    let (_agent, hook, _watcher, _) = held(&world);
    let mut debugger = debugger(&world, "echo '{' > \"$1\"; exit 3");
    debugger.at("p1", "e");
    debugger.until("failed. Your edit was not taken");
    debugger.at("p1", "c");
    debugger.until("would not run");
    debugger.at("p1", "u");
    debugger.until(FILE);
    debugger.at("p1", "c");
    assert_eq!(hook.answer(), Value::Null);
}

/// `debug` at two held calls: keys without Enter. All held calls are listed, and shown one by one; a decision elsewhere is
/// reported at once. The REPL is inside, its Ctrl-C comes back, and that of a prompt ends it all.
#[test]
fn a_debugger_goes_between_held_calls() {
    let world = World::committed(&[(FILE, TEXT), ("b.txt", TEXT)]);
    world.ok(["breakpoint", "add", "path", "*.txt"]);
    let mut debugger = debugger(&world, "false");
    debugger.until("Waiting for a held call");
    let mut watcher = Watcher::start(&world);
    let calls = [FILE, "b.txt"].map(|file| {
        let agent = began(&world);
        let input = edit(&world, file, "one", "1");
        let hook = HeldHook::start(&world, &before(&agent, file, "Edit", &input), 600);
        watcher.until("held");
        if file == FILE {
            // the next call comes while this one is shown
            debugger.until("(p1) ");
        }
        (agent, hook)
    });
    let [(_first, first), (_second, second)] = calls;
    debugger.until("p2   held");
    debugger.at("p1", "l");
    debugger.until("1 p1 ");
    debugger.until("2 p2 ");
    debugger.at("p1", "\t");
    debugger.until("p2 Edit b.txt");
    debugger.until("1 more call is held: l lists, Tab shows the next");
    debugger.at("p2", "1");
    debugger.until("p1 Edit a.txt");
    debugger.at("p1", "3");
    debugger.until("there is no call 3: 2 calls are held");
    debugger.at("p1", ".call.tool\r");
    debugger.until("\"Edit\"");
    debugger.at("p1", "!echo here\r");
    debugger.until("here\r\n");
    // a question that is called off
    debugger.at("p1", "d");
    debugger.until("reason for the model: ");
    debugger.types("\x03");
    debugger.at("p1", "p");
    debugger.until("p1> ");
    debugger.types("1 + 1\r");
    debugger.until("2\r\n");
    debugger.until("p1> ");
    debugger.types("\x04");
    debugger.at("p1", ":set .new_string \"eins\"\r");
    debugger.until("+eins");
    debugger.at("p1", "z");
    debugger.until("`z` is not a key here");
    debugger.until("(p1) ");
    world.ok(["deny", "p1", "-m", "not now"]);
    debugger.until("p1: Edit a.txt was decided elsewhere: denied, in a terminal");
    assert!(reason(&first.answer()).contains("not now"));
    debugger.at("p2", "dnot here\r");
    debugger.until("p2: Edit b.txt was denied.");
    assert!(reason(&second.answer()).contains("not here"));
    debugger.until("Waiting for a held call");
    debugger.types("\x03");
    assert_eq!(debugger.ends(), Some(0));
    let sessions = world.json(["repl", "list"]);
    assert!(
        sessions["sessions"]
            .as_array()
            .is_some_and(|all| all.iter().all(|session| session["status"] == "closed")),
        "{sessions:#}"
    );
}

/// `debug`: a word of the REPL decides, and the next call is shown. Keys that were pressed before a call was shown decide
/// nothing.
#[test]
fn a_debugger_drops_what_was_typed_ahead() {
    let world = World::committed(&[(FILE, TEXT)]);
    let (mut agent, hook, mut watcher, _) = held(&world);
    let mut debugger = debugger(&world, "false");
    debugger.at("p1", ":skip\rcccc");
    debugger.until("p1: Edit a.txt was skipped.");
    assert!(!reason(&hook.answer()).is_empty());
    debugger.until("Waiting for a held call");
    debugger.types("cnk");
    agent.prompt("again");
    let input = edit(&world, FILE, "one", "1");
    let hook = HeldHook::start(&world, &before(&agent, "again", "Edit", &input), 600);
    watcher.until("held");
    debugger.at("p2", "q");
    assert_eq!(debugger.ends(), Some(0));
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    world.ok(["resume"]);
    hook.answer();
}

/// `debug` on a pipe: the lines after one that failed are not carried out, since its failure was not seen.
#[test]
fn a_script_of_a_debugger_ends_at_its_first_failure() {
    for failing in ["e", "b many", "edit .new_string", "nonsense"] {
        let world = World::committed(&[(FILE, TEXT)]);
        let (_agent, hook, _watcher, _) = held(&world);
        let lines = format!("{failing}\nc\nc\n");
        let mut command = world.backstitch();
        let said = finish(command.arg("debug"), lines.as_bytes());
        let said = said.expect_code(2);
        assert!(
            said.stderr.contains(&format!(
                "No line after `{failing}` was carried out, and p1 stays held"
            )),
            "{said}"
        );
        assert!(
            said.stderr.contains("`backstitch debug` shows it again"),
            "{said}"
        );
        assert_eq!(
            world.json(["pauses"])["pauses"][0]["state"],
            "held",
            "{failing}"
        );
        let mut command = world.backstitch();
        let said = finish(command.args(["debug", "--json"]), lines.as_bytes());
        let said = said.expect_code(2);
        let documents: Vec<Value> = said
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON in a line"))
            .collect();
        assert_eq!(documents.len(), 2, "{said}");
        assert_eq!(documents[1]["error"]["kind"], "usage", "{said}");
        assert_eq!(documents[1]["schema"], 1, "{said}");
        world.ok(["skip"]);
        hook.answer();
    }
}
