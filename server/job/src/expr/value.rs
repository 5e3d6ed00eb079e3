//! Values of expressions.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::number;

/// A value. Copies are cheap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    Null,
    Bool(bool),
    #[serde(with = "number::as_text")]
    Number(f64),
    #[serde(with = "shared")]
    String(Arc<str>),
    #[serde(with = "shared")]
    Array(Arc<Vec<Value>>),
    #[serde(with = "shared")]
    Object(Arc<Dict>),
}

impl Value {
    /// The value as a text, as GitHub's runner has it: empty for null, `Object` and `Array` for those.
    pub fn to_text(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Bool(true) => "true".into(),
            Value::Bool(false) => "false".into(),
            Value::Number(value) => number::to_text(*value),
            Value::String(text) => text.as_ref().into(),
            Value::Array(_) => "Array".into(),
            Value::Object(_) => "Object".into(),
        }
    }

    /// The value as a number: 0 for null, NaN for a text that is not a number, for objects and arrays.
    pub fn to_number(&self) -> f64 {
        match self {
            Value::Null | Value::Bool(false) => 0.0,
            Value::Bool(true) => 1.0,
            Value::Number(value) => *value,
            Value::String(text) => number::parse(text),
            Value::Array(_) | Value::Object(_) => f64::NAN,
        }
    }

    /// False for null, `false`, 0, NaN and the empty text.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(value) => *value,
            Value::Number(value) => *value != 0.0 && !value.is_nan(),
            Value::String(text) => !text.is_empty(),
            Value::Array(_) | Value::Object(_) => true,
        }
    }

    /// True for all but objects and arrays.
    pub fn is_primitive(&self) -> bool {
        !matches!(self, Value::Array(_) | Value::Object(_))
    }
}

/// An object, in the order of insertion. A name is found without case, unless the object is an `env` of a system whose
/// variables have case (S1-019).
#[derive(Clone, Debug, Default)]
pub struct Dict {
    entries: Vec<(Arc<str>, Value)>,
    /// Places in `entries` by folded name.
    places: HashMap<String, usize>,
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
        let place = self.places.get(&self.folded(name))?;
        self.entries.get(*place).map(|(_, value)| value)
    }

    /// Sets a value. A name that is there keeps its place and its spelling.
    pub fn set(&mut self, name: &str, value: Value) {
        let folded = self.folded(name);
        if let Some(place) = self.places.get(&folded) {
            self.entries[*place].1 = value;
        } else {
            self.places.insert(folded, self.entries.len());
            self.entries.push((name.into(), value));
        }
    }

    /// Sets a value unless the name is there.
    pub fn add(&mut self, name: &str, value: Value) {
        if self.get(name).is_none() {
            self.set(name, value);
        }
    }

    pub fn remove(&mut self, name: &str) {
        let Some(removed) = self.places.remove(&self.folded(name)) else {
            return;
        };
        self.entries.remove(removed);
        for place in self.places.values_mut() {
            if *place > removed {
                *place -= 1;
            }
        }
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

    fn folded(&self, name: &str) -> String {
        if self.case_sensitive {
            name.into()
        } else {
            name.to_lowercase()
        }
    }
}

/// Shared values in JSON, as those that they share.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Dict, Value};

    /// A value that an `Arc` may hold.
    pub(super) trait Sharable {
        type Owned: for<'a> Deserialize<'a>;
        fn share(owned: Self::Owned) -> Arc<Self>;
    }

    impl Sharable for str {
        type Owned = String;
        fn share(owned: String) -> Arc<str> {
            owned.into()
        }
    }

    impl Sharable for Vec<Value> {
        type Owned = Vec<Value>;
        fn share(owned: Vec<Value>) -> Arc<Vec<Value>> {
            Arc::new(owned)
        }
    }

    impl Sharable for Dict {
        type Owned = Dict;
        fn share(owned: Dict) -> Arc<Dict> {
            Arc::new(owned)
        }
    }

    pub(super) fn serialize<T: Serialize + ?Sized, S: Serializer>(
        value: &Arc<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().serialize(to)
    }

    pub(super) fn deserialize<'a, T: Sharable + ?Sized, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Arc<T>, D::Error> {
        T::Owned::deserialize(from).map(T::share)
    }
}

impl Serialize for Dict {
    /// Its rule for names, then its entries in their order.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let entries: Vec<(&str, &Value)> = self.iter().collect();
        (self.case_sensitive, entries).serialize(to)
    }
}

impl<'a> Deserialize<'a> for Dict {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Dict, D::Error> {
        let (case_sensitive, entries): (bool, Vec<(String, Value)>) =
            Deserialize::deserialize(from)?;
        let mut dict = Dict {
            case_sensitive,
            ..Dict::default()
        };
        for (name, value) in entries {
            dict.set(&name, value);
        }
        Ok(dict)
    }
}

impl PartialEq for Dict {
    /// True if names, their order and their values are equal.
    fn eq(&self, other: &Dict) -> bool {
        self.entries == other.entries && self.case_sensitive == other.case_sensitive
    }
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

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Number(value)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Value {
        Value::Array(Arc::new(items))
    }
}

impl From<Dict> for Value {
    fn from(dict: Dict) -> Value {
        Value::Object(Arc::new(dict))
    }
}
