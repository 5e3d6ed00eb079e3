//! Narrowing of a file's outcome to the chosen hunks.

use super::builder::PlanBuilder;
use crate::diff;
use crate::error::Result;
use crate::model::{ContentId, FileVersion, Image, Placed};
use crate::restore::types::FilePlan;

impl PlanBuilder<'_> {
    /// Narrows a file's outcome to the chosen hunks. Returns `false` if it contains none of them.
    pub(super) fn pick(&mut self, part: &mut FilePlan) -> Result<bool> {
        let long = |state: &FileVersion| state.as_ref().is_some_and(|p| p.image.is_too_long());
        if long(&part.before) || long(&part.after) {
            return Ok(false);
        }
        let store = &self.engine.store;
        let bytes = |state: &FileVersion| -> Result<Vec<u8>> {
            match state.as_ref().and_then(|p| p.image.content()) {
                Some(content) => store.content(&content),
                None => Ok(Vec::new()),
            }
        };
        let old = bytes(&part.before)?;
        let new = match &part.new_content {
            Some(content) => content.clone(),
            None => bytes(&part.after)?,
        };
        let side = |state: &'_ FileVersion| state.as_ref().map(|p| p.path.bytes().to_vec());
        let path = match (side(&part.before), side(&part.after)) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => return Ok(false),
        };
        let mut any = false;
        for hunk in &self.r.hunks {
            if diff::pick(&old, &new, &path, &[hunk.as_str()]).1 > 0 {
                self.matched_hunks.insert(hunk.clone());
                any = true;
            }
        }
        if !any {
            return Ok(false);
        }
        let ids: Vec<&str> = self.r.hunks.iter().map(String::as_str).collect();
        let (picked, _) = diff::pick(&old, &new, &path, &ids);
        if picked == new {
            return Ok(true);
        }
        // only a part of the plan: the outcome counts as the user's own edit
        let (Some(placed), mode) = (&part.before, mode_of(&part.before).or(mode_of(&part.after)))
        else {
            return Ok(true);
        };
        part.after = Some(Placed {
            path: placed.path.clone(),
            image: Image::File {
                mode: mode.unwrap_or(0o644),
                content: ContentId::of(&picked),
                size: picked.len() as u64,
            },
        });
        part.new_content = Some(picked);
        part.as_user = true;
        part.merged = true;
        Ok(true)
    }
}

fn mode_of(state: &FileVersion) -> Option<u32> {
    match state.as_ref()?.image {
        Image::File { mode, .. } => Some(mode),
        _ => None,
    }
}
