//! `repl`: evaluates inputs at a pause, and lists earlier sessions with their transcripts.

mod output;
mod talk;
mod typed;
mod words;

use backstitch_control::{Control, PauseId, ReplFilter, ReplSession};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use self::output::output;
use self::talk::talk;
pub use self::talk::{Interrupts, Talk};
pub use self::typed::{ReplLine, failed};
pub use self::words::Went;

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides, reads};
use crate::cli::control_context::ControlContext;
use crate::control::{object, view};
use crate::query::when::{self, End};
use crate::render::{self, BLUE, BOLD, DIM, GREEN, PLAIN};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::line::TextLine;
use crate::terminal::out;

/// Entries that are read at once.
const ALL: usize = 100_000;
/// Columns of a prompt in a list.
const MAX_PROMPT: usize = 30;

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
        None => talk(context, options.pause.as_deref(), &options.eval),
    }
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
        let letter = session.letter.iter().map(|letter| format!("{letter} "));
        let prompt = session.prompt.iter().map(|prompt| {
            let shown = render::cut(&render::clean(prompt), MAX_PROMPT);
            format!("“{shown}”")
        });
        let about = letter.chain(prompt).collect::<String>();
        let line = TextLine::new()
            .column(PLAIN, &session.pause.to_string(), 5)
            .column(
                if is_open { GREEN } else { DIM },
                if is_open { "active" } else { "closed" },
                7,
            )
            .add(BOLD, render::clean(&session.function))
            .add(PLAIN, format!("  {about}").trim_end().to_owned())
            .add(
                DIM,
                format!(
                    "  {}  {}",
                    reason(session),
                    render::plural(entries, "line", "lines")
                ),
            )
            .right(format!(
                "{}  {}",
                context.out.paint.ago(session.started),
                session.id
            ));
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
        text.push_str(&output(context.out.paint, entry, None));
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
