//! The record of the conversation: a thread that takes events in their order. A line that waits for its event waits for a
//! limited time, and an event that cannot be recorded is a gap.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use backstitch_control::{ProcessId, Subject};
use backstitch_core::capture::{AgentEvent, EventKind};
use backstitch_core::{Workspace, record_gap};

use super::acts::{CallKey, Told};
use super::gated::AcpAgent;
use crate::control::gate::{GateCheck, gates};
use crate::host::agent_events::{EventPlace, panic_text, print};

/// Events that wait for the thread, at most.
const QUEUE: usize = 256;
/// Time for which a line waits for its event.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time in which an event may be withdrawn.
const GRACE: Duration = Duration::from_millis(100);

const LATE: &str =
    "acp: the record is behind the agent, so that an event has no exact state before it";

/// The workspaces of sessions.
#[derive(Clone, Debug)]
pub struct Places {
    workspace: Option<PathBuf>,
    store_dir: Option<PathBuf>,
    found: Arc<Mutex<HashMap<String, Workspace>>>,
}

/// The thread's entry.
#[derive(Debug)]
pub struct EventQueue {
    /// None: no more events come.
    queue: Mutex<Option<SyncSender<EventJob>>>,
    places: Places,
    /// An event came too late: lines wait for no other until the queue is empty.
    is_behind: Arc<AtomicBool>,
}

#[derive(Debug)]
enum EventJob {
    /// The sender hears that the event is recorded.
    Record(Told, Option<Sender<()>>),
    Soon(Told),
    Withdraw(CallKey),
}

impl Places {
    pub fn new(workspace: Option<PathBuf>, store_dir: Option<PathBuf>) -> Self {
        Self {
            workspace,
            store_dir,
            found: Arc::default(),
        }
    }

    fn place(&self) -> EventPlace<'_> {
        EventPlace {
            workspace: self.workspace.as_deref(),
            store_dir: self.store_dir.as_deref(),
        }
    }

    /// Returns the workspace of a session.
    pub fn of(
        &self,
        event: &AgentEvent,
        warning: &mut Option<String>,
    ) -> Result<Workspace, String> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(workspace) = found.get(&event.session) {
            return Ok(workspace.clone());
        }
        let own = std::env::current_dir().ok();
        let named = event.cwd.as_deref().filter(|cwd| cwd.is_dir());
        let cwd: Option<&Path> = named.or(self.workspace.as_deref()).or(own.as_deref());
        let workspace = self.place().locate_event(event, cwd, warning)?;
        found.insert(event.session.clone(), workspace.clone());
        Ok(workspace)
    }
}

impl EventQueue {
    /// Starts the thread. The receiver hears its end. `agent`: the agent's process.
    pub fn start(places: Places, agent: ProcessId) -> (Self, Receiver<()>) {
        let (queue, jobs) = sync_channel(QUEUE);
        let (ended, end) = channel();
        let is_behind = Arc::new(AtomicBool::new(false));
        let recorder = Self {
            queue: Mutex::new(Some(queue)),
            places: places.clone(),
            is_behind: Arc::clone(&is_behind),
        };
        thread::spawn(move || {
            record_all(&jobs, &places, agent, &is_behind);
            drop(ended);
        });
        (recorder, end)
    }

    /// Has an event recorded some time.
    pub fn record(&self, told: Told) {
        self.send(EventJob::Record(told, None));
    }

    /// Has an event recorded, unless it is withdrawn right after it.
    pub fn record_soon(&self, told: Told) {
        self.send(EventJob::Soon(told));
    }

    /// Withdraws the last event, if it is one of this call.
    pub fn withdraw(&self, call: CallKey) {
        self.send(EventJob::Withdraw(call));
    }

    /// Has an event recorded, and waits for it.
    pub fn record_first(&self, told: Told) {
        let event = told.event.clone();
        let (done, recorded) = channel();
        if !self.send(EventJob::Record(told, Some(done))) || self.is_behind.load(Ordering::Relaxed)
        {
            return;
        }
        // a thread that has ended hangs up
        let timeout = std::sync::mpsc::RecvTimeoutError::Timeout;
        if recorded.recv_timeout(PATIENCE) == Err(timeout) {
            self.is_behind.store(true, Ordering::Relaxed);
            self.lose(&event);
        }
    }

    /// Puts an event into the queue. False: there is no place for it in time.
    fn send(&self, mut job: EventJob) -> bool {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(queue) = queue.clone() else {
            return false;
        };
        let until = Instant::now() + PATIENCE;
        loop {
            job = match queue.try_send(job) {
                Ok(()) => return true,
                Err(TrySendError::Full(job)) if Instant::now() < until => job,
                Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => {
                    if let EventJob::Record(told, _) | EventJob::Soon(told) = &job {
                        self.lose(&told.event);
                    }
                    return false;
                }
            };
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends the thread after the events that wait.
    pub fn close(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.take();
    }

    fn lose(&self, event: &AgentEvent) {
        print(LATE);
        if let Ok(workspace) = self.places.of(event, &mut None) {
            record_gap(&workspace, LATE);
        }
    }
}

/// Records the events until there is nobody to tell more.
fn record_all(
    jobs: &Receiver<EventJob>,
    places: &Places,
    agent: ProcessId,
    is_behind: &AtomicBool,
) {
    let mut said = None;
    let mut record = |told: &Told| {
        let mut warning = None;
        let recorded = catch_unwind(AssertUnwindSafe(|| {
            record(told, places, agent, &mut warning)
        }));
        let error = match recorded {
            Ok(Ok(())) => warning,
            Ok(Err(error)) => Some(error),
            Err(panic) => Some(format!("internal error: {}", panic_text(panic.as_ref()))),
        };
        // the same trouble with every event is said once
        if let Some(error) = error.filter(|error| said.as_ref() != Some(error)) {
            print(&error);
            said = Some(error);
        }
    };
    let mut soon: Option<Told> = None;
    loop {
        let job = if let Ok(job) = jobs.try_recv() {
            Some(job)
        } else {
            is_behind.store(false, Ordering::Relaxed);
            if soon.is_some() {
                jobs.recv_timeout(GRACE).ok()
            } else if let Ok(job) = jobs.recv() {
                Some(job)
            } else {
                return;
            }
        };
        if let (Some(EventJob::Withdraw(call)), Some(told)) = (&job, &soon)
            && call_of(told).as_ref() == Some(call)
        {
            soon = None;
        }
        if let Some(told) = soon.take() {
            record(&told);
        }
        match job {
            Some(EventJob::Record(told, done)) => {
                record(&told);
                drop(done);
            }
            Some(EventJob::Soon(told)) => soon = Some(told),
            Some(EventJob::Withdraw(_)) | None => {}
        }
    }
}

/// Returns the call of an event that announces one.
fn call_of(told: &Told) -> Option<CallKey> {
    let EventKind::Announced { call, .. } = &told.event.kind else {
        return None;
    };
    Some(CallKey {
        session: told.event.session.clone(),
        call: call.id.clone()?,
    })
}

fn record(
    told: &Told,
    places: &Places,
    agent: ProcessId,
    warning: &mut Option<String>,
) -> Result<(), String> {
    if matches!(told.event.kind, EventKind::Other) {
        return Ok(());
    }
    let workspace = places.of(&told.event, warning)?;
    let recorded = places.place().record(&workspace, &told.event, warning);
    if told.unasked {
        notice_unasked(told, &workspace, agent);
    }
    recorded.map(drop).inspect_err(|error| {
        record_gap(&workspace, error);
    })
}

/// Notes a call that a breakpoint would have stopped, and that its agent ran without a question.
fn notice_unasked(told: &Told, workspace: &Workspace, agent: ProcessId) {
    let adapter = AcpAgent::of(&told.event.agent);
    let gate = GateCheck {
        subject: Subject::Call,
        workspace,
        agent: &adapter,
        event: &told.event,
        payload: &[],
        limit: None,
        started: Instant::now(),
        process: Some(agent),
        reaches_in: false,
        call_off: None,
    };
    gate.record_unasked_at(gates(workspace, &adapter, &told.event));
}
