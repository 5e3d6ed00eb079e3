//! Agents that work inside the editor: their turns, and their edits, which go through the editor and not over the
//! disk. Their reports are recorded like those of hooks; text typed meanwhile is the user's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use backstitch_core::model::RelPath;
use backstitch_core::{Engine, InEditor};
use backstitch_protocol::{
    ApplyEditParams, ApplyEditResult, FailureKind, Name, TurnBeginParams, TurnEndParams, TurnResult,
};
use serde::Deserialize as _;
use tower_lsp::gen_lsp_types::WorkspaceEdit;

use super::editor_gate as gate;
use super::workspace_edit::{EditParts, InFlightEdit};
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::document::Document;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::handler::targets;
use crate::lsp::messages::{arguments, refusal::agent as messages};
use crate::lsp::session::{ANSWER, ActiveAgent, EditorAgents, EditorClient, ServerState};
use crate::lsp::unsaved::buffers;

/// How long the client may take to send the result of an edit.
const CHANGE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);
/// How long to wait for the rest if an edit and typing changed the same lines.
const OVERLAP_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(300);

pub async fn turn_begin(server: &ServerState, turn: TurnBeginParams) -> Reply<TurnResult> {
    let handle = targets::workspace_handle(server, &turn.place())?;
    let active = ActiveAgent {
        agent: turn.agent.into(),
        session: turn.session.into(),
    };
    server.agents.begin(active.clone());
    // text typed until now belongs to the state before the turn
    buffers::record_all(server, &handle, true).await;
    let event = event(
        &handle,
        &active,
        "turnBegin",
        EventKind::Prompt {
            text: turn.prompt.unwrap_or_default(),
            synthetic: false,
        },
    );
    let made = handle.act(true, move |WriteAccess { engine, .. }| {
        record(engine, &event)
    });
    Ok(TurnResult {
        checkpoint: made.await?,
    })
}

pub async fn turn_end(server: &ServerState, turn: TurnEndParams) -> Reply<TurnResult> {
    let handle = targets::workspace_handle(server, &turn.place())?;
    let active = find_agent(&server.agents, turn.agent, turn.session)?;
    server.agents.end(&active);
    let event = event(
        &handle,
        &active,
        "turnEnd",
        EventKind::Stop { background: false },
    );
    let made = handle.act(true, move |WriteAccess { engine, .. }| {
        record(engine, &event)
    });
    Ok(TurnResult {
        checkpoint: made.await?,
    })
}

/// Returns the named agent, or the only one at work. It never guesses among several.
fn find_agent(agents: &EditorAgents, agent: Option<Name>, id: Option<Name>) -> Reply<ActiveAgent> {
    let (agent, id) = (agent.map(String::from), id.map(String::from));
    if let (Some(agent), Some(session)) = (&agent, &id) {
        let (agent, session) = (agent.clone(), session.clone());
        return Ok(ActiveAgent { agent, session });
    }
    let matches = |active: &ActiveAgent| {
        agent.as_ref().is_none_or(|agent| *agent == active.agent)
            && id.as_ref().is_none_or(|id| *id == active.session)
    };
    let mut all = agents.active();
    all.retain(matches);
    if all.len() > 1 {
        let names = all.iter().map(|one| (&*one.agent, &*one.session));
        let names: Vec<(&str, &str)> = names.collect();
        return Err(Failure::usage(messages::several(&names)).hint(messages::SEVERAL_HINT));
    }
    all.pop().ok_or_else(|| {
        let named = agent.or(id);
        Failure::usage(messages::no_turn(named.as_deref())).hint(messages::NO_TURN_HINT)
    })
}

fn event(
    handle: &WorkspaceHandle,
    active: &ActiveAgent,
    name: &str,
    kind: EventKind,
) -> AgentEvent {
    AgentEvent {
        agent: active.agent.clone(),
        session: active.session.clone(),
        transcript: None,
        prompt_id: None,
        subagent: None,
        cwd: Some(handle.root().to_path_buf()),
        process: None,
        other_hooks: None,
        name: name.to_owned(),
        kind,
    }
}

fn record(engine: &mut Engine, event: &AgentEvent) -> backstitch_core::Result<Option<String>> {
    let recorded = engine.capture_mut().record(event)?;
    Ok(recorded.node.map(|node| node.to_string()))
}

/// Applies an agent's edit and records the result as the agent's. Open documents are edited in the editor, other
/// files on disk.
pub async fn apply_edit(server: &ServerState, params: ApplyEditParams) -> Reply<ApplyEditResult> {
    let active = find_agent(&server.agents, params.agent, params.session)?;
    let edit = WorkspaceEdit::deserialize(&params.edit.0).map_err(|error| {
        tracing::info!("an agent's edit: {error}");
        Failure::usage(arguments::edit_unreadable()).hint(arguments::EDIT_HINT)
    })?;
    let mut parts = EditParts::of(server, &edit)?;
    let label = params.label.unwrap_or_else(|| "applyEdit".to_owned());
    gate::pass(&parts, &active, &label).await?;
    let calls = begin(&mut parts, &active, &label).await?;
    let applying = server.agents.applying();
    let done = match parts.on_disk() {
        Ok(()) => in_client(&server.client, parts.client.as_ref()).await,
        failed => failed,
    };
    let mut checkpoints = Vec::new();
    for (handle, call) in calls {
        let kind = EventKind::After {
            call,
            report: ToolReport::default(),
            failed: done.is_err(),
        };
        let event = event(&handle, &active, "applyEdit", kind);
        let made = handle.act(true, move |WriteAccess { engine, .. }| {
            record(engine, &event)
        });
        checkpoints.extend(made.await?);
        server.changed(&handle);
    }
    drop(applying);
    done?;
    let (edits, not_taken) = applied_edits(server, parts.documents).await;
    for (handle, edits) in edits.into_values() {
        let call = ToolCall {
            id: None,
            tool: label.clone(),
            input: Vec::new(),
            effect: Effect::Names(edits.iter().map(|e| e.path.to_path()).collect()),
        };
        let event = event(&handle, &active, "applyEdit", EventKind::Other);
        let made = handle.act(true, move |WriteAccess { engine, lease }| {
            engine
                .documents_mut()
                .record_in_editor(&lease, &event, &call, &edits)
        });
        checkpoints.extend(made.await?.map(|node| node.to_string()));
        server.changed(&handle);
    }
    Ok(ApplyEditResult {
        applied: not_taken.is_empty(),
        checkpoints,
        not_taken,
    })
}

/// Begins a call in each workspace whose files change on disk, after checking that no content is lost.
async fn begin(
    parts: &mut EditParts,
    active: &ActiveAgent,
    label: &str,
) -> Reply<Vec<(Arc<WorkspaceHandle>, ToolCall)>> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    for files in parts.files.values_mut() {
        let overwritten: Vec<RelPath> =
            std::mem::take(&mut files.overwritten).into_iter().collect();
        let kept = move |WriteAccess { engine, .. }: WriteAccess<'_>| {
            engine.documents().check_recordable(&overwritten)
        };
        files.handle.act(true, kept).await?;
    }
    name_moved(parts).await?;
    let mut calls = Vec::new();
    for files in parts.files.values() {
        let handle = &files.handle;
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let call = ToolCall {
            id: Some(format!("applyEdit-{}-{number}", std::process::id())),
            tool: label.to_owned(),
            input: Vec::new(),
            effect: Effect::Names(files.named.iter().cloned().collect()),
        };
        let event = event(handle, active, "applyEdit", EventKind::Before(call.clone()));
        let begun = handle.act(true, move |WriteAccess { engine, .. }| {
            record(engine, &event)
        });
        begun.await?;
        calls.push((handle.clone(), call));
    }
    Ok(calls)
}

/// Names the recorded files that move with their directory; other files are moved without loss, too.
async fn name_moved(parts: &mut EditParts) -> Reply<()> {
    let moved = parts.files.values_mut();
    let moved = moved.map(|files| (files.handle.clone(), std::mem::take(&mut files.moved)));
    for (handle, mut moved) in moved.collect::<Vec<_>>() {
        let from: Vec<RelPath> = moved.keys().cloned().collect();
        let belonging = handle.act(true, move |WriteAccess { engine, .. }| {
            engine.documents().captured_paths(from)
        });
        for from in belonging.await? {
            if let Some(to) = moved.remove(&from) {
                parts.name(&handle, handle.root().join(from.to_path()));
                parts.name(&to.handle, to.handle.root().join(to.path.to_path()));
            }
        }
    }
    Ok(())
}

/// Has the client apply its part.
async fn in_client(client: &EditorClient, edit: Option<&WorkspaceEdit>) -> Reply<()> {
    let Some(edit) = edit else { return Ok(()) };
    let answer = tokio::time::timeout(ANSWER, client.connection.apply_edit(edit.clone())).await;
    let refused = match answer {
        Ok(Ok(answer)) if answer.applied => return Ok(()),
        Ok(Ok(answer)) => answer
            .failure_reason
            .unwrap_or_else(|| messages::REFUSED.to_owned()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => messages::NO_ANSWER.to_owned(),
    };
    Err(Failure::new(
        FailureKind::Refused,
        messages::not_applied(&refused),
    ))
}

type EditsByWorkspace = BTreeMap<PathBuf, (Arc<WorkspaceHandle>, Vec<InEditor>)>;

/// Returns the result of the edit in each document, by workspace, and the documents that did not get it. Only the
/// client's text counts; text typed meanwhile is not the agent's.
async fn applied_edits(
    server: &ServerState,
    documents: BTreeMap<String, (Document, Document)>,
) -> (EditsByWorkspace, Vec<String>) {
    let (mut by_workspace, mut not_taken) = (EditsByWorkspace::new(), Vec::new());
    for (uri, (before, after)) in documents {
        if before.text == after.text {
            continue;
        }
        let in_flight = InFlightEdit { before, after };
        let is_there = |now: &Document| in_flight.typed(now).is_some();
        let is_applied = |now: &Document| is_there(now) || in_flight.collides(now);
        if !server
            .events
            .wait_for(&server.documents, &uri, CHANGE_TIMEOUT, is_applied)
            .await
        {
            not_taken.push(uri);
            continue;
        }
        server
            .events
            .wait_for(&server.documents, &uri, OVERLAP_TIMEOUT, is_there)
            .await;
        let Some(now) = server.documents.get(&uri) else {
            not_taken.push(uri);
            continue;
        };
        // the user typed into the same lines: the edit as requested is the agent's, the rest the user's
        let (old, new) = match in_flight.typed(&now) {
            Some(typed) => (typed, &now),
            None => (in_flight.before.clone(), &in_flight.after),
        };
        let (Some(place), Some(old), Some(new)) = (&now.place, old.as_saved(), new.as_saved())
        else {
            continue;
        };
        let root = place.handle.root().to_path_buf();
        let (_, edits) = by_workspace
            .entry(root)
            .or_insert_with(|| (place.handle.clone(), Vec::new()));
        edits.push(InEditor {
            path: place.path.clone(),
            before: old,
            after: new,
        });
    }
    (by_workspace, not_taken)
}
