//! `backstitch hook AGENT`: reads an agent's event from stdin, records it, and answers in the agent's form. It never
//! breaks the agent: an answer without parts is an empty stdout and exit code 0 (which means "continue"), and so is an
//! error, which is one line on stderr and a gap in the record. Long tasks run in the background.

mod environment;
mod handled;
mod unread;

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use backstitch_agents::switches::{OFF, SWITCH};
use backstitch_agents::{self as agents, Agent, Answer, HookOutput};
use backstitch_control::{Subject, starter};
use backstitch_core::capture::{AgentEvent, EventKind};
use backstitch_core::{Engine, Workspace, record_gap};

use crate::control::evaluate;
use crate::control::gate::{Gate, GateCheck, gates};
use crate::host::agent_events::{EventPlace, panic_text, print};
use crate::opening;
use handled::Handled;
use unread::Unread;

/// Maximum payload in bytes that is read into memory.
const PAYLOAD_LIMIT: u64 = 256 << 20;

/// Some programs begin a text in UTF-8 with it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

const BY_HAND: &str = "agents run `backstitch hook AGENT`, with an event on stdin; nothing was recorded. \
                       `backstitch setup` has them run it";

/// Arguments after `hook`. They are parsed without clap for speed: the hook runs around every tool call.
#[derive(Debug, Default)]
struct Invocation {
    agent: Option<String>,
    workspace: Option<PathBuf>,
    store_dir: Option<PathBuf>,
    /// Time that the agent waits for this hook, as its entry says.
    limit: Option<Duration>,
}

/// Runs the hook on the arguments after the word `hook`. Returns the exit status that the agent expects.
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    environment::leave_projects(&args);
    if std::env::var_os(SWITCH).is_some_and(|value| value == OFF) {
        // an agent may take a closed pipe for a failure
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        return ExitCode::SUCCESS;
    }
    // Stderr gets one line, so a panic must not print its own report.
    std::panic::set_hook(Box::new(|_| {}));
    let started = Instant::now();
    let mut args = args.into_iter().peekable();
    if args
        .peek()
        .is_some_and(|word| word == evaluate::CHILD_ARGUMENT)
    {
        return evaluate::child();
    }
    let invocation = Invocation::read(args);
    // no agent has done this, so nothing is missing in the history
    if invocation.agent.is_none() || std::io::stdin().is_terminal() {
        print(BY_HAND);
        // an agent may take a failure as "stop"
        return ExitCode::from(u8::from(std::io::stdin().is_terminal()));
    }
    let mut workspace = None;
    let mut warning = None;
    let handled = AssertUnwindSafe(|| handle(&invocation, started, &mut workspace, &mut warning));
    let outcome = catch_unwind(handled)
        .unwrap_or_else(|panic| Err(format!("internal error: {}", panic_text(panic.as_ref()))));
    let error = match outcome {
        Ok(handled) => {
            if let Some(warning) = warning {
                print(&warning);
            }
            let exit = send(&handled.output);
            for (workspace, mut outcome) in handled.outcomes {
                outcome.answered(&workspace);
            }
            return exit;
        }
        Err(error) => error,
    };
    print(&error);
    // Recording the gap may fail in the same way.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Some(workspace) = workspace.or_else(|| invocation.locate_without_event()) {
            record_gap(&workspace, &error);
        }
    }));
    ExitCode::SUCCESS
}

/// Handles one event, and encodes the answer for the agent. Sets `found` as soon as the workspace is known, so that a
/// failure can record a gap. Sets `warning` for an error that is not a gap.
fn handle(
    invocation: &Invocation,
    started: Instant,
    found: &mut Option<Workspace>,
    warning: &mut Option<String>,
) -> Result<Handled, String> {
    let name = invocation.agent.as_deref().ok_or(BY_HAND)?;
    let agent = agents::agent(name).ok_or_else(|| format!("hook: unknown agent `{name}`"))?;
    let payload = match read_payload(std::io::stdin().lock()) {
        Ok(payload) => payload,
        Err(unread) => {
            let place = invocation.place();
            return unread.answer(agent, place, invocation.start_dir(), warning);
        }
    };
    let mut event = match agent.parse(&payload) {
        Ok(event) => event,
        Err(error) => {
            let unread = Unread {
                reason: error.to_string(),
                head: payload,
            };
            let place = invocation.place();
            return unread.answer(agent, place, invocation.start_dir(), warning);
        }
    };
    event.process = starter();
    let workspace = found.insert(invocation.locate(agent, &event, warning)?);
    if matches!(
        event.kind,
        EventKind::SessionStart { .. } | EventKind::Prompt { .. }
    ) {
        event.other_hooks = Some(agents::has_other_hooks(agent, &workspace.root));
    }
    let gates = if agent.waits(&event) {
        gates(workspace, &agent, &event)
    } else {
        Vec::new()
    };
    if gates.is_empty() {
        let unnamed = is_unnamed(&event).then_some(payload);
        let answer = record(invocation, workspace, &event, warning)?;
        name_turn(agent, workspace, &event, unnamed.as_deref(), warning);
        let output = agent.answer(&event, &answer).map_err(|e| e.to_string())?;
        return Ok(Handled {
            output,
            outcomes: Vec::new(),
        });
    }
    let gate = GateCheck {
        subject: Subject::Call,
        workspace,
        agent: &agent,
        event: &event,
        payload: &payload,
        limit: shorter(invocation.limit, agent.longest_hold(&event)),
        started,
        process: starter(),
        reaches_in: false,
        call_off: None,
    };
    let handled = pass(invocation, agent, gate, gates, warning)?;
    let unnamed = is_unnamed(&event).then_some(payload.as_slice());
    name_turn(agent, workspace, &event, unnamed, warning);
    Ok(handled)
}

/// True for the begin of a turn whose prompt is not told.
fn is_unnamed(event: &AgentEvent) -> bool {
    matches!(&event.kind, EventKind::Prompt { text, synthetic: false } if text.is_empty())
}

/// Adds the prompt of a turn that has begun without it, where its agent tells it later. None: the turn has its prompt.
fn name_turn(
    agent: &dyn Agent,
    workspace: &Workspace,
    event: &AgentEvent,
    payload: Option<&[u8]>,
    warning: &mut Option<String>,
) {
    let Some(prompt) = payload.and_then(|payload| agent.late_prompt(payload)) else {
        return;
    };
    let named = Engine::open_with(workspace, opening::HOOK)
        .and_then(|mut engine| engine.capture_mut().late_prompt(event, &prompt));
    if let Err(error) = named {
        warning.get_or_insert(format!("the prompt of a turn is missing: {error}"));
    }
}

/// Returns the shorter of two times.
fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Has an event pass the gates. A call that has run is recorded before: only then its changes are known. One that has not
/// is recorded after the decision, if it runs. A failure to record does not lose the answer.
fn pass(
    invocation: &Invocation,
    agent: &dyn Agent,
    gate: GateCheck<'_>,
    gates: Vec<Gate>,
    warning: &mut Option<String>,
) -> Result<Handled, String> {
    let GateCheck {
        workspace, event, ..
    } = gate;
    let keep = |event: &AgentEvent, warning: &mut Option<String>| {
        if let Err(error) = record(invocation, workspace, event, warning) {
            record_gap(workspace, &error);
            warning.get_or_insert(error);
        }
    };
    let has_run = !matches!(event.kind, EventKind::Before(_));
    if has_run {
        keep(event, warning);
    }
    let outcomes = gate.check_all(gates);
    let Some((_, outcome)) = outcomes.last() else {
        return Err("no gate was asked".to_owned());
    };
    if let Some(text) = &outcome.warning {
        warning.get_or_insert_with(|| text.clone());
    }
    if outcome.abandoned {
        return Ok(Handled {
            output: HookOutput::default(),
            outcomes: Vec::new(),
        });
    }
    if !has_run && !outcome.prevented {
        let changed = outcome
            .payload
            .as_deref()
            .and_then(|payload| agent.parse(payload).ok());
        keep(changed.as_ref().unwrap_or(event), warning);
    }
    if outcome.ends_turn {
        // the agent reports no end of a turn that a hook ended
        let end = AgentEvent {
            kind: EventKind::Stop { background: false },
            subagent: None,
            ..event.clone()
        };
        keep(&end, warning);
    }
    let (output, not_taken) = agents::taken_or_denied(agent, event, &outcome.answer);
    if let Some(problem) = not_taken {
        warning.get_or_insert(problem.to_string());
    }
    Ok(Handled { output, outcomes })
}

/// Records one event. Returns the answer to it.
fn record(
    invocation: &Invocation,
    workspace: &Workspace,
    event: &AgentEvent,
    warning: &mut Option<String>,
) -> Result<Answer, String> {
    let engine = invocation.place().record(workspace, event, warning)?;
    // the process ends, so the kernel closes everything
    let _ = std::mem::ManuallyDrop::new(engine);
    Ok(Answer::default())
}

/// Writes the output to stdout. An error is ignored: an agent that does not read it has ended.
fn send(output: &HookOutput) -> ExitCode {
    if !output.stdout.is_empty() {
        let mut stdout = std::io::stdout().lock();
        let _ = stdout
            .write_all(&output.stdout)
            .and_then(|()| stdout.flush());
    }
    if !output.stderr.is_empty() {
        let _ = std::io::stderr().write_all(&output.stderr);
    }
    output.exit_code()
}

fn read_payload(mut input: impl Read) -> Result<Vec<u8>, Unread> {
    let mut payload = Vec::new();
    let read = input
        .by_ref()
        .take(PAYLOAD_LIMIT + 1)
        .read_to_end(&mut payload);
    if let Err(error) = read {
        return Err(Unread {
            reason: format!("cannot read the payload: {error}"),
            head: payload,
        });
    }
    if payload.len() as u64 > PAYLOAD_LIMIT {
        payload.truncate(unread::HEAD);
        payload.shrink_to_fit();
        // Read the rest, or the agent's write fails.
        let _ = std::io::copy(&mut input, &mut std::io::sink());
        return Err(Unread {
            reason: format!(
                "a payload above {} MiB was not recorded",
                PAYLOAD_LIMIT >> 20
            ),
            head: payload,
        });
    }
    if payload.starts_with(BYTE_ORDER_MARK) {
        payload.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(payload)
}

impl Invocation {
    fn read(mut args: impl Iterator<Item = OsString>) -> Self {
        let mut read = Self::default();
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--workspace") => read.workspace = args.next().map(PathBuf::from),
                Some("--store-dir") => read.store_dir = args.next().map(PathBuf::from),
                Some("--limit") => {
                    let seconds = args.next().and_then(|arg| arg.to_str()?.parse().ok());
                    read.limit = seconds.map(Duration::from_secs);
                }
                Some(name) if read.agent.is_none() && !name.starts_with('-') => {
                    read.agent = Some(name.to_owned());
                }
                // Ignore options of later versions.
                _ => {}
            }
        }
        read
    }

    /// Returns the workspace that the session is bound to. Binds an unbound session.
    fn locate(
        &self,
        agent: &dyn Agent,
        event: &AgentEvent,
        warning: &mut Option<String>,
    ) -> Result<Workspace, String> {
        let cwd = agent.locate(Some(event)).or_else(|| self.start_dir());
        self.place().locate_event(event, cwd.as_deref(), warning)
    }

    /// Finds the workspace for a gap without an event.
    fn locate_without_event(&self) -> Option<Workspace> {
        let agent = self.agent.as_deref().and_then(agents::agent);
        let cwd = agent.and_then(|agent| agent.locate(None));
        let cwd = cwd.or_else(|| self.start_dir())?;
        self.place().find(self.workspace.as_deref(), &cwd).ok()
    }

    fn place(&self) -> EventPlace<'_> {
        EventPlace {
            workspace: self.workspace.as_deref(),
            store_dir: self.store_dir.as_deref(),
        }
    }

    /// Returns the directory for an event that names none.
    fn start_dir(&self) -> Option<PathBuf> {
        self.workspace
            .clone()
            .or_else(|| std::env::current_dir().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_parse_in_any_order_and_unknown_ones_are_ignored() {
        let args = [
            "--later",
            "--store-dir",
            "/s",
            "claude-code",
            "--workspace",
            "/w",
            "--limit",
            "600",
        ];
        let read = Invocation::read(args.into_iter().map(OsString::from));
        assert_eq!(read.agent.as_deref(), Some("claude-code"));
        assert_eq!(read.store_dir.as_deref(), Some(std::path::Path::new("/s")));
        assert_eq!(read.limit, Some(Duration::from_mins(10)));
        assert_eq!(read.workspace.as_deref(), Some(std::path::Path::new("/w")));
    }

    #[test]
    fn payload_is_read_completely() {
        assert_eq!(read_payload(&b"{}"[..]).unwrap(), b"{}");
        assert_eq!(read_payload(&b"\xef\xbb\xbf{}"[..]).unwrap(), b"{}");
    }
}
