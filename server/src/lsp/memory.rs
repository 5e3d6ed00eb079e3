//! That the server is small again once a look at a large tree is over.

/// The GNU C library holds on to memory for good once large pieces of it were freed, unless it is told at its start
/// when to give it back; and only the environment tells it. So the process begins anew, in its own place.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn is_given_back() {
    use std::os::unix::process::CommandExt as _;
    const AT: &str = "MALLOC_TRIM_THRESHOLD_";
    /// The library's own default, in bytes; that it is named keeps it from growing.
    const BYTES: &str = "131072";
    let (Ok(program), None) = (std::env::current_exe(), std::env::var_os(AT)) else {
        return;
    };
    let mut args = std::env::args_os();
    let mut again = std::process::Command::new(program);
    if let Some(name) = args.next() {
        again.arg0(name);
    }
    let error = again.args(args).env(AT, BYTES).exec();
    tracing::info!("goes on with the memory as it is: {error}");
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn is_given_back() {}
