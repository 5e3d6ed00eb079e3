//! Actions that are built in: those of which a job can have the effect without the network.
//!
//! An action that cannot have its effect fails and says so; it never succeeds without it (J8, J9).

mod artifact;
mod cache;
mod call_file;
mod checkout;
mod copy;
mod inputs;
mod stored_name;
mod target;
mod tools;

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::place::RunPlace;
use crate::place::environment::Host;
use crate::repository::ProjectRepository;
pub use call_file::{CallFile, CallPart, serve};
pub(crate) use copy::Directories;
use inputs::Inputs;

/// One action of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Builtin {
    ActionsRsToolchain,
    Cache,
    CacheRestore,
    CacheSave,
    Checkout,
    DownloadArtifact,
    RustToolchain,
    SetupDotnet,
    SetupGo,
    SetupJava,
    SetupNode,
    SetupPython,
    SetupRuby,
    SetupRustToolchain,
    SetupUv,
    UploadArtifact,
}

/// Names of the actions, in lower case.
const NAMES: [(&str, Builtin); 16] = [
    ("actions-rs/toolchain", Builtin::ActionsRsToolchain),
    (
        "actions-rust-lang/setup-rust-toolchain",
        Builtin::SetupRustToolchain,
    ),
    ("actions/cache", Builtin::Cache),
    ("actions/cache/restore", Builtin::CacheRestore),
    ("actions/cache/save", Builtin::CacheSave),
    ("actions/checkout", Builtin::Checkout),
    ("actions/download-artifact", Builtin::DownloadArtifact),
    ("actions/setup-dotnet", Builtin::SetupDotnet),
    ("actions/setup-go", Builtin::SetupGo),
    ("actions/setup-java", Builtin::SetupJava),
    ("actions/setup-node", Builtin::SetupNode),
    ("actions/setup-python", Builtin::SetupPython),
    ("actions/upload-artifact", Builtin::UploadArtifact),
    ("astral-sh/setup-uv", Builtin::SetupUv),
    ("dtolnay/rust-toolchain", Builtin::RustToolchain),
    ("ruby/setup-ruby", Builtin::SetupRuby),
];

/// Files that a checkout of the user's repository gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckoutMode {
    /// The working tree as it is, with what is not committed.
    #[default]
    Worktree,
    /// The commit alone.
    Head,
}

/// Choices of the user for all steps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BuiltinOptions {
    pub checkout: CheckoutMode,
    /// Directories that stand for other repositories, by `owner/name` or `owner/name@ref`.
    pub repositories: Vec<(String, PathBuf)>,
    /// Directories with artifacts of the jobs that this one needs.
    pub needed_artifacts: Vec<PathBuf>,
    /// The user's environment, for the places of tools.
    pub host: Host,
}

/// One step that uses an action.
pub struct ActionCall<'a> {
    /// The part of `uses` behind `@`.
    pub version: &'a str,
    /// Values of `with`, with names as written.
    pub inputs: &'a [(String, String)],
    pub place: &'a RunPlace,
    pub repository: &'a ProjectRepository,
    /// Environment of the step.
    pub environment: &'a [(String, String)],
    /// Takes a line of output, which may be a workflow command.
    pub print: &'a mut dyn FnMut(&str),
    pub options: &'a BuiltinOptions,
    /// State of the main part, for the post part.
    pub state: &'a [(String, String)],
}

impl std::fmt::Debug for ActionCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // values of inputs may be secrets
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

/// Effects of an action on the steps after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionResult {
    pub outputs: Vec<(String, String)>,
    pub environment: Vec<(String, String)>,
    /// Values for the post part.
    pub state: Vec<(String, String)>,
    /// Directories for the front of PATH: the last one comes first, as in `GITHUB_PATH`.
    pub path: Vec<String>,
    pub has_post: bool,
    /// Directory, relative to the workspace, that has the user's working tree as it is.
    pub working_tree: Option<String>,
}

/// Reason for which an action had no effect: a sentence with the thing, the reason and the next step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum BuiltinError {
    #[error("{0}")]
    Failed(String),
    /// The action cannot be had on this machine: the run decides as for an absent action.
    #[error("absent: {0}")]
    Absent(String),
}

impl From<String> for BuiltinError {
    fn from(reason: String) -> BuiltinError {
        BuiltinError::Failed(reason)
    }
}

/// `1 file` or `3 files`.
fn file_count(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

impl Builtin {
    /// The action with this `owner/name`, or `owner/name/path`.
    pub fn find(name: &str) -> Option<Builtin> {
        let same = |(known, _): &&(&str, Builtin)| known.eq_ignore_ascii_case(name);
        NAMES.iter().find(same).map(|(_, builtin)| *builtin)
    }

    pub fn name(self) -> &'static str {
        let same = |(_, builtin): &&(&str, Builtin)| *builtin == self;
        NAMES.iter().find(same).map_or("", |(name, _)| name)
    }

    /// False if the action sets up a tool of which no version is on this machine.
    pub fn has_tool(self, host: &Host) -> bool {
        tools::has_tool(self, host)
    }

    /// The reason why no fitting version is here of the tool that an action with these inputs sets up. Nothing is set up.
    /// Version files are those of the project.
    pub fn lacks_version(
        self,
        version: &str,
        inputs: &[(String, String)],
        host: &Host,
        repository: &ProjectRepository,
    ) -> Option<String> {
        let place = RunPlace::of_no_run(repository);
        let rustup = host.directory("RUSTUP_HOME", ".rustup");
        let rustup = rustup.map(|dir| ("RUSTUP_HOME".into(), dir.into_os_string()));
        let text = |text: &OsString| text.to_string_lossy().into_owned();
        let variables = rustup.iter().chain(&host.variables);
        let environment: Vec<_> = variables
            .map(|(name, value)| (text(name), text(value)))
            .collect();
        let options = BuiltinOptions {
            host: host.clone(),
            ..BuiltinOptions::default()
        };
        let mut call = ActionCall {
            version,
            inputs,
            place: &place,
            repository,
            environment: &environment,
            print: &mut |_| {},
            options: &options,
            state: &[],
        };
        match tools::check(self, &mut call) {
            Err(BuiltinError::Absent(reason)) => {
                let reason = reason.strip_suffix(tools::NEXT_STEP).unwrap_or(&reason);
                Some(reason.to_owned())
            }
            // a wrong input is the run's matter
            Ok(()) | Err(BuiltinError::Failed(_)) => None,
        }
    }

    /// Runs the main part.
    pub fn run(self, mut call: ActionCall<'_>) -> Result<ActionResult, BuiltinError> {
        match self {
            Builtin::ActionsRsToolchain => tools::actions_rs(&mut call),
            Builtin::RustToolchain => tools::dtolnay(&mut call),
            Builtin::SetupDotnet => tools::dotnet(&mut call),
            Builtin::SetupGo => tools::go(&mut call),
            Builtin::SetupJava => tools::java(&mut call),
            Builtin::SetupNode => tools::node(&mut call),
            Builtin::SetupPython => tools::python(&mut call),
            Builtin::SetupRuby => tools::ruby(&mut call),
            Builtin::SetupRustToolchain => tools::setup_rust_toolchain(&mut call),
            Builtin::SetupUv => tools::uv(&mut call),
            Builtin::Cache => Ok(cache::run(&mut call)?),
            Builtin::CacheRestore => Ok(cache::restore(&mut call)?),
            Builtin::CacheSave => Ok(cache::save(&mut call)?),
            Builtin::Checkout => Ok(checkout::run(&mut call)?),
            Builtin::DownloadArtifact => Ok(artifact::download(&mut call)?),
            Builtin::UploadArtifact => Ok(artifact::upload(&mut call)?),
        }
    }

    /// Removes what a call with these inputs has left that was killed: content without a name yet, and half a tree.
    pub fn clean_up(
        self,
        place: &RunPlace,
        repository: &ProjectRepository,
        inputs: &[(String, String)],
    ) {
        match self {
            Builtin::Cache | Builtin::CacheSave => cache::clean_up(place, repository),
            Builtin::UploadArtifact => artifact::clean_up(place),
            Builtin::Checkout => checkout::clean_up(place, Inputs(inputs)),
            Builtin::ActionsRsToolchain
            | Builtin::CacheRestore
            | Builtin::DownloadArtifact
            | Builtin::RustToolchain
            | Builtin::SetupDotnet
            | Builtin::SetupGo
            | Builtin::SetupJava
            | Builtin::SetupNode
            | Builtin::SetupPython
            | Builtin::SetupRuby
            | Builtin::SetupRustToolchain
            | Builtin::SetupUv => {}
        }
    }

    /// Runs the post part. Only `actions/cache` has one with an effect. That of the checkout would remove a token, and those of the
    /// tools would save caches that are kept anyway.
    pub fn post(self, mut call: ActionCall<'_>) -> Result<ActionResult, BuiltinError> {
        if self == Builtin::Cache {
            Ok(cache::post(&mut call)?)
        } else {
            Ok(ActionResult::default())
        }
    }

    /// The condition of the post part, as `post-if` of the real action.
    pub fn post_condition(self) -> &'static str {
        if self == Builtin::Cache {
            "success()"
        } else {
            "always()"
        }
    }
}

impl<'a> ActionCall<'a> {
    fn given(&self) -> Inputs<'a> {
        Inputs(self.inputs)
    }

    /// The major version of the action; none for a branch or a commit, which is taken for the newest one.
    fn version(&self) -> Option<u32> {
        let number = self.version.strip_prefix('v').unwrap_or(self.version);
        let number = number.split('.').next().unwrap_or(number);
        number.parse().ok().filter(|_| number.len() <= 3)
    }

    fn say(&mut self, line: &str) {
        (self.print)(line);
    }

    /// A variable of the step.
    fn variable(&self, name: &str) -> Option<&str> {
        let named = |(known, _): &&(String, String)| known == name;
        let value = self.environment.iter().rev().find(named);
        value.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod full_disk;
