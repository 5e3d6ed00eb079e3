//! Tools that are on this machine: on the PATH of the step, and in the directories of the usual version managers.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::super::ActionCall;
use super::version::{ToolVersion, VersionRange};
use crate::place::environment::Host;
use crate::place::{corepack_script, create_private, write_program};
use crate::program;
use crate::step::shell::find_program;

/// Time in which a program has to say its version.
const TIMEOUT: Duration = Duration::from_secs(20);

/// One kind of tool.
#[derive(Debug)]
pub(super) struct Tool {
    /// Its name in sentences.
    pub name: &'static str,
    /// The program that tells the version.
    pub program: &'static str,
    pub arguments: &'static [&'static str],
    /// Programs that belong to it, for the front of PATH.
    pub programs: &'static [&'static str],
    /// Directories of version managers: a variable of the user, the usual place below the home, and the path to the versions.
    pub managers: &'static [(&'static str, &'static str, &'static str)],
    /// Directories of the system with versions.
    pub system: &'static [&'static str],
}

/// A tool that was started and has told its version.
#[derive(Clone, Debug)]
pub(super) struct InstalledTool {
    pub program: PathBuf,
    pub version: ToolVersion,
    /// True if the step finds it first on its PATH.
    pub is_first: bool,
}

/// The tool for a range: the one on PATH if it fits, else the newest one. The error has the versions that are there.
pub(super) fn choose(
    call: &ActionCall<'_>,
    tool: &Tool,
    range: &VersionRange,
) -> Result<InstalledTool, Vec<ToolVersion>> {
    let mut others: Vec<ToolVersion> = Vec::new();
    let mut best: Option<InstalledTool> = None;
    for found in candidates(call, tool) {
        let Some(version) = version_of(call, tool, &found.program) else {
            continue;
        };
        if !range.contains(&version) {
            others.push(version);
            continue;
        }
        let found = InstalledTool { version, ..found };
        if found.is_first {
            return Ok(found);
        }
        if best
            .as_ref()
            .is_none_or(|best| found.version.is_newer_than(&best.version))
        {
            best = Some(found);
        }
    }
    others.sort();
    others.dedup();
    best.ok_or(others)
}

/// Programs by their places, each file once.
fn candidates(call: &ActionCall<'_>, tool: &Tool) -> Vec<InstalledTool> {
    let path = call.variable("PATH").unwrap_or_default();
    let on_path = path
        .split(':')
        .filter(|dir| dir.starts_with('/'))
        .map(PathBuf::from);
    let mut dirs: Vec<(PathBuf, bool)> = on_path.map(|dir| (dir, true)).collect();
    let managed = managed(&call.options.host, tool);
    dirs.extend(managed.into_iter().map(|dir| (dir, false)));
    let mut seen = HashSet::new();
    let mut all: Vec<InstalledTool> = Vec::new();
    for (dir, is_on_path) in dirs {
        // a shim chooses by files of the workspace
        if dir.ends_with("shims") && !dir.starts_with(&call.place.dir) {
            continue;
        }
        let Some(program) = find_program(tool.program, &dir.to_string_lossy(), Path::new("/"))
        else {
            continue;
        };
        let Ok(real) = program.canonicalize() else {
            continue;
        };
        // a virtual environment is another tool than the program that it leads to
        let key = if program.starts_with(&call.place.files) {
            program.clone()
        } else {
            real
        };
        if seen.insert(key) {
            all.push(InstalledTool {
                is_first: is_on_path && all.is_empty(),
                program,
                version: ToolVersion {
                    numbers: [0; 3],
                    before_release: None,
                },
            });
        }
    }
    all
}

/// Directories with the tool's programs in version managers and tool caches.
/// True if any version is on the PATH of the user, or in a directory of a version manager.
pub(super) fn is_here(host: &Host, tool: &Tool) -> bool {
    let on_path = host.path().into_iter().map(PathBuf::from);
    on_path
        .chain(managed(host, tool))
        .any(|dir| find_program(tool.program, &dir.to_string_lossy(), Path::new("/")).is_some())
}

fn managed(host: &Host, tool: &Tool) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = tool.system.iter().map(PathBuf::from).collect();
    for (variable, below_home, to_versions) in tool.managers {
        roots.extend(
            host.directory(variable, below_home)
                .map(|dir| dir.join(to_versions)),
        );
    }
    let mut dirs = Vec::new();
    for root in roots {
        let Ok(entries) = fs::read_dir(&root) else {
            continue;
        };
        let mut versions: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        versions.sort();
        for version in versions {
            let inner =
                ["bin", "x64/bin", "arm64/bin", "installation/bin"].map(|bin| version.join(bin));
            dirs.extend(inner.into_iter().filter(|bin| bin.is_dir()));
        }
    }
    dirs
}

fn version_of(call: &ActionCall<'_>, tool: &Tool, file: &Path) -> Option<ToolVersion> {
    let answer = answer(call, file, tool.arguments)?;
    let version = ToolVersion::find(&answer)?;
    Some(if tool.program == "java" {
        version.of_java()
    } else {
        version
    })
}

/// Output of a program that succeeds, started with nothing of the user.
pub(super) fn answer(call: &ActionCall<'_>, file: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(file);
    command
        .args(arguments)
        .current_dir(&call.place.temp)
        .env_clear();
    let names = [
        "PATH",
        "HOME",
        "TMPDIR",
        "RUSTUP_HOME",
        "CARGO_HOME",
        "DOTNET_ROOT",
    ];
    command.envs(
        names
            .iter()
            .filter_map(|name| Some((name, call.variable(name)?))),
    );
    command
        .env("DOTNET_CLI_TELEMETRY_OPTOUT", "1")
        .env("RUSTUP_AUTO_INSTALL", "0");
    let answer = program::run(command, TIMEOUT)
        .ok()
        .filter(|answer| answer.is_success)?;
    Some(format!("{}\n{}", answer.stdout, answer.stderr))
}

/// Directories for the front of PATH: links to the tool's programs. In its own directory may be others, which would hide the run's,
/// and packages that the user installed for all projects.
pub(super) fn path_of(
    call: &ActionCall<'_>,
    tool: &Tool,
    found: &InstalledTool,
) -> Result<Vec<String>, String> {
    let Some(dir) = found.program.parent().filter(|_| !found.is_first) else {
        return Ok(Vec::new());
    };
    let links = call
        .place
        .tool
        .join(tool.name)
        .join(found.version.to_string())
        .join("bin");
    let failed = |error: std::io::Error| {
        format!("{} cannot be set up: {error}: make room for it", tool.name)
    };
    create_private(&links).map_err(failed)?;
    for program in tool.programs {
        let (real, link) = (dir.join(program), links.join(program));
        if !real.exists() || fs::symlink_metadata(&link).is_ok() {
            continue;
        }
        let made = match *program {
            "corepack" => write_program(&link, &corepack_script(&real, call.place)),
            _ => symlink(&real, &link),
        };
        made.map_err(failed)?;
    }
    Ok(vec![links.to_string_lossy().into_owned()])
}
