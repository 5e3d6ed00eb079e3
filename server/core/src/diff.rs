//! Owns what `backstitch diff` prints.

mod lines;

pub use lines::lines;
pub(crate) use lines::{Change, Interner, changes};
