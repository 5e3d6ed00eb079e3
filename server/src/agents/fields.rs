//! Fields of a payload. Knows no agent. Pure.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// A JSON object whose values are parsed one by one, on demand.
#[derive(Debug, Default)]
pub struct Fields<'a>(HashMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Fields<'a> {
    /// Reads an object. Its values are not looked at yet.
    pub fn read(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text).map(Self)
    }

    /// Returns the text of a value in JSON.
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|value| value.get())
    }

    /// Returns a value. None: it is absent, or of another type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.get_borrowed(name)
    }

    /// As `get`, for types that borrow from the text.
    pub fn get_borrowed<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?).ok()
    }

    /// Returns a string, or None if it is empty.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).filter(|text: &String| !text.is_empty())
    }

    /// Returns an object's fields; no fields if it is absent or not an object.
    pub fn nested(&self, name: &str) -> Fields<'a> {
        self.raw(name)
            .and_then(|text| Fields::read(text).ok())
            .unwrap_or_default()
    }
}
