//! Calls that were interrupted: no event tells of it. The agent's process is gone, or its own record of the conversation
//! has the end of the call.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Deref;

use rusqlite::Connection;

use super::Capture;
use super::calls::{self, CallRow, Observation, Writer};
use super::transcript;
use super::write_txn::{CallsOver, Doubt, ScanContext, WriteTxn};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{CallId, RootId, SessionId};
use crate::process::ProcessId;
use crate::store::now;
use crate::store::tables::call::{self, CallEffect, ToolOutcome};
use crate::store::tables::event::{self, NewEvent};
use crate::store::tables::{change, ended_call, reserved, session};

/// Time in microseconds for which processes that an interrupted command has started may still write.
const AFTERMATH: i64 = 3_000_000;
/// Time in microseconds from the start of a call, after which a change is uncertain if the agent has died at an unknown time.
const UNKNOWN_END: i64 = 2 * 60 * 1_000_000;
/// Time in microseconds after which the result of a call in a transcript has no report: its hook runs at the same time.
const REPORTS: i64 = 2_000_000;
/// Bytes at the end of a transcript that are read.
const TAIL: u64 = 512 << 10;
/// Name of the event with which agents end a session.
const SESSION_END: &str = "SessionEnd";
/// Name of the event that is recorded for an interrupt.
const EVENT: &str = "interrupted";

/// A call that has ended without a report.
#[derive(Clone, Debug)]
pub(crate) struct SilentCall {
    pub row: CallRow,
    pub end: SilentEnd,
}

/// Knowledge of the time of an end that nobody reported, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SilentEnd {
    /// The agent noted this time.
    At(i64),
    /// The agent died some time after the call began, at this time.
    After(i64),
    /// Its session continued, or ended.
    Now,
    /// Its user was asked for it some time after it began, and refused it, or let it run and interrupted it at this time: the
    /// agent notes both alike.
    Asked { opened: i64, at: i64 },
}

impl<E: Deref<Target = Engine>> Capture<E> {
    /// Returns the open calls below this root that were interrupted. Reads `/proc` and transcripts if a call is open.
    pub(crate) fn interrupted(&self) -> Result<Vec<SilentCall>> {
        let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
        let mut found = Vec::new();
        let mut known: Option<(SessionId, Evidence)> = None;
        for open in call::open_writing(conn, root, calls::inactive_before())? {
            let session = open.row.session;
            if known.as_ref().is_none_or(|(of, _)| *of != session) {
                known = Some((session, Evidence::of(conn, session)?));
            }
            let evidence = known.as_ref().map(|(_, evidence)| evidence);
            if let Some(end) = evidence.and_then(|e| e.end_of(&open.native, open.opened)) {
                found.push(SilentCall { row: open.row, end });
            }
        }
        Ok(found)
    }
}

/// An agent's session that works on a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtWork {
    pub session: SessionId,
    pub agent: String,
    /// Time of the prompt.
    pub since: i64,
    /// Time from which on it does not count as working unless it reports.
    pub until: i64,
}

/// Time for which a session counts as working after its last event: it may think, or was stopped without a word.
const QUIET: i64 = 5 * 60 * 1_000_000;
/// Time for which a call may be open.
const LONG_CALL: i64 = 60 * 60 * 1_000_000;

/// Returns the sessions below a root that work on a prompt now.
pub(crate) fn at_work(conn: &Connection, root: RootId) -> Result<Vec<AtWork>> {
    let now = now();
    let working = session::working(conn, root)?.into_iter();
    let working = working.map(|session| {
        let quiet = session.seen.saturating_add(QUIET);
        let long = session
            .opened
            .map(|opened| opened.saturating_add(LONG_CALL));
        AtWork {
            session: session.id,
            agent: session.agent,
            since: session.since,
            until: long.map_or(quiet, |long| long.max(quiet)),
        }
    });
    let mut at_work = Vec::new();
    for working in working.filter(|working| working.until > now) {
        // an interrupt is reported by no event
        if !Evidence::of(conn, working.session)?.is_over(working.since) {
            at_work.push(working);
        }
    }
    Ok(at_work)
}

/// Evidence of what became of a session.
pub(super) struct Evidence {
    is_gone: bool,
    /// The end of the agent's own record of the conversation.
    transcript: String,
    /// Time at which the agent last asked its user for permission, in microseconds since 1970.
    asked: Option<i64>,
}

impl Evidence {
    pub(super) fn of(conn: &Connection, session: SessionId) -> Result<Self> {
        let traces = session::traces(conn, session)?;
        let process = traces.process.and_then(|text| text.parse().ok());
        Ok(Self {
            is_gone: process.is_some_and(|process: ProcessId| !process.is_alive()),
            transcript: traces.transcript.and_then(|p| tail(&p)).unwrap_or_default(),
            asked: event::newest_time(conn, session, transcript::ASKS)?,
        })
    }

    /// Returns the end of a call that is open by the record. None: it may be running.
    fn end_of(&self, native: &str, opened: i64) -> Option<SilentEnd> {
        let interrupt = transcript::end_of(&self.transcript, "", opened);
        let result = || {
            let at = transcript::end_of(&self.transcript, native, opened);
            at.filter(|at| *at < now() - REPORTS)
        };
        match interrupt.or_else(result) {
            Some(at)
                if self.asked.is_some_and(|asked| asked >= opened)
                    && transcript::is_refused(&self.transcript, native) =>
            {
                Some(SilentEnd::Asked { opened, at })
            }
            Some(at) => Some(SilentEnd::At(at)),
            None => self.is_gone.then_some(SilentEnd::After(opened)),
        }
    }

    /// True if the session works on nothing: its agent is gone, or was interrupted after a time.
    pub(super) fn is_over(&self, since: i64) -> bool {
        self.is_gone || transcript::end_of(&self.transcript, "", since).is_some()
    }
}

/// Reads the end of a file. None: it is not a plain file, or cannot be read.
fn tail(path: &str) -> Option<String> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut file = std::fs::File::open(path).ok()?;
    let len = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the command that ended last, and the time until which its processes may have continued: its agent died after that, in
/// the middle of a turn.
pub(super) fn aftermath(conn: &Connection, root: RootId) -> Result<Option<(Writer, i64)>> {
    let Some(last) = ended_call::last_ended(conn, root, SESSION_END)? else {
        return Ok(None);
    };
    let session = last.writer.session;
    if event::any_other_since(conn, session, last.seq, SESSION_END)?
        || !Evidence::of(conn, session)?.is_gone
    {
        return Ok(None);
    }
    Ok(Some((last.writer, last.time.saturating_add(AFTERMATH))))
}

/// Returns the open calls of threads of a session that continues or ends, with their ends as far as they are known.
pub(super) fn left_open(
    txn: &WriteTxn<'_>,
    session: SessionId,
    threads: calls::Threads<'_>,
) -> Result<Vec<SilentCall>> {
    let open = calls::open_of(txn.conn, txn.here.root, session, threads)?;
    if open.iter().all(|call| call.effect == CallEffect::Reads) {
        let reads = |row| SilentCall {
            row,
            end: SilentEnd::Now,
        };
        return Ok(open.into_iter().map(reads).collect());
    }
    let evidence = Evidence::of(txn.conn, session)?;
    let mut left = Vec::new();
    for row in open {
        let (native, opened) = call::name_and_start(txn.conn, row.id)?;
        let end = match evidence.end_of(&native, opened) {
            // the session itself reports
            None | Some(SilentEnd::After(_)) => SilentEnd::Now,
            Some(end) => end,
        };
        left.push(SilentCall { row, end });
    }
    Ok(left)
}

/// Returns the calls that a session has left open at its next prompt: those of its main thread, and those of subagents that were
/// interrupted with it. Other subagents continue.
pub(super) fn left_at_prompt(txn: &WriteTxn<'_>, session: SessionId) -> Result<Vec<SilentCall>> {
    let mut left = left_open(txn, session, calls::Threads::One(None))?;
    let of_main: Vec<CallId> = left.iter().map(|call| call.row.id).collect();
    let all = left_open(txn, session, calls::Threads::All)?;
    let is_over = |call: &SilentCall| !of_main.contains(&call.row.id) && call.end != SilentEnd::Now;
    left.extend(all.into_iter().filter(is_over));
    Ok(left)
}

/// Closes calls that ended without a report, at an event. Returns the context in which their changes are recorded.
pub(super) fn close(txn: &WriteTxn<'_>, silent: &[SilentCall], seq: i64) -> Result<ScanContext> {
    let mut context = ScanContext::between();
    for SilentCall { row, end } in silent {
        let writer = Writer {
            call: row.id,
            session: row.session,
        };
        for path in reserved::of_call(txn.conn, row.id)?.into_keys() {
            context.unreported.insert(path, writer);
        }
        if row.effect == CallEffect::Any && !matches!(end, SilentEnd::Asked { .. }) {
            context.observation = Observation::Interrupted(writer);
            change::confirm(txn.conn, row.id)?;
        }
        calls::close(txn.conn, row.id, seq, ToolOutcome::Presumed)?;
    }
    context.over = over(silent);
    Ok(context)
}

/// Closes calls that were interrupted, as a separate event. None: there are none.
pub(super) fn close_interrupted(
    txn: &WriteTxn<'_>,
    silent: &[SilentCall],
) -> Result<Option<ScanContext>> {
    let Some(first) = silent.first() else {
        return Ok(None);
    };
    let interrupt = NewEvent {
        session: first.row.session,
        turn: first.row.turn,
        call: None,
        subagent: None,
        name: EVENT,
    };
    let seq = event::insert(txn.conn, &interrupt)?;
    let context = close(txn, silent, seq)?;
    for SilentCall { row, .. } in silent {
        session::set_working(txn.conn, row.session, false)?;
    }
    txn.notify.set(true);
    Ok(Some(context))
}

/// Returns the time from which on nothing is the work of these calls. None: that is not known.
fn over(silent: &[SilentCall]) -> Option<CallsOver> {
    let of = |call: &SilentCall| match call.end {
        SilentEnd::At(at) => Some((at.saturating_add(AFTERMATH), None)),
        SilentEnd::After(opened) => Some((opened.saturating_add(UNKNOWN_END), Some(i64::MAX))),
        SilentEnd::Asked { opened, at } => Some((opened, Some(at.saturating_add(AFTERMATH)))),
        SilentEnd::Now => None,
    };
    let ends: Option<Vec<(i64, Option<i64>)>> = silent.iter().map(of).collect();
    let ends = ends.filter(|ends| !ends.is_empty())?;
    let until = ends.iter().filter_map(|(_, until)| *until).max();
    let calls = silent.iter().map(|call| call.row.id);
    Some(CallsOver {
        calls: calls.collect::<std::collections::BTreeSet<CallId>>(),
        since: ends
            .iter()
            .map(|(since, _)| *since)
            .max()
            .unwrap_or(i64::MAX),
        doubt: silent.first().zip(until).map(|(call, until)| Doubt {
            session: call.row.session,
            until,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(id: i64, end: SilentEnd) -> SilentCall {
        SilentCall {
            row: CallRow {
                id: CallId(id),
                session: SessionId(1),
                turn: None,
                effect: CallEffect::Any,
                opened_seq: 1,
                closed: false,
                outcome: None,
            },
            end,
        }
    }

    #[test]
    fn the_time_after_which_a_call_did_nothing_is_as_certain_as_its_end() {
        const SECOND: i64 = 1_000_000;
        let at = |calls: &[SilentCall]| {
            over(calls).map(|o| (o.since / SECOND, o.doubt.map(|doubt| doubt.until)))
        };
        let noted = SilentEnd::At(100 * SECOND);
        let later = SilentEnd::At(200 * SECOND);
        let died = SilentEnd::After(100 * SECOND);
        let (sure, unsure) = (None, Some(i64::MAX));
        assert_eq!(at(&[]), None);
        assert_eq!(at(&[silent(1, noted)]), Some((103, sure)));
        assert_eq!(at(&[silent(1, noted), silent(2, later)]), Some((203, sure)));
        assert_eq!(at(&[silent(1, died)]), Some((220, unsure)));
        assert_eq!(
            at(&[silent(1, noted), silent(2, died)]),
            Some((220, unsure))
        );
        assert_eq!(
            at(&[silent(
                1,
                SilentEnd::Asked {
                    opened: 100 * SECOND,
                    at: 110 * SECOND
                }
            )]),
            Some((100, Some(113 * SECOND)))
        );
        assert_eq!(at(&[silent(1, SilentEnd::Now)]), None);
        assert_eq!(at(&[silent(1, noted), silent(2, SilentEnd::Now)]), None);
    }
}
