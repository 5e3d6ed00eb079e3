//! Fault injection for tests. A release build has none of it.

/// With `BACKSTITCH_FAULT=N` in a debug build, the N-th point reached kills the process at once, as `kill -9` would.
#[cfg(debug_assertions)]
pub fn point(_name: &str) {
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
pub fn point(_name: &str) {}

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

/// With `BACKSTITCH_CLOCK_ERROR=FILE` in a debug build, the clock is wrong by the number of seconds in that file. In microseconds.
#[cfg(debug_assertions)]
pub(crate) fn clock_error() -> i64 {
    static FILE: std::sync::OnceLock<Option<std::path::PathBuf>> = std::sync::OnceLock::new();
    let file = FILE.get_or_init(|| std::env::var_os("BACKSTITCH_CLOCK_ERROR").map(Into::into));
    let text = file
        .as_ref()
        .and_then(|file| std::fs::read_to_string(file).ok());
    let seconds = text.and_then(|text| text.trim().parse::<i64>().ok());
    seconds.map_or(0, |seconds| seconds * 1_000_000)
}

#[cfg(not(debug_assertions))]
pub(crate) fn clock_error() -> i64 {
    0
}
