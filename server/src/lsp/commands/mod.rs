//! The work of commands and requests about the history, and edits of agents inside the editor.

pub mod checkpoints;
pub mod conversation;
pub mod editor_agents;
pub mod editor_gate;
pub mod handed_over;
pub mod mutations;
pub mod questions;
pub mod requests;
pub mod restore;
pub mod rewinds;
pub mod workspace_edit;
