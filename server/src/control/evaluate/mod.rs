//! Evaluation of inputs at a held call: jq on the call, shell commands, and changes of its input. It runs in a child of the
//! hook, which can be killed without harm to the hold.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use backstitch_control::condition;
use backstitch_control::mask::{mask, secret_values};
use backstitch_control::shell;
use backstitch_control::{Control, EvalAnswer, EvalRequest, LONGER, Pause, PauseId};
use backstitch_core::config::Config;
use backstitch_core::{Engine, LogFilter, Workspace};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, setrlimit};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::details::{self, Around};
use super::predict::read_disk;
use super::{acts, shown};
use crate::opening;
use crate::to_protocol;

/// The argument of `backstitch hook` that starts the child.
pub const WORD: &str = "eval";
/// Stands in place of the front end for a change that was typed in a REPL.
const FACE: &str = "a REPL";
/// Address space of an evaluation in bytes. A thread reserves a stack of 512 MiB.
const MEMORY: u64 = 2 << 30;
/// Time after the end of a command in which the child still answers with the output. It is shorter than the time that the
/// waiting side waits longer.
const GRACE: Duration = Duration::from_secs(3);
const _: () = assert!(GRACE.as_millis() < LONGER.as_millis());
/// Starts a command for the shell.
const SHELL: char = '!';
/// Number of checkpoints that an expression sees.
const RECENT: usize = 20;

const HELP: &str = "\
jq            on the call: .call.input, .predicted, .turn, .session, .recent, .cwd
!command      in the shell, in the directory of the call, with the agent's environment
:input        the input as it is now            :set PATH VALUE   changes it: :set .command \"make\"
:diff         the change that it would make     :reset            drops the changes
`resume` runs the call with the changed input.";

/// An input with everything that its evaluation needs.
#[derive(Debug, Serialize, Deserialize)]
struct EvaluationJob {
    expression: String,
    document: Value,
    /// The input of the call, with the user's changes.
    input: Value,
    shell: String,
    cwd: PathBuf,
    /// In milliseconds.
    time: u64,
}

/// The child's answer.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Evaluated {
    result: String,
    stdout: String,
    error: Option<String>,
    /// The input was changed: to this, or back to the agent's.
    changed: Option<Changed>,
    /// The parent has to show the difference.
    shows_difference: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Changed {
    input: Option<Value>,
}

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
        let grace = job.command().map_or(Duration::ZERO, |_| GRACE);
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
    pub fn go_on(mut self, control: &Control) -> Option<Self> {
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
        let Ok(done) = serde_json::from_slice::<Evaluated>(bytes) else {
            let how = self.child.wait().map(|status| status.to_string());
            let how = how.unwrap_or_else(|error| error.to_string());
            return failed(format!("the evaluation ended without an answer ({how})"));
        };
        let pause = self.request.pause;
        if let Some(changed) = done.changed.as_ref()
            && let Err(error) = change(control, pause, changed.input.clone())
        {
            return failed(format!("the input was not changed: {error}"));
        }
        let mut result = done.result;
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

/// The error of an input that took too long.
fn stopped(time: Duration) -> String {
    format!(
        "it did not end within {} s, and was stopped",
        time.as_secs()
    )
}

fn failed(error: String) -> EvalAnswer {
    EvalAnswer {
        error: Some(error),
        ..EvalAnswer::default()
    }
}

/// Changes the input with which a held call runs. None: as its agent gave it.
fn change(control: &Control, id: PauseId, input: Option<Value>) -> backstitch_core::Result<()> {
    let unknown = || backstitch_core::Error::UnknownPause(id.to_string());
    let pause = control.pauses().get(id)?.ok_or_else(unknown)?;
    acts::set_input(control, &pause, input, FACE).map(drop)
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

/// The files as a unified diff.
fn differences(files: &[backstitch_protocol::PredictedFile]) -> String {
    let one = |file: &backstitch_protocol::PredictedFile| {
        let path = backstitch_protocol::Text::plain(&file.path).unwrap_or("?");
        let (now, then) = (file.now.as_deref(), file.then.as_deref());
        let (now, then) = (now.unwrap_or_default(), then.unwrap_or_default());
        let diff = similar::TextDiff::from_lines(now, then);
        let text = diff.unified_diff().context_radius(3).to_string();
        let why = file.why.as_deref().map_or_else(String::new, |why| {
            let word = if file.fails { "will fail" } else { "not sure" };
            format!("{word}: {why}\n")
        });
        format!("{} {path}\n{why}{text}", file.letter)
    };
    let text: String = files.iter().map(one).collect();
    text.trim_end().to_owned()
}

fn job(
    workspace: &Workspace,
    pause: &Pause,
    request: &EvalRequest,
    time: Duration,
) -> EvaluationJob {
    let call = &pause.call;
    let recent = recent(workspace, &call.session);
    let around = Around {
        recent,
        ..Around::default()
    };
    let shown = details::details(pause, around, &read_disk);
    let (input, predicted) = (shown.input, shown.predicted);
    let cwd = call.cwd.clone().unwrap_or_else(|| call.root.clone());
    let document = json!({
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
        },
        "error": call.error,
        "predicted": to_protocol::value(&predicted),
        "turn": { "number": call.turn, "prompt": call.prompt },
        "session": call.session,
        "recent": to_protocol::value(&shown.recent),
        "stack": to_protocol::value(&shown.stack),
        "cwd": cwd,
    });
    EvaluationJob {
        expression: request.expression.clone(),
        document,
        input,
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
        .args(["hook", WORD])
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

/// The child: reads an input, and prints its answer.
pub fn child() -> ExitCode {
    let mut text = Vec::new();
    let read = std::io::stdin().read_to_end(&mut text);
    let job = read.map_err(|error| error.to_string()).and_then(|_| {
        serde_json::from_slice::<EvaluationJob>(&text).map_err(|error| error.to_string())
    });
    let done = match job {
        Ok(job) => job.run(),
        Err(error) => Evaluated {
            error: Some(error),
            ..Evaluated::default()
        },
    };
    let text = serde_json::to_vec(&done).unwrap_or_default();
    let printed = std::io::stdout().write_all(&text);
    ExitCode::from(u8::from(printed.is_err()))
}

impl EvaluationJob {
    /// Returns the shell command that was typed. None: it is an expression, or a word of the REPL's own.
    fn command(&self) -> Option<&str> {
        let command = self.expression.trim().strip_prefix(SHELL)?;
        Some(command.trim())
    }

    fn run(&self) -> Evaluated {
        if let Some(command) = self.command() {
            return self.run_command(command);
        }
        let typed = self.expression.trim();
        if let Some(rest) = typed.strip_prefix(':') {
            let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            return self.own(word, rest.trim());
        }
        // as CI writes expressions; a shell would run it
        let inner = typed
            .strip_prefix("${{")
            .and_then(|rest| rest.strip_suffix("}}"));
        self.jq(inner.unwrap_or(&self.expression), &self.document)
    }

    fn time(&self) -> Duration {
        Duration::from_millis(self.time)
    }

    fn jq(&self, expression: &str, document: &Value) -> Evaluated {
        let limit = Rlimit {
            current: Some(MEMORY),
            maximum: Some(MEMORY),
        };
        // an evaluation without the limit is better than none: jq counts its memory itself
        let _ = setrlimit(Resource::As, limit);
        match condition::outputs(expression, document, self.time()) {
            Ok(outputs) => Evaluated {
                result: outputs.join("\n"),
                ..Evaluated::default()
            },
            Err(error) => Evaluated {
                error: Some(error),
                ..Evaluated::default()
            },
        }
    }

    fn run_command(&self, command: &str) -> Evaluated {
        if command.is_empty() {
            return Evaluated {
                error: Some("write a command after the `!`".to_owned()),
                ..Evaluated::default()
            };
        }
        shell::limit_this_process();
        let time = self.time();
        let ran = shell::run(&self.shell, command, &self.cwd, time);
        let (printed, status) = match ran {
            Ok(ran) => ran,
            Err(error) => {
                return Evaluated {
                    error: Some(format!("{}: {error}", self.shell)),
                    ..Evaluated::default()
                };
            }
        };
        let done = Evaluated {
            stdout: mask(&printed, &secret_values()),
            ..Evaluated::default()
        };
        match status {
            None => {
                shell::kill_descendants(std::process::id());
                Evaluated {
                    error: Some(stopped(time)),
                    ..done
                }
            }
            Some(status) if status.code() == Some(0) => done,
            Some(status) => Evaluated {
                result: status.to_string(),
                ..done
            },
        }
    }

    fn own(&self, word: &str, rest: &str) -> Evaluated {
        let say = |result: String| Evaluated {
            result,
            ..Evaluated::default()
        };
        match word {
            "help" | "h" | "?" => say(HELP.to_owned()),
            "input" => say(serde_json::to_string_pretty(&self.input).unwrap_or_default()),
            "diff" => Evaluated {
                shows_difference: true,
                ..Evaluated::default()
            },
            "reset" => Evaluated {
                changed: Some(Changed { input: None }),
                ..Evaluated::default()
            },
            "set" => self.set(rest),
            _ => Evaluated {
                error: Some(format!(
                    "there is no `:{word}`; `:help` lists what there is"
                )),
                ..Evaluated::default()
            },
        }
    }

    /// Changes a field of the input: `.command "make"`. A value that is no JSON is taken as a text.
    fn set(&self, typed: &str) -> Evaluated {
        let error = |text: String| Evaluated {
            error: Some(text),
            ..Evaluated::default()
        };
        let Some((path, value)) = typed.split_once(char::is_whitespace) else {
            return error("write a path and a value: :set .command \"make\"".to_owned());
        };
        let value = value.trim();
        if value == "=" || value.starts_with("= ") {
            return error(
                "write the value after the path, without `=`: :set .command \"make\"".to_owned(),
            );
        }
        let value: Value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        let jq = format!("({path}) = {value}");
        let mut outputs = match condition::outputs(&jq, &self.input, self.time()) {
            Ok(outputs) => outputs,
            Err(reason) => return error(reason),
        };
        let input = match (outputs.pop(), outputs.pop()) {
            (Some(one), None) => serde_json::from_str::<Value>(&one),
            _ => return error(format!("`{path}` is not one place")),
        };
        match input {
            Ok(input) if input.is_object() => Evaluated {
                changed: Some(Changed { input: Some(input) }),
                ..Evaluated::default()
            },
            Ok(_) => error("the input of a tool is a JSON object".to_owned()),
            Err(_) => error("the changed input is too long".to_owned()),
        }
    }
}
