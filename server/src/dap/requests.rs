//! Requests of a client, each with its answer.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use dapts::{
    BreakpointLocation, BreakpointLocationsArguments, DisconnectArguments, ExceptionBreakMode,
    ExceptionDetails, ExceptionInfoResponse, InitializeRequestArguments,
    InitializeRequestArgumentsPathFormat, ScopesArguments, SetBreakpointsArguments,
    SetDataBreakpointsArguments, SetExceptionBreakpointsArguments, SetFunctionBreakpointsArguments,
    Source, StackFrame, StackTraceArguments, Thread, VariablesArguments, VariablesArgumentsFilter,
};
use serde_json::{Value, json};

use super::breakpoints::source_of;
use super::capabilities::capabilities;
use super::changes::SourceText;
use super::client::RUN_IN_TERMINAL;
use super::completion::completions;
use super::failures::filters_of;
use super::launch::{AttachArguments, LaunchArguments};
use super::machine::MachineCommand;
use super::movement::{go, goto_targets, pause};
use super::paths::path_of;
use super::questions::{ask, cancel, data_info, range_of, wants_asked};
use super::request::{DapBody, DapRequest, body};
use super::server::{DapServer, JobStart};
use super::shared::{JOB_THREAD, JobPhase, QueuedKind};
use super::steps::steps_of;
use super::view::{FrameView, RUNNING_FRAME};

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
    if message["type"] == "response" {
        refused_terminal(server, &message);
    }
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

/// Ends the wait for a shell where the client has opened no terminal.
fn refused_terminal(server: &DapServer, response: &Value) {
    if response["command"] != RUN_IN_TERMINAL || response["success"] != false {
        return;
    }
    let reason = response["message"].as_str().unwrap_or("no reason is given");
    server
        .client
        .say(&format!("The client has opened no terminal: {reason}"));
    if server.shared.is_asking()
        && let Some(stop) = &server.stop
    {
        stop.request();
    }
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
    client.paths().learn(&request.arguments);
    match command.as_str() {
        // these answer by themselves: an event follows, or the job has the answer
        "evaluate" | "setVariable" | "setExpression" | "source" | "backstitchChanges" => {
            ask(server, request);
        }
        "variables" if wants_asked(server, request) => ask(server, request),
        "continue" | "next" | "stepIn" | "stepOut" | "stepBack" | "reverseContinue" | "goto"
        | "restart" | "restartFrame" => go(server, request),
        "terminate" => terminate(server, request),
        "disconnect" => {
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
        "setDataBreakpoints" => {
            let wanted: SetDataBreakpointsArguments = request.read()?;
            let all = server.shared.breakpoints().set_data(&wanted.breakpoints);
            body(json!({"breakpoints": all}))
        }
        "dataBreakpointInfo" => data_info(server, request),
        "setExceptionBreakpoints" => {
            let wanted: SetExceptionBreakpointsArguments = request.read()?;
            let (filters, answers) = filters_of(&wanted);
            server.shared.breakpoints().failures = filters;
            body(json!({"breakpoints": answers}))
        }
        "breakpointLocations" => locations(server, request),
        "threads" => threads(server),
        "stackTrace" => stack(server, request),
        "scopes" => scopes(server, request),
        "variables" => variables(server, request),
        "completions" => completions(server, request),
        "exceptionInfo" => {
            let failure = server.shared.view().failure.clone();
            let failure = failure.ok_or("The job does not stand at a failure.")?;
            let details = failure.details.map(|details| ExceptionDetails {
                message: Some(failure.description.clone()),
                // clients show it, and make links of its places
                stack_trace: Some(details),
                evaluate_name: None,
                full_type_name: None,
                inner_exception: None,
                type_name: None,
            });
            body(ExceptionInfoResponse {
                break_mode: ExceptionBreakMode::Always,
                description: Some(failure.description),
                details,
                exception_id: failure.kind.name().to_owned(),
            })
        }
        "gotoTargets" => goto_targets(server, request),
        "loadedSources" => loaded_sources(server),
        "pause" => pause(server, request),
        "cancel" => cancel(server, request),
        other => Err(format!("{other} is not there.")),
    }
}

fn initialize(server: &mut DapServer, request: &DapRequest) -> DapBody {
    if server.is_initialized {
        return Err("initialize has been answered already.".to_owned());
    }
    let wanted: InitializeRequestArguments = request.read()?;
    server.is_initialized = true;
    server.client.named(wanted.client_id.as_deref());
    server.first_line = u32::from(wanted.lines_start_at1.unwrap_or(true));
    server.first_column = usize::from(wanted.columns_start_at1.unwrap_or(true));
    let are_uris = wanted.path_format == Some(InitializeRequestArgumentsPathFormat::Uri);
    server.client.paths().are_uris = are_uris;
    let opens_terminals = wanted.supports_run_in_terminal_request == Some(true);
    server.client.may_open_terminals(opens_terminals);
    let shows_progress = wanted.supports_progress_reporting == Some(true);
    let shared = &server.shared;
    shared
        .shows_progress
        .store(shows_progress, Ordering::SeqCst);
    capabilities().map(Some)
}

fn launch(server: &mut DapServer, request: &DapRequest) -> DapBody {
    check_free(server)?;
    let arguments = LaunchArguments::read(request)?;
    for line in LaunchArguments::unknown(&request.arguments) {
        server.client.say(&line);
    }
    let launched = arguments.launch(&server.shared, server.workspace.as_deref())?;
    server.names_job(&launched.place.0, &launched.job);
    server.launched = Some(JobStart::Launched(Box::new(arguments), Box::new(launched)));
    Ok(None)
}

fn attach(server: &mut DapServer, request: &DapRequest) -> DapBody {
    check_free(server)?;
    let arguments: AttachArguments = request.read()?;
    let continued = arguments.take(&server.shared, server.workspace.as_deref())?;
    server.names_job(&continued.place.0, &continued.name);
    server.launched = Some(JobStart::Continued(Box::new(continued)));
    server.is_attached = true;
    Ok(None)
}

/// One job is stepped through in a session.
fn check_free(server: &DapServer) -> Result<(), String> {
    if server.shared.phase() == JobPhase::Ended {
        return Err("The session has ended: start another one.".to_owned());
    }
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
        one.line = server.line_of(one.line);
    }
    let mut set = server.shared.breakpoints().set_lines(&file, &all);
    for one in &mut set {
        one.line = one.line.map(|line| server.client_line(line));
    }
    body(json!({"breakpoints": set}))
}

fn locations(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: BreakpointLocationsArguments = request.read()?;
    let file = path_of(&wanted.source)?;
    let first = server.line_of(wanted.line);
    let last = wanted.end_line.map_or(first, |line| server.line_of(line));
    let steps = steps_of(&file).unwrap_or_default();
    let here = steps
        .iter()
        .filter(|step| (first..=last).contains(&step.first));
    let all = here.map(|step| BreakpointLocation {
        column: None,
        end_column: None,
        end_line: None,
        line: server.client_line(step.first),
    });
    body(json!({"breakpoints": all.collect::<Vec<_>>()}))
}

fn threads(server: &DapServer) -> DapBody {
    let name = match server.shared.view().job.as_str() {
        // it has not stood yet
        "" => "job".to_owned(),
        job => job.to_owned(),
    };
    let thread = Thread {
        id: JOB_THREAD,
        name,
    };
    body(json!({"threads": [thread]}))
}

fn stack(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: StackTraceArguments = request.read()?;
    request.is_of_job()?;
    let view = server.shared.view();
    let is_running = server.shared.phase() == JobPhase::Running;
    // a step that runs stands above those that have run; the place of the last stop is not that of the job now
    let running = server.shared.running();
    let running = running.as_ref().filter(|_| is_running);
    let stands = |frame: &&FrameView| !is_running || frame.has_run || frame.is_job;
    let all: Vec<&FrameView> = running
        .into_iter()
        .chain(view.frames.iter().filter(stands))
        .collect();
    let start = usize::try_from(wanted.start_frame.unwrap_or_default()).unwrap_or(usize::MAX);
    let count = match wanted.levels.unwrap_or_default() {
        0 => usize::MAX,
        levels => usize::try_from(levels).unwrap_or(usize::MAX),
    };
    let frames = all.iter().skip(start).take(count);
    let frames: Vec<StackFrame> = frames.map(|frame| stack_frame(server, frame)).collect();
    body(json!({"stackFrames": frames, "totalFrames": all.len()}))
}

fn stack_frame(server: &DapServer, frame: &FrameView) -> StackFrame {
    StackFrame {
        can_restart: Some(frame.point.is_some() && server.shared.phase() != JobPhase::Ended),
        column: u32::try_from(server.first_column).unwrap_or(1),
        end_column: None,
        end_line: None,
        id: frame.id,
        instruction_pointer_reference: None,
        line: server.client_line(frame.line),
        module_id: None,
        name: frame.name.clone(),
        // a hint to dim the steps that have run would take their button to restart in VS Code
        presentation_hint: None,
        source: Some(source_of(&frame.file)),
    }
}

fn scopes(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: ScopesArguments = request.read()?;
    let scopes = server.shared.variables().scopes(wanted.frame_id);
    let is_of_no_stop =
        wanted.frame_id == RUNNING_FRAME || server.shared.view().is_earlier(wanted.frame_id);
    if scopes.is_none() && is_of_no_stop {
        // values are known once the job stands; VS Code asks once more for the frame that it showed last
        return body(json!({"scopes": []}));
    }
    let scopes = scopes.ok_or_else(|| format!("There is no frame {}.", wanted.frame_id))?;
    body(json!({"scopes": scopes}))
}

/// Files of the frames, and the script that runs next.
fn loaded_sources(server: &DapServer) -> DapBody {
    let view = server.shared.view();
    let mut files: Vec<PathBuf> = view.frames.iter().map(|frame| frame.file.clone()).collect();
    files.sort();
    files.dedup();
    let mut sources: Vec<Source> = files.iter().map(|file| source_of(file)).collect();
    if let Some((title, text)) = &view.script {
        let script = SourceText::Script(title.clone(), text.clone());
        sources.push(Source {
            name: Some(title.clone()),
            source_reference: Some(server.shared.source_number(script)),
            ..Source::default()
        });
    }
    body(json!({"sources": sources}))
}

fn variables(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: VariablesArguments = request.read()?;
    // all parts have names
    if wanted.filter == Some(VariablesArgumentsFilter::Indexed) {
        return body(json!({"variables": []}));
    }
    let reference = wanted.variables_reference;
    let (start, count) = range_of(&wanted);
    let mut known = server.shared.variables();
    let parts = known.parts(reference, start, count);
    let parts = parts.ok_or_else(|| format!("The reference {reference} is of an earlier stop."))?;
    body(json!({"variables": parts}))
}

/// The first request cancels the job: steps that run always still run. The second one kills.
fn terminate(server: &mut DapServer, request: &DapRequest) {
    server.outlasts_interrupts();
    server.terminations += 1;
    server.shared.leave();
    if !server.shared.answers_at_end(request.number, "terminate") {
        server.client.respond(request.number, "terminate", None);
        if server.shared.phase() == JobPhase::Begins {
            server.shared.ended();
            server.launched = None;
            server.client.event("terminated", &Value::Null);
        }
        return;
    }
    if let Some(stop) = &server.stop {
        stop.request();
    }
    // a job that goes back, or answers, comes to it afterwards
    server.shared.takes(QueuedKind::Move);
    server.send(MachineCommand::End);
}

/// Leaves the job: ended, or as it stands for another client.
fn leave(server: &mut DapServer, request: &DapRequest) {
    let wanted = request.read::<Option<DisconnectArguments>>();
    let wanted = wanted.ok().flatten();
    let suspends = wanted.as_ref().and_then(|wanted| wanted.suspend_debuggee);
    let ends = wanted.and_then(|wanted| wanted.terminate_debuggee);
    // by the protocol a job that was launched ends, and one that was there before stays. VS Code says neither where its window
    // closes; its button for the end says one
    let stays = server.is_attached || server.client.is_vscode();
    let stays = suspends == Some(true) || !ends.unwrap_or(!stays);
    let waits = !stays && server.shared.answers_at_end(request.number, "disconnect");
    if !stays || server.terminations > 0 {
        server.outlasts_interrupts();
        server.end();
    }
    if !waits {
        let client = &server.client;
        client.respond(request.number, "disconnect", None);
    }
}
