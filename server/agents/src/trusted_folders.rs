//! Folders that the user has had an agent trust. Some agents load the hooks of a project only there. Read, never written.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::machine::home;
use crate::settings_file::{JsonForm, JsonSettings};

/// Returns why Copilot does not load the hooks of a project.
pub fn copilot(project: &Path) -> Option<String> {
    let config = home()?.join(".copilot/config.json");
    let trusted = read(&config).and_then(|config| {
        let folders = config["trustedFolders"].as_array()?;
        let holds = |folder: &Value| folder.as_str().is_some_and(|at| project.starts_with(at));
        Some(folders.iter().any(holds))
    });
    (trusted != Some(true)).then(|| {
        format!(
            "start `copilot` in {} and trust the folder, or add it to `trustedFolders` in {}",
            project.display(),
            config.display()
        )
    })
}

/// Returns why Gemini CLI, or Qwen Code, does not load the hooks of a project. `directory`: the agent's own, such as `.gemini`.
/// `asks`: it asks for trust unless its user's settings say otherwise.
pub fn gemini_family(
    (program, directory): (&str, &str),
    asks: bool,
    project: &Path,
) -> Option<String> {
    let own = home()?.join(directory);
    let enabled = read(&own.join("settings.json"))
        .and_then(|settings| settings["security"]["folderTrust"]["enabled"].as_bool());
    if !enabled.unwrap_or(asks) {
        return None;
    }
    let trusted = read(&own.join("trustedFolders.json"));
    let folders = trusted.as_ref().and_then(Value::as_object);
    let is_trusted = folders.is_some_and(|folders| is_trusted(folders, project));
    (!is_trusted).then(|| {
        format!(
            "start `{program}` in {} and trust the folder",
            project.display()
        )
    })
}

/// True if the innermost folder that has a rule for a project is trusted.
fn is_trusted(folders: &serde_json::Map<String, Value>, project: &Path) -> bool {
    let mut rules: Vec<(PathBuf, bool)> = Vec::new();
    for (folder, rule) in folders {
        let folder = Path::new(folder);
        match rule.as_str() {
            Some("TRUST_FOLDER") => rules.push((folder.to_path_buf(), true)),
            Some("TRUST_PARENT") => {
                rules.extend(folder.parent().map(|parent| (parent.to_path_buf(), true)));
            }
            Some("DO_NOT_TRUST") => rules.push((folder.to_path_buf(), false)),
            _ => {}
        }
    }
    rules.retain(|(folder, _)| project.starts_with(folder));
    let innermost = rules
        .iter()
        .max_by_key(|(folder, _)| folder.as_os_str().len());
    innermost.is_some_and(|(_, trusts)| *trusts)
}

fn read(path: &Path) -> Option<Value> {
    path.exists()
        .then(|| JsonSettings::read(path, JsonForm::Commented).ok())
        .flatten()
        .map(|settings| settings.value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_innermost_rule_decides_on_trust() {
        let folders = json!({
            "/a": "TRUST_FOLDER",
            "/a/no": "DO_NOT_TRUST",
            "/b/one": "TRUST_PARENT",
            "/c": "SOMETHING",
        });
        let folders = folders.as_object().unwrap();
        for (project, expected) in [
            ("/a", true),
            ("/a/x", true),
            ("/a/no", false),
            ("/a/no/x", false),
            ("/b/two", true),
            ("/c", false),
            ("/d", false),
        ] {
            assert_eq!(
                is_trusted(folders, Path::new(project)),
                expected,
                "{project}"
            );
        }
    }
}
