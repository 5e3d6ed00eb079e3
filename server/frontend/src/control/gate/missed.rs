//! Calls that ran although a breakpoint concerned them: no hook saw them before, or their hook died while it held them.

use backstitch_control::{
    Armed, Breakpoint, BreakpointAction, CallMoment, Control, check, may_match, now,
};
use backstitch_core::{CallEvents, Engine, Result};
use serde_json::Value;

use super::call::GateCall;
use super::event::GateCheck;
use crate::control::follow_renames;
use crate::control::lookup::{Lookup, PastCall};
use crate::opening;

impl GateCheck<'_> {
    /// Records a call that ran without a question of its agent, although a breakpoint would have stopped it.
    pub fn record_unasked(&self, armed: Result<Armed>) {
        let Some(call) = GateCall::read(self) else {
            return;
        };
        let Ok(control) = Control::open_for_hook(self.workspace) else {
            return;
        };
        let Ok(armed) = armed.or_else(|_| control.armed()) else {
            return;
        };
        let breakpoints = self.concerned(armed.breakpoints);
        let moved = follow_renames::follow(self.workspace, &control, &breakpoints);
        let stops = stopping(moved.as_deref().unwrap_or(&breakpoints), None);
        // one that cannot be looked up is not known to have been missed
        let _ = self.record_if_stopped(&stops, &control, &call, true);
    }

    /// Records a call that has run, and that was not resumed before.
    pub(super) fn detect_missed(
        &self,
        has_pauses: bool,
        breakpoints: &[Breakpoint],
        control: &Control,
        call: &GateCall<'_>,
    ) {
        if !call.has_run() {
            return;
        }
        if has_pauses {
            let session = (&*self.event.agent, &*self.event.session);
            let missed = control.pauses().detect_missed(session, &call.id);
            if missed.is_ok_and(|missed| !missed.is_empty()) {
                return;
            }
        }
        // one that cannot be looked up is not known to have been missed
        let _ = self.record_unseen(breakpoints, control, call);
    }

    /// Records a call that no hook saw before it ran, although a breakpoint would have stopped it.
    fn record_unseen(
        &self,
        breakpoints: &[Breakpoint],
        control: &Control,
        call: &GateCall<'_>,
    ) -> Result<()> {
        let Some(id) = call.call.id.as_deref() else {
            return Ok(());
        };
        let began = self.duration().map(|time| now() - time);
        let stops = stopping(breakpoints, began);
        if !may_match(&stops, &call.facts_before()) {
            return Ok(());
        }
        let engine = Engine::open_with(self.workspace, opening::HOOK.existing())?;
        let history = engine.history();
        let seen = history.call_events(&self.event.agent, &self.event.session, id)?;
        drop(engine);
        let is_counted = match seen {
            CallEvents::Both => return Ok(()),
            seen => seen == CallEvents::OnlyAfter,
        };
        self.record_if_stopped(&stops, control, call, is_counted)
    }

    /// Records a call that has run and that one of these breakpoints would have stopped. `is_counted`: it is among the
    /// recorded calls of its session.
    fn record_if_stopped(
        &self,
        stops: &[Breakpoint],
        control: &Control,
        call: &GateCall<'_>,
        is_counted: bool,
    ) -> Result<()> {
        let facts = call.facts_before();
        // an id that was made of the input may be another call's
        if call.call.id.is_none() || !may_match(stops, &facts) {
            return Ok(());
        }
        let at = call.at_past(self, PastCall { is_counted });
        let mut lookup = Lookup::new(at, control, stops);
        let Some(trigger) = check(stops, &facts, &mut lookup)?.stop else {
            return Ok(());
        };
        let Some(breakpoint) = stops.iter().find(|one| one.id == trigger.breakpoint) else {
            return Ok(());
        };
        let session = (facts.agent, facts.session);
        // its hook was there, and had its answer; a call that was denied may be told as one that failed
        let is_known = control.hits().has(breakpoint.id, session, &call.id)?;
        if is_known && (breakpoint.action == BreakpointAction::Pause || call.has_failed()) {
            return Ok(());
        }
        let moment = CallMoment::Before;
        let held = self.held_call(call, moment, breakpoint, &trigger, &mut lookup);
        control.pauses().record_missed(&held)
    }

    /// Time that a call took, as its agent says it, in microseconds.
    fn duration(&self) -> Option<i64> {
        let payload: Value = serde_json::from_slice(self.payload).ok()?;
        payload["duration_ms"].as_i64()?.checked_mul(1000)
    }
}

/// Returns the breakpoints that stop a call. `began`: the time at which it began, in microseconds since 1970.
fn stopping(breakpoints: &[Breakpoint], began: Option<i64>) -> Vec<Breakpoint> {
    let stops = breakpoints.iter();
    let stops = stops
        .filter(|one| one.action != BreakpointAction::Log)
        // one that was made while the call ran does not stop it
        .filter(|one| began.is_none_or(|began| one.created < began));
    stops.cloned().collect()
}
