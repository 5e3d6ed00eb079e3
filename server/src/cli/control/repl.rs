//! `repl`: evaluates inputs at a pause, and lists earlier sessions with their transcripts.

use std::io::IsTerminal as _;

use backstitch_control::{Control, Pause, PauseId, PauseState, ReplEntry, ReplFilter, ReplSession};
use backstitch_core::config::Config;
use clap::{Args, Subcommand, ValueEnum};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides, reads};
use crate::cli::control_context::{ControlContext, FACE};
use crate::control::{object, shown, view};
use crate::query::when::{self, End};
use crate::render::{self, BLUE, BOLD, DIM, GREEN, PLAIN, RED};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::line::TextLine;
use crate::terminal::out;

/// Entries that are read at once.
const ALL: usize = 100_000;

/// Open a REPL at a held call or a paused program; search transcripts
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch repl\n  backstitch repl p7\n  backstitch repl p7 -e '.call.input' -e '!git diff'\n  \
        backstitch repl list --search database\n  backstitch repl show 4711-1764093600.123456"
)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ReplArgs {
    #[command(subcommand)]
    pub command: Option<ReplCommand>,
    /// Held call, or paused program: p7 [default: the only one]
    #[arg(value_name = "PAUSE")]
    pub pause: Option<String>,
    /// Evaluate this and leave; may be given several times
    #[arg(short, long, value_name = "INPUT")]
    pub eval: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum ReplCommand {
    /// List sessions, the newest first
    List(ReplListArgs),
    /// Show the transcript of a session
    Show {
        /// Session: <pid>-<time>
        session: String,
    },
    /// Show a value that an evaluation gave
    Object {
        /// Its content id: sha256:…
        cid: String,
        /// Write its bytes to this file
        #[arg(long, value_name = "FILE")]
        save: Option<std::path::PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplStatus {
    Active,
    Closed,
}

#[derive(Debug, Args)]
pub struct ReplListArgs {
    /// Only with this text in the function or in the transcript
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    #[arg(long)]
    pub status: Option<ReplStatus>,
    /// Only started since then: 2026-11-25, `2 hours ago`
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Only started until then
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
    /// Only at this pause
    #[arg(long, value_name = "PAUSE")]
    pub pause: Option<String>,
    /// Maximum number
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 50)]
    pub limit: usize,
    /// The page after this session
    #[arg(long, value_name = "SESSION")]
    pub before: Option<String>,
}

impl TerminalCommand for ReplArgs {
    fn declared(&self) -> DeclaredCommand {
        match &self.command {
            None => decides("repl"),
            Some(ReplCommand::List(_)) => reads("repl list"),
            Some(ReplCommand::Show { .. }) => reads("repl show"),
            Some(ReplCommand::Object { .. }) => reads("repl object"),
        }
    }
}

impl OnCalls for ReplArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        run(context, &self)
    }
}

fn run(context: &ControlContext, options: &ReplArgs) -> CliResult<()> {
    match &options.command {
        Some(ReplCommand::List(options)) => list(context, options),
        Some(ReplCommand::Show { session }) => show(context, session),
        Some(ReplCommand::Object { cid, save }) => object(context, cid, save.as_deref()),
        None => talk(context, options),
    }
}

fn talk(context: &ControlContext, options: &ReplArgs) -> CliResult<()> {
    let control = context.required()?;
    let pause = control.pauses().open(options.pause.as_deref(), None)?;
    if pause.state != PauseState::Held {
        return Err(CliError::refused(format!("{} is not held", pause.id))
            .hint("`backstitch repl list` has what was asked before"));
    }
    let face = format!("{FACE} {}", std::process::id());
    control.pauses().acknowledge(pause.id, &face)?;
    let session = control.repls().start(pause.id, FACE)?;
    let talk = Talk {
        context,
        control: &control,
        session: &session,
    };
    if options.eval.is_empty() {
        let outcome = talk.converse(&pause);
        control
            .repls()
            .close(&session.id, "its terminal left", FACE)?;
        return outcome;
    }
    let asked = options.eval.iter().try_for_each(|input| talk.must(input));
    control
        .repls()
        .close(&session.id, "its terminal left", FACE)?;
    asked
}

struct Talk<'a> {
    context: &'a ControlContext<'a>,
    control: &'a Control,
    session: &'a ReplSession,
}

impl Talk<'_> {
    fn converse(&self, pause: &Pause) -> CliResult<()> {
        let failed = |error: ReadlineError| CliError::failed(format!("the terminal: {error}"));
        let mut editor = DefaultEditor::new().map_err(failed)?;
        let out = self.context.out;
        let what = shown::summary(pause);
        out.remark(&out.paint.on(
            DIM,
            &format!(
                "{} at {}: {what}. A line that ends with \\ continues in the next. Ctrl-D leaves.\n",
                self.session.language, pause.id
            ),
        ))?;
        let prompt = format!("{}> ", pause.id);
        loop {
            let mut input = String::new();
            loop {
                let shown = if input.is_empty() { &*prompt } else { "... " };
                match editor.readline(shown) {
                    Ok(line) => {
                        if let Some(line) = line.strip_suffix('\\') {
                            input.push_str(line);
                            input.push('\n');
                        } else {
                            input.push_str(&line);
                            break;
                        }
                    }
                    Err(ReadlineError::Interrupted) => input.clear(),
                    Err(ReadlineError::Eof) => return Ok(()),
                    Err(error) => return Err(failed(error)),
                }
            }
            if input.trim().is_empty() {
                continue;
            }
            editor.add_history_entry(input.as_str()).ok();
            match self.ask(&input) {
                Ok(entry) if entry.is_error && !std::io::stdin().is_terminal() => {
                    return Err(failed_input(&input));
                }
                Ok(_) => {}
                Err(error) => {
                    let now = self.control.repls().known(&self.session.id)?;
                    if now.closed.is_some() {
                        return Err(error);
                    }
                    out.note("error", &error.message);
                }
            }
        }
    }

    /// As `ask`, for an input of a script: the next command may rest on it.
    fn must(&self, input: &str) -> CliResult<()> {
        // a document says it by itself
        if self.ask(input)?.is_error && !self.context.out.json {
            return Err(failed_input(input));
        }
        Ok(())
    }

    fn ask(&self, input: &str) -> CliResult<ReplEntry> {
        let timeout = Config::of(&self.context.workspace).eval_timeout();
        let id = self.control.repls().ask(&self.session.id, input, timeout)?;
        let entry = self.control.repls().answer_to(id, &|| false)?;
        if self.context.out.json {
            let session = &self.session.id;
            out::answer(json!({ "session": session, "entry": view::entry(&entry) }))?;
            return Ok(entry);
        }
        self.context.out.text(&output(self.context, &entry))?;
        Ok(entry)
    }
}

/// The end of a script: its input failed, and nothing after it was evaluated.
fn failed_input(input: &str) -> CliError {
    CliError::failed(format!("`{}` failed", render::clean(input)))
        .hint("nothing after it was evaluated, and the call is held as before")
}

/// The output of an entry, as it is shown.
fn output(context: &ControlContext, entry: &ReplEntry) -> String {
    let paint = &context.out.paint;
    let lines = |text: &str| {
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.lines()
            .map(|line| render::visible(line) + "\n")
            .collect::<String>()
    };
    let mut text = String::new();
    if matches!(entry.shows(), "both" | "stdout") || entry.is_error && !entry.stdout.is_empty() {
        text.push_str(&lines(&entry.stdout));
    }
    if entry.is_error {
        text.push_str(&paint.on(RED, lines(&entry.output).trim_end()));
        text.push('\n');
    } else if !entry.output.is_empty() {
        text.push_str(&lines(&entry.output));
    }
    text
}

fn list(context: &ControlContext, options: &ReplListArgs) -> CliResult<()> {
    let pause = options.pause.as_deref().map(pause_number).transpose()?;
    let filter = ReplFilter {
        search: options.search.clone(),
        active: options.status.map(|status| status == ReplStatus::Active),
        from: time(options.from.as_deref(), End::First)?,
        to: time(options.to.as_deref(), End::Last)?,
        pause,
        limit: options.limit,
        before: options.before.clone(),
        ..ReplFilter::default()
    };
    let control = context.existing()?;
    let (sessions, more) = match &control {
        Some(control) => control.repls().list(&filter)?,
        None => (Vec::new(), false),
    };
    if sessions.is_empty() {
        is_known(control.as_ref(), &filter)?;
    }
    if context.out.json {
        let sessions: Vec<_> = sessions.iter().map(view::session).collect();
        return out::answer(json!({ "sessions": sessions, "more": more }));
    }
    if sessions.is_empty() {
        return context
            .out
            .text("No sessions. `backstitch repl` starts one at a held call.\n");
    }
    let mut text = String::new();
    for session in &sessions {
        let is_open = session.closed.is_none();
        let entries = usize::try_from(session.entries).unwrap_or(0);
        let line = TextLine::new()
            .column(BOLD, &session.id, 26)
            .column(
                if is_open { GREEN } else { DIM },
                if is_open { "active" } else { "closed" },
                7,
            )
            .column(DIM, &session.pause.to_string(), 5)
            .add(PLAIN, render::clean(&session.function))
            .add(
                DIM,
                format!(
                    "  {}  {}",
                    reason(session),
                    render::plural(entries, "line", "lines")
                ),
            )
            .right(context.out.paint.ago(session.started));
        text.push_str(&line.draw(context.out.paint));
    }
    context.out.text(&text)?;
    if more {
        let last = sessions.last().map_or("", |session| &session.id);
        context.out.remark(&format!(
            "There are more: `backstitch repl list --before {last}`\n"
        ))?;
    }
    Ok(())
}

/// Fails if the pause or the session that a list is about does not exist.
fn is_known(control: Option<&Control>, filter: &ReplFilter) -> CliResult<()> {
    if let Some(pause) = filter.pause {
        let there = control
            .map(|control| control.pauses().get(pause))
            .transpose()?;
        if there.flatten().is_none() {
            return Err(CliError::not_found(format!("there is no pause {pause}"))
                .hint("`backstitch pauses --all` lists them"));
        }
    }
    if let Some(id) = &filter.before {
        let there = control.map(|control| control.repls().get(id)).transpose()?;
        if there.flatten().is_none() {
            return Err(unknown_session(id));
        }
    }
    Ok(())
}

fn unknown_session(id: &str) -> CliError {
    CliError::not_found(format!("there is no REPL session `{}`", render::clean(id)))
        .hint("`backstitch repl list` has them")
}

fn time(typed: Option<&str>, end: End) -> CliResult<Option<i64>> {
    let now = backstitch_control::now();
    let zone = jiff::tz::TimeZone::system();
    let time = typed.map(|typed| when::read(typed, end, now, &zone));
    Ok(time.transpose()?)
}

fn pause_number(typed: &str) -> CliResult<PauseId> {
    let number = typed.strip_prefix('p').unwrap_or(typed).parse();
    number
        .map(PauseId)
        .map_err(|_| CliError::usage(format!("`{typed}` is not a pause")).hint("write p7, or 7"))
}

fn show(context: &ControlContext, id: &str) -> CliResult<()> {
    let unknown = || unknown_session(id);
    let control = context.existing()?.ok_or_else(unknown)?;
    let session = control.repls().get(id)?.ok_or_else(unknown)?;
    let entries = control.repls().transcript(id, 0, ALL)?;
    if context.out.json {
        let entries: Vec<_> = entries.iter().map(view::entry).collect();
        let session = view::session(&session);
        return out::answer(json!({ "session": session, "entries": entries }));
    }
    let paint = &context.out.paint;
    let state = match (&session.closed, &session.reason) {
        (None, _) => "active".to_owned(),
        (Some(_), Some(reason)) => format!("closed: {reason}"),
        (Some(_), None) => "closed".to_owned(),
    };
    let ended = session.closed.map_or_else(String::new, |closed| {
        format!(", ended {}", paint.ago(closed))
    });
    let head = format!(
        "{} at {} of {}{}, started {}{ended} ({state})\n",
        session.language,
        session.pause,
        render::clean(&session.function),
        match reason(&session) {
            reason if reason.is_empty() => reason,
            reason => format!(", {reason}"),
        },
        paint.ago(session.started),
    );
    let mut text = paint.on(DIM, &head);
    for entry in &entries {
        for (at, line) in entry.input.lines().enumerate() {
            let mark = if at == 0 { "> " } else { "  " };
            text.push_str(&paint.on(BLUE, mark));
            text.push_str(&paint.on(BOLD, &render::visible(line)));
            text.push('\n');
        }
        text.push_str(&output(context, entry));
    }
    context.out.text(&text)
}

/// The reason of a session's pause, with its breakpoint: `b3 function plan`, `pause("here")`.
fn reason(session: &ReplSession) -> String {
    let why = match &session.hit {
        Some(hit) => Some(format!("{} {}", hit.kind, hit.summary)),
        None => session.why.clone(),
    };
    let words = session
        .breakpoint
        .map(|id| id.to_string())
        .into_iter()
        .chain(why.map(|why| render::clean(&why)));
    words.collect::<Vec<_>>().join(" ")
}

/// Shows a stored value, or writes its bytes to a file.
fn object(context: &ControlContext, cid: &str, save: Option<&std::path::Path>) -> CliResult<()> {
    let unknown = || CliError::not_found(format!("there is no value `{}`", render::clean(cid)));
    let control = context.existing()?.ok_or_else(unknown)?;
    let object = control.repls().object(cid)?.ok_or_else(unknown)?;
    if let Some(path) = save {
        std::fs::write(path, &object.bytes)
            .map_err(|error| CliError::failed(format!("{}: {error}", path.display())))?;
        return context.out.remark(&format!(
            "Wrote {} bytes. Nobody has read them: unpickling runs code.\n",
            object.size
        ));
    }
    let view: serde_json::Value = serde_json::from_str(&object.view).unwrap_or_default();
    if context.out.json {
        return out::answer(json!({ "cid": cid, "size": object.size, "view": view }));
    }
    context.out.text(&object::text(cid, object.size, &view))
}
