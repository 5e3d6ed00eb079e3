//! Texts in which `line` breakpoints are set, and their lines as they are now.

use std::path::Path;

use backstitch_control::{Breakpoint, Control, RegionState, follow};
use backstitch_core::{Error, Result};

use super::predict::{self, FileNow};

/// Reads a file as it is. None: absent, or no file that has lines.
pub fn read_file(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    Ok(match predict::read_disk(path)? {
        FileNow::File(bytes) => Some(bytes),
        FileNow::Absent | FileNow::TooLarge(_) | FileNow::Link(_) | FileNow::Directory => None,
    })
}

/// Returns the text of a file of the workspace in which a `line` breakpoint is set.
pub fn text_for_lines(root: &Path, path: &str) -> Result<Vec<u8>> {
    let read = read_file(&root.join(path)).map_err(|source| Error::Io {
        what: format!("read {path}"),
        source,
    })?;
    read.ok_or_else(|| Error::NoLines(path.to_owned()))
}

/// Returns the lines of a `line` breakpoint in its file as it is now. None: it is of another kind, or has no text.
pub fn region_now(
    root: &Path,
    control: &Control,
    breakpoint: &Breakpoint,
) -> Result<Option<RegionState>> {
    let Some(set) = breakpoint.spec.lines() else {
        return Ok(None);
    };
    let Some((_, base)) = control.breakpoints().region_base(breakpoint.id)? else {
        return Ok(None);
    };
    let now = read_file(&root.join(set.path)).ok().flatten();
    Ok(Some(follow(&base, set.range, &now.unwrap_or_default())))
}
