//! Table `call`: tool calls. A call is open while `closed` is NULL.

use std::collections::{BTreeSet, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::damage::{InRow, read_all, stored_as};
use super::id_list::IdList;
use crate::error::{Error, Result};
use crate::model::{Call, CallId, ContentId, NodeId, RelPath, RootId, SessionId, TurnId};
use crate::store::now;

/// Possible effect of a call on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallEffect {
    Reads,
    /// It writes the paths that it names.
    Names,
    /// It may write anything.
    Any,
}
stored_as!(CallEffect as i64, "effect of a call", { Reads = 0, Names = 1, Any = 2 });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolOutcome {
    Done,
    Failed,
    /// Closed without its own report.
    Presumed,
}
stored_as!(ToolOutcome as i64, "outcome of a call", { Done = 0, Failed = 1, Presumed = 2 });

/// A call that may write anything and was open in the time in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub call: CallId,
    pub session: SessionId,
}

/// The columns of a call that capture needs.
#[derive(Clone, Debug)]
pub(crate) struct CallRow {
    pub id: CallId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub effect: CallEffect,
    pub opened_seq: i64,
    pub closed: bool,
    pub outcome: Option<ToolOutcome>,
}

impl CallRow {
    /// True if closed without its own report.
    pub(crate) fn is_presumed(&self) -> bool {
        self.outcome == Some(ToolOutcome::Presumed)
    }
}

const COLUMNS: &str = "id, session, turn, effect, opened_seq, closed IS NOT NULL, outcome";

fn read(r: &Row<'_>) -> rusqlite::Result<CallRow> {
    Ok(CallRow {
        id: r.get(0)?,
        session: r.get(1)?,
        turn: r.get(2)?,
        effect: r.get(3)?,
        opened_seq: r.get(4)?,
        closed: r.get(5)?,
        outcome: r.get(6)?,
    })
}

fn read_writer(r: &Row<'_>) -> rusqlite::Result<Writer> {
    Ok(Writer {
        call: r.get(0)?,
        session: r.get(1)?,
    })
}

pub(crate) fn row(conn: &Connection, id: CallId) -> Result<Call> {
    let read = |r: &Row<'_>| {
        Ok(Call {
            id: r.get(0)?,
            session: r.get(1)?,
            turn: r.get(2)?,
            native: r.get(3)?,
            subagent: r.get(4)?,
            tool: r.get(5)?,
            iteration: r.get(6)?,
            group: r.get(7)?,
            failed: r.get(8)?,
            exit: r.get(9)?,
            input: r.get(10)?,
        })
    };
    conn.prepare_cached(
        "SELECT c.id, session, turn, native, subagent, tool, iteration, grp, outcome IS 1, exit, b.hash
         FROM call c LEFT JOIN blob b ON b.n = c.input AND c.effect = 2 WHERE c.id = ?1",
    )?
    .query_row([id], read)
    .in_row(conn, || format!("row {} of table call", id.0))
}

/// Returns the agent, the tool and the turn's number of the call that may write and ran at a time. That time is of the last tick, so
/// a call counts that was opened before the next one, `tick` microseconds later. The newest that ran at the time itself comes first.
/// A call that was never closed counts for a day.
pub(crate) fn at(
    conn: &Connection,
    time: i64,
    tick: i64,
) -> Result<Option<(String, String, Option<i64>)>> {
    const DAY: i64 = 24 * 3600 * 1_000_000;
    conn.prepare_cached(
        "SELECT s.agent, c.tool, t.number FROM call c JOIN session s ON s.id = c.session
         LEFT JOIN turn t ON t.id = c.turn
         WHERE c.opened BETWEEN ?1 - ?2 AND ?1 + ?3 AND (c.closed IS NULL OR c.closed >= ?1) AND c.effect <> 0
         ORDER BY c.opened > ?1, c.id DESC LIMIT 1",
    )?
    .query_row(params![time, DAY, tick], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
    .optional()
    .in_row(conn, || "rows of table call".to_owned())
}

/// Finds a call by the agent's own id.
pub(crate) fn by_native(
    conn: &Connection,
    session: SessionId,
    native: &str,
) -> Result<Option<CallRow>> {
    conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM call WHERE session = ?1 AND native = ?2"
    ))?
    .query_row(params![session, native], read)
    .optional()
    .in_row(conn, || format!("row `{native}` of table call"))
}

/// True if a call was opened by the event of its end. None: there is no such call.
pub(crate) fn is_opened_by_its_end(
    conn: &Connection,
    session: SessionId,
    native: &str,
) -> Result<Option<bool>> {
    conn.prepare_cached(
        "SELECT COALESCE(opening.name = closing.name, 0) FROM call c
         LEFT JOIN event opening ON opening.seq = c.opened_seq
         LEFT JOIN event closing ON closing.seq = c.closed_seq
         WHERE c.session = ?1 AND c.native = ?2",
    )?
    .query_row(params![session, native], |r| r.get(0))
    .optional()
    .in_row(conn, || format!("row `{native}` of table call"))
}

/// Finds the newest open call of a tool in a thread of a session.
pub(crate) fn newest_open(
    conn: &Connection,
    session: SessionId,
    subagent: Option<&str>,
    tool: &str,
) -> Result<Option<CallRow>> {
    conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM call WHERE session = ?1 AND subagent IS ?2 AND tool = ?3
         AND closed IS NULL ORDER BY id DESC LIMIT 1"
    ))?
    .query_row(params![session, subagent, tool], read)
    .optional()
    .in_row(conn, || {
        format!("a row of session {} in table call", session.0)
    })
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
        "SELECT {COLUMNS} FROM call WHERE session = ?1 AND closed IS NULL AND (?2 OR subagent IS ?3) AND root = ?4
         ORDER BY id"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query(params![session, all, one, root])?;
    read_all(conn, "call", rows, read)
}

/// An open call that may write, with what tells it in its agent's record.
#[derive(Clone, Debug)]
pub(crate) struct UnreportedCall {
    pub row: CallRow,
    /// The agent's own id.
    pub native: String,
    /// Time of its start.
    pub opened: i64,
}

/// Returns the open calls below a root that may write and were opened after a time, session by session.
pub(crate) fn open_writing(
    conn: &Connection,
    root: RootId,
    opened: i64,
) -> Result<Vec<UnreportedCall>> {
    let sql = format!(
        "SELECT {COLUMNS}, native, opened FROM call INDEXED BY call_open
         WHERE closed IS NULL AND opened > ?1 AND root = ?2 AND effect > 0 ORDER BY session, id"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query(params![opened, root])?;
    read_all(conn, "call", rows, |r| {
        Ok(UnreportedCall {
            row: read(r)?,
            native: r.get(7)?,
            opened: r.get(8)?,
        })
    })
}

/// Returns the agent's own id of a call, and the time of its start.
pub(crate) fn name_and_start(conn: &Connection, id: CallId) -> Result<(String, i64)> {
    conn.prepare_cached("SELECT native, opened FROM call WHERE id = ?1")?
        .query_row([id], |r| Ok((r.get(0)?, r.get(1)?)))
        .in_row(conn, || format!("row {} of table call", id.0))
}

/// Returns the turn of a call, and the number of the event that ended it. None: it is open.
pub(crate) fn turn_and_end(conn: &Connection, id: CallId) -> Result<Option<(Option<TurnId>, i64)>> {
    Ok(conn
        .prepare_cached(
            "SELECT turn, closed_seq FROM call WHERE id = ?1 AND closed_seq IS NOT NULL",
        )?
        .query_row([id], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?)
}

/// Returns the input of a call as the agent wrote it. None: it had none.
pub(crate) fn input_of(conn: &Connection, id: CallId) -> Result<Option<ContentId>> {
    Ok(conn
        .prepare_cached("SELECT b.hash FROM call c JOIN blob b ON b.n = c.input WHERE c.id = ?1")?
        .query_row([id], |r| r.get(0))
        .optional()?)
}

/// A call to open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewCall<'a> {
    pub root: RootId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    pub native: &'a str,
    pub subagent: Option<&'a str>,
    pub tool: &'a str,
    pub effect: CallEffect,
    pub iteration: i64,
    /// Row number of its input in the table `blob`.
    pub input: Option<i64>,
    /// Number of its event.
    pub seq: i64,
}

pub(crate) fn insert(conn: &Connection, new: &NewCall<'_>) -> Result<CallId> {
    conn.prepare_cached(
        "INSERT INTO call (session, turn, native, subagent, tool, effect, iteration, input, opened, opened_seq, root)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
    )?
    .execute(params![
        new.session, new.turn, new.native, new.subagent, new.tool, new.effect, new.iteration, new.input, now(),
        new.seq, new.root
    ])?;
    Ok(CallId(conn.last_insert_rowid()))
}

/// Puts a call that may write anything into one group with the open calls of its session that may, too.
pub(crate) fn join_group(conn: &Connection, session: SessionId, call: CallId) -> Result<()> {
    let overlapping: Option<CallId> = conn
        .prepare_cached(
            "SELECT COALESCE(grp, id) FROM call WHERE session = ?1 AND closed IS NULL AND effect = 2
             AND id <> ?2 ORDER BY id DESC LIMIT 1",
        )?
        .query_row(params![session, call], |r| r.get(0))
        .optional()?;
    if let Some(group) = overlapping {
        conn.prepare_cached(
            "UPDATE call SET grp = ?1 WHERE id = ?2 OR (session = ?3 AND closed IS NULL AND effect = 2)",
        )?
        .execute(params![group, call, session])?;
    }
    Ok(())
}

pub(crate) fn close(conn: &Connection, call: CallId, seq: i64, outcome: ToolOutcome) -> Result<()> {
    conn.prepare_cached(
        "UPDATE call SET closed = ?2, closed_seq = ?3, outcome = ?4 WHERE id = ?1",
    )?
    .execute(params![call, now(), seq, outcome])?;
    Ok(())
}

/// Notes the exit status of a shell command.
pub(crate) fn set_exit(conn: &Connection, call: CallId, exit: i64) -> Result<()> {
    conn.prepare_cached("UPDATE call SET exit = ?2 WHERE id = ?1")?
        .execute(params![call, exit])?;
    Ok(())
}

/// Returns the calls that may have written anything below this root since event `seq`. Calls opened before `opened` count
/// as closed.
pub(crate) fn writers_since(
    conn: &Connection,
    root: RootId,
    seq: i64,
    opened: i64,
) -> Result<Vec<Writer>> {
    let mut select = conn.prepare_cached(
        "SELECT id, session FROM call INDEXED BY call_open
         WHERE closed IS NULL AND effect = 2 AND opened > ?2 AND root = ?3
         UNION SELECT id, session FROM call INDEXED BY call_closed
         WHERE effect > 0 AND closed_seq > ?1 AND effect = 2 AND root = ?3",
    )?;
    let rows = select.query(params![seq, opened, root])?;
    read_all(conn, "call", rows, read_writer)
}

/// True if a turn has calls.
pub(crate) fn any_of_turn(conn: &Connection, session: SessionId, turn: TurnId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM call WHERE session = ?1 AND turn = ?2")?
        .exists(params![session, turn])?)
}

/// True if a call is open that may write anything.
pub(crate) fn any_writes(conn: &Connection, root: RootId, opened: i64) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM call WHERE closed IS NULL AND effect = 2 AND opened > ?1 AND root = ?2",
        )?
        .exists(params![opened, root])?)
}

/// True if a call is open that may write, or a shell command runs in the background.
pub(crate) fn any_at_work(conn: &Connection, root: RootId, since: i64) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM call WHERE closed IS NULL AND effect > 0 AND opened > ?1 AND root = ?2
             UNION ALL SELECT 1 FROM session WHERE background > 0 AND seen > ?1 AND root = ?2 LIMIT 1",
        )?
        .exists(params![since, root])?)
}

/// Returns the open call that has reserved this path, if any.
pub(crate) fn reserving(
    conn: &Connection,
    root: RootId,
    path: &RelPath,
    opened: i64,
) -> Result<Option<Writer>> {
    Ok(conn
        .prepare_cached(
            "SELECT c.id, c.session FROM call c INDEXED BY call_open
             WHERE c.closed IS NULL AND c.opened > ?2 AND c.root = ?3
               AND EXISTS (SELECT 1 FROM reserved r WHERE r.call = c.id AND r.path = ?1)
             ORDER BY c.id LIMIT 1",
        )?
        .query_row(params![path, opened, root], read_writer)
        .optional()?)
}

/// Returns the sessions with other calls that may have written `path` while `call` was open.
pub(crate) fn concurrent_sessions(
    conn: &Connection,
    root: RootId,
    call: &CallRow,
    path: &RelPath,
    opened: i64,
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
    let rows = select.query(params![call.id, call.opened_seq, path, opened, root])?;
    read_all(conn, "call", rows, |r| r.get(0))
}

/// Returns the other calls that may have written `path` while `call` was open, those that name it first.
pub(crate) fn beside(
    conn: &Connection,
    root: RootId,
    call: &CallRow,
    path: &RelPath,
    opened: i64,
) -> Result<Vec<Writer>> {
    let mut select = conn.prepare_cached(
        "WITH beside AS (
           SELECT id, session, effect FROM call INDEXED BY call_open
           WHERE closed IS NULL AND opened > ?4 AND root = ?5
           UNION ALL SELECT id, session, effect FROM call INDEXED BY call_closed
           WHERE effect > 0 AND closed_seq > ?2 AND root = ?5)
         SELECT id, session FROM beside b WHERE id <> ?1
           AND (effect = 2 OR EXISTS (SELECT 1 FROM reserved r WHERE r.call = b.id AND r.path = ?3))
         ORDER BY effect, id",
    )?;
    let rows = select.query(params![call.id, call.opened_seq, path, opened, root])?;
    read_all(conn, "call", rows, read_writer)
}

/// Returns the directories, except one, in which calls of a session are open.
pub(crate) fn open_roots(
    conn: &Connection,
    (agent, native): (&str, &str),
    except: RootId,
) -> Result<Vec<RootId>> {
    let mut select = conn.prepare_cached(
        "SELECT DISTINCT c.root FROM session s JOIN call c ON c.session = s.id
         WHERE s.agent = ?1 AND s.native = ?2 AND c.closed IS NULL AND c.root <> ?3",
    )?;
    let rows = select.query(params![agent, native, except])?;
    read_all(conn, "call", rows, |r| r.get(0))
}

pub(crate) fn count(conn: &Connection) -> Result<i64> {
    Ok(conn.query_row("SELECT COUNT(*) FROM call", [], |r| r.get(0))?)
}

/// Counts the calls of a turn.
pub(crate) fn count_of_turn(conn: &Connection, turn: TurnId) -> Result<u64> {
    Ok(conn
        .prepare_cached("SELECT COUNT(*) FROM call WHERE turn = ?1")?
        .query_row([turn], |r| r.get(0))?)
}

/// Counts the open calls that were opened after a time.
pub(crate) fn count_open(conn: &Connection, opened: i64) -> Result<i64> {
    Ok(conn.query_row(
        "SELECT COUNT(*) FROM call WHERE closed IS NULL AND opened > ?1",
        [opened],
        |r| r.get(0),
    )?)
}

/// Counts the open calls below a root that may write and were opened after a time.
pub(crate) fn count_writing(conn: &Connection, root: RootId, opened: i64) -> Result<usize> {
    Ok(conn.query_row(
        "SELECT COUNT(*) FROM call WHERE closed IS NULL AND opened > ?1 AND root = ?2 AND effect > 0",
        params![opened, root],
        |r| r.get(0),
    )?)
}

/// Reads every row. Returns the errors of damaged ones.
pub(crate) fn damaged(conn: &Connection) -> Result<Vec<Error>> {
    let mut select = conn.prepare(&format!("SELECT {COLUMNS} FROM call ORDER BY id"))?;
    let mut rows = select.query([])?;
    let mut damaged = Vec::new();
    while let Some(r) = rows.next()? {
        let id: i64 = r.get(0)?;
        let row = read(r).in_row(conn, || format!("row {id} of table call"));
        damaged.extend(row.err());
    }
    Ok(damaged)
}

/// Returns the row numbers of all inputs in the table `blob`.
pub(crate) fn inputs(conn: &Connection) -> Result<HashSet<i64>> {
    let mut select = conn.prepare_cached("SELECT input FROM call WHERE input IS NOT NULL")?;
    let rows = select.query([])?;
    read_all(conn, "call", rows, |r| r.get(0))
}

/// Returns the contents of all inputs, with the tools.
pub(crate) fn input_contents(conn: &Connection) -> Result<Vec<(ContentId, String)>> {
    let mut select = conn
        .prepare("SELECT b.hash, c.tool FROM call c JOIN blob b ON b.n = c.input ORDER BY c.id")?;
    let rows = select.query([])?;
    read_all(conn, "call", rows, |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Returns the nodes of open calls, and those at which their turns start.
pub(crate) fn nodes_of_open(conn: &Connection, opened: i64) -> Result<HashSet<NodeId>> {
    let mut select = conn.prepare_cached(
        "SELECT t.node FROM call c JOIN turn t ON t.id = c.turn
           WHERE c.closed IS NULL AND c.opened > ?1
         UNION SELECT n.id FROM node n JOIN call c ON c.id = n.call
           WHERE c.closed IS NULL AND c.opened > ?1",
    )?;
    let rows = select.query([opened])?;
    read_all(conn, "call", rows, |r| r.get(0))
}

/// Lists the calls of squashed nodes, and the calls of squashed turns that no node or change names.
pub(crate) fn list_squashed(conn: &Connection) -> Result<()> {
    let into = IdList::SquashedCalls.table();
    conn.execute_batch(&format!(
        "INSERT INTO {into} SELECT call FROM main.node WHERE id IN {} AND call IS NOT NULL
           UNION SELECT id FROM main.call WHERE turn IN {}
             AND id NOT IN (SELECT call FROM main.node WHERE call IS NOT NULL)
             AND id NOT IN (SELECT call FROM main.change WHERE call IS NOT NULL);",
        IdList::SquashedNodes.ids(),
        IdList::SquashedTurns.ids(),
    ))?;
    Ok(())
}

/// Lists the calls without a turn, closed before a time, that nothing names.
pub(crate) fn list_stray(conn: &Connection, closed: i64) -> Result<()> {
    let into = IdList::StrayCalls.table();
    let sql = format!(
        "INSERT INTO {into} SELECT id FROM main.call WHERE closed < ?1 AND turn IS NULL
           AND id NOT IN (SELECT call FROM main.node WHERE call IS NOT NULL)
           AND id NOT IN (SELECT call FROM main.change WHERE call IS NOT NULL)
           AND id NOT IN (SELECT grp FROM main.call WHERE grp IS NOT NULL)"
    );
    conn.execute(&sql, [closed])?;
    Ok(())
}

/// True if a listed call is open and was opened after a time.
pub(crate) fn any_open(conn: &Connection, calls: IdList, opened: i64) -> Result<bool> {
    let sql = format!(
        "SELECT 1 FROM main.call WHERE closed IS NULL AND opened > ?1 AND id IN {}",
        calls.ids()
    );
    Ok(conn.prepare_cached(&sql)?.exists([opened])?)
}

/// Removes these calls from the groups that they lead.
pub(crate) fn dissolve_groups(conn: &Connection, calls: IdList) -> Result<()> {
    let sql = format!("UPDATE call SET grp = NULL WHERE grp IN {}", calls.ids());
    conn.execute(&sql, [])?;
    Ok(())
}

/// Keeps the calls of these turns without their turn.
pub(crate) fn detach_turns(conn: &Connection, turns: IdList) -> Result<()> {
    let sql = format!("UPDATE call SET turn = NULL WHERE turn IN {}", turns.ids());
    conn.execute(&sql, [])?;
    Ok(())
}

pub(crate) fn delete(conn: &Connection, calls: IdList) -> Result<()> {
    let sql = format!("DELETE FROM call WHERE id IN {}", calls.ids());
    conn.execute(&sql, [])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements above have these values as literals: an index with a condition is used for literals only.
    #[test]
    fn literals_in_statements_are_the_values_of_the_enums() {
        assert_eq!(CallEffect::Any.stored(), 2, "effect = 2");
        assert_eq!(CallEffect::Reads.stored(), 0, "effect > 0");
        assert_eq!(ToolOutcome::Failed.stored(), 1, "outcome IS 1");
        assert!(CallEffect::Names.stored() > 0, "effect > 0");
    }

    #[test]
    fn a_damaged_effect_is_an_error_that_names_the_row() {
        let conn = crate::store::migrate::in_memory();
        conn.execute_batch(
            "INSERT INTO root (id, path) VALUES (1, x'2f61');
             INSERT INTO session (id, agent, native, started, seen, root) VALUES (1, 'a', 's', 0, 0, 1);
             INSERT INTO call (id, session, native, tool, effect, iteration, opened, opened_seq, root)
               VALUES (5, 1, 'x', 'Bash', 7, 1, 0, 0, 1);",
        )
        .expect("rows");
        let open = open_of(&conn, RootId(1), SessionId(1), Threads::All);
        let said = open.expect_err("damage").to_string();
        assert!(
            said.ends_with("row 5 of table call is damaged: `7` is no effect of a call"),
            "{said}"
        );
        let said = by_native(&conn, SessionId(1), "x").expect_err("damage");
        assert!(said.to_string().contains("row `x` of table call"), "{said}");
    }

    /// A file's time is that of the last tick. A call counts that was opened in the tick after it, and also one that ended there.
    #[test]
    fn a_call_ran_at_the_time_of_a_file() {
        const TICK: i64 = 10_000;
        let conn = crate::store::migrate::in_memory();
        conn.execute_batch(
            "INSERT INTO root (id, path) VALUES (1, x'2f61');
             INSERT INTO session (id, agent, native, started, seen, root) VALUES (1, 'a', 's', 0, 0, 1);
             INSERT INTO call (id, session, native, tool, effect, iteration, opened, opened_seq, closed, closed_seq, root)
               VALUES (1, 1, 'x', 'First', 2, 1, 500000, 0, 600000, 1, 1),
                      (2, 1, 'y', 'Short', 2, 1, 700000, 2, 703000, 3, 1),
                      (3, 1, 'z', 'Reads', 0, 1, 800000, 4, 900000, 5, 1);",
        )
        .expect("rows");
        for (time, tool) in [
            (489_999, None),
            (490_000, Some("First")),
            (600_000, Some("First")),
            (600_001, None),
            (695_000, Some("Short")),
            (703_000, Some("Short")),
            (703_001, None),
            (850_000, None),
        ] {
            let found = at(&conn, time, TICK).expect("rows");
            assert_eq!(found.map(|(_, tool, _)| tool).as_deref(), tool, "{time}");
        }
    }
}
