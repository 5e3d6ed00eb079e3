//! Files that a rewind changed in the editor alone, and that were closed without being saved.

use std::sync::Arc;

use backstitch_core::{PendingSave, Settle};
use tower_lsp::gen_lsp_types::MessageType;

use super::document::Document;
use super::room::{Acting, Room};
use super::session::Session;
use super::words::choice;

/// Asks what is to become of it. Without an answer it goes on waiting, and `status` says so.
pub async fn ask(
    session: &Arc<Session>,
    room: &Arc<Room>,
    save: &PendingSave,
    document: &Document,
) {
    let path = save.path.display();
    let question = format!(
        "{path} was closed, and what {} did to it was not saved. Write it to the file?",
        save.operation
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
