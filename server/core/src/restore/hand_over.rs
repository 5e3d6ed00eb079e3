//! Requests from other processes to an editor's server, which has the unsaved text involved. Rows
//! that wait for an answer and can be withdrawn until the work begins.

use std::ops::Deref;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Restore;
use super::types::{Applied, BufferEdit, OpenDoc, Request};
use crate::documents::EditorLease;
use crate::engine::{Engine, Progress};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::{NodeId, OpId, RelPath};
use crate::store::tables::editor::{EditorInfo, ensure, is_alive};
use crate::store::tables::request::{self, NewRequest, RequestState};
use crate::store::{self, Durable};

/// Time limit for an editor to accept a request.
pub(crate) const ACCEPT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for an editor to work on a request.
const WORK_TIMEOUT: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(5);

/// A restore that another process asks this editor to apply.
#[derive(Clone, Debug)]
pub struct Handed {
    pub id: i64,
    /// With the editor set, and no documents yet.
    pub request: Request,
    /// Fingerprint of the plan that the other process has shown, for its files only.
    pub fingerprint: String,
}

/// Outcome of a request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RequestOutcome {
    pub node: Option<NodeId>,
    pub operation: Option<OpId>,
    #[serde(default)]
    pub incomplete: Vec<RelPath>,
    #[serde(default)]
    pub saved: Vec<RelPath>,
    #[serde(default)]
    pub edits: Vec<BufferEdit>,
    /// Documents that did not accept their new text.
    #[serde(default)]
    pub not_taken: Vec<RelPath>,
    /// Documents that the editor reports as changed, but that do not show the new text.
    #[serde(default)]
    pub awaited: Vec<RelPath>,
    /// Reason and hint if it was refused. All other fields are empty then.
    #[serde(default)]
    pub refused: Option<(String, Option<Hint>)>,
}

impl RequestOutcome {
    pub fn of(outcome: &Result<Applied>) -> Self {
        match outcome {
            Ok(applied) => Self {
                node: applied.node,
                operation: applied.operation,
                incomplete: applied.incomplete.clone(),
                saved: applied.saved.clone(),
                edits: applied.plan.edits.clone(),
                ..Self::default()
            },
            Err(e) => Self {
                refused: Some((e.to_string(), e.hint())),
                ..Self::default()
            },
        }
    }
}

impl Restore<&mut Engine> {
    /// Takes the requests of others to this editor, oldest first. Each is returned once.
    pub fn take_requests(&mut self, lease: &EditorLease) -> Result<Vec<Handed>> {
        let id = lease.info.id;
        if !request::any_waiting(&self.engine.store.conn, id)? {
            return Ok(Vec::new());
        }
        self.engine.store.write(Durable::Process, |conn| {
            ensure(conn, &lease.info, lease.root)?;
            let mut taken = Vec::new();
            for row in request::take(conn, id)? {
                // another version's request that this one cannot read expires
                if let Ok(mut request) = serde_json::from_str::<Request>(&row.args) {
                    request.editor = Some(lease.info.id);
                    taken.push(Handed {
                        id: row.id,
                        request,
                        fingerprint: row.fingerprint,
                    });
                }
            }
            Ok(taken)
        })
    }

    /// Applies a request with the editor's documents. Fails without any change if the requesting
    /// process has given up. The server answers once the documents are changed.
    pub fn serve(
        &mut self,
        handed: &Handed,
        open: Vec<OpenDoc>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Applied> {
        let begun = self
            .engine
            .store
            .write(Durable::Process, |conn| request::run(conn, handed.id))?;
        if !begun {
            return Err(Error::refused(
                "the process that asked for this has given up",
                "ask again",
            ));
        }
        let request = Request {
            open,
            ..handed.request.clone()
        };
        self.apply_handed(&request, &handed.fingerprint, progress)
    }

    /// Answers a request that was taken. Returns `false` if the requesting process no longer waits.
    pub fn answer_request(&mut self, id: i64, answer: &RequestOutcome) -> Result<bool> {
        self.engine
            .store
            .write(Durable::Process, |conn| request::answer(conn, id, answer))
    }

    /// Asks an editor to apply a restore, and waits for its answer.
    pub(crate) fn hand_over(
        &mut self,
        editor: &EditorInfo,
        request: &Request,
        (fingerprint, paths): (&str, &str),
        limit: Duration,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<RequestOutcome> {
        let expires = store::now() + i64::try_from(limit.as_micros()).unwrap_or(i64::MAX);
        let new = NewRequest {
            editor: editor.id,
            args: request,
            fingerprint,
            expires,
        };
        let id = self
            .engine
            .store
            .write(Durable::Process, |conn| request::insert(conn, &new))?;
        let started = Instant::now();
        let until = started + limit;
        let mut ticks = 0_u64;
        loop {
            let found = request::progress(&self.engine.store.conn, id)?;
            let running = found
                .as_ref()
                .is_some_and(|found| found.state == RequestState::Running);
            if let Some(answer) = found.and_then(|found| found.answer) {
                self.forget_request(id)?;
                return serde_json::from_str(&answer).map_err(|e| {
                    Error::refused(
                        format!("{} sent an answer that cannot be read: {e}", editor.name),
                        Hint::terminal("`backstitch oplog` shows what was done"),
                    )
                });
            }
            let gone = ticks.is_multiple_of(20) && !is_alive(&self.engine.store.dir, editor.id);
            if gone || (Instant::now() >= until && !running) {
                if self.withdraw(id)? {
                    let why = if gone {
                        "went away meanwhile"
                    } else {
                        "does not answer"
                    };
                    return Err(Error::refused(
                        format!(
                            "{} has unsaved text in {paths} and {why}; nothing was changed",
                            named(editor)
                        ),
                        Hint::UnsavedThere,
                    ));
                }
                if gone && !self.is_answered(id)? {
                    self.forget_request(id)?;
                    return Err(Error::refused(
                        format!("{} went away before it was done", editor.name),
                        Hint::terminal(
                            "`backstitch oplog` shows what was done; the next command finishes it",
                        ),
                    ));
                }
            }
            if started.elapsed() > limit + WORK_TIMEOUT {
                return Err(Error::refused(
                    format!("{} has started, but does not finish", named(editor)),
                    Hint::terminal("`backstitch oplog` shows what was done"),
                ));
            }
            if ticks.is_multiple_of(10) {
                progress(Progress {
                    what: "waiting for the editor, seconds:",
                    done: started.elapsed().as_secs(),
                    total: None,
                });
            }
            ticks += 1;
            std::thread::sleep(POLL);
        }
    }

    /// Withdraws a request, unless it is running or answered already.
    fn withdraw(&mut self, id: i64) -> Result<bool> {
        let withdrawn = self
            .engine
            .store
            .write(Durable::Process, |conn| request::withdraw(conn, id))?;
        Ok(withdrawn || request::progress(&self.engine.store.conn, id)?.is_none())
    }

    fn forget_request(&mut self, id: i64) -> Result<()> {
        self.engine
            .store
            .write(Durable::Process, |conn| request::delete(conn, id))
    }
}

impl<E: Deref<Target = Engine>> Restore<E> {
    fn is_answered(&self, id: i64) -> Result<bool> {
        let found = request::progress(&self.engine.store.conn, id)?;
        Ok(found.is_some_and(|found| found.state == RequestState::Answered))
    }
}

/// Error for unsaved text that no single editor can handle.
pub(crate) fn in_the_way(holders: &[(EditorInfo, RelPath)]) -> Error {
    let named: Vec<String> = holders
        .iter()
        .map(|(editor, path)| format!("{} in {}", path.display(), named(editor)))
        .collect();
    Error::refused(
        format!("unsaved text is in the way: {}", named.join(", ")),
        Hint::Unsaved,
    )
}

/// Name of an editor for messages.
pub(crate) fn named(editor: &EditorInfo) -> String {
    format!("{} (process {})", editor.name, editor.pid)
}
