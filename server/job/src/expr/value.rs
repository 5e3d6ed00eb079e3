//! Values of expressions.

use std::sync::Arc;

/// A value. Copies are cheap.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
    String(Arc<str>),
    Array(Arc<Vec<Value>>),
    Object(Arc<Dict>),
}

/// An object, in the order of insertion. A name is found without case, unless the object is an `env` of a system whose
/// variables have case (S1-019).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dict {
    entries: Vec<(Arc<str>, Value)>,
    case_sensitive: bool,
}

impl Dict {
    /// An object whose names have case.
    pub fn case_sensitive() -> Dict {
        Dict {
            case_sensitive: true,
            ..Dict::default()
        }
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = |(key, _): &&(Arc<str>, Value)| self.same(key, name);
        self.entries.iter().find(found).map(|(_, value)| value)
    }

    /// Sets a value. A name that is there keeps its place and its spelling.
    pub fn set(&mut self, name: &str, value: Value) {
        let place = self
            .entries
            .iter()
            .position(|(key, _)| self.same(key, name));
        match place {
            Some(place) => self.entries[place].1 = value,
            None => self.entries.push((name.into(), value)),
        }
    }

    pub fn remove(&mut self, name: &str) {
        let case_sensitive = self.case_sensitive;
        self.entries
            .retain(|(key, _)| !same(key, name, case_sensitive));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_ref(), value))
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn same(&self, key: &str, name: &str) -> bool {
        same(key, name, self.case_sensitive)
    }
}

fn same(key: &str, name: &str, case_sensitive: bool) -> bool {
    key == name || (!case_sensitive && key.eq_ignore_ascii_case(name))
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<Dict> for Value {
    fn from(dict: Dict) -> Value {
        Value::Object(Arc::new(dict))
    }
}
