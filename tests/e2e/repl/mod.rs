//! REPLs at pauses, over the real binary.

mod held_call;
mod python;
mod sessions;
