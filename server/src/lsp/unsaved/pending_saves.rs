//! Files that a rewind changed in the editor only, and whose documents were closed without a save.

use std::sync::Arc;

use backstitch_core::model::ContentId;
use backstitch_core::{Orphan, PendingChoice, PendingSave, Result};
use tower_lsp::gen_lsp_types::MessageType;

use super::editing;
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::document;
use crate::lsp::features::views;
use crate::lsp::handler::ask;
use crate::lsp::messages::{choice, notice};
use crate::lsp::session::{EditorClient, ServerState};

/// Asks about a document that showed a restored text when it was closed. `text`: its text, including later typing.
pub async fn on_closed(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    save: &PendingSave,
    text: Option<Vec<u8>>,
) {
    if let Some(write) = ask(&server.client, &notice::closed(save)).await {
        let path = save.path.clone();
        let settled = handle.act(false, move |WriteAccess { engine, .. }| {
            let how = if write {
                PendingChoice::WriteNow(text)
            } else {
                PendingChoice::Forget
            };
            engine
                .restore_mut()
                .resolve_pending(&path, &how)
                .map(|_| ())
        });
        report_outcome(server, handle, save, settled.await);
    }
}

/// Asks whether the file is to be written. Without an answer it stays pending, and `status` shows it.
async fn ask(client: &EditorClient, question: &str) -> Option<bool> {
    let answers = [choice::WRITE, choice::FORGET];
    let chosen = ask::ask(client, MessageType::Warning, question, &answers).await;
    match chosen.as_deref() {
        Some(choice::WRITE) => Some(true),
        Some(choice::FORGET) => Some(false),
        _ => None,
    }
}

fn report_outcome(
    server: &ServerState,
    handle: &WorkspaceHandle,
    save: &PendingSave,
    settled: Result<()>,
) {
    if let Err(error) = settled {
        server.client.say(
            MessageType::Error,
            format!("{}: {error}", save.path.display()),
        );
    }
    server.changed(handle);
}

/// Offers the unsaved text of editors that ended to the next editor that opens the workspace.
pub async fn offer_leftovers(server: Arc<ServerState>, handle: Arc<WorkspaceHandle>) {
    server.client.wait_until_ready().await;
    let waiting = handle
        .ask(|engine| engine.documents().orphaned_saves())
        .await;
    for save in waiting.unwrap_or_default() {
        offer_pending(&server, &handle, &save).await;
    }
    // a file that waits for a save, and whose question was not answered, is not offered as text, too
    let found = handle.ask(|engine| {
        let waits = engine.documents().orphaned_saves()?;
        let is_outcome = |o: &Orphan| {
            let outcome =
                |p: &PendingSave| p.path == o.path && p.wanted.content() == Some(o.content);
            waits.iter().any(outcome)
        };
        let mut left = engine.documents().orphan_buffers()?;
        left.retain(|orphan| !is_outcome(orphan));
        // saved all the same, or written by another process
        let root = engine.root().to_path_buf();
        let on_disk = |orphan: &Orphan| document::read(&root.join(orphan.path.to_path()));
        let is_there = |o: &Orphan| on_disk(o).is_some_and(|f| ContentId::of(&f) == o.content);
        for orphan in left.extract_if(.., |orphan| is_there(orphan)) {
            engine.documents_mut().forget(&orphan)?;
        }
        Ok(left)
    });
    let found = found.await;
    for orphan in found.unwrap_or_default() {
        let path = orphan.path.display();
        let question = notice::left_text(&orphan);
        let answers = [choice::SHOW_TEXT, choice::FORGET_TEXT];
        let chosen = ask::ask(&server.client, MessageType::Warning, &question, &answers).await;
        let outcome = match chosen.as_deref() {
            Some(choice::SHOW_TEXT) => {
                // the checkpoint keeps it in the history, even if the view is closed
                let taken = handle.act(false, move |WriteAccess { engine, .. }| {
                    engine
                        .documents_mut()
                        .keep_orphan(&orphan, notice::LEFT_TEXT)
                });
                match taken.await {
                    Ok(Some(text)) => views::unsaved(&server, &text.path, &text.text).await,
                    Ok(None) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
            Some(choice::FORGET_TEXT) => {
                let forgotten = handle.act(false, move |WriteAccess { engine, .. }| {
                    engine.documents_mut().forget(&orphan)
                });
                forgotten.await.map_err(Into::into)
            }
            // the next start asks again
            _ => Ok(()),
        };
        if let Err(failure) = outcome {
            server
                .client
                .say(MessageType::Error, format!("{path}: {}", failure.text()));
        }
    }
}

/// Asks about a restored document whose editor ended. If the file is written, text that was typed since is included.
async fn offer_pending(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    save: &PendingSave,
) {
    let Some(write) = ask(&server.client, &notice::left_waiting(save)).await else {
        return;
    };
    let waits = save.clone();
    let settled = handle.act(false, move |WriteAccess { engine, .. }| {
        let left = engine.documents().orphan_buffers()?;
        let orphan = left.into_iter().find(|orphan| orphan.path == waits.path);
        if write {
            // the history has the typed text, whatever happens to the file
            let kept = orphan.map(|orphan| {
                engine
                    .documents_mut()
                    .keep_orphan(&orphan, notice::LEFT_TEXT)
            });
            let text = kept.transpose()?.flatten().map(|open| open.text);
            engine
                .restore_mut()
                .resolve_pending(&waits.path, &PendingChoice::WriteNow(text))?;
        } else {
            engine
                .restore_mut()
                .resolve_pending(&waits.path, &PendingChoice::Forget)?;
            // nothing was typed: the orphaned text is the outcome that the user does not want
            if let Some(orphan) = orphan.filter(|o| Some(o.content) == waits.wanted.content()) {
                engine.documents_mut().forget(&orphan)?;
            }
        }
        Ok(())
    });
    report_outcome(server, handle, save, settled.await);
    if write {
        editing::follow_disk(server, handle, save).await;
    }
}
