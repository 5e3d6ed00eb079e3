//! Ages of checkpoints, told by more than one clock reading: pure. A checkpoint has the time of the clock when it was
//! recorded. A clock may be wrong, for one event or for weeks, and may be set forwards and back.

use std::collections::{HashMap, HashSet};

use crate::model::NodeId;
use crate::store::tables::node::CheckpointRow;

const HOUR: i64 = 3600 * 1_000_000;
const DAY: i64 = 24 * HOUR;
/// The part of the age limit that one gap between neighbouring checkpoints may count for.
const GAPS_TO_LIMIT: i64 = 4;
/// Maximum length of a gap that counts, in microseconds.
const MAX_GAP: i64 = 7 * DAY;
const MIN_GAP: i64 = 6 * HOUR;
/// The turns that no background run squashes for their age.
const NEWEST_TURNS: usize = 5;

/// The checkpoints that are too old.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TooOld {
    /// Old by the time that passed between checkpoints.
    pub certain: HashSet<NodeId>,
    /// Old by the clock alone: a gap between two checkpoints makes up for most of their age.
    pub suspect: HashSet<NodeId>,
    /// The longest of these gaps in microseconds, and the checkpoint after it. None: it is the one up to now.
    pub jump: Option<(i64, Option<NodeId>)>,
}

/// Judges the ages of checkpoints, which are in the order of their recording, against a limit in microseconds.
///
/// The age is the sum of the gaps after a checkpoint, up to now. Each gap counts up to a part of the limit, forwards and
/// backwards alike, so that a clock that is set forwards and back adds nothing.
pub(super) fn too_old(nodes: &[CheckpointRow], now: i64, limit: i64) -> TooOld {
    let mut found = TooOld::default();
    if limit <= 0 {
        found.certain = nodes
            .iter()
            .filter(|n| n.time < now)
            .map(|n| n.id)
            .collect();
        return found;
    }
    let longest = (limit / GAPS_TO_LIMIT).clamp(MIN_GAP.min(limit), MAX_GAP);
    let (mut passed, mut next, mut after) = (0_i64, now, None);
    let mut jump: (i64, Option<NodeId>) = (0, None);
    for node in nodes.iter().rev() {
        let gap = next.saturating_sub(node.time);
        if gap > jump.0 {
            jump = (gap, after);
        }
        passed = passed.saturating_add(gap.clamp(-longest, longest));
        (next, after) = (node.time, Some(node.id));
        if passed > limit {
            found.certain.insert(node.id);
        } else if now.saturating_sub(node.time) > limit {
            found.suspect.insert(node.id);
        }
    }
    found.jump = Some(jump).filter(|_| !found.suspect.is_empty());
    found
}

/// Returns the checkpoints that a background run leaves alone, however old they seem: those recorded since the last run
/// (`mark` is the newest one then), and the newest turns.
pub(super) fn protected(nodes: &[CheckpointRow], mark: Option<NodeId>) -> HashSet<NodeId> {
    let mut starts: HashMap<_, NodeId> = HashMap::new();
    for node in nodes {
        if let Some(turn) = node.turn {
            let start = starts.entry(turn).or_insert(node.id);
            *start = node.id.min(*start);
        }
    }
    let mut starts: Vec<NodeId> = starts.into_values().collect();
    starts.sort_unstable();
    let first = starts.iter().rev().nth(NEWEST_TURNS - 1).or(starts.first());
    let is_newest = |id: NodeId| first.is_some_and(|first| id >= *first);
    let is_since = |id: NodeId| mark.is_none_or(|mark| id > mark);
    let ids = nodes.iter().map(|node| node.id);
    ids.filter(|id| is_newest(*id) || is_since(*id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BranchId, TurnId};

    /// Checkpoints at these hours, each with its number.
    fn at(hours: &[i64]) -> Vec<CheckpointRow> {
        let nodes = (1..).zip(hours).map(|(id, hour)| CheckpointRow {
            id: NodeId(id),
            branch: BranchId(1),
            turn: Some(TurnId(id)),
            time: hour * HOUR,
            squashable_alone: false,
        });
        nodes.collect()
    }

    fn judged(hours: &[i64], now: i64) -> (Vec<i64>, Vec<i64>) {
        let found = too_old(&at(hours), now * HOUR, 30 * DAY);
        let sorted = |ids: &HashSet<NodeId>| {
            let mut ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
            ids.sort_unstable();
            ids
        };
        (sorted(&found.certain), sorted(&found.suspect))
    }

    #[test]
    fn checkpoints_of_daily_work_age_with_the_clock() {
        let days: Vec<i64> = (0..40).map(|day| day * 24).collect();
        assert_eq!(judged(&days, 40 * 24), ((1..=10).collect(), vec![]));
        let weekly: Vec<i64> = (0..10).map(|week| week * 7 * 24).collect();
        assert_eq!(judged(&weekly, 10 * 7 * 24), ((1..=6).collect(), vec![]));
    }

    #[test]
    fn one_event_with_a_clock_far_ahead_ages_nothing() {
        let ahead = 800 * 24;
        assert_eq!(
            judged(&[0, 1, 2, 3, ahead], ahead),
            (vec![], vec![1, 2, 3, 4])
        );
        // and the clock is right again
        assert_eq!(judged(&[0, 1, 2, 3, ahead], 5), (vec![], vec![]));
        let found = too_old(&at(&[0, 1, ahead]), ahead * HOUR, 30 * DAY);
        assert_eq!(found.jump, Some(((ahead - 1) * HOUR, Some(NodeId(3)))));
    }

    #[test]
    fn a_clock_that_was_behind_ages_nothing_when_it_is_right() {
        let right = 40 * 24;
        assert_eq!(
            judged(&[0, 1, 2, right], right + 1),
            (vec![], vec![1, 2, 3])
        );
        // nor with some days of work after it
        let days = [0, 1, 2, right, right + 24, right + 48, right + 72];
        assert_eq!(judged(&days, right + 96).0, Vec::<i64>::new());
    }

    #[test]
    fn a_clock_that_goes_back_and_forth_ages_nothing() {
        let hours: Vec<i64> = (0..40)
            .map(|n| if n % 2 == 0 { n } else { n + 900 * 24 })
            .collect();
        assert_eq!(judged(&hours, 41).0, Vec::<i64>::new());
        assert_eq!(judged(&hours, 41 + 900 * 24).0, Vec::<i64>::new());
    }

    #[test]
    fn a_limit_of_no_days_takes_everything_before_now() {
        let found = too_old(&at(&[0, 1, 900]), 2 * HOUR, 0);
        assert_eq!((found.certain.len(), found.suspect.len()), (2, 0));
    }

    #[test]
    fn the_newest_turns_and_those_since_the_last_run_are_protected() {
        let nodes = at(&[0; 20]);
        let ids = |mark| {
            let mut ids: Vec<i64> = protected(&nodes, mark).iter().map(|id| id.0).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(ids(Some(NodeId(20))), (16..=20).collect::<Vec<_>>());
        assert_eq!(ids(Some(NodeId(10))), (11..=20).collect::<Vec<_>>());
        assert_eq!(ids(None), (1..=20).collect::<Vec<_>>());
    }
}
