//! Changes around an edit call that no report tells apart: what its input leads to, and what the hooks of the agent's user
//! made of its file afterwards.

use rusqlite::Connection;

use super::calls::{self, Attribution, Writer};
use super::tool_text::{is_plain, is_reformatted, leads_to};
use super::write_txn::WriteTxn;
use crate::error::{Error, Result};
use crate::model::{CallId, ContentId, Image, RootId};
use crate::store;
use crate::store::tables::event::{self, PastEvent};
use crate::store::tables::{call, change, ended_call, session};
use crate::worktree::disk::Stat;
use crate::worktree::file_state::FileState;

/// Time in microseconds after an event for which a formatter in the hooks of that event may run.
const FORMATS: i64 = 60_000_000;
/// The same for a hook that may write any text, where the agent's settings have hooks of others at the end of a call.
const WRITES: i64 = 10_000_000;
/// Difference in microseconds between the clock of file times and that of events.
pub(super) const CLOCKS: i64 = 10_000;

/// True if a session had an event so recently that hooks of its user may still change files.
pub(crate) fn may_run_hooks(conn: &Connection, root: RootId) -> Result<bool> {
    session::any_seen_since(conn, root, store::now() - FORMATS)
}

/// True if the input of a call leads from one text of a file to the other.
pub(super) fn is_explained(
    txn: &WriteTxn<'_>,
    call: CallId,
    before: Image,
    after: Image,
) -> Result<bool> {
    if before.is_too_long() || after.is_too_long() {
        return Ok(false);
    }
    let Some(input) = call::input_of(txn.conn, call)? else {
        return Ok(false);
    };
    let (Some(input), Some(before), Some(after)) = (
        recorded(txn, &input)?,
        text(txn, before)?,
        text(txn, after)?,
    ) else {
        return Ok(false);
    };
    Ok(leads_to(&input, before.as_deref(), after.as_deref()))
}

/// Returns the bytes of a file, or None in it for no file. None: they are not known.
#[expect(clippy::option_option, reason = "no file, and a file of unknown bytes")]
fn text(txn: &WriteTxn<'_>, image: Image) -> Result<Option<Option<Vec<u8>>>> {
    match (image, image.content()) {
        (Image::Absent, _) => Ok(Some(None)),
        (_, Some(content)) => Ok(recorded(txn, &content)?.map(Some)),
        _ => Ok(None),
    }
}

/// Returns the author of a change by a hook of the agent's user, if one may have made it.
pub(super) fn by_hooks(
    txn: &WriteTxn<'_>,
    row: Option<&FileState>,
    now: Image,
    stat: Option<&Stat>,
) -> Result<Option<Attribution>> {
    let Some(stat) = stat else { return Ok(None) };
    match row
        .map(|row| hooked(txn, row, now, stat))
        .transpose()?
        .flatten()
    {
        Some(by) => Ok(Some(calls::by_hook(by))),
        None => Ok(beside_hooks(txn, stat)?.map(calls::perhaps_by_hook)),
    }
}

/// Returns the last call below this root, if hooks of the agent's user may have run beside it when a file changed.
fn beside_hooks(txn: &WriteTxn<'_>, stat: &Stat) -> Result<Option<Writer>> {
    let Some(last) = ended_call::last_that_wrote(txn.conn, txn.here.root)? else {
        return Ok(None);
    };
    let changed = stat.ctime / 1000;
    let (opened, closed) = last.times;
    let is_near = (opened - CLOCKS..=closed + WRITES).contains(&changed);
    let session = last.writer.session;
    if !is_near || !session::has_other_hooks(txn.conn, session)? {
        return Ok(None);
    }
    let (opened, closed) = last.events;
    let before = event::last_before(txn.conn, session, (changed, CLOCKS))?;
    let is_of_call = before
        .iter()
        .any(|event| (opened..=closed).contains(&event.seq));
    Ok(is_of_call.then_some(last.writer))
}

/// Returns the call after which a hook of the agent's user changed a file, if one may have. The call wrote the file last, and its
/// turn had no later event when the file changed than those at which hooks run.
fn hooked(txn: &WriteTxn<'_>, row: &FileState, now: Image, stat: &Stat) -> Result<Option<Writer>> {
    let (Some(file), false) = (row.file, row.image.is_too_long() || now.is_too_long()) else {
        return Ok(None);
    };
    let Some(by) = change::newest_author(txn.conn, file)? else {
        return Ok(None);
    };
    let changed = stat.ctime / 1000;
    let Some((turn, ended)) = call::turn_and_end(txn.conn, by.call)? else {
        return Ok(None);
    };
    let of_turn = |last: &PastEvent| last.seq >= ended && turn.is_some() && last.turn == turn;
    for last in event::last_before(txn.conn, by.session, (changed, CLOCKS))? {
        if !of_turn(&last) {
            continue;
        }
        let age = changed - last.time;
        let is_any = last.seq == ended && session::has_other_hooks(txn.conn, by.session)?;
        if age <= WRITES && is_any || age <= FORMATS && reformats(txn, row.image, now)? {
            return Ok(Some(by));
        }
    }
    Ok(None)
}

pub(super) fn reformats(txn: &WriteTxn<'_>, before: Image, after: Image) -> Result<bool> {
    let (Some(before), Some(after)) = (before.content(), after.content()) else {
        return Ok(false);
    };
    let (Some(before), Some(after)) = (recorded(txn, &before)?, recorded(txn, &after)?) else {
        return Ok(false);
    };
    Ok(is_plain(&before) && is_plain(&after) && is_reformatted(&before, &after))
}

/// Reads a recorded content. Returns None if it is damaged: the comparison fails, not the event.
pub(super) fn recorded(txn: &WriteTxn<'_>, content: &ContentId) -> Result<Option<Vec<u8>>> {
    match store::get(txn.conn, txn.dir, content) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Error::Blob { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}
