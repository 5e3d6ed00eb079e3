//! The gate for agents inside the editor: an edit that a breakpoint concerns is held before it begins.

use std::future::{Future as _, poll_fn};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use backstitch_agents::{Abilities, AnswerPart, Gated, ToolDecision};
use backstitch_control::{Armed, Subject, armed_at, starter};
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall};
use backstitch_protocol::FailureKind;
use serde_json::{Value, json};

use super::workspace_edit::{EditParts, FilesAfter};
use crate::control::gate::{CallOff, GateCheck};
use crate::control::predict::EDITOR_TEXTS;
use crate::host::progress::wait_for_cancellation;
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::messages::control as messages;
use crate::lsp::session::ActiveAgent;

/// Name of the event.
const EVENT: &str = "applyEdit";

/// An agent inside the editor: its edit is made or refused.
struct EditorAgent;

impl Gated for EditorAgent {
    fn abilities(&self) -> Abilities {
        Abilities {
            taken: &[(EVENT, &[AnswerPart::Deny])],
            hook_timeout: 0,
        }
    }

    fn command(&self, _tool: &str, _input: &Value) -> Option<String> {
        None
    }

    fn with_input(&self, _payload: &[u8], _input: &Value) -> Option<Vec<u8>> {
        None
    }

    fn error_text(&self, _payload: &[u8]) -> Option<String> {
        None
    }

    fn is_attended(&self) -> bool {
        true
    }
}

/// Holds the edit at each workspace where a breakpoint says so. Fails if it is refused.
pub async fn pass(parts: &EditParts, active: &ActiveAgent, label: &str) -> Reply<()> {
    for (root, (handle, files)) in parts.after() {
        let Some(armed) = armed_at(handle.workspace()) else {
            continue;
        };
        hold(armed, root, (handle, files), active, label).await?;
    }
    Ok(())
}

async fn hold(
    armed: backstitch_core::Result<Armed>,
    root: PathBuf,
    (handle, files): FilesAfter,
    active: &ActiveAgent,
    label: &str,
) -> Reply<()> {
    let texts: Vec<Value> = files
        .iter()
        .map(|(path, text)| json!({ "path": path.to_string_lossy(), "text": text }))
        .collect();
    let id = format!("{EVENT}-{}", uuid());
    let call = ToolCall {
        id: Some(id.clone()),
        tool: label.to_owned(),
        input: json!({ EDITOR_TEXTS: texts }).to_string().into_bytes(),
        effect: Effect::Names(files.into_keys().collect()),
    };
    let event = AgentEvent {
        agent: active.agent.clone(),
        session: active.session.clone(),
        transcript: None,
        prompt_id: None,
        subagent: None,
        cwd: Some(root),
        process: None,
        other_hooks: None,
        name: EVENT.to_owned(),
        kind: EventKind::Before(call),
    };
    let workspace = handle.workspace().clone();
    let call_off = Arc::new(CallOff::default());
    let heard = Arc::clone(&call_off);
    let held = tokio::task::spawn_blocking(move || {
        let about = (Subject::Edit, &workspace);
        let gate = GateCheck::patient(about, &EditorAgent, &event, starter(), &heard);
        let mut outcome = gate.check(armed);
        outcome.answered(&workspace);
        outcome
    });
    let (mut held, mut cancellation) = (pin!(held), pin!(wait_for_cancellation()));
    let outcome = poll_fn(|context| match cancellation.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => held.as_mut().poll(context).map(Some),
    });
    let Some(outcome) = outcome.await else {
        if give_up(&handle, call_off, id).await {
            // its pause has its end before the answer
            let _ = held.await;
        }
        return Err(Failure::cancelled());
    };
    let outcome = outcome.map_err(|error| {
        tracing::error!("the gate: {error}");
        Failure::new(FailureKind::Failed, messages::GATE_FAILED)
    })?;
    if !outcome.prevented {
        return Ok(());
    }
    let reason = match outcome.answer.decision {
        Some(ToolDecision::Deny(reason)) => reason,
        Some(ToolDecision::Allow(_) | ToolDecision::Ask(_)) | None => {
            outcome.warning.unwrap_or_default()
        }
    };
    Err(Failure::new(FailureKind::Refused, reason))
}

/// Denies a held edit whose request was cancelled. Returns false if that failed.
async fn give_up(handle: &WorkspaceHandle, call_off: Arc<CallOff>, call: String) -> bool {
    let workspaces = [handle.workspace().clone()];
    let denied = tokio::task::spawn_blocking(move || call_off.call(&workspaces, &call));
    match denied.await {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => tracing::warn!("a cancelled edit cannot be denied: {error}"),
        Err(error) => tracing::error!("the gate: {error}"),
    }
    false
}

/// A number that no other edit of any server has.
fn uuid() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let now = backstitch_control::now();
    format!("{}-{now}-{number}", std::process::id())
}
