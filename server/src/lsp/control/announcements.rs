//! Announces what happened to held calls, breakpoints and REPLs of a workspace.

use std::sync::Arc;

use backstitch_control::{Pause, PauseId, PauseOutcome};
use backstitch_protocol as protocol;
use tower_lsp::Client;
use tower_lsp::gen_lsp_types::{MessageType, Notification};

use super::changes::{ControlRows, PauseChanges};
use super::questions;
use crate::control::view;
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::handler::notifications::{
    BreakpointsNotification, HitNotification, PauseChangedNotification, PauseNotification,
    ReplChangedNotification, ReplOutputNotification, ResumeNotification,
};
use crate::lsp::messages::control as messages;
use crate::lsp::session::ServerState;
use crate::to_protocol;

/// Announces the changes: to Backstitch's own clients by notifications, and to all others by messages and questions.
pub async fn announce(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    rows: &ControlRows,
    changes: &PauseChanges,
    has_changed: bool,
) {
    for pause in &rows.slipped {
        server
            .client
            .say(MessageType::Warning, messages::slipped(pause));
    }
    if let Some(newest) = rows.attempts.last() {
        let said = crate::control::words::attempt(newest);
        server.client.say(MessageType::Warning, said);
    }
    for pause in changes.over.iter().chain(&changes.changed) {
        server.control.void(handle.root(), pause.id);
    }
    let notifier = server
        .client
        .features()
        .own
        .notifications
        .then(|| Notifier {
            client: &server.client.connection,
            workspace: to_protocol::path(handle.root()),
            rows,
        });
    if let Some(notifier) = &notifier {
        notifier.ended(changes).await;
        notifier.changed(changes).await;
    }
    for pause in &changes.new {
        if let Some(notifier) = &notifier {
            notifier.paused(pause).await;
        }
        show(server, handle, pause.id).await;
    }
    if let Some(notifier) = &notifier {
        if has_changed {
            notifier.breakpoints().await;
        }
        notifier.repls().await;
        notifier.hits().await;
    }
}

/// Notes that a person sees a new held call, and asks in an editor without panels.
async fn show(server: &Arc<ServerState>, handle: &Arc<WorkspaceHandle>, id: PauseId) {
    let has_panels = server.client.features().own.panels;
    // an editor that an agent runs shows it to nobody
    let is_seen = server.is_a_persons().await;
    if is_seen && (has_panels || questions::shows_questions(server)) {
        questions::acknowledge(&server.client, handle, id).await;
    }
    if is_seen && !has_panels {
        tokio::spawn(questions::ask(server.clone(), handle.clone(), id));
    }
}

/// Notifications about one workspace.
struct Notifier<'a> {
    client: &'a Client,
    workspace: protocol::Text,
    rows: &'a ControlRows,
}

impl Notifier<'_> {
    /// Sends the calls that are no longer held.
    async fn ended(&self, changes: &PauseChanges) {
        for pause in changes.over.iter().chain(&self.rows.slipped) {
            let outcome = pause.outcome.map_or("", PauseOutcome::name);
            let resumed = protocol::DidResume {
                workspace: self.workspace.clone(),
                seq: self.rows.seq,
                pause: view::pause(pause),
                outcome: outcome.to_owned(),
                by: pause.decided_by.clone(),
            };
            self.send::<ResumeNotification>(resumed).await;
        }
    }

    async fn changed(&self, changes: &PauseChanges) {
        for pause in &changes.changed {
            let changed = protocol::PauseChanged {
                workspace: self.workspace.clone(),
                seq: self.rows.seq,
                pause: view::pause(pause),
            };
            self.send::<PauseChangedNotification>(changed).await;
        }
    }

    async fn paused(&self, pause: &Pause) {
        let paused = protocol::DidPause {
            workspace: self.workspace.clone(),
            seq: self.rows.seq,
            pause: view::pause(pause),
        };
        self.send::<PauseNotification>(paused).await;
    }

    async fn breakpoints(&self) {
        let changed = protocol::BreakpointsChanged {
            workspace: self.workspace.clone(),
            seq: self.rows.seq,
        };
        self.send::<BreakpointsNotification>(changed).await;
    }

    /// Sends what was asked in REPLs, and those that were opened or closed.
    async fn repls(&self) {
        for (session, entry) in &self.rows.entries {
            let output = protocol::ReplOutput {
                workspace: self.workspace.clone(),
                seq: self.rows.seq,
                session: view::session(session),
                entry: view::entry(entry),
            };
            self.send::<ReplOutputNotification>(output).await;
        }
        for session in &self.rows.repls {
            let changed = protocol::ReplChanged {
                workspace: self.workspace.clone(),
                seq: self.rows.seq,
                session: view::session(session),
            };
            self.send::<ReplChangedNotification>(changed).await;
        }
    }

    /// Sends the log points that were hit.
    async fn hits(&self) {
        for hit in self.rows.hits.iter().filter(|hit| hit.text.is_some()) {
            let hit = protocol::DidHit {
                workspace: self.workspace.clone(),
                seq: self.rows.seq,
                hit: view::hit(hit, &self.rows.breakpoints),
            };
            self.send::<HitNotification>(hit).await;
        }
    }

    async fn send<N: Notification>(&self, params: N::Params) {
        self.client.send_notification::<N>(params).await;
    }
}
