//! The open documents, and what their texts and names say: positions, edits, formats, URIs, hunks and authors of lines.

pub mod blame_groups;
pub mod document;
pub mod edits;
pub mod hunk_selection;
pub mod position;
pub mod spans;
pub mod text_format;
pub mod uri;
pub mod virtual_documents;
