//! `debug`: waits for held calls, shows each, and decides by one key, as a debugger in a terminal does. A script writes
//! the same keys to its stdin, a line for each, and reads one JSON document per line with `--json`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use backstitch_control::{
    Control, Decided, Pause, PauseDecision, PauseFilter, PauseId, PauseState, Subject, Undone,
};
use backstitch_core::restore::OnConflict;
use backstitch_core::{Engine, Workspace, launch};
use clap::Args;
use rustyline::ExternalPrinter;
use serde_json::{Value, json};

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides};
use crate::cli::complete;
use crate::cli::control::decide::{self, StepHow};
use crate::cli::control::held_text::{self, HeldExtent};
use crate::cli::control::pauses;
use crate::cli::control::typed_keys::Typed;
use crate::cli::control_context::{ControlContext, FACE};
use crate::control::acts::{self, Back, GoOnObstacle, GoingOn, OwnEditor};
use crate::control::details::{self, Around};
use crate::control::predict::read_disk;
use crate::control::{shown, view, words};
use crate::opening;
use crate::render::{self, DIM};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out::Out;
use crate::terminal::report::error_fields;

/// Interval at which it looks for held calls.
const WAIT: Duration = Duration::from_millis(100);
const HELP: &str = "\
c  continue: run the call               d [REASON]  deny it, with a reason for the model
n  step: run it, hold the next call      k  skip it; the agent continues without it
s  step into: hold the next of any thread  b [N]  revert the last N steps, and deny it
o  step out of the subagent, or the turn  x [REASON]  deny it, and end the turn
e  edit its input in $EDITOR             i TEXT  tell the model something
r  show it again                         q  quit; it stays held
u  drop an edit that was not taken
c! n! s! o!  the same with a changed input that the tool will refuse
";

/// Step through held calls interactively
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch breakpoint add path 'src/**'\n  backstitch debug\n\n\
        A script writes one key per line. Lines that come early decide on the next calls, in order. A line that \
        fails ends it with an error: no later line is carried out. With --json each answer is a document in one line.\n\n\
        Keys: c continue, n step, s step into, o step out, d deny, k skip, b revert steps, x end the turn, q quit. \
        Also: e edit the input, u drop an edit that was not taken, i tell the model, r show again."
)]
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

/// The next thing to do.
enum Next {
    /// Tell what becomes of the call, and show the one that is held now.
    Show(String),
    /// Ask again.
    Ask,
    Quit,
}

/// A look at a held call while its prompt stands. Ends when it is dropped.
struct PromptWatch {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PromptWatch {
    fn start(
        workspace: Workspace,
        id: PauseId,
        mut printer: impl ExternalPrinter + Send + 'static,
    ) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let watch = move || {
            let Ok(Some(control)) = Control::open_existing(&workspace) else {
                return;
            };
            let news = control.watch();
            while !ends.load(Ordering::Relaxed) {
                match control.pauses().get(id) {
                    Ok(Some(pause)) if pause.state != PauseState::Held => {
                        let summary = shown::summary(&pause);
                        let (state, by) = (words::state(&pause), pause.decider());
                        let told = format!(
                            "{id}: {summary} was decided elsewhere: {state}, {by}. Enter continues.\n"
                        );
                        let _ = printer.print(told);
                        return;
                    }
                    Ok(_) => news.wait(Instant::now().checked_add(WAIT)),
                    Err(_) => return,
                }
            }
        };
        let thread = std::thread::Builder::new().spawn(watch).ok();
        Self { is_over, thread }
    }
}

impl Drop for PromptWatch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Debugger<'a> {
    context: &'a ControlContext<'a>,
    control: Control,
    typed: Typed,
    /// The call as it was shown last: only that continues.
    shown: Option<(PauseId, String)>,
    session: Option<String>,
    /// An edit of a call's input that was not taken: the next `e` begins with it.
    rejected: Option<(PauseId, String)>,
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
        typed: Typed::new()?,
        shown: None,
        session: context.known_session(options.session.as_deref())?,
        rejected: None,
    };
    while let Some(pause) = debugger.next_held()? {
        debugger.show(&pause)?;
        loop {
            let watch = debugger.watch(pause.id);
            let line = debugger.typed.next(&format!("({}) ", pause.id));
            drop(watch);
            let Some(line) = line? else {
                return Ok(());
            };
            // its input may have been changed elsewhere
            let now = debugger.control.pauses().get(pause.id)?;
            let now = now.unwrap_or_else(|| pause.clone());
            match debugger.act(&now, line.trim()) {
                Ok(Next::Show(told)) => break debugger.tell_decided(pause.id, &told)?,
                Ok(Next::Ask) => {}
                Ok(Next::Quit) => return Ok(()),
                Err(error) => {
                    let now = debugger.control.pauses().get(pause.id)?;
                    let held = now.filter(|now| now.state == PauseState::Held);
                    if matches!(debugger.typed, Typed::Lines { .. }) {
                        return Err(ended(error, line.trim(), held.as_ref()));
                    }
                    debugger.tell_error(&error)?;
                    match held {
                        Some(now) => debugger.show_anew(&now)?,
                        None => break,
                    }
                }
            }
        }
    }
    Ok(())
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
    /// Writes a JSON document in a line.
    fn answer(mut document: Value) -> CliResult<()> {
        document["schema"] = 1.into();
        Out::json_line(&document)
    }

    /// `told`: what becomes of the call.
    fn tell_decided(&self, id: PauseId, told: &str) -> CliResult<()> {
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
    fn show_anew(&mut self, pause: &Pause) -> CliResult<()> {
        let fingerprint = shown::now(pause, &read_disk).fingerprint;
        match &self.shown {
            Some((id, shown)) if *id == pause.id && *shown == fingerprint => Ok(()),
            _ => self.show(pause),
        }
    }

    /// Tells above the prompt of a terminal if the call is decided elsewhere meanwhile.
    fn watch(&mut self, id: PauseId) -> Option<PromptWatch> {
        let Typed::Terminal(editor) = &mut self.typed else {
            return None;
        };
        let printer = editor.create_external_printer().ok()?;
        let workspace = self.context.workspace.clone();
        Some(PromptWatch::start(workspace, id, printer))
    }

    fn tell_error(&self, error: &CliError) -> CliResult<()> {
        if self.context.out.json {
            return Self::answer(error_fields(error));
        }
        self.context.out.note("error", &error.message);
        if let Some(hint) = &error.hint {
            self.context.out.note("hint", hint);
        }
        Ok(())
    }

    /// Waits for a call that is held. None: nobody can decide on one any longer.
    fn next_held(&mut self) -> CliResult<Option<Pause>> {
        let mut is_told = false;
        let news = self.control.watch();
        loop {
            let held = self.control.pauses().list(PauseFilter::Open)?;
            let session = self.session.as_deref();
            let held = held
                .into_iter()
                .find(|pause| pause.state == PauseState::Held && pauses::is_of(pause, session));
            if let Some(pause) = held {
                let face = format!("{FACE} {}", std::process::id());
                self.control.pauses().acknowledge(pause.id, &face)?;
                return Ok(Some(pause));
            }
            if self.typed.is_over() {
                return Ok(None);
            }
            if !is_told {
                let text = "Waiting for a held call. Ctrl-C ends it.\n";
                self.context
                    .out
                    .remark(&self.context.out.paint.on(DIM, text))?;
                is_told = true;
            }
            news.wait(Instant::now().checked_add(WAIT));
        }
    }

    fn show(&mut self, pause: &Pause) -> CliResult<()> {
        let shown = details::details(pause, Around::default(), &read_disk);
        self.shown = Some((pause.id, shown.fingerprint.clone()));
        if self.context.out.json {
            let shown = serde_json::to_value(&shown)
                .map_err(|error| CliError::failed(error.to_string()))?;
            return Self::answer(shown);
        }
        let extent = if pause.draft.is_some() {
            HeldExtent::WithInput
        } else {
            HeldExtent::Short
        };
        let text = held_text::text(&shown, extent, self.context.out.paint);
        self.context.out.text(&text)?;
        let keys = if pause.call.subject == Subject::Proposal {
            "c rewind · d deny · h help\n"
        } else {
            "c continue · n step · d deny · k skip · e edit · h help\n"
        };
        self.context.out.remark(keys)
    }

    fn act(&mut self, pause: &Pause, line: &str) -> CliResult<Next> {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        let (key, force) = match key.strip_suffix('!') {
            Some(key @ ("c" | "continue" | "n" | "step" | "s" | "o")) => (key, true),
            _ => (key, false),
        };
        let message = || (!rest.is_empty()).then(|| rest.to_owned());
        let decision = match key {
            "c" | "continue" => return self.go_on(pause, None, force),
            "n" | "step" => return self.go_on(pause, Some(StepHow::Over), force),
            "s" => return self.go_on(pause, Some(StepHow::Into), force),
            "o" => return self.go_on(pause, Some(StepHow::Out), force),
            "d" | "deny" => PauseDecision::Deny {
                message: message().unwrap_or_else(words::refused),
            },
            "k" | "skip" => PauseDecision::Skip,
            "x" | "stop" => PauseDecision::Stop { message: message() },
            "b" | "back" => return self.back(pause, rest),
            "e" | "edit" => {
                self.edit(pause)?;
                let now = self.control.pauses().get(pause.id)?;
                self.show(now.as_ref().unwrap_or(pause))?;
                return Ok(Next::Ask);
            }
            "u" => {
                let dropped = self.rejected.take_if(|(id, _)| *id == pause.id);
                if dropped.is_none() {
                    let message = format!("no edit of {} waits to be taken", pause.id);
                    return Err(CliError::usage(message).hint("e edits its input"));
                }
                self.show(pause)?;
                return Ok(Next::Ask);
            }
            "i" | "inject" => {
                let (agent, session) = (&pause.call.agent, &pause.call.session);
                self.control
                    .messages()
                    .inject(Some(agent), Some(session), rest, FACE)?;
                return Ok(Next::Ask);
            }
            "r" => {
                self.show(pause)?;
                return Ok(Next::Ask);
            }
            "q" | "quit" => return Ok(Next::Quit),
            "" if pause.state != PauseState::Held => {
                let (state, by) = (words::state(pause), pause.decider());
                return Ok(Next::Show(format!("{}: {state}, {by}", pause.id)));
            }
            "" => return Ok(Next::Ask),
            "h" | "help" | "?" => {
                if self.context.out.json {
                    Self::answer(json!({ "help": HELP }))?;
                } else {
                    self.context.out.text(HELP)?;
                }
                return Ok(Next::Ask);
            }
            other => {
                return Err(CliError::usage(format!(
                    "`{}` is not a key here",
                    render::clean(other)
                ))
                .hint("h lists the keys"));
            }
        };
        self.decide(pause, &decision)
    }

    fn decide(&mut self, pause: &Pause, decision: &PauseDecision) -> CliResult<Next> {
        let summary = shown::summary(pause);
        let undone = self
            .control
            .pauses()
            .decide(pause.id, decision, None, FACE)?;
        let decided = self.carried_out(undone)?;
        let told = decide::told(pause, &summary, &decided.decision, None);
        Ok(Next::Show(told))
    }

    fn carried_out(&self, undone: Undone) -> CliResult<Decided> {
        decide::carried_out(&self.control, &self.context.workspace, undone)
    }

    /// Lets the call continue as it was shown.
    fn go_on(&mut self, pause: &Pause, step: Option<StepHow>, force: bool) -> CliResult<Next> {
        if self
            .rejected
            .as_ref()
            .is_some_and(|(id, _)| *id == pause.id)
        {
            let message = format!("your edit of {} was not taken, and would not run", pause.id);
            return Err(CliError::refused(message).hint("e continues with it; u drops it"));
        }
        let shown = self.shown.clone().filter(|(id, _)| *id == pause.id);
        let wish = GoingOn {
            input: None,
            fingerprint: shown.map(|(_, fingerprint)| fingerprint),
            force,
        };
        let refused = |obstacle: GoOnObstacle| match obstacle {
            GoOnObstacle::Stale => CliError::refused(format!(
                "the input of {} or its files changed since it was shown",
                pause.id
            ))
            .hint("look at it as it is now"),
            GoOnObstacle::Input(problem) => {
                CliError::refused(problem.reason).hint("e edits it again; c! sends it as it is")
            }
            obstacle @ GoOnObstacle::Error(_) => decide::refusal(pause, obstacle),
        };
        let goes_on = acts::going_on(pause, &wish).map_err(refused)?;
        let until = step.and_then(|how| acts::step_until(pause, decide::how_name(how)));
        let decided = acts::go_on(&self.control, pause, &goes_on, until.as_ref(), FACE);
        let decided = self.carried_out(decided.map_err(refused)?)?;
        let summary = &goes_on.shown.summary;
        Ok(Next::Show(decide::told(
            pause,
            summary,
            &decided.decision,
            step,
        )))
    }

    fn back(&mut self, pause: &Pause, typed: &str) -> CliResult<Next> {
        let steps = match typed {
            "" => 1,
            number => number.parse().map_err(|_| {
                CliError::usage(format!(
                    "`{}` is not a number of steps",
                    render::clean(number)
                ))
            })?,
        };
        let workspace = &self.context.workspace;
        let mut engine = Engine::open_with(workspace, opening::COMMAND.existing())?;
        let summary = shown::summary(pause);
        let back = Back {
            steps,
            on_conflict: OnConflict::Fail,
            face: FACE,
        };
        let editor = OwnEditor::default();
        let (undone, _) = acts::back(&mut engine, &self.control, pause, &back, &editor)?;
        let decided = self.carried_out(undone)?;
        let told = decide::told(pause, &summary, &decided.decision, None);
        Ok(Next::Show(told))
    }

    /// Has the user edit the input as JSON. A text that is not taken is kept for the next edit.
    fn edit(&mut self, pause: &Pause) -> CliResult<()> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            CliError::failed(format!("{what}: {error}"))
        };
        if matches!(self.typed, Typed::Lines { .. }) {
            let hint = format!(
                "`backstitch resume {} --input FILE` continues with another input",
                pause.id
            );
            return Err(CliError::usage("an editor needs a terminal").hint(hint));
        }
        pause.check_changeable()?;
        let input = shown::input(pause);
        let kept = self.rejected.as_ref().filter(|(id, _)| *id == pause.id);
        let begun = match kept {
            Some((_, text)) => text.clone(),
            None => serde_json::to_string_pretty(&input).unwrap_or_default() + "\n",
        };
        let file = tempfile::Builder::new()
            .prefix("backstitch-input-")
            .suffix(".json")
            .tempfile()
            .map_err(|error| failed("a file for the input", &error))?;
        std::fs::write(file.path(), &begun)
            .map_err(|error| failed("a file for the input", &error))?;
        let editor = std::env::var("VISUAL")
            .or_else(|_| std::env::var("EDITOR"))
            .unwrap_or_else(|_| "vi".to_owned());
        let status = launch::shell(&format!("{editor} \"$1\""))
            .arg("sh")
            .arg(file.path())
            .status()
            .map_err(|error| failed(&editor, &error))?;
        let bytes =
            std::fs::read(file.path()).map_err(|error| failed("the changed input", &error))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let taken = if status.success() {
            serde_json::from_slice(&bytes)
                .map_err(|error| CliError::usage(format!("the changed input is not JSON: {error}")))
                .and_then(|input: Value| {
                    acts::set_input(&self.control, pause, Some(input), FACE)?;
                    Ok(())
                })
        } else {
            Err(CliError::failed(format!("{editor} failed")))
        };
        let Err(error) = taken else {
            self.rejected = None;
            return Ok(());
        };
        if text != begun {
            self.rejected = Some((pause.id, text));
        }
        let is_kept = self
            .rejected
            .as_ref()
            .is_some_and(|(id, _)| *id == pause.id);
        Err(if is_kept {
            CliError {
                message: format!("{}. Your edit was not taken", error.message),
                ..error
            }
            .hint("e continues with your text; u drops it, and the input stays as it was")
        } else {
            CliError {
                message: format!("{}; the input stays as it was", error.message),
                ..error
            }
        })
    }
}
