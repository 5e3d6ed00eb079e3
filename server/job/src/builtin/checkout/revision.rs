//! The commit that a checkout wants, as the user's repository knows it.

use super::super::CheckoutMode;
use crate::repository::ProjectRepository;
use crate::repository::git::Git;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Revision {
    /// None before the first commit.
    pub commit: Option<String>,
    /// The ref as the output `ref` names it: that of the input, else the full name.
    pub git_ref: String,
    pub head: Head,
    /// True if the files are those of the working tree.
    pub is_working_tree: bool,
}

/// HEAD of the run's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    Branch(String),
    Tag(String),
    Detached,
}

impl Revision {
    /// Finds the revision of the input `ref`; an empty one means what the user has checked out.
    pub fn of(
        source: &ProjectRepository,
        wanted: &str,
        mode: CheckoutMode,
    ) -> Result<Revision, String> {
        let has_tree = source.git.as_ref().is_none_or(|git| !git.is_bare);
        let is_tree = has_tree && (mode == CheckoutMode::Worktree || source.sha.is_none());
        let is_current = wanted.is_empty()
            || wanted == source.git_ref
            || source.git_ref.strip_prefix("refs/heads/") == Some(wanted);
        if is_current {
            return Ok(Revision {
                commit: source.sha.clone(),
                git_ref: if wanted.is_empty() {
                    &source.git_ref
                } else {
                    wanted
                }
                .to_owned(),
                head: Head::of(&source.git_ref),
                is_working_tree: is_tree,
            });
        }
        let Some((name, commit)) = find(source, wanted) else {
            return Err(format!(
                "'{wanted}' is neither a branch nor a tag nor a commit of {}: fetch it there, then run the job again",
                source.root.display()
            ));
        };
        Ok(Revision {
            is_working_tree: is_tree && source.sha.as_ref() == Some(&commit),
            commit: Some(commit),
            git_ref: wanted.to_owned(),
            head: name.as_deref().map_or(Head::Detached, Head::of),
        })
    }
}

impl Head {
    fn of(git_ref: &str) -> Head {
        if let Some(branch) = git_ref.strip_prefix("refs/heads/") {
            Head::Branch(branch.to_owned())
        } else if let Some(tag) = git_ref.strip_prefix("refs/tags/") {
            Head::Tag(tag.to_owned())
        } else {
            Head::Detached
        }
    }
}

/// Full name and commit of a ref or a commit: branches before tags, as the action looks for them.
fn find(source: &ProjectRepository, wanted: &str) -> Option<(Option<String>, String)> {
    source.git.as_ref()?;
    let git = Git::reading(&source.root);
    let commit_of = |name: &str| {
        let name = format!("{name}^{{commit}}");
        git.text(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ])
        .ok()
        .and_then(|text| text.lines().last().map(str::to_owned))
    };
    let is_commit =
        matches!(wanted.len(), 40 | 64) && wanted.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit {
        return commit_of(wanted).map(|commit| (None, commit));
    }
    let branch = wanted.strip_prefix("refs/heads/");
    let tag = wanted.strip_prefix("refs/tags/");
    if wanted.starts_with("refs/") && branch.is_none() && tag.is_none() {
        return commit_of(wanted).map(|commit| (None, commit));
    }
    let mut places = Vec::new();
    if tag.is_none() {
        let branch = branch.unwrap_or(wanted);
        let full = format!("refs/heads/{branch}");
        places.push((full.clone(), full.clone()));
        places.push((format!("refs/remotes/origin/{branch}"), full));
    }
    if branch.is_none() {
        let full = format!("refs/tags/{}", tag.unwrap_or(wanted));
        places.push((full.clone(), full));
    }
    places
        .into_iter()
        .find_map(|(place, full)| Some((Some(full), commit_of(&place)?)))
}
