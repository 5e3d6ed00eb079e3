//! The recorder: one process at a time watches the files of a root, so that others need not walk the tree to know
//! what has changed, and what nobody tells of is recorded soon after it happened. It holds the lease as long as it
//! lives; without one, or without its answer in time, everything works as without a recorder.

mod cookie;
mod dirty;
mod pace;
#[cfg(test)]
mod tests;
mod touched;
#[cfg(target_os = "linux")]
mod watch;

pub(crate) use cookie::{PATIENCE, ask};
pub(crate) use dirty::Extent;
pub(crate) use touched::ChangedPaths;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{Reason, RelPath, RootId};
use crate::store;
use crate::workspace::Workspace;
use dirty::Dirty;
use pace::Pace;

/// It is looked at after so long even if there is no quiet.
const AT_MOST: Duration = Duration::from_secs(3);
/// What differs and cannot be recorded yet is looked at again after so long.
const AGAIN: Duration = Duration::from_secs(2);
/// Setting many watches is tried again only after so long.
const AFTER_FAILURE: Duration = Duration::from_mins(5);
/// How often to look for a store, a lease, an end.
const TICK: Duration = Duration::from_millis(250);
/// Whatever no watch can see, such as a file system mounted over a directory, goes unseen so long at most.
pub(crate) const WALK: Duration = Duration::from_mins(5);
/// Who lets a recorder go waits so long for its end, and no longer: it may be waiting for another process.
const LEAVING: Duration = Duration::from_secs(1);

/// How a recorder works.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// Whether what it sees becomes a node, or it only answers.
    pub records: bool,
    /// After so much quiet, what was touched is looked at.
    pub quiet: Duration,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            records: true,
            quiet: Duration::from_millis(300),
        }
    }
}

/// What a recorder of this process is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is no store yet, or another process watches.
    Waiting,
    /// It watches so many directories, and has looked at all that was touched.
    Watching { directories: usize },
    /// It cannot watch, for this reason; every look walks the tree.
    Failed(String),
}

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    /// Its sender is gone when the thread has ended.
    ended: Mutex<Receiver<Infallible>>,
}

/// What the thread that watches and the one that looks have in common.
#[derive(Debug)]
struct Shared {
    stop: Arc<AtomicBool>,
    state: Mutex<RecorderState>,
    news: Condvar,
}

#[derive(Debug)]
struct RecorderState {
    dirty: Dirty,
    /// Files with several names, which may be written through another.
    linked: BTreeSet<RelPath>,
    /// Directories that cannot be watched.
    blind: BTreeSet<RelPath>,
    /// Known files that no walk leads to, nor any watch: ignored by now.
    unmet: BTreeSet<RelPath>,
    /// Of the oldest and the newest touch that nobody has looked at.
    since: Option<(Instant, Instant)>,
    /// The watches are set, so that what is clean stays so.
    set: bool,
    /// How much of the whole tree is still to be looked at since then.
    whole: Whole,
    /// When the whole tree was walked last.
    walked: Instant,
    /// How many directories are watched.
    directories: usize,
    over: bool,
}

/// Where watches were set, what was there before is only known after a look at all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Whole {
    /// Until there is such a look, whoever asks has to walk: it comes at once, and records nothing.
    Unseen,
    /// What was found is recorded once there is quiet.
    Seen,
    #[default]
    Recorded,
}

impl RecorderState {
    fn new() -> Self {
        Self {
            dirty: Dirty::all(),
            linked: BTreeSet::new(),
            blind: BTreeSet::new(),
            unmet: BTreeSet::new(),
            since: None,
            set: false,
            whole: Whole::Recorded,
            walked: Instant::now(),
            directories: 0,
            over: false,
        }
    }

    fn touched(&mut self) {
        let now = Instant::now();
        let (first, _) = self.since.unwrap_or((now, now));
        self.since = Some((first, now));
    }

    /// What may differ from what is known; all of it, as long as not everything is watched, and now and then.
    fn extent(&self) -> Extent {
        if !self.set || self.walked.elapsed() > WALK {
            return Extent::All;
        }
        match self.dirty.extent() {
            Extent::Only(mut touched) => {
                touched.trees.extend(self.blind.iter().cloned());
                touched.paths.extend(self.unmet.iter().cloned());
                Extent::Only(touched)
            }
            Extent::All => Extent::All,
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ends(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Recorder {
    /// Watches as soon as there is a store and no other process does. `tell` hears what it is doing.
    pub fn start(
        workspace: &Workspace,
        recording: Recording,
        tell: impl Fn(Standing) + Send + Sync + 'static,
    ) -> Result<Self> {
        let shared = Arc::new(Shared {
            stop: Arc::default(),
            state: Mutex::new(RecorderState::new()),
            news: Condvar::new(),
        });
        let (of_thread, workspace) = (Arc::clone(&shared), workspace.clone());
        let thread = std::thread::Builder::new().name("backstitch recorder".into());
        let (ends, ended) = channel();
        let work = move || {
            let _ends: Sender<Infallible> = ends;
            keep_on(&of_thread, &workspace, recording, &tell);
        };
        thread.spawn(work).map_err(|source| Error::Io {
            what: "start a thread".into(),
            source,
        })?;
        Ok(Self {
            shared,
            ended: Mutex::new(ended),
        })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.news.notify_all();
        // so that the lease is free by then, unless it waits for another process
        let ended = self.ended.get_mut();
        let ended = ended.unwrap_or_else(PoisonError::into_inner);
        ended.recv_timeout(LEAVING).ok();
    }
}

/// The process that watches this root, if one does.
pub(crate) fn holder(store: &Path, root: RootId) -> Option<u32> {
    let lease = cookie::lease(store, root);
    if !cookie::is_held(&lease) {
        return None;
    }
    std::fs::read_to_string(lease).ok()?.trim().parse().ok()
}

fn keep_on(
    shared: &Shared,
    workspace: &Workspace,
    recording: Recording,
    tell: &(dyn Fn(Standing) + Send + Sync),
) {
    tell(Standing::Waiting);
    while !shared.ends() {
        match begin(workspace, &shared.stop) {
            Ok(Some(begun)) => {
                *shared.state() = RecorderState::new();
                if let Err(error) = begun.run(shared, recording, tell) {
                    tell(Standing::Failed(error.to_string()));
                    wait(shared, AFTER_FAILURE);
                } else if !shared.ends() {
                    tell(Standing::Waiting);
                }
            }
            Ok(None) => {}
            Err(error) => {
                tell(Standing::Failed(error.to_string()));
                wait(shared, AFTER_FAILURE);
            }
        }
        wait(shared, TICK);
    }
}

/// Until the end, or so long.
fn wait(shared: &Shared, limit: Duration) {
    let state = shared.state();
    let ended = |_: &mut RecorderState| !shared.ends();
    drop(shared.news.wait_timeout_while(state, limit, ended));
}

/// A recorder that has the lease.
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
struct Begun {
    engine: Engine,
    store: PathBuf,
    root: RootId,
    _lease: store::Lock,
}

/// None: there is no store, or another process has the lease.
fn begin(workspace: &Workspace, stop: &Arc<AtomicBool>) -> Result<Option<Begun>> {
    if !cfg!(target_os = "linux") || !store::Store::exists(&workspace.store_dir)? {
        return Ok(None);
    }
    if !store::migrate::shares_memory(&workspace.root) {
        return Err(Error::refused(
            "changes on this file system are not told to those who watch",
            "every look walks the tree; a local file system is quicker",
        ));
    }
    let mut engine = Engine::open_existing(workspace)?;
    engine.call_off_with(Arc::clone(stop));
    let (store, root) = (engine.store.dir.clone(), engine.here.root);
    let path = cookie::lease(&store, root);
    let Some(lease) = store::lock(&path, true, Duration::ZERO)? else {
        return Ok(None);
    };
    std::fs::write(&path, std::process::id().to_string()).ok();
    let questions = cookie::dir(&store, root);
    store::make_private_dir(&questions)?;
    Ok(Some(Begun {
        engine,
        store,
        root,
        _lease: lease,
    }))
}

#[cfg(not(target_os = "linux"))]
impl Begun {
    fn run(self, _: &Shared, _: Recording, _: &(dyn Fn(Standing) + Send + Sync)) -> Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
impl Begun {
    /// Watches until the end, or until the root or the store is gone.
    fn run(
        mut self,
        shared: &Shared,
        recording: Recording,
        tell: &(dyn Fn(Standing) + Send + Sync),
    ) -> Result<()> {
        let questions = cookie::dir(&self.store, self.root);
        let mut watch = watch::Watch::new(&self.engine.root, &questions)?;
        let engine = &mut self.engine;
        std::thread::scope(|scope| {
            let watching = || {
                let outcome = see(shared, &mut watch, &questions);
                shared.state().over = true;
                shared.news.notify_all();
                outcome
            };
            let eyes = std::thread::Builder::new().name("backstitch watch".into());
            let eyes = eyes
                .spawn_scoped(scope, watching)
                .map_err(|source| Error::Io {
                    what: "start a thread".into(),
                    source,
                })?;
            look_after(shared, engine, recording, tell);
            eyes.join().unwrap_or_else(|_| {
                Err(Error::refused(
                    "the watch of the files failed",
                    "the log of the server says why",
                ))
            })
        })
    }
}

/// Takes what the kernel tells, and answers questions, in the order in which they come.
#[cfg(target_os = "linux")]
fn see(shared: &Shared, watch: &mut watch::Watch, questions: &Path) -> Result<()> {
    use watch::Event;
    let mut swept = Instant::now();
    loop {
        if shared.ends() || shared.state().over {
            return Ok(());
        }
        let events = watch.wait(if watch.is_stale() {
            Duration::ZERO
        } else {
            TICK
        })?;
        if events.is_empty() && watch.is_stale() {
            // the queue is empty: nothing that is told later was before
            watch.set()?;
            let mut state = shared.state();
            state.dirty.everything();
            state.blind = watch.blind().collect();
            state.directories = watch.len();
            state.set = true;
            state.whole = Whole::Unseen;
            state.touched();
            shared.news.notify_all();
        }
        let mut touched = false;
        for event in events {
            match event {
                Event::Gone => return Ok(()),
                Event::Question(question) => {
                    let holds = !watch.is_stale() && watch.rules_hold();
                    let mut state = shared.state();
                    if !holds {
                        state.set = false;
                    }
                    let (extent, linked) = (state.extent(), state.linked.clone());
                    if extent == Extent::All {
                        state.touched();
                    }
                    drop(state);
                    // who asked walks the tree where it cannot be answered
                    cookie::answer(&question, &extent, &linked).ok();
                    if !holds {
                        watch.renew();
                    }
                }
                Event::Path(path) => {
                    shared.state().dirty.path(path);
                    touched = true;
                }
                Event::Tree(dir) => {
                    let mut state = shared.state();
                    state.dirty.tree(dir);
                    state.blind = watch.blind().collect();
                    touched = true;
                }
                Event::Everything => {
                    let mut state = shared.state();
                    state.dirty.everything();
                    state.set = false;
                    touched = true;
                }
            }
        }
        if touched {
            shared.state().touched();
            shared.news.notify_all();
        }
        if swept.elapsed() > Duration::from_mins(1) {
            swept = Instant::now();
            cookie::sweep(questions);
        }
    }
}

/// Looks at what was touched as soon as there is quiet, until the end.
fn look_after(
    shared: &Shared,
    engine: &mut Engine,
    recording: Recording,
    tell: &(dyn Fn(Standing) + Send + Sync),
) {
    let mut said = None;
    let mut pace = Pace::new(recording.quiet);
    while let Some(PendingScan {
        moment,
        extent,
        directories,
        at_once,
    }) = next(shared, recording.quiet, &pace)
    {
        // of what a first scan has not seen yet, nothing can be said
        if at_once && engine.scan_is_pending().unwrap_or(true) {
            continue;
        }
        let began = Instant::now();
        let head = engine.head().ok();
        match engine.catch_up(&extent, recording.records && !at_once) {
            Ok(findings) => {
                let mut state = shared.state();
                let unreadable = findings.coverage.items.iter();
                let unreadable = unreadable
                    .filter(|item| item.reason == Reason::Unreadable)
                    .filter_map(|item| RelPath::new(&*item.path));
                let differ = findings.found.iter().map(|found| found.path.clone());
                state.dirty.looked(moment, differ.chain(unreadable));
                match &extent {
                    Extent::All => {
                        state.walked = began;
                        state.linked.clear();
                        state.unmet.clear();
                    }
                    Extent::Only(touched) => state
                        .linked
                        .retain(|path| !touched.paths.contains(path) && !touched.covers(path)),
                }
                state.linked.extend(findings.linked);
                state.unmet.extend(findings.unmet);
                drop(state);
                if at_once {
                    continue;
                }
                engine.tidy();
                if recording.records && engine.head().ok() != head {
                    pace.recorded(began);
                }
                let now = Standing::Watching { directories };
                if said.as_ref() != Some(&now) {
                    tell(now.clone());
                    said = Some(now);
                }
            }
            // what it is about to look at stays touched; the disk may be full, or a rewind under way
            Err(error) => {
                let mut state = shared.state();
                if extent == Extent::All && state.whole == Whole::Recorded {
                    state.whole = Whole::Seen;
                }
                drop(state);
                let now = Standing::Failed(error.to_string());
                if said.as_ref() != Some(&now) {
                    tell(now.clone());
                    said = Some(now);
                }
                wait(shared, AGAIN);
            }
        }
    }
}

/// What is to be looked at.
struct PendingScan {
    moment: u64,
    extent: Extent,
    directories: usize,
    /// There is no quiet yet, so nothing is recorded: who asks is spared a walk.
    at_once: bool,
}

impl PendingScan {
    fn now(state: &mut RecorderState) -> Self {
        let extent = match std::mem::take(&mut state.whole) {
            Whole::Recorded => state.extent(),
            Whole::Unseen | Whole::Seen => Extent::All,
        };
        Self {
            moment: state.dirty.moment(),
            extent,
            directories: state.directories,
            at_once: false,
        }
    }
}

/// Waits until there is something to look at. None: the end.
fn next(shared: &Shared, quiet: Duration, pace: &Pace) -> Option<PendingScan> {
    let mut state = shared.state();
    loop {
        if shared.ends() || state.over {
            return None;
        }
        if state.set && state.whole == Whole::Unseen {
            state.whole = Whole::Seen;
            return Some(PendingScan {
                moment: state.dirty.moment(),
                extent: Extent::All,
                directories: state.directories,
                at_once: true,
            });
        }
        let due = match state.since {
            Some((first, newest)) => Some(pace.not_before((newest + quiet).min(first + AT_MOST))),
            None if state.dirty.is_clean() && state.whole == Whole::Recorded => None,
            None => Some(Instant::now() + AGAIN),
        };
        let now = Instant::now();
        match due {
            Some(due) if due <= now && state.set => {
                state.since = None;
                return Some(PendingScan::now(&mut state));
            }
            Some(due) => {
                let left = due
                    .saturating_duration_since(now)
                    .max(Duration::from_millis(1));
                let again = state.since.is_none();
                let waited = shared.news.wait_timeout(state, left);
                let (then, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                state = then;
                if again && timeout.timed_out() && state.since.is_none() && state.set {
                    return Some(PendingScan::now(&mut state));
                }
            }
            None => {
                let waited = shared.news.wait_timeout(state, TICK);
                (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}
