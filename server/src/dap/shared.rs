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
    queue: Mutex<JobQueue>,
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
    /// The newest stop, as the client got it.
    stop: Mutex<Value>,
    /// A step was refused, and the client may take the job for running.
    was_refused: AtomicBool,
    /// Requests that are answered once the job has ended: their numbers and commands.
    waiting: Mutex<Vec<(i64, String)>>,
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

/// Commands that a client has given to a job that stands.
#[derive(Debug)]
struct JobQueue {
    phase: JobPhase,
    /// The kind of those that are not finished, and their number.
    waiting: Option<(QueuedKind, usize)>,
    /// Steps back that may follow those.
    backs_left: usize,
}

/// The kind of a command, which says what may follow before it is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedKind {
    /// Nothing follows: the client sees where the job stands first.
    Move,
    /// Further steps back follow: a client with a count sends so many at once.
    Back,
    /// A line of the console or a new value that leaves the job where it is. Anything follows: people type ahead.
    Ask,
}

impl SharedJob {
    pub fn new(client: DapClient) -> SharedJob {
        SharedJob {
            client,
            breakpoints: Mutex::default(),
            view: Mutex::default(),
            variables: Mutex::default(),
            queue: Mutex::new(JobQueue {
                phase: JobPhase::Begins,
                waiting: None,
                backs_left: 0,
            }),
            step_facts: Mutex::default(),
            running: Mutex::default(),
            sources: Mutex::default(),
            asked: AtomicI64::new(NO_REQUEST),
            shows_progress: AtomicBool::new(false),
            stop: Mutex::default(),
            was_refused: AtomicBool::new(false),
            waiting: Mutex::default(),
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
        locked(&self.queue).phase
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

    /// True while the command of a request runs.
    pub fn is_asking(&self) -> bool {
        self.asked.load(Ordering::SeqCst) != NO_REQUEST
    }

    pub fn is_leaving(&self) -> bool {
        self.leaves.load(Ordering::SeqCst)
    }

    /// Runs the rest of the job without stops.
    pub fn leave(&self) {
        self.leaves.store(true, Ordering::SeqCst);
    }

    /// Takes a command, if the job stands, or is at commands after which it may follow. False if it does not.
    pub fn takes(&self, kind: QueuedKind) -> bool {
        let available = self.view().available;
        let mut queue = locked(&self.queue);
        let count = match (queue.phase, queue.waiting) {
            (JobPhase::Stopped, _) => {
                queue.backs_left = available;
                0
            }
            (JobPhase::Running, Some((QueuedKind::Back, count))) if kind == QueuedKind::Back => {
                count
            }
            (JobPhase::Running, Some((QueuedKind::Ask, count))) => {
                queue.backs_left = available;
                count
            }
            _ => return false,
        };
        queue.phase = JobPhase::Running;
        queue.waiting = Some((kind, count + 1));
        queue.backs_left = queue.backs_left.saturating_sub(1);
        true
    }

    /// True if the job answers questions now, or after lines of the console.
    pub fn answers(&self) -> bool {
        let queue = locked(&self.queue);
        queue.phase == JobPhase::Stopped || matches!(queue.waiting, Some((QueuedKind::Ask, _)))
    }

    /// Steps back that may follow one that is not finished. None: none is under way.
    pub fn further_steps_back(&self) -> Option<usize> {
        let queue = locked(&self.queue);
        let is_back = matches!(queue.waiting, Some((QueuedKind::Back, _)));
        is_back.then_some(queue.backs_left)
    }

    pub fn publish(&self, mut view: JobView) {
        view.number_frames(&self.view(), false);
        let view = Arc::new(view);
        self.variables().show(Arc::clone(&view));
        *locked(&self.view) = view;
    }

    /// Publishes new values at the same stop. References stay: a client may not hear that the values have changed.
    pub fn refresh(&self, mut view: JobView) {
        let last = self.view();
        view.number_frames(&last, true);
        // the place alone does not tell all of it
        if last.failure.is_some() {
            view.failure.clone_from(&last.failure);
        }
        let view = Arc::new(view);
        self.variables().refresh(Arc::clone(&view));
        *locked(&self.view) = view;
    }

    /// The job runs.
    pub fn runs(&self) {
        locked(&self.queue).phase = JobPhase::Running;
    }

    /// A command is finished. The job stands again if none waits.
    pub fn stands(&self) {
        self.pauses.store(false, Ordering::SeqCst);
        let mut queue = locked(&self.queue);
        queue.waiting = match queue.waiting {
            Some((kind, count)) if count > 1 => Some((kind, count - 1)),
            _ => None,
        };
        if queue.waiting.is_none() {
            queue.phase = JobPhase::Stopped;
        }
    }

    /// The job stands. A request that comes after the event finds it so.
    pub fn stopped(&self, reason: &StopReason, description: &str) {
        self.was_refused.store(false, Ordering::SeqCst);
        let event = stopped_event(reason, description);
        locked(&self.stop).clone_from(&event);
        self.stands();
        self.client.event("stopped", &event);
    }

    /// Tells nvim-dap the stop once more after a refused step: now, or once a line of the console has ended. It takes the job for
    /// running after a refusal, and would be stuck.
    pub fn refused_step(&self) {
        if self.client.is_neovim() {
            self.was_refused.store(true, Ordering::SeqCst);
            self.stop_again();
        }
    }

    /// Tells the stop once more, if a step has been refused since.
    pub fn stop_again(&self) {
        if self.phase() == JobPhase::Stopped && self.was_refused.swap(false, Ordering::SeqCst) {
            self.client.event("stopped", &locked(&self.stop).clone());
        }
    }

    /// Answers a request once the job has ended: a client may kill the adapter as soon as it has the answer. False if no job runs
    /// or stands.
    pub fn answers_at_end(&self, request: i64, command: &str) -> bool {
        let queue = locked(&self.queue);
        let has_job = matches!(queue.phase, JobPhase::Running | JobPhase::Stopped);
        if has_job {
            locked(&self.waiting).push((request, command.to_owned()));
        }
        has_job
    }

    pub fn ended(&self) {
        locked(&self.queue).phase = JobPhase::Ended;
        for (request, command) in locked(&self.waiting).drain(..) {
            self.client.respond(request, &command, None);
        }
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
