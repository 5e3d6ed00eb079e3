//! `hashFiles`: one digest of files, as `@actions/glob` finds and orders them for GitHub's runner.

mod pattern;
mod segment;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use pattern::{PathMatch, Pattern};

/// The option before the first pattern.
const FOLLOW: &str = "--follow-symbolic-links";

/// The SHA-256 of the SHA-256 digests of the files that match, in lower-case hexadecimal; empty if no file does.
///
/// Patterns are relative to the workspace, an absolute path. Each may have several lines. Files outside of the workspace
/// do not count. A first pattern may be the option `--follow-symbolic-links`.
pub fn hash_files(workspace: &Path, patterns: &[String]) -> io::Result<String> {
    let (follow, patterns) = match patterns.split_first() {
        Some((first, rest)) if first.eq_ignore_ascii_case(FOLLOW) => (true, rest),
        Some((first, _)) if first.starts_with("--") => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("Invalid glob option {first}, avaliable option: '{FOLLOW}'."),
            ));
        }
        _ => (false, patterns),
    };
    let lines = patterns.iter().flat_map(|text| text.split('\n'));
    let mut parsed = Vec::new();
    for line in lines.map(str::trim) {
        if !line.is_empty() && !line.starts_with('#') {
            let pattern = Pattern::parse(line, workspace)?;
            let below = pattern.descendants();
            parsed.push(pattern);
            parsed.extend(below);
        }
    }
    let mut walk = Walk {
        workspace,
        patterns: parsed,
        follow,
        digests: Sha256::new(),
        found: false,
    };
    for path in search_paths(&walk.patterns) {
        match fs::symlink_metadata(&path) {
            Ok(_) => walk.search(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(walk.finish())
}

/// Folders to search, without those below others.
fn search_paths(patterns: &[Pattern]) -> Vec<PathBuf> {
    let all: HashSet<&Path> = patterns
        .iter()
        .filter(|pattern| !pattern.is_exclusion)
        .map(|pattern| pattern.search_path.as_path())
        .collect();
    let mut found: Vec<PathBuf> = Vec::new();
    for pattern in patterns.iter().filter(|pattern| !pattern.is_exclusion) {
        let path = &pattern.search_path;
        let is_below = path.ancestors().skip(1).any(|above| all.contains(above));
        if !is_below && !found.contains(path) {
            found.push(path.clone());
        }
    }
    found
}

struct Walk<'a> {
    workspace: &'a Path,
    patterns: Vec<Pattern>,
    follow: bool,
    digests: Sha256,
    found: bool,
}

impl Walk<'_> {
    /// Searches a folder, its entries in the order of their names' bytes.
    fn search(&mut self, start: PathBuf) -> io::Result<()> {
        let mut stack = vec![(start, 1)];
        // real paths of the folders above, to find links to them
        let mut above: Vec<PathBuf> = Vec::new();
        while let Some((path, level)) = stack.pop() {
            // nothing on this path counts
            if !path.starts_with(self.workspace) && !self.workspace.starts_with(&path) {
                continue;
            }
            let matched = self.matches(&path);
            let may_match_below = self.may_match_below(&path);
            if matched == PathMatch::default() && !may_match_below {
                continue;
            }
            let Some(metadata) = self.metadata(&path)? else {
                continue;
            };
            if !metadata.is_dir() {
                if matched.as_file {
                    self.add(&path)?;
                }
                continue;
            }
            if self.follow {
                let real = fs::canonicalize(&path)?;
                above.truncate(level - 1);
                if above.contains(&real) {
                    continue;
                }
                above.push(real);
            }
            if matched.as_folder || may_match_below {
                let mut names = Vec::new();
                for entry in fs::read_dir(&path)? {
                    names.push(entry?.file_name());
                }
                names.sort_unstable();
                let children = names.iter().rev().map(|name| (path.join(name), level + 1));
                stack.extend(children);
            }
        }
        Ok(())
    }

    fn matches(&self, path: &Path) -> PathMatch {
        let mut result = PathMatch::default();
        for pattern in &self.patterns {
            let found = pattern.matches(path);
            if pattern.is_exclusion {
                result.as_folder &= !found.as_folder;
                result.as_file &= !found.as_file;
            } else {
                result.as_folder |= found.as_folder;
                result.as_file |= found.as_file;
            }
        }
        result
    }

    fn may_match_below(&self, path: &Path) -> bool {
        let mut included = self.patterns.iter().filter(|pattern| !pattern.is_exclusion);
        included.any(|pattern| pattern.may_match_below(path))
    }

    /// Metadata; none for a link to nothing, if links are followed.
    fn metadata(&self, path: &Path) -> io::Result<Option<fs::Metadata>> {
        if !self.follow {
            return fs::symlink_metadata(path).map(Some);
        }
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        if path == self.workspace || !path.starts_with(self.workspace) {
            return Ok(());
        }
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Ok(());
        }
        if !metadata.is_file() {
            // reading a pipe would wait for ever
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is not a regular file", path.display()),
            ));
        }
        let mut file = fs::File::open(path)?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = io::Read::read(&mut file, &mut buffer)?;
            if length == 0 {
                break;
            }
            digest.update(&buffer[..length]);
        }
        self.digests.update(digest.finalize());
        self.found = true;
        Ok(())
    }

    fn finish(self) -> String {
        if !self.found {
            return String::new();
        }
        let mut text = String::with_capacity(64);
        for byte in self.digests.finalize() {
            let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
            text.extend([digit(byte >> 4), digit(byte & 15)]);
        }
        text
    }
}
