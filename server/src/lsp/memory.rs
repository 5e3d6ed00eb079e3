//! Keeps the server's memory small after a scan of a large tree.

/// The GNU C library keeps freed memory after large allocations, unless an environment variable sets the trim
/// threshold at its start. So the process executes itself again, with the same process id.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn restart_with_trim_threshold() {
    use std::os::unix::process::CommandExt as _;
    const VARIABLE: &str = "MALLOC_TRIM_THRESHOLD_";
    /// The library's own default, in bytes; setting it explicitly keeps it from growing.
    const BYTES: &str = "131072";
    let (Ok(program), None) = (std::env::current_exe(), std::env::var_os(VARIABLE)) else {
        return;
    };
    let mut args = std::env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(name) = args.next() {
        command.arg0(name);
    }
    let error = command.args(args).env(VARIABLE, BYTES).exec();
    tracing::info!("continues with the memory as it is: {error}");
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn restart_with_trim_threshold() {}
