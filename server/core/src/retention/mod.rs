//! Retention: squashes old checkpoints and deletes unreferenced contents. Nothing else removes data from a history
//! in use. Works in small transactions, each of which leaves the store consistent: an interrupted run has removed
//! less, and hooks and rewinds run in between.

mod age;
mod copy;
mod plan;
mod squash;
mod sweep;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use crate::config::Config;
use crate::engine::{Engine, Progress, disk_use};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{NodeId, Squashed};
use crate::places::Workspace;
use crate::store::tables::id_list::IdList;
use crate::store::tables::meta::{self, MetaKey};
use crate::store::tables::node::{self, CheckpointRow};
use crate::store::tables::{call, event, operation, reserved, root};
use crate::store::{self, Durable};
use crate::{capture, history};
use age::TooOld;
use copy::Copy;
use plan::{Facts, SquashRange};

const DAY: i64 = 24 * 3600 * 1_000_000;
/// Minimum time between checks of the store's size, in microseconds.
const CHECK_INTERVAL: i64 = 10 * 60 * 1_000_000;
/// A tenth of the limit stays free, so that the next checkpoint does not exceed it again.
const HEADROOM: u64 = 10;
/// Number of steps in which a store that is too large is squashed.
const SIZE_PARTS: usize = 8;
/// Number of times a plan may become stale before gc gives up.
const MAX_STALE: u32 = 100;
/// Pause between two steps, so that waiting processes get the store.
const PAUSE: Duration = Duration::from_millis(5);

/// Limits of the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Maximum age in days. None: no limit.
    pub days: Option<u64>,
    /// Maximum number of checkpoints.
    pub checkpoints: Option<u64>,
    /// Maximum size of the store. The oldest checkpoints are squashed first.
    pub bytes: Option<u64>,
    /// Background run: squashes as soon as the size comes near its limit, so that it is never reached. For their age it
    /// squashes neither what was recorded since the last run nor the newest turns.
    pub early: bool,
    /// Also squashes checkpoints that are too old by the clock alone, which may have been wrong.
    pub trust_clock: bool,
}

impl Limits {
    fn of(config: &Config) -> Self {
        Self {
            days: Some(config.keep_days()),
            checkpoints: config.most_checkpoints(),
            bytes: config.most_bytes(),
            early: false,
            trust_clock: false,
        }
    }

    /// The more generous of both limits.
    fn or(self, other: Self) -> Self {
        let larger = |a: Option<u64>, b: Option<u64>| Some(a?.max(b?));
        Self {
            days: larger(self.days, other.days),
            checkpoints: larger(self.checkpoints, other.checkpoints),
            bytes: larger(self.bytes, other.bytes),
            early: self.early,
            trust_clock: self.trust_clock,
        }
    }

    /// Maximum number of checkpoints, if there is one.
    fn most_checkpoints(&self) -> Option<u64> {
        self.checkpoints.filter(|most| *most > 0)
    }

    /// Maximum age in microseconds. None: no limit.
    fn max_age(&self) -> Option<i64> {
        self.days
            .and_then(|days| i64::try_from(days).ok()?.checked_mul(DAY))
    }

    /// Time before which checkpoints are too old, in microseconds since 1970.
    fn oldest_kept(&self) -> i64 {
        let age = self.max_age();
        age.map_or(i64::MIN, |age| store::now().saturating_sub(age))
    }
}

/// Result of a gc, or of its dry run.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Number of checkpoints that were squashed into those of `made`.
    pub gone: u64,
    /// Squashed checkpoints, oldest first.
    pub made: Vec<(NodeId, Squashed)>,
    /// Number of deleted contents.
    pub contents: u64,
    /// Size of the store before, in bytes.
    pub before: u64,
    /// Size of the store after, in bytes.
    pub after: u64,
    /// True if the store is still above its size limit.
    pub is_over: bool,
    /// Number of remaining checkpoints, if they are still more than the limit.
    pub too_many: Option<u64>,
    /// Number of checkpoints that could not be squashed because their records are inconsistent.
    pub stuck: u64,
    /// Checkpoints that stay because only the clock says that they are too old.
    pub suspect: Option<SuspectAges>,
}

/// Checkpoints that are too old by the clock, but not by the time between checkpoints: the clock may have been wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectAges {
    pub checkpoints: u64,
    /// The longest gap between two of them, in days.
    pub days: u64,
    /// The checkpoint after the gap. None: it is the gap up to now.
    pub before: Option<NodeId>,
}

/// True if a size is near its limit.
pub fn near(size: u64, most: u64) -> bool {
    size >= most - most / HEADROOM
}

/// Squashes old checkpoints, and frees disk space. `E` is `&Engine` for questions, `&mut Engine` for the rest.
#[derive(Clone, Copy, Debug)]
pub struct Retention<E> {
    engine: E,
}

impl Engine {
    /// Retention of old checkpoints: questions.
    pub fn retention(&self) -> Retention<&Self> {
        Retention { engine: self }
    }

    /// Retention of old checkpoints.
    pub fn retention_mut(&mut self) -> Retention<&mut Self> {
        Retention { engine: self }
    }
}

impl Retention<&mut Engine> {
    /// Removes everything beyond these limits.
    pub fn gc(&mut self, limits: Limits, progress: &mut dyn FnMut(Progress)) -> Result<Collected> {
        let _gc_lock = self.gc_lock()?;
        copy::remove_stale(&self.engine.store.dir);
        // finishes an interrupted rewind of this directory first
        let lock = self.engine.quiet_lock(Engine::RESTORE_WAIT)?;
        let lock = lock.ok_or_else(under_way)?;
        refuse_beside_restores(&self.engine.store.conn)?;
        drop(lock);
        // each deleted row would be searched for in tables without an index on it
        self.engine
            .store
            .conn
            .execute_batch("PRAGMA foreign_keys=OFF")?;
        let place = CollectIn::Store(self.engine);
        let done = Collector::new(place, progress).and_then(|gc| gc.run(limits));
        self.engine
            .store
            .conn
            .execute_batch("PRAGMA foreign_keys=ON")?;
        let done = done?;
        // packs that an earlier run replaced
        if let Some(_scan_lock) = self.engine.store.scan_lock()? {
            self.engine.store.remove_orphans()?;
        }
        self.engine.store.reclaim_space();
        Ok(done)
    }
}

impl<E: Deref<Target = Engine>> Retention<E> {
    /// Limits from the settings: the most generous of all directories that share the history.
    pub fn limits(&self) -> Result<Limits> {
        let mut limits = Limits::of(&self.engine.config());
        for (root, path) in root::existing(&self.engine.store.conn)? {
            if root != self.engine.here.root {
                let workspace = Workspace {
                    root: path,
                    store_dir: self.engine.store.dir.clone(),
                    shared: true,
                };
                limits = limits.or(Limits::of(&Config::read(&workspace)));
            }
        }
        Ok(limits)
    }

    /// Bytes that the history needs, without free space that it can reuse.
    pub fn live_bytes(&self) -> Result<u64> {
        sweep::size(&self.engine.store.conn)
    }

    /// Like `gc`, on a copy: reports the outcome and blocks no other process.
    pub fn gc_dry(&self, limits: Limits, progress: &mut dyn FnMut(Progress)) -> Result<Collected> {
        let _gc_lock = self.gc_lock()?;
        copy::remove_stale(&self.engine.store.dir);
        refuse_beside_restores(&self.engine.store.conn)?;
        let copy = Copy::of(&self.engine.store)?;
        Collector::new(CollectIn::Copy(&copy, &self.engine), progress)?.run(limits)
    }

    fn gc_lock(&self) -> Result<store::Lock> {
        self.engine.store.gc_lock()?.ok_or_else(|| {
            Error::refused(
                "another gc is running",
                "`backstitch status` shows the size of the store",
            )
        })
    }

    /// True if a background `gc` is due: checkpoints are too old or too many, or the store is near its size limit.
    /// Cheap. True at most once a day; every few minutes if the store is near its limit.
    pub fn gc_is_due(&self) -> Result<bool> {
        let conn = &self.engine.store.conn;
        let last: Option<i64> = meta::get(conn, &MetaKey::Gc)?;
        let age = last.map_or(DAY, |last| store::now() - last);
        // a negative age means that the clock was set back
        if (0..CHECK_INTERVAL).contains(&age) {
            return Ok(false);
        }
        let limits = self.limits()?;
        if let Some(most) = limits.bytes
            && near(disk_use(&self.engine.store.dir), most)
            && near(self.live_bytes()?, most)
        {
            return Ok(true);
        }
        if (0..DAY).contains(&age) {
            return Ok(false);
        }
        let oldest = node::oldest_unsquashed(conn)?;
        let is_old = oldest.is_some_and(|time| time < limits.oldest_kept());
        let most = limits
            .most_checkpoints()
            .and_then(|most| i64::try_from(most).ok());
        let are_many = match most {
            Some(most) => node::are_more_than(conn, most)?,
            None => false,
        };
        Ok(is_old || are_many)
    }

    /// Notes the time of a `gc`, so that none is due for a while.
    pub fn gc_was_done(&self) -> Result<()> {
        self.engine
            .store
            .note(true, |conn| meta::set(conn, &MetaKey::Gc, store::now()))
    }
}

fn suspect_ages(aged: &TooOld) -> Option<SuspectAges> {
    let (gap, before) = aged.jump.filter(|_| !aged.suspect.is_empty())?;
    Some(SuspectAges {
        checkpoints: aged.suspect.len() as u64,
        days: u64::try_from(gap / DAY).unwrap_or_default(),
        before,
    })
}

fn under_way() -> Error {
    Error::refused("a rewind is running", "try again when it is done")
}

/// Refuses to run beside an unfinished restore, whose journal may name edits of any age.
fn refuse_beside_restores(conn: &Connection) -> Result<()> {
    let open = operation::unfinished_root(conn)?;
    match open {
        None => Ok(()),
        Some(root) => Err(Error::refused(
            format!(
                "a rewind in {} is running or was interrupted",
                root.display()
            ),
            "the next command there finishes it; then try again",
        )),
    }
}

/// The database to collect in.
enum CollectIn<'a> {
    Store(&'a mut Engine),
    /// A copy of the store's database, for a dry run.
    Copy(&'a Copy, &'a Engine),
}

struct Collector<'a> {
    place: CollectIn<'a>,
    progress: &'a mut dyn FnMut(Progress),
    /// Checkpoints of ranges that could not be squashed.
    stuck: BTreeSet<NodeId>,
    made: BTreeSet<NodeId>,
    gone: u64,
    /// Bytes by which the store is larger than its copy.
    extra_bytes: u64,
}

impl<'a> Collector<'a> {
    fn new(place: CollectIn<'a>, progress: &'a mut dyn FnMut(Progress)) -> Result<Self> {
        let extra_bytes = match &place {
            CollectIn::Store(_) => 0,
            CollectIn::Copy(copy, engine) => engine
                .retention()
                .live_bytes()?
                .saturating_sub(sweep::size(&copy.conn)?),
        };
        Ok(Self {
            place,
            progress,
            stuck: BTreeSet::new(),
            made: BTreeSet::new(),
            gone: 0,
            extra_bytes,
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
        Ok(sweep::size(self.conn())? + self.extra_bytes)
    }

    /// Reads the facts in one transaction.
    fn facts(&self) -> Result<Facts> {
        let moment = self.conn().unchecked_transaction()?;
        let facts = Facts::read(self.conn())?;
        moment.rollback()?;
        Ok(facts)
    }

    /// Runs one step in its own transaction. Captures and restores may run between two steps.
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
        // checkpoint the WAL, which would grow with every step and which every hook reads
        engine.store.tidy();
        std::thread::sleep(PAUSE);
        done
    }

    fn run(mut self, limits: Limits) -> Result<Collected> {
        let before = self.size()?;
        let aged = self.too_old(limits)?;
        let upto = self.newest_beyond(limits.most_checkpoints())?;
        self.squash(&|node| aged.certain.contains(&node.id) || node.id <= upto)?;
        if aged.suspect.is_empty() {
            self.delete_unattached(limits.oldest_kept())?;
        }
        let mut contents = self.sweep()?;
        let mut is_over = false;
        if let Some(most) = limits.bytes {
            let room = most / HEADROOM;
            // a store within its limit is left as it is
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
        if matches!(self.place, CollectIn::Store(_)) {
            self.step(|conn| {
                let newest = node::newest(conn)?.unwrap_or(NodeId(0));
                meta::set(conn, &MetaKey::GcMark, newest)
            })?;
        }
        let left = u64::try_from(node::count(self.conn())?).unwrap_or_default();
        let too_many = limits.most_checkpoints().filter(|most| left > *most);
        Ok(Collected {
            too_many: too_many.map(|_| left),
            gone: self.gone,
            made: self.made()?,
            contents,
            before,
            after: self.size()?,
            is_over,
            stuck: self.stuck.len() as u64,
            suspect: suspect_ages(&aged),
        })
    }

    /// Returns the checkpoints that are too old. Those that are so by the clock alone count if the clock is trusted.
    fn too_old(&self, limits: Limits) -> Result<TooOld> {
        let Some(limit) = limits.max_age() else {
            return Ok(TooOld::default());
        };
        let nodes = node::checkpoints(self.conn())?;
        let mut aged = age::too_old(&nodes, store::now(), limit);
        if limits.trust_clock {
            aged.certain.extend(std::mem::take(&mut aged.suspect));
        }
        if limits.early {
            let mark = meta::get(self.conn(), &MetaKey::GcMark)?;
            let protected = age::protected(&nodes, mark);
            aged.certain.retain(|id| !protected.contains(id));
        }
        Ok(aged)
    }

    /// Returns the newest checkpoint to squash for a limit of `most`, or node 0. One place is for the checkpoint that the
    /// squashed ones become.
    fn newest_beyond(&self, most: Option<u64>) -> Result<NodeId> {
        let Some(most) = most else {
            return Ok(NodeId(0));
        };
        let most = i64::try_from(most - 1).unwrap_or(i64::MAX);
        let newest = node::newest_beyond(self.conn(), most)?;
        Ok(newest.unwrap_or(NodeId(0)))
    }

    /// Splits the checkpoints that may be squashed into parts, oldest first. Returns the last checkpoint of each.
    fn parts(&self) -> Result<Vec<NodeId>> {
        let facts = self.facts()?;
        let ranges = facts.ranges(|_| true);
        let mut candidates: Vec<NodeId> = ranges.into_iter().flat_map(|s| s.nodes).collect();
        candidates.sort_unstable();
        let mut parts: Vec<NodeId> = (1..=SIZE_PARTS)
            .filter_map(|part| {
                candidates.get((candidates.len() * part / SIZE_PARTS).checked_sub(1)?)
            })
            .copied()
            .collect();
        // for a long range, only its older part is returned
        parts.extend(facts.nodes.last().map(|node| node.id));
        Ok(parts)
    }

    fn squash(&mut self, is_wanted: &dyn Fn(&CheckpointRow) -> bool) -> Result<()> {
        let mut stale = 0;
        loop {
            let mut facts = self.facts()?;
            facts.retain_also(self.stuck.iter().copied());
            let ranges = facts.ranges(is_wanted);
            let total: usize = ranges.iter().map(|s| s.nodes.len()).sum();
            let Some(range) = ranges.into_iter().next() else {
                return Ok(());
            };
            (self.progress)(Progress {
                what: "squashing old checkpoints",
                done: self.gone,
                total: Some(self.gone + total as u64),
            });
            match self.squash_range(&facts, &range)? {
                SquashOutcome::Done => {
                    self.gone += range.nodes.len() as u64 - 1;
                    self.made.extend(range.nodes.last());
                    stale = 0;
                }
                SquashOutcome::Left => {
                    self.stuck.extend(&range.nodes);
                }
                SquashOutcome::Stale => {
                    stale += 1;
                    if stale > MAX_STALE {
                        return Err(Error::refused(
                            "other processes keep changing the history",
                            "try again when they are done; the store is consistent",
                        ));
                    }
                }
            }
        }
    }

    fn squash_range(&mut self, facts: &Facts, range: &SquashRange) -> Result<SquashOutcome> {
        self.step(|conn| {
            if !facts.is_unchanged(conn)? {
                return Ok(SquashOutcome::Stale);
            }
            conn.execute_batch("SAVEPOINT stretch")?;
            let outcome = match squash::squash(conn, range, capture::inactive_before()) {
                // a damaged record stays as it is
                Err(error) if error.kind() == ErrorKind::Store => SquashOutcome::Left,
                outcome => outcome?,
            };
            conn.execute_batch(match outcome {
                SquashOutcome::Done => "RELEASE stretch",
                SquashOutcome::Left | SquashOutcome::Stale => {
                    "ROLLBACK TO stretch; RELEASE stretch"
                }
            })?;
            Ok(outcome)
        })
    }

    /// Deletes unreferenced contents. Returns their number.
    fn sweep(&mut self) -> Result<u64> {
        let dir = self.dir().to_path_buf();
        let mut removed = 0;
        let mut known: Option<(i64, sweep::Unreferenced)> = None;
        loop {
            let before = known.take();
            let (left, some, next) = self.step(|conn| {
                // another process may have referenced one of them since
                let version: i64 = conn.query_row("PRAGMA data_version", [], |r| r.get(0))?;
                let mut unreferenced = match before {
                    Some((at, unreferenced)) if at == version => unreferenced,
                    _ => sweep::unreferenced(conn)?,
                };
                let all = unreferenced.rows.len();
                let left = sweep::remove(conn, &dir, &mut unreferenced)?;
                Ok((left, all - left, (version, unreferenced)))
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
                self.step(|conn| pack.update_rows(conn))?;
                pack.retire_old(&dir);
            }
        }
        Ok(removed)
    }

    /// Deletes old agent events and calls without a checkpoint, and old operations that made none.
    fn delete_unattached(&mut self, old: i64) -> Result<()> {
        self.step(|conn| {
            IdList::StrayCalls.begin(conn)?;
            IdList::StrayOperations.begin(conn)?;
            call::list_stray(conn, old)?;
            operation::list_stray(conn, old)?;
            event::delete_unattached(conn, old)?;
            reserved::delete_closed(conn, old)?;
            squash::delete_calls(conn, IdList::StrayCalls)?;
            squash::delete_operations(conn, IdList::StrayOperations)
        })
    }

    /// Returns the squashed checkpoints that exist, without those squashed again since.
    fn made(&self) -> Result<Vec<(NodeId, Squashed)>> {
        let conn = self.conn();
        let mut made = Vec::new();
        for id in &self.made {
            if node::is_there(conn, *id)?
                && let Some(squashed) = history::node(conn, *id)?.squashed
            {
                made.push((*id, squashed));
            }
        }
        Ok(made)
    }
}

/// Result of squashing a range.
enum SquashOutcome {
    Done,
    /// The range stays as it is.
    Left,
    /// The facts of the plan are out of date.
    Stale,
}
