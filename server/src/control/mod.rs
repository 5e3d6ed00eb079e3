//! Breakpoints at work: what the engine leaves to others, since it knows no language and no agent's payload.

pub mod condition;
