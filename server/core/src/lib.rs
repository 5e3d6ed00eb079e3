//! The engine of Backstitch: store, capture, restore, history.
//!
//! Synchronous. Knows no editor protocol, no agent payload and never prints.

pub mod diff;
pub mod merge;
