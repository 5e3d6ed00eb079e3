//! State that the thread of the job shares with the one that reads requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::breakpoints::ClientBreakpoints;
use super::client::DapClient;
use super::report::JOB_THREAD;
use super::variables::JobVariables;
use super::view::JobView;

/// The reason of a stop, as the protocol has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopReason {
    pub word: &'static str,
    /// Breakpoints that were hit.
    pub hit: Vec<u64>,
}

impl StopReason {
    pub fn of(word: &'static str) -> StopReason {
        StopReason {
            word,
            hit: Vec::new(),
        }
    }
}

/// State that the two threads share.
pub struct SharedJob {
    pub client: DapClient,
    breakpoints: Mutex<ClientBreakpoints>,
    view: Mutex<Arc<JobView>>,
    variables: Mutex<JobVariables>,
    phase: Mutex<JobPhase>,
    /// The job stops before the next step.
    pub pauses: AtomicBool,
    /// The client has asked for the end of the job: nothing stops it on the way.
    leaves: AtomicBool,
}

/// The state of the job for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobPhase {
    /// Nothing runs yet.
    Begins,
    Running,
    Stopped,
    Ended,
}

impl SharedJob {
    pub fn new(client: DapClient) -> SharedJob {
        SharedJob {
            client,
            breakpoints: Mutex::default(),
            view: Mutex::default(),
            variables: Mutex::default(),
            phase: Mutex::new(JobPhase::Begins),
            pauses: AtomicBool::new(false),
            leaves: AtomicBool::new(false),
        }
    }

    pub fn breakpoints(&self) -> MutexGuard<'_, ClientBreakpoints> {
        locked(&self.breakpoints)
    }

    pub fn view(&self) -> Arc<JobView> {
        Arc::clone(&locked(&self.view))
    }

    pub fn variables(&self) -> MutexGuard<'_, JobVariables> {
        locked(&self.variables)
    }

    pub fn phase(&self) -> JobPhase {
        *locked(&self.phase)
    }

    pub fn is_leaving(&self) -> bool {
        self.leaves.load(Ordering::SeqCst)
    }

    /// Runs the rest of the job without stops.
    pub fn leave(&self) {
        self.leaves.store(true, Ordering::SeqCst);
    }

    /// The job begins to run, if it stands. False if it does not stand.
    pub fn begins_to_run(&self) -> bool {
        let mut phase = locked(&self.phase);
        let stands = *phase == JobPhase::Stopped;
        if stands {
            *phase = JobPhase::Running;
        }
        stands
    }

    pub fn publish(&self, view: JobView) {
        let view = Arc::new(view);
        self.variables().show(Arc::clone(&view));
        *locked(&self.view) = view;
    }

    /// The job runs, or a command of a person does.
    pub fn runs(&self) {
        *locked(&self.phase) = JobPhase::Running;
    }

    /// The job stands again, at the same place.
    pub fn stands(&self) {
        *locked(&self.phase) = JobPhase::Stopped;
    }

    /// The job stands. A request that comes after the event finds it so.
    pub fn stopped(&self, reason: &StopReason, description: &str) {
        self.pauses.store(false, Ordering::SeqCst);
        self.stands();
        self.client
            .event("stopped", &stopped_event(reason, description));
    }

    pub fn ended(&self) {
        *locked(&self.phase) = JobPhase::Ended;
    }
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stop as an event.
fn stopped_event(reason: &StopReason, description: &str) -> Value {
    let mut body = json!({
        "reason": reason.word, "description": description, "threadId": JOB_THREAD, "allThreadsStopped": true,
    });
    if !reason.hit.is_empty() {
        body["hitBreakpointIds"] = json!(reason.hit);
    }
    body
}
