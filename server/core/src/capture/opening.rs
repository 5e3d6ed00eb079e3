//! Opening of calls: the row of a call that begins, and the row of one that an event reports on.

use std::path::Path;

use rusqlite::Connection;

use super::calls::{self, ToolOutcome};
use super::event::{AgentEvent, ToolCall};
use super::write_txn::WriteTxn;
use crate::error::Result;
use crate::model::{CallId, ContentId, RootId, SessionId};
use crate::store;

/// Tool inputs of at least this many bytes may contain a file's text. It is then worth reading the
/// file for compression.
const MIN_FILE_TEXT: usize = 1024;

/// Moment at which a call is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallStart {
    /// Before it runs. A second event of the same call is ignored.
    Reported,
    /// It may run already, since this time.
    Announced(i64),
    /// Before it runs, whatever was announced.
    Starts,
}

pub(super) fn outcome(failed: bool) -> ToolOutcome {
    if failed {
        ToolOutcome::Failed
    } else {
        ToolOutcome::Done
    }
}

/// Opens a call. Returns None if it is already open or closed, since the event was sent twice.
/// `like` is a content that its input may resemble.
pub(super) fn open(
    conn: &Connection,
    dir: &Path,
    root: RootId,
    e: &AgentEvent,
    call: &ToolCall,
    like: Option<ContentId>,
) -> Result<Option<(SessionId, CallId)>> {
    let session = calls::session(conn, root, e)?;
    let turn = calls::turn(conn, session, e.prompt_id.as_deref())?;
    if call.id.is_some()
        && calls::find(
            conn,
            session,
            call.id.as_deref(),
            e.subagent.as_deref(),
            &call.tool,
        )?
        .is_some()
    {
        return Ok(None);
    }
    let seq = calls::record_event(conn, e, session, turn, None)?;
    let native = call
        .id
        .clone()
        .unwrap_or_else(|| format!("{}#{seq}", call.tool));
    let input = if call.input.is_empty() {
        None
    } else {
        let like = like.filter(|_| call.input.len() >= MIN_FILE_TEXT);
        let id = store::put(conn, dir, &call.input, like)?;
        Some(store::number(conn, &id)?)
    };
    let id = calls::open(
        conn,
        &calls::Opening {
            root,
            session,
            turn,
            native: &native,
            subagent: e.subagent.as_deref(),
            tool: &call.tool,
            effect: &call.effect,
            input,
            seq,
        },
    )?;
    Ok(Some((session, id)))
}

/// Returns the open call of an event, if an earlier event has announced it.
pub(super) fn announced(
    txn: &WriteTxn<'_>,
    e: &AgentEvent,
    call: &ToolCall,
) -> Result<Option<calls::CallRow>> {
    let Some(id) = call.id.as_deref() else {
        return Ok(None);
    };
    let session = calls::session(txn.conn, txn.here.root, e)?;
    let row = calls::find(
        txn.conn,
        session,
        Some(id),
        e.subagent.as_deref(),
        &call.tool,
    )?;
    Ok(row.filter(|row| !row.closed))
}

/// Returns the call that an "after" event reports on. An unknown call is opened now (`true`).
/// Returns None if it has reported already, since the event was sent twice.
pub(crate) fn reported(
    txn: &WriteTxn<'_>,
    e: &AgentEvent,
    call: &ToolCall,
) -> Result<(Option<calls::CallRow>, bool)> {
    let session = calls::session(txn.conn, txn.here.root, e)?;
    let find = || {
        calls::find(
            txn.conn,
            session,
            call.id.as_deref(),
            e.subagent.as_deref(),
            &call.tool,
        )
    };
    match find()? {
        Some(row) if !row.closed || row.is_presumed() => Ok((Some(row), false)),
        Some(_) => Ok((None, false)),
        None => {
            open(txn.conn, txn.dir, txn.here.root, e, call, None)?;
            Ok((find()?, true))
        }
    }
}
