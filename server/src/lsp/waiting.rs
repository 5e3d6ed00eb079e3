//! Files that a rewind changed in the editor alone, and that were closed without being saved.

use std::sync::Arc;

use backstitch_core::{PendingSave, Settle};
use tokio::sync::mpsc::UnboundedReceiver;
use tower_lsp::gen_lsp_types::MessageType;

use super::document::Document;
use super::notices;
use super::room::{Acting, Room};
use super::session::Session;
use super::views;
use super::words::choice;

/// Asks what is to become of it. Without an answer it goes on waiting, and `status` says so.
pub async fn ask(
    session: &Arc<Session>,
    room: &Arc<Room>,
    save: &PendingSave,
    document: &Document,
) {
    let path = save.path.display();
    let what = match save.operation {
        Some(operation) => operation.to_string(),
        None => "an agent".to_owned(),
    };
    let question = format!(
        "{path} was closed, and what {what} did to it was not saved. Write it to the file?"
    );
    let answers = [choice::WRITE, choice::FORGET];
    let chosen = super::ask::ask(session, MessageType::Warning, &question, &answers).await;
    let settle = match chosen.as_deref() {
        // what it had when it was closed, with what was typed since
        Some(choice::WRITE) => Settle::WriteNow(document.as_saved()),
        Some(choice::FORGET) => Settle::Forget,
        _ => return,
    };
    let path = save.path.clone();
    let settled = room.act(false, move |Acting { engine, .. }| {
        engine.settle_pending(&path, &settle)
    });
    if let Err(error) = settled.await {
        session.say(
            MessageType::Error,
            format!("{}: {error}", save.path.display()),
        );
    }
    session.changed(room);
}

/// For each workspace that is opened, until the server ends.
pub async fn follow(session: Arc<Session>, mut opened: UnboundedReceiver<Arc<Room>>) {
    while let Some(room) = opened.recv().await {
        tokio::spawn(notices::standing(session.clone(), room.clone()));
        tokio::spawn(left(session.clone(), room));
    }
}

/// What an editor that died had not saved is shown to who opens the workspace next.
async fn left(session: Arc<Session>, room: Arc<Room>) {
    session.begun().await;
    let found = room.ask(|engine| engine.orphan_buffers()).await;
    for orphan in found.unwrap_or_default() {
        let path = orphan.path.display();
        let question = format!(
            "{path} had text that was not saved when {} ended. It is kept.",
            orphan.editor.name
        );
        let answers = [choice::SHOW_TEXT, choice::FORGET_TEXT];
        let chosen = super::ask::ask(&session, MessageType::Warning, &question, &answers).await;
        let outcome = match chosen.as_deref() {
            Some(choice::SHOW_TEXT) => {
                let taken = room.act(false, move |Acting { engine, lease }| {
                    let text = engine.adopt(&lease, &orphan)?;
                    if let Some(text) = &text {
                        // with a checkpoint it stays in the history, whatever becomes of the view
                        let node = engine.checkpoint(Some("what was not saved"))?;
                        engine.keep_buffers(&lease, node, std::slice::from_ref(text))?;
                        engine.drop_buffer(&lease, &text.path)?;
                    }
                    Ok(text)
                });
                match taken.await {
                    Ok(Some(text)) => views::unsaved(&session, &text.path, &text.text).await,
                    Ok(None) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
            Some(choice::FORGET_TEXT) => {
                let forgotten =
                    room.act(false, move |Acting { engine, .. }| engine.forget(&orphan));
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
