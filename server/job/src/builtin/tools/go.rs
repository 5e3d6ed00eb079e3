//! `actions/setup-go`.

use super::installed::{InstalledTool, Tool, path_of};
use super::version::VersionRange;
use super::wanted::{first_line, named_file, tool_version};
use super::{ActionCall, ActionResult, BuiltinError, note_cache, outputs, range_of, require};

pub(super) const GO: Tool = Tool {
    name: "Go",
    program: "go",
    arguments: &["version"],
    programs: &["go", "gofmt"],
    managers: &[
        ("RUNNER_TOOL_CACHE", ".runner-tool-cache", "go"),
        ("GOENV_ROOT", ".goenv", "versions"),
        ("ASDF_DATA_DIR", ".asdf", "installs/golang"),
        ("MISE_DATA_DIR", ".local/share/mise", "installs/go"),
        ("HOME", "", "sdk"),
    ],
    // `/usr/local/go/bin` and `/usr/lib/go-1.22/bin`
    system: &["/usr/local", "/usr/lib", "/opt/hostedtoolcache/go"],
};

pub(in super::super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, BuiltinError> {
    let found = find(call)?;
    let mut done = outputs([
        ("go-version", found.version.to_string()),
        ("cache-hit", "false".to_owned()),
    ]);
    done.path = path_of(call, &GO, &found)?;
    // the version of the step is the one that was checked
    done.environment
        .push(("GOTOOLCHAIN".to_owned(), "local".to_owned()));
    note_cache(call);
    Ok(done)
}

/// Finds the version that the inputs want.
pub(super) fn find(call: &mut ActionCall<'_>) -> Result<InstalledTool, BuiltinError> {
    let wanted = wanted(call)?;
    let range = match wanted.as_str() {
        "stable" | "oldstable" => VersionRange::any(&wanted),
        version => range_of(&GO, version.strip_prefix("go").unwrap_or(version))?,
    };
    require(call, &GO, &range)
}

fn wanted(call: &ActionCall<'_>) -> Result<String, BuiltinError> {
    let given = call.given().text("go-version");
    if !given.is_empty() {
        return Ok(given.to_owned());
    }
    let Some((name, text)) = named_file(call, "go-version-file")? else {
        return Ok(String::new());
    };
    let directive = |key: &str| {
        let mut lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or(line).split_whitespace());
        lines.find_map(|mut words| {
            if words.next() == Some(key) {
                words.next()
            } else {
                None
            }
        })
    };
    let version = if name.ends_with("go.mod") || name.ends_with("go.work") {
        directive("toolchain")
            .filter(|version| *version != "default")
            .or_else(|| directive("go"))
    } else if name.ends_with(".tool-versions") {
        tool_version(&text, &["golang", "go"])
    } else {
        first_line(&text)
    };
    Ok(version
        .ok_or_else(|| {
            format!("{name} names no version of Go: add one, or use the input go-version")
        })?
        .to_owned())
}
