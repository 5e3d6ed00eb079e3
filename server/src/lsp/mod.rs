//! `backstitch lsp`: checkpoints in any editor, over the Language Server Protocol on stdin and stdout. The only part
//! that knows LSP. It translates and delegates; the engine decides the effect of a rewind.

mod commands;
mod control;
mod dispatch;
pub mod documents;
mod features;
mod handler;
mod memory;
mod messages;
pub mod serve;
pub mod session;
mod unsaved;
mod verb;

pub use serve::{Options, run};
