//! `hashFiles`: one digest of files, as `@actions/glob` finds and orders them for GitHub's runner.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::digest::hexadecimal;
use crate::glob::{FollowLinks, Globs, SearchRules};

/// The option before the first pattern.
const FOLLOW: &str = "--follow-symbolic-links";

/// The SHA-256 of the SHA-256 digests of the files that match, in lower-case hexadecimal; empty if no file does.
///
/// Patterns are relative to the workspace, an absolute path. Each may have several lines. Files outside of the workspace
/// do not count. A first pattern may be the option `--follow-symbolic-links`.
pub fn hash_files(workspace: &Path, home: &Path, patterns: &[String]) -> io::Result<String> {
    let (follow, patterns) = match patterns.split_first() {
        Some((first, rest)) if first.eq_ignore_ascii_case(FOLLOW) => (FollowLinks::All, rest),
        Some((first, _)) if first.starts_with("--") => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("Invalid glob option {first}, avaliable option: '{FOLLOW}'."),
            ));
        }
        _ => (FollowLinks::None, patterns),
    };
    let globs = Globs::parse(&patterns.join("\n"), workspace, home, true)?;
    let rules = SearchRules {
        follow,
        below: Some(workspace),
        ..SearchRules::default()
    };
    let mut digests = Sha256::new();
    let mut is_found = false;
    globs.search(rules, &mut |path, matched, metadata| {
        let is_file = matched.as_file && !metadata.is_dir();
        if is_file && path != workspace && path.starts_with(workspace) {
            is_found |= add(&mut digests, path)?;
        }
        Ok(())
    })?;
    if !is_found {
        return Ok(String::new());
    }
    Ok(hexadecimal(&digests.finalize()))
}

/// Adds the digest of a file; false for a link to a directory.
fn add(digests: &mut Sha256, path: &Path) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Ok(false);
    }
    if !metadata.is_file() {
        // reading a pipe would wait for ever
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is not a regular file", path.display()),
        ));
    }
    let mut digest = Sha256::new();
    let mut file = fs::File::open(path)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        digest.update(&buffer[..length]);
    }
    digests.update(digest.finalize());
    Ok(true)
}
