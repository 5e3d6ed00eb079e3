//! Recorded history of the open documents, cached until the history or a text changes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use backstitch_core::model::{Kind, SessionId};
use backstitch_core::restore::Reversible;
use backstitch_core::{Against, Blame, Engine, Error, LogFilter, Result};
use dashmap::DashMap;

use crate::lsp::documents::document::{Document, DocumentPath};

/// Answers of the engine about documents and their workspaces.
#[derive(Debug, Default)]
pub struct HistoryCache {
    blames: DashMap<String, Blamed>,
    /// For each workspace, the operations that can be reversed, and the epoch at which they were read.
    reversible: DashMap<PathBuf, (u64, Reversible)>,
    /// By workspace, with the epoch in which they were read.
    turns: DashMap<PathBuf, (u64, Arc<TurnsInForce>)>,
    /// For each document that was open, the epoch at which the client sent its last text.
    sent_at: DashMap<String, u64>,
    /// Counts changes that may affect a blame, apart from the text itself.
    epoch: AtomicU64,
}

#[derive(Clone, Debug)]
struct Blamed {
    edition: u64,
    epoch: u64,
    history: Arc<DocumentHistory>,
}

/// Recorded history of a document with its current text.
#[derive(Clone, Debug)]
pub struct DocumentHistory {
    pub blame: Blame,
    /// Number of checkpoints that changed the file, up to the limit.
    pub checkpoints: usize,
    /// True if there are more.
    pub more: bool,
    /// Time of the newest one.
    pub newest: Option<i64>,
    /// Session and turn of the newest agent work in the workspace, if the settings need it.
    pub latest: Option<(SessionId, Option<i64>)>,
}

/// Returns the newest agent work on the current branch.
fn latest(engine: &Engine) -> Result<Option<(SessionId, Option<i64>)>> {
    let newest = |kind| {
        engine.history().log(&LogFilter {
            kind: Some(kind),
            limit: Some(1),
            ..LogFilter::default()
        })
    };
    let found = [newest(Kind::Turn)?, newest(Kind::Step)?].concat();
    let newest = found.into_iter().max_by_key(|entry| entry.node.id);
    Ok(newest.and_then(|entry| {
        let turn = entry.turn.map(|turn| turn.number);
        Some((entry.session?.id, turn))
    }))
}

/// Maximum number of steps that are read to count later turns.
const MAX_STEPS: usize = 500;

/// Turns of the current branch whose work is in force, by their sessions.
#[derive(Debug, Default)]
pub struct TurnsInForce(BTreeSet<(SessionId, i64)>);

impl TurnsInForce {
    fn read(engine: &Engine) -> Result<Self> {
        let steps = engine.history().log(&LogFilter {
            kind: Some(Kind::Step),
            limit: Some(MAX_STEPS),
            ..LogFilter::default()
        })?;
        let steps = steps.into_iter();
        let in_force = steps.filter(|step| !step.taken_out && !step.changes.is_empty());
        let turns = in_force.filter_map(|step| Some((step.session?.id, step.turn?.number)));
        Ok(Self(turns.collect()))
    }

    /// Returns the number of turns of a session after this one.
    pub fn later(&self, session: SessionId, turn: i64) -> usize {
        self.0
            .range((session, turn.saturating_add(1))..(session, i64::MAX))
            .count()
    }
}

/// Maximum number of checkpoints of a file that are counted.
const MAX_COUNTED: usize = 100;

impl HistoryCache {
    /// Invalidates all blames.
    pub fn forget(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    pub fn forget_document(&self, uri: &str) {
        self.blames.remove(uri);
    }

    /// Notes that the client sent the text of this document. Returns true if the history has changed since it last did.
    pub fn note_sent(&self, uri: &str) -> bool {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let before = self.sent_at.insert(uri.to_owned(), epoch);
        before.is_some_and(|before| before != epoch)
    }

    /// Returns the author of each line of a document as it is now; None without a history. `needs_latest`: also finds the
    /// newest agent work.
    pub async fn of(
        &self,
        uri: &str,
        document: &Document,
        place: &DocumentPath,
        needs_latest: bool,
    ) -> Result<Option<Arc<DocumentHistory>>> {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let fresh = |b: &Blamed| b.edition == document.edition && b.epoch == epoch;
        if let Some(blamed) = self.blames.get(uri).filter(|blamed| fresh(blamed)) {
            return Ok(Some(blamed.history.clone()));
        }
        // lines as in the history
        let bytes = document.as_saved().unwrap_or_else(|| document.bytes());
        let path = place.path.clone();
        let asked = place.handle.ask(move |engine| {
            let blame = match engine.blamer().blame(&path, Against::Text(&bytes)) {
                // a file without lines
                Err(Error::Refused { reason, .. }) => {
                    tracing::debug!("{reason}");
                    return Ok(None);
                }
                blame => blame?,
            };
            let latest = needs_latest.then(|| latest(engine)).transpose()?.flatten();
            let checkpoints = engine.history().checkpoints_of(&path, MAX_COUNTED)?;
            Ok(Some(DocumentHistory {
                blame,
                latest,
                checkpoints: checkpoints.count,
                more: checkpoints.more,
                newest: checkpoints.newest,
            }))
        });
        let history = match asked.await {
            Ok(Some(history)) => Arc::new(history),
            Ok(None) | Err(Error::NoStore(_) | Error::NoFile { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let blamed = Blamed {
            edition: document.edition,
            epoch,
            history: history.clone(),
        };
        self.blames.insert(uri.to_owned(), blamed);
        Ok(Some(history))
    }

    /// Returns the operations of a document's workspace that can be reversed.
    pub async fn reversible(&self, document: &Document) -> Reversible {
        let Some(place) = &document.place else {
            return Reversible::default();
        };
        let (epoch, root) = (self.epoch.load(Ordering::Relaxed), place.handle.root());
        let known = self.reversible.get(root).map(|known| *known);
        if let Some((_, known)) = known.filter(|(read, _)| *read == epoch) {
            return known;
        }
        let asked = place.handle.ask(|engine| engine.restore().reversible());
        match asked.await {
            Ok(found) => {
                self.reversible.insert(root.to_path_buf(), (epoch, found));
                found
            }
            Err(error) => {
                tracing::info!("{}: {error}", root.display());
                Reversible::default()
            }
        }
    }

    /// Returns the turns whose work is in force in the workspace of a document.
    pub async fn turns_in_force(&self, document: &Document) -> Arc<TurnsInForce> {
        let Some(place) = &document.place else {
            return Arc::default();
        };
        let (epoch, root) = (self.epoch.load(Ordering::Relaxed), place.handle.root());
        let known = self.turns.get(root).map(|known| known.clone());
        if let Some((_, known)) = known.filter(|(read, _)| *read == epoch) {
            return known;
        }
        match place.handle.ask(|engine| TurnsInForce::read(engine)).await {
            Ok(found) => {
                let found = Arc::new(found);
                self.turns
                    .insert(root.to_path_buf(), (epoch, found.clone()));
                found
            }
            Err(error) => {
                tracing::info!("{}: {error}", root.display());
                Arc::default()
            }
        }
    }
}
