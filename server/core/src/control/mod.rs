//! Breakpoints and pauses of agents. Owns the database `control.db` beside the store, and the file `armed`. Knows no
//! agent's payload.

mod breakpoint;
mod command_words;
mod matching;
mod regions;

pub use breakpoint::{
    Breakpoint, BreakpointAction, BreakpointId, BreakpointScope, BreakpointSpec, BudgetOf,
    CallMoment, Case, HitCondition, StepUntil, Unattended, glob, regex,
};
pub use matching::{CallFacts, CallLookup, Checked, Trigger, TurnFacts, check, may_match};
pub use regions::{ChangedLines, LineRange, RegionState, follow};
