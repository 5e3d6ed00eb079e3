//! The history in numbers.

use crate::engine::{Engine, Progress};
use crate::error::Result;
use crate::history::Rows;
use crate::model::{ChangeId, Kind};
pub use crate::store::tables::counted::LineTotals;
use crate::store::tables::counted::{self, CountedAuthors};
use crate::store::tables::{blob, branch, call, change, changed_files, node, session, tag, turn};

/// Changes whose line counts are saved in one go.
const BATCH_SIZE: usize = 2000;

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
        let (oldest, newest) = node::time_span(conn)?;
        Ok(Stats {
            checkpoints: node::count_by_kind(conn)?,
            starts: node::count_starts(conn)?,
            turns: turn::count(conn)?,
            calls: call::count(conn)?,
            sessions: session::count_by_agent(conn)?,
            branches: branch::count(conn)?,
            tags: tag::count(conn)?,
            files: changed_files::count_edited(conn)?,
            changes: change::count_with_image(conn)?,
            by_agents: counted::totals(conn, CountedAuthors::Agents)?,
            by_user: counted::totals(conn, CountedAuthors::User)?,
            by_unknown: counted::totals(conn, CountedAuthors::Unknown)?,
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
            let changes = change::uncounted(conn, after, BATCH_SIZE)?;
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
