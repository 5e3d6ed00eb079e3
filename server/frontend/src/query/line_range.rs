//! Ranges of lines as options take them.

use std::ops::RangeInclusive;

use super::{QueryError, QueryResult};
use crate::render;

/// A typed range of lines, numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedLines {
    pub from: usize,
    /// None is the last line.
    pub to: Option<usize>,
}

impl TypedLines {
    pub fn parse(typed: &str) -> QueryResult<Self> {
        let wrong = || {
            QueryError::usage(format!("-L {typed} is not a range of lines"))
                .hint("`-L 10,20` for lines 10 to 20, `-L 10,+5` for five from line 10, `-L 10` from line 10 to the end")
        };
        let number = |text: &str| text.parse::<usize>().ok().filter(|n| *n > 0);
        let dash = typed.split_once('-').filter(|(from, _)| !from.is_empty());
        let (from, to) = dash
            .or_else(|| typed.split_once(','))
            .unwrap_or((typed, ""));
        let from = match from {
            "" if !to.is_empty() => 1,
            from => number(from).ok_or_else(wrong)?,
        };
        let to = match (to, to.strip_prefix('+')) {
            ("", _) => None,
            (_, Some(count)) => {
                let count = number(count).ok_or_else(wrong)?;
                Some(from.saturating_add(count - 1))
            }
            (to, None) => Some(number(to).filter(|to| *to >= from).ok_or_else(wrong)?),
        };
        Ok(Self { from, to })
    }

    pub fn within(self, count: usize, path: &str) -> QueryResult<RangeInclusive<usize>> {
        if self.from > count {
            let has = render::plural(count, "line", "lines");
            return Err(QueryError::usage(format!(
                "there is no line {}: {path} has {has}",
                self.from
            ))
            .hint(match count {
                0 => "the file is empty; leave out -L".to_owned(),
                1 => "-L 1 is its only line".to_owned(),
                count => format!("-L takes lines from 1 to {count}, such as -L 1,{count}"),
            }));
        }
        Ok(self.from..=self.to.unwrap_or(count).min(count))
    }
}
