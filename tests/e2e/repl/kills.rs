//! A talk with a paused program, of which one side is killed at a random moment: the program, its bridge, or the terminal, the
//! language server or the editor that asks. No pause is left that nobody can end, and no answer is lost that somebody has got.

use std::fs;
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::python::{Program, world};
use crate::lsp::client::read;
use crate::nvim::rig::{self, Neovim};
use crate::support::limits::EVENT_TIMEOUT;
use crate::support::rng::{self, Rng};
use crate::support::{World, skip};

const TALK: &str = r#"
import os, time
import backstitch_debug as bs
print("before")
bs.on()
state = {"n": 100}
def slow(milliseconds):
    time.sleep(milliseconds / 1000)
    return state["n"]
def when(path):
    open(path + " is awaited", "w").close()
    while not os.path.exists(path): time.sleep(0.001)
    return state["n"]
def main():
    bs.pause("here")
main()
print("after")
"#;
/// The same in JavaScript, in a package that links to the client.
const NODE_TALK: &str = r#"
const bs = require("CLIENT");
console.log("before");
bs.on();
const state = { n: 100 };
function main() { bs.pause("here", (s) => eval(s)); }
main();
console.log("after");
bs.off();
"#;
const INPUTS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Program,
    Bridge,
    Terminal,
}

/// The end of an editor's talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    /// Its language server is killed.
    Server,
    /// The editor is: the pipes of the language server are closed without a word.
    Editor,
}

pub fn kill(pid: u32) {
    let mut kill = std::process::Command::new("kill");
    kill.args(["-9", &pid.to_string()]);
    // it may have ended by itself
    kill.stderr(std::process::Stdio::null());
    kill.status().expect("kill");
}

/// The bridge of a program, whichever thread of it has started it. None: it has none now.
pub fn bridge_of(program: u32) -> Option<u32> {
    let threads = fs::read_dir(format!("/proc/{program}/task")).ok()?;
    let children = threads.flatten().map(|thread| {
        let file = thread.path().join("children");
        // it may have ended meanwhile
        fs::read_to_string(file).unwrap_or_default()
    });
    let children: String = children.collect();
    children.split_whitespace().find_map(|child| {
        let line = fs::read_to_string(format!("/proc/{child}/cmdline")).ok()?;
        line.split('\0')
            .any(|word| word == "bridge")
            .then_some(())?;
        child.parse().ok()
    })
}

/// The open pauses, oldest first.
fn open(world: &World) -> Vec<String> {
    let all = world.json(["pauses"]);
    let all = all["pauses"].as_array().expect("pauses").iter();
    all.map(|one| one["id"].as_str().expect("an id").to_owned())
        .collect()
}

/// Asks until the talk is over or the program has ended. Returns the answers that came.
fn talk(
    world: &World,
    program: &mut Program,
    terminal: &Mutex<Option<u32>>,
) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    let until = Instant::now() + EVENT_TIMEOUT;
    let mut asked = 0;
    while asked < INPUTS {
        assert!(Instant::now() < until, "{asked} of {INPUTS} inputs");
        if program.has_ended() {
            break;
        }
        let Some(pause) = open(world).pop() else {
            continue;
        };
        let input = format!("state[\"n\"] + {asked}");
        let mut command = world.backstitch();
        command.args(["--json", "repl", &pause, "-e", &input]);
        command.stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::null());
        let child = command.spawn().expect("a terminal");
        *terminal.lock().expect("a lock") = Some(child.id());
        let output = child.wait_with_output().expect("an end");
        *terminal.lock().expect("a lock") = None;
        asked += 1;
        if let Ok(said) = serde_json::from_slice::<Value>(&output.stdout) {
            let entry = &said["entry"];
            if entry["isError"] == false {
                let output = entry["output"].as_str().expect("text");
                answers.push((input, output.to_owned()));
            }
        }
    }
    answers
}

/// An editor that evaluates over its language server. Its messages end when either dies.
struct Face {
    server: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    number: i64,
}

impl Face {
    fn start(world: &World) -> Self {
        let mut command = world.backstitch();
        command.arg("lsp").stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().expect("a server");
        let stdin = server.stdin.take().expect("a pipe");
        let stdout = BufReader::new(server.stdout.take().expect("a pipe"));
        Self {
            server,
            stdin,
            stdout,
            number: 0,
        }
    }

    /// Sends a message. False: the server reads no more.
    fn send(&mut self, message: &Value) -> bool {
        let body = message.to_string();
        write!(self.stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).is_ok()
    }

    fn begin(&mut self, method: &str, params: &Value) -> bool {
        self.number += 1;
        self.send(
            &json!({ "jsonrpc": "2.0", "id": self.number, "method": method, "params": params }),
        )
    }

    /// The answer to the last request. None: the server ended before.
    fn answer(&mut self) -> Option<Value> {
        loop {
            let message = read(&mut self.stdout)?;
            if message["method"].is_null() && message["id"] == self.number {
                return Some(message);
            }
            // a question of the server: nobody is there
            if !message["method"].is_null() && !message["id"].is_null() {
                let id = &message["id"];
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": null }));
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.begin(method, params);
        let said = self.answer()?;
        assert!(said["error"].is_null(), "{method}: {said}");
        Some(said["result"].clone())
    }

    /// Opens a workspace, and starts a session. Returns its id.
    fn opens(&mut self, world: &World, pause: &str) -> Option<String> {
        let folder = format!("file://{}", world.root.display());
        let params = json!({
            "processId": null, "rootUri": folder, "capabilities": {},
            "workspaceFolders": [{ "uri": folder, "name": "x" }],
        });
        self.ask("initialize", &params)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
        let started = self.ask("backstitch/repl/start", &json!({ "pause": pause }))?;
        Some(started["session"]["id"].as_str().expect("an id").to_owned())
    }

    /// Evaluates until the talk is over or the server ends. Returns the answers that came.
    fn talk(&mut self, world: &World, pause: &str) -> Vec<(String, String)> {
        let mut answers = Vec::new();
        let Some(session) = self.opens(world, pause) else {
            return answers;
        };
        for asked in 0..INPUTS {
            let input = format!("slow({}) + {asked}", 7 * asked);
            let params = json!({ "session": session, "input": input });
            let Some(said) = self.ask("backstitch/repl/eval", &params) else {
                break;
            };
            let output = said["entry"]["output"].as_str().expect("text");
            answers.push((input, output.to_owned()));
        }
        answers
    }

    /// The editor is gone: nobody writes to the server, nor reads from it. It ends by itself.
    fn goes(mut self) {
        drop((self.stdin, self.stdout));
        self.server.wait().expect("an end");
    }
}

/// Kills the language server, or the editor before it, at a random moment. The program is held on, and another client continues
/// where the talk ended.
fn play_face(rng: &mut Rng, gone: Gone) {
    let world = world();
    let program = Program::start(&world, TALK);
    let until = Instant::now() + EVENT_TIMEOUT;
    let pause = loop {
        assert!(Instant::now() < until, "no pause");
        if let Some(pause) = open(&world).pop() {
            break pause;
        }
    };
    let mut face = Face::start(&world);
    let mut answers = if gone == Gone::Server {
        let moment = Duration::from_millis(rng.below(300) as u64);
        let pid = face.server.id();
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(moment);
                kill(pid);
            });
            face.talk(&world, &pause)
        })
    } else {
        let session = face.opens(&world, &pause).expect("a session");
        let mut answers = Vec::new();
        let last = rng.below(INPUTS);
        for asked in 0..=last {
            let input = format!("slow({}) + {asked}", rng.below(60));
            let params = json!({ "session": session, "input": input });
            if asked == last {
                // its answer finds nobody
                face.begin("backstitch/repl/eval", &params);
                thread::sleep(Duration::from_millis(rng.below(60) as u64));
                break;
            }
            let said = face.ask("backstitch/repl/eval", &params);
            let output = said.expect("an answer")["entry"]["output"].clone();
            answers.push((input, output.as_str().expect("text").to_owned()));
        }
        answers
    };
    face.goes();
    // whatever it had asked for is behind: a person continues in a terminal
    assert_eq!(open(&world), std::slice::from_ref(&pause), "{gone:?}");
    let input = "slow(0) + 50";
    let entry = world.json(["repl", &pause, "-e", input])["entry"].clone();
    assert_eq!(entry["output"], "150", "{gone:?}");
    answers.push((input.to_owned(), "150".to_owned()));
    world.ok(["resume"]);
    let (code, output, errors) = program.end();
    assert_eq!(
        (code, &*output, &*errors),
        (0, "before\nafter\n", ""),
        "{gone:?}"
    );
    assert_eq!(open(&world), Vec::<String>::new(), "{gone:?}");
    check(&world, &answers);
}

fn play(rng: &mut Rng, victim: Victim, node: Option<&Path>) {
    let world = world();
    let mut program = match node {
        None => Program::start(&world, TALK),
        Some(node) => {
            let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/clients/js");
            world.write("program.js", NODE_TALK.replace("CLIENT", client));
            let mut command = world.command(node);
            command.arg("program.js");
            Program::spawn(command)
        }
    };
    let pid = program.pid();
    let moment = Duration::from_millis(rng.below(500) as u64);
    let terminal = Mutex::new(None);
    let answers = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(moment);
            match victim {
                Victim::Program => kill(pid),
                Victim::Bridge => {
                    if let Some(bridge) = bridge_of(pid) {
                        kill(bridge);
                    }
                }
                Victim::Terminal => {
                    // its process is waited for only after this lock is free
                    let there = terminal.lock().expect("a lock");
                    if let Some(pid) = *there {
                        kill(pid);
                    }
                }
            }
        });
        talk(&world, &mut program, &terminal)
    });
    if victim != Victim::Program {
        // it does not continue by itself: somebody lets it
        assert!(!program.has_ended(), "{victim:?}");
        let until = Instant::now() + EVENT_TIMEOUT;
        while open(&world).len() != 1 {
            assert!(Instant::now() < until, "{victim:?}: {:?}", open(&world));
        }
        assert!(!program.has_ended(), "{victim:?}");
    }
    let until = Instant::now() + EVENT_TIMEOUT;
    while !(program.has_ended() && open(&world).is_empty()) {
        assert!(Instant::now() < until, "{victim:?}: {:?}", open(&world));
        if victim != Victim::Program {
            for pause in open(&world) {
                // it may be over by now
                world.run(["resume", &pause]);
            }
        }
    }
    let (code, output, errors) = program.end();
    if victim != Victim::Program {
        assert_eq!(
            (code, &*output),
            (0, "before\nafter\n"),
            "{victim:?}: {errors}"
        );
    }
    check(&world, &answers);
}

/// Each answer that came is in a transcript, and each entry is its own.
fn check(world: &World, answers: &[(String, String)]) {
    let list = world.json(["repl", "list"]);
    let mut kept = Vec::new();
    for session in list["sessions"].as_array().expect("sessions") {
        assert_eq!(session["status"], "closed", "{session:#}");
        let id = session["id"].as_str().expect("an id");
        let shown = world.json(["repl", "show", id]);
        for entry in shown["entries"].as_array().expect("entries") {
            let input = entry["input"].as_str().expect("text").to_owned();
            let output = entry["output"].as_str().expect("text").to_owned();
            if entry["isError"] == json!(false) {
                let number: u32 = input
                    .rsplit(' ')
                    .next()
                    .expect("a word")
                    .parse()
                    .expect("a number");
                assert_eq!(output, (100 + number).to_string(), "{entry:#}");
            }
            kept.push((input, output));
        }
    }
    for answer in answers {
        assert!(kept.contains(answer), "{answer:?} is lost: {kept:?}");
    }
    let verified = world.json(["verify"]);
    assert_eq!(verified["ok"], true, "{verified:#}");
}

/// Whatever dies in a talk, the rest continues, and ends.
#[test]
fn one_side_of_a_talk_is_killed() {
    let mut rng = Rng::new(Rng::seed("BACKSTITCH_KILL_SEED", 20_261_125));
    let cases = rng::cases("BACKSTITCH_KILL_CASES", 12, 300);
    let victims = [Victim::Program, Victim::Bridge, Victim::Terminal];
    for (case, victim) in (0..cases).zip(victims.into_iter().cycle()) {
        eprintln!("case {case}: {victim:?}");
        play(&mut rng, victim, None);
    }
}

/// The same holds for a Node program.
#[test]
fn one_side_of_a_talk_with_node_is_killed() {
    let Some(node) = super::node::node() else {
        let test = "repl::kills::one_side_of_a_talk_with_node_is_killed";
        return skip(test, "no node is here");
    };
    let mut rng = Rng::new(Rng::seed("BACKSTITCH_KILL_SEED", 20_261_127));
    let cases = rng::cases("BACKSTITCH_KILL_CASES", 9, 300);
    let victims = [Victim::Bridge, Victim::Program, Victim::Terminal];
    for (case, victim) in (0..cases).zip(victims.into_iter().cycle()) {
        eprintln!("case {case}: {victim:?}");
        play(&mut rng, victim, Some(&node));
    }
}

/// S5-F1, S5-L2: a language server or an editor that dies in a talk leaves the program held, and its evaluation blocks nobody else; the
/// transcripts outlive it.
#[test]
fn the_editor_of_a_talk_is_killed() {
    let mut rng = Rng::new(Rng::seed("BACKSTITCH_KILL_SEED", 20_261_126));
    let cases = rng::cases("BACKSTITCH_KILL_CASES", 8, 200);
    let kinds = [Gone::Server, Gone::Editor];
    for (case, gone) in (0..cases).zip(kinds.into_iter().cycle()) {
        eprintln!("case {case}: {gone:?}");
        play_face(&mut rng, gone);
    }
}

/// A Neovim that is killed in the midst of an evaluation leaves the program held; the answer is in the transcript, and a
/// terminal continues.
#[test]
fn neovim_is_killed_while_it_evaluates() {
    let world = rig::world(&[("a.txt", "a\n")]);
    world.ok(["checkpoint"]);
    let Some(mut nvim) = Neovim::start(&world, "plugin-repl-killed", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let program = Program::start(&world, TALK);
    nvim.waits("require('backstitch').statusline():find('⏸ 1') ~= nil");
    nvim.ex("Backstitch repl");
    nvim.waits("vim.api.nvim_get_mode().mode == 'i' and vim.fn.bufname():find('/input$') ~= nil");
    nvim.screen.keys("slow(0) + 1\r");
    nvim.screen.shows("101");
    nvim.screen.keys("when('go') + 2\r");
    let until = Instant::now() + EVENT_TIMEOUT;
    while !world.path("go is awaited").exists() {
        assert!(Instant::now() < until, "no evaluation");
        thread::yield_now();
    }
    // its processes die with it, as it is when a machine runs out of memory
    drop(nvim);
    let [pause] = &*open(&world) else {
        panic!("{:?}", open(&world));
    };
    let entry = thread::scope(|scope| {
        let asks = scope.spawn(|| world.json(["repl", pause, "-e", "slow(0) + 50"]));
        world.write("go", "");
        asks.join().expect("answered")["entry"].clone()
    });
    assert_eq!(entry["output"], "150");
    world.ok(["resume"]);
    assert_eq!(program.end().0, 0);
    let answers = [
        ("slow(0) + 1", "101"),
        ("when('go') + 2", "102"),
        ("slow(0) + 50", "150"),
    ];
    check(
        &world,
        &answers.map(|(input, output)| (input.to_owned(), output.to_owned())),
    );
}
