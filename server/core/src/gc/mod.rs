//! Retention: what is old becomes one checkpoint, and the contents that nothing names any more go. The only thing
//! that removes anything of a history that goes on. Small transactions, each of which leaves the store whole: whoever
//! dies meanwhile has removed less, and hooks come between.

mod plan;
mod squash;
mod sweep;

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension};

use crate::engine::{Engine, Progress, disk_use};
use crate::error::{Error, Result};
use crate::history;
use crate::model::{Kind, NodeId, Squashed};
use crate::store::{self, Durable};
use plan::{Facts, Stretch};

const DAY: i64 = 24 * 3600 * 1_000_000;
/// Below its limit, so that the next checkpoint is not above it again.
const ROOM: u64 = 10;
/// In so many parts a store that is too large loses what may go.
const PARTS: usize = 8;
/// How often a plan may be overtaken by others before they are let go on alone.
const PATIENCE: u32 = 100;

/// What may stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// What is older may go.
    pub days: Option<u64>,
    /// What is older than so many of the newest may go.
    pub checkpoints: Option<u64>,
    /// The whole store; what is oldest goes first.
    pub bytes: Option<u64>,
}

/// What was done, or would be.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Checkpoints that became others, which are counted by `made`.
    pub gone: u64,
    /// Those that stand for others, oldest first.
    pub made: Vec<(NodeId, Squashed)>,
    /// Contents that nothing named any more.
    pub contents: u64,
    /// What the store took, and takes, in bytes.
    pub before: u64,
    pub after: u64,
    /// All that may go is gone, and it is still above its limit of bytes.
    pub is_over: bool,
}

impl Engine {
    /// The limits that the settings give.
    pub fn limits(&self) -> Limits {
        let config = self.config();
        Limits {
            days: Some(config.keep_days()),
            checkpoints: config.most_checkpoints(),
            bytes: config.most_bytes(),
        }
    }

    /// What may go by these limits goes. `dry`: nothing does, but all that would is said.
    pub fn gc(
        &mut self,
        limits: Limits,
        dry: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Collected> {
        let Some(_alone) = self.store.gc_lock()? else {
            return Err(Error::refused(
                "another gc is under way",
                "it does the same; `backstitch status` has the size of the store",
            ));
        };
        // restores wait for what is half done, captures go on
        let lock = self.store.restore_lock(false, Self::RESTORE_WAIT)?;
        let _lock = lock
            .ok_or_else(|| Error::refused("a rewind is under way", "try again when it is done"))?;
        // each row that goes would be looked for in tables that have no index by it
        self.store.conn.execute_batch("PRAGMA foreign_keys=OFF")?;
        let done = self.collect(limits, dry, progress);
        self.store.conn.execute_batch("PRAGMA foreign_keys=ON")?;
        let done = done?;
        if !dry {
            self.store.give_back();
        }
        Ok(done)
    }

    fn collect(
        &self,
        limits: Limits,
        dry: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Collected> {
        if !dry {
            return Gc::new(self, dry, progress).run(limits);
        }
        self.store.conn.execute_batch("BEGIN IMMEDIATE")?;
        let done = Gc::new(self, dry, progress).run(limits);
        self.store.conn.execute_batch("ROLLBACK")?;
        done
    }

    /// Whether it is time for `gc` in the background: something has become old, or the store comes near its limit.
    /// Costs little, and says so at most once a day.
    pub fn gc_is_due(&self) -> Result<bool> {
        let conn = &self.store.conn;
        let last: Option<i64> = conn
            .prepare_cached("SELECT value FROM meta WHERE key = 'gc'")?
            .query_row([], |r| r.get(0))
            .optional()?;
        if last.is_some_and(|last| (0..DAY).contains(&(store::now() - last))) {
            return Ok(false);
        }
        let limits = self.limits();
        let oldest: Option<i64> = conn
            .prepare_cached("SELECT time FROM node WHERE squashed IS NULL ORDER BY id LIMIT 1")?
            .query_row([], |r| r.get(0))
            .optional()?;
        let is_old = oldest.is_some_and(|time| time < oldest_kept(&limits));
        let is_large = limits
            .bytes
            .is_some_and(|most| near(disk_use(&self.store.dir), most));
        let most = limits.checkpoints.and_then(|most| i64::try_from(most).ok());
        let are_many = match most {
            Some(most) => conn
                .prepare_cached("SELECT 1 FROM node LIMIT 1 OFFSET ?1")?
                .exists([most])?,
            None => false,
        };
        Ok(is_old || is_large || are_many)
    }

    /// It is about to be done: nobody else needs to.
    pub fn gc_begins(&self) -> Result<()> {
        self.store.note(true, |conn| {
            conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('gc', ?1)")?
                .execute([store::now()])?;
            Ok(())
        })
    }
}

/// What is older than this may go.
fn oldest_kept(limits: &Limits) -> i64 {
    let age = limits
        .days
        .and_then(|days| i64::try_from(days).ok()?.checked_mul(DAY));
    age.map_or(i64::MIN, |age| store::now().saturating_sub(age))
}

/// Whether a limit is near.
pub fn near(size: u64, most: u64) -> bool {
    size >= most - most / ROOM
}

struct Gc<'a> {
    engine: &'a Engine,
    dry: bool,
    progress: &'a mut dyn FnMut(Progress),
    /// Stretches that could not become one, by their last checkpoint.
    left: HashSet<NodeId>,
    gone: u64,
}

impl<'a> Gc<'a> {
    fn new(engine: &'a Engine, dry: bool, progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self {
            engine,
            dry,
            progress,
            left: HashSet::new(),
            gone: 0,
        }
    }

    fn conn(&self) -> &Connection {
        &self.engine.store.conn
    }

    fn size(&self) -> Result<u64> {
        sweep::size(self.conn(), &self.engine.store.dir)
    }

    /// One step of it: what follows finds it whole.
    fn step<T>(&self, f: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        if self.dry {
            return f(self.conn());
        }
        self.engine.store.write(Durable::Power, |conn| {
            let done = f(conn)?;
            crate::fault::point("gc step");
            Ok(done)
        })
    }

    fn run(mut self, limits: Limits) -> Result<Collected> {
        let before = self.size()?;
        let old = oldest_kept(&limits);
        let upto = self.beyond(limits.checkpoints)?;
        self.squash(&|node| node.is_before(old) || node.id <= upto)?;
        self.forget_strays(old)?;
        let mut contents = self.sweep()?;
        let mut is_over = false;
        if let Some(most) = limits.bytes {
            let wanted = most - most / ROOM;
            is_over = before.max(self.size()?) > most;
            // nothing is taken from a store that is within its limit
            if is_over {
                for upto in self.parts()? {
                    if self.size()? <= wanted {
                        break;
                    }
                    self.squash(&|node| node.id <= upto)?;
                    contents += self.sweep()?;
                }
            }
            is_over = self.size()? > most;
        }
        Ok(Collected {
            gone: self.gone,
            made: self.made()?,
            contents,
            before,
            after: self.size()?,
            is_over,
        })
    }

    /// The newest of those that are beyond so many.
    fn beyond(&self, most: Option<u64>) -> Result<NodeId> {
        let Some(most) = most.filter(|most| *most > 0) else {
            return Ok(NodeId(0));
        };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut select = self
            .conn()
            .prepare_cached("SELECT id FROM node ORDER BY id DESC LIMIT 1 OFFSET ?1")?;
        let found = select.query_map([most], |r| r.get(0))?.next();
        Ok(found.transpose()?.unwrap_or(NodeId(0)))
    }

    /// What may still go in some parts, oldest first: up to which checkpoint each reaches.
    fn parts(&self) -> Result<Vec<NodeId>> {
        let facts = Facts::read(self.conn())?;
        let stretches = facts.stretches(|_| true);
        let mut may: Vec<NodeId> = stretches.into_iter().flat_map(|s| s.nodes).collect();
        may.sort_unstable();
        let mut parts: Vec<NodeId> = (1..=PARTS)
            .filter_map(|part| may.get((may.len() * part / PARTS).checked_sub(1)?))
            .copied()
            .collect();
        // a long stretch tells only of its older part
        parts.extend(facts.nodes.last().map(|node| node.id));
        Ok(parts)
    }

    fn squash(&mut self, is_wanted: &dyn Fn(&plan::Mark) -> bool) -> Result<()> {
        let mut overtaken = 0;
        loop {
            let facts = Facts::read(self.conn())?;
            let left = &self.left;
            let stretches = facts.stretches(is_wanted);
            let total: usize = stretches.iter().map(|s| s.nodes.len()).sum();
            let next = stretches
                .into_iter()
                .find(|s| s.nodes.last().is_some_and(|n| !left.contains(n)));
            let Some(stretch) = next else {
                return Ok(());
            };
            (self.progress)(Progress {
                what: "making old checkpoints one",
                done: self.gone,
                total: Some(self.gone + total as u64),
            });
            match self.make_one(&facts, &stretch)? {
                Made::One => {
                    self.gone += stretch.nodes.len() as u64 - 1;
                    overtaken = 0;
                }
                Made::Left => {
                    self.left.extend(stretch.nodes.last());
                }
                Made::Overtaken => {
                    overtaken += 1;
                    if overtaken > PATIENCE {
                        return Err(Error::refused(
                            "others change the history all the time",
                            "try again when they are done; nothing is half done",
                        ));
                    }
                }
            }
        }
    }

    fn make_one(&self, facts: &Facts, stretch: &Stretch) -> Result<Made> {
        let mut made = Made::Left;
        let tried = self.step(|conn| {
            if !facts.hold_still(conn)? {
                made = Made::Overtaken;
                return Err(given_up());
            }
            conn.execute_batch("SAVEPOINT stretch")?;
            if squash::squash(conn, stretch)? {
                conn.execute_batch("RELEASE stretch")?;
                made = Made::One;
                return Ok(());
            }
            conn.execute_batch("ROLLBACK TO stretch; RELEASE stretch")?;
            Ok(())
        });
        match (tried, &made) {
            (Err(_), Made::Overtaken) | (Ok(()), _) => Ok(made),
            (Err(error), _) => Err(error),
        }
    }

    /// Removes contents that nothing names. How many.
    fn sweep(&mut self) -> Result<u64> {
        let dir = &self.engine.store.dir;
        let mut removed = 0;
        let mut known: Option<(i64, sweep::Dead)> = None;
        loop {
            let before = known.take();
            let (left, some, next) = self.step(|conn| {
                // others may have named one of them since
                let version: i64 = conn.query_row("PRAGMA data_version", [], |r| r.get(0))?;
                let mut dead = match before {
                    Some((at, dead)) if at == version => dead,
                    _ => sweep::dead(conn)?,
                };
                let all = dead.rows.len();
                let left = sweep::remove(conn, dir, &mut dead)?;
                Ok((left, all - left, (version, dead)))
            })?;
            removed += some as u64;
            (self.progress)(Progress {
                what: "removing contents",
                done: removed,
                total: Some(removed + left as u64),
            });
            if left == 0 {
                break;
            }
            known = Some(next);
        }
        if !self.dry {
            while let Some(pack) = sweep::repacked(self.conn(), dir)? {
                self.step(|conn| pack.take_over(conn))?;
                pack.remove_old(dir);
            }
        }
        Ok(removed)
    }

    /// What agents told that belongs to no checkpoint.
    fn forget_strays(&self, old: i64) -> Result<()> {
        self.step(|conn| {
            for sql in [
                "DELETE FROM event WHERE time < ?1 AND call IS NULL AND turn IS NULL",
                "DELETE FROM event WHERE call IN (SELECT id FROM call WHERE closed < ?1 AND turn IS NULL
                   AND id NOT IN (SELECT call FROM node WHERE call IS NOT NULL)
                   AND id NOT IN (SELECT call FROM change WHERE call IS NOT NULL)
                   AND id NOT IN (SELECT grp FROM call WHERE grp IS NOT NULL))",
                "DELETE FROM call WHERE closed < ?1 AND turn IS NULL
                   AND id NOT IN (SELECT call FROM node WHERE call IS NOT NULL)
                   AND id NOT IN (SELECT call FROM change WHERE call IS NOT NULL)
                   AND id NOT IN (SELECT grp FROM call WHERE grp IS NOT NULL)
                   AND id NOT IN (SELECT call FROM reserved)",
            ] {
                conn.execute(sql, [old])?;
            }
            Ok(())
        })
    }

    fn made(&self) -> Result<Vec<(NodeId, Squashed)>> {
        let conn = self.conn();
        let mut select =
            conn.prepare_cached("SELECT id FROM node WHERE kind = 'squash' ORDER BY id")?;
        let mut made = Vec::new();
        for id in select.query_map([], |r| r.get(0))? {
            let node = history::node(conn, id?)?;
            debug_assert_eq!(node.kind, Kind::Squash);
            if let Some(squashed) = node.squashed {
                made.push((node.id, squashed));
            }
        }
        Ok(made)
    }
}

/// What became of a stretch.
enum Made {
    One,
    /// It stays as it is.
    Left,
    /// Others changed what was planned with.
    Overtaken,
}

fn given_up() -> Error {
    Error::refused("overtaken", "plan anew")
}
