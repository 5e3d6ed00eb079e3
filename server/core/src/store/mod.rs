//! The store: one SQLite database per workspace, its pack files, its locks and its bell file. Owns durability; the
//! history owns the meaning of the data.

mod blobs;
mod codec;
mod coding;
pub(crate) mod gaps;
pub(crate) mod migrate;
mod pieces;
pub(crate) mod row_checksums;
mod set_hash;
pub(crate) mod tables;
pub(crate) mod varint;

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

pub(crate) use blobs::{
    ContentReader, PackWriter, Packed, Repacked, SealedPack, get, has, number, packs, put,
    put_alone,
};
pub use codec::to_json;
pub(crate) use codec::{json, state_columns, state_from};
pub(crate) use pieces::{named as pieces, put_stream, read};
pub(crate) use set_hash::SetHash;

use crate::error::{Context, Error, Result};

/// A WAL larger than this many bytes is moved into the database. The first connection reads the whole WAL, so every
/// hook pays for its length: about 2 µs per page. Moving it takes two syncs. Beside 1 MiB, a hook's mean time fell by a
/// tenth.
const WAL_LIMIT: u64 = 256 << 10;
/// A database of at most this many bytes is copied quickly enough while a hook waits.
const QUICK_COPY_LIMIT: i64 = 256 << 20;
pub(crate) const BELL: &str = "bell";
/// The same for the database of breakpoints and held calls.
pub const CONTROL_BELL: &str = "bell-control";
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
/// Busy timeout in a hook, which prefers a gap to delaying its agent.
pub const BUSY_TIMEOUT_HOOK: Duration = Duration::from_secs(5);

/// Pause between portions of a large content, so that others can write.
const PORTION_PAUSE: Duration = Duration::from_millis(3);
/// Portions after which the WAL is moved into the database.
const PORTIONS_PER_WAL_CHECKPOINT: u32 = 16;

/// Busy handler that waits in steps of 1 ms. SQLite's own handler waits up to 100 ms a time, and among many writers
/// such a slow waiter never gets the lock.
fn busy_handler(
    limit: Duration,
    no_wait: &Arc<AtomicBool>,
) -> impl FnMut(i32) -> bool + Send + 'static {
    let mut since = Instant::now();
    let no_wait = Arc::clone(no_wait);
    move |tries| {
        if no_wait.load(Ordering::Relaxed) {
            return false;
        }
        if tries == 0 {
            since = Instant::now();
        }
        std::thread::sleep(Duration::from_millis(1));
        since.elapsed() < limit
    }
}

#[derive(Debug)]
pub(crate) struct Store {
    pub conn: Connection,
    pub dir: PathBuf,
    /// Set while this connection must not wait for other writers.
    no_wait: Arc<AtomicBool>,
}

/// Failure that a commit must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durable {
    /// The death of the process.
    Process,
    /// A power loss, too: for before-images and journals.
    Power,
}

/// Returns the number of the newest checkpoint.
pub(crate) fn newest(conn: &Connection) -> Result<i64> {
    Ok(tables::node::newest(conn)?.map_or(0, |node| node.0))
}

impl Store {
    /// True if a store was ever made in `dir`.
    pub(crate) fn exists(dir: &Path) -> Result<bool> {
        let there = |name: &str| {
            let path = dir.join(name);
            path.try_exists().at("look for", &path)
        };
        Ok(there("store.db")? || there(BELL)?)
    }

    /// Opens the store in `dir`; makes it if it is missing.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        Self::open_with(dir, BUSY_TIMEOUT)
    }

    /// As `open`, with its own limit for the wait for other writers.
    pub(crate) fn open_with(dir: &Path, busy_timeout: Duration) -> Result<Self> {
        make_private_dir(dir)?;
        let path = dir.join("store.db");
        match std::fs::metadata(&path) {
            // a commit writes the bell file, and no commit leaves an empty database
            Ok(m) if m.len() == 0 && dir.join(BELL).exists() => {
                return Err(Error::Damaged {
                    path,
                    reason: "empty, though it was in use".into(),
                });
            }
            Ok(_) => {}
            Err(_) if dir.join(BELL).exists() => {
                return Err(Error::Damaged {
                    path,
                    reason: "gone, though it was in use".into(),
                });
            }
            Err(_) => {
                // private before SQLite writes a byte
                private_file(&path)
                    .create(true)
                    .append(true)
                    .open(&path)
                    .at("create", &path)?;
                gaps::reserve(dir);
            }
        }
        let had_wal = dir.join("store.db-wal").exists();
        let no_wait = Arc::new(AtomicBool::new(false));
        let conn = connect(&path, &migrate::STORE, busy_timeout, &no_wait)?;
        if !had_wal {
            // the WAL exists now; SQLite is built not to sync the directory at every first write of a process
            sync_dir(dir);
        }
        conn.execute_batch("PRAGMA foreign_keys=ON; PRAGMA cell_size_check=ON; PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=4194304;")?;
        Ok(Self {
            conn,
            dir: dir.to_path_buf(),
            no_wait,
        })
    }

    /// Starts a read transaction: all reads are from one moment and take their locks once. None: a transaction is
    /// already open.
    pub(crate) fn reading(&self) -> Result<Option<rusqlite::Transaction<'_>>> {
        let free = self.conn.is_autocommit();
        Ok(free
            .then(|| self.conn.unchecked_transaction())
            .transpose()?)
    }

    /// Runs `f` in one exclusive write transaction and rings the bell after the commit.
    pub(crate) fn write<T>(
        &self,
        durable: Durable,
        f: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.write_notifying(durable, |conn| Ok((f(conn)?, true)))
    }

    /// As `write`, but `f` returns true if there is news. A reader woken by the bell must not ring it again.
    pub(crate) fn write_notifying<T>(
        &self,
        durable: Durable,
        f: impl FnOnce(&Connection) -> Result<(T, bool)>,
    ) -> Result<T> {
        let (tx, there) = self.begin(durable)?;
        let (value, is_news) = f(&tx)?;
        self.finish(tx, there, is_news)?;
        Ok(value)
    }

    /// Begins a write transaction. Returns the newest node with it.
    // not generic, as `finish`: the code is compiled once, and not for each closure
    fn begin(&self, durable: Durable) -> Result<(rusqlite::Transaction<'_>, i64)> {
        let level = match durable {
            Durable::Process => "PRAGMA synchronous=NORMAL",
            Durable::Power => "PRAGMA synchronous=FULL",
        };
        self.conn.execute_batch(level)?;
        let tx = rusqlite::Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
        crate::fault::point("transaction begun");
        let there = newest(&tx)?;
        if let Some(lost) = self.lost()? {
            gaps::append(&self.dir, &lost);
            self.write_bell(there);
        }
        Ok((tx, there))
    }

    /// Commits a write transaction, and rings the bell for news.
    fn finish(&self, tx: rusqlite::Transaction<'_>, there: i64, is_news: bool) -> Result<()> {
        let left = newest(&tx)?;
        if left < there {
            // removed on purpose
            self.write_bell(left);
        }
        crate::fault::point("before commit");
        tx.commit()?;
        crate::fault::point("committed");
        if is_news {
            self.ring();
        }
        Ok(())
    }

    /// Writes derived data and does not ring the bell. Waits for other writers only if `must`.
    pub(crate) fn note<T>(
        &self,
        must: bool,
        f: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let tx = self.begin_note(must)?;
        let value = f(&tx)?;
        tx.commit()?;
        Ok(value)
    }

    fn begin_note(&self, must: bool) -> Result<rusqlite::Transaction<'_>> {
        self.conn.execute_batch("PRAGMA synchronous=NORMAL")?;
        self.no_wait.store(!must, Ordering::Relaxed);
        let begun =
            rusqlite::Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate);
        self.no_wait.store(false, Ordering::Relaxed);
        Ok(begun?)
    }

    /// Waits until the current writers have committed.
    pub(crate) fn after_writers(&self) -> Result<()> {
        self.note(true, |_| Ok(()))
    }

    /// Rings the bell to tell watchers that there is news. A lost ring is harmless, because they also poll.
    fn ring(&self) {
        self.write_bell(newest(&self.conn).unwrap_or(0));
    }

    /// Describes checkpoints that existed and are lost. After damage to the WAL or a power loss, SQLite continues
    /// with the older state.
    pub(crate) fn lost(&self) -> Result<Option<String>> {
        let bell = std::fs::read_to_string(self.bell()).unwrap_or_default();
        let number = bell.split_whitespace().nth(2);
        let Some(rung) = number.and_then(|number| number.parse::<i64>().ok()) else {
            return Ok(None);
        };
        // read after the bell: every checkpoint that it announced was committed before
        let there = newest(&self.conn)?;
        let first = there + 1;
        let which = match rung - there {
            ..=0 => return Ok(None),
            1 => format!("c{rung} is"),
            _ => format!("c{first} to c{rung} are"),
        };
        Ok(Some(format!(
            "{which} lost: the newest part of the store's database was damaged, or the power failed"
        )))
    }

    fn write_bell(&self, newest: i64) {
        // always the same length, written in place: truncating and rewriting would allocate new blocks each time
        let stamp = format!("{:<20} {:<10} {newest:<12}\n", now(), std::process::id());
        let path = self.bell();
        private_file(&path)
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .and_then(|mut f| std::io::Write::write_all(&mut f, stamp.as_bytes()))
            .ok();
    }

    /// Returns the path of the bell file, which `ring` writes.
    pub(crate) fn bell(&self) -> PathBuf {
        self.dir.join(BELL)
    }

    /// Moves the WAL into the database when it has grown; never waits for others.
    pub(crate) fn tidy(&self) {
        let wal = self.dir.join("store.db-wal");
        if std::fs::metadata(&wal).is_ok_and(|m| m.len() > WAL_LIMIT) {
            self.no_wait.store(true, Ordering::Relaxed);
            // not PASSIVE: the state of a moved WAL is forgotten with the last connection, and the next writer would
            // append at its end
            self.conn
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                .ok();
            self.no_wait.store(false, Ordering::Relaxed);
        }
    }

    /// Frees the disk space after everything was removed, unless another process is reading.
    pub(crate) fn shrink(&mut self) {
        std::fs::remove_dir_all(blobs::packs(&self.dir)).ok();
        self.no_wait.store(true, Ordering::Relaxed);
        self.conn.execute_batch("VACUUM").ok();
        self.conn
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .ok();
        self.no_wait.store(false, Ordering::Relaxed);
    }

    /// Frees disk space after much was removed. Done only if copying the database is quick or most of it is free, and
    /// no other process uses it. Remaining free pages are reused.
    pub(crate) fn reclaim_space(&mut self) {
        let number = |name: &str| -> i64 {
            let sql = format!("PRAGMA {name}");
            let read = self.conn.query_row(&sql, [], |r| r.get(0));
            read.unwrap_or(0)
        };
        let (pages, free) = (number("page_count"), number("freelist_count"));
        let is_quick = (pages - free) * number("page_size") < QUICK_COPY_LIMIT;
        if free > pages / 2 || is_quick && free > pages / 4 {
            self.no_wait.store(true, Ordering::Relaxed);
            self.conn.execute_batch("VACUUM").ok();
            self.no_wait.store(false, Ordering::Relaxed);
        }
        self.tidy();
    }

    /// Takes the lock for removing old data. None: another process has it.
    pub(crate) fn gc_lock(&self) -> Result<Option<Lock>> {
        lock(&self.dir.join("gc.lock"), true, Duration::ZERO)
    }

    /// Takes the lock for full scans. None: another process has it.
    pub(crate) fn scan_lock(&self) -> Result<Option<Lock>> {
        lock(&self.dir.join("scan.lock"), true, Duration::ZERO)
    }

    /// Removes packs that no row names: their writer died before it could insert the rows.
    pub(crate) fn remove_orphans(&mut self) -> Result<()> {
        let old = blobs::old_packs(&self.dir);
        if old.is_empty() {
            return Ok(());
        }
        let dir = self.dir.clone();
        // within a transaction, so that nobody can name a pack meanwhile
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        let removed = blobs::remove_orphans(&self.conn, &dir, old);
        self.conn.execute_batch("COMMIT")?;
        removed
    }

    pub(crate) fn content(&self, id: &crate::model::ContentId) -> Result<Vec<u8>> {
        get(&self.conn, &self.dir, id)
    }

    /// Reads a content, a large one piece by piece. The bytes are verified only if it returns Ok.
    pub(crate) fn read(
        &self,
        id: &crate::model::ContentId,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        read(&self.conn, &self.dir, id, take)
    }

    /// Stores a large content before the transaction that names it, so that others can write between its pieces.
    /// None: others have removed some of the pieces.
    pub(crate) fn put_ahead(
        &self,
        from: impl std::io::Read,
        like: Option<crate::model::ContentId>,
    ) -> Result<Option<(crate::model::ContentId, u64)>> {
        let mut cutter = pieces::Cutter::new(&self.conn, from, like)?;
        let mut portions = 0;
        while self.note(true, |conn| cutter.put_some(conn, &self.dir))? {
            crate::fault::point("pieces stored");
            // a waiting writer retries every millisecond
            std::thread::sleep(PORTION_PAUSE);
            portions += 1;
            if portions % PORTIONS_PER_WAL_CHECKPOINT == 0 {
                self.tidy();
            }
        }
        self.note(true, |conn| cutter.put_whole(conn))
    }

    /// Takes the lock between captures (shared) and restores (exclusive). None: not within `wait`.
    pub(crate) fn restore_lock(&self, exclusive: bool, wait: Duration) -> Result<Option<Lock>> {
        let until = Instant::now() + wait;
        // a waiting restore keeps the gate shut: otherwise continuous captures would never let it in
        let Some(gate) = lock(&self.dir.join("restore.gate"), exclusive, wait)? else {
            return Ok(None);
        };
        let left = until.saturating_duration_since(Instant::now());
        let taken = lock(&self.dir.join("restore.lock"), exclusive, left)?;
        Ok(taken.map(|lock| Lock {
            gate: exclusive.then_some(gate.file),
            ..lock
        }))
    }
}

/// Opens a database of this schema, and migrates it.
pub fn connect(
    path: &Path,
    schema: &migrate::Schema,
    busy_timeout: Duration,
    no_wait: &Arc<AtomicBool>,
) -> Result<Connection> {
    let mut conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_handler(Some(busy_handler(busy_timeout, no_wait)))?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // otherwise a cached statement is planned again whenever a bound value might matter to a partial index
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_prepared_statement_cache_capacity(128);
    migrate::run(&conn, path, schema, busy_timeout)?;
    Ok(conn)
}

/// Takes an operating system lock on this file. None: not within `wait`.
pub fn lock(path: &Path, exclusive: bool, wait: Duration) -> Result<Option<Lock>> {
    let file = private_file(path)
        .create(true)
        .append(true)
        .read(true)
        .open(path)
        .at("open", path)?;
    lock_file(file, path, exclusive, wait)
}

/// As `lock`, on an existing file. None: not within `wait`, or the file is gone.
pub(crate) fn lock_existing(path: &Path, wait: Duration) -> Result<Option<Lock>> {
    match private_file(path).read(true).write(true).open(path) {
        Ok(file) => lock_file(file, path, true, wait),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).at("open", path),
    }
}

fn lock_file(file: File, path: &Path, exclusive: bool, wait: Duration) -> Result<Option<Lock>> {
    let start = Instant::now();
    loop {
        let taken = if exclusive {
            file.try_lock()
        } else {
            file.try_lock_shared()
        };
        match taken {
            Ok(()) => {
                return Ok(Some(Lock { file, gate: None }));
            }
            Err(std::fs::TryLockError::WouldBlock) if start.elapsed() < wait => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
            Err(std::fs::TryLockError::Error(source)) => {
                return Err(Error::Io {
                    what: format!("lock {}", path.display()),
                    source,
                });
            }
        }
    }
}

/// A lock that is held until dropped; the kernel frees it when the process dies.
#[derive(Debug)]
pub struct Lock {
    file: File,
    #[expect(dead_code, reason = "held, not used")]
    gate: Option<File>,
}

/// Makes the entries of a directory durable.
pub(crate) fn sync_dir(dir: &Path) {
    // some file systems cannot sync directories; nothing better can be done there
    File::open(dir).and_then(|dir| dir.sync_all()).ok();
}

/// Returns microseconds since 1970.
pub fn now() -> i64 {
    let time = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX));
    time + crate::fault::clock_error()
}

pub fn make_private_dir(dir: &Path) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).at("create", dir)
}

/// Returns options for a file that only the user may read.
pub fn private_file(_path: &Path) -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
