//! What one process asks an editor's server to carry out, since the text that it would touch is there: rows
//! that wait for an answer, and can be taken back until the work has begun.

use std::time::{Duration, Instant};

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::{EditorInfo, EditorLease, ensure, is_alive};
use crate::engine::{Engine, Progress};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::{NodeId, OpId, RelPath};
use crate::restore::{Applied, BufferEdit, OpenDoc, Request};
use crate::store::{self, Durable};

/// How long an editor has to take a request up.
pub(crate) const HAND_OVER: Duration = Duration::from_secs(10);
/// How long it may be at work on it.
const AT_WORK: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(5);

/// A restore that another process asks this editor to carry out.
#[derive(Clone, Debug)]
pub struct Handed {
    pub id: i64,
    /// With the editor set, and no documents yet.
    pub request: Request,
    /// Of the plan that the other process has shown, as far as it is about files.
    pub fingerprint: String,
}

/// What became of it.
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
    /// Documents that did not take their new text.
    #[serde(default)]
    pub not_taken: Vec<RelPath>,
    /// Documents that took it, as the editor says, and did not show it.
    #[serde(default)]
    pub awaited: Vec<RelPath>,
    /// Why it was refused, and what to do; then nothing of the above is there.
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

impl Engine {
    /// What others ask of this editor, oldest first. Each is given once.
    pub fn take_requests(&mut self, lease: &EditorLease) -> Result<Vec<Handed>> {
        let id = lease.info.id;
        let waiting = "SELECT 1 FROM request WHERE editor = ?1 AND state = 'waiting'";
        if !self.store.conn.prepare_cached(waiting)?.exists([id])? {
            return Ok(Vec::new());
        }
        self.store.write(Durable::Process, |conn| {
            ensure(conn, lease)?;
            let mut select = conn.prepare_cached(
                "UPDATE request SET state = CASE WHEN expires > ?2 THEN 'taken' ELSE 'withdrawn' END
                 WHERE editor = ?1 AND state = 'waiting' RETURNING id, args, fingerprint, state",
            )?;
            let rows = select.query_map(params![id, store::now()], |r| {
                let state: String = r.get(3)?;
                Ok((r.get(0)?, r.get::<_, String>(1)?, r.get(2)?, state))
            })?;
            let mut taken = Vec::new();
            for row in rows {
                let (id, args, fingerprint, state) = row?;
                if let (Ok(mut request), "taken") =
                    (serde_json::from_str::<Request>(&args), state.as_str())
                {
                    request.editor = Some(lease.info.id);
                    taken.push(Handed {
                        id,
                        request,
                        fingerprint,
                    });
                }
            }
            taken.sort_by_key(|handed| handed.id);
            Ok(taken)
        })
    }

    /// Carries out what was asked, with the editor's documents. Refused where the asker has given up by now:
    /// nothing is done then. The answer is the server's to give, once the documents are changed.
    pub fn serve(
        &mut self,
        handed: &Handed,
        open: Vec<OpenDoc>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Applied> {
        let begun = self.store.write(Durable::Process, |conn| {
            Ok(conn.execute(
                "UPDATE request SET state = 'running' WHERE id = ?1 AND state = 'taken'",
                [handed.id],
            )?)
        })?;
        if begun == 0 {
            return Err(Error::refused(
                "who asked for this has given up",
                "ask again",
            ));
        }
        let request = Request {
            open,
            ..handed.request.clone()
        };
        self.apply_handed(&request, &handed.fingerprint, progress)
    }

    /// Answers a request that was taken. `false`: nobody waits for it any more.
    pub fn answer_request(&mut self, id: i64, answer: &RequestOutcome) -> Result<bool> {
        let answer = serde_json::to_string(answer).unwrap_or_default();
        let heard = self.store.write(Durable::Process, |conn| {
            Ok(conn.execute(
                "UPDATE request SET state = 'answered', answer = ?2 WHERE id = ?1 AND state IN ('taken', 'running')",
                params![id, answer],
            )?)
        })?;
        Ok(heard > 0)
    }

    /// Asks an editor to carry out a restore, and waits for its answer.
    pub(crate) fn hand_over(
        &mut self,
        editor: &EditorInfo,
        request: &Request,
        (fingerprint, paths): (&str, &str),
        limit: Duration,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<RequestOutcome> {
        let args = serde_json::to_string(request).unwrap_or_default();
        let now = store::now();
        let expires = now + i64::try_from(limit.as_micros()).unwrap_or(i64::MAX);
        let id = self.store.write(Durable::Process, |conn| {
            conn.execute(
                "INSERT INTO request (editor, kind, args, fingerprint, made, expires, state)
                 VALUES (?1,'restore',?2,?3,?4,?5,'waiting')",
                params![editor.id, args, fingerprint, now, expires],
            )?;
            Ok(conn.last_insert_rowid())
        })?;
        let begun = Instant::now();
        let until = begun + limit;
        let mut ticks = 0_u64;
        loop {
            let row: Option<(String, Option<String>)> = self
                .store
                .conn
                .prepare_cached("SELECT state, answer FROM request WHERE id = ?1")?
                .query_row([id], |r| Ok((r.get(0)?, r.get(1)?)))
                .optional()?;
            let running = row.as_ref().is_some_and(|(state, _)| state == "running");
            if let Some((_, Some(answer))) = row {
                self.forget_request(id)?;
                return serde_json::from_str(&answer).map_err(|e| {
                    Error::refused(
                        format!("{} gave an answer that cannot be read: {e}", editor.name),
                        Hint::terminal("`backstitch oplog` shows what was done"),
                    )
                });
            }
            let gone = ticks.is_multiple_of(20) && !is_alive(&self.store.dir, editor.id);
            if gone || (Instant::now() >= until && !running) {
                if self.withdraw(id)? {
                    let why = if gone {
                        "went away meanwhile"
                    } else {
                        "does not answer"
                    };
                    return Err(Error::refused(
                        format!(
                            "{} has text that is not saved in {paths}, and {why}; nothing was changed",
                            named(editor)
                        ),
                        Hint::UnsavedThere,
                    ));
                }
                if gone && !self.is_answered(id)? {
                    self.forget_request(id)?;
                    return Err(Error::refused(
                        format!("{} went away in the midst of it", editor.name),
                        Hint::terminal(
                            "`backstitch oplog` shows how far it came; the next command finishes it",
                        ),
                    ));
                }
            }
            if begun.elapsed() > limit + AT_WORK {
                return Err(Error::refused(
                    format!(
                        "{} has begun with it, and does not come to an end",
                        named(editor)
                    ),
                    Hint::terminal("`backstitch oplog` shows what was done"),
                ));
            }
            if ticks.is_multiple_of(10) {
                progress(Progress {
                    what: "waiting for the editor, seconds:",
                    done: begun.elapsed().as_secs(),
                    total: None,
                });
            }
            ticks += 1;
            std::thread::sleep(POLL);
        }
    }

    /// Takes a request back, unless it is being carried out or answered already.
    fn withdraw(&mut self, id: i64) -> Result<bool> {
        let taken_back = self.store.write(Durable::Process, |conn| {
            Ok(conn.execute(
                "DELETE FROM request WHERE id = ?1 AND state IN ('waiting', 'taken', 'withdrawn')",
                [id],
            )?)
        })?;
        let there = "SELECT 1 FROM request WHERE id = ?1";
        Ok(taken_back > 0 || !self.store.conn.prepare_cached(there)?.exists([id])?)
    }

    fn is_answered(&self, id: i64) -> Result<bool> {
        let answered = "SELECT 1 FROM request WHERE id = ?1 AND state = 'answered'";
        Ok(self.store.conn.prepare_cached(answered)?.exists([id])?)
    }

    fn forget_request(&mut self, id: i64) -> Result<()> {
        self.store.write(Durable::Process, |conn| {
            conn.execute("DELETE FROM request WHERE id = ?1", [id])?;
            Ok(())
        })
    }
}

/// Who is asked to do all of it: the one editor that holds unsaved text in its way. What several hold cannot be
/// carried out by any of them.
pub(crate) fn only_one(holders: &[(EditorInfo, RelPath)]) -> Option<&EditorInfo> {
    let (first, _) = holders.first()?;
    let one = holders.iter().all(|(editor, _)| editor.id == first.id);
    one.then_some(first)
}

/// Where nobody can be asked.
pub(crate) fn in_the_way(holders: &[(EditorInfo, RelPath)]) -> Error {
    let named: Vec<String> = holders
        .iter()
        .map(|(editor, path)| format!("{} in {}", path.display(), named(editor)))
        .collect();
    Error::refused(
        format!("text that is not saved is in the way: {}", named.join(", ")),
        Hint::Unsaved,
    )
}

/// An editor for people.
pub(crate) fn named(editor: &EditorInfo) -> String {
    format!("{} (process {})", editor.name, editor.pid)
}
