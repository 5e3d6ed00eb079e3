//! Foreign text in Markdown. Pure.

use std::ops::RangeInclusive;

/// Escapes foreign text for Markdown, in the middle of a line. Some editors show the backslashes, so a character gets one
/// only where it would have a meaning. Words between two backticks are shown as code, and so are names as `__init__`.
pub fn escaped(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let code = code_spans(&chars);
    let mut escaped = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        if code.iter().any(|span| span.contains(&at)) {
            escaped.push(chars[at]);
            at += 1;
            continue;
        }
        let end = word_end(&chars, at);
        if (at..end).any(|at| is_emphasis(&chars, at)) {
            let is_beside_code = [at.checked_sub(1), Some(end)]
                .into_iter()
                .flatten()
                .any(|at| chars.get(at) == Some(&'`'));
            let word: String = chars[at..end].iter().collect();
            if is_beside_code {
                escaped.push_str(&word.replace('_', "\\_"));
            } else {
                escaped.extend(["`", &word, "`"]);
            }
            at = end;
            continue;
        }
        // the words between others are read whole, so that none is begun in its middle
        for at in at..end.max(at + 1) {
            if has_meaning(&chars, at) {
                escaped.push('\\');
            }
            escaped.push(chars[at]);
        }
        at = end.max(at + 1);
    }
    escaped
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The end of the word that begins here: letters, digits and underscores, with points and slashes between them. The same
/// place if none begins.
fn word_end(chars: &[char], from: usize) -> usize {
    let is_there = |at: usize| chars.get(at).copied().is_some_and(is_word);
    let mut end = from;
    while is_there(end)
        || (end > from && matches!(chars.get(end), Some('.' | '/' | '-')) && is_there(end + 1))
    {
        end += 1;
    }
    end
}

/// True for an underscore that could begin or end an emphasis: of several, and beside the end of a word.
fn is_emphasis(chars: &[char], at: usize) -> bool {
    if chars[at] != '_' || chars.iter().filter(|c| **c == '_').count() < 2 {
        return false;
    }
    let is_letter = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric());
    let first = (0..at).rev().take_while(|at| chars[*at] == '_').last();
    let before = first
        .unwrap_or(at)
        .checked_sub(1)
        .and_then(|at| chars.get(at));
    let after = chars[at..].iter().find(|c| **c != '_');
    !(is_letter(before) && is_letter(after))
}

/// True if a character outside of code has a meaning in Markdown where it stands. Underscores are apart.
fn has_meaning(chars: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|at| chars[at]);
    let after = chars.get(at + 1).copied();
    let is_alone = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let is_twice = || chars.iter().filter(|c| **c == chars[at]).count() > 1;
    match chars[at] {
        '`' | '[' => true,
        '\\' => after.is_some_and(|c| c.is_ascii_punctuation()),
        '*' => is_twice() && !(is_alone(before) && is_alone(after)),
        '~' => is_twice(),
        // VS Code reads `$(name)` as an icon
        '$' => is_twice() || after == Some('('),
        '<' => after.is_some_and(|c| c.is_alphabetic() || "/!?".contains(c)),
        '&' => after.is_some_and(|c| c.is_alphabetic() || c == '#'),
        _ => false,
    }
}

/// Returns the parts of a text between single backticks, with these. Empty unless all of them come in pairs.
fn code_spans(chars: &[char]) -> Vec<RangeInclusive<usize>> {
    let ticks: Vec<usize> = (0..chars.len()).filter(|at| chars[*at] == '`').collect();
    let are_neighbours = ticks.windows(2).any(|two| two[0] + 1 == two[1]);
    if ticks.len() % 2 == 1 || are_neighbours {
        return Vec::new();
    }
    ticks.chunks(2).map(|two| two[0]..=two[1]).collect()
}

#[cfg(test)]
mod tests {
    use super::escaped;

    /// terminal.md 34: an underscore within a word means nothing, and one at its end is shown in code.
    #[test]
    fn names_with_underscores_have_no_backslash() {
        for (text, shown) in [
            ("rename load_all to save_all", "rename load_all to save_all"),
            ("call __init__ of _a_", "call `__init__` of `_a_`"),
            ("edit pkg/__init__.py now", "edit `pkg/__init__.py` now"),
            ("one _private name", "one _private name"),
            ("a_b.c_d/e_f", "a_b.c_d/e_f"),
            ("`a`__b__", "`a`\\_\\_b\\_\\_"),
            ("`__init__` stays", "`__init__` stays"),
            ("*a* [b] <i> &c $d$", "\\*a\\* \\[b] \\<i> \\&c \\$d\\$"),
        ] {
            assert_eq!(escaped(text), shown, "{text}");
        }
    }
}
