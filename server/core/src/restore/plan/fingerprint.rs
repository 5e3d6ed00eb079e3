//! Fingerprint of a plan: equal only for the same target, state and outcome.

use super::builder::PlanBuilder;
use crate::restore::types::{BufferEdit, Resolution};

impl PlanBuilder<'_> {
    pub(super) fn fingerprint(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(self.plan.target.as_bytes());
        // the name of the branch is in the target: a branch that is created by then keeps the plan
        let asked = (self.r.exact, self.r.on_conflict, self.plan.is_switch());
        add(format!("{asked:?}").as_bytes());
        for part in self.plan.files.iter().chain(&self.plan.left) {
            for state in [&part.before, &part.after] {
                match state {
                    None => add(b"-"),
                    Some(p) => {
                        add(p.path.bytes());
                        add(&p.image.encode());
                    }
                }
            }
            add(format!("{:?} {:?} {}", part.taken_out, part.put_back, part.as_user).as_bytes());
        }
        for change in &self.plan.directories {
            add(change.path.bytes());
            add(format!("{:?} {:?}", change.before, change.after).as_bytes());
        }
        if let Some(half) = &self.r.conversation {
            add(half.basis.as_bytes());
        }
        for save in &self.plan.late {
            add(save.path.bytes());
            add(&save.wanted.encode());
        }
        for conflict in &self.plan.conflicts {
            add(conflict.path.bytes());
            add(conflict.reason.as_bytes());
            add(conflict.resolution.map_or("", Resolution::name).as_bytes());
        }
        for document in &self.plan.documents {
            add(document.path.bytes());
            add(document.editor.name.as_bytes());
            if let Some(e) = &document.edit {
                let BufferEdit { from, to, .. } = &e.edit;
                add(&from.0);
                add(&to.0);
            }
        }
        hash.finalize().to_hex()[..16].to_owned()
    }
}
