//! Documents that the server shows: diffs, plans, timelines and reviews. A client that supports virtual documents gets one;
//! others get a read-only file in the user's temporary directory, which is deleted when the server ends.

use std::sync::Arc;

use backstitch_core::model::{FileId, FileVersion, NodeId, Placed, RelPath};
use backstitch_core::restore::{ActionKind, Plan};
use backstitch_core::{Delta, Engine, KeptBase, LogFilter, ReviewSelection, as_patch};
use backstitch_protocol::{
    ContentResult, DiffResult, FailureKind, PlannedText, ReviewResult, ShowDiffParams,
    ShowTimelineResult,
};
use tower_lsp::gen_lsp_types::{MessageType, ShowDocumentParams, Uri};

use crate::file_changes::{FileChange, difference};
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::document::Documents;
use crate::lsp::documents::uri;
use crate::lsp::documents::virtual_documents;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::handler::targets;
use crate::lsp::messages::{self, Now, refusal, view};
use crate::lsp::session::{ANSWER, EditorClient, ServerState};
use crate::restore_plan::ShownPlan;
use crate::to_protocol;

/// Shows the changes since a revision, between two, or of one turn; of one file if it is named.
pub async fn diff(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    typed: ShowDiffParams,
) -> Reply<DiffResult> {
    let path = typed.uri.as_deref().and_then(uri::to_path);
    let path = path
        .map(|p| targets::path(&handle, &uri::of_path(&p)))
        .transpose()?;
    if let Some(turn) = typed.turn {
        return diff_of(server, &handle, turn.into(), path).await;
    }
    let from = typed.rev.map_or_else(|| "@".into(), String::from);
    let (rev, only) = (from.clone(), path.clone());
    let target = match typed.rev2 {
        Some(rev) => DiffTarget::Rev(rev.into()),
        None => DiffTarget::now(&server.documents, &handle),
    };
    let to = target.name();
    let patch = handle.act(false, move |WriteAccess { engine, .. }| {
        let files = changed(engine, &rev, &target, only.as_ref())?;
        let patch: Vec<u8> = files.iter().flat_map(FileChange::patch).collect();
        Ok((
            patch,
            files.iter().map(FileChange::shape).collect::<Vec<_>>(),
        ))
    });
    let (patch, files) = patch.await?;
    if patch.is_empty() {
        server
            .client
            .say(MessageType::Info, messages::nothing_between(&from, &to));
    } else {
        let file = path.as_ref().map(base_name);
        let name = view::diff_name(file.as_deref(), &from, &to);
        show(server, &name, &patch).await?;
    }
    Ok(DiffResult { from, to, files })
}

/// Shows the changes of a turn itself.
async fn diff_of(
    server: &Arc<ServerState>,
    handle: &WorkspaceHandle,
    turn: String,
    path: Option<RelPath>,
) -> Reply<DiffResult> {
    let (rev, only) = (turn.clone(), path.clone());
    let shown = handle.ask(move |engine| {
        let steps = engine
            .history()
            .turn_steps(engine.history().resolve(&rev)?)?;
        let last = steps.last().map_or(rev, ToString::to_string);
        let files = changed_by(engine, &steps, only.as_ref())?;
        let patch: Vec<u8> = files.iter().flat_map(FileChange::patch).collect();
        let files: Vec<_> = files.iter().map(FileChange::shape).collect();
        Ok((last, patch, files))
    });
    let (to, patch, files) = shown.await?;
    if patch.is_empty() {
        server
            .client
            .say(MessageType::Info, messages::nothing_of(&turn));
    } else {
        let file = path.as_ref().map(base_name);
        show(server, &view::turn_name(file.as_deref(), &turn), &patch).await?;
    }
    Ok(DiffResult {
        from: turn,
        to,
        files,
    })
}

/// Maximum number of rows of the timeline.
const MAX_ROWS: usize = 200;

/// Shows the timeline, newest first; of one file if it is named.
pub async fn timeline(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    uri: Option<&str>,
) -> Reply<ShowTimelineResult> {
    let path = uri.and_then(uri::to_path);
    let path = path
        .map(|p| targets::path(&handle, &uri::of_path(&p)))
        .transpose()?;
    let file = path.as_ref().map(base_name);
    let name = view::timeline_name(file.as_deref());
    let of_file = path.is_some();
    let entries = handle.ask(move |engine| {
        engine.history().log(&LogFilter {
            limit: Some(MAX_ROWS),
            path,
            ..LogFilter::default()
        })
    });
    let entries = entries.await?;
    let now = Now::read();
    let rows: String = entries
        .iter()
        .map(|entry| view::row(entry, now, of_file))
        .collect();
    let text = format!("{}{rows}", view::TIMELINE_HEAD);
    show(server, &name, text.as_bytes()).await?;
    let checkpoints = entries.iter().map(to_protocol::checkpoint);
    Ok(ShowTimelineResult {
        checkpoints: checkpoints.collect(),
    })
}

/// Shows the work of agents that the user has not reviewed: files and their hunks.
pub async fn review(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
) -> Reply<ReviewResult> {
    let now = Now::read();
    let listed = handle.act(false, move |WriteAccess { engine, .. }| {
        let files = engine.reviews_mut().review(&ReviewSelection::default())?;
        let mut text = String::new();
        for file in &files {
            text.push_str(&view::review_file(file));
            for hunk in &file.hunks {
                let node = hunk.author.as_ref().map(|author| author.node);
                let entry = node.map(|node| engine.history().entry(node)).transpose()?;
                let age = entry.map(|entry| now.ago(entry.node.time));
                text.push_str(&view::review_hunk(hunk, age.as_deref()));
            }
        }
        let files = files.iter();
        let files = files.map(|file| to_protocol::review_file(file, true));
        Ok((text, files.collect::<Vec<_>>()))
    });
    let (text, files) = match listed.await {
        Err(backstitch_core::Error::NoStore(_)) => (String::new(), Vec::new()),
        listed => listed?,
    };
    if files.is_empty() {
        server
            .client
            .say(MessageType::Info, messages::NOTHING_TO_REVIEW.to_owned());
    } else {
        let text = format!("{}{text}", view::REVIEW_HEAD);
        show(server, view::REVIEW_NAME, text.as_bytes()).await?;
    }
    Ok(ReviewResult { files })
}

/// Returns the files that differ between two revisions, or between one and the disk.
pub fn changed(
    engine: &mut Engine,
    from: &str,
    target: &DiffTarget,
    only: Option<&RelPath>,
) -> backstitch_core::Result<Vec<FileChange>> {
    let from = engine.history().resolve(from)?;
    let mut deltas = match target {
        DiffTarget::Rev(to) => {
            let to = engine.history().resolve(to)?;
            engine.comparer().compare(from, to)?
        }
        DiffTarget::Disk | DiffTarget::Buffers(_) => engine
            .comparer_mut()
            .compare_with_disk(from, only.map_or(&[], std::slice::from_ref))?,
    };
    let texts: &[(RelPath, Vec<u8>)] = match target {
        DiffTarget::Buffers(texts) => texts,
        _ => &[],
    };
    for (path, _) in texts {
        if !deltas.iter().any(|delta| is_at(&delta.new, path)) {
            // the file on disk is unchanged
            let image = engine.history().image_at(from, path)?;
            let state = (!image.is_absent()).then(|| Placed {
                path: path.clone(),
                image,
            });
            deltas.push(Delta {
                old: state.clone(),
                new: state,
            });
        }
    }
    let wanted =
        |delta: &&Delta| only.is_none_or(|only| is_at(&delta.old, only) || is_at(&delta.new, only));
    let mut all = Vec::new();
    for delta in deltas.iter().filter(wanted) {
        let text = texts.iter().find(|(path, _)| is_at(&delta.new, path));
        let mut file = FileChange::load(engine, delta)?;
        if text.is_none_or(|(_, text)| file.set_text(text.clone())) {
            all.push(file);
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

/// Returns the changes of some steps, each file from the first step to the last; split if somebody else wrote it in
/// between.
fn changed_by(
    engine: &Engine,
    steps: &[NodeId],
    only: Option<&RelPath>,
) -> backstitch_core::Result<Vec<FileChange>> {
    let mut runs: Vec<(FileId, Delta)> = Vec::new();
    for step in steps {
        for change in engine.history().entry(*step)?.changes {
            let change = change.change;
            let (old, new) = (change.before, change.after);
            match runs.iter_mut().rfind(|(file, _)| *file == change.file) {
                Some((_, run)) if run.new == old => run.new = new,
                _ => runs.push((change.file, Delta { old, new })),
            }
        }
    }
    if let Some(path) = only {
        let file = file_at(engine, path)?;
        runs.retain(|(of, run)| {
            Some(*of) == file || is_at(&run.old, path) || is_at(&run.new, path)
        });
    }
    let runs = runs.into_iter().map(|(_, run)| run);
    let changed: Vec<_> = runs.filter(|run| run.old != run.new).collect();
    let files = as_patch(&changed);
    let files = files.iter().map(|delta| FileChange::load(engine, delta));
    files.collect()
}

/// Returns the file that a path names now, if it ever changed. It may have had other names.
fn file_at(engine: &Engine, path: &RelPath) -> backstitch_core::Result<Option<FileId>> {
    let newest = engine.history().log(&LogFilter {
        path: Some(path.clone()),
        limit: Some(1),
        ..LogFilter::default()
    })?;
    let mut changes = newest.iter().flat_map(|entry| &entry.changes);
    let found = changes.find(|change| is_at(&change.change.after, path));
    Ok(found.map(|change| change.change.file))
}

fn is_at(state: &FileVersion, path: &RelPath) -> bool {
    state.as_ref().is_some_and(|placed| placed.path == *path)
}

/// Target of a diff.
#[derive(Clone, Debug)]
pub enum DiffTarget {
    Rev(String),
    Disk,
    /// The disk, with the unsaved text of open documents.
    Buffers(Vec<(RelPath, Vec<u8>)>),
}

impl DiffTarget {
    /// Reads the typed target: a revision, `disk` (the default), or `buffer`.
    pub fn read(typed: Option<&str>, documents: &Documents, handle: &WorkspaceHandle) -> Self {
        match typed {
            None | Some("disk") => Self::Disk,
            Some("buffer") => Self::Buffers(unsaved_of(documents, handle)),
            Some(rev) => Self::Rev(rev.to_owned()),
        }
    }

    /// Returns the state that the user sees.
    fn now(documents: &Documents, handle: &WorkspaceHandle) -> Self {
        let texts = unsaved_of(documents, handle);
        if texts.is_empty() {
            Self::Disk
        } else {
            Self::Buffers(texts)
        }
    }

    pub fn name(&self) -> String {
        match self {
            Self::Rev(rev) => rev.clone(),
            Self::Disk => "disk".to_owned(),
            Self::Buffers(_) => "buffer".to_owned(),
        }
    }
}

fn unsaved_of(documents: &Documents, handle: &WorkspaceHandle) -> Vec<(RelPath, Vec<u8>)> {
    let documents = documents.of(handle).into_iter();
    let dirty = documents.filter(|(_, document)| document.text != document.saved);
    let text = |(_, document): (String, crate::lsp::documents::document::Document)| {
        let text = document.as_saved()?;
        Some((document.place?.path, text))
    };
    dirty.filter_map(text).collect()
}

/// Shows a plan, path by path.
pub async fn plan(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    shown: &ShownPlan,
) -> Reply<()> {
    let (plan, title) = (shown.plan.clone(), shown.title.clone());
    let summary = shown.after_title().join("\n");
    let text = handle.ask(move |engine| {
        let mut text = format!("{title}\n{summary}\n\n");
        for action in &plan.actions {
            text.push_str(&view::action(action, difference(engine, &plan, action).1));
        }
        text.push_str(&view::conflicts(&plan.conflicts));
        text.push_str(&view::gaps(&plan.gaps));
        text.push_str(&patches(engine, &plan));
        Ok(text)
    });
    let text = text.await?;
    show(server, view::PLAN_NAME, text.as_bytes()).await
}

/// Maximum number of lines of a plan's diff: of one file, and in total.
const MAX_LINES_OF_FILE: usize = 300;
const MAX_LINES: usize = 1000;

/// Formats the diff of a plan, up to the limits.
fn patches(engine: &Engine, plan: &Plan) -> String {
    let mut actions = plan.actions.iter().filter(|a| a.kind != ActionKind::Skip);
    let (mut text, mut left) = (String::new(), MAX_LINES);
    while let Some(action) = actions.next() {
        if left == 0 {
            text.push('\n');
            text.push_str(&messages::more_files(1 + actions.count()));
            text.push('\n');
            break;
        }
        let Ok(file) = FileChange::planned_in_editor(engine, plan, action) else {
            continue;
        };
        let patch = file.patch();
        let patch = String::from_utf8_lossy(&patch);
        let most = left.min(MAX_LINES_OF_FILE);
        let shown: String = patch.split_inclusive('\n').take(most).collect();
        let all = patch.lines().count();
        left -= all.min(most);
        text.push('\n');
        text.push_str(&shown);
        if all > most {
            text.push_str(&messages::more_lines(all - most));
            text.push('\n');
        }
    }
    text
}

/// Maximum size of a plan's texts in bytes: of one file, and in total.
const MAX_TEXT_OF_FILE: usize = 1 << 20;
const MAX_TEXT: usize = 16 << 20;

/// Returns the texts of the files that a plan changes.
pub fn planned(engine: &Engine, plan: &Plan) -> Vec<PlannedText> {
    let actions = plan.actions.iter().filter(|a| a.kind != ActionKind::Skip);
    let (mut texts, mut left) = (Vec::new(), MAX_TEXT);
    for action in actions {
        let Ok(file) = FileChange::planned_in_editor(engine, plan, action) else {
            continue;
        };
        let Some([now, then]) = file.texts(MAX_TEXT_OF_FILE.min(left)) else {
            continue;
        };
        left -= [&now, &then]
            .map(|t| t.as_ref().map_or(0, String::len))
            .iter()
            .sum::<usize>();
        texts.push(PlannedText {
            path: to_protocol::text(&file.path),
            from: file.from.as_deref().map(to_protocol::text),
            now,
            then,
        });
    }
    texts
}

/// Shows unsaved text.
pub async fn unsaved(server: &Arc<ServerState>, path: &RelPath, text: &[u8]) -> Reply<()> {
    show(server, &view::unsaved_name(&base_name(path)), text).await
}

fn base_name(path: &RelPath) -> String {
    let path = path.display();
    path.rsplit('/').next().unwrap_or(&path).to_owned()
}

/// Opens a text in the editor.
pub async fn show(server: &Arc<ServerState>, name: &str, content: &[u8]) -> Reply<()> {
    if server.client.features().virtual_documents {
        let uri = server.views.store(name, content);
        if shown(&server.client, uri).await {
            return Ok(());
        }
    }
    let path = virtual_documents::write(name, content).map_err(|error| {
        Failure::new(FailureKind::Failed, refusal::temporary(&error)).hint(refusal::TEMPORARY_HINT)
    })?;
    if !server.client.features().show_document {
        server
            .client
            .say(MessageType::Info, messages::shown_in(&path));
        return Ok(());
    }
    if !shown(&server.client, uri::of_path(&path)).await {
        server
            .client
            .say(MessageType::Info, messages::shown_in(&path));
    }
    Ok(())
}

/// Opens a document; returns true if the client has opened it.
async fn shown(client: &EditorClient, uri: String) -> bool {
    let params = ShowDocumentParams {
        uri: Uri::from(uri),
        external: Some(false),
        take_focus: Some(true),
        selection: None,
    };
    let shown = tokio::time::timeout(ANSWER, client.connection.show_document(params)).await;
    matches!(shown, Ok(Ok(true)))
}

/// Returns the text that an editor had not saved, by its number among those of a file.
fn unsaved_text(
    engine: &Engine,
    node: NodeId,
    path: &RelPath,
    number: usize,
) -> backstitch_core::Result<Vec<u8>> {
    let all = engine.documents().unsaved_at(node)?;
    let mut of_it = all.iter().filter(|unsaved| unsaved.path == *path);
    match of_it.nth(number.saturating_sub(1)) {
        Some(unsaved) => engine.content(&unsaved.content),
        None => Err(backstitch_core::Error::NoFile {
            path: path.display(),
            place: refusal::unsaved_at(&node.to_string()),
        }),
    }
}

/// Selects the text of a file at a checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextChoice {
    /// With the changes since that the user kept.
    pub kept: bool,
    /// The unsaved text with this number.
    pub unsaved: Option<usize>,
}

/// Returns the text of a `backstitch:` document.
pub async fn content(server: &ServerState, uri: &str, choice: TextChoice) -> Reply<ContentResult> {
    let with_kept = choice.kept;
    let plain = |text: String| ContentResult {
        text,
        kept: false,
        deleted: false,
    };
    if let Some(text) = server.views.get(uri) {
        return Ok(plain(text.as_ref().to_owned()));
    }
    if uri::is_view(uri) {
        return Err(Failure::usage(refusal::not_kept(uri)).hint(refusal::NOT_KEPT_HINT));
    }
    let Some(document) = uri::Virtual::parse(uri) else {
        return Err(Failure::usage(refusal::no_document(uri)).hint(refusal::NO_DOCUMENT_HINT));
    };
    // some clients write the workspace in small letters, as if it were a host name
    let known = server.workspaces.all().into_iter().find(|handle| {
        let (root, meant) = (handle.root().as_os_str(), document.root.as_os_str());
        root.eq_ignore_ascii_case(meant) && !document.root.exists()
    });
    let handle = match known {
        Some(handle) => handle,
        None => server.handle_of(&document.root)?,
    };
    let (bytes, deleted, kept) = handle
        .ask(move |engine| {
            let node = engine.history().resolve(&document.rev)?;
            if let Some(number) = choice.unsaved {
                let text = unsaved_text(engine, node, &document.path, number)?;
                return Ok((text, false, false));
            }
            if with_kept {
                let base = kept_base(engine, node, &document.path)?;
                if let Some(base) = base {
                    let deleted = base.state.is_none() && base.text.is_none();
                    return Ok((base.text.unwrap_or_default(), deleted, true));
                }
            }
            let image = engine.history().image_at(node, &document.path)?;
            match image.content() {
                Some(id) => Ok((engine.content(&id)?, false, false)),
                None if with_kept => Ok((Vec::new(), false, false)),
                None => Err(backstitch_core::Error::NoFile {
                    path: document.path.display(),
                    place: refusal::at(&document.rev),
                }),
            }
        })
        .await?;
    Ok(ContentResult {
        kept,
        deleted,
        ..plain(String::from_utf8_lossy(&bytes).into_owned())
    })
}

/// Returns the state of a file at a checkpoint with the changes since that the user kept, if there are any. A file without
/// text has none.
fn kept_base(
    engine: &Engine,
    node: NodeId,
    path: &RelPath,
) -> backstitch_core::Result<Option<KeptBase>> {
    let all = engine.reviews().kept_since(node, Some(path))?.into_iter();
    let mut of_path = all
        .filter(|kept| is_at(&kept.then, path) || (kept.then.is_none() && is_at(&kept.now, path)));
    let base = of_path.find_map(|kept| kept.base);
    Ok(base.filter(|base| base.text.is_some() || base.state.is_none()))
}
