//! Restores that other processes hand to this editor.

use std::sync::Arc;

use backstitch_core::RequestOutcome;

use super::restore;
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::session::ServerState;
use crate::lsp::unsaved::editing::{self, EditWait, OpenDocuments};

/// Applies restores that other processes hand to this editor.
pub async fn serve(server: Arc<ServerState>, handle: Arc<WorkspaceHandle>) {
    let _guard = handle.serving.lock().await;
    let (server, handle) = (&server, &handle);
    let taken = handle.act(false, |WriteAccess { engine, lease }| {
        engine.restore_mut().take_requests(&lease)
    });
    for mut handed in taken.await.unwrap_or_default() {
        let open = OpenDocuments::of(server, handle);
        let id = handed.id;
        handed.request.unreadable = open.unreadable(handle.root());
        let done = handle.act(false, move |WriteAccess { engine, .. }| {
            let open = open.documents(engine.root());
            let outcome = engine.restore_mut().serve(&handed, open, &mut |_| {});
            let texts = match &outcome {
                Ok(applied) => restore::texts(engine, &applied.plan)?,
                Err(_) => Vec::new(),
            };
            Ok((RequestOutcome::of(&outcome), texts))
        });
        let Ok((mut answer, texts)) = done.await else {
            continue;
        };
        let unconfirmed = editing::apply(server, handle, texts, EditWait::Another).await;
        (answer.not_taken, answer.awaited) = (unconfirmed.not_taken, unconfirmed.awaited);
        let answered = handle.act(false, move |WriteAccess { engine, .. }| {
            engine.restore_mut().answer_request(id, &answer)
        });
        if let Err(error) = answered.await {
            tracing::warn!("a request of another process: {error}");
        }
        server.changed(handle);
    }
}
