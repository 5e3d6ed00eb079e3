//! Exchange of one path: stage the new content beside the target, swap, verify what was displaced. Also owns the
//! temporary names that this needs.

use std::cell::RefCell;

use crate::error::Result;
use crate::model::{Image, RelPath};
use crate::store::Store;
use crate::worktree::disk::{PathHandle, Root};

use super::journal::JournalEntry;

/// Suffix of the name, beside the file, for another process's content found under a temporary name.
const SAVED: &str = ".backstitch-saved-";

/// Result of one path's exchange.
pub(super) enum ExchangeStep {
    Done,
    /// The path already had the new image: made by another process, or by an earlier run that was interrupted here.
    Already,
    /// Another process wrote first. Nothing was overwritten.
    Surprise(String),
}

fn surprise(why: &str) -> ExchangeStep {
    ExchangeStep::Surprise(why.to_owned())
}

/// Gives the staged file its name, if that is free.
fn create(temp: &PathHandle<'_>, place: &PathHandle<'_>) -> Result<ExchangeStep> {
    if temp.rename_to_free(place)? {
        return Ok(ExchangeStep::Done);
    }
    temp.remove()?;
    Ok(surprise("was created by another process"))
}

/// Name of a staged file while it is being written.
fn staging(temp: &[u8]) -> Vec<u8> {
    [temp, b"-part"].concat()
}

/// Temporary name of a target on file systems that cannot exchange two names in one step.
fn aside(temp: &[u8]) -> Vec<u8> {
    [temp, b"-old"].concat()
}

/// Exchange of one path's image for another.
pub(super) struct Exchange<'a> {
    pub root: &'a Root,
    pub store: &'a Store,
    pub line: &'a JournalEntry,
    pub from: Image,
    pub to: Image,
    /// Owner and attributes that the file could not be given.
    pub lost: RefCell<Vec<String>>,
}

impl Exchange<'_> {
    pub(super) fn run(&self) -> Result<ExchangeStep> {
        let path = &self.line.path;
        self.root.may_change(path)?;
        // an earlier run that was killed may have put a file in the place of the directory above
        if self.to.is_absent() && self.root.is_below_file(path) {
            return Ok(ExchangeStep::Done);
        }
        if let Some((temp, place)) = self.temp()?.zip(self.root.place(path)?) {
            temp.mend(&place, &temp.sibling(&self.aside())?)?;
        }
        let was_there = self.root.reread_entry(path, self.larger())?;
        // a directory may stand where a file has gone: an earlier run that was cut off has begun to fill it
        if was_there.image == self.to {
            return self.already_there();
        }
        if was_there.image != self.from {
            return Ok(surprise("was changed by another process"));
        }
        if !self.to.is_absent() {
            self.root.make_parents(path)?;
        }
        let Some(place) = self.root.place(path)? else {
            return Ok(ExchangeStep::Done);
        };
        let Some(temp) = self.temp()? else {
            return Ok(ExchangeStep::Done);
        };
        if was_there.is_dir {
            // only what is empty by now is in the way: whatever held something was a conflict
            place.remove_empty();
        }
        if !self.to.is_absent() && !self.stage(&temp, &place)? {
            return Ok(surprise(
                "has an unknown file beside it, under a temporary name of Backstitch",
            ));
        }
        match (self.from.is_absent(), self.to.is_absent()) {
            (true, true) => Ok(ExchangeStep::Done),
            (true, false) => create(&temp, &place),
            (false, true) => self.remove(&temp, &place),
            (false, false) => self.replace(&temp, &place),
        }
    }

    /// The larger one of both images: the content is read whatever the size limit is now.
    fn larger(&self) -> &Image {
        let size = |image: &Image| match image {
            Image::File { size, .. } => *size,
            _ => 0,
        };
        std::cmp::max_by_key(&self.from, &self.to, |image| size(image))
    }

    /// Moves the file to its temporary name, and back if it is not the expected one.
    fn remove(&self, temp: &PathHandle<'_>, place: &PathHandle<'_>) -> Result<ExchangeStep> {
        if !place.rename_to_free(temp)? {
            return Ok(surprise("was removed by another process"));
        }
        crate::fault::point("displaced");
        if temp.read_entry()?.image == self.from {
            return Ok(ExchangeStep::Done);
        }
        temp.rename_to_free(place)?;
        Ok(surprise("was changed by another process"))
    }

    /// Swaps the file with the staged one, and swaps back if it is not the expected one.
    fn replace(&self, temp: &PathHandle<'_>, place: &PathHandle<'_>) -> Result<ExchangeStep> {
        match temp.exchange(place, &temp.sibling(&self.aside())?) {
            Ok(()) => {}
            Err(_) if !place.exists() => {
                temp.remove()?;
                return Ok(surprise("was removed by another process"));
            }
            Err(e) => return Err(e),
        }
        crate::fault::point("displaced");
        if temp.read_entry()?.image == self.from {
            return Ok(ExchangeStep::Done);
        }
        temp.exchange(place, &temp.sibling(&self.aside())?)?;
        Ok(surprise("was changed by another process"))
    }

    /// Handles a path that already has the new image. If an earlier run was interrupted before it verified what
    /// it displaced, verifies that now.
    fn already_there(&self) -> Result<ExchangeStep> {
        let Some(temp) = self.temp()? else {
            return Ok(ExchangeStep::Already);
        };
        let displaced = temp.read_entry()?.image;
        if displaced.is_absent() {
            return Ok(ExchangeStep::Already);
        }
        if displaced == self.from || displaced == self.to {
            return Ok(ExchangeStep::Done);
        }
        let Some(place) = self.root.place(&self.line.path)? else {
            return Ok(ExchangeStep::Done);
        };
        if self.to.is_absent() {
            temp.rename_to_free(&place)?;
        } else {
            temp.exchange(&place, &temp.sibling(&self.aside())?)?;
        }
        Ok(surprise("was changed by another process"))
    }

    /// Returns the temporary path, if its directory exists.
    fn temp(&self) -> Result<Option<PathHandle<'_>>> {
        match &self.line.temp {
            Some(temp) => self.root.place(temp),
            None => Ok(None),
        }
    }

    /// Returns the second temporary name, for an exchange in several steps.
    fn aside(&self) -> Vec<u8> {
        aside(self.line.temp.as_ref().map_or(&b""[..], |t| t.split().1))
    }

    /// Writes the new content beside the target, with the owner and the attributes of the file there. It gets the temporary
    /// name only once it is complete. Returns `false` if another file has that name.
    fn stage(&self, temp: &PathHandle<'_>, place: &PathHandle<'_>) -> Result<bool> {
        let there = temp.read_entry()?.image;
        if there == self.to {
            return Ok(true);
        }
        if !there.is_absent() {
            return Ok(false);
        }
        let own = self.line.temp.as_ref().map_or(&b""[..], |t| t.split().1);
        let staging = staging(own);
        let part = temp.sibling(&staging)?;
        part.remove()?;
        let content = self.to.content();
        let replaced = Some(place).filter(|_| !self.from.is_absent());
        let lost = part.create(
            &self.to,
            &|take| match &content {
                Some(content) => self.store.read(content, take),
                None => Ok(()),
            },
            replaced,
        )?;
        self.lost.borrow_mut().extend(lost);
        crate::fault::point("staged");
        part.rename_to_free(temp)
    }
}

/// Removes the temporary names beside a path. Returns the paths where another process's content was saved.
pub(super) fn remove_temps(root: &Root, line: &JournalEntry, expected: Image) -> Vec<RelPath> {
    let temp = line.temp.as_ref();
    let aside = temp.and_then(|t| t.sibling(&aside(t.split().1)));
    [temp.cloned(), aside]
        .into_iter()
        .flatten()
        .filter_map(|own| remove_temp(root, line, &own, expected))
        .collect()
}

/// Removes the file under a temporary name. A content that is not recorded is renamed to a visible name
/// instead, which is returned.
fn remove_temp(
    root: &Root,
    line: &JournalEntry,
    path: &RelPath,
    expected: Image,
) -> Option<RelPath> {
    let remove = || -> Result<Option<RelPath>> {
        let Some(temp) = root.place(path)? else {
            return Ok(None);
        };
        let (_, own) = path.split();
        temp.sibling(&staging(own))?.remove()?;
        let image = temp.read_entry()?.image;
        if image == expected || image == line.before || image == line.after {
            return temp.remove().map(|()| None);
        }
        if !image.is_absent() {
            let (_, name) = line.path.split();
            let number = own
                .get(crate::worktree::disk::TEMP_PREFIX.len()..)
                .unwrap_or(own);
            let saved = [name, SAVED.as_bytes(), number].concat();
            if temp.rename_to_free(&temp.sibling(&saved)?)? {
                return Ok(path.sibling(&saved));
            }
        }
        Ok(None)
    };
    // a file that cannot be removed stays hidden and does no harm
    remove().ok().flatten()
}
