//! `run.db` in the directory of a run: the job as it began, its points, and the place where it stands. No hook opens it. All SQL of
//! jobs is here. Secrets are in a file beside it.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::place::{RUN_DB, SECRETS, write_durably};
use crate::run::{KeptJob, KeptSecrets};

use super::kept::{KeptStop, RunWork};
use super::points::{JobPoint, PointList};

/// The form of the tables. A run of another form is not continued.
const VERSION: i64 = 4;

/// Time for which one process waits for another.
const BUSY: Duration = Duration::from_secs(5);

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS run (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  job TEXT NOT NULL                   -- JSON of `KeptJob`
);
CREATE TABLE IF NOT EXISTS point (
  cut INTEGER NOT NULL,               -- 0: in the list; 1: cut by the last restore
  place INTEGER NOT NULL,             -- from 0, in the order of the steps
  name TEXT NOT NULL,                 -- of the step, for people
  node INTEGER NOT NULL,              -- the checkpoint of the files
  created INTEGER NOT NULL,           -- microseconds since 1970, UTC
  point TEXT NOT NULL,                -- JSON of `JobPoint`
  PRIMARY KEY (cut, place)
);
CREATE TABLE IF NOT EXISTS session (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  work TEXT NOT NULL,                 -- JSON of `RunWork`: what the process is about
  stop TEXT NOT NULL                  -- JSON of `KeptStop`
);";

/// All that a run's file has of its session.
#[derive(Debug)]
pub(super) struct KeptSession {
    pub work: RunWork,
    pub stop: KeptStop,
    pub points: Vec<JobPoint>,
    /// Points that the last restore cut.
    pub cut: Vec<JobPoint>,
}

/// The points of a run on disk.
#[derive(Debug)]
pub(super) struct RunDb {
    conn: Connection,
    secrets: PathBuf,
    /// The secrets that the file has.
    written: Option<KeptSecrets>,
}

impl RunDb {
    /// Makes the file of a run that begins.
    pub fn create(dir: &Path) -> Result<RunDb, String> {
        let file = dir.join(RUN_DB);
        let failed = |error: &dyn std::fmt::Display| {
            let file = file.display();
            format!("{file} cannot be made: {error}")
        };
        let mut private = OpenOptions::new();
        let private = private.create(true).append(true).mode(0o600);
        private.open(&file).map_err(|error| failed(&error))?;
        let db = RunDb::connect(dir).map_err(|error| failed(&error))?;
        let make = || -> rusqlite::Result<()> {
            db.conn.execute_batch(TABLES)?;
            db.conn.pragma_update(None, "user_version", VERSION)
        };
        make().map_err(|error| failed(&error))?;
        Ok(db)
    }

    /// Opens the file of a run that has begun. None if it has none, or one of another version.
    pub fn open(dir: &Path) -> Result<Option<RunDb>, String> {
        let file = dir.join(RUN_DB);
        if !file.exists() {
            return Ok(None);
        }
        let open = || -> rusqlite::Result<Option<RunDb>> {
            let db = RunDb::connect(dir)?;
            let version = |row: &rusqlite::Row| row.get::<_, i64>(0);
            let version = db.conn.query_row("PRAGMA user_version", [], version)?;
            Ok((version == VERSION).then_some(db))
        };
        open().map_err(|error| format!("{} cannot be read: {error}", file.display()))
    }

    fn connect(dir: &Path) -> rusqlite::Result<RunDb> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(dir.join(RUN_DB), flags)?;
        conn.busy_timeout(BUSY)?;
        conn.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")?;
        Ok(RunDb {
            conn,
            secrets: dir.join(SECRETS),
            written: None,
        })
    }

    /// Keeps the job as it began.
    pub fn begin(&self, job: &KeptJob) -> Result<(), String> {
        let said = |error: &dyn std::fmt::Display| format!("The run cannot be saved: {error}");
        let json = serde_json::to_string(job).map_err(|error| said(&error))?;
        let insert = "INSERT OR REPLACE INTO run (id, job) VALUES (1, ?1)";
        let done = self.conn.execute(insert, [json]);
        done.map(drop).map_err(|error| said(&error))
    }

    /// The job as it began, and its secrets. None for a run that was cut off before.
    pub fn job(&mut self) -> Result<Option<(KeptJob, KeptSecrets)>, String> {
        let select = "SELECT job FROM run WHERE id = 1";
        let text = self.conn.query_row(select, [], |row| row.get(0));
        let text: Option<String> = text.optional().map_err(|error| damaged("run", &error))?;
        let Some(text) = text else { return Ok(None) };
        let job = serde_json::from_str(&text).map_err(|error| damaged("run", &error))?;
        let secrets =
            std::fs::read(&self.secrets).and_then(|text| Ok(serde_json::from_slice(&text)?));
        let secrets: KeptSecrets = secrets
            .map_err(|error| format!("{} cannot be read: {error}", self.secrets.display()))?;
        self.written = Some(secrets.clone());
        Ok(Some((job, secrets)))
    }

    /// Keeps the secrets, if there are new ones.
    pub fn keep_secrets(&mut self, secrets: KeptSecrets) -> Result<(), String> {
        if self.written.as_ref() == Some(&secrets) {
            return Ok(());
        }
        let text = serde_json::to_vec(&secrets).map_err(io::Error::from);
        let written = text.and_then(|text| write_durably(&self.secrets, &text));
        written.map_err(|error| format!("The masks of the run cannot be saved: {error}"))?;
        self.written = Some(secrets);
        Ok(())
    }

    /// The session as it was saved last. None for a run that was cut off before.
    pub fn session(&self) -> Result<Option<KeptSession>, String> {
        let select = "SELECT work, stop FROM session WHERE id = 1";
        let texts = self
            .conn
            .query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?)));
        let texts = texts
            .optional()
            .map_err(|error| damaged("session", &error))?;
        let Some((work, stop)): Option<(String, String)> = texts else {
            return Ok(None);
        };
        Ok(Some(KeptSession {
            work: read("session", &work)?,
            stop: read("session", &stop)?,
            points: self.points(false)?,
            cut: self.points(true)?,
        }))
    }

    fn points(&self, cut: bool) -> Result<Vec<JobPoint>, String> {
        let texts = || -> rusqlite::Result<Vec<String>> {
            let select = "SELECT point FROM point WHERE cut = ?1 ORDER BY place";
            let mut select = self.conn.prepare_cached(select)?;
            let rows = select.query_map([cut], |row| row.get(0))?;
            rows.collect()
        };
        let texts = texts().map_err(|error| damaged("point", &error))?;
        texts.iter().map(|text| read("point", text)).collect()
    }

    /// Saves the session, in one transaction. Points that are there already are not written again.
    pub fn save(
        &mut self,
        work: &RunWork,
        stop: &KeptStop,
        points: &PointList,
        cut: &[JobPoint],
    ) -> Result<(), String> {
        let mut write = || -> rusqlite::Result<()> {
            let change = self.conn.transaction()?;
            write_points(&change, false, points.all())?;
            write_points(&change, true, cut)?;
            let insert = "INSERT OR REPLACE INTO session (id, work, stop) VALUES (1, ?1, ?2)";
            change
                .prepare_cached(insert)?
                .execute([json(work)?, json(stop)?])?;
            change.commit()
        };
        let written = write();
        written.map_err(|error| format!("The points of the run cannot be saved: {error}"))
    }

    /// Notes the work that begins. The rest stays as it was saved last.
    pub fn set_work(&self, work: &RunWork) -> Result<(), String> {
        let update = || {
            self.conn
                .execute("UPDATE session SET work = ?1", [json(work)?])
        };
        let done = update();
        done.map(drop)
            .map_err(|error| format!("The run cannot be saved: {error}"))
    }
}

/// True if a run has begun and can be continued.
pub(super) fn has_session(dir: &Path) -> bool {
    let db = RunDb::open(dir).ok().flatten();
    db.is_some_and(|db| matches!(db.session(), Ok(Some(_))))
}

fn write_points(change: &Transaction, cut: bool, points: &[JobPoint]) -> rusqlite::Result<()> {
    let known: Vec<(i64, i64)> = {
        let select = "SELECT place, created FROM point WHERE cut = ?1";
        let mut select = change.prepare_cached(select)?;
        let rows = select.query_map([cut], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    let count = i64::try_from(points.len()).unwrap_or(i64::MAX);
    let delete = "DELETE FROM point WHERE cut = ?1 AND place >= ?2";
    change
        .prepare_cached(delete)?
        .execute(params![cut, count])?;
    let insert = "INSERT OR REPLACE INTO point (cut, place, name, node, created, point)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = change.prepare_cached(insert)?;
    for (place, point) in (0_i64..).zip(points) {
        // a point never changes once it is made
        if !known.contains(&(place, point.created)) {
            let (name, created) = (&point.step.name, point.created);
            insert.execute(params![
                cut,
                place,
                name,
                point.files.node().0,
                created,
                json(point)?
            ])?;
        }
    }
    Ok(())
}

fn json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

fn read<T: DeserializeOwned>(table: &str, text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| damaged(table, &error))
}

fn damaged(table: &str, error: &dyn std::fmt::Display) -> String {
    format!("{RUN_DB}: the table {table} is damaged: {error}")
}
