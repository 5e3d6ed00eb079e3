//! A debugged job whose lines are written one by one, so that it can be killed between and within them.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::World;
use crate::support::limits::EVENT_TIMEOUT;

/// A debugger of a job that takes the words of `job debug`.
pub trait Debugger: Sized {
    /// Steps through the job `build` of `ci.yml`.
    fn start(world: &World) -> Self;

    /// Continues the newest run.
    fn resume(world: &World) -> Self;

    /// The answer that says where the job stands at first.
    fn first(&self) -> &Value;

    /// Gives a word, without a wait for its answer.
    fn write(&mut self, line: &str);

    /// Gives a word. Returns its answer, or none if the process was killed.
    fn line(&mut self, line: &str) -> Option<Value>;

    /// Gives a word. Returns the text that it says, or the place where the job then stands.
    fn said(&mut self, line: &str) -> String {
        place(&self.line(line).expect("an answer"))
    }

    /// Kills the debugger, or all that runs below it, too, as the end of the machine does.
    fn kill(self, machine: bool);

    fn end(self);
}

impl Debugger for SteppedJob {
    fn start(world: &World) -> SteppedJob {
        SteppedJob::start(world)
    }

    fn resume(world: &World) -> SteppedJob {
        SteppedJob::resume(world)
    }

    fn first(&self) -> &Value {
        &self.first
    }

    fn write(&mut self, line: &str) {
        SteppedJob::write(self, line);
    }

    fn line(&mut self, line: &str) -> Option<Value> {
        SteppedJob::line(self, line)
    }

    fn kill(self, machine: bool) {
        if machine {
            self.kill_machine();
        } else {
            SteppedJob::kill(self);
        }
    }

    fn end(self) {
        SteppedJob::end(self);
    }
}

pub struct SteppedJob {
    child: Child,
    stdin: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    /// The answer that says where the job stands at first.
    pub first: Value,
}

impl SteppedJob {
    /// Steps through the job `build` of `ci.yml`.
    pub fn start(world: &World) -> SteppedJob {
        SteppedJob::of(world, &["ci.yml", "-j", "build", "--yes"], None)
    }

    /// Continues the newest run.
    pub fn resume(world: &World) -> SteppedJob {
        SteppedJob::of(world, &["--resume"], None)
    }

    /// Runs the jobs of `ci.yml` up to a failure.
    pub fn hold(world: &World) -> SteppedJob {
        let mut command = world.backstitch();
        command.args(["--json", "job", "run", "ci.yml", "--hold", "--yes"]);
        SteppedJob::begin(command, None)
    }

    /// Starts `job debug`. With a fault the process is killed at that point.
    pub fn of(world: &World, args: &[&str], fault: Option<u64>) -> SteppedJob {
        let mut command = world.backstitch();
        command.args(["--json", "job", "debug"]).args(args);
        SteppedJob::begin(command, fault)
    }

    fn begin(mut command: Command, fault: Option<u64>) -> SteppedJob {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.envs(fault.map(|point| ("BACKSTITCH_FAULT", point.to_string())));
        let mut child = command.spawn().expect("a debugger");
        let stdout = child.stdout.take().expect("a pipe");
        let mut job = SteppedJob {
            stdin: child.stdin.take(),
            child,
            answers: BufReader::new(stdout).lines(),
            first: Value::Null,
        };
        job.first = job.answer().unwrap_or_default();
        job
    }

    /// The next answer. None if the process was killed.
    pub fn answer(&mut self) -> Option<Value> {
        let line = self.answers.next()?.ok()?;
        let answer = serde_json::from_str(&line);
        let mut answer = answer.unwrap_or_else(|error| {
            // an error of the command has several lines
            let rest: Vec<String> = self.answers.by_ref().map_while(Result::ok).collect();
            panic!("{error}: {line}{}", rest.join(""))
        });
        super::remove_times(&mut answer);
        Some(answer)
    }

    /// Writes a line, without a wait for its answer.
    pub fn write(&mut self, line: &str) {
        let mut stdin = self.stdin.as_ref().expect("a pipe");
        // a killed process reads nothing
        let _ = writeln!(stdin, "{line}");
    }

    /// Writes a line. Returns its answer, or none if the process was killed.
    pub fn line(&mut self, line: &str) -> Option<Value> {
        self.write(line);
        self.answer()
    }

    /// Writes a line. Returns the text that it says, or the place where the job then stands.
    pub fn said(&mut self, line: &str) -> String {
        place(&self.line(line).expect("an answer"))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the debugger, and waits for its end.
    pub fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("an end");
    }

    /// Sends the signal of Ctrl-C.
    pub fn interrupt(&self) {
        signal(self.child.id(), Signal::INT);
    }

    /// Sends the signal of a terminal that ends, and waits for the end of the debugger.
    pub fn hang_up(mut self) {
        signal(self.child.id(), Signal::HUP);
        self.child.wait().expect("an end");
    }

    /// Kills the debugger with all that runs below it, as the end of the machine does.
    pub fn kill_machine(mut self) {
        kill_all(&mut self.child);
    }

    /// Kills the processes below the debugger.
    pub fn kill_below(&self) {
        for pid in below(self.child.id()).into_iter().skip(1) {
            signal(pid, Signal::KILL);
            // a signal is delivered later than it is sent
            let is_over = || {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
                stat.map_or(true, |stat| stat.contains(") Z "))
            };
            until("a killed process is over", is_over);
        }
    }

    /// Ends the input. Returns the exit code, and the report of the job.
    pub fn end(mut self) -> (Option<i32>, Value) {
        drop(self.stdin.take());
        let rest: Vec<String> = self.answers.map_while(Result::ok).collect();
        let report = serde_json::from_str(&rest.join("\n")).unwrap_or_default();
        (self.child.wait().expect("an end").code(), report)
    }
}

/// Kills a process with all that runs below it.
pub fn kill_all(child: &mut Child) {
    let all = below(child.id());
    child.kill().expect("killed");
    for pid in all {
        signal(pid, Signal::KILL);
    }
    child.wait().expect("an end");
}

fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // it may have ended
    let _ = kill_process(pid.expect("a process"), signal);
}

/// `before Build`, `failed Build`, `end`, an error or a text.
pub fn place(answer: &Value) -> String {
    if let Some(error) = answer["error"].as_str() {
        return format!("error: {error}");
    }
    let step = answer["step"].as_str().unwrap_or_default();
    match answer["stop"].as_str() {
        Some(word) => format!("{word} {step}").trim_end().to_owned(),
        None => answer["said"].as_str().unwrap_or_default().to_owned(),
    }
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < EVENT_TIMEOUT, "{what}");
        std::thread::yield_now();
    }
}

/// Processes below one, from the top.
fn below(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut at = 0;
    while at < all.len() {
        let children = format!("/proc/{0}/task", all[at]);
        let tasks = std::fs::read_dir(children).into_iter().flatten().flatten();
        for task in tasks {
            let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(
                text.split_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            );
        }
        at += 1;
    }
    all.split_off(1)
}
