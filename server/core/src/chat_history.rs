//! The seam of an agent without hooks: the text to which it appends its conversations.

use serde::{Deserialize, Serialize};

/// Reads the chat history that an agent appends to a file in the root of a workspace.
pub trait ChatHistory: std::fmt::Debug + Sync {
    /// Name of the agent in the history.
    fn agent(&self) -> &'static str;

    /// Name of the file.
    fn file(&self) -> &'static str;

    /// Reads complete lines that were appended.
    fn read(&self, state: &mut ReaderState, text: &str) -> Vec<HistoryEntry>;

    /// True if a prompt goes to the model, so that it begins a turn.
    fn asks_model(&self, prompt: &str) -> bool;
}

/// State of a reader between two readings. It is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderState {
    /// The newest session. Names sort by age.
    pub session: Option<String>,
    /// Facts that the reader alone knows.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, serde_json::Value>,
}

/// An entry of a chat history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryEntry {
    /// A session has begun, with its name.
    Session(String),
    Prompt(String),
    /// The model's answer is complete.
    Answered,
    /// The agent has written a file. The path is relative to the root.
    Applied(String),
    /// The agent has committed its edit, or before it the user's.
    Commit {
        hash: String,
        subject: String,
    },
}
