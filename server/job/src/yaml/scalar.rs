//! Plain scalars of the core schema of YAML 1.2 (section 10.3.2).

use super::NodeKind;

/// The value of a plain scalar that has no tag; None for a string.
pub fn resolve(text: &str) -> Option<NodeKind> {
    null(text)
        .or_else(|| boolean(text))
        .or_else(|| integer(text))
        .or_else(|| float(text))
}

/// The value of a scalar with a tag such as `!!int`; None for a string.
pub fn resolve_as(tag: &str, text: &str) -> Option<NodeKind> {
    match tag {
        "null" => null(text),
        "bool" => boolean(text),
        "int" => integer(text),
        "float" => float(text),
        _ => None,
    }
}

fn null(text: &str) -> Option<NodeKind> {
    matches!(text, "" | "~" | "null" | "Null" | "NULL").then_some(NodeKind::Null)
}

fn boolean(text: &str) -> Option<NodeKind> {
    match text {
        "true" | "True" | "TRUE" => Some(NodeKind::Bool(true)),
        "false" | "False" | "FALSE" => Some(NodeKind::Bool(false)),
        _ => None,
    }
}

fn integer(text: &str) -> Option<NodeKind> {
    if let Some(digits) = text.strip_prefix("0o") {
        return with_radix(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return with_radix(digits, 16);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok().map(NodeKind::Number))?
}

fn with_radix(digits: &str, radix: u32) -> Option<NodeKind> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for digit in digits.chars() {
        value = value * f64::from(radix) + f64::from(digit.to_digit(radix)?);
    }
    Some(NodeKind::Number(value))
}

fn float(text: &str) -> Option<NodeKind> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => {
            return Some(NodeKind::Number(f64::NEG_INFINITY));
        }
        ".inf" | ".Inf" | ".INF" => return Some(NodeKind::Number(f64::INFINITY)),
        _ => {}
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(NodeKind::Number(f64::NAN));
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && is_number(fraction),
        Some((whole, fraction)) => is_number(whole) && is_number(fraction),
        None => exponent.is_some() && !mantissa.is_empty() && is_number(mantissa),
    };
    let is_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && is_number(digits)
    });
    (is_mantissa && is_exponent).then(|| text.parse().ok().map(NodeKind::Number))?
}
