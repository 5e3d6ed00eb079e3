//! Breakpoints at work: the gate that holds an agent's call, the prediction of its effect, the decisions on it, and the
//! guard against agents that decide for themselves. Owns no rows: `backstitch_control` does.

pub mod acts;
pub mod checks;
pub mod details;
pub mod evaluate;
pub mod follow_renames;
pub mod gate;
pub mod guard;
pub mod input;
mod inverse;
pub mod line_texts;
pub mod lookup;
mod matches;
mod named;
pub mod object;
pub mod paths;
pub mod pattern;
pub mod predict;
pub mod proposal;
pub mod shown;
pub mod silence;
pub mod view;
pub mod words;
