//! Times of `schedule`, as GitHub's parser takes them.

struct Field {
    least: f64,
    greatest: f64,
    /// Names of the values, from the least on.
    names: &'static [&'static str],
}

const fn field(least: f64, greatest: f64, names: &'static [&'static str]) -> Field {
    Field {
        least,
        greatest,
        names,
    }
}

const FIELDS: [Field; 5] = [
    field(0.0, 59.0, &[]),
    field(0.0, 23.0, &[]),
    field(1.0, 31.0, &[]),
    field(
        1.0,
        12.0,
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    ),
    field(0.0, 6.0, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// True for five valid fields: minute, hour, day, month, weekday.
pub(super) fn is_valid(cron: &str) -> bool {
    let fields = split(cron);
    fields.len() == FIELDS.len()
        && fields
            .iter()
            .zip(&FIELDS)
            .all(|(text, field)| is_valid_part(text, field, true))
}

/// Parts between runs of blanks. A blank at either end makes an empty part, which is read as 0.
fn split(cron: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = cron;
    while let Some((part, after)) = rest.split_once(' ') {
        parts.push(part);
        rest = after.trim_start_matches(' ');
    }
    parts.push(rest);
    parts
}

fn is_valid_part(text: &str, field: &Field, takes_lists: bool) -> bool {
    if text == "*" || named(text, field).is_some() {
        return true;
    }
    if text.contains(',') {
        let mut parts = text.split(',');
        return takes_lists
            && parts.all(|part| !part.is_empty() && is_valid_part(part, field, true));
    }
    if let Some((start, step)) = text.split_once('/') {
        return takes_lists
            && !start.is_empty()
            && !step.is_empty()
            && number(step) > 0.0
            && is_valid_part(start, field, true)
            && is_valid_part(step, field, false);
    }
    if let Some((start, end)) = text.split_once('-') {
        let value = |text: &str| named(text, field).unwrap_or_else(|| number(text));
        return takes_lists
            && !start.is_empty()
            && !end.is_empty()
            && is_valid_part(start, field, false)
            && is_valid_part(end, field, false)
            && value(end) >= value(start);
    }
    (field.least..=field.greatest).contains(&number(text))
}

fn named(text: &str, field: &Field) -> Option<f64> {
    let place = field
        .names
        .iter()
        .position(|name| name.eq_ignore_ascii_case(text))?;
    Some(field.least + f64::from(u8::try_from(place).ok()?))
}

/// A text as ECMAScript's `Number` reads it; NaN if it is none.
fn number(text: &str) -> f64 {
    let text = text.trim();
    let with_radix = |digits: &str, radix| {
        u64::from_str_radix(digits, radix).map_or(f64::NAN, |value| {
            #[expect(clippy::cast_precision_loss, reason = "compared with small numbers")]
            let value = value as f64;
            value
        })
    };
    let lower = text.to_ascii_lowercase();
    if text.is_empty() {
        0.0
    } else if let Some(digits) = lower.strip_prefix("0x") {
        with_radix(digits, 16)
    } else if let Some(digits) = lower.strip_prefix("0o") {
        with_radix(digits, 8)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        with_radix(digits, 2)
    } else if text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
    {
        text.parse().unwrap_or(f64::NAN)
    } else {
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn fields_are_checked_as_by_github() {
        for cron in [
            "0 0 * * *",
            "*/15 2-4,6 1 JAN-mar sun",
            "0 0 1,15 * 1-5/2",
            " 0 * * *",
        ] {
            assert!(is_valid(cron), "{cron}");
        }
        for cron in [
            "0 0 * *",
            "60 0 * * *",
            "0 0 0 * *",
            "5-1 0 * * *",
            "*/0 * * * *",
            "a * * * *",
            "1,,2 * * * *",
        ] {
            assert!(!is_valid(cron), "{cron}");
        }
    }
}
