//! The recorder: one process at a time watches the files of a root. Others then need not walk the tree to find
//! changes. Changes that no hook reports are recorded soon. It holds the lease while it lives. Without a recorder, or
//! without its answer in time, everything still works.

mod pace;
mod state;
#[cfg(test)]
mod tests;
#[cfg(target_os = "linux")]
mod watch;

#[cfg(target_os = "linux")]
pub(crate) use crate::chat_history::ChatHistory;
use crate::worktree::dirty::Extent;

use std::convert::Infallible;
use std::io::{PipeReader, PipeWriter, pipe};
#[cfg(target_os = "linux")]
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::{Engine, OpenOptions};
use crate::error::{Error, Result};
use crate::model::{Reason, RelPath, RootId};
use crate::places::Workspace;
use crate::store;
use crate::worktree::cookie;
use pace::Pace;
use state::{FullScan, RecorderState};

/// Maximum delay of a scan while changes continue.
const MAX_DELAY: Duration = Duration::from_secs(3);
/// Delay before differences that could not be recorded are scanned again.
const RETRY_DELAY: Duration = Duration::from_secs(2);
/// Delay before many watches are set again after a failure.
const FAILURE_DELAY: Duration = Duration::from_mins(5);
/// Poll interval for a store, a lease and the end.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How long `drop` waits for the recorder thread, which may itself be waiting for another process.
const DROP_TIMEOUT: Duration = Duration::from_secs(1);

/// Settings of a recorder.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// True to record changes as nodes; otherwise it only answers queries.
    pub records: bool,
    /// Quiet time after which touched paths are scanned.
    pub quiet: Duration,
    /// As of the process: the recorder has an engine of the same kind.
    pub options: OpenOptions,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            records: true,
            quiet: Duration::from_millis(300),
            options: OpenOptions::SERVER,
        }
    }
}

/// Status of this process's recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecorderStatus {
    /// There is no store yet, or another process watches.
    Waiting,
    /// It watches this many directories and has scanned all touched paths.
    Watching { directories: usize },
    /// It cannot watch, for this reason; every scan walks the tree.
    Failed(String),
}

/// A recorder, which watches until it is dropped.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    /// Dropped at the end, which wakes the watching thread.
    running: Option<PipeWriter>,
    /// Its sender is dropped when the thread ends.
    ended: Mutex<Receiver<Infallible>>,
}

/// State shared by the watching thread and the scanning thread.
#[derive(Debug)]
struct Shared {
    stop: Arc<AtomicBool>,
    /// Ready for a read as soon as the recorder stops.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code))]
    stopped: PipeReader,
    state: Mutex<RecorderState>,
    wakeup: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Recorder {
    /// Starts watching as soon as there is a store and no other process watches. `report` receives each new status.
    pub fn start(
        workspace: &Workspace,
        recording: Recording,
        report: impl Fn(RecorderStatus) + Send + Sync + 'static,
    ) -> Result<Self> {
        let (stopped, running) = pipe().map_err(|source| Error::Io {
            what: "open a pipe".into(),
            source,
        })?;
        let shared = Arc::new(Shared {
            stop: Arc::default(),
            stopped,
            state: Mutex::new(RecorderState::new()),
            wakeup: Condvar::new(),
        });
        let (thread_shared, workspace) = (Arc::clone(&shared), workspace.clone());
        let thread = std::thread::Builder::new().name("backstitch recorder".into());
        let (sender, ended) = channel();
        let work = move || {
            let _sender: Sender<Infallible> = sender;
            run_until_stopped(&thread_shared, &workspace, recording, &report);
        };
        thread.spawn(work).map_err(|source| Error::Io {
            what: "start a thread".into(),
            source,
        })?;
        Ok(Self {
            shared,
            running: Some(running),
            ended: Mutex::new(ended),
        })
    }

    /// Has everything scanned at once if everything may have changed: nobody writes now. Until then each question has to compare
    /// all files.
    pub fn scan_soon(&self) {
        let mut state = self.shared.state();
        if state.extent() == Extent::All {
            let now = Instant::now();
            // the longest delay is over
            state.since = Some((now.checked_sub(MAX_DELAY).unwrap_or(now), now));
            self.shared.wakeup.notify_all();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.wakeup.notify_all();
        self.running.take();
        // frees the lease before `drop` returns, unless the thread waits for another process
        let ended = self.ended.get_mut();
        let ended = ended.unwrap_or_else(PoisonError::into_inner);
        ended.recv_timeout(DROP_TIMEOUT).ok();
    }
}

fn run_until_stopped(
    shared: &Shared,
    workspace: &Workspace,
    recording: Recording,
    report: &(dyn Fn(RecorderStatus) + Send + Sync),
) {
    // a stop ends a scan with an error that is not a failure
    let report = &|status| match status {
        RecorderStatus::Failed(_) if shared.is_stopping() => {}
        status => report(status),
    };
    report(RecorderStatus::Waiting);
    while !shared.is_stopping() {
        match acquire(workspace, recording.options, &shared.stop) {
            Ok(Some(active)) => {
                *shared.state() = RecorderState::new();
                if let Err(error) = active.run(shared, recording, report) {
                    report(RecorderStatus::Failed(error.to_string()));
                    wait(shared, FAILURE_DELAY);
                } else if !shared.is_stopping() {
                    report(RecorderStatus::Waiting);
                }
            }
            Ok(None) => {}
            Err(error) => {
                report(RecorderStatus::Failed(error.to_string()));
                wait(shared, FAILURE_DELAY);
            }
        }
        wait(shared, POLL_INTERVAL);
    }
}

/// Waits until the recorder stops, at most this long.
fn wait(shared: &Shared, limit: Duration) {
    let state = shared.state();
    let is_running = |_: &mut RecorderState| !shared.is_stopping();
    drop(shared.wakeup.wait_timeout_while(state, limit, is_running));
}

/// A recorder that holds the lease.
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
struct ActiveRecorder {
    engine: Engine,
    store: PathBuf,
    root: RootId,
    _lease: store::Lock,
}

/// Takes the lease. None: there is no store, or another process holds the lease.
fn acquire(
    workspace: &Workspace,
    options: OpenOptions,
    stop: &Arc<AtomicBool>,
) -> Result<Option<ActiveRecorder>> {
    if !cfg!(target_os = "linux") || !store::Store::exists(&workspace.store_dir)? {
        return Ok(None);
    }
    if !store::migrate::shares_memory(&workspace.root) {
        return Err(Error::refused(
            "this file system does not report changes to watchers",
            "every scan walks the tree; a local file system is faster",
        ));
    }
    let mut engine = Engine::open_with(workspace, options.existing())?;
    engine.call_off_with(Arc::clone(stop));
    let (store, root) = (engine.store.dir.clone(), engine.here.root);
    let path = cookie::lease(&store, root);
    let Some(lease) = store::lock(&path, true, Duration::ZERO)? else {
        return Ok(None);
    };
    std::fs::write(&path, std::process::id().to_string()).ok();
    let questions = cookie::dir(&store, root);
    store::make_private_dir(&questions)?;
    Ok(Some(ActiveRecorder {
        engine,
        store,
        root,
        _lease: lease,
    }))
}

#[cfg(not(target_os = "linux"))]
impl ActiveRecorder {
    fn run(
        self,
        _: &Shared,
        _: Recording,
        _: &(dyn Fn(RecorderStatus) + Send + Sync),
    ) -> Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
impl ActiveRecorder {
    /// Watches until the recorder stops, or until the root or the store is gone.
    fn run(
        mut self,
        shared: &Shared,
        recording: Recording,
        report: &(dyn Fn(RecorderStatus) + Send + Sync),
    ) -> Result<()> {
        let questions = cookie::dir(&self.store, self.root);
        let chat_history = self.engine.options.chat_history.map(ChatHistory::file);
        let mut watch = watch::Watch::new(&self.engine.root, &questions, chat_history)?;
        let engine = &mut self.engine;
        std::thread::scope(|scope| {
            let watching = || {
                let outcome = watch_events(shared, &mut watch, &questions);
                shared.state().watch_ended = true;
                shared.wakeup.notify_all();
                outcome
            };
            let watcher = std::thread::Builder::new().name("backstitch watch".into());
            let watcher = watcher
                .spawn_scoped(scope, watching)
                .map_err(|source| Error::Io {
                    what: "start a thread".into(),
                    source,
                })?;
            scan_changes(shared, engine, recording, report);
            watcher.join().unwrap_or_else(|_| {
                Err(Error::refused(
                    "watching the files failed",
                    "see the log of the server",
                ))
            })
        })
    }
}

/// Processes kernel events and answers questions, in their order.
#[cfg(target_os = "linux")]
fn watch_events(shared: &Shared, watch: &mut watch::Watch, questions: &Path) -> Result<()> {
    use watch::Event;
    let mut swept = Instant::now();
    loop {
        if shared.is_stopping() || shared.state().watch_ended {
            return Ok(());
        }
        let limit = if watch.is_stale() {
            Duration::ZERO
        } else {
            POLL_INTERVAL
        };
        let events = watch.wait(limit, Some(shared.stopped.as_fd()))?;
        if events.is_empty() && watch.is_stale() {
            // the queue is empty: later events happened after this moment
            watch.set()?;
            let mut state = shared.state();
            state.dirty.everything();
            state.unwatched = watch.unwatched().collect();
            state.directories = watch.len();
            state.watches_set = true;
            state.full_scan = FullScan::NotScanned;
            state.touched();
            shared.wakeup.notify_all();
        }
        let mut touched = false;
        for event in events {
            match event {
                Event::Gone => return Ok(()),
                Event::Question(question) => {
                    let holds = !watch.is_stale() && watch.rules_hold();
                    let mut state = shared.state();
                    if !holds {
                        state.watches_set = false;
                    }
                    let (extent, linked) = (state.extent(), state.linked.clone());
                    if extent == Extent::All {
                        state.touched();
                    }
                    drop(state);
                    // without an answer the asker walks the tree
                    cookie::answer(&question, &extent, &linked).ok();
                    if !holds {
                        watch.renew();
                    }
                }
                Event::Path(path) => {
                    shared.state().dirty.path(path);
                    touched = true;
                }
                Event::ChatHistory => {
                    shared.state().chat_history = true;
                    touched = true;
                }
                Event::Tree(dir) => {
                    let mut state = shared.state();
                    state.dirty.tree(dir);
                    state.unwatched = watch.unwatched().collect();
                    touched = true;
                }
                Event::Everything => {
                    let mut state = shared.state();
                    state.dirty.everything();
                    state.watches_set = false;
                    touched = true;
                }
            }
        }
        if touched {
            shared.state().touched();
            shared.wakeup.notify_all();
        }
        if swept.elapsed() > Duration::from_mins(1) {
            swept = Instant::now();
            cookie::sweep(questions);
        }
    }
}

/// Scans touched paths as soon as there is quiet, until the recorder stops.
fn scan_changes(
    shared: &Shared,
    engine: &mut Engine,
    recording: Recording,
    report: &(dyn Fn(RecorderStatus) + Send + Sync),
) {
    let mut last_reported = None;
    let mut pace = Pace::new(recording.quiet);
    while let Some(PendingScan {
        moment,
        extent,
        directories,
        at_once,
        chat_history,
    }) = next(shared, recording.quiet, &pace)
    {
        // before the first scan has finished, nothing can be answered
        if at_once && engine.capture().scan_is_pending().unwrap_or(true) {
            continue;
        }
        let scan_began = Instant::now();
        let head = engine.history().head().ok();
        match engine
            .capture_mut()
            .catch_up(&extent, recording.records && !at_once)
        {
            Ok(findings) => {
                let mut state = shared.state();
                let unreadable = findings.coverage.items.iter();
                let unreadable = unreadable
                    .filter(|item| item.reason == Reason::Unreadable)
                    .filter_map(|item| RelPath::new(&*item.path));
                let differ = findings.found.iter().map(|found| found.path.clone());
                let differ = differ.chain(findings.late);
                state.dirty.scanned(moment, differ.chain(unreadable));
                match &extent {
                    Extent::All => {
                        state.walked = scan_began;
                        state.linked.clear();
                        state.unvisited.clear();
                    }
                    Extent::Only(touched) => state
                        .linked
                        .retain(|path| !touched.paths.contains(path) && !touched.covers(path)),
                }
                state.linked.extend(findings.linked);
                state.unvisited.extend(findings.unvisited);
                drop(state);
                if at_once {
                    continue;
                }
                engine.tidy();
                // an agent's steps are not continuous writes
                if recording.records && !chat_history && engine.history().head().ok() != head {
                    pace.recorded(scan_began);
                }
                let now = RecorderStatus::Watching { directories };
                if last_reported.as_ref() != Some(&now) {
                    report(now.clone());
                    last_reported = Some(now);
                }
            }
            // the paths stay touched; the disk may be full, or a rewind in progress
            Err(error) => {
                let mut state = shared.state();
                if extent == Extent::All && state.full_scan == FullScan::Recorded {
                    state.full_scan = FullScan::Scanned;
                }
                drop(state);
                let now = RecorderStatus::Failed(error.to_string());
                if last_reported.as_ref() != Some(&now) {
                    report(now.clone());
                    last_reported = Some(now);
                }
                wait(shared, RETRY_DELAY);
            }
        }
    }
}

/// The next scan.
struct PendingScan {
    moment: u64,
    extent: Extent,
    directories: usize,
    /// True if there is no quiet yet: nothing is recorded, but queries need no walk.
    at_once: bool,
    /// True if an agent's chat history has grown.
    chat_history: bool,
}

impl PendingScan {
    fn take(state: &mut RecorderState) -> Self {
        let extent = match std::mem::take(&mut state.full_scan) {
            FullScan::Recorded => state.extent(),
            FullScan::NotScanned | FullScan::Scanned => Extent::All,
        };
        Self {
            moment: state.dirty.moment(),
            extent,
            directories: state.directories,
            at_once: false,
            chat_history: std::mem::take(&mut state.chat_history),
        }
    }
}

/// Waits for the next scan. None: the recorder stops.
fn next(shared: &Shared, quiet: Duration, pace: &Pace) -> Option<PendingScan> {
    let mut state = shared.state();
    loop {
        if shared.is_stopping() || state.watch_ended {
            return None;
        }
        if state.watches_set && state.full_scan == FullScan::NotScanned {
            state.full_scan = FullScan::Scanned;
            return Some(PendingScan {
                moment: state.dirty.moment(),
                extent: Extent::All,
                directories: state.directories,
                at_once: true,
                chat_history: false,
            });
        }
        let due = match state.since {
            Some((first, newest)) => {
                let due = (newest + quiet).min(first + MAX_DELAY);
                Some(if state.chat_history {
                    due
                } else {
                    pace.not_before(due)
                })
            }
            None if state.dirty.is_clean() && state.full_scan == FullScan::Recorded => None,
            None => Some(Instant::now() + RETRY_DELAY),
        };
        let now = Instant::now();
        match due {
            Some(due) if due <= now && state.watches_set => {
                state.since = None;
                return Some(PendingScan::take(&mut state));
            }
            Some(due) => {
                let left = due
                    .saturating_duration_since(now)
                    .max(Duration::from_millis(1));
                let is_retry = state.since.is_none();
                let waited = shared.wakeup.wait_timeout(state, left);
                let (next_state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                state = next_state;
                if is_retry && timeout.timed_out() && state.since.is_none() && state.watches_set {
                    return Some(PendingScan::take(&mut state));
                }
            }
            None => {
                let waited = shared.wakeup.wait_timeout(state, POLL_INTERVAL);
                (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}
