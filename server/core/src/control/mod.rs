//! Breakpoints and pauses of agents. Owns the database `control.db` beside the store, and the file `armed`. Knows no
//! agent's payload.

mod breakpoint;

pub use breakpoint::{
    Breakpoint, BreakpointAction, BreakpointId, BreakpointScope, BreakpointSpec, BudgetOf,
    CallMoment, Case, HitCondition, StepUntil, Unattended, glob, regex,
};
