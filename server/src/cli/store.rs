//! Commands about the whole store: `status`, `init`, `checkpoint`, `oplog`, `materialize`,
//! `verify`.

use std::path::Path;

use backstitch_core::config::Config;
use backstitch_core::health;
use backstitch_core::{EditorInfo, Engine, LogFilter, PendingSave, Status, Workspace, retention};
use serde_json::json;

use super::args::{CheckpointArgs, CheckpointCommand, GlobalArgs};
use super::context::{self, CommandContext};
use super::log;
use super::plan;
use super::settings;
use crate::host::turned_away::TurnedAway;
use crate::opening;
use crate::render::{self, BLUE, BOLD, DIM, GREEN, MAGENTA, Paint, YELLOW};
use crate::restore_words;
use crate::safeguards::{self, Weakness};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};
use crate::to_protocol;

pub fn status(global: &GlobalArgs, out: &Out) -> CliResult<()> {
    let workspace = context::find(global)?;
    let config = Config::read(&workspace);
    context::warn_about_settings(&config, out);
    if let Some(warning) = health::nothing_recorded(&workspace, &config) {
        out.note("warning", &warning);
    }
    let settings = settings::in_force(&config, &workspace, global.store_dir.as_deref());
    let status = match Engine::open_with(&workspace, opening::COMMAND.existing()) {
        Ok(engine) => {
            if let Some(notice) = engine.notice() {
                out.note("note", notice);
            }
            engine.status()?
        }
        // found again, because opening may have revealed another directory
        Err(backstitch_core::Error::NoStore(_)) => Status::nothing(&context::find(global)?),
        Err(error) => return Err(error.into()),
    };
    let held = held_calls(&workspace);
    let weak = safeguards::of(&workspace, &config);
    if out.json {
        return out::answer(json!({
            "workspace": to_protocol::path(&status.root),
            "store": to_protocol::path(&status.store),
            "store_bytes": status.store_bytes,
            "store_limit": config.most_bytes(),
            "branch": status.branch,
            "head": status.head.map(|id| id.to_string()),
            "checkpoints": status.nodes,
            "turns": status.turns,
            "sessions": status.sessions,
            "tracked_files": status.tracked_files,
            "last_scan": status.last_scan.map(to_protocol::time),
            "coverage": to_protocol::coverage(&status.coverage),
            "open_calls": status.open_calls,
            "held_calls": held.open,
            "turned_away": TurnedAway::recent(&status.root).iter().map(TurnedAway::facts).collect::<Vec<_>>(),
            "slipped_calls": held.slipped,
            "safeguards": weak.iter().map(Weakness::json).collect::<Vec<_>>(),
            "open_operation": status.open_operation.map(|id| id.to_string()),
            "gaps": status.gaps,
            "recorder": status.recorder.map(|pid| json!({"pid": pid})),
            "editors": status.editors.iter().map(|e| to_protocol::editor(e, &status.unsaved)).collect::<Vec<_>>(),
            "unsaved_left": status.orphans.iter().map(to_protocol::orphan).collect::<Vec<_>>(),
            "pending_saves": status.pending_saves.iter().map(to_protocol::pending_save).collect::<Vec<_>>(),
            "settings": settings::document(&settings),
        }));
    }
    let mut text = status_text(&status, out.paint, out.verbose);
    if let Some(limit) = config
        .most_bytes()
        .filter(|limit| retention::near(status.live_bytes, *limit))
    {
        let line = TextLine::new().add(YELLOW, "! ").plain(format!(
            "the store is near its limit of {}: when an agent stops, the oldest checkpoints are squashed; \
             `store.maxBytes` sets the limit, tags and pins keep checkpoints",
            render::bytes(limit)
        ));
        text.push_str(&line.draw(out.paint));
    }
    if let Some(said) = safeguards::turned_away(&TurnedAway::recent(&status.root)) {
        let line = TextLine::new().add(YELLOW, "! ").plain(said);
        text.push_str(&line.draw(out.paint));
    }
    let weak = weak.iter().map(Weakness::line);
    for warning in held.warnings().into_iter().chain(weak) {
        let line = TextLine::new().add(YELLOW, "! ").plain(warning);
        text.push_str(&line.draw(out.paint));
    }
    if out.verbose {
        text.push_str(&settings::text(&settings, out.paint));
    }
    out.text(&text)
}

/// Calls that wait for a decision, and those that ran unasked lately.
#[derive(Default)]
struct HeldCalls {
    open: Vec<String>,
    slipped: Vec<String>,
}

impl HeldCalls {
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.open.is_empty() {
            let all = self.open.join(", ");
            warnings.push(format!("held: {all}; `backstitch pauses` shows them"));
        }
        if !self.slipped.is_empty() {
            let all = self.slipped.join(", ");
            warnings.push(format!("ran unasked: {all}; `backstitch doctor` shows why"));
        }
        warnings
    }
}

fn held_calls(workspace: &backstitch_core::Workspace) -> HeldCalls {
    use backstitch_control::{Control, PauseFilter, PauseState};
    let Ok(Some(control)) = Control::open_existing(workspace) else {
        return HeldCalls::default();
    };
    let mut held = HeldCalls::default();
    let since = backstitch_control::now() - super::held::SLIPPED;
    for pause in control.pauses().list(PauseFilter::All).unwrap_or_default() {
        if pause.state == PauseState::Held {
            held.open.push(pause.id.to_string());
        } else if pause.state == PauseState::Slipped && pause.made > since {
            held.slipped.push(pause.id.to_string());
        }
    }
    held
}

fn status_text(status: &Status, paint: Paint, verbose: bool) -> String {
    let paint = Paint {
        width: usize::MAX,
        ..paint
    };
    let mut text = status_rows(status, paint);
    for warning in status_warnings(status, verbose) {
        text.push_str(&TextLine::new().add(YELLOW, "! ").plain(warning).draw(paint));
    }
    text
}

/// Draws the store, its history and the processes at work, one row each.
fn status_rows(status: &Status, paint: Paint) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        text.push_str(
            &TextLine::new()
                .column(DIM, name, 12)
                .plain(value)
                .draw(paint),
        );
    };
    row("workspace", status.root.display().to_string());
    let size = render::bytes(status.store_bytes);
    row("store", format!("{}  {size}", status.store.display()));
    let head = status
        .head
        .map_or_else(|| "nothing recorded yet".to_owned(), |id| id.to_string());
    row("at", format!("{head} on {}", render::clean(&status.branch)));
    let counts = [
        (status.nodes, "checkpoint", "checkpoints"),
        (status.turns, "turn", "turns"),
        (status.sessions, "session", "sessions"),
    ];
    let counts = counts
        .map(|(n, one, many)| render::plural(usize::try_from(n).unwrap_or_default(), one, many));
    row("history", counts.join(", "));
    let scanned = status
        .last_scan
        .map_or_else(|| "never".to_owned(), |time| paint.ago(time));
    row(
        "files",
        format!(
            "{} tracked, {} left out by ignore rules, scanned {scanned}",
            status.tracked_files, status.coverage.ignored
        ),
    );
    if status.open_calls > 0 {
        let calls = usize::try_from(status.open_calls).unwrap_or_default();
        row(
            "working",
            render::plural(calls, "open tool call", "open tool calls"),
        );
    }
    if let Some(pid) = status.recorder {
        row("recorder", format!("process {pid} watches the files"));
    }
    for editor in &status.editors {
        let own = status.unsaved.iter().filter(|(of, _)| *of == editor.id);
        let own: Vec<String> = own.map(|(_, path)| render::path(path.bytes())).collect();
        let mut text = editor_name(editor);
        if !own.is_empty() {
            text.push_str(", not saved: ");
            text.push_str(&own.join(", "));
        }
        row("editor", text);
    }
    text
}

/// Lists the conditions that need the user's attention. `verbose`: all files that were not captured.
fn status_warnings(status: &Status, verbose: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(operation) = status.open_operation {
        warnings.push(format!(
            "{operation} was interrupted; the next command finishes or undoes it"
        ));
    }
    if status.coverage.pending {
        warnings.push("a scan is still running in the background".to_owned());
    }
    let shown = if verbose { usize::MAX } else { 5 };
    for item in status.coverage.items.iter().take(shown) {
        let reason = item.reason.name().replace('_', " ");
        warnings.push(format!(
            "not captured: {} ({reason})",
            render::path(&item.path)
        ));
    }
    if let Some(more) = status
        .coverage
        .items
        .len()
        .checked_sub(shown)
        .filter(|n| *n > 0)
    {
        warnings.push(format!("and {more} more not captured (-v lists them)"));
    }
    for gap in &status.gaps {
        warnings.push(format!("not recorded: {}", render::clean(gap)));
    }
    let pending = status.pending_saves.iter();
    warnings.extend(pending.map(|pending| pending_save_warning(status, pending)));
    for orphan in &status.orphans {
        warnings.push(format!(
            "not saved when {} ended: {}; the next editor on this workspace offers it",
            editor_name(&orphan.editor),
            render::path(orphan.path.bytes())
        ));
    }
    warnings
}

fn pending_save_warning(status: &Status, pending: &PendingSave) -> String {
    let path = render::path(pending.path.bytes());
    let editor = render::clean(&pending.editor);
    let is_gone = status.editors.iter().all(|e| e.pid != pending.pid);
    let what = match pending.operation {
        Some(operation) => operation.to_string(),
        None => "an agent's edit".to_owned(),
    };
    let note = match pending.operation {
        Some(operation) if is_gone => format!(
            ", which is gone: the file still has the old text. `backstitch undo {operation}` undoes it"
        ),
        None if is_gone => {
            ", which is gone: the file still has the old text. `backstitch rewind` undoes it"
                .to_owned()
        }
        _ => String::new(),
    };
    format!("{what} waits for a save of {path} in {editor}{note}")
}

fn editor_name(editor: &EditorInfo) -> String {
    format!("{} (process {})", render::clean(&editor.name), editor.pid)
}

pub fn init(global: &GlobalArgs, dir: Option<&Path>, out: &Out) -> CliResult<()> {
    let cwd = context::current_dir()?;
    let dir = match (dir, &global.workspace) {
        (Some(dir), _) => cwd.join(dir),
        (None, Some(workspace)) => cwd.join(workspace),
        (None, None) => cwd.clone(),
    };
    if !dir.is_dir() {
        return Err(
            CliError::not_found(format!("{} is not a directory", dir.display()))
                .hint("create it first, or name an existing one"),
        );
    }
    let workspace = Workspace::init(&context::locate(global, &cwd), &dir)?;
    let mut engine = Engine::open_with(&workspace, opening::COMMAND)?;
    engine.on_progress(out.progress());
    context::warn_about_settings(&engine.config(), out);
    let coverage = engine.capture_mut().record_changes()?;
    let status = engine.status()?;
    engine.tidy();
    if out.json {
        return out::answer(json!({
            "workspace": to_protocol::path(&workspace.root),
            "store": to_protocol::path(&workspace.store_dir),
            "tracked_files": status.tracked_files,
            "coverage": to_protocol::coverage(&coverage),
        }));
    }
    out.remark(&format!(
        "{} is a workspace: {} tracked.\n",
        workspace.root.display(),
        render::plural(
            usize::try_from(status.tracked_files).unwrap_or_default(),
            "file",
            "files"
        )
    ))?;
    if let Some(note) = log::coverage_note(&coverage) {
        out.note("note", &note);
    }
    Ok(())
}

pub fn checkpoint(context: &mut CommandContext, options: CheckpointArgs) -> CliResult<()> {
    match options.command {
        Some(CheckpointCommand::List { all, session }) => list(context, all, session),
        Some(CheckpointCommand::Create {
            label,
            description,
            pin,
        }) => create(context, label.as_deref(), description.as_deref(), pin),
        Some(CheckpointCommand::Pin { rev }) => pin(context, rev.as_deref(), true),
        Some(CheckpointCommand::Unpin { rev }) => pin(context, rev.as_deref(), false),
        None => create(
            context,
            options.label.as_deref(),
            options.description.as_deref(),
            options.pin,
        ),
    }
}

fn create(
    context: &mut CommandContext,
    label: Option<&str>,
    description: Option<&str>,
    pin: bool,
) -> CliResult<()> {
    let id = context
        .engine
        .capture_mut()
        .checkpoint_about(label, description)?;
    if pin {
        context.engine.forks_mut().pin(id, true)?;
    }
    let entry = context.engine.history().entry(id)?;
    if context.out.json {
        return out::answer(to_protocol::value(&to_protocol::checkpoint(&entry)));
    }
    let named = label
        .map(|label| format!(" “{}”", render::clean(label)))
        .unwrap_or_default();
    context.out.text(&format!(
        "{}{named}\n",
        context.out.paint.on(BLUE, &id.to_string())
    ))?;
    if let Some(note) = log::coverage_note(&entry.node.coverage) {
        context.out.note("note", &note);
    }
    Ok(())
}

fn pin(context: &mut CommandContext, rev: Option<&str>, pinned: bool) -> CliResult<()> {
    let node = context.node_now(rev.unwrap_or("@"))?;
    let changed = context.engine.forks_mut().pin(node, pinned)?;
    if context.out.json {
        return out::answer(json!({ "checkpoint": node.to_string(), "pinned": pinned }));
    }
    context.out.remark(&match (pinned, changed) {
        (true, true) => format!("{node} is pinned: it is kept however old it becomes.\n"),
        (true, false) => format!("{node} is already pinned.\n"),
        (false, true) => format!("{node} is no longer pinned.\n"),
        (false, false) => format!("{node} was not pinned.\n"),
    })
}

pub fn no_checkpoints(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "checkpoints": [] }));
    }
    out.text("No checkpoints yet.\n")
}

fn list(context: &mut CommandContext, all: bool, session: Option<String>) -> CliResult<()> {
    let filter = LogFilter {
        all_branches: all,
        session,
        ..LogFilter::default()
    };
    let entries = context.engine.history().log(&filter)?;
    if context.out.json {
        let checkpoints: Vec<_> = entries.iter().map(to_protocol::checkpoint).collect();
        return out::answer(json!({ "checkpoints": checkpoints }));
    }
    if entries.is_empty() {
        return no_checkpoints(context.out);
    }
    let mut text = String::new();
    for entry in &entries {
        let what = match (&entry.node.label, &entry.turn, &entry.call) {
            (Some(label), _, _) => format!("“{}”", render::clean(label)),
            (None, _, Some(call)) => render::clean(&call.tool),
            (None, Some(turn), None) => {
                format!("t{}  {}", turn.number, render::clean(&turn.prompt))
            }
            (None, None, None) => String::new(),
        };
        let line = TextLine::new()
            .column(BLUE, &entry.node.id.to_string(), 8)
            .column(DIM, entry.node.kind.name(), 10)
            .plain(what)
            .right(context.out.paint.ago(entry.node.time))
            .faded(log::is_undone(entry));
        text.push_str(&line.draw(context.out.paint));
    }
    context.out.text(&text)
}

pub fn no_operations(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "operations": [] }));
    }
    out.text("No operations yet: `backstitch rewind` records the first.\n")
}

pub fn oplog(context: &mut CommandContext) -> CliResult<()> {
    let operations = context.engine.history().operations()?;
    if context.out.json {
        let shape = |done| {
            Ok(to_protocol::operation(
                done,
                &context.engine.history().subject(done)?,
            ))
        };
        let operations = operations.iter().map(shape);
        let operations = operations.collect::<CliResult<Vec<_>>>()?;
        return out::answer(json!({ "operations": operations }));
    }
    if operations.is_empty() {
        return no_operations(context.out);
    }
    let mut text = String::new();
    for operation in &operations {
        let subject = context.engine.history().subject(operation)?;
        let mut what = restore_words::noun(&subject);
        if let Some(by) = operation.undone_by {
            what = format!("{what}  undone by {by}");
        }
        let state = operation.state.name();
        let note = if state == "done" {
            String::new()
        } else {
            format!("  {state}")
        };
        let names = operation.kind.names_only();
        let size = if names {
            format!("  {}", render::clean(&operation.detail))
        } else {
            format!("  {}", render::plural(operation.files, "file", "files"))
        };
        let line = TextLine::new()
            .column(MAGENTA, &operation.id.to_string(), 6)
            .column(
                BLUE,
                &operation.node.map(|id| id.to_string()).unwrap_or_default(),
                8,
            )
            .plain(what)
            .add(DIM, size)
            .add(YELLOW, note)
            .right(context.out.paint.ago(operation.time));
        text.push_str(&line.draw(context.out.paint));
        if !names && !operation.detail.is_empty() {
            let detail = format!("      ! {}\n", render::clean(&operation.detail));
            text.push_str(&context.out.paint.on(YELLOW, &detail));
        }
    }
    context.out.text(&text)
}

pub fn materialize(context: &mut CommandContext, rev: &str, into: &Path) -> CliResult<()> {
    let id = context.node_now(rev)?;
    let mut progress = context.out.progress();
    let written = context
        .engine
        .forks()
        .materialize(id, into, &mut progress)?;
    drop(progress);
    if context.out.json {
        let into = to_protocol::path(into);
        let gaps: Vec<_> = written.gaps.iter().map(to_protocol::gap).collect();
        return out::answer(json!({
            "checkpoint": id.to_string(), "into": into, "files": written.files, "gaps": gaps,
        }));
    }
    context
        .out
        .text(&plan::gaps(&written.gaps, context.out.paint))?;
    let files = usize::try_from(written.files).unwrap_or_default();
    let count = render::plural(files, "file", "files");
    context
        .out
        .remark(&format!("{count} of {id} written to {}\n", into.display()))
}

pub fn verify(context: &mut CommandContext) -> CliResult<()> {
    let mut progress = context.out.progress();
    let mut verified = context.engine.verifier().verify(&mut progress)?;
    drop(progress);
    match context.control().and_then(|control| {
        let problems = control.map(|control| control.verify()).transpose()?;
        Ok(problems.unwrap_or_default())
    }) {
        Ok(problems) => verified
            .problems
            .extend(problems.into_iter().map(|problem| problem.0)),
        Err(error) => verified.problems.push(format!("control.db: {error}")),
    }
    let answer = json!({
        "ok": verified.problems.is_empty(),
        "contents": verified.blobs,
        "checkpoints": verified.nodes,
        "changes": verified.changes,
        "problems": verified.problems,
    });
    if !verified.problems.is_empty() {
        for problem in &verified.problems {
            context.out.note("problem", &render::clean(problem));
        }
        let count = render::plural(verified.problems.len(), "problem", "problems");
        return Err(
            CliError::new(ExitKind::Store, format!("{count} in the store"))
                .hint(
                    "everything not listed above is intact and can be read, shown and materialized",
                )
                .answer(answer),
        );
    }
    if context.out.json {
        return out::answer(answer);
    }
    let paint = context.out.paint;
    context.out.remark(&format!(
        "{} {} checkpoints, {} changes, {} contents\n",
        paint.on(GREEN.bold(), "intact:"),
        paint.on(BOLD, &verified.nodes.to_string()),
        paint.on(BOLD, &verified.changes.to_string()),
        paint.on(BOLD, &verified.blobs.to_string()),
    ))
}
