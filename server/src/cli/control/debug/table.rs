//! The keys of `debug`, each with its words, its question and its code.

use std::fmt::Write as _;

use backstitch_control::{Pause, PauseDecision};

use super::debugger::{Debugger, Next};
use crate::control::acts::StepHow;
use crate::control::words;
use crate::terminal::error::CliResult;
use crate::terminal::keys::KeyPress;

/// Width of the first column of the help.
const COLUMN: usize = 14;

/// A key as it was typed, with its text and `!`.
pub struct TypedKey<'a> {
    pub rest: &'a str,
    /// Send an input that the tool will refuse.
    pub force: bool,
}

impl TypedKey<'_> {
    fn message(&self) -> Option<String> {
        (!self.rest.is_empty()).then(|| self.rest.to_owned())
    }
}

pub struct DebugKey {
    /// The key, and words for it in a script.
    pub names: &'static [&'static str],
    /// The text that follows it in a script.
    argument: &'static str,
    /// The question for it at a terminal, and the text with which the answer begins.
    pub asks: Option<(&'static str, &'static str)>,
    /// True if `!` after it, or the large letter at a terminal, sends an input that the tool will refuse.
    takes_force: bool,
    summary: &'static str,
    pub run: fn(&mut Debugger, &Pause, &TypedKey) -> CliResult<Next>,
}

const fn plain(
    names: &'static [&'static str],
    summary: &'static str,
    run: fn(&mut Debugger, &Pause, &TypedKey) -> CliResult<Next>,
) -> DebugKey {
    DebugKey {
        names,
        argument: "",
        asks: None,
        takes_force: false,
        summary,
        run,
    }
}

const fn step(
    names: &'static [&'static str],
    summary: &'static str,
    run: fn(&mut Debugger, &Pause, &TypedKey) -> CliResult<Next>,
) -> DebugKey {
    DebugKey {
        takes_force: true,
        ..plain(names, summary, run)
    }
}

const KEYS: [DebugKey; 17] = [
    step(
        &["c", "continue"],
        "continue: run the call (F5)",
        |debugger, pause, typed| debugger.continue_call(pause, None, typed.force),
    ),
    step(
        &["n", "step"],
        "step: run it, hold the next call (F10)",
        |debugger, pause, typed| debugger.continue_call(pause, Some(StepHow::Over), typed.force),
    ),
    step(
        &["s"],
        "step into: run it, hold the next call of any thread (F11)",
        |debugger, pause, typed| debugger.continue_call(pause, Some(StepHow::Into), typed.force),
    ),
    step(
        &["o"],
        "step out of the subagent, or of the turn (Shift+F11)",
        |debugger, pause, typed| debugger.continue_call(pause, Some(StepHow::Out), typed.force),
    ),
    DebugKey {
        argument: " [REASON]",
        asks: Some(("reason for the model: ", "")),
        ..plain(
            &["d", "deny"],
            "deny it, with a reason for the model",
            |debugger, pause, typed| {
                let message = typed.message().unwrap_or_else(words::refused);
                debugger.decide(pause, &PauseDecision::Deny { message })
            },
        )
    },
    plain(
        &["k", "skip"],
        "skip it; the agent continues without it",
        |debugger, pause, _| debugger.decide(pause, &PauseDecision::Skip),
    ),
    DebugKey {
        argument: " [N]",
        asks: Some(("steps to revert: ", "1")),
        ..plain(
            &["b", "back"],
            "revert the last N steps, and deny it",
            |debugger, pause, typed| debugger.back(pause, typed.rest),
        )
    },
    DebugKey {
        argument: " [REASON]",
        asks: Some(("end the turn, with a reason for the model: ", "")),
        ..plain(
            &["x", "stop"],
            "deny it, and end the turn",
            |debugger, pause, typed| {
                let message = typed.message();
                debugger.decide(pause, &PauseDecision::Stop { message })
            },
        )
    },
    plain(
        &["e", "edit"],
        "edit its input in $EDITOR",
        |debugger, pause, _| debugger.edit_input(pause),
    ),
    plain(
        &["u"],
        "drop an edit that was not taken",
        |debugger, pause, _| debugger.drop_edit(pause),
    ),
    DebugKey {
        argument: " TEXT",
        asks: Some(("text for the model: ", "")),
        ..plain(
            &["i", "inject"],
            "tell the model something",
            |debugger, pause, typed| debugger.inject(pause, typed.rest),
        )
    },
    plain(
        &["p", "repl"],
        "open the REPL; Ctrl-D comes back. !command, .jq and :word evaluate one input",
        |debugger, pause, _| debugger.converse(pause),
    ),
    plain(&["r"], "show it again", |debugger, pause, _| {
        debugger.show(pause).map(|()| Next::Ask)
    }),
    plain(
        &["l", "list"],
        "list all held calls; 1 to 9 shows one of them",
        |debugger, _, _| debugger.list().map(|()| Next::Ask),
    ),
    plain(
        &["Tab", "other"],
        "show the next held call",
        |debugger, pause, _| debugger.other(pause),
    ),
    plain(&["q", "quit"], "quit; it stays held", |_, _, _| {
        Ok(Next::Quit)
    }),
    plain(&["h", "help", "?"], "this help", |debugger, _, _| {
        debugger.say_help(&help()).map(|()| Next::Ask)
    }),
];

/// Returns the key of this name, and true if its input is sent as it is.
pub fn find(name: &str) -> Option<(&'static DebugKey, bool)> {
    let of = |name: &str| KEYS.iter().find(|key| key.names.contains(&name));
    if let Some(key) = of(name) {
        return Some((key, false));
    }
    let key = of(name.strip_suffix('!')?)?;
    key.takes_force.then_some((key, true))
}

/// Returns the line for which a key of a terminal stands.
pub fn line_of(key: KeyPress) -> Option<String> {
    let line = match key {
        KeyPress::Char(letter) => {
            let small = letter.to_ascii_lowercase().to_string();
            if letter.is_ascii_uppercase() && find(&small).is_some_and(|(key, _)| key.takes_force) {
                return Some(small + "!");
            }
            return Some(letter.to_string());
        }
        KeyPress::Tab => "Tab",
        KeyPress::Function(5) => "c",
        KeyPress::Function(10) => "n",
        KeyPress::Function(11) => "s",
        KeyPress::ShiftFunction(11) => "o",
        KeyPress::Enter
        | KeyPress::Escape
        | KeyPress::Function(_)
        | KeyPress::ShiftFunction(_)
        | KeyPress::End
        | KeyPress::Other => {
            return None;
        }
    };
    Some(line.to_owned())
}

/// The help of the keys.
pub fn help() -> String {
    let mut text = String::new();
    for key in &KEYS {
        let form = format!("{}{}", key.names[0], key.argument);
        writeln!(text, "{form:COLUMN$}{}", key.summary).ok();
    }
    let forced: Vec<_> = KEYS.iter().filter(|key| key.takes_force).collect();
    let large = |key: &&DebugKey| key.names[0].to_ascii_uppercase();
    let letters: Vec<String> = forced.iter().map(large).collect();
    let with_sign: Vec<String> = forced
        .iter()
        .map(|key| format!("{}!", key.names[0]))
        .collect();
    writeln!(
        text,
        "{:COLUMN$}the same with a changed input that the tool will refuse; in a script {}",
        letters.join(" "),
        with_sign.join(" ")
    )
    .ok();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_lines() {
        let line = |key| line_of(key).unwrap_or_default();
        assert_eq!(line(KeyPress::Char('c')), "c");
        assert_eq!(line(KeyPress::Char('C')), "c!");
        assert_eq!(line(KeyPress::Char('K')), "K");
        assert_eq!(line(KeyPress::Char('3')), "3");
        assert_eq!(line(KeyPress::Function(10)), "n");
        assert_eq!(line(KeyPress::Enter), "");
        assert!(find("c!").is_some_and(|(_, force)| force));
        assert!(find("k!").is_none() && find("").is_none());
    }

    #[test]
    fn names_are_one_keys_alone() {
        let names: Vec<_> = KEYS.iter().flat_map(|key| key.names).collect();
        for name in &names {
            assert_eq!(
                names.iter().filter(|other| other == &name).count(),
                1,
                "{name}"
            );
        }
        assert!(help().lines().all(|line| line.len() <= 100), "{}", help());
    }
}
