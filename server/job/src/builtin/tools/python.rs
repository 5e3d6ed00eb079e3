//! `actions/setup-python`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::installed::{InstalledTool, Tool};
use super::wanted::{file, first_line, named_file, toml_value, tool_version};
use super::{
    ActionCall, ActionResult, BuiltinError, absent, note_cache, outputs, range_of, require,
};
use crate::place::{create_private, remove_tree};
use crate::program;

pub(super) const PYTHON: Tool = Tool {
    name: "Python",
    program: "python3",
    arguments: &["--version"],
    programs: &["python3"],
    managers: &[
        ("RUNNER_TOOL_CACHE", ".runner-tool-cache", "Python"),
        ("PYENV_ROOT", ".pyenv", "versions"),
        ("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python", ""),
        ("ASDF_DATA_DIR", ".asdf", "installs/python"),
        ("MISE_DATA_DIR", ".local/share/mise", "installs/python"),
    ],
    system: &["/opt/hostedtoolcache/Python"],
};

/// Time in which Python makes an environment with pip.
const TIMEOUT: Duration = Duration::from_mins(2);

/// A real interpreter for the environment, also if the found one is itself that of an environment.
const SCRIPT: &str = "\
import subprocess, sys
base = getattr(sys, '_base_executable', sys.executable)
sys.exit(subprocess.call([base, '-I', '-m', 'venv', '--clear', sys.argv[1]]))
";

pub(in super::super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, BuiltinError> {
    let updates = call.given().is_true("update-environment", true);
    let mut done = ActionResult::default();
    let mut versions = Vec::new();
    // each is set up, and the last one is the default
    for wanted in wanted(call)? {
        let found = find(call, &wanted)?;
        let location = environment(call, &found, &wanted)?;
        versions.push(found.version.to_string());
        let text = location.to_string_lossy().into_owned();
        done.outputs = outputs([
            ("python-version", versions.join("\n")),
            ("python-path", format!("{text}/bin/python")),
            ("cache-hit", "false".to_owned()),
        ])
        .outputs;
        if updates {
            done.environment = variables(&text);
            done.path.push(text.clone());
            done.path.push(format!("{text}/bin"));
        }
    }
    note_cache(call);
    Ok(done)
}

/// Finds a version.
fn find(call: &mut ActionCall<'_>, wanted: &str) -> Result<InstalledTool, BuiltinError> {
    let range = range_of(&PYTHON, wanted)?;
    require(call, &PYTHON, &range)
}

/// Finds each version that the inputs want.
pub(super) fn find_all(call: &mut ActionCall<'_>) -> Result<(), BuiltinError> {
    for wanted in wanted(call)? {
        find(call, &wanted)?;
    }
    Ok(())
}

fn variables(location: &str) -> Vec<(String, String)> {
    let mut all = vec![(
        "PKG_CONFIG_PATH".to_owned(),
        format!("{location}/lib/pkgconfig"),
    )];
    for name in [
        "pythonLocation",
        "Python_ROOT_DIR",
        "Python2_ROOT_DIR",
        "Python3_ROOT_DIR",
    ] {
        all.push((name.to_owned(), location.to_owned()));
    }
    all
}

/// An environment of the run for the interpreter: packages that a step installs do not land beside the user's.
fn environment(
    call: &ActionCall<'_>,
    found: &InstalledTool,
    wanted: &str,
) -> Result<PathBuf, BuiltinError> {
    let versions = call
        .place
        .tool
        .join("Python")
        .join(found.version.to_string());
    let location = versions.join("x64");
    if location.join("bin/python").exists() {
        return Ok(location);
    }
    create_private(&versions)
        .map_err(|error| format!("Python cannot be set up: {error}: make room for it"))?;
    let mut command = Command::new(&found.program);
    command
        .args(["-I", "-c", SCRIPT])
        .arg(&location)
        .current_dir(&call.place.temp)
        .env_clear();
    let names = ["PATH", "HOME", "TMPDIR"];
    command.envs(
        names
            .iter()
            .filter_map(|name| Some((name, call.variable(name)?))),
    );
    let made = program::run(command, TIMEOUT);
    if made.is_ok_and(|made| made.is_success) && has_pip(&location) {
        return Ok(location);
    }
    // a part of it must not look whole to the next step
    let _ = remove_tree(&location);
    Err(absent(
        &PYTHON,
        &format!("{wanted} with venv and pip"),
        std::slice::from_ref(&found.version),
    ))
}

fn has_pip(location: &Path) -> bool {
    location.join("bin/pip").exists()
}

fn wanted(call: &mut ActionCall<'_>) -> Result<Vec<String>, BuiltinError> {
    let given = call.given().lines("python-version");
    if !given.is_empty() {
        return Ok(given.into_iter().map(str::to_owned).collect());
    }
    let named = match named_file(call, "python-version-file")? {
        Some(named) => Some(named),
        None => file(call, ".python-version")?.map(|text| (".python-version".to_owned(), text)),
    };
    let Some((name, text)) = named else {
        call.say("::warning::Neither 'python-version' nor 'python-version-file' inputs were supplied. Attempting to find '.python-version' file. The Python on PATH is used.");
        return Ok(vec![String::new()]);
    };
    let version = if name.ends_with("pyproject.toml") {
        toml_value(&text, "project", "requires-python")
            .or_else(|| toml_value(&text, "tool.poetry.dependencies", "python"))
    } else if name.ends_with("Pipfile") {
        toml_value(&text, "requires", "python_full_version")
            .or_else(|| toml_value(&text, "requires", "python_version"))
    } else if name.ends_with(".tool-versions") {
        tool_version(&text, &["python"]).map(str::to_owned)
    } else {
        first_line(&text).map(str::to_owned)
    };
    let version = version.ok_or_else(|| {
        format!("{name} names no version of Python: add one, or use the input python-version")
    })?;
    Ok(vec![version])
}
