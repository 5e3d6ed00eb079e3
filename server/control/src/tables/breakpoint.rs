//! Table `breakpoint`.

use rusqlite::{Connection, Row, params};

use super::from_json;
use crate::breakpoint::CallMoment;
use crate::breakpoint::{
    AnyKind, Breakpoint, BreakpointAction, BreakpointId, BreakpointScope, BreakpointSpec,
};
use backstitch_core::Result;
use backstitch_core::sqlite::to_json;
use backstitch_core::sqlite::{InRow, read_all, stored_as};

stored_as!(CallMoment as text, "moment of a call", { Before = "before", After = "after" });
stored_as!(BreakpointAction as text, "action of a breakpoint", {
    Pause = "pause",
    Log = "log",
    Deny = "deny",
});

const COLUMNS: &str = "id, name, spec, moment, scope, condition, hits_when, action, message, once, enabled, hits, \
                       unattended, made_by, created, problem";

/// A row whose JSON is still text.
struct StoredBreakpoint {
    breakpoint: Breakpoint,
    spec: String,
    scope: String,
    hits_when: Option<String>,
}

fn read(r: &Row<'_>) -> rusqlite::Result<StoredBreakpoint> {
    Ok(StoredBreakpoint {
        spec: r.get(2)?,
        scope: r.get(4)?,
        hits_when: r.get(6)?,
        breakpoint: Breakpoint {
            id: BreakpointId(r.get(0)?),
            name: r.get(1)?,
            spec: BreakpointSpec::Any(AnyKind {}),
            moment: r.get(3)?,
            scope: BreakpointScope::default(),
            condition: r.get(5)?,
            hits_when: None,
            action: r.get(7)?,
            message: r.get(8)?,
            once: r.get(9)?,
            enabled: r.get(10)?,
            hits: r.get(11)?,
            unattended: r.get(12)?,
            made_by: r.get(13)?,
            created: r.get(14)?,
            problem: r.get(15)?,
        },
    })
}

fn parse(stored: StoredBreakpoint) -> Result<Breakpoint> {
    let id = stored.breakpoint.id.0;
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let hits_when = stored.hits_when.as_deref().map(json);
    Ok(Breakpoint {
        spec: from_json(&stored.spec, "breakpoint", id)?,
        scope: from_json(&stored.scope, "breakpoint", id)?,
        hits_when: hits_when
            .map(|text| from_json(&text, "breakpoint", id))
            .transpose()?,
        ..stored.breakpoint
    })
}

/// Returns all breakpoints in the order in which they were made.
pub(crate) fn all(conn: &Connection) -> Result<Vec<Breakpoint>> {
    let mut select =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM breakpoint ORDER BY id"))?;
    let rows = select.query([])?;
    let rows: Vec<StoredBreakpoint> = read_all(conn, "breakpoint", rows, read)?;
    rows.into_iter().map(parse).collect()
}

/// Adds a breakpoint; its id is the next free one, its name tells the time of its making.
pub(crate) fn insert(conn: &Connection, new: &Breakpoint) -> Result<BreakpointId> {
    conn.prepare_cached(
        "INSERT INTO breakpoint (name, spec, moment, scope, condition, hits_when, action, message, once, enabled, hits,
           unattended, made_by, created)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,0,?11,?12,?13)",
    )?
    .execute(params![
        new.name,
        to_json(&new.spec)?,
        new.moment,
        to_json(&new.scope)?,
        new.condition,
        new.hits_when.map(|when| when.to_string()),
        new.action,
        new.message,
        new.once,
        new.enabled,
        new.unattended,
        new.made_by,
        new.created
    ])?;
    Ok(BreakpointId(conn.last_insert_rowid()))
}

/// Inserts a breakpoint with the number that it had.
pub(crate) fn insert_again(conn: &Connection, old: &Breakpoint) -> Result<()> {
    let id = insert(conn, old)?;
    conn.execute(
        "UPDATE OR IGNORE breakpoint SET id = ?2, hits = ?3,
           problem = 'recovered: the database control.db was lost' WHERE id = ?1",
        params![id.0, old.id.0, old.hits],
    )?;
    Ok(())
}

/// Replaces what a user can edit. Returns false if it is not there.
pub(crate) fn update(conn: &Connection, changed: &Breakpoint) -> Result<bool> {
    let changes = conn
        .prepare_cached(
            "UPDATE breakpoint SET spec = ?2, moment = ?3, scope = ?4, condition = ?5, hits_when = ?6, action = ?7,
               message = ?8, once = ?9, enabled = ?10, unattended = ?11, problem = NULL WHERE id = ?1",
        )?
        .execute(params![
            changed.id.0,
            to_json(&changed.spec)?,
            changed.moment,
            to_json(&changed.scope)?,
            changed.condition,
            changed.hits_when.map(|when| when.to_string()),
            changed.action,
            changed.message,
            changed.once,
            changed.enabled,
            changed.unattended
        ])?;
    Ok(changes > 0)
}

/// Replaces the kind and its parameters.
pub(crate) fn set_spec(conn: &Connection, changed: &Breakpoint) -> Result<()> {
    conn.prepare_cached("UPDATE breakpoint SET spec = ?2 WHERE id = ?1")?
        .execute(params![changed.id.0, to_json(&changed.spec)?])?;
    Ok(())
}

/// Raises the number of triggers by one. None: it is gone or disabled, so that it does not trigger.
pub(crate) fn count(conn: &Connection, id: BreakpointId) -> Result<Option<i64>> {
    let mut update = conn.prepare_cached(
        "UPDATE breakpoint SET hits = hits + 1 WHERE id = ?1 AND enabled RETURNING hits",
    )?;
    let mut rows = update.query([id.0])?;
    let hits = rows.next()?.map(|row| row.get(0)).transpose();
    let hits = hits.in_row(conn, || format!("row {} of table breakpoint", id.0))?;
    // the statement is done only at its end
    while rows.next()?.is_some() {}
    Ok(hits)
}

/// Takes a trigger back that was counted by another hook of the same event.
pub(crate) fn uncount(conn: &Connection, id: BreakpointId) -> Result<()> {
    conn.prepare_cached("UPDATE breakpoint SET hits = hits - 1 WHERE id = ?1 AND hits > 0")?
        .execute([id.0])?;
    Ok(())
}

pub(crate) fn set_problem(conn: &Connection, id: BreakpointId, problem: &str) -> Result<()> {
    conn.prepare_cached("UPDATE breakpoint SET problem = ?2 WHERE id = ?1")?
        .execute(params![id.0, problem])?;
    Ok(())
}

/// Removes a breakpoint. Returns false if it is not there.
pub(crate) fn delete(conn: &Connection, id: BreakpointId) -> Result<bool> {
    Ok(conn
        .prepare_cached("DELETE FROM breakpoint WHERE id = ?1")?
        .execute([id.0])?
        > 0)
}

/// Removes all breakpoints, also those whose rows are damaged. Returns their number.
pub(crate) fn delete_all(conn: &Connection) -> Result<usize> {
    Ok(conn.execute("DELETE FROM breakpoint", [])?)
}

/// Removes the steps of a session that have not been hit.
pub(crate) fn delete_steps(conn: &Connection, session: &str) -> Result<()> {
    conn.execute(
        "DELETE FROM breakpoint WHERE json_extract(spec, '$.kind') IN ('step', 'any') AND once
           AND json_extract(scope, '$.session') = ?1",
        [session],
    )?;
    Ok(())
}

/// Removes a stop at the next call of any session that has not been hit.
pub(crate) fn delete_next_of_any(conn: &Connection) -> Result<()> {
    conn.execute(
        "DELETE FROM breakpoint WHERE json_extract(spec, '$.kind') = 'any' AND once
           AND json_extract(scope, '$.session') IS NULL",
        [],
    )?;
    Ok(())
}
