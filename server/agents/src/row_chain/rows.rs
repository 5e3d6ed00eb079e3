//! Rows of a record, in the order of the file: their places in the chain, and what else a cut needs. The text of a row stays in
//! the record. Only the needed fields are parsed, since a record has 50 MB and more.

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The kinds of row that the model's request is made of. All others are left out of a new conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    User,
    Assistant,
    Attachment,
    System,
    /// A row with a place in the chain, but not kept.
    Other,
}

/// A row with a place in the chain.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate fact about a row"
)]
pub struct LinkedRow<'a> {
    /// The line in the record, without its end.
    pub range: Range<usize>,
    pub kind: RowKind,
    pub id: &'a str,
    /// Number of the row that is named as parent.
    pub parent: Parent,
    /// Number of the row before it in the history, where the chain begins anew: the end of what a compaction kept or replaced.
    pub earlier: Option<usize>,
    /// Numbers of the rows that a compaction kept, behind that of the row after which the agent puts them.
    pub preserved: Option<(usize, Vec<usize>)>,
    pub is_prompt: bool,
    pub is_summary: bool,
    /// The model is shown this row in place of all rows before it in the chain.
    pub replaces_earlier: bool,
    pub prompt_id: Option<&'a str>,
    pub timestamp: Option<&'a str>,
    pub version: Option<&'a str>,
    pub message: Option<&'a RawValue>,
    /// Another part of the row, in the agent's own form: an attachment, or the tokens that were counted.
    pub extra: Option<&'a RawValue>,
    /// Facts about a compaction, in the agent's own form.
    pub compaction: Option<&'a RawValue>,
    /// Another row with the same id has another text.
    pub is_contradicted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    None,
    Row(usize),
    /// The record has no such row, or the row names none.
    Missing,
}

/// The parent that a row names. A row that names none is not the same as one that says that it has none.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub enum NamedParent<'a> {
    Id(&'a str),
    Null(()),
    #[default]
    #[serde(skip)]
    Unnamed,
}

/// The ids that a row names: a parent, and where its chain begins anew, the row before it.
#[derive(Debug, Default)]
pub struct RowLinks<'a> {
    pub parent: NamedParent<'a>,
    pub logical_parent: Option<&'a str>,
}

/// Ids by which rows of parallel calls belong together.
#[derive(Debug, Default)]
pub struct RowIds {
    /// The model's message that the row is a part of.
    pub message: Option<String>,
    pub calls: Vec<String>,
    /// Calls whose results it has.
    pub results: Vec<String>,
}

/// Returns the lines of a record, as ranges without their ends. A last line without its end is being written: it is left out.
fn lines(record: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = record[at..].iter().position(|byte| *byte == b'\n')?;
        let line = at..at + length;
        at += length + 1;
        Some(line)
    })
}

/// Reads the rows of a record and finds their parents. `row` parses one line, whose range it is given. Damaged lines are left out:
/// a row whose parent was on one of these has [`Parent::Missing`]. Returns the numbers of the rows by their ids, too.
pub fn link<'a>(
    record: &'a [u8],
    row: impl Fn(Range<usize>, &'a str) -> Option<(LinkedRow<'a>, RowLinks<'a>)>,
) -> (Vec<LinkedRow<'a>>, HashMap<&'a str, usize>) {
    let mut rows: Vec<LinkedRow<'a>> = Vec::new();
    let mut links = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for range in lines(record) {
        let Ok(line) = std::str::from_utf8(&record[range.clone()]) else {
            continue;
        };
        // most rows without a place in the chain are long: do not parse them
        if !line.contains("\"uuid\"") {
            continue;
        }
        let Some((row, named)) = row(range.clone(), line) else {
            continue;
        };
        if let Some(number) = numbers.get(row.id) {
            let first = &mut rows[*number];
            first.is_contradicted |= record[first.range.clone()] != record[range];
            continue;
        }
        numbers.insert(row.id, rows.len());
        links.push(named);
        rows.push(row);
    }
    for (row, named) in rows.iter_mut().zip(links) {
        row.parent = match named.parent {
            NamedParent::Null(()) => Parent::None,
            NamedParent::Id(id) => numbers
                .get(id)
                .map_or(Parent::Missing, |at| Parent::Row(*at)),
            NamedParent::Unnamed => Parent::Missing,
        };
        row.earlier = named.logical_parent.and_then(|id| numbers.get(id).copied());
    }
    (rows, numbers)
}
