//! REPLs at pauses, over the real binary.

mod bridge;
mod held_call;
mod kills;
mod lsp;
mod node;
pub mod python;
mod real_programs;
mod sessions;
