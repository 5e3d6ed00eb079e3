//! Breakpoints at work: the gate that holds an agent's call, the prediction of its effect, the decisions on it, and the
//! guard against agents that decide for themselves. Owns no rows: `backstitch_core::control` does.

pub mod acts;
mod answers;
pub mod gate;
pub mod guard;
mod lookup;
mod tokens;
pub mod words;
