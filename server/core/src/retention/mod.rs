//! Retention: squashes old checkpoints and deletes unreferenced contents. Nothing else removes data from a history
//! in use. Works in small transactions, each of which leaves the store consistent: an interrupted run has removed
//! less, and hooks and rewinds run in between.

mod age;
mod collected;
mod collector;
mod copy;
mod limits;
mod plan;
mod squash;
mod sweep;

use std::ops::Deref;

use crate::config::Config;
use crate::engine::{Engine, Progress, disk_use};
use crate::error::{Error, Result};
use crate::places::Workspace;
use crate::store;
use crate::store::tables::meta::{self, MetaKey};
use crate::store::tables::{node, root};
use collector::{CollectIn, Collector, refuse_beside_restores, under_way};
use copy::Copy;
use limits::DAY;

pub use collected::{Collected, SuspectAges};
pub use limits::{Limits, near};

/// Minimum time between checks of the store's size, in microseconds.
const CHECK_INTERVAL: i64 = 10 * 60 * 1_000_000;

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
                    kind: self.engine.root.sources.kind(),
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
