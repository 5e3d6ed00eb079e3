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
pub mod running;
pub mod settings;
mod settings_state;
mod state;
mod workspaces;

pub use agents::{ActiveAgent, EditorAgents};
pub use client::{ANSWER, EditorClient};
pub use document_events::{DocumentEvent, SavedText};
pub use history::{DocumentHistory, TurnsInForce};
pub use state::ServerState;
pub use workspaces::Workspaces;
