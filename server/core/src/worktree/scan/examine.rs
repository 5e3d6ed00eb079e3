//! Comparison of one path on disk with its record.

use std::sync::atomic::Ordering;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::Scan;
use super::gathered::{LARGE, LARGE_TOTAL};
use crate::error::Result;
use crate::model::{Image, Opaque, Reason, RelPath};
use crate::store::Packed;
use crate::worktree::disk::{DiskEntry, Stat};
use crate::worktree::file_state::FileState;
use crate::worktree::ignore_rules;

impl Scan<'_> {
    /// Examines one path that is on disk or in the known tree. Returns the stat that proves the path unchanged once
    /// this scan is recorded; None: no stat proves it.
    pub(super) fn examine(
        &self,
        path: RelPath,
        stat: Option<Stat>,
        read: &dyn Fn(&Image) -> Result<DiskEntry>,
    ) -> Option<Stat> {
        let known = self.known.get(&path);
        if stat.is_some_and(|stat| stat.linked && stat.kind() == FileType::RegularFile) {
            self.gather().out.linked.push(path.clone());
        }
        let limit = |image: &Image| self.root.limit(image);
        let is_stale = || self.stale_entries.contains(&path);
        if let Some(known) = known.filter(|known| is_proven(known, stat.as_ref(), limit, is_stale))
        {
            if let Image::Opaque(why) = known.image {
                self.gather()
                    .out
                    .coverage
                    .note(path.bytes(), reason(why), "");
            }
            return stat;
        }
        if let (Some(clean_index), Some(now)) = (self.clean_index, &stat)
            && may_be_vouched_for(&path, known, now, limit)
            && let Some(candidate) = clean_index.candidate(&path, now)
        {
            self.gather().candidates.push(candidate);
            return stat;
        }
        self.compare(path, read)
    }

    /// Reads a path and records a difference. Returns the stat of a changed file, if it proves anything.
    pub(super) fn compare(
        &self,
        path: RelPath,
        read: &dyn Fn(&Image) -> Result<DiskEntry>,
    ) -> Option<Stat> {
        let known = self.known.get(&path);
        let before = known.map_or(Image::Absent, |k| k.image);
        let mut entry = match read(&before) {
            Ok(entry) => entry,
            Err(e) => {
                self.gather()
                    .out
                    .coverage
                    .note(path.bytes(), Reason::Unreadable, e.to_string());
                return None;
            }
        };
        if entry.is_dir && known.is_none() {
            self.note_closed(&path);
            return None;
        }
        if matches!(before, Image::InGit { .. }) && self.is_still_backed(&path, before, &entry) {
            return None;
        }
        let is_pending = self.pending.overlay(&path, before, &mut entry);
        let saved = self
            .pending
            .get(&path)
            .filter(|p| !is_pending && p.wanted == before && entry.image == before);
        if let Some(saved) = saved {
            self.gather().out.saved.push(saved.id);
        }
        if !self.store_contents {
            entry.bytes = None;
        }
        let version =
            entry.image != before && before.content().is_some() && self.reserve_large(&entry);
        let spilling = self.spilling.load(Ordering::Relaxed);
        let packed = (entry.image != before && spilling && !version)
            .then(|| entry.bytes.take().zip(entry.image.content()))
            .flatten()
            .map(|(bytes, id)| Packed::new(id, bytes));
        let mut all = self.gather();
        if let Image::Opaque(why) = entry.image {
            all.out
                .coverage
                .note(path.bytes(), reason(why), opaque_detail(known, &entry));
        }
        match image_change(before, entry.image) {
            ImageChange::Unreadable => return None,
            ImageChange::None => {
                all.out
                    .stat_updates
                    .extend(entry.stat.map(|stat| (path, stat)));
                return None;
            }
            ImageChange::Changed => {}
        }
        let stat = entry.stat.filter(|stat| !stat.racy);
        if version {
            all.take_version(path, entry);
        } else {
            all.take(path, entry, packed, self.store);
        }
        if all.pack.is_some() {
            self.spilling.store(true, Ordering::Relaxed);
        }
        stat
    }

    /// Notes a directory that was named without a walk of it, and that cannot be listed.
    fn note_closed(&self, dir: &RelPath) {
        if !self.root.is_dir(dir.bytes()) && self.root.dir_mode(dir).is_some() {
            let message = std::io::Error::from(Errno::ACCESS).to_string();
            let mut all = self.gather();
            all.out
                .coverage
                .note(dir.bytes(), Reason::Unreadable, message);
        }
    }

    /// Reserves memory for a large content. Returns true if it is large and fits.
    fn reserve_large(&self, entry: &DiskEntry) -> bool {
        let size = entry.bytes.as_ref().map_or(0, Vec::len);
        let reserve = |held: usize| (held + size <= LARGE_TOTAL).then_some(held + size);
        let order = Ordering::Relaxed;
        size >= LARGE && self.large.fetch_update(order, order, reserve).is_ok()
    }
}

/// True if the stat on disk proves that a known path is unchanged. `limit` is the size up to which the content of an
/// image is captured.
fn is_proven(
    known: &FileState,
    now: Option<&Stat>,
    limit: impl Fn(&Image) -> u64,
    is_stale: impl FnOnce() -> bool,
) -> bool {
    let Some(now) = now.filter(|now| known.stat.proves(now)) else {
        return false;
    };
    // the limit may have been raised since
    let size = u64::try_from(now.size).unwrap_or(u64::MAX);
    let fits_now = known.image == Image::Opaque(Opaque::TooLarge) && size <= limit(&known.image);
    !fits_now && !is_stale()
}

/// True if git's index may vouch for the content of a path, so that it need not be read.
fn may_be_vouched_for(
    path: &RelPath,
    known: Option<&FileState>,
    now: &Stat,
    limit: impl Fn(&Image) -> u64,
) -> bool {
    known.is_none()
        && u64::try_from(now.size).is_ok_and(|size| size <= limit(&Image::Absent))
        // rules are needed again and again
        && path.split().1 != ignore_rules::FILE
}

/// Change of a path since it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageChange {
    None,
    Changed,
    /// The file cannot be read now, and keeps its recorded content.
    Unreadable,
}

/// Compares the image of a path on disk with the recorded one.
fn image_change(before: Image, now: Image) -> ImageChange {
    let has_content = before.content().is_some() || matches!(before, Image::InGit { .. });
    match now {
        Image::Opaque(why) if why != Opaque::TooLarge && has_content => ImageChange::Unreadable,
        now if now == before => ImageChange::None,
        _ => ImageChange::Changed,
    }
}

/// Returns the detail of the coverage of a path whose content is not captured: it changed, as far as the stat tells.
fn opaque_detail(known: Option<&FileState>, entry: &DiskEntry) -> &'static str {
    let changed = known
        .zip(entry.stat)
        .is_some_and(|(known, now)| known.image == entry.image && !known.stat.is_that_of(&now));
    if changed { "changed" } else { "" }
}

/// Returns the reason that is reported for a content that was not captured.
pub(crate) fn reason(why: Opaque) -> Reason {
    match why {
        Opaque::TooLarge => Reason::TooLarge,
        Opaque::Unreadable => Reason::Unreadable,
        Opaque::Special => Reason::Special,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ContentId;

    const STAT: Stat = Stat {
        size: 100,
        mtime: 1,
        ctime: 2,
        btime: 3,
        dev: 4,
        inode: 5,
        mode: 0o100_644,
        racy: false,
        linked: false,
    };
    const TOO_LARGE: Image = Image::Opaque(Opaque::TooLarge);
    const UNREADABLE: Image = Image::Opaque(Opaque::Unreadable);

    fn path(s: &str) -> RelPath {
        RelPath::new(s).expect("a plain path")
    }

    fn file(text: &str) -> Image {
        Image::File {
            mode: 0o644,
            content: ContentId::of(text.as_bytes()),
            size: text.len() as u64,
        }
    }

    fn in_git() -> Image {
        Image::InGit {
            mode: 0o644,
            size: 4,
            object: gix_hash::ObjectId::null(gix_hash::Kind::Sha1),
        }
    }

    fn row(image: Image, stat: Stat) -> FileState {
        FileState {
            image,
            file: None,
            since: None,
            generation: 1,
            stat,
        }
    }

    #[test]
    fn a_known_path_is_proven_by_an_equal_stat() {
        let proven =
            |known: &FileState, now: Option<&Stat>| is_proven(known, now, |_| 1000, || false);
        let known = row(file("a"), STAT);
        assert!(proven(&known, Some(&STAT)));
        assert!(!proven(&known, None));
        for other in [
            Stat { size: 101, ..STAT },
            Stat { mtime: 0, ..STAT },
            Stat { ctime: 0, ..STAT },
            Stat { inode: 0, ..STAT },
            Stat {
                mode: 0o100_755,
                ..STAT
            },
        ] {
            assert!(!proven(&known, Some(&other)), "{other:?}");
        }
        let racy = row(file("a"), Stat { racy: true, ..STAT });
        assert!(!proven(&racy, Some(&STAT)));
    }

    #[test]
    fn a_file_whose_git_object_is_stale_is_not_proven() {
        let known = row(in_git(), STAT);
        assert!(!is_proven(&known, Some(&STAT), |_| 1000, || true));
        assert!(is_proven(&known, Some(&STAT), |_| 1000, || false));
    }

    #[test]
    fn a_file_that_fits_a_raised_limit_is_read() {
        let known = row(TOO_LARGE, STAT);
        for (limit, expected) in [(99, true), (100, false), (101, false)] {
            let proven = is_proven(&known, Some(&STAT), |_| limit, || false);
            assert_eq!(proven, expected, "limit {limit}");
        }
    }

    #[test]
    fn git_vouches_for_new_files_within_the_limit_that_hold_no_rules() {
        let may = |at: &str, known: Option<&FileState>, limit: u64| {
            may_be_vouched_for(&path(at), known, &STAT, |_| limit)
        };
        assert!(may("d/a.txt", None, 100));
        assert!(!may("d/a.txt", None, 99));
        assert!(!may("d/.gitignore", None, 100));
        assert!(!may("d/a.txt", Some(&row(file("a"), STAT)), 100));
    }

    #[test]
    fn an_image_changed_unless_it_is_equal_or_cannot_be_read() {
        use ImageChange::{Changed, None, Unreadable};
        for (before, now, expected) in [
            (file("a"), file("a"), None),
            (file("a"), file("b"), Changed),
            (file("a"), Image::Absent, Changed),
            (Image::Absent, file("a"), Changed),
            (Image::Absent, Image::Absent, None),
            (file("a"), UNREADABLE, Unreadable),
            (in_git(), UNREADABLE, Unreadable),
            (file("a"), Image::Opaque(Opaque::Special), Unreadable),
            (file("a"), TOO_LARGE, Changed),
            (TOO_LARGE, TOO_LARGE, None),
            (UNREADABLE, UNREADABLE, None),
            (Image::Absent, UNREADABLE, Changed),
            (TOO_LARGE, UNREADABLE, Changed),
        ] {
            assert_eq!(image_change(before, now), expected, "{before:?}, {now:?}");
        }
    }

    #[test]
    fn a_content_that_is_not_captured_is_reported_as_changed_with_its_stat() {
        let entry = |image, stat| DiskEntry {
            image,
            stat,
            bytes: None,
            is_dir: false,
        };
        let known = row(TOO_LARGE, STAT);
        let grown = Stat { size: 200, ..STAT };
        let detail = |known, image, stat| opaque_detail(known, &entry(image, stat));
        assert_eq!(detail(Some(&known), TOO_LARGE, Some(grown)), "changed");
        assert_eq!(detail(Some(&known), TOO_LARGE, Some(STAT)), "");
        assert_eq!(detail(Some(&known), TOO_LARGE, None), "");
        assert_eq!(detail(Some(&known), UNREADABLE, Some(grown)), "");
        assert_eq!(detail(None, TOO_LARGE, Some(grown)), "");
    }
}
