//! The plan of a new session: the rows of the chain that it keeps, and the parents that change.

use std::collections::HashSet;

use super::chain::Chain;
use super::file;
use super::plan::{CutPlan, Summary};
use super::rows::{Parent, RowKind};
use crate::conversations::{
    Anchor, CutRequest, NewConversation, Placement, RecordPart, Refused, SessionCut, ToldTurn,
};

pub fn cut(
    chain: &Chain<'_>,
    record: &[u8],
    request: &CutRequest<'_>,
) -> Result<NewConversation, Refused> {
    let prompt = prompt_row(chain, request.cut.anchor())?;
    let plan = plan(chain, request.cut, prompt)?;
    let tells = prompts_told(chain, &plan.shown);
    let of_branch = chain.count_prompts(chain.end_of_branch(prompt));
    let kept = plan.shown.iter().map(|row| &chain.rows[*row]);
    let mut newest = kept.clone().rev().chain([&chain.rows[prompt]]);
    let mut new = NewConversation {
        placement: Placement::Fresh,
        dropped: of_branch.saturating_sub(tells.len()),
        tells,
        basis: kept.clone().map(|row| row.range.clone()).collect(),
        version: newest.find_map(|row| row.version.map(str::to_owned)),
        tokens: kept.rev().find_map(|row| chain.format.tokens(row)),
    };
    let is_message =
        |row: &usize| matches!(chain.rows[*row].kind, RowKind::User | RowKind::Assistant);
    if plan.summary != Summary::None || plan.shown.iter().any(is_message) {
        let path = file::path(chain.format, request)?;
        let bytes = file::write(record, chain, &plan, request, prompt)?;
        file::check(chain, &plan, request, &bytes)?;
        new.placement = Placement::File { path, bytes };
    }
    Ok(new)
}

/// Returns the row of a prompt. Refused if it is not one.
fn prompt_row(chain: &Chain<'_>, anchor: &Anchor) -> Result<usize, Refused> {
    let row = chain.number(&anchor.row);
    let row = row.filter(|row| chain.rows[*row].is_prompt);
    row.ok_or_else(|| Refused::NotFound {
        text: anchor.row.clone(),
        nearest: None,
    })
}

/// Returns the rows before a prompt, in the order in which the model was shown them.
fn before(chain: &Chain<'_>, prompt: usize) -> Result<(Vec<usize>, Option<usize>), Refused> {
    if chain.rows[prompt].is_contradicted {
        return Err(chain.broken(prompt, "is there twice, with different texts"));
    }
    match chain.rows[prompt].parent {
        Parent::None => Ok((Vec::new(), None)),
        Parent::Missing => Err(chain.broken(prompt, "names a parent that is not there")),
        Parent::Row(leaf) => {
            let mut rows = chain.context(leaf)?;
            if rows.contains(&prompt) {
                return Err(chain.broken(prompt, "is its own ancestor"));
            }
            rows.retain(|row| chain.rows[*row].kind != RowKind::Other);
            Ok((
                rows,
                chain.kept_from(leaf, |row| row.kind != RowKind::Other),
            ))
        }
    }
}

fn plan(chain: &Chain<'_>, cut: &SessionCut, prompt: usize) -> Result<CutPlan, Refused> {
    let (start, leaf) = before(chain, prompt)?;
    let plan = CutPlan {
        shown: start,
        summary: Summary::None,
        leaf,
        after_summary: Vec::new(),
    };
    match cut {
        SessionCut::Before(_) => Ok(plan),
        SessionCut::SummaryOfRest(_, summary) => {
            has_text(summary)?;
            Ok(CutPlan {
                summary: Summary::Last(leaf),
                leaf: None,
                ..plan
            })
        }
        SessionCut::SummaryOfStart(_, summary) => {
            has_text(summary)?;
            let start: HashSet<usize> = plan.shown.iter().copied().collect();
            let end = chain.end_of_branch(prompt);
            let mut rest = chain.context(end)?;
            rest.retain(|row| !start.contains(row) && chain.rows[*row].kind != RowKind::Other);
            let is_compaction = |row: &usize| {
                let row = &chain.rows[*row];
                row.is_summary || row.replaces_earlier || row.earlier.is_some()
            };
            if rest.first() != Some(&prompt) || rest.iter().any(is_compaction) {
                return Err(Refused::Compacted {
                    text: chain.format.text(&chain.rows[prompt]),
                });
            }
            let standing = standing(chain, &plan.shown);
            let after_summary = standing.iter().copied().chain([prompt]).collect();
            Ok(CutPlan {
                shown: standing.into_iter().chain(rest).collect(),
                summary: Summary::First,
                leaf: Some(end),
                after_summary,
            })
        }
    }
}

fn has_text(summary: &str) -> Result<(), Refused> {
    if summary.trim().is_empty() {
        return Err(Refused::EmptySummary);
    }
    Ok(())
}

/// Returns the newest row of each standing kind among the rows that a summary replaces.
fn standing(chain: &Chain<'_>, replaced: &[usize]) -> Vec<usize> {
    let mut kinds = HashSet::new();
    let newest = replaced.iter().rev().copied();
    let mut rows: Vec<usize> = newest
        .filter(|row| {
            let kind = chain.format.standing(&chain.rows[*row]);
            kind.is_some_and(|kind| kinds.insert(kind))
        })
        .collect();
    rows.reverse();
    rows
}

/// Returns the rows among these that the model is shown: those from the newest compaction on that stands for all before it.
fn shown<'r>(chain: &Chain<'_>, rows: &'r [usize]) -> &'r [usize] {
    let replaces = |row: &usize| chain.rows[*row].replaces_earlier;
    let from = rows.iter().rposition(replaces).unwrap_or_default();
    &rows[from..]
}

/// Returns the prompts among rows that the model is shown.
pub fn prompts_told(chain: &Chain<'_>, rows: &[usize]) -> Vec<ToldTurn> {
    let rows = shown(chain, rows).iter().map(|row| &chain.rows[*row]);
    let prompts = rows.filter(|row| row.is_prompt);
    let told = prompts.map(|row| ToldTurn {
        row: row.id.to_owned(),
        text: chain.format.text(row),
    });
    told.collect()
}

/// Returns the rows of a part, in order.
pub fn rows_of(chain: &Chain<'_>, part: &RecordPart) -> Result<Vec<usize>, Refused> {
    let anchor = match part {
        RecordPart::All => {
            let leaf = chain.leaf();
            return Ok(leaf.map_or_else(Vec::new, |leaf| chain.whole_history(leaf)));
        }
        RecordPart::Shown => {
            let leaf = chain.leaf();
            let rows = leaf.map_or(Ok(Vec::new()), |leaf| chain.context(leaf))?;
            return Ok(shown(chain, &rows).to_vec());
        }
        RecordPart::Before(anchor) => {
            let (rows, _) = before(chain, prompt_row(chain, anchor)?)?;
            return Ok(shown(chain, &rows).to_vec());
        }
        RecordPart::From(anchor) | RecordPart::Turn(anchor) => anchor,
    };
    let prompt = prompt_row(chain, anchor)?;
    let rows = chain.whole_history(chain.end_of_branch(prompt)).into_iter();
    let mut rows = rows.skip_while(|row| *row != prompt);
    let first = rows.next();
    let is_turn = matches!(part, RecordPart::Turn(_));
    let rest = rows.take_while(|row| !(is_turn && chain.rows[*row].is_prompt));
    Ok(first.into_iter().chain(rest).collect())
}
