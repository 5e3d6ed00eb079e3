//! Actions that set a tool up: a check that a fitting version is here, with the outputs and variables of the real action.
//!
//! Nothing is installed. Without a fitting version the action is absent, and the sentence says what was wanted and what is here.

mod dotnet;
mod go;
mod installed;
mod java;
mod node;
mod python;
mod ruby;
mod rust;
mod uv;
mod version;
mod wanted;

pub(super) use dotnet::run as dotnet;
pub(super) use go::run as go;
pub(super) use java::run as java;
pub(super) use node::run as node;
pub(super) use python::run as python;
pub(super) use ruby::run as ruby;
pub(super) use rust::{actions_rs, dtolnay, setup_rust_toolchain};
pub(super) use uv::run as uv;

use std::collections::HashSet;
use std::path::Path;

use super::{ActionCall, ActionResult, Builtin, BuiltinError};
use crate::place::environment::Host;
use installed::{InstalledTool, Tool, choose};
use version::{ToolVersion, VersionRange};

/// False if no version is here of the tool that an action sets up.
pub(super) fn has_tool(builtin: Builtin, host: &Host) -> bool {
    let tool = match builtin {
        Builtin::ActionsRsToolchain | Builtin::RustToolchain | Builtin::SetupRustToolchain => {
            &rust::RUST
        }
        Builtin::SetupDotnet => &dotnet::DOTNET,
        Builtin::SetupGo => &go::GO,
        Builtin::SetupJava => &java::JAVA,
        Builtin::SetupNode => &node::NODE,
        Builtin::SetupPython => &python::PYTHON,
        Builtin::SetupRuby => &ruby::RUBY,
        Builtin::SetupUv => &uv::UV,
        Builtin::Cache
        | Builtin::CacheRestore
        | Builtin::CacheSave
        | Builtin::Checkout
        | Builtin::DownloadArtifact
        | Builtin::UploadArtifact => return true,
    };
    installed::is_here(host, tool)
}

/// Finds each version that an action with these inputs wants of its tool. Nothing is set up.
pub(super) fn check(builtin: Builtin, call: &mut ActionCall<'_>) -> Result<(), BuiltinError> {
    match builtin {
        Builtin::ActionsRsToolchain | Builtin::RustToolchain | Builtin::SetupRustToolchain => {
            rust::check(builtin, call)
        }
        Builtin::SetupDotnet => dotnet::find(call).map(drop),
        Builtin::SetupGo => go::find(call).map(drop),
        Builtin::SetupJava => java::find_all(call),
        Builtin::SetupNode => node::find(call).map(drop),
        Builtin::SetupPython => python::find_all(call),
        Builtin::SetupRuby => ruby::find(call).map(drop),
        Builtin::SetupUv => uv::find(call).map(drop),
        Builtin::Cache
        | Builtin::CacheRestore
        | Builtin::CacheSave
        | Builtin::Checkout
        | Builtin::DownloadArtifact
        | Builtin::UploadArtifact => Ok(()),
    }
}

/// The next step of an action whose tool is absent.
pub(super) const NEXT_STEP: &str = ", and nothing is installed: install it, then run the job again";

/// Finds the tool for a range, or says that it is absent.
fn require(
    call: &mut ActionCall<'_>,
    tool: &Tool,
    range: &VersionRange,
) -> Result<InstalledTool, BuiltinError> {
    let found =
        choose(call, tool, range).map_err(|others| absent(tool, &range.to_string(), &others))?;
    let used = format!("{} {}", tool.name, found.version);
    say_used(call, &used, &range.to_string(), Some(&found.program));
    Ok(found)
}

/// Says that a tool of this machine is used, and for which wish; an empty one leaves the choice to the machine.
fn say_used(call: &mut ActionCall<'_>, tool: &str, wanted: &str, program: Option<&Path>) {
    let reason = match wanted {
        "" => String::new(),
        wanted => format!(", for '{wanted}'"),
    };
    let place = program.map_or(String::new(), |program| format!(": {}", program.display()));
    call.say(&format!(
        "::notice::{tool} is used as it is on this machine{reason}{place}"
    ));
}

/// The range of a text, or absent for a text that names something else, such as another implementation.
fn range_of(tool: &Tool, text: &str) -> Result<VersionRange, BuiltinError> {
    VersionRange::parse(text).ok_or_else(|| absent(tool, text, &[]))
}

fn absent(tool: &Tool, wanted: &str, others: &[ToolVersion]) -> BuiltinError {
    let mut others: Vec<String> = others.iter().map(ToString::to_string).collect();
    // two names of one version, such as a channel and its number
    let mut seen = HashSet::new();
    others.retain(|version| seen.insert(version.clone()));
    let here = if others.is_empty() {
        String::new()
    } else {
        format!(" (here: {})", others.join(", "))
    };
    BuiltinError::Absent(format!(
        "{} {wanted} is not on this machine{here}{NEXT_STEP}",
        tool.name
    ))
}

/// An input whose effect needs the network.
fn without_network(action: &str, input: &str, instead: &str) -> BuiltinError {
    BuiltinError::Absent(format!(
        "the input {input} of {action} would download packages, and a built-in action downloads nothing: {instead}"
    ))
}

/// A note for `cache:`: package managers have their caches beside the runs.
fn note_cache(call: &mut ActionCall<'_>) {
    if !matches!(call.given().text("cache"), "" | "false") {
        call.say(
            "Caches of package managers are kept between runs; the input cache has nothing to do.",
        );
    }
}

fn outputs<const N: usize>(pairs: [(&str, String); N]) -> ActionResult {
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
    ActionResult {
        outputs: pairs.to_vec(),
        ..ActionResult::default()
    }
}

#[cfg(test)]
mod tests;
