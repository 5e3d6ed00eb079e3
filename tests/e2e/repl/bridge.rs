//! The protocol of the bridge, message by message.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

use serde_json::{Value, json};

use super::python::world;
use crate::support::World;

/// A program that speaks with its bridge.
struct Talk {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    id: i64,
}

impl Talk {
    fn start(world: &World) -> Self {
        let mut command = world.backstitch();
        command.arg("bridge").stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a bridge");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut talk = Self {
            child,
            stdin,
            stdout,
            id: 0,
        };
        // not this process: commands from inside a program are refused
        let hello = json!({
            "pid": talk.child.id(), "started": 1, "argv": ["x"], "language": "x", "cwd": world.root,
        });
        talk.ok("hello", &hello);
        talk
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

    fn ok(&mut self, method: &str, params: &Value) -> Value {
        let said = self.ask(method, params);
        assert!(said["error"].is_null(), "{method}: {said}");
        said["result"].clone()
    }

    /// A pause, from outermost to innermost `depth` frames.
    fn pause(&mut self, depth: usize) -> String {
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

    fn end(mut self) {
        drop(self.stdin);
        assert!(self.child.wait().expect("an end").success());
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
