//! The breakpoints that a call triggers. Pure: databases, files and jq are behind [`CallLookup`], which is asked only
//! for a breakpoint that everything else lets through.

use super::breakpoint::{Breakpoint, BreakpointAction, BreakpointId, Match, SetBreakpoint};
use super::breakpoint::{CallFacts, CallLookup, FunctionFacts, Trigger};
use backstitch_core::Result;

/// The breakpoints that act on a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Log points, in order.
    pub logged: Vec<Trigger>,
    /// The breakpoint that pauses or denies the call.
    pub stop: Option<Trigger>,
}

/// A call with which breakpoints are compared, one after the other.
pub trait CheckedCall {
    /// Compares scope, kind and parameters.
    fn compare(&mut self, breakpoint: &Breakpoint) -> Result<Match>;
    /// The result of a jq condition. Err: the reason why it has none.
    fn condition(&mut self, jq: &str) -> Result<bool, String>;
    /// Raises the number of triggers by one and returns it. None: the breakpoint was removed meanwhile.
    fn count(&mut self, breakpoint: BreakpointId) -> Result<Option<i64>>;
    /// Notes a trigger that the condition on the number of hits lets pass.
    fn passed_by(&mut self, _trigger: &Trigger) {}
    /// Notes the failure of a condition or an expression.
    fn problem(&mut self, breakpoint: BreakpointId, what: &str);
    /// False if the call cannot be refused: a denial is then noted as a log point.
    fn can_be_denied(&self) -> bool {
        true
    }
}

/// Checks a call against breakpoints in their order. The first that pauses or denies ends the check; log points count
/// and continue. Each is compared by kind, scope and condition, and then counted; `hits_when` selects the triggers that
/// act. A condition that fails counts as met and is noted.
pub fn check_call(breakpoints: &[Breakpoint], call: &mut dyn CheckedCall) -> Result<Checked> {
    let mut checked = Checked::default();
    for breakpoint in breakpoints {
        let mut why = match call.compare(breakpoint)? {
            Match::Yes(why) => why,
            Match::No => continue,
            Match::Unusable(problem) => {
                call.problem(breakpoint.id, &problem);
                problem
            }
        };
        let condition = breakpoint.condition.as_deref();
        match condition.map(|jq| call.condition(jq)) {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => continue,
            Some(Err(problem)) => {
                call.problem(breakpoint.id, &problem);
                why = format!("{why}; the condition failed: {problem}");
            }
        }
        let Some(hits) = call.count(breakpoint.id)? else {
            continue;
        };
        let trigger = Trigger {
            breakpoint: breakpoint.id,
            hits,
            why,
        };
        if breakpoint.hits_when.is_some_and(|when| !when.acts_at(hits)) {
            call.passed_by(&trigger);
            continue;
        }
        let stops = match breakpoint.action {
            BreakpointAction::Log => false,
            BreakpointAction::Deny => call.can_be_denied(),
            BreakpointAction::Pause => true,
        };
        if stops {
            checked.stop = Some(trigger);
            break;
        }
        checked.logged.push(trigger);
    }
    Ok(checked)
}

/// An agent's call with its lookups.
struct AgentCall<'a, 'b> {
    facts: &'a CallFacts<'a>,
    lookup: &'b mut dyn CallLookup,
}

impl CheckedCall for AgentCall<'_, '_> {
    fn compare(&mut self, breakpoint: &Breakpoint) -> Result<Match> {
        if !is_candidate(breakpoint, self.facts) {
            return Ok(Match::No);
        }
        let set = SetBreakpoint {
            id: breakpoint.id,
            moment: breakpoint.moment,
        };
        breakpoint.spec.compare(set, self.facts, self.lookup)
    }

    fn condition(&mut self, jq: &str) -> Result<bool, String> {
        self.lookup.condition(jq)
    }

    fn count(&mut self, breakpoint: BreakpointId) -> Result<Option<i64>> {
        self.lookup.count(breakpoint)
    }

    fn passed_by(&mut self, trigger: &Trigger) {
        self.lookup.passed_by(trigger);
    }

    fn problem(&mut self, breakpoint: BreakpointId, what: &str) {
        self.lookup.problem(breakpoint, what);
    }
}

/// As `check_call`, for a call of an agent.
pub fn check(
    breakpoints: &[Breakpoint],
    facts: &CallFacts<'_>,
    lookup: &mut dyn CallLookup,
) -> Result<Checked> {
    check_call(breakpoints, &mut AgentCall { facts, lookup })
}

/// Compares a breakpoint with a program's call by scope and kind.
pub fn compare_function(breakpoint: &Breakpoint, facts: &FunctionFacts<'_>) -> Match {
    let is_candidate = breakpoint.enabled
        && breakpoint.scope.has(facts.agent, facts.session, None)
        && breakpoint.spec.looks_at(breakpoint.moment, facts.moment);
    if is_candidate {
        breakpoint.spec.compare_function(facts)
    } else {
        Match::No
    }
}

/// True if one of these breakpoints may match the call. Compares tools, scopes, kinds and named paths, and no
/// expression.
pub fn may_match(breakpoints: &[Breakpoint], facts: &CallFacts<'_>) -> bool {
    breakpoints
        .iter()
        .any(|breakpoint| is_candidate(breakpoint, facts))
}

fn is_candidate(breakpoint: &Breakpoint, facts: &CallFacts<'_>) -> bool {
    let scope = &breakpoint.scope;
    breakpoint.enabled
        && breakpoint.spec.looks_at(breakpoint.moment, facts.moment)
        && scope.has(facts.agent, facts.session, facts.subagent)
        && breakpoint.spec.may_match(facts)
}

/// Compares a breakpoint that is accepted with calls whose texts are arbitrary. Its expressions can be used.
#[cfg(any(test, fuzzing))]
pub(crate) fn exercise(spec: super::breakpoint::BreakpointSpec, text: &str) {
    exercise::exercise(spec, text);
}

#[cfg(any(test, fuzzing))]
mod exercise;
#[cfg(test)]
mod tests;
