//! REPLs at pauses, over the real binary.

mod held_call;
mod lsp;
mod node;
mod python;
mod sessions;
