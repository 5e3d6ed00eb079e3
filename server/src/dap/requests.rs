//! Requests of a client, each with its answer.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use backstitch_job::session::Forward;
use backstitch_job::step::stop::StopRequest;
use dapts::{
    Breakpoint, BreakpointLocation, BreakpointLocationsArguments, Capabilities, CompletionItem,
    CompletionsArguments, DisconnectArguments, EvaluateArguments, EvaluateArgumentsContext,
    ExceptionBreakMode, ExceptionBreakpointsFilter, ExceptionInfoResponse, GotoArguments,
    GotoTarget, GotoTargetsArguments, InitializeRequestArguments, RestartFrameArguments,
    ScopesArguments, SetBreakpointsArguments, SetExceptionBreakpointsArguments,
    SetFunctionBreakpointsArguments, SetVariableArguments, Source, StackFrame,
    StackFramePresentationHint, StackTraceArguments, Thread, VariablesArguments,
    VariablesArgumentsFilter,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::breakpoints::{FAILED, FAILED_BUT_CONTINUED, source_of};
use super::evaluate::{JobQuestion, NewValue};
use super::launch::{AttachArguments, LaunchArguments};
use super::machine::MachineCommand;
use super::report::JOB_THREAD;
use super::server::{DapServer, JobStart};
use super::shared::JobPhase;
use super::steps::steps_of;
use super::view::FrameView;

/// The answer to a request: a body, or a sentence.
type DapBody = Result<Option<Value>, String>;

/// Signs at the beginning of words and commands of the console.
const CONSOLE_SIGNS: [char; 2] = ['!', ':'];

/// Answers a message. False once the client has left.
pub fn receive(server: &mut DapServer, message: &[u8]) -> bool {
    let message: Value = match serde_json::from_slice(message) {
        Ok(message) => message,
        Err(error) => {
            server
                .client
                .say(&format!("A message is not JSON: {error}."));
            return true;
        }
    };
    if message["type"] != "request" {
        return true;
    }
    let number = message["seq"].as_i64().unwrap_or_default();
    let command = message["command"].as_str().unwrap_or_default().to_owned();
    let request = DapRequest {
        number,
        command,
        arguments: message["arguments"].clone(),
    };
    answer(server, &request)
}

/// Answers a request. False once the client has left.
fn answer(server: &mut DapServer, request: &DapRequest) -> bool {
    let (number, command) = (request.number, request.command.clone());
    if !["initialize", "disconnect"].contains(&&*command) && !server.is_initialized {
        let reason = format!("{command} comes before initialize.");
        server.client.refuse(number, &command, &reason);
        return true;
    }
    let client = server.client.clone();
    match command.as_str() {
        // these answer by themselves: an event follows, or the job has the answer
        "evaluate" => evaluate(server, request),
        "setVariable" => set_variable(server, request),
        "continue" | "next" | "stepIn" | "stepOut" | "stepBack" | "reverseContinue" | "goto"
        | "restartFrame" => go(server, request),
        "disconnect" => {
            client.respond(number, &command, None);
            leave(server, request);
            return false;
        }
        _ => match plain(server, request) {
            Ok(body) => {
                client.respond(number, &command, body);
                after(server, &command);
            }
            Err(reason) => client.refuse(number, &command, &reason),
        },
    }
    true
}

/// Effects that come after the answer.
fn after(server: &mut DapServer, command: &str) {
    match command {
        "initialize" => server.client.event("initialized", &Value::Null),
        "launch" | "attach" | "configurationDone" => server.start(),
        "terminate" => terminate(server),
        _ => {}
    }
}

fn plain(server: &mut DapServer, request: &DapRequest) -> DapBody {
    match request.command.as_str() {
        "initialize" => initialize(server, request),
        "launch" => launch(server, request),
        "attach" => attach(server, request),
        "configurationDone" => {
            server.is_configured = true;
            Ok(None)
        }
        "setBreakpoints" => set_breakpoints(server, request),
        "setFunctionBreakpoints" => {
            let wanted: SetFunctionBreakpointsArguments = request.read()?;
            let all = server.shared.breakpoints().set_names(&wanted.breakpoints);
            body(json!({"breakpoints": all}))
        }
        "setExceptionBreakpoints" => {
            let wanted: SetExceptionBreakpointsArguments = request.read()?;
            let count = wanted.filters.len();
            server.shared.breakpoints().failures = wanted.filters;
            let all = vec![
                Breakpoint {
                    verified: true,
                    ..Breakpoint::default()
                };
                count
            ];
            body(json!({"breakpoints": all}))
        }
        "breakpointLocations" => locations(server, request),
        "threads" => threads(server),
        "stackTrace" => stack(server, request),
        "scopes" => {
            let wanted: ScopesArguments = request.read()?;
            let scopes = server.shared.variables().scopes(wanted.frame_id);
            let scopes = scopes
                .ok_or_else(|| format!("The frame {} is of an earlier stop.", wanted.frame_id))?;
            body(json!({"scopes": scopes}))
        }
        "variables" => variables(server, request),
        "completions" => completions(server, request),
        "exceptionInfo" => {
            let failure = server.shared.view().failure.clone();
            let description = failure.ok_or("The job does not stand at a failure.")?;
            body(ExceptionInfoResponse {
                break_mode: ExceptionBreakMode::Always,
                description: Some(description),
                details: None,
                exception_id: "the step failed".to_owned(),
            })
        }
        "gotoTargets" => goto_targets(server, request),
        "loadedSources" => {
            let view = server.shared.view();
            let mut files: Vec<PathBuf> =
                view.frames.iter().map(|frame| frame.file.clone()).collect();
            files.sort();
            files.dedup();
            let sources: Vec<Source> = files.iter().map(|file| source_of(file)).collect();
            body(json!({"sources": sources}))
        }
        "pause" => pause(server),
        // the job ends after the answer; no answer waits, so none is left to cancel
        "terminate" | "cancel" => Ok(None),
        other => Err(format!("{other} is not there.")),
    }
}

fn body(body: impl serde::Serialize) -> DapBody {
    serde_json::to_value(body)
        .map(Some)
        .map_err(|error| error.to_string())
}

fn initialize(server: &mut DapServer, request: &DapRequest) -> DapBody {
    if server.is_initialized {
        return Err("initialize has been answered already.".to_owned());
    }
    let wanted: InitializeRequestArguments = request.read()?;
    server.is_initialized = true;
    server.first_line = u32::from(wanted.lines_start_at1.unwrap_or(true));
    let filter = |filter: &str, label: &str, default| ExceptionBreakpointsFilter {
        condition_description: None,
        default: Some(default),
        description: None,
        filter: filter.to_owned(),
        label: label.to_owned(),
        supports_condition: Some(false),
    };
    let yes = Some(true);
    body(Capabilities {
        exception_breakpoint_filters: Some(vec![
            filter(FAILED, "Failed steps", true),
            filter(
                FAILED_BUT_CONTINUED,
                "Failed steps with continue-on-error",
                false,
            ),
        ]),
        completion_trigger_characters: Some([".", ":", "!", "{"].map(str::to_owned).to_vec()),
        support_suspend_debuggee: yes,
        support_terminate_debuggee: yes,
        supports_breakpoint_locations_request: yes,
        supports_cancel_request: yes,
        supports_clipboard_context: yes,
        supports_completions_request: yes,
        supports_conditional_breakpoints: yes,
        supports_configuration_done_request: yes,
        supports_delayed_stack_trace_loading: yes,
        supports_evaluate_for_hovers: yes,
        supports_exception_info_request: yes,
        supports_function_breakpoints: yes,
        supports_goto_targets_request: yes,
        supports_hit_conditional_breakpoints: yes,
        supports_loaded_sources_request: yes,
        supports_log_points: yes,
        supports_restart_frame: yes,
        supports_set_variable: yes,
        supports_step_back: yes,
        supports_terminate_request: yes,
        ..Capabilities::default()
    })
}

fn launch(server: &mut DapServer, request: &DapRequest) -> DapBody {
    check_free(server)?;
    let arguments = LaunchArguments::read(request.arguments.clone())?;
    let launched = arguments.launch(&server.client, server.workspace.as_deref())?;
    server.launched = Some(JobStart::Launched(Box::new(arguments), Box::new(launched)));
    Ok(None)
}

fn attach(server: &mut DapServer, request: &DapRequest) -> DapBody {
    check_free(server)?;
    let arguments: AttachArguments = request.read()?;
    let continued = arguments.take(&server.client, server.workspace.as_deref())?;
    server.launched = Some(JobStart::Continued(Box::new(continued)));
    Ok(None)
}

/// One job is stepped through in a session.
fn check_free(server: &DapServer) -> Result<(), String> {
    if server.job.is_some() || server.launched.is_some() {
        return Err("A job has been launched already.".to_owned());
    }
    Ok(())
}

fn set_breakpoints(server: &mut DapServer, request: &DapRequest) -> DapBody {
    let wanted: SetBreakpointsArguments = request.read()?;
    let file = path_of(&wanted.source)?;
    let mut all = wanted.breakpoints.unwrap_or_default();
    for one in &mut all {
        one.line += 1 - server.first_line;
    }
    let mut set = server.shared.breakpoints().set_lines(&file, &all);
    for one in &mut set {
        one.line = one.line.map(|line| line + server.first_line - 1);
    }
    body(json!({"breakpoints": set}))
}

fn locations(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: BreakpointLocationsArguments = request.read()?;
    let file = path_of(&wanted.source)?;
    let first = wanted.line + 1 - server.first_line;
    let last = wanted
        .end_line
        .map_or(first, |line| line + 1 - server.first_line);
    let steps = steps_of(&file).unwrap_or_default();
    let here = steps
        .iter()
        .filter(|step| (first..=last).contains(&step.first));
    let all = here.map(|step| BreakpointLocation {
        column: None,
        end_column: None,
        end_line: None,
        line: step.first + server.first_line - 1,
    });
    body(json!({"breakpoints": all.collect::<Vec<_>>()}))
}

fn threads(server: &DapServer) -> DapBody {
    let view = server.shared.view();
    let job = view
        .frames
        .iter()
        .find(|frame| !frame.has_run && frame.point.is_none());
    let name = job.map_or_else(|| "job".to_owned(), |frame| frame.name.clone());
    let thread = Thread {
        id: JOB_THREAD,
        name,
    };
    body(json!({"threads": [thread]}))
}

fn stack(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: StackTraceArguments = request.read()?;
    if server.shared.phase() != JobPhase::Stopped {
        return Err("The job does not stand: pause it first.".to_owned());
    }
    let view = server.shared.view();
    let start = usize::try_from(wanted.start_frame.unwrap_or_default()).unwrap_or(usize::MAX);
    let count = match wanted.levels.unwrap_or_default() {
        0 => usize::MAX,
        levels => usize::try_from(levels).unwrap_or(usize::MAX),
    };
    let frames = view.frames.iter().skip(start).take(count);
    let frames: Vec<StackFrame> = frames.map(|frame| stack_frame(server, frame)).collect();
    body(json!({"stackFrames": frames, "totalFrames": view.frames.len()}))
}

fn stack_frame(server: &DapServer, frame: &FrameView) -> StackFrame {
    StackFrame {
        can_restart: Some(frame.point.is_some()),
        column: 1,
        end_column: None,
        end_line: None,
        id: frame.id,
        instruction_pointer_reference: None,
        line: (frame.line + server.first_line).saturating_sub(1),
        module_id: None,
        name: frame.name.clone(),
        presentation_hint: frame.has_run.then_some(StackFramePresentationHint::Subtle),
        source: Some(source_of(&frame.file)),
    }
}

fn variables(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: VariablesArguments = request.read()?;
    let at =
        |number: Option<u64>| usize::try_from(number.unwrap_or_default()).unwrap_or(usize::MAX);
    // all parts have names
    if wanted.filter == Some(VariablesArgumentsFilter::Indexed) {
        return body(json!({"variables": []}));
    }
    let reference = wanted.variables_reference;
    let mut known = server.shared.variables();
    let parts = known.parts(reference, at(wanted.start), at(wanted.count));
    let parts = parts.ok_or_else(|| format!("The reference {reference} is of an earlier stop."))?;
    body(json!({"variables": parts}))
}

fn completions(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: CompletionsArguments = request.read()?;
    let column = usize::try_from(wanted.column)
        .unwrap_or_default()
        .saturating_sub(1);
    let text: String = wanted.text.chars().take(column).collect();
    let view = server.shared.view();
    let lines = view
        .completions
        .iter()
        .filter(|line| line.starts_with(&text));
    let items = lines.map(|line| CompletionItem {
        detail: None,
        label: line.clone(),
        length: Some(u64::try_from(column).unwrap_or_default()),
        selection_length: None,
        selection_start: None,
        sort_text: None,
        start: Some(0),
        text: None,
        ty: None,
    });
    body(json!({"targets": items.collect::<Vec<_>>()}))
}

/// Steps that begin at a line: those that have a checkpoint, and those that are ahead.
fn goto_targets(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: GotoTargetsArguments = request.read()?;
    let file = path_of(&wanted.source)?;
    let line = wanted.line + 1 - server.first_line;
    let steps = steps_of(&file)?;
    let step = steps
        .iter()
        .find(|step| (step.first..=step.last).contains(&line));
    let view = server.shared.view();
    let targets = step.map(|step| {
        let mut ran = view.frames.iter();
        let ran = ran.find(|frame| frame.has_run && frame.file == file && frame.line == step.first);
        let label = ran.map_or_else(
            || "ahead, leaving out the steps between".to_owned(),
            |frame| format!("back to before {}", frame.name),
        );
        GotoTarget {
            column: None,
            end_column: None,
            end_line: None,
            id: u64::from(step.first),
            instruction_pointer_reference: None,
            label,
            line: step.first + server.first_line - 1,
        }
    });
    body(json!({"targets": targets.into_iter().collect::<Vec<_>>()}))
}

fn pause(server: &DapServer) -> DapBody {
    if server.shared.phase() != JobPhase::Running {
        return Err("No step runs, so none can be frozen.".to_owned());
    }
    let freezes = server.stop.as_ref().is_some_and(StopRequest::freeze);
    if !freezes {
        // between two steps
        server.shared.pauses.store(true, Ordering::SeqCst);
    }
    Ok(None)
}

/// Lets a job that stands go, and answers before it does.
fn go(server: &DapServer, request: &DapRequest) {
    let name = request.command.as_str();
    let client = &server.client;
    let command = match command_of(server, request) {
        Ok(command) => command,
        Err(reason) => {
            client.refuse(request.number, name, &reason);
            return;
        }
    };
    if server.shared.phase() != JobPhase::Stopped {
        let reason = match name {
            "stepBack" | "reverseContinue" => "Stop first (pause), then step back.",
            _ => "The job does not stand.",
        };
        client.refuse(request.number, name, reason);
        return;
    }
    let body = (name == "continue").then(|| json!({"allThreadsContinued": true}));
    client.respond(request.number, name, body);
    server.send(command);
}

fn command_of(server: &DapServer, request: &DapRequest) -> Result<MachineCommand, String> {
    let view = server.shared.view();
    let needs_point = || match view.available {
        0 => Err("No checkpoints are available: no step has run.".to_owned()),
        _ => Ok(()),
    };
    Ok(match request.command.as_str() {
        "continue" => MachineCommand::Go(Forward::On),
        "next" => MachineCommand::Go(Forward::Over),
        "stepIn" => MachineCommand::Go(Forward::Into),
        "stepOut" => MachineCommand::Go(Forward::Out),
        "stepBack" => {
            needs_point()?;
            MachineCommand::Back(1)
        }
        "reverseContinue" => {
            needs_point()?;
            MachineCommand::Reverse
        }
        "restartFrame" => {
            let wanted: RestartFrameArguments = request.read()?;
            let frame = view.frame(wanted.frame_id);
            let point = frame.and_then(|frame| frame.point);
            let point = point.ok_or("The frame has no checkpoint: its step has not run.")?;
            MachineCommand::Restore(point, "restart")
        }
        _ => {
            let wanted: GotoArguments = request.read()?;
            let line = u32::try_from(wanted.target_id).unwrap_or_default();
            let here = view.frames.first().map(|frame| frame.file.clone());
            MachineCommand::Goto(here.unwrap_or_default(), line)
        }
    })
}

fn evaluate(server: &DapServer, request: &DapRequest) {
    let number = request.number;
    let wanted: EvaluateArguments = match request.read() {
        Ok(wanted) => wanted,
        Err(reason) => return server.client.refuse(number, "evaluate", &reason),
    };
    let text = wanted.expression;
    let is_line = match wanted.context {
        Some(EvaluateArgumentsContext::Repl) => true,
        // Helix names no context
        None => text.trim_start().starts_with(CONSOLE_SIGNS),
        Some(_) => false,
    };
    let asked = if is_line {
        JobQuestion::Line {
            request: number,
            text,
        }
    } else {
        JobQuestion::Expression {
            request: number,
            text,
        }
    };
    ask(server, request, asked);
}

fn set_variable(server: &DapServer, request: &DapRequest) {
    let read = request.read::<SetVariableArguments>().and_then(|wanted| {
        let place = server
            .shared
            .variables()
            .settable(wanted.variables_reference);
        let (scope, keys) = place.ok_or("A step that has run keeps the values that it had.")?;
        Ok(NewValue {
            request: request.number,
            command: "setVariable",
            scope,
            keys,
            name: wanted.name,
            value: wanted.value,
        })
    });
    match read {
        Ok(new) => ask(server, request, JobQuestion::Set(new)),
        Err(reason) => server.client.refuse(request.number, "setVariable", &reason),
    }
}

fn ask(server: &DapServer, request: &DapRequest, asked: JobQuestion) {
    if !server.ask(asked) {
        let reason = "The job does not stand: pause it first.";
        server
            .client
            .refuse(request.number, &request.command, reason);
    }
}

/// The first request cancels the job: steps that run always still run. The second one kills.
fn terminate(server: &mut DapServer) {
    server.terminations += 1;
    server.shared.leave();
    match (server.shared.phase(), &server.stop) {
        (JobPhase::Begins, _) | (_, None) => server.client.event("terminated", &Value::Null),
        (JobPhase::Stopped, Some(stop)) => {
            stop.request();
            server.send(MachineCommand::End);
        }
        (JobPhase::Running, Some(stop)) => stop.request(),
        (JobPhase::Ended, Some(_)) => {}
    }
}

/// Leaves the job: ended, or as it stands for another client.
fn leave(server: &mut DapServer, request: &DapRequest) {
    let wanted = request.read::<Option<DisconnectArguments>>();
    let wanted = wanted.ok().flatten();
    let suspends = wanted.as_ref().and_then(|wanted| wanted.suspend_debuggee);
    let ends = wanted.and_then(|wanted| wanted.terminate_debuggee);
    if suspends == Some(true) || ends == Some(false) {
        return;
    }
    server.shared.leave();
    if let Some(stop) = &server.stop {
        // the first wish cancels the step that runs, the second kills it
        stop.request();
        stop.request();
    }
    server.commands = None;
    if let Some(job) = server.job.take() {
        let _ = job.join();
    }
}

fn path_of(source: &Source) -> Result<PathBuf, String> {
    let path = source.path.as_deref().filter(|path| !path.is_empty());
    let path = path.ok_or("The source has no path.")?;
    let path = Path::new(path);
    Ok(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

/// A request of a client.
pub struct DapRequest {
    pub number: i64,
    pub command: String,
    pub arguments: Value,
}

impl DapRequest {
    /// Its arguments. Err: a sentence about those that are missing or of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        let arguments = self.arguments.clone();
        serde_json::from_value(arguments)
            .map_err(|error| format!("The arguments of {} have an error: {error}.", self.command))
    }
}
