//! `actions/upload-artifact` and `actions/download-artifact`, onto a directory of the run.

mod download;
mod store;
mod upload;

pub(super) use download::run as download;
pub(super) use upload::run as upload;

/// Version from which an artifact is written once and not merged into.
const WRITE_ONCE: u32 = 4;

#[cfg(test)]
mod tests;
