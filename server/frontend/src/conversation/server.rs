//! A session that an agent's own server makes: calls in lines of JSON, each after the answer to the one before.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use backstitch_agents::conversations::{Requirement, ServerCall};
use backstitch_agents::neutral_dir;
use backstitch_core::launch;
use serde_json::{Value, json};

use crate::terminal::error::{CliError, CliResult};

/// Time for all calls.
const TIME: Duration = Duration::from_secs(20);

/// Bytes of the server's errors that are kept.
const MAX_ERRORS: u64 = 4096;

/// A server that answers.
struct AgentServer<'a> {
    agent: &'a str,
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
    until: Instant,
    number: u64,
}

/// Makes a session by calls. Returns its id.
pub(super) fn make(agent: &str, argv: &[String], calls: &[ServerCall]) -> CliResult<String> {
    let mut server = AgentServer::start(agent, argv)?;
    let mut session = None;
    for call in calls {
        let result = server.call(call, session.as_deref())?;
        if let Some(place) = call.new_id {
            let id = result.pointer(place).and_then(Value::as_str);
            let id = id.ok_or_else(|| server.failed(&format!("{} gave no id", call.method)))?;
            session = Some(id.to_owned());
        }
    }
    session.ok_or_else(|| server.failed("it made no session"))
}

impl<'a> AgentServer<'a> {
    fn start(agent: &'a str, argv: &[String]) -> CliResult<AgentServer<'a>> {
        let (program, arguments) = argv
            .split_first()
            .ok_or_else(|| CliError::failed(format!("{agent} has no server")))?;
        let child = launch::program(program).and_then(|mut command| {
            command.args(arguments);
            // outside of the workspace, of which it would load settings
            command.current_dir(neutral_dir());
            // its hooks are not those of a turn
            command.env("BACKSTITCH_HOOK", "off");
            command.stdin(Stdio::piped());
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn()
        });
        let mut child = child.map_err(|error| {
            CliError::refused(format!("{program} cannot be started: {error}")).hint(format!(
                "{agent} makes the new session by itself: install it, or put it on PATH"
            ))
        })?;
        let (send, answers) = channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let parsed = serde_json::from_str::<Value>(&line);
                    if parsed.is_ok_and(|value| send.send(value).is_err()) {
                        return;
                    }
                }
            });
        }
        Ok(AgentServer {
            agent,
            input: child.stdin.take(),
            child,
            answers,
            until: Instant::now() + TIME,
            number: 0,
        })
    }

    /// Sends a call, and returns its result, of which all that it requires holds.
    fn call(&mut self, call: &ServerCall, session: Option<&str>) -> CliResult<Value> {
        let mut params = call.params.clone();
        if let (Some(place), Some(session)) = (call.takes_id, session)
            && let Some(value) = params.pointer_mut(place)
        {
            *value = session.into();
        }
        if !call.is_answered {
            self.send(&message(None, call.method, &params))?;
            return Ok(Value::Null);
        }
        let Some(wanted) = &call.requires else {
            return self.ask(call.method, &params);
        };
        self.pages(call.method, params, wanted)
    }

    /// Reads all pages of a list, whose items must be the wanted ones.
    fn pages(&mut self, method: &str, mut params: Value, wanted: &Requirement) -> CliResult<Value> {
        let mut items = Vec::new();
        loop {
            let result = self.ask(method, &params)?;
            let page = result.pointer(wanted.list).and_then(Value::as_array);
            items.extend(page.into_iter().flatten().cloned());
            let next = result.get(wanted.next).filter(|next| !next.is_null());
            let is_enough = items.len() > wanted.values.len();
            if next.is_none() || is_enough {
                if wanted.is_met(&items, next.is_none()) {
                    return Ok(result);
                }
                return Err(CliError::refused(format!(
                    "the turns of the conversation in {} are not those of the record: it was rewound there",
                    self.agent
                ))
                .hint("--scope code rewinds the files alone"));
            }
            params["cursor"] = next.cloned().unwrap_or_default();
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> CliResult<Value> {
        self.number += 1;
        let number = self.number;
        self.send(&message(Some(number), method, params))?;
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            let answer = match self.answers.recv_timeout(left) {
                Ok(answer) => answer,
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = TIME.as_secs();
                    return Err(self.failed(&format!("{method} has no answer after {seconds} s")));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.failed(&format!("it ended at {method}")));
                }
            };
            if answer["id"] != number {
                continue;
            }
            if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
                let said = error["message"].as_str().unwrap_or("an error");
                return Err(self.failed(&format!("{method}: {said}")));
            }
            return Ok(answer["result"].clone());
        }
    }

    fn send(&mut self, message: &Value) -> CliResult<()> {
        let line = format!("{message}\n");
        let sent = self
            .input
            .as_mut()
            .map(|input| input.write_all(line.as_bytes()));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(self.failed("it does not listen")),
        }
    }

    /// The error of a server, with its last words.
    fn failed(&mut self, reason: &str) -> CliError {
        let _ = self.child.kill();
        let mut said = String::new();
        if let Some(errors) = self.child.stderr.take() {
            let _ = errors.take(MAX_ERRORS).read_to_string(&mut said);
        }
        let said = said.trim();
        let said = if said.is_empty() {
            String::new()
        } else {
            format!("; it said: {said}")
        };
        CliError::failed(format!("the server of {}: {reason}{said}", self.agent))
            .hint("nothing was changed; --scope code rewinds the files alone")
    }
}

impl Drop for AgentServer<'_> {
    fn drop(&mut self) {
        // it ends with its input; the session is whole by then
        drop(self.input.take());
        let until = Instant::now() + Duration::from_secs(2);
        // its output ends with it
        let ended = loop {
            match self
                .answers
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break true,
                Err(RecvTimeoutError::Timeout) => break false,
            }
        };
        if !ended {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn message(id: Option<u64>, method: &str, params: &Value) -> Value {
    let mut message = json!({"method": method});
    if let Some(id) = id {
        message["id"] = id.into();
    }
    if !params.is_null() {
        message["params"] = params.clone();
    }
    message
}
