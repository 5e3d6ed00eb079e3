//! The debug adapter over its real pipes: a step forward beside the bare script, and questions at a stop and while a step runs. A step
//! also prints a gigabyte while a client reads.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::jobs::{OUTPUT_MEMORY, PRINTS, run, write_workflow};
use crate::measure::{Times, alternating, alternating_slow, timed};
use crate::place::{Place, Programs};
use crate::rows::Report;
use crate::table::Goal;

/// Milliseconds that a step that does nothing may take beside its script.
const EMPTY_COST: f64 = 25.0;
/// Milliseconds of a question.
const QUESTION_COST: f64 = 5.0;
const NAME: &str = "the debug adapter";

/// A client of `backstitch dap`.
struct DapClient {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl DapClient {
    /// Launches the job of a workflow: it stands before its first step.
    fn begin(place: &Place<'_>, workflow: &str) -> Result<DapClient> {
        let mut command = place.server();
        let piped = command.arg("dap").stdin(Stdio::piped());
        let mut child = piped.stdout(Stdio::piped()).spawn()?;
        let mut client = DapClient {
            input: child.stdin.take().context("an input")?,
            output: BufReader::new(child.stdout.take().context("an output")?),
            child,
            number: 0,
        };
        client.ask("initialize", &json!({"adapterID": "bench"}))?;
        client.ask("launch", &json!({"workflow": workflow}))?;
        client.ask("configurationDone", &json!({}))?;
        client.until(|message| message["event"] == "stopped")?;
        Ok(client)
    }

    fn send(&mut self, command: &str, arguments: &Value) -> Result<()> {
        self.number += 1;
        let message = json!({"seq": self.number, "type": "request", "command": command, "arguments": arguments});
        let message = message.to_string();
        write!(
            self.input,
            "Content-Length: {}\r\n\r\n{message}",
            message.len()
        )?;
        Ok(self.input.flush()?)
    }

    fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value> {
        self.send(command, arguments)?;
        let number = self.number;
        self.until(|message| message["request_seq"] == number)
    }

    /// The next message for which something holds.
    fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            let message = self.read()?;
            if holds(&message) {
                return Ok(message);
            }
        }
    }

    fn read(&mut self) -> Result<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                bail!("the adapter ended");
            }
            match line.trim().split_once(": ") {
                Some((_, value)) => length = value.parse()?,
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Takes a step, and waits for the stop.
    fn go(&mut self, command: &str) -> Result<()> {
        let answer = self.ask(command, &json!({"threadId": 1}))?;
        ensure!(answer["success"] == true, "{answer}");
        self.until(|message| message["event"] == "stopped")
            .map(drop)
    }

    /// The highest memory so far, in MB.
    fn peak(&self) -> Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let line = line.context("a peak")?.trim().trim_end_matches(" kB");
        Ok(line.parse::<f64>()? / 1024.0)
    }
}

impl Drop for DapClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn measure(report: &mut Report, programs: &Programs, runs: usize) -> Result<()> {
    let place = Place::new(programs)?;
    run(Command::new("git")
        .args(["init", "-q"])
        .current_dir(&place.root))?;
    steps(report, &place, runs)?;
    output(report, &place)
}

fn steps(report: &mut Report, place: &Place<'_>, runs: usize) -> Result<()> {
    let scripts = ["true", "until test -e go; do sleep 0.01; done", "true"];
    write_workflow(&place.root, "steps.yml", &scripts.map(str::to_owned))?;
    let mut client = DapClient::begin(place, "steps.yml")?;
    let file = place.beside("empty.sh");
    fs::write(&file, "true")?;
    let forward = || {
        let took = timed(|| client.go("next"))?;
        client.go("stepBack")?;
        Ok(took)
    };
    let by_shell = || timed(|| run(Command::new("bash").arg("-e").arg(&file)));
    let times = alternating(runs, forward, by_shell)?;
    let operation = "next of an empty step, to the stop";
    report.times(NAME, operation, "bash -e", &times, Goal::Above(EMPTY_COST));

    client.go("next")?;
    question(report, &mut client, "stackTrace at a stop", runs, stack)?;
    let scope = scope(&mut client)?;
    let variables = |client: &mut DapClient| {
        let answer = client.ask("variables", &json!({"variablesReference": scope}))?;
        Ok(answer["success"] == true)
    };
    question(report, &mut client, "variables at a stop", runs, variables)?;
    client.ask("next", &json!({"threadId": 1}))?;
    let operation = "stackTrace while a step runs";
    question(report, &mut client, operation, runs, stack)?;
    let operation = "variables while a step runs";
    question(report, &mut client, operation, runs, variables)
}

/// Adds a row of a question that is answered. One that is refused has none.
fn question(
    report: &mut Report,
    client: &mut DapClient,
    operation: &'static str,
    runs: usize,
    ask: impl Fn(&mut DapClient) -> Result<bool>,
) -> Result<()> {
    if !ask(client)? {
        return Ok(());
    }
    let mut all: Vec<Duration> = Vec::new();
    for _ in 0..runs {
        all.push(timed(|| ask(client).map(drop))?);
    }
    let budget = Times::of(vec![Duration::from_secs_f64(QUESTION_COST / 1000.0)]);
    let times = (Times::of(all), budget);
    let goal = Goal::AtMost(QUESTION_COST);
    report.times(NAME, operation, "the budget", &times, goal);
    Ok(())
}

fn stack(client: &mut DapClient) -> Result<bool> {
    let answer = client.ask("stackTrace", &json!({"threadId": 1}))?;
    Ok(answer["success"] == true)
}

/// The reference of the variables of the environment.
fn scope(client: &mut DapClient) -> Result<Value> {
    let frames = client.ask("stackTrace", &json!({"threadId": 1}))?;
    let frame = &frames["body"]["stackFrames"][0]["id"];
    let answer = client.ask("scopes", &json!({ "frameId": frame }))?;
    let scopes = answer["body"]["scopes"].as_array().context("scopes")?;
    let github = scopes.iter().find(|scope| scope["name"] == "github");
    Ok(github.context("a scope")?["variablesReference"].clone())
}

fn output(report: &mut Report, place: &Place<'_>) -> Result<()> {
    write_workflow(&place.root, "flood.yml", &[PRINTS.to_owned()])?;
    let log = place.beside("log");
    let tee = format!("{PRINTS} | tee {} > /dev/null", log.display());
    let mut peak: f64 = 0.0;
    let times = alternating_slow(
        || {
            let mut client = DapClient::begin(place, "flood.yml")?;
            let took = timed(|| client.go("next"))?;
            peak = peak.max(client.peak()?);
            drop(client);
            place.run(&["job", "rm", "--all"])?;
            Ok(took)
        },
        || timed(|| run(Command::new("bash").arg("-c").arg(&tee))),
    )?;
    let (operation, limit) = ("next of a step that prints 1 GB", "the same through tee");
    report.times(NAME, operation, limit, &times, Goal::Ratio(2.0));
    let operation = "memory during a step that prints 1 GB";
    report.memory(NAME, operation, peak, OUTPUT_MEMORY);
    Ok(())
}
