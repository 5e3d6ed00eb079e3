//! The open documents: their text as the client last sent it, and their files. Owns the table; changes are applied in
//! the order in which the client sent them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use backstitch_core::model::{ContentId, RelPath};
use dashmap::DashMap;
use dashmap::mapref::one::Ref;
use ropey::Rope;
use tower_lsp::gen_lsp_types::TextDocumentContentChangeEvent as Change;

use super::position::Encoding;
use super::text_format::{TextFormat, is_empty_line};
use crate::host::workspace::WorkspaceHandle;

/// Maximum size of a document with lenses. A larger one is not read by eye, and each key press would be expensive.
pub const MAX_BYTES: usize = 10 << 20;

/// Origin of the text that counts as saved.
#[derive(Clone, Debug)]
pub enum LoadResult {
    /// Read from the file, whoever wrote it.
    FromFile,
    /// There was no file, and nothing was saved since.
    NoFile,
    /// The client saved it.
    SavedByClient,
    /// The file already had the text before the client sent `didSave`. `own`: the text before was the client's own,
    /// too.
    WrittenBeforeSave { before: Rope, own: bool },
    /// A change made it equal to its file.
    Reloaded {
        before: Rope,
        own: bool,
        when: Instant,
    },
}

/// Changes within this time belong together.
const SAVE_WINDOW: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub struct Document {
    pub version: i32,
    /// Number of this text, unique across documents. The client may send the same version twice.
    pub edition: u64,
    /// Time at which the client last sent its text, in microseconds since 1970.
    pub sent: i64,
    /// Shared with its clones, so that a snapshot copies nothing.
    pub text: Rope,
    /// Its file; None for an untitled document, or one outside every workspace.
    pub place: Option<DocumentPath>,
    /// The text that was opened or last saved.
    pub saved: Rope,
    /// Content that a restore gave it, if it was not saved since. It replaces `saved` as the base of typed text.
    pub restored_base: Option<ContentId>,
    /// It showed a restored text, and shows its file again.
    pub shows_file_again: bool,
    /// Origin of `saved`, which tells who wrote it.
    pub loaded: LoadResult,
    pub format: TextFormat,
    /// A change could not be read, so the client's text is unknown until the client sends the whole text.
    pub out_of_sync: bool,
    /// It is too large to be kept at all; `out_of_sync` is set, too.
    pub huge: bool,
    /// Edits of the server that the client was asked to apply.
    pub expected: Vec<ExpectedEdit>,
}

/// An edit of the server that the client may not have sent back yet.
#[derive(Clone, Debug)]
pub struct ExpectedEdit {
    pub id: u64,
    /// Text of the document right after the edit. The client may send it together with keys that were typed since.
    pub target: Rope,
    /// Content on disk that this text includes. It becomes the base when the edit arrives.
    pub disk: Option<Arc<[u8]>>,
    pub has_arrived: bool,
}

/// Maximum number of edits that a document waits for.
const MAX_EXPECTED: usize = 8;

/// A file of a workspace.
#[derive(Clone, Debug)]
pub struct DocumentPath {
    pub handle: Arc<WorkspaceHandle>,
    pub path: RelPath,
}

impl Document {
    pub fn opened(version: i32, text: &str) -> Self {
        let huge = text.len() > MAX_BYTES;
        let text = Rope::from_str(if huge { "" } else { text });
        Self {
            version,
            edition: next_edition(),
            sent: backstitch_control::now(),
            saved: text.clone(),
            restored_base: None,
            shows_file_again: false,
            loaded: LoadResult::FromFile,
            text,
            place: None,
            format: TextFormat::default(),
            out_of_sync: huge,
            huge,
            expected: Vec::new(),
        }
    }

    /// Opens a file as an editor with plain newlines would; None if it is not text.
    pub fn of_file(content: &[u8]) -> Option<Self> {
        let (format, text) = TextFormat::of_file(content)?;
        let mut document = Self::opened(0, &text);
        document.format = format;
        Some(document)
    }

    /// Sets the document's file. `content`: the file's content on disk, since an editor may open a document with an
    /// unsaved text from its last run.
    pub fn set_path(&mut self, place: Option<DocumentPath>, content: Option<&[u8]>) {
        let no_file = place.is_some() && content.is_none() && self.saved.len_bytes() == 0;
        self.loaded = if no_file {
            LoadResult::NoFile
        } else {
            LoadResult::FromFile
        };
        self.place = place;
        self.restored_base = None;
        if let Some(content) = content {
            self.format = TextFormat::between(content, &self.saved);
            if let Some(on_disk) = self.format.text_of(content)
                && self.saved != on_disk.as_str()
            {
                self.saved = Rope::from_str(&on_disk);
            }
        }
    }

    /// Returns the text as the client has it.
    pub fn bytes(&self) -> Vec<u8> {
        bytes(&self.text)
    }

    /// Returns the text as a save would write it; None if that is not known.
    pub fn as_saved(&self) -> Option<Vec<u8>> {
        self.format
            .in_file(&self.text)
            .filter(|_| !self.out_of_sync)
    }

    /// True if it has unsaved text that cannot be merged. `content`: the file's content on disk.
    pub fn is_unreadable(&self, content: Option<&[u8]>) -> bool {
        let shows = || content.is_some_and(|content| self.shows(content));
        self.out_of_sync || (!self.format.is_utf8() && self.text != self.saved && !shows())
    }

    /// True if it shows exactly this content of its file.
    pub fn shows(&self, content: &[u8]) -> bool {
        let plain = || std::str::from_utf8(content).is_ok_and(|content| self.text == content);
        let plain = || plain() || (content.is_empty() && is_empty_line(&self.text));
        !self.out_of_sync && (self.as_saved().is_some_and(|text| text == content) || plain())
    }

    /// True for a file that does not exist yet, if nothing was typed.
    pub fn is_nothing(&self) -> bool {
        matches!(self.loaded, LoadResult::NoFile) && self.text.len_bytes() == 0
    }

    /// Like `shows`, but ignores whitespace that an editor adds or removes at the end when it writes.
    pub fn nearly_shows(&self, content: &[u8]) -> bool {
        self.shows(content)
            || self
                .as_saved()
                .is_some_and(|text| text.trim_ascii_end() == content.trim_ascii_end())
    }

    /// Like `shows`, for a content that is known by its id only.
    pub fn is(&self, content: ContentId) -> bool {
        let is = |text: Option<Vec<u8>>| text.is_some_and(|text| ContentId::of(&text) == content);
        !self.out_of_sync && (is(self.as_saved()) || is(Some(self.bytes())))
    }

    /// Returns the base of typed text: the loaded or last saved content as in the file, or a restored content.
    pub fn base(&self) -> Option<ContentId> {
        if self.restored_base.is_some() || matches!(self.loaded, LoadResult::NoFile) {
            return self.restored_base;
        }
        Some(ContentId::of(&self.format.in_file(&self.saved)?))
    }

    /// Returns the text of `base`; None if it is restored, there was no file, or the client saved it itself.
    pub fn base_bytes(&self) -> Option<Vec<u8>> {
        let known = self.restored_base.is_none() && !self.out_of_sync;
        let own = match &self.loaded {
            LoadResult::SavedByClient | LoadResult::NoFile => true,
            LoadResult::WrittenBeforeSave { own, .. } => *own,
            LoadResult::Reloaded { own, when, .. } => *own && when.elapsed() < SAVE_WINDOW,
            LoadResult::FromFile => false,
        };
        (known && !own)
            .then(|| self.format.in_file(self.base_rope()))
            .flatten()
    }

    /// Returns the base of the text that is saved by now.
    fn base_rope(&self) -> &Rope {
        match &self.loaded {
            LoadResult::WrittenBeforeSave { before, .. } => before,
            // Eglot sends the last typed text when it has saved it: then the client wrote the file and did not reload
            // it
            LoadResult::Reloaded { before, when, .. } if when.elapsed() < SAVE_WINDOW => before,
            _ => &self.saved,
        }
    }

    /// Notes that its file has its text, because the client wrote it and has not sent `didSave` yet.
    pub fn note_written(&mut self, file: &[u8]) {
        let before = self.base_rope().clone();
        let own = matches!(self.loaded, LoadResult::SavedByClient | LoadResult::NoFile);
        let typed = self.text != self.saved;
        let loaded = self.loaded.clone();
        self.shows_file_again = false;
        self.saved(Some(file));
        self.loaded = if typed {
            LoadResult::WrittenBeforeSave { before, own }
        } else {
            loaded
        };
    }

    /// Converts a file's content to the client's text.
    pub fn text_of(&self, content: &[u8]) -> Option<String> {
        self.format.text_of(content).filter(|_| !self.out_of_sync)
    }

    pub fn is_too_large(&self) -> bool {
        self.huge || self.text.len_bytes() > MAX_BYTES
    }

    /// True if its lines can be blamed.
    pub fn has_lines(&self) -> bool {
        !self.out_of_sync && !self.is_too_large()
    }

    /// Applies the client's changes one by one; the positions of each refer to the text after the previous one. After
    /// a change that cannot be read, all are skipped up to one with the whole text.
    pub fn change(&mut self, version: i32, changes: &[Change], encoding: Encoding) {
        for change in changes {
            if let Change::TextDocumentContentChangeWholeDocument(whole) = change {
                self.huge = whole.text.len() > MAX_BYTES;
                self.out_of_sync = self.huge;
                if self.huge {
                    self.text = Rope::new();
                }
            }
            if !self.out_of_sync {
                edit(&mut self.text, change, encoding);
                self.note_arrivals();
            }
        }
        self.version = version;
        self.edition = next_edition();
        self.sent = backstitch_control::now();
    }

    /// Registers an edit before the client is asked to apply it, and returns its id.
    pub fn expect_edit(&mut self, target: Rope, disk: Option<Arc<[u8]>>) -> u64 {
        let id = next_edition();
        if self.expected.len() == MAX_EXPECTED {
            self.expected.remove(0);
        }
        self.expected.push(ExpectedEdit {
            id,
            target,
            disk,
            has_arrived: false,
        });
        id
    }

    /// Notes the edits whose text the document has right now.
    fn note_arrivals(&mut self) {
        let mut disk = None;
        for edit in &mut self.expected {
            if !edit.has_arrived && edit.target == self.text {
                edit.has_arrived = true;
                disk.clone_from(&edit.disk);
            }
        }
        if let Some(disk) = disk {
            self.rebase(&disk);
        }
    }

    /// True if the client has applied this edit.
    pub fn has_arrived(&self, id: u64) -> bool {
        self.expected
            .iter()
            .any(|edit| edit.id == id && edit.has_arrived)
    }

    /// Forgets an edit.
    pub fn forget_edit(&mut self, id: u64) {
        self.expected.retain(|edit| edit.id != id);
    }

    /// Detects a reload: if the text equals the file now, the client has read the file again, and the file is the new
    /// base. `was_clean`: nothing was typed into it before.
    pub fn detect_reload(&mut self, was_clean: bool) {
        let Some(place) = &self.place else { return };
        let file = place.handle.root().join(place.path.to_path());
        // usually a key was pressed: comparing sizes first avoids reading the file for each key
        let is_empty = is_empty_line(&self.text);
        let may_be = match self.format.size_of(&self.text) {
            Some(size) => std::fs::metadata(&file)
                .is_ok_and(|meta| meta.len() == size as u64 || (is_empty && meta.len() == 0)),
            None => was_clean,
        };
        if !may_be {
            return;
        }
        if let Some(file) = read(&file).filter(|file| self.shows(file)) {
            let before = self.base_rope().clone();
            let own = matches!(self.loaded, LoadResult::SavedByClient | LoadResult::NoFile);
            self.shows_file_again |= self.restored_base.is_some();
            self.saved(Some(&file));
            self.loaded = LoadResult::Reloaded {
                before,
                own,
                when: Instant::now(),
            };
        }
    }

    /// Marks the text as unknown, since a change could not be read. Returns true if it was known before.
    pub fn mark_out_of_sync(&mut self) -> bool {
        self.edition = next_edition();
        !std::mem::replace(&mut self.out_of_sync, true)
    }

    /// Sets the base to a restored content.
    pub fn set_base(&mut self, base: Option<ContentId>) {
        self.restored_base = base;
    }

    /// Sets the content on disk as the base of the text, which has its changes.
    pub fn rebase(&mut self, disk: &[u8]) {
        if let Some(on_disk) = self.text_of(disk) {
            self.saved = Rope::from_str(&on_disk);
            self.restored_base = None;
            self.loaded = LoadResult::FromFile;
            self.edition = next_edition();
        }
    }

    /// Marks the text as saved. `file`: the written content, from which the format is read if it is this text.
    pub fn saved(&mut self, file: Option<&[u8]>) {
        if self.out_of_sync {
            return;
        }
        self.saved = self.text.clone();
        self.restored_base = None;
        self.loaded = LoadResult::FromFile;
        if let Some(file) = file {
            let format = TextFormat::between(file, &self.text);
            if format.in_file(&self.text).is_some_and(|text| text == file) {
                self.format = format;
            }
        }
    }
}

fn next_edition() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

fn bytes(text: &Rope) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len_bytes());
    for chunk in text.chunks() {
        bytes.extend_from_slice(chunk.as_bytes());
    }
    bytes
}

/// Resolves the links of a path, as far as it exists.
pub fn resolve_links(path: &Path) -> Option<PathBuf> {
    let mut above = path.ancestors();
    let (there, real) = above.find_map(|dir| Some((dir, dir.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(there).ok()?;
    // joined with an empty rest, a path would end in a slash
    Some(real.components().chain(rest.components()).collect())
}

/// Reads a file; None if there is none, or if it is too large.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    let meta = std::fs::metadata(path).ok()?;
    let small = meta.is_file() && meta.len() <= MAX_BYTES as u64;
    small.then(|| std::fs::read(path).ok())?
}

/// Applies one change; without a range it is the whole text.
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

impl PartialEq for DocumentPath {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle, &other.handle) && self.path == other.path
    }
}

/// The documents by their URI, as the client spells it.
#[derive(Debug, Default)]
pub struct Documents(DashMap<String, Document>);

impl Documents {
    pub fn open(&self, uri: &str, document: Document) {
        self.0.insert(uri.to_owned(), document);
    }

    pub fn close(&self, uri: &str) -> Option<Document> {
        self.0.remove(uri).map(|(_, document)| document)
    }

    /// Returns a snapshot, which does not change.
    pub fn get(&self, uri: &str) -> Option<Document> {
        self.0.get(uri).map(|found: Ref<_, _>| found.clone())
    }

    pub fn with<T>(&self, uri: &str, f: impl FnOnce(&mut Document) -> T) -> Option<T> {
        self.0.get_mut(uri).map(|mut found| f(&mut found))
    }

    pub fn uris(&self) -> Vec<String> {
        self.0.iter().map(|entry| entry.key().clone()).collect()
    }

    /// Returns another document of the same file, opened under another name; one with unsaved text if there is one.
    pub fn other_at(&self, place: &DocumentPath, uri: &str) -> Option<String> {
        let same = |document: &Document| document.place.as_ref() == Some(place);
        let others = self.0.iter().filter(|e| e.key() != uri && same(e));
        let others = others.map(|e| (e.text != e.saved, e.key().clone()));
        others.max().map(|(_, uri)| uri)
    }

    /// True if another document of the same file has unsaved text.
    pub fn dirty_at(&self, place: &DocumentPath, uri: &str) -> bool {
        let other = self.other_at(place, uri);
        let other = other.and_then(|other| self.get(&other));
        other.is_some_and(|other| other.text != other.saved)
    }

    /// True if any document is a file of this workspace.
    pub fn any_of(&self, root: &Path) -> bool {
        let at = |place: &DocumentPath| place.handle.root() == root;
        self.0
            .iter()
            .any(|entry| entry.place.as_ref().is_some_and(at))
    }

    /// Returns snapshots of all documents of this workspace.
    pub fn of(&self, handle: &WorkspaceHandle) -> Vec<(String, Document)> {
        let all = self.0.iter();
        let mut found: Vec<(String, Document)> = all
            .filter(|entry| {
                entry
                    .place
                    .as_ref()
                    .is_some_and(|p| p.handle.root() == handle.root())
            })
            .map(|entry| (entry.key().clone(), entry.value().clone()))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }
}
