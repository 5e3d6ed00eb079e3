//! The settings of a client: `backstitch.*`. Reads them; what is wrong is said, and what held before holds.

use serde_json::{Map, Value};

use super::words::notice::setting;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lenses {
    #[default]
    All,
    /// Only of the newest session of the workspace.
    Session,
    /// Only of the newest turn of the workspace.
    LatestTurn,
    Off,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub lenses: Lenses,
}

/// What a client may say of itself beside the settings, in `initializationOptions.backstitch`.
const OPTIONS: [&str; 4] = [
    "reloadsFromDisk",
    "notifications",
    "contentProvider",
    "panels",
];
/// The section of settings, and what stands before its keys where they are written in one.
pub const SECTION: &str = "backstitch";

impl Settings {
    /// Takes in `{"backstitch": {"codeLens": …}}`, `{"backstitch.codeLens": …}` or the section alone. What is not
    /// named stays as it is. What was wrong.
    pub fn update(&mut self, told: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        let Some(all) = told.as_object() else {
            return wrong;
        };
        let dotted = |key: &str| Some(key.strip_prefix(SECTION)?.strip_prefix('.')?.to_owned());
        let is_ours = |key: &String| key == SECTION || dotted(key).is_some();
        if !all.keys().any(is_ours) {
            // the section alone; or another server's settings
            if all.contains_key("codeLens") {
                self.section(all, &mut wrong);
            }
            return wrong;
        }
        match all.get(SECTION) {
            None | Some(Value::Null) => {}
            Some(Value::Object(section)) => self.section(section, &mut wrong),
            Some(other) => wrong.push(setting::no_section(SECTION, other)),
        }
        for (key, value) in all {
            if let Some(key) = dotted(key) {
                self.set(&key, value, &mut wrong);
            }
        }
        wrong
    }

    /// As `update`, with what a client says of itself at the start.
    pub fn begin(&mut self, options: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        let Some(all) = options.as_object() else {
            wrong.push(setting::no_options(options));
            return wrong;
        };
        for (key, value) in all {
            if !OPTIONS.contains(&key.as_str()) {
                self.set(key, value, &mut wrong);
            } else if !value.is_boolean() {
                wrong.push(setting::no_flag(key, value));
            }
        }
        wrong
    }

    /// As `update`, of the section itself, which the client was asked for.
    pub fn section(&mut self, section: &Map<String, Value>, wrong: &mut Vec<String>) {
        for (key, value) in section {
            self.set(key, value, wrong);
        }
    }

    fn set(&mut self, key: &str, value: &Value, wrong: &mut Vec<String>) {
        match (key, value) {
            ("codeLens", Value::Null) => {}
            ("codeLens", Value::String(name)) => match name.as_str() {
                "all" => self.lenses = Lenses::All,
                "session" => self.lenses = Lenses::Session,
                "latestTurn" => self.lenses = Lenses::LatestTurn,
                "off" => self.lenses = Lenses::Off,
                other => wrong.push(self.no_lenses(&format!("`{other}`"))),
            },
            ("codeLens", other) => wrong.push(self.no_lenses(&other.to_string())),
            _ => wrong.push(setting::unknown(SECTION, key)),
        }
    }

    fn no_lenses(&self, value: &str) -> String {
        let holds = match self.lenses {
            Lenses::All => "all",
            Lenses::Session => "session",
            Lenses::LatestTurn => "latestTurn",
            Lenses::Off => "off",
        };
        setting::no_lenses(SECTION, value, holds)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_named_stays_as_it_is() {
        for off in [
            json!({ "backstitch": { "codeLens": "off" } }),
            json!({ "backstitch.codeLens": "off" }),
            json!({ "codeLens": "off" }),
        ] {
            let mut settings = Settings::default();
            assert_eq!(settings.update(&off), Vec::<String>::new());
            assert_eq!(settings.lenses, Lenses::Off, "{off}");
            for nothing in [
                json!({}),
                json!(null),
                json!({ "backstitch": {} }),
                json!({ "backstitch": null }),
                json!({ "another": { "codeLens": "all" } }),
            ] {
                assert_eq!(settings.update(&nothing), Vec::<String>::new());
                assert_eq!(settings.lenses, Lenses::Off, "{nothing}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |told: Value| Settings::default().update(&told);
        assert_eq!(
            wrong(json!({ "backstitch": { "codeLens": "some" } })),
            [format!(
                "{SECTION}.codeLens: `some` is none of all, session, latestTurn, off; all holds"
            )]
        );
        assert_eq!(
            wrong(json!({ "backstitch.codeLens": 7 })),
            [format!(
                "{SECTION}.codeLens: 7 is none of all, session, latestTurn, off; all holds"
            )]
        );
        assert_eq!(
            wrong(json!({ "backstitch": { "codelens": "off" } })),
            [format!(
                "{SECTION}.codelens: there is no such setting; codeLens is one"
            )]
        );
        assert_eq!(
            Settings::default().begin(&json!({ "reloadsFromDisk": "yes", "panels": true })),
            [
                "initializationOptions.backstitch.reloadsFromDisk: \"yes\" is neither true nor false; false holds"
            ]
        );
    }
}
