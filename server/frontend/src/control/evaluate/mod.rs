//! Evaluation of inputs at a held call: jq on the call, shell commands, and changes of its input. It runs in a child of the
//! hook, which can be killed without harm to the hold.

mod child;
mod job;
mod words;

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use backstitch_control::shell;
use backstitch_control::{Control, EvalAnswer, EvalRequest, LONGER, Pause, PauseId};
use backstitch_core::config::Config;
use backstitch_core::{Engine, LogFilter, Workspace};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use self::job::{EvaluationJob, EvaluationResult, stopped};
use super::details::{self, Around};
use super::predict::read_disk;
use super::{acts, shown};
use crate::opening;
use crate::to_protocol;

pub use self::child::child;

/// The argument of `backstitch hook` that starts the child.
pub const CHILD_ARGUMENT: &str = "eval";
/// Stands in place of the front end for a change that was typed in a REPL.
const REPL_CLIENT: &str = "a REPL";
/// Answer to a change that changes nothing.
const SAME_INPUT: &str = "the input is the same as before";
/// Time after the end of a command in which the child still answers with the output. It is shorter than the time that the
/// waiting side waits longer.
const ANSWER_TIME: Duration = Duration::from_secs(3);
const _: () = assert!(ANSWER_TIME.as_millis() < LONGER.as_millis());
/// Number of checkpoints that an expression sees.
const RECENT: usize = 20;

/// An evaluation that is under way. The child is killed with it.
#[derive(Debug)]
pub struct Evaluation {
    request: EvalRequest,
    child: Child,
    answer: std::sync::mpsc::Receiver<Vec<u8>>,
    until: Instant,
    /// True: its answer is not an error, so that a program which it has started in the background continues.
    is_answered: bool,
}

impl Evaluation {
    /// Starts an evaluation. None: it is answered already.
    pub fn start(
        workspace: &Workspace,
        control: &Control,
        pause: &Pause,
        request: EvalRequest,
    ) -> Option<Self> {
        let time = Duration::from_millis(u64::try_from(request.timeout).unwrap_or(0));
        let job = job(workspace, pause, &request, time);
        // the child itself stops a command, and says its output
        let grace = job.command().map_or(Duration::ZERO, |_| ANSWER_TIME);
        match spawn(&job) {
            Ok((child, answer)) => Some(Self {
                request,
                child,
                answer,
                until: Instant::now() + time + grace,
                is_answered: false,
            }),
            Err(error) => {
                let answer = failed(format!("the evaluation could not be started: {error}"));
                let _ = control.repls().answer_eval(request.id, &answer);
                None
            }
        }
    }

    /// Looks at the child. None: the evaluation is over, and answered.
    pub fn advance(mut self, control: &Control) -> Option<Self> {
        if let Ok(bytes) = self.answer.try_recv() {
            let answer = self.read(control, &bytes);
            self.is_answered = answer.error.is_none();
            let _ = control.repls().answer_eval(self.request.id, &answer);
            return None;
        }
        if Instant::now() >= self.until {
            self.end();
            let time = u64::try_from(self.request.timeout).unwrap_or(0);
            let answer = failed(stopped(Duration::from_millis(time)));
            let _ = control.repls().answer_eval(self.request.id, &answer);
            return None;
        }
        // closed, or nobody waits any longer
        if !control
            .repls()
            .is_eval_wanted(self.request.id)
            .unwrap_or(true)
        {
            return None;
        }
        Some(self)
    }

    fn read(&mut self, control: &Control, bytes: &[u8]) -> EvalAnswer {
        let Ok(done) = serde_json::from_slice::<EvaluationResult>(bytes) else {
            let how = self.child.wait().map(|status| status.to_string());
            let how = how.unwrap_or_else(|error| error.to_string());
            return failed(format!("the evaluation ended without an answer ({how})"));
        };
        let pause = self.request.pause;
        let mut result = done.result;
        if let Some(changed) = &done.changed {
            match change(control, pause, changed.input.clone()) {
                Ok(true) => {}
                Ok(false) => SAME_INPUT.clone_into(&mut result),
                Err(error) => return failed(format!("the input was not changed: {error}")),
            }
        }
        if done.changed.is_some() || done.shows_difference {
            let shown = difference(control, pause);
            result = [result, shown]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join("\n");
        }
        EvalAnswer {
            result,
            stdout: done.stdout,
            error: done.error,
            value: None,
        }
    }

    /// Kills the child and everything that it has started.
    fn end(&mut self) {
        shell::kill_descendants(self.child.id());
        self.end_group();
    }

    fn end_group(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Evaluation {
    fn drop(&mut self) {
        if self.is_answered {
            self.end_group();
        } else {
            self.end();
        }
    }
}

fn failed(error: String) -> EvalAnswer {
    EvalAnswer {
        error: Some(error),
        ..EvalAnswer::default()
    }
}

/// Changes the input with which a held call runs. None: as its agent gave it. False: it is the same as before.
fn change(control: &Control, id: PauseId, input: Option<Value>) -> backstitch_core::Result<bool> {
    let unknown = || backstitch_core::Error::UnknownPause(id.to_string());
    let pause = control.pauses().get(id)?.ok_or_else(unknown)?;
    let before = shown::input(&pause);
    let shown = acts::set_input(control, &pause, input, REPL_CLIENT)?;
    Ok(shown.input != before)
}

/// The change that a held call would make with its input as it is now.
fn difference(control: &Control, id: PauseId) -> String {
    let Ok(Some(pause)) = control.pauses().get(id) else {
        return String::new();
    };
    let shown = shown::now(&pause, &read_disk);
    let said = match &shown.unpredicted {
        Some(unpredicted) => format!("nothing is predicted: {}", unpredicted.reason),
        None => differences(&shown.predicted),
    };
    match &shown.problem {
        // the difference says it
        Some(_) if shown.predicted.iter().any(|file| file.fails) => said,
        Some(problem) => format!("{problem}\n{said}"),
        None => said,
    }
}

/// The files as unified diffs.
fn differences(files: &[backstitch_protocol::PredictedFile]) -> String {
    let one = |file: &backstitch_protocol::PredictedFile| {
        let path = backstitch_protocol::Text::plain(&file.path).unwrap_or("?");
        let doubt = shown::caveat(file).map_or_else(String::new, |doubt| format!("{doubt}\n"));
        format!("{} {path}\n{doubt}{}", file.letter, shown::unified(file))
    };
    let text: String = files.iter().map(one).collect();
    text.trim_end().to_owned()
}

/// Returns the words of the REPL at a held call.
pub fn words() -> impl Iterator<Item = &'static str> {
    words::names()
}

/// Returns the document that an expression in jq is about.
pub fn document(workspace: &Workspace, pause: &Pause) -> Value {
    let call = &pause.call;
    let recent = recent(workspace, &call.session);
    let around = Around {
        recent,
        ..Around::default()
    };
    let shown = details::details(pause, around, &read_disk);
    let (input, predicted) = (shown.input, shown.predicted);
    let cwd = call.cwd.as_ref().unwrap_or(&call.root);
    json!({
        "call": {
            "tool": call.tool,
            "input": input,
            "at": to_protocol::value(&shown.pause.at),
            "agent": call.agent,
            "subagent": call.subagent,
            "iteration": call.iteration,
            "files": call.files,
            "why": call.why,
            "id": call.call,
            "error": call.error,
            "output": shown.output,
            // as `pauses --json` has it
            "held": to_protocol::value(&shown.pause),
        },
        "error": call.error,
        "predicted": to_protocol::value(&predicted),
        "turn": { "number": call.turn, "prompt": call.prompt },
        "session": call.session,
        "recent": to_protocol::value(&shown.recent),
        "stack": to_protocol::value(&shown.stack),
        "cwd": cwd,
    })
}

fn job(
    workspace: &Workspace,
    pause: &Pause,
    request: &EvalRequest,
    time: Duration,
) -> EvaluationJob {
    let call = &pause.call;
    let cwd = call.cwd.clone().unwrap_or_else(|| call.root.clone());
    EvaluationJob {
        expression: request.expression.clone(),
        document: document(workspace, pause),
        input: shown::input(pause),
        shell: Config::of(workspace).shell(),
        cwd,
        time: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    }
}

fn recent(workspace: &Workspace, session: &str) -> Vec<backstitch_protocol::Checkpoint> {
    let Ok(engine) = Engine::open_with(workspace, opening::HOOK.existing()) else {
        return Vec::new();
    };
    let entries = engine.history().log(&LogFilter {
        session: Some(session.to_owned()),
        limit: Some(RECENT),
        ..LogFilter::default()
    });
    entries.map_or_else(
        |_| Vec::new(),
        |entries| entries.iter().map(to_protocol::checkpoint).collect(),
    )
}

/// Returns the path of this program. One that was replaced meanwhile, as by an update, is the one that runs.
fn own_program() -> std::io::Result<std::path::PathBuf> {
    let path = std::env::current_exe()?;
    let running = std::path::Path::new("/proc/self/exe");
    if path.exists() || !running.exists() {
        return Ok(path);
    }
    Ok(running.to_owned())
}

type Started = (Child, std::sync::mpsc::Receiver<Vec<u8>>);

fn spawn(job: &EvaluationJob) -> std::io::Result<Started> {
    let mut child = Command::new(own_program()?)
        .args(["hook", CHILD_ARGUMENT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let text = serde_json::to_vec(job).map_err(std::io::Error::other)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(&text);
        }
        let mut bytes = Vec::new();
        if let Some(mut stdout) = stdout {
            let _ = stdout.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    Ok((child, receiver))
}
