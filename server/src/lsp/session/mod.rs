//! State of the server and of its client.

pub mod client_capabilities;
mod configuration;
pub mod control_state;
pub mod running;
pub mod settings;
mod state;

pub use state::{
    ANSWER, ActiveAgent, DocumentEvent, DocumentHistory, SavedText, ServerState, TurnsInForce,
};
