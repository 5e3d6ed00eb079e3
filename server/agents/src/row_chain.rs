//! Records whose rows are chained by `uuid` and `parentUuid`, as Claude Code and Qwen Code write them. A new session is a new file
//! with the rows of a chain. The two differ in what a row has: that is a [`RowFormat`].

mod chain;
mod cut;
mod file;
mod folders;
mod format;
mod plan;
mod rewrite;
mod rows;

use std::collections::HashMap;

use crate::conversations::{
    Anchor, CutRequest, NewConversation, PlainMessage, RecordPart, RecordedPrompt, Refused,
    ToldTurn, Unreadable,
};
use chain::Chain;

pub use format::RowFormat;
pub use rows::{LinkedRow, NamedParent, Parent, RowIds, RowKind, RowLinks, link};

/// Returns the prompts of all branches, as [`crate::conversations::Conversations::turns`] does.
pub fn turns(
    format: &'static dyn RowFormat,
    record: &[u8],
) -> Result<Vec<RecordedPrompt>, Unreadable> {
    let chain = read(format, record)?;
    let places = chain.prompts();
    // a fork gives the rows that it copies the id of its first prompt: the last one is meant
    let mut last = HashMap::new();
    for place in &places {
        if let Some(id) = chain.rows[place.row].prompt_id {
            let newest = last.entry(id).or_insert(place.row);
            *newest = place.row.max(*newest);
        }
    }
    let turns = places.iter().map(|place| {
        let row = &chain.rows[place.row];
        let native = row.prompt_id.filter(|id| last.get(id) == Some(&place.row));
        let time = row
            .timestamp
            .and_then(|time| time.parse::<jiff::Timestamp>().ok());
        RecordedPrompt {
            anchor: Anchor {
                row: row.id.to_owned(),
                native: native.map(str::to_owned),
            },
            text: format.text(row),
            time: time.map(jiff::Timestamp::as_microsecond),
            branch: place.branch,
            before: place.before,
        }
    });
    Ok(turns.collect())
}

/// Returns the messages of a part.
pub fn messages(
    format: &'static dyn RowFormat,
    record: &[u8],
    part: &RecordPart,
) -> Result<Vec<PlainMessage>, Refused> {
    let chain = read(format, record)?;
    let rows = cut::rows_of(&chain, part)?;
    let rows = rows.into_iter().map(|row| &chain.rows[row]);
    Ok(rows.filter_map(|row| format.plain(row)).collect())
}

/// Plans a new session.
pub fn cut(
    format: &'static dyn RowFormat,
    record: &[u8],
    request: &CutRequest<'_>,
) -> Result<NewConversation, Refused> {
    cut::cut(&read(format, record)?, record, request)
}

/// Returns the prompts that a record tells its agent.
pub fn tells(format: &'static dyn RowFormat, record: &[u8]) -> Result<Vec<ToldTurn>, Unreadable> {
    let chain = read(format, record)?;
    let Some(Ok(rows)) = chain.leaf().map(|leaf| chain.context(leaf)) else {
        return Ok(Vec::new());
    };
    Ok(cut::prompts_told(&chain, &rows))
}

fn read<'a>(format: &'static dyn RowFormat, record: &'a [u8]) -> Result<Chain<'a>, Unreadable> {
    let rows = format.read(record);
    if !rows.iter().any(|row| row.is_prompt || row.is_summary) {
        return Err(Unreadable::NoPrompts {
            agent: format.agent(),
        });
    }
    Ok(Chain { format, rows })
}
