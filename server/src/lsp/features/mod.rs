//! The features that an editor shows: lenses, code actions, hovers, views and problems of workflows.

pub mod actions;
pub mod hover;
pub mod lenses;
pub mod problems;
pub mod views;
