//! The state of `debug`: the call that it shows, and the others that are held.

use backstitch_control::{Control, Pause, PauseFilter, PauseId, PauseState, Subject};
use serde_json::{Value, json};

use super::typed::Typed;
use crate::cli::control::held_text::{self, HeldExtent};
use crate::cli::control::pauses;
use crate::cli::control::repl::{Interrupts, ReplLine, Talk};
use crate::cli::control_context::{CLIENT, ControlContext};
use crate::control::details::{self, Around};
use crate::control::predict::read_disk;
use crate::control::{shown, view};
use crate::render;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out::Out;
use crate::terminal::report::error_fields;

/// The next thing to do.
pub enum Next {
    /// Tell what becomes of the call, and show the one that is held now.
    Show(String),
    /// The decision was reported: show the call that is held now.
    Gone,
    /// Show another held call.
    Other(PauseId),
    /// Ask again.
    Ask,
    Quit,
}

/// The session of the REPL at a call.
pub struct Talking<'a> {
    pub pause: PauseId,
    pub talk: Talk<'a>,
    pub line: ReplLine,
}

pub struct Debugger<'a> {
    pub context: &'a ControlContext<'a>,
    pub control: Control,
    pub typed: Typed,
    /// The call as it was shown last: only that continues.
    pub shown: Option<(PauseId, String)>,
    pub session: Option<String>,
    /// An edit of a call's input that was not taken: the next `e` begins with it.
    pub rejected: Option<(PauseId, String)>,
    /// The call that the user wants to see.
    pub chosen: Option<PauseId>,
    pub talking: Option<Talking<'a>>,
    /// Ctrl-C, once a REPL has caught it.
    pub interrupts: Option<Interrupts>,
}

impl Debugger<'_> {
    pub(super) fn held(&self) -> CliResult<Vec<Pause>> {
        held(&self.control, self.session.as_deref())
    }

    /// Lists all held calls, with the numbers that show them.
    pub(super) fn list(&self) -> CliResult<()> {
        let held = self.held()?;
        if self.context.out.json {
            let all: Vec<_> = held.iter().map(view::pause).collect();
            return Self::answer(json!({ "pauses": all }));
        }
        for (number, pause) in (1..).zip(&held) {
            let line = pauses::line(self.context, pause);
            self.context.out.text(&format!("{number} {line}"))?;
        }
        Ok(())
    }

    /// Goes to the held call after this one.
    pub(super) fn other(&self, pause: &Pause) -> CliResult<Next> {
        let held = self.held()?;
        let after = held.iter().find(|other| other.id > pause.id);
        match after.or(held.first()) {
            Some(other) if other.id != pause.id => Ok(Next::Other(other.id)),
            _ => Err(CliError::refused("no other call is held")),
        }
    }

    /// Goes to a held call by its number in the list.
    pub(super) fn choose(&self, number: usize) -> CliResult<Next> {
        let held = self.held()?;
        let chosen = number.checked_sub(1).and_then(|at| held.get(at));
        let chosen = chosen.ok_or_else(|| {
            let count = render::plural(held.len(), "call is", "calls are");
            CliError::usage(format!("there is no call {number}: {count} held")).hint("l lists them")
        })?;
        Ok(Next::Other(chosen.id))
    }

    /// Writes a JSON document in a line.
    pub(super) fn answer(mut document: Value) -> CliResult<()> {
        document["schema"] = 1.into();
        Out::json_line(&document)
    }

    /// `told`: what becomes of the call.
    pub(super) fn tell_decided(&self, id: PauseId, told: &str) -> CliResult<()> {
        if !self.context.out.json {
            return self.context.out.remark(&format!("{told}\n"));
        }
        match self.control.pauses().get(id)? {
            Some(pause) => {
                let decision = pause.decision.as_ref();
                let outcome = decision.map(|decision| decision.outcome().name());
                Self::answer(json!({ "pause": view::pause(&pause), "outcome": outcome }))
            }
            None => Ok(()),
        }
    }

    /// Shows a call again, if it is another than the one that was shown.
    pub(super) fn show_anew(&mut self, pause: &Pause) -> CliResult<()> {
        let fingerprint = shown::now(pause, &read_disk).fingerprint;
        match &self.shown {
            Some((id, shown)) if *id == pause.id && *shown == fingerprint => Ok(()),
            _ => self.show(pause),
        }
    }

    pub(super) fn tell_error(&self, error: &CliError) -> CliResult<()> {
        if self.context.out.json {
            return Self::answer(error_fields(error));
        }
        self.context.out.note("error", &error.message);
        if let Some(hint) = &error.hint {
            self.context.out.note("hint", hint);
        }
        Ok(())
    }

    pub(super) fn show(&mut self, pause: &Pause) -> CliResult<()> {
        let shown = details::details(pause, Around::default(), &read_disk);
        self.shown = Some((pause.id, shown.fingerprint.clone()));
        if self.context.out.json {
            let shown = serde_json::to_value(&shown)
                .map_err(|error| CliError::failed(error.to_string()))?;
            Self::answer(shown)?;
            self.typed.forget();
            return Ok(());
        }
        let extent = if pause.draft.is_some() {
            HeldExtent::WithInput
        } else {
            HeldExtent::Short
        };
        let text = held_text::text(&shown, extent, self.context.out.paint);
        self.context.out.text(&text)?;
        let others = self.held()?.len().saturating_sub(1);
        let keys = if pause.call.subject == Subject::Proposal {
            "c rewind · d deny · h help\n"
        } else {
            "c continue · n step · d deny · k skip · e edit · p REPL · h help\n"
        };
        self.context.out.remark(keys)?;
        if others > 0 {
            let more = render::plural(others, "more call is", "more calls are");
            let more = format!("{more} held: l lists, Tab shows the next\n");
            self.context.out.remark(&more)?;
        }
        self.typed.forget();
        Ok(())
    }

    pub(super) fn say_help(&self, help: &str) -> CliResult<()> {
        if self.context.out.json {
            return Self::answer(json!({ "help": help }));
        }
        self.context.out.text(help)
    }
}

/// The name with which this process sees calls.
pub fn face() -> String {
    format!("{CLIENT} {}", std::process::id())
}

/// Returns the held calls of a session, or all, the oldest first.
pub fn held(control: &Control, session: Option<&str>) -> CliResult<Vec<Pause>> {
    let mut held = control.pauses().list(PauseFilter::Open)?;
    held.retain(|pause| pause.state == PauseState::Held && pauses::is_of(pause, session));
    held.sort_by_key(|pause| pause.id);
    Ok(held)
}
