//! `astral-sh/setup-uv`.

use super::installed::{InstalledTool, Tool, path_of};
use super::wanted::{file, named_file, toml_value, tool_version};
use super::{ActionCall, ActionResult, BuiltinError, outputs, range_of, require, without_network};

pub(super) const UV: Tool = Tool {
    name: "uv",
    program: "uv",
    arguments: &["--version"],
    programs: &["uv", "uvx"],
    managers: &[
        ("RUNNER_TOOL_CACHE", ".runner-tool-cache", "uv"),
        ("ASDF_DATA_DIR", ".asdf", "installs/uv"),
        ("MISE_DATA_DIR", ".local/share/mise", "installs/uv"),
    ],
    system: &["/opt/hostedtoolcache/uv"],
};

pub(in super::super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, BuiltinError> {
    let python = call.given().text("python-version");
    let found = find(call)?;
    let program = found.program.to_string_lossy().into_owned();
    let beside = found
        .program
        .with_file_name("uvx")
        .to_string_lossy()
        .into_owned();
    let mut done = outputs([
        ("uv-version", found.version.to_string()),
        ("uv-path", program),
        ("uvx-path", beside),
        ("cache-hit", "false".to_owned()),
        ("python-version", python.to_owned()),
    ]);
    done.path = path_of(call, &UV, &found)?;
    if !python.is_empty() {
        done.environment
            .push(("UV_PYTHON".to_owned(), python.to_owned()));
    }
    if let Some(cache) = call.variable("UV_CACHE_DIR") {
        done.environment
            .push(("UV_CACHE_DIR".to_owned(), cache.to_owned()));
    }
    Ok(done)
}

/// Finds the version that the inputs want.
pub(super) fn find(call: &mut ActionCall<'_>) -> Result<InstalledTool, BuiltinError> {
    if call.given().is_true("activate-environment", false) {
        return Err(without_network(
            "astral-sh/setup-uv",
            "activate-environment",
            "run `uv venv` in a step, and add its directory to GITHUB_PATH",
        ));
    }
    let wanted = wanted(call)?;
    let range = range_of(&UV, &wanted)?;
    require(call, &UV, &range)
}

fn wanted(call: &ActionCall<'_>) -> Result<String, BuiltinError> {
    let given = call.given().text("version");
    if !given.is_empty() {
        return Ok(given.to_owned());
    }
    if let Some((name, text)) = named_file(call, "version-file")? {
        let version = if name.ends_with(".tool-versions") {
            tool_version(&text, &["uv"]).map(str::to_owned)
        } else {
            required_version(&text)
        };
        return Ok(version.unwrap_or_default());
    }
    for name in ["uv.toml", "pyproject.toml"] {
        if let Some(version) = file(call, name)?.and_then(|text| required_version(&text)) {
            return Ok(version);
        }
    }
    Ok(String::new())
}

fn required_version(text: &str) -> Option<String> {
    toml_value(text, "tool.uv", "required-version")
        .or_else(|| toml_value(text, "", "required-version"))
}
