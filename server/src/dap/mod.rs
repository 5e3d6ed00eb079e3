//! The Debug Adapter Protocol on stdin and stdout: steps through a CI job, back and forward, from an editor. Translates requests into
//! commands of a job's session and its stops into events. Decides nothing.

mod breakpoints;
mod capabilities;
mod changes;
pub mod client;
mod completion;
mod data;
mod evaluate;
mod failures;
pub mod frames;
mod going;
mod launch;
mod machine;
mod movement;
mod paths;
mod progress;
mod questions;
mod report;
mod request;
mod requests;
mod server;
mod shared;
mod step_names;
mod steps;
mod variables;
mod view;

use std::io::{self, BufRead};
use std::path::PathBuf;

use client::DapClient;
use server::DapServer;

/// Serves one client until it leaves.
pub fn run(workspace: Option<PathBuf>) -> io::Result<()> {
    let client = DapClient::start()?;
    let server = DapServer::new(client, workspace);
    server.hear_interrupts()?;
    answer_all(&mut io::stdin().lock(), server)
}

/// Answers the messages of an input. The rest of the answers is written at its end.
#[cfg(any(test, fuzzing))]
pub fn serve(
    input: &mut impl BufRead,
    client: &DapClient,
    workspace: Option<PathBuf>,
) -> io::Result<()> {
    answer_all(input, DapServer::new(client.clone(), workspace))
}

fn answer_all(input: &mut impl BufRead, mut server: DapServer) -> io::Result<()> {
    let ended = loop {
        match frames::read(input) {
            Ok(Some(message)) => {
                if !requests::receive(&mut server, &message) {
                    break Ok(());
                }
            }
            Ok(None) => {
                // without that request the run stays as it is: another client continues it
                if server.terminations > 0 {
                    server.end();
                }
                break Ok(());
            }
            Err(error) => break Err(error),
        }
    };
    server.client.close();
    // the thread of a job that stays would take the end of its commands for the end of the job, before this process has ended
    std::mem::forget(server.commands.take());
    ended
}
