//! State of the server: the client's features, the open documents, the workspaces, and the last blame of each
//! document. Notifications of the client change it in the order in which they come.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;

use backstitch_core::model::{Kind, RelPath, SessionId};
use backstitch_core::restore::Reversible;
use backstitch_core::{Against, Blame, Engine, Error, Locate, LogFilter, Result, Workspace};
use dashmap::{DashMap, DashSet};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, watch};
use tower_lsp::Client;
use tower_lsp::gen_lsp_types::{MessageType, TextDocumentContentChangeEvent as Change};

use super::client_capabilities::ClientFeatures;
use super::running::Running;
use super::settings::{ClientSettings, Lenses};
use crate::host::store_watcher;
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::document::{self, Document, DocumentPath, Documents, LoadResult};
use crate::lsp::documents::uri;
use crate::lsp::documents::virtual_documents::Views;
use crate::lsp::messages;
use crate::render;

#[derive(Debug)]
pub struct ServerState {
    pub client: Client,
    pub documents: Documents,
    pub settings: RwLock<ClientSettings>,
    pub(super) features: OnceLock<ClientFeatures>,
    pub(super) store_dir: Option<PathBuf>,
    pub(super) folders: RwLock<Vec<PathBuf>>,
    pub(super) handles: DashMap<PathBuf, Arc<WorkspaceHandle>>,
    blames: DashMap<String, Blamed>,
    /// For each workspace, the operations that can be reversed, and the epoch at which they were read.
    pub(super) reversible: DashMap<PathBuf, (u64, Reversible)>,
    /// By workspace, with the epoch in which they were read.
    pub(super) turns: DashMap<PathBuf, (u64, Arc<TurnsInForce>)>,
    /// For each document that was open, the epoch at which the client sent its last text.
    pub(super) sent_at: DashMap<String, u64>,
    /// Counts changes that may affect a blame, apart from the text itself.
    pub(super) epoch: AtomicU64,
    /// Number of agents' edits that the client is applying.
    pub(super) applying: AtomicUsize,
    /// True if the client has sent `exit`.
    pub(super) exited: AtomicBool,
    /// Documents whose text could not be recorded, and about which the user was warned.
    pub unrecorded: DashSet<String>,
    /// Documents that are ignored, and about which the user was informed.
    pub(super) ignored: DashSet<String>,
    pub(super) store_events: UnboundedSender<store_watcher::StoreEvent>,
    pub(super) document_sender: UnboundedSender<DocumentEvent>,
    /// Receives each workspace that is opened.
    pub(super) opened_workspaces: UnboundedSender<Arc<WorkspaceHandle>>,
    /// Wakes tasks that wait for a change of a document.
    pub(super) document_changed: Notify,
    pub(super) active_agents: RwLock<Vec<ActiveAgent>>,
    /// Long work that can be cancelled.
    pub running: Running,
    pub views: Views,
    /// Held calls and breakpoints, as they were announced last.
    pub control: super::control_state::ControlState,
    /// For each workspace, the errors in its settings files, and its lenses.
    pub(super) checked_settings: DashMap<PathBuf, (Vec<String>, Lenses)>,
    /// Lets decisions continue in the order in which they came, whichever check ends first.
    pub in_order: tokio::sync::Mutex<()>,
    /// True if the client has sent its settings.
    pub(super) settings_received: AtomicBool,
    /// Number of times that the client was asked for its settings.
    pub(super) settings_requests: AtomicU64,
    /// True once the client has sent `initialized`.
    pub(super) ready: watch::Sender<bool>,
    /// True if the client has sent `shutdown`; its `exit` follows.
    pub(super) leaving: AtomicBool,
}

/// An agent that works in this editor, from the begin of a turn to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveAgent {
    pub agent: String,
    pub session: String,
}

/// Change of a document, for the task that records buffers.
#[derive(Clone, Debug)]
pub enum DocumentEvent {
    Changed(String),
    Saved(String, Option<SavedText>),
    Closed(String, Box<Document>),
}

/// A saved text, as in the file at that moment.
#[derive(Clone, Debug)]
pub struct SavedText {
    /// Base of the document, if other processes may have written it.
    pub base: Option<Vec<u8>>,
    pub file: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Blamed {
    edition: u64,
    epoch: u64,
    history: Arc<DocumentHistory>,
}

/// Recorded history of a document with its current text.
#[derive(Clone, Debug)]
pub struct DocumentHistory {
    pub blame: Blame,
    /// Number of checkpoints that changed the file, up to the limit.
    pub checkpoints: usize,
    /// True if there are more.
    pub more: bool,
    /// Time of the newest one.
    pub newest: Option<i64>,
    /// Session and turn of the newest agent work in the workspace, if the settings need it.
    pub latest: Option<(SessionId, Option<i64>)>,
}

/// Returns the newest agent work on the current branch.
fn latest(engine: &Engine) -> Result<Option<(SessionId, Option<i64>)>> {
    let newest = |kind| {
        engine.history().log(&LogFilter {
            kind: Some(kind),
            limit: Some(1),
            ..LogFilter::default()
        })
    };
    let found = [newest(Kind::Turn)?, newest(Kind::Step)?].concat();
    let newest = found.into_iter().max_by_key(|entry| entry.node.id);
    Ok(newest.and_then(|entry| {
        let turn = entry.turn.map(|turn| turn.number);
        Some((entry.session?.id, turn))
    }))
}

/// Maximum number of steps that are read to count later turns.
const MAX_STEPS: usize = 500;

/// Turns of the current branch whose work is in force, by their sessions.
#[derive(Debug, Default)]
pub struct TurnsInForce(BTreeSet<(SessionId, i64)>);

impl TurnsInForce {
    fn read(engine: &Engine) -> Result<Self> {
        let steps = engine.history().log(&LogFilter {
            kind: Some(Kind::Step),
            limit: Some(MAX_STEPS),
            ..LogFilter::default()
        })?;
        let steps = steps.into_iter();
        let in_force = steps.filter(|step| !step.taken_out && !step.changes.is_empty());
        let turns = in_force.filter_map(|step| Some((step.session?.id, step.turn?.number)));
        Ok(Self(turns.collect()))
    }

    /// Returns the number of turns of a session after this one.
    pub fn later(&self, session: SessionId, turn: i64) -> usize {
        self.0
            .range((session, turn.saturating_add(1))..(session, i64::MAX))
            .count()
    }
}

#[derive(Debug)]
pub struct Applying<'s>(&'s AtomicUsize);

impl Drop for Applying<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long the client may take to answer a request that involves no person.
pub const ANSWER: Duration = Duration::from_secs(10);

/// Directories whose files are never recorded.
const VERSION_CONTROL: [&str; 3] = [".git", ".jj", ".hg"];

/// Maximum number of checkpoints of a file that are counted.
const MAX_COUNTED: usize = 100;

impl ServerState {
    pub fn new(
        client: Client,
        store_dir: Option<PathBuf>,
        store_events: UnboundedSender<store_watcher::StoreEvent>,
        document_sender: UnboundedSender<DocumentEvent>,
        opened_workspaces: UnboundedSender<Arc<WorkspaceHandle>>,
    ) -> Self {
        Self {
            client,
            documents: Documents::default(),
            settings: RwLock::default(),
            features: OnceLock::new(),
            store_dir,
            folders: RwLock::default(),
            handles: DashMap::new(),
            blames: DashMap::new(),
            reversible: DashMap::new(),
            turns: DashMap::new(),
            sent_at: DashMap::new(),
            epoch: AtomicU64::new(0),
            applying: AtomicUsize::new(0),
            exited: AtomicBool::new(false),
            unrecorded: DashSet::new(),
            in_order: tokio::sync::Mutex::default(),
            ignored: DashSet::new(),
            store_events,
            document_sender,
            opened_workspaces,
            document_changed: Notify::new(),
            active_agents: RwLock::default(),
            running: Running::default(),
            views: Views::default(),
            control: super::control_state::ControlState::default(),
            checked_settings: DashMap::new(),
            settings_received: AtomicBool::new(false),
            settings_requests: AtomicU64::new(0),
            ready: watch::Sender::new(false),
            leaving: AtomicBool::new(false),
        }
    }

    /// Called once, by `initialize`.
    pub fn begin(&self, features: ClientFeatures, folders: Vec<PathBuf>) {
        self.features.set(features).ok();
        if let Ok(mut own) = self.folders.write() {
            *own = folders;
        }
        for folder in self.folders() {
            self.open_folder(&folder);
        }
    }

    pub fn features(&self) -> &ClientFeatures {
        static NONE: OnceLock<ClientFeatures> = OnceLock::new();
        self.features
            .get()
            .unwrap_or_else(|| NONE.get_or_init(ClientFeatures::default))
    }

    pub fn folders(&self) -> Vec<PathBuf> {
        self.folders.read().map(|f| f.clone()).unwrap_or_default()
    }

    pub fn change_folders(&self, added: Vec<PathBuf>, removed: &[PathBuf]) {
        if let Ok(mut folders) = self.folders.write() {
            folders.retain(|folder| !removed.contains(folder));
            folders.extend(added.iter().cloned());
        }
        for folder in added {
            self.open_folder(&folder);
        }
        for uri in self.documents.uris() {
            self.update_place(&uri);
        }
        self.close_unused();
        self.refresh_lenses();
    }

    pub fn open(&self, uri: &str, version: i32, text: &str) {
        self.documents.open(uri, Document::opened(version, text));
        self.update_place(uri);
        self.refresh_after_reload(uri);
        self.send_event(DocumentEvent::Changed(uri.to_owned()));
        if let Some(document) = self.documents.get(uri)
            && let Some(place) = &document.place
            && document.is_too_large()
            && self.ignored.insert(uri.to_owned())
        {
            let path = place.path.display();
            self.say(MessageType::Info, messages::notice::too_large(&path));
        }
    }

    /// Finds a document's file. The result may differ from the last one, since folders and workspaces come and go.
    fn update_place(&self, uri: &str) {
        let file = uri::to_path(uri);
        let place = file.as_deref().and_then(|path| self.place(path));
        let content = place
            .as_ref()
            .and_then(|_| document::read(file.as_deref()?));
        let moved = self.documents.with(uri, |document| {
            let moves = document.place != place;
            let left = moves && document.place.is_some();
            if moves {
                document.set_path(place, content.as_deref());
            }
            (moves, left)
        });
        let (moved, left) = moved.unwrap_or_default();
        if moved {
            self.blames.remove(uri);
            self.send_event(DocumentEvent::Changed(uri.to_owned()));
        }
        if left {
            self.close_unused();
        }
    }

    pub fn change(&self, uri: &str, version: i32, changes: &[Change]) {
        let encoding = self.features().encoding;
        let is_open = self.documents.with(uri, |document| {
            if version <= document.version {
                tracing::warn!("{uri}: version {version} after {}", document.version);
            }
            let was_clean = document.text == document.saved;
            document.change(version, changes, encoding);
            document.detect_reload(was_clean);
        });
        if is_open.is_some() {
            self.refresh_after_reload(uri);
            self.send_event(DocumentEvent::Changed(uri.to_owned()));
        } else {
            tracing::warn!("{uri}: changed, but it was not opened; left alone");
        }
    }

    /// Marks a document's text as unknown, after a change that cannot be read.
    pub fn mark_out_of_sync(&self, uri: &str) {
        let newly_lost = self.documents.with(uri, |document| {
            let path = document.place.as_ref().map(|place| place.path.display());
            document.mark_out_of_sync().then_some(path)
        });
        if let Some(path) = newly_lost {
            if let Some(path) = path.flatten() {
                self.say(MessageType::Warning, messages::notice::out_of_sync(&path));
            }
            tracing::warn!("{uri}: out of sync until it is opened again or sent as a whole");
        }
    }

    pub fn save(&self, uri: &str) {
        let file = uri::to_path(uri).and_then(|path| document::read(&path));
        let saved = self.documents.with(uri, |document| {
            let base = document.base_bytes();
            document.saved(file.as_deref());
            document.loaded = LoadResult::SavedByClient;
            let file = file.filter(|file| document.nearly_shows(file))?;
            Some(SavedText { base, file })
        });
        self.forget_blames();
        self.send_event(DocumentEvent::Saved(uri.to_owned(), saved.flatten()));
    }

    pub fn close(&self, uri: &str) {
        self.blames.remove(uri);
        if let Some(document) = self.documents.close(uri) {
            self.send_event(DocumentEvent::Closed(uri.to_owned(), Box::new(document)));
        }
    }

    /// Records that the user renamed a file or a directory in the editor. The history follows the file; the client
    /// opens its documents again.
    pub fn renamed(self: &Arc<Self>, old: &str, new: &str) {
        if self.is_applying() {
            return;
        }
        let place = |uri| uri::to_path(uri).and_then(|path| self.place(&path));
        let (from, to) = (place(old), place(new));
        match (from, to) {
            (Some(from), Some(to)) if Arc::ptr_eq(&from.handle, &to.handle) => {
                let (old, new) = (from.path, to.path);
                self.scan_in_background(from.handle, move |engine| {
                    engine.documents_mut().renamed(&old, &new)
                });
            }
            (from, to) => {
                for place in [from, to].into_iter().flatten() {
                    self.scan_in_background(place.handle, |engine| {
                        engine.capture_mut().record_changes().map(|_| ())
                    });
                }
            }
        }
    }

    /// Scans the workspaces of files that the user created or deleted in the editor.
    pub fn scan_files<'u>(self: &Arc<Self>, uris: impl Iterator<Item = &'u str>) {
        if self.is_applying() {
            return;
        }
        let places = uris.filter_map(|uri| self.place(&uri::to_path(uri)?));
        let handles: BTreeMap<PathBuf, Arc<WorkspaceHandle>> = places
            .map(|place| (place.handle.root().to_path_buf(), place.handle))
            .collect();
        for handle in handles.into_values() {
            self.scan_in_background(handle, |engine| {
                engine.capture_mut().record_changes().map(|_| ())
            });
        }
    }

    /// Returns a guard that is held while the client applies an agent's edit. File events during that time are not
    /// the user's doing.
    pub fn applying(&self) -> Applying<'_> {
        self.applying.fetch_add(1, Ordering::Relaxed);
        Applying(&self.applying)
    }

    fn is_applying(&self) -> bool {
        self.applying.load(Ordering::Relaxed) > 0
    }

    /// Records the state on disk in the background.
    fn scan_in_background(
        self: &Arc<Self>,
        handle: Arc<WorkspaceHandle>,
        scan: impl FnOnce(&mut Engine) -> Result<()> + Send + 'static,
    ) {
        let server = self.clone();
        tokio::spawn(async move {
            let scanned = handle.act(false, move |WriteAccess { engine, .. }| scan(engine));
            match scanned.await {
                Ok(()) => server.changed(&handle),
                Err(Error::NoStore(_)) => {}
                Err(error) => tracing::warn!("{}: {error}", handle.root().display()),
            }
        });
    }

    /// Notes that the client has sent `exit`.
    pub fn exit(&self) {
        self.exited.store(true, Ordering::Relaxed);
    }

    pub fn has_exited(&self) -> bool {
        self.exited.load(Ordering::Relaxed)
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

    /// True if the client reloads this document when its file changes: it has no unsaved text.
    pub fn will_reload(&self, document: &Document) -> bool {
        self.features().own.reloads_from_disk && document.text == document.saved
    }

    /// Returns the agents whose turns have begun in this editor, oldest first.
    pub fn active_agents(&self) -> Vec<ActiveAgent> {
        self.active_agents
            .read()
            .map(|all| all.clone())
            .unwrap_or_default()
    }

    pub fn agent_began(&self, agent: ActiveAgent) {
        if let Ok(mut all) = self.active_agents.write() {
            all.retain(|other| *other != agent);
            all.push(agent);
        }
    }

    pub fn agent_ended(&self, agent: &ActiveAgent) {
        if let Ok(mut all) = self.active_agents.write() {
            all.retain(|other| other != agent);
        }
    }

    /// Shows a message to the user in the background.
    pub fn say(&self, kind: MessageType, text: String) {
        let client = self.client.clone();
        tokio::spawn(async move { client.show_message(kind, render::visible(&text)).await });
    }

    /// Shows the result of a command to the user, unless the client shows the answer itself.
    pub fn report(&self, text: String) {
        if !self.features().own.notifications {
            self.say(MessageType::Info, text);
        }
    }

    /// Handles a write by this server.
    pub fn changed(&self, handle: &WorkspaceHandle) {
        tracing::debug!("{}: written", handle.root().display());
        self.forget_blames();
        self.refresh_lenses();
    }

    /// Has the client request lenses again, if it supports that.
    pub fn refresh_lenses(&self) {
        if self.features().lens_refresh {
            let client = self.client.clone();
            tokio::spawn(async move {
                let refreshed = tokio::time::timeout(ANSWER, client.code_lens_refresh());
                if !matches!(refreshed.await, Ok(Ok(()))) {
                    tracing::info!("the client did not refresh its lenses");
                }
            });
        }
    }

    /// Refreshes the lenses if the history has changed since the client last sent the text of this document. A client that
    /// reloads a file drops lenses of its old text, and some clients keep those that they got in between.
    fn refresh_after_reload(&self, uri: &str) {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let before = self.sent_at.insert(uri.to_owned(), epoch);
        if before.is_some_and(|before| before != epoch) {
            self.refresh_lenses();
        }
    }

    /// Returns the operations of a document's workspace that can be reversed.
    pub async fn reversible(&self, document: &Document) -> Reversible {
        let Some(place) = &document.place else {
            return Reversible::default();
        };
        let (epoch, root) = (self.epoch.load(Ordering::Relaxed), place.handle.root());
        let known = self.reversible.get(root).map(|known| *known);
        if let Some((_, known)) = known.filter(|(read, _)| *read == epoch) {
            return known;
        }
        let asked = place.handle.ask(|engine| engine.restore().reversible());
        match asked.await {
            Ok(found) => {
                self.reversible.insert(root.to_path_buf(), (epoch, found));
                found
            }
            Err(error) => {
                tracing::info!("{}: {error}", root.display());
                Reversible::default()
            }
        }
    }

    /// Returns the turns whose work is in force in the workspace of a document.
    pub async fn turns_in_force(&self, document: &Document) -> Arc<TurnsInForce> {
        let Some(place) = &document.place else {
            return Arc::default();
        };
        let (epoch, root) = (self.epoch.load(Ordering::Relaxed), place.handle.root());
        let known = self.turns.get(root).map(|known| known.clone());
        if let Some((_, known)) = known.filter(|(read, _)| *read == epoch) {
            return known;
        }
        match place.handle.ask(|engine| TurnsInForce::read(engine)).await {
            Ok(found) => {
                let found = Arc::new(found);
                self.turns
                    .insert(root.to_path_buf(), (epoch, found.clone()));
                found
            }
            Err(error) => {
                tracing::info!("{}: {error}", root.display());
                Arc::default()
            }
        }
    }

    /// Waits until a document meets the condition; the client's changes trigger the check.
    pub async fn wait_for(
        &self,
        uri: &str,
        timeout: Duration,
        holds: impl Fn(&Document) -> bool,
    ) -> bool {
        let has = || self.documents.get(uri).is_some_and(|d| holds(&d));
        let waited = tokio::time::timeout(timeout, async {
            loop {
                let changed = self.document_changed.notified();
                if has() {
                    return;
                }
                changed.await;
            }
        });
        waited.await.is_ok() || has()
    }

    /// Returns a sender for document events.
    pub fn document_events(&self) -> UnboundedSender<DocumentEvent> {
        self.document_sender.clone()
    }

    pub fn send_event(&self, event: DocumentEvent) {
        self.document_changed.notify_waiters();
        self.document_sender.send(event).ok();
    }

    /// Invalidates all blames.
    pub fn forget_blames(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the open workspaces, sorted by their roots.
    pub fn handles(&self) -> Vec<Arc<WorkspaceHandle>> {
        let mut handles: Vec<Arc<WorkspaceHandle>> =
            self.handles.iter().map(|r| r.value().clone()).collect();
        handles.sort_by(|a, b| a.root().cmp(b.root()));
        handles
    }

    pub fn handle_at(&self, root: &Path) -> Option<Arc<WorkspaceHandle>> {
        self.handles.get(root).map(|handle| handle.clone())
    }

    /// Returns the workspace of a directory, for as long as the caller holds it. If neither a folder nor a document
    /// opened it, its store is not watched.
    pub fn handle_of(&self, dir: &Path) -> Result<Arc<WorkspaceHandle>> {
        let workspace = self.workspace_of(dir)?;
        match self.handle_at(&workspace.root) {
            Some(handle) => Ok(handle),
            None => Ok(Arc::new(WorkspaceHandle::open(
                workspace,
                &self.features().name,
            )?)),
        }
    }

    fn workspace_of(&self, dir: &Path) -> Result<Workspace> {
        Workspace::find(&Locate {
            workspace: None,
            store_dir: self.store_dir().as_deref(),
            cwd: dir,
        })
    }

    /// Opens a workspace, and watches its store until `close_unused` closes it.
    fn open_workspace(&self, workspace: Workspace) -> Result<Arc<WorkspaceHandle>> {
        if let Some(handle) = self.handle_at(&workspace.root) {
            return Ok(handle);
        }
        let handle = Arc::new(WorkspaceHandle::open(workspace, &self.features().name)?);
        if let Err(error) = store_watcher::listen(&handle, self.store_events.clone()) {
            tracing::warn!(
                "the store of {} is not watched: {error}",
                handle.root().display()
            );
        }
        self.handles
            .insert(handle.root().to_path_buf(), handle.clone());
        self.publish_settings(&handle);
        self.check_settings(&handle);
        self.opened_workspaces.send(handle.clone()).ok();
        Ok(handle)
    }

    /// Opens the workspace of a folder, so that its store is watched before any of its files is opened.
    fn open_folder(&self, folder: &Path) {
        let opened = self
            .workspace_of(folder)
            .and_then(|w| self.open_workspace(w));
        if let Err(error) = opened {
            tracing::info!("{}: {error}", folder.display());
        }
    }

    /// Closes the workspaces that no folder and no document needs.
    pub fn close_unused(&self) {
        let folders = self.folders();
        let of_folders = folders.iter().filter_map(|f| self.workspace_of(f).ok());
        let of_folders: Vec<PathBuf> = of_folders.map(|workspace| workspace.root).collect();
        self.handles
            .retain(|root, _| of_folders.contains(root) || self.documents.any_of(root));
    }

    /// Returns the file of an open workspace that a path names, if any. A workspace is open if a folder is in it or
    /// around it; without folders, if a document of it is open.
    pub fn place(&self, path: &Path) -> Option<DocumentPath> {
        let full = document::resolve_links(path)?;
        let dir = full.ancestors().skip(1).find(|dir| dir.is_dir())?;
        let workspace = self.workspace_of(dir).ok()?;
        let folders = self.folders();
        let opens = |folder: &PathBuf| {
            let around =
                document::resolve_links(folder).is_some_and(|folder| dir.starts_with(folder));
            let within = || {
                self.workspace_of(folder)
                    .is_ok_and(|w| w.root == workspace.root)
            };
            around || within()
        };
        if !folders.is_empty() && !folders.iter().any(opens) {
            return None;
        }
        let handle = self.open_workspace(workspace).ok()?;
        let inside = full.strip_prefix(handle.root()).ok()?;
        // files of a version control system, such as a commit message
        let is_its_own = |part: &OsStr| VERSION_CONTROL.iter().any(|dir| part == *dir);
        if inside.iter().any(is_its_own) {
            return None;
        }
        let path = RelPath::from_path(inside)?;
        Some(DocumentPath { handle, path })
    }

    /// Returns a document. Its file is looked up again if its workspace had no history so far.
    fn placed(&self, uri: &str) -> Option<Document> {
        let waits = |document: &Document| match &document.place {
            Some(place) => !place.handle.has_history(),
            None => true,
        };
        if self.documents.get(uri).is_some_and(|d| waits(&d)) {
            self.update_place(uri);
        }
        self.documents.get(uri)
    }

    /// Returns the author of each line of a document as it is now, and that document; None without a history.
    pub async fn history(&self, uri: &str) -> Result<Option<(Document, Arc<DocumentHistory>)>> {
        let Some(document) = self.placed(uri).filter(Document::has_lines) else {
            return Ok(None);
        };
        let Some(place) = document.place.clone() else {
            return Ok(None);
        };
        let lenses = self.check_settings(&place.handle);
        let epoch = self.epoch.load(Ordering::Relaxed);
        let fresh = |b: &Blamed| b.edition == document.edition && b.epoch == epoch;
        if let Some(blamed) = self.blames.get(uri).filter(|blamed| fresh(blamed)) {
            return Ok(Some((document, blamed.history.clone())));
        }
        // lines as in the history
        let bytes = document.as_saved().unwrap_or_else(|| document.bytes());
        let path = place.path.clone();
        let needs_latest = matches!(lenses, Lenses::Session | Lenses::LatestTurn);
        let asked = place.handle.ask(move |engine| {
            let blame = match engine.blamer().blame(&path, Against::Text(&bytes)) {
                // a file without lines
                Err(Error::Refused { reason, .. }) => {
                    tracing::debug!("{reason}");
                    return Ok(None);
                }
                blame => blame?,
            };
            let latest = needs_latest.then(|| latest(engine)).transpose()?.flatten();
            let checkpoints = engine.history().checkpoints_of(&path, MAX_COUNTED)?;
            Ok(Some(DocumentHistory {
                blame,
                latest,
                checkpoints: checkpoints.count,
                more: checkpoints.more,
                newest: checkpoints.newest,
            }))
        });
        let history = match asked.await {
            Ok(Some(history)) => Arc::new(history),
            Ok(None) | Err(Error::NoStore(_) | Error::NoFile { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let blamed = Blamed {
            edition: document.edition,
            epoch,
            history: history.clone(),
        };
        self.blames.insert(uri.to_owned(), blamed);
        Ok(Some((document, history)))
    }
}
