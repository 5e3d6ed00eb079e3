//! One module per table of the database: its typed rows and all SQL that reads or writes it.

pub(crate) mod blame;
pub(crate) mod branch;
pub(crate) mod buffer;
pub(crate) mod change;
pub(crate) mod changed_files;
pub(crate) mod counted;
mod damage;
pub(crate) mod editor;
pub(crate) mod file;
pub(crate) mod hunks;
pub(crate) mod id_list;
pub(crate) mod moved;
pub(crate) mod node;
pub(crate) mod node_checks;
pub(crate) mod node_page;
pub(crate) mod node_text;
mod query;
pub(crate) mod reviewed;
pub(crate) mod root;
pub(crate) mod schema;
pub(crate) mod stray;
pub(crate) mod tag;
pub(crate) mod version;
pub(crate) mod words;
