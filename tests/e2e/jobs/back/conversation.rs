//! A conversation with `job debug`: lines are written while a step runs, and answers are read.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;
use std::{fs, thread};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::super::newest;
use crate::support::World;
use crate::support::limits::EVENT_TIMEOUT;

/// A debugged job that waits for lines.
pub struct Conversation {
    child: Child,
    input: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    pub place: PathBuf,
}

impl Conversation {
    /// Begins with the job `build` of `ci.yml`.
    pub fn begin(world: &World) -> Conversation {
        Conversation::with(world, &[])
    }

    pub fn with(world: &World, arguments: &[&str]) -> Conversation {
        Conversation::of(
            world,
            &[&["ci.yml", "-j", "build", "--yes"], arguments].concat(),
        )
    }

    /// Continues the newest run that can be resumed.
    pub fn resume(world: &World) -> Conversation {
        Conversation::of(world, &["--resume"])
    }

    fn of(world: &World, arguments: &[&str]) -> Conversation {
        let mut command = world.backstitch();
        command.args(["--json", "job", "debug"]);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a job");
        let input = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut begun = Conversation {
            child,
            input,
            answers,
            place: PathBuf::new(),
        };
        let first = begun.answer();
        assert!(first["stop"].is_string(), "{first}");
        begun.place = newest(world);
        begun
    }

    /// Writes a line. The answer is not read.
    pub fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().expect("an input");
        writeln!(input, "{line}").expect("written");
    }

    /// Reads the next answer.
    pub fn answer(&mut self) -> Value {
        let line = self.answers.next().expect("an answer").expect("a line");
        let answer = serde_json::from_str(&line);
        let mut answer = answer.unwrap_or_else(|error| panic!("{error}: {line}"));
        super::remove_times(&mut answer);
        answer
    }

    /// Writes a line and reads its answer.
    pub fn ask(&mut self, line: &str) -> Value {
        self.tell(line);
        self.answer()
    }

    /// The answer to a line that shows something.
    pub fn said(&mut self, line: &str) -> String {
        let answer = self.ask(line);
        let said = answer["said"].as_str();
        said.unwrap_or_else(|| panic!("{line}: {answer}"))
            .to_owned()
    }

    /// The place after a line: `before Build`.
    pub fn stop(&mut self, line: &str) -> String {
        place_of(&self.ask(line))
    }

    /// Goes on until a step has made this file in the workspace.
    pub fn until_file(&self, name: &str) {
        let file = self.file(name);
        let since = Instant::now();
        while !file.exists() {
            assert!(since.elapsed() < EVENT_TIMEOUT, "{}", file.display());
            thread::yield_now();
        }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.place.join("files/work/work/work").join(name)
    }

    pub fn read(&self, name: &str) -> String {
        let file = self.file(name);
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok();
        let pid = pid.and_then(Pid::from_raw).expect("a pid");
        kill_process(pid, signal).expect("a signal");
    }

    /// Ends the process as `kill -9` does.
    pub fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }

    /// Ends the lines, and returns the exit code.
    pub fn end(mut self) -> i32 {
        drop(self.input.take());
        while self.answers.next().is_some() {}
        self.child.wait().expect("ended").code().expect("a code")
    }
}

/// The place that an answer tells: `before Build`. An error is its text.
pub fn place_of(answer: &Value) -> String {
    if let Some(error) = answer["error"].as_str() {
        return format!("error: {error}");
    }
    let word = answer["stop"].as_str();
    let word = word.unwrap_or_else(|| panic!("{answer}"));
    match answer["step"].as_str() {
        Some(step) => format!("{word} {step}"),
        None => word.to_owned(),
    }
}
