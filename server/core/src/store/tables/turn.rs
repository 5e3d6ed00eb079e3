//! Tables `turn` and `prompt`: the prompts of sessions, and the agents' own ids of them. A synthetic prompt has an id that
//! leads to the turn which it continues.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::conversation;
use super::damage::{InRow, read_all};
use super::id_list::IdList;
use crate::error::Result;
use crate::model::{NodeId, SessionId, Turn, TurnId};
use crate::store::now;

pub(crate) fn row(conn: &Connection, id: TurnId) -> Result<Turn> {
    let read = |r: &Row<'_>| {
        Ok(Turn {
            id: r.get(0)?,
            number: r.get(1)?,
            session: r.get(2)?,
            prompt: r.get(3)?,
            node: r.get(4)?,
        })
    };
    conn.prepare_cached("SELECT id, number, session, prompt, node FROM turn WHERE id = ?1")?
        .query_row([id], read)
        .in_row(conn, || format!("row {} of table turn", id.0))
}

/// Returns the time of a turn's prompt, in microseconds since 1970.
pub(crate) fn started(conn: &Connection, id: TurnId) -> Result<i64> {
    conn.prepare_cached("SELECT started FROM turn WHERE id = ?1")?
        .query_row([id], |r| r.get(0))
        .in_row(conn, || format!("row {} of table turn", id.0))
}

/// Adds a turn with the next free number.
pub(crate) fn insert(
    conn: &Connection,
    session: SessionId,
    prompt: &str,
    node: NodeId,
) -> Result<TurnId> {
    conn.prepare_cached(
        "INSERT INTO turn (number, session, prompt, node, started) VALUES (?1,?2,?3,?4,?5)",
    )?
    .execute(params![
        newest_number(conn)? + 1,
        session,
        prompt,
        node,
        now()
    ])?;
    Ok(TurnId(conn.last_insert_rowid()))
}

/// Returns the highest number; 0: there is no turn.
pub(crate) fn newest_number(conn: &Connection) -> Result<i64> {
    Ok(conn
        .prepare_cached("SELECT COALESCE(MAX(number), 0) FROM turn")?
        .query_row([], |r| r.get(0))?)
}

pub(crate) fn newest_of(conn: &Connection, session: SessionId) -> Result<Option<TurnId>> {
    Ok(conn
        .prepare_cached("SELECT id FROM turn WHERE session = ?1 ORDER BY id DESC LIMIT 1")?
        .query_row([session], |r| r.get(0))
        .optional()?)
}

/// Sets the prompt of a session's newest turn, if it has none.
pub(crate) fn set_missing_prompt(
    conn: &Connection,
    session: SessionId,
    prompt: &str,
) -> Result<()> {
    conn.prepare_cached(
        "UPDATE turn SET prompt = ?2
         WHERE prompt = '' AND id = (SELECT MAX(id) FROM turn WHERE session = ?1)",
    )?
    .execute(params![session, prompt])?;
    Ok(())
}

/// Finds the turn that the agent names with this id.
pub(crate) fn of_prompt(
    conn: &Connection,
    session: SessionId,
    native: &str,
) -> Result<Option<TurnId>> {
    Ok(conn
        .prepare_cached("SELECT turn FROM prompt WHERE session = ?1 AND native = ?2")?
        .query_row(params![session, native], |r| r.get(0))
        .optional()?)
}

/// True if the agent has named this turn with an id.
pub(crate) fn has_prompt_id(conn: &Connection, session: SessionId, turn: TurnId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM prompt WHERE session = ?1 AND turn = ?2")?
        .exists(params![session, turn])?)
}

/// Records that the agent names this turn with this id. The first record of an id counts.
pub(crate) fn name(
    conn: &Connection,
    session: SessionId,
    native: &str,
    turn: TurnId,
) -> Result<()> {
    conn.prepare_cached("INSERT OR IGNORE INTO prompt (session, native, turn) VALUES (?1,?2,?3)")?
        .execute(params![session, native, turn])?;
    Ok(())
}

/// Returns the node at which the turn with this number starts.
pub(crate) fn start_of(conn: &Connection, number: i64) -> Result<Option<NodeId>> {
    Ok(conn
        .prepare_cached("SELECT node FROM turn WHERE number = ?1")?
        .query_row([number], |r| r.get(0))
        .optional()?)
}

/// True if this node belongs to the turn with this number.
pub(crate) fn has_node(conn: &Connection, number: i64, node: NodeId) -> Result<bool> {
    let sql = "SELECT 1 FROM node n JOIN turn t ON t.id = n.turn WHERE n.id = ?1 AND t.number = ?2";
    Ok(conn.prepare_cached(sql)?.exists(params![node, number])?)
}

/// Returns the number of the newest turn after `node` whose start is wanted.
pub(crate) fn newest_after(
    conn: &Connection,
    node: NodeId,
    mut is_wanted: impl FnMut(NodeId) -> Result<bool>,
) -> Result<Option<i64>> {
    let mut select =
        conn.prepare_cached("SELECT number, node FROM turn WHERE node > ?1 ORDER BY number DESC")?;
    let mut rows = select.query([node])?;
    while let Some(row) = rows.next()? {
        if is_wanted(row.get(1)?)? {
            return Ok(Some(row.get(0)?));
        }
    }
    Ok(None)
}

/// Returns the starts of the newest turn of all, and of the newest turn of each session with an event after `seen`.
pub(crate) fn current_starts(conn: &Connection, seen: i64) -> Result<HashSet<NodeId>> {
    let mut select = conn.prepare_cached(
        "SELECT node FROM turn WHERE number = (SELECT MAX(number) FROM turn)
         UNION SELECT node FROM turn WHERE id IN (SELECT MAX(t.id) FROM turn t
           JOIN session s ON s.id = t.session WHERE s.seen > ?1 GROUP BY t.session)",
    )?;
    let rows = select.query([seen])?;
    read_all(conn, "turn", rows, |r| r.get(0))
}

pub(crate) fn count(conn: &Connection) -> Result<i64> {
    Ok(conn.query_row("SELECT COUNT(*) FROM turn", [], |r| r.get(0))?)
}

pub(crate) fn delete(conn: &Connection, turns: IdList) -> Result<()> {
    let ids = turns.ids();
    conversation::delete_of_turns(conn, &ids)?;
    conn.execute(&format!("DELETE FROM prompt WHERE turn IN {ids}"), [])?;
    conn.execute(&format!("DELETE FROM turn WHERE id IN {ids}"), [])?;
    Ok(())
}
/// Lists the turns of squashed nodes.
pub(crate) fn list_squashed(conn: &Connection) -> Result<()> {
    conn.execute_batch(&format!(
        "INSERT INTO {} SELECT DISTINCT turn FROM main.node WHERE id IN {} AND turn IS NOT NULL",
        IdList::SquashedTurns.table(),
        IdList::SquashedNodes.ids(),
    ))?;
    Ok(())
}
