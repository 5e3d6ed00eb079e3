//! Table `reserved`: the paths that a call names, with their images before it.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::damage::InRow;
use super::id_list::IdList;
use crate::error::Result;
use crate::model::{CallId, Image, RelPath};

/// State of a path at the "before" event of its call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserved {
    pub image: Image,
    /// Number of missing directories above the path.
    pub made_dirs: u32,
}

pub(crate) fn insert(
    conn: &Connection,
    call: CallId,
    path: &RelPath,
    reserved: Reserved,
) -> Result<()> {
    conn.prepare_cached(
        "INSERT OR IGNORE INTO reserved (call, path, image, made_dirs) VALUES (?1,?2,?3,?4)",
    )?
    .execute(params![call, path, reserved.image, reserved.made_dirs])?;
    Ok(())
}

/// Removes a path from those of a call.
pub(crate) fn release(conn: &Connection, call: CallId, path: &RelPath) -> Result<()> {
    conn.prepare_cached("DELETE FROM reserved WHERE call = ?1 AND path = ?2")?
        .execute(params![call, path])?;
    Ok(())
}

/// Returns the paths of a call.
pub(crate) fn of_call(conn: &Connection, call: CallId) -> Result<BTreeMap<RelPath, Reserved>> {
    let mut select =
        conn.prepare_cached("SELECT path, image, made_dirs FROM reserved WHERE call = ?1")?;
    let rows = select.query_map([call], |r| {
        let reserved = Reserved {
            image: r.get(1)?,
            made_dirs: r.get(2)?,
        };
        Ok((r.get(0)?, reserved))
    })?;
    rows.collect::<rusqlite::Result<_>>().in_row(conn, || {
        format!("a row of call {} in table reserved", call.0)
    })
}

/// True if any path is reserved by a call, open or closed.
pub(crate) fn any(conn: &Connection) -> Result<bool> {
    Ok(conn.prepare_cached("SELECT 1 FROM reserved")?.exists([])?)
}

/// Passes on the images of all rows.
pub(crate) fn images(conn: &Connection, take: &mut dyn FnMut(Image)) -> Result<()> {
    let mut select = conn.prepare_cached("SELECT image FROM reserved")?;
    let images = select.query_map([], |r| r.get(0))?;
    for image in images {
        take(image.in_row(conn, || "a row of table reserved".to_owned())?);
    }
    Ok(())
}

/// Deletes the paths of calls that were closed before `time`.
pub(crate) fn delete_closed(conn: &Connection, time: i64) -> Result<()> {
    conn.execute(
        "DELETE FROM reserved WHERE call IN (SELECT id FROM call WHERE closed < ?1)",
        [time],
    )?;
    Ok(())
}

pub(crate) fn delete(conn: &Connection, calls: IdList) -> Result<()> {
    let sql = format!("DELETE FROM reserved WHERE call IN {}", calls.ids());
    conn.execute(&sql, [])?;
    Ok(())
}
