//! `backstitch mcp`: the history for agents, over the Model Context Protocol on stdin and stdout. The only part that knows
//! MCP. It translates and delegates; a rewind needs the user's decision.

mod access;
mod answer;
mod arguments;
mod bounds;
mod checked_lines;
mod hints;
mod history;
mod lean;
mod proposals;
mod resources;
mod rewind;
mod schema;
mod server;
mod tools;
mod transport;

use std::path::PathBuf;

use anyhow::{Context, Result};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;

use access::WorkspaceAccess;
use checked_lines::CheckedLines;
use server::McpServer;
use transport::Lines;

#[derive(Clone, Debug, Default)]
pub struct McpOptions {
    pub workspace: Option<PathBuf>,
    pub store_dir: Option<PathBuf>,
}

/// Serves until stdin ends.
pub fn run(options: McpOptions) -> Result<()> {
    log();
    let access = WorkspaceAccess {
        workspace: options.workspace,
        store_dir: options.store_dir,
        cwd: std::env::current_dir().context("the current directory")?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("start the runtime")?;
    let served = runtime.block_on(serve(access));
    // a read of stdin cannot be cancelled
    runtime.shutdown_background();
    served
}

async fn serve(access: WorkspaceAccess) -> Result<()> {
    let (gone, is_gone) = watch::channel(false);
    let server = McpServer::new(access, is_gone);
    let proposals = server.proposals.clone();
    let from = CheckedLines::new(tokio::io::stdin());
    let lines = Lines::new(from, tokio::io::stdout(), gone);
    let ended = match server.serve(lines).await {
        Ok(running) => running.waiting().await.map(drop).map_err(Into::into),
        // the client left before it asked for anything
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.into()),
    };
    let left = tokio::task::spawn_blocking(move || proposals.end_all());
    left.await.context("end the proposals")?;
    ended
}

/// Logs to stderr: stdout has the messages of the protocol alone.
fn log() {
    let filter = EnvFilter::try_from_env("BACKSTITCH_LOG")
        .or_else(|_| EnvFilter::try_from_default_env())
        .unwrap_or_else(|_| EnvFilter::new("warn,rmcp=error"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .init();
}
