//! Table `pause`: calls that are, or were, held.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::from_json;
use crate::breakpoint::BreakpointId;
use crate::breakpoint::CallMoment;
use crate::pause::{
    Ability, ChangedInput, HeldCall, Pause, PauseDecision, PauseHit, PauseId, PauseOutcome,
    PauseState,
};
use crate::program::{ProgramPause, StackFrame};
use crate::subject::Subject;
use backstitch_core::model::{bytes_path, os_bytes};
use backstitch_core::process::ProcessId;
use backstitch_core::sqlite::{InRow, read_all, stored_as};
use backstitch_core::sqlite::{now, to_json};
use backstitch_core::{Error, Result};

stored_as!(PauseState as text, "state of a pause", {
    Held = "held",
    Decided = "decided",
    Answered = "answered",
    Parked = "parked",
    Used = "used",
    Expired = "expired",
    Handed = "handed",
    Ended = "ended",
    Lost = "lost",
    Slipped = "slipped",
});
stored_as!(Subject as text, "subject of a pause", {
    Call = "call",
    Edit = "edit",
    Program = "program",
    Proposal = "proposal",
});
stored_as!(PauseOutcome as text, "outcome of a pause", {
    Continued = "continued",
    Changed = "changed",
    Denied = "denied",
    Skipped = "skipped",
    Stopped = "stopped",
    Back = "back",
    Asked = "asked",
    TimedOut = "timedOut",
    Parked = "parked",
    Ended = "ended",
    Lost = "lost",
    Slipped = "slipped",
});

/// A parked call expires after this time. Microseconds.
pub(crate) const PARKED: i64 = 12 * 3600 * 1_000_000;
/// Two hooks of one event come within this time of each other. Microseconds.
const SAME_EVENT: i64 = 2_000_000;
const LEVEL: i32 = 3;
/// Maximum size in bytes of the input of a call: that of a payload.
const MAX_INPUT: usize = 256 << 20;

const COLUMNS: &str = "id, breakpoint, why, root, agent, session, subagent, turn, prompt, iteration, tool, call, moment, \
                       input, cwd, files, can, holder, agent_process, until, made, state, decision, decided_by, \
                       decided, outcome, ended, by, hit, error, output, letter, draft, draft_by, shown, made_id";

/// A row whose texts are not parsed yet.
struct StoredPause {
    id: i64,
    breakpoint: Option<i64>,
    why: String,
    root: Vec<u8>,
    agent: String,
    session: String,
    subagent: Option<String>,
    turn: Option<i64>,
    prompt: Option<String>,
    iteration: Option<i64>,
    tool: String,
    call: String,
    moment: CallMoment,
    input: Vec<u8>,
    cwd: Option<Vec<u8>>,
    files: String,
    can: String,
    holder: String,
    agent_process: Option<String>,
    until: Option<i64>,
    made: i64,
    state: PauseState,
    decision: Option<String>,
    decided_by: Option<String>,
    decided: Option<i64>,
    outcome: Option<PauseOutcome>,
    ended: Option<i64>,
    by: Subject,
    hit: Option<String>,
    error: Option<String>,
    output: Option<String>,
    letter: Option<String>,
    draft: Option<String>,
    draft_by: Option<String>,
    shown: Option<String>,
    made_id: bool,
}

fn read(r: &Row<'_>) -> rusqlite::Result<StoredPause> {
    Ok(StoredPause {
        id: r.get(0)?,
        breakpoint: r.get(1)?,
        why: r.get(2)?,
        root: r.get(3)?,
        agent: r.get(4)?,
        session: r.get(5)?,
        subagent: r.get(6)?,
        turn: r.get(7)?,
        prompt: r.get(8)?,
        iteration: r.get(9)?,
        tool: r.get(10)?,
        call: r.get(11)?,
        moment: r.get(12)?,
        input: r.get(13)?,
        cwd: r.get(14)?,
        files: r.get(15)?,
        can: r.get(16)?,
        holder: r.get(17)?,
        agent_process: r.get(18)?,
        until: r.get(19)?,
        made: r.get(20)?,
        state: r.get(21)?,
        decision: r.get(22)?,
        decided_by: r.get(23)?,
        decided: r.get(24)?,
        outcome: r.get(25)?,
        ended: r.get(26)?,
        by: r.get(27)?,
        hit: r.get(28)?,
        error: r.get(29)?,
        output: r.get(30)?,
        letter: r.get(31)?,
        draft: r.get(32)?,
        draft_by: r.get(33)?,
        shown: r.get(34)?,
        made_id: r.get(35)?,
    })
}

fn damaged(row: i64, reason: impl std::fmt::Display) -> Error {
    Error::Damaged {
        path: "control.db".into(),
        reason: format!("row {row} of table pause is damaged: {reason}"),
    }
}

fn parse(row: StoredPause) -> Result<Pause> {
    let process = |text: &str| -> Result<ProcessId> {
        text.parse().map_err(|reason| damaged(row.id, reason))
    };
    let input = zstd::bulk::decompress(&row.input, MAX_INPUT)
        .map_err(|error| damaged(row.id, error))
        .and_then(|bytes| String::from_utf8(bytes).map_err(|error| damaged(row.id, error)))?;
    let can: Vec<Ability> = from_json(&row.can, "pause", row.id)?;
    let files: Vec<String> = from_json(&row.files, "pause", row.id)?;
    let decision: Option<PauseDecision> = row
        .decision
        .as_deref()
        .map(|text| from_json(text, "pause", row.id))
        .transpose()?;
    let hit = row.hit.as_deref();
    let hit: Option<PauseHit> = hit
        .map(|text| from_json(text, "pause", row.id))
        .transpose()?;
    let draft = row.draft.as_deref();
    let draft = draft
        .map(|text| from_json(text, "pause", row.id))
        .transpose()?
        .map(|input| ChangedInput {
            input,
            // an older version did not note it
            by: row.draft_by.unwrap_or_else(|| "a REPL".to_owned()),
        });
    Ok(Pause {
        id: PauseId(row.id),
        holder: process(&row.holder)?,
        call: HeldCall {
            subject: row.by,
            agent_process: row.agent_process.as_deref().map(process).transpose()?,
            breakpoint: row.breakpoint.map(BreakpointId),
            hit,
            why: row.why,
            root: bytes_path(&row.root),
            agent: row.agent,
            session: row.session,
            letter: row.letter,
            subagent: row.subagent,
            turn: row.turn,
            prompt: row.prompt,
            iteration: row.iteration,
            tool: row.tool,
            call: row.call,
            is_made_id: row.made_id,
            moment: row.moment,
            input,
            error: row.error,
            output: row.output,
            cwd: row.cwd.map(|cwd| bytes_path(&cwd)),
            files,
            shown: row.shown,
            can,
            until: row.until,
        },
        made: row.made,
        state: row.state,
        decision,
        decided_by: row.decided_by,
        decided: row.decided,
        outcome: row.outcome,
        ended: row.ended,
        draft,
    })
}

/// Adds a held call.
pub(crate) fn insert(conn: &Connection, call: &HeldCall, holder: ProcessId) -> Result<PauseId> {
    let input = zstd::bulk::compress(call.input.as_bytes(), LEVEL).map_err(|source| Error::Io {
        what: "compress the input of a call".to_owned(),
        source,
    })?;
    conn.prepare_cached(
        "INSERT INTO pause (breakpoint, why, root, agent, session, subagent, turn, prompt, iteration, tool, call, moment,
           input, input_hash, cwd, files, can, holder, agent_process, until, made, state, hit, error, output, letter, shown,
           by, made_id)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,?27,?28,?29)",
    )?
    .execute(params![
        call.breakpoint.map(|id| id.0),
        call.why,
        os_bytes(call.root.as_os_str()),
        call.agent,
        call.session,
        call.subagent,
        call.turn,
        call.prompt,
        call.iteration,
        call.tool,
        call.call,
        call.moment,
        input,
        call.input_hash(),
        call.cwd.as_ref().map(|cwd| os_bytes(cwd.as_os_str())),
        to_json(&call.files)?,
        to_json(&call.can)?,
        holder.to_string(),
        call.agent_process.map(|process| process.to_string()),
        call.until,
        now(),
        PauseState::Held,
        call.hit.as_ref().map(to_json).transpose()?,
        call.error,
        call.output,
        call.letter,
        call.shown,
        call.subject,
        call.is_made_id,
    ])?;
    Ok(PauseId(conn.last_insert_rowid()))
}

pub(crate) fn get(conn: &Connection, id: PauseId) -> Result<Option<Pause>> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM pause WHERE id = ?1"))?
        .query_row([id.0], read)
        .optional()
        .in_row(conn, || format!("row {} of table pause", id.0))?
        .map(parse)
        .transpose()
}

/// Pauses to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseFilter {
    /// Held, decided or parked.
    Open,
    All,
}

/// Returns the numbers of the program and of its call. None: it is a pause of an agent's call.
pub(crate) fn program(conn: &Connection, id: PauseId) -> Result<(Option<i64>, Option<i64>)> {
    let found = conn
        .prepare_cached("SELECT process, function_call FROM pause WHERE id = ?1")?
        .query_row([id.0], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()
        .in_row(conn, || format!("row {} of table pause", id.0))?;
    Ok(found.unwrap_or_default())
}

pub(crate) fn set_program(conn: &Connection, id: PauseId, at: &ProgramPause<'_>) -> Result<()> {
    conn.prepare_cached(
        "UPDATE pause SET process = ?2, function_call = ?3, stack = ?4 WHERE id = ?1",
    )?
    .execute(params![id.0, at.process, at.call, to_json(&at.stack)?])?;
    Ok(())
}

/// Returns the stack of a program's pause.
pub(crate) fn stack(conn: &Connection, id: PauseId) -> Result<Vec<StackFrame>> {
    let text: Option<String> = conn
        .prepare_cached("SELECT stack FROM pause WHERE id = ?1")?
        .query_row([id.0], |r| r.get(0))
        .optional()
        .in_row(conn, || format!("row {} of table pause", id.0))?
        .flatten();
    text.map_or_else(|| Ok(Vec::new()), |text| from_json(&text, "pause", id.0))
}

/// Changes the input of a call that is not decided yet. Returns false if it is.
pub(crate) fn set_draft(
    conn: &Connection,
    id: PauseId,
    draft: Option<(&serde_json::Value, &str)>,
) -> Result<bool> {
    let input = draft.map(|(input, _)| to_json(input)).transpose()?;
    let changes = conn
        .prepare_cached(
            "UPDATE pause SET draft = ?2, draft_by = ?3
             WHERE id = ?1 AND decision IS NULL AND state IN ('held','parked')",
        )?
        .execute(params![id.0, input, draft.map(|(_, by)| by)])?;
    Ok(changes > 0)
}

/// Notes the files that a call would write, as they are shown.
pub(crate) fn set_shown(conn: &Connection, id: PauseId, shown: &str) -> Result<()> {
    conn.prepare_cached("UPDATE pause SET shown = ?2 WHERE id = ?1")?
        .execute(params![id.0, shown])?;
    Ok(())
}

/// Notes that a person works on a held call.
pub(crate) fn touch(conn: &Connection, id: PauseId) -> Result<()> {
    conn.prepare_cached("UPDATE pause SET touched = ?2 WHERE id = ?1 AND state = 'held'")?
        .execute(params![id.0, now()])?;
    Ok(())
}

/// Returns the time at which a person last worked on a held call.
pub(crate) fn touched(conn: &Connection, id: PauseId) -> Result<Option<i64>> {
    conn.prepare_cached("SELECT touched FROM pause WHERE id = ?1")?
        .query_row([id.0], |r| r.get(0))
        .optional()
        .in_row(conn, || format!("row {} of table pause", id.0))
        .map(Option::flatten)
}

/// Returns pauses, oldest first.
pub(crate) fn list(conn: &Connection, filter: PauseFilter) -> Result<Vec<Pause>> {
    let which = match filter {
        // literals, for the index `pause_open`
        PauseFilter::Open => "WHERE state IN ('held','decided','parked')",
        PauseFilter::All => "",
    };
    let mut select =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM pause {which} ORDER BY id"))?;
    let rows = select.query([])?;
    let rows: Vec<StoredPause> = read_all(conn, "pause", rows, read)?;
    rows.into_iter().map(parse).collect()
}

/// Returns the pauses after a number whose calls ran unasked.
pub(crate) fn slipped_after(conn: &Connection, id: i64) -> Result<Vec<Pause>> {
    let mut select = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM pause WHERE id > ?1 AND state = 'slipped' ORDER BY id"
    ))?;
    let rows = select.query([id])?;
    let rows: Vec<StoredPause> = read_all(conn, "pause", rows, read)?;
    rows.into_iter().map(parse).collect()
}

/// Returns the number of the newest pause; 0: there is none.
pub(crate) fn newest(conn: &Connection) -> Result<i64> {
    let newest = conn.prepare_cached("SELECT COALESCE(MAX(id), 0) FROM pause")?;
    Ok({ newest }.query_row([], |r| r.get(0))?)
}

/// True if a call was held before it ran, or is known to have run unasked.
pub(crate) fn any_of_call(
    conn: &Connection,
    (agent, session): (&str, &str),
    call: &str,
) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM pause WHERE agent = ?1 AND session = ?2 AND call = ?3 AND moment = 'before'",
        )?
        .exists(params![agent, session, call])?)
}

/// Finds the newest pause of the same call, if its hook told nobody yet.
pub(crate) fn of_call(conn: &Connection, call: &HeldCall) -> Result<Option<Pause>> {
    conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM pause WHERE agent = ?1 AND session = ?2 AND call = ?3 AND moment = ?4
           AND (state IN ('held','decided') OR state IN ('answered','used') AND (NOT ?5 OR ended > ?6))
         ORDER BY id DESC LIMIT 1"
    ))?
    .query_row(
        params![
            call.agent,
            call.session,
            call.call,
            call.moment,
            call.is_made_id,
            now() - SAME_EVENT
        ],
        read,
    )
    .optional()
    .in_row(conn, || "a row of table pause".to_owned())?
    .map(parse)
    .transpose()
}

/// Finds the open pause that a program asked for under this name.
pub(crate) fn of_program(
    conn: &Connection,
    (language, program): (&str, &str),
    call: &str,
) -> Result<Option<PauseId>> {
    conn.prepare_cached(
        "SELECT id FROM pause WHERE agent = ?1 AND session = ?2 AND call = ?3 AND by = 'program'
           AND state IN ('held','decided') ORDER BY id DESC LIMIT 1",
    )?
    .query_row([language, program, call], |r| Ok(PauseId(r.get(0)?)))
    .optional()
    .in_row(conn, || "a row of table pause".to_owned())
}

/// True if this call was held before it ran, and was resumed.
pub(crate) fn was_let_go(
    conn: &Connection,
    (agent, session): (&str, &str),
    call: &str,
) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM pause WHERE agent = ?1 AND session = ?2 AND call = ?3 AND moment = 'before'
               AND outcome IN ('continued','changed')",
        )?
        .exists(params![agent, session, call])?)
}

/// Finds the parked call that this one tries again.
pub(crate) fn parked(conn: &Connection, call: &HeldCall) -> Result<Option<Pause>> {
    conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM pause WHERE agent = ?1 AND session = ?2 AND tool = ?3 AND input_hash = ?4
           AND state = 'parked' AND made > ?5 ORDER BY id DESC LIMIT 1"
    ))?
    .query_row(
        params![
            call.agent,
            call.session,
            call.tool,
            call.input_hash(),
            now() - PARKED
        ],
        read,
    )
    .optional()
    .in_row(conn, || "a row of table pause".to_owned())?
    .map(parse)
    .transpose()
}

/// Returns the pauses of a call that was never let go: its end is reported all the same. A retry of a parked call is another.
pub(crate) fn unanswered(
    conn: &Connection,
    (agent, session): (&str, &str),
    call: &str,
) -> Result<Vec<PauseId>> {
    let mut select = conn.prepare_cached(
        "SELECT id FROM pause WHERE agent = ?1 AND session = ?2 AND call = ?3 AND moment = 'before'
           AND (state IN ('held','decided','lost','ended') OR state = 'parked' AND decision IS NULL)",
    )?;
    let rows = select.query([agent, session, call])?;
    let ids: Vec<i64> = read_all(conn, "pause", rows, |r| r.get(0))?;
    Ok(ids.into_iter().map(PauseId).collect())
}

/// Stores a decision on an open pause. Returns false if it is no longer open.
pub(crate) fn decide(
    conn: &Connection,
    id: PauseId,
    decision: &PauseDecision,
    by: &str,
) -> Result<bool> {
    let changes = conn
        .prepare_cached(
            "UPDATE pause SET decision = ?2, decided_by = ?3, decided = ?4,
               state = CASE state WHEN 'held' THEN 'decided' ELSE state END
             WHERE id = ?1 AND (state = 'held' OR state = 'parked' AND decision IS NULL)",
        )?
        .execute(params![id.0, to_json(decision)?, by, now()])?;
    Ok(changes > 0)
}

/// Takes a decision back that nobody has carried out. A program that says so is there, and holds. Returns false if the pause
/// is over.
pub(crate) fn undecide(conn: &Connection, id: PauseId) -> Result<bool> {
    let changes = conn
        .prepare_cached(
            "UPDATE pause SET decision = NULL, decided_by = NULL, decided = NULL, state = 'held'
             WHERE id = ?1 AND state IN ('decided','lost')",
        )?
        .execute([id.0])?;
    Ok(changes > 0)
}

/// Ends a pause that is in one of the open states. Returns false if it is no longer.
pub(crate) fn end(
    conn: &Connection,
    id: PauseId,
    state: PauseState,
    outcome: Option<PauseOutcome>,
) -> Result<bool> {
    let changes = conn
        .prepare_cached(
            "UPDATE pause SET state = ?2, outcome = COALESCE(?3, outcome), ended = ?4
             WHERE id = ?1 AND state IN ('held','decided','parked','lost','ended') AND state <> ?2",
        )?
        .execute(params![id.0, state, outcome, now()])?;
    Ok(changes > 0)
}

/// Gives a parked pause to the hook of the call that is tried again.
pub(crate) fn take_over(
    conn: &Connection,
    id: PauseId,
    holder: ProcessId,
    call: &str,
    until: Option<i64>,
) -> Result<()> {
    conn.prepare_cached(
        "UPDATE pause SET holder = ?2, call = ?3, until = ?4, ended = NULL, outcome = NULL, state = ?5 WHERE id = ?1",
    )?
    .execute(params![
        id.0,
        holder.to_string(),
        call,
        until,
        PauseState::Held
    ])?;
    conn.prepare_cached("UPDATE hit SET call = ?2 WHERE pause = ?1")?
        .execute(params![id.0, call])?;
    // those who saw the first try may be gone
    conn.prepare_cached("DELETE FROM ack WHERE pause = ?1")?
        .execute([id.0])?;
    Ok(())
}

/// Gives a decided pause the id of the call that was tried again, so that a second hook and the end of the call find it.
pub(crate) fn rename_call(conn: &Connection, id: PauseId, call: &str) -> Result<()> {
    conn.prepare_cached("UPDATE pause SET call = ?2 WHERE id = ?1")?
        .execute(params![id.0, call])?;
    conn.prepare_cached("UPDATE hit SET call = ?2 WHERE pause = ?1")?
        .execute(params![id.0, call])?;
    Ok(())
}

/// True if a pause is open, or a hook died after a time.
pub(crate) fn any_open(conn: &Connection, lost_after: i64) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM pause WHERE state IN ('held','decided','parked')
             UNION ALL SELECT 1 FROM pause WHERE state = 'lost' AND ended > ?1 LIMIT 1",
        )?
        .exists([lost_after])?)
}

/// Ends the parked pauses of a session, or those parked before a time.
pub(crate) fn expire(conn: &Connection, session: Option<&str>, before: i64) -> Result<usize> {
    Ok(conn.execute(
        "UPDATE pause SET state = 'expired' WHERE state = 'parked' AND (session = ?1 OR made < ?2)",
        params![session, before],
    )?)
}

/// Removes ended pauses that were made before a time.
pub(crate) fn delete_before(conn: &Connection, time: i64) -> Result<usize> {
    Ok(conn.execute(
        "DELETE FROM pause WHERE made < ?1 AND state NOT IN ('held','decided','parked')",
        [time],
    )?)
}
