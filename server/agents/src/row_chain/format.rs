//! The trait of an agent whose records are chained.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::rows::{LinkedRow, RowIds};
use crate::conversations::{PlainMessage, RecordPlace};

/// The rows of an agent.
pub trait RowFormat: Sync + std::fmt::Debug {
    /// Name of the agent for people.
    fn agent(&self) -> &'static str;

    /// Reads the rows with a place in the main chain.
    fn read<'a>(&self, record: &'a [u8]) -> Vec<LinkedRow<'a>>;

    fn text(&self, row: &LinkedRow<'_>) -> String;

    /// Returns a row as a plain message. None: it has nothing to read.
    fn plain(&self, row: &LinkedRow<'_>) -> Option<PlainMessage>;

    /// Returns the tokens that the agent counted for the conversation up to this message.
    fn tokens(&self, row: &LinkedRow<'_>) -> Option<u64>;

    /// Returns the ids by which parallel rows belong together.
    fn ids(&self, row: &LinkedRow<'_>) -> RowIds;

    /// Returns the kind of a row that describes the session to the model, and stays beside a summary of the rows around it.
    fn standing<'a>(&self, _row: &LinkedRow<'a>) -> Option<Cow<'a, str>> {
        None
    }

    /// Returns the directory whose folders hold the records.
    fn projects(&self, place: &RecordPlace, record: Option<&Path>) -> Option<PathBuf>;

    /// Folder below that of a working directory, in which the records are.
    fn inner_folder(&self) -> Option<&'static str> {
        None
    }

    /// Returns the fields of a row with a summary, but for those of every row.
    fn summary(&self, session: &str, text: &str) -> Value;

    /// Returns a row that names the session, if that needs no place in the chain.
    fn title_row(&self, _session: &str, _title: &str) -> Option<Value> {
        None
    }
}
