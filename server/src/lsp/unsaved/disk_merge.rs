//! Merges the change of a file on disk into the unsaved text of its document, as rewinds do. The base is the last text that
//! the document and the file shared. The file stays as it is; the document is edited, and still to be saved.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backstitch_core::merge::{ConflictHunk, Favor, merge3};
use backstitch_core::model::{ContentId, RelPath};
use backstitch_core::restore::OnConflict;
use backstitch_protocol::{self as protocol, FailureKind, MergeParams, MergeResult};
use ropey::Rope;
use tower_lsp::gen_lsp_types::MessageType;

use super::editing::{self, EditFate, EditWait, NewText};
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::documents::document::{self, Document, Documents};
use crate::lsp::handler::ask::{ask, must_ask};
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::handler::targets;
use crate::lsp::messages::{choice, notice, refusal};
use crate::lsp::session::{DocumentEvent, EditorClient, ServerState};
use crate::to_protocol;

/// Age at which a file counts as written to its end.
const SETTLED: Duration = Duration::from_millis(20);
/// Time after which an empty file, or one that is written without end, counts as it is.
const EMPTIED: Duration = Duration::from_secs(1);
/// Number of attempts while the user types, or another program writes the file.
const TRIES: usize = 3;

/// Outcome of a merge, not applied yet.
#[derive(Clone, Debug)]
pub struct DiskMerge {
    /// Text of the document after the merge, in the client's form.
    pub text: String,
    /// Ranges of lines that both sides changed: `theirs` is the disk, `ours` the document.
    pub conflicts: Vec<ConflictHunk>,
}

impl DiskMerge {
    /// Returns None if the texts cannot be merged.
    pub fn of(document: &Document, disk: &[u8], favor: Favor<'_>) -> Option<Self> {
        let theirs = document.text_of(disk)?;
        let [base, ours] = [&document.saved, &document.text].map(Rope::to_string);
        let merge = merge3(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), favor);
        Some(Self {
            text: String::from_utf8(merge.bytes).ok()?,
            conflicts: merge.conflicts,
        })
    }
}

/// Returns the number of conflicts that a merge of a document with its file has.
pub fn conflicts(document: &Document) -> usize {
    let merge = read_file(document).and_then(|disk| DiskMerge::of(document, &disk, Favor::Ours));
    merge.map_or(0, |merge| merge.conflicts.len())
}

fn read_file(document: &Document) -> Option<Vec<u8>> {
    let place = document.place.as_ref()?;
    document::read(&place.handle.root().join(place.path.to_path()))
}

/// Reads a file that a program may be writing: many empty it first. One that was just written, or emptied, is read again.
async fn read_settled(document: &Document) -> Option<Vec<u8>> {
    let place = document.place.as_ref()?;
    let path = place.handle.root().join(place.path.to_path());
    let is_new = || {
        let written = path.metadata().and_then(|file| file.modified()).ok();
        let age = written.and_then(|at| at.elapsed().ok());
        age.is_some_and(|age| age < SETTLED)
    };
    let begun = Instant::now();
    loop {
        let disk = read_file(document)?;
        let is_emptied = disk.is_empty() && document.saved.len_bytes() > 0;
        if !(is_emptied || is_new()) || begun.elapsed() > EMPTIED {
            return Some(disk);
        }
        tokio::time::sleep(SETTLED).await;
    }
}

/// Runs the command.
pub async fn run(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    typed: MergeParams,
) -> Reply<MergeResult> {
    let on_conflict = targets::on_conflict(typed.on_conflict.as_deref())?;
    let uri: String = match typed.uri {
        Some(uri) => uri.into(),
        None => the_changed_document(&server.documents, handle)?,
    };
    if let Some(disk) = typed.merged {
        let known = server
            .documents
            .with(&uri, |document| document.rebase(disk.as_bytes()));
        known.ok_or_else(|| Failure::usage(refusal::merge::not_open(&uri)))?;
        server.events.send(DocumentEvent::Changed(uri.clone()));
        return Ok(MergeResult {
            uri,
            merged: true,
            conflicts: 0,
        });
    }
    merge(server, &uri, on_conflict).await
}

/// Returns the only document with unsaved text whose file changed on disk.
fn the_changed_document(documents: &Documents, handle: &WorkspaceHandle) -> Reply<String> {
    let changed = |document: &Document| {
        let disk = read_file(document).and_then(|disk| document.text_of(&disk));
        document.text != document.saved && disk.is_some_and(|disk| document.saved != disk.as_str())
    };
    let mut found = documents.of(handle).into_iter();
    let mut found = found.by_ref().filter(|(_, document)| changed(document));
    match (found.next(), found.next()) {
        (Some((uri, _)), None) => Ok(uri),
        (None, _) => Err(Failure::new(
            FailureKind::NotFound,
            refusal::merge::NONE_CHANGED,
        )),
        _ => Err(Failure::usage(refusal::merge::SEVERAL_CHANGED).hint(refusal::merge::URI_HINT)),
    }
}

/// Merges one document with its file.
async fn merge(
    server: &Arc<ServerState>,
    uri: &str,
    on_conflict: OnConflict,
) -> Reply<MergeResult> {
    let mut on_conflict = on_conflict;
    let result = |merged, conflicts| MergeResult {
        uri: uri.to_owned(),
        merged,
        conflicts,
    };
    let mut name = uri.to_owned();
    for _ in 0..TRIES {
        let not_open = || Failure::usage(refusal::merge::not_open(uri));
        let document = server.documents.get(uri).ok_or_else(not_open)?;
        let place = document.place.ok_or_else(not_open)?;
        // one at a time: each begins with the base that the one before has set
        let alone = place.handle.merging.lock().await;
        let document = server.documents.get(uri).ok_or_else(not_open)?;
        name = place.path.display();
        let Some(disk) = read_settled(&document).await else {
            let message = refusal::merge::no_file(&name);
            return Err(
                Failure::new(FailureKind::Refused, message).hint(refusal::merge::NO_FILE_HINT)
            );
        };
        let unreadable = || Failure::new(FailureKind::Refused, refusal::merge::unreadable(&name));
        let on_disk = document.text_of(&disk).ok_or_else(unreadable)?;
        if document.shows(&disk) || document.saved == on_disk.as_str() {
            return Ok(result(false, 0));
        }
        let favor = match on_conflict {
            OnConflict::Markers => Favor::Markers {
                ours: notice::MERGE_OURS,
                theirs: notice::MERGE_THEIRS,
            },
            OnConflict::Target => Favor::Theirs,
            OnConflict::Fail | OnConflict::Current => Favor::Ours,
        };
        let merge = DiskMerge::of(&document, &disk, favor).ok_or_else(unreadable)?;
        let count = merge.conflicts.len();
        if count > 0 && on_conflict == OnConflict::Fail {
            drop(alone);
            on_conflict = decide(&server.client, &place.path, &merge.conflicts).await?;
            // the text may have changed while the question was open
            continue;
        }
        let text = Rope::from_str(&merge.text);
        let content = document.format.in_file(&text).ok_or_else(unreadable)?;
        let new = NewText {
            path: place.path.clone(),
            from: ContentId::of(&document.as_saved().unwrap_or_else(|| document.bytes())),
            content,
            base: None,
            disk: Some(disk.into()),
        };
        match editing::put_text(server, &place.handle, &new, EditWait::Command).await {
            EditFate::Arrived(uri) => server.events.send(DocumentEvent::Changed(uri)),
            // the base is set when it arrives
            EditFate::Unconfirmed(..) => {}
            EditFate::NotTaken => continue,
        }
        if count > 0 {
            server
                .client
                .report(notice::merged_with_conflicts(&name, count, on_conflict));
        } else {
            server.client.report(notice::merged(&name));
        }
        return Ok(result(true, count));
    }
    Err(
        Failure::new(FailureKind::Refused, refusal::merge::not_taken(&name))
            .hint(refusal::merge::NOT_TAKEN_HINT),
    )
}

/// Asks the user how conflicts are decided. Our own client asks itself: it gets them as a failure.
async fn decide(
    client: &EditorClient,
    path: &RelPath,
    conflicts: &[ConflictHunk],
) -> Reply<OnConflict> {
    let message = refusal::merge::conflicts(&path.display(), conflicts.len());
    if client.features().own.notifications {
        let hunk = |hunk: &ConflictHunk| protocol::ConflictHunk {
            target: (hunk.theirs.start, hunk.theirs.end),
            kept: (hunk.ours.start, hunk.ours.end),
        };
        let conflict = protocol::Conflict {
            path: to_protocol::text(path.bytes()),
            reason: message.clone(),
            resolution: None,
            hunks: conflicts.iter().map(hunk).collect(),
        };
        return Err(Failure::new(FailureKind::Conflict, message)
            .hint(refusal::merge::CONFLICT_HINT)
            .conflicts(vec![conflict]));
    }
    let answers = [choice::MARKERS, choice::MINE, choice::DISK, choice::CANCEL];
    let answer = must_ask(client, MessageType::Warning, &message, &answers).await?;
    match answer.as_deref() {
        Some(choice::MARKERS) => Ok(OnConflict::Markers),
        Some(choice::MINE) => Ok(OnConflict::Current),
        Some(choice::DISK) => Ok(OnConflict::Target),
        _ => Err(Failure::cancelled()),
    }
}

/// Tells the user of a plain client about changes on disk below unsaved text, and merges them on request.
pub async fn offer(server: Arc<ServerState>, message: String, uris: Vec<String>) {
    let answers = [choice::MERGE, choice::KEEP_MINE];
    let answer = ask(&server.client, MessageType::Warning, &message, &answers).await;
    if answer.as_deref() != Some(choice::MERGE) {
        return;
    }
    for uri in uris {
        if let Err(failure) = merge(&server, &uri, OnConflict::Fail).await
            && failure.kind != FailureKind::Cancelled
        {
            server.client.say(MessageType::Error, failure.text());
        }
    }
}
