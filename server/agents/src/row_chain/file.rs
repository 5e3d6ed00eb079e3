//! The file of a new session: its path, its bytes, and the proof that it tells the planned rows.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::chain::Chain;
use super::folders::FolderName;
use super::format::RowFormat;
use super::plan::{CutPlan, Summary};
use super::rewrite::{NewParent, RowChanges, append};
use super::rows::{LinkedRow, RowKind};
use crate::conversations::{CutRequest, Refused, SessionCut, new_id, rfc3339, title};

/// Fields of the summary's row that are those of the prompt's row.
const SHARED: [&str; 5] = ["userType", "entrypoint", "cwd", "version", "gitBranch"];

/// Returns the path of the new file.
pub fn path(format: &dyn RowFormat, request: &CutRequest<'_>) -> Result<PathBuf, Refused> {
    let no_place = || Refused::NoPlace {
        agent: format.agent(),
    };
    let projects = format
        .projects(request.place, request.record)
        .ok_or_else(no_place)?;
    let known = [request.record, request.place.transcript.as_deref()];
    let own = known.into_iter().flatten().find_map(Path::parent);
    let own = || own.map(Path::to_owned);
    let named = |directory: &Path| {
        let name = FolderName::of(directory).choose(request.folders)?;
        let folder = projects.join(name);
        Some(match format.inner_folder() {
            Some(inner) => folder.join(inner),
            None => folder,
        })
    };
    let folder = match request.into {
        // a resume finds a session in any folder
        Some(into) => named(into).or_else(own),
        None => own().or_else(|| named(&request.place.directory)),
    };
    let file = format!("{}.jsonl", request.session);
    Ok(folder.ok_or_else(no_place)?.join(file))
}

/// Returns the bytes of the new session.
pub fn write(
    record: &[u8],
    chain: &Chain<'_>,
    plan: &CutPlan,
    request: &CutRequest<'_>,
    prompt: usize,
) -> Result<Vec<u8>, Refused> {
    let into = request.into.map(Path::to_string_lossy);
    let line =
        |row: &LinkedRow<'_>| std::str::from_utf8(&record[row.range.clone()]).unwrap_or_default();
    let now = newest(chain, plan, request);
    let summary_id = new_id(request.session, 1);
    let lengths = plan.shown.iter().map(|row| chain.rows[*row].range.len());
    let mut bytes = Vec::with_capacity(lengths.sum::<usize>() + 4096);
    let summary = |bytes: &mut Vec<u8>| {
        let like = line(&chain.rows[prompt]);
        let row = summary_row(chain, plan, request, like, &now);
        bytes.extend(format!("{row}\n").into_bytes());
    };
    if plan.summary == Summary::First {
        summary(&mut bytes);
    }
    let mut kept = vec![false; chain.rows.len()];
    plan.shown.iter().for_each(|row| kept[*row] = true);
    // the order of the file: rows that a compaction kept stand before it
    let mut order = plan.shown.clone();
    order.sort_unstable_by_key(|row| (plan.leaf == Some(*row), *row));
    for row in order {
        let changes = RowChanges {
            session: request.session,
            directory: into.as_deref(),
            // the agent continues from the newest row that nothing follows
            time: (plan.leaf == Some(row)).then_some(now.as_str()),
            parent: parent(chain, plan, &kept, row, &summary_id),
        };
        append(line(&chain.rows[row]), &changes, &mut bytes)
            .ok_or_else(|| chain.broken(row, "has a field twice"))?;
    }
    if matches!(plan.summary, Summary::Last(_)) {
        summary(&mut bytes);
    }
    let name = title(request.cut, &chain.format.text(&chain.rows[prompt]));
    if let Some(row) = chain.format.title_row(request.session, &name) {
        bytes.extend(format!("{row}\n").into_bytes());
    }
    Ok(bytes)
}

/// Returns the time of the newest row: now, or that of a kept row from a clock that was ahead.
fn newest(chain: &Chain<'_>, plan: &CutPlan, request: &CutRequest<'_>) -> String {
    let rows = plan.shown.iter().map(|row| &chain.rows[*row]);
    let now = rfc3339(request.now);
    let newest = rows.filter_map(|row| row.timestamp).max();
    newest.map_or(now.clone(), |time| now.max(time.to_owned()))
}

/// Returns the parent of a row, if it is another one in the new session.
fn parent<'a>(
    chain: &Chain<'a>,
    plan: &CutPlan,
    kept: &[bool],
    row: usize,
    summary: &'a str,
) -> Option<NewParent<'a>> {
    if let Some(place) = plan.after_summary.iter().position(|one| *one == row) {
        let before = place.checked_sub(1).map(|place| plan.after_summary[place]);
        return Some(NewParent(Some(
            before.map_or(summary, |row| chain.rows[row].id),
        )));
    }
    let parent = chain.parent(row)?;
    if kept[parent] {
        return None;
    }
    let next = chain.kept_from(parent, |row| row.kind != RowKind::Other);
    Some(NewParent(next.map(|row| chain.rows[row].id)))
}

fn summary_row(
    chain: &Chain<'_>,
    plan: &CutPlan,
    request: &CutRequest<'_>,
    like: &str,
    now: &str,
) -> Value {
    let parent = match plan.summary {
        Summary::Last(parent) => parent.map(|row| chain.rows[row].id),
        Summary::First | Summary::None => None,
    };
    let text = match request.cut {
        SessionCut::SummaryOfRest(_, text) | SessionCut::SummaryOfStart(_, text) => text.as_str(),
        SessionCut::Before(_) => "",
    };
    let mut row = chain.format.summary(request.session, text);
    row["parentUuid"] = parent.into();
    row["type"] = "user".into();
    row["uuid"] = new_id(request.session, 1).into();
    row["timestamp"] = now.into();
    let like: Map<String, Value> = serde_json::from_str(like).unwrap_or_default();
    for field in SHARED {
        if let Some(value) = like.get(field) {
            row[field] = value.clone();
        }
    }
    if let Some(into) = request.into {
        row["cwd"] = into.to_string_lossy().into();
    }
    row["sessionId"] = request.session.into();
    row
}

/// Reads the new session as the agent will, and compares it with the plan, row by row.
pub fn check(
    chain: &Chain<'_>,
    plan: &CutPlan,
    request: &CutRequest<'_>,
    bytes: &[u8],
) -> Result<(), Refused> {
    let new = Chain {
        format: chain.format,
        rows: chain.format.read(bytes),
    };
    let summary = new_id(request.session, 1);
    let shown = plan.shown.iter().map(|row| chain.rows[*row].id);
    let first = (plan.summary == Summary::First).then_some(summary.as_str());
    let last = matches!(plan.summary, Summary::Last(_)).then_some(summary.as_str());
    let planned: Vec<&str> = first.into_iter().chain(shown).chain(last).collect();
    let differs = |told| Refused::Differs {
        planned: planned.len(),
        told,
    };
    let leaf = new.leaf().ok_or_else(|| differs(0))?;
    let told = new.context(leaf)?;
    let told: Vec<&str> = told.into_iter().map(|row| new.rows[row].id).collect();
    if told != planned {
        return Err(differs(told.len()));
    }
    Ok(())
}
