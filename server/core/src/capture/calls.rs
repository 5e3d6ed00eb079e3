//! Sessions, turns and open calls. Attributes the changes found on disk to them.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::event::{AgentEvent, Effect};
use crate::error::Result;
use crate::model::{CallId, Certainty, Origin, RelPath, RootId, SessionId, TurnId};
use crate::store::now;

/// An agent without an event for this long counts as inactive, whatever it left open
/// (microseconds).
const STALE: i64 = 12 * 60 * 60 * 1_000_000;

/// Sessions whose last event is before this time count as inactive.
pub(crate) fn inactive_before() -> i64 {
    now() - STALE
}

/// A call that may write anything and was open in the time in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub call: CallId,
    pub session: SessionId,
}

/// All calls and sessions that may have written something in the time in question.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers {
    pub calls: Vec<Writer>,
    /// Sessions with shell commands still running in the background.
    pub background: BTreeSet<SessionId>,
}

/// The circumstances in which a change was found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Observation {
    /// At the end of this call.
    AtEndOf(Writer),
    /// When a session continued without reporting the end of its own calls.
    Unreported(SessionId),
    /// By a scan that completes one that ran out of time. The time of the change is not known.
    Late(Option<SessionId>),
    /// At any other moment.
    Between,
}

/// The author of a change, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attribution {
    pub origin: Origin,
    /// Becomes certain when the call reports its end.
    pub provisional: bool,
}

impl Attribution {
    /// A change by the user, certain.
    pub const USER: Self = Self {
        origin: Origin::USER,
        provisional: false,
    };
}

impl Writers {
    /// Returns everything that may have written below this root since event `since`.
    pub(crate) fn since(conn: &Connection, root: RootId, since: i64) -> Result<Self> {
        let mut select = conn.prepare_cached(
            "SELECT id, session FROM call INDEXED BY call_open
             WHERE closed IS NULL AND effect = 2 AND opened > ?2 AND root = ?3
             UNION SELECT id, session FROM call INDEXED BY call_closed
             WHERE effect > 0 AND closed_seq > ?1 AND effect = 2 AND root = ?3",
        )?;
        let alive = now() - STALE;
        let rows = select.query_map(params![since, alive, root], |r| {
            Ok(Writer {
                call: r.get(0)?,
                session: r.get(1)?,
            })
        })?;
        let calls = rows.collect::<rusqlite::Result<_>>()?;
        let mut select = conn.prepare_cached(
            "SELECT id FROM session WHERE background > 0 AND seen > ?1 AND root = ?2",
        )?;
        let rows = select.query_map(params![alive, root], |r| r.get(0))?;
        Ok(Self {
            calls,
            background: rows.collect::<rusqlite::Result<_>>()?,
        })
    }

    /// True if anything but the user may be writing.
    pub(crate) fn any(&self) -> bool {
        !self.calls.is_empty() || !self.background.is_empty()
    }

    pub(crate) fn attribute(&self, found: Observation) -> Attribution {
        use Certainty::{Certain, Group, Uncertain};
        let origin = |session, call, session_certainty, step_certainty| Attribution {
            origin: Origin {
                session,
                call,
                session_certainty,
                step_certainty,
            },
            provisional: false,
        };
        match found {
            Observation::AtEndOf(own) => {
                let mut others = self
                    .calls
                    .iter()
                    .filter(|w| w.call != own.call)
                    .map(|w| w.session)
                    .collect::<BTreeSet<_>>();
                let overlapping = others.contains(&own.session);
                others.extend(&self.background);
                if others.iter().any(|s| *s != own.session) {
                    origin(Some(own.session), Some(own.call), Uncertain, Uncertain)
                } else if self.background.contains(&own.session) {
                    origin(Some(own.session), Some(own.call), Certain, Uncertain)
                } else {
                    let step = if overlapping { Group } else { Certain };
                    origin(Some(own.session), Some(own.call), Certain, step)
                }
            }
            Observation::Unreported(session) => origin(Some(session), None, Uncertain, Uncertain),
            Observation::Late(session) => origin(session, None, Uncertain, Uncertain),
            Observation::Between => {
                let mut sessions = self
                    .calls
                    .iter()
                    .map(|w| w.session)
                    .collect::<BTreeSet<_>>();
                let calls_alone = self.background.is_empty();
                sessions.extend(&self.background);
                match (sessions.first(), self.calls.first()) {
                    (None, _) => Attribution::USER,
                    (Some(session), Some(call)) if sessions.len() == 1 && calls_alone => {
                        Attribution {
                            provisional: true,
                            ..origin(Some(*session), Some(call.call), Uncertain, Uncertain)
                        }
                    }
                    (Some(session), _) if sessions.len() == 1 => {
                        origin(Some(*session), None, Uncertain, Uncertain)
                    }
                    _ => origin(None, None, Uncertain, Uncertain),
                }
            }
        }
    }
}

/// Attribution to this call.
pub(crate) fn by_call(
    session: SessionId,
    call: CallId,
    session_c: Certainty,
    step_c: Certainty,
) -> Attribution {
    Attribution {
        origin: Origin {
            session: Some(session),
            call: Some(call),
            session_certainty: session_c,
            step_certainty: step_c,
        },
        provisional: false,
    }
}

/// Attribution for a change at a path reserved by an edit call that has not reported yet.
pub(crate) fn by_open_edit(by: Writer) -> Attribution {
    Attribution {
        provisional: true,
        ..by_call(
            by.session,
            by.call,
            Certainty::Uncertain,
            Certainty::Uncertain,
        )
    }
}

/// Returns the session of an event, created at its first one. The session works below this root
/// from now on.
pub(crate) fn session(conn: &Connection, root: RootId, e: &AgentEvent) -> Result<SessionId> {
    Ok(conn
        .prepare_cached(
            "INSERT INTO session (agent, native, transcript, started, seen, root) VALUES (?1,?2,?3,?4,?4,?5)
             ON CONFLICT (agent, native) DO UPDATE
             SET seen = ?4, transcript = COALESCE(?3, transcript), root = ?5 RETURNING id",
        )?
        .query_row(
            params![e.agent, e.session, e.transcript, now(), root],
            |r| r.get(0),
        )?)
}

/// Returns the turn of an event: by the agent's own id, or without one, the session's newest turn.
/// An unknown id belongs to a prompt that was not recorded. It maps to no turn rather than to a
/// wrong one.
pub(crate) fn turn(
    conn: &Connection,
    session: SessionId,
    prompt: Option<&str>,
) -> Result<Option<TurnId>> {
    let found = match prompt {
        Some(prompt) => conn
            .prepare_cached("SELECT turn FROM prompt WHERE session = ?1 AND native = ?2")?
            .query_row(params![session, prompt], |r| r.get(0)),
        None => conn
            .prepare_cached("SELECT id FROM turn WHERE session = ?1 ORDER BY id DESC LIMIT 1")?
            .query_row([session], |r| r.get(0)),
    };
    Ok(found.optional()?)
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

/// True if a call is open that may write anything.
pub(crate) fn any_writes(conn: &Connection, root: RootId) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM call WHERE closed IS NULL AND effect = 2 AND opened > ?1 AND root = ?2",
        )?
        .exists(params![now() - STALE, root])?)
}

/// True if a call is open that may write, or a shell command runs in the background.
pub(crate) fn any_at_work(conn: &Connection, root: RootId) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM call WHERE closed IS NULL AND effect > 0 AND opened > ?1 AND root = ?2
             UNION ALL SELECT 1 FROM session WHERE background > 0 AND seen > ?1 AND root = ?2 LIMIT 1",
        )?
        .exists(params![now() - STALE, root])?)
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

/// A row of the call table.
#[derive(Clone, Debug)]
pub(crate) struct CallRow {
    pub id: CallId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub effect: i64,
    pub opened_seq: i64,
    pub closed: bool,
    /// True if closed without a report of its own.
    pub presumed: bool,
}

const ROW: &str =
    "id, session, turn, effect, opened_seq, closed IS NOT NULL, COALESCE(outcome, 0) = 2";

fn row(r: &rusqlite::Row<'_>) -> rusqlite::Result<CallRow> {
    Ok(CallRow {
        id: r.get(0)?,
        session: r.get(1)?,
        turn: r.get(2)?,
        effect: r.get(3)?,
        opened_seq: r.get(4)?,
        closed: r.get(5)?,
        presumed: r.get(6)?,
    })
}

/// Finds the call of an event: by the agent's own id, else the newest open call of this thread and
/// tool.
pub(crate) fn find(
    conn: &Connection,
    session: SessionId,
    native: Option<&str>,
    subagent: Option<&str>,
    tool: &str,
) -> Result<Option<CallRow>> {
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

/// Threads of a session: the main one (None), a subagent's, or all.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Threads<'a> {
    One(Option<&'a str>),
    All,
}

/// Returns the open calls of a session in this directory.
pub(crate) fn open_of(
    conn: &Connection,
    root: RootId,
    session: SessionId,
    threads: Threads<'_>,
) -> Result<Vec<CallRow>> {
    let (all, one) = match threads {
        Threads::All => (true, None),
        Threads::One(thread) => (false, thread),
    };
    let sql = format!(
        "SELECT {ROW} FROM call WHERE session = ?1 AND closed IS NULL AND (?2 OR subagent IS ?3) AND root = ?4
         ORDER BY id"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query_map(params![session, all, one, root], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(crate) struct Opening<'a> {
    pub root: RootId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub native: &'a str,
    pub subagent: Option<&'a str>,
    pub tool: &'a str,
    pub effect: &'a Effect,
    pub input: Option<i64>,
    pub seq: i64,
}

/// Opens a call. Overlapping calls of one session that may write anything become a group.
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
        "INSERT INTO call (session, turn, native, subagent, tool, effect, iteration, input, opened, opened_seq, root)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
    )?
    .execute(params![
        o.session, o.turn, o.native, o.subagent, o.tool, effect, iteration, o.input, now(), o.seq, o.root
    ])?;
    let id = CallId(conn.last_insert_rowid());
    if effect == 2 {
        let overlapping: Option<CallId> = conn
            .prepare_cached(
                "SELECT COALESCE(grp, id) FROM call WHERE session = ?1 AND closed IS NULL AND effect = 2
                 AND id <> ?2 ORDER BY id DESC LIMIT 1",
            )?
            .query_row(params![o.session, id], |r| r.get(0))
            .optional()?;
        if let Some(group) = overlapping {
            conn.prepare_cached(
                "UPDATE call SET grp = ?1 WHERE id = ?2 OR (session = ?3 AND closed IS NULL AND effect = 2)",
            )?
            .execute(params![group, id, o.session])?;
        }
    }
    Ok(id)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolOutcome {
    Done,
    Failed,
    Presumed,
}

pub(crate) fn close(conn: &Connection, call: CallId, seq: i64, outcome: ToolOutcome) -> Result<()> {
    let outcome = match outcome {
        ToolOutcome::Done => 0,
        ToolOutcome::Failed => 1,
        ToolOutcome::Presumed => 2,
    };
    conn.prepare_cached(
        "UPDATE call SET closed = ?2, closed_seq = ?3, outcome = ?4 WHERE id = ?1",
    )?
    .execute(params![call, now(), seq, outcome])?;
    Ok(())
}

/// True if any path is reserved by a call, open or closed.
pub(crate) fn any_reserved(conn: &Connection) -> Result<bool> {
    Ok(conn.prepare_cached("SELECT 1 FROM reserved")?.exists([])?)
}

/// Returns the open call that has reserved this path, if any.
pub(crate) fn reserved(conn: &Connection, root: RootId, path: &RelPath) -> Result<Option<Writer>> {
    Ok(conn
        .prepare_cached(
            "SELECT c.id, c.session FROM call c INDEXED BY call_open
             WHERE c.closed IS NULL AND c.opened > ?2 AND c.root = ?3
               AND EXISTS (SELECT 1 FROM reserved r WHERE r.call = c.id AND r.path = ?1)
             ORDER BY c.id LIMIT 1",
        )?
        .query_row(params![path, now() - STALE, root], |r| {
            Ok(Writer {
                call: r.get(0)?,
                session: r.get(1)?,
            })
        })
        .optional()?)
}

/// Returns the sessions with other calls that may have written `path` while `call` was open.
pub(crate) fn concurrent_sessions(
    conn: &Connection,
    root: RootId,
    call: &CallRow,
    path: &RelPath,
) -> Result<BTreeSet<SessionId>> {
    let mut select = conn.prepare_cached(
        "WITH beside AS (
           SELECT id, session, effect FROM call INDEXED BY call_open
           WHERE closed IS NULL AND opened > ?4 AND root = ?5
           UNION ALL SELECT id, session, effect FROM call INDEXED BY call_closed
           WHERE effect > 0 AND closed_seq > ?2 AND root = ?5)
         SELECT session FROM beside b WHERE id <> ?1
           AND (effect = 2 OR EXISTS (SELECT 1 FROM reserved r WHERE r.call = b.id AND r.path = ?3))
         UNION SELECT id FROM session WHERE background > 0 AND seen > ?4 AND root = ?5",
    )?;
    let rows = select.query_map(
        params![call.id, call.opened_seq, path, now() - STALE, root],
        |r| r.get(0),
    )?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Writer = writer(1, 1);
    /// Another call of the same session.
    const MATE: Writer = writer(2, 1);
    /// A call of another session.
    const OTHER: Writer = writer(3, 2);

    const fn writer(call: i64, session: i64) -> Writer {
        Writer {
            call: CallId(call),
            session: SessionId(session),
        }
    }

    fn writers(calls: &[Writer], background: &[i64]) -> Writers {
        Writers {
            calls: calls.to_vec(),
            background: background.iter().copied().map(SessionId).collect(),
        }
    }

    /// An attribution in short: session, call, and the certainty of both.
    fn short(attribution: Attribution) -> String {
        let Origin {
            session,
            call,
            session_certainty,
            step_certainty,
        } = attribution.origin;
        let id = |name: &str, id: Option<i64>| id.map_or("-".into(), |id| format!("{name}{id}"));
        let provisional = if attribution.provisional {
            " provisional"
        } else {
            ""
        };
        format!(
            "{} {} {session_certainty:?} {step_certainty:?}{provisional}",
            id("s", session.map(|s| s.0)),
            id("c", call.map(|c| c.0)),
        )
    }

    /// Writers, the attribution at the end of `OWN`, and the attribution between calls.
    type Case = (
        &'static [Writer],
        &'static [i64],
        &'static str,
        &'static str,
    );

    const CERTAIN: &str = "s1 c1 Certain Certain";
    const GROUP: &str = "s1 c1 Certain Group";
    const STEP_UNKNOWN: &str = "s1 c1 Certain Uncertain";
    const UNCERTAIN: &str = "s1 c1 Uncertain Uncertain";

    const USER: &str = "- - Certain Certain";
    const ANYONE: &str = "- - Uncertain Uncertain";
    const SESSION_1: &str = "s1 - Uncertain Uncertain";
    const SESSION_2: &str = "s2 - Uncertain Uncertain";
    const CALL_1: &str = "s1 c1 Uncertain Uncertain provisional";
    const CALL_2: &str = "s1 c2 Uncertain Uncertain provisional";
    const CALL_3: &str = "s2 c3 Uncertain Uncertain provisional";

    const CASES: &[Case] = &[
        (&[], &[], CERTAIN, USER),
        (&[], &[1], STEP_UNKNOWN, SESSION_1),
        (&[], &[2], UNCERTAIN, SESSION_2),
        (&[], &[1, 2], UNCERTAIN, ANYONE),
        (&[OWN], &[], CERTAIN, CALL_1),
        (&[OWN], &[1], STEP_UNKNOWN, SESSION_1),
        (&[OWN], &[2], UNCERTAIN, ANYONE),
        (&[OWN], &[1, 2], UNCERTAIN, ANYONE),
        (&[MATE], &[], GROUP, CALL_2),
        (&[MATE], &[1], STEP_UNKNOWN, SESSION_1),
        (&[MATE], &[2], UNCERTAIN, ANYONE),
        (&[MATE], &[1, 2], UNCERTAIN, ANYONE),
        (&[OTHER], &[], UNCERTAIN, CALL_3),
        (&[OTHER], &[1], UNCERTAIN, ANYONE),
        (&[OTHER], &[2], UNCERTAIN, SESSION_2),
        (&[OTHER], &[1, 2], UNCERTAIN, ANYONE),
        (&[OWN, MATE], &[], GROUP, CALL_1),
        (&[OWN, MATE], &[1], STEP_UNKNOWN, SESSION_1),
        (&[OWN, MATE], &[2], UNCERTAIN, ANYONE),
        (&[OWN, MATE], &[1, 2], UNCERTAIN, ANYONE),
        (&[OWN, OTHER], &[], UNCERTAIN, ANYONE),
        (&[OWN, OTHER], &[1], UNCERTAIN, ANYONE),
        (&[OWN, OTHER], &[2], UNCERTAIN, ANYONE),
        (&[OWN, OTHER], &[1, 2], UNCERTAIN, ANYONE),
        (&[MATE, OTHER], &[], UNCERTAIN, ANYONE),
        (&[MATE, OTHER], &[1], UNCERTAIN, ANYONE),
        (&[MATE, OTHER], &[2], UNCERTAIN, ANYONE),
        (&[MATE, OTHER], &[1, 2], UNCERTAIN, ANYONE),
        (&[OWN, MATE, OTHER], &[], UNCERTAIN, ANYONE),
        (&[OWN, MATE, OTHER], &[1], UNCERTAIN, ANYONE),
        (&[OWN, MATE, OTHER], &[2], UNCERTAIN, ANYONE),
        (&[OWN, MATE, OTHER], &[1, 2], UNCERTAIN, ANYONE),
    ];

    #[test]
    fn a_change_at_the_end_of_a_call_is_as_certain_as_the_call_was_alone() {
        for (calls, background, at_end, _) in CASES {
            let found = writers(calls, background).attribute(Observation::AtEndOf(OWN));
            assert_eq!(
                short(found),
                *at_end,
                "{calls:?}, background {background:?}"
            );
        }
    }

    #[test]
    fn a_change_between_calls_is_the_users_only_if_nobody_else_writes() {
        for (calls, background, _, between) in CASES {
            let found = writers(calls, background).attribute(Observation::Between);
            assert_eq!(
                short(found),
                *between,
                "{calls:?}, background {background:?}"
            );
        }
    }

    #[test]
    fn an_unreported_or_late_change_is_uncertain_whoever_else_writes() {
        for (calls, background, ..) in CASES {
            let writers = writers(calls, background);
            let attribute = |found| short(writers.attribute(found));
            assert_eq!(attribute(Observation::Unreported(SessionId(1))), SESSION_1);
            assert_eq!(attribute(Observation::Late(Some(SessionId(2)))), SESSION_2);
            assert_eq!(attribute(Observation::Late(None)), ANYONE);
        }
    }

    #[test]
    fn a_change_at_a_path_of_an_open_edit_call_waits_for_its_report() {
        assert_eq!(short(by_open_edit(OWN)), CALL_1);
    }
}
