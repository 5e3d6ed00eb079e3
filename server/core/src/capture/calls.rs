//! Sessions, turns and open calls. Attributes the changes found on disk to them.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::event::{AgentEvent, Effect};
use crate::error::Result;
use crate::model::{CallId, Certainty, Origin, RelPath, RootId, SessionId, TurnId};
use crate::store::now;
use crate::store::tables::call::{self, CallEffect, NewCall};
use crate::store::tables::event::{self, NewEvent};
use crate::store::tables::session::{self, SeenSession};
use crate::store::tables::turn;

pub(crate) use crate::store::tables::call::{
    CallRow, Threads, ToolOutcome, Writer, close, open_of,
};

/// An agent without an event for this long counts as inactive, whatever it left open
/// (microseconds).
const STALE: i64 = 12 * 60 * 60 * 1_000_000;

/// Sessions whose last event is before this time count as inactive.
pub(crate) fn inactive_before() -> i64 {
    now() - STALE
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
    /// When the session of this call continued or ended, or its agent was gone, and the call had not reported its end.
    Interrupted(Writer),
    /// At the end of a call whose start nobody reported.
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
        let alive = inactive_before();
        Ok(Self {
            calls: call::writers_since(conn, root, since, alive)?,
            background: session::in_background(conn, root, alive)?,
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
            // an interrupted call has done what it did, as one that reports
            Observation::AtEndOf(own) | Observation::Interrupted(own) => {
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
                            ..origin(
                                Some(*session),
                                Some(call.call),
                                Certain,
                                if self.calls.len() > 1 { Group } else { Certain },
                            )
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

/// Attribution for a change at a path reserved by an edit call that has not reported. `explained`: the input of the call
/// leads to just this change.
pub(crate) fn by_silent_edit(by: Writer, explained: bool) -> Attribution {
    let certainty = if explained {
        Certainty::Certain
    } else {
        Certainty::Uncertain
    };
    Attribution {
        provisional: true,
        ..by_call(by.session, by.call, certainty, certainty)
    }
}

/// Attribution for a change that a hook of the agent's user made after a call, in a file that the call wrote: a formatter.
pub(crate) fn by_hook(by: Writer) -> Attribution {
    by_call(
        by.session,
        by.call,
        Certainty::Certain,
        Certainty::Uncertain,
    )
}

/// Attribution for a change in another file, which a hook of the agent's user may have made after a call.
pub(crate) fn perhaps_by_hook(by: Writer) -> Attribution {
    by_call(
        by.session,
        by.call,
        Certainty::Uncertain,
        Certainty::Uncertain,
    )
}

/// Returns the session of an event, created at its first one. The session works below this root
/// from now on.
pub(crate) fn session(conn: &Connection, root: RootId, e: &AgentEvent) -> Result<SessionId> {
    session::see(
        conn,
        &SeenSession {
            agent: &e.agent,
            native: &e.session,
            transcript: e.transcript.as_deref(),
            root,
            process: e.process.map(|process| process.to_string()).as_deref(),
            other_hooks: e.other_hooks,
        },
    )
}

/// Returns the turn of an event: by the agent's own id, or without one, the session's newest turn.
/// An unknown id belongs to a prompt that was not recorded. It maps to no turn rather than to a
/// wrong one.
pub(crate) fn turn(
    conn: &Connection,
    session: SessionId,
    prompt: Option<&str>,
) -> Result<Option<TurnId>> {
    match prompt {
        Some(prompt) => turn::of_prompt(conn, session, prompt),
        None => turn::newest_of(conn, session),
    }
}

/// True if a call is open that may write anything.
pub(crate) fn any_writes(conn: &Connection, root: RootId) -> Result<bool> {
    call::any_writes(conn, root, inactive_before())
}

/// True if a call is open that may write, or a shell command runs in the background.
pub(crate) fn any_at_work(conn: &Connection, root: RootId) -> Result<bool> {
    call::any_at_work(conn, root, inactive_before())
}

pub(crate) fn record_event(
    conn: &Connection,
    e: &AgentEvent,
    session: SessionId,
    turn: Option<TurnId>,
    call: Option<CallId>,
) -> Result<i64> {
    event::insert(
        conn,
        &NewEvent {
            session,
            turn,
            call,
            subagent: e.subagent.as_deref(),
            name: &e.name,
        },
    )
}

/// Returns the name of a session's newest event.
pub(crate) fn newest_event(conn: &Connection, session: SessionId) -> Result<Option<String>> {
    event::newest_name(conn, session)
}

/// Returns the number of the newest event; 0: there is none.
pub(crate) fn last_event(conn: &Connection) -> Result<i64> {
    Ok(event::newest(conn)?.unwrap_or(0))
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
    match native {
        Some(native) => call::by_native(conn, session, native),
        None => call::newest_open(conn, session, subagent, tool),
    }
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
    let effect = match o.effect {
        Effect::Reads => CallEffect::Reads,
        Effect::Names(_) => CallEffect::Names,
        Effect::Any { .. } => CallEffect::Any,
    };
    let id = call::insert(
        conn,
        &NewCall {
            root: o.root,
            session: o.session,
            turn: o.turn,
            native: o.native,
            subagent: o.subagent,
            tool: o.tool,
            effect,
            iteration: session::next_iteration(conn, o.session)?,
            input: o.input,
            seq: o.seq,
        },
    )?;
    if effect == CallEffect::Any {
        call::join_group(conn, o.session, id)?;
    }
    Ok(id)
}

/// Returns the open call that has reserved this path, if any.
pub(crate) fn reserved(conn: &Connection, root: RootId, path: &RelPath) -> Result<Option<Writer>> {
    call::reserving(conn, root, path, inactive_before())
}

/// Returns the other calls that may have written `path` while `call` was open.
pub(crate) fn beside(
    conn: &Connection,
    root: RootId,
    call: &CallRow,
    path: &RelPath,
) -> Result<Vec<Writer>> {
    call::beside(conn, root, call, path, inactive_before())
}

/// Returns the sessions with other calls that may have written `path` while `call` was open.
pub(crate) fn concurrent_sessions(
    conn: &Connection,
    root: RootId,
    call: &CallRow,
    path: &RelPath,
) -> Result<BTreeSet<SessionId>> {
    call::concurrent_sessions(conn, root, call, path, inactive_before())
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
    const CALL_1: &str = "s1 c1 Certain Certain provisional";
    const CALL_2: &str = "s1 c2 Certain Certain provisional";
    const CALL_3: &str = "s2 c3 Certain Certain provisional";
    const ONE_OF_TWO: &str = "s1 c1 Certain Group provisional";

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
        (&[OWN, MATE], &[], GROUP, ONE_OF_TWO),
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
            // an interrupt is an end, too
            for end in [Observation::AtEndOf(OWN), Observation::Interrupted(OWN)] {
                let found = writers(calls, background).attribute(end);
                assert_eq!(
                    short(found),
                    *at_end,
                    "{calls:?}, background {background:?}, {end:?}"
                );
            }
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
        assert_eq!(short(by_silent_edit(OWN, true)), CALL_1);
        let unexplained = "s1 c1 Uncertain Uncertain provisional";
        assert_eq!(short(by_silent_edit(OWN, false)), unexplained);
    }
}
