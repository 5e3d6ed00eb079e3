//! Facts of the user's repository, by git commands that only read. It decides nothing about the run.

pub(crate) mod git;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git::{Git, GitError};
use serde::{Deserialize, Serialize};

/// Address that stands for GitHub where the repository has no remote.
const GITHUB: &str = "https://github.com";

/// The repository whose workflow runs, as it was when the run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRepository {
    /// Root of the working tree; the directory itself where there is no git.
    pub root: PathBuf,
    pub owner: String,
    pub name: String,
    /// Address of the remote `origin`, without a user or a password in it.
    pub origin: Option<String>,
    /// Scheme and host of the remote, as for `github.server_url`.
    pub server_url: String,
    /// Commit of HEAD; none before the first commit and without git.
    pub sha: Option<String>,
    /// Full name of the branch or tag that is checked out: `refs/heads/x`, `refs/tags/x`.
    pub git_ref: String,
    pub default_branch: String,
    /// True if tracked files have changes, or files are there that are neither tracked nor ignored.
    pub is_dirty: bool,
    /// Its storage; none for a directory without git.
    pub git: Option<GitStorage>,
}

/// Places and format of a repository's storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitStorage {
    pub git_dir: PathBuf,
    pub objects: PathBuf,
    /// The list of commits without parents in a shallow clone; the file may be missing.
    pub shallow: PathBuf,
    /// `sha1` or `sha256`.
    pub object_format: String,
    pub is_bare: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    #[error("{0} is not a directory: name the directory of a project")]
    NotADirectory(PathBuf),
    #[error("the repository of {dir} cannot be read: {error}")]
    Git { dir: PathBuf, error: GitError },
    #[error("{path} cannot be read: {error}")]
    Io {
        path: PathBuf,
        error: std::io::Error,
    },
}

impl ProjectRepository {
    /// Reads the repository that contains a directory. A directory without git has the user and its own name.
    pub fn of(dir: &Path) -> Result<ProjectRepository, RepositoryError> {
        let io_error = |error| RepositoryError::Io {
            path: dir.to_owned(),
            error,
        };
        let dir = dir.canonicalize().map_err(io_error)?;
        if !dir.is_dir() {
            return Err(RepositoryError::NotADirectory(dir));
        }
        let failed = |error| RepositoryError::Git {
            dir: dir.clone(),
            error,
        };
        let has_git = dir.ancestors().any(|above| above.join(".git").exists());
        if !has_git && !looks_bare(&dir) {
            return Ok(without_git(dir));
        }
        let git = Git::reading(&dir);
        let Some((storage, root)) = storage(&git).map_err(failed)? else {
            return Ok(without_git(dir));
        };
        read(root, storage).map_err(failed)
    }

    /// `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Name of the branch or tag, without `refs/heads/`.
    pub fn ref_name(&self) -> &str {
        let short = |prefix| self.git_ref.strip_prefix(prefix);
        short("refs/heads/")
            .or_else(|| short("refs/tags/"))
            .unwrap_or(&self.git_ref)
    }
}

/// True for a directory that may be a repository without a working tree.
fn looks_bare(dir: &Path) -> bool {
    dir.ancestors()
        .any(|above| above.join("HEAD").is_file() && above.join("objects").is_dir())
}

/// Places of the storage, and the root of the working tree; none if git finds no repository. One command tells all of it.
fn storage(git: &Git) -> Result<Option<(GitStorage, PathBuf)>, GitError> {
    let questions = [
        "rev-parse",
        "--absolute-git-dir",
        "--path-format=absolute",
        "--git-path",
        "objects",
        "--git-path",
        "shallow",
        "--is-inside-work-tree",
        // without a working tree the command fails here, and has told the rest
        "--show-toplevel",
    ];
    let found = git.output(&questions)?;
    let answers: Vec<&[u8]> = found
        .stdout
        .trim_ascii_end()
        .split(|byte| *byte == b'\n')
        .collect();
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let (git_dir, objects, shallow, root) = match answers[..] {
        [git_dir, objects, shallow, b"true", root] => (git_dir, objects, shallow, Some(root)),
        [git_dir, objects, shallow, b"false"] => (git_dir, objects, shallow, None),
        _ if found.status.success() => return one_by_one(git).map(Some),
        _ => {
            let error = GitError::of(&found);
            return if error.is_no_repository() {
                Ok(None)
            } else {
                Err(error)
            };
        }
    };
    let storage = GitStorage {
        git_dir: path(git_dir),
        objects: path(objects),
        shallow: path(shallow),
        object_format: object_format(git),
        is_bare: root.is_none(),
    };
    let root = root.map_or_else(|| storage.git_dir.clone(), path);
    Ok(Some((storage, root)))
}

/// The same by a command each: a path has a line end in it.
fn one_by_one(git: &Git) -> Result<(GitStorage, PathBuf), GitError> {
    let git_path =
        |name: &str| git.path(&["rev-parse", "--path-format=absolute", "--git-path", name]);
    let storage = GitStorage {
        git_dir: git.path(&["rev-parse", "--absolute-git-dir"])?,
        objects: git_path("objects")?,
        shallow: git_path("shallow")?,
        object_format: object_format(git),
        is_bare: git.text(&["rev-parse", "--is-inside-work-tree"])? != "true",
    };
    let root = if storage.is_bare {
        storage.git_dir.clone()
    } else {
        git.path(&["rev-parse", "--show-toplevel"])?
    };
    Ok((storage, root))
}

/// `sha1` or `sha256`; old versions of git know only the first.
fn object_format(git: &Git) -> String {
    git.text(&["rev-parse", "--show-object-format"])
        .unwrap_or_else(|_| "sha1".to_owned())
}

fn read(root: PathBuf, storage: GitStorage) -> Result<ProjectRepository, GitError> {
    let git = Git::reading(&root);
    // the commands ask for different things, and none waits for another
    let (sha, origin, default_branch, head, is_dirty) = std::thread::scope(|scope| {
        let is_dirty = scope.spawn(|| is_dirty(&git, &storage));
        let origin = scope.spawn(|| git.text(&["config", "--get", "remote.origin.url"]).ok());
        let default_branch = scope.spawn(|| default_branch(&git));
        let head = scope.spawn(|| git.text(&["symbolic-ref", "--quiet", "HEAD"]));
        let sha = git.text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        (
            sha.ok(),
            joined(origin),
            joined(default_branch),
            joined(head),
            joined(is_dirty),
        )
    });
    let (origin, is_dirty) = (origin.filter(|url| !url.is_empty()), is_dirty?);
    let address = origin.as_deref().map(Address::of);
    let git_ref = head
        .or_else(|_| detached_ref(&git))
        .unwrap_or_else(|_| format!("refs/heads/{default_branch}"));
    let named = |address: &Address| address.name.clone();
    Ok(ProjectRepository {
        owner: address
            .as_ref()
            .and_then(|address| address.owner.clone())
            .unwrap_or_else(user),
        name: address
            .as_ref()
            .and_then(named)
            .unwrap_or_else(|| folder_name(&root)),
        server_url: address
            .as_ref()
            .and_then(|address| address.server.clone())
            .unwrap_or_else(|| GITHUB.to_owned()),
        origin: address.map(|address| address.plain),
        sha,
        git_ref,
        default_branch,
        is_dirty,
        root,
        git: Some(storage),
    })
}

/// The value of a thread. One that panicked continues its panic here.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// True if tracked files have changes, or files are there that are neither tracked nor ignored.
fn is_dirty(git: &Git, storage: &GitStorage) -> Result<bool, GitError> {
    if storage.is_bare {
        return Ok(false);
    }
    let git = without_local_filters(git.clone())?;
    let changes = git.bytes(&["status", "--porcelain", "-z", "--ignore-submodules=none"])?;
    Ok(!changes.is_empty())
}

/// Commands that start none of the filters that the repository's own settings name: an unpacked archive has a stranger's settings.
fn without_local_filters(git: Git) -> Result<Git, GitError> {
    let pattern = r"^filter\..*\.(clean|smudge|process|required)$";
    let listed = git.output(&["config", "-z", "--show-scope", "--get-regexp", pattern])?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let fields: Vec<&str> = text.split('\0').collect();
    let own = fields
        .chunks_exact(2)
        .filter(|entry| entry[0] == "local" || entry[0] == "worktree");
    let names = own.filter_map(|entry| entry[1].split('\n').next());
    Ok(names.fold(git, |git, name| {
        let value = if name.ends_with(".required") {
            "false"
        } else {
            ""
        };
        git.with("-c").with(format!("{name}={value}"))
    }))
}

fn without_git(root: PathBuf) -> ProjectRepository {
    ProjectRepository {
        owner: user(),
        name: folder_name(&root),
        origin: None,
        server_url: GITHUB.to_owned(),
        sha: None,
        git_ref: "refs/heads/main".to_owned(),
        default_branch: "main".to_owned(),
        is_dirty: false,
        git: None,
        root,
    }
}

/// A tag or branch at a detached HEAD: tags first, as a checkout of one is the usual cause.
fn detached_ref(git: &Git) -> Result<String, GitError> {
    let format = ["for-each-ref", "--points-at=HEAD", "--format=%(refname)"];
    for place in ["refs/tags", "refs/heads"] {
        let names = git.text(&[&format[..], &[place]].concat())?;
        if let Some(name) = names.lines().next() {
            return Ok(name.to_owned());
        }
    }
    let remote = git.text(&[&format[..], &["refs/remotes/origin"]].concat())?;
    let branches = remote
        .lines()
        .filter_map(|name| name.strip_prefix("refs/remotes/origin/"));
    let branch = branches.into_iter().find(|name| *name != "HEAD");
    branch
        .map(|name| format!("refs/heads/{name}"))
        .ok_or(GitError::NoAnswer)
}

fn default_branch(git: &Git) -> String {
    let places = [
        "refs/remotes/origin/HEAD",
        "refs/heads/main",
        "refs/remotes/origin/main",
        "refs/heads/master",
        "refs/remotes/origin/master",
    ];
    let asked = [
        &["for-each-ref", "--format=%(refname) %(symref)"][..],
        &places,
    ]
    .concat();
    let listed = git.text(&asked).unwrap_or_default();
    let refs: Vec<(&str, &str)> = listed
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let of_remote = refs.iter().find(|(name, _)| *name == places[0]);
    if let Some(name) =
        of_remote.and_then(|(_, target)| target.strip_prefix("refs/remotes/origin/"))
    {
        return name.to_owned();
    }
    let is_there = |name: &str| {
        ["refs/heads/", "refs/remotes/origin/"].iter().any(|place| {
            refs.iter()
                .any(|(known, _)| *known == format!("{place}{name}"))
        })
    };
    let usual = ["main", "master"].into_iter().find(|name| is_there(name));
    let current = || {
        git.text(&["symbolic-ref", "--quiet", "--short", "HEAD"])
            .ok()
    };
    usual
        .map(str::to_owned)
        .or_else(current)
        .unwrap_or_else(|| "main".to_owned())
}

fn user() -> String {
    let named = |name: &str| {
        std::env::var_os(name)
            .map(OsString::into_string)
            .and_then(Result::ok)
    };
    let given = ["USER", "LOGNAME"].into_iter().find_map(named);
    given
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "user".to_owned())
}

fn folder_name(root: &Path) -> String {
    let name = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| "root".to_owned());
    name.strip_suffix(".git")
        .filter(|name| !name.is_empty())
        .unwrap_or(&name)
        .to_owned()
}

/// Parts of a remote's address.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    /// The address without a user and a password: either of them may be a token.
    plain: String,
    server: Option<String>,
    owner: Option<String>,
    name: Option<String>,
}

impl Address {
    fn of(url: &str) -> Address {
        let (server, path, plain) = if let Some((scheme, rest)) = url.split_once("://") {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let (user, host) = authority
                .rsplit_once('@')
                .map_or((None, authority), |(user, host)| (Some(user), host));
            // the user of ssh is a login name, and the address is wrong without it
            let login = user
                .filter(|_| scheme.contains("ssh"))
                .and_then(|user| user.split(':').next());
            let login = login.map(|user| format!("{user}@")).unwrap_or_default();
            (
                (scheme != "file").then_some(host),
                path,
                format!("{scheme}://{login}{host}/{path}"),
            )
        } else if let Some((host, path)) = scp_form(url) {
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            (Some(host), path, url.to_owned())
        } else {
            (None, url, url.to_owned())
        };
        let mut parts = path
            .trim_end_matches('/')
            .rsplit('/')
            .filter(|part| !part.is_empty());
        let name = parts
            .next()
            .map(|part| part.strip_suffix(".git").unwrap_or(part).to_owned());
        // a local path has no owner
        let owner = parts.next().filter(|_| server.is_some()).map(str::to_owned);
        let host = server.map(|host| host.split(':').next().unwrap_or(host));
        Address {
            plain,
            server: host
                .filter(|host| !host.is_empty())
                .map(|host| format!("https://{host}")),
            owner,
            name: name.filter(|name| !name.is_empty() && name != "." && name != ".."),
        }
    }
}

/// Host and path of `user@host:path`. A slash before the colon makes it a local path, as for git.
fn scp_form(url: &str) -> Option<(&str, &str)> {
    let (host, path) = url.split_once(':')?;
    (!host.contains('/') && !host.is_empty()).then_some((host, path))
}

#[cfg(test)]
mod tests;
