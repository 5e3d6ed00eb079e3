//! Fault injection for tests. A release build has none of it.

/// With `BACKSTITCH_FAULT=N` in a debug build, the N-th point reached kills the process at once, as `kill -9` would.
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

/// With `BACKSTITCH_NO_EXCHANGE` in a debug build, the file system acts as if it could not exchange two names.
#[cfg(debug_assertions)]
pub(crate) fn no_exchange() -> bool {
    static SET: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *SET.get_or_init(|| std::env::var_os("BACKSTITCH_NO_EXCHANGE").is_some())
}

#[cfg(not(debug_assertions))]
pub(crate) fn no_exchange() -> bool {
    false
}

/// With `BACKSTITCH_GIT_BACKED_ALWAYS` in a debug build, clean files are left to git however small they are in total.
#[cfg(debug_assertions)]
pub(crate) fn always_git_backed() -> bool {
    static SET: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *SET.get_or_init(|| std::env::var_os("BACKSTITCH_GIT_BACKED_ALWAYS").is_some())
}

#[cfg(not(debug_assertions))]
pub(crate) fn always_git_backed() -> bool {
    false
}
