//! The language server as editors see it: over its real pipes, with the recorded capabilities of each editor.

pub mod client;
mod crashes;
mod editor_agents;
mod error_hints;
mod file_watching;
mod held_calls;
mod held_questions;
mod hunk_selection;
mod lens_truth;
mod lenses;
mod message_types;
mod misbehaving_clients;
mod pending_saves;
mod protocol_docs;
mod renames;
mod restore_over_unsaved;
mod review;
mod rewinds;
mod settings;
mod text_format;
pub mod unsaved_text;
mod workday;
mod workflow_corpus;
mod workflow_problems;
mod workspace_discovery;
