//! Texts that the host shows to people. Pure.

/// Subject of an error if the system gives no thread.
pub const START_THREAD: &str = "start a thread";
pub const THREAD_ENDED: &str = "its thread ended";
pub const PANIC: &str = "a panic";
pub const LOG_HINT: &str = "its log says why; try again";

pub fn failed(what: &str) -> String {
    format!("the server failed at this ({what})")
}
