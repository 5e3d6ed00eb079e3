//! Parses and formats sizes. Pure.

const UNITS: [(&str, u64); 7] = [
    ("B", 1),
    ("KB", 1000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

/// Parses `512 KiB`, `10MB`, `4096` to bytes.
pub(super) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: u64 = number.parse().ok()?;
    let unit = match unit.trim() {
        "" => "B",
        unit => unit,
    };
    let known = |(name, _): &&(&str, u64)| name.eq_ignore_ascii_case(unit);
    let (_, bytes) = UNITS.iter().find(known)?;
    number.checked_mul(*bytes)
}

/// Formats a size in the largest unit without a remainder.
pub(super) fn show(bytes: u64) -> String {
    let mut units = UNITS.iter().rev().filter(|(name, _)| *name != "B");
    match units.find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((name, unit)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        for (text, bytes) in [
            ("10MB", 10_000_000),
            ("10 MiB", 10 << 20),
            ("512 KiB", 512 << 10),
            ("512kib", 512 << 10),
            ("4096", 4096),
            ("7 B", 7),
            ("1GB", 1_000_000_000),
        ] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "lots",
            "MB",
            "1.5 MB",
            "-1",
            "10 M",
            "10 MiBs",
            "99999999999 GiB",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_formatted_without_a_remainder() {
        for (bytes, text) in [
            (10 << 20, "10 MiB"),
            (10_000_000, "10 MB"),
            (1536 << 10, "1536 KiB"),
            (999, "999 bytes"),
        ] {
            assert_eq!(show(bytes), text);
        }
    }
}
