//! Prompts and the turns that they begin, also where two sources report the same one.

use std::ops::Deref;
use std::time::Instant;

use rusqlite::Connection;

use super::calls::{self, Threads};
use super::event::AgentEvent;
use super::same_prompt::{self, LastPrompt};
use super::write_txn::{AFTER, BEFORE};
use super::{Capture, Recorded, interrupts};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{Coverage, Kind, SessionId, TurnId};
use crate::store::tables::{call, conversation, node, session, turn};

impl Capture<&mut Engine> {
    /// Notes the start of a session, and ends what an earlier one has left.
    pub(super) fn session_start(
        &mut self,
        e: &AgentEvent,
        source: &str,
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        // a compaction restarts the session in the middle of its work
        if source == "compact" || self.is_late_start(e, source)? {
            return self.note(e);
        }
        // a proxy may tell the prompt while the disk is read
        self.thread_ended(e, Threads::All, true, deadline, |conn, session| {
            if has_begun(conn, session, source)? {
                return Ok(());
            }
            session::set_working(conn, session, false)
        })
    }

    /// True if the first start of a session is reported when its work has begun. The hook of a start runs beside the prompt
    /// that a proxy reports.
    fn is_late_start(&self, e: &AgentEvent, source: &str) -> Result<bool> {
        let conn = &self.engine.store.conn;
        match session::id_of(conn, &e.agent, &e.session)? {
            Some(session) => has_begun(conn, session, source),
            None => Ok(false),
        }
    }

    /// Links the id of a synthetic prompt to the turn that it continues.
    pub(super) fn continued(&mut self, e: &AgentEvent) -> Result<Recorded> {
        let root = self.engine.here.root;
        self.engine.store.write(AFTER, |conn| {
            let session = calls::session(conn, root, e)?;
            let turn = calls::turn(conn, session, None)?;
            if let (Some(prompt), Some(turn)) = (&e.prompt_id, turn) {
                turn::name(conn, session, prompt, turn)?;
            }
            session::set_working(conn, session, true)?;
            calls::record_event(conn, e, session, turn, None)
        })?;
        Ok(Recorded::default())
    }

    /// Begins a turn. Records the disk first, so that the turn's node is the state when the prompt
    /// was sent.
    pub(super) fn prompt(
        &mut self,
        e: &AgentEvent,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        let scanned = self.scan(deadline)?;
        let pending = scanned.findings.partial;
        self.notifying_txn(BEFORE, scanned, |txn, scanned| {
            let session = calls::session(txn.conn, txn.here.root, e)?;
            if let Some(prompt) = &e.prompt_id {
                let known = turn::of_prompt(txn.conn, session, prompt)?;
                if let Some(turn) = known {
                    calls::record_event(txn.conn, e, session, Some(turn), None)?;
                    return Ok(Recorded {
                        node: None,
                        pending,
                    });
                }
            }
            if let Some(turn) = told_already(txn.conn, session, e, text)? {
                calls::record_event(txn.conn, e, session, Some(turn), None)?;
                if let Some(prompt) = &e.prompt_id {
                    turn::name(txn.conn, session, prompt, turn)?;
                }
                return Ok(Recorded {
                    node: None,
                    pending,
                });
            }
            let seq = calls::record_event(txn.conn, e, session, None, None)?;
            session::set_working(txn.conn, session, true)?;
            let left = interrupts::left_at_prompt(txn, session)?;
            let context = interrupts::close(txn, &left, seq)?;
            let coverage = Coverage {
                pending,
                ..scanned.findings.coverage.without_standing()
            };
            txn.record_scan(scanned, &context)?;
            let conn = txn.conn;
            let node = txn.node(Kind::Turn, Some(session), None, None, None, &coverage)?;
            let turn = turn::insert(conn, session, text, node)?;
            node::set_turn(conn, node, turn)?;
            conversation::set_used(conn, &e.session)?;
            if let Some(prompt) = &e.prompt_id {
                turn::name(conn, session, prompt, turn)?;
            }
            Ok(Recorded {
                node: Some(node),
                pending,
            })
        })
    }

    /// Gives the newest turn of a session its prompt, if it began without one: some agents tell the text later.
    pub fn late_prompt(&mut self, e: &AgentEvent, text: &str) -> Result<()> {
        self.notifying_txn(AFTER, (), |txn, ()| {
            let session = calls::session(txn.conn, txn.here.root, e)?;
            turn::set_missing_prompt(txn.conn, session, text)
        })
    }
}

impl<E: Deref<Target = Engine>> Capture<E> {
    /// Returns the prompt of the newest turn of a session, if it works on it.
    pub fn prompt_at_work(&self, agent: &str, session: &str) -> Result<Option<String>> {
        let conn = &self.engine.store.conn;
        let Some(session) = session::id_of(conn, agent, session)? else {
            return Ok(None);
        };
        match turn::newest_of(conn, session)? {
            Some(turn) if session::is_working(conn, session)? => {
                Ok(Some(turn::row(conn, turn)?.prompt))
            }
            _ => Ok(None),
        }
    }
}

/// True if a session is at work on a prompt although its first start is only reported now.
fn has_begun(conn: &Connection, session: SessionId, source: &str) -> Result<bool> {
    Ok(["startup", "new"].contains(&source)
        && session::is_working(conn, session)?
        && turn::newest_of(conn, session)?.is_some())
}

/// Returns the open turn of a prompt that another source has told already: an agent may have hooks and stand behind a proxy.
fn told_already(
    conn: &Connection,
    session: SessionId,
    e: &AgentEvent,
    text: &str,
) -> Result<Option<TurnId>> {
    let Some(turn) = turn::newest_of(conn, session)? else {
        return Ok(None);
    };
    // few prompts get beyond this
    if !same_prompt::are_alike(&turn::row(conn, turn)?.prompt, text)
        || !session::is_working(conn, session)?
    {
        return Ok(None);
    }
    let last = LastPrompt {
        has_calls: call::any_of_turn(conn, session, turn)?,
        has_id: turn::has_prompt_id(conn, session, turn)?,
        last_event: calls::newest_event(conn, session)?,
    };
    Ok(last.is_told_by(e).then_some(turn))
}
