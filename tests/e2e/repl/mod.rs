//! REPLs at pauses, over the real binary.

pub mod bridge;
mod frame_semantics;
mod held_call;
mod hostile;
mod kills;
mod limits;
mod lsp;
mod node;
mod other_user;
mod others;
mod packages;
pub mod python;
mod real_programs;
mod retention;
mod seed_tests;
mod sessions;
mod terminal;
