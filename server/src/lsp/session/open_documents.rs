//! Changes of the open documents and of their files, as the client reports them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use backstitch_core::{Engine, Error, Result};
use tower_lsp::gen_lsp_types::{MessageType, TextDocumentContentChangeEvent as Change};

use super::document_events::{DocumentEvent, SavedText};
use super::history::DocumentHistory;
use super::settings::Lenses;
use super::state::ServerState;
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::document::{self, Document, LoadResult};
use crate::lsp::documents::uri;
use crate::lsp::messages;

impl ServerState {
    pub fn open(&self, uri: &str, version: i32, text: &str) {
        self.documents.open(uri, Document::opened(version, text));
        self.update_place(uri);
        self.refresh_after_reload(uri);
        self.events.send(DocumentEvent::Changed(uri.to_owned()));
        if let Some(document) = self.documents.get(uri)
            && let Some(place) = &document.place
            && document.is_too_large()
            && self.ignored.insert(uri.to_owned())
        {
            let path = place.path.display();
            self.client
                .say(MessageType::Info, messages::notice::too_large(&path));
        }
    }

    /// Finds a document's file. The result may differ from the last one, since folders and workspaces come and go.
    pub(super) fn update_place(&self, uri: &str) {
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
            self.history_cache.forget_document(uri);
            self.events.send(DocumentEvent::Changed(uri.to_owned()));
        }
        if left {
            self.close_unused();
        }
    }

    pub fn change(&self, uri: &str, version: i32, changes: &[Change]) {
        let encoding = self.client.features().encoding;
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
            self.events.send(DocumentEvent::Changed(uri.to_owned()));
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
                self.client
                    .say(MessageType::Warning, messages::notice::out_of_sync(&path));
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
        self.history_cache.forget();
        self.events.send(DocumentEvent::Saved {
            uri: uri.to_owned(),
            time: backstitch_control::now(),
            text: saved.flatten(),
        });
    }

    pub fn close(&self, uri: &str) {
        self.history_cache.forget_document(uri);
        self.written_below.remove(uri);
        if let Some(document) = self.documents.close(uri) {
            self.events
                .send(DocumentEvent::Closed(uri.to_owned(), Box::new(document)));
        }
    }

    /// Has the problems of all documents shown anew, after a change of something that they depend on.
    pub(super) fn renew_problems(&self) {
        self.client.refresh_problems();
        for uri in self.documents.uris() {
            self.events.check_problems(uri);
        }
    }

    /// Returns a document. Its file is looked up again if its workspace had no history so far.
    pub fn placed(&self, uri: &str) -> Option<Document> {
        let waits = |document: &Document| match &document.place {
            Some(place) => !place.handle.has_history(),
            None => true,
        };
        if self.documents.get(uri).is_some_and(|d| waits(&d)) {
            self.update_place(uri);
        }
        self.documents.get(uri)
    }

    /// Refreshes the lenses if the history has changed since the client last sent the text of this document. A client that
    /// reloads a file drops lenses of its old text, and some clients keep those that they got in between.
    fn refresh_after_reload(&self, uri: &str) {
        if self.history_cache.note_sent(uri) {
            self.client.refresh_lenses();
        }
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
        let needs_latest = matches!(lenses, Lenses::Session | Lenses::LatestTurn);
        let history = self.history_cache.of(uri, &document, &place, needs_latest);
        Ok(history.await?.map(|history| (document, history)))
    }

    /// Records that the user renamed a file or a directory in the editor. The history follows the file; the client
    /// opens its documents again.
    pub fn renamed(self: &Arc<Self>, old: &str, new: &str) {
        if self.agents.is_applying() {
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
        if self.agents.is_applying() {
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
}
