//! The run's own `.git`: it shares the objects of the user's repository, and has private refs, settings and a remote.
//!
//! `git clone --shared` would start a server in the user's repository and refuses a shallow one, so the files are made directly.
//! The remote is a bare repository of the run. It has as branches also those that the user only fetched, as GitHub has them.
//! Nothing of a step reaches the user's directory through it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::options::CheckoutOptions;
use super::revision::{Head, Revision};
use crate::place::environment::{git_value, no_push_section};
use crate::place::{RunPlace, WithPath, create_private, remove_tree};
use crate::repository::git::{Git, GitError};
use crate::repository::{GitStorage, ProjectRepository};

/// Makes `.git` of the target, with HEAD, refs and settings, and the repository that its remote leads to.
pub(super) fn create(
    place: &RunPlace,
    source: &ProjectRepository,
    revision: &Revision,
    options: &CheckoutOptions<'_>,
    target: &Path,
) -> Result<(), String> {
    make(place, source, revision, options, target)
        .map_err(|error| format!("the repository of the checkout cannot be made: {error}"))
}

#[derive(Debug, thiserror::Error)]
enum StorageError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Refs of the user's repository by their full names on GitHub.
type Refs = BTreeMap<String, String>;

fn make(
    place: &RunPlace,
    source: &ProjectRepository,
    revision: &Revision,
    options: &CheckoutOptions<'_>,
    target: &Path,
) -> Result<(), StorageError> {
    let known = match &source.git {
        Some(_) => refs(&Git::reading(&source.root), revision)?,
        None => Refs::new(),
    };
    let remote = remote(place, source, &known)?;
    let dir = init(target, source, false)?;
    let mut settings = settings(place, source, &remote);
    if let Some(storage) = &source.git {
        share_objects(storage, &dir)?;
        write_shallow(storage, source, revision, options, &dir)?;
    }
    let mut own = Refs::new();
    for (name, commit) in &known {
        let is_own = match name.strip_prefix("refs/heads/") {
            Some(branch) => options.depth == 0 || revision.head == Head::Branch(branch.to_owned()),
            None => options.has_tags || Some(name.as_str()) == revision.tag().as_deref(),
        };
        if is_own {
            let name = name.replacen("refs/heads/", "refs/remotes/origin/", 1);
            own.insert(name, commit.clone());
        }
    }
    let head = match (&revision.head, &revision.commit) {
        (Head::Branch(branch), commit) => {
            if let Some(commit) = commit {
                own.insert(format!("refs/heads/{branch}"), commit.clone());
                own.insert(format!("refs/remotes/origin/{branch}"), commit.clone());
            }
            let merge = git_value(&format!("refs/heads/{branch}"));
            let section = git_value(branch);
            let _ = writeln!(
                settings,
                "[branch {section}]\n\tremote = origin\n\tmerge = {merge}"
            );
            format!("ref: refs/heads/{branch}\n")
        }
        (_, Some(commit)) => format!("{commit}\n"),
        (_, None) => format!("ref: {}\n", source.git_ref),
    };
    write_refs(&dir, &own)?;
    write(&dir.join("HEAD"), head.as_bytes())?;
    append(&dir.join("config"), &settings)?;
    Ok(())
}

impl Revision {
    fn tag(&self) -> Option<String> {
        match &self.head {
            Head::Tag(tag) => Some(format!("refs/tags/{tag}")),
            Head::Branch(_) | Head::Detached => None,
        }
    }
}

/// Branches and tags as GitHub has them: the user's own, and those of the remote that the user has no branch for.
fn refs(git: &Git, revision: &Revision) -> Result<Refs, GitError> {
    let format = "--format=%(objectname) %(refname)";
    let places = ["refs/remotes/origin", "refs/heads", "refs/tags"];
    let listed = git.bytes(&[&["for-each-ref", format][..], &places].concat())?;
    let mut refs = Refs::new();
    let listed = String::from_utf8_lossy(&listed);
    let named = listed.lines().filter_map(|line| line.split_once(' '));
    // those of the remote first, so that the user's own replace them
    let (remote, own): (Vec<_>, Vec<_>) =
        named.partition(|(_, name)| name.starts_with("refs/remotes/"));
    for (commit, name) in remote.into_iter().chain(own) {
        let name = name.replacen("refs/remotes/origin/", "refs/heads/", 1);
        if name != "refs/heads/HEAD" && !name.contains('\u{fffd}') {
            refs.insert(name, commit.to_owned());
        }
    }
    if let (Head::Branch(branch), Some(commit)) = (&revision.head, &revision.commit) {
        refs.insert(format!("refs/heads/{branch}"), commit.clone());
    }
    Ok(refs)
}

/// Makes an empty repository and returns its `.git`.
fn init(target: &Path, source: &ProjectRepository, is_bare: bool) -> Result<PathBuf, StorageError> {
    let format = source.git.as_ref().map_or("sha1", |git| &git.object_format);
    let mut arguments = vec!["init", "-q", "--template="];
    let format = format!("--object-format={format}");
    // git before 2.29 knows one format and not the option
    if format != "--object-format=sha1" {
        arguments.push(&format);
    }
    if is_bare {
        arguments.push("--bare");
    }
    Git::of_run(target).bytes(&arguments)?;
    let dir = if is_bare {
        target.to_owned()
    } else {
        target.join(".git")
    };
    for part in ["info", "objects/info"] {
        fs::create_dir_all(dir.join(part)).with_path(&dir)?;
    }
    Ok(dir)
}

/// Lets a repository read the objects of another one. A step that writes an object which the user has renews its time there.
fn share_objects(storage: &GitStorage, dir: &Path) -> io::Result<()> {
    let mut line = storage.objects.as_os_str().as_bytes().to_vec();
    if line.contains(&b'\n') {
        let reason =
            "git cannot share objects of a directory with a line end in its name: rename it";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    line.push(b'\n');
    write(&dir.join("objects/info/alternates"), &line)
}

/// Ends the history after `fetch-depth` commits, and where the user's own ends.
fn write_shallow(
    storage: &GitStorage,
    source: &ProjectRepository,
    revision: &Revision,
    options: &CheckoutOptions<'_>,
    dir: &Path,
) -> Result<(), StorageError> {
    let mut ends = match fs::read_to_string(&storage.shallow) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(error)
                .with_path(&storage.shallow)
                .map_err(StorageError::from);
        }
    };
    if let (Some(commit), 1..) = (&revision.commit, options.depth) {
        for end in commits_at_depth(&Git::reading(&source.root), commit, options.depth)? {
            if !ends.lines().any(|known| known == end) {
                ends.push_str(&end);
                ends.push('\n');
            }
        }
    }
    if !ends.is_empty() {
        write(&dir.join("shallow"), ends.as_bytes())?;
    }
    Ok(())
}

/// Commits with parents that are `depth - 1` steps away from a commit, by their shortest way.
fn commits_at_depth(git: &Git, commit: &str, depth: u32) -> Result<Vec<String>, GitError> {
    let mut seen = std::collections::HashSet::from([commit.to_owned()]);
    let mut level = vec![commit.to_owned()];
    for step in 1..=depth {
        let listed = git.fed_bytes(
            &["rev-list", "--no-walk=unsorted", "--parents", "--stdin"],
            (level.join("\n") + "\n").as_bytes(),
        )?;
        let listed = String::from_utf8_lossy(&listed);
        let with_parents = listed.lines().filter_map(|line| line.split_once(' '));
        if step == depth {
            return Ok(with_parents.map(|(commit, _)| commit.to_owned()).collect());
        }
        let parents = with_parents.flat_map(|(_, parents)| parents.split(' '));
        level = parents
            .filter(|parent| seen.insert((*parent).to_owned()))
            .map(str::to_owned)
            .collect();
        if level.is_empty() {
            break;
        }
    }
    Ok(Vec::new())
}

/// Makes the repository that fetches of the checkout reach, and returns its path.
fn remote(
    place: &RunPlace,
    source: &ProjectRepository,
    known: &Refs,
) -> Result<PathBuf, StorageError> {
    let name = source.full_name().replace('/', "-");
    let target = place.files.join("remotes").join(format!("{name}.git"));
    remove_tree(&target)?;
    create_private(&target)?;
    let dir = init(&target, source, true)?;
    if let Some(storage) = &source.git {
        share_objects(storage, &dir)?;
        if storage.shallow.exists() {
            fs::copy(&storage.shallow, dir.join("shallow")).with_path(&storage.shallow)?;
        }
    }
    write_refs(&dir, known)?;
    let head = format!("ref: refs/heads/{}\n", source.default_branch);
    write(&dir.join("HEAD"), head.as_bytes())?;
    // GitHub gives any commit and partial clones
    append(
        &dir.join("config"),
        "[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n",
    )?;
    Ok(target)
}

fn settings(place: &RunPlace, source: &ProjectRepository, remote: &Path) -> String {
    let address = source
        .origin
        .clone()
        .unwrap_or_else(|| format!("{}/{}", source.server_url, source.full_name()));
    let url = git_value(&address);
    let section = git_value(&remote.to_string_lossy());
    // a file that a step back restores has the size and the second it had, but another inode
    let mut text = "[core]\n\tcheckStat = minimal\n[gc]\n\tauto = 0\n".to_owned();
    let _ = write!(
        text,
        "[remote \"origin\"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[url {section}]\n\tinsteadOf = {url}\n"
    );
    text.push_str(&no_push_section(place));
    let _ = writeln!(text, "\tpushInsteadOf = {url}");
    text
}

/// Writes refs in one file.
fn write_refs(dir: &Path, refs: &Refs) -> io::Result<()> {
    let mut text = "# pack-refs with: sorted \n".to_owned();
    for (name, commit) in refs {
        let _ = writeln!(text, "{commit} {name}");
    }
    write(&dir.join("packed-refs"), text.as_bytes())
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(file, bytes).with_path(file)
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    let mut whole = fs::read(file).with_path(file)?;
    whole.extend_from_slice(text.as_bytes());
    write(file, &whole)
}
