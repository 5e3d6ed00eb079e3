//! Records one path that was read by its name.

use super::after_call;
use super::calls::{self, Attribution};
use super::transition::Transition;
use super::write_txn::{ScanContext, WriteTxn};
use crate::error::Result;
use crate::model::{Coverage, Image, NodeId, Opaque, RelPath};
use crate::store;
use crate::store::tables::root::scan;
use crate::worktree::disk::{DiskEntry, NO_STAT, Stat};
use crate::worktree::file_state::{self, FileState};
use crate::worktree::ignore_rules::{Rules, was_ignored};
use crate::worktree::pending_saves;

/// Updates the record of one path to its current disk entry before a call starts from it.
pub(super) fn update_record(
    txn: &WriteTxn<'_>,
    path: &RelPath,
    entry: &DiskEntry,
    attribution: Attribution,
    made_dirs: u32,
) -> Result<Option<NodeId>> {
    let row = file_state::get(txn.conn, txn.here.root, path)?;
    let before = row.as_ref().map_or(Image::Absent, |r| r.image);
    let image = readable_image(before, entry.image);
    if before == image {
        if let Some(p) = txn.pending.get(path).filter(|p| p.wanted == entry.image) {
            pending_saves::saved(txn.conn, p.id)?;
        }
        return Ok(None);
    }
    if calls::reserved(txn.conn, txn.here.root, path)?.is_some() {
        return Ok(None);
    }
    let waiting = txn.pending.get(path).zip(row.as_ref());
    if let Some((p, row)) = waiting.filter(|(p, row)| p.disk == image && p.wanted == row.image) {
        // the call starts from the disk, not from the outcome that was never saved
        let (node, _) = txn.withdraw_outcome(row, p, entry.stat)?;
        return Ok(Some(node));
    }
    if !txn.store_entry(path, entry, &before)? {
        return Ok(None);
    }
    let revealed = row
        .as_ref()
        .filter(|row| row.is_revealed(image, entry.stat.as_ref()));
    if revealed.is_some_and(|row| row.file.is_none()) || row.is_none() && out_of_sight(txn, path)? {
        // its earlier state is unknown, so this is not a change
        adopt(txn, path, image, entry.stat)?;
        return Ok(None);
    }
    let by_hook = match revealed {
        None if attribution == Attribution::USER => {
            after_call::by_hooks(txn, row.as_ref(), image, entry.stat.as_ref())?
        }
        _ => None,
    };
    let attribution = match revealed {
        Some(_) => Attribution::USER,
        None => by_hook.unwrap_or(attribution),
    };
    let generation = scan::next_generation(txn.conn, txn.here.root)?;
    let before_call = transition(path, row.as_ref(), image, entry, attribution, made_dirs);
    record_between(txn, before_call, generation)
}

/// Adopts a file whose earlier state is unknown. This is no one's change.
pub(super) fn adopt(
    txn: &WriteTxn<'_>,
    path: &RelPath,
    image: Image,
    stat: Option<Stat>,
) -> Result<()> {
    let known = FileState {
        image,
        file: None,
        since: txn.unshared_head()?,
        generation: scan::next_generation(txn.conn, txn.here.root)?,
        stat: stat.unwrap_or(NO_STAT),
    };
    file_state::put(
        txn.conn,
        txn.here.root,
        path,
        &known,
        file_state::Observed::ByName,
    )
}

/// Returns the current image, or the last known one if the file cannot be read.
pub(super) fn readable_image(before: Image, now: Image) -> Image {
    match now {
        Image::Opaque(why) if why != Opaque::TooLarge && before.content().is_some() => before,
        now => now,
    }
}

/// True if the rules of the last scan hid the path, or no scan has finished yet.
pub(super) fn out_of_sight(txn: &WriteTxn<'_>, path: &RelPath) -> Result<bool> {
    if scan::is_first(txn.conn, txn.here.root)? {
        return Ok(true);
    }
    let excludes = file_state::excludes(txn.conn, txn.here.root)?.unwrap_or_default();
    let (mut failed, mut is_damaged) = (None, false);
    let mut text = |file: &RelPath| {
        let recorded = || match file_state::get(txn.conn, txn.here.root, file) {
            Ok(row) => row?.image.content(),
            Err(e) => {
                failed = Some(e);
                None
            }
        };
        let content = excludes.content_at_scan(file, recorded)?;
        let read = store::get(txn.conn, txn.dir, &content);
        is_damaged |= read.is_err();
        read.ok()
    };
    let was_ignored = was_ignored(&Rules::base(&excludes), path, &mut text);
    // rules that cannot be read may have hidden anything
    failed.map_or(Ok(was_ignored || is_damaged), Err)
}

/// Returns the transition of a path that was read by its name.
pub(crate) fn transition(
    path: &RelPath,
    row: Option<&FileState>,
    image: Image,
    entry: &DiskEntry,
    attribution: Attribution,
    made_dirs: u32,
) -> Transition {
    let observed_by = file_state::Observed::ByName;
    Transition::new(
        path,
        row,
        (image, entry.stat),
        attribution,
        made_dirs,
        observed_by,
    )
}

/// Records a transition that is not the work of a call.
pub(super) fn record_between(
    txn: &WriteTxn<'_>,
    transition: Transition,
    generation: i64,
) -> Result<Option<NodeId>> {
    let (context, none) = (ScanContext::between(), Coverage::default());
    txn.record(&[transition], &context, &none, false, generation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ContentId;

    #[test]
    fn an_unreadable_file_keeps_its_recorded_content() {
        let content = Image::File {
            mode: 0o644,
            content: ContentId::of(b"text"),
            size: 4,
        };
        let (unreadable, large) = (
            Image::Opaque(Opaque::Unreadable),
            Image::Opaque(Opaque::TooLarge),
        );
        assert_eq!(readable_image(content, unreadable), content);
        assert_eq!(readable_image(content, large), large);
        assert_eq!(readable_image(Image::Absent, unreadable), unreadable);
        assert_eq!(readable_image(content, Image::Absent), Image::Absent);
    }
}
