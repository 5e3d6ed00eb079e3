//! Versions of tools and the ranges that workflows ask for: those of npm's semver, with the comma of Python.

use std::fmt;

/// Major, minor and patch, with the text of a pre-release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ToolVersion {
    pub numbers: [u64; 3],
    /// None for a release, which is newer than its pre-releases.
    pub before_release: Option<String>,
}

/// Alternatives, of which a version fits at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VersionRange {
    text: String,
    alternatives: Vec<Interval>,
    takes_pre_releases: bool,
}

/// From the lower bound, which is in it, to the upper one, which is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    from: [u64; 3],
    to: Option<[u64; 3]>,
}

const ANY: Interval = Interval {
    from: [0; 3],
    to: None,
};

impl ToolVersion {
    /// The first version in a text: digits with at least one dot.
    pub fn find(text: &str) -> Option<ToolVersion> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
        let words = text.split(|c: char| !is_part(c));
        words
            .filter(|word| word.contains('.'))
            .find_map(ToolVersion::parse)
    }

    /// A version such as `v20.1.0`, `go1.22`, `3.13.0rc1` or `1.8.0_392`.
    pub fn parse(text: &str) -> Option<ToolVersion> {
        let digits = text.find(|c: char| c.is_ascii_digit())?;
        if !text[..digits]
            .chars()
            .all(|c| c.is_ascii_alphabetic() || c == '-')
        {
            return None;
        }
        let text = &text[digits..];
        let text = text.split(['+', '_']).next().unwrap_or(text);
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let mut numbers = [0; 3];
        let parts = text[..end].trim_end_matches('.').split('.');
        for (number, part) in numbers.iter_mut().zip(parts) {
            *number = part.parse().ok()?;
        }
        let rest = text[end..].trim_start_matches(['-', '.']);
        Some(ToolVersion {
            numbers,
            before_release: (!rest.is_empty()).then(|| rest.to_owned()),
        })
    }

    /// Java counted 1.8 before it counted 9.
    pub fn of_java(self) -> ToolVersion {
        match self.numbers {
            [1, minor, patch] => ToolVersion {
                numbers: [minor, patch, 0],
                ..self
            },
            _ => self,
        }
    }

    fn is_before(&self, other: &ToolVersion) -> bool {
        let key = |version: &ToolVersion| (version.numbers, version.before_release.is_none());
        key(self) < key(other)
    }

    /// The newer one of two.
    pub fn is_newer_than(&self, other: &ToolVersion) -> bool {
        other.is_before(self)
    }
}

impl fmt::Display for ToolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        match &self.before_release {
            Some(text) => write!(f, "-{text}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl VersionRange {
    /// Any release.
    pub fn any(text: &str) -> VersionRange {
        VersionRange {
            text: text.to_owned(),
            alternatives: vec![ANY],
            takes_pre_releases: false,
        }
    }

    /// Reads a range; none for a text that is not one.
    pub fn parse(text: &str) -> Option<VersionRange> {
        let trimmed = text.trim();
        if matches!(trimmed, "" | "*" | "x" | "latest") {
            return Some(VersionRange::any(trimmed));
        }
        let alternatives: Option<Vec<Interval>> = trimmed.split("||").map(alternative).collect();
        Some(VersionRange {
            text: trimmed.to_owned(),
            alternatives: alternatives?,
            takes_pre_releases: trimmed.contains("-dev") || trimmed.contains("-0"),
        })
    }

    pub fn contains(&self, version: &ToolVersion) -> bool {
        let is_in = |interval: &Interval| {
            interval.from <= version.numbers && interval.to.is_none_or(|to| version.numbers < to)
        };
        (version.before_release.is_none() || self.takes_pre_releases)
            && self.alternatives.iter().any(is_in)
    }
}

/// Comparators that all hold; between two of them `-` means "to".
fn alternative(text: &str) -> Option<Interval> {
    if let Some((from, to)) = text.split_once(" - ") {
        let both = [
            comparator(&format!(">={}", from.trim()))?,
            comparator(&format!("<={}", to.trim()))?,
        ];
        return Some(intersection(&both));
    }
    // a space may stand between a sign and its version
    let mut words: Vec<String> = Vec::new();
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        match words.last_mut() {
            Some(last) if last.chars().all(|c| "<>=~^!".contains(c)) => last.push_str(word),
            _ => words.push(word.to_owned()),
        }
    }
    let intervals: Option<Vec<Interval>> = words.iter().map(|word| comparator(word)).collect();
    Some(intersection(&intervals?))
}

fn intersection(intervals: &[Interval]) -> Interval {
    intervals.iter().fold(ANY, |all, one| Interval {
        from: all.from.max(one.from),
        to: match (all.to, one.to) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        },
    })
}

fn comparator(word: &str) -> Option<Interval> {
    let end = word.find(|c| !"<>=~^!".contains(c)).unwrap_or(word.len());
    let (sign, text) = word.split_at(end);
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let text = text.split('+').next().unwrap_or(text);
    let (text, before_release) = text.split_once('-').unwrap_or((text, ""));
    // a certain pre-release is not known to be the one that is here
    if !matches!(before_release, "" | "0" | "dev") {
        return None;
    }
    let mut numbers = [0; 3];
    let mut count = 0;
    for part in text.split('.').take(3) {
        if matches!(part, "x" | "X" | "*") {
            break;
        }
        numbers[count] = part.parse().ok()?;
        count += 1;
    }
    if count == 0 {
        return Some(ANY);
    }
    let next = after(numbers, count);
    let interval = |from, to| Some(Interval { from, to });
    match sign {
        "" | "=" | "==" | "===" => interval(numbers, Some(next)),
        ">=" => interval(numbers, None),
        ">" => interval(next, None),
        "<" => interval([0; 3], Some(numbers)),
        "<=" => interval([0; 3], Some(next)),
        "~" => interval(numbers, Some(after(numbers, count.min(2)))),
        // all but the last number stay
        "~=" => interval(
            numbers,
            Some(after(numbers, count.saturating_sub(1).max(1))),
        ),
        "^" => {
            let fixed = numbers
                .iter()
                .position(|number| *number > 0)
                .unwrap_or(count - 1)
                + 1;
            interval(numbers, Some(after(numbers, fixed.min(count))))
        }
        _ => None,
    }
}

/// The first version after all that have the same first `count` numbers.
fn after(numbers: [u64; 3], count: usize) -> [u64; 3] {
    let mut next = [0; 3];
    next[..count].copy_from_slice(&numbers[..count]);
    next[count - 1] = next[count - 1].saturating_add(1);
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(range: &str, version: &str) -> bool {
        let range = VersionRange::parse(range).expect(range);
        range.contains(&ToolVersion::parse(version).expect(version))
    }

    #[test]
    fn ranges_of_npm() {
        for (range, inside, outside) in [
            ("3", "3.0.0", "4.0.0"),
            ("3.x", "3.14.2", "2.7.18"),
            ("3.12", "3.12.9", "3.13.0"),
            ("3.12.*", "3.12.9", "3.13.0"),
            ("v20.1.0", "20.1.0", "20.1.1"),
            ("^1.2.3", "1.9.0", "2.0.0"),
            ("^0.2.3", "0.2.9", "0.3.0"),
            ("^0.0.3", "0.0.3", "0.0.4"),
            ("~1.2.3", "1.2.9", "1.3.0"),
            ("~1", "1.9.0", "2.0.0"),
            (">=3.8 <3.13", "3.12.1", "3.13.0"),
            (">= 3.8, < 4", "3.8.0", "3.7.9"),
            ("==3.12.*", "3.12.1", "3.11.0"),
            ("~=3.8", "3.13.0", "4.0.0"),
            (">1.2", "1.3.0", "1.2.9"),
            ("<=1.2", "1.2.9", "1.3.0"),
            ("1.2 - 2", "2.9.9", "3.0.0"),
            ("^18 || ^20", "20.3.0", "19.0.0"),
            ("*", "7.0.0", "7.0.0-rc.1"),
            ("3.13-dev", "3.13.0rc1", "3.12.0"),
        ] {
            assert!(fits(range, inside), "{range} {inside}");
            assert!(!fits(range, outside), "{range} {outside}");
        }
        for wrong in [
            "pypy3.10",
            "lts/*",
            "!=3.1",
            "abc",
            "3.13t",
            "3.14.0-rc.1",
            "21-ea",
        ] {
            assert_eq!(VersionRange::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn versions_in_answers() {
        let found = |text: &str| ToolVersion::find(text).map(|version| version.to_string());
        for (text, version) in [
            ("Python 3.11.7\n", "3.11.7"),
            ("v20.19.2", "20.19.2"),
            ("go version go1.22.3 linux/amd64", "1.22.3"),
            ("openjdk version \"17.0.9\" 2023-10-17", "17.0.9"),
            ("ruby 3.2.2p53 (2023-03-30)", "3.2.2-p53"),
            ("uv 0.9.1 (abc 2025-10-01)", "0.9.1"),
            ("rustc 1.97.0-nightly (abc 2026-05-01)", "1.97.0-nightly"),
        ] {
            assert_eq!(found(text).as_deref(), Some(version), "{text}");
        }
        assert_eq!(found("no version 12"), None);
        let java = ToolVersion::find("java version \"1.8.0_392\"")
            .expect("a version")
            .of_java();
        assert_eq!(java.numbers, [8, 0, 0]);
    }
}
