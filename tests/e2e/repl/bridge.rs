//! The protocol of the bridge, message by message.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

use serde_json::{Value, json};

use super::python::world;
use crate::support::{World, binary};

/// A program that speaks with its bridge.
pub struct Talk {
    /// None: another process started it.
    child: Option<Child>,
    pid: u32,
    stdin: File,
    stdout: BufReader<File>,
    id: i64,
}

impl Talk {
    /// A bridge that is its own program.
    pub fn start(world: &World) -> Self {
        let mut command = world.backstitch();
        command.arg("bridge").stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a bridge");
        let stdin = OwnedFd::from(child.stdin.take().expect("a pipe"));
        let stdout = OwnedFd::from(child.stdout.take().expect("a pipe"));
        // not this process: commands from inside a program are refused
        let program = child.id();
        let talk = Self {
            pid: program,
            child: Some(child),
            stdin: stdin.into(),
            stdout: BufReader::new(stdout.into()),
            id: 0,
        };
        talk.greet(world, program)
    }

    fn greet(mut self, world: &World, program: u32) -> Self {
        let hello = json!({
            "pid": program, "started": 1, "argv": ["x"], "language": "x", "cwd": world.root,
        });
        self.ok("hello", &hello);
        self
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        writeln!(self.stdin, "{message}").expect("written");
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).expect("a line") > 0);
            let said: Value = serde_json::from_str(&line).expect("JSON");
            if said["id"] == self.id {
                return said;
            }
        }
    }

    pub fn ok(&mut self, method: &str, params: &Value) -> Value {
        let said = self.ask(method, params);
        assert!(said["error"].is_null(), "{method}: {said}");
        said["result"].clone()
    }

    /// A pause, from outermost to innermost `depth` frames.
    pub fn pause(&mut self, depth: usize) -> String {
        let stack: Vec<_> = (1..=depth)
            .map(|n| json!({ "name": format!("f{n}"), "path": "/x", "line": n, "context": ["a", "b"], "first": n }))
            .collect();
        let opened = json!({ "label": "here", "stack": stack, "thread": "main" });
        self.ok("pause/open", &opened)["pause"]
            .as_str()
            .expect("an id")
            .to_owned()
    }

    /// The next evaluation.
    fn evaluation(&mut self, pause: &str) -> Value {
        loop {
            let asked = self.ok("repl/poll", &json!({ "pause": pause, "waitMs": 100 }));
            if !asked["evalId"].is_null() {
                return asked;
            }
        }
    }

    pub fn end(mut self) {
        drop(self.stdin);
        if let Some(child) = &mut self.child {
            assert!(child.wait().expect("an end").success());
        } else {
            let mut rest = String::new();
            self.stdout.read_to_string(&mut rest).expect("an end");
        }
    }
}

/// S5-061…064, S5-067…069, S5-088, S5-107: an input reaches the program as it was typed, and its result reaches the one who asked.
#[test]
fn evaluations_of_a_program() {
    let world = world();
    let mut talk = Talk::start(&world);
    let pause = talk.pause(1);
    let nothing = talk.ok("repl/poll", &json!({ "pause": pause, "waitMs": 0 }));
    assert_eq!(nothing, json!({ "evalId": null }));
    let typed = "  if x:\n\tprint( \"ä\" )\n\n ";
    // result, stdout, error; the output and the parts that are shown
    let cases = [
        ("7", "", None, "7", "value"),
        ("7", "printed \n\n", None, "7", "both"),
        ("", "printed", None, "", "stdout"),
        ("", "", None, "", "nothing"),
        ("", "before", Some("Error: no"), "Error: no", "error"),
        ("7", "", Some("Error: no"), "Error: no", "error"),
    ];
    for (at, (result, stdout, error, output, shows)) in cases.into_iter().enumerate() {
        let entry = thread::scope(|scope| {
            let asker = scope.spawn(|| world.json(["repl", &pause, "-e", typed]));
            let asked = talk.evaluation(&pause);
            assert_eq!(
                (&asked["pause"], &asked["expression"]),
                (&json!(pause), &json!(typed))
            );
            assert!(asked["timeoutMs"].as_u64() > Some(0), "{asked}");
            let answer = json!({
                "evalId": asked["evalId"], "pause": pause, "session": asked["session"], "result": result,
                "stdout": stdout, "error": error,
            });
            assert_eq!(talk.ok("repl/result", &answer)["index"], 1, "{at}");
            // a second answer is dropped
            assert_eq!(talk.ok("repl/result", &answer)["index"], Value::Null);
            asker.join().expect("answered")["entry"].clone()
        });
        assert_eq!(entry["input"], typed, "{at}");
        assert_eq!(entry["output"], output, "{at}");
        assert_eq!(entry["stdout"], stdout, "{at}");
        assert_eq!(entry["isError"], error.is_some(), "{at}");
        assert_eq!(entry["shows"], shows, "{at}");
    }
    world.ok(["resume"]);
    let action = talk.ok("pause/poll", &json!({ "pause": pause, "waitMs": 1000 }));
    assert_eq!(action, json!({ "action": { "kind": "continue" } }));
    talk.end();
}

/// S5-144, S5-145, S5-148: the stack is that of the pause, with its lines, however deep it is.
#[test]
fn deep_stacks_are_whole() {
    let world = world();
    let mut talk = Talk::start(&world);
    let pause = talk.pause(300);
    let own = json!({ "notifications": true, "panels": true });
    let mut client =
        crate::lsp::client::Client::with(&world, crate::lsp::client::Editor::Vscode, &own);
    client.open("a.txt");
    let stack = client.ok("backstitch/stack", json!({ "pause": pause }));
    let frames = stack["frames"].as_array().expect("frames");
    assert_eq!(frames.len(), 300);
    let names = [&frames[0]["name"], &frames[299]["name"]];
    assert!(
        names.contains(&&json!("f1")) && names.contains(&&json!("f300")),
        "{names:?}"
    );
    for frame in [&frames[0], &frames[299]] {
        assert_eq!(frame["path"], "/x", "{frame}");
        assert_eq!(frame["context"], json!(["a", "b"]), "{frame}");
        assert!(frame["line"].as_i64() > Some(0), "{frame}");
    }
    client.leave();
    // its end ends the pause
    talk.end();
    assert_eq!(world.json(["pauses"])["pauses"], json!([]));
}

/// Messages that are wrong are answered, and change nothing.
#[test]
fn wrong_messages_are_refused() {
    let world = world();
    let mut talk = Talk::start(&world);
    let code = |said: &Value| said["error"]["code"].as_i64().unwrap_or_default();
    assert_eq!(
        code(&talk.ask("repl/poll", &json!({ "pause": "p9", "waitMs": 0 }))),
        404
    );
    assert_eq!(code(&talk.ask("pause/open", &json!({}))), -32602);
    assert_eq!(code(&talk.ask("nothing", &json!({}))), -32601);
    writeln!(talk.stdin, "{{ no json").expect("written");
    let pause = talk.pause(1);
    world.ok(["deny", &pause, "-m", "no"]);
    let action = talk.ok("pause/poll", &json!({ "pause": pause, "waitMs": 1000 }));
    assert_eq!(action["action"], json!({ "kind": "raise", "error": "no" }));
    talk.end();
}

/// A program that does nothing by itself.
struct Idle {
    shell: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// Pipes to and from the bridge that it starts next.
    pipes: [PathBuf; 2],
}

impl Idle {
    fn start(world: &World) -> Self {
        let mut command = world.command("sh");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = command.spawn().expect("sh");
        let stdin = shell.stdin.take().expect("a pipe");
        let stdout = BufReader::new(shell.stdout.take().expect("a pipe"));
        let pipes = ["to-bridge", "from-bridge"].map(|name| world.home.join(name));
        let mut make = world.command("mkfifo");
        assert!(make.args(&pipes).status().expect("mkfifo").success());
        Self {
            shell,
            stdin,
            stdout,
            pipes,
        }
    }

    /// Has the shell run a line, and returns the line that it prints.
    fn run(&mut self, line: &str) -> String {
        writeln!(self.stdin, "{line}").expect("written");
        let mut said = String::new();
        self.stdout.read_line(&mut said).expect("a line");
        said.trim_end().to_owned()
    }

    /// A bridge that runs inside it, as those of programs do: a process that a bridge is not inside of is not its program.
    fn bridge(&mut self, world: &World) -> Talk {
        let [to, from] = self.pipes.clone();
        let line = format!(
            "'{}' bridge <'{}' >'{}' & echo $!",
            binary::path().display(),
            to.display(),
            from.display()
        );
        let bridge = self.run(&line).parse().expect("a number");
        // both sides of a named pipe wait for each other
        let stdin = File::create(to).expect("a pipe");
        let stdout = File::open(from).expect("a pipe");
        let talk = Talk {
            child: None,
            pid: bridge,
            stdin,
            stdout: BufReader::new(stdout),
            id: 0,
        };
        talk.greet(world, self.shell.id())
    }

    /// Kills its bridge before that can say anything more.
    fn kill(&mut self, talk: Talk) {
        let bridge = talk.pid;
        let ended = self.run(&format!("kill -9 {bridge}; wait {bridge}; echo $?"));
        assert_eq!(ended, "137");
        drop(talk);
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.shell.kill().ok();
        self.shell.wait().ok();
    }
}

fn open(world: &World) -> Vec<String> {
    let all = world.json(["pauses"]);
    let all = all["pauses"].as_array().expect("pauses").iter();
    all.map(|one| format!("{} {}", one["id"], one["state"]).replace('"', ""))
        .collect()
}

/// A request that a bridge carried out before it died, and did not answer, gets the same pause from the next bridge: none stays
/// behind that nobody waits for.
#[test]
fn a_request_without_an_answer_is_sent_again() {
    let world = world();
    let mut program = Idle::start(&world);
    let opens = |key: &str| json!({ "label": "here", "thread": "main", "key": key });
    let begins = json!({ "function": "f", "args": {}, "thread": "main", "key": "2" });
    let ends = |call: &Value| {
        json!({
            "call": call, "function": "f", "outcome": "returned", "result": "1", "thread": "main", "key": "3",
        })
    };
    let mut talk = program.bridge(&world);
    assert_eq!(talk.ok("pause/open", &opens("1"))["pause"], "p1");
    program.kill(talk);
    assert_eq!(open(&world), ["p1 held"]);
    // it is asked again, and what the dead one had begun to evaluate is evaluated
    let mut talk = program.bridge(&world);
    assert_eq!(talk.ok("pause/open", &opens("1"))["pause"], "p1");
    let (entry, mut talk) = thread::scope(|scope| {
        let asker = scope.spawn(|| world.json(["repl", "p1", "-e", "x"]));
        let asked = talk.evaluation("p1");
        program.kill(talk);
        let mut talk = program.bridge(&world);
        assert_eq!(talk.ok("pause/open", &opens("1"))["pause"], "p1");
        let again = talk.evaluation("p1");
        assert_eq!(asked, again);
        let answer = json!({ "evalId": again["evalId"], "result": "7" });
        talk.ok("repl/result", &answer);
        (asker.join().expect("answered")["entry"].clone(), talk)
    });
    assert_eq!(entry["output"], "7");
    // the same bridge, and one that died after the decision
    assert_eq!(talk.ok("pause/open", &opens("1"))["pause"], "p1");
    world.ok(["resume", "p1"]);
    program.kill(talk);
    talk = program.bridge(&world);
    assert_eq!(talk.ok("pause/open", &opens("1"))["pause"], "p1");
    let poll = json!({ "pause": "p1", "waitMs": 1000 });
    assert_eq!(talk.ok("pause/poll", &poll)["action"]["kind"], "continue");
    // calls: a breakpoint for one hit is gone with the first request
    world.ok(["breakpoint", "add", "function", "f", "--once"]);
    let begun = talk.ok("call/begin", &begins);
    assert_eq!(begun["pause"], "p2");
    program.kill(talk);
    talk = program.bridge(&world);
    assert_eq!(talk.ok("call/begin", &begins), begun);
    world.ok(["resume", "p2"]);
    let poll = json!({ "pause": "p2", "waitMs": 1000 });
    assert_eq!(talk.ok("pause/poll", &poll)["action"]["kind"], "continue");
    world.ok(["breakpoint", "add", "function", "f", "--after", "--once"]);
    assert_eq!(talk.ok("call/end", &ends(&begun["call"]))["pause"], "p3");
    program.kill(talk);
    talk = program.bridge(&world);
    assert_eq!(talk.ok("call/end", &ends(&begun["call"]))["pause"], "p3");
    // another request is another pause
    assert_eq!(talk.ok("pause/open", &opens("4"))["pause"], "p4");
    assert_eq!(open(&world), ["p3 held", "p4 held"]);
    // another program that happens to use the same key
    let mut other = Talk::start(&world);
    assert_eq!(other.ok("pause/open", &opens("4"))["pause"], "p5");
    other.end();
    talk.end();
    assert_eq!(open(&world), Vec::<String>::new());
}

/// S5-065, S5-123: a pause that its program withdraws is over: its sessions close, an evaluation under way is informed at once, and
/// its late result is refused.
#[test]
fn a_pause_is_withdrawn() {
    let world = world();
    let mut talk = Talk::start(&world);
    let pause = talk.pause(1);
    let (said, refused) = thread::scope(|scope| {
        let asker = scope.spawn(|| world.run(["repl", &pause, "-e", "x"]));
        let asked = talk.evaluation(&pause);
        let withdrawn = talk.ok("pause/withdraw", &json!({ "pause": pause }));
        assert_eq!(withdrawn, json!({ "withdrawn": true }));
        let answer = json!({ "evalId": asked["evalId"], "result": "7" });
        let refused = talk.ask("repl/result", &answer);
        (asker.join().expect("answered"), refused)
    });
    assert!(
        said.code != 0 && said.stderr.contains("is closed: its pause is over"),
        "{said}"
    );
    assert_eq!(refused["error"]["code"], 409, "{refused}");
    let all = world.json(["pauses", "--all"]);
    assert_eq!(all["pauses"][0]["state"], "ended", "{all:#}");
    let shown = world.ok(["pauses", "--all"]).stdout;
    assert!(shown.contains("given up by the program"), "{shown}");
    // again, and what is not a pause of this program
    let again = talk.ok("pause/withdraw", &json!({ "pause": pause }));
    assert_eq!(again, json!({ "withdrawn": false }));
    let mut other = Talk::start(&world);
    let of_other = other.pause(1);
    for unknown in [&*of_other, "p9"] {
        let refused = talk.ask("pause/withdraw", &json!({ "pause": unknown }));
        assert_eq!(refused["error"]["code"], 404, "{refused}");
    }
    // an ended pause is not taken
    let taken = talk.ask("pause/take", &json!({ "pause": pause }));
    assert_eq!(taken["error"]["code"], 404, "{taken}");
    assert_eq!(open(&world), [format!("{of_other} held")]);
    other.end();
    talk.end();
}

/// A call that did not run is not stopped after it.
#[test]
fn calls_that_did_not_run() {
    let world = world();
    world.ok(["breakpoint", "add", "function", "f", "--after"]);
    let mut talk = Talk::start(&world);
    let begins = json!({ "function": "f", "args": {}, "thread": "main" });
    for (outcome, ran, stops) in [
        ("skipped", true, false),
        ("raised", false, false),
        ("raised", true, true),
        ("returned", true, true),
    ] {
        let call = talk.ok("call/begin", &begins)["call"].clone();
        let ends = json!({
            "call": call, "function": "f", "outcome": outcome, "result": "", "thread": "main", "ran": ran,
        });
        let paused = talk.ok("call/end", &ends)["pause"].clone();
        assert_eq!(paused.is_string(), stops, "{outcome} {ran}: {paused}");
    }
    talk.end();
}

/// A pause belongs to its program: another one's bridge cannot take it, ask for its decision or its inputs, or end it.
#[test]
fn another_programs_bridge_has_no_part_in_a_pause() {
    let world = world();
    let mut own = Talk::start(&world);
    let pause = own.pause(1);
    let mut idle = Idle::start(&world);
    let mut other = idle.bridge(&world);
    for (method, params) in [
        ("pause/take", json!({ "pause": pause })),
        ("pause/poll", json!({ "pause": pause, "waitMs": 0 })),
        ("repl/poll", json!({ "pause": pause, "waitMs": 0 })),
        ("pause/withdraw", json!({ "pause": pause })),
        ("pause/confirm", json!({ "pause": pause })),
        ("pause/refuse", json!({ "pause": pause, "error": "no" })),
    ] {
        let said = other.ask(method, &params);
        assert_eq!(said["error"]["code"], 404, "{method}: {said}");
    }
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    other.end();
    own.end();
}

/// A log point at a function fills in its text, as one at an agent's call does. A value that fails is noted.
#[test]
fn a_log_point_at_a_function_has_its_values() {
    let world = world();
    let log = ["--action", "log", "--message"];
    let add = |text: &str| {
        let mut all = vec!["breakpoint", "add", "function", "f"];
        all.extend(log);
        all.push(text);
        world.ok(all);
    };
    add("n is {.args[\"0\"]} in {.function}, {.language}");
    add("{.args | error}");
    let mut talk = Talk::start(&world);
    let begins = json!({ "function": "f", "args": { "0": 7 }, "thread": "main" });
    assert!(talk.ok("call/begin", &begins)["pause"].is_null());
    let hits = world.json(["breakpoint", "hits"]);
    let text = hits["hits"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("n is 7 in f, "), "{text}");
    assert_eq!(hits["hits"][1]["text"], "{.args | error}");
    let list = world.json(["breakpoint", "list"]);
    assert!(!list["breakpoints"][1]["problem"].is_null(), "{list}");
    talk.end();
}
