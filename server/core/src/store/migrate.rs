//! The schema's versions: numbered, only appended, never edited.

use std::path::Path;

use rusqlite::Connection;

use crate::error::{Error, Result};

/// "bkst"
const APPLICATION_ID: i64 = 0x626b_7374;
const STEPS: [&str; 1] = [include_str!("schema/001.sql")];

/// Brings the database to this version's schema; refuses a newer one and what is none of ours.
pub(crate) fn run(conn: &Connection, path: &Path) -> Result<()> {
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    let facts = |conn: &Connection| -> rusqlite::Result<(i64, i64)> {
        Ok((
            conn.query_row("PRAGMA application_id", [], |r| r.get(0))?,
            conn.query_row("PRAGMA user_version", [], |r| r.get(0))?,
        ))
    };
    let check = |(application, version): (i64, i64)| -> Result<i64> {
        if version > known {
            return Err(Error::TooNew {
                path: path.into(),
                found: version,
                known,
            });
        }
        if application != APPLICATION_ID && (application != 0 || version != 0) {
            return Err(Error::Damaged {
                path: path.into(),
                reason: "not a Backstitch store".into(),
            });
        }
        Ok(version)
    };
    let damaged = |e: rusqlite::Error| match e.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
            Error::Damaged {
                path: path.into(),
                reason: e.to_string(),
            }
        }
        _ => Error::Sqlite(e),
    };
    if check(facts(conn).map_err(damaged)?)? == known {
        return Ok(());
    }
    // two that switch to WAL at once lock each other out, and no busy timeout helps
    let dir = path.parent().unwrap_or(Path::new("."));
    let _lock = super::lock(&dir.join("migrate.lock"), true, super::BUSY)?;
    if check(facts(conn).map_err(damaged)?)? == known {
        return Ok(());
    }
    // WAL before the first table; where it is not to be had SQLite stays with its rollback journal
    conn.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
    conn.execute_batch("PRAGMA synchronous=FULL; BEGIN IMMEDIATE")?;
    let steps = || -> Result<()> {
        // another process may have been first
        let version = usize::try_from(check(facts(conn)?)?).unwrap_or(0);
        for (at, step) in STEPS.iter().enumerate().skip(version) {
            conn.execute_batch(step)?;
            conn.execute_batch(&format!("PRAGMA user_version={}", at + 1))?;
            crate::fault::point("migrated");
        }
        conn.execute_batch(&format!("PRAGMA application_id={APPLICATION_ID}"))?;
        Ok(())
    };
    match steps() {
        Ok(()) => Ok(conn.execute_batch("COMMIT")?),
        Err(e) => {
            conn.execute_batch("ROLLBACK").ok();
            Err(e)
        }
    }
}
