//! The history in numbers.

use rusqlite::Connection;

use crate::engine::{Engine, Progress};
use crate::error::Result;
use crate::history::{self, Rows};
use crate::model::{ChangeId, Kind};
use crate::store::tables::{blob, call, session, turn};

/// Changes whose line counts are saved in one go.
const BATCH_SIZE: usize = 2000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineTotals {
    pub added: i64,
    pub removed: i64,
}

/// Sizes on disk in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// Contents of files, compressed, in the database and in packs.
    pub contents: u64,
    /// The rest of the database.
    pub database: u64,
    /// The write-ahead log.
    pub log: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Number of checkpoints per kind, without kinds that have none.
    pub checkpoints: Vec<(Kind, i64)>,
    /// Manual checkpoints that nobody made: the start of a history.
    pub starts: i64,
    pub turns: i64,
    /// Tool calls, including those that changed nothing.
    pub calls: i64,
    /// Agents with their number of sessions.
    pub sessions: Vec<(String, i64)>,
    /// Branches that were not deleted.
    pub branches: i64,
    pub tags: i64,
    /// Files that were ever changed.
    pub files: i64,
    pub changes: i64,
    pub by_agents: LineTotals,
    pub by_user: LineTotals,
    /// Changes by an unknown author.
    pub by_unknown: LineTotals,
    pub sizes: Sizes,
    /// Microseconds since 1970.
    pub oldest: Option<i64>,
    pub newest: Option<i64>,
}

impl Engine {
    /// Returns the history in numbers. Line totals that were never counted are counted now, which may take long.
    pub fn stats(&self, progress: &mut dyn FnMut(Progress)) -> Result<Stats> {
        self.count_lines(progress)?;
        let _moment = self.store.reading()?;
        let conn = &self.store.conn;
        let one = |sql: &str| -> Result<i64> { Ok(conn.query_row(sql, [], |r| r.get(0))?) };
        let (oldest, newest) =
            conn.query_row("SELECT MIN(time), MAX(time) FROM node", [], |r| {
                Ok((r.get(0)?, r.get(1)?))
            })?;
        let lines = |condition: &str| -> Result<LineTotals> {
            let sql = format!(
                "SELECT COALESCE(SUM(k.added), 0), COALESCE(SUM(k.removed), 0)
                 FROM counted k JOIN change c ON c.id = k.change WHERE c.role = 0 AND {condition}"
            );
            Ok(conn.query_row(&sql, [], |r| {
                Ok(LineTotals {
                    added: r.get(0)?,
                    removed: r.get(1)?,
                })
            })?)
        };
        Ok(Stats {
            checkpoints: pairs(
                conn,
                "SELECT kind, COUNT(*) FROM node GROUP BY kind ORDER BY 2 DESC, kind",
            )?,
            starts: one("SELECT COUNT(*) FROM node WHERE parent IS NULL AND kind = 'manual'")?,
            turns: turn::count(conn)?,
            calls: call::count(conn)?,
            sessions: session::count_by_agent(conn)?,
            branches: one("SELECT COUNT(*) FROM branch WHERE deleted IS NULL")?,
            tags: one("SELECT COUNT(*) FROM tag")?,
            files: one("SELECT COUNT(DISTINCT file) FROM change WHERE role = 0")?,
            changes: one(
                "SELECT COUNT(*) FROM change WHERE before_image IS NOT NULL OR after_image IS NOT NULL",
            )?,
            by_agents: lines("c.session IS NOT NULL AND c.session_certainty < 2")?,
            by_user: lines("c.session IS NULL AND c.session_certainty < 2")?,
            by_unknown: lines("c.session_certainty = 2")?,
            sizes: self.sizes()?,
            oldest,
            newest,
        })
    }

    fn sizes(&self) -> Result<Sizes> {
        let size = |name: &str| std::fs::metadata(self.store.dir.join(name)).map_or(0, |m| m.len());
        let in_database = blob::inline_bytes(&self.store.conn)?;
        let packs = std::fs::read_dir(self.store.dir.join("packs"));
        let packs = packs.into_iter().flatten().flatten();
        let packed: u64 = packs.map(|e| e.metadata().map_or(0, |m| m.len())).sum();
        Ok(Sizes {
            contents: in_database + packed,
            database: size("store.db").saturating_sub(in_database),
            log: size("store.db-wal"),
        })
    }

    /// Counts the lines of changes that were not counted yet.
    fn count_lines(&self, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let mut after = ChangeId(0);
        let mut done = 0;
        loop {
            let moment = self.store.reading()?;
            let conn = &self.store.conn;
            let mut rows = Rows::new(&self.store, self.here)?;
            let changes = history::uncounted(conn, after, BATCH_SIZE)?;
            let Some(last) = changes.last().map(|c| c.id) else {
                return Ok(());
            };
            for change in &changes {
                rows.counts(change);
                done += 1;
                progress(Progress {
                    what: "counting lines of changes",
                    done,
                    total: None,
                });
            }
            let counts = rows.new;
            drop(moment);
            counts.keep(&self.store);
            after = last;
        }
    }
}

fn pairs<K: rusqlite::types::FromSql>(conn: &Connection, sql: &str) -> Result<Vec<(K, i64)>> {
    let mut select = conn.prepare(sql)?;
    let rows = select.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
