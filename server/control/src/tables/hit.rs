//! Table `hit`: each trigger of a breakpoint.

use rusqlite::{Connection, Row, params};

use crate::breakpoint::{BreakpointAction, BreakpointId};
use backstitch_core::Result;
use backstitch_core::sqlite::now;
use backstitch_core::sqlite::read_all;

/// A trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// 0 before it is stored.
    pub id: i64,
    pub breakpoint: BreakpointId,
    /// Name of the breakpoint's kind.
    pub kind: String,
    pub action: BreakpointAction,
    /// Number of the pause that it began.
    pub pause: Option<i64>,
    /// Microseconds since 1970.
    pub time: i64,
    pub agent: String,
    pub session: String,
    pub subagent: Option<String>,
    pub turn: Option<i64>,
    pub iteration: Option<i64>,
    pub tool: String,
    pub call: Option<String>,
    pub why: String,
    /// Text of a log point.
    pub text: Option<String>,
    /// False: the condition on the number of hits let it pass.
    pub acted: bool,
}

const COLUMNS: &str = "id, breakpoint, kind, action, pause, time, agent, session, subagent, turn, iteration, tool, call, \
                       why, text";

pub(crate) fn insert(conn: &Connection, hit: &Hit) -> Result<i64> {
    conn.prepare_cached(
        "INSERT INTO hit (breakpoint, kind, action, pause, time, agent, session, subagent, turn, iteration, tool, call,
           why, text, acted)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)",
    )?
    .execute(params![
        hit.breakpoint.0,
        hit.kind,
        hit.action,
        hit.pause,
        now(),
        hit.agent,
        hit.session,
        hit.subagent,
        hit.turn,
        hit.iteration,
        hit.tool,
        hit.call,
        hit.why,
        hit.text,
        hit.acted
    ])?;
    Ok(conn.last_insert_rowid())
}

/// Returns the hits after a number that acted, oldest first.
pub(crate) fn after(conn: &Connection, id: i64, limit: usize) -> Result<Vec<Hit>> {
    let mut select = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM hit WHERE id > ?1 AND acted ORDER BY id LIMIT ?2"
    ))?;
    let rows = select.query(params![id, i64::try_from(limit).unwrap_or(i64::MAX)])?;
    read_all(conn, "hit", rows, read)
}

/// Returns the newest hits that acted, oldest first.
pub(crate) fn newest_of(
    conn: &Connection,
    breakpoint: Option<BreakpointId>,
    limit: usize,
) -> Result<Vec<Hit>> {
    let mut select = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM hit WHERE (?1 IS NULL OR breakpoint = ?1) AND acted ORDER BY id DESC LIMIT ?2"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select.query(params![breakpoint.map(|id| id.0), limit])?;
    let mut hits: Vec<Hit> = read_all(conn, "hit", rows, read)?;
    hits.reverse();
    Ok(hits)
}

/// Returns the newest calls that breakpoints denied by themselves, oldest first. `session`: the beginning of its id.
/// `turn`: only in this one.
pub(crate) fn denied(
    conn: &Connection,
    session: Option<&str>,
    turn: Option<i64>,
    limit: usize,
) -> Result<Vec<Hit>> {
    let mut select = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM hit WHERE action = ?1 AND acted AND (?2 IS NULL OR substr(session, 1, length(?2)) = ?2)
           AND (?3 IS NULL OR turn = ?3) ORDER BY id DESC LIMIT ?4"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select.query(params![BreakpointAction::Deny, session, turn, limit])?;
    let mut hits: Vec<Hit> = read_all(conn, "hit", rows, read)?;
    hits.reverse();
    Ok(hits)
}

fn read(r: &Row<'_>) -> rusqlite::Result<Hit> {
    Ok(Hit {
        id: r.get(0)?,
        breakpoint: BreakpointId(r.get(1)?),
        kind: r.get(2)?,
        action: r.get(3)?,
        pause: r.get(4)?,
        time: r.get(5)?,
        agent: r.get(6)?,
        session: r.get(7)?,
        subagent: r.get(8)?,
        turn: r.get(9)?,
        iteration: r.get(10)?,
        tool: r.get(11)?,
        call: r.get(12)?,
        why: r.get(13)?,
        text: r.get(14)?,
        acted: true,
    })
}

/// True if a breakpoint has a trigger at this call.
pub(crate) fn any(
    conn: &Connection,
    breakpoint: BreakpointId,
    (agent, session): (&str, &str),
    call: &str,
) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM hit WHERE breakpoint = ?1 AND agent = ?2 AND session = ?3 AND call = ?4",
        )?
        .exists(params![breakpoint.0, agent, session, call])?)
}

/// True if a breakpoint has a trigger in this session.
pub(crate) fn any_in(
    conn: &Connection,
    breakpoint: BreakpointId,
    (agent, session): (&str, &str),
) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM hit WHERE breakpoint = ?1 AND agent = ?2 AND session = ?3")?
        .exists(params![breakpoint.0, agent, session])?)
}

pub(crate) fn newest(conn: &Connection) -> Result<i64> {
    let newest = conn.prepare_cached("SELECT COALESCE(MAX(id), 0) FROM hit")?;
    Ok({ newest }.query_row([], |r| r.get(0))?)
}

/// Removes hits before a time.
pub(crate) fn delete_before(conn: &Connection, time: i64) -> Result<usize> {
    Ok(conn.execute("DELETE FROM hit WHERE time < ?1", [time])?)
}
