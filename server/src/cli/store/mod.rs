//! Commands about the whole store.

pub mod clear;
pub mod gc;
pub mod init;
pub mod scan;
mod settings;
pub mod stats;
pub mod status;
pub mod verify;
