//! An event's call, read once: its input, the files that it names, and its directory.

use std::path::{Path, PathBuf};

use backstitch_control::{CallFacts, CallMoment};
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall};
use serde_json::Value;

use super::answers;
use super::event::GateCheck;
use crate::control::input;
use crate::control::lookup::{CallAt, PastCall};
use crate::control::named::{NamedByCall, by_call};
use crate::control::paths::resolved;

/// A call at the gate. Reading it costs nothing but its own text: no file of the workspace is opened.
pub(super) struct GateCall<'a> {
    pub event: &'a AgentEvent,
    pub call: &'a ToolCall,
    /// The agent's own id of the call. Where it has none: made of thread, tool and input.
    pub id: String,
    /// Its directory, as a path in the root if it is one.
    pub cwd: PathBuf,
    moment: CallMoment,
    input: Value,
    /// The reason why the input is not JSON.
    unreadable: Option<String>,
    command: Option<String>,
    named: NamedByCall,
    cwd_text: String,
}

impl<'a> GateCall<'a> {
    /// None: the event is about no call that is held.
    pub fn read(gate: &GateCheck<'a>) -> Option<Self> {
        let event = gate.event;
        let (EventKind::Before(call) | EventKind::After { call, .. }) = &event.kind else {
            return None;
        };
        let root = &gate.workspace.root;
        let cwd = event.cwd.as_deref().unwrap_or(root);
        let cwd = in_root(cwd, root).unwrap_or_else(|| cwd.to_path_buf());
        let (input, unreadable) = match input::read(&call.input) {
            Ok(input) => (input, None),
            Err(reason) => (Value::Null, Some(reason)),
        };
        let command = gate.agent.command(&call.tool, &input);
        Some(Self {
            event,
            call,
            id: id(event, call),
            moment: answers::moment_of(&event.kind)?,
            named: by_call(call, &input, command.as_deref(), root, &cwd),
            input,
            unreadable,
            command,
            cwd_text: cwd.to_string_lossy().into_owned(),
            cwd,
        })
    }

    pub fn facts(&self) -> CallFacts<'_> {
        CallFacts {
            moment: self.moment,
            agent: &self.event.agent,
            session: &self.event.session,
            subagent: self.event.subagent.as_deref(),
            tool: &self.call.tool,
            input: &self.input,
            unreadable: self.unreadable.as_deref(),
            command: self.command.as_deref(),
            paths: &self.named.paths,
            mentioned: &self.named.mentioned,
            only_read: &self.named.only_read,
            searched: &self.named.searched,
            reads: !self.changes(),
            cwd: &self.cwd_text,
            failed: self.has_failed(),
            writes_named: !matches!(self.call.effect, Effect::Any { .. }),
        }
    }

    /// The facts about a call that has run, as they were before.
    pub fn facts_before(&self) -> CallFacts<'_> {
        CallFacts {
            moment: CallMoment::Before,
            failed: false,
            ..self.facts()
        }
    }

    /// The call for looking up what costs more. `error`: text of the error of a call that failed.
    pub fn at<'b>(&'b self, gate: &'b GateCheck<'_>, error: Option<&'b str>) -> CallAt<'b> {
        CallAt {
            workspace: gate.workspace,
            facts: self.facts(),
            cwd: &self.cwd,
            prompt_id: self.event.prompt_id.as_deref(),
            call: self.call.id.as_deref(),
            call_id: &self.id,
            transcript: self.event.transcript.as_deref(),
            error,
            past: None,
        }
    }

    /// The call as it was before it ran.
    pub fn at_past<'b>(&'b self, gate: &'b GateCheck<'_>, past: PastCall) -> CallAt<'b> {
        CallAt {
            facts: self.facts_before(),
            past: Some(past),
            ..self.at(gate, None)
        }
    }

    /// True for a call that is not known to only read.
    pub fn changes(&self) -> bool {
        !matches!(self.call.effect, Effect::Reads)
    }

    pub fn has_run(&self) -> bool {
        self.moment == CallMoment::After
    }

    pub fn has_failed(&self) -> bool {
        matches!(self.event.kind, EventKind::After { failed: true, .. })
    }

    /// The files that people see of the call.
    pub fn shown_files(&self) -> Vec<String> {
        if self.changes() {
            return self.named.paths.clone();
        }
        let shown = self.named.mentioned.iter().filter(|path| *path != ".");
        shown.cloned().collect()
    }
}

fn id(event: &AgentEvent, call: &ToolCall) -> String {
    call.id.clone().unwrap_or_else(|| {
        let thread = event.subagent.as_deref().unwrap_or_default();
        let hash = blake3::hash(&call.input).to_hex();
        format!("~{thread}/{}/{}", call.tool, &hash[..16])
    })
}

/// Returns the path in the root of a directory that is reached through a link.
fn in_root(cwd: &Path, root: &Path) -> Option<PathBuf> {
    if cwd.starts_with(root) {
        return None;
    }
    resolved(cwd).filter(|real| real.starts_with(root))
}
