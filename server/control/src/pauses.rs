//! Holding calls, deciding on them, and noticing those whose hook died.

use serde_json::{Value, json};

use super::Control;
use super::breakpoint::{AnyKind, BreakpointScope, BreakpointSpec, StepKind, StepUntil};
use super::breakpoints::NewBreakpoint;
use super::decided::{Decided, Undone};
use super::hold::Hold;
use super::pause::{Ability, HeldCall, Pause, PauseDecision, PauseId, PauseOutcome, PauseState};
use super::retention::parked_before;
use super::tables::command::{self, NewCommand};
use super::tables::hit::Hit;
use super::tables::pause::PauseFilter;
use super::tables::{ack, breakpoint, hit, pause, repl};
use backstitch_core::Hint;
use backstitch_core::process::ProcessId;
use backstitch_core::sqlite;
use backstitch_core::{Error, Result};

/// Stands in place of a front end where the agent has called its own call off.
pub const CALLED_OFF: &str = "cancelled";

/// The outcome of an attempt to hold a call.
#[derive(Debug)]
pub enum HoldOutcome {
    /// The call is held, by this process or beside another hook of the same event.
    Held(Hold),
    /// It was decided before: while it was parked, or by the first of two hooks.
    Decided(PauseId, PauseDecision),
}

/// A decision that is to be stored.
#[derive(Clone, Copy, Debug)]
pub struct Ruling<'a> {
    pub decision: &'a PauseDecision,
    /// The call at which the agent is stopped next.
    pub step: Option<&'a StepUntil>,
    pub face: &'a str,
    pub seen: SeenInput<'a>,
    /// The files that the call would write with it, for those who look later.
    pub shown: Option<&'a str>,
}

/// The input of a held call that the decision is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SeenInput<'a> {
    /// Whatever it is when the decision is stored.
    Any,
    /// The one that a user had set when it was shown. None: the agent's own.
    Draft(Option<&'a Value>),
}

/// All that is, or was, held.
#[derive(Debug)]
pub struct Pauses<'a> {
    pub(crate) control: &'a Control,
}

impl Pauses<'_> {
    /// Holds a call. A second hook for the same event joins the first one's pause, and a call that is tried again joins
    /// its parked one. `hit`: the trigger, stored with it. `once`: the breakpoint is for one hit, and goes with it. None: it
    /// has held another call meanwhile.
    pub fn hold(
        &self,
        call: &HeldCall,
        hit: Option<&Hit>,
        once: bool,
    ) -> Result<Option<HoldOutcome>> {
        self.control.make_holds_dir()?;
        self.control.write_armed(|conn| {
            if let Some((given, _)) = self.join(conn, call)? {
                // the first hook has counted the call
                if let Some(hit) = hit {
                    breakpoint::uncount(conn, hit.breakpoint)?;
                }
                return Ok(Some(given));
            }
            if let Some(breakpoint) = call.breakpoint.filter(|_| once)
                && !breakpoint::delete(conn, breakpoint)?
            {
                return Ok(None);
            }
            let id = pause::insert(conn, call, ProcessId::own())?;
            if let Some(hit) = hit {
                hit::insert(
                    conn,
                    &Hit {
                        pause: Some(id.0),
                        ..hit.clone()
                    },
                )?;
            }
            // as in a debugger: a stop ends the step that was under way
            breakpoint::delete_steps(conn, &call.session)?;
            breakpoint::delete_next_of_any(conn)?;
            // before the commit: a held row without a lock is a lost one
            Ok(Some(HoldOutcome::Held(Hold::new(
                id,
                self.control.try_lock(id)?,
            ))))
        })
    }

    /// Joins the pause of the same call: of another hook for the same event, or a parked one that is tried again. None:
    /// there is none.
    pub fn resume_parked(&self, call: &HeldCall) -> Result<Option<(HoldOutcome, HeldCall)>> {
        // most calls have none, and need no write. In this order: a parked one that another hook takes meanwhile is then found
        // by its call
        let is_there = pause::parked(&self.control.conn, call)?.is_some()
            || pause::of_call(&self.control.conn, call)?.is_some();
        if !is_there {
            return Ok(None);
        }
        self.control.write_armed(|conn| self.join(conn, call))
    }

    fn join(
        &self,
        conn: &rusqlite::Connection,
        call: &HeldCall,
    ) -> Result<Option<(HoldOutcome, HeldCall)>> {
        if let Some(there) = pause::of_call(conn, call)? {
            let given = match there.decision {
                Some(decision) => HoldOutcome::Decided(there.id, decision),
                None => HoldOutcome::Held(Hold::new(there.id, self.control.try_lock(there.id)?)),
            };
            return Ok(Some((given, there.call)));
        }
        let Some(parked) = pause::parked(conn, call)? else {
            return Ok(None);
        };
        let given = if let Some(decision) = parked.decision {
            let outcome = decision.outcome();
            pause::end(conn, parked.id, PauseState::Used, Some(outcome))?;
            pause::rename_call(conn, parked.id, &call.call)?;
            HoldOutcome::Decided(parked.id, decision)
        } else {
            pause::take_over(conn, parked.id, ProcessId::own(), &call.call, call.until)?;
            HoldOutcome::Held(Hold::new(parked.id, self.control.try_lock(parked.id)?))
        };
        let held = HeldCall {
            call: call.call.clone(),
            until: call.until,
            ..parked.call
        };
        Ok(Some((given, held)))
    }

    /// True if a call was held before it ran, and was resumed.
    pub fn was_let_go(&self, (agent, session): (&str, &str), call: &str) -> Result<bool> {
        pause::was_let_go(&self.control.conn, (agent, session), call)
    }

    /// Returns a pause.
    pub fn get(&self, id: PauseId) -> Result<Option<Pause>> {
        pause::get(&self.control.conn, id)
    }

    /// Returns pauses, oldest first. Those whose hook died are noticed first.
    pub fn list(&self, filter: PauseFilter) -> Result<Vec<Pause>> {
        self.notice_lost()?;
        pause::list(&self.control.conn, filter)
    }

    /// Finds an open pause by `p7` or `7`. Without a name: the only open one, or the only one of the session.
    pub fn open(&self, name: Option<&str>, session: Option<&str>) -> Result<Pause> {
        let open = self.list(PauseFilter::Open)?;
        if let Some(name) = name {
            let number = name.strip_prefix('p').unwrap_or(name).parse::<i64>().ok();
            let not_found = || Error::NotFound {
                what: "pause",
                name: name.to_owned(),
            };
            let id = PauseId(number.ok_or_else(not_found)?);
            return self.get(id)?.ok_or_else(not_found);
        }
        let mut open: Vec<Pause> = open
            .into_iter()
            // a parked call that is decided needs nothing else
            .filter(|pause| pause.state != PauseState::Parked || pause.decision.is_none())
            .filter(|pause| session.is_none_or(|id| pause.call.session.starts_with(id)))
            .collect();
        // a call that waits for its agent's next try is meant only if none is held now
        if open.iter().any(|pause| pause.state != PauseState::Parked) {
            open.retain(|pause| pause.state != PauseState::Parked);
        }
        match open.len() {
            1 => Ok(open.remove(0)),
            0 => Err(Error::NothingHeld),
            _ => {
                let names: Vec<String> = open.iter().map(|pause| pause.id.to_string()).collect();
                Err(Error::Usage(format!(
                    "several calls are held: name one of {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// Marks pauses whose hook died. Returns them.
    pub fn notice_lost(&self) -> Result<Vec<PauseId>> {
        self.control.mend_armed()?;
        let mut lost = Vec::new();
        for open in pause::list(&self.control.conn, PauseFilter::Open)? {
            if open.state == PauseState::Parked {
                continue;
            }
            let Some(_lock) = self.control.try_lock(open.id)? else {
                continue;
            };
            let is_alive = || open.call.agent_process.is_some_and(ProcessId::is_alive);
            // another bridge takes the pause of a program over that is alive
            if open.call.subject.is_taken_over() && is_alive() && !self.control.is_orphan(&open) {
                continue;
            }
            // read again: it may have been answered between the list and the lock
            let ended = self.control.write_armed(|conn| {
                let now = pause::get(conn, open.id)?;
                let is_open = now.is_some_and(|now| now.state.has_holder());
                if is_open {
                    pause::end(conn, open.id, PauseState::Lost, Some(PauseOutcome::Lost))?;
                    repl::close_all(conn, open.id, "its program is gone")?;
                }
                Ok(is_open)
            })?;
            if ended {
                self.control.is_no_orphan(open.id);
                lost.push(open.id);
            }
        }
        Ok(lost)
    }

    /// Notes that a client has shown a pause to a person.
    pub fn acknowledge(&self, id: PauseId, face: &str) -> Result<()> {
        self.control.write(|conn| ack::insert(conn, id, face))
    }

    /// Notes that a person works on a held call: its time limit begins anew.
    pub fn touch(&self, id: PauseId) -> Result<()> {
        self.control.write(|conn| pause::touch(conn, id))
    }

    /// Returns the time at which a person last worked on a held call, in microseconds since 1970.
    pub fn touched(&self, id: PauseId) -> Result<Option<i64>> {
        pause::touched(&self.control.conn, id)
    }

    /// True if a client has shown the pause.
    pub fn is_acknowledged(&self, id: PauseId) -> Result<bool> {
        ack::any(&self.control.conn, id)
    }

    /// As `rule`, for a decision whatever the input is by now. A changed input is continued with.
    pub fn decide(
        &self,
        id: PauseId,
        decision: &PauseDecision,
        step: Option<&StepUntil>,
        face: &str,
    ) -> Result<Undone> {
        self.rule(
            id,
            &Ruling {
                decision,
                step,
                face,
                seen: SeenInput::Any,
                shown: None,
            },
        )
    }

    /// Stores the decision of a rule, or of the process that holds the pause: nobody waits for it. A decision of a person who
    /// was first stands.
    pub fn decide_alone(&self, id: PauseId, decision: &PauseDecision, rule: &str) -> Result<()> {
        match self.decide(id, decision, None, rule) {
            Ok(_) | Err(Error::Resumed { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Denies the open pauses of a call that its agent has called off. Returns false if none is there.
    pub fn call_off(&self, call: &str, message: &str) -> Result<bool> {
        let mut is_there = false;
        let open = self.list(PauseFilter::Open)?.into_iter();
        for pause in open.filter(|pause| pause.call.call == call) {
            let message = message.to_owned();
            self.decide_alone(pause.id, &PauseDecision::Deny { message }, CALLED_OFF)?;
            is_there = true;
        }
        Ok(is_there)
    }

    /// Stores a decision. The first one counts: any later one is refused, naming the client that was first. One that the agent
    /// cannot receive is refused by name, and so is one on another input than the one that was seen.
    pub fn rule(&self, id: PauseId, ruling: &Ruling<'_>) -> Result<Undone> {
        let Ruling { step, face, .. } = *ruling;
        let there = self.get(id)?.ok_or_else(|| Error::NotFound {
            what: "pause",
            name: id.to_string(),
        })?;
        if !there.is_open() {
            return Err(already(&there));
        }
        if !there.call.takes(ruling.decision) {
            return Err(cannot(&there, ruling.decision));
        }
        if step.is_some() && !there.call.subject.has_next() {
            return Err(Error::refused(
                format!("{id} is a proposed rewind, after which no call can be held"),
                format!("its decisions are: {}", abilities(&there)),
            ));
        }
        if ruling
            .decision
            .message()
            .is_some_and(|text| text.trim().is_empty())
        {
            return Err(Error::Usage(
                "the message for the model is empty".to_owned(),
            ));
        }
        let (command, decision) = self.control.write_armed(|conn| {
            let now = pause::get(conn, id)?.unwrap_or_else(|| there.clone());
            if !now.is_open() {
                return Err(already(&now));
            }
            let decision = ruling.on(&now)?;
            if !now.call.takes(&decision) {
                return Err(cannot(&now, &decision));
            }
            if !pause::decide(conn, id, &decision, face)? {
                let now = pause::get(conn, id)?.unwrap_or(now);
                return Err(already(&now));
            }
            if let Some(shown) = ruling.shown {
                pause::set_shown(conn, id, shown)?;
            }
            if let Some(until) = step {
                let new = step_breakpoint(&there, until.clone(), face);
                breakpoint::delete_steps(conn, &there.call.session)?;
                insert_step(conn, &new)?;
            }
            // the program may refuse it, and stays held then
            if !(there.call.subject.evaluates() && decision.is_evaluated()) {
                repl::close_all(conn, id, "its pause was decided")?;
            }
            let args = json!({ "decision": decision, "step": step });
            let command = NewCommand {
                face,
                agent: Some(&there.call.agent),
                session: Some(&there.call.session),
                pause: Some(id.0),
                name: decision.needs().name(),
                args: &args,
            };
            Ok((command::insert(conn, &command)?, decision))
        })?;
        let pause = self.get(id)?.unwrap_or(there);
        Ok(Undone {
            decided: Decided { pause, decision },
            command,
        })
    }

    /// Changes the input with which a held call runs, if it is resumed. None: as the agent gave it. Refused by name where the
    /// agent takes no changed input. `shown`: the files that it would write then, for those who look later.
    pub fn set_draft(
        &self,
        id: PauseId,
        input: Option<&Value>,
        face: &str,
        shown: Option<&str>,
    ) -> Result<()> {
        let there = self.get(id)?.ok_or_else(|| Error::NotFound {
            what: "pause",
            name: id.to_string(),
        })?;
        there.check_changeable()?;
        self.control.write(|conn| {
            if !pause::set_draft(conn, id, input.map(|input| (input, face)))? {
                let now = pause::get(conn, id)?.unwrap_or(there);
                return Err(already(&now));
            }
            if let Some(shown) = shown {
                pause::set_shown(conn, id, shown)?;
            }
            pause::touch(conn, id)
        })
    }

    /// Ends a pause.
    pub fn end(
        &self,
        id: PauseId,
        state: PauseState,
        outcome: Option<PauseOutcome>,
    ) -> Result<bool> {
        let ended = self.control.write_armed(|conn| {
            let ended = pause::end(conn, id, state, outcome)?;
            repl::close_all(conn, id, "its pause is over")?;
            Ok(ended)
        })?;
        if !matches!(state, PauseState::Parked) {
            std::fs::remove_file(self.control.lock_path(id)).ok();
            self.control.is_no_orphan(id);
        }
        Ok(ended)
    }

    /// Notes that calls ran which nobody had let go. Returns their pauses.
    pub fn detect_missed(
        &self,
        (agent, session): (&str, &str),
        call: &str,
    ) -> Result<Vec<PauseId>> {
        let mut missed = Vec::new();
        for id in pause::unanswered(&self.control.conn, (agent, session), call)? {
            let decision = self.get(id)?.and_then(|pause| pause.decision);
            if let Some(decision @ (PauseDecision::Continue | PauseDecision::Ask)) = decision {
                // its hook died with the answer, and the call ran as it was to
                self.end(id, PauseState::Answered, Some(decision.outcome()))?;
                continue;
            }
            if self.end(id, PauseState::Slipped, Some(PauseOutcome::Slipped))? {
                missed.push(id);
            }
        }
        Ok(missed)
    }

    /// Notes a call that ran before a hook could hold it. It is not a trigger: one after the call can still hold its agent.
    pub fn record_missed(&self, call: &HeldCall) -> Result<()> {
        self.control.write_armed(|conn| {
            // a second hook of the same event
            if pause::any_of_call(conn, (&call.agent, &call.session), &call.call)? {
                return Ok(());
            }
            let id = pause::insert(conn, call, ProcessId::own())?;
            pause::end(conn, id, PauseState::Slipped, Some(PauseOutcome::Slipped))?;
            Ok(())
        })
    }

    /// Returns the number of the newest pause, and those after a number that ran unasked.
    pub fn slipped_after(&self, id: i64) -> Result<(i64, Vec<Pause>)> {
        Ok((
            pause::newest(&self.control.conn)?,
            pause::slipped_after(&self.control.conn, id)?,
        ))
    }

    /// Ends the parked calls of a session that is over.
    pub fn session_is_over(&self, session: &str) -> Result<()> {
        self.control.write_armed(|conn| {
            pause::expire(conn, Some(session), parked_before(conn)?)?;
            breakpoint::delete_steps(conn, session)
        })
    }

    /// Stops a session at its next call. None: any session of the workspace. `all_threads`: subagents, too.
    pub fn hold_next(
        &self,
        session: Option<&str>,
        all_threads: bool,
        face: &str,
    ) -> Result<super::Breakpoint> {
        let scope = BreakpointScope {
            session: session.map(str::to_owned),
            subagent: (!all_threads).then(|| "main".to_owned()),
            agent: None,
        };
        let new = NewBreakpoint {
            scope,
            once: true,
            ..NewBreakpoint::of(BreakpointSpec::Any(AnyKind {}), face)
        };
        self.control.breakpoints().add(new)
    }
}

fn step_breakpoint(pause: &Pause, until: StepUntil, face: &str) -> super::Breakpoint {
    let new = NewBreakpoint::of(BreakpointSpec::Step(StepKind { how: until }), face);
    super::Breakpoint {
        id: super::BreakpointId(0),
        name: format!("step_{}_{}", pause.id, sqlite::now()),
        spec: new.spec,
        moment: super::CallMoment::Before,
        scope: BreakpointScope {
            agent: Some(pause.call.agent.clone()),
            session: Some(pause.call.session.clone()),
            subagent: None,
        },
        condition: None,
        hits_when: None,
        action: new.action,
        message: None,
        once: true,
        enabled: true,
        hits: 0,
        unattended: None,
        made_by: face.to_owned(),
        created: sqlite::now(),
        problem: None,
    }
}

fn insert_step(conn: &rusqlite::Connection, step: &super::Breakpoint) -> Result<()> {
    breakpoint::insert(conn, step).map(drop)
}

impl Pause {
    /// Fails if the input of the call cannot be changed: its agent takes none, or it is decided.
    pub fn check_changeable(&self) -> Result<()> {
        if !self.call.can.contains(&Ability::Change) {
            return Err(cannot_do(self, Ability::Change));
        }
        if self.call.subject.evaluates() {
            return Err(Error::refused(
                format!(
                    "{} is a program: its values are expressions, given with the decision",
                    self.id
                ),
                Hint::terminal("`backstitch resume --input FILE` continues with other values"),
            ));
        }
        if !self.is_open() {
            return Err(already(self));
        }
        Ok(())
    }
}

impl Ruling<'_> {
    /// The decision on a call as it is now. Fails if its input is another than the one that was seen.
    fn on(&self, now: &Pause) -> Result<PauseDecision> {
        let draft = now.draft.as_ref();
        if let SeenInput::Draft(seen) = self.seen
            && seen != draft.map(|draft| &draft.input)
        {
            return Err(Error::InputChanged {
                pause: now.id.to_string(),
                by: draft.map(|draft| crate::place(&draft.by).to_owned()),
            });
        }
        // a changed input is continued with
        if let (PauseDecision::Continue, Some(draft)) = (self.decision, draft)
            && self.seen == SeenInput::Any
        {
            return Ok(PauseDecision::Change {
                input: draft.input.clone(),
            });
        }
        Ok(self.decision.clone())
    }
}

/// The error of a decision that the agent cannot receive.
fn cannot(pause: &Pause, decision: &PauseDecision) -> Error {
    cannot_do(pause, decision.needs())
}

fn cannot_do(pause: &Pause, what: Ability) -> Error {
    Error::refused(
        format!(
            "{} cannot be made to {} at this call ({})",
            pause.call.agent,
            what.name(),
            pause.id
        ),
        format!("its decisions are: {}", abilities(pause)),
    )
}

fn abilities(pause: &Pause) -> String {
    let can: Vec<&str> = pause.possible().map(Ability::name).collect();
    can.join(", ")
}

/// The error of a decision on a pause that is over.
pub(super) fn already(pause: &Pause) -> Error {
    let how = match (&pause.outcome, &pause.decision) {
        // a parked call may be decided before it is tried again
        (None | Some(PauseOutcome::Parked), Some(decision)) => decision.outcome().name().to_owned(),
        (Some(outcome), _) => outcome.name().to_owned(),
        (None, None) => "over".to_owned(),
    };
    Error::Resumed {
        pause: pause.id.to_string(),
        outcome: how,
        by: pause.decider(),
    }
}
