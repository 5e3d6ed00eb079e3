//! `pauses`: the calls that are held now, or as they come.

use std::time::Duration;

use backstitch_control::{Attempt, Hit, Pause, PauseFilter, PauseId, PauseState, place};
use clap::Args;
use serde_json::{Value, json};

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, reads};
use crate::cli::complete;
use crate::cli::control_context::{CLIENT, ControlContext};
use crate::control::{shown, view, words};
use crate::render::{self, BOLD, DIM, PLAIN, Paint, RED, YELLOW};
use crate::safeguards;
use crate::terminal::error::CliResult;
use crate::terminal::line::TextLine;
use crate::terminal::out;

/// Time for which `pauses` warns of a call that ran unasked, in microseconds.
pub const SLIPPED: i64 = 24 * 3600 * 1_000_000;
/// Calls that breakpoints denied, as `pauses --all` and `show` list them.
pub const DENIED: usize = 50;
/// Time in which `pauses --watch` lets an act come to its end.
const SETTLE: Duration = Duration::from_millis(50);

/// List the calls that are held now
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch pauses\n  backstitch pauses --watch\n  backstitch pauses --all --json"
)]
pub struct PausesArgs {
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// List ended ones, too
    #[arg(long)]
    pub all: bool,
    /// Show new ones as they come, until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

impl TerminalCommand for PausesArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("pauses")
    }
}

impl OnCalls for PausesArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        pauses(context, &self)
    }
}

fn pauses(context: &ControlContext, options: &PausesArgs) -> CliResult<()> {
    if options.watch {
        return watch(context, options);
    }
    let filter = if options.all {
        PauseFilter::All
    } else {
        PauseFilter::Open
    };
    let all = match context.existing()? {
        Some(control) => control.pauses().list(filter)?,
        None => Vec::new(),
    };
    let session = context.known_session(options.session.as_deref())?;
    let denied = match context.existing()? {
        Some(control) if options.all => control.hits().denied(session.as_deref(), None, DENIED)?,
        _ => Vec::new(),
    };
    let is_wanted = |pause: &&Pause| is_of(pause, session.as_deref());
    let all: Vec<&Pause> = all.iter().filter(is_wanted).collect();
    let attempts = safeguards::recent_attempts(&context.workspace);
    if context.out.json {
        let seq = context
            .existing()?
            .map(|control| control.seq())
            .transpose()?;
        let all: Vec<_> = all.iter().map(|pause| view::pause(pause)).collect();
        let attempts: Vec<_> = attempts.iter().map(attempt_json).collect();
        let seq = seq.unwrap_or(0);
        if !options.all {
            return out::answer(json!({ "seq": seq, "pauses": all, "attempts": attempts }));
        }
        let breakpoints = match context.existing()? {
            Some(control) => control.breakpoints().all()?,
            None => Vec::new(),
        };
        let denied: Vec<_> = denied
            .iter()
            .map(|hit| view::hit(hit, &breakpoints))
            .collect();
        return out::answer(json!({
            "seq": seq, "pauses": all, "denied": denied, "attempts": attempts,
        }));
    }
    if all.is_empty() && denied.is_empty() {
        context.out.text("No call is held.\n")?;
    }
    let lines = all.iter().map(|pause| line(context, pause));
    let text: String = lines.collect();
    context.out.text(&text)?;
    let lines = denied.iter().map(|hit| denied_line(hit, context.out.paint));
    context.out.text(&lines.collect::<String>())?;
    let hidden = if options.all {
        0
    } else {
        attempts.len().saturating_sub(1)
    };
    for attempt in &attempts[hidden..] {
        let said = words::attempt(attempt);
        let ago = context.out.paint.ago(attempt.time);
        context.out.note("warning", &format!("{ago}, {said}"));
    }
    if !options.all {
        tell_slipped(context, session.as_deref())?;
    }
    Ok(())
}

fn attempt_json(attempt: &Attempt) -> Value {
    json!({
        "command": attempt.command,
        "face": attempt.face,
        "reason": attempt.reason,
        "time": crate::to_protocol::time(attempt.time),
    })
}

/// A call that a breakpoint denied by itself.
pub fn denied_line(hit: &Hit, paint: Paint) -> String {
    TextLine::new()
        .column(BOLD, &hit.breakpoint.to_string(), 5)
        .column(DIM, "denied", 10)
        .add(BOLD, render::clean(&hit.tool))
        .add(DIM, format!("  {}  {}", hit.agent, render::clean(&hit.why)))
        .right(paint.ago(hit.time))
        .draw(paint)
}

/// Warns of calls that ran unasked within the last day.
fn tell_slipped(context: &ControlContext, session: Option<&str>) -> CliResult<()> {
    let Some(control) = context.existing()? else {
        return Ok(());
    };
    let since = backstitch_control::now() - SLIPPED;
    for pause in control.pauses().list(PauseFilter::All)? {
        if pause.state == PauseState::Slipped && pause.made > since && is_of(&pause, session) {
            context.out.note(
                "warning",
                &format!(
                    "{} ran unasked {}: {}. `backstitch doctor` shows why",
                    pause.id,
                    context.out.paint.ago(pause.made),
                    shown::summary(&pause)
                ),
            );
        }
    }
    Ok(())
}

/// True if a call is of this session, named by its id or the beginning of it.
pub fn is_of(pause: &Pause, session: Option<&str>) -> bool {
    session.is_none_or(|session| pause.call.session.starts_with(session))
}

/// The row of a held call.
pub fn line(context: &ControlContext, pause: &Pause) -> String {
    let call = &pause.call;
    let row = shown::row(pause);
    let state = words::state(pause);
    let style = if pause.state.is_open() { YELLOW } else { DIM };
    let counts = words::counts(&row.files);
    let changed = pause.draft.as_ref().map_or_else(String::new, |draft| {
        format!("  changed in {}", render::clean(place(&draft.by)))
    });
    let turn = words::turn_of(pause);
    let turn = if turn.is_empty() {
        // two sessions that are not recorded yet are told apart all the same
        format!("session {}", render::cut(&render::clean(&call.session), 12))
    } else {
        turn
    };
    let error = call.error.as_deref().map_or_else(String::new, |error| {
        let line = error.lines().find(|line| !line.trim().is_empty());
        format!(
            "  {}",
            render::cut(&render::clean(line.unwrap_or_default()), 60)
        )
    });
    TextLine::new()
        .column(BOLD, &pause.id.to_string(), 5)
        .column(style, &state, 10)
        .add(BOLD, row.summary)
        .add(
            PLAIN,
            if counts.is_empty() {
                counts
            } else {
                format!("  {counts}")
            },
        )
        .add(YELLOW, changed)
        .add(RED, error)
        .add(
            DIM,
            format!("  {} {turn}  {}", call.agent, render::clean(&call.why)),
        )
        .right(context.out.paint.ago(pause.made))
        .draw(context.out.paint)
}

/// Shows held calls as they come. Each counts as seen.
fn watch(context: &ControlContext, options: &PausesArgs) -> CliResult<()> {
    let session = context.session(options.session.as_deref())?;
    let control = context.create()?;
    let face = format!("{CLIENT} {}", std::process::id());
    let mut shown: Vec<(PauseId, PauseState)> = Vec::new();
    let mut seq = None;
    let news = control.watch();
    loop {
        let now = control.seq()?;
        // a hook that died commits nothing
        let lost = control.pauses().notice_lost()?;
        if seq != Some(now) || !lost.is_empty() {
            let is_first = seq.is_none();
            seq = Some(now);
            for pause in control.pauses().list(PauseFilter::All)? {
                let state = (pause.id, pause.state);
                let is_old = is_first && !pause.state.is_open();
                let is_other = !is_of(&pause, session.as_deref());
                if shown.contains(&state) || is_other {
                    continue;
                }
                shown.retain(|(id, _)| *id != pause.id);
                shown.push(state);
                if is_old {
                    continue;
                }
                if context.out.json {
                    out::Out::json_line(&json!(view::pause(&pause)))?;
                } else {
                    context.out.text(&line(context, &pause))?;
                }
                if pause.state == PauseState::Held {
                    control.pauses().acknowledge(pause.id, &face)?;
                }
            }
        }
        news.wait(None);
        // the commits of one act are one piece of news
        std::thread::sleep(SETTLE);
    }
}
