//! State of the server: the client's features, the open documents, the workspaces, and the last blame of each
//! document. Notifications of the client change it in the order in which they come.

mod configuration;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;

use backstitch_core::model::{Kind, RelPath, SessionId};
use backstitch_core::{Against, Blame, Engine, Error, Locate, LogFilter, Result, Workspace};
use dashmap::{DashMap, DashSet};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, watch};
use tower_lsp::Client;
use tower_lsp::gen_lsp_types::{MessageType, TextDocumentContentChangeEvent as Change};

use super::client_capabilities::ClientFeatures;
use super::document::{self, Document, DocumentPath, Documents, LoadResult};
use super::editor_agents::ActiveAgent;
use super::progress::Running;
use super::settings::{ClientSettings, Lenses};
use super::store_watcher;
use super::views::Views;
use super::workspace::{WorkspaceHandle, WriteAccess};
use super::{messages, uri};

#[derive(Debug)]
pub struct ServerState {
    pub client: Client,
    pub documents: Documents,
    pub settings: RwLock<ClientSettings>,
    abilities: OnceLock<ClientFeatures>,
    store_dir: Option<PathBuf>,
    folders: RwLock<Vec<PathBuf>>,
    handles: DashMap<PathBuf, Arc<WorkspaceHandle>>,
    blames: DashMap<String, Blamed>,
    /// Counts changes that may affect a blame, apart from the text itself.
    epoch: AtomicU64,
    /// Number of agents' edits that the client is applying.
    applying: AtomicUsize,
    /// True if the client has sent `exit`.
    exited: AtomicBool,
    /// Documents whose text could not be recorded, and about which the user was warned.
    pub unkept: DashSet<String>,
    /// Documents that are ignored, and about which the user was informed.
    left_alone: DashSet<String>,
    heard: UnboundedSender<store_watcher::StoreNews>,
    touched: UnboundedSender<DocumentEvent>,
    /// Receives each workspace that is opened.
    opened: UnboundedSender<Arc<WorkspaceHandle>>,
    /// Wakes tasks that wait for a change of a document.
    told: Notify,
    at_work: RwLock<Vec<ActiveAgent>>,
    /// Long work that can be cancelled.
    pub running: Running,
    pub views: Views,
    /// For each workspace, the errors in its settings files, and its lenses.
    heeded: DashMap<PathBuf, (Vec<String>, Lenses)>,
    /// True if the client has sent its settings.
    has_settings: AtomicBool,
    /// Number of times that the client was asked for its settings.
    asked: AtomicU64,
    /// True once the client has sent `initialized`.
    ready: watch::Sender<bool>,
    /// True if the client has sent `shutdown`; its `exit` follows.
    leaving: AtomicBool,
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
    known: Arc<DocumentHistory>,
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
        engine.log(&LogFilter {
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
pub const VERSION_CONTROL: [&str; 3] = [".git", ".jj", ".hg"];

/// Maximum number of checkpoints of a file that are counted.
const COUNTED: usize = 100;

impl ServerState {
    pub fn new(
        client: Client,
        store_dir: Option<PathBuf>,
        heard: UnboundedSender<store_watcher::StoreNews>,
        touched: UnboundedSender<DocumentEvent>,
        opened: UnboundedSender<Arc<WorkspaceHandle>>,
    ) -> Self {
        Self {
            client,
            documents: Documents::default(),
            settings: RwLock::default(),
            abilities: OnceLock::new(),
            store_dir,
            folders: RwLock::default(),
            handles: DashMap::new(),
            blames: DashMap::new(),
            epoch: AtomicU64::new(0),
            applying: AtomicUsize::new(0),
            exited: AtomicBool::new(false),
            unkept: DashSet::new(),
            left_alone: DashSet::new(),
            heard,
            touched,
            opened,
            told: Notify::new(),
            at_work: RwLock::default(),
            running: Running::default(),
            views: Views::default(),
            heeded: DashMap::new(),
            has_settings: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            ready: watch::Sender::new(false),
            leaving: AtomicBool::new(false),
        }
    }

    /// Called once, by `initialize`.
    pub fn begin(&self, abilities: ClientFeatures, folders: Vec<PathBuf>) {
        self.abilities.set(abilities).ok();
        if let Ok(mut own) = self.folders.write() {
            *own = folders;
        }
        for folder in self.folders() {
            self.enter_folder(&folder);
        }
    }

    pub fn abilities(&self) -> &ClientFeatures {
        static NONE: OnceLock<ClientFeatures> = OnceLock::new();
        self.abilities
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
            self.enter_folder(&folder);
        }
        for uri in self.documents.uris() {
            self.find_place(&uri);
        }
        self.leave_rooms();
        self.refresh_lenses();
    }

    pub fn open(&self, uri: &str, version: i32, text: &str) {
        self.documents.open(uri, Document::opened(version, text));
        self.find_place(uri);
        self.touch(DocumentEvent::Changed(uri.to_owned()));
        if let Some(document) = self.documents.get(uri)
            && let (Some(place), Some(why)) = (&document.place, document.left_alone())
            && self.left_alone.insert(uri.to_owned())
        {
            let path = place.path.display();
            self.say(MessageType::Info, messages::notice::left_alone(&path, why));
        }
    }

    /// Finds a document's file. The result may differ from the last one, since folders and workspaces come and go.
    fn find_place(&self, uri: &str) {
        let file = uri::to_path(uri);
        let place = file.as_deref().and_then(|path| self.place(path));
        let content = place
            .as_ref()
            .and_then(|_| document::read(file.as_deref()?));
        let moved = self.documents.with(uri, |document| {
            let moves = document.place != place;
            let left = moves && document.place.is_some();
            if moves {
                document.stands_at(place, content.as_deref());
            }
            (moves, left)
        });
        let (moved, left) = moved.unwrap_or_default();
        if moved {
            self.blames.remove(uri);
            self.touch(DocumentEvent::Changed(uri.to_owned()));
        }
        if left {
            self.leave_rooms();
        }
    }

    pub fn change(&self, uri: &str, version: i32, changes: &[Change]) {
        let encoding = self.abilities().encoding;
        let known = self.documents.with(uri, |document| {
            if version <= document.version {
                tracing::warn!("{uri}: version {version} after {}", document.version);
            }
            let was_clean = document.text == document.saved;
            document.change(version, changes, encoding);
            document.may_be_read_anew(was_clean);
        });
        if known.is_some() {
            self.touch(DocumentEvent::Changed(uri.to_owned()));
        } else {
            tracing::warn!("{uri}: changed, but it was not opened; left alone");
        }
    }

    /// Marks a document's text as unknown, after a change that cannot be read.
    pub fn lose(&self, uri: &str) {
        let lost = self.documents.with(uri, |document| {
            let path = document.place.as_ref().map(|place| place.path.display());
            document.lose().then_some(path)
        });
        if let Some(news) = lost {
            if let Some(path) = news.flatten() {
                self.say(MessageType::Warning, messages::notice::lost(&path));
            }
            tracing::warn!("{uri}: out of step until it is opened again or told as a whole");
        }
    }

    pub fn save(&self, uri: &str) {
        let file = uri::to_path(uri).and_then(|path| document::read(&path));
        let saved = self.documents.with(uri, |document| {
            let base = document.base_bytes();
            document.saved(file.as_deref());
            document.loaded = LoadResult::Own;
            let file = file.filter(|file| document.nearly_shows(file))?;
            Some(SavedText { base, file })
        });
        self.forget_blames();
        self.touch(DocumentEvent::Saved(uri.to_owned(), saved.flatten()));
    }

    pub fn close(&self, uri: &str) {
        self.blames.remove(uri);
        if let Some(document) = self.documents.close(uri) {
            self.touch(DocumentEvent::Closed(uri.to_owned(), Box::new(document)));
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
                self.look(from.handle, move |engine| engine.renamed(&old, &new));
            }
            (from, to) => {
                for place in [from, to].into_iter().flatten() {
                    self.look(place.handle, |engine| engine.look().map(|_| ()));
                }
            }
        }
    }

    /// Scans the workspaces of files that the user created or deleted in the editor.
    pub fn came_or_went<'u>(self: &Arc<Self>, uris: impl Iterator<Item = &'u str>) {
        if self.is_applying() {
            return;
        }
        let places = uris.filter_map(|uri| self.place(&uri::to_path(uri)?));
        let handles: BTreeMap<PathBuf, Arc<WorkspaceHandle>> = places
            .map(|place| (place.handle.root().to_path_buf(), place.handle))
            .collect();
        for handle in handles.into_values() {
            self.look(handle, |engine| engine.look().map(|_| ()));
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
    fn look(
        self: &Arc<Self>,
        handle: Arc<WorkspaceHandle>,
        look: impl FnOnce(&mut Engine) -> Result<()> + Send + 'static,
    ) {
        let session = self.clone();
        tokio::spawn(async move {
            let looked = handle.act(false, move |WriteAccess { engine, .. }| look(engine));
            match looked.await {
                Ok(()) => session.changed(&handle),
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

    pub fn is_ready(&self) {
        self.ready.send_replace(true);
    }

    /// Waits until the client accepts requests.
    pub async fn begun(&self) {
        // the sender lives as long as this
        self.ready.subscribe().wait_for(|ready| *ready).await.ok();
    }

    pub fn shuts_down(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// True if the client shuts down in order, and did not just disappear.
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// True if the client reloads this document when its file changes: it has no unsaved text.
    pub fn will_reload(&self, document: &Document) -> bool {
        self.abilities().own.reloads_from_disk && document.text == document.saved
    }

    /// Returns the agents whose turns have begun in this editor, oldest first.
    pub fn at_work(&self) -> Vec<ActiveAgent> {
        self.at_work
            .read()
            .map(|all| all.clone())
            .unwrap_or_default()
    }

    pub fn begins(&self, at_work: ActiveAgent) {
        if let Ok(mut all) = self.at_work.write() {
            all.retain(|known| *known != at_work);
            all.push(at_work);
        }
    }

    pub fn ends(&self, at_work: &ActiveAgent) {
        if let Ok(mut all) = self.at_work.write() {
            all.retain(|known| known != at_work);
        }
    }

    /// Shows a message to the user in the background.
    pub fn say(&self, kind: MessageType, text: String) {
        let client = self.client.clone();
        tokio::spawn(async move { client.show_message(kind, text).await });
    }

    /// Shows the result of a command to the user, unless the client shows the answer itself.
    pub fn report(&self, text: String) {
        if !self.abilities().own.notifications {
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
        if self.abilities().lens_refresh {
            let client = self.client.clone();
            tokio::spawn(async move {
                let refreshed = tokio::time::timeout(ANSWER, client.code_lens_refresh());
                if !matches!(refreshed.await, Ok(Ok(()))) {
                    tracing::info!("the client did not refresh its lenses");
                }
            });
        }
    }

    /// Waits until a document meets the condition; the client's changes trigger the check.
    pub async fn comes_to(
        &self,
        uri: &str,
        patience: Duration,
        holds: impl Fn(&Document) -> bool,
    ) -> bool {
        let has = || self.documents.get(uri).is_some_and(|d| holds(&d));
        let waited = tokio::time::timeout(patience, async {
            loop {
                let told = self.told.notified();
                if has() {
                    return;
                }
                told.await;
            }
        });
        waited.await.is_ok() || has()
    }

    /// Returns a sender for document events.
    pub fn touches(&self) -> UnboundedSender<DocumentEvent> {
        self.touched.clone()
    }

    pub fn touch(&self, touched: DocumentEvent) {
        self.told.notify_waiters();
        self.touched.send(touched).ok();
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

    pub fn room_at(&self, root: &Path) -> Option<Arc<WorkspaceHandle>> {
        self.handles.get(root).map(|handle| handle.clone())
    }

    /// Returns the workspace of a directory, for as long as the caller holds it. If neither a folder nor a document
    /// opened it, its store is not watched.
    pub fn room_of(&self, dir: &Path) -> Result<Arc<WorkspaceHandle>> {
        let workspace = self.workspace_of(dir)?;
        match self.room_at(&workspace.root) {
            Some(handle) => Ok(handle),
            None => Ok(Arc::new(WorkspaceHandle::open(
                workspace,
                &self.abilities().name,
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

    /// Opens a workspace, and watches its store until `leave_rooms` closes it.
    fn enter(&self, workspace: Workspace) -> Result<Arc<WorkspaceHandle>> {
        if let Some(handle) = self.room_at(&workspace.root) {
            return Ok(handle);
        }
        let handle = Arc::new(WorkspaceHandle::open(workspace, &self.abilities().name)?);
        if let Err(error) = store_watcher::listen(&handle, self.heard.clone()) {
            tracing::warn!("no news of {}: {error}", handle.root().display());
        }
        self.handles
            .insert(handle.root().to_path_buf(), handle.clone());
        self.keep_settings(&handle);
        self.heed_settings(&handle);
        self.opened.send(handle.clone()).ok();
        Ok(handle)
    }

    /// Opens the workspace of a folder, so that its store is watched before any of its files is opened.
    fn enter_folder(&self, folder: &Path) {
        let entered = self.workspace_of(folder).and_then(|w| self.enter(w));
        if let Err(error) = entered {
            tracing::info!("{}: {error}", folder.display());
        }
    }

    /// Closes the workspaces that no folder and no document needs.
    pub fn leave_rooms(&self) {
        let folders = self.folders();
        let of_folders = folders.iter().filter_map(|f| self.workspace_of(f).ok());
        let of_folders: Vec<PathBuf> = of_folders.map(|workspace| workspace.root).collect();
        self.handles
            .retain(|root, _| of_folders.contains(root) || self.documents.any_of(root));
    }

    /// Returns the file of an open workspace that a path names, if any. A workspace is open if a folder is in it or
    /// around it; without folders, if a document of it is open.
    pub fn place(&self, path: &Path) -> Option<DocumentPath> {
        let full = document::real(path)?;
        let dir = full.ancestors().skip(1).find(|dir| dir.is_dir())?;
        let workspace = self.workspace_of(dir).ok()?;
        let folders = self.folders();
        let opens = |folder: &PathBuf| {
            let around = document::real(folder).is_some_and(|folder| dir.starts_with(folder));
            let within = || {
                self.workspace_of(folder)
                    .is_ok_and(|w| w.root == workspace.root)
            };
            around || within()
        };
        if !folders.is_empty() && !folders.iter().any(opens) {
            return None;
        }
        let handle = self.enter(workspace).ok()?;
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
            self.find_place(uri);
        }
        self.documents.get(uri)
    }

    /// Returns the author of each line of a document as it is now, and that document; None without a history.
    pub async fn known(&self, uri: &str) -> Result<Option<(Document, Arc<DocumentHistory>)>> {
        let Some(document) = self.placed(uri).filter(Document::has_lines) else {
            return Ok(None);
        };
        let Some(place) = document.place.clone() else {
            return Ok(None);
        };
        let lenses = self.heed_settings(&place.handle);
        let epoch = self.epoch.load(Ordering::Relaxed);
        let fresh = |b: &Blamed| b.edition == document.edition && b.epoch == epoch;
        if let Some(blamed) = self.blames.get(uri).filter(|blamed| fresh(blamed)) {
            return Ok(Some((document, blamed.known.clone())));
        }
        // lines as in the history
        let bytes = document.as_saved().unwrap_or_else(|| document.bytes());
        let path = place.path.clone();
        let of_latest = matches!(lenses, Lenses::Session | Lenses::LatestTurn);
        let asked = place.handle.ask(move |engine| {
            let blame = match engine.blame(&path, Against::Text(&bytes)) {
                // a file without lines
                Err(Error::Refused { reason, .. }) => {
                    tracing::debug!("{reason}");
                    return Ok(None);
                }
                blame => blame?,
            };
            let latest = of_latest.then(|| latest(engine)).transpose()?.flatten();
            let checkpoints = engine.checkpoints_of(&path, COUNTED)?;
            Ok(Some(DocumentHistory {
                blame,
                latest,
                checkpoints: checkpoints.count,
                more: checkpoints.more,
                newest: checkpoints.newest,
            }))
        });
        let known = match asked.await {
            Ok(Some(known)) => Arc::new(known),
            Ok(None) | Err(Error::NoStore(_) | Error::NoFile { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let blamed = Blamed {
            edition: document.edition,
            epoch,
            known: known.clone(),
        };
        self.blames.insert(uri.to_owned(), blamed);
        Ok(Some((document, known)))
    }
}
