//! Agents that work inside the editor.

use serde_json::{Map, Value};

use crate::shape;

shape! {
    /// An LSP `WorkspaceEdit`.
    #[serde(transparent)]
    pub struct WorkspaceEdit(pub Map<String, Value>);

    /// The checkpoint that was recorded; null if there was nothing to record.
    pub struct TurnResult {
        pub checkpoint: Option<String>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct ApplyEditResult {
        /// True if every document took its part of the edit.
        pub applied: bool,
        pub checkpoints: Vec<String>,
        /// URIs of documents whose editor did not apply their new text.
        pub not_taken: Vec<String>,
    }
}
