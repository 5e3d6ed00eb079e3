//! What the server knows: the client's abilities, the open documents, the workspaces, and how each document
//! was blamed last. Notifications of the client change it in the order in which they come.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;

use backstitch_core::model::RelPath;
use backstitch_core::{Against, Blame, Error, Locate, Result, Workspace};
use dashmap::DashMap;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, watch};
use tower_lsp::Client;
use tower_lsp::gen_lsp_types::{MessageType, TextDocumentContentChangeEvent as Change};

use super::abilities::Abilities;
use super::agents::AtWork;
use super::document::{self, Document, Documents, Place};
use super::news;
use super::progress::Running;
use super::room::Room;
use super::settings::Settings;
use super::uri;
use super::views::Views;

#[derive(Debug)]
pub struct Session {
    pub client: Client,
    pub documents: Documents,
    pub settings: RwLock<Settings>,
    abilities: OnceLock<Abilities>,
    store_dir: Option<PathBuf>,
    folders: RwLock<Vec<PathBuf>>,
    rooms: DashMap<PathBuf, Arc<Room>>,
    blames: DashMap<String, Blamed>,
    /// Counts what may have changed the answer to a blame, apart from the text itself.
    epoch: AtomicU64,
    heard: UnboundedSender<PathBuf>,
    touched: UnboundedSender<Touched>,
    /// Workspaces that were opened just now.
    opened: UnboundedSender<Arc<Room>>,
    /// Wakes who waits for a change of a document.
    told: Notify,
    at_work: RwLock<Option<AtWork>>,
    /// What takes long and can be called off.
    pub running: Running,
    pub views: Views,
    /// Whether the client has said that it is ready.
    ready: watch::Sender<bool>,
    /// The client has asked the server to shut down: what follows is its exit.
    leaving: AtomicBool,
}

/// What happened to a document, for who records buffers.
#[derive(Clone, Debug)]
pub enum Touched {
    Changed(String),
    Saved(String),
    Closed(String, Box<Document>),
}

#[derive(Clone, Debug)]
struct Blamed {
    version: i32,
    epoch: u64,
    known: Arc<Known>,
}

/// What the history knows of a document as it stands.
#[derive(Clone, Debug)]
pub struct Known {
    pub blame: Blame,
    /// The checkpoints that changed the file: how many, as far as they were counted.
    pub checkpoints: usize,
    /// There are more than were counted.
    pub more: bool,
    /// When the newest was made.
    pub newest: Option<i64>,
}

/// How long the client may take to answer what no person has to think about.
pub const ANSWER: Duration = Duration::from_secs(10);

/// Up to so many checkpoints of a file are counted.
const COUNTED: usize = 100;

impl Session {
    pub fn new(
        client: Client,
        store_dir: Option<PathBuf>,
        heard: UnboundedSender<PathBuf>,
        touched: UnboundedSender<Touched>,
        opened: UnboundedSender<Arc<Room>>,
    ) -> Self {
        Self {
            client,
            documents: Documents::default(),
            settings: RwLock::default(),
            abilities: OnceLock::new(),
            store_dir,
            folders: RwLock::default(),
            rooms: DashMap::new(),
            blames: DashMap::new(),
            epoch: AtomicU64::new(0),
            heard,
            touched,
            opened,
            told: Notify::new(),
            at_work: RwLock::default(),
            running: Running::default(),
            views: Views::default(),
            ready: watch::Sender::new(false),
            leaving: AtomicBool::new(false),
        }
    }

    /// Called once, by `initialize`.
    pub fn begin(&self, abilities: Abilities, folders: Vec<PathBuf>) {
        self.abilities.set(abilities).ok();
        if let Ok(mut own) = self.folders.write() {
            *own = folders;
        }
        for folder in self.folders() {
            // so that news of it are heard before a file of it is opened
            if let Err(error) = self.room_of(&folder) {
                tracing::info!("{}: {error}", folder.display());
            }
        }
    }

    pub fn abilities(&self) -> &Abilities {
        static NONE: OnceLock<Abilities> = OnceLock::new();
        self.abilities
            .get()
            .unwrap_or_else(|| NONE.get_or_init(Abilities::default))
    }

    pub fn settings(&self) -> Settings {
        self.settings.read().map(|s| s.clone()).unwrap_or_default()
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
            self.room_of(&folder).ok();
        }
    }

    pub fn open(&self, uri: &str, version: i32, text: &str) {
        let file = uri::to_path(uri);
        let place = file.as_deref().and_then(|path| self.place(path));
        let on_disk = place
            .as_ref()
            .and_then(|_| document::read(file.as_deref()?));
        let document = Document::opened(version, text, place, on_disk);
        if document.is_too_large() {
            tracing::info!("{uri}: above 10 MiB, left alone");
        }
        self.documents.open(uri, document);
        self.touch(Touched::Changed(uri.to_owned()));
    }

    pub fn change(&self, uri: &str, version: i32, changes: &[Change]) {
        let encoding = self.abilities().encoding;
        let known = self.documents.with(uri, |document| {
            if version <= document.version {
                tracing::warn!("{uri}: version {version} after {}", document.version);
            }
            document.change(version, changes, encoding);
        });
        if known.is_some() {
            self.touch(Touched::Changed(uri.to_owned()));
        } else {
            tracing::warn!("{uri}: changed, but it was not opened; left alone");
        }
    }

    pub fn save(&self, uri: &str) {
        self.documents.with(uri, Document::saved);
        self.forget_blames();
        self.touch(Touched::Saved(uri.to_owned()));
    }

    pub fn close(&self, uri: &str) {
        self.blames.remove(uri);
        if let Some(document) = self.documents.close(uri) {
            self.touch(Touched::Closed(uri.to_owned(), Box::new(document)));
        }
    }

    pub fn configure(&self, settings: Settings, wrong: &[String]) {
        if let Ok(mut own) = self.settings.write() {
            *own = settings;
        }
        for wrong in wrong {
            self.say(MessageType::Warning, wrong.clone());
        }
        self.refresh_lenses();
    }

    pub fn is_ready(&self) {
        self.ready.send_replace(true);
    }

    /// Waits until the client can be asked something.
    pub async fn begun(&self) {
        // the sender lives as long as this
        self.ready.subscribe().wait_for(|ready| *ready).await.ok();
    }

    pub fn shuts_down(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Whether the client leaves in order, and did not just die.
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Whether the client reads this document anew when its file has changed: nothing was typed into it.
    pub fn will_reload(&self, document: &Document) -> bool {
        self.abilities().own.reloads_from_disk && document.text == document.saved
    }

    /// The agent whose turn has begun in this editor.
    pub fn at_work(&self) -> Option<AtWork> {
        self.at_work.read().ok()?.clone()
    }

    pub fn set_at_work(&self, at_work: Option<AtWork>) {
        if let Ok(mut own) = self.at_work.write() {
            *own = at_work;
        }
    }

    /// A message for the user; nobody waits for it.
    pub fn say(&self, kind: MessageType, text: String) {
        let client = self.client.clone();
        tokio::spawn(async move { client.show_message(kind, text).await });
    }

    /// Something was written through this server.
    pub fn changed(&self, room: &Room) {
        tracing::debug!("{}: written", room.root().display());
        self.forget_blames();
        self.refresh_lenses();
    }

    /// Has the client ask for lenses again, where it can be told.
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

    /// Waits until this holds of a document, since the client has told of a change.
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

    fn touch(&self, touched: Touched) {
        self.told.notify_waiters();
        self.touched.send(touched).ok();
    }

    /// What was blamed before may be someone else's now.
    pub fn forget_blames(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// The workspaces that are open, by their roots.
    pub fn rooms(&self) -> Vec<Arc<Room>> {
        let mut rooms: Vec<Arc<Room>> = self.rooms.iter().map(|r| r.value().clone()).collect();
        rooms.sort_by(|a, b| a.root().cmp(b.root()));
        rooms
    }

    pub fn room_at(&self, root: &Path) -> Option<Arc<Room>> {
        self.rooms.get(root).map(|room| room.clone())
    }

    /// The workspace of a directory.
    pub fn room_of(&self, dir: &Path) -> Result<Arc<Room>> {
        let workspace = Workspace::find(&Locate {
            workspace: None,
            store_dir: self.store_dir.as_deref(),
            cwd: dir,
        })?;
        if let Some(room) = self.room_at(&workspace.root) {
            return Ok(room);
        }
        let room = Arc::new(Room::open(workspace, &self.abilities().name)?);
        let kept = self.rooms.entry(room.root().to_path_buf());
        let mut first = false;
        let kept = kept.or_insert_with(|| {
            first = true;
            if let Err(error) = news::listen(room.workspace(), self.heard.clone()) {
                tracing::warn!("no news of {}: {error}", room.root().display());
            }
            room.clone()
        });
        let kept = kept.clone();
        if first {
            self.opened.send(kept.clone()).ok();
        }
        Ok(kept)
    }

    /// The file of a workspace that a path names; None where nobody cares for it.
    fn place(&self, path: &Path) -> Option<Place> {
        let dir = path.parent()?.canonicalize().ok()?;
        let room = self.room_of(&dir).ok()?;
        let folders = self.folders();
        let real = |folder: &PathBuf| folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let is_open = folders.iter().any(|folder| dir.starts_with(real(folder)));
        // somewhere else: only where there is a history already
        if !is_open && !room.workspace().store_dir.join("store.db").exists() {
            return None;
        }
        let full = dir.join(path.file_name()?);
        let path = RelPath::from_path(full.strip_prefix(room.root()).ok()?)?;
        Some(Place { room, path })
    }

    /// Who wrote each line of a document as it stands now, and that document. None where nothing is known.
    pub async fn known(&self, uri: &str) -> Result<Option<(Document, Arc<Known>)>> {
        let Some(document) = self.documents.get(uri).filter(|d| !d.is_too_large()) else {
            return Ok(None);
        };
        let Some(place) = document.place.clone() else {
            return Ok(None);
        };
        let epoch = self.epoch.load(Ordering::Relaxed);
        let fresh = |b: &Blamed| b.version == document.version && b.epoch == epoch;
        if let Some(blamed) = self.blames.get(uri).filter(|blamed| fresh(blamed)) {
            return Ok(Some((document, blamed.known.clone())));
        }
        let (bytes, path) = (document.bytes(), place.path.clone());
        let asked = place.room.ask(move |engine| {
            let blame = engine.blame(&path, Against::Text(&bytes))?;
            let checkpoints = engine.checkpoints_of(&path, COUNTED)?;
            Ok(Known {
                blame,
                checkpoints: checkpoints.count,
                more: checkpoints.more,
                newest: checkpoints.newest,
            })
        });
        let known = match asked.await {
            Ok(known) => Arc::new(known),
            Err(Error::NoStore(_) | Error::NoFile { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let blamed = Blamed {
            version: document.version,
            epoch,
            known: known.clone(),
        };
        self.blames.insert(uri.to_owned(), blamed);
        Ok(Some((document, known)))
    }
}
