//! Labels of conflict markers for the target's side: its turn by its prompt. Pure.

use crate::history::{NamedState, OpKind, OperationSubject};
use crate::model::Turn;

/// Maximum number of characters of a prompt in a label.
const MAX_PROMPT: usize = 40;

/// Returns the words for the state that a restore leads to: `before “Add a cart”`.
pub(super) fn of(subject: &OperationSubject) -> String {
    match subject {
        OperationSubject::Rewind(state, _) => state_name(state),
        OperationSubject::Revert(states, _) => match states.as_slice() {
            [] => "without the reverted work".to_owned(),
            [one] => format!("without {}", work_name(one)),
            [first, more @ ..] => format!("without {} and {} more", work_name(first), more.len()),
        },
        OperationSubject::Undo(of, _) => format!("before the {}", operation_name(of)),
        OperationSubject::Redo(of, _) => format!("after the {}", operation_name(of)),
        OperationSubject::Switch(branch) => format!("branch {}", one_line(branch)),
        OperationSubject::Other(_, target) => format!("target ({})", one_line(target)),
    }
}

fn state_name(state: &NamedState) -> String {
    match (&state.begins, &state.within) {
        (Some(turn), _) => format!("before {}", turn_name(turn)),
        (None, Some(turn)) => format!("during {}", turn_name(turn)),
        (None, None) => match state.label.as_deref().map(one_line) {
            Some(label) if !label.is_empty() => format!("“{label}”"),
            _ => format!("checkpoint {}", state.node),
        },
    }
}

/// Name of a turn, or of a step.
fn work_name(state: &NamedState) -> String {
    match (&state.begins, &state.within) {
        (Some(turn), _) => turn_name(turn),
        (None, Some(turn)) => format!("a step of {}", turn_name(turn)),
        (None, None) => state_name(state),
    }
}

fn turn_name(turn: &Turn) -> String {
    match one_line(&turn.prompt) {
        prompt if prompt.is_empty() => format!("turn {}", turn.number),
        prompt => format!("“{prompt}”"),
    }
}

fn operation_name(subject: &OperationSubject) -> &'static str {
    match subject {
        OperationSubject::Rewind(..) => "rewind",
        OperationSubject::Revert(..) => "revert",
        OperationSubject::Undo(..) => "undo",
        OperationSubject::Redo(..) => "redo",
        OperationSubject::Switch(_) | OperationSubject::Other(OpKind::Switch, _) => "switch",
        OperationSubject::Other(..) => "operation",
    }
}

/// Returns the start of the first line of a text from outside, without characters that a reader does not see.
fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let is_seen = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut seen = line.unwrap_or_default().chars().filter(is_seen);
    let mut start: String = seen.by_ref().take(MAX_PROMPT).collect();
    if seen.next().is_some() {
        start.truncate(start.trim_end().len());
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_from_outside_is_one_short_line() {
        assert_eq!(one_line("\n  make it two\nand three"), "make it two");
        assert_eq!(one_line("a\u{202e}b\u{1b}[31m"), "ab[31m");
        let long = "number the notes of all chapters and of the index, too";
        assert_eq!(one_line(long), "number the notes of all chapters and of…");
        assert_eq!(one_line(" \n"), "");
    }
}
