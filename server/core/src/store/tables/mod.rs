//! One module per table of the database: its typed rows and all SQL that reads or writes it.

pub(crate) mod buffer;
pub(crate) mod editor;
pub(crate) mod reviewed;
pub(crate) mod root;
