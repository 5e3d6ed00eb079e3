//! State that the thread of the job shares with the one that reads requests.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::breakpoints::ClientBreakpoints;
use super::changes::SourceText;
use super::client::DapClient;
use super::failures::{StepFacts, StopFailure};
use super::variables::JobVariables;
use super::view::{FrameView, JobView};

/// The thread of the job that is stepped through.
pub const JOB_THREAD: u64 = 1;

/// The number of no request.
const NO_REQUEST: i64 = i64::MIN;

/// The reason of a stop, as the protocol has it.
#[derive(Clone, Debug)]
pub struct StopReason {
    pub word: &'static str,
    /// Breakpoints that were hit.
    pub hit: Vec<u64>,
    pub failure: Option<StopFailure>,
    /// A sentence about it, without secrets.
    pub text: Option<String>,
}

impl StopReason {
    pub fn of(word: &'static str) -> StopReason {
        StopReason {
            word,
            hit: Vec::new(),
            failure: None,
            text: None,
        }
    }

    pub fn failed(failure: StopFailure) -> StopReason {
        StopReason {
            failure: Some(failure),
            ..StopReason::of("exception")
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
    /// Facts about the steps that have run since the last command.
    step_facts: Mutex<StepFacts>,
    /// The step that runs.
    running: Mutex<Option<FrameView>>,
    /// Texts that a client asks for by their numbers, which begin at 1.
    sources: Mutex<Vec<SourceText>>,
    /// The request whose command runs in the console.
    asked: AtomicI64,
    /// The client shows progress.
    pub shows_progress: AtomicBool,
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
            step_facts: Mutex::default(),
            running: Mutex::default(),
            sources: Mutex::default(),
            asked: AtomicI64::new(NO_REQUEST),
            shows_progress: AtomicBool::new(false),
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

    pub fn step_facts(&self) -> MutexGuard<'_, StepFacts> {
        locked(&self.step_facts)
    }

    pub fn running(&self) -> MutexGuard<'_, Option<FrameView>> {
        locked(&self.running)
    }

    /// The number of a text. An equal script keeps the one that it has.
    pub fn source_number(&self, source: SourceText) -> u32 {
        let mut all = locked(&self.sources);
        let known = all.iter().position(|known| known.is_same_script(&source));
        let place = known.unwrap_or_else(|| {
            all.push(source);
            all.len() - 1
        });
        u32::try_from(place + 1).unwrap_or_default()
    }

    pub fn source(&self, number: u32) -> Option<SourceText> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        locked(&self.sources).get(place).cloned()
    }

    /// Runs the command of a request, which may be cancelled meanwhile.
    pub fn asking<T>(&self, request: i64, act: impl FnOnce() -> T) -> T {
        self.asked.store(request, Ordering::SeqCst);
        let answer = act();
        self.asked.store(NO_REQUEST, Ordering::SeqCst);
        answer
    }

    /// True while the command of this request runs.
    pub fn asks(&self, request: i64) -> bool {
        request != NO_REQUEST && self.asked.load(Ordering::SeqCst) == request
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
    if let Some(text) = &reason.text {
        body["text"] = text.as_str().into();
    }
    if !reason.hit.is_empty() {
        body["hitBreakpointIds"] = json!(reason.hit);
    }
    body
}
