//! Retention: what is old becomes one checkpoint, and the contents that nothing names any more go. The only thing
//! that removes anything of a history that goes on. Small transactions, each of which leaves the store whole: whoever
//! dies meanwhile has removed less, and hooks and rewinds come between.

mod copy;
mod plan;
mod squash;
mod sweep;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use crate::config::Config;
use crate::engine::{Engine, Progress, disk_use};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{NodeId, Squashed, bytes_path};
use crate::roots;
use crate::store::{self, Durable};
use crate::workspace::Workspace;
use crate::{capture, history};
use copy::Copy;
use plan::{Facts, SquashRange};

const DAY: i64 = 24 * 3600 * 1_000_000;
/// So often where the store is near its limit, in microseconds.
const SOON: i64 = 10 * 60 * 1_000_000;
/// Below its limit, so that the next checkpoint is not above it again.
const ROOM: u64 = 10;
/// In so many parts a store that is too large loses what may go.
const PARTS: usize = 8;
/// How often a plan may be overtaken by others before they are let go on alone.
const PATIENCE: u32 = 100;
/// Between two steps, so that whoever waits for the store gets it.
const PAUSE: Duration = Duration::from_millis(5);

/// What may stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// What is older may go. None: nothing goes with its age.
    pub days: Option<u64>,
    /// What is older than so many of the newest may go.
    pub checkpoints: Option<u64>,
    /// The whole store; what is oldest goes first.
    pub bytes: Option<u64>,
    /// It runs by itself: something goes as soon as the limit of bytes is near, so that it is never reached.
    pub early: bool,
}

impl Limits {
    fn of(config: &Config) -> Self {
        Self {
            days: Some(config.keep_days()),
            checkpoints: config.most_checkpoints(),
            bytes: config.most_bytes(),
            early: false,
        }
    }

    /// What neither of both would let go stays.
    fn or(self, other: Self) -> Self {
        let larger = |a: Option<u64>, b: Option<u64>| Some(a?.max(b?));
        Self {
            days: larger(self.days, other.days),
            checkpoints: larger(self.checkpoints, other.checkpoints),
            bytes: larger(self.bytes, other.bytes),
            early: self.early,
        }
    }

    /// What is older than this may go.
    fn oldest_kept(&self) -> i64 {
        let age = self
            .days
            .and_then(|days| i64::try_from(days).ok()?.checked_mul(DAY));
        age.map_or(i64::MIN, |age| store::now().saturating_sub(age))
    }
}

/// What was done, or would be.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Checkpoints that became others, which are counted by `made`.
    pub gone: u64,
    /// Those that stand for others by now, oldest first.
    pub made: Vec<(NodeId, Squashed)>,
    /// Contents that nothing named any more.
    pub contents: u64,
    /// What the store took, and takes, in bytes.
    pub before: u64,
    pub after: u64,
    /// All that may go is gone, and it is still above its limit of bytes.
    pub is_over: bool,
    /// Checkpoints that should have become others and could not: something of them is not as it must be.
    pub stuck: u64,
}

/// Whether a limit is near.
pub fn near(size: u64, most: u64) -> bool {
    size >= most - most / ROOM
}

impl Engine {
    /// The limits that the settings give: of all directories that share the history, the most generous.
    pub fn limits(&self) -> Result<Limits> {
        let mut limits = Limits::of(&self.config());
        for (root, path) in roots::standing(&self.store.conn)? {
            if root != self.here.root {
                let workspace = Workspace {
                    root: path,
                    store_dir: self.store.dir.clone(),
                    shared: true,
                };
                limits = limits.or(Limits::of(&Config::read(&workspace)));
            }
        }
        Ok(limits)
    }

    /// What the history takes, without room that is free to be filled again.
    pub fn live_bytes(&self) -> Result<u64> {
        sweep::size(&self.store.conn)
    }

    /// What may go by these limits goes.
    pub fn gc(&mut self, limits: Limits, progress: &mut dyn FnMut(Progress)) -> Result<Collected> {
        let _alone = self.gc_alone()?;
        copy::remove_left(&self.store.dir);
        // a rewind of this directory that was cut off is finished first
        let lock = self.quiet_lock(Self::RESTORE_WAIT)?;
        let lock = lock.ok_or_else(under_way)?;
        refuse_beside_restores(&self.store.conn)?;
        drop(lock);
        // each row that goes would be looked for in tables that have no index by it
        self.store.conn.execute_batch("PRAGMA foreign_keys=OFF")?;
        let place = CollectIn::Store(self);
        let done = Collector::new(place, progress).and_then(|gc| gc.run(limits));
        self.store.conn.execute_batch("PRAGMA foreign_keys=ON")?;
        let done = done?;
        // packs that were replaced at an earlier time
        if let Some(_alone) = self.store.scan_lock()? {
            self.store.remove_orphans()?;
        }
        self.store.give_back();
        Ok(done)
    }

    /// The same on a copy: what would go is said, and nobody has to wait.
    pub fn gc_dry(&self, limits: Limits, progress: &mut dyn FnMut(Progress)) -> Result<Collected> {
        let _alone = self.gc_alone()?;
        copy::remove_left(&self.store.dir);
        refuse_beside_restores(&self.store.conn)?;
        let copy = Copy::of(&self.store)?;
        Collector::new(CollectIn::Copy(&copy, self), progress)?.run(limits)
    }

    fn gc_alone(&self) -> Result<store::Lock> {
        self.store.gc_lock()?.ok_or_else(|| {
            Error::refused(
                "another gc is under way",
                "it does the same; `backstitch status` has the size of the store",
            )
        })
    }

    /// Whether it is time for `gc` in the background: something has become old, or the store comes near its limit.
    /// Costs little, and says so at most once a day; every few minutes where the store grows fast.
    pub fn gc_is_due(&self) -> Result<bool> {
        let conn = &self.store.conn;
        let last: Option<i64> = conn
            .prepare_cached("SELECT value FROM meta WHERE key = 'gc'")?
            .query_row([], |r| r.get(0))
            .optional()?;
        let age = last.map_or(DAY, |last| store::now() - last);
        // a clock that was set back is no reason to wait
        if (0..SOON).contains(&age) {
            return Ok(false);
        }
        let limits = self.limits()?;
        if let Some(most) = limits.bytes
            && near(disk_use(&self.store.dir), most)
            && near(self.live_bytes()?, most)
        {
            return Ok(true);
        }
        if (0..DAY).contains(&age) {
            return Ok(false);
        }
        let oldest: Option<i64> = conn
            .prepare_cached(
                "SELECT time FROM node WHERE squashed IS NULL AND parent IS NOT NULL ORDER BY id LIMIT 1",
            )?
            .query_row([], |r| r.get(0))
            .optional()?;
        let is_old = oldest.is_some_and(|time| time < limits.oldest_kept());
        let most = limits.checkpoints.and_then(|most| i64::try_from(most).ok());
        let are_many = match most {
            Some(most) => conn
                .prepare_cached("SELECT 1 FROM node LIMIT 1 OFFSET ?1")?
                .exists([most])?,
            None => false,
        };
        Ok(is_old || are_many)
    }

    /// It was done: nobody needs to for a while.
    pub fn gc_was_done(&self) -> Result<()> {
        self.store.note(true, |conn| {
            conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('gc', ?1)")?
                .execute([store::now()])?;
            Ok(())
        })
    }
}

fn under_way() -> Error {
    Error::refused("a rewind is under way", "try again when it is done")
}

/// What a restore that is not over has written down names edits of any age.
fn refuse_beside_restores(conn: &Connection) -> Result<()> {
    let open: Option<Vec<u8>> = conn
        .prepare_cached(
            "SELECT r.path FROM operation o JOIN root r ON r.id = o.root
             WHERE o.state IN ('open', 'backwards', 'recorded') LIMIT 1",
        )?
        .query_row([], |r| r.get(0))
        .optional()?;
    match open {
        None => Ok(()),
        Some(root) => Err(Error::refused(
            format!(
                "a rewind in {} is under way, or was cut off",
                bytes_path(&root).display()
            ),
            "the next command there finishes it; then try again",
        )),
    }
}

/// Where it is done.
enum CollectIn<'a> {
    Store(&'a mut Engine),
    /// Of the store, to see what would happen.
    Copy(&'a Copy, &'a Engine),
}

struct Collector<'a> {
    place: CollectIn<'a>,
    progress: &'a mut dyn FnMut(Progress),
    /// Checkpoints of stretches that could not become one.
    stuck: BTreeSet<NodeId>,
    made: BTreeSet<NodeId>,
    gone: u64,
    /// What the store takes more than its copy.
    more: u64,
}

impl<'a> Collector<'a> {
    fn new(place: CollectIn<'a>, progress: &'a mut dyn FnMut(Progress)) -> Result<Self> {
        let more = match &place {
            CollectIn::Store(_) => 0,
            CollectIn::Copy(copy, engine) => engine
                .live_bytes()?
                .saturating_sub(sweep::size(&copy.conn)?),
        };
        Ok(Self {
            place,
            progress,
            stuck: BTreeSet::new(),
            made: BTreeSet::new(),
            gone: 0,
            more,
        })
    }

    fn engine(&self) -> &Engine {
        match &self.place {
            CollectIn::Store(engine) => engine,
            CollectIn::Copy(_, engine) => engine,
        }
    }

    fn conn(&self) -> &Connection {
        match &self.place {
            CollectIn::Store(engine) => &engine.store.conn,
            CollectIn::Copy(copy, _) => &copy.conn,
        }
    }

    fn dir(&self) -> &Path {
        &self.engine().store.dir
    }

    fn size(&self) -> Result<u64> {
        Ok(sweep::size(self.conn())? + self.more)
    }

    /// All of one moment.
    fn facts(&self) -> Result<Facts> {
        let moment = self.conn().unchecked_transaction()?;
        let facts = Facts::read(self.conn())?;
        moment.rollback()?;
        Ok(facts)
    }

    /// One step of it: what follows finds it whole. Captures and restores come between two of them.
    fn step<T>(&mut self, f: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let engine = match &mut self.place {
            CollectIn::Copy(copy, _) => {
                let tx = copy.conn.unchecked_transaction()?;
                let done = f(&tx)?;
                tx.commit()?;
                return Ok(done);
            }
            CollectIn::Store(engine) => engine,
        };
        let lock = engine.store.restore_lock(false, Engine::RESTORE_WAIT)?;
        let lock = lock.ok_or_else(under_way)?;
        let done = engine.store.write(Durable::Power, |conn| {
            refuse_beside_restores(conn)?;
            let done = f(conn)?;
            crate::fault::point("gc step");
            Ok(done)
        });
        drop(lock);
        // the log would grow by all that is touched, and every hook reads it
        engine.store.tidy();
        std::thread::sleep(PAUSE);
        done
    }

    fn run(mut self, limits: Limits) -> Result<Collected> {
        let before = self.size()?;
        let old = limits.oldest_kept();
        let upto = self.beyond(limits.checkpoints)?;
        self.squash(&|node| node.is_before(old) || node.id <= upto)?;
        self.forget_strays(old)?;
        let mut contents = self.sweep()?;
        let mut is_over = false;
        if let Some(most) = limits.bytes {
            let room = most / ROOM;
            // nothing is taken from a store that is within its limit
            let size = before.max(self.size()?);
            let (is_due, wanted) = if limits.early {
                (near(size, most), most - 2 * room)
            } else {
                (size > most, most - room)
            };
            if is_due {
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
            stuck: self.stuck.len() as u64,
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
        let facts = self.facts()?;
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
            let mut facts = self.facts()?;
            facts.hold(self.stuck.iter().copied());
            let stretches = facts.stretches(is_wanted);
            let total: usize = stretches.iter().map(|s| s.nodes.len()).sum();
            let Some(stretch) = stretches.into_iter().next() else {
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
                    self.made.extend(stretch.nodes.last());
                    overtaken = 0;
                }
                Made::Left => {
                    self.stuck.extend(&stretch.nodes);
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

    fn make_one(&mut self, facts: &Facts, stretch: &SquashRange) -> Result<Made> {
        self.step(|conn| {
            if !facts.hold_still(conn)? {
                return Ok(Made::Overtaken);
            }
            conn.execute_batch("SAVEPOINT stretch")?;
            let made = match squash::squash(conn, stretch, capture::silent_since()) {
                // a record is damaged: what is left of it stays
                Err(error) if error.kind() == ErrorKind::Store => Made::Left,
                made => made?,
            };
            conn.execute_batch(match made {
                Made::One => "RELEASE stretch",
                Made::Left | Made::Overtaken => "ROLLBACK TO stretch; RELEASE stretch",
            })?;
            Ok(made)
        })
    }

    /// Removes contents that nothing names. How many.
    fn sweep(&mut self) -> Result<u64> {
        let dir = self.dir().to_path_buf();
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
                let left = sweep::remove(conn, &dir, &mut dead)?;
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
        if matches!(self.place, CollectIn::Store(_)) {
            while let Some(pack) = sweep::repacked(self.conn(), &dir)? {
                self.step(|conn| pack.take_over(conn))?;
                pack.let_old_go(&dir);
            }
        }
        Ok(removed)
    }

    /// What agents told that belongs to no checkpoint, and operations that made none.
    fn forget_strays(&mut self, old: i64) -> Result<()> {
        self.step(|conn| {
            for sql in [
                "CREATE TEMP TABLE IF NOT EXISTS stray_call (id INTEGER PRIMARY KEY)",
                "CREATE TEMP TABLE IF NOT EXISTS stray_operation (id INTEGER PRIMARY KEY)",
                "DELETE FROM temp.stray_call",
                "DELETE FROM temp.stray_operation",
            ] {
                conn.execute(sql, [])?;
            }
            conn.execute(
                "INSERT INTO temp.stray_call SELECT id FROM main.call WHERE closed < ?1 AND turn IS NULL
                   AND id NOT IN (SELECT call FROM main.node WHERE call IS NOT NULL)
                   AND id NOT IN (SELECT call FROM main.change WHERE call IS NOT NULL)
                   AND id NOT IN (SELECT grp FROM main.call WHERE grp IS NOT NULL)",
                [old],
            )?;
            // those that lead to another branch say when a directory came to it
            conn.execute(
                "INSERT INTO temp.stray_operation SELECT id FROM main.operation o WHERE time < ?1
                   AND node IS NULL AND made IS NULL AND to_branch IS NULL
                   AND state NOT IN ('open', 'backwards', 'recorded')
                   AND NOT EXISTS (SELECT 1 FROM main.operation u WHERE u.of = o.id)
                   AND id NOT IN (SELECT operation FROM main.pending_save WHERE operation IS NOT NULL)
                   AND id < (SELECT MAX(id) FROM main.operation)",
                [old],
            )?;
            conn.execute("DELETE FROM event WHERE time < ?1 AND call IS NULL AND turn IS NULL", [old])?;
            conn.execute(
                "DELETE FROM reserved WHERE call IN (SELECT id FROM call WHERE closed < ?1)",
                [old],
            )?;
            conn.execute_batch(
                "DELETE FROM event WHERE call IN (SELECT id FROM temp.stray_call);
                 DELETE FROM reserved WHERE call IN (SELECT id FROM temp.stray_call);
                 DELETE FROM call WHERE id IN (SELECT id FROM temp.stray_call);",
            )?;
            squash::forget_operations(conn, "temp.stray_operation")
        })
    }

    /// What was made, and is not part of another by now.
    fn made(&self) -> Result<Vec<(NodeId, Squashed)>> {
        let conn = self.conn();
        let mut there = conn.prepare_cached("SELECT 1 FROM node WHERE id = ?1")?;
        let mut made = Vec::new();
        for id in &self.made {
            if there.exists([id])?
                && let Some(squashed) = history::node(conn, *id)?.squashed
            {
                made.push((*id, squashed));
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
