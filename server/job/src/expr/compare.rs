//! Comparison of values: JavaScript's abstract comparison, but texts have no case, and objects are equal to themselves
//! alone.

use std::cmp::Ordering;
use std::sync::Arc;

use super::value::Value;

pub(super) fn equals(left: &Value, right: &Value) -> bool {
    match coerce(left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Number(left), Value::Number(right)) => {
            left.partial_cmp(&right) == Some(Ordering::Equal)
        }
        (Value::String(left), Value::String(right)) => {
            left == right || upper(&left) == upper(&right)
        }
        (Value::Array(left), Value::Array(right)) => Arc::ptr_eq(&left, &right),
        (Value::Object(left), Value::Object(right)) => Arc::ptr_eq(&left, &right),
        _ => false,
    }
}

/// The order of two values; none if they have none, as two objects or a NaN.
pub(super) fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match coerce(left, right) {
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(&right)),
        (Value::Number(left), Value::Number(right)) => left.partial_cmp(&right),
        (Value::String(left), Value::String(right)) => {
            let (left, right) = (upper(&left), upper(&right));
            Some(left.encode_utf16().cmp(right.encode_utf16()))
        }
        _ => None,
    }
}

fn coerce(left: &Value, right: &Value) -> (Value, Value) {
    let is_plain = |value: &Value| matches!(value, Value::Null | Value::Bool(_));
    let number = |value: &Value| Value::Number(value.to_number());
    match (left, right) {
        (Value::Number(_), Value::String(_)) => (left.clone(), number(right)),
        (Value::String(_), Value::Number(_)) => (number(left), right.clone()),
        _ if std::mem::discriminant(left) == std::mem::discriminant(right) => {
            (left.clone(), right.clone())
        }
        _ if is_plain(left) => coerce(&number(left), right),
        _ if is_plain(right) => coerce(left, &number(right)),
        _ => (left.clone(), right.clone()),
    }
}

/// The text in upper case, but with the dotless ı as it is.
pub(super) fn upper(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_uppercase();
    }
    let parts: Vec<_> = text.split('ı').map(str::to_uppercase).collect();
    parts.join("ı")
}
