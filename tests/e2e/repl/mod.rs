//! REPLs at pauses, over the real binary.

mod bridge;
mod held_call;
mod kills;
mod lsp;
mod node;
mod packages;
pub mod python;
mod real_programs;
mod seed_tests;
mod sessions;
mod terminal;
