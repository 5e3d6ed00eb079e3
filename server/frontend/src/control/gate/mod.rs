//! The gate: checks an agent's call against what is armed, holds it if a breakpoint says so, and turns the decision into
//! the answer. It stands before the recording of a call, so that a held call is not open yet, and holds no lock of the
//! store while it waits.
//!
//! A call is read once (`call`), the breakpoints decide on it (`decision`, a value), and [`GateCheck::act`] carries that out:
//! it records, waits (`holder`), and answers (`outcome`).

mod answers;
mod call;
mod decision;
mod event;
mod holder;
mod missed;
mod outcome;

use backstitch_agents::{AnswerPart, Gated};
use backstitch_control::{
    Armed, CallMoment, Control, HeldCall, HoldOutcome, armed_at, armed_elsewhere, may_match,
};
use backstitch_core::capture::{AgentEvent, EventKind};
use backstitch_core::config::Unattended;
use backstitch_core::{Result, Workspace};

use super::named::by_call;
use super::silence::HoldEnd;
use super::{follow_renames, input, words};
use call::GateCall;
use decision::{GateDecision, StopAction};
pub use event::{CallOff, GateCheck};
use holder::Holder;
pub use outcome::GateOutcome;

/// A workspace with armed breakpoints, or the reason why they cannot be read.
pub type Gate = (Workspace, Result<Armed>);

/// Returns the gates of an event: of the workspaces that it reaches into, and last its own. The common case, in which no
/// workspace has a breakpoint, costs two `stat`s.
pub fn gates(own: &Workspace, agent: &dyn Gated, event: &AgentEvent) -> Vec<Gate> {
    let mut gates = reached(own, agent, event);
    gates.extend(armed_at(own).map(|armed| (own.clone(), armed)));
    gates
}

/// Returns the workspaces into which a call reaches from another one: it names a file there, or runs there.
fn reached(own: &Workspace, agent: &dyn Gated, event: &AgentEvent) -> Vec<Gate> {
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

impl GateCheck<'_> {
    /// Checks the event at several gates, until one decides. This check is that of the event's own workspace.
    pub fn check_all(&self, gates: Vec<Gate>) -> Vec<(Workspace, GateOutcome)> {
        let mut outcomes = Vec::new();
        for (workspace, armed) in gates {
            let outcome = self.at(&workspace).check(armed);
            let is_decided = outcome.is_decided();
            outcomes.push((workspace, outcome));
            if is_decided {
                break;
            }
        }
        outcomes
    }

    /// Records an event that ran without a question of its agent at several gates.
    pub fn record_unasked_at(&self, gates: Vec<Gate>) {
        for (workspace, armed) in gates {
            self.at(&workspace).record_unasked(armed);
        }
    }

    fn at<'b>(&'b self, workspace: &'b Workspace) -> GateCheck<'b> {
        GateCheck {
            workspace,
            reaches_in: workspace != self.workspace,
            ..*self
        }
    }

    /// Lets an event pass, or holds its call.
    pub fn check(&self, armed: Result<Armed>) -> GateOutcome {
        let call = GateCall::read(self);
        let control = Control::open_for_hook(self.workspace);
        // where the file is damaged or gone the rows say it
        let armed = armed.or_else(|error| match &control {
            Ok(control) => control.mend_lost_armed().and_then(|()| control.armed()),
            Err(_) => Err(error),
        });
        let armed = armed.map(|mut armed| {
            armed.breakpoints = self.concerned(armed.breakpoints);
            armed
        });
        let (armed, control) = match (armed, control) {
            (Ok(armed), Ok(control)) => (armed, control),
            (Ok(armed), Err(error)) => {
                let may_stop = |call: GateCall<'_>| may_match(&armed.breakpoints, &call.facts());
                return if call.is_some_and(may_stop) {
                    self.not_held(&error)
                } else {
                    GateOutcome::default()
                };
            }
            (Err(error), _) => {
                return if call.is_some_and(|call| call.changes()) {
                    self.refused(&words::unknown(&error.to_string()))
                } else {
                    GateOutcome::default()
                };
            }
        };
        let mut outcome = match &call {
            Some(call) => self.check_call(&armed, &control, call),
            None => GateOutcome::default(),
        };
        if matches!(self.event.kind, EventKind::SessionEnd) && !self.reaches_in {
            let _ = control.pauses().session_is_over(&self.event.session);
        }
        self.add_messages(&armed, &control, &mut outcome);
        outcome
    }

    fn check_call(&self, armed: &Armed, control: &Control, call: &GateCall<'_>) -> GateOutcome {
        if armed.pauses
            && let Some(outcome) = self.resume_parked(control, call)
        {
            return outcome;
        }
        let moved = follow_renames::follow(self.workspace, control, &armed.breakpoints);
        let breakpoints = moved.as_deref().unwrap_or(&armed.breakpoints);
        self.detect_missed(armed.pauses, breakpoints, control, call);
        if !may_match(breakpoints, &call.facts()) {
            return GateOutcome::default();
        }
        // another hook of this event may have used a parked decision since the file was read
        if !armed.pauses
            && let Some(outcome) = self.resume_parked(control, call)
        {
            return outcome;
        }
        loop {
            match self.decision(control, call) {
                Ok(decision) => {
                    if let Some(outcome) = self.act(control, decision) {
                        return outcome;
                    }
                }
                Err(error) => return self.not_held(&error),
            }
        }
    }

    /// Carries a decision out. None: its breakpoint for one hit has held another call at the same time.
    fn act(&self, control: &Control, decision: GateDecision) -> Option<GateOutcome> {
        let GateDecision { logged, stop } = decision;
        let record_logged = || logged.iter().for_each(|one| one.record(control));
        match stop {
            StopAction::None => {
                record_logged();
                Some(GateOutcome::default())
            }
            StopAction::Deny { struck, message } => {
                record_logged();
                struck.record(control);
                Some(self.denied(&message))
            }
            StopAction::Hold {
                struck,
                held,
                unattended,
            } => {
                let hold = control.pauses().hold(&held, Some(&struck.hit), struck.once);
                let hold = hold.transpose()?;
                record_logged();
                Some(match hold {
                    Ok(given) => self.wait(control, given, &held, unattended),
                    Err(error) => self.not_held(&error),
                })
            }
        }
    }

    /// Joins the parked pause of a call that is tried again, whatever became of its breakpoint.
    fn resume_parked(&self, control: &Control, call: &GateCall<'_>) -> Option<GateOutcome> {
        if call.facts().moment != CallMoment::Before {
            return None;
        }
        let resumed = control.pauses().resume_parked(&self.bare_call(call));
        Some(match resumed.transpose()? {
            Ok((given, held)) => self.wait(control, given, &held, None),
            Err(error) => self.not_held(&error),
        })
    }

    /// Waits for the decision on a held call, and answers with it.
    fn wait(
        &self,
        control: &Control,
        given: HoldOutcome,
        held: &HeldCall,
        unattended: Option<Unattended>,
    ) -> GateOutcome {
        let mut hold = match given {
            HoldOutcome::Decided(id, decision) => return self.decided(id, &decision, held),
            HoldOutcome::Held(hold) => hold,
        };
        let holder = Holder {
            workspace: self.workspace,
            control,
            held,
            unattended,
            last_moment: self.last_moment(),
            call_off: self.call_off,
        };
        let outcome = match holder.wait(&mut hold) {
            Ok(HoldEnd::Decided(decision)) => self.decided(hold.id, &decision, held),
            Ok(HoldEnd::Parked { message }) => self.parked(hold.id, &message),
            Ok(HoldEnd::AgentGone) => GateOutcome {
                abandoned: true,
                ..GateOutcome::default()
            },
            Ok(HoldEnd::Ended | HoldEnd::TimedOut) => {
                self.refused(&words::cannot_hold("its pause was ended"))
            }
            Err(error) => self.not_held(&error),
        };
        GateOutcome {
            hold: Some(hold),
            ..outcome
        }
    }

    /// Adds the texts that wait for the session, if this event can carry them.
    fn add_messages(&self, armed: &Armed, control: &Control, outcome: &mut GateOutcome) {
        let abilities = self.agent.abilities();
        let takes_note = abilities
            .taken_at(&self.event.name)
            .contains(&AnswerPart::Note);
        if !takes_note || outcome.abandoned {
            return;
        }
        // a text may have come while the call was held
        let come = || control.armed().is_ok_and(|armed| armed.messages);
        if !armed.messages && (outcome.pause.is_none() || !come()) {
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
        let mut all: Vec<String> = outcome.answer.note.take().into_iter().collect();
        all.extend(texts);
        outcome.answer.note = Some(all.join("\n\n"));
    }
}

#[cfg(test)]
mod tests {
    use backstitch_agents::agent;
    use backstitch_control::{AnyKind, NewBreakpoint, PauseFilter, Subject, armed_at};
    use backstitch_core::WorkspaceKind;
    use backstitch_core::capture::{Effect, ToolCall};

    use super::*;

    /// An agent calls its call off before the hold begins: nobody else would ever end it.
    #[test]
    fn a_call_that_is_called_off_before_its_hold_is_denied() {
        let dir = tempfile::tempdir().expect("a directory");
        let workspace = Workspace {
            root: dir.path().join("project"),
            store_dir: dir.path().join("store"),
            shared: false,
            kind: WorkspaceKind::Project,
        };
        std::fs::create_dir(&workspace.root).expect("a root");
        let control = Control::open(&workspace).expect("a database");
        let next = NewBreakpoint::of(AnyKind {}.into(), "test");
        control.breakpoints().add(next).expect("a breakpoint");
        let call = ToolCall {
            id: Some("c1".to_owned()),
            tool: "Bash".to_owned(),
            input: br#"{"command":"make"}"#.to_vec(),
            effect: Effect::Any { background: false },
        };
        let event = AgentEvent {
            agent: "claude-code".to_owned(),
            session: "s1".to_owned(),
            transcript: None,
            prompt_id: None,
            subagent: None,
            cwd: Some(workspace.root.clone()),
            process: None,
            other_hooks: None,
            name: "PreToolUse".to_owned(),
            kind: EventKind::Before(call),
        };
        let call_off = CallOff::default();
        call_off
            .call(std::slice::from_ref(&workspace), "c1")
            .expect("it is called off");
        let agent = agent("claude-code").expect("an agent");
        let about = (Subject::Call, &workspace);
        let gate = GateCheck::patient(about, &agent, &event, None, &call_off);
        let outcome = gate.check(armed_at(&workspace).expect("armed"));
        assert!(outcome.prevented, "{outcome:?}");
        let open = control.pauses().list(PauseFilter::Open).expect("pauses");
        assert!(
            open.iter().all(|pause| pause.decision.is_some()),
            "{open:?}"
        );
    }
}
