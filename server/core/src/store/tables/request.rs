//! Table `request`: restores that one process asks the server of an editor to carry out. The requesting process can
//! withdraw a request until the work begins.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::damage::{InRow, read_all, stored_as};
use crate::error::Result;
use crate::model::EditorId;
use crate::store::{now, to_json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestState {
    Waiting,
    Taken,
    Running,
    Answered,
    Withdrawn,
}
stored_as!(RequestState as text, "state of a request", {
    Waiting = "waiting",
    Taken = "taken",
    Running = "running",
    Answered = "answered",
    Withdrawn = "withdrawn",
});

/// The only kind of request so far.
const KIND: &str = "restore";

/// A request that waits for its editor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRequest<'a, A> {
    pub editor: EditorId,
    pub args: &'a A,
    /// Fingerprint of the plan as far as it is about files.
    pub fingerprint: &'a str,
    /// Microseconds since 1970.
    pub expires: i64,
}

pub(crate) fn insert<A: Serialize>(conn: &Connection, new: &NewRequest<'_, A>) -> Result<i64> {
    conn.execute(
        "INSERT INTO request (editor, kind, args, fingerprint, made, expires, state)
         VALUES (?1,?2,?3,?4,?5,?6,?7)",
        params![
            new.editor,
            KIND,
            to_json(new.args)?,
            new.fingerprint,
            now(),
            new.expires,
            RequestState::Waiting
        ],
    )?;
    Ok(conn.last_insert_rowid())
}

/// True if any request waits for this editor.
pub(crate) fn any_waiting(conn: &Connection, editor: EditorId) -> Result<bool> {
    // a literal, for the index `request_editor`
    Ok(conn
        .prepare_cached("SELECT 1 FROM request WHERE editor = ?1 AND state = 'waiting'")?
        .exists([editor])?)
}

/// A request that its editor takes.
#[derive(Clone, Debug)]
pub(crate) struct TakenRequest {
    pub id: i64,
    /// JSON.
    pub args: String,
    pub fingerprint: String,
}

/// Takes the waiting requests of an editor, oldest first, and withdraws those that have expired.
pub(crate) fn take(conn: &Connection, editor: EditorId) -> Result<Vec<TakenRequest>> {
    let mut select = conn.prepare_cached(
        "UPDATE request SET state = CASE WHEN expires > ?2 THEN ?3 ELSE ?4 END
         WHERE editor = ?1 AND state = 'waiting' RETURNING id, args, fingerprint, state",
    )?;
    let rows = select.query(params![
        editor,
        now(),
        RequestState::Taken,
        RequestState::Withdrawn
    ])?;
    let read = |r: &Row<'_>| {
        let request = TakenRequest {
            id: r.get(0)?,
            args: r.get(1)?,
            fingerprint: r.get(2)?,
        };
        Ok((request, r.get(3)?))
    };
    let rows: Vec<(TakenRequest, RequestState)> = read_all(conn, "request", rows, read)?;
    let is_taken = |(request, state)| (state == RequestState::Taken).then_some(request);
    let mut taken: Vec<TakenRequest> = rows.into_iter().filter_map(is_taken).collect();
    taken.sort_by_key(|request| request.id);
    Ok(taken)
}

/// Marks a taken request as running. Returns false if it is no longer there.
pub(crate) fn run(conn: &Connection, id: i64) -> Result<bool> {
    let changed = conn.execute(
        "UPDATE request SET state = ?2 WHERE id = ?1 AND state = ?3",
        params![id, RequestState::Running, RequestState::Taken],
    )?;
    Ok(changed > 0)
}

/// Answers a request. Returns false if nobody waits for the answer any longer.
pub(crate) fn answer(conn: &Connection, id: i64, answer: &impl Serialize) -> Result<bool> {
    let answer = to_json(answer)?;
    let changed = conn.execute(
        "UPDATE request SET state = ?3, answer = ?2 WHERE id = ?1 AND state IN (?4, ?5)",
        params![
            id,
            answer,
            RequestState::Answered,
            RequestState::Taken,
            RequestState::Running
        ],
    )?;
    Ok(changed > 0)
}

/// Progress of a request, for the requesting process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestProgress {
    pub state: RequestState,
    /// JSON.
    pub answer: Option<String>,
}

/// Returns the state of a request and its answer; None: there is no such request.
pub(crate) fn progress(conn: &Connection, id: i64) -> Result<Option<RequestProgress>> {
    let read = |r: &Row<'_>| {
        Ok(RequestProgress {
            state: r.get(0)?,
            answer: r.get(1)?,
        })
    };
    conn.prepare_cached("SELECT state, answer FROM request WHERE id = ?1")?
        .query_row([id], read)
        .optional()
        .in_row(conn, || format!("row {id} of table request"))
}

/// Deletes a request that is not running. Returns false if it is running or answered, or is not there.
pub(crate) fn withdraw(conn: &Connection, id: i64) -> Result<bool> {
    let deleted = conn.execute(
        "DELETE FROM request WHERE id = ?1 AND state IN (?2, ?3, ?4)",
        params![
            id,
            RequestState::Waiting,
            RequestState::Taken,
            RequestState::Withdrawn
        ],
    )?;
    Ok(deleted > 0)
}

pub(crate) fn delete(conn: &Connection, id: i64) -> Result<()> {
    conn.execute("DELETE FROM request WHERE id = ?1", [id])?;
    Ok(())
}

pub(crate) fn delete_of(conn: &Connection, editor: EditorId) -> Result<()> {
    conn.execute("DELETE FROM request WHERE editor = ?1", [editor])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting() -> (Connection, i64) {
        let conn = crate::store::migrate::in_memory();
        conn.execute_batch("PRAGMA foreign_keys=OFF").expect("off");
        let new = NewRequest {
            editor: EditorId(1),
            args: &["a"],
            fingerprint: "f",
            expires: i64::MAX,
        };
        let id = insert(&conn, &new).expect("a request");
        (conn, id)
    }

    /// The index `request_editor` is used only for a literal.
    #[test]
    fn the_literal_of_a_waiting_request_is_the_value_of_the_enum() {
        assert_eq!(RequestState::Waiting.stored(), "waiting");
    }

    #[test]
    fn a_request_is_taken_once_and_answered_once() {
        let (conn, id) = waiting();
        assert!(any_waiting(&conn, EditorId(1)).expect("read"));
        let taken = take(&conn, EditorId(1)).expect("taken");
        assert_eq!(taken[0].args, r#"["a"]"#);
        assert!(take(&conn, EditorId(1)).expect("taken").is_empty());
        assert!(run(&conn, id).expect("run"));
        assert!(!withdraw(&conn, id).expect("withdrawn"));
        assert!(answer(&conn, id, &7).expect("answered"));
        assert!(!answer(&conn, id, &8).expect("answered"));
        let answered = RequestProgress {
            state: RequestState::Answered,
            answer: Some("7".to_owned()),
        };
        assert_eq!(progress(&conn, id).expect("read"), Some(answered));
    }

    #[test]
    fn damage_is_an_error_that_names_the_row() {
        let (conn, id) = waiting();
        conn.execute("UPDATE request SET state = 'lost'", [])
            .expect("a row");
        let said = progress(&conn, id).expect_err("damage").to_string();
        assert!(
            said.ends_with("row 1 of table request is damaged: `lost` is no state of a request"),
            "{said}"
        );
    }
}
