//! Splits an agent's edit: open documents are the client's part, the rest is done on disk, in the requested order.
//! Owns both parts, and tells the edit from text that was typed meanwhile; `editor_agents` records it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use backstitch_core::merge::{Favor, merge3};
use backstitch_core::model::RelPath;
use backstitch_core::vcs;
use backstitch_protocol::FailureKind;
use ropey::Rope;
use tower_lsp::gen_lsp_types::{
    DocumentChange, Edit, TextDocumentContentChangeEvent as Change,
    TextDocumentContentChangePartial, TextEdit, WorkspaceEdit,
};

use crate::host::workspace::WorkspaceHandle;
use crate::lsp::documents::document::{self, Document, DocumentPath, Documents, edit};
use crate::lsp::documents::position::Encoding;
use crate::lsp::documents::uri;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::messages::refusal::agent as messages;
use crate::lsp::session::ServerState;

/// An agent's edit, checked and ready to be applied.
#[derive(Debug, Default)]
pub struct EditParts {
    /// Old and new state of each open document, by URI.
    pub documents: BTreeMap<String, (Document, Document)>,
    /// The client's part, if there is one.
    pub client: Option<WorkspaceEdit>,
    /// The part on disk.
    disk: Vec<EditTarget>,
    /// The files that change on disk by either part, by the root of their workspace.
    pub files: BTreeMap<PathBuf, WorkspaceFiles>,
    /// Texts of files after the edits so far.
    texts: BTreeMap<PathBuf, Option<Document>>,
    /// Original path of each file that the edits so far have moved.
    origins: BTreeMap<PathBuf, PathBuf>,
    /// URIs of the client's part.
    client_uris: BTreeSet<String>,
}

/// A workspace, and the texts of its files after an edit.
pub type FilesAfter = (Arc<WorkspaceHandle>, BTreeMap<PathBuf, Option<String>>);

/// The files of one workspace.
#[derive(Debug)]
pub struct WorkspaceFiles {
    pub handle: Arc<WorkspaceHandle>,
    pub named: BTreeSet<PathBuf>,
    /// Named files whose content is overwritten or deleted.
    pub overwritten: BTreeSet<RelPath>,
    /// Files that move with their directory, and their targets.
    pub moved: BTreeMap<RelPath, DocumentPath>,
}

#[derive(Debug)]
enum EditTarget {
    Write(PathBuf, Vec<u8>),
    Rename(PathBuf, PathBuf),
    Delete(PathBuf),
    /// Removed last, and only if empty: files that were created meanwhile must stay.
    DeleteDir(PathBuf),
}

impl EditParts {
    /// Returns the texts of the files after the edit, by the root of their workspace. None: the file is deleted.
    pub fn after(&self) -> BTreeMap<PathBuf, FilesAfter> {
        let mut all: BTreeMap<PathBuf, FilesAfter> = BTreeMap::new();
        let mut add = |handle: &Arc<WorkspaceHandle>, path: PathBuf, text: Option<String>| {
            let (_, files) = all
                .entry(handle.root().to_path_buf())
                .or_insert_with(|| (handle.clone(), BTreeMap::new()));
            files.insert(path, text);
        };
        for (_, after) in self.documents.values() {
            if let Some(place) = &after.place {
                let path = place.handle.root().join(place.path.to_path());
                add(&place.handle, path, Some(after.text.to_string()));
            }
        }
        for files in self.files.values() {
            for path in &files.named {
                let text = match self.texts.get(path) {
                    Some(text) => text.as_ref().map(|document| document.text.to_string()),
                    None => std::fs::read_to_string(path).ok(),
                };
                add(&files.handle, path.clone(), text);
            }
        }
        all
    }

    pub fn of(server: &ServerState, asked: &WorkspaceEdit) -> Reply<Self> {
        let mut parts = Self::default();
        let mut client = asked.clone();
        if let Some(changes) = &mut client.changes {
            let mut kept = changes.clone();
            kept.clear();
            for (uri, edits) in changes.drain() {
                if parts.edit(server, uri.as_ref(), edits.clone())? {
                    kept.insert(uri, edits);
                }
            }
            *changes = kept;
        }
        if let Some(changes) = &mut client.document_changes {
            let mut kept = Vec::new();
            for change in std::mem::take(changes) {
                if parts.change(server, &change)? {
                    kept.push(change);
                }
            }
            *changes = kept;
        }
        let edits = client.changes.as_ref().map_or(0, HashMap::len);
        let changes = client.document_changes.as_ref().map_or(0, Vec::len);
        parts.client = (edits + changes > 0).then_some(client);
        Ok(parts)
    }

    /// Adds a change. Returns true if it is the client's part.
    fn change(&mut self, server: &ServerState, change: &DocumentChange) -> Reply<bool> {
        let flag = |flag: Option<bool>| flag.unwrap_or_default();
        match change {
            DocumentChange::TextDocumentEdit(change) => {
                let edits = change.edits.iter().map(plain).collect::<Reply<_>>()?;
                let uri = &change.text_document.text_document_identifier.uri;
                self.edit(server, uri.as_ref(), edits)
            }
            DocumentChange::CreateFile(file) => {
                let options = file.options;
                let replaces = options.as_ref().is_some_and(|o| flag(o.overwrite));
                let ignores = options.as_ref().is_some_and(|o| flag(o.ignore_if_exists));
                self.create(server, file.uri.as_ref(), replaces, ignores)
            }
            DocumentChange::RenameFile(file) => {
                let options = file.options;
                let replaces = options.as_ref().is_some_and(|o| flag(o.overwrite));
                let ignores = options.as_ref().is_some_and(|o| flag(o.ignore_if_exists));
                let (old, new) = (file.old_uri.as_ref(), file.new_uri.as_ref());
                self.rename(server, (old, new), replaces, ignores)
            }
            DocumentChange::DeleteFile(file) => {
                let options = file.options;
                let deep = options.as_ref().is_some_and(|o| flag(o.recursive));
                let ignores = options
                    .as_ref()
                    .is_some_and(|o| flag(o.ignore_if_not_exists));
                self.delete(server, file.uri.as_ref(), deep, ignores)
            }
        }
    }

    fn edit(&mut self, server: &ServerState, uri: &str, edits: Vec<TextEdit>) -> Reply<bool> {
        let encoding = server.client.features().encoding;
        if !self.documents.contains_key(uri)
            && let Some(open) = server.documents.get(uri)
        {
            if open.place.is_some() && open.as_saved().is_none() {
                return Err(
                    Failure::new(FailureKind::Refused, messages::out_of_step(uri))
                        .hint(messages::OUT_OF_STEP_HINT),
                );
            }
            self.documents.insert(uri.to_owned(), (open.clone(), open));
        }
        if let Some((_, after)) = self.documents.get_mut(uri) {
            apply(after, edits, encoding);
            return Ok(true);
        }
        let path = self.file(server, uri)?;
        let Some(mut text) = self.text(&path)? else {
            return Err(
                Failure::usage(messages::nothing_to_edit(uri)).hint(messages::NOTHING_TO_EDIT_HINT)
            );
        };
        apply(&mut text, edits, encoding);
        self.write(server, path, text)?;
        Ok(false)
    }

    fn create(
        &mut self,
        server: &ServerState,
        uri: &str,
        replaces: bool,
        ignores: bool,
    ) -> Reply<bool> {
        let path = self.file(server, uri)?;
        if self.is_clients(&server.documents, uri) {
            no_directory(&path, uri)?;
            self.mark_overwritten(server, &path)?;
            return Ok(true);
        }
        if self.exists(&path) && !replaces {
            return if ignores { Ok(false) } else { Err(exists(uri)) };
        }
        no_directory(&path, uri)?;
        self.write(server, path, Document::opened(0, ""))?;
        Ok(false)
    }

    fn rename(
        &mut self,
        server: &ServerState,
        (old, new): (&str, &str),
        replaces: bool,
        ignores: bool,
    ) -> Reply<bool> {
        let (from, to) = (self.file(server, old)?, self.file(server, new)?);
        if !self.exists(&from) {
            return Err(missing(old));
        }
        let by_client =
            self.is_clients(&server.documents, old) || self.is_clients(&server.documents, new);
        if self.exists(&to) && !replaces && !by_client {
            return if ignores { Ok(false) } else { Err(exists(new)) };
        }
        no_directory(&to, new)?;
        self.mark_overwritten(server, &to)?;
        self.move_below(server, &from, &to)?;
        let origin = self.origins.remove(&from).unwrap_or_else(|| from.clone());
        self.origins.insert(to.clone(), origin);
        if by_client {
            let moved = self.documents.remove(old).map(|(_, after)| after);
            if let Some(moved) = moved.or_else(|| server.documents.get(old)) {
                self.documents
                    .insert(new.to_owned(), (moved.clone(), moved));
            }
            self.client_uris.insert(new.to_owned());
            return Ok(true);
        }
        let text = self.texts.remove(&from);
        let text = text.or_else(|| Some(read(&from).ok().flatten()));
        if let Some(text) = text {
            self.texts.insert(to.clone(), text);
        }
        self.texts.insert(from.clone(), None);
        self.disk.push(EditTarget::Rename(from, to));
        Ok(false)
    }

    fn delete(
        &mut self,
        server: &ServerState,
        uri: &str,
        deep: bool,
        ignores: bool,
    ) -> Reply<bool> {
        let path = self.file(server, uri)?;
        if !self.exists(&path) {
            return if ignores {
                Ok(false)
            } else {
                Err(missing(uri))
            };
        }
        let mut inside = std::fs::read_dir(&path).into_iter().flatten();
        if !deep && inside.next().is_some() {
            return Err(Failure::usage(messages::not_empty(uri)).hint(messages::NOT_EMPTY_HINT));
        }
        let mut work = Vec::new();
        self.mark_below_deleted(server, &path, &mut work)?;
        if self.is_clients(&server.documents, uri) {
            self.documents.remove(uri);
            return Ok(true);
        }
        self.texts.insert(path, None);
        self.disk.append(&mut work);
        Ok(false)
    }

    /// True if only the client can do it: a document of it is open, or an earlier change of the client's part names
    /// it.
    fn is_clients(&self, documents: &Documents, uri: &str) -> bool {
        let below = format!("{}/", uri.trim_end_matches('/'));
        let open = documents.uris();
        self.client_uris.contains(uri)
            || open
                .iter()
                .any(|open| open == uri || open.starts_with(&below))
    }

    /// Returns the file of a URI, and adds it to the changed files. Nothing outside the open workspaces is written,
    /// and nothing through a link.
    fn file(&mut self, server: &ServerState, uri: &str) -> Reply<PathBuf> {
        let path = uri::to_path(uri).ok_or_else(|| Failure::usage(messages::no_file(uri)))?;
        if vcs::dir_above(&path).is_some() {
            return Err(
                Failure::new(FailureKind::Refused, messages::version_control(uri))
                    .hint(messages::VERSION_CONTROL_HINT),
            );
        }
        let (Some(place), Some(real)) = (server.place(&path), document::resolve_links(&path))
        else {
            return Err(Failure::usage(messages::outside(uri)).hint(messages::OUTSIDE_HINT));
        };
        if path.is_symlink() {
            return Err(Failure::usage(messages::link(uri)).hint(messages::LINK_HINT));
        }
        self.name(&place.handle, real.clone());
        Ok(real)
    }

    fn files(&mut self, handle: &Arc<WorkspaceHandle>) -> &mut WorkspaceFiles {
        let root = handle.root().to_path_buf();
        self.files.entry(root).or_insert_with(|| WorkspaceFiles {
            handle: handle.clone(),
            named: BTreeSet::new(),
            overwritten: BTreeSet::new(),
            moved: BTreeMap::new(),
        })
    }

    pub fn name(&mut self, handle: &Arc<WorkspaceHandle>, path: PathBuf) {
        self.files(handle).named.insert(path);
    }

    /// Notes that the content at a path is overwritten or deleted.
    fn mark_overwritten(&mut self, server: &ServerState, path: &Path) -> Reply<()> {
        let origin = self.origins.get(path).map_or(path, PathBuf::as_path);
        let origin = origin.to_path_buf();
        let Some(place) = server.place(&origin) else {
            let said = messages::recorded_nowhere(&origin);
            return Err(Failure::new(FailureKind::Refused, said).hint(messages::BY_HAND));
        };
        self.name(&place.handle, origin);
        self.files(&place.handle).overwritten.insert(place.path);
        Ok(())
    }

    /// Deletes a directory file by file, so that files that were created since stay.
    fn mark_below_deleted(
        &mut self,
        server: &ServerState,
        path: &Path,
        work: &mut Vec<EditTarget>,
    ) -> Reply<()> {
        if path.is_symlink() || !path.is_dir() {
            self.mark_overwritten(server, path)?;
            work.push(EditTarget::Delete(path.to_path_buf()));
            return Ok(());
        }
        for inside in inside(path)? {
            self.mark_below_deleted(server, &inside, work)?;
        }
        let made = self.texts.iter().filter(|(_, text)| text.is_some());
        let made = made.filter(|(made, _)| made.parent() == Some(path) && !made.exists());
        work.extend(made.map(|(made, _)| EditTarget::Delete(made.clone())));
        work.push(EditTarget::DeleteDir(path.to_path_buf()));
        Ok(())
    }

    /// Notes the files that move with a directory.
    fn move_below(&mut self, server: &ServerState, dir: &Path, to: &Path) -> Reply<()> {
        if dir.is_symlink() || !dir.is_dir() {
            return Ok(());
        }
        for path in inside(dir)? {
            let to = to.join(path.file_name().unwrap_or_default());
            if let (Some(from), Some(to)) = (server.place(&path), server.place(&to)) {
                self.files(&from.handle).moved.insert(from.path, to);
            }
            self.move_below(server, &path, &to)?;
        }
        Ok(())
    }

    fn exists(&self, path: &Path) -> bool {
        let text = self.texts.get(path).map(Option::is_some);
        text.unwrap_or_else(|| path.exists())
    }

    fn text(&self, path: &Path) -> Reply<Option<Document>> {
        match self.texts.get(path) {
            Some(text) => Ok(text.clone()),
            None => read(path),
        }
    }

    fn write(&mut self, server: &ServerState, path: PathBuf, text: Document) -> Reply<()> {
        let bytes = text.as_saved();
        let bytes = bytes.ok_or_else(|| Failure::usage(messages::encoding(&path)))?;
        self.mark_overwritten(server, &path)?;
        self.texts.insert(path.clone(), Some(text));
        self.disk.push(EditTarget::Write(path, bytes));
        Ok(())
    }

    /// Applies the part on disk. After an error, earlier steps stay done.
    pub fn on_disk(&self) -> Reply<()> {
        for work in &self.disk {
            let (path, done) = match work {
                EditTarget::Write(path, bytes) => {
                    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
                    (path, made.and_then(|()| std::fs::write(path, bytes)))
                }
                EditTarget::Rename(from, to) => {
                    let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
                    (to, made.and_then(|()| std::fs::rename(from, to)))
                }
                EditTarget::Delete(path) => (path, std::fs::remove_file(path)),
                EditTarget::DeleteDir(path) => (path, std::fs::remove_dir(path)),
            };
            done.map_err(|error| failed(path, &error))?;
        }
        Ok(())
    }
}

/// Returns the entries of a directory. A directory with a repository is refused: the repository is not recorded.
fn inside(dir: &Path) -> Reply<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir).map_err(|error| failed(dir, &error))?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let paths: std::io::Result<Vec<PathBuf>> = paths.collect();
    let paths = paths.map_err(|error| failed(dir, &error))?;
    let is_vcs = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        vcs::is_vcs_name(name.as_encoded_bytes())
    };
    if vcs::is_git_dir_path(dir) || paths.iter().any(is_vcs) {
        let said = messages::repository(dir);
        return Err(Failure::new(FailureKind::Refused, said).hint(messages::BY_HAND));
    }
    Ok(paths)
}

fn no_directory(path: &Path, uri: &str) -> Reply<()> {
    if path.is_dir() {
        return Err(Failure::usage(messages::directory(uri)).hint(messages::DIRECTORY_HINT));
    }
    Ok(())
}

fn exists(uri: &str) -> Box<Failure> {
    Failure::usage(messages::exists(uri)).hint(messages::EXISTS_HINT)
}

fn missing(uri: &str) -> Box<Failure> {
    Failure::usage(messages::missing(uri))
}

fn failed(path: &Path, error: &std::io::Error) -> Box<Failure> {
    Failure::new(FailureKind::Failed, format!("{}: {error}", path.display()))
}

/// Reads a file as a client would open it; None if there is none.
fn read(path: &Path) -> Reply<Option<Document>> {
    if !path.exists() {
        return Ok(None);
    }
    let no_text = || Failure::usage(messages::no_text(path));
    let content = document::read(path).ok_or_else(no_text)?;
    let text = Document::of_file(&content).ok_or_else(no_text)?;
    Ok(Some(text))
}

fn plain(edit: &Edit) -> Reply<TextEdit> {
    match edit {
        Edit::TextEdit(edit) => Ok(edit.clone()),
        Edit::AnnotatedTextEdit(edit) => Ok(edit.text_edit.clone()),
        Edit::SnippetTextEdit(_) => Err(Failure::usage(messages::SNIPPET)),
    }
}

/// Applies edits, the last in the text first, since all positions refer to the text before them.
fn apply(document: &mut Document, mut edits: Vec<TextEdit>, encoding: Encoding) {
    edits.sort_by_key(|edit| {
        let start = edit.range.start;
        (start.line, start.character)
    });
    for change in edits.into_iter().rev() {
        #[expect(deprecated, reason = "the field is there, and has to be named")]
        let part = TextDocumentContentChangePartial {
            range: change.range,
            range_length: None,
            text: change.new_text,
        };
        edit(&mut document.text, &Change::from(part), encoding);
    }
}

/// An agent's edit in a document into which the user may type at the same time.
#[derive(Clone, Debug)]
pub struct InFlightEdit {
    pub before: Document,
    pub after: Document,
}

impl InFlightEdit {
    /// Returns the document without the edit: only the text that the user typed. None if the edit is not in it, or
    /// cannot be told from the typed text.
    pub fn typed(&self, now: &Document) -> Option<Document> {
        if now.text == self.after.text {
            return Some(self.before.clone());
        }
        let (before, after) = (self.before.bytes(), self.after.bytes());
        let there = now.bytes();
        if there == before {
            return None;
        }
        // if both are in the text, merging the edit into it changes nothing
        let both = merge3(&before, &after, &there, Favor::Ours);
        if !both.conflicts.is_empty() || both.bytes != there {
            return None;
        }
        let typed = merge3(&after, &before, &there, Favor::Ours);
        let text = String::from_utf8(typed.bytes).ok()?;
        typed.conflicts.is_empty().then(|| Document {
            text: Rope::from_str(&text),
            ..now.clone()
        })
    }

    /// True if the user typed into the lines of the edit.
    pub fn collides(&self, now: &Document) -> bool {
        let (before, after) = (self.before.bytes(), self.after.bytes());
        let both = merge3(&before, &after, &now.bytes(), Favor::Ours);
        !both.conflicts.is_empty()
    }
}
