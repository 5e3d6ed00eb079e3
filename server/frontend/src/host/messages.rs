//! Texts that the host shows to people. Pure.

use std::path::Path;

use backstitch_core::config::Config;

use super::used_stores::EarlierStore;
use crate::render;

/// Subject of an error if the system gives no thread.
pub const START_THREAD: &str = "start a thread";
pub const THREAD_ENDED: &str = "its thread ended";
pub const PANIC: &str = "a panic";
pub const LOG_HINT: &str = "its log says why; try again";

pub fn failed(what: &str) -> String {
    format!("the server failed at this ({what})")
}

/// The history of a workspace is gone from its place, and the next step.
pub fn removed_history(store: &Path) -> (String, String) {
    (
        format!(
            "the history until now was removed: {} had it",
            store.display()
        ),
        "if that was not you, look at what ran since; files are recorded from here on".to_owned(),
    )
}

/// A setting leads hooks from this store to another, and the next step.
pub fn other_store(config: &Config, before: &EarlierStore) -> (String, String) {
    let place = config.store_dir_at();
    let place = place.map_or_else(
        || "the settings name another store than before".to_owned(),
        |place| format!("{place} leads to another store (`store.dir`)"),
    );
    let (lost, verb) = if before.is_armed() {
        ("the history and the armed breakpoints", "are")
    } else {
        ("the history", "is")
    };
    let dir = before.dir.display();
    (
        render::clean(&format!("{place}: {lost} in {dir} {verb} not used")),
        "take that line out if you did not write it; else remove the earlier store".to_owned(),
    )
}
