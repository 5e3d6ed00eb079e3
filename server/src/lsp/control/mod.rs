//! Breakpoints and held calls over LSP: requests, commands, notifications, and for clients without panels a question, a
//! lens and code actions. Decides nothing by itself.

mod announcements;
mod breakpoints;
mod changes;
mod decisions;
mod follow;
mod marks;
mod questions;
pub mod repl;

pub use breakpoints::{add, breakpoints, clear, edit, enable, list, remove, toggle};
pub use decisions::{
    back, deny, details, draft, inject, inspect, pause, pauses, predict, resume, skip, step, stop,
};
pub use follow::follow;
pub use marks::{actions, lenses};

use crate::lsp::session::EditorClient;

/// Name of this client in rows: the editor's.
fn face(client: &EditorClient) -> String {
    client.features().name.clone()
}
