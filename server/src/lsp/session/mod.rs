//! State of the server and of its client.

mod agents;
mod client;
pub mod client_capabilities;
mod configuration;
pub mod control_state;
mod document_events;
mod history;
mod open_documents;
mod open_workspaces;
mod read_problems;
pub mod running;
pub mod settings;
mod settings_state;
mod state;
mod typing_pause;
mod workspaces;

pub use agents::{ActiveAgent, EditorAgents};
pub use client::{ANSWER, EditorClient};
pub use document_events::{DocumentEvent, SavedText};
pub use history::{DocumentHistory, TurnsInForce};
pub use read_problems::ReadProblems;
pub use state::ServerState;
pub use typing_pause::{TypingEvent, TypingPause};
pub use workspaces::Workspaces;
