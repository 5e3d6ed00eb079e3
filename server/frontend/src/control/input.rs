//! The input of a call as a value, also where it is no strict JSON. Pure.

use backstitch_agents::Fields;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json_text::strict;

/// Reads the input of a call. Half of a surrogate pair, as in a text that was cut inside of an emoji, is read as U+FFFD: agents
/// write it and read it. Err: the reason why it cannot be read.
pub fn read(bytes: &[u8]) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    serde_json::from_str(&strict(bytes)).map_err(|error| error.to_string())
}

/// Returns the first place of a call's own input that another input has unchanged, and that a value does not hold exactly.
/// Examples are a number of more digits than a double has, and half of a surrogate pair. `raw` is the text of `own`.
pub fn inexact(raw: &str, own: &Value, input: &Value) -> Option<String> {
    inexact_at(raw, own, input, "")
}

fn inexact_at(raw: &str, own: &Value, input: &Value, at: &str) -> Option<String> {
    match (own, input) {
        (Value::Object(own), Value::Object(input)) => {
            let Ok(fields) = Fields::read(raw) else {
                return Some(if at.is_empty() { "." } else { at }.to_owned());
            };
            own.iter().find_map(|(name, value)| {
                let place = format!("{at}.{name}");
                let Some(raw) = fields.raw(name) else {
                    return Some(place);
                };
                inexact_at(raw, value, input.get(name)?, &place)
            })
        }
        (Value::Array(own), Value::Array(input)) => {
            let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw) else {
                return Some(at.to_owned());
            };
            let pairs = own.iter().zip(input).zip(items).enumerate();
            let mut found = pairs.filter_map(|(number, ((own, input), raw))| {
                inexact_at(raw.get(), own, input, &format!("{at}[{number}]"))
            });
            found.next()
        }
        (Value::String(_), _) if own == input => serde_json::from_str::<String>(raw)
            .is_err()
            .then(|| at.to_owned()),
        (Value::Number(number), _) if own == input => {
            (digits(raw) != digits(&number.to_string())).then(|| at.to_owned())
        }
        _ => None,
    }
}

/// The digits of a number without zeros around them, and the power of ten of the last one.
fn digits(number: &str) -> (String, i64) {
    let number = number.trim().trim_start_matches('-');
    let (mantissa, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{part}");
    let significant = all.trim_end_matches('0');
    let zeros = all.len() - significant.len();
    let count = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    let power = power.trim_start_matches('+').parse().unwrap_or(i64::MAX);
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return (String::new(), 0);
    }
    let last = i64::saturating_add(power, count(zeros) - count(part.len()));
    (significant.to_owned(), last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_that_another_text_would_have_are_found() {
        let found = |raw: &str, change: &dyn Fn(&mut Value)| {
            let own = read(raw.as_bytes()).expect("an input");
            let mut input = own.clone();
            change(&mut input);
            inexact(raw, &own, &input)
        };
        let a = |input: &mut Value| input["a"] = json!("new");
        for exact in [
            r#"{"a": 1, "b": [18446744073709551615, -9223372036854775808, 1.5, 1e3, 0, -0.0, 100, 0.1]}"#,
            r#"{"a": 123456789012345678901234567890, "b": {"c": "\ud83d\ude00"}}"#,
        ] {
            assert_eq!(found(exact, &a), None, "{exact}");
        }
        for (inexact, place) in [
            (r#"{"a": 1, "b": 18446744073709551617}"#, ".b"),
            (
                r#"{"a": 1, "b": {"c": ["x", 0.12345678901234567890123]}}"#,
                ".b.c[1]",
            ),
            (r#"{"a": 1, "b": "half \ud83d"}"#, ".b"),
            (r#"{"a": 1, "\ud83d": 2}"#, "."),
        ] {
            assert_eq!(found(inexact, &a).as_deref(), Some(place), "{inexact}");
        }
    }

    #[test]
    fn half_a_pair_is_read() {
        let read = |text: &str| read(text.as_bytes());
        assert_eq!(read(r#"{"a":"x \ud83d"}"#), Ok(json!({"a": "x \u{fffd}"})));
        assert_eq!(
            read(r#"["\ude00\ud83d\ud83d\ude00"]"#),
            Ok(json!(["\u{fffd}\u{fffd}😀"]))
        );
        assert_eq!(
            read(r#"["\\ud83d", "\ud83d"]"#),
            Ok(json!(["\\ud83d", "\u{fffd}"]))
        );
        assert_eq!(read(r#"["\ud83dé"]"#), Ok(json!(["\u{fffd}é"])));
        assert!(read(r#"["\ud83d"#).is_err());
        assert!(read("[1e999]").is_err());
        assert!(read("\\").is_err());
    }

    #[test]
    fn bytes_that_are_no_text_are_read() {
        assert_eq!(super::read(b"[\"\xff\"]"), Ok(json!(["\u{fffd}"])));
    }
}
