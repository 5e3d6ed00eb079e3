//! Rewinds that wait for the user. Each is a pause beside the held calls, which every front end shows and answers, and a
//! thread here that waits for the decision and carries it out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use backstitch_control::{
    Ability, CallMoment, Control, HeldCall, Hold, PauseDecision, PauseId, PauseOutcome, Subject,
    now, starter,
};
use backstitch_core::config::Config;
use backstitch_core::restore::Request;
use backstitch_core::{Engine, Error, Workspace};
use backstitch_protocol::Text;
use serde_json::Value;
use tokio::sync::watch;

use super::answer::{ToolError, ToolResult};
use super::rewind::{self, PlannedRewind};
use crate::control::proposal::Proposal;
use crate::control::silence::{HoldEnd, SilenceLimits};
use crate::control::words::{self, WITHDRAWN};
use crate::opening;
use crate::render;

/// Name of the tool, as people see it.
pub const TOOL: &str = "propose_rewind";
/// Proposals of one client that may wait at the same time.
const MAX_OPEN: usize = 4;
/// Outcomes that are kept for a client that asks again.
const MAX_KEPT: usize = 32;
/// Maximum length of the reason that a person reads, and of the client's name.
const MAX_REASON: usize = 500;
const MAX_NAME: usize = 40;

/// The end of a proposal.
#[derive(Clone, Debug)]
pub enum ProposalOutcome {
    /// The user accepted it; this came of it.
    Accepted(ToolResult),
    Denied {
        reason: String,
        by: String,
    },
    Withdrawn,
}

/// A proposal that waits, or has ended.
#[derive(Debug)]
pub struct WaitingProposal {
    pub id: PauseId,
    pub title: String,
    /// Document of the plan.
    pub plan: Value,
    pub outcome: watch::Receiver<Option<ProposalOutcome>>,
    fingerprint: String,
    workspace: Workspace,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// All proposals of a client.
#[derive(Debug, Default)]
pub struct ClientProposals {
    all: Mutex<BTreeMap<PauseId, Arc<WaitingProposal>>>,
    made: AtomicU64,
}

/// The agent that proposes, and its words.
#[derive(Clone, Debug, Default)]
pub struct Proposer {
    /// Name of the client.
    pub agent: Option<String>,
    pub reason: Option<String>,
    /// The arguments as they were sent.
    pub arguments: Value,
}

impl ClientProposals {
    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<PauseId, Arc<WaitingProposal>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, id: PauseId) -> Option<Arc<WaitingProposal>> {
        self.all().get(&id).cloned()
    }

    /// Asks the user. A proposal of the same plan that still waits is the same proposal.
    pub fn ask(
        &self,
        engine: &Engine,
        workspace: &Workspace,
        planned: &PlannedRewind,
        proposer: Proposer,
    ) -> Result<Arc<WaitingProposal>, ToolError> {
        let mut all = self.all();
        let open: Vec<_> = all.values().filter(|one| one.is_open()).cloned().collect();
        let fingerprint = planned.plan().fingerprint.clone();
        if let Some(same) = open.iter().find(|one| one.fingerprint == fingerprint) {
            return Ok(same.clone());
        }
        if open.len() >= MAX_OPEN {
            let ids: Vec<String> = open.iter().map(|one| one.id.to_string()).collect();
            return Err(ToolError::refused(format!(
                "{} proposals wait for the user already: {}",
                open.len(),
                ids.join(", ")
            ))
            .hint("wait for one of them: pass its id as `proposal`"));
        }
        let timeout = Config::of(workspace).pause_timeout();
        let call = self.held_call(engine, planned, proposer, timeout)?;
        let control = Control::open(workspace)?;
        let hold = control.proposals().hold(&call)?;
        let id = hold.id;
        let (sender, outcome) = watch::channel(None);
        let held = HeldProposal {
            workspace: workspace.clone(),
            call,
            control,
            hold,
            request: planned.request.clone(),
            rev: planned.rev.clone(),
            fingerprint: fingerprint.clone(),
        };
        let work = move || {
            sender.send_replace(Some(held.run()));
        };
        let thread = std::thread::Builder::new().name(format!("backstitch {id}"));
        let thread = thread
            .spawn(work)
            .map_err(|error| ToolError::failed(format!("cannot start a thread: {error}")))?;
        let proposal = Arc::new(WaitingProposal {
            id,
            title: planned.title(),
            plan: planned.document(),
            outcome,
            fingerprint,
            workspace: workspace.clone(),
            thread: Mutex::new(Some(thread)),
        });
        all.insert(id, proposal.clone());
        while all.len() > MAX_KEPT
            && let Some(oldest) = all.values().find(|one| !one.is_open()).map(|one| one.id)
        {
            all.remove(&oldest);
        }
        Ok(proposal)
    }

    fn held_call(
        &self,
        engine: &Engine,
        planned: &PlannedRewind,
        proposer: Proposer,
        timeout: Option<Duration>,
    ) -> Result<HeldCall, ToolError> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        let reason = proposer.reason.map(|reason| {
            let reason = render::cut(&render::visible(&reason), MAX_REASON);
            reason.trim().to_owned()
        });
        let reason = reason.filter(|reason| !reason.is_empty());
        let files = planned.files(engine);
        let names = files.iter().filter_map(|file| Text::plain(&file.path));
        let names = names.map(str::to_owned).collect();
        let proposal = Proposal {
            title: planned.title(),
            reason: reason.clone(),
            arguments: proposer.arguments,
            summary: planned.shown.after_title(),
            turns: planned.shown.document.takes.clone(),
            plan: planned.plan().fingerprint.clone(),
            files,
        };
        let input = serde_json::to_string(&proposal)
            .map_err(|error| ToolError::failed(format!("the plan cannot be shown: {error}")))?;
        let agent = proposer
            .agent
            .map(|name| render::cut(&render::clean(&name), MAX_NAME));
        let agent = agent.filter(|name| !name.is_empty());
        let until = timeout.and_then(|timeout| i64::try_from(timeout.as_micros()).ok());
        Ok(HeldCall {
            subject: Subject::Proposal,
            why: match reason {
                Some(reason) => format!("the agent proposes it: {}", render::clean(&reason)),
                None => "the agent proposes it".to_owned(),
            },
            root: engine.root().to_path_buf(),
            agent: agent.unwrap_or_else(|| "an agent".to_owned()),
            session: format!("mcp-{pid}"),
            tool: TOOL.to_owned(),
            call: format!("proposal/{pid}/{}/{number}", now()),
            moment: CallMoment::Before,
            input,
            cwd: Some(engine.root().to_path_buf()),
            files: names,
            can: vec![Ability::Rewind, Ability::Deny],
            agent_process: starter(),
            until: until.map(|until| now().saturating_add(until)),
            ..HeldCall::default()
        })
    }

    /// Withdraws all proposals that wait, and waits for those that are being carried out.
    pub fn end_all(&self) {
        let all: Vec<_> = self.all().values().cloned().collect();
        for proposal in &all {
            proposal.withdraw();
        }
        for proposal in all {
            let thread = proposal.thread.lock();
            let thread = thread.unwrap_or_else(PoisonError::into_inner).take();
            if thread.is_some_and(|thread| thread.join().is_err()) {
                tracing::error!("{}: its thread has panicked", proposal.id);
            }
        }
    }
}

impl WaitingProposal {
    fn is_open(&self) -> bool {
        self.outcome.borrow().is_none()
            // a thread that panicked leaves no outcome
            && self.outcome.has_changed().is_ok()
    }

    /// Withdraws it, unless the user was first. Its thread ends the pause.
    pub fn withdraw(&self) {
        if !self.is_open() {
            return;
        }
        let message = "the agent withdrew it".to_owned();
        let withdrawn = Control::open(&self.workspace).and_then(|control| {
            control
                .pauses()
                .decide_alone(self.id, &PauseDecision::Deny { message }, WITHDRAWN)
        });
        if let Err(error) = withdrawn {
            tracing::warn!("{} cannot be withdrawn: {error}", self.id);
        }
    }

    /// True if a front end has shown it to a person.
    pub fn is_seen(&self) -> bool {
        let control = Control::open_existing(&self.workspace).ok().flatten();
        control.is_some_and(|control| control.pauses().is_acknowledged(self.id).unwrap_or(false))
    }
}

/// A proposal in the thread that waits for its decision.
#[derive(Debug)]
struct HeldProposal {
    workspace: Workspace,
    call: HeldCall,
    control: Control,
    /// Kept until the proposal is carried out: a pause whose lock is free counts as lost.
    hold: Hold,
    request: Request,
    rev: Option<String>,
    fingerprint: String,
}

impl HeldProposal {
    fn run(mut self) -> ProposalOutcome {
        match self.wait() {
            Ok(Some(decision)) => self.carry_out(&decision),
            Ok(None) => ProposalOutcome::Withdrawn,
            Err(error) => {
                tracing::error!("{} cannot be waited for: {error}", self.hold.id);
                ProposalOutcome::Accepted(Err(error.into()))
            }
        }
    }

    /// Waits for the decision. None: its pause was ended.
    fn wait(&mut self) -> Result<Option<PauseDecision>, Error> {
        let (control, id) = (&self.control, self.hold.id);
        let limits = SilenceLimits::new(&self.workspace, None, Instant::now(), None);
        let hold = &mut self.hold;
        let end = limits.hold(control, (id, &self.call), None, |until| {
            hold.wait(control, until)
        })?;
        Ok(match end {
            HoldEnd::Decided(decision) => Some(decision),
            HoldEnd::AgentGone => {
                let message = words::nobody_answered();
                let denied = PauseDecision::Deny { message };
                control.pauses().decide_alone(id, &denied, WITHDRAWN)?;
                // a person may have been faster
                control.pauses().get(id)?.and_then(|pause| pause.decision)
            }
            HoldEnd::Ended | HoldEnd::Parked { .. } | HoldEnd::TimedOut => None,
        })
    }

    fn carry_out(&self, decision: &PauseDecision) -> ProposalOutcome {
        let id = self.hold.id;
        let by = match self.control.pauses().get(id) {
            Ok(Some(pause)) => pause.decided_by.unwrap_or_default(),
            _ => String::new(),
        };
        if !matches!(decision, PauseDecision::Continue) {
            let (outcome, end) = if by == WITHDRAWN {
                (ProposalOutcome::Withdrawn, PauseOutcome::Ended)
            } else {
                let reason = decision
                    .message()
                    .map_or_else(words::refused, str::to_owned);
                (ProposalOutcome::Denied { reason, by }, decision.outcome())
            };
            self.ended(self.control.proposals().end(id, &self.call.session, end));
            return outcome;
        }
        let done = self.apply();
        match &done {
            // some files were left out: it was carried out all the same
            Err(error) if error.document.is_none() => {
                let refused =
                    self.control
                        .proposals()
                        .refuse(id, &self.call.session, &error.message);
                self.ended(refused);
            }
            Ok(_) | Err(_) => {
                let end = PauseOutcome::Continued;
                self.ended(self.control.proposals().end(id, &self.call.session, end));
            }
        }
        ProposalOutcome::Accepted(done)
    }

    fn apply(&self) -> ToolResult {
        let mut engine = Engine::open_with(&self.workspace, opening::COMMAND.existing())?;
        let (request, rev) = (&self.request, self.rev.as_deref());
        rewind::apply(&mut engine, request, rev, &self.fingerprint)
    }

    fn ended(&self, ended: backstitch_core::Result<()>) {
        if let Err(error) = ended {
            tracing::error!("{} cannot be ended: {error}", self.hold.id);
        }
    }
}
