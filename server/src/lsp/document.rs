//! The open documents: their text as the client last told it, and which file of which workspace each is.
//! Owns the table; every change comes in the order in which the client sent it.

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
use super::text_format::TextFormat;
use super::workspace::WorkspaceHandle;

/// Above this a document has no lenses: nobody reads it by eye, and every key would cost.
pub const MOST_BYTES: usize = 10 << 20;

/// How a document came to what counts as saved.
#[derive(Clone, Debug)]
pub enum LoadResult {
    /// From the file, whoever wrote that.
    Read,
    /// There was no file, and nothing was saved since.
    Nothing,
    /// The client has saved it.
    Own,
    /// The file was seen to hold it before the client said that it saved. `own`: also what was before was its own.
    Written { before: Rope, own: bool },
    /// A change made it what the file held.
    Anew {
        before: Rope,
        own: bool,
        when: Instant,
    },
}

/// What comes so soon after each other was told at once.
const AT_ONCE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub struct Document {
    pub version: i32,
    /// Which text of all this is, whatever the client counts: a version may come twice.
    pub edition: u64,
    /// Shared with its clones: taking a snapshot copies nothing.
    pub text: Rope,
    /// The file that it is; None for an untitled one, or one outside every workspace.
    pub place: Option<DocumentPath>,
    /// What was opened or last saved.
    pub saved: Rope,
    /// What it goes on from instead, where a restore gave it that and it was not saved since.
    pub given: Option<ContentId>,
    /// It showed what a restore had given it, and shows its file again.
    pub taken_back: bool,
    /// Where `saved` comes from, as far as that says who wrote it.
    pub loaded: LoadResult,
    pub form: TextFormat,
    /// A change of it could not be read: what the client has is not known until it tells the whole text.
    pub lost: bool,
    /// It is so large that its text was not even taken; then it is lost, too.
    pub huge: bool,
}

/// Why a document is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftAlone {
    TooLarge,
    Binary,
}

/// A file of a workspace.
#[derive(Clone, Debug)]
pub struct DocumentPath {
    pub handle: Arc<WorkspaceHandle>,
    pub path: RelPath,
}

impl Document {
    pub fn opened(version: i32, text: &str) -> Self {
        let huge = text.len() > MOST_BYTES;
        let text = Rope::from_str(if huge { "" } else { text });
        Self {
            version,
            edition: next_edition(),
            saved: text.clone(),
            given: None,
            taken_back: false,
            loaded: LoadResult::Read,
            text,
            place: None,
            form: TextFormat::default(),
            lost: huge,
            huge,
        }
    }

    /// A file that is not open, as an editor would open it that shows plain newlines. None: it is no text.
    pub fn of_file(content: &[u8]) -> Option<Self> {
        let (form, text) = TextFormat::of_file(content)?;
        let mut document = Self::opened(0, &text);
        document.form = form;
        Some(document)
    }

    /// It is this file. `content`: what is on disk; an editor may open a document with what it kept from the
    /// last time.
    pub fn stands_at(&mut self, place: Option<DocumentPath>, content: Option<&[u8]>) {
        let no_file = place.is_some() && content.is_none() && self.saved.len_bytes() == 0;
        self.loaded = if no_file {
            LoadResult::Nothing
        } else {
            LoadResult::Read
        };
        self.place = place;
        self.given = None;
        if let Some(content) = content {
            self.form = TextFormat::between(content, &self.saved);
            if let Some(on_disk) = self.form.text_of(content)
                && self.saved != on_disk.as_str()
            {
                self.saved = Rope::from_str(&on_disk);
            }
        }
    }

    /// The text as the client has it.
    pub fn bytes(&self) -> Vec<u8> {
        bytes(&self.text)
    }

    /// The text as a save would write it; None where that cannot be known.
    pub fn as_saved(&self) -> Option<Vec<u8>> {
        self.form.in_file(&self.text).filter(|_| !self.lost)
    }

    /// It has text that is not saved, and that nothing can be merged with. `content`: what is on disk.
    pub fn is_unreadable(&self, content: Option<&[u8]>) -> bool {
        let shows = || content.is_some_and(|content| self.shows(content));
        self.lost || (!self.form.is_utf8() && self.text != self.saved && !shows())
    }

    /// Whether it shows just this content of its file.
    pub fn shows(&self, content: &[u8]) -> bool {
        let plain = || std::str::from_utf8(content).is_ok_and(|content| self.text == content);
        !self.lost && (self.as_saved().is_some_and(|text| text == content) || plain())
    }

    /// Of a file that is not there yet, and nothing was typed.
    pub fn is_nothing(&self) -> bool {
        matches!(self.loaded, LoadResult::Nothing) && self.text.len_bytes() == 0
    }

    /// As `shows`, but for what an editor adds or takes away at the end when it writes.
    pub fn nearly_shows(&self, content: &[u8]) -> bool {
        self.shows(content)
            || self
                .as_saved()
                .is_some_and(|text| text.trim_ascii_end() == content.trim_ascii_end())
    }

    /// As `shows`, of a content that is only named.
    pub fn is(&self, content: ContentId) -> bool {
        let is = |text: Option<Vec<u8>>| text.is_some_and(|text| ContentId::of(&text) == content);
        !self.lost && (is(self.as_saved()) || is(Some(self.bytes())))
    }

    /// What it goes on from: what was loaded or last saved, as it stood in the file, or what a restore gave it.
    pub fn base(&self) -> Option<ContentId> {
        if self.given.is_some() || matches!(self.loaded, LoadResult::Nothing) {
            return self.given;
        }
        Some(ContentId::of(&self.form.in_file(&self.saved)?))
    }

    /// The text of `base`; None where a restore gave it, there was no file, or the client had saved it itself.
    pub fn base_bytes(&self) -> Option<Vec<u8>> {
        let known = self.given.is_none() && !self.lost;
        let own = match &self.loaded {
            LoadResult::Own | LoadResult::Nothing => true,
            LoadResult::Written { own, .. } => *own,
            LoadResult::Anew { own, when, .. } => *own && when.elapsed() < AT_ONCE,
            LoadResult::Read => false,
        };
        (known && !own)
            .then(|| self.form.in_file(self.base_rope()))
            .flatten()
    }

    /// What it went on from when what is saved by now was typed.
    fn base_rope(&self) -> &Rope {
        match &self.loaded {
            LoadResult::Written { before, .. } => before,
            // Eglot tells what was typed last when it has saved that: then it was not read anew, but written
            LoadResult::Anew { before, when, .. } if when.elapsed() < AT_ONCE => before,
            _ => &self.saved,
        }
    }

    /// Its file holds what it holds, since the client wrote that and has not said so yet.
    pub fn written(&mut self, file: &[u8]) {
        let before = self.base_rope().clone();
        let own = matches!(self.loaded, LoadResult::Own | LoadResult::Nothing);
        let typed = self.text != self.saved;
        let loaded = self.loaded.clone();
        self.taken_back = false;
        self.saved(Some(file));
        self.loaded = if typed {
            LoadResult::Written { before, own }
        } else {
            loaded
        };
    }

    /// A file's content as the client would have it.
    pub fn text_of(&self, content: &[u8]) -> Option<String> {
        self.form.text_of(content).filter(|_| !self.lost)
    }

    pub fn is_too_large(&self) -> bool {
        self.huge || self.text.len_bytes() > MOST_BYTES
    }

    /// Why nothing is done with it.
    pub fn left_alone(&self) -> Option<LeftAlone> {
        if self.is_too_large() {
            return Some(LeftAlone::TooLarge);
        }
        let is_binary = self.text.chunks().any(|chunk| chunk.contains('\0'));
        is_binary.then_some(LeftAlone::Binary)
    }

    /// Whether it may be asked who wrote its lines.
    pub fn has_lines(&self) -> bool {
        !self.lost && !self.is_too_large()
    }

    /// Takes in what the client did, change by change: each counts from the text after the one before. Once
    /// one was not understood, the others count from a text that only the client knows, up to a whole one.
    pub fn change(&mut self, version: i32, changes: &[Change], encoding: Encoding) {
        for change in changes {
            if let Change::TextDocumentContentChangeWholeDocument(whole) = change {
                self.huge = whole.text.len() > MOST_BYTES;
                self.lost = self.huge;
                if self.huge {
                    self.text = Rope::new();
                }
            }
            if !self.lost {
                edit(&mut self.text, change, encoding);
            }
        }
        self.version = version;
        self.edition = next_edition();
    }

    /// If that is what its file holds now, the client has read it anew, and what is typed from here on goes on from
    /// that. `was_clean`: nothing was typed into it before.
    pub fn may_be_read_anew(&mut self, was_clean: bool) {
        let Some(place) = &self.place else { return };
        let file = place.handle.root().join(place.path.to_path());
        // most often a key was pressed: then the sizes tell, or the file would be read for every one
        let may_be = match self.form.size_of(&self.text) {
            Some(size) => std::fs::metadata(&file).is_ok_and(|meta| meta.len() == size as u64),
            None => was_clean,
        };
        if !may_be {
            return;
        }
        if let Some(file) = read(&file).filter(|file| self.shows(file)) {
            let before = self.base_rope().clone();
            let own = matches!(self.loaded, LoadResult::Own | LoadResult::Nothing);
            self.taken_back |= self.given.is_some();
            self.saved(Some(&file));
            self.loaded = LoadResult::Anew {
                before,
                own,
                when: Instant::now(),
            };
        }
    }

    /// The client changed it, and it could not be understood how. Whether that is news.
    pub fn lose(&mut self) -> bool {
        self.edition = next_edition();
        !std::mem::replace(&mut self.lost, true)
    }

    /// It holds what a restore made of it.
    pub fn goes_on_from(&mut self, base: Option<ContentId>) {
        self.given = base;
    }

    /// `file`: what was written. It tells the form, where it is the text at all.
    pub fn saved(&mut self, file: Option<&[u8]>) {
        if self.lost {
            return;
        }
        self.saved = self.text.clone();
        self.given = None;
        self.loaded = LoadResult::Read;
        if let Some(file) = file {
            let form = TextFormat::between(file, &self.text);
            if form.in_file(&self.text).is_some_and(|text| text == file) {
                self.form = form;
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

/// Where a path leads: through every link, as far as it exists.
pub fn real(path: &Path) -> Option<PathBuf> {
    let mut above = path.ancestors();
    let (there, real) = above.find_map(|dir| Some((dir, dir.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(there).ok()?;
    // joined with nothing, a path would end in a slash
    Some(real.components().chain(rest.components()).collect())
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

impl PartialEq for DocumentPath {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle, &other.handle) && self.path == other.path
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

    pub fn uris(&self) -> Vec<String> {
        self.0.iter().map(|entry| entry.key().clone()).collect()
    }

    /// Another document of the same file than the one with this URI: under another name, which leads to it. One with
    /// text that is not saved, if there is one.
    pub fn other_at(&self, place: &DocumentPath, uri: &str) -> Option<String> {
        let same = |document: &Document| document.place.as_ref() == Some(place);
        let others = self.0.iter().filter(|e| e.key() != uri && same(e));
        let others = others.map(|e| (e.text != e.saved, e.key().clone()));
        others.max().map(|(_, uri)| uri)
    }

    /// Whether another document of the same file has text that is not saved.
    pub fn dirty_at(&self, place: &DocumentPath, uri: &str) -> bool {
        let other = self.other_at(place, uri);
        let other = other.and_then(|other| self.get(&other));
        other.is_some_and(|other| other.text != other.saved)
    }

    /// Whether any is a file of this workspace.
    pub fn any_of(&self, root: &Path) -> bool {
        let at = |place: &DocumentPath| place.handle.root() == root;
        self.0
            .iter()
            .any(|entry| entry.place.as_ref().is_some_and(at))
    }

    /// Snapshots of all that are files of this workspace.
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
