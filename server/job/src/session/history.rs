//! The history of a run's files.

use backstitch_core::{Engine, OpenOptions, Workspace};

use crate::place::RunPlace;

/// Opens the history of a run's files. A restore that was cut off is finished, or undone.
pub(super) fn engine_of(place: &RunPlace) -> Result<Engine, String> {
    let workspace = Workspace::run(&place.dir).map_err(|error| error.to_string())?;
    let engine = Engine::open_with(&workspace, OpenOptions::SERVER);
    engine.map_err(|error| error.to_string())
}
