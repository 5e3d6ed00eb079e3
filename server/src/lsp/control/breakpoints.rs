//! Breakpoints: the list, and the commands that change it.

use std::sync::Arc;

use backstitch_control::{
    Breakpoint, BreakpointAction, BreakpointScope, BreakpointSpec, CallMoment, Control,
    HitCondition, LineRange, NewBreakpoint, follow,
};
use backstitch_core::config::Unattended;
use backstitch_protocol::{
    self as protocol, AddBreakpointParams, BreakpointParams, BreakpointResult, BreakpointsResult,
    EditBreakpointParams, FailureKind, Name, RemovedResult, ToggleBreakpointParams, ToggleResult,
    Where,
};
use serde_json::{Value, json};

use super::face;
use crate::control::{lookup, moves, view, words};
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::failure::{Failure, Reply};
use crate::lsp::messages::control as messages;
use crate::lsp::session::ServerState;
use crate::lsp::{targets, views};
use backstitch_control::condition::{Condition, LogText};

/// Returns all breakpoints, with the lines where they stand now.
pub async fn breakpoints(server: &ServerState, here: &Where) -> Reply<BreakpointsResult> {
    let handle = targets::workspace_handle(server, here)?;
    all(server, &handle).await
}

/// As `breakpoints`. An editor without panels shows them as a document.
pub async fn list(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
) -> Reply<BreakpointsResult> {
    let found = all(server, handle).await?;
    if !server.features().own.panels {
        let text = messages::breakpoints(&found.breakpoints);
        views::show(server, "breakpoints.md", text.as_bytes()).await?;
    }
    Ok(found)
}

async fn all(server: &ServerState, handle: &WorkspaceHandle) -> Reply<BreakpointsResult> {
    let workspace = handle.workspace().clone();
    let found = handle.control(false, move |control| {
        let all = control.breakpoints().all()?;
        let all = moves::follow(&workspace, control, &all).unwrap_or(all);
        let all = all.into_iter();
        let all: Vec<(Breakpoint, Option<Vec<u8>>)> = all
            .map(|one| {
                let base = control
                    .breakpoints()
                    .region_base(one.id)?
                    .map(|(_, base)| base);
                Ok((one, base))
            })
            .collect::<backstitch_core::Result<_>>()?;
        Ok((control.seq()?, all))
    });
    let (seq, all) = found.await?.unwrap_or_default();
    let breakpoints = all.iter().map(|(one, base)| {
        let mut shape = view::breakpoint(one);
        shape.region = base
            .as_deref()
            .and_then(|base| region(server, handle, one, base));
        shape
    });
    Ok(BreakpointsResult {
        seq,
        breakpoints: breakpoints.collect(),
    })
}

/// Returns the lines of a `line` breakpoint in the open document, or in the file.
pub fn region(
    server: &ServerState,
    handle: &WorkspaceHandle,
    breakpoint: &Breakpoint,
    base: &[u8],
) -> Option<protocol::Region> {
    let BreakpointSpec::Line { path, start, count } = &breakpoint.spec else {
        return None;
    };
    let lines = LineRange {
        start: *start,
        count: *count,
    };
    let open = server.documents.of(handle).into_iter();
    let mut open = open.filter(|(_, document)| {
        let place = document.place.as_ref();
        place.is_some_and(|place| place.path.display() == *path)
    });
    let text = match open.next().and_then(|(_, document)| document.as_saved()) {
        Some(text) => Some(text),
        None => lookup::read_file(&handle.root().join(path)).ok().flatten(),
    };
    view::region(breakpoint, follow(base, lines, &text.unwrap_or_default()))
}

fn text(name: Option<Name>) -> Option<String> {
    name.map(String::from)
}

fn hits_when(typed: Option<&str>) -> Reply<Option<HitCondition>> {
    let typed = typed.filter(|typed| !typed.trim().is_empty());
    let read = typed.map(str::parse).transpose();
    read.map_err(|reason: String| Failure::usage(reason))
}

fn condition(typed: Option<&str>) -> Reply<Option<String>> {
    let Some(jq) = typed.filter(|jq| !jq.trim().is_empty()) else {
        return Ok(None);
    };
    Condition::compile(jq).map_err(|reason| Failure::usage(messages::condition(jq, &reason)))?;
    Ok(Some(jq.to_owned()))
}

fn action(typed: &str) -> Reply<BreakpointAction> {
    Ok(match typed {
        "pause" => BreakpointAction::Pause,
        "log" => BreakpointAction::Log,
        "deny" => BreakpointAction::Deny,
        other => {
            let all = ["pause", "log", "deny"];
            return Err(Failure::usage(messages::not_one_of("action", other, &all)));
        }
    })
}

/// Refuses a log text whose jq cannot be compiled.
fn check_text(action: BreakpointAction, message: Option<&str>) -> Reply<()> {
    match message {
        Some(text) if action == BreakpointAction::Log => {
            LogText::compile(text).map(drop).map_err(Failure::usage)
        }
        _ => Ok(()),
    }
}

fn unattended(typed: &str) -> Reply<Unattended> {
    serde_json::from_value(json!(typed)).map_err(|_| {
        let all = ["ask", "hold", "deny", "allow"];
        Failure::usage(messages::not_one_of("unattended", typed, &all))
    })
}

fn moment(typed: &str) -> Reply<CallMoment> {
    Ok(match typed {
        "before" => CallMoment::Before,
        "after" => CallMoment::After,
        other => {
            let all = ["before", "after"];
            return Err(Failure::usage(messages::not_one_of("at", other, &all)));
        }
    })
}

/// A change of one field.
type BreakpointChange = Box<dyn FnOnce(&mut Breakpoint) + Send>;

/// Runs a job on the database, which is created if it is missing.
async fn with<T, F>(handle: &WorkspaceHandle, work: F) -> Reply<T>
where
    T: Send + 'static,
    F: FnOnce(&Control) -> backstitch_core::Result<T> + Send + 'static,
{
    let done = handle.control(true, work).await?;
    done.ok_or_else(|| Failure::new(FailureKind::NotFound, messages::NO_BREAKPOINTS))
}

/// Returns the text of a file in which a `line` breakpoint is set: of the open document, or on disk.
fn base_of(server: &ServerState, handle: &WorkspaceHandle, path: &str) -> Reply<Vec<u8>> {
    let open = server.documents.of(handle).into_iter();
    let mut open = open.filter(|(_, document)| {
        let place = document.place.as_ref();
        place.is_some_and(|place| place.path.display() == path)
    });
    if let Some(text) = open.next().and_then(|(_, document)| document.as_saved()) {
        return Ok(text);
    }
    let read = lookup::read_file(&handle.root().join(path)).ok().flatten();
    read.ok_or_else(|| {
        Failure::new(FailureKind::NotFound, messages::no_file(path)).hint(messages::NO_FILE_HINT)
    })
}

pub async fn add(
    server: &ServerState,
    handle: &WorkspaceHandle,
    params: AddBreakpointParams,
) -> Reply<BreakpointResult> {
    let kind = params.kind.to_string();
    let mut spec = params.spec;
    if let Some(fields) = spec.as_object_mut() {
        fields.insert("kind".to_owned(), Value::from(kind.clone()));
    }
    // a command as a person types it
    let typed = spec.get("text").and_then(Value::as_str).map(str::to_owned);
    let typed = typed.filter(|_| kind == "command");
    let mut spec: BreakpointSpec = match typed {
        Some(text) => BreakpointSpec::command(&text),
        None => serde_json::from_value(spec)
            .map_err(|error| Failure::usage(messages::wrong_spec(&kind, &error.to_string())))?,
    };
    let mut base = None;
    if let BreakpointSpec::Line { path, .. } = &mut spec {
        *path = targets::path(handle, path)?.display();
        base = Some(base_of(server, handle, path)?);
    }
    let mut typed = None;
    if let BreakpointSpec::Path { glob, .. }
    | BreakpointSpec::Content {
        path: Some(glob), ..
    } = &mut spec
        && !glob.is_empty()
    {
        let root = &handle.workspace().root;
        typed = Some(glob.clone());
        *glob = crate::control::pattern::pattern(root, root, glob);
    }
    let chosen = params
        .action
        .as_deref()
        .map_or(Ok(BreakpointAction::Pause), action)?;
    check_text(chosen, params.message.as_deref())?;
    let new = NewBreakpoint {
        moment: params.at.as_deref().map(moment).transpose()?,
        scope: BreakpointScope {
            agent: text(params.agent),
            session: text(params.session),
            subagent: text(params.subagent),
        },
        condition: condition(params.when.as_deref())?,
        hits_when: hits_when(params.hits.as_deref())?,
        action: chosen,
        message: params.message,
        once: params.once.unwrap_or_default(),
        unattended: params.unattended.as_deref().map(unattended).transpose()?,
        base,
        ..NewBreakpoint::of(spec, &face(server))
    };
    let made = with(handle, |control| control.breakpoints().add(new)).await?;
    let remarks = words::remarks(handle.root(), typed.as_deref(), &made.spec);
    server.report(messages::added(&made, &remarks));
    Ok(BreakpointResult {
        breakpoint: view::breakpoint(&made),
        remarks,
    })
}

pub async fn edit(
    server: &ServerState,
    handle: &WorkspaceHandle,
    params: EditBreakpointParams,
) -> Reply<BreakpointResult> {
    let (id, face) = (params.breakpoint.to_string(), face(server));
    let has_message = params.message.is_some();
    let mut changes: Vec<BreakpointChange> = Vec::new();
    if let Some(when) = params.when {
        let when = condition(Some(&when))?;
        changes.push(Box::new(move |one| one.condition = when));
    }
    if let Some(hits) = params.hits {
        let hits = hits_when(Some(&hits))?;
        changes.push(Box::new(move |one| one.hits_when = hits));
    }
    if let Some(typed) = params.action {
        let action = action(&typed)?;
        changes.push(Box::new(move |one| one.action = action));
    }
    if let Some(message) = params.message {
        let message = Some(message).filter(|message| !message.is_empty());
        changes.push(Box::new(move |one| one.message = message));
    }
    if let Some(once) = params.once {
        changes.push(Box::new(move |one| one.once = once));
    }
    let changed = with(handle, move |control| {
        let mut one = control.breakpoints().named(&id)?;
        let was = one.action;
        for change in changes {
            change(&mut one);
        }
        if one.action == BreakpointAction::Pause && was != BreakpointAction::Pause && !has_message {
            // it had one as a log or a denial
            one.message = None;
        }
        if one.action == BreakpointAction::Log {
            let text = one.message.as_deref().unwrap_or_default();
            LogText::compile(text).map_err(backstitch_core::Error::Usage)?;
        }
        control.breakpoints().edit(&one, &face)?;
        Ok(one)
    });
    Ok(BreakpointResult {
        breakpoint: view::breakpoint(&changed.await?),
        remarks: Vec::new(),
    })
}

pub async fn enable(
    server: &ServerState,
    handle: &WorkspaceHandle,
    params: &BreakpointParams,
    enabled: bool,
) -> Reply<BreakpointResult> {
    let (id, face) = (params.breakpoint.to_string(), face(server));
    let changed = with(handle, move |control| {
        let one = Breakpoint {
            enabled,
            ..control.breakpoints().named(&id)?
        };
        control.breakpoints().edit(&one, &face)?;
        Ok(one)
    });
    Ok(BreakpointResult {
        breakpoint: view::breakpoint(&changed.await?),
        remarks: Vec::new(),
    })
}

pub async fn remove(
    server: &ServerState,
    handle: &WorkspaceHandle,
    params: &BreakpointParams,
) -> Reply<RemovedResult> {
    let (id, face) = (params.breakpoint.to_string(), face(server));
    let removed = with(handle, move |control| {
        let one = control.breakpoints().named(&id)?;
        control.breakpoints().remove(one.id, &face)
    });
    Ok(RemovedResult {
        removed: usize::from(removed.await?),
    })
}

pub async fn clear(server: &ServerState, handle: &WorkspaceHandle) -> Reply<RemovedResult> {
    let face = face(server);
    let removed = handle.control(false, move |control| control.breakpoints().clear(&face));
    Ok(RemovedResult {
        removed: removed.await?.unwrap_or(0),
    })
}

/// Makes a breakpoint at lines of a document, or removes those that stand there.
pub async fn toggle(
    server: &Arc<ServerState>,
    handle: &WorkspaceHandle,
    params: &ToggleBreakpointParams,
) -> Reply<ToggleResult> {
    let uri = params.uri.as_deref().unwrap_or_default();
    let path = targets::path(handle, uri)?.display();
    let (first, end) = *params.lines;
    let here = Where {
        uri: params.uri.clone(),
        workspace: None,
    };
    let touches = |region: &protocol::Region| {
        let start = region.start as usize;
        region.state == "present" && start < end && first < start + (region.count as usize).max(1)
    };
    let there = breakpoints(server, &here).await?.breakpoints.into_iter();
    let there: Vec<String> = there
        .filter(|one| {
            let region = one.region.as_ref();
            region.is_some_and(|region| region.path == path && touches(region))
        })
        .map(|one| one.id)
        .collect();
    if !there.is_empty() {
        let (removed, face) = (there.clone(), face(server));
        with(handle, move |control| {
            for name in &there {
                let one = control.breakpoints().named(name)?;
                control.breakpoints().remove(one.id, &face)?;
            }
            Ok(())
        })
        .await?;
        server.report(messages::removed(&removed));
        return Ok(ToggleResult {
            added: None,
            removed,
        });
    }
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let base = base_of(server, handle, &path)?;
    let spec = BreakpointSpec::Line {
        path,
        start: number(first).saturating_add(1),
        count: number(end - first),
    };
    let new = NewBreakpoint {
        base: Some(base),
        ..NewBreakpoint::of(spec, &face(server))
    };
    let made = with(handle, |control| control.breakpoints().add(new)).await?;
    server.report(messages::added(&made, &[]));
    Ok(ToggleResult {
        added: Some(view::breakpoint(&made)),
        removed: Vec::new(),
    })
}
