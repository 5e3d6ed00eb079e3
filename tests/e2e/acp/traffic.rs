//! Bytes in both directions, and the ends of both sides.

use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use super::{Client, hello, hello_of, open_calls, script, script_of, turn, update, wait_for};
use crate::support::World;

/// Lines that no parser likes, and lines that every parser changes.
const ODD: &[&[u8]] = &[
    b"{}\n",
    b"\n",
    b"\r\n",
    b"   \t \n",
    b"no json at all\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"a\",\"method\":\"b\",\"params\":{}}\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890.10e-400,\"method\":\"x/y\",\"params\":[1.0,1e999]}\r\n",
    b"{ \"params\" : {\"\\u0061\\ud83d\":\"\\/\\u2028\"} , \"method\":\"_own/unknown\",\"extra\":null}\n",
    b"{\"method\":\"session/update\",\"params\":{\"sessionId\":7,\"update\":[]}}\n",
    b"{\"method\":\"session/prompt\",\"params\":\"x\",\"id\":{}}\n",
    b"[{\"jsonrpc\":\"2.0\",\"method\":\"batch\"},{\"id\":1,\"result\":null}]\n",
    b"\xff\xfe\x00 invalid \xc3\x28 text\n",
    b"{\"method\":\"\xed\xa0\x80\"}\n",
    b"\xef\xbb\xbf{\"method\":\"after a mark\"}\n",
    b"{\"id\":99,\"result\":{\"outcome\":\"odd\"},\"error\":3}\n",
    b"{\"unfinished\": \n",
];

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[test]
fn lines_go_on_byte_for_byte_in_both_directions() {
    let world = World::git();
    let mut steps = hello();
    steps.extend(ODD.iter().map(|line| json!(["hex", hex(line)])));
    steps.push(json!(["hex", hex(b"the last without an end")]));
    steps.push(json!(["eof"]));
    let mut client = Client::start(&world, &Value::Array(steps));
    client.open(&world);
    for line in ODD {
        assert_eq!(client.line(), *line);
        client.write(line);
    }
    client.write(b"a last one of the client");
    let end = client.end();
    assert_eq!(end.code, 0, "{}", end.stderr);
    assert_eq!(end.rest, [b"the last without an end"]);
    assert_eq!(end.stderr, "");
    let sent: Vec<u8> = ODD.concat();
    let tail = [sent.as_slice(), b"a last one of the client"].concat();
    assert!(end.log.ends_with(&tail));
    let head = &end.log[..end.log.len() - tail.len()];
    assert_eq!(head.split_inclusive(|byte| *byte == b'\n').count(), 2);
}

/// Both sides write without reading, far beyond what pipes hold.
#[test]
fn floods_and_long_lines_pass_in_bounded_memory() {
    const COUNT: usize = 100_000;
    const LENGTH: usize = 50_000_000;
    let world = World::git();
    let steps = json!([
        ["flood", COUNT],
        ["big", LENGTH],
        ["until", "the end"],
        ["exit", 3]
    ]);
    let mut client = Client::start(&world, &steps);
    let pid = client.child.id();
    let mut stdin = client.stdin.take().expect("open");
    let writing = thread::spawn(move || {
        use std::io::Write as _;
        let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"sessionId\":\"s\"}}\n";
        for _ in 0..COUNT {
            stdin.write_all(line).expect("written");
        }
        let long = vec![b'y'; LENGTH];
        stdin.write_all(&long).expect("written");
        stdin.write_all(b"\n").expect("written");
        stdin
    });
    for number in 0..COUNT {
        let line = client.line();
        assert!(
            line.ends_with(format!("{{\"n\":{number}}}}}\n").as_bytes()),
            "{number}"
        );
    }
    let long = client.line();
    // the name of the field is one more
    let count = String::from_utf8(long).expect("text").matches('x').count();
    assert_eq!(count, LENGTH + 1);
    client.stdin = Some(writing.join().expect("written"));
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: u64 = peak
        .and_then(|peak| peak.split_whitespace().next())
        .and_then(|peak| peak.parse().ok())
        .expect("a peak");
    // two lines, and the growth of their buffers
    assert!(peak < 300_000, "{peak} KiB");
    client.write(b"the end\n");
    let end = client.wait();
    assert_eq!(end.code, 3, "{}", end.stderr);
    assert!(end.log.len() > LENGTH + COUNT * 40);
}

#[test]
fn an_agent_that_dies_ends_the_proxy_with_its_status() {
    let world = World::git();
    let dies = |end: Value| {
        let half = json!(["hex", hex(b"{\"jsonrpc\":\"2.0\",\"meth")]);
        let client = Client::start(&world, &json!([half, end]));
        assert_eq!(client.line(), b"{\"jsonrpc\":\"2.0\",\"meth");
        client.wait()
    };
    assert_eq!(dies(json!(["exit", 7])).code, 7);
    assert_eq!(dies(json!(["kill"])).code, 128 + 9);
    let absent = world.run(["acp", "--", "no-such-agent"]);
    assert_eq!(absent.code, 127, "{absent}");
    assert!(absent.stderr.contains("no-such-agent"), "{absent}");
    let none = world.run(["acp"]);
    assert_eq!(none.code, 2, "{none}");
}

/// An agent that dies within a call leaves a call that nobody reports the end of: its changes are its own, and a rewind undoes them.
#[test]
fn an_agent_that_dies_in_a_call_leaves_its_change() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let path = world.path("a.txt");
    let call = json!({"toolCallId": "c1", "kind": "execute", "status": "in_progress", "rawInput": {"command": "x"}});
    let dies = [
        update("tool_call", &call),
        json!(["until", "go on"]),
        json!(["write", path, "two\n"]),
        json!(["kill"]),
    ];
    let mut client = Client::start(&world, &script(&[turn(dies)]));
    client.open(&world);
    client.prompt("change it");
    client.until("session/update");
    // the call is recorded before the agent continues
    wait_for(|| open_calls(&world) == 1);
    client.write(b"go on\n");
    assert_eq!(client.wait().code, 128 + 9);
    let log = world.json(["log", "--all"]);
    assert_eq!(
        log["checkpoints"][0]["changes"][0]["path"], "a.txt",
        "{log:#}"
    );
    assert_eq!(log["checkpoints"][0]["kind"], "step", "{log:#}");
    world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(world.read("a.txt"), "one\n");
}

#[test]
fn a_client_that_vanishes_leaves_no_process() {
    let world = World::git();
    // one that reads to the end, and one that does not read at all
    for last in [json!(["eof"]), json!(["deaf"])] {
        let ready = world.path("ready");
        let steps = json!([["mark", ready], last]);
        let mut client = Client::start(&world, &steps);
        wait_for(|| ready.exists());
        let (pid, reads) = (client.child.id(), last[0] == "eof");
        let below = children(pid);
        assert!(!below.is_empty());
        drop(client.stdin.take());
        if reads {
            assert_eq!(client.wait().code, 0);
        } else {
            let kill = |signal: &str| {
                Command::new("kill")
                    .arg(signal)
                    .arg(pid.to_string())
                    .status()
            };
            kill("-TERM").expect("a signal");
            assert_eq!(client.wait().code, 128 + 15);
        }
        for child in below {
            assert!(!std::path::Path::new(&format!("/proc/{child}")).exists());
        }
        std::fs::remove_file(&ready).expect("there");
    }
}

fn children(pid: u32) -> Vec<u32> {
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let listed = listed.unwrap_or_default();
    listed
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Another version is forwarded. Its turns are recorded, and what happens in them is uncertain.
#[test]
fn another_version_is_forwarded_and_recorded_by_scans() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let path = world.path("a.txt");
    let call = json!({"toolCallId": "c1", "kind": "edit", "status": "in_progress", "locations": [{"path": path}]});
    let steps = [update("tool_call", &call), json!(["write", path, "two\n"])];
    let script = script_of(hello_of("stand-in", 2), &[turn(steps), turn([])]);
    let mut client = Client::start(&world, &script);
    client.open(&world);
    for text in ["change it", "go on"] {
        client.prompt(text);
        assert_eq!(client.result()["stopReason"], "end_turn");
    }
    let end = client.end();
    assert_eq!(end.code, 0);
    assert_eq!(end.stderr.matches("version 2").count(), 1, "{}", end.stderr);
    let log = world.json(["log", "--all"]);
    let of_agent = &log["checkpoints"][1];
    assert_eq!(of_agent["changes"][0]["path"], "a.txt", "{log:#}");
    let blame = world.json(["blame", "a.txt"]);
    assert_ne!(blame["lines"][0]["by"], "user", "{blame:#}");
}
