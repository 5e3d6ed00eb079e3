//! aider, which has no hooks: the core reads its chat history with each scan.

mod history;

use backstitch_core::chat_history::{ChatHistory, HistoryEntry, ReaderState};
use serde_json::Value;

use crate::spec::{AgentPage, HeldPage};
use history::Reader;

/// Commands that ask the model. Their prompts are turns; other commands are not.
const ASKING: [&str; 6] = ["/ask", "/code", "/architect", "/context", "/lint", "/test"];

/// Its rows in the documentation.
pub const PAGE: AgentPage = AgentPage {
    title: "aider",
    connected: "its chat history, without setup",
    turn: "its prompt there",
    step: "the edits of an answer, named by their commit",
    tested: Some("0.86.2"),
    held: HeldPage::NONE,
    proxy: "does not speak it",
};

#[derive(Clone, Copy, Debug)]
pub struct Aider;

impl ChatHistory for Aider {
    fn agent(&self) -> &'static str {
        "aider"
    }

    fn file(&self) -> &'static str {
        ".aider.chat.history.md"
    }

    fn read(&self, state: &mut ReaderState, text: &str) -> Vec<HistoryEntry> {
        // a damaged state is that of a new text
        let rest = Value::Object(std::mem::take(&mut state.rest));
        let mut reader: Reader = serde_json::from_value(rest).unwrap_or_default();
        reader.session = state.session.take();
        let entries = reader.read(text);
        if let Ok(Value::Object(rest)) = serde_json::to_value(&reader) {
            state.rest = rest;
        }
        state.session = reader.session;
        entries
    }

    /// True if a prompt is not a command, or one that asks the model.
    fn asks_model(&self, prompt: &str) -> bool {
        if prompt.starts_with('!') {
            return false;
        }
        let word = prompt.split_whitespace().next().unwrap_or_default();
        !prompt.starts_with('/') || ASKING.contains(&word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_the_same_when_it_was_stored() {
        let text = "\n# aider chat started at 2026-11-26 03:21:07\n\n#### fix it  \n\n```\n";
        let mut state = ReaderState::default();
        let entries = Aider.read(&mut state, text);
        assert_eq!(entries.len(), 2);
        let stored = serde_json::to_string(&state).expect("JSON");
        assert_eq!(
            serde_json::from_str::<ReaderState>(&stored).expect("a state"),
            state
        );
        // a heading in an open code block is a part of the answer
        assert_eq!(Aider.read(&mut state, "#### more  \n"), []);
    }

    #[test]
    fn a_command_is_no_turn_unless_it_asks_the_model() {
        for (prompt, turn) in [
            ("fix it", true),
            ("/ask why", true),
            ("/code\nfix it", true),
            ("/add a.txt", false),
            ("/undo", false),
            ("/asking", false),
            ("!ls", false),
            ("use / here", true),
        ] {
            assert_eq!(Aider.asks_model(prompt), turn, "{prompt}");
        }
    }
}
