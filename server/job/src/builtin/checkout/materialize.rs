//! A repository with its files in a directory of the run, and those of its submodules. All of it is local: nothing is fetched.

use std::path::Path;

use super::super::copy::{Directories, path_of};
use super::super::{ActionCall, CheckoutMode};
use super::options::{CheckoutOptions, Sparse, Submodules, cannot_write};
use super::revision::{Head, Revision};
use super::storage;
use super::tree::{self, Changes};
use crate::place::{empty_tree, remove_tree};
use crate::repository::ProjectRepository;
use crate::repository::git::Git;

/// Puts a repository and its files into the directory.
pub(super) fn materialize(
    call: &mut ActionCall<'_>,
    source: &ProjectRepository,
    revision: &Revision,
    options: &CheckoutOptions<'_>,
    target: &Path,
) -> Result<Changes, String> {
    let failed = |error| cannot_write(&error);
    // as on GitHub, files that are not of a repository go, whatever the input says
    if options.clean || !target.join(".git").exists() {
        empty_tree(target).map_err(failed)?;
    } else {
        // settings and hooks that a step made would have a say in the commands below
        remove_tree(&target.join(".git")).map_err(failed)?;
    }
    storage::create(call.place, source, revision, options, target)?;
    let git = Git::of_run(target);
    let said = |error| format!("the checkout of {} failed: {error}", source.root.display());
    if let Some(commit) = &revision.commit {
        git.bytes(&["read-tree", commit]).map_err(said)?;
        if !options.sparse.patterns.is_empty() {
            let cone = if options.sparse.is_cone {
                "--cone"
            } else {
                "--no-cone"
            };
            let patterns = options.sparse.patterns.join("\n");
            git.fed_bytes(
                &["sparse-checkout", "set", cone, "--stdin"],
                patterns.as_bytes(),
            )
            .map_err(said)?;
        }
    }
    let mut changes = Changes::default();
    if revision.is_working_tree {
        changes = tree::copy_working_tree(call.place, source, &git, options, target)?;
    } else if revision.commit.is_some() {
        git.bytes(&["reset", "-q", "--hard"]).map_err(said)?;
    }
    if options.submodules != Submodules::None {
        checkout_submodules(call, source, revision, options, target)?;
    }
    if options.lfs {
        tree::check_lfs(&git, target)?;
    }
    if revision.is_working_tree {
        tree::count_changes(&git, &mut changes).map_err(said)?;
    }
    for line in std::mem::take(&mut changes.notes) {
        call.say(&line);
    }
    Ok(changes)
}

/// Submodules within submodules that are followed.
const MAX_DEPTH: usize = 16;

fn checkout_submodules(
    call: &mut ActionCall<'_>,
    source: &ProjectRepository,
    revision: &Revision,
    options: &CheckoutOptions<'_>,
    target: &Path,
) -> Result<(), String> {
    let depth = target
        .strip_prefix(&call.place.workspace)
        .map_or(0, |below| below.components().count());
    if depth > MAX_DEPTH * 8 {
        return Err(format!(
            "submodules below {} are nested too deep",
            target.display()
        ));
    }
    let listed = Git::of_run(target)
        .bytes(&["ls-files", "-z", "-s"])
        .map_err(|error| {
            format!(
                "the submodules of {} cannot be read: {error}",
                source.root.display()
            )
        })?;
    let inner = CheckoutOptions {
        submodules: match options.submodules {
            Submodules::Recursive => Submodules::Recursive,
            Submodules::Direct | Submodules::None => Submodules::None,
        },
        sparse: Sparse::default(),
        clean: true,
        ..*options
    };
    let mut sources = Directories::below(&source.root);
    let mut targets = Directories::below(target);
    for entry in listed.split(|byte| *byte == 0) {
        let Some(path) = submodule(entry) else {
            continue;
        };
        let commit = String::from_utf8_lossy(&entry[7..])
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned();
        let missing = || {
            format!(
                "the submodule {} is not here, and nothing is downloaded: run `git submodule update --init` in {}",
                path.display(),
                source.root.display()
            )
        };
        let dir = source.root.join(path);
        if !sources.are_real(path) || !dir.join(".git").exists() {
            return Err(missing());
        }
        let module = ProjectRepository::of(&dir).map_err(|error| error.to_string())?;
        let is_tree = revision.is_working_tree && options.mode == CheckoutMode::Worktree;
        let inner_revision = if is_tree {
            Revision {
                head: Head::Detached,
                ..Revision::of(&module, "", options.mode)?
            }
        } else {
            Revision {
                head: Head::Detached,
                ..Revision::of(&module, &commit, CheckoutMode::Head).map_err(|_| missing())?
            }
        };
        targets.make(path).map_err(|error| cannot_write(&error))?;
        materialize(call, &module, &inner_revision, &inner, &target.join(path))?;
    }
    Ok(())
}

/// Path of an entry `160000 COMMIT STAGE<tab>PATH`.
fn submodule(entry: &[u8]) -> Option<&Path> {
    let rest = entry.strip_prefix(b"160000 ")?;
    let tab = rest.iter().position(|byte| *byte == b'\t')?;
    Some(path_of(&rest[tab + 1..]))
}
