//! Questions of the agent that wait at the gate: each has its own thread, so that nothing else waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use backstitch_control::{Control, ProcessId, Subject};
use backstitch_core::capture::{AgentEvent, EventKind};
use backstitch_core::{Result, Workspace};

use super::acts::Question;
use super::gated::{AcpAgent, cancellation, refusal};
use super::pump::LineSink;
use super::recording::Places;
use super::traffic::Traffic;
use crate::control::gate::{Gate, GateCheck, GateOutcome, gates};
use crate::control::words;
use crate::host::agent_events::print;

/// Time for which a question is held. The agent waits for the answer as long as it likes.
const LIMIT: Duration = Duration::from_hours(24);

/// All questions that wait, and the ends of both sides.
#[derive(Clone, Debug)]
pub struct Holds {
    pub places: Places,
    pub to_client: LineSink,
    pub to_agent: LineSink,
    pub traffic: Arc<Mutex<Traffic>>,
    pub process: ProcessId,
    held: Arc<Mutex<Vec<Arc<Held>>>>,
}

/// A question at the gate.
#[derive(Debug)]
struct Held {
    session: String,
    call: String,
    /// Those whose breakpoints are asked: the agent's own, and those that the call reaches into.
    workspaces: Vec<Workspace>,
    /// The client has cancelled the turn.
    is_cancelled: AtomicBool,
}

impl Holds {
    pub fn new(
        places: Places,
        (to_client, to_agent): (LineSink, LineSink),
        traffic: Arc<Mutex<Traffic>>,
        process: ProcessId,
    ) -> Self {
        Self {
            places,
            to_client,
            to_agent,
            traffic,
            process,
            held: Arc::default(),
        }
    }

    /// Takes a question with its line. Returns the line if nothing is armed, so that it continues at once.
    pub fn ask(&self, question: Box<Question>, line: Vec<u8>) -> Option<Vec<u8>> {
        let Ok(workspace) = self.places.of(&question.event, &mut None) else {
            return Some(line);
        };
        let adapter = AcpAgent::of(&question.event.agent);
        let gates = gates(&workspace, &adapter, &question.event);
        if gates.is_empty() {
            return Some(line);
        }
        let held = Arc::new(Held {
            session: question.event.session.clone(),
            call: call_id(&question.event).to_owned(),
            workspaces: gates.iter().map(|(place, _)| place.clone()).collect(),
            is_cancelled: AtomicBool::new(false),
        });
        self.lock().push(Arc::clone(&held));
        let all = self.clone();
        thread::spawn(move || {
            all.hold(&question, &line, gates, (&workspace, &held));
            all.lock().retain(|one| !Arc::ptr_eq(one, &held));
        });
        None
    }

    /// Ends the holds of a session: its client has cancelled the turn. None: of all sessions.
    pub fn give_up(&self, session: Option<&str>) {
        let held: Vec<Arc<Held>> = self.lock().clone();
        for one in held {
            if session.is_some_and(|session| session != one.session) {
                continue;
            }
            one.is_cancelled.store(true, Ordering::Relaxed);
            thread::spawn(move || one.deny());
        }
    }

    /// True if no question waits.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(
        &self,
        question: &Question,
        line: &[u8],
        gates: Vec<Gate>,
        (own, held): (&Workspace, &Held),
    ) {
        let gate = GateCheck {
            subject: Subject::Call,
            workspace: own,
            agent: &AcpAgent::of(&question.event.agent),
            event: &question.event,
            payload: &[],
            limit: Some(LIMIT),
            started: Instant::now(),
            process: Some(self.process),
            reaches_in: false,
        };
        let outcomes = gate.check_all(gates);
        for (_, outcome) in &outcomes {
            if let Some(warning) = &outcome.warning {
                print(warning);
            }
        }
        let last = outcomes.last();
        if let Some((_, outcome)) = last.filter(|(_, outcome)| !outcome.abandoned) {
            self.answer(question, line, outcome, held);
        }
        for (place, mut outcome) in outcomes {
            outcome.answered(&place);
        }
    }

    fn answer(&self, question: &Question, line: &[u8], outcome: &GateOutcome, held: &Held) {
        if !outcome.prevented {
            self.to_client.send(line);
            return;
        }
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        traffic.refused(&question.id);
        drop(traffic);
        let is_cancelled = held.is_cancelled.load(Ordering::Relaxed);
        let stops = outcome.answer.stop.is_some();
        let mut text = String::new();
        if stops && !is_cancelled {
            text.push_str(&cancellation(&question.event.session));
        }
        text.push_str(&refusal(
            &question.id,
            &question.options,
            stops || is_cancelled,
        ));
        self.to_agent.send(text.as_bytes());
    }
}

impl Held {
    /// Denies the call of a turn that is cancelled. Its pause may not be there yet.
    fn deny(&self) {
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            if self.try_deny().unwrap_or(false) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns true once the pause is decided.
    fn try_deny(&self) -> Result<bool> {
        let mut is_done = false;
        for workspace in &self.workspaces {
            let control = Control::open_for_hook(workspace)?;
            is_done |= control.pauses().call_off(&self.call, &words::refused())?;
        }
        Ok(is_done)
    }
}

fn call_id(event: &AgentEvent) -> &str {
    match &event.kind {
        EventKind::Before(call) => call.id.as_deref().unwrap_or_default(),
        _ => "",
    }
}
