//! Read-only access to a git repository: its directory, HEAD and shared directory.

pub(crate) mod backed;
pub(crate) mod objects;
mod reftable;

use std::path::{Path, PathBuf};

use reftable::RefValue;

use crate::model::GitHead;
use crate::system::read_text;

/// Returns the repository directory whose work tree is `root` (`.git`, or the target of a `.git` file).
fn dir(root: &Path) -> Option<PathBuf> {
    let dot = root.join(".git");
    if dot.is_dir() {
        return Some(dot);
    }
    let text = read_text(&dot)?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Returns the directory that linked work trees share.
pub(crate) fn common_dir(root: &Path) -> Option<PathBuf> {
    let dir = dir(root)?;
    match read_text(&dir.join("commondir")) {
        Some(common) => Some(dir.join(common.trim())),
        None => Some(dir),
    }
}

/// Returns HEAD's commit and branch, read from the files: no process is started, no lock is taken.
pub(crate) fn head(root: &Path) -> GitHead {
    let Some(dir) = dir(root) else {
        return GitHead::default();
    };
    let Some(head) = read_text(&dir.join("HEAD")) else {
        return GitHead::default();
    };
    let Some(name) = head.trim().strip_prefix("ref:").map(str::trim) else {
        return GitHead {
            head: Some(head.trim().to_owned()),
            branch: None,
        };
    };
    let common = common_dir(root).unwrap_or_else(|| dir.clone());
    if name == NO_REF {
        return head_of_reftables(&dir, &common);
    }
    let loose = |d: &Path| read_text(&d.join(name)).map(|s| s.trim().to_owned());
    let packed = || {
        let refs = read_text(&common.join("packed-refs"))?;
        let line = refs
            .lines()
            .find(|l| l.strip_suffix(name).is_some_and(|l| l.ends_with(' ')))?;
        line.split(' ').next().map(str::to_owned)
    };
    GitHead {
        head: loose(&dir).or_else(|| loose(&common)).or_else(packed),
        branch: Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
    }
}

/// The ref that HEAD names where refs are not files.
const NO_REF: &str = "refs/heads/.invalid";

/// Returns HEAD of a repository that keeps its refs in tables. A linked work tree has its own tables.
fn head_of_reftables(dir: &Path, common: &Path) -> GitHead {
    let own = dir.join("reftable");
    let value = |name: &str| {
        let shared = common.join("reftable");
        reftable::find(&own, name).or_else(|| reftable::find(&shared, name))
    };
    match value("HEAD") {
        Some(RefValue::Object(id)) => GitHead {
            head: Some(id),
            branch: None,
        },
        Some(RefValue::Symbolic(name)) => GitHead {
            head: match value(&name) {
                Some(RefValue::Object(id)) => Some(id),
                _ => None,
            },
            branch: Some(name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned()),
        },
        None => GitHead::default(),
    }
}
