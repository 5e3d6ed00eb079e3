//! Commands about names: branches and tags.

pub mod ancestor;
pub mod branch;
pub mod fork;
mod names;
pub mod switch;
pub mod tag;
