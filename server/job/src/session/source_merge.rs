//! The merge of one edit of the user's into the files of the run: a decision, without the disk but for reading.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use backstitch_core::merge::{Favor, merge3};

/// The bit of a mode by which git tells programs from other files.
pub(super) const EXECUTABLE: u32 = 0o100;

/// A name in a working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SourceEntry {
    File {
        bytes: Vec<u8>,
        is_executable: bool,
    },
    /// The target.
    Link(Vec<u8>),
    /// A directory with entries, or a device.
    Other,
}

/// A change of a name in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SourceEdit {
    Write(SourceEntry),
    Remove,
    Nothing,
    /// Why the name stays as the run has it.
    Conflict(String),
}

/// The sides of a merge. None: there is no such file.
#[derive(Clone, Debug)]
pub(super) struct SourceSides {
    pub base: Option<SourceEntry>,
    pub ours: Option<SourceEntry>,
    pub theirs: Option<SourceEntry>,
}

impl SourceEntry {
    /// Reads a name. None: nothing has it, or an empty directory, which git does not know.
    pub fn read(path: &Path) -> io::Result<Option<SourceEntry>> {
        let read = || {
            let found = fs::symlink_metadata(path)?;
            if found.is_symlink() {
                let target = fs::read_link(path)?.into_os_string();
                return Ok(Some(SourceEntry::Link(target.into_vec())));
            }
            if found.is_dir() {
                let is_empty = fs::read_dir(path)?.next().is_none();
                return Ok((!is_empty).then_some(SourceEntry::Other));
            }
            if !found.is_file() {
                return Ok(Some(SourceEntry::Other));
            }
            Ok(Some(SourceEntry::File {
                bytes: fs::read(path)?,
                is_executable: found.permissions().mode() & EXECUTABLE != 0,
            }))
        };
        read().or_else(|error: io::Error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(error),
        })
    }
}

impl SourceSides {
    /// The change of the run's side. It never overwrites what the run has changed itself.
    pub fn edit(&self) -> SourceEdit {
        let conflict = |reason: &str| SourceEdit::Conflict(reason.to_owned());
        match (&self.base, &self.ours, &self.theirs) {
            (_, ours, theirs) if ours == theirs => SourceEdit::Nothing,
            (base, ours, Some(theirs)) if base == ours => SourceEdit::Write(theirs.clone()),
            (base, ours, None) if base == ours => SourceEdit::Remove,
            (_, _, None) => conflict("is removed, and the run has changed it"),
            (_, None, Some(_)) => conflict("is edited, and the run has removed it"),
            (_, Some(SourceEntry::Other), _) => conflict("is not a file in the run"),
            (_, Some(SourceEntry::Link(_)), Some(SourceEntry::Link(_))) => {
                conflict("leads elsewhere in the run")
            }
            (_, Some(SourceEntry::Link(_)), _) => conflict("is a link in the run"),
            (_, _, Some(SourceEntry::Link(_))) => {
                conflict("is a link now, and the run has changed it")
            }
            (base, Some(ours), Some(theirs)) => merged(base.as_ref(), ours, theirs),
        }
    }
}

/// The merge of two files that both sides have changed.
fn merged(base: Option<&SourceEntry>, ours: &SourceEntry, theirs: &SourceEntry) -> SourceEdit {
    let file = |entry: Option<&SourceEntry>| match entry {
        Some(SourceEntry::File {
            bytes,
            is_executable,
        }) => (bytes.clone(), Some(*is_executable)),
        Some(SourceEntry::Link(_) | SourceEntry::Other) | None => (Vec::new(), None),
    };
    let (base, base_mode) = file(base);
    let (ours, our_mode) = file(Some(ours));
    let (theirs, their_mode) = file(Some(theirs));
    let bytes = if ours == theirs {
        ours
    } else {
        let merged = merge3(&base, &ours, &theirs, Favor::Ours);
        if !merged.conflicts.is_empty() {
            return SourceEdit::Conflict("is changed in the same lines by the run".to_owned());
        }
        merged.bytes
    };
    if base_mode.is_none() && our_mode != their_mode {
        return SourceEdit::Conflict("is executable on one side alone".to_owned());
    }
    let has_changed = our_mode != base_mode;
    let mode = if has_changed { our_mode } else { their_mode };
    SourceEdit::Write(SourceEntry::File {
        bytes,
        is_executable: mode.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, is_executable: bool) -> SourceEntry {
        SourceEntry::File {
            bytes: text.into(),
            is_executable,
        }
    }

    fn link(target: &str) -> SourceEntry {
        SourceEntry::Link(target.into())
    }

    fn edit(
        base: impl Into<Option<SourceEntry>>,
        ours: impl Into<Option<SourceEntry>>,
        theirs: impl Into<Option<SourceEntry>>,
    ) -> SourceEdit {
        let (base, ours, theirs) = (base.into(), ours.into(), theirs.into());
        SourceSides { base, ours, theirs }.edit()
    }

    #[test]
    fn content_and_mode_are_merged_apart() {
        let base = || file("a\nb\nc\n", false);
        let theirs = file("a\nb\nmine\n", true);
        let both = file("run\nb\nmine\n", true);
        let ours = file("run\nb\nc\n", false);
        assert_eq!(edit(base(), ours, theirs), SourceEdit::Write(both));
        // the run made it executable, and the user edited it
        let ours = file("a\nb\nc\n", true);
        let theirs = file("a\nb\nmine\n", false);
        let both = file("a\nb\nmine\n", true);
        assert_eq!(edit(base(), ours, theirs), SourceEdit::Write(both));
        // the user took the bit away, and the run changed the text
        let (ours, theirs) = (file("run\n", true), file("x\n", false));
        let both = SourceEdit::Write(file("run\n", false));
        assert_eq!(edit(file("x\n", true), ours, theirs), both);
    }

    #[test]
    fn sides_of_other_kinds_are_conflicts() {
        let cases = [
            (
                edit(file("a", false), link("run"), link("mine")),
                "leads elsewhere",
            ),
            (
                edit(file("a", false), link("run"), file("b", false)),
                "is a link in",
            ),
            (
                edit(file("a", false), file("b", false), link("m")),
                "is a link now",
            ),
            (edit(link("a"), None, link("b")), "the run has removed it"),
            (edit(link("a"), link("b"), None), "is removed, and"),
            (
                edit(link("a"), SourceEntry::Other, link("b")),
                "is not a file",
            ),
            (
                edit(None, file("a", true), file("a", false)),
                "is executable on one",
            ),
        ];
        for (edit, reason) in cases {
            let SourceEdit::Conflict(said) = &edit else {
                panic!("{reason}: {edit:?}");
            };
            assert!(said.contains(reason), "{said}");
        }
        let (to_file, to_link) = (file("b", true), link("b"));
        let edited = edit(link("a"), link("a"), to_file.clone());
        assert_eq!(edited, SourceEdit::Write(to_file));
        let edited = edit(file("a", false), file("a", false), to_link.clone());
        assert_eq!(edited, SourceEdit::Write(to_link));
        assert_eq!(edit(link("a"), link("b"), link("b")), SourceEdit::Nothing);
    }
}
