//! `ruby/setup-ruby`.

use super::installed::{InstalledTool, Tool, path_of};
use super::version::VersionRange;
use super::wanted::{file, first_line, tool_version};
use super::{ActionCall, ActionResult, BuiltinError, outputs, range_of, require, without_network};

pub(super) const RUBY: Tool = Tool {
    name: "Ruby",
    program: "ruby",
    arguments: &["--version"],
    programs: &["ruby", "gem", "bundle", "bundler", "irb", "rake"],
    managers: &[
        ("RUNNER_TOOL_CACHE", ".runner-tool-cache", "Ruby"),
        ("RBENV_ROOT", ".rbenv", "versions"),
        ("HOME", "", ".rubies"),
        ("HOME", ".rvm", "rubies"),
        ("ASDF_DATA_DIR", ".asdf", "installs/ruby"),
        ("MISE_DATA_DIR", ".local/share/mise", "installs/ruby"),
    ],
    system: &["/opt/rubies", "/opt/hostedtoolcache/Ruby"],
};

pub(in super::super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, BuiltinError> {
    let found = find(call)?;
    let real = found
        .program
        .canonicalize()
        .unwrap_or_else(|_| found.program.clone());
    let prefix = real
        .parent()
        .and_then(|bin| bin.parent())
        .map(|prefix| prefix.to_string_lossy().into_owned());
    let mut done = outputs([("ruby-prefix", prefix.unwrap_or_default())]);
    done.path = path_of(call, &RUBY, &found)?;
    Ok(done)
}

/// Finds the version that the inputs want.
pub(super) fn find(call: &mut ActionCall<'_>) -> Result<InstalledTool, BuiltinError> {
    if call.given().is_true("bundler-cache", false) {
        return Err(without_network(
            "ruby/setup-ruby",
            "bundler-cache",
            "run `bundle install` in a step before",
        ));
    }
    let wanted = wanted(call)?;
    let number = wanted.strip_prefix("ruby-").unwrap_or(&wanted);
    let range = match number {
        "ruby" => VersionRange::any("ruby"),
        number => range_of(&RUBY, number)?,
    };
    require(call, &RUBY, &range)
}

fn wanted(call: &ActionCall<'_>) -> Result<String, BuiltinError> {
    let given = call.given().text_or("ruby-version", "default");
    let is_file = |name: &str| given == "default" || given == name;
    if is_file(".ruby-version")
        && let Some(text) = file(call, ".ruby-version")?
        && let Some(line) = first_line(&text)
    {
        return Ok(line.to_owned());
    }
    if is_file(".tool-versions")
        && let Some(text) = file(call, ".tool-versions")?
        && let Some(version) = tool_version(&text, &["ruby"])
    {
        return Ok(version.to_owned());
    }
    if given == "default" || given.starts_with('.') {
        return Err("the input ruby-version is missing, and no .ruby-version or .tool-versions names one: add one of them".to_owned().into());
    }
    Ok(given.to_owned())
}
