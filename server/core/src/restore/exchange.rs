//! One path's exchange: stage the new content beside the target, swap, look at what was displaced. And
//! the names of our own that this needs.

use crate::error::Result;
use crate::model::{Image, RelPath};
use crate::store::Store;
use crate::worktree::disk::{PathHandle, Root};

use super::journal::JournalEntry;

/// A foreign content that turned up under one of our own names gets this name beside the file.
const SAVED: &str = ".backstitch-saved-";

/// How one path's exchange came out.
pub(super) enum ExchangeStep {
    Done,
    /// It was so already, by somebody else's hand unless an earlier run was cut off here.
    Already,
    /// Another writer was there first; nothing was overwritten.
    Surprise(String),
}

/// The name under which a content is still being written.
fn staging(temp: &[u8]) -> Vec<u8> {
    [temp, b"-part"].concat()
}

/// Where a target lies for a moment that cannot be exchanged in one step.
fn aside(temp: &[u8]) -> Vec<u8> {
    [temp, b"-old"].concat()
}

/// One path's way from one image to another.
pub(super) struct Exchange<'a> {
    pub root: &'a Root,
    pub store: &'a Store,
    pub line: &'a JournalEntry,
    pub from: Image,
    pub to: Image,
}

impl Exchange<'_> {
    pub(super) fn run(&self) -> Result<ExchangeStep> {
        let path = &self.line.path;
        self.root.may_change(path)?;
        if let Some((temp, place)) = self.temp()?.zip(self.root.place(path)?) {
            temp.mend(&place, &temp.sibling(&self.aside())?)?;
        }
        // whatever limit there is by now
        let size = |image: &Image| match image {
            Image::File { size, .. } => *size,
            _ => 0,
        };
        let larger = std::cmp::max_by_key(&self.from, &self.to, |image| size(image));
        let was_there = self.root.look_over(path, larger)?;
        // a directory may stand where a file has gone: an earlier run that was cut off has begun to fill it
        if was_there.image == self.to {
            return self.already_there();
        }
        if was_there.image != self.from {
            return Ok(ExchangeStep::Surprise(
                "was changed by someone else meanwhile".into(),
            ));
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
        if !self.to.is_absent() && !self.stage(&temp)? {
            return Ok(ExchangeStep::Surprise(
                "has something unknown beside it, under a name of Backstitch".into(),
            ));
        }
        match (self.from.is_absent(), self.to.is_absent()) {
            (true, true) => Ok(ExchangeStep::Done),
            (true, false) => Ok(if temp.rename_to_free(&place)? {
                ExchangeStep::Done
            } else {
                temp.remove()?;
                ExchangeStep::Surprise("was created by someone else meanwhile".into())
            }),
            (false, true) => {
                if !place.rename_to_free(&temp)? {
                    return Ok(ExchangeStep::Surprise(
                        "was removed by someone else meanwhile".into(),
                    ));
                }
                crate::fault::point("displaced");
                if temp.look()?.image == self.from {
                    return Ok(ExchangeStep::Done);
                }
                temp.rename_to_free(&place)?;
                Ok(ExchangeStep::Surprise(
                    "was changed by someone else meanwhile".into(),
                ))
            }
            (false, false) => {
                match temp.exchange(&place, &temp.sibling(&self.aside())?) {
                    Ok(()) => {}
                    Err(_) if !place.exists() => {
                        temp.remove()?;
                        return Ok(ExchangeStep::Surprise(
                            "was removed by someone else meanwhile".into(),
                        ));
                    }
                    Err(e) => return Err(e),
                }
                crate::fault::point("displaced");
                if temp.look()?.image == self.from {
                    return Ok(ExchangeStep::Done);
                }
                temp.exchange(&place, &temp.sibling(&self.aside())?)?;
                Ok(ExchangeStep::Surprise(
                    "was changed by someone else meanwhile".into(),
                ))
            }
        }
    }

    /// The path is what it is to be, by an earlier run of this. If that run was cut off before it looked
    /// at what it displaced, that is looked at now.
    fn already_there(&self) -> Result<ExchangeStep> {
        let Some(temp) = self.temp()? else {
            return Ok(ExchangeStep::Already);
        };
        let displaced = temp.look()?.image;
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
        Ok(ExchangeStep::Surprise(
            "was changed by someone else meanwhile".into(),
        ))
    }

    /// Our name for it, if the directory for that is there.
    fn temp(&self) -> Result<Option<PathHandle<'_>>> {
        match &self.line.temp {
            Some(temp) => self.root.place(temp),
            None => Ok(None),
        }
    }

    /// The name that an exchange in steps needs beside it.
    fn aside(&self) -> Vec<u8> {
        aside(self.line.temp.as_ref().map_or(&b""[..], |t| t.split().1))
    }

    /// Puts the new content beside the target, whole or not at all under its name. `false`: something else
    /// has that name.
    fn stage(&self, temp: &PathHandle<'_>) -> Result<bool> {
        let there = temp.look()?.image;
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
        part.create(&self.to, &|take| match &content {
            Some(content) => self.store.read(content, take),
            None => Ok(()),
        })?;
        crate::fault::point("staged");
        part.rename_to_free(temp)
    }
}

/// Removes our names beside a path. What another writer left under them was saved as the paths returned.
pub(super) fn remove_temps(root: &Root, line: &JournalEntry, expected: Image) -> Vec<RelPath> {
    let temp = line.temp.as_ref();
    let aside = temp.and_then(|t| t.sibling(&aside(t.split().1)));
    [temp.cloned(), aside]
        .into_iter()
        .flatten()
        .filter_map(|own| remove_temp(root, line, &own, expected))
        .collect()
}

/// Removes what lies under our name, unless it is a content that nobody has recorded: that one is
/// given a name that shows, which is returned.
fn remove_temp(
    root: &Root,
    line: &JournalEntry,
    path: &RelPath,
    expected: Image,
) -> Option<RelPath> {
    let gone = || -> Result<Option<RelPath>> {
        let Some(temp) = root.place(path)? else {
            return Ok(None);
        };
        let (_, own) = path.split();
        temp.sibling(&staging(own))?.remove()?;
        let image = temp.look()?.image;
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
    // what cannot be removed stays hidden and harmless
    gone().ok().flatten()
}
