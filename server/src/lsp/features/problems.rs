//! Problems of workflows and actions, as diagnostics of their documents. Clients that request diagnostics get them as answers,
//! others without a request, after each pause of typing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use backstitch_job::position::{FilePosition, WorkflowProblem};
use backstitch_job::yaml::SyntaxError;
use backstitch_job::{action, workflow};
use ropey::Rope;
use tokio::sync::mpsc::UnboundedReceiver;
use tower_lsp::gen_lsp_types::{
    Diagnostic, DiagnosticOptions, DiagnosticRegistrationOptions, DiagnosticSeverity,
    DocumentFilter, Range, TextDocumentFilterPattern, TextDocumentRegistrationOptions, Uri,
};

use crate::jobs::WORKFLOWS;
use crate::lsp::documents::document::{self, DocumentPath};
use crate::lsp::documents::position::{Encoding, line_text_end};
use crate::lsp::documents::uri;
use crate::lsp::session::{ReadProblems, ServerState, TypingEvent, TypingPause};
use crate::render;

/// Name of the server beside each problem.
const SOURCE: &str = "backstitch";
/// Names of actions.
const ACTIONS: [&str; 2] = ["action.yml", "action.yaml"];
/// Maximum number of problems of a document. Nobody reads more, and each key press would send them all.
const MAX_PROBLEMS: usize = 100;
/// Maximum columns of a message, which may have a text of the document.
const MESSAGE_COLUMNS: usize = 1000;

/// Problems of a document.
#[derive(Debug)]
pub struct DocumentProblems {
    pub version: i32,
    pub items: Vec<Diagnostic>,
    /// True for a workflow that calls others: their texts decide, too.
    pub has_calls: bool,
}

/// The repository of a workflow, and the texts of its workflows in editors, by their paths.
struct CalledFiles {
    repository: PathBuf,
    open: HashMap<PathBuf, Rope>,
}

/// Kinds of files that GitHub reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobFile {
    Workflow,
    /// Surely an action, by its place.
    Action,
    /// Has the name of an action, as files of other programs may.
    MaybeAction,
}

impl JobFile {
    /// Returns the kind of a path relative to a workspace. `is_repository`: true for its directories that are repositories.
    fn of(path: &Path, is_repository: impl Fn(&Path) -> bool) -> Option<Self> {
        let dir = path.parent()?;
        let kind = path.extension()?;
        if dir.ends_with(WORKFLOWS) && (kind == "yml" || kind == "yaml") {
            let repository = dir.parent()?.parent()?;
            let is_root = repository.as_os_str().is_empty() || is_repository(repository);
            return is_root.then_some(Self::Workflow);
        }
        if !ACTIONS.iter().any(|name| path.ends_with(name)) {
            return None;
        }
        let is_githubs = dir.iter().any(|part| part == ".github");
        if is_githubs || dir.as_os_str().is_empty() || is_repository(dir) {
            Some(Self::Action)
        } else {
            Some(Self::MaybeAction)
        }
    }

    /// True if a path may be one, by its name alone.
    fn may_be(path: &Path) -> bool {
        Self::of(path, |_| true).is_some()
    }
}

/// Returns the options under which a client requests diagnostics, for as few documents as patterns can name.
pub fn registration() -> DiagnosticRegistrationOptions {
    let workflows = format!("**/{WORKFLOWS}/*.{{yml,yaml}}");
    let filters = [workflows, "**/action.{yml,yaml}".to_owned()].map(|pattern| {
        let filter = TextDocumentFilterPattern::new(None, Some("file".to_owned()), pattern.into());
        DocumentFilter::TextDocumentFilter(filter.into())
    });
    DiagnosticRegistrationOptions {
        text_document_registration_options: TextDocumentRegistrationOptions::new(Some(
            filters.to_vec(),
        )),
        diagnostic_options: DiagnosticOptions {
            identifier: Some(SOURCE.to_owned()),
            inter_file_dependencies: true,
            ..DiagnosticOptions::default()
        },
        ..DiagnosticRegistrationOptions::default()
    }
}

/// Publishes the problems of documents that change, for a client that does not request them. Runs until the server ends.
pub async fn follow(server: Arc<ServerState>, mut texts: UnboundedReceiver<String>) {
    let mut changed: BTreeSet<String> = BTreeSet::new();
    let mut shown: HashSet<String> = HashSet::new();
    let mut callers: HashSet<String> = HashSet::new();
    let mut typing = TypingPause::default();
    loop {
        match typing.next(&mut texts).await {
            TypingEvent::End => return,
            TypingEvent::Pause => {
                // one of those that changed may be called
                changed.extend(callers.iter().cloned());
                for uri in std::mem::take(&mut changed) {
                    let has_calls = publish(&server, uri.clone(), &mut shown).await;
                    if has_calls {
                        callers.insert(uri);
                    } else {
                        callers.remove(&uri);
                    }
                }
            }
            TypingEvent::Event(uri) => {
                let may_be = || uri::to_path(&uri).is_some_and(|path| JobFile::may_be(&path));
                if !server.client.features().pulls_problems && may_be() {
                    changed.insert(uri);
                    typing.note_change();
                }
            }
        }
    }
}

/// Publishes the problems of a document, or removes them if it is closed or not a workflow. `shown`: documents with problems
/// that were published. Returns true if it calls other workflows.
async fn publish(server: &Arc<ServerState>, uri: String, shown: &mut HashSet<String>) -> bool {
    let found = of(server, &uri).await;
    let has_calls = found.as_ref().is_some_and(|found| found.has_calls);
    let (items, version) = match found {
        Some(found) => {
            shown.insert(uri.clone());
            (found.items, Some(found.version))
        }
        None if shown.remove(&uri) => (Vec::new(), None),
        None => return false,
    };
    let client = &server.client.connection;
    client.publish_diagnostics(Uri(uri), items, version).await;
    has_calls
}

/// Returns the problems of a document as it is now; None if it is neither a workflow nor an action.
pub async fn of(server: &ServerState, uri: &str) -> Option<DocumentProblems> {
    if !JobFile::may_be(&uri::to_path(uri)?) {
        return None;
    }
    let mut last = server.problems.turn().await;
    let document = server.placed(uri)?;
    let place = document.place.as_ref()?;
    let file = kind_of(place)?;
    let version = document.version;
    let found = |items, has_calls| {
        Some(DocumentProblems {
            version,
            items,
            has_calls,
        })
    };
    if !server.settings.config(&place.handle).shows_job_problems() {
        return found(Vec::new(), false);
    }
    if document.huge {
        let said = SyntaxError::too_long().message;
        return found(vec![diagnostic(Range::default(), &said, true)], false);
    }
    if document.out_of_sync {
        return found(Vec::new(), false);
    }
    let is_same = |last: &ReadProblems| {
        last.uri == uri && last.edition == document.edition && !last.has_calls
    };
    if let Some(last) = last.as_ref().filter(|last| is_same(last)) {
        return found(last.items.clone(), false);
    }
    let called = CalledFiles::around(server, place);
    let (uri, edition, text) = (uri.to_owned(), document.edition, document.text);
    let encoding = server.client.features().encoding;
    let read = tokio::task::spawn_blocking(move || {
        let (items, has_calls) = diagnostics(file, &text, encoding, &called);
        *last = Some(ReadProblems {
            uri,
            edition,
            items: items.clone(),
            has_calls,
        });
        (items, has_calls)
    });
    match read.await {
        Ok((items, has_calls)) => found(items, has_calls),
        Err(error) => {
            tracing::error!("problems of a workflow: {error}");
            found(Vec::new(), false)
        }
    }
}

impl CalledFiles {
    /// The files around a workflow.
    fn around(server: &ServerState, place: &DocumentPath) -> CalledFiles {
        let root = place.handle.root();
        let own = root.join(place.path.to_path());
        let repository = own.ancestors().nth(3).unwrap_or(root).to_owned();
        let documents = server.documents.of(&place.handle).into_iter();
        let open = documents.filter_map(|(_, document)| {
            let path = document.place.as_ref()?.path.to_path();
            let is_known = JobFile::may_be(&path) && !document.huge && !document.out_of_sync;
            is_known.then(|| (root.join(path), document.text))
        });
        let open = open.collect();
        CalledFiles { repository, open }
    }

    /// The text of a file by its path in the repository: that of the editor, else that of the disk. None if it is not there,
    /// or not in the repository.
    fn text(&self, path: &str) -> Option<String> {
        let mut parts = Path::new(path).components();
        if !parts.all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        let file = self.repository.join(path);
        if let Some(text) = self.open.get(&file) {
            return Some(text.to_string());
        }
        let bytes = document::read(&file)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Problems of a workflow, also of its calls, and true if it calls workflows of the repository.
    fn problems(&self, text: &str) -> (Vec<WorkflowProblem>, bool) {
        let (workflow, problems) = workflow::read("", text);
        let Some(workflow) = workflow else {
            return (problems, false);
        };
        let has_calls = workflow.calls().any(|call| call.own_path().is_some());
        let problems = workflow::check_calls(&workflow, |path| self.text(path));
        (problems, has_calls)
    }
}

fn kind_of(place: &DocumentPath) -> Option<JobFile> {
    let is_repository = |dir: &Path| place.handle.root().join(dir).join(".git").exists();
    JobFile::of(&place.path.to_path(), is_repository)
}

/// Returns the problems of a text, with its places in the client's units, and true if they depend on other files.
fn diagnostics(
    file: JobFile,
    rope: &Rope,
    encoding: Encoding,
    called: &CalledFiles,
) -> (Vec<Diagnostic>, bool) {
    let text = rope.to_string();
    let is_other = || !text.lines().any(|line| line.starts_with("runs:"));
    let (problems, has_calls) = match file {
        JobFile::Workflow => called.problems(&text),
        JobFile::MaybeAction if is_other() => (Vec::new(), false),
        JobFile::Action | JobFile::MaybeAction => (action_problems(&text), false),
    };
    let lines = ParserLines::of(&text);
    let problems = problems.iter().take(MAX_PROBLEMS).map(|problem| {
        let range = problem.range.map(|range| {
            let start = lines.char_at(rope, range.start);
            let end = lines.char_at(rope, range.end);
            shown_range(rope, start..end, encoding)
        });
        let range = range.unwrap_or_else(|| shown_range(rope, 0..0, encoding));
        let is_refused = file == JobFile::Workflow || !action::is_for_marketplace(problem);
        diagnostic(range, &problem.message, is_refused)
    });
    (problems.collect(), has_calls)
}

/// Returns the problems of an action. Those of the marketplace do not hide others.
fn action_problems(text: &str) -> Vec<WorkflowProblem> {
    let (_, mut problems) = action::read("", text);
    if !problems.is_empty() && problems.iter().all(action::is_for_marketplace) {
        problems.extend(action::read_to_run("", text).1);
    }
    problems
}

/// `is_refused`: false for a text that runs on GitHub all the same.
fn diagnostic(range: Range, message: &str, is_refused: bool) -> Diagnostic {
    let severity = if is_refused {
        DiagnosticSeverity::Error
    } else {
        DiagnosticSeverity::Information
    };
    Diagnostic {
        range,
        severity: Some(severity),
        source: Some(SOURCE.to_owned()),
        message: render::cut(&render::visible(message), MESSAGE_COLUMNS).into(),
        ..Diagnostic::default()
    }
}

/// Returns the range in which an editor shows a problem: the part in its first line. An empty one reaches to the end of the
/// line's text, since editors hardly show an empty range.
fn shown_range(rope: &Rope, chars: std::ops::Range<usize>, encoding: Encoding) -> Range {
    let line_end = line_text_end(rope, chars.start);
    let end = if chars.end > chars.start {
        chars.end.min(line_end)
    } else {
        line_end
    };
    let end = end.max(chars.start);
    Range::new(
        encoding.position(rope, chars.start),
        encoding.position(rope, end),
    )
}

/// Offsets at which the lines of the reader begin: only a line feed ends one, unlike in the protocol.
struct ParserLines(Vec<usize>);

impl ParserLines {
    fn of(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(ends).collect())
    }

    /// Returns the char index of a position of the reader; beyond the line or the text, that of its end.
    fn char_at(&self, rope: &Rope, at: FilePosition) -> usize {
        let line = usize::try_from(at.line.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(start) = self.0.get(line) else {
            return rope.len_chars();
        };
        let end = self.0.get(line + 1).map_or(rope.len_chars(), |next| {
            rope.byte_to_char(*next).saturating_sub(1)
        });
        let start = rope.byte_to_char(*start);
        let column = usize::try_from(at.column.saturating_sub(1)).unwrap_or(usize::MAX);
        let units = rope.char_to_utf16_cu(start).saturating_add(column);
        rope.try_utf16_cu_to_char(units)
            .map_or(end, |char| char.clamp(start, end))
    }
}

#[cfg(test)]
mod tests;
