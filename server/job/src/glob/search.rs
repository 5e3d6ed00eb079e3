//! The search for what patterns match: one walk, its entries in the order of their names' bytes.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::Globs;
use super::pattern::PathMatch;

/// Entries that one search looks at. Links to a whole disk end here.
const MAX_VISITS: usize = 2_000_000;

/// Rules of one search.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SearchRules<'a> {
    pub follow: FollowLinks<'a>,
    /// Names that begin with a dot are left out, with all below them.
    pub excludes_hidden: bool,
    /// Nothing outside of this directory is looked at.
    pub below: Option<&'a Path>,
}

/// Links that a search follows. A link that is not followed is a file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum FollowLinks<'a> {
    #[default]
    None,
    All,
    /// Links to files, and links to directories that lie in one of these.
    Into(&'a [&'a Path]),
}

type Visit<'a> = dyn FnMut(&Path, PathMatch, &Metadata) -> io::Result<()> + 'a;

impl Globs {
    /// Visits what matches, or is on the way to it. Returns links that lead outside and were not followed.
    pub(crate) fn search(
        &self,
        rules: SearchRules<'_>,
        visit: &mut Visit<'_>,
    ) -> io::Result<Vec<PathBuf>> {
        let mut search = Search {
            globs: self,
            rules,
            outside: Vec::new(),
            visits: 0,
        };
        for path in self.search_paths() {
            search.walk(path, visit)?;
        }
        Ok(search.outside)
    }
}

struct Search<'a> {
    globs: &'a Globs,
    rules: SearchRules<'a>,
    outside: Vec<PathBuf>,
    visits: usize,
}

impl Search<'_> {
    fn walk(&mut self, start: PathBuf, visit: &mut Visit<'_>) -> io::Result<()> {
        let mut stack = vec![(start, 0)];
        // real paths of the directories above, to find links to them
        let mut above: Vec<PathBuf> = Vec::new();
        while let Some((path, level)) = stack.pop() {
            self.visits += 1;
            if self.visits > MAX_VISITS {
                return Err(io::Error::other(format!(
                    "more than {MAX_VISITS} files are below the paths"
                )));
            }
            if self.is_left_out(&path) {
                continue;
            }
            let matched = self.globs.matches(&path);
            let leads_to_match = self.globs.may_match_below(&path);
            if matched == PathMatch::default() && !leads_to_match {
                continue;
            }
            let Some(metadata) = self.metadata(&path)? else {
                continue;
            };
            if matched != PathMatch::default() {
                visit(&path, matched, &metadata)?;
            }
            if !metadata.is_dir() || !(matched.as_folder || leads_to_match) {
                continue;
            }
            if !matches!(self.rules.follow, FollowLinks::None) {
                let real = fs::canonicalize(&path).map_err(|error| named(&path, &error))?;
                above.truncate(level);
                if above.contains(&real) {
                    continue;
                }
                if self.leads_outside(&path, &real)? {
                    self.outside.push(path);
                    continue;
                }
                above.push(real);
            }
            let mut names = Vec::new();
            for entry in fs::read_dir(&path).map_err(|error| named(&path, &error))? {
                names.push(entry?.file_name());
            }
            names.sort_unstable();
            let children = names.iter().rev().map(|name| (path.join(name), level + 1));
            stack.extend(children);
        }
        Ok(())
    }

    fn is_left_out(&self, path: &Path) -> bool {
        let name = path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
        let is_hidden = self.rules.excludes_hidden && name.starts_with(b".");
        let is_beside = |dir: &Path| !path.starts_with(dir) && !dir.starts_with(path);
        is_hidden || self.rules.below.is_some_and(is_beside)
    }

    fn leads_outside(&self, path: &Path, real: &Path) -> io::Result<bool> {
        let FollowLinks::Into(inside) = self.rules.follow else {
            return Ok(false);
        };
        let is_link = fs::symlink_metadata(path)?.is_symlink();
        Ok(is_link && !inside.iter().any(|dir| real.starts_with(dir)))
    }

    /// Metadata of an entry; none for one that is not there, and for a link to nothing that would be followed.
    fn metadata(&self, path: &Path) -> io::Result<Option<Metadata>> {
        let found = match self.rules.follow {
            FollowLinks::None => fs::symlink_metadata(path),
            FollowLinks::All | FollowLinks::Into(_) => fs::metadata(path),
        };
        // the package fails at a circle, and below a file
        let is_nothing = |error: &io::Error| {
            matches!(self.rules.follow, FollowLinks::Into(_))
                && (error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
                    || error.kind() == io::ErrorKind::NotADirectory)
        };
        match found {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_nothing(&error) => Ok(None),
            Err(error) => Err(named(path, &error)),
        }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
