//! YAML text to a tree of nodes, each with its place. Places and scalars are those of the npm package `yaml`, on which
//! GitHub's own parser stands.

mod build;
mod lines;
mod scalar;
#[cfg(test)]
mod tests;

pub use lines::utf16;

use crate::position::Range;

/// Greatest length of a text in UTF-16 units, as on GitHub.
pub const MAX_CHARACTERS: u32 = 1024 * 1024;

/// Greatest number of nodes, as on GitHub. A collection counts twice, and an alias as all nodes that it stands for.
pub const MAX_NODES: usize = 50_000;

/// Greatest depth of nodes, aliases included, as on GitHub. Readers of a tree call themselves once a level.
pub const MAX_DEPTH: usize = 50;

/// Greatest size in bytes of all texts that anchors and aliases copy: as large as a template may be for GitHub's runner.
pub const MAX_COPIED: usize = 10 << 20;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    pub range: Range,
    pub kind: NodeKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    Null,
    Bool(bool),
    Number(f64),
    Text(YamlText),
    Sequence(Vec<YamlNode>),
    /// Entries in the order of the file; keys may repeat.
    Mapping(Vec<(YamlNode, YamlNode)>),
}

/// A string.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlText {
    pub value: String,
    /// The text as it stands in the file: with quotes; of a block scalar the lines below its header, with their
    /// indentation.
    pub source: String,
}

/// Text that is not YAML.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntaxError {
    /// None for an error of the whole text.
    pub range: Option<Range>,
    pub message: String,
}

impl SyntaxError {
    /// The error of a text above `MAX_CHARACTERS`.
    pub fn too_long() -> SyntaxError {
        let message =
            format!("The maximum file size of {MAX_CHARACTERS} characters has been exceeded");
        let range = None;
        SyntaxError { range, message }
    }
}

/// The tree of the one document of a text. None if there is no document, so only blank lines and comments.
pub fn parse(text: &str) -> Result<Option<YamlNode>, SyntaxError> {
    build::parse(text)
}
