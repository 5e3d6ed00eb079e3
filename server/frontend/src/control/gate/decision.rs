//! The gate's decision on a call, as a value. Nothing is recorded, held or answered here.

use backstitch_control::{
    Breakpoint, BreakpointAction, CallMoment, Control, HeldCall, Hit, PauseHit, Trigger, check, now,
};
use backstitch_core::Result;
use backstitch_core::config::Unattended;

use super::answers;
use super::call::GateCall;
use super::event::GateCheck;
use crate::control::lookup::Lookup;
use crate::control::{shown, words};

/// Maximum size in bytes of the output of a call that is kept while it is held.
const MAX_OUTPUT: usize = 1 << 20;

/// The decision on a call, by the rows of the breakpoints.
pub(super) struct GateDecision {
    /// Triggers of log points, in order.
    pub logged: Vec<Struck>,
    pub stop: StopAction,
}

/// A trigger to record.
pub(super) struct Struck {
    pub hit: Hit,
    /// Its breakpoint is for one hit, and goes with it.
    pub once: bool,
}

pub(super) enum StopAction {
    /// No breakpoint stops the call.
    None,
    Deny {
        struck: Struck,
        /// For the model.
        message: String,
    },
    Hold {
        struck: Struck,
        held: Box<HeldCall>,
        /// The breakpoint's own rule for calls that nobody sees.
        unattended: Option<Unattended>,
    },
}

impl GateCheck<'_> {
    /// Decides on a call. The breakpoints are the rows: the file of armed breakpoints may name one that is gone.
    pub(super) fn decision(&self, control: &Control, call: &GateCall<'_>) -> Result<GateDecision> {
        let breakpoints = self.concerned(control.breakpoints().all()?);
        let error = call
            .has_failed()
            .then(|| self.agent.error_text(self.payload))
            .flatten();
        let at = call.at(self, error.as_deref());
        let mut lookup = Lookup::new(at, control, &breakpoints);
        let checked = check(&breakpoints, &call.facts(), &mut lookup)?;
        let find = |trigger: &Trigger| breakpoints.iter().find(|one| one.id == trigger.breakpoint);
        let logged = checked.logged.iter();
        let logged = logged.filter_map(|trigger| Some((trigger, find(trigger)?)));
        let logged = logged
            .map(|(trigger, breakpoint)| {
                let template = breakpoint.message.as_deref().unwrap_or("{.tool}");
                let text = lookup.log_text(breakpoint.id, template);
                Struck::new(&mut lookup, breakpoint, trigger, Some(text))
            })
            .collect();
        let stop = checked.stop.as_ref();
        let stop = match stop.and_then(|trigger| Some((trigger, find(trigger)?))) {
            None => StopAction::None,
            Some((trigger, breakpoint)) => self.stop(call, breakpoint, trigger, &mut lookup),
        };
        Ok(GateDecision { logged, stop })
    }

    fn stop(
        &self,
        call: &GateCall<'_>,
        breakpoint: &Breakpoint,
        trigger: &Trigger,
        lookup: &mut Lookup<'_>,
    ) -> StopAction {
        let struck = Struck::new(lookup, breakpoint, trigger, None);
        if breakpoint.action == BreakpointAction::Deny {
            let message = breakpoint.message.clone();
            let message = message.unwrap_or_else(|| words::denied(breakpoint.id, &trigger.why));
            return StopAction::Deny { struck, message };
        }
        let moment = call.facts().moment;
        StopAction::Hold {
            struck,
            held: Box::new(self.held_call(call, moment, breakpoint, trigger, lookup)),
            unattended: breakpoint.unattended,
        }
    }

    /// A call by what its event alone says.
    pub(super) fn bare_call(&self, call: &GateCall<'_>) -> HeldCall {
        let facts = call.facts();
        HeldCall {
            subject: self.subject,
            root: self.workspace.root.clone(),
            agent: facts.agent.to_owned(),
            session: facts.session.to_owned(),
            subagent: facts.subagent.map(str::to_owned),
            tool: facts.tool.to_owned(),
            call: call.id.clone(),
            is_made_id: call.call.id.is_none(),
            moment: facts.moment,
            input: String::from_utf8_lossy(&call.call.input).into_owned(),
            cwd: self.event.cwd.clone(),
            files: call.shown_files(),
            can: answers::abilities(self.agent, &self.event.name, facts.moment),
            agent_process: self.process,
            until: self.until(),
            ..HeldCall::default()
        }
    }

    /// A call as people see it at a breakpoint. `moment`: that at which the breakpoint stops it.
    pub(super) fn held_call(
        &self,
        call: &GateCall<'_>,
        moment: CallMoment,
        breakpoint: &Breakpoint,
        trigger: &Trigger,
        lookup: &mut Lookup<'_>,
    ) -> HeldCall {
        let session = lookup.session().unwrap_or_default();
        let turn = session.turn;
        let output = (moment == CallMoment::After)
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
            cwd: Some(call.cwd.clone()),
            moment,
            can: answers::abilities(self.agent, &self.event.name, moment),
            ..self.bare_call(call)
        };
        HeldCall {
            shown: shown::stored_files(&held),
            ..held
        }
    }

    /// The agent's own limit, in microseconds since 1970.
    fn until(&self) -> Option<i64> {
        let left = self.timeout().saturating_sub(self.started.elapsed());
        Some(now() + i64::try_from(left.as_micros()).ok()?)
    }
}

impl Struck {
    fn new(
        lookup: &mut Lookup<'_>,
        breakpoint: &Breakpoint,
        trigger: &Trigger,
        text: Option<String>,
    ) -> Self {
        Self {
            hit: lookup.hit(breakpoint, trigger, text),
            once: breakpoint.once,
        }
    }

    pub fn record(&self, control: &Control) {
        // a call is not stopped by what cannot be noted about it
        let _ = control.hits().record_only(&self.hit, self.once);
    }
}
