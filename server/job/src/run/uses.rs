//! The place of an action: the text after `uses`, and the directory or the built-in part that it names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::action::{self, ActionFile};
use crate::builtin::Builtin;
use crate::place::environment::Host;

/// Composite actions within one another, as on GitHub.
pub(super) const MAX_DEPTH: usize = 10;

/// Directories of actions that the user named, and caches of other tools.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ActionSources {
    /// `owner/name@ref` or `owner/name` to a directory, or to none: the step is left out.
    pub named: BTreeMap<String, Option<PathBuf>>,
    /// Directories with actions as GitHub's runner (`owner/name/ref`) or act (`owner-name@ref`) keeps them.
    pub caches: Vec<PathBuf>,
    /// The user's environment, for the tools that built-in actions set up. It is not kept with a run.
    #[serde(skip)]
    pub host: Host,
}

/// The way of a run with actions that are not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MissingActions {
    #[default]
    Fail,
    Skip,
}

/// The text after `uses`, in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsesText {
    /// `./dir`, from the workspace.
    Workspace(PathBuf),
    /// `$/dir`, from the workflow's own repository.
    Own(PathBuf),
    /// `owner/name/path@ref`.
    Remote(RemoteAction),
    /// `docker://image`.
    Docker(String),
    Invalid(String),
}

/// An action of another repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAction {
    /// `owner/name`.
    pub repository: String,
    /// Directory below it; empty for the root.
    pub path: String,
    pub git_ref: String,
}

/// A found action.
#[derive(Clone, Debug)]
pub enum FoundAction {
    Builtin(Builtin),
    Directory(PathBuf),
    /// The user said to leave it out.
    Skipped,
    Absent,
}

impl UsesText {
    pub fn parse(uses: &str) -> UsesText {
        if let Some(image) = uses.strip_prefix("docker://") {
            return UsesText::Docker(image.to_owned());
        }
        if uses.starts_with("./") || uses.starts_with(".\\") {
            return UsesText::Workspace(PathBuf::from(uses[2..].replace('\\', "/")));
        }
        if let Some(path) = uses.strip_prefix("$/") {
            return UsesText::Own(PathBuf::from(path));
        }
        let parts = uses
            .split_once('@')
            .filter(|(_, git_ref)| !git_ref.is_empty());
        let Some((name, git_ref)) = parts else {
            return UsesText::Invalid(uses.to_owned());
        };
        let segments: Vec<&str> = name
            .split(['/', '\\'])
            .filter(|part| !part.is_empty())
            .collect();
        let [owner, repository, path @ ..] = segments.as_slice() else {
            return UsesText::Invalid(uses.to_owned());
        };
        UsesText::Remote(RemoteAction {
            repository: format!("{owner}/{repository}"),
            path: path.join("/"),
            git_ref: git_ref.to_owned(),
        })
    }
}

impl RemoteAction {
    /// `owner/name/path@ref`.
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name(), self.git_ref)
    }

    /// `owner/name/path`.
    pub fn name(&self) -> String {
        if self.path.is_empty() {
            self.repository.clone()
        } else {
            format!("{}/{}", self.repository, self.path)
        }
    }
}

impl ActionSources {
    /// True if the action, or the tool that it sets up, is not on this machine.
    pub fn lacks(&self, action: &RemoteAction) -> bool {
        match self.find(action) {
            FoundAction::Builtin(builtin) => !builtin.has_tool(&self.host),
            FoundAction::Absent => true,
            FoundAction::Directory(_) | FoundAction::Skipped => false,
        }
    }

    /// Looks for an action: the user's word first, then the built-in parts, then caches.
    pub fn find(&self, action: &RemoteAction) -> FoundAction {
        if let Some(named) = self.named_place(action) {
            return named;
        }
        if let Some(builtin) = Builtin::find(&action.name()) {
            return FoundAction::Builtin(builtin);
        }
        let cached = self.caches.iter().flat_map(|cache| {
            let flat = format!(
                "{}@{}",
                action.repository.replace('/', "-"),
                action.git_ref.replace('/', "-")
            );
            [
                cache.join(flat),
                cache.join(&action.repository).join(&action.git_ref),
            ]
        });
        let mut places = cached.map(|place| place.join(&action.path));
        let found = places.find(|place| action_file(place).is_some());
        found.map_or(FoundAction::Absent, FoundAction::Directory)
    }

    /// The user's word about an action: its directory, or that its steps are left out.
    fn named_place(&self, action: &RemoteAction) -> Option<FoundAction> {
        let exact = [action.full_name(), action.name()];
        let place = exact.iter().find_map(|name| self.named.get(name));
        let whole = [
            format!("{}@{}", action.repository, action.git_ref),
            action.repository.clone(),
        ];
        let below = || whole.iter().find_map(|name| self.named.get(name));
        let place = match place {
            Some(place) => place.clone(),
            None => below()?.as_ref().map(|place| place.join(&action.path)),
        };
        Some(place.map_or(FoundAction::Skipped, FoundAction::Directory))
    }
}

/// The metadata file of an action's directory.
pub fn action_file(directory: &Path) -> Option<PathBuf> {
    let files = ["action.yml", "action.yaml"].map(|name| directory.join(name));
    files.into_iter().find(|file| file.is_file())
}

/// Reads the action of a directory. The error is a sentence.
pub fn read_action(directory: &Path) -> Result<ActionFile, String> {
    let Some(file) = action_file(directory) else {
        return Err(format!(
            "Can't find 'action.yml' or 'action.yaml' under '{}'. Did you forget to run actions/checkout before running your local action?",
            directory.display()
        ));
    };
    let text = fs::read_to_string(&file)
        .map_err(|error: io::Error| format!("{} cannot be read: {error}", file.display()))?;
    let (action, problems) = action::read_to_run(&file.to_string_lossy(), &text);
    action.ok_or_else(|| {
        problems
            .first()
            .map(ToString::to_string)
            .unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_read_as_by_the_runner() {
        let remote = |repository: &str, path: &str, git_ref: &str| {
            UsesText::Remote(RemoteAction {
                repository: repository.to_owned(),
                path: path.to_owned(),
                git_ref: git_ref.to_owned(),
            })
        };
        assert_eq!(
            UsesText::parse("actions/cache@v4"),
            remote("actions/cache", "", "v4")
        );
        assert_eq!(UsesText::parse("a/b/c/d@x/y"), remote("a/b", "c/d", "x/y"));
        assert_eq!(UsesText::parse("./x"), UsesText::Workspace("x".into()));
        assert_eq!(UsesText::parse("$/x"), UsesText::Own("x".into()));
        assert_eq!(
            UsesText::parse("docker://a"),
            UsesText::Docker("a".to_owned())
        );
        for invalid in ["a/b", "a@v1", "a/b@"] {
            assert_eq!(
                UsesText::parse(invalid),
                UsesText::Invalid(invalid.to_owned())
            );
        }
    }
}
