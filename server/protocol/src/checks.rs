//! Checks of messages against their types, for tests. They need code for each type, which the program is built without.

use serde_json::Value;

use crate::{CommandFailed, CommandSpec, Shape};

impl CommandSpec {
    /// Checks that a value is an answer to this command: its result, or `CommandFailed`.
    pub fn answers(self, value: &Value) -> Result<(), String> {
        let failed = Shape::of::<CommandFailed>();
        match self.result.is(value) {
            Err(wrong) if failed.is(value).is_err() => Err(wrong),
            _ => Ok(()),
        }
    }
}

impl Shape {
    /// Checks that a value is exactly this type: no required field is missing and none is unknown.
    pub fn is(self, value: &Value) -> Result<(), String> {
        let round_trip = self.round_trip(value)?;
        if round_trip == *value {
            Ok(())
        } else {
            Err(format!(
                "not a {}: {value}\nread as one, it is {round_trip}",
                self.name()
            ))
        }
    }

    /// Checks that a value is this type, possibly with optional fields left out.
    pub fn takes(self, value: &Value) -> Result<(), String> {
        let round_trip = self.round_trip(value)?;
        if covers(&round_trip, value) {
            Ok(())
        } else {
            Err(format!(
                "unknown fields for {}: {value}\nthe known ones are {round_trip}",
                self.name()
            ))
        }
    }

    fn round_trip(self, value: &Value) -> Result<Value, String> {
        (self.round_trip)(value.clone())
            .map_err(|error| format!("{}: {error}: {value}", self.name()))
    }
}

fn covers(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(key, value)| whole.get(key).is_some_and(|whole| covers(whole, value))),
        _ => whole == part,
    }
}
