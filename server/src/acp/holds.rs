//! Questions of the agent that wait at the gate: each has its own thread, so that nothing else waits.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use backstitch_control::{ProcessId, Subject};
use backstitch_core::Workspace;
use backstitch_core::capture::AgentEvent;

use super::acts::Question;
use super::gated::{AcpAgent, cancellation, refusal};
use super::pump::LineSink;
use super::recording::SessionWorkspaces;
use super::traffic::Traffic;
use crate::control::gate::{CallOff, Gate, GateCheck, GateOutcome, gates};
use crate::host::agent_events::print;

/// All questions that wait, and the ends of both sides.
#[derive(Clone, Debug)]
pub struct Holds {
    pub workspaces: SessionWorkspaces,
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
    /// Called once the client has cancelled the turn.
    call_off: CallOff,
}

impl Holds {
    pub fn new(
        workspaces: SessionWorkspaces,
        (to_client, to_agent): (LineSink, LineSink),
        traffic: Arc<Mutex<Traffic>>,
        process: ProcessId,
    ) -> Self {
        Self {
            workspaces,
            to_client,
            to_agent,
            traffic,
            process,
            held: Arc::default(),
        }
    }

    /// Takes a question with its line. Returns the line if nothing is armed, so that it continues at once.
    pub fn ask(&self, question: Box<Question>, line: Vec<u8>) -> Option<Vec<u8>> {
        let Ok(workspace) = self.workspaces.of(&question.event, &mut None) else {
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
            call_off: CallOff::default(),
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
            thread::spawn(move || {
                if let Err(error) = one.call_off.call(&one.workspaces, &one.call) {
                    tracing::warn!("a cancelled call cannot be denied: {error}");
                }
            });
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
        let (agent, event) = (AcpAgent::of(&question.event.agent), &question.event);
        let (about, process) = ((Subject::Call, own), Some(self.process));
        let gate = GateCheck::patient(about, &agent, event, process, &held.call_off);
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
        let is_cancelled = held.call_off.is_called();
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

fn call_id(event: &AgentEvent) -> &str {
    let call = event.kind.call().and_then(|call| call.id.as_deref());
    call.unwrap_or_default()
}
