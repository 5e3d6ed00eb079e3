//! The words of the REPL at a held call, such as `:help`. A row has the word, its line in the help and its code.

use std::fmt::Write as _;

use backstitch_control::condition;
use serde_json::Value;

use super::job::{EvaluationJob, EvaluationResult};

/// Starts a word.
pub(super) const PREFIX: char = ':';
/// Width of the first column of the help.
const COLUMN: usize = 19;

struct ReplWord {
    /// The word, and its short forms.
    names: &'static [&'static str],
    /// Its arguments in the help.
    arguments: &'static str,
    summary: &'static str,
    run: fn(&EvaluationJob, &str) -> EvaluationResult,
}

const WORDS: &[ReplWord] = &[
    ReplWord {
        names: &["input"],
        arguments: "",
        summary: "the input as it is now",
        run: |job, _| {
            EvaluationResult::said(serde_json::to_string_pretty(&job.input).unwrap_or_default())
        },
    },
    ReplWord {
        names: &["set"],
        arguments: " PATH VALUE",
        summary: "changes it: :set .command \"make\"",
        run: set,
    },
    ReplWord {
        names: &["diff"],
        arguments: "",
        summary: "the change that it would make",
        run: |_, _| EvaluationResult {
            shows_difference: true,
            ..EvaluationResult::default()
        },
    },
    ReplWord {
        names: &["reset"],
        arguments: "",
        summary: "drops the changes",
        run: |_, _| EvaluationResult::changed(None),
    },
    ReplWord {
        names: &["help", "h", "?"],
        arguments: "",
        summary: "these lines",
        run: |_, _| EvaluationResult::said(help()),
    },
];

/// The words, without their short forms.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|word| word.names[0])
}

fn help() -> String {
    let mut text = String::new();
    for (form, summary) in [
        (
            "jq",
            "on the call: .call.input, .call.held, .predicted, .turn, .session, .recent, .cwd",
        ),
        (
            "!command",
            "in the shell, in the directory of the call, with the agent's environment",
        ),
    ] {
        writeln!(text, "{form:COLUMN$}{summary}").ok();
    }
    for word in WORDS {
        let form = format!("{PREFIX}{}{}", word.names[0], word.arguments);
        writeln!(text, "{form:COLUMN$}{}", word.summary).ok();
    }
    text + "`resume` runs the call with the changed input."
}

/// Runs what was typed after the prefix.
pub(super) fn run(job: &EvaluationJob, typed: &str) -> EvaluationResult {
    let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    match WORDS.iter().find(|word| word.names.contains(&name)) {
        Some(word) => (word.run)(job, rest.trim()),
        None => EvaluationResult::failed(format!(
            "there is no `{PREFIX}{name}`; `{PREFIX}help` lists what there is"
        )),
    }
}

/// Changes a field of the input: `.command "make"`. A value that is not JSON is a text.
fn set(job: &EvaluationJob, typed: &str) -> EvaluationResult {
    let failed = |text: String| EvaluationResult::failed(text);
    let Some((path, value)) = typed.split_once(char::is_whitespace) else {
        return failed("write a path and a value: :set .command \"make\"".to_owned());
    };
    let value = value.trim();
    if value == "=" || value.starts_with("= ") {
        return failed(
            "write the value after the path, without `=`: :set .command \"make\"".to_owned(),
        );
    }
    let value: Value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    let jq = format!("({path}) = {value}");
    let mut outputs = match condition::outputs(&jq, &job.input, job.time()) {
        Ok(outputs) => outputs,
        Err(reason) => return failed(reason),
    };
    let input = match (outputs.pop(), outputs.pop()) {
        (Some(one), None) => serde_json::from_str::<Value>(&one),
        _ => return failed(format!("`{path}` is not one place")),
    };
    match input {
        Ok(input) if input.is_object() => EvaluationResult::changed(Some(input)),
        Ok(_) => failed("the input of a tool is a JSON object".to_owned()),
        Err(_) => failed("the changed input is too long".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word has one row, its help fits into the column, and `repl.md` names it.
    #[test]
    fn words_are_declared_once() {
        let page = include_str!("../../../../docs/repl.md");
        let mut all: Vec<&str> = WORDS.iter().flat_map(|word| word.names).copied().collect();
        for word in WORDS {
            assert!(word.names[0].len() + word.arguments.len() + 1 < COLUMN);
            let named = format!("`{PREFIX}{}", word.names[0]);
            assert!(page.contains(&named), "repl.md does not name {named}`");
        }
        let number = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), number);
    }
}
