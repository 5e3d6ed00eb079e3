//! REPLs at pauses: an input until its entry, lists and transcripts that grow, and the cost of a client that holds nothing.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::client::Client;
use crate::measure::Times;
use crate::place::{Place, Programs};
use crate::rows::Report;
use crate::table::{Goal, Row};

const INPUTS: usize = 51;
const READS: usize = 31;
/// A long history.
const SESSIONS: usize = 1000;
const ENTRIES: usize = 10_000;

/// Prints its costs in seconds for each call, and is paused then.
const PROGRAM: &str = r#"
import json, time
import backstitch_debug as bs

def inner(n): return n + 1

class Model:
    def step(self, n): return n + 1

def wrapper(function, *args, **kwargs):
    return function(*args, **kwargs)

def per_call(work, count):
    begin = time.perf_counter()
    for n in range(count): work(n)
    return (time.perf_counter() - begin) / count

def least(work, count):
    return min(per_call(work, count) for _ in range(15))

off = {"wrapper": least(lambda n: wrapper(inner, n), 20000), "call": least(lambda n: bs.call(inner, n), 20000)}
watched, model = bs.watch(Model()), Model()
off.update({"method": least(model.step, 20000), "watch": least(watched.step, 20000)})
bs.on()
on = {"call": least(lambda n: bs.call(inner, n), 40), "watch": least(watched.step, 40)}
print(json.dumps({"off": off, "on": on}), flush=True)
bs.pause("bench")
"#;

/// A program that is killed at the end.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

pub fn measure(report: &mut Report, programs: &Programs) -> Result<()> {
    let place = Place::new(programs)?;
    place.prompt()?;
    let mut client = Client::start(place.server(), &place.root)?;
    let (program, costs) = start(&place, programs)?;
    clients(report, &costs)?;

    let here = |more: Value| -> Value {
        let mut params = json!({ "workspace": place.root });
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        params
    };
    while !place.said(&["pauses", "--json"])?.contains("\"held\"") {}
    let start = here(json!({ "pause": "p1" }));
    let (_, started) = client.request("backstitch/repl/start", &start)?;
    let session = started["session"]["id"].clone();
    let (mut evals, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..INPUTS {
        let input = here(json!({ "session": session, "input": "1+1" }));
        evals.push(client.request("backstitch/repl/eval", &input)?.0);
        // two messages through pipes, and back
        floors.push(client.noop()? + client.noop()?);
    }
    let times = (Times::of(evals), Times::of(floors));
    report.times(
        "a program",
        "1+1 until its entry",
        "two pipe round trips",
        &times,
        Goal::AtMost(15.0),
    );

    let short = reads(&mut client, &here, &session)?;
    grow(&place, session.as_str().context("an id")?)?;
    let long = reads(&mut client, &here, &session)?;
    let names = [
        "a page of sessions",
        "sessions by a word",
        "the newest 50 entries",
    ];
    for (name, times) in names.into_iter().zip(short.into_iter().zip(long)) {
        let (few, many) = times;
        report.times(
            "1000 sessions, 10000 entries",
            name,
            "1 session, 51 entries",
            &(many, few),
            Goal::AtMost(10.0),
        );
    }
    drop(program);
    client.leave()
}

/// Starts the program and returns its costs.
fn start(place: &Place<'_>, programs: &Programs) -> Result<(Running, Value)> {
    let path = place.root.join("program.py");
    std::fs::write(&path, PROGRAM)?;
    let mut server = place.server();
    let environment: Vec<_> = server
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    server = Command::new("python3");
    let mut child = server
        .arg(&path)
        .current_dir(&place.root)
        .env_clear()
        .envs(environment)
        .env("BACKSTITCH_BIN", &programs.backstitch)
        .env(
            "PYTHONPATH",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../server/clients/python/src"),
        )
        .stdout(Stdio::piped())
        .spawn()
        .context("python3")?;
    let stdout = child.stdout.take().context("a pipe")?;
    let running = Running(child);
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    ensure!(!line.is_empty(), "the program ended");
    Ok((running, serde_json::from_str(&line)?))
}

/// The cost of a client that is off, and of one for which nothing is armed.
fn clients(report: &mut Report, costs: &Value) -> Result<()> {
    let nanoseconds = |state: &str, name: &str| -> Result<f64> {
        Ok(costs[state][name].as_f64().context("a time")? * 1e9)
    };
    let rows = [
        (
            "call(), off",
            ("off", "call"),
            "a wrapper that only calls",
            ("off", "wrapper"),
            Goal::Ratio(1.05),
        ),
        (
            "a watched method, off",
            ("off", "watch"),
            "the method",
            ("off", "method"),
            Goal::AtMost(1000.0),
        ),
    ];
    for (operation, (state, name), limit_is, (floor, at), goal) in rows {
        report.add(Row {
            tree: "a program".to_owned(),
            operation,
            limit_is,
            ours: nanoseconds(state, name)?,
            limit: nanoseconds(floor, at)?,
            goal,
            unit: "ns",
        });
    }
    for (operation, name) in [
        ("call(), nothing armed", "call"),
        ("a watched method, nothing armed", "watch"),
    ] {
        report.add(Row {
            tree: "a program".to_owned(),
            operation,
            limit_is: "the budget",
            ours: nanoseconds("on", name)? / 1e6,
            limit: 1.0,
            goal: Goal::AtMost(1.0),
            unit: "ms",
        });
    }
    Ok(())
}

fn reads(
    client: &mut Client,
    here: &impl Fn(Value) -> Value,
    session: &Value,
) -> Result<[Times; 3]> {
    let (_, shown) = client.request(
        "backstitch/repl/show",
        &here(json!({ "session": session, "after": 1_000_000 })),
    )?;
    let last = shown["session"]["entries"].as_u64().context("a number")?;
    let asked = [
        ("backstitch/repl/list", here(json!({}))),
        ("backstitch/repl/list", here(json!({ "search": "1+1" }))),
        (
            "backstitch/repl/show",
            here(json!({ "session": session, "after": last.saturating_sub(50) })),
        ),
    ];
    let mut all: [Vec<Duration>; 3] = Default::default();
    for _ in 0..READS {
        for (times, (method, params)) in all.iter_mut().zip(&asked) {
            times.push(client.request(method, params)?.0);
        }
    }
    Ok(all.map(Times::of))
}

/// Adds sessions that are closed, and entries to one.
fn grow(place: &Place<'_>, session: &str) -> Result<()> {
    let path = place.store()?.with_file_name("control.db");
    let mut conn = Connection::open(path)?;
    let change = conn.transaction()?;
    let now = i64::try_from(
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)?
            .as_micros(),
    )?;
    let began = Instant::now();
    for n in 0..SESSIONS {
        change.execute(
            "INSERT INTO repl_session (id, pause, pid, function, language, started, closed, reason)
             VALUES (?1, 1, 1, 'plan', 'python', ?2, ?2, 'its pause was decided')",
            (format!("1-{n}.000000"), now - i64::try_from(n)?),
        )?;
    }
    for n in 0..ENTRIES {
        let id: i64 = change.query_row(
            "INSERT INTO exchange (session, number, input, output, stdout, is_error, time, ms)
             VALUES (?1, ?2, ?3, ?4, '', 0, ?5, 1) RETURNING id",
            (
                session,
                i64::try_from(INPUTS + 1 + n)?,
                format!("plan({n})"),
                format!("['read', {n}]"),
                now,
            ),
            |row| row.get(0),
        )?;
        change.execute(
            "INSERT INTO exchange_words (rowid, words) VALUES (?1, ?2)",
            (id, format!("plan({n})\n['read', {n}]")),
        )?;
    }
    change.commit()?;
    ensure!(began.elapsed() < Duration::from_mins(1), "a slow disk");
    Ok(())
}
