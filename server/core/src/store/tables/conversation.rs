//! Table `conversation`: new sessions of agents, which end before a turn of an older one.

use rusqlite::{Connection, Row, params};

use super::damage::stored_as;
use super::query::Table;
use crate::error::Result;
use crate::model::{BranchId, ConversationId, NodeId, OpId, SessionId, TurnId};
use crate::store::now;

const CONVERSATION: Table = Table("conversation");

/// Columns of a row, as `read` takes them.
const COLUMNS: &str =
    "id, turn, how, native, place, hash, command, process, operation, used, branch, summary";

/// The command that asked for a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversationHow {
    Rewind,
    Fork,
    /// All before the turn, then a summary of the rest.
    SummaryOfRest,
    /// A summary of all before the turn, then the turn and the rest.
    SummaryOfStart,
}

stored_as!(ConversationHow as i64, "way of a conversation", {
    Rewind = 0,
    Fork = 1,
    SummaryOfRest = 2,
    SummaryOfStart = 3,
});

/// A conversation that is about to be made.
#[derive(Clone, Debug)]
pub struct ConversationNote<'a> {
    /// It ends before this turn.
    pub turn: TurnId,
    pub how: ConversationHow,
    /// The agent's id of the new session. None: the agent gives it one.
    pub native: Option<&'a str>,
    /// Path of its file, and the hash of the bytes. None: the agent keeps it.
    pub file: Option<(&'a [u8], &'a [u8])>,
    /// JSON: the command line that opens it.
    pub command: &'a str,
    /// The process that makes it.
    pub process: &'a str,
    /// The text in place of a part.
    pub summary: Option<&'a str>,
}

/// A conversation.
#[derive(Clone, Debug)]
pub struct Conversation {
    pub id: ConversationId,
    pub turn: TurnId,
    pub how: ConversationHow,
    pub native: Option<String>,
    /// Path of its file.
    pub place: Option<Vec<u8>>,
    /// Hash of the file as it was written.
    pub hash: Option<Vec<u8>>,
    /// JSON: the command line that opens it.
    pub command: String,
    /// The process that makes it. None: it is made.
    pub process: Option<String>,
    /// The restore of the files that belongs to it.
    pub operation: Option<OpId>,
    /// The time of its first event, in microseconds since 1970.
    pub used: Option<i64>,
    /// The branch that was created with it.
    pub branch: Option<BranchId>,
    /// The text in place of a part.
    pub summary: Option<String>,
}

pub(crate) fn insert(conn: &Connection, new: &ConversationNote<'_>) -> Result<ConversationId> {
    let (place, hash) = new.file.unzip();
    conn.prepare_cached(
        "INSERT INTO conversation (turn, how, native, place, hash, command, process, created, summary)
           VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    )?
    .execute(params![
        new.turn,
        new.how,
        new.native,
        place,
        hash,
        new.command,
        new.process,
        now(),
        new.summary
    ])?;
    Ok(ConversationId(conn.last_insert_rowid()))
}

/// Keeps what the agent has said about a conversation that it made itself.
pub(crate) fn set_made(
    conn: &Connection,
    id: ConversationId,
    native: Option<&str>,
    command: &str,
) -> Result<()> {
    conn.prepare_cached("UPDATE conversation SET native = ?2, command = ?3 WHERE id = ?1")?
        .execute(params![id, native, command])?;
    Ok(())
}

/// The conversation is whole from now on, with the restore that belongs to it.
pub(crate) fn finish(conn: &Connection, id: ConversationId, operation: Option<OpId>) -> Result<()> {
    conn.prepare_cached(
        "UPDATE conversation SET process = NULL, operation = COALESCE(?2, operation) WHERE id = ?1",
    )?
    .execute(params![id, operation])?;
    Ok(())
}

/// The conversation is whole from now on, with the branch that was created with it.
pub(crate) fn join_branch(conn: &Connection, id: ConversationId, branch: BranchId) -> Result<()> {
    conn.prepare_cached("UPDATE conversation SET process = NULL, branch = ?2 WHERE id = ?1")?
        .execute(params![id, branch])?;
    Ok(())
}

pub(crate) fn delete(conn: &Connection, id: ConversationId) -> Result<()> {
    conn.prepare_cached("DELETE FROM conversation WHERE id = ?1")?
        .execute([id])?;
    Ok(())
}

/// Removes the conversations of turns that go.
pub(crate) fn delete_of_turns(conn: &Connection, turns: &str) -> Result<()> {
    conn.execute(
        &format!("DELETE FROM conversation WHERE turn IN {turns}"),
        [],
    )?;
    Ok(())
}

/// Conversations stay where the operations that belong to them go.
pub(crate) fn forget_operations(conn: &Connection, operations: &str) -> Result<()> {
    conn.execute(
        &format!("UPDATE conversation SET operation = NULL WHERE operation IN {operations}"),
        [],
    )?;
    Ok(())
}

/// The first event of a session has come.
pub(crate) fn set_used(conn: &Connection, native: &str) -> Result<()> {
    conn.prepare_cached("UPDATE conversation SET used = ?2 WHERE native = ?1 AND used IS NULL")?
        .execute(params![native, now()])?;
    Ok(())
}

pub(crate) fn row(conn: &Connection, id: ConversationId) -> Result<Option<Conversation>> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE id = ?1");
    let found: Vec<Conversation> = CONVERSATION.all(conn, &sql, [id], read)?;
    Ok(found.into_iter().next())
}

/// Returns all conversations that are made, the newest first.
pub(crate) fn made(conn: &Connection) -> Result<Vec<Conversation>> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE process IS NULL ORDER BY id DESC");
    CONVERSATION.all(conn, &sql, [], read)
}

/// Returns those whose process has not said that they are made.
pub(crate) fn begun(conn: &Connection) -> Result<Vec<Conversation>> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE process IS NOT NULL ORDER BY id");
    CONVERSATION.all(conn, &sql, [], read)
}

/// Returns those without an event whose restore has this state.
pub(crate) fn unused_in(conn: &Connection, state: &str) -> Result<Vec<Conversation>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM conversation WHERE used IS NULL
           AND operation IN (SELECT id FROM operation WHERE state = ?1)"
    );
    CONVERSATION.all(conn, &sql, [state], read)
}

/// Returns the turn that begins at a node.
pub(crate) fn turn_at(conn: &Connection, node: NodeId) -> Result<Option<TurnId>> {
    let sql = "SELECT id FROM turn WHERE node = ?1 ORDER BY id DESC LIMIT 1";
    let found: Vec<TurnId> = Table("turn").column(conn, sql, [node])?;
    Ok(found.first().copied())
}

/// Returns the turns of a session, the first one first.
pub(crate) fn turns_of(conn: &Connection, session: SessionId) -> Result<Vec<TurnId>> {
    let sql = "SELECT id FROM turn WHERE session = ?1 ORDER BY id";
    Table("turn").column(conn, sql, [session])
}

/// Returns the agent's own ids of a turn.
pub(crate) fn natives_of(conn: &Connection, turn: TurnId) -> Result<Vec<String>> {
    let sql = "SELECT native FROM prompt WHERE turn = ?1";
    Table("prompt").column(conn, sql, [turn])
}

fn read(row: &Row<'_>) -> rusqlite::Result<Conversation> {
    Ok(Conversation {
        id: row.get(0)?,
        turn: row.get(1)?,
        how: row.get(2)?,
        native: row.get(3)?,
        place: row.get(4)?,
        hash: row.get(5)?,
        command: row.get(6)?,
        process: row.get(7)?,
        operation: row.get(8)?,
        used: row.get(9)?,
        branch: row.get(10)?,
        summary: row.get(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session whose restore was rolled back is found, unless somebody has opened it.
    #[test]
    fn sessions_of_restores_that_were_rolled_back() {
        let conn = crate::store::migrate::in_memory();
        conn.execute_batch(
            "PRAGMA foreign_keys=OFF;
             INSERT INTO operation (id, root, branch, kind, target, state, time)
               VALUES (1, 1, 1, 'rewind', '', 'rolled back', 0), (2, 1, 1, 'rewind', '', 'done', 0);
             INSERT INTO conversation (id, turn, how, command, operation, created, used)
               VALUES (1, 1, 0, '{}', 1, 0, NULL), (2, 1, 0, '{}', 2, 0, NULL), (3, 1, 0, '{}', 1, 0, 5);",
        )
        .expect("rows");
        let found = unused_in(&conn, "rolled back").expect("rows");
        let ids: Vec<i64> = found.iter().map(|row| row.id.0).collect();
        assert_eq!(ids, [1]);
    }
}
