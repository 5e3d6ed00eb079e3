//! Regular expressions of JavaScript, as GitHub's runner takes them, in the syntax of `fancy-regex`.
//!
//! Classes are those of ASCII, braces that are not a repetition are text, and `[` in a class is a character.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use fancy_regex::{Regex, RegexBuilder};

/// Characters that a pattern may have.
const MAX_PATTERN: usize = 16 * 1024;
/// Steps after which a search is given up: a few milliseconds.
const MAX_STEPS: usize = 100_000;
/// Bytes of a compiled pattern.
const MAX_SIZE: usize = 1024 * 1024;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r" \x0C\n\r\t\x0B";

/// Characters with a meaning in a pattern or in a class.
const META: &str = r"\.+*?()|[]{}^$#&-~";

/// Compiles a pattern. The error is a sentence.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("it has more than {MAX_PATTERN} characters"));
    }
    let translated = translate(pattern)?;
    RegexBuilder::new(&translated)
        .backtrack_limit(MAX_STEPS)
        .delegate_size_limit(MAX_SIZE)
        .build()
        .map_err(|error| error.to_string())
}

/// An escape of JavaScript.
enum Escape {
    Char(char),
    /// The content of a class, and if it is negated.
    Class(&'static str, bool),
    /// `\b` and `\B`.
    Boundary(char),
    /// The number of a group.
    Group(String),
    /// `\k<name>`.
    Name,
}

fn translate(pattern: &str) -> Result<String, String> {
    let mut all = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '\\' => match escape(&mut rest)? {
                Escape::Char(character) => push_literal(&mut all, character),
                Escape::Class(content, is_negated) => push_class(&mut all, content, is_negated),
                Escape::Boundary(letter) => all.extend(['\\', letter]),
                Escape::Group(number) => {
                    all.push('\\');
                    all.push_str(&number);
                    // the digit after it is text
                    if rest.peek().is_some_and(char::is_ascii_digit) {
                        all.push_str("(?:)");
                    }
                }
                Escape::Name => all.push_str(r"\k"),
            },
            '[' => class(&mut rest, &mut all)?,
            '{' => match repetition(&rest) {
                Some(text) => {
                    all.push_str(&text);
                    rest.nth(text.len() - 2);
                }
                None => all.push_str(r"\{"),
            },
            '}' | ']' | '#' | '&' | '~' => push_literal(&mut all, next),
            _ => all.push(next),
        }
    }
    Ok(all)
}

/// The repetition whose `{` has been read: `{2}`, `{2,}`, `{2,5}`.
fn repetition(rest: &Peekable<Chars<'_>>) -> Option<String> {
    let inner: String = rest.clone().take_while(|c| *c != '}').take(32).collect();
    let is_closed = rest.clone().nth(inner.chars().count()) == Some('}');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_repetition = match inner.split_once(',') {
        Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
        None => is_number(&inner),
    };
    (is_closed && is_repetition).then(|| format!("{{{inner}}}"))
}

fn escape(rest: &mut Peekable<Chars<'_>>) -> Result<Escape, String> {
    let letter = rest.next().ok_or("it ends with '\\'")?;
    Ok(match letter {
        'd' => Escape::Class(DIGIT, false),
        'D' => Escape::Class(DIGIT, true),
        'w' => Escape::Class(WORD, false),
        'W' => Escape::Class(WORD, true),
        's' => Escape::Class(SPACE, false),
        'S' => Escape::Class(SPACE, true),
        'b' | 'B' => Escape::Boundary(letter),
        'n' => Escape::Char('\n'),
        'r' => Escape::Char('\r'),
        't' => Escape::Char('\t'),
        'f' => Escape::Char('\u{c}'),
        'v' => Escape::Char('\u{b}'),
        'a' => Escape::Char('\u{7}'),
        'e' => Escape::Char('\u{1b}'),
        '0' => Escape::Char('\0'),
        'x' => Escape::Char(hexadecimal(rest, 2)?),
        'u' => Escape::Char(hexadecimal(rest, 4)?),
        'c' => {
            let control = rest.next().filter(char::is_ascii_alphabetic);
            let control = control.ok_or("'\\c' needs a letter")?;
            Escape::Char(char::from(control as u8 & 0x1f))
        }
        '1'..='9' => {
            let mut number = letter.to_string();
            // groups above 99 are not named so
            if let Some(digit) = rest.next_if(char::is_ascii_digit) {
                number.push(digit);
            }
            Escape::Group(number)
        }
        'k' if rest.peek() == Some(&'<') => Escape::Name,
        _ if letter.is_ascii_alphabetic() => {
            return Err(format!("'\\{letter}' is not a known escape"));
        }
        _ => Escape::Char(letter),
    })
}

fn hexadecimal(rest: &mut Peekable<Chars<'_>>, digits: usize) -> Result<char, String> {
    let text: String = rest.by_ref().take(digits).collect();
    let is_whole = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = u32::from_str_radix(&text, 16).ok().filter(|_| is_whole);
    code.and_then(char::from_u32)
        .ok_or_else(|| format!("'{text}' is not a character of {digits} hexadecimal digits"))
}

/// Translates a class whose `[` has been read.
fn class(rest: &mut Peekable<Chars<'_>>, all: &mut String) -> Result<(), String> {
    all.push('[');
    if rest.next_if_eq(&'^').is_some() {
        all.push('^');
    }
    let mut is_first = true;
    // the front of a range that may follow
    let mut front: Option<char> = None;
    loop {
        let next = rest.next().ok_or("a '[' is not closed")?;
        let item = match next {
            ']' if !is_first => break,
            '-' if front.is_some() && is_range(rest) => {
                all.push('-');
                let end = match rest.next() {
                    Some('\\') => escape(rest)?,
                    Some(end) => Escape::Char(end),
                    None => return Err("a '[' is not closed".to_owned()),
                };
                push_in_class(all, &end);
                front = None;
                continue;
            }
            '\\' => escape(rest)?,
            _ => Escape::Char(next),
        };
        is_first = false;
        push_in_class(all, &item);
        front = match item {
            Escape::Char(character) => Some(character),
            _ => None,
        };
    }
    all.push(']');
    Ok(())
}

/// True if a character follows to which a range can go.
fn is_range(rest: &Peekable<Chars<'_>>) -> bool {
    let mut rest = rest.clone();
    match rest.next() {
        None | Some(']') => false,
        Some('\\') => !matches!(rest.next(), Some('d' | 'D' | 'w' | 'W' | 's' | 'S')),
        Some(_) => true,
    }
}

fn push_in_class(all: &mut String, item: &Escape) {
    match item {
        Escape::Char(character) => push_literal(all, *character),
        Escape::Class(content, false) => all.push_str(content),
        Escape::Class(content, true) => push_class(all, content, true),
        // in a class `\b` is a backspace, and the others are letters
        Escape::Boundary('b') => all.push_str(r"\x08"),
        Escape::Boundary(letter) => all.push(*letter),
        Escape::Group(number) => all.push_str(number),
        Escape::Name => all.push('k'),
    }
}

fn push_class(all: &mut String, content: &str, is_negated: bool) {
    all.push_str(if is_negated { "[^" } else { "[" });
    all.push_str(content);
    all.push(']');
}

fn push_literal(all: &mut String, character: char) {
    if character.is_control() {
        let _ = write!(all, "\\x{{{:X}}}", u32::from(character));
        return;
    }
    if META.contains(character) {
        all.push('\\');
    }
    all.push(character);
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn finds(pattern: &str, text: &str) -> Option<String> {
        let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        let found = regex.find(text).expect("within the limit");
        found.map(|found| found.as_str().to_owned())
    }

    /// Patterns with the text that JavaScript finds in a line.
    #[test]
    fn patterns_mean_what_they_do_in_javascript() {
        for (pattern, text, found) in [
            (r"\d+", "a٣12", Some("12")),
            (r"[\d.]+", "x1.5", Some("1.5")),
            (r"\w+", "é_a1-", Some("_a1")),
            (r"[^\s:]+", " a:b", Some("a")),
            (r"[\D]+", "12ab3", Some("ab")),
            (r"[^[]+", "[ab[", Some("ab")),
            (r"[]a]+", "x]a", Some("]a")),
            (r"[a&&b]+", "a&&b", Some("a&&b")),
            (r"[\w-]+", ".a-b", Some("a-b")),
            (r"[a-c-e]+", "-cbez", Some("-cbe")),
            (r"[+--]+", "a,-+", Some(",-+")),
            (r"[\b]", "\u{8}", Some("\u{8}")),
            (r"a{2,3}", "aaaa", Some("aaa")),
            (r"a{,3}", "a{,3}", Some("a{,3}")),
            (r"{x}]", "{x}]", Some("{x}]")),
            (r"\<b\>", "<b>", Some("<b>")),
            (r"a\/b#~&", "a/b#~&", Some("a/b#~&")),
            (r"\x41\u0042\cJ", "AB\n", Some("AB\n")),
            (r"(a)\1", "aa", Some("aa")),
            (r"(?<n>a)\k<n>", "aa", Some("aa")),
            (r"^(?!ok)\S+$", "fail", Some("fail")),
            (r"^(?!ok)\S+$", "okay", None),
            (r"(?<=: )x", "a: x", Some("x")),
            (r"\bfoo\b", "a foo.", Some("foo")),
            (r"(?:a|b)+?", "ab", Some("a")),
            ("", "x", Some("")),
        ] {
            assert_eq!(finds(pattern, text).as_deref(), found, "{pattern}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

        /// Any text is a pattern or an error, and a search in a line ends.
        #[test]
        fn any_text_compiles_or_is_an_error(
            pattern in r"([\[\](){}^$|?*+.,a-c0-9\\-]|\\[dDwWsSbBxuck1-9]|[&~#é]){0,24}",
            line in "[a-c0-9 é\\[-]{0,200}",
        ) {
            if let Ok(regex) = compile(&pattern) {
                // a search that was given up is an answer, too
                let _ = regex.captures(&line);
            }
        }
    }

    #[test]
    fn bad_patterns_have_a_reason() {
        for pattern in [
            "(",
            "[a",
            r"\q",
            r"\x4",
            "a\\",
            "*",
            r"(a{1000}){1000}{1000}",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
        assert!(compile(&"a".repeat(MAX_PATTERN + 1)).is_err());
    }

    /// Patterns that take exponential time in a backtracking search end soon, found or not.
    #[test]
    fn hostile_patterns_end() {
        let text = "a".repeat(60_000);
        let began = Instant::now();
        for pattern in [
            r"^(a+)+$b",
            r"^(a|a)*b",
            r"(?=(a+))*\1b",
            r"^(?:(a+)+)\1b",
            r"(a*)*\1!",
            r"(?:a{0,100}){0,100}(?=b)",
        ] {
            let found = compile(pattern).map(|regex| regex.is_match(&text));
            assert!(!matches!(found, Ok(Ok(true))), "{pattern}: {found:?}");
        }
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            began.elapsed()
        );
    }
}
