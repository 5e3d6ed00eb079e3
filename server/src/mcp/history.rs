//! The tools that record and read the history.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use backstitch_core::model::{ContentId, Kind};
use backstitch_core::{Against, Engine, Error, LogFilter};
use backstitch_protocol::{Change, Checkpoint, Text};
use serde_json::{Value, json};

use super::access::WorkspaceAccess;
use super::answer::{ToolAnswer, ToolError, ToolResult};
use super::arguments::{
    BlameArguments, CatArguments, CheckpointArguments, CheckpointKind, DiffArguments, LogArguments,
    ShowArguments,
};
use super::{bounds, lean};
use crate::file_changes::FileChange;
use crate::query::line_range::TypedLines;
use crate::query::show::{FileAt, ShownCheckpoint, file_at};
use crate::query::when::{self, End};
use crate::query::{blame as blame_lines, diff as diff_query, revs};
use crate::render;
use crate::to_protocol;

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 200;
/// Lines of `blame` without a range.
const BLAME_LINES: usize = 200;
/// Files whose lines `diff` compares.
const DIFF_FILES: usize = 200;
/// Bytes of a file that one answer of `cat` has.
const CAT_BYTES: usize = 48 << 10;
/// Bytes of a file that are read for it.
const READ_BYTES: usize = 8 << 20;
/// Characters of a label and a description that are kept.
const LONGEST_LABEL: usize = 500;
const LONGEST_DESCRIPTION: usize = 10_000;
/// Changed files named in one row.
const ROW_FILES: usize = 4;

pub fn checkpoint(access: &WorkspaceAccess, arguments: &CheckpointArguments) -> ToolResult {
    let text = |text: &Option<String>, longest| {
        let text = text.as_deref().filter(|text| !text.trim().is_empty())?;
        Some(render::shortened(text, longest))
    };
    let label = text(&arguments.label, LONGEST_LABEL);
    let description = text(&arguments.description, LONGEST_DESCRIPTION);
    let mut engine = access.open_or_begin()?;
    let id = engine
        .capture_mut()
        .checkpoint_about(label.as_deref(), description.as_deref())?;
    if arguments.pin {
        engine.forks_mut().pin(id, true)?;
    }
    let shape = to_protocol::checkpoint(&engine.history().entry(id)?);
    engine.tidy();
    let mut document = to_protocol::value(&shape);
    bounds::trim(&mut document, "`show` with this `rev` has one checkpoint");
    Ok(ToolAnswer::new(
        document,
        format!("Recorded {}\n", row(&shape)),
    ))
}

pub fn log(access: &WorkspaceAccess, arguments: LogArguments) -> ToolResult {
    if arguments.all && arguments.branch.is_some() {
        return Err(
            ToolError::usage("`all` and `branch` exclude each other").hint("leave one of them out")
        );
    }
    let limit = match arguments.limit.unwrap_or(DEFAULT_LIMIT) {
        0 => return Err(ToolError::usage("`limit` is 0").hint("it is between 1 and 200")),
        limit => limit.min(MAX_LIMIT),
    };
    let Some(mut engine) = access.open_recorded()? else {
        return Ok(ToolAnswer::new(
            json!({ "checkpoints": [], "branches": [], "branch": "main" }),
            "Nothing has been recorded in this workspace yet. `checkpoint` records the current state.\n",
        ));
    };
    let filter = filter(access, &engine, arguments, limit)?;
    if filter.text.is_some() {
        engine.read_words()?;
    }
    let history = engine.history();
    let mut entries = history.log(&filter)?;
    let has_more = entries.len() > limit;
    entries.truncate(limit);
    let checkpoints: Vec<Checkpoint> = entries.iter().map(to_protocol::checkpoint).collect();
    let branches = history.branches()?;
    let mut document = json!({
        "checkpoints": checkpoints,
        "branches": branches.iter().map(to_protocol::branch).collect::<Vec<_>>(),
        "head": history.head()?.map(|id| id.to_string()),
        "branch": history.branch_name()?,
        "more": has_more,
    });
    for row in document["checkpoints"].as_array_mut().into_iter().flatten() {
        lean::shorten_row(row);
    }
    bounds::trim(
        &mut document,
        "`before` with the last checkpoint here has the next page; `show` has one checkpoint",
    );
    let mut text: String = checkpoints.iter().map(|one| row(one) + "\n").collect();
    if checkpoints.is_empty() {
        text.push_str("No checkpoint matches.\n");
    }
    if let Some(oldest) = checkpoints.last().filter(|_| has_more) {
        writeln!(text, "… older ones: `before` {}", oldest.id).ok();
    }
    let mut message = match checkpoints.len() {
        0 => "No checkpoint matches.".to_owned(),
        count => format!(
            "{}, newest first. `show` with `rev` has one.",
            render::plural(count, "checkpoint", "checkpoints")
        ),
    };
    if let Some(oldest) = checkpoints.last().filter(|_| has_more) {
        write!(message, " Older ones: `log` with `before` {}.", oldest.id).ok();
    }
    Ok(ToolAnswer::listing(document, text, message))
}

fn filter(
    access: &WorkspaceAccess,
    engine: &Engine,
    arguments: LogArguments,
    limit: usize,
) -> Result<LogFilter, ToolError> {
    let path = match &arguments.path {
        Some(path) => access
            .paths(engine, std::slice::from_ref(path))?
            .into_iter()
            .next(),
        None => None,
    };
    let zone = jiff::tz::TimeZone::system();
    let now = jiff::Timestamp::now().as_microsecond();
    let time = |typed: &Option<String>, end| {
        let typed = typed.as_deref();
        typed
            .map(|typed| when::read(typed, end, now, &zone))
            .transpose()
    };
    let before = arguments.before.as_deref();
    Ok(LogFilter {
        // one more than shown, to detect a further page
        limit: Some(limit + 1),
        session: arguments.session,
        agent: arguments.agent,
        path,
        text: arguments.text,
        kind: arguments.kind.map(kind),
        branch: arguments.branch,
        since: time(&arguments.since, End::First)?,
        until: time(&arguments.until, End::Last)?,
        before: before.map(|rev| revs::node(engine, rev)).transpose()?,
        all_branches: arguments.all,
    })
}

fn kind(kind: CheckpointKind) -> Kind {
    match kind {
        CheckpointKind::Turn => Kind::Turn,
        CheckpointKind::Step => Kind::Step,
        CheckpointKind::Manual => Kind::Manual,
        CheckpointKind::External => Kind::External,
        CheckpointKind::Rewind => Kind::Rewind,
        CheckpointKind::Squash => Kind::Squash,
    }
}

pub fn show(access: &WorkspaceAccess, arguments: &ShowArguments) -> ToolResult {
    let engine = access.open()?;
    let shown = ShownCheckpoint::find(&engine, &arguments.rev)?;
    let files = arguments.patch.then(|| shown.files(&engine)).transpose()?;
    let mut document = shown.document(files.as_deref());
    bounds::trim(
        &mut document,
        "`diff` from the parent to this checkpoint with `paths` has the lines of single files",
    );
    let own = to_protocol::checkpoint(&shown.entry);
    let mut text = row(&own) + "\n";
    if let Some(prompt) = &own.prompt {
        writeln!(text, "prompt: {}", render::cut(&render::clean(prompt), 400)).ok();
    }
    if let Some(description) = &own.description {
        let description = render::cut(&render::clean(description), 400);
        writeln!(text, "description: {description}").ok();
    }
    for change in &own.changes {
        writeln!(text, "  {}", file_name(change)).ok();
    }
    for step in &shown.steps {
        writeln!(text, "  {}", row(&to_protocol::checkpoint(step))).ok();
    }
    for item in &own.coverage.items {
        writeln!(text, "  not captured: {}", shown_text(&item.path)).ok();
    }
    text.push_str(&patches(files.as_deref().unwrap_or_default()));
    for step in document["steps"].as_array_mut().into_iter().flatten() {
        lean::shorten_row(step);
    }
    let mut message = format!("{}. `diff` has its lines", own.id);
    message.push_str(match own.kind {
        backstitch_protocol::Kind::Turn => {
            ", `propose_rewind` with this `rev` asks the user to undo it."
        }
        _ => ".",
    });
    Ok(ToolAnswer::listing(document, text, message))
}

pub fn diff(access: &WorkspaceAccess, arguments: DiffArguments) -> ToolResult {
    if arguments.from.is_none() && arguments.to.is_some() {
        return Err(ToolError::usage("`to` is given without `from`")
            .hint("name both checkpoints; `from` alone is compared with the disk"));
    }
    let mut engine = access.open()?;
    let paths = access.paths(&engine, &arguments.paths)?;
    let ends: Vec<String> = arguments.from.into_iter().chain(arguments.to).collect();
    let compared = diff_query::compare(&mut engine, &ends, &paths, Some(DIFF_FILES))?;
    engine.tidy();
    let mut document = compared.document();
    if compared.left > 0 {
        document["more"] = json!(compared.left);
    }
    bounds::trim(
        &mut document,
        "`paths` limits the answer to single files; `cat` has the lines of one",
    );
    let mut text = match compared.files.as_slice() {
        [] => "No differences.\n".to_owned(),
        files => patches(files),
    };
    if compared.left > 0 {
        let left = render::plural(compared.left, "more file", "more files");
        text.insert_str(0, &format!("# {left} than these; `paths` names some\n"));
    }
    let message = match compared.files.len() {
        0 => "No differences.".to_owned(),
        count => render::plural(count, "file differs", "files differ"),
    };
    Ok(ToolAnswer::listing(document, text, message))
}

fn patches(files: &[FileChange]) -> String {
    let mut text = String::new();
    for file in files {
        if let Some(reason) = file.opaque {
            let why = render::not_kept(reason);
            writeln!(
                text,
                "# {}: its content is not kept ({why})",
                render::clean(&file.name())
            )
            .ok();
        } else {
            let patch = file.patch();
            if std::str::from_utf8(&patch).is_err() {
                let name = render::clean(&file.name());
                writeln!(
                    text,
                    "# {name} is not UTF-8: this shows it, and cannot be applied as a patch"
                )
                .ok();
            }
            text.push_str(&String::from_utf8_lossy(&patch));
        }
    }
    text
}

pub fn blame(access: &WorkspaceAccess, arguments: &BlameArguments) -> ToolResult {
    let engine = access.open()?;
    let path = access.file(&engine, &arguments.path)?;
    let (against, name) = match &arguments.rev {
        Some(rev) => {
            let node = revs::node(&engine, rev)?;
            (Against::Node(node), node.to_string())
        }
        None => (Against::Disk, "disk".to_owned()),
    };
    let blame = engine.blamer().blame(&path, against)?;
    let count = blame_lines::line_count(&blame);
    let lines = lines(arguments.lines.as_deref(), count)?;
    let shown = *lines.start()..=(*lines.end()).min(lines.start() + BLAME_LINES - 1);
    let (rows, runs) = blame_lines::documents(&blame, &shown);
    let mut text = String::new();
    for row in &rows {
        let word = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let line = row["text"].as_str().unwrap_or("(not UTF-8)");
        let author = [word("checkpoint"), word("turn"), word("by")];
        let author: Vec<&str> = author
            .iter()
            .map(String::as_str)
            .filter(|w| !w.is_empty())
            .collect();
        writeln!(text, "{} ({}) {line}", row["line"], author.join(" ")).ok();
    }
    if rows.is_empty() {
        text.push_str("The file is empty.\n");
    }
    let mut document = json!({
        "path": to_protocol::text(path.bytes()),
        "against": name,
        "line_count": count,
        "lines": rows,
        "runs": runs,
    });
    if shown.end() < lines.end() {
        let rest = format!("lines {},{}", shown.end() + 1, lines.end());
        writeln!(text, "… {rest}").ok();
        document["rest"] = json!(rest);
    }
    bounds::trim(&mut document, "`lines` names fewer lines");
    for run in document["runs"].as_array_mut().into_iter().flatten() {
        lean::shorten_author(run);
    }
    let message = match rows.len() {
        0 => "The file is empty.".to_owned(),
        count => render::plural(count, "line", "lines"),
    };
    Ok(ToolAnswer::listing(document, text, message))
}

/// Returns the lines that a range names; all without one.
fn lines(typed: Option<&str>, count: usize) -> Result<RangeInclusive<usize>, ToolError> {
    let Some(typed) = typed else {
        return Ok(1..=count);
    };
    let range = TypedLines::parse(typed).map_err(|_| {
        let typed = render::clean(typed);
        ToolError::usage(format!("`lines`: {typed} is not a range of lines")).hint(
            "10,20 for lines 10 to 20, 10,+5 for five from line 10, 10 from line 10 to the end",
        )
    })?;
    range.within(count, "the file").map_err(|error| {
        ToolError::usage(error.message).hint(format!("`lines` is between 1 and {count}"))
    })
}

pub fn cat(access: &WorkspaceAccess, arguments: &CatArguments) -> ToolResult {
    let engine = access.open()?;
    let path = access.file(&engine, &arguments.path)?;
    let (node, content) = content_at(&engine, &arguments.rev, &path)?;
    let shown = render::path(path.bytes());
    let (bytes, is_whole) = read_up_to(&engine, &content, READ_BYTES)?;
    let mut document = json!({
        "checkpoint": node.to_string(),
        "path": to_protocol::text(path.bytes()),
    });
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // the end of what was read may be inside of a character
        Err(error) if !is_whole && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) if bytes.len() <= CAT_BYTES && arguments.lines.is_none() => {
            document["content"] = to_protocol::value(&to_protocol::text(&bytes));
            let size = render::bytes(bytes.len() as u64);
            let text = format!("{shown} is not UTF-8 text: {size}, as Base64 in `content.bytes`\n");
            return Ok(ToolAnswer::new(document, text));
        }
        Err(_) => {
            let size = render::bytes(bytes.len() as u64);
            return Err(
                ToolError::refused(format!("{shown} is not UTF-8 text, and has {size}"))
                    .hint("the user writes it to a file with `backstitch cat`"),
            );
        }
    };
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let wanted = lines(arguments.lines.as_deref(), all.len())?;
    let mut content = String::new();
    let mut last = wanted.start() - 1;
    for line in all.iter().take(*wanted.end()).skip(last) {
        if !content.is_empty() && content.len() + line.len() > CAT_BYTES {
            break;
        }
        content.push_str(line);
        last += 1;
    }
    // one line alone may be long
    let is_cut_line = content.len() > CAT_BYTES;
    content.truncate(content.floor_char_boundary(CAT_BYTES));
    document["content"] = json!(content);
    document["line_count"] = json!(all.len());
    document["lines"] = json!([wanted.start(), last]);
    let mut text = content;
    let rest = if is_cut_line {
        Some(format!("line {last} is longer than {CAT_BYTES} bytes"))
    } else if last < *wanted.end() {
        Some(format!("lines {},{}", last + 1, wanted.end()))
    } else {
        (!is_whole).then(|| "the file is too large to be read further".to_owned())
    };
    if let Some(rest) = rest {
        write!(text, "\n… the rest: {rest}").ok();
        document["rest"] = json!(rest);
    }
    let message = format!(
        "{shown} at {node}: {}",
        render::plural(all.len(), "line", "lines")
    );
    Ok(ToolAnswer::listing(document, text, message))
}

/// Returns the content of a file at a checkpoint.
pub fn content_at(
    engine: &Engine,
    rev: &str,
    path: &backstitch_core::model::RelPath,
) -> Result<(backstitch_core::model::NodeId, ContentId), ToolError> {
    let (node, file) = file_at(engine, rev, path)?;
    let (path, rev) = (render::path(path.bytes()), render::clean(rev));
    match file {
        FileAt::Content(content) => Ok((node, content)),
        FileAt::Absent => Err(
            ToolError::not_found(format!("{path} is not recorded at {rev}"))
                .hint(format!("`log` with path {path} shows when it changed")),
        ),
        FileAt::Unknown => Err(ToolError::not_found(format!(
            "the content of {path} at {rev} is not known: it was first scanned later"
        ))
        .hint("files that were ignored or never scanned have no earlier states")),
        FileAt::NotKept(why) => {
            let why = render::not_kept(why).replace('_', " ");
            Err(ToolError::refused(format!(
                "the content of {path} at {rev} is not kept: {why}"
            )))
        }
    }
}

/// Reads the first bytes of a content. True: that is all of it.
pub fn read_up_to(
    engine: &Engine,
    content: &ContentId,
    limit: usize,
) -> Result<(Vec<u8>, bool), ToolError> {
    let mut bytes = Vec::new();
    let read = engine.read(content, &mut |part| {
        bytes.extend_from_slice(part);
        if bytes.len() > limit {
            return Err(Error::CalledOff);
        }
        Ok(())
    });
    match read {
        Ok(()) => Ok((bytes, true)),
        Err(Error::CalledOff) => {
            bytes.truncate(limit);
            Ok((bytes, false))
        }
        Err(error) => Err(error.into()),
    }
}

/// A checkpoint in one line.
pub fn row(one: &Checkpoint) -> String {
    let value = to_protocol::value(&one.kind);
    let mut words = vec![
        one.id.clone(),
        value.as_str().unwrap_or_default().to_owned(),
    ];
    words.extend(one.turn.clone());
    words.extend(one.agent.as_deref().map(render::clean));
    words.extend(one.tool.as_deref().map(render::clean));
    if let Some(summary) = &one.summary {
        words.push(render::cut(&render::clean(summary), 80));
    }
    if let Some(label) = &one.label {
        words.push(format!("“{}”", render::cut(&render::clean(label), 80)));
    } else if one.tool.is_none()
        && let Some(prompt) = &one.prompt
    {
        words.push(format!("“{}”", render::cut(&render::clean(prompt), 80)));
    }
    if let Some(operation) = &one.operation {
        words.push(render::clean(&operation.title));
    }
    words.extend(one.changes.iter().take(ROW_FILES).map(file_name));
    if let Some(more) = one.changes.len().checked_sub(ROW_FILES).filter(|n| *n > 0) {
        words.push(format!("and {more} more"));
    }
    words.extend(
        one.tags
            .iter()
            .map(|tag| format!("[{}]", render::clean(tag))),
    );
    if one.taken_out {
        words.push("(undone)".to_owned());
    }
    words.extend(one.time.0.clone());
    words.join("  ")
}

fn file_name(change: &Change) -> String {
    format!(
        "{} +{} -{}",
        shown_text(&change.path),
        change.added,
        change.removed
    )
}

/// A path for people.
pub fn shown_text(text: &Text) -> String {
    Text::plain(text).map_or_else(|| "(not UTF-8)".to_owned(), render::clean)
}

/// A checkpoint as a document, for a resource.
pub fn document(engine: &Engine, rev: &str) -> Result<Value, ToolError> {
    let shown = ShownCheckpoint::find(engine, rev)?;
    let mut document = shown.document(None);
    bounds::trim(&mut document, "the tool `show` has one checkpoint");
    Ok(document)
}
