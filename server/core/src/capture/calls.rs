//! Who is at work: sessions, turns, open calls, and what follows from them for the question who made a
//! change that the disk shows.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::event::{AgentEvent, Effect};
use crate::error::Result;
use crate::model::{CallId, Certainty, Origin, RelPath, SessionId, TurnId};
use crate::store::now;

/// A call that may write anything and was at work in the time in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub call: CallId,
    pub session: SessionId,
}

/// Everybody who may have written something in the time in question.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers {
    pub calls: Vec<Writer>,
    /// Sessions with shell commands still at work in the background.
    pub background: BTreeSet<SessionId>,
}

/// In which situation a change was found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    /// At the end of this call.
    AtEndOf(Writer),
    /// When a session went on without reporting the end of calls of its own.
    Unreported(SessionId),
    /// At any other moment.
    Between,
}

/// Who made it, as far as that can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub origin: Origin,
    /// Sure as soon as the call reports its end.
    pub provisional: bool,
}

impl Writers {
    /// All that may have written since event `since`.
    pub(crate) fn since(conn: &Connection, since: i64) -> Result<Self> {
        let mut select = conn.prepare_cached(
            "SELECT id, session FROM call WHERE closed IS NULL AND effect = 2
             UNION SELECT id, session FROM call WHERE closed_seq > ?1 AND effect = 2",
        )?;
        let rows = select.query_map([since], |r| {
            Ok(Writer {
                call: r.get(0)?,
                session: r.get(1)?,
            })
        })?;
        let calls = rows.collect::<rusqlite::Result<_>>()?;
        let mut select = conn.prepare_cached("SELECT id FROM session WHERE background > 0")?;
        let rows = select.query_map([], |r| r.get(0))?;
        Ok(Self {
            calls,
            background: rows.collect::<rusqlite::Result<_>>()?,
        })
    }

    pub(crate) fn judge(&self, found: Found) -> Verdict {
        let origin = |session, call, session_certainty, step_certainty| Verdict {
            origin: Origin {
                session,
                call,
                session_certainty,
                step_certainty,
            },
            provisional: false,
        };
        use Certainty::{Certain, Group, Uncertain};
        match found {
            Found::AtEndOf(own) => {
                let mut others = self
                    .calls
                    .iter()
                    .filter(|w| w.call != own.call)
                    .map(|w| w.session)
                    .collect::<BTreeSet<_>>();
                let mates = others.contains(&own.session);
                others.extend(&self.background);
                if others.iter().any(|s| *s != own.session) {
                    origin(Some(own.session), Some(own.call), Uncertain, Uncertain)
                } else if self.background.contains(&own.session) {
                    origin(Some(own.session), Some(own.call), Certain, Uncertain)
                } else {
                    let step = if mates { Group } else { Certain };
                    origin(Some(own.session), Some(own.call), Certain, step)
                }
            }
            Found::Unreported(session) => origin(Some(session), None, Uncertain, Uncertain),
            Found::Between => {
                let mut sessions = self
                    .calls
                    .iter()
                    .map(|w| w.session)
                    .collect::<BTreeSet<_>>();
                let calls_alone = self.background.is_empty();
                sessions.extend(&self.background);
                match (sessions.first(), self.calls.first()) {
                    (None, _) => Verdict {
                        origin: Origin::USER,
                        provisional: false,
                    },
                    (Some(session), Some(call)) if sessions.len() == 1 && calls_alone => Verdict {
                        provisional: true,
                        ..origin(Some(*session), Some(call.call), Uncertain, Uncertain)
                    },
                    (Some(session), _) if sessions.len() == 1 => {
                        origin(Some(*session), None, Uncertain, Uncertain)
                    }
                    _ => origin(None, None, Uncertain, Uncertain),
                }
            }
        }
    }
}

/// The session of an event, made at its first one.
pub(crate) fn session(conn: &Connection, e: &AgentEvent) -> Result<SessionId> {
    Ok(conn
        .prepare_cached(
            "INSERT INTO session (agent, native, transcript, started, seen) VALUES (?1,?2,?3,?4,?4)
             ON CONFLICT (agent, native) DO UPDATE
             SET seen = ?4, transcript = COALESCE(?3, transcript) RETURNING id",
        )?
        .query_row(params![e.agent, e.session, e.transcript, now()], |r| {
            r.get(0)
        })?)
}

/// The turn of an event: by the agent's own id of it, else the session's newest.
pub(crate) fn turn(
    conn: &Connection,
    session: SessionId,
    prompt: Option<&str>,
) -> Result<Option<TurnId>> {
    if let Some(prompt) = prompt {
        let named = conn
            .prepare_cached("SELECT turn FROM prompt WHERE session = ?1 AND native = ?2")?
            .query_row(params![session, prompt], |r| r.get(0))
            .optional()?;
        if named.is_some() {
            return Ok(named);
        }
    }
    Ok(conn
        .prepare_cached("SELECT id FROM turn WHERE session = ?1 ORDER BY id DESC LIMIT 1")?
        .query_row([session], |r| r.get(0))
        .optional()?)
}

pub(crate) fn name_turn(
    conn: &Connection,
    session: SessionId,
    prompt: &str,
    turn: TurnId,
) -> Result<()> {
    conn.prepare_cached("INSERT OR IGNORE INTO prompt (session, native, turn) VALUES (?1,?2,?3)")?
        .execute(params![session, prompt, turn])?;
    Ok(())
}

pub(crate) fn record_event(
    conn: &Connection,
    e: &AgentEvent,
    session: SessionId,
    turn: Option<TurnId>,
    call: Option<CallId>,
) -> Result<i64> {
    conn.prepare_cached(
        "INSERT INTO event (time, session, turn, call, subagent, name) VALUES (?1,?2,?3,?4,?5,?6)",
    )?
    .execute(params![now(), session, turn, call, e.subagent, e.name])?;
    Ok(conn.last_insert_rowid())
}

pub(crate) fn last_event(conn: &Connection) -> Result<i64> {
    Ok(conn
        .prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM event")?
        .query_row([], |r| r.get(0))?)
}

/// A call as the table has it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub id: CallId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub effect: i64,
    pub opened_seq: i64,
    pub closed: bool,
    /// Closed without a report of its own.
    pub presumed: bool,
}

const ROW: &str =
    "id, session, turn, effect, opened_seq, closed IS NOT NULL, COALESCE(outcome, 0) = 2";

fn row(r: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        id: r.get(0)?,
        session: r.get(1)?,
        turn: r.get(2)?,
        effect: r.get(3)?,
        opened_seq: r.get(4)?,
        closed: r.get(5)?,
        presumed: r.get(6)?,
    })
}

/// The call that an event is about: by the agent's own id, else the newest open one of the thread's tool.
pub(crate) fn find(
    conn: &Connection,
    session: SessionId,
    native: Option<&str>,
    subagent: Option<&str>,
    tool: &str,
) -> Result<Option<Row>> {
    let found = match native {
        Some(native) => conn
            .prepare_cached(&format!(
                "SELECT {ROW} FROM call WHERE session = ?1 AND native = ?2"
            ))?
            .query_row(params![session, native], row),
        None => conn
            .prepare_cached(&format!(
                "SELECT {ROW} FROM call WHERE session = ?1 AND subagent IS ?2 AND tool = ?3
                 AND closed IS NULL ORDER BY id DESC LIMIT 1"
            ))?
            .query_row(params![session, subagent, tool], row),
    };
    Ok(found.optional()?)
}

/// Open calls of a session: of one thread, or of all.
pub(crate) fn open_of(
    conn: &Connection,
    session: SessionId,
    thread: Option<Option<&str>>,
) -> Result<Vec<Row>> {
    let sql = format!(
        "SELECT {ROW} FROM call WHERE session = ?1 AND closed IS NULL AND (?2 OR subagent IS ?3) ORDER BY id"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query_map(params![session, thread.is_none(), thread.flatten()], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(crate) struct Opening<'a> {
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub native: &'a str,
    pub subagent: Option<&'a str>,
    pub tool: &'a str,
    pub effect: &'a Effect,
    pub input: Option<i64>,
    pub seq: i64,
}

/// Opens a call. Overlapping ones of a session that may write anything become one group.
pub(crate) fn open(conn: &Connection, o: &Opening<'_>) -> Result<CallId> {
    let iteration: i64 = conn
        .prepare_cached(
            "UPDATE session SET iterations = iterations + 1 WHERE id = ?1 RETURNING iterations",
        )?
        .query_row([o.session], |r| r.get(0))?;
    let effect = match o.effect {
        Effect::Reads => 0,
        Effect::Names(_) => 1,
        Effect::Any { .. } => 2,
    };
    conn.prepare_cached(
        "INSERT INTO call (session, turn, native, subagent, tool, effect, iteration, input, opened, opened_seq)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
    )?
    .execute(params![
        o.session, o.turn, o.native, o.subagent, o.tool, effect, iteration, o.input, now(), o.seq
    ])?;
    let id = CallId(conn.last_insert_rowid());
    if effect == 2 {
        let mate: Option<CallId> = conn
            .prepare_cached(
                "SELECT COALESCE(grp, id) FROM call WHERE session = ?1 AND closed IS NULL AND effect = 2
                 AND id <> ?2 ORDER BY id DESC LIMIT 1",
            )?
            .query_row(params![o.session, id], |r| r.get(0))
            .optional()?;
        if let Some(group) = mate {
            conn.prepare_cached(
                "UPDATE call SET grp = ?1 WHERE id = ?2 OR (session = ?3 AND closed IS NULL AND effect = 2)",
            )?
            .execute(params![group, id, o.session])?;
        }
    }
    Ok(id)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed,
    Presumed,
}

pub(crate) fn close(conn: &Connection, call: CallId, seq: i64, outcome: Outcome) -> Result<()> {
    let outcome = match outcome {
        Outcome::Done => 0,
        Outcome::Failed => 1,
        Outcome::Presumed => 2,
    };
    conn.prepare_cached(
        "UPDATE call SET closed = ?2, closed_seq = ?3, outcome = ?4 WHERE id = ?1",
    )?
    .execute(params![call, now(), seq, outcome])?;
    Ok(())
}

/// The call has reported its end: what was put down to it on the way is sure by now.
pub(crate) fn confirm(conn: &Connection, call: CallId) -> Result<()> {
    conn.prepare_cached(
        "UPDATE change SET session_certainty = 0,
           step_certainty = (SELECT CASE WHEN grp IS NULL THEN 0 ELSE 1 END FROM call WHERE id = ?1),
           provisional = 0
         WHERE call = ?1 AND provisional = 1",
    )?
    .execute([call])?;
    Ok(())
}

/// The open call, if any, that has reserved this path.
pub(crate) fn reserved(conn: &Connection, path: &RelPath) -> Result<Option<CallId>> {
    Ok(conn
        .prepare_cached(
            "SELECT r.call FROM reserved r JOIN call c ON c.id = r.call
             WHERE r.path = ?1 AND c.closed IS NULL LIMIT 1",
        )?
        .query_row([path], |r| r.get(0))
        .optional()?)
}

/// All paths that open calls have reserved: nobody looks there until they report.
pub(crate) fn all_reserved(conn: &Connection) -> Result<BTreeSet<RelPath>> {
    let mut select = conn.prepare_cached(
        "SELECT r.path FROM reserved r JOIN call c ON c.id = r.call WHERE c.closed IS NULL",
    )?;
    let rows = select.query_map([], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Other calls that may have written `path` while `call` was open: (session, whether any of it).
pub(crate) fn rivals(conn: &Connection, call: &Row, path: &RelPath) -> Result<BTreeSet<SessionId>> {
    let mut select = conn.prepare_cached(
        "SELECT DISTINCT c.session FROM call c LEFT JOIN reserved r ON r.call = c.id AND r.path = ?3
         WHERE c.id <> ?1 AND (c.closed IS NULL OR c.closed_seq > ?2)
           AND (c.effect = 2 OR r.path IS NOT NULL)
         UNION SELECT id FROM session WHERE background > 0",
    )?;
    let rows = select.query_map(params![call.id, call.opened_seq, path], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
