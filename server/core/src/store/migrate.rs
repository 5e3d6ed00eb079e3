//! Schema migrations: numbered, only appended, never edited.

use std::path::Path;

use rusqlite::Connection;

use crate::error::{Error, Result};
use std::time::Duration;

/// The schema of a database: its steps, and the marks by which it is known.
#[derive(Debug)]
pub struct Schema {
    pub application_id: i64,
    pub steps: &'static [&'static str],
    /// Name of such a database, in errors.
    pub name: &'static str,
    /// File beside the database that is locked while it is migrated.
    pub lock: &'static str,
}

/// "bkst"
const APPLICATION_ID: i64 = 0x626b_7374;
/// The schema of a store.
pub(crate) const STORE: Schema = Schema {
    application_id: APPLICATION_ID,
    steps: &STEPS,
    name: "a Backstitch store",
    lock: "migrate.lock",
};
const STEPS: [&str; 20] = [
    include_str!("schema/001.sql"),
    include_str!("schema/002.sql"),
    include_str!("schema/003.sql"),
    include_str!("schema/004.sql"),
    include_str!("schema/005.sql"),
    include_str!("schema/006.sql"),
    include_str!("schema/007.sql"),
    include_str!("schema/008.sql"),
    include_str!("schema/009.sql"),
    include_str!("schema/010.sql"),
    include_str!("schema/011.sql"),
    include_str!("schema/012.sql"),
    include_str!("schema/013.sql"),
    include_str!("schema/014.sql"),
    include_str!("schema/015.sql"),
    include_str!("schema/016.sql"),
    include_str!("schema/017.sql"),
    include_str!("schema/018.sql"),
    include_str!("schema/019.sql"),
    include_str!("schema/020.sql"),
];

/// Migrates the database to this version's schema; refuses a newer schema and a database of another program.
pub(crate) fn run(
    conn: &Connection,
    path: &Path,
    schema: &Schema,
    busy_timeout: Duration,
) -> Result<()> {
    let known = i64::try_from(schema.steps.len()).unwrap_or(i64::MAX);
    let facts = |conn: &Connection| -> rusqlite::Result<(i64, i64)> {
        // in this order: both may be written right now in one transaction, and a version implies an id
        let version = conn.query_row("PRAGMA user_version", [], |r| r.get(0))?;
        let application = conn.query_row("PRAGMA application_id", [], |r| r.get(0))?;
        Ok((application, version))
    };
    let check = |(application, version): (i64, i64)| -> Result<i64> {
        if version > known {
            return Err(Error::TooNew {
                path: path.into(),
                found: version,
                known,
            });
        }
        if application != schema.application_id && (application != 0 || version != 0) {
            return Err(Error::Damaged {
                path: path.into(),
                reason: format!("not {}", schema.name),
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
    // two processes that switch to WAL at once lock each other out, and no busy timeout helps
    let dir = path.parent().unwrap_or(Path::new("."));
    let _lock = super::lock(&dir.join(schema.lock), true, busy_timeout)?;
    if check(facts(conn).map_err(damaged)?)? == known {
        return Ok(());
    }
    // before the first table
    let mode = if shares_memory(path) {
        "WAL"
    } else {
        "TRUNCATE"
    };
    conn.query_row(&format!("PRAGMA journal_mode={mode}"), [], |_| Ok(()))?;
    conn.execute_batch("PRAGMA synchronous=FULL; BEGIN IMMEDIATE")?;
    let steps = || -> Result<()> {
        // another process may have been first
        let version = usize::try_from(check(facts(conn)?)?).unwrap_or(0);
        for (at, step) in schema.steps.iter().enumerate().skip(version) {
            conn.execute_batch(step)?;
            conn.execute_batch(&format!("PRAGMA user_version={}", at + 1))?;
            crate::fault::point("migrated");
        }
        conn.execute_batch(&format!("PRAGMA application_id={}", schema.application_id))?;
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

/// True if a file system of this type (`f_type`) is on a network or is served by a program.
#[cfg(target_os = "linux")]
fn is_remote(kind: i64) -> bool {
    // from statfs(2): NFS, SMB, SMB2, CIFS, 9p, FUSE, Ceph, AFS, Coda, NCP
    const REMOTE: [i64; 10] = [
        0x6969,
        0x517B,
        0xFE53_4D42,
        0xFF53_4D42,
        0x0102_1997,
        0x6573_5546,
        0x00C3_6400,
        0x5346_414F,
        0x7375_7245,
        0x564C,
    ];
    REMOTE.contains(&(kind & 0xFFFF_FFFF))
}

/// True if processes on this file system can share memory, as the WAL needs: not on a network, 9p or FUSE.
pub(crate) fn shares_memory(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        let dir = if path.is_dir() {
            Some(path)
        } else {
            path.parent()
        };
        rustix::fs::statfs(dir.unwrap_or(path)).map_or(true, |s| !is_remote(s.f_type))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        true
    }
}

/// Returns an empty in-memory store.
#[cfg(any(test, fuzzing))]
pub(crate) fn in_memory() -> Connection {
    let conn = Connection::open_in_memory().expect("a database");
    for step in STEPS {
        conn.execute_batch(step).expect("a step");
    }
    conn
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store of an earlier version is migrated and keeps its data.
    #[test]
    fn an_older_store_is_migrated() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("store.db");
        {
            let old = Connection::open(&path).expect("opens");
            old.execute_batch(STEPS[0]).expect("the first schema");
            let more = format!(
                "PRAGMA user_version=1; PRAGMA application_id={APPLICATION_ID};
                 INSERT INTO root (path) VALUES (x'2f77');
                 INSERT INTO session (agent, native, started, seen) VALUES ('a', 's', 1, 1);"
            );
            old.execute_batch(&more).expect("rows");
        }
        let store = crate::store::Store::open(dir.path()).expect("opens");
        let version: i64 = store
            .conn
            .query_row("PRAGMA user_version", [], |r| r.get(0))
            .expect("a version");
        assert_eq!(usize::try_from(version), Ok(STEPS.len()));
        let (native, root): (String, i64) = store
            .conn
            .query_row("SELECT native, root FROM session", [], |r| {
                Ok((r.get(0)?, r.get(1)?))
            })
            .expect("the session");
        assert_eq!((native.as_str(), root), ("s", 1));
    }

    /// Files kept before version 15 are kept as a whole.
    #[test]
    fn reviews_of_version_14_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("store.db");
        {
            let old = Connection::open(&path).expect("opens");
            for step in &STEPS[..14] {
                old.execute_batch(step).expect("a step");
            }
            let more = format!(
                "PRAGMA user_version=14; PRAGMA application_id={APPLICATION_ID};
                 INSERT INTO file (id) VALUES (7);
                 INSERT INTO reviewed (file, branch, node, change, time) VALUES (7, 1, 2, 3, 4);"
            );
            old.execute_batch(&more).expect("rows");
        }
        let store = crate::store::Store::open(dir.path()).expect("opens");
        let file = crate::model::FileId(7);
        let rows = crate::store::tables::reviewed::rows(&store.conn, file).expect("rows");
        let [row] = rows.as_slice() else {
            panic!("{rows:?}");
        };
        assert_eq!((row.change.0, &row.state, &row.lines), (3, &None, &None));
    }

    /// The kernel reports some of the numbers with a sign.
    #[cfg(target_os = "linux")]
    #[test]
    fn remote_file_systems_are_known() {
        for (name, kind) in [
            ("nfs", 0x6969),
            ("cifs", 0xFF53_4D42),
            ("cifs, signed", i64::from(0xFF53_4D42_u32.cast_signed())),
            ("smb2", 0xFE53_4D42),
            ("fuse", 0x6573_5546),
            ("9p", 0x0102_1997),
        ] {
            assert!(is_remote(kind), "{name}");
        }
        for (name, kind) in [
            ("ext4", 0xEF53),
            ("tmpfs", 0x0102_1994),
            ("btrfs", 0x9123_683E),
            ("xfs", 0x5846_5342),
            ("overlay", 0x794C_7630),
        ] {
            assert!(!is_remote(kind), "{name}");
        }
    }
}
