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

use super::acts::{CallKey, ObservedEvent};
use super::gated::AcpAgent;
use crate::control::gate::{GateCheck, gates};
use crate::host::agent_events::{EventPlace, panic_text, print};

/// Events that wait for the thread, at most.
const QUEUE: usize = 256;
/// Time for which a line waits for its event.
const RECORD_TIMEOUT: Duration = Duration::from_secs(5);

/// Time in which an event may be withdrawn.
const WITHDRAWAL_DELAY: Duration = Duration::from_millis(100);

const LATE: &str =
    "acp: the record is behind the agent, so that an event has no exact state before it";

/// The workspaces of sessions.
#[derive(Clone, Debug)]
pub struct SessionWorkspaces {
    workspace: Option<PathBuf>,
    store_dir: Option<PathBuf>,
    found: Arc<Mutex<HashMap<String, Workspace>>>,
}

/// The thread's entry.
#[derive(Debug)]
pub struct EventQueue {
    /// None: no more events come.
    queue: Mutex<Option<SyncSender<EventJob>>>,
    workspaces: SessionWorkspaces,
    /// An event came too late: lines wait for no other until the queue is empty.
    is_behind: Arc<AtomicBool>,
}

#[derive(Debug)]
enum EventJob {
    /// The sender hears that the event is recorded.
    Record(ObservedEvent, Option<Sender<()>>),
    Delayed(ObservedEvent),
    Withdraw(CallKey),
}

impl SessionWorkspaces {
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
    pub fn start(workspaces: SessionWorkspaces, agent: ProcessId) -> (Self, Receiver<()>) {
        let (queue, jobs) = sync_channel(QUEUE);
        let (ended, end) = channel();
        let is_behind = Arc::new(AtomicBool::new(false));
        let recorder = Self {
            queue: Mutex::new(Some(queue)),
            workspaces: workspaces.clone(),
            is_behind: Arc::clone(&is_behind),
        };
        thread::spawn(move || {
            record_all(&jobs, &workspaces, agent, &is_behind);
            drop(ended);
        });
        (recorder, end)
    }

    /// Has an event recorded some time.
    pub fn record(&self, observed: ObservedEvent) {
        self.send(EventJob::Record(observed, None));
    }

    /// Has an event recorded, unless it is withdrawn right after it.
    pub fn record_delayed(&self, observed: ObservedEvent) {
        self.send(EventJob::Delayed(observed));
    }

    /// Withdraws the last event, if it is one of this call.
    pub fn withdraw(&self, call: CallKey) {
        self.send(EventJob::Withdraw(call));
    }

    /// Has an event recorded, and waits for it.
    pub fn record_first(&self, observed: ObservedEvent) {
        let event = observed.event.clone();
        let (done, recorded) = channel();
        if !self.send(EventJob::Record(observed, Some(done)))
            || self.is_behind.load(Ordering::Relaxed)
        {
            return;
        }
        // a thread that has ended hangs up
        let timeout = std::sync::mpsc::RecvTimeoutError::Timeout;
        if recorded.recv_timeout(RECORD_TIMEOUT) == Err(timeout) {
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
        let until = Instant::now() + RECORD_TIMEOUT;
        loop {
            job = match queue.try_send(job) {
                Ok(()) => return true,
                Err(TrySendError::Full(job)) if Instant::now() < until => job,
                Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => {
                    if let EventJob::Record(observed, _) | EventJob::Delayed(observed) = &job {
                        self.lose(&observed.event);
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
        if let Ok(workspace) = self.workspaces.of(event, &mut None) {
            record_gap(&workspace, LATE);
        }
    }
}

/// Records the events until there is nobody to tell more.
fn record_all(
    jobs: &Receiver<EventJob>,
    workspaces: &SessionWorkspaces,
    agent: ProcessId,
    is_behind: &AtomicBool,
) {
    let mut said = None;
    let mut record = |observed: &ObservedEvent| {
        let mut warning = None;
        let recorded = catch_unwind(AssertUnwindSafe(|| {
            record(observed, workspaces, agent, &mut warning)
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
    let mut delayed: Option<ObservedEvent> = None;
    loop {
        let job = if let Ok(job) = jobs.try_recv() {
            Some(job)
        } else {
            is_behind.store(false, Ordering::Relaxed);
            if delayed.is_some() {
                jobs.recv_timeout(WITHDRAWAL_DELAY).ok()
            } else if let Ok(job) = jobs.recv() {
                Some(job)
            } else {
                return;
            }
        };
        if let (Some(EventJob::Withdraw(call)), Some(observed)) = (&job, &delayed)
            && call_of(observed).as_ref() == Some(call)
        {
            delayed = None;
        }
        if let Some(observed) = delayed.take() {
            record(&observed);
        }
        match job {
            Some(EventJob::Record(observed, done)) => {
                record(&observed);
                drop(done);
            }
            Some(EventJob::Delayed(observed)) => delayed = Some(observed),
            Some(EventJob::Withdraw(_)) | None => {}
        }
    }
}

/// Returns the call of an event that announces one.
fn call_of(observed: &ObservedEvent) -> Option<CallKey> {
    let EventKind::Announced { call, .. } = &observed.event.kind else {
        return None;
    };
    Some(CallKey {
        session: observed.event.session.clone(),
        call: call.id.clone()?,
    })
}

fn record(
    observed: &ObservedEvent,
    workspaces: &SessionWorkspaces,
    agent: ProcessId,
    warning: &mut Option<String>,
) -> Result<(), String> {
    if matches!(observed.event.kind, EventKind::Other) {
        return Ok(());
    }
    let workspace = workspaces.of(&observed.event, warning)?;
    let recorded = workspaces
        .place()
        .record(&workspace, &observed.event, warning);
    if observed.unasked {
        notice_unasked(observed, &workspace, agent);
    }
    recorded.map(drop).inspect_err(|error| {
        record_gap(&workspace, error);
    })
}

/// Notes a call that a breakpoint would have stopped, and that its agent ran without a question.
fn notice_unasked(observed: &ObservedEvent, workspace: &Workspace, agent: ProcessId) {
    let adapter = AcpAgent::of(&observed.event.agent);
    let gate = GateCheck {
        subject: Subject::Call,
        workspace,
        agent: &adapter,
        event: &observed.event,
        payload: &[],
        limit: None,
        started: Instant::now(),
        process: Some(agent),
        reaches_in: false,
        call_off: None,
    };
    gate.record_unasked_at(gates(workspace, &adapter, &observed.event));
}
