//! Retention: old checkpoints are squashed, and the others are unchanged.

use std::collections::{BTreeMap, BTreeSet};

use backstitch_core::LogFilter;
use backstitch_core::model::{Kind, NodeId};
use backstitch_core::retention::Limits;

use super::model::Sure;
use super::world::{Checked, World};

impl World {
    /// Law G: a dry run changes nothing, and the run does what it announced. No file on disk changes, and remaining
    /// checkpoints are unchanged.
    pub(super) fn collect(&mut self, keep: u8, all: bool) -> Checked {
        let limits = Limits {
            days: None,
            checkpoints: Some(1 + u64::from(keep % 12)),
            bytes: all.then_some(1),
            early: false,
            trust_clock: false,
        };
        let disk = self.disk();
        let before = self.existing()?;
        let shown = self.engine.retention().gc_dry(limits, &mut |_| {});
        let shown = shown.map_err(|e| format!("gc --dry-run: {e}"))?;
        if self.existing()? != before {
            return Err("G: a dry run removed something".into());
        }
        let done = self.engine.retention_mut().gc(limits, &mut |_| {});
        let done = done.map_err(|e| format!("gc: {e}"))?;
        if (done.gone, done.contents, &done.made) != (shown.gone, shown.contents, &shown.made) {
            return Err(format!("G: {shown:?} was said, {done:?} was done"));
        }
        if self.disk() != disk {
            return Err("G: gc touched the files".into());
        }
        let left = self.existing()?;
        self.counts.collected += before.len() - left.len();
        if u64::try_from(before.len() - left.len()).ok() != Some(done.gone) {
            return Err(format!(
                "G: {} were said to go: {before:?}, {left:?}",
                done.gone
            ));
        }
        let again = self.engine.retention_mut().gc(limits, &mut |_| {});
        let again = again.map_err(|e| format!("gc again: {e}"))?;
        if again.gone > 0 || again.contents > 0 || !again.made.is_empty() {
            return Err(format!("G: the same again removed more: {again:?}"));
        }
        self.follow(&left)?;
        self.all_hold()
    }

    /// All existing checkpoints with their parents.
    fn existing(&self) -> Checked<BTreeMap<NodeId, (Option<NodeId>, Kind)>> {
        let filter = LogFilter {
            all_branches: true,
            ..LogFilter::default()
        };
        let all = self
            .engine
            .history()
            .log(&filter)
            .map_err(|e| format!("log: {e}"))?;
        let rows = all.into_iter().map(|entry| entry.node);
        Ok(rows.map(|n| (n.id, (n.parent, n.kind))).collect())
    }

    /// Updates the model to the remaining checkpoints.
    fn follow(&mut self, left: &BTreeMap<NodeId, (Option<NodeId>, Kind)>) -> Checked {
        let mut into: BTreeMap<NodeId, NodeId> = BTreeMap::new();
        for (node, (_, kind)) in left {
            if *kind != Kind::Squash {
                continue;
            }
            self.squashes.insert(*node);
            let gone: Vec<NodeId> = self
                .chain(*node)
                .skip(1)
                .take_while(|n| !left.contains_key(n))
                .collect();
            into.extend(gone.into_iter().map(|n| (n, *node)));
        }
        let gone: BTreeSet<NodeId> = self
            .expected
            .keys()
            .filter(|n| !left.contains_key(n))
            .copied()
            .collect();
        if let Some(lost) = gone.iter().find(|n| !into.contains_key(n)) {
            return Err(format!("G: {lost} is part of nothing"));
        }
        for node in &gone {
            self.expected.remove(node);
            self.parents.remove(node);
        }
        for (node, (parent, _)) in left {
            self.parents.insert(*node, *parent);
        }
        for token in self.tokens.values_mut() {
            let Some(node) = token.node else { continue };
            let now = into.get(&node).copied().unwrap_or(node);
            if self.squashes.contains(&now) {
                // other writers may have contributed to the squash
                token.sure = Sure::No;
            }
            token.node = Some(now);
        }
        for (_, since) in &mut self.adopted {
            *since = into.get(since).copied().unwrap_or(*since);
        }
        self.came = self
            .came
            .map(|node| into.get(&node).copied().unwrap_or(node));
        Ok(())
    }
}
