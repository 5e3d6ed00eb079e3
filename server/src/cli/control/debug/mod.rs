//! `debug`: waits for held calls, shows each, and decides by one key, as a debugger in a terminal does. A script writes
//! the same keys to its stdin, a line for each, and reads one JSON document per line with `--json`.

mod acts;
mod debugger;
mod edit;
mod table;
mod typed;

use std::time::{Duration, Instant};

use backstitch_control::{Pause, PauseId, PauseState, Subject};
use clap::Args;

use self::debugger::{Debugger, Next, face, held};
use self::table::TypedKey;
use self::typed::{Input, Typed};
use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides};
use crate::cli::complete;
use crate::cli::control::pauses;
use crate::cli::control::repl::Interrupts;
use crate::cli::control_context::ControlContext;
use crate::control::{shown, words};
use crate::render::{self, DIM};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::questions;

/// Interval at which it looks for held calls.
const WAIT: Duration = Duration::from_millis(100);
/// Looks between two that ask for calls whose agent has died, which nobody reports.
const LOST_EVERY: u32 = 10;

/// Step through held calls interactively
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct DebugArgs {
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
}

impl TerminalCommand for DebugArgs {
    fn declared(&self) -> DeclaredCommand {
        decides("debug")
    }
}

impl OnCalls for DebugArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        run(context, &self)
    }
}

fn after_help() -> String {
    let keys = table::help();
    let keys: Vec<String> = keys.lines().map(|line| format!("  {line}")).collect();
    format!(
        "Examples:\n  backstitch breakpoint add path 'src/**'\n  backstitch debug\n\n\
        Keys, without Enter at a terminal:\n{}\n\n\
        A script writes one key per line, with what follows it. Lines that come early decide on the next calls, in \
        order. A line that fails ends it with an error: no later line is carried out. With --json each answer is a \
        document in one line.",
        keys.join("\n")
    )
}

fn run(context: &ControlContext, options: &DebugArgs) -> CliResult<()> {
    debug(context, options).map_err(|error| CliError {
        is_line: true,
        ..error
    })
}

fn debug(context: &ControlContext, options: &DebugArgs) -> CliResult<()> {
    let mut debugger = Debugger {
        context,
        control: context.create()?,
        typed: Typed::new(table::line_of),
        shown: None,
        session: context.known_session(options.session.as_deref())?,
        rejected: None,
        chosen: None,
        talking: None,
        interrupts: None,
    };
    let outcome = debugger.run();
    debugger.end_talk()?;
    outcome
}

/// Ends a script at the first line that fails: the lines after it may have been written before anyone saw the failure.
fn ended(error: CliError, line: &str, held: Option<&Pause>) -> CliError {
    let line = render::cut(&render::clean(line), 30);
    let (stays, next) = match held {
        Some(pause) => (
            format!(", and {} stays held", pause.id),
            "`backstitch debug` shows it again",
        ),
        None => (String::new(), "`backstitch debug` shows the next held call"),
    };
    CliError {
        message: format!(
            "{}. No line after `{line}` was carried out{stays}",
            error.message
        ),
        hint: Some(
            error
                .hint
                .map_or_else(|| next.to_owned(), |hint| format!("{hint}; {next}")),
        ),
        ..error
    }
}

impl Debugger<'_> {
    fn run(&mut self) -> CliResult<()> {
        while let Some(pause) = self.next_held()? {
            self.show(&pause)?;
            if !self.until_decided(&pause)? {
                break;
            }
        }
        Ok(())
    }

    /// Carries out keys at a call until another one is shown. False: the user leaves.
    fn until_decided(&mut self, pause: &Pause) -> CliResult<bool> {
        loop {
            let line = match self.prompt(pause)? {
                Input::Line(line) => line,
                Input::News(decided) => {
                    self.tell_decided_elsewhere(&decided)?;
                    return Ok(true);
                }
                Input::End => return Ok(false),
            };
            // its input may have been changed elsewhere
            let now = self.control.pauses().get(pause.id)?;
            let now = now.unwrap_or_else(|| pause.clone());
            let next = self.act(&now, line.trim());
            if self.interrupts.as_ref().is_some_and(Interrupts::take) {
                self.say_interrupted(pause.id)?;
                return Ok(false);
            }
            match next {
                Ok(Next::Show(told)) => {
                    self.tell_decided(pause.id, &told)?;
                    return Ok(true);
                }
                Ok(Next::Gone) => return Ok(true),
                Ok(Next::Other(id)) => {
                    self.chosen = Some(id);
                    return Ok(true);
                }
                Ok(Next::Ask) => {}
                Ok(Next::Quit) => return Ok(false),
                Err(error) => {
                    let now = self.control.pauses().get(pause.id)?;
                    let held = now.filter(|now| now.state == PauseState::Held);
                    if !self.typed.is_terminal() {
                        return Err(ended(error, line.trim(), held.as_ref()));
                    }
                    self.tell_error(&error)?;
                    match held {
                        Some(now) => self.show_anew(&now)?,
                        None => return Ok(true),
                    }
                }
            }
        }
    }

    /// Ctrl-C ends `debug`, also while a decision is carried out.
    fn say_interrupted(&self, id: PauseId) -> CliResult<()> {
        let now = self.control.pauses().get(id)?;
        let is_held = now.is_some_and(|now| now.is_open());
        let text = if is_held {
            format!("{id} stays held. `backstitch debug` shows it again.\n")
        } else {
            format!("The decision on {id} stands. `backstitch pauses --all` shows its outcome.\n")
        };
        self.context.out.remark(&text)
    }

    /// Waits for a key at a call. The news is that the call was decided elsewhere.
    fn prompt(&mut self, pause: &Pause) -> CliResult<Input<Pause>> {
        let id = pause.id;
        let prompt = format!("({id}) ");
        let mut others = self.held()?;
        let Self {
            typed,
            control,
            context,
            session,
            ..
        } = self;
        let (mut seq, mut looks) = (None, 0);
        typed.next(&prompt, || {
            looks += 1;
            if looks % LOST_EVERY == 0 {
                control.pauses().notice_lost()?;
            }
            let now = control.seq()?;
            if seq == Some(now) {
                return Ok(None);
            }
            seq = Some(now);
            let all = held(control, session.as_deref())?;
            for new in &all {
                let is_new = others.iter().all(|other| other.id != new.id);
                if is_new && new.id != id {
                    control.pauses().acknowledge(new.id, &face())?;
                    questions::empty_line()?;
                    context.out.text(&pauses::line(context, new))?;
                    questions::prompt(&prompt)?;
                }
            }
            let is_held = all.iter().any(|one| one.id == id);
            others = all;
            if is_held {
                return Ok(None);
            }
            // its end is known once its holder has carried the decision out
            let now = control.pauses().get(id)?;
            Ok(now.filter(|pause| pause.state != PauseState::Decided))
        })
    }

    fn tell_decided_elsewhere(&self, pause: &Pause) -> CliResult<()> {
        let summary = shown::summary(pause);
        let (state, by) = (words::state(pause), pause.decider());
        let told = format!(
            "{}: {summary} was decided elsewhere: {state}, {by}",
            pause.id
        );
        self.tell_decided(pause.id, &told)
    }

    /// Waits for a call that is held. None: the user leaves, or nobody can decide on one any longer.
    fn next_held(&mut self) -> CliResult<Option<Pause>> {
        let mut is_said = self.typed.is_over();
        let news = self.control.watch();
        let found = loop {
            let Self {
                typed,
                control,
                context,
                session,
                chosen,
                ..
            } = self;
            let chosen = chosen.take();
            // said once the terminal sends keys: a Ctrl-C that answers it is one of them
            let next = || {
                let found = first(held(control, session.as_deref())?, chosen);
                if found.is_none() && !std::mem::replace(&mut is_said, true) {
                    let text = "Waiting for a held call. q or Ctrl-C ends it.\n";
                    context.out.remark(&context.out.paint.on(DIM, text))?;
                }
                Ok(found)
            };
            if !typed.is_terminal() {
                let mut next = next;
                if let Some(pause) = next()? {
                    break pause;
                }
                if typed.is_over() {
                    return Ok(None);
                }
                news.wait(Instant::now().checked_add(WAIT));
                continue;
            }
            match typed.next("", next)? {
                Input::News(pause) => break pause,
                Input::End => return Ok(None),
                Input::Line(line) => match &*line {
                    "q" => return Ok(None),
                    "h" | "?" => self.say_help(&table::help())?,
                    _ => {}
                },
            }
        };
        // the others are named beside it
        for pause in self.held()? {
            self.control.pauses().acknowledge(pause.id, &face())?;
        }
        Ok(Some(found))
    }

    fn act(&mut self, pause: &Pause, line: &str) -> CliResult<Next> {
        if line.is_empty() {
            if pause.state == PauseState::Held {
                return Ok(Next::Ask);
            }
            let (state, by) = (words::state(pause), pause.decider());
            return Ok(Next::Show(format!("{}: {state}, {by}", pause.id)));
        }
        if acts::is_input(line) {
            return self.evaluate(pause, line);
        }
        if let Ok(number) = line.parse() {
            return self.choose(number);
        }
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let Some((key, force)) = table::find(name) else {
            let message = format!("`{}` is not a key here", render::clean(name));
            return Err(CliError::usage(message).hint("h lists the keys"));
        };
        let mut rest = rest.trim().to_owned();
        if let Some((question, begun)) = key.asks.filter(|_| self.typed.is_terminal()) {
            questions::take_echo_back()?;
            let question = format!("({}) {question}", pause.id);
            match self.typed.ask(&question, begun)? {
                Some(answer) => answer.trim().clone_into(&mut rest),
                None => return Ok(Next::Ask),
            }
        }
        (key.run)(self, pause, &TypedKey { rest: &rest, force })
    }
}

/// Returns the call that was chosen, or the oldest. A program may be paused for long, and hides no agent.
fn first(mut held: Vec<Pause>, chosen: Option<PauseId>) -> Option<Pause> {
    held.sort_by_key(|pause| {
        let is_chosen = Some(pause.id) == chosen;
        (!is_chosen, pause.call.subject == Subject::Program, pause.id)
    });
    held.into_iter().next()
}
