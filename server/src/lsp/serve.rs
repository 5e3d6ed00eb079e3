//! Starts the server over stdin and stdout, and ends it with its client. Owns its tasks and its log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::unbounded_channel;
use tower_lsp::Server;

use crate::lsp::dispatch::backend;
use crate::lsp::dispatch::ingress::Ingress;
use crate::lsp::dispatch::store_events;
use crate::lsp::documents::virtual_documents;
use crate::lsp::features::problems;
use crate::lsp::session::ServerState;
use crate::lsp::unsaved::buffers;
use crate::lsp::{control, memory, messages};
use crate::transport::outgoing::ResponseWriter;
use crate::transport::{MAX_CONCURRENT, frames};

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
        !server.client.has_exited() || server.client.is_leaving(),
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
pub fn start<I, O>(
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
    let (text_sender, changed_texts) = unbounded_channel();
    let (workspace_sender, opened_workspaces) = unbounded_channel();
    let (service, socket) = backend::service(|client| {
        Arc::new(ServerState::new(
            client,
            store_dir,
            store_sender,
            document_sender,
            text_sender,
            workspace_sender,
        ))
    });
    let server = service.inner().server.clone();
    let to = ResponseWriter::new(to, service.inner().outgoing.clone());
    tokio::spawn(buffers::record(server.clone(), document_events));
    tokio::spawn(problems::follow(server.clone(), changed_texts));
    let (control_sender, control_events) = unbounded_channel();
    tokio::spawn(control::follow(server.clone(), control_events));
    tokio::spawn(store_events::follow(
        server.clone(),
        store_events,
        control_sender,
    ));
    tokio::spawn(store_events::follow_workspaces(
        server.clone(),
        opened_workspaces,
    ));
    let transport = Server::new(frames::guarded(from), to, socket);
    let transport = transport.concurrency_level(MAX_CONCURRENT);
    let serving = transport.serve(Ingress::new(service));
    let leaving = server.clone();
    let serving_and_leaving = async move {
        serving.await;
        if leaving.client.is_leaving() {
            buffers::close_all(&leaving.workspaces).await;
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
