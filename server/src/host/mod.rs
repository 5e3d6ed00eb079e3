//! Runs engines for the front ends: the worker threads of a workspace, the watcher of its store, progress and cancellation.
//! Knows no editor protocol.

mod messages;
pub mod progress;
pub mod store_watcher;
pub mod workspace;
