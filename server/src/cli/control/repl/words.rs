//! The words of the terminal's REPL, such as `:resume`. They decide on the held call or the paused program; the other words of a
//! held call are evaluated where its input is.

use std::fmt::Write as _;

use backstitch_control::{Pause, PauseDecision, Subject};

use crate::cli::control::decide::{HeldArgs, InputArgs, continue_call, decide};
use crate::cli::control_context::ControlContext;
use crate::control::acts::StepHow;
use crate::control::{evaluate, words};
use crate::terminal::error::{CliError, CliResult};

/// Width of the first column of the help.
const COLUMN: usize = 19;

/// A word of the terminal's REPL. Its code returns true if the pause is over.
struct TerminalWord {
    names: &'static [&'static str],
    arguments: &'static str,
    summary: &'static str,
    run: fn(&ControlContext, &Pause, &str) -> CliResult<bool>,
}

const WORDS: [TerminalWord; 6] = [
    TerminalWord {
        names: &["resume", "c", "continue"],
        arguments: "",
        summary: "lets it run, with the changed input, and leaves",
        run: |context, pause, _| go(context, pause, None),
    },
    TerminalWord {
        names: &["step", "n"],
        arguments: " [HOW]",
        summary: "lets it run, and holds the next one: over, into, out, file, turn",
        run: step,
    },
    TerminalWord {
        names: &["deny", "d"],
        arguments: " [REASON]",
        summary: "refuses it, with a reason for the model",
        run: |context, pause, rest| {
            let message = if rest.is_empty() {
                words::refused()
            } else {
                rest.to_owned()
            };
            end(context, pause, &PauseDecision::Deny { message })
        },
    },
    TerminalWord {
        names: &["skip", "k"],
        arguments: "",
        summary: "skips it; the agent continues without it",
        run: |context, pause, _| end(context, pause, &PauseDecision::Skip),
    },
    TerminalWord {
        names: &["quit", "q"],
        arguments: "",
        summary: "leaves; it stays held. So does Ctrl-D",
        run: |_, _, _| Ok(true),
    },
    TerminalWord {
        names: &["help", "h", "?"],
        arguments: "",
        summary: "",
        run: |_, _, _| Ok(false),
    },
];

/// The help of these words.
fn help() -> String {
    let mut text = String::new();
    for word in WORDS.iter().filter(|word| !word.summary.is_empty()) {
        let form = format!(":{}{}", word.names[0], word.arguments);
        writeln!(text, "{form:COLUMN$}{}", word.summary).ok();
    }
    text + "Tab completes, ↑ brings earlier inputs back, Ctrl-C stops an evaluation.\n"
}

/// The words that complete, with their prefix: these, and those of a held call.
pub fn completions() -> Vec<String> {
    let own = WORDS.iter().map(|word| format!(":{}", word.names[0]));
    let of_call = evaluate::words().map(|name| format!(":{name}"));
    own.chain(of_call).collect()
}

/// The way on after an input.
pub enum Went {
    /// It is none of these words: it is evaluated.
    Evaluated,
    /// It was carried out.
    On,
    /// The conversation is over.
    Over,
}

/// Carries out an input that is one of these words.
pub fn run(context: &ControlContext, pause: &Pause, input: &str) -> CliResult<Went> {
    let Some(typed) = input.trim().strip_prefix(':') else {
        return Ok(Went::Evaluated);
    };
    let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let Some(word) = WORDS.iter().find(|word| word.names.contains(&name)) else {
        return if pause.call.subject == Subject::Program {
            Err(CliError::usage(format!("there is no `:{name}`")).hint(":help lists the words"))
        } else {
            Ok(Went::Evaluated)
        };
    };
    if word.names[0] == "help" {
        context.out.text(&help())?;
        // the rest of it is that of the call's own words
        return Ok(if pause.call.subject == Subject::Program {
            Went::On
        } else {
            Went::Evaluated
        });
    }
    let is_over = (word.run)(context, pause, rest.trim())?;
    Ok(if is_over { Went::Over } else { Went::On })
}

fn step(context: &ControlContext, pause: &Pause, rest: &str) -> CliResult<bool> {
    let how = match rest {
        "" => StepHow::Over,
        how => StepHow::named(how).map_err(|all| {
            let all = all.join(", ");
            CliError::usage(format!("`{how}` is none of {all}"))
        })?,
    };
    go(context, pause, Some(how))
}

fn go(context: &ControlContext, pause: &Pause, step: Option<StepHow>) -> CliResult<bool> {
    let id = pause.id.to_string();
    continue_call(context, (Some(&id), None), &InputArgs::default(), step)?;
    Ok(true)
}

fn end(context: &ControlContext, pause: &Pause, decision: &PauseDecision) -> CliResult<bool> {
    let held = HeldArgs {
        pause: Some(pause.id.to_string()),
        session: None,
    };
    decide(context, &held, decision)?;
    Ok(true)
}
