//! The text that `echo` and `printf` print. Pure.

use std::iter::Peekable;
use std::str::Chars;

/// Longest text that is printed.
const MAX_TEXT: usize = 64 << 10;

/// True for a program that prints its arguments and does nothing else with them.
pub(super) fn is_printer(name: &str) -> bool {
    ["echo", "printf"].contains(&name)
}

/// Returns the text that a program prints. None: it is another program.
pub(super) fn printed(name: &str, arguments: &[String]) -> Option<String> {
    match name {
        "printf" => {
            let arguments = match arguments {
                [first, rest @ ..] if first == "--" => rest,
                all => all,
            };
            let (format, values) = arguments.split_first()?;
            Some(formatted(format, values))
        }
        "echo" | "print" => {
            let is_option = |word: &&String| {
                word.strip_prefix('-').is_some_and(|letters| {
                    !letters.is_empty() && letters.chars().all(|c| "neEr".contains(c))
                })
            };
            let options = arguments.iter().take_while(is_option).count();
            Some(unescaped(&arguments[options..].join(" ")))
        }
        _ => None,
    }
}

/// A format with its values, repeated while there are more.
fn formatted(format: &str, values: &[String]) -> String {
    let mut text = String::new();
    let mut values = values.iter();
    loop {
        let before = values.len();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            let directive = chars
                .by_ref()
                .find(|c| c.is_ascii_alphabetic() || *c == '%');
            match directive {
                Some('%') => text.push('%'),
                Some(_) => text.push_str(values.next().map_or("", String::as_str)),
                None => {}
            }
        }
        if values.len() == 0 || values.len() == before || text.len() > MAX_TEXT {
            return unescaped(&text);
        }
    }
}

/// A text whose escapes have their meaning.
fn unescaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            all.push(c);
            continue;
        }
        let first = code(&mut chars, 8, 4);
        if first != '\0' {
            all.push(first);
            continue;
        }
        match chars.next() {
            Some('n') => all.push('\n'),
            Some('t') => all.push('\t'),
            Some('x') => all.push(code(&mut chars, 16, 2)),
            // the shell that reads the text takes the others
            Some(c) => all.extend(['\\', c]),
            None => all.push('\\'),
        }
    }
    all
}

fn code(chars: &mut Peekable<Chars<'_>>, radix: u32, digits: usize) -> char {
    let mut value = 0;
    for _ in 0..digits {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        value = value * radix + digit;
        chars.next();
    }
    char::from_u32(value).unwrap_or('\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_printed() {
        let text = |words: &str| {
            let words: Vec<String> = words.split('|').map(str::to_owned).collect();
            printed(&words[0], &words[1..])
        };
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(text("echo|a|b c"), is("a b c"));
        assert_eq!(text("echo|-ne|a\\nb"), is("a\nb"));
        assert_eq!(text("printf|%s|a b"), is("a b"));
        assert_eq!(text("printf|%s %s\\n|a|b|c|d"), is("a b\nc d\n"));
        assert_eq!(text("printf|%-5.2f%%|a"), is("a%"));
        assert_eq!(text("printf|--|\\x72\\155 a\\$"), is("rm a\\$"));
        assert_eq!(text("printf|a|b"), is("a"));
        assert_eq!(text("cat|a"), None);
    }
}
