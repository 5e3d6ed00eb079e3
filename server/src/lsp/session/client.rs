//! The client: its connection, its features, and the stages of its session.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tower_lsp::Client;
use tower_lsp::gen_lsp_types::MessageType;

use super::client_capabilities::ClientFeatures;
use crate::lsp::documents::document::Document;
use crate::render;

/// How long the client may take to answer a request that involves no person.
pub const ANSWER: Duration = Duration::from_secs(10);

/// The editor at the other end.
#[derive(Debug)]
pub struct EditorClient {
    pub connection: Client,
    features: OnceLock<ClientFeatures>,
    /// True once the client has sent `initialized`.
    ready: watch::Sender<bool>,
    /// True if the client has sent `shutdown`; its `exit` follows.
    leaving: AtomicBool,
    /// True if the client has sent `exit`.
    exited: AtomicBool,
}

impl EditorClient {
    pub fn new(connection: Client) -> Self {
        Self {
            connection,
            features: OnceLock::new(),
            ready: watch::Sender::new(false),
            leaving: AtomicBool::new(false),
            exited: AtomicBool::new(false),
        }
    }

    /// Called once, by `initialize`.
    pub fn begin(&self, features: ClientFeatures) {
        self.features.set(features).ok();
    }

    pub fn features(&self) -> &ClientFeatures {
        static NONE: OnceLock<ClientFeatures> = OnceLock::new();
        self.features
            .get()
            .unwrap_or_else(|| NONE.get_or_init(ClientFeatures::default))
    }

    pub fn set_ready(&self) {
        self.ready.send_replace(true);
    }

    /// Waits until the client accepts requests.
    pub async fn wait_until_ready(&self) {
        // the sender lives as long as this
        self.ready.subscribe().wait_for(|ready| *ready).await.ok();
    }

    pub fn begin_shutdown(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// True if the client shuts down in order, and did not just disappear.
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Notes that the client has sent `exit`.
    pub fn exit(&self) {
        self.exited.store(true, Ordering::Relaxed);
    }

    pub fn has_exited(&self) -> bool {
        self.exited.load(Ordering::Relaxed)
    }

    /// True if the client reloads this document when its file changes: it has no unsaved text.
    pub fn will_reload(&self, document: &Document) -> bool {
        self.features().own.reloads_from_disk && document.text == document.saved
    }

    /// Shows a message to the user in the background.
    pub fn say(&self, kind: MessageType, text: String) {
        let client = self.connection.clone();
        tokio::spawn(async move { client.show_message(kind, render::visible(&text)).await });
    }

    /// Shows the result of a command to the user, unless the client shows the answer itself.
    pub fn report(&self, text: String) {
        if !self.features().own.notifications {
            self.say(MessageType::Info, text);
        }
    }

    /// Has the client request problems again, if it requests them at all.
    pub fn refresh_problems(&self) {
        if self.features().pulls_problems && self.features().problem_refresh {
            let client = self.connection.clone();
            tokio::spawn(async move {
                let refreshed = tokio::time::timeout(ANSWER, client.workspace_diagnostic_refresh());
                if !matches!(refreshed.await, Ok(Ok(()))) {
                    tracing::info!("the client did not refresh its diagnostics");
                }
            });
        }
    }

    /// Has the client request lenses again, if it supports that.
    pub fn refresh_lenses(&self) {
        if self.features().lens_refresh {
            let client = self.connection.clone();
            tokio::spawn(async move {
                let refreshed = tokio::time::timeout(ANSWER, client.code_lens_refresh());
                if !matches!(refreshed.await, Ok(Ok(()))) {
                    tracing::info!("the client did not refresh its lenses");
                }
            });
        }
    }
}
