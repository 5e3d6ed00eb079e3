//! Collector: one run of gc, step by step, in the store or in its copy.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::age::{self, TooOld};
use super::collected::{Collected, SuspectAges};
use super::copy::Copy;
use super::limits::{DAY, HEADROOM, Limits, near};
use super::plan::{Facts, SquashRange};
use super::squash::{self, SquashOutcome};
use super::sweep;
use crate::engine::{Engine, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{NodeId, Squashed};
use crate::store::tables::id_list::IdList;
use crate::store::tables::meta::{self, MetaKey};
use crate::store::tables::node::{self, CheckpointRow};
use crate::store::tables::{call, event, operation, reserved};
use crate::store::{self, Durable};
use crate::{capture, history};

/// Number of steps in which a store that is too large is squashed.
const SIZE_PARTS: usize = 8;
/// Number of times a plan may become stale before gc gives up.
const MAX_STALE: u32 = 100;
/// Pause between two steps, so that waiting processes get the store.
const PAUSE: Duration = Duration::from_millis(5);

/// The database to collect in.
pub(super) enum CollectIn<'a> {
    Store(&'a mut Engine),
    /// A copy of the store's database, for a dry run.
    Copy(&'a Copy, &'a Engine),
}

pub(super) struct Collector<'a> {
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
    pub(super) fn new(place: CollectIn<'a>, progress: &'a mut dyn FnMut(Progress)) -> Result<Self> {
        let extra_bytes = match &place {
            CollectIn::Store(_) => 0,
            CollectIn::Copy(copy, engine) => {
                sweep::size(&engine.store.conn)?.saturating_sub(sweep::size(&copy.conn)?)
            }
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

    pub(super) fn run(mut self, limits: Limits) -> Result<Collected> {
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

fn suspect_ages(aged: &TooOld) -> Option<SuspectAges> {
    let (gap, before) = aged.jump.filter(|_| !aged.suspect.is_empty())?;
    Some(SuspectAges {
        checkpoints: aged.suspect.len() as u64,
        days: u64::try_from(gap / DAY).unwrap_or_default(),
        before,
    })
}

pub(super) fn under_way() -> Error {
    Error::refused("a rewind is running", "try again when it is done")
}

/// Refuses to run beside an unfinished restore, whose journal may name edits of any age.
pub(super) fn refuse_beside_restores(conn: &Connection) -> Result<()> {
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
