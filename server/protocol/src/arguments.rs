//! Types of the arguments of commands and requests, and the check of the object that a client sends. An error is a
//! value; the server words it.

use std::ops::Deref;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::control::WantedText;
use crate::editing::WorkspaceEdit;

/// Declares an argument that takes only some values of its inner type.
macro_rules! argument {
    ($($(#[$meta:meta])* $name:ident($inner:ty) as $target:ty, $is_valid:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        pub struct $name($inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let is_valid: fn(&$inner) -> bool = $is_valid;
                let inner = <$inner>::deserialize(deserializer)?;
                if is_valid(&inner) {
                    Ok(Self(inner))
                } else {
                    Err(D::Error::custom(concat!("not a value of ", stringify!($name))))
                }
            }
        }

        impl Deref for $name {
            type Target = $target;

            fn deref(&self) -> &$target {
                &self.0
            }
        }

        impl From<$name> for $inner {
            fn from(argument: $name) -> Self {
                argument.0
            }
        }

        #[cfg(test)]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$inner>::json_schema(generator)
            }
        }
    )*};
}

argument! {
    /// Names something; never empty.
    Name(String) as str, |name| !name.is_empty();
    /// At least one name. An empty list would mean all, as if it were left out.
    Names(Vec<Name>) as [Name], |names| !names.is_empty();
    /// Lines from 0: the first, and the one after the last.
    Lines((usize, usize)) as (usize, usize), |(first, end)| first < end;
    /// Lines from 0: the first, and the one after the last. Equal numbers are the place before that line.
    LineSpan((usize, usize)) as (usize, usize), |(first, end)| first <= end;
    /// Texts, numbers and flags by name.
    Fields(Map<String, Value>) as Map<String, Value>, |fields| fields.values().all(is_plain);
}

fn is_plain(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean() || value.is_null()
}

/// Kind of value that an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Name,
    Text,
    Flag,
    Names,
    Count,
    Lines,
    Edit,
    Json,
    Texts,
    Fields,
}

/// Type of an argument. An optional argument is an `Option`.
pub trait Argument: DeserializeOwned {
    const EXPECTED: Expected;
    const IS_REQUIRED: bool = true;
}

/// Declares which kind of value each type stands for.
macro_rules! expected {
    ($($name:ty: $expected:ident,)*) => {$(
        impl Argument for $name {
            const EXPECTED: Expected = Expected::$expected;
        }
    )*};
}

expected! {
    Name: Name,
    String: Text,
    bool: Flag,
    Names: Names,
    usize: Count,
    Lines: Lines,
    LineSpan: Lines,
    WorkspaceEdit: Edit,
    Value: Json,
    Vec<WantedText>: Texts,
    Fields: Fields,
}

impl<T: Argument> Argument for Option<T> {
    const EXPECTED: Expected = T::EXPECTED;
    const IS_REQUIRED: bool = false;
}

/// An argument of a command or request.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name in JSON.
    pub name: String,
    pub expected: Expected,
    pub is_required: bool,
    is_valid: fn(&Value) -> bool,
}

impl Field {
    /// `name`: the field of the Rust type.
    pub(crate) fn of<T: Argument>(name: &str) -> Self {
        Self {
            name: camel_case(name),
            expected: T::EXPECTED,
            is_required: T::IS_REQUIRED,
            is_valid: |value| T::deserialize(value).is_ok(),
        }
    }
}

/// Names a field as serde's `camelCase` does.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
        name
    })
}

/// Rule about several arguments. A flag that is false counts as left out.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// Exactly one of these is given.
    OneOf(&'static [&'static str]),
    /// At most one of these is given.
    AtMostOneOf(&'static [&'static str]),
    /// The first needs the second.
    Needs(&'static str, &'static str),
}

/// Parameters of a request, or the one argument of a command.
pub trait Params: DeserializeOwned {
    const RULES: &'static [Rule];

    fn fields() -> Vec<Field>;

    /// Reads what a client sent. Null counts as left out, for the whole object and for each field.
    fn parse(given: Value) -> Result<Self, Box<ArgumentError>> {
        let fields = Self::fields();
        let read = checked(given, &fields, Self::RULES).and_then(|given| {
            serde_json::from_value(given).map_err(|error| Problem::Unreadable(error.to_string()))
        });
        read.map_err(|problem| {
            let known = fields.into_iter().map(|field| field.name).collect();
            Box::new(ArgumentError { problem, known })
        })
    }
}

/// Arguments that do not fit the declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentError {
    pub problem: Problem,
    /// Names of all arguments that are taken.
    pub known: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    NoObject(Value),
    Unknown(Vec<String>),
    Wrong {
        argument: String,
        expected: Expected,
        given: Value,
    },
    Missing {
        argument: String,
        expected: Expected,
    },
    NoneOf(&'static [&'static str]),
    SeveralOf {
        all: &'static [&'static str],
        given: Vec<&'static str>,
    },
    /// The checks passed, and the type refused the arguments all the same.
    Unreadable(String),
}

/// Returns the arguments without null values, or the first problem.
fn checked(given: Value, fields: &[Field], rules: &[Rule]) -> Result<Value, Problem> {
    let mut given = match given {
        Value::Null => Map::new(),
        Value::Object(given) => given,
        other => return Err(Problem::NoObject(other)),
    };
    given.retain(|_, value| !value.is_null());
    let field = |name: &str| fields.iter().find(|field| field.name == name);
    let unknown = given.keys().filter(|name| field(name).is_none());
    let unknown: Vec<String> = unknown.cloned().collect();
    // a misspelled argument must not mean “everything”
    if !unknown.is_empty() {
        return Err(Problem::Unknown(unknown));
    }
    let mut pairs = given
        .iter()
        .filter_map(|(name, value)| Some((field(name)?, value)));
    if let Some((field, value)) = pairs.find(|(field, value)| !(field.is_valid)(value)) {
        return Err(Problem::Wrong {
            argument: field.name.clone(),
            expected: field.expected,
            given: value.clone(),
        });
    }
    let mut required = fields.iter().filter(|field| field.is_required);
    if let Some(missing) = required.find(|field| !given.contains_key(&field.name)) {
        return Err(missing_field(missing));
    }
    for rule in rules {
        check_rule(*rule, &given, fields)?;
    }
    Ok(Value::Object(given))
}

fn check_rule(rule: Rule, given: &Map<String, Value>, fields: &[Field]) -> Result<(), Problem> {
    let is_given = |name: &str| given.get(name).is_some_and(|value| *value != false);
    let named = |all: &[&'static str]| -> Vec<&'static str> {
        all.iter().copied().filter(|name| is_given(name)).collect()
    };
    match rule {
        Rule::OneOf(all) if named(all).is_empty() => Err(Problem::NoneOf(all)),
        Rule::OneOf(all) | Rule::AtMostOneOf(all) if named(all).len() > 1 => {
            let given = named(all);
            Err(Problem::SeveralOf { all, given })
        }
        Rule::Needs(argument, needed) if is_given(argument) && !is_given(needed) => {
            let missing = fields.iter().find(|field| field.name == needed);
            missing.map_or(Ok(()), |missing| Err(missing_field(missing)))
        }
        Rule::OneOf(_) | Rule::AtMostOneOf(_) | Rule::Needs(..) => Ok(()),
    }
}

fn missing_field(field: &Field) -> Problem {
    Problem::Missing {
        argument: field.name.clone(),
        expected: field.expected,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{CustomRequest, RewindParams, TurnBeginParams};

    #[test]
    fn null_counts_as_left_out() {
        let given = json!({ "limit": null, "before": "c4" });
        let read = CustomRequest::parse("backstitch/timeline", given).expect("a request");
        let Ok(CustomRequest::Timeline(read)) = read else {
            panic!("{read:?}");
        };
        assert_eq!((read.limit, read.before.as_deref()), (None, Some("c4")));
        assert!(crate::Where::parse(Value::Null).is_ok());
    }

    #[test]
    fn the_types_refuse_unknown_and_missing_fields() {
        serde_json::from_value::<RewindParams>(json!({ "file": "a.txt" })).expect_err("unknown");
        serde_json::from_value::<TurnBeginParams>(json!({ "agent": "a" })).expect_err("missing");
    }

    #[test]
    fn an_error_names_all_unknown_arguments_and_the_known_ones() {
        let wrong = TurnBeginParams::parse(json!({ "name": 1, "agent": "a", "id": 2 }));
        let wrong = wrong.expect_err("unknown");
        assert_eq!(
            wrong.problem,
            Problem::Unknown(vec!["name".into(), "id".into()])
        );
        assert_eq!(
            wrong.known,
            ["agent", "session", "prompt", "uri", "workspace"]
        );
    }
}
