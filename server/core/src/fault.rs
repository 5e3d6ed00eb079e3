//! Points at which a test may have the process killed. In a release build they are nothing.

/// With `BACKSTITCH_FAULT=N` in a debug build, the N-th point reached kills the process without a word,
/// as `kill -9` would.
#[cfg(debug_assertions)]
pub(crate) fn point(_name: &str) {
    use std::sync::atomic::{AtomicU64, Ordering};
    static REACHED: AtomicU64 = AtomicU64::new(0);
    static FATAL: std::sync::OnceLock<Option<u64>> = std::sync::OnceLock::new();
    let fatal = FATAL.get_or_init(|| std::env::var("BACKSTITCH_FAULT").ok()?.parse().ok());
    if let Some(fatal) = fatal
        && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == *fatal
    {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
            .ok();
    }
}

#[cfg(not(debug_assertions))]
pub(crate) fn point(_name: &str) {}

/// With `BACKSTITCH_NO_EXCHANGE` in a debug build, file systems cannot exchange two names.
#[cfg(debug_assertions)]
pub(crate) fn no_exchange() -> bool {
    static SET: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *SET.get_or_init(|| std::env::var_os("BACKSTITCH_NO_EXCHANGE").is_some())
}

#[cfg(not(debug_assertions))]
pub(crate) fn no_exchange() -> bool {
    false
}

/// With `BACKSTITCH_LEND_ALWAYS` in a debug build, git lends what it has however little that is.
#[cfg(debug_assertions)]
pub(crate) fn lends_always() -> bool {
    static SET: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *SET.get_or_init(|| std::env::var_os("BACKSTITCH_LEND_ALWAYS").is_some())
}

#[cfg(not(debug_assertions))]
pub(crate) fn lends_always() -> bool {
    false
}
