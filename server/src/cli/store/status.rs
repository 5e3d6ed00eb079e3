//! `status`: the workspace, its store, and what is not captured.

use backstitch_core::config::Config;
use backstitch_core::{EditorInfo, Engine, PendingSave, Status, Workspace, health, retention};
use backstitch_job::place::RunEntry;
use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, TerminalCommand, reads};
use crate::cli::context;
use crate::cli::control::pauses;
use crate::cli::options::GlobalArgs;
use crate::cli::store::settings;
use crate::host::turned_away::TurnedAway;
use crate::jobs::{self, RunState};
use crate::opening;
use crate::render::{self, DIM, Paint, YELLOW};
use crate::safeguards::{self, Weakness};
use crate::terminal::error::CliResult;
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};
use crate::to_protocol;

/// Show the workspace, its store, and what is not captured
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch status\n  backstitch status --json")]
pub struct StatusArgs;

impl TerminalCommand for StatusArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("status")
    }
}

/// Shows the workspace, its store, and what is not captured.
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
    let job_runs = jobs::runs_of(&workspace.root);
    let job_runs = jobs::recent(&job_runs);
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
            "job_runs": job_runs.iter().map(|run| jobs::kept_run(run)).collect::<Vec<_>>(),
            "open_operation": status.open_operation.map(|id| id.to_string()),
            "gaps": status.gaps,
            "recorder": status.recorder.map(|pid| json!({"pid": pid})),
            "editors": status.editors.iter().map(|e| to_protocol::editor(e, &status.unsaved)).collect::<Vec<_>>(),
            "unsaved_left": status.orphans.iter().map(to_protocol::orphan).collect::<Vec<_>>(),
            "pending_saves": status.pending_saves.iter().map(to_protocol::pending_save).collect::<Vec<_>>(),
            "settings": settings::document(&settings),
        }));
    }
    let mut text = status_text(&status, &job_runs, out.paint, out.verbose);
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

fn held_calls(workspace: &Workspace) -> HeldCalls {
    use backstitch_control::{Control, PauseFilter, PauseState};
    let Ok(Some(control)) = Control::open_existing(workspace) else {
        return HeldCalls::default();
    };
    let mut held = HeldCalls::default();
    let since = backstitch_control::now() - pauses::SLIPPED;
    for pause in control.pauses().list(PauseFilter::All).unwrap_or_default() {
        if pause.state == PauseState::Held {
            held.open.push(pause.id.to_string());
        } else if pause.state == PauseState::Slipped && pause.made > since {
            held.slipped.push(pause.id.to_string());
        }
    }
    held
}

fn status_text(status: &Status, job_runs: &[&RunEntry], paint: Paint, verbose: bool) -> String {
    let paint = Paint {
        width: usize::MAX,
        ..paint
    };
    let mut text = status_rows(status, paint);
    for run in job_runs {
        text.push_str(&job_row(run, paint));
    }
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
    // git's branch may have another name
    let branch = render::clean(&status.branch);
    row("at", format!("{head} on the history's branch {branch}"));
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

/// Draws a run of a job: its name, its state and its time.
fn job_row(run: &RunEntry, paint: Paint) -> String {
    let title = render::clean(&jobs::title(run));
    let state = RunState::of(run).shown();
    let ago = paint.ago(jobs::started(run));
    TextLine::new()
        .column(DIM, "job", 12)
        .plain(format!("{title}  {state}, started {ago} ({})", run.id))
        .draw(paint)
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
