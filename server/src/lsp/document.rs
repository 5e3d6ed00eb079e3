//! The open documents: their text as the client last told it, and which file of which workspace each is.
//! Owns the table; every change comes in the order in which the client sent it.

use std::path::Path;
use std::sync::Arc;

use backstitch_core::model::{ContentId, RelPath};
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
    /// What was opened or last saved.
    pub saved: Rope,
    pub form: Form,
}

/// How a document stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Form {
    /// As it is, in UTF-8.
    #[default]
    Plain,
    /// After a byte order mark, which clients do not tell.
    Marked,
    /// In another encoding, or not as text: it cannot be known what a save would write.
    Foreign,
}

const MARK: &[u8] = b"\xef\xbb\xbf";

/// A file of a workspace.
#[derive(Clone, Debug)]
pub struct Place {
    pub room: Arc<Room>,
    pub path: RelPath,
}

impl Document {
    /// `file`: what is on disk. An editor may open a document with what it kept from the last time.
    pub fn opened(version: i32, text: &str, place: Option<Place>, file: Option<Vec<u8>>) -> Self {
        let text = Rope::from_str(text);
        let mut document = Self {
            version,
            saved: text.clone(),
            text,
            place,
            form: Form::Plain,
        };
        if let Some(file) = file {
            let plain = file.strip_prefix(MARK);
            document.form = match (std::str::from_utf8(&file), plain) {
                (Err(_), _) => Form::Foreign,
                (Ok(_), Some(_)) if document.text.get_char(0) != Some('\u{feff}') => Form::Marked,
                (Ok(_), _) => Form::Plain,
            };
            let plain = plain.filter(|_| document.form == Form::Marked);
            if let Ok(on_disk) = std::str::from_utf8(plain.unwrap_or(&file))
                && document.text != on_disk
            {
                document.saved = Rope::from_str(on_disk);
            }
        }
        document
    }

    /// The text as the client has it.
    pub fn bytes(&self) -> Vec<u8> {
        bytes(&self.text)
    }

    /// The text as a save would write it; None where that cannot be known.
    pub fn as_saved(&self) -> Option<Vec<u8>> {
        self.in_file(&self.text)
    }

    /// What was loaded or last saved, as it stood in the file.
    pub fn base(&self) -> Option<ContentId> {
        Some(ContentId::of(&self.in_file(&self.saved)?))
    }

    fn in_file(&self, text: &Rope) -> Option<Vec<u8>> {
        match self.form {
            Form::Plain => Some(bytes(text)),
            Form::Marked => Some([MARK, &bytes(text)].concat()),
            Form::Foreign => None,
        }
    }

    /// A file's content as the client would have it.
    pub fn text_of(&self, content: &[u8]) -> Option<String> {
        let plain = match self.form {
            Form::Plain => content,
            Form::Marked => content.strip_prefix(MARK).unwrap_or(content),
            Form::Foreign => return None,
        };
        String::from_utf8(plain.to_vec()).ok()
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
    }

    pub fn saved(&mut self) {
        self.saved = self.text.clone();
    }
}

fn bytes(text: &Rope) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len_bytes());
    for chunk in text.chunks() {
        bytes.extend_from_slice(chunk.as_bytes());
    }
    bytes
}

/// A file's content; None where it is none, or too large to be cared for.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    let meta = std::fs::metadata(path).ok()?;
    let small = meta.is_file() && meta.len() <= MOST_BYTES as u64;
    small.then(|| std::fs::read(path).ok())?
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
}
