//! Problems of workflows and actions, as diagnostics of their documents. Clients that request diagnostics get them as answers,
//! others without a request, after each pause of typing.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
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
use crate::lsp::documents::document::DocumentPath;
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
            ..DiagnosticOptions::default()
        },
        ..DiagnosticRegistrationOptions::default()
    }
}

/// Publishes the problems of documents that change, for a client that does not request them. Runs until the server ends.
pub async fn follow(server: Arc<ServerState>, mut texts: UnboundedReceiver<String>) {
    let mut changed: BTreeSet<String> = BTreeSet::new();
    let mut shown: HashSet<String> = HashSet::new();
    let mut typing = TypingPause::default();
    loop {
        match typing.next(&mut texts).await {
            TypingEvent::End => return,
            TypingEvent::Pause => {
                for uri in std::mem::take(&mut changed) {
                    publish(&server, uri, &mut shown).await;
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
/// that were published.
async fn publish(server: &Arc<ServerState>, uri: String, shown: &mut HashSet<String>) {
    let found = of(server, &uri).await;
    let (items, version) = match found {
        Some(found) => {
            shown.insert(uri.clone());
            (found.items, Some(found.version))
        }
        None if shown.remove(&uri) => (Vec::new(), None),
        None => return,
    };
    let client = &server.client.connection;
    client.publish_diagnostics(Uri(uri), items, version).await;
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
    let found = |items| Some(DocumentProblems { version, items });
    if !server.settings.config(&place.handle).shows_job_problems() {
        return found(Vec::new());
    }
    if document.huge {
        let said = SyntaxError::too_long().message;
        return found(vec![diagnostic(Range::default(), &said, true)]);
    }
    if document.out_of_sync {
        return found(Vec::new());
    }
    let is_same = |last: &ReadProblems| last.uri == uri && last.edition == document.edition;
    if let Some(last) = last.as_ref().filter(|last| is_same(last)) {
        return found(last.items.clone());
    }
    let (uri, edition, text) = (uri.to_owned(), document.edition, document.text);
    let encoding = server.client.features().encoding;
    let read = tokio::task::spawn_blocking(move || {
        let items = diagnostics(file, &text, encoding);
        *last = Some(ReadProblems {
            uri,
            edition,
            items: items.clone(),
        });
        items
    });
    match read.await {
        Ok(items) => found(items),
        Err(error) => {
            tracing::error!("problems of a workflow: {error}");
            found(Vec::new())
        }
    }
}

fn kind_of(place: &DocumentPath) -> Option<JobFile> {
    let is_repository = |dir: &Path| place.handle.root().join(dir).join(".git").exists();
    JobFile::of(&place.path.to_path(), is_repository)
}

/// Returns the problems of a text, with its places in the client's units.
fn diagnostics(file: JobFile, rope: &Rope, encoding: Encoding) -> Vec<Diagnostic> {
    let text = rope.to_string();
    let problems = match file {
        JobFile::Workflow => workflow::read("", &text).1,
        JobFile::MaybeAction if !text.lines().any(|line| line.starts_with("runs:")) => Vec::new(),
        JobFile::Action | JobFile::MaybeAction => action_problems(&text),
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
    problems.collect()
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
