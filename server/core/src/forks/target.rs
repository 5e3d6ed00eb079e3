//! Checks where a tree may be written, before anything is created.

use std::path::{Component, Path, PathBuf};

use crate::engine::Engine;
use crate::error::{Context, Error, Result};
use crate::places::Workspace;
use crate::store::tables::root;

/// A directory that is empty or does not exist yet.
#[derive(Debug)]
pub(super) struct ForkTarget {
    pub path: PathBuf,
    /// The directory, or its outermost parent that must be created, too.
    pub top: PathBuf,
    pub exists: bool,
}

impl ForkTarget {
    /// Finds the target without creating it.
    fn find(into: &Path) -> Result<Self> {
        let full = std::path::absolute(into).at("find", into)?;
        if full.symlink_metadata().is_ok() {
            let path = full.canonicalize().at("open", into)?;
            if !path.is_dir() {
                return Err(Error::refused(
                    format!("{} is not a directory", into.display()),
                    "name an empty or a new directory",
                ));
            }
            if std::fs::read_dir(&path).at("read", into)?.next().is_some() {
                return Err(not_empty(into));
            }
            return Ok(Self {
                top: path.clone(),
                path,
                exists: true,
            });
        }
        let there = full
            .ancestors()
            .find_map(|dir| Some((dir, dir.canonicalize().ok()?)));
        let Some((above, real)) = there else {
            return Err(Error::Usage(format!("{} cannot be found", into.display())));
        };
        let mut path = real.clone();
        for part in full.strip_prefix(above).unwrap_or(&full).components() {
            match part {
                Component::ParentDir => _ = path.pop(),
                part => path.push(part),
            }
        }
        if path.exists() {
            return Self::find(&path);
        }
        let top = path.ancestors().take_while(|dir| !dir.exists()).last();
        Ok(Self {
            top: top.unwrap_or(&path).to_path_buf(),
            path,
            exists: false,
        })
    }
}

pub(super) fn not_empty(into: &Path) -> Error {
    Error::refused(
        format!("{} is not empty", into.display()),
        "name an empty or a new directory",
    )
}

/// Checks that a directory is empty or new, and outside of all directories of this history.
pub(super) fn target(engine: &Engine, into: &Path) -> Result<ForkTarget> {
    let found = ForkTarget::find(into);
    // its path, also if it is not a valid target
    let place = if let Ok(found) = &found {
        found.path.clone()
    } else {
        let full = std::path::absolute(into).at("find", into)?;
        let real = full.ancestors().find_map(|dir| dir.canonicalize().ok());
        real.unwrap_or(full)
    };
    if place.starts_with(&engine.root.path) {
        return Err(inside(into, "the workspace"));
    }
    for (_, root) in root::existing(&engine.store.conn)? {
        if place.starts_with(&root) && place != root {
            return Err(inside(
                into,
                &format!("{}, which was forked", root.display()),
            ));
        }
        if root.starts_with(&place) && place != root {
            return Err(Error::refused(
                format!("{} lies inside {}", root.display(), into.display()),
                "name another directory: each has its own files",
            ));
        }
    }
    found
}

/// Like `target`, for a directory with a history: it may not be in another workspace either.
pub(super) fn target_of_fork(engine: &Engine, into: &Path) -> Result<ForkTarget> {
    let found = target(engine, into)?;
    match Workspace::enclosing(&found.path, &engine.store.dir) {
        Some(other) => Err(inside(
            into,
            &format!("the workspace {}", other.root.display()),
        )),
        None => Ok(found),
    }
}

fn inside(into: &Path, what: &str) -> Error {
    Error::refused(
        format!("{} lies inside {what}", into.display()),
        "name a directory outside of it; otherwise its files become part of that history",
    )
}
