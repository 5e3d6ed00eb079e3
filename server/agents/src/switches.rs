//! Files that end the hooks of an agent, or lead them elsewhere, without a change of the hooks: settings that switch all
//! hooks off, and files whose variables the agent hands to its hooks. Each agent declares its own. Reads only.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::adapter::Agent;
use super::machine::home;
use super::spec::{OffValue, VariableFile, VariableForm};

/// Variables of the process that lead Backstitch: its own, and those that say where its directories are.
const PLACES: [&str; 4] = ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"];
const OWN: &str = "BACKSTITCH_";
/// Ends each hook at once with `off`.
pub const SWITCH: &str = "BACKSTITCH_HOOK";
pub const OFF: &str = "off";

/// A place in a file that ends hooks or leads them elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSwitch {
    pub agent: &'static str,
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    pub of_project: bool,
    pub what: SwitchedBy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchedBy {
    /// The setting with this name ends all hooks.
    Setting(String),
    /// This variable is set.
    Variable { name: String, value: String },
}

/// Returns the settings that end the hooks of an agent: the user's, then those of a project.
pub fn off_settings(agent: &dyn Agent, project: Option<&Path>) -> Vec<FoundSwitch> {
    let mut found = Vec::new();
    for switch in agent.spec().off_switches {
        let user = switch
            .user
            .iter()
            .flat_map(|file| user_files(agent, file))
            .map(|file| (file, false));
        let own = project.map_or_else(Vec::new, |root| {
            let files = switch.project.iter();
            files.map(|file| (root.join(file), true)).collect()
        });
        for (file, of_project) in user.chain(own) {
            let Some(text) = read(&file) else {
                continue;
            };
            let value = document(&file, &text);
            let value = value
                .as_ref()
                .and_then(|value| at(value, switch.key))
                .filter(|value| switch.off.is(value));
            if value.is_none() {
                continue;
            }
            let one = FoundSwitch {
                agent: agent.name(),
                line: line_of(&text, switch.key.last().copied().unwrap_or_default()),
                file,
                of_project,
                what: SwitchedBy::Setting(switch.key.join(".")),
            };
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    found
}

/// Returns the variables of ours that a project's files set for the hooks of an agent: files in a directory and above it,
/// without those of the user.
pub fn variables(agent: &dyn Agent, dir: &Path) -> Vec<FoundSwitch> {
    let mut found = Vec::new();
    for one in agent.spec().variable_files {
        let user = user_files(agent, one.file);
        let files = dir.ancestors().map(|dir| dir.join(one.file));
        for file in files.filter(|file| !user.contains(file)) {
            found.extend(variables_in(agent, one, &file, true));
        }
    }
    found
}

/// Returns those that the user's own files set.
pub fn variables_of_user(agent: &dyn Agent) -> Vec<FoundSwitch> {
    let mut found = Vec::new();
    for one in agent.spec().variable_files {
        for file in user_files(agent, one.file) {
            found.extend(variables_in(agent, one, &file, false));
        }
    }
    found
}

fn variables_in(
    agent: &dyn Agent,
    one: &VariableFile,
    file: &Path,
    of_project: bool,
) -> Vec<FoundSwitch> {
    let text = read(file).unwrap_or_default();
    // the common case: nothing of ours is in it
    if !text.contains(OWN) && PLACES.iter().all(|name| !text.contains(name)) {
        return Vec::new();
    }
    let set = set_in(one.form, file, &text).into_iter();
    set.map(|(name, value)| FoundSwitch {
        agent: agent.name(),
        line: line_of(&text, &name),
        file: file.to_path_buf(),
        of_project,
        what: SwitchedBy::Variable { name, value },
    })
    .collect()
}

/// The files of the user with this name: in the home directory, and where the agent has its settings.
fn user_files(agent: &dyn Agent, file: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = home().map(|home| home.join(file)).into_iter().collect();
    let settings = agent.settings(None).into_iter().next();
    let beside = settings
        .as_deref()
        .and_then(Path::parent)
        .zip(Path::new(file).file_name())
        .map(|(dir, name)| dir.join(name));
    if let Some(beside) = beside.filter(|beside| !files.contains(beside))
        && Path::new(file).is_relative()
    {
        files.push(beside);
    }
    files
}

impl OffValue {
    fn is(self, value: &Value) -> bool {
        match self {
            Self::True => *value == Value::Bool(true),
            Self::False => *value == Value::Bool(false),
            Self::NamesUs => {
                let names = value.as_array().into_iter().flatten();
                names
                    .filter_map(Value::as_str)
                    .any(|name| name.to_lowercase().contains("backstitch"))
            }
        }
    }
}

/// True for a variable that Backstitch reads. Another name than one of these letters is none.
fn is_of_ours(name: &str) -> bool {
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name && name.starts_with(OWN) || PLACES.contains(&name)
}

/// The variables of ours in a file.
fn set_in(form: VariableForm, file: &Path, text: &str) -> Vec<(String, String)> {
    let all: Vec<(String, String)> = match form {
        VariableForm::Dotenv => text.lines().filter_map(assignment).collect(),
        VariableForm::Object(keys) => {
            let whole = document(file, text).unwrap_or_default();
            let object = at(&whole, keys).and_then(Value::as_object);
            let values = object.into_iter().flatten();
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            values
                .map(|(name, value)| (name.clone(), text(value)))
                .collect()
        }
    };
    all.into_iter()
        .filter(|(name, _)| is_of_ours(name))
        .collect()
}

/// Reads a line of a file of variables.
fn assignment(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once(['=', ':'])?;
    let value = value.trim();
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'' | '`')) => value[1..].split(quote).next().unwrap_or_default(),
        _ => value.split(" #").next().unwrap_or_default().trim(),
    };
    Some((name.trim().to_owned(), value.to_owned()))
}

/// Reads a file of text that a stranger may have made.
fn read(file: &Path) -> Option<String> {
    backstitch_core::read_settings_lossy(file).ok()
}

/// Parses a file of settings, by its name: TOML, or JSON which may have comments.
fn document(file: &Path, text: &str) -> Option<Value> {
    if file.extension().is_some_and(|ending| ending == "toml") {
        let table = text.parse::<toml_edit::DocumentMut>().ok()?;
        return Some(table_json(table.as_table()));
    }
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&without_comments(text)))
        .ok()
}

/// Returns JSON without comments and without commas before a closing bracket.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut is_quoted = false;
    while let Some(c) = chars.next() {
        match (is_quoted, c, chars.peek().copied()) {
            (true, '\\', _) => {
                plain.push(c);
                plain.extend(chars.next());
                continue;
            }
            (_, '"', _) => is_quoted = !is_quoted,
            (false, '/', Some('/')) => {
                chars.by_ref().find(|c| *c == '\n');
                plain.push('\n');
                continue;
            }
            (false, '/', Some('*')) => {
                let mut last = ' ';
                chars.next();
                chars
                    .by_ref()
                    .find(|c| std::mem::replace(&mut last, *c) == '*' && *c == '/');
                plain.push(' ');
                continue;
            }
            (false, '}' | ']', _) => {
                let kept = plain.trim_end();
                if kept.ends_with(',') {
                    plain.truncate(kept.len() - 1);
                }
            }
            _ => {}
        }
        plain.push(c);
    }
    plain
}

fn table_json(table: &dyn toml_edit::TableLike) -> Value {
    let entries = table
        .iter()
        .map(|(name, item)| (name.to_owned(), json(item)));
    Value::Object(entries.collect())
}

fn json(item: &toml_edit::Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return table_json(table);
    }
    let Some(value) = item.as_value() else {
        return Value::Null;
    };
    if let Some(list) = value.as_array() {
        return list
            .iter()
            .map(|one| json(&toml_edit::Item::Value(one.clone())))
            .collect();
    }
    let text = value.as_str().map(Value::from);
    let flag = || value.as_bool().map(Value::from);
    text.or_else(flag).unwrap_or_default()
}

/// Returns the value below these keys. A name with dots stands for nested ones, too.
fn at<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    let nested = keys.iter().try_fold(value, |value, key| value.get(key));
    nested.or_else(|| value.get(keys.join(".")))
}

/// Returns the line of a name in a text, from 1.
fn line_of(text: &str, name: &str) -> usize {
    let found = text.lines().position(|line| line.contains(name));
    found.map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_toml(file: &str) -> bool {
        Path::new(file)
            .extension()
            .is_some_and(|name| name == "toml")
    }
    use crate::{AGENTS, agent};

    /// Each declared switch is found in each of its files, with its line; the other value is none.
    #[test]
    fn every_off_switch_is_found_where_it_is_declared() {
        for listed in AGENTS {
            for switch in listed.spec().off_switches {
                for file in switch.project {
                    let (off, on) = match switch.off {
                        OffValue::True => ("true", "false"),
                        OffValue::False => ("false", "true"),
                        OffValue::NamesUs => ("[\"backstitch\"]", "[\"other\"]"),
                    };
                    let root = tempfile::tempdir().unwrap();
                    let path = root.path().join(file);
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    let write = |value: &str| {
                        let text = if is_toml(file) {
                            format!("# first\n{} = {value}\n", switch.key.join("."))
                        } else {
                            let close = "}".repeat(switch.key.len());
                            let open: Vec<String> = switch
                                .key
                                .iter()
                                .map(|key| format!("{{\"{key}\":"))
                                .collect();
                            format!("// first\n{} {value}{close}\n", open.join(" "))
                        };
                        std::fs::write(&path, text).unwrap();
                    };
                    let of_project = || {
                        let mut found = off_settings(*listed, Some(root.path()));
                        found.retain(|one| one.of_project);
                        found
                    };
                    write(on);
                    assert_eq!(of_project(), [], "{file}");
                    write(off);
                    let found = of_project();
                    assert_eq!(found.len(), 1, "{file} {:?}", switch.key);
                    assert_eq!((found[0].line, &found[0].file), (2, &path));
                }
            }
        }
    }

    /// Each declared file of variables is read, in a directory above, too; others' variables are left alone.
    #[test]
    fn every_file_of_variables_is_read() {
        for listed in AGENTS {
            for one in listed.spec().variable_files {
                let root = tempfile::tempdir().unwrap();
                let path = root.path().join(one.file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                let text = match one.form {
                    VariableForm::Dotenv => {
                        "A=1\nexport BACKSTITCH_HOOK=\"off\" # quiet\n".to_owned()
                    }
                    VariableForm::Object(keys) if is_toml(one.file) => {
                        format!(
                            "[{}]\nBACKSTITCH_HOOK = \"off\"\nA = \"1\"\n",
                            keys.join(".")
                        )
                    }
                    VariableForm::Object(keys) => {
                        let open: Vec<String> =
                            keys.iter().map(|key| format!("{{\"{key}\":")).collect();
                        let close = "}".repeat(keys.len());
                        format!(
                            "{}\n{{\"BACKSTITCH_HOOK\": \"off\", \"A\": 1}}{close}",
                            open.join(" ")
                        )
                    }
                };
                std::fs::write(&path, text).unwrap();
                let below = root.path().join("a/b");
                std::fs::create_dir_all(&below).unwrap();
                for dir in [root.path(), &below] {
                    let mut found = variables(*listed, dir);
                    found.retain(|one| one.of_project && one.file.starts_with(root.path()));
                    let what = SwitchedBy::Variable {
                        name: SWITCH.to_owned(),
                        value: OFF.to_owned(),
                    };
                    assert_eq!(found.len(), 1, "{} {found:?}", one.file);
                    assert_eq!((&found[0].what, found[0].line), (&what, 2), "{}", one.file);
                }
            }
        }
    }

    #[test]
    fn comments_are_no_settings() {
        let text = "{ // \"disableAllHooks\": true\n /* x */ \"a\": \"//\", \"b\": [1,], }";
        let value: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value, serde_json::json!({ "a": "//", "b": [1] }));
        assert!(agent("claude-code").is_some());
    }
}
