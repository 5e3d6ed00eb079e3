//! Workflows as typed values.

mod model;

pub use model::*;
