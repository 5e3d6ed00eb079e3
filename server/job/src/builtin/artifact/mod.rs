//! `actions/upload-artifact` and `actions/download-artifact`, onto a directory of the run.

mod download;
mod store;
mod upload;

use crate::place::RunPlace;
pub(super) use download::run as download;
pub(super) use upload::run as upload;

/// Removes an upload that was killed.
pub(super) fn clean_up(place: &RunPlace) {
    store::clean_up(&place.artifacts);
}

/// Version from which an artifact is written once and not merged into.
const WRITE_ONCE: u32 = 4;

#[cfg(test)]
mod tests;
