//! Three-way merge of one file's state. Decides from paths and images alone; contents are read only for
//! `FileMerge::Lines`.

use crate::model::{FileVersion, Image, Placed, RelPath};

/// Reason of a conflict in a file that is too large to merge.
pub(super) const TOO_LONG: &str = "it is too large to merge line by line";

/// Way to merge the change from `base` to `theirs` onto `ours`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileMerge {
    /// This state, with the content of `ours`.
    Ours(FileVersion),
    /// This state, with the content of `theirs`.
    Theirs(FileVersion),
    /// A conflict that lines cannot express: one side must be chosen as a whole.
    OneSide {
        /// Current path of the file on either side.
        at: RelPath,
        reason: &'static str,
    },
    /// Both sides changed the content: merge its lines.
    Lines(LineMerge),
}

/// Merge of two contents that differ from their base and from each other.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineMerge {
    /// Path in `ours`.
    pub at: RelPath,
    /// Path of the merged file.
    pub path: RelPath,
    pub base: Image,
    pub our_mode: u32,
    pub their_mode: u32,
    /// None if both sides changed the mode, differently.
    pub mode: Option<u32>,
    /// True if there is no base: both sides created the file.
    pub both_created: bool,
}

impl FileMerge {
    /// Decides how the change from `base` to `theirs` applies to `ours`.
    pub(super) fn decide(base: &FileVersion, ours: &FileVersion, theirs: &FileVersion) -> Self {
        if ours == base {
            return Self::Theirs(theirs.clone());
        }
        if ours == theirs || base == theirs {
            return Self::Ours(ours.clone());
        }
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => Self::of_present(base.as_ref(), ours, theirs),
            (Some(ours), None) => Self::OneSide {
                at: ours.path.clone(),
                reason: "deleting it again would lose later edits",
            },
            (None, Some(theirs)) => Self::OneSide {
                at: theirs.path.clone(),
                reason: "the file would be deleted, but a later edit of it stays",
            },
            (None, None) => Self::Ours(None),
        }
    }

    /// Decides for a file that exists on both sides: the path first, then the image.
    fn of_present(base: Option<&Placed>, ours: &Placed, theirs: &Placed) -> Self {
        let one_side = |reason| Self::OneSide {
            at: ours.path.clone(),
            reason,
        };
        let Some(path) = merged_path(base, ours, theirs) else {
            return one_side("both sides renamed it, to different paths");
        };
        let base_image = base.map_or(Image::Absent, |base| base.image);
        let with = |image| {
            let path = path.clone();
            Some(Placed { path, image })
        };
        if theirs.image == base_image {
            return Self::Ours(with(ours.image));
        }
        if ours.image == base_image || ours.image == theirs.image {
            return Self::Theirs(with(theirs.image));
        }
        let (Some(our_mode), Some(their_mode)) = (file_mode(ours.image), file_mode(theirs.image))
        else {
            return one_side("both sides changed its type or its link target");
        };
        let images = [base_image, ours.image, theirs.image];
        if images.iter().any(Image::is_too_long) {
            return one_side(TOO_LONG);
        }
        let base_mode = file_mode(base_image).unwrap_or(our_mode);
        Self::Lines(LineMerge {
            at: ours.path.clone(),
            path,
            base: base_image,
            our_mode,
            their_mode,
            mode: merged_mode(base_mode, our_mode, their_mode),
            both_created: base.is_none(),
        })
    }
}

/// Path after both renames. None if they lead to different paths.
fn merged_path(base: Option<&Placed>, ours: &Placed, theirs: &Placed) -> Option<RelPath> {
    match base {
        Some(base) if theirs.path == base.path => Some(ours.path.clone()),
        Some(base) if ours.path == base.path => Some(theirs.path.clone()),
        _ => (ours.path == theirs.path).then(|| ours.path.clone()),
    }
}

/// Mode after both changes. None if they set different modes.
fn merged_mode(base: u32, ours: u32, theirs: u32) -> Option<u32> {
    if theirs == base || ours == theirs {
        Some(ours)
    } else if ours == base {
        Some(theirs)
    } else {
        None
    }
}

/// Mode of a regular file.
fn file_mode(image: Image) -> Option<u32> {
    match image {
        Image::File { mode, .. } => Some(mode),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ContentId;

    fn file(path: &str, mode: u32, text: &str) -> FileVersion {
        placed(
            path,
            Image::File {
                mode,
                content: ContentId::of(text.as_bytes()),
                size: text.len() as u64,
            },
        )
    }

    fn placed(path: &str, image: Image) -> FileVersion {
        RelPath::new(path).map(|path| Placed { path, image })
    }

    fn reason(merge: &FileMerge) -> &'static str {
        match merge {
            FileMerge::OneSide { reason, .. } => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unchanged_side_takes_the_other_one() {
        let (base, edit) = (file("a", 0o644, "1"), file("a", 0o644, "2"));
        for (base, edit) in [(&base, &edit), (&None, &edit), (&base, &None)] {
            assert_eq!(
                FileMerge::decide(base, base, edit),
                FileMerge::Theirs(edit.clone())
            );
            assert_eq!(
                FileMerge::decide(base, edit, base),
                FileMerge::Ours(edit.clone())
            );
            assert_eq!(
                FileMerge::decide(base, edit, edit),
                FileMerge::Ours(edit.clone())
            );
        }
    }

    #[test]
    fn a_deletion_and_an_edit_conflict_as_a_whole() {
        let (base, edit) = (file("a", 0o644, "1"), file("a", 0o644, "2"));
        assert_eq!(
            reason(&FileMerge::decide(&base, &edit, &None)),
            "deleting it again would lose later edits"
        );
        assert_eq!(
            reason(&FileMerge::decide(&base, &None, &edit)),
            "the file would be deleted, but a later edit of it stays"
        );
    }

    #[test]
    fn a_rename_on_one_side_meets_an_edit_on_the_other() {
        let base = file("a", 0o644, "1");
        let (renamed, edited) = (file("b", 0o644, "1"), file("a", 0o644, "2"));
        let both = file("b", 0o644, "2");
        assert_eq!(
            FileMerge::decide(&base, &renamed, &edited),
            FileMerge::Theirs(both.clone())
        );
        assert_eq!(
            FileMerge::decide(&base, &edited, &renamed),
            FileMerge::Ours(both)
        );
    }

    #[test]
    fn two_renames_conflict_unless_they_agree() {
        let base = file("a", 0o644, "1");
        let (one, other) = (file("b", 0o644, "1"), file("c", 0o644, "1"));
        assert_eq!(
            reason(&FileMerge::decide(&base, &one, &other)),
            "both sides renamed it, to different paths"
        );
        let (ours, theirs) = (file("b", 0o644, "2"), file("b", 0o644, "1"));
        assert_eq!(
            FileMerge::decide(&base, &ours, &theirs),
            FileMerge::Ours(ours.clone())
        );
    }

    #[test]
    fn two_contents_are_merged_by_lines_with_the_mode_of_the_side_that_changed_it() {
        let base = file("a", 0o644, "1");
        let (ours, theirs) = (file("a", 0o644, "2"), file("b", 0o755, "3"));
        let FileMerge::Lines(lines) = FileMerge::decide(&base, &ours, &theirs) else {
            panic!("lines are merged");
        };
        let path = |path: &str| RelPath::new(path).expect("a path");
        assert_eq!((lines.at, lines.path), (path("a"), path("b")));
        assert_eq!((lines.mode, lines.both_created), (Some(0o755), false));
    }

    #[test]
    fn two_created_files_have_no_base() {
        let (ours, theirs) = (file("a", 0o600, "2"), file("a", 0o755, "3"));
        let FileMerge::Lines(lines) = FileMerge::decide(&None, &ours, &theirs) else {
            panic!("lines are merged");
        };
        assert!(lines.both_created);
        assert_eq!(lines.base, Image::Absent);
        assert_eq!(lines.mode, Some(0o755));
    }

    #[test]
    fn two_different_modes_have_no_merged_mode() {
        let base = file("a", 0o644, "1");
        let (ours, theirs) = (file("a", 0o600, "1"), file("a", 0o755, "1"));
        let FileMerge::Lines(lines) = FileMerge::decide(&base, &ours, &theirs) else {
            panic!("lines are merged");
        };
        assert_eq!(lines.mode, None);
        assert_eq!((lines.our_mode, lines.their_mode), (0o600, 0o755));
    }

    #[test]
    fn a_link_and_a_text_conflict_as_a_whole() {
        let base = file("a", 0o644, "1");
        let content = ContentId::of(b"target");
        let link = placed("a", Image::Symlink { content });
        assert_eq!(
            reason(&FileMerge::decide(&base, &link, &file("a", 0o644, "2"))),
            "both sides changed its type or its link target"
        );
    }

    #[test]
    fn a_file_that_is_too_large_conflicts_as_a_whole() {
        let base = file("a", 0o644, "1");
        let large = Image::File {
            mode: 0o644,
            content: ContentId::of(b"2"),
            size: crate::content::MAX_MERGE_BYTES,
        };
        assert_eq!(
            reason(&FileMerge::decide(
                &base,
                &placed("a", large),
                &file("a", 0o644, "3")
            )),
            TOO_LONG
        );
    }
}
