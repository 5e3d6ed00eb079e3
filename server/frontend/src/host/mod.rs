//! Runs engines for the front ends: the worker threads of a workspace, the watcher of its store, progress and cancellation,
//! and the record of agents' events.
//! Knows no editor protocol.

pub mod agent_events;
mod binding;
pub mod messages;
pub mod progress;
pub mod store_watcher;
pub mod turned_away;
pub mod used_stores;
pub mod workspace;
