//! Numbers as texts, and texts as numbers.

/// Numbers in JSON, as texts: JSON has neither NaN nor an infinity.
pub mod as_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<f64, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The number of a text, as JavaScript's `Number` and GitHub's runner read it. Space around it does not count, and an
/// empty text is 0. NaN for any other text.
///
/// The runner knows JavaScript's prefixes `0x` and `0o`, in lower case.
pub fn parse(text: &str) -> f64 {
    let text = text.trim_matches(|edge: char| edge.is_whitespace() || edge == '\u{feff}');
    match text {
        "" => return 0.0,
        "Infinity" | "+Infinity" => return f64::INFINITY,
        "-Infinity" => return f64::NEG_INFINITY,
        _ => {}
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return with_radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return with_radix(digits, 8);
    }
    let is_decimal = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_decimal {
        text.parse().unwrap_or(f64::NAN)
    } else {
        f64::NAN
    }
}

fn with_radix(digits: &str, radix: u32) -> f64 {
    if digits.is_empty() {
        return f64::NAN;
    }
    // exact up to 128 bits; larger ones do not occur
    if digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        #[allow(clippy::cast_precision_loss)]
        u128::from_str_radix(digits, radix).map_or(f64::NAN, |value| value as f64)
    } else {
        f64::NAN
    }
}

/// The text of a number by C#'s format `G15`, as in GitHub's runner. It has at most 15 digits. From `1E+15` on and
/// below `0.0001` it has an exponent.
pub fn to_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let scientific = format!("{:.14e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = mantissa.replace('.', "");
    let digits = digits.trim_end_matches('0');
    let sign = if value < 0.0 { "-" } else { "" };
    if exponent <= -5 || exponent >= 15 {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let direction = if exponent < 0 { '-' } else { '+' };
        let exponent = exponent.abs();
        return format!("{sign}{first}{point}{rest}E{direction}{exponent:02}");
    }
    let Ok(whole) = usize::try_from(exponent + 1) else {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    };
    if whole == 0 {
        format!("{sign}0.{digits}")
    } else if digits.len() <= whole {
        format!("{sign}{digits:0<whole$}")
    } else {
        let (before, after) = digits.split_at(whole);
        format!("{sign}{before}.{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, to_text};

    #[test]
    fn texts_of_numbers_have_fifteen_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-12.5, "-12.5"),
            (100.0, "100"),
            (0.1, "0.1"),
            (0.012, "0.012"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25E-05"),
            (0.1 + 0.2, "0.3"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1E+15"),
            (1.5e300, "1.5E+300"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(to_text(value), text);
        }
    }

    #[test]
    fn numbers_of_texts_follow_javascript() {
        for (text, value) in [
            ("", 0.0),
            (" 1 ", 1.0),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("0xff", 255.0),
            ("0o17", 15.0),
            ("1e400", f64::INFINITY),
        ] {
            assert_eq!(parse(text).to_bits(), value.to_bits(), "{text}");
        }
        for text in [
            "a", "1 2", "0x", "-0xff", "inf", "nan", "1_0", ".", "-", "1e",
        ] {
            assert!(parse(text).is_nan(), "{text}");
        }
    }
}
