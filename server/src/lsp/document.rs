//! The open documents: their text as the client last told it, and which file of which workspace each is.
//! Owns the table; every change comes in the order in which the client sent it.

use std::sync::Arc;

use backstitch_core::model::RelPath;
use dashmap::DashMap;
use dashmap::mapref::one::Ref;
use ropey::Rope;
use tower_lsp::gen_lsp_types::TextDocumentContentChangeEvent as Change;

use super::position::Encoding;
use super::room::Room;

/// Above this a document has no lenses: nobody reads it by eye, and every key would cost.
pub const MOST_BYTES: usize = 10 << 20;

#[derive(Clone, Debug)]
pub struct Document {
    pub version: i32,
    /// Shared with its clones: taking a snapshot copies nothing.
    pub text: Rope,
    /// The file that it is; None for an untitled one, or one outside every workspace.
    pub place: Option<Place>,
    /// Whether it differs from what was opened or last saved.
    pub dirty: bool,
    /// What was opened or last saved.
    pub saved: Rope,
}

/// A file of a workspace.
#[derive(Clone, Debug)]
pub struct Place {
    pub room: Arc<Room>,
    pub path: RelPath,
}

impl Document {
    pub fn opened(version: i32, text: &str, place: Option<Place>) -> Self {
        let text = Rope::from_str(text);
        Self {
            version,
            saved: text.clone(),
            text,
            place,
            dirty: false,
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.text.len_bytes());
        for chunk in self.text.chunks() {
            bytes.extend_from_slice(chunk.as_bytes());
        }
        bytes
    }

    pub fn is_too_large(&self) -> bool {
        self.text.len_bytes() > MOST_BYTES
    }

    /// Takes in what the client did, change by change: each counts from the text after the one before.
    pub fn change(&mut self, version: i32, changes: &[Change], encoding: Encoding) {
        for change in changes {
            edit(&mut self.text, change, encoding);
        }
        self.version = version;
        self.dirty = true;
    }

    pub fn saved(&mut self) {
        self.saved = self.text.clone();
        self.dirty = false;
    }
}

/// One change. The whole text where no range is told.
pub fn edit(text: &mut Rope, change: &Change, encoding: Encoding) {
    match change {
        Change::TextDocumentContentChangePartial(part) => {
            let range = encoding.chars(text, part.range);
            let at = range.start;
            text.remove(range);
            text.insert(at, &part.text);
        }
        Change::TextDocumentContentChangeWholeDocument(whole) => {
            *text = Rope::from_str(&whole.text);
        }
    }
}

/// The documents by their URI, as the client writes it.
#[derive(Debug, Default)]
pub struct Documents(DashMap<String, Document>);

impl Documents {
    pub fn open(&self, uri: &str, document: Document) {
        self.0.insert(uri.to_owned(), document);
    }

    pub fn close(&self, uri: &str) -> Option<Document> {
        self.0.remove(uri).map(|(_, document)| document)
    }

    /// A snapshot; it does not change.
    pub fn get(&self, uri: &str) -> Option<Document> {
        self.0.get(uri).map(|found: Ref<_, _>| found.clone())
    }

    pub fn with<T>(&self, uri: &str, f: impl FnOnce(&mut Document) -> T) -> Option<T> {
        self.0.get_mut(uri).map(|mut found| f(&mut found))
    }

    /// Snapshots of all that are files of this workspace.
    pub fn of(&self, room: &Room) -> Vec<(String, Document)> {
        let all = self.0.iter();
        let mut found: Vec<(String, Document)> = all
            .filter(|entry| {
                entry
                    .place
                    .as_ref()
                    .is_some_and(|p| p.room.root() == room.root())
            })
            .map(|entry| (entry.key().clone(), entry.value().clone()))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
