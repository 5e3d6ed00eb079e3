//! The features that an editor shows: lenses, code actions, hovers and views.

pub mod actions;
pub mod hover;
pub mod lenses;
pub mod views;
