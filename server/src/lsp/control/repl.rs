//! REPLs, stacks and calls over LSP. An evaluation waits on a thread and its own connection, so that it holds up
//! nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backstitch_control::{
    Control, EvalId, FunctionCall, PAGE, Pause, PauseId, Program, ReplEntry, ReplFilter, StackFrame,
};
use backstitch_core::Error;
use backstitch_core::config::Config;
use backstitch_protocol::{
    self as protocol, CallsParams, CallsResult, FailureKind, Name, ObjectParams, ObjectResult,
    ReplCloseParams, ReplEvalParams, ReplEvalResult, ReplListParams, ReplListResult,
    ReplShowParams, ReplShowResult, ReplStartParams, ReplStartResult, StackParams, StackResult,
};
use serde_json::Value;

use super::{decisions, face};
use crate::control::{object, view};
use crate::host::progress::cancel_flag;
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::handler::targets;
use crate::lsp::messages::control as messages;
use crate::lsp::session::{EditorClient, ServerState};
use crate::to_protocol;

/// Maximum number of entries of an answer.
const MAX_ENTRIES: usize = 100_000;
/// Maximum number of calls of a program that are listed.
const MAX_CALLS: usize = 2000;

/// Runs a job on the database. Fails if there is none.
async fn on<T, F>(handle: &WorkspaceHandle, work: F) -> Reply<T>
where
    T: Send + 'static,
    F: FnOnce(&Control) -> backstitch_core::Result<T> + Send + 'static,
{
    let done = handle.control(false, work).await?;
    done.ok_or_else(|| Failure::new(FailureKind::UnknownPause, messages::NOTHING_HELD))
}

pub async fn start(
    client: &EditorClient,
    handle: &Arc<WorkspaceHandle>,
    params: ReplStartParams,
) -> Reply<ReplStartResult> {
    let id = match params.pause {
        Some(name) => pause_id(&name)?,
        None => decisions::chosen(client, handle, None).await?.id,
    };
    let face = face(client);
    let session = on(handle, move |control| control.repls().start(id, &face)).await?;
    Ok(ReplStartResult {
        session: view::session(&session),
    })
}

fn pause_id(name: &Name) -> Reply<PauseId> {
    let text = name.to_string();
    let number = text.strip_prefix('p').unwrap_or(&text).parse();
    number
        .map(PauseId)
        .map_err(|_| Box::<Failure>::from(Error::UnknownPause(text)))
}

pub async fn eval(handle: &Arc<WorkspaceHandle>, params: ReplEvalParams) -> Reply<ReplEvalResult> {
    let workspace = handle.workspace().clone();
    // the request was cancelled
    let is_over: Arc<AtomicBool> = cancel_flag();
    let (session, input) = (params.session.to_string(), params.input);
    // in the order of the requests; the waits are side by side
    let (asking, of, is_cancelled) = (session.clone(), workspace.clone(), is_over.clone());
    let asked = handle.control(false, move |control| {
        if is_cancelled.load(Ordering::Relaxed) {
            return Err(Error::CalledOff);
        }
        let timeout: Duration = Config::of(&of).eval_timeout();
        control.repls().ask(&asking, &input, timeout)
    });
    let id: EvalId = asked
        .await?
        .ok_or_else(|| Box::<Failure>::from(Error::UnknownSession(session.clone())))?;
    let evaluated = tokio::task::spawn_blocking(move || {
        let control = Control::open_existing(&workspace)?
            .ok_or_else(|| Error::UnknownSession(session.clone()))?;
        let entry: ReplEntry = control
            .repls()
            .answer_to(id, &|| is_over.load(Ordering::Relaxed))?;
        Ok::<_, Error>((control.repls().known(&session)?, entry))
    });
    let (session, entry) = evaluated.await.map_err(|error| {
        tracing::error!("an evaluation: {error}");
        Failure::new(FailureKind::Failed, messages::EVAL_FAILED)
    })??;
    Ok(ReplEvalResult {
        session: view::session(&session),
        entry: view::entry(&entry),
    })
}

pub async fn close(
    client: &EditorClient,
    handle: &Arc<WorkspaceHandle>,
    params: ReplCloseParams,
) -> Reply<ReplStartResult> {
    let (id, face) = (params.session.to_string(), face(client));
    let closed = on(handle, move |control| {
        control.repls().close(&id, messages::CLOSED_REPL, &face)
    });
    Ok(ReplStartResult {
        session: view::session(&closed.await?),
    })
}

pub async fn show(server: &ServerState, params: ReplShowParams) -> Reply<ReplShowResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let id = params.session.to_string();
    let after = i64::try_from(params.after.unwrap_or(0)).unwrap_or(i64::MAX);
    let unknown = Error::UnknownSession(id.clone());
    let found = handle.control(false, move |control| {
        Ok((
            control.repls().known(&id)?,
            control.repls().transcript(&id, after, MAX_ENTRIES)?,
        ))
    });
    let (session, entries) = found.await?.ok_or_else(|| Box::<Failure>::from(unknown))?;
    Ok(ReplShowResult {
        session: view::session(&session),
        entries: entries.iter().map(view::entry).collect(),
    })
}

fn time(typed: Option<Name>) -> Reply<Option<i64>> {
    let Some(typed) = typed else {
        return Ok(None);
    };
    let text = typed.to_string();
    let time: Result<jiff::Timestamp, _> = text.parse();
    time.map(|time| Some(time.as_microsecond()))
        .map_err(|_| Failure::usage(messages::no_time(&text)))
}

pub async fn list(server: &ServerState, params: ReplListParams) -> Reply<ReplListResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let active = match params.status.as_deref() {
        None => None,
        Some("active") => Some(true),
        Some("closed") => Some(false),
        Some(other) => {
            let all = ["active", "closed"];
            return Err(Failure::usage(messages::not_one_of("status", other, &all)));
        }
    };
    let filter = ReplFilter {
        search: params.search,
        active,
        from: time(params.from)?,
        to: time(params.to)?,
        pause: params.pause.as_ref().map(pause_id).transpose()?,
        call: params.call.and_then(|call| i64::try_from(call).ok()),
        limit: params.limit.unwrap_or(PAGE).min(MAX_ENTRIES),
        before: params.before.map(String::from),
    };
    let found = handle.control(false, move |control| control.repls().list(&filter));
    let (sessions, more) = found.await?.unwrap_or_default();
    Ok(ReplListResult {
        sessions: sessions.iter().map(view::session).collect(),
        more,
    })
}

pub async fn object(server: &ServerState, params: ObjectParams) -> Reply<ObjectResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let cid = params.cid.to_string();
    let wanted = cid.clone();
    let found = handle.control(false, move |control| control.repls().object(&wanted));
    let object = found
        .await?
        .flatten()
        .ok_or_else(|| Failure::new(FailureKind::NotFound, messages::no_object(&cid)))?;
    if let Some(path) = params.save {
        let path = std::path::PathBuf::from(path.to_string());
        let bytes = object.bytes;
        let written = tokio::task::spawn_blocking(move || {
            std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
        });
        let written = written.await.map_err(|error| error.to_string());
        written
            .and_then(|done| done)
            .map_err(|reason| Failure::new(FailureKind::Failed, reason))?;
    }
    // a program made it: shown as it is, whatever it is
    let view = serde_json::from_str(&object.view).unwrap_or(Value::Null);
    Ok(ObjectResult {
        text: object::text(&object.cid, object.size, &view),
        cid: object.cid,
        size: object.size,
        view,
    })
}

pub async fn stack(server: &ServerState, params: StackParams) -> Reply<StackResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let id = pause_id(&params.pause)?;
    let found = on(&handle, move |control| {
        let pause: Pause = control
            .pauses()
            .get(id)?
            .ok_or_else(|| Error::UnknownPause(id.to_string()))?;
        let filter = ReplFilter {
            pause: Some(id),
            limit: MAX_ENTRIES,
            ..ReplFilter::default()
        };
        Ok((
            pause,
            control.programs().call_of_pause(id)?,
            control.programs().stack(id)?,
            control.repls().list(&filter)?.0,
        ))
    });
    let (pause, call, frames, sessions) = found.await?;
    let last = frames.len();
    let frame = |(at, frame): (usize, StackFrame)| protocol::SourceFrame {
        name: frame.name,
        path: frame.path,
        line: frame.line,
        context: frame.context,
        first: frame.first,
        held: at + 1 == last,
    };
    Ok(StackResult {
        pause: pause.id.to_string(),
        call,
        frames: frames.into_iter().enumerate().map(frame).rev().collect(),
        sessions: sessions.iter().map(view::session).collect(),
    })
}

pub async fn calls(server: &ServerState, params: CallsParams) -> Reply<CallsResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let wanted = params.process.and_then(|number| i64::try_from(number).ok());
    let found = handle.control(false, move |control| {
        let programs = control.programs().all()?.into_iter();
        let programs = programs.filter(|program| wanted.is_none_or(|id| id == program.id));
        let mut all = Vec::new();
        for program in programs {
            let calls = control.programs().calls(program.id, MAX_CALLS)?;
            let mut shown = Vec::new();
            for call in calls {
                let filter = ReplFilter {
                    call: Some(call.id),
                    limit: MAX_ENTRIES,
                    ..ReplFilter::default()
                };
                let sessions = control.repls().list(&filter)?.0;
                let ids = sessions.into_iter().map(|session| session.id).collect();
                shown.push(function_call(call, ids));
            }
            all.push(program_of(program, shown));
        }
        Ok(all)
    });
    Ok(CallsResult {
        programs: found.await?.unwrap_or_default(),
    })
}

fn function_call(call: FunctionCall, repl_sessions: Vec<String>) -> protocol::FunctionCall {
    let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    protocol::FunctionCall {
        id: call.id,
        parent: call.parent,
        function: call.function,
        kind: call.kind,
        thread: call.thread,
        args: json(&call.args),
        started: to_protocol::time(call.started),
        ended: call.ended.map(to_protocol::time),
        outcome: call.outcome,
        result: call.result.as_deref().map_or(Value::Null, json),
        repl_sessions,
    }
}

fn program_of(program: Program, calls: Vec<protocol::FunctionCall>) -> protocol::Program {
    protocol::Program {
        id: program.id,
        pid: program.pid,
        argv: serde_json::from_str(&program.argv).unwrap_or_default(),
        language: program.language,
        cwd: program.cwd,
        connected: to_protocol::time(program.connected),
        ended: program.ended.map(to_protocol::time),
        calls,
    }
}
