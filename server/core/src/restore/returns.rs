//! Edits that cancel each other out, since the file was again as it had been: git took the file away and brought it
//! back. Its content keeps the authors that it had before.

use std::collections::{BTreeSet, HashMap};

use rusqlite::Connection;

use crate::error::Result;
use crate::history::{self, SetHash};
use crate::model::{Change, ChangeId, FileId, FileVersion};

/// Returns the wanted edits without those that cancel each other out. `now` are the edits in force.
pub(super) fn without_returns(
    conn: &Connection,
    file: FileId,
    now: &BTreeSet<ChangeId>,
    wanted: &BTreeSet<ChangeId>,
) -> Result<BTreeSet<ChangeId>> {
    let edits: Vec<Change> = now
        .iter()
        .map(|id| history::change(conn, *id))
        .collect::<Result<_>>()?;
    let states = states_of(conn, file, &edits)?;
    let cancelled = cancelled(&edits, &states, now, wanted);
    Ok(wanted.difference(&cancelled).copied().collect())
}

/// Returns the recorded state after each number of edits. None: these edits were never in force without the later ones,
/// or no other edit led to the same state.
fn states_of(
    conn: &Connection,
    file: FileId,
    edits: &[Change],
) -> Result<Vec<Option<FileVersion>>> {
    let mut set = SetHash::EMPTY;
    let first = history::version(conn, file, set)?;
    let mut times: HashMap<&FileVersion, usize> = HashMap::new();
    for state in first.iter().chain(edits.iter().map(|edit| &edit.after)) {
        *times.entry(state).or_default() += 1;
    }
    let mut states = vec![first.clone()];
    for edit in edits {
        set = set.toggled(edit.id);
        let recurs = times.get(&edit.after).is_some_and(|times| *times > 1);
        states.push(if recurs {
            history::version(conn, file, set)?
        } else {
            None
        });
    }
    Ok(states)
}

/// Returns the edits between two equal states of which the later one is to stay. From the newest state on, each is taken
/// for the oldest one that equals it.
fn cancelled(
    edits: &[Change],
    states: &[Option<FileVersion>],
    now: &BTreeSet<ChangeId>,
    wanted: &BTreeSet<ChangeId>,
) -> BTreeSet<ChangeId> {
    let mut starts: HashMap<&FileVersion, Vec<usize>> = HashMap::new();
    for (at, state) in states.iter().enumerate() {
        if let Some(state) = state {
            starts.entry(state).or_default().push(at);
        }
    }
    let mut cancelled = BTreeSet::new();
    let mut end = edits.len();
    while let Some(last) = end.checked_sub(1) {
        // an edit that is put back between them needs the state that it was made in
        let is_apart = |start: &usize| {
            let mut between = wanted.range(edits[*start].id..=edits[last].id);
            between.all(|id| now.contains(id))
        };
        let equal = states[end].as_ref().and_then(|state| starts.get(state));
        let stays = wanted.contains(&edits[last].id);
        let mut older = equal.into_iter().flatten().copied();
        let start = older.find(|at| stays && *at < end && is_apart(at));
        if let Some(start) = start {
            cancelled.extend(edits[start..end].iter().map(|edit| edit.id));
        }
        end = start.unwrap_or(last);
    }
    cancelled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentId, Image, NodeId, Origin, Placed, RelPath, Role};

    /// A history of one file, as one letter for each state; `-`: there is no file. The edits have the ids from 1 on.
    fn history(states: &str) -> (Vec<Change>, Vec<Option<FileVersion>>) {
        let states: Vec<FileVersion> = states
            .bytes()
            .map(|letter| {
                let content = ContentId([letter; 32]);
                let path = RelPath::new("a").expect("a path");
                let image = Image::Symlink { content };
                (letter != b'-').then_some(Placed { path, image })
            })
            .collect();
        let edits = states.windows(2).zip(1..).map(|(pair, id)| Change {
            id: ChangeId(id),
            node: NodeId(id),
            file: FileId(1),
            role: Role::Edit,
            before: pair[0].clone(),
            after: pair[1].clone(),
            origin: Origin::USER,
            made_dirs: 0,
        });
        (edits.collect(), states.into_iter().map(Some).collect())
    }

    fn left(states: &str, now: &[i64], wanted: &[i64]) -> Vec<i64> {
        let (edits, states) = history(states);
        let set = |ids: &[i64]| ids.iter().copied().map(ChangeId).collect::<BTreeSet<_>>();
        let (now, wanted) = (set(now), set(wanted));
        let edits: Vec<Change> = edits.into_iter().filter(|e| now.contains(&e.id)).collect();
        let cancelled = cancelled(&edits, &states, &now, &wanted);
        wanted.difference(&cancelled).map(|id| id.0).collect()
    }

    #[test]
    fn a_file_that_went_and_came_back_is_that_of_its_first_author() {
        assert_eq!(left("-A-A", &[1, 2, 3], &[2, 3]), [] as [i64; 0]);
        assert_eq!(
            left("-A-A-A", &[1, 2, 3, 4, 5], &[2, 3, 4, 5]),
            [] as [i64; 0]
        );
        // a deletion, too
        assert_eq!(left("A-A-", &[1, 2, 3], &[2, 3]), [] as [i64; 0]);
    }

    #[test]
    fn later_edits_of_what_came_back_stay() {
        assert_eq!(left("-A-AB", &[1, 2, 3, 4], &[2, 3, 4]), [4]);
        assert_eq!(left("-AB-B", &[1, 2, 3, 4], &[2, 3, 4]), [2]);
    }

    #[test]
    fn an_older_state_that_came_back_is_without_the_edits_after_it() {
        assert_eq!(left("-AB-A", &[1, 2, 3, 4], &[1, 3, 4]), [1]);
        assert_eq!(left("-AB-A", &[1, 2, 3, 4], &[3, 4]), [] as [i64; 0]);
    }

    #[test]
    fn another_content_does_not_come_back() {
        assert_eq!(left("-A-B", &[1, 2, 3], &[2, 3]), [3]);
        assert_eq!(left("ABCD", &[1, 2, 3], &[2, 3]), [2, 3]);
    }

    #[test]
    fn the_last_of_several_ways_counts() {
        // there, back, and there again: one edit is left
        assert_eq!(left("ABAB", &[1, 2, 3], &[1, 2, 3]), [1]);
    }

    #[test]
    fn nothing_is_cancelled_where_the_return_is_undone() {
        assert_eq!(left("-A-A", &[1, 2, 3], &[1, 2]), [] as [i64; 0]);
        assert_eq!(left("-A-A", &[1, 2, 3], &[2]), [] as [i64; 0]);
        assert_eq!(left("BA-A", &[1, 2, 3], &[1, 2]), [1, 2]);
    }

    #[test]
    fn an_edit_that_is_put_back_between_them_keeps_its_place() {
        // edit 2 was taken out, and is put back: the deletion after it stays
        let now = [1, 3];
        let (edits, _) = history("-AB-");
        let edits: Vec<Change> = [&edits[0], &edits[2]].map(Clone::clone).into();
        let states = [Some(None), Some(edits[0].after.clone()), Some(None)];
        let set = |ids: &[i64]| ids.iter().copied().map(ChangeId).collect::<BTreeSet<_>>();
        let found = cancelled(&edits, &states, &set(&now), &set(&[1, 2, 3]));
        assert_eq!(found, set(&[]));
    }
}
