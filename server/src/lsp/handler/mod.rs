//! The parts that handlers of commands and requests share: arguments, targets, questions, failures and progress.

pub mod arguments;
pub mod ask;
pub mod authority;
pub mod failure;
pub mod notifications;
pub mod progress;
pub mod targets;
