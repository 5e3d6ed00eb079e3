//! `run.db` in the directory of a run: its points. No hook opens it. All SQL of jobs is here.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::points::PointList;

const FILE: &str = "run.db";

/// Time for which one process waits for another.
const BUSY: Duration = Duration::from_secs(5);

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS point (
  place INTEGER PRIMARY KEY,          -- from 0, in the order of the steps
  name TEXT NOT NULL,                 -- of the step, for people
  node INTEGER NOT NULL,              -- the checkpoint of the files
  point TEXT NOT NULL                 -- JSON of `JobPoint`
);
CREATE TABLE IF NOT EXISTS session (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at_last INTEGER NOT NULL,           -- the job stands at the last point
  restoring INTEGER                   -- the point that a restore goes to, while it has not ended
);
INSERT OR IGNORE INTO session (id, at_last) VALUES (1, 0);
PRAGMA user_version = 1;";

/// The points of a run on disk.
#[derive(Debug)]
pub(super) struct RunDb {
    conn: Connection,
}

impl RunDb {
    pub fn open(dir: &Path) -> Result<RunDb, String> {
        let file = dir.join(FILE);
        let open = || -> rusqlite::Result<Connection> {
            let conn = Connection::open(&file)?;
            conn.busy_timeout(BUSY)?;
            conn.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")?;
            conn.execute_batch(TABLES)?;
            Ok(conn)
        };
        let conn =
            open().map_err(|error| format!("{} cannot be opened: {error}", file.display()))?;
        Ok(RunDb { conn })
    }

    /// Replaces the list by this one, in one transaction. Points that are there already are not written again.
    pub fn save(&mut self, points: &PointList) -> Result<(), String> {
        self.write(points)
            .map_err(|error| format!("The points of the run cannot be saved: {error}"))
    }

    fn write(&mut self, points: &PointList) -> rusqlite::Result<()> {
        let change = self.conn.transaction()?;
        let known: Vec<(i64, i64)> = {
            let mut select =
                change.prepare_cached("SELECT place, node FROM point ORDER BY place")?;
            let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        let count = i64::try_from(points.all().len()).unwrap_or(i64::MAX);
        change.execute("DELETE FROM point WHERE place >= ?1", [count])?;
        for (place, point) in (0_i64..).zip(points.all()) {
            let is_last = place + 1 == count;
            if known.contains(&(place, point.node)) && !is_last {
                continue;
            }
            let json = serde_json::to_string(point)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
            change
                .prepare_cached("INSERT OR REPLACE INTO point (place, name, node, point) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![place, point.step.name, point.node, json])?;
        }
        change.execute(
            "UPDATE session SET at_last = ?1, restoring = NULL",
            [points.is_at_last()],
        )?;
        change.commit()
    }

    /// Notes the point that a restore goes to, until its end is saved. Nothing continues a run that was cut off yet.
    pub fn set_restoring(&self, place: usize) -> Result<(), String> {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        let done = self
            .conn
            .execute("UPDATE session SET restoring = ?1", [place]);
        done.map(drop)
            .map_err(|error| format!("The restore cannot be noted in the run: {error}"))
    }
}
