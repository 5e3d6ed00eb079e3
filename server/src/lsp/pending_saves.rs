//! Files that a rewind changed in the editor alone, and that were closed without being saved.

use std::sync::Arc;

use backstitch_core::model::ContentId;
use backstitch_core::{Orphan, PendingChoice, PendingSave, Result};
use tokio::sync::mpsc::UnboundedReceiver;
use tower_lsp::gen_lsp_types::MessageType;

use super::document;
use super::editing;
use super::messages::{choice, notice};
use super::notifications;
use super::session::ServerState;
use super::views;
use super::workspace::{WorkspaceHandle, WriteAccess};

/// A document was closed that shows what a rewind did. `text`: what it had, with what was typed since.
pub async fn closed(
    session: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    save: &PendingSave,
    text: Option<Vec<u8>>,
) {
    if let Some(write) = ask(session, &notice::closed(save)).await {
        let path = save.path.clone();
        let settled = handle.act(false, move |WriteAccess { engine, .. }| {
            let how = if write {
                PendingChoice::WriteNow(text)
            } else {
                PendingChoice::Forget
            };
            engine.settle_pending(&path, &how).map(|_| ())
        });
        told(session, handle, save, settled.await);
    }
}

/// Whether it is to be written. Without an answer it goes on waiting, and `status` says so.
async fn ask(session: &Arc<ServerState>, question: &str) -> Option<bool> {
    let answers = [choice::WRITE, choice::FORGET];
    let chosen = super::ask::ask(session, MessageType::Warning, question, &answers).await;
    match chosen.as_deref() {
        Some(choice::WRITE) => Some(true),
        Some(choice::FORGET) => Some(false),
        _ => None,
    }
}

fn told(session: &ServerState, handle: &WorkspaceHandle, save: &PendingSave, settled: Result<()>) {
    if let Err(error) = settled {
        session.say(
            MessageType::Error,
            format!("{}: {error}", save.path.display()),
        );
    }
    session.changed(handle);
}

/// For each workspace that is opened, until the server ends.
pub async fn follow(
    session: Arc<ServerState>,
    mut opened: UnboundedReceiver<Arc<WorkspaceHandle>>,
) {
    while let Some(handle) = opened.recv().await {
        tokio::spawn(notifications::standing(session.clone(), handle.clone()));
        tokio::spawn(left(session.clone(), handle));
    }
}

/// What an editor that is gone had not saved is shown to who opens the workspace next.
async fn left(session: Arc<ServerState>, handle: Arc<WorkspaceHandle>) {
    session.begun().await;
    let waiting = handle.ask(|engine| engine.left_waiting()).await;
    for save in waiting.unwrap_or_default() {
        left_waiting(&session, &handle, &save).await;
    }
    // what was asked about as a file that waits, and not answered, is not asked about as text, too
    let found = handle.ask(|engine| {
        let waits = engine.left_waiting()?;
        let is_outcome = |o: &Orphan| {
            let outcome =
                |p: &PendingSave| p.path == o.path && p.wanted.content() == Some(o.content);
            waits.iter().any(outcome)
        };
        let mut left = engine.orphan_buffers()?;
        left.retain(|orphan| !is_outcome(orphan));
        // it was saved all the same, or somebody else has written just that
        let root = engine.root().to_path_buf();
        let on_disk = |orphan: &Orphan| document::read(&root.join(orphan.path.to_path()));
        let is_there = |o: &Orphan| on_disk(o).is_some_and(|f| ContentId::of(&f) == o.content);
        for orphan in left.extract_if(.., |orphan| is_there(orphan)) {
            engine.forget(&orphan)?;
        }
        Ok(left)
    });
    let found = found.await;
    for orphan in found.unwrap_or_default() {
        let path = orphan.path.display();
        let question = notice::left_text(&orphan);
        let answers = [choice::SHOW_TEXT, choice::FORGET_TEXT];
        let chosen = super::ask::ask(&session, MessageType::Warning, &question, &answers).await;
        let outcome = match chosen.as_deref() {
            Some(choice::SHOW_TEXT) => {
                // with a checkpoint it stays in the history, whatever becomes of the view
                let taken = handle.act(false, move |WriteAccess { engine, .. }| {
                    engine.keep_orphan(&orphan, notice::LEFT_TEXT)
                });
                match taken.await {
                    Ok(Some(text)) => views::unsaved(&session, &text.path, &text.text).await,
                    Ok(None) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
            Some(choice::FORGET_TEXT) => {
                let forgotten = handle.act(false, move |WriteAccess { engine, .. }| {
                    engine.forget(&orphan)
                });
                forgotten.await.map_err(Into::into)
            }
            // asked again next time
            _ => Ok(()),
        };
        if let Err(failure) = outcome {
            session.say(MessageType::Error, format!("{path}: {}", failure.text()));
        }
    }
}

/// What a rewind did to a document whose editor is gone. What was typed into it since goes with it, where it is
/// written.
async fn left_waiting(
    session: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    save: &PendingSave,
) {
    let Some(write) = ask(session, &notice::left_waiting(save)).await else {
        return;
    };
    let waits = save.clone();
    let settled = handle.act(false, move |WriteAccess { engine, .. }| {
        let left = engine.orphan_buffers()?;
        let orphan = left.into_iter().find(|orphan| orphan.path == waits.path);
        if write {
            // whatever becomes of it in the file, what was typed is in the history
            let kept = orphan.map(|orphan| engine.keep_orphan(&orphan, notice::LEFT_TEXT));
            let text = kept.transpose()?.flatten().map(|open| open.text);
            engine.settle_pending(&waits.path, &PendingChoice::WriteNow(text))?;
        } else {
            engine.settle_pending(&waits.path, &PendingChoice::Forget)?;
            // nothing was typed into it: it is the outcome that is not wanted
            if let Some(orphan) = orphan.filter(|o| Some(o.content) == waits.wanted.content()) {
                engine.forget(&orphan)?;
            }
        }
        Ok(())
    });
    told(session, handle, save, settled.await);
    if write {
        editing::follow_disk(session, handle, save).await;
    }
}
