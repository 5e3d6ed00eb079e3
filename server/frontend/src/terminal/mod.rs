//! The terminal: output, pager, width, questions, keys, errors with their hints, and lines of styled text. Knows no command.

pub mod editor;
pub mod error;
pub mod hints;
pub mod keys;
pub mod line;
pub mod out;
pub mod pager;
pub mod paint;
pub mod questions;
pub mod report;
pub mod safe_text;
pub mod width;
