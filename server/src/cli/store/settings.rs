//! The settings in force and their sources, as `status` shows them.

use std::path::Path;

use backstitch_core::Workspace;
use backstitch_core::config::{Config, Key, Setting, Source};
use serde_json::{Map, Value, json};

use crate::render::{DIM, Paint};
use crate::terminal::line::TextLine;
use crate::to_protocol;

/// A key with its value and source.
pub type SettingRow = (Key, Setting, Source);

/// Returns the settings in force. `store_dir` is the option of the command line.
pub fn in_force(
    config: &Config,
    workspace: &Workspace,
    store_dir: Option<&Path>,
) -> Vec<SettingRow> {
    let stores = || Setting::Dir(workspace.stores().to_path_buf());
    let all = Key::ALL.iter().copied();
    let all = all.map(|key| match (config.get(key), store_dir) {
        (_, Some(_)) if key == Key::StoreDir => (key, stores(), Source::Option),
        // no setting names the directory of the stores
        ((setting, source), _) => (key, setting.unwrap_or_else(stores), source),
    });
    all.collect()
}

/// Returns the settings as JSON, by name.
pub fn document(rows: &[SettingRow]) -> Value {
    let entries = rows.iter().map(|(key, setting, source)| {
        let mut entry = json!({ "value": setting.json(), "source": kind(source) });
        if let Source::File { path, line } = source {
            entry["file"] = json!(to_protocol::path(path));
            entry["line"] = json!(line);
        }
        (key.name().to_owned(), entry)
    });
    Value::Object(entries.collect::<Map<_, _>>())
}

fn kind(source: &Source) -> &'static str {
    match source {
        Source::File { .. } => "file",
        Source::Editor => "editor",
        Source::Option => "option",
        Source::Default => "default",
    }
}

pub fn text(rows: &[SettingRow], paint: Paint) -> String {
    let paint = Paint {
        width: usize::MAX,
        ..paint
    };
    let mut text = String::new();
    for (at, (key, setting, source)) in rows.iter().enumerate() {
        let source = match source {
            Source::File { path, line } => format!("{}:{line}", path.display()),
            Source::Option => "--store-dir".to_owned(),
            source => kind(source).to_owned(),
        };
        let line = TextLine::new()
            .column(DIM, if at == 0 { "settings" } else { "" }, 12)
            .plain(format!("{} = {setting}", key.name()))
            .add(DIM, format!("  {source}"));
        text.push_str(&line.draw(paint));
    }
    text
}
