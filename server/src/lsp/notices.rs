//! What another process did, told to the client: lenses are asked for anew, Backstitch's own clients hear of each
//! checkpoint, an agent that wrote below text that is not saved is announced, and what a command line asks this
//! editor to carry out is done.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use backstitch_core::model::{Kind, NodeId, RelPath};
use backstitch_core::{Answer, Entry, LogFilter, OpenText, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tower_lsp::gen_lsp_types::{
    LspNotificationMethod, MessageDirection, MessageType, Notification,
};

use super::document::Document;
use super::editing::{self, Open};
use super::restore;
use super::room::{Acting, Room};
use super::session::Session;
use crate::shape;

/// Checkpoints told one by one; where more were made meanwhile, the timeline is to be read anew.
const TOLD: usize = 50;

/// Runs until the server ends.
pub async fn follow(session: Arc<Session>, mut heard: UnboundedReceiver<PathBuf>) {
    let mut last: HashMap<PathBuf, NodeId> = HashMap::new();
    while let Some(root) = heard.recv().await {
        let Some(room) = session.room_at(&root) else {
            continue;
        };
        session.changed(&room);
        serve(&session, &room).await;
        let since = last.get(&root).copied();
        match news(&room, since).await {
            Ok((head, entries)) => {
                last.insert(root, head);
                tell(&session, &room, &entries).await;
            }
            Err(error) => tracing::info!("{}: {error}", root.display()),
        }
    }
}

/// The newest node, and what was made after another one, oldest first. Without one nothing is told.
async fn news(room: &Room, since: Option<NodeId>) -> Result<(NodeId, Vec<Entry>)> {
    let asked = room.ask(move |engine| {
        let newest = engine.log(&LogFilter {
            limit: Some(if since.is_some() { TOLD } else { 1 }),
            all_branches: true,
            ..LogFilter::default()
        })?;
        let head = newest.iter().map(|entry| entry.node.id).max();
        let head = head.unwrap_or(NodeId(0));
        let new = |entry: &Entry| since.is_some_and(|last| entry.node.id > last);
        let mut entries: Vec<Entry> = newest.into_iter().filter(new).collect();
        entries.reverse();
        Ok((head, entries))
    });
    asked.await
}

async fn tell(session: &Arc<Session>, room: &Arc<Room>, entries: &[Entry]) {
    let wants = session.abilities().own.notifications;
    for entry in entries {
        under(session, room, entry).await;
        if wants {
            let checkpoint = json!({
                "workspace": shape::text(room.root().as_os_str().as_encoded_bytes()),
                "checkpoint": shape::checkpoint(entry),
            });
            session
                .client
                .send_notification::<DidCheckpoint>(checkpoint)
                .await;
            if let Some(operation) = &entry.operation {
                let rewound = json!({
                    "workspace": shape::text(room.root().as_os_str().as_encoded_bytes()),
                    "operation": shape::operation(operation),
                    "checkpoint": entry.node.id.to_string(),
                });
                session.client.send_notification::<DidRewind>(rewound).await;
            }
        }
    }
    if wants {
        let workspace = shape::text(room.root().as_os_str().as_encoded_bytes());
        let changed = json!({ "workspace": workspace });
        session
            .client
            .send_notification::<TimelineChanged>(changed)
            .await;
    }
}

/// An agent wrote to files whose documents have text that is not saved: it is kept at that checkpoint, and said.
async fn under(session: &Arc<Session>, room: &Arc<Room>, entry: &Entry) {
    if entry.node.kind != Kind::Step {
        return;
    }
    let mut kept: Vec<(RelPath, Document)> = Vec::new();
    for (_, document) in session.documents.of(room) {
        let Some(place) = &document.place else {
            continue;
        };
        let touches = entry.changes.iter().any(|c| {
            let after = c.change.after.as_ref();
            after.is_some_and(|placed| placed.path == place.path)
        });
        if touches && document.text != document.saved {
            kept.push((place.path.clone(), document.clone()));
        }
    }
    if kept.is_empty() {
        return;
    }
    let texts = kept.iter().map(|(path, document)| OpenText {
        path: path.clone(),
        text: document.as_saved().unwrap_or_else(|| document.bytes()),
        base: document.base(),
        version: i64::from(document.version),
    });
    let (texts, node): (Vec<OpenText>, NodeId) = (texts.collect(), entry.node.id);
    let keeping = room.act(false, move |Acting { engine, lease }| {
        engine.keep_buffers(&lease, node, &texts)
    });
    let kept_at = match keeping.await {
        Ok(()) => format!("Your text is kept at {node}."),
        Err(error) => format!("It could not be kept: {error}."),
    };
    let names: Vec<String> = kept.iter().map(|(path, _)| path.display()).collect();
    let agent = entry
        .session
        .as_ref()
        .map_or("An agent", |s| s.agent.as_str());
    session.say(
        MessageType::Warning,
        format!(
            "{agent} changed {} on disk, where you have text that is not saved. {kept_at}",
            names.join(", ")
        ),
    );
}

/// Carries out what another process asks of this editor.
async fn serve(session: &Arc<Session>, room: &Arc<Room>) {
    let taken = room.act(false, |Acting { engine, lease }| {
        engine.take_requests(&lease)
    });
    for mut handed in taken.await.unwrap_or_default() {
        let open = Open::of(session, room);
        let id = handed.id;
        handed.request.unreadable = open.unreadable(room.root());
        let done = room.act(false, move |Acting { engine, .. }| {
            let open = open.documents(engine.root());
            let outcome = engine.serve(&handed, open, &mut |_| {});
            let texts = match &outcome {
                Ok(applied) => restore::texts(engine, &applied.plan)?,
                Err(_) => Vec::new(),
            };
            Ok((Answer::of(&outcome), texts))
        });
        let Ok((answer, texts)) = done.await else {
            continue;
        };
        editing::apply(session, room, &texts).await;
        let answered = room.act(false, move |Acting { engine, .. }| {
            engine.answer_request(id, &answer)
        });
        if let Err(error) = answered.await {
            tracing::warn!("a request of another process: {error}");
        }
        session.changed(room);
    }
}

macro_rules! notification {
    ($name:ident, $method:literal) => {
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        pub enum $name {}

        impl Notification for $name {
            type Params = Value;
            const METHOD: LspNotificationMethod<'static> = LspNotificationMethod::Custom($method);
            const MESSAGE_DIRECTION: MessageDirection = MessageDirection::ServerToClient;
        }
    };
}

notification!(DidCheckpoint, "backstitch/didCheckpoint");
notification!(DidRewind, "backstitch/didRewind");
notification!(TimelineChanged, "backstitch/timelineChanged");
