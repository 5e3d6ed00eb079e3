//! `actions/setup-dotnet`.

use super::installed::{InstalledTool, Tool, answer, choose, path_of};
use super::version::{ToolVersion, VersionRange};
use super::wanted::{file, named_file};
use super::{
    ActionCall, ActionResult, BuiltinError, absent, note_cache, outputs, range_of, say_used,
};

pub(super) const DOTNET: Tool = Tool {
    name: ".NET SDK",
    program: "dotnet",
    arguments: &["--version"],
    programs: &["dotnet"],
    managers: &[],
    system: &[],
};

pub(in super::super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, BuiltinError> {
    let (found, newest) = find(call)?;
    let mut done = outputs([
        ("dotnet-version", newest.to_string()),
        ("cache-hit", "false".to_owned()),
    ]);
    done.path = path_of(call, &DOTNET, &found)?;
    let root = found.program.canonicalize().ok();
    if let Some(root) = root.as_deref().and_then(std::path::Path::parent) {
        done.environment.push((
            "DOTNET_ROOT".to_owned(),
            root.to_string_lossy().into_owned(),
        ));
    }
    note_cache(call);
    Ok(done)
}

/// Finds the program, and the newest one of the versions that the inputs want.
pub(super) fn find(
    call: &mut ActionCall<'_>,
) -> Result<(InstalledTool, ToolVersion), BuiltinError> {
    let wanted = wanted(call)?;
    let any = VersionRange::any("");
    let found =
        choose(call, &DOTNET, &any).map_err(|_| absent(&DOTNET, &wanted.join(", "), &[]))?;
    let sdks = sdks(call, &found);
    let mut newest: Option<ToolVersion> = None;
    for wanted in &wanted {
        let range = range_of(&DOTNET, wanted)?;
        let fitting = sdks.iter().filter(|sdk| range.contains(sdk));
        let best = fitting
            .max()
            .ok_or_else(|| absent(&DOTNET, wanted, &sdks))?;
        say_used(call, &format!(".NET SDK {best}"), wanted, None);
        newest = newest.max(Some(best.clone()));
    }
    let newest = newest.unwrap_or(found.version.clone());
    Ok((found, newest))
}

fn wanted(call: &ActionCall<'_>) -> Result<Vec<String>, BuiltinError> {
    let given = call.given().lines("dotnet-version");
    if !given.is_empty() {
        return Ok(given.into_iter().map(str::to_owned).collect());
    }
    let text = match named_file(call, "global-json-file")? {
        Some((_, text)) => Some(text),
        None => file(call, "global.json")?,
    };
    let parsed = text.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let version = parsed.and_then(|file| Some(file["sdk"]["version"].as_str()?.to_owned()));
    Ok(version.into_iter().collect())
}

fn sdks(call: &ActionCall<'_>, dotnet: &InstalledTool) -> Vec<ToolVersion> {
    let listed = answer(call, &dotnet.program, &["--list-sdks"]).unwrap_or_default();
    listed
        .lines()
        .filter_map(|line| ToolVersion::parse(line.split(' ').next()?))
        .collect()
}
