//! The gate: checks an agent's call against what is armed, holds it if a breakpoint says so, and turns the decision into
//! the answer. It stands before the recording of a call, so that a held call is not open yet, and holds no lock of the
//! store while it waits.

use std::path::Path;
use std::time::{Duration, Instant};

use backstitch_control::{
    Ability, Armed, Breakpoint, BreakpointAction, BreakpointSpec, CallFacts, CallMoment, Control,
    Given, HeldCall, Hit, Hold, PauseDecision, PauseHit, PauseId, PauseOutcome, PauseState,
    ProcessId, Subject, Trigger, Waited, armed_elsewhere, check, may_match, now,
};
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall};
use backstitch_core::config::Unattended;
use backstitch_core::{CallEvents, Engine, OpenOptions, Workspace};
use serde_json::Value;

use super::evaluate::Evaluation;
use super::lookup::{CallAt, Lookup, PastCall, resolved};
use super::named::by_call;
use super::silence::{SilenceLimits, SilentState};
use super::{answers, input, moves, shown, words};
use crate::agents::{Answer, Gated};

/// Interval at which a running evaluation is looked at.
const EVALUATION_TICK: Duration = Duration::from_millis(5);
/// Maximum size in bytes of the output of a call that is kept while it is held.
const MAX_OUTPUT: usize = 1 << 20;
/// Time that an agent waits for a hook whose entry does not say so.
const OLD_LIMIT: Duration = Duration::from_mins(1);
/// Time before the agent's own limit at which a call is answered.
const MARGIN: Duration = Duration::from_secs(10);

/// An event at the gate.
#[derive(Clone, Copy)]
pub struct AtGate<'a> {
    /// `Call`, or `Edit` for an agent inside an editor.
    pub subject: Subject,
    pub workspace: &'a Workspace,
    pub agent: &'a dyn Gated,
    pub event: &'a AgentEvent,
    pub payload: &'a [u8],
    /// Time that the agent waits for this hook, as its entry says.
    pub limit: Option<Duration>,
    pub started: Instant,
    /// The agent's process. Commands from below it are refused.
    pub process: Option<ProcessId>,
    /// True if the session works in another workspace, and its call reaches into this one.
    pub reaches_in: bool,
}

/// Returns the workspaces with armed breakpoints into which a call reaches from another one: it names a file there, or runs
/// there. The common case, in which no workspace has a breakpoint, costs one `stat`.
pub fn reached(
    own: &Workspace,
    agent: &dyn Gated,
    event: &AgentEvent,
) -> Vec<(Workspace, backstitch_core::Result<Armed>)> {
    let (EventKind::Before(call) | EventKind::After { call, .. }) = &event.kind else {
        return Vec::new();
    };
    let mut others = armed_elsewhere(own);
    if others.is_empty() {
        return others;
    }
    let input = input::read(&call.input).unwrap_or_default();
    let command = agent.command(&call.tool, &input);
    others.retain(|(workspace, _)| {
        let root = &workspace.root;
        let cwd = event.cwd.as_deref().unwrap_or(&own.root);
        let named = by_call(call, &input, command.as_deref(), root, cwd);
        let paths = named.paths.iter().chain(&named.mentioned);
        let mut dirs = paths.chain(named.searched.iter().map(|search| &search.dir));
        cwd.starts_with(root) || dirs.any(|path| !path.starts_with('/'))
    });
    others
}

/// True for a kind that is about a call itself, and not about the session that makes it.
fn is_about_calls(breakpoint: &Breakpoint) -> bool {
    match breakpoint.spec {
        BreakpointSpec::Path { .. }
        | BreakpointSpec::Line { .. }
        | BreakpointSpec::Content { .. }
        | BreakpointSpec::Command { .. }
        | BreakpointSpec::Pattern { .. }
        | BreakpointSpec::Tool { .. } => true,
        BreakpointSpec::Iteration { .. }
        | BreakpointSpec::Turn { .. }
        | BreakpointSpec::Error { .. }
        | BreakpointSpec::Budget { .. }
        | BreakpointSpec::Function { .. }
        | BreakpointSpec::Any
        | BreakpointSpec::Step { .. } => false,
    }
}

/// The gate's word on an event.
#[derive(Debug, Default)]
pub struct Passed {
    pub answer: Answer,
    /// The call does not run, so that it is not recorded.
    pub prevented: bool,
    /// The payload to record instead: the user changed the input.
    pub payload: Option<Vec<u8>>,
    /// Its agent reports no end of the turn: the hook has to record it.
    pub ends_turn: bool,
    /// The agent gave up: nothing is answered, nothing recorded.
    pub abandoned: bool,
    /// The pause that is over once the agent has the answer.
    pause: Option<(PauseId, PauseOutcome)>,
    /// Kept until the agent has the answer: a pause whose lock is free counts as lost.
    hold: Option<Hold>,
    /// For the user, in one line.
    pub warning: Option<String>,
}

impl std::fmt::Debug for AtGate<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AtGate")
            .field("agent", &self.event.agent)
            .field("event", &self.event.name)
            .finish_non_exhaustive()
    }
}

impl Passed {
    /// True if the call is not left to the next check.
    pub fn is_decided(&self) -> bool {
        self.prevented
            || self.abandoned
            || self.payload.is_some()
            || !self.answer.parts().is_empty()
    }

    /// Notes that the agent has the answer.
    pub fn answered(&mut self, workspace: &Workspace) {
        if let Some((id, outcome)) = self.pause
            && let Ok(control) = Control::open_for_hook(workspace)
        {
            let state = match outcome {
                PauseOutcome::Asked => PauseState::Handed,
                PauseOutcome::Parked => PauseState::Parked,
                _ => PauseState::Answered,
            };
            let _ = control.pauses().end(id, state, Some(outcome));
        }
        self.hold = None;
    }
}

impl AtGate<'_> {
    /// Lets an event pass, or holds its call. `armed`: from the file, or the reason why it cannot be read.
    pub fn pass(&self, armed: backstitch_core::Result<Armed>) -> Passed {
        let armed = armed.map(|mut armed| {
            self.concerned(&mut armed.breakpoints);
            armed
        });
        let opened = Control::open_for_hook(self.workspace);
        let armed = match (armed, &opened) {
            (Ok(armed), _) => Ok(armed),
            // the file is damaged: the rows say it
            (Err(_), Ok(control)) => control.armed().map(|mut armed| {
                self.concerned(&mut armed.breakpoints);
                armed
            }),
            (Err(error), Err(_)) => Err(error),
        };
        match (armed, opened) {
            (Ok(armed), Ok(control)) => self.check(&armed, &control),
            (Ok(armed), Err(error)) => {
                if self.concerns(&armed) {
                    self.refused(&words::cannot_hold(&error.to_string()))
                } else {
                    Passed::default()
                }
            }
            (Err(error), _) => {
                if self.call().is_some_and(|call| call.effect != Effect::Reads) {
                    self.refused(&words::unknown(&error.to_string()))
                } else {
                    Passed::default()
                }
            }
        }
    }

    /// Notes a call that ran without a question of its agent, although a breakpoint would have stopped it.
    pub fn notice_unasked(&self, armed: backstitch_core::Result<Armed>) {
        let Ok(control) = Control::open_for_hook(self.workspace) else {
            return;
        };
        let Ok(mut armed) = armed.or_else(|_| control.armed()) else {
            return;
        };
        self.concerned(&mut armed.breakpoints);
        let moved = moves::follow(self.workspace, &control, &armed.breakpoints);
        let breakpoints = moved.as_deref().unwrap_or(&armed.breakpoints);
        self.with_facts(|facts, cwd| {
            let stops = stopping(breakpoints, None);
            // one that cannot be looked up is not known to have slipped
            let _ = self.note_if_stopped(&stops, &control, (facts, cwd), true);
        });
    }

    fn call(&self) -> Option<&ToolCall> {
        match &self.event.kind {
            EventKind::Before(call) | EventKind::After { call, .. } => Some(call),
            _ => None,
        }
    }

    /// True if a breakpoint may match, by tool, scope and kind alone.
    fn concerns(&self, armed: &Armed) -> bool {
        self.with_facts(|facts, _| may_match(&armed.breakpoints, &facts))
            .unwrap_or(false)
    }

    /// A call that cannot be held does not run.
    fn refused(&self, message: &str) -> Passed {
        let decision = PauseDecision::Deny {
            message: message.to_owned(),
        };
        let can = answers::abilities(self.agent, &self.event.name, CallMoment::Before);
        let is_before = matches!(self.event.kind, EventKind::Before(_));
        let prevented = is_before && can.contains(&Ability::Deny);
        Passed {
            answer: if prevented {
                let moment = CallMoment::Before;
                answers::answer(self.agent, &self.event.name, moment, &decision, "")
            } else {
                Answer::default()
            },
            prevented,
            warning: Some(message.to_owned()),
            ..Passed::default()
        }
    }

    /// Calls `f` with the facts about the call that cost nothing, and its directory.
    fn with_facts<T>(&self, f: impl FnOnce(CallFacts<'_>, &Path) -> T) -> Option<T> {
        let call = self.call()?;
        let moment = answers::moment_of(&self.event.kind)?;
        let root = &self.workspace.root;
        let cwd = self.event.cwd.as_deref().unwrap_or(root);
        // the agent may stand in the root through a link
        let real = if cwd.starts_with(root) {
            None
        } else {
            resolved(cwd).filter(|real| real.starts_with(root))
        };
        let cwd = real.as_deref().unwrap_or(cwd);
        let (input, unreadable) = match input::read(&call.input) {
            Ok(input) => (input, None),
            Err(reason) => (Value::Null, Some(reason)),
        };
        let command = self.agent.command(&call.tool, &input);
        let named = by_call(call, &input, command.as_deref(), root, cwd);
        let facts = CallFacts {
            moment,
            agent: &self.event.agent,
            session: &self.event.session,
            subagent: self.event.subagent.as_deref(),
            tool: &call.tool,
            input: &input,
            unreadable: unreadable.as_deref(),
            command: command.as_deref(),
            paths: &named.paths,
            mentioned: &named.mentioned,
            only_read: &named.only_read,
            searched: &named.searched,
            reads: matches!(call.effect, Effect::Reads),
            cwd: &cwd.to_string_lossy(),
            failed: matches!(self.event.kind, EventKind::After { failed: true, .. }),
            writes_named: !matches!(call.effect, Effect::Any { .. }),
        };
        Some(f(facts, cwd))
    }

    fn check(&self, armed: &Armed, control: &Control) -> Passed {
        let mut passed = self
            .with_facts(|facts, cwd| self.check_call(armed, control, facts, cwd))
            .unwrap_or_default();
        if matches!(self.event.kind, EventKind::SessionEnd) && !self.reaches_in {
            let _ = control.pauses().session_is_over(&self.event.session);
        }
        self.add_messages(armed, control, &mut passed);
        passed
    }

    fn check_call(
        &self,
        armed: &Armed,
        control: &Control,
        facts: CallFacts<'_>,
        cwd: &Path,
    ) -> Passed {
        if armed.pauses
            && let Some(passed) = self.rejoin(control, facts)
        {
            return passed;
        }
        let moved = moves::follow(self.workspace, control, &armed.breakpoints);
        let breakpoints = moved.as_deref().unwrap_or(&armed.breakpoints);
        self.notice_slipped(armed, breakpoints, control, facts, cwd);
        if !may_match(breakpoints, &facts) {
            return Passed::default();
        }
        // another hook of this event may have used a parked decision since the file was read
        if !armed.pauses
            && let Some(passed) = self.rejoin(control, facts)
        {
            return passed;
        }
        loop {
            if let Some(passed) = self.check_rows(control, facts, cwd) {
                return passed;
            }
        }
    }

    /// Leaves the breakpoints that may stop this call.
    fn concerned(&self, breakpoints: &mut Vec<Breakpoint>) {
        if self.reaches_in {
            breakpoints.retain(is_about_calls);
        }
    }

    /// Checks a call against the rows. None: its breakpoint for one hit has held another call at the same time.
    fn check_rows(&self, control: &Control, facts: CallFacts<'_>, cwd: &Path) -> Option<Passed> {
        let call = self.call();
        let call_id = call.map(|call| self.call_id(call)).unwrap_or_default();
        let error = facts
            .failed
            .then(|| self.agent.error_text(self.payload))
            .flatten();
        let at = CallAt {
            workspace: self.workspace,
            facts,
            cwd,
            prompt_id: self.event.prompt_id.as_deref(),
            call: call.and_then(|call| call.id.as_deref()),
            call_id: &call_id,
            transcript: self.event.transcript.as_deref(),
            error: error.as_deref(),
            past: None,
        };
        // the file may name what is gone: the rows decide
        let breakpoints = match control.breakpoints().all() {
            Ok(mut breakpoints) => {
                self.concerned(&mut breakpoints);
                breakpoints
            }
            Err(error) => return Some(self.refused(&words::cannot_hold(&error.to_string()))),
        };
        let mut lookup = Lookup::new(at, control, &breakpoints);
        let checked = match check(&breakpoints, &facts, &mut lookup) {
            Ok(checked) => checked,
            Err(error) => return Some(self.refused(&words::cannot_hold(&error.to_string()))),
        };
        let find = |trigger: &Trigger| breakpoints.iter().find(|one| one.id == trigger.breakpoint);
        for trigger in &checked.logged {
            if let Some(breakpoint) = find(trigger) {
                let template = breakpoint.message.as_deref().unwrap_or("{.tool}");
                let text = lookup.log_text(breakpoint.id, template);
                let hit = lookup.hit(breakpoint, trigger, Some(text));
                let _ = control.hits().record_only(&hit, breakpoint.once);
            }
        }
        let stop = checked.stop.as_ref();
        let Some((trigger, breakpoint)) = stop.and_then(|stop| Some((stop, find(stop)?))) else {
            return Some(Passed::default());
        };
        let hit = lookup.hit(breakpoint, trigger, None);
        if breakpoint.action == BreakpointAction::Deny {
            return Some(self.deny(control, breakpoint, trigger, &hit));
        }
        let held = self.held_call(breakpoint, trigger, facts, &mut lookup, cwd);
        Some(
            match control.pauses().hold(&held, Some(&hit), breakpoint.once) {
                Ok(None) => return None,
                Ok(Some(given)) => self.after_hold(control, given, &held, breakpoint.unattended),
                Err(error) => self.refused(&words::cannot_hold(&error.to_string())),
            },
        )
    }

    /// Joins the parked pause of a call that is tried again, whatever became of its breakpoint.
    fn rejoin(&self, control: &Control, facts: CallFacts<'_>) -> Option<Passed> {
        let call = self.call()?;
        if facts.moment != CallMoment::Before {
            return None;
        }
        let held = HeldCall {
            call: self.call_id(call),
            ..self.bare_call(call, facts)
        };
        match control.pauses().rejoin(&held) {
            Ok(Some((given, held))) => Some(self.after_hold(control, given, &held, None)),
            Ok(None) => None,
            Err(error) => Some(self.refused(&words::cannot_hold(&error.to_string()))),
        }
    }

    /// Notes a call that ran and was not let go: its hook died while it held it, or before.
    fn notice_slipped(
        &self,
        armed: &Armed,
        breakpoints: &[Breakpoint],
        control: &Control,
        facts: CallFacts<'_>,
        cwd: &Path,
    ) {
        let Some(call) = self.call().filter(|_| facts.moment == CallMoment::After) else {
            return;
        };
        if armed.pauses {
            let id = self.call_id(call);
            let slipped = control
                .pauses()
                .notice_slipped(facts.agent, facts.session, &id);
            if slipped.is_ok_and(|slipped| !slipped.is_empty()) {
                return;
            }
        }
        // one that cannot be looked up is not known to have slipped
        let _ = self.notice_unseen(breakpoints, control, facts, cwd);
    }

    /// Notes a call that no hook saw before it ran, although a breakpoint would have stopped it.
    fn notice_unseen(
        &self,
        breakpoints: &[Breakpoint],
        control: &Control,
        facts: CallFacts<'_>,
        cwd: &Path,
    ) -> backstitch_core::Result<()> {
        let Some(id) = self.call().and_then(|call| call.id.as_deref()) else {
            return Ok(());
        };
        let before = before(facts);
        let began = self.duration().map(|time| now() - time);
        let stops = stopping(breakpoints, began);
        if !may_match(&stops, &before) {
            return Ok(());
        }
        let engine = Engine::open_with(self.workspace, OpenOptions::HOOK.existing())?;
        let seen = engine
            .history()
            .call_events(facts.agent, facts.session, id)?;
        if seen == CallEvents::Both {
            return Ok(());
        }
        drop(engine);
        let is_counted = seen == CallEvents::OnlyAfter;
        self.note_if_stopped(&stops, control, (facts, cwd), is_counted)
    }

    /// Notes a call that has run and that one of these breakpoints would have stopped. `is_counted`: it is among the recorded
    /// calls of its session.
    fn note_if_stopped(
        &self,
        stops: &[Breakpoint],
        control: &Control,
        (facts, cwd): (CallFacts<'_>, &Path),
        is_counted: bool,
    ) -> backstitch_core::Result<()> {
        let Some((call, id)) = self
            .call()
            .and_then(|call| Some((call, call.id.as_deref()?)))
        else {
            return Ok(());
        };
        let before = before(facts);
        if !may_match(stops, &before) {
            return Ok(());
        }
        let at = CallAt {
            workspace: self.workspace,
            facts: before,
            cwd,
            prompt_id: self.event.prompt_id.as_deref(),
            call: Some(id),
            call_id: id,
            transcript: self.event.transcript.as_deref(),
            error: None,
            past: Some(PastCall { is_counted }),
        };
        let mut lookup = Lookup::new(at, control, stops);
        let Some(trigger) = check(stops, &before, &mut lookup)?.stop else {
            return Ok(());
        };
        let Some(breakpoint) = stops.iter().find(|one| one.id == trigger.breakpoint) else {
            return Ok(());
        };
        let session = (facts.agent, facts.session);
        // its hook was there, and had its answer; a call that was denied may be told as one that failed
        let is_known = control.hits().has(breakpoint.id, session, id)?;
        if is_known && (breakpoint.action == BreakpointAction::Pause || facts.failed) {
            return Ok(());
        }
        let held = HeldCall {
            call: call.id.clone().unwrap_or_default(),
            ..self.held_call(breakpoint, &trigger, before, &mut lookup, cwd)
        };
        control.pauses().note_unseen(&held)
    }

    /// Time that a call took, as its agent says it, in microseconds.
    fn duration(&self) -> Option<i64> {
        let payload: Value = serde_json::from_slice(self.payload).ok()?;
        payload["duration_ms"].as_i64()?.checked_mul(1000)
    }

    fn deny(
        &self,
        control: &Control,
        breakpoint: &Breakpoint,
        trigger: &Trigger,
        hit: &Hit,
    ) -> Passed {
        let _ = control.hits().record_only(hit, breakpoint.once);
        let message = breakpoint
            .message
            .clone()
            .unwrap_or_else(|| words::denied(breakpoint.id, &trigger.why));
        if matches!(self.event.kind, EventKind::After { .. }) {
            // a change that nobody could predict: the model is told what it should not have done
            let decision = PauseDecision::Deny { message };
            let (event, moment) = (&self.event.name, CallMoment::After);
            return Passed {
                answer: answers::answer(self.agent, event, moment, &decision, ""),
                ..Passed::default()
            };
        }
        let passed = self.refused(&message);
        Passed {
            // the user asked for it
            warning: None,
            ..passed
        }
    }

    /// The agent's own id of the call. Where it has none: made of thread, tool and input.
    fn call_id(&self, call: &ToolCall) -> String {
        call.id.clone().unwrap_or_else(|| {
            let thread = self.event.subagent.as_deref().unwrap_or_default();
            let hash = blake3::hash(&call.input).to_hex();
            format!("~{thread}/{}/{}", call.tool, &hash[..16])
        })
    }

    fn bare_call(&self, call: &ToolCall, facts: CallFacts<'_>) -> HeldCall {
        HeldCall {
            subject: self.subject,
            root: self.workspace.root.clone(),
            agent: facts.agent.to_owned(),
            session: facts.session.to_owned(),
            subagent: facts.subagent.map(str::to_owned),
            tool: facts.tool.to_owned(),
            call: self.call_id(call),
            is_made_id: call.id.is_none(),
            moment: facts.moment,
            input: String::from_utf8_lossy(&call.input).into_owned(),
            cwd: self.event.cwd.clone(),
            files: files(facts),
            can: answers::abilities(self.agent, &self.event.name, facts.moment),
            agent_process: self.process,
            until: self.until(),
            ..HeldCall::default()
        }
    }

    fn held_call(
        &self,
        breakpoint: &Breakpoint,
        trigger: &Trigger,
        facts: CallFacts<'_>,
        lookup: &mut Lookup<'_>,
        cwd: &Path,
    ) -> HeldCall {
        let session = lookup.session().unwrap_or_default();
        let turn = session.turn;
        let bare = match self.call() {
            Some(call) => self.bare_call(call, facts),
            None => unreachable!("an event without a call is not checked"),
        };
        let has_run = facts.moment == CallMoment::After;
        let output = has_run
            .then(|| self.agent.output(self.payload))
            .flatten()
            .map(|output| output.to_string());
        let held = HeldCall {
            breakpoint: Some(breakpoint.id),
            hit: Some(PauseHit::of(breakpoint)),
            why: trigger.why.clone(),
            letter: session.letter,
            turn: turn.as_ref().map(|turn| turn.number),
            prompt: turn.map(|turn| turn.prompt),
            iteration: lookup.number().ok(),
            error: lookup.error().map(str::to_owned),
            output: output.filter(|output| output.len() <= MAX_OUTPUT),
            cwd: Some(cwd.to_path_buf()),
            ..bare
        };
        HeldCall {
            shown: shown::stored_files(&held),
            ..held
        }
    }

    fn after_hold(
        &self,
        control: &Control,
        given: Given,
        held: &HeldCall,
        unattended: Option<Unattended>,
    ) -> Passed {
        match given {
            Given::Decided(id, decision) => self.carry_out(id, &decision, held),
            Given::Held(hold) => self.wait(control, hold, held, unattended),
        }
    }

    /// The time after which the agent would hear no answer.
    fn last_moment(&self) -> Instant {
        let limit = self.limit.unwrap_or(OLD_LIMIT);
        let margin = MARGIN.min(limit.mul_f64(0.05).max(Duration::from_millis(200)));
        let margin = if limit >= MARGIN * 3 { MARGIN } else { margin };
        self.started + limit.saturating_sub(margin)
    }

    /// The agent's own limit, in microseconds since 1970.
    fn until(&self) -> Option<i64> {
        let limit = self.limit.unwrap_or(OLD_LIMIT);
        let left = limit.saturating_sub(self.started.elapsed());
        Some(now() + i64::try_from(left.as_micros()).ok()?)
    }

    fn wait(
        &self,
        control: &Control,
        mut hold: Hold,
        held: &HeldCall,
        unattended: Option<Unattended>,
    ) -> Passed {
        let passed = self.wait_with(control, &mut hold, held, unattended);
        Passed {
            hold: Some(hold),
            ..passed
        }
    }

    fn wait_with(
        &self,
        control: &Control,
        hold: &mut Hold,
        held: &HeldCall,
        unattended: Option<Unattended>,
    ) -> Passed {
        let limit = Some(self.last_moment());
        let limits = SilenceLimits::new(self.workspace, unattended, Instant::now(), limit);
        hold.evaluates = true;
        let mut running = None;
        let failed =
            |error: backstitch_core::Error| self.refused(&words::cannot_hold(&error.to_string()));
        loop {
            let until = match limits.look(control, hold.id, held) {
                Ok(SilentState::Held { until }) => until,
                // the row says it
                Ok(SilentState::Decided) => None,
                Ok(SilentState::Parked { message }) => {
                    return Passed {
                        pause: Some((hold.id, PauseOutcome::Parked)),
                        warning: None,
                        ..self.refused(&message)
                    };
                }
                Err(error) => return failed(error),
            };
            match self.wait_evaluating(control, hold, &mut running, until) {
                Ok(Waited::Decided(decision)) => return self.carry_out(hold.id, &decision, held),
                Ok(Waited::AgentGone) => {
                    let ended = (PauseState::Ended, Some(PauseOutcome::Ended));
                    let _ = control.pauses().end(hold.id, ended.0, ended.1);
                    return Passed {
                        abandoned: true,
                        ..Passed::default()
                    };
                }
                Ok(Waited::Timeout) => {}
                Ok(Waited::Ended(_) | Waited::Eval) => {
                    return self.refused(&words::cannot_hold("its pause was ended"));
                }
                Err(error) => return failed(error),
            }
        }
    }

    /// Waits, and has inputs of REPLs evaluated meanwhile. A decision ends an evaluation that is under way.
    fn wait_evaluating(
        &self,
        control: &Control,
        hold: &mut Hold,
        running: &mut Option<Evaluation>,
        until: Option<Instant>,
    ) -> backstitch_core::Result<Waited> {
        loop {
            let look = running.is_some().then(|| Instant::now() + EVALUATION_TICK);
            let waited = hold.wait(control, look.into_iter().chain(until).min())?;
            *running = running.take().and_then(|one| one.go_on(control));
            let is_early = until.is_none_or(|until| Instant::now() < until);
            match waited {
                Waited::Eval => {
                    if let Some(request) = control.repls().take_eval(hold.id)? {
                        let pause = control.pauses().get(hold.id)?;
                        let asked = pause.map(|pause| {
                            Evaluation::start(self.workspace, control, &pause, request)
                        });
                        *running = asked.flatten();
                    }
                }
                Waited::Timeout if is_early => {}
                other => return Ok(other),
            }
        }
    }

    /// Turns a decision into the answer.
    fn carry_out(&self, id: PauseId, decision: &PauseDecision, held: &HeldCall) -> Passed {
        let moment = held.moment;
        let event = &self.event.name;
        let mut decision = decision.clone();
        if let PauseDecision::Change { input } = &mut decision {
            *input = shown::as_it_runs(held, input.take());
        }
        let decision = &answers::possible(self.agent, event, moment, decision);
        let answer = answers::answer(self.agent, event, moment, decision, &held.why);
        let payload = if let PauseDecision::Change { input } = decision {
            self.agent.with_input(self.payload, input)
        } else {
            None
        };
        Passed {
            ends_turn: matches!(decision, PauseDecision::Stop { .. }) && answer.stop.is_some(),
            answer,
            prevented: answers::prevents(decision, moment),
            payload,
            pause: Some((id, decision.outcome())),
            ..Passed::default()
        }
    }

    /// Adds the texts that wait for the session, if this event can carry them.
    fn add_messages(&self, armed: &Armed, control: &Control, passed: &mut Passed) {
        let abilities = self.agent.abilities();
        let takes_note = abilities
            .taken_at(&self.event.name)
            .contains(&crate::agents::AnswerPart::Note);
        if !takes_note || passed.abandoned {
            return;
        }
        // a text may have come while the call was held
        let come = || control.armed().is_ok_and(|armed| armed.messages);
        if !armed.messages && (passed.pause.is_none() || !come()) {
            return;
        }
        let Ok(texts) = control
            .messages()
            .take(&self.event.agent, &self.event.session)
        else {
            return;
        };
        if texts.is_empty() {
            return;
        }
        let mut all: Vec<String> = passed.answer.note.take().into_iter().collect();
        all.extend(texts);
        passed.answer.note = Some(all.join("\n\n"));
    }
}

/// The files that people see of a call.
fn files(facts: CallFacts<'_>) -> Vec<String> {
    if !facts.reads {
        return facts.paths.to_vec();
    }
    let shown = facts.mentioned.iter().filter(|path| *path != ".");
    shown.cloned().collect()
}

/// The facts about a call that has run, as they were before.
fn before(facts: CallFacts<'_>) -> CallFacts<'_> {
    CallFacts {
        moment: CallMoment::Before,
        failed: false,
        ..facts
    }
}

/// Returns the breakpoints that stop a call. `began`: the time at which it began, in microseconds since 1970.
fn stopping(breakpoints: &[Breakpoint], began: Option<i64>) -> Vec<Breakpoint> {
    let stops = breakpoints.iter();
    let stops = stops
        .filter(|one| one.action != BreakpointAction::Log)
        // one that was made while the call ran stops it no more
        .filter(|one| began.is_none_or(|began| one.created < began));
    stops.cloned().collect()
}
