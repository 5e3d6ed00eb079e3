//! `backstitch bridge`: the other end of a program that pauses. It speaks JSON-RPC 2.0, a message a line, on stdin and
//! stdout. The end of stdin is the end of the program.

mod calls;
mod evaluations;
mod pauses;
mod rpc;
mod server;
mod session;

use std::io::{BufRead as _, Read as _, stdin};

use backstitch_control::Control;
use backstitch_core::Workspace;

use crate::terminal::error::{CliError, CliResult};
use server::Bridge;

/// Maximum length of a message in bytes: a value of 8 MiB in base64, and its view.
const MAX_MESSAGE: usize = 32 << 20;

/// Serves one program until it ends.
pub fn run(workspace: Workspace) -> CliResult<()> {
    let control = Control::open(&workspace)?;
    let bridge = Bridge::new(workspace, control);
    let mut input = stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let failed = |error| CliError::failed(format!("stdin: {error}"));
        let limit = MAX_MESSAGE as u64 + 1;
        let count = (&mut input).take(limit).read_until(b'\n', &mut line);
        if count.map_err(failed)? == 0 {
            break;
        }
        if line.len() > MAX_MESSAGE {
            if line.last() != Some(&b'\n') {
                input.skip_until(b'\n').map_err(failed)?;
            }
            rpc::refuse(None, rpc::TOO_LONG, "the message is too long");
        } else if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
            bridge.handle_line(&line);
        }
    }
    bridge.end();
    Ok(())
}
