//! Agents inside the editor.

use serde_json::Value;

use crate::shape;

shape! {
    /// An LSP `WorkspaceEdit`.
    #[serde(transparent)]
    pub struct WorkspaceEdit(pub Value);

    /// What was recorded; null where nothing had to be.
    pub struct TurnResult {
        pub checkpoint: Option<String>,
    }

    #[serde(rename_all = "camelCase")]
    pub struct ApplyEditResult {
        /// All of it.
        pub applied: bool,
        pub checkpoints: Vec<String>,
        /// URIs of documents whose editor did not take their new text.
        pub not_taken: Vec<String>,
    }
}
