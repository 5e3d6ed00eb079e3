//! Tables `repl_session`, `exchange`, `exchange_words` and `eval_request`.

use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter, types::Value};

use crate::breakpoint::BreakpointId;
use crate::pause::PauseId;
use crate::repl::{EvalId, EvalRequest, EvalState, ReplEntry, ReplFilter, ReplSession};
use backstitch_core::Result;
use backstitch_core::sqlite::now;
use backstitch_core::sqlite::{InRow, read_all, stored_as};

stored_as!(EvalState as text, "state of an evaluation", {
    Waiting = "waiting",
    Taken = "taken",
    Answered = "answered",
    TimedOut = "timed_out",
    Withdrawn = "withdrawn",
});

const SESSION: &str = "id, pause, pid, process, function, call, language, started, closed, reason, \
                       (SELECT COUNT(*) FROM exchange WHERE session = repl_session.id), \
                       (SELECT why FROM pause WHERE id = repl_session.pause), \
                       (SELECT breakpoint FROM pause WHERE id = repl_session.pause), \
                       (SELECT hit FROM pause WHERE id = repl_session.pause), \
                       (SELECT letter FROM pause WHERE id = repl_session.pause), \
                       (SELECT prompt FROM pause WHERE id = repl_session.pause)";

fn session(r: &Row<'_>) -> rusqlite::Result<ReplSession> {
    Ok(ReplSession {
        id: r.get(0)?,
        pause: PauseId(r.get(1)?),
        pid: r.get(2)?,
        process: r.get(3)?,
        function: r.get(4)?,
        call: r.get(5)?,
        language: r.get(6)?,
        started: r.get(7)?,
        closed: r.get(8)?,
        reason: r.get(9)?,
        entries: r.get(10)?,
        why: r.get(11)?,
        breakpoint: r.get::<_, Option<i64>>(12)?.map(BreakpointId),
        hit: r
            .get::<_, Option<String>>(13)?
            .and_then(|json| serde_json::from_str(&json).ok()),
        letter: r.get(14)?,
        prompt: r.get(15)?,
    })
}

/// Adds a session. Returns false if its id is taken.
pub(crate) fn insert(conn: &Connection, new: &ReplSession) -> Result<bool> {
    let added = conn
        .prepare_cached(
            "INSERT OR IGNORE INTO repl_session (id, pause, pid, process, function, call, language, started)
             VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
        )?
        .execute(params![
            new.id,
            new.pause.0,
            new.pid,
            new.process,
            new.function,
            new.call,
            new.language,
            new.started
        ])?;
    Ok(added > 0)
}

pub(crate) fn get(conn: &Connection, id: &str) -> Result<Option<ReplSession>> {
    conn.prepare_cached(&format!("SELECT {SESSION} FROM repl_session WHERE id = ?1"))?
        .query_row([id], session)
        .optional()
        .in_row(conn, || format!("row {id} of table repl_session"))
}

/// Closes a session. Returns false if it is closed already.
pub(crate) fn close(conn: &Connection, id: &str, reason: &str) -> Result<bool> {
    let changed = conn
        .prepare_cached(
            "UPDATE repl_session SET closed = ?2, reason = ?3 WHERE id = ?1 AND closed IS NULL",
        )?
        .execute(params![id, now(), reason])?;
    conn.prepare_cached(
        "UPDATE eval_request SET state = 'withdrawn' WHERE session = ?1 AND state IN ('waiting','taken')",
    )?
    .execute([id])?;
    Ok(changed > 0)
}

/// Closes the sessions of a pause.
pub(crate) fn close_all(conn: &Connection, pause: PauseId, reason: &str) -> Result<()> {
    conn.prepare_cached(
        "UPDATE repl_session SET closed = ?2, reason = ?3 WHERE pause = ?1 AND closed IS NULL",
    )?
    .execute(params![pause.0, now(), reason])?;
    conn.prepare_cached(
        "UPDATE eval_request SET state = 'withdrawn' WHERE pause = ?1 AND state IN ('waiting','taken')",
    )?
    .execute([pause.0])?;
    Ok(())
}

/// Returns sessions, the newest first.
pub(crate) fn list(conn: &Connection, filter: &ReplFilter) -> Result<Vec<ReplSession>> {
    let mut wheres: Vec<&str> = vec!["1"];
    let mut values: Vec<Value> = Vec::new();
    let mut add = |text: &'static str, value: Value| {
        wheres.push(text);
        values.push(value);
    };
    if let Some(active) = filter.active {
        add("(closed IS NULL) = ?", Value::Integer(active.into()));
    }
    if let Some(from) = filter.from {
        add("started >= ?", Value::Integer(from));
    }
    if let Some(to) = filter.to {
        add("started <= ?", Value::Integer(to));
    }
    if let Some(pause) = filter.pause {
        add("pause = ?", Value::Integer(pause.0));
    }
    if let Some(call) = filter.call {
        add("call = ?", Value::Integer(call));
    }
    if let Some(before) = &filter.before {
        add(
            "(started, id) < (SELECT started, id FROM repl_session WHERE id = ?)",
            Value::Text(before.clone()),
        );
    }
    if let Some(search) = filter.search.as_deref().filter(|text| !text.is_empty()) {
        let like = format!(
            "%{}%",
            search
                .replace('\\', "\\\\")
                .replace('%', "\\%")
                .replace('_', "\\_")
        );
        // three letters are the least that the index finds
        if search.chars().count() >= 3 {
            wheres.push(
                "(function LIKE ? ESCAPE '\\' OR (SELECT why FROM pause WHERE pause.id = repl_session.pause) LIKE ? ESCAPE '\\' OR \
                 id IN (SELECT session FROM exchange WHERE id IN (SELECT rowid FROM \
                 exchange_words WHERE exchange_words MATCH ?)))",
            );
            values.extend([Value::Text(like.clone()), Value::Text(like)]);
            values.push(Value::Text(format!("\"{}\"", search.replace('"', "\"\""))));
        } else {
            wheres.push(
                "(function LIKE ? ESCAPE '\\' OR (SELECT why FROM pause WHERE pause.id = repl_session.pause) LIKE ? ESCAPE '\\' OR \
                 id IN (SELECT session FROM exchange WHERE input LIKE ? ESCAPE '\\' OR \
                 output LIKE ? ESCAPE '\\' OR stdout LIKE ? ESCAPE '\\'))",
            );
            values.extend(std::iter::repeat_n(Value::Text(like), 5));
        }
    }
    values.push(Value::Integer(
        i64::try_from(filter.limit).unwrap_or(i64::MAX),
    ));
    let sql = format!(
        "SELECT {SESSION} FROM repl_session WHERE {} ORDER BY started DESC, id DESC LIMIT ?",
        wheres.join(" AND ")
    );
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query(params_from_iter(values))?;
    read_all(conn, "repl_session", rows, session)
}

fn entry(r: &Row<'_>) -> rusqlite::Result<ReplEntry> {
    Ok(ReplEntry {
        number: r.get(0)?,
        input: r.get(1)?,
        output: r.get(2)?,
        stdout: r.get(3)?,
        is_error: r.get(4)?,
        cid: r.get(5)?,
        time: r.get(6)?,
        ms: r.get(7)?,
    })
}

const ENTRY: &str = "number, input, output, stdout, is_error, cid, time, ms";

/// Returns the entries of a session after a number, in order.
pub(crate) fn entries(
    conn: &Connection,
    session: &str,
    after: i64,
    limit: usize,
) -> Result<Vec<ReplEntry>> {
    let mut select = conn.prepare_cached(&format!(
        "SELECT {ENTRY} FROM exchange WHERE session = ?1 AND number > ?2 ORDER BY number LIMIT ?3"
    ))?;
    let rows = select.query(params![
        session,
        after,
        i64::try_from(limit).unwrap_or(i64::MAX)
    ])?;
    read_all(conn, "exchange", rows, entry)
}

/// Returns the entries after a row, each with its row and its session, in order.
pub(crate) fn entries_after(
    conn: &Connection,
    row: i64,
    limit: usize,
) -> Result<Vec<(i64, String, ReplEntry)>> {
    let mut select = conn.prepare_cached(&format!(
        "SELECT {ENTRY}, id, session FROM exchange WHERE id > ?1 ORDER BY id LIMIT ?2"
    ))?;
    let rows = select.query(params![row, i64::try_from(limit).unwrap_or(i64::MAX)])?;
    read_all(conn, "exchange", rows, |r| {
        Ok((r.get(8)?, r.get(9)?, entry(r)?))
    })
}

/// Returns the row of the newest entry. 0: there is none.
pub(crate) fn newest_entry(conn: &Connection) -> Result<i64> {
    let newest = conn.prepare_cached("SELECT COALESCE(MAX(id), 0) FROM exchange")?;
    Ok({ newest }.query_row([], |r| r.get(0))?)
}

/// Adds an entry at the end of a session. Its number and its time are set here.
pub(crate) fn append(conn: &Connection, session: &str, new: &ReplEntry) -> Result<ReplEntry> {
    let mut insert = conn.prepare_cached(&format!(
        "INSERT INTO exchange (session, number, input, output, stdout, is_error, cid, time, ms)
         VALUES (?1, (SELECT COALESCE(MAX(number), 0) + 1 FROM exchange WHERE session = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         RETURNING id, {ENTRY}"
    ))?;
    let (id, added) = insert.query_row(
        params![
            session,
            new.input,
            new.output,
            new.stdout,
            new.is_error,
            new.cid,
            now(),
            new.ms
        ],
        |r| {
            let number = r.get::<_, i64>(0)?;
            let added = ReplEntry {
                number: r.get(1)?,
                input: r.get(2)?,
                output: r.get(3)?,
                stdout: r.get(4)?,
                is_error: r.get(5)?,
                cid: r.get(6)?,
                time: r.get(7)?,
                ms: r.get(8)?,
            };
            Ok((number, added))
        },
    )?;
    let words = [&new.input, &new.output, &new.stdout].map(String::as_str);
    conn.prepare_cached("INSERT INTO exchange_words (rowid, words) VALUES (?1, ?2)")?
        .execute(params![id, words.join("\n")])?;
    Ok(added)
}

pub(crate) fn ask(
    conn: &Connection,
    (pause, session): (PauseId, &str),
    expression: &str,
    timeout: i64,
) -> Result<EvalId> {
    conn.prepare_cached(
        "INSERT INTO eval_request (pause, session, expression, timeout, made, state) VALUES (?1,?2,?3,?4,?5,'waiting')",
    )?
    .execute(params![pause.0, session, expression, timeout, now()])?;
    Ok(EvalId(conn.last_insert_rowid()))
}

/// Returns the oldest request of a pause that waits, unless one is being evaluated.
pub(crate) fn next(conn: &Connection, pause: PauseId) -> Result<Option<EvalRequest>> {
    let oldest = request_where(
        conn,
        "pause = ?1 AND state IN ('waiting','taken') ORDER BY id LIMIT 1",
        pause.0,
    )?;
    Ok(oldest.filter(|request| request.state == EvalState::Waiting))
}

pub(crate) fn request(conn: &Connection, id: EvalId) -> Result<Option<EvalRequest>> {
    request_where(conn, "id = ?1", id.0)
}

fn request_where(conn: &Connection, condition: &str, value: i64) -> Result<Option<EvalRequest>> {
    conn.prepare_cached(&format!(
        "SELECT id, pause, session, expression, timeout, made, taken, state, exchange FROM eval_request WHERE {condition}"
    ))?
    .query_row([value], |r| {
        Ok(EvalRequest {
            id: EvalId(r.get(0)?),
            pause: PauseId(r.get(1)?),
            session: r.get(2)?,
            expression: r.get(3)?,
            timeout: r.get(4)?,
            made: r.get(5)?,
            taken: r.get(6)?,
            state: r.get(7)?,
            entry: r.get(8)?,
        })
    })
    .optional()
    .in_row(conn, || "a row of table eval_request".to_owned())
}

/// Sets the state of a request that is open. Returns false if it is not.
pub(crate) fn set_state(
    conn: &Connection,
    id: EvalId,
    state: EvalState,
    entry: Option<i64>,
) -> Result<bool> {
    let taken = (state == EvalState::Taken).then(now);
    let changed = conn
        .prepare_cached(
            "UPDATE eval_request SET state = ?2, exchange = ?3, taken = COALESCE(taken, ?4)
             WHERE id = ?1 AND state IN ('waiting','taken')",
        )?
        .execute(params![id.0, state, entry, taken])?;
    Ok(changed > 0)
}

/// Gives the request that a dead evaluator had taken back to the queue.
pub(crate) fn untake(conn: &Connection, pause: PauseId) -> Result<()> {
    conn.prepare_cached(
        "UPDATE eval_request SET state = 'waiting', taken = NULL WHERE pause = ?1 AND state = 'taken'",
    )?
    .execute([pause.0])?;
    Ok(())
}

/// A session that may go: it is closed, and its pause is over.
const IS_OVER: &str = "closed IS NOT NULL AND pause NOT IN (SELECT id FROM pause WHERE state IN ('held','decided','parked'))";

/// Removes sessions that are over and started before a time, with all that belongs to them.
pub(crate) fn delete_before(conn: &Connection, time: i64) -> Result<usize> {
    conn.execute(
        &format!(
            "DELETE FROM exchange_words WHERE rowid IN (SELECT exchange.id FROM exchange JOIN repl_session ON
               repl_session.id = exchange.session WHERE {IS_OVER} AND started < ?1)"
        ),
        [time],
    )?;
    Ok(conn.execute(
        &format!("DELETE FROM repl_session WHERE {IS_OVER} AND started < ?1"),
        [time],
    )?)
}

/// Size of all transcripts and values in bytes.
pub(crate) fn bytes(conn: &Connection) -> Result<i64> {
    Ok(conn.query_row(
        "SELECT (SELECT COALESCE(SUM(LENGTH(bytes) + LENGTH(view)), 0) FROM object)
           + (SELECT COALESCE(SUM(LENGTH(input) + LENGTH(output) + LENGTH(stdout)), 0) FROM exchange)",
        [],
        |r| r.get(0),
    )?)
}

/// Returns the start of the oldest session that is over. None: there is none.
pub(crate) fn oldest_over(conn: &Connection) -> Result<Option<i64>> {
    Ok(conn.query_row(
        &format!("SELECT MIN(started) FROM repl_session WHERE {IS_OVER}"),
        [],
        |r| r.get(0),
    )?)
}
