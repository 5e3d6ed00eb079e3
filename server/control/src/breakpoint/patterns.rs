//! Expressions and patterns of breakpoints, and the comparisons that several kinds make with them.

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::kind::Match;
use crate::breakpoint::facts::CallFacts;
use backstitch_core::{Error, Result};

/// Maximum size in bytes of a compiled regular expression.
const REGEX_LIMIT: usize = 1 << 20;

/// Case of letters in a regular expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    Counts,
    Ignored,
}

/// Checks the expression of a breakpoint. An empty one would match everything.
pub(super) fn expression(text: &str, case: Case) -> Result<()> {
    if text.is_empty() {
        return Err(Error::Usage("a regular expression is not empty".to_owned()));
    }
    regex(text, case).map(drop)
}

/// Compiles a regular expression.
pub fn regex(text: &str, case: Case) -> Result<Regex> {
    RegexBuilder::new(text)
        .case_insensitive(case == Case::Ignored)
        .size_limit(REGEX_LIMIT)
        .build()
        .map_err(|error| {
            // the last line of a syntax error is the reason; those before it draw the place
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default();
            let reason = reason.trim_start_matches("error: ");
            Error::Usage(format!("the regular expression `{text}`: {reason}"))
        })
}

/// The characters that a glob does not take literally.
const WILDCARDS: [char; 6] = ['*', '?', '[', '{', '\\', ']'];

/// Returns a path as a glob of this path alone.
pub fn literal_glob(path: &str) -> String {
    let mut glob = String::with_capacity(path.len());
    for c in path.chars() {
        if WILDCARDS.contains(&c) || c == '}' {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

/// Returns the start of a glob up to its first wildcard, as a path, and true if that is the whole.
pub fn fixed_start(glob: &str) -> (String, bool) {
    let mut start = String::new();
    let mut chars = glob.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => start.extend(chars.next()),
            '*' | '?' | '[' | '{' => return (start, false),
            c => start.push(c),
        }
    }
    (start, true)
}

/// The path that a glob stands for. None: it is a pattern, or has nothing to take literally.
pub(super) fn literal_text(glob: &str) -> Option<String> {
    let (path, is_whole) = fixed_start(glob.strip_suffix("/**").unwrap_or(glob));
    let is_escaped = is_whole && glob.contains('\\');
    let end = if glob.ends_with("/**") { "/**" } else { "" };
    is_escaped.then(|| format!("{path}{end}"))
}

/// Compiles a glob. `*` stays within a directory, `**` does not.
pub fn glob(text: &str) -> Result<GlobMatcher> {
    if text.is_empty() {
        return Err(Error::Usage("a pattern is not empty".to_owned()));
    }
    GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| Error::Usage(format!("the pattern `{text}`: {}", error.kind())))
}

/// True if a tool has this name, or one that matches this pattern.
pub(super) fn is_tool(name: &str, tool: &str) -> bool {
    // names are not paths: `*` stands for any letters, `/` included
    let pattern = || GlobBuilder::new(name).backslash_escape(true).build();
    name == tool
        || (name.contains(WILDCARDS)
            && pattern().is_ok_and(|pattern| pattern.compile_matcher().is_match(tool)))
}

/// Compares the fixed start and end of a pattern, so that it is compiled for few paths only.
pub(super) fn any_path_may_match(glob: &str, paths: &[String]) -> bool {
    let (start, _) = fixed_start(glob);
    // a class, an alternative or an escape may end with these letters
    let is_simple = !glob.contains(['[', ']', '{', '}', '\\']);
    let end = if is_simple {
        glob.rsplit(WILDCARDS).next().unwrap_or_default()
    } else {
        ""
    };
    // `**/` also stands for nothing: what follows it may be the whole path
    let end = end.trim_start_matches('/');
    paths
        .iter()
        .any(|path| path.starts_with(&start) && path.ends_with(end))
}

/// The paths that a call only mentions. `edits`: without those that it only reads.
pub(super) fn mentioned(facts: &CallFacts<'_>, edits: bool) -> Vec<String> {
    let all = facts.mentioned.iter();
    all.filter(|path| !edits || !facts.reads && !facts.only_read.contains(path))
        .cloned()
        .collect()
}

/// True if the files of a pattern may lie in any directory: it begins with a wildcard.
pub(super) fn is_anywhere(glob: &str) -> bool {
    let first = glob.split('/').next().unwrap_or_default();
    glob.contains('/') && !fixed_start(first).1
}

/// True if all files of a pattern lie below this path, as far as the pattern says: `rm -rf src` concerns `src/auth/**`.
pub(super) fn is_above(path: &str, glob: &str) -> bool {
    if path == "." {
        return !glob.starts_with('/');
    }
    let (fixed, _) = fixed_start(glob);
    let Some((dir, _)) = fixed.rsplit_once('/') else {
        return false;
    };
    !path.is_empty()
        && dir
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) fn first_match<'p>(
    pattern: &GlobMatcher,
    mut paths: impl Iterator<Item = &'p String>,
) -> Option<&'p String> {
    paths.find(|path| pattern.is_match(path))
}

/// Compares an expression with the input as compact JSON, and with each of its strings.
pub(super) fn input_matches(text: &str, input: &Value) -> Match {
    match regex(text, Case::Ignored) {
        Ok(expression) => {
            let is_match = any_string(input, &|text| expression.is_match(text))
                || expression.is_match(&input.to_string());
            Match::if_true(is_match, || format!("its input matches /{text}/"))
        }
        Err(error) => Match::Unusable(error.to_string()),
    }
}

/// True if `is_match` is true of a string in a value. Names of fields are strings, too.
pub(super) fn any_string(value: &Value, is_match: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_match(text),
        Value::Array(items) => items.iter().any(|item| any_string(item, is_match)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| is_match(name) || any_string(value, is_match)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
