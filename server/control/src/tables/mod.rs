//! One module per table of `control.db`: its typed rows and all SQL that reads or writes it.

pub(crate) mod ack;
pub(crate) mod breakpoint;
pub(crate) mod command;
pub(crate) mod hit;
pub(crate) mod message;
pub(crate) mod meta;
pub(crate) mod object;
pub(crate) mod pause;
pub(crate) mod program;
pub(crate) mod region;
pub(crate) mod repl;

use serde::de::DeserializeOwned;

use backstitch_core::{Error, Result};

/// Reads a JSON column of a row. Anything else is damage.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str, table: &str, row: i64) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::Damaged {
        path: "control.db".into(),
        reason: format!("row {row} of table {table} is damaged: {error}"),
    })
}
