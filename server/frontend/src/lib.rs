//! The shared part of all front ends: engines at work, held calls, questions on the history, the terminal. Turns answers into text
//! and into types of the protocol. Owns no command and no server.

pub mod control;
pub mod conversation;
pub mod file_changes;
pub mod host;
pub mod jobs;
pub mod json_text;
pub mod markdown;
pub mod opening;
pub mod query;
pub mod render;
pub mod restore_plan;
pub mod restore_words;
pub mod safeguards;
pub mod terminal;
pub mod to_protocol;
