//! Changes of documents, for the task that records buffers, the one that publishes problems, and those that wait for a change.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use crate::lsp::documents::document::{Document, Documents};

/// Change of a document, for the task that records buffers.
#[derive(Clone, Debug)]
pub enum DocumentEvent {
    Changed(String),
    Saved {
        uri: String,
        /// Microseconds since 1970.
        time: i64,
        text: Option<SavedText>,
    },
    Closed(String, Box<Document>),
}

/// A saved text, as in the file at that moment.
#[derive(Clone, Debug)]
pub struct SavedText {
    /// Base of the document, if other processes may have written it.
    pub base: Option<Vec<u8>>,
    pub file: Vec<u8>,
}

#[derive(Debug)]
pub struct DocumentEvents {
    sender: UnboundedSender<DocumentEvent>,
    /// Receives the URI of each document whose problems may differ now.
    texts: UnboundedSender<String>,
    /// Wakes tasks that wait for a change of a document.
    changed: Notify,
}

impl DocumentEvents {
    pub fn new(sender: UnboundedSender<DocumentEvent>, texts: UnboundedSender<String>) -> Self {
        Self {
            sender,
            texts,
            changed: Notify::new(),
        }
    }

    /// Returns a sender for document events.
    pub fn sender(&self) -> UnboundedSender<DocumentEvent> {
        self.sender.clone()
    }

    pub fn send(&self, event: DocumentEvent) {
        self.changed.notify_waiters();
        match &event {
            DocumentEvent::Changed(uri) | DocumentEvent::Closed(uri, _) => {
                self.check_problems(uri.clone());
            }
            DocumentEvent::Saved { .. } => {}
        }
        self.sender.send(event).ok();
    }

    /// Has the problems of a document published again.
    pub fn check_problems(&self, uri: String) {
        self.texts.send(uri).ok();
    }

    /// Waits until a document meets the condition; the client's changes trigger the check.
    pub async fn wait_for(
        &self,
        documents: &Documents,
        uri: &str,
        timeout: Duration,
        holds: impl Fn(&Document) -> bool,
    ) -> bool {
        let has = || documents.get(uri).is_some_and(|d| holds(&d));
        let waited = tokio::time::timeout(timeout, async {
            loop {
                let changed = self.changed.notified();
                if has() {
                    return;
                }
                changed.await;
            }
        });
        waited.await.is_ok() || has()
    }
}
