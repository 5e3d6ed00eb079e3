//! Conditions on the number of a breakpoint's hits: `>= 3`, `% 10`, `5`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Condition on the number of hits: `>= 3`, `% 5`, `== 2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HitCondition {
    compare: Compare,
    number: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    AtLeast,
    More,
    Equal,
    AtMost,
    Less,
    Multiple,
}

const COMPARISONS: [(&str, Compare); 6] = [
    (">=", Compare::AtLeast),
    ("<=", Compare::AtMost),
    ("==", Compare::Equal),
    (">", Compare::More),
    ("<", Compare::Less),
    ("%", Compare::Multiple),
];

impl HitCondition {
    /// True if the trigger with this number acts. The first is 1.
    pub fn acts_at(self, hits: i64) -> bool {
        match self.compare {
            Compare::AtLeast => hits >= self.number,
            Compare::More => hits > self.number,
            Compare::Equal => hits == self.number,
            Compare::AtMost => hits <= self.number,
            Compare::Less => hits < self.number,
            Compare::Multiple => hits % self.number == 0,
        }
    }
}

impl fmt::Display for HitCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = COMPARISONS
            .iter()
            .find(|(_, compare)| *compare == self.compare)
            .map_or("", |(sign, _)| sign);
        write!(f, "{sign} {}", self.number)
    }
}

impl FromStr for HitCondition {
    type Err = String;

    /// A number alone means `==`.
    fn from_str(text: &str) -> Result<Self, String> {
        let typed = text.trim();
        let (rest, compare) = COMPARISONS
            .iter()
            .find_map(|(sign, compare)| Some((typed.strip_prefix(sign)?, *compare)))
            .unwrap_or((typed, Compare::Equal));
        let number = rest.trim().parse::<i64>().ok().filter(|n| *n > 0);
        number
            .map(|number| Self { compare, number })
            .ok_or_else(|| {
                format!(
                    "`{text}` is not a condition on the number of hits; write >= 3, == 2 or % 5"
                )
            })
    }
}

impl TryFrom<String> for HitCondition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<HitCondition> for String {
    fn from(condition: HitCondition) -> Self {
        condition.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_on_the_count() {
        let acts = |text: &str| -> Vec<i64> {
            let condition: HitCondition = text.parse().expect("a condition");
            (1..=7).filter(|n| condition.acts_at(*n)).collect()
        };
        assert_eq!(acts(">= 3"), [3, 4, 5, 6, 7]);
        assert_eq!(acts("> 5"), [6, 7]);
        assert_eq!(acts("==2"), [2]);
        assert_eq!(acts("4"), [4]);
        assert_eq!(acts("<= 2"), [1, 2]);
        assert_eq!(acts("< 2"), [1]);
        assert_eq!(acts(" % 3 "), [3, 6]);
        for wrong in ["", "three", ">= 0", "% 0", "-1", "!= 2"] {
            assert!(wrong.parse::<HitCondition>().is_err(), "{wrong}");
        }
        let written: HitCondition = ">=3".parse().expect("a condition");
        assert_eq!(written.to_string(), ">= 3");
    }
}
