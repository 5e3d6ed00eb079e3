//! `backstitch lsp`: checkpoints in any editor, over the Language Server Protocol on stdin and stdout. The only part
//! that knows LSP. It translates and delegates; the engine decides the effect of a rewind.

mod actions;
mod arguments;
mod ask;
mod backend;
mod blame_groups;
mod buffers;
mod client_capabilities;
mod commands;
mod control;
mod control_state;
mod disk_merge;
mod document;
mod editing;
mod editor_agents;
mod editor_gate;
mod edits;
mod external_changes;
mod failure;
mod from_proto;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod hover;
mod hunk_selection;
mod ingress;
mod lenses;
mod memory;
mod messages;
mod mutations;
mod notifications;
mod pending_saves;
mod position;
mod progress;
mod requests;
mod restore;
mod running;
mod session;
mod settings;
mod spans;
mod targets;
mod text_format;
mod uri;
mod verb;
mod views;
mod virtual_documents;
mod workspace_edit;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::unbounded_channel;
use tower_lsp::Server;

use crate::transport::outgoing::ResponseWriter;
use crate::transport::{MAX_CONCURRENT, frames};
use ingress::Ingress;
use session::ServerState;

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub store_dir: Option<PathBuf>,
    /// Log file, instead of stderr.
    pub log: Option<PathBuf>,
    /// Log level, in the syntax of `RUST_LOG`.
    pub level: Option<String>,
}

/// Serves until the client leaves. Returns an error if the client sent no `shutdown`.
pub fn run(options: &Options) -> Result<()> {
    memory::restart_with_trim_threshold();
    log(options)?;
    if let Some(dir) = &options.store_dir
        && let Err(error) = check_writable(dir)
    {
        tracing::error!(
            "--store-dir {}: nothing can be recorded there: {error}; name a directory that can be written to",
            dir.display()
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context(messages::refusal::RUNTIME)?;
    virtual_documents::clear_left_over();
    let server = runtime.block_on(serve(options));
    virtual_documents::clear();
    // a read of stdin cannot be cancelled
    runtime.shutdown_background();
    anyhow::ensure!(
        !server.has_exited() || server.is_leaving(),
        messages::refusal::NO_SHUTDOWN
    );
    Ok(())
}

/// Checks the directory, or its nearest existing parent.
fn check_writable(dir: &Path) -> std::io::Result<()> {
    let dir = std::path::absolute(dir)?;
    let there = dir.ancestors().find(|dir| dir.exists());
    tempfile::tempfile_in(there.unwrap_or(&dir)).map(|_| ())
}

async fn serve(options: &Options) -> Arc<ServerState> {
    let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let (server, serving) = start(options.store_dir.clone(), stdin, stdout);
    serving.await;
    server
}

/// Starts the server over any transport; returns its state and the future that serves.
fn start<I, O>(
    store_dir: Option<PathBuf>,
    from: I,
    to: O,
) -> (Arc<ServerState>, impl Future<Output = ()>)
where
    I: AsyncRead + Unpin + Send + 'static,
    O: AsyncWrite + Unpin,
{
    let (store_sender, store_events) = unbounded_channel();
    let (document_sender, document_events) = unbounded_channel();
    let (workspace_sender, opened_workspaces) = unbounded_channel();
    let (service, socket) = backend::service(|client| {
        Arc::new(ServerState::new(
            client,
            store_dir,
            store_sender,
            document_sender,
            workspace_sender,
        ))
    });
    let server = service.inner().server.clone();
    let to = ResponseWriter::new(to, service.inner().outgoing.clone());
    tokio::spawn(buffers::record(server.clone(), document_events));
    let (control_sender, control_events) = unbounded_channel();
    tokio::spawn(control::follow(server.clone(), control_events));
    tokio::spawn(notifications::follow(
        server.clone(),
        store_events,
        control_sender,
    ));
    tokio::spawn(notifications::follow_workspaces(
        server.clone(),
        opened_workspaces,
    ));
    let transport = Server::new(frames::guarded(from), to, socket);
    let transport = transport.concurrency_level(MAX_CONCURRENT);
    let serving = transport.serve(Ingress::new(service));
    let leaving = server.clone();
    let serving_and_leaving = async move {
        serving.await;
        if leaving.is_leaving() {
            buffers::close_all(&leaving).await;
        }
    };
    (server, serving_and_leaving)
}

fn log(options: &Options) -> Result<()> {
    use tracing_subscriber::EnvFilter;
    let level = options.level.as_deref().unwrap_or("warn");
    let filter = EnvFilter::try_from_env("BACKSTITCH_LOG")
        .or_else(|_| EnvFilter::try_new(level))
        .with_context(|| messages::refusal::log_level(level))?;
    let to = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false);
    match &options.log {
        Some(path) => {
            let file = std::fs::File::options()
                .create(true)
                .append(true)
                .open(path)
                .with_context(|| messages::refusal::log_file(path))?;
            to.with_writer(Arc::new(file)).init();
        }
        None => to.with_writer(std::io::stderr).init(),
    }
    Ok(())
}
