//! `actions/setup-node`.

use std::fs;

use super::installed::{InstalledTool, Tool, path_of};
use super::version::VersionRange;
use super::wanted::{first_line, named_file, tool_version};
use super::{
    ActionCall, ActionResult, BuiltinError, absent, note_cache, outputs, range_of, require,
};

pub(super) const NODE: Tool = Tool {
    name: "Node",
    program: "node",
    arguments: &["--version"],
    programs: &["node", "npm", "npx", "corepack"],
    managers: &[
        ("RUNNER_TOOL_CACHE", ".runner-tool-cache", "node"),
        ("NVM_DIR", ".nvm", "versions/node"),
        ("FNM_DIR", ".local/share/fnm", "node-versions"),
        ("VOLTA_HOME", ".volta", "tools/image/node"),
        ("NODENV_ROOT", ".nodenv", "versions"),
        ("ASDF_DATA_DIR", ".asdf", "installs/nodejs"),
        ("MISE_DATA_DIR", ".local/share/mise", "installs/node"),
    ],
    system: &["/usr/local/n/versions/node", "/opt/hostedtoolcache/node"],
};

/// Names of the long-term releases.
const LTS: [(&str, &str); 11] = [
    ("argon", "4"),
    ("boron", "6"),
    ("carbon", "8"),
    ("dubnium", "10"),
    ("erbium", "12"),
    ("fermium", "14"),
    ("gallium", "16"),
    ("hydrogen", "18"),
    ("iron", "20"),
    ("jod", "22"),
    ("krypton", "24"),
];

pub(in super::super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, BuiltinError> {
    let found = find(call)?;
    let mut done = outputs([
        ("node-version", format!("v{}", found.version)),
        ("cache-hit", "false".to_owned()),
    ]);
    done.path = path_of(call, &NODE, &found)?;
    note_cache(call);
    registry(call, &mut done)?;
    Ok(done)
}

/// Finds the version that the inputs want.
pub(super) fn find(call: &mut ActionCall<'_>) -> Result<InstalledTool, BuiltinError> {
    let wanted = wanted(call)?;
    let range = range(&wanted)?;
    require(call, &NODE, &range)
}

fn wanted(call: &ActionCall<'_>) -> Result<String, BuiltinError> {
    let given = call.given().text("node-version");
    if !given.is_empty() {
        return Ok(given.to_owned());
    }
    let Some((name, text)) = named_file(call, "node-version-file")? else {
        return Ok(String::new());
    };
    let version = if name.ends_with("package.json") {
        of_package(&text)
    } else if name.ends_with(".tool-versions") {
        tool_version(&text, &["nodejs", "node"]).map(str::to_owned)
    } else {
        first_line(&text).map(str::to_owned)
    };
    Ok(version.ok_or_else(|| {
        format!("{name} names no version of Node: add one, or use the input node-version")
    })?)
}

/// Version in `package.json`: of Volta, of development engines, then of `engines`.
fn of_package(text: &str) -> Option<String> {
    let package: serde_json::Value = serde_json::from_str(text).ok()?;
    let runtime = &package["devEngines"]["runtime"];
    let is_node = |runtime: &&serde_json::Value| runtime["name"] == "node";
    let of_runtime = match runtime.as_array() {
        Some(all) => all.iter().find(is_node),
        None => Some(runtime).filter(is_node),
    };
    let of_runtime = of_runtime.and_then(|runtime| runtime["version"].as_str());
    let found = package["volta"]["node"].as_str().or(of_runtime);
    found
        .or(package["engines"]["node"].as_str())
        .map(str::to_owned)
}

/// The range of a version, an alias, or the name of a long-term release.
fn range(wanted: &str) -> Result<VersionRange, BuiltinError> {
    let lower = wanted.to_ascii_lowercase();
    if matches!(lower.as_str(), "node" | "current" | "latest" | "stable") {
        return Ok(VersionRange::any(wanted));
    }
    let Some(name) = lower.strip_prefix("lts/") else {
        return range_of(&NODE, wanted);
    };
    if name == "*" {
        let majors: Vec<&str> = LTS.iter().map(|(_, major)| *major).collect();
        return range_of(&NODE, &majors.join(" || "));
    }
    let major = LTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, major)| *major);
    major.map_or_else(
        || Err(absent(&NODE, wanted, &[])),
        |major| range_of(&NODE, major),
    )
}

/// `registry-url`: settings of npm that take the token from a variable, in the run's temporary directory.
fn registry(call: &ActionCall<'_>, done: &mut ActionResult) -> Result<(), BuiltinError> {
    let inputs = call.given();
    let url = inputs.text("registry-url");
    if url.is_empty() {
        return Ok(());
    }
    let url = if url.ends_with('/') {
        url.to_owned()
    } else {
        format!("{url}/")
    };
    let Some((_, rest)) = url
        .split_once("://")
        .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
    else {
        return Err(format!(
            "the input registry-url is '{url}': it needs an address that begins with https://"
        )
        .into());
    };
    let scope = match inputs.text("scope") {
        "" if rest.starts_with("npm.pkg.github.com/") => format!("@{}", call.repository.owner),
        "" => String::new(),
        scope if scope.starts_with('@') => scope.to_owned(),
        scope => format!("@{scope}"),
    };
    let scope = if scope.is_empty() {
        scope
    } else {
        format!("{}:", scope.to_lowercase())
    };
    let file = call.place.temp.join(".npmrc");
    let text = format!("//{rest}:_authToken=${{NODE_AUTH_TOKEN}}\n{scope}registry={url}\n");
    fs::write(&file, text).map_err(|error| {
        format!(
            "{} cannot be written: {error}: make room for it",
            file.display()
        )
    })?;
    done.environment.push((
        "NPM_CONFIG_USERCONFIG".to_owned(),
        file.to_string_lossy().into_owned(),
    ));
    let token = call
        .variable("NODE_AUTH_TOKEN")
        .unwrap_or("XXXXX-XXXXX-XXXXX-XXXXX");
    done.environment
        .push(("NODE_AUTH_TOKEN".to_owned(), token.to_owned()));
    Ok(())
}
