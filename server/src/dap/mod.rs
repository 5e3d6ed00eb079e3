//! The Debug Adapter Protocol on stdin and stdout: steps through a CI job, back and forward, from an editor. Translates requests into
//! commands of a job's session and its stops into events. Decides nothing.

mod breakpoints;
mod capabilities;
mod changes;
mod client;
mod completion;
mod data;
mod evaluate;
mod failures;
mod frames;
mod going;
mod launch;
mod machine;
mod movement;
mod progress;
mod questions;
mod report;
mod request;
mod requests;
mod server;
mod shared;
mod steps;
mod variables;
mod view;

use std::io;
use std::path::PathBuf;

use client::DapClient;
use server::DapServer;

/// Serves one client until it leaves.
pub fn run(workspace: Option<PathBuf>) -> io::Result<()> {
    let client = DapClient::start()?;
    let mut server = DapServer::new(client.clone(), workspace);
    let mut input = io::stdin().lock();
    let ended = loop {
        match frames::read(&mut input) {
            Ok(Some(message)) => {
                if !requests::receive(&mut server, &message) {
                    break Ok(());
                }
            }
            // the run stays as it is: another client continues it
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    client.close();
    ended
}
