//! State of the server, in parts that a handler names. Notifications of the client change it in the order in which they
//! come.

use std::path::PathBuf;
use std::sync::Arc;

use dashmap::{DashMap, DashSet};
use tokio::sync::mpsc::UnboundedSender;
use tower_lsp::Client;

use super::agents::EditorAgents;
use super::client::EditorClient;
use super::control_state::ControlState;
use super::document_events::{DocumentEvent, DocumentEvents};
use super::history::HistoryCache;
use super::read_problems::ProblemReader;
use super::running::Running;
use super::settings_state::SettingsState;
use super::workspaces::Workspaces;
use crate::host::store_watcher::StoreEvent;
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::documents::document::Documents;
use crate::lsp::documents::virtual_documents::Views;

#[derive(Debug)]
pub struct ServerState {
    pub client: EditorClient,
    pub documents: Documents,
    pub events: DocumentEvents,
    pub workspaces: Workspaces,
    pub settings: SettingsState,
    pub history_cache: HistoryCache,
    pub problems: ProblemReader,
    pub agents: EditorAgents,
    /// Long work that can be cancelled.
    pub running: Running,
    pub views: Views,
    /// Held calls and breakpoints, as they were announced last.
    pub control: ControlState,
    /// Documents whose text could not be recorded, and about which the user was warned.
    pub unrecorded: DashSet<String>,
    /// Documents that are ignored, and about which the user was informed.
    pub ignored: DashSet<String>,
    /// Documents that an agent wrote below, and their versions when the user was informed.
    pub written_below: DashMap<String, i32>,
    /// Lets decisions continue in the order in which they came, whichever check ends first.
    pub in_order: tokio::sync::Mutex<()>,
}

impl ServerState {
    pub fn new(
        client: Client,
        store_dir: Option<PathBuf>,
        store_events: UnboundedSender<StoreEvent>,
        document_sender: UnboundedSender<DocumentEvent>,
        changed_texts: UnboundedSender<String>,
        opened_workspaces: UnboundedSender<Arc<WorkspaceHandle>>,
    ) -> Self {
        Self {
            client: EditorClient::new(client),
            documents: Documents::default(),
            events: DocumentEvents::new(document_sender, changed_texts),
            workspaces: Workspaces::new(store_events, opened_workspaces),
            settings: SettingsState::new(store_dir),
            history_cache: HistoryCache::default(),
            problems: ProblemReader::default(),
            agents: EditorAgents::default(),
            running: Running::default(),
            views: Views::default(),
            control: ControlState::default(),
            unrecorded: DashSet::new(),
            ignored: DashSet::new(),
            written_below: DashMap::new(),
            in_order: tokio::sync::Mutex::default(),
        }
    }

    /// Handles a write by this server.
    pub fn changed(&self, handle: &WorkspaceHandle) {
        tracing::debug!("{}: written", handle.root().display());
        self.history_cache.forget();
        self.client.refresh_lenses();
    }
}
