//! The settings of a client: `backstitch.*`. Reads them; what is wrong is said, and the default holds.

use serde_json::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lenses {
    #[default]
    All,
    /// Only of the newest session.
    Session,
    LatestTurn,
    Off,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub lenses: Lenses,
}

impl Settings {
    /// From `{"codeLens": …}` or `{"backstitch": {"codeLens": …}}`. The second: what was wrong.
    pub fn read(value: &Value) -> (Self, Vec<String>) {
        let mut settings = Self::default();
        let mut wrong = Vec::new();
        let own = value.get("backstitch").unwrap_or(value);
        match own.get("codeLens") {
            None | Some(Value::Null) => {}
            Some(Value::String(name)) => match name.as_str() {
                "all" => settings.lenses = Lenses::All,
                "session" => settings.lenses = Lenses::Session,
                "latestTurn" => settings.lenses = Lenses::LatestTurn,
                "off" => settings.lenses = Lenses::Off,
                other => wrong.push(format!(
                    "backstitch.codeLens: `{other}` is none of all, session, latestTurn, off; all holds"
                )),
            },
            Some(other) => wrong.push(format!(
                "backstitch.codeLens: {other} is no text; it is one of all, session, latestTurn, off"
            )),
        }
        (settings, wrong)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_is_said() {
        let (settings, wrong) = Settings::read(&json!({"backstitch": {"codeLens": "off"}}));
        assert_eq!((settings.lenses, wrong.len()), (Lenses::Off, 0));
        let (settings, wrong) = Settings::read(&json!({"codeLens": "some"}));
        assert_eq!(settings.lenses, Lenses::All);
        assert!(wrong[0].contains("`some` is none of"), "{wrong:?}");
        assert_eq!(Settings::read(&Value::Null), (Settings::default(), vec![]));
    }
}
