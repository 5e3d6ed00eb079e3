//! Tables `process` and `function_call`: programs, and the calls that they watch.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::program::{FunctionCall, NewFunctionCall, Program, ProgramHello};
use backstitch_core::Result;
use backstitch_core::sqlite::now;
use backstitch_core::sqlite::to_json;
use backstitch_core::sqlite::{InRow, read_all};

/// Adds a program; one that connects again keeps its number.
pub(crate) fn connect(conn: &Connection, hello: &ProgramHello) -> Result<i64> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO process (pid, started, argv, language, cwd, connected) VALUES (?1,?2,?3,?4,?5,?6)
         ON CONFLICT (pid, started) DO UPDATE SET ended = NULL RETURNING id",
    )?;
    let argv = to_json(&hello.argv)?;
    Ok(insert.query_row(
        params![
            hello.pid,
            hello.started,
            argv,
            hello.language,
            hello.cwd,
            now()
        ],
        |r| r.get(0),
    )?)
}

pub(crate) fn end(conn: &Connection, process: i64) -> Result<()> {
    conn.prepare_cached("UPDATE process SET ended = ?2 WHERE id = ?1 AND ended IS NULL")?
        .execute(params![process, now()])?;
    Ok(())
}

fn program(r: &Row<'_>) -> rusqlite::Result<Program> {
    Ok(Program {
        id: r.get(0)?,
        pid: r.get(1)?,
        argv: r.get(2)?,
        language: r.get(3)?,
        cwd: r.get(4)?,
        connected: r.get(5)?,
        ended: r.get(6)?,
    })
}

pub(crate) fn all(conn: &Connection) -> Result<Vec<Program>> {
    let mut select = conn.prepare_cached(
        "SELECT id, pid, argv, language, cwd, connected, ended FROM process ORDER BY id DESC",
    )?;
    let rows = select.query([])?;
    read_all(conn, "process", rows, program)
}

pub(crate) fn get(conn: &Connection, id: i64) -> Result<Option<Program>> {
    conn.prepare_cached(
        "SELECT id, pid, argv, language, cwd, connected, ended FROM process WHERE id = ?1",
    )?
    .query_row([id], program)
    .optional()
    .in_row(conn, || format!("row {id} of table process"))
}

pub(crate) fn begin_call(conn: &Connection, new: &NewFunctionCall) -> Result<i64> {
    conn.prepare_cached(
        "INSERT INTO function_call (process, parent, function, kind, thread, args, started) VALUES (?1,?2,?3,?4,?5,?6,?7)",
    )?
    .execute(params![
        new.process,
        new.parent,
        new.function,
        new.kind,
        new.thread,
        new.args,
        now()
    ])?;
    Ok(conn.last_insert_rowid())
}

pub(crate) fn end_call(
    conn: &Connection,
    call: i64,
    outcome: &str,
    result: Option<&str>,
) -> Result<()> {
    conn.prepare_cached(
        "UPDATE function_call SET ended = ?2, outcome = ?3, result = ?4 WHERE id = ?1 AND ended IS NULL",
    )?
    .execute(params![call, now(), outcome, result])?;
    Ok(())
}

/// Returns the newest calls of a program, oldest first.
pub(crate) fn calls(conn: &Connection, process: i64, limit: usize) -> Result<Vec<FunctionCall>> {
    let mut select = conn.prepare_cached(
        "SELECT id, parent, function, kind, thread, args, started, ended, outcome, result FROM
           (SELECT * FROM function_call WHERE process = ?1 ORDER BY id DESC LIMIT ?2) ORDER BY id",
    )?;
    let rows = select.query(params![process, i64::try_from(limit).unwrap_or(i64::MAX)])?;
    read_all(conn, "function_call", rows, |r| {
        Ok(FunctionCall {
            id: r.get(0)?,
            parent: r.get(1)?,
            function: r.get(2)?,
            kind: r.get(3)?,
            thread: r.get(4)?,
            args: r.get(5)?,
            started: r.get(6)?,
            ended: r.get(7)?,
            outcome: r.get(8)?,
            result: r.get(9)?,
        })
    })
}

/// Returns the programs without an end. One that was killed with its bridge notes none.
pub(crate) fn without_end(conn: &Connection) -> Result<Vec<Program>> {
    let mut all = all(conn)?;
    all.retain(|program| program.ended.is_none());
    Ok(all)
}

/// Removes programs that ended before a time, with their calls.
pub(crate) fn delete_before(conn: &Connection, time: i64) -> Result<usize> {
    Ok(conn.execute("DELETE FROM process WHERE ended < ?1", [time])?)
}
