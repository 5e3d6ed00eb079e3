//! The line that a shell completes: its words as the command would get them, without the shell's quotes. Pure.

use std::path::Path;

/// The quotes in which a text ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quote {
    #[default]
    None,
    Single,
    Double,
}

/// Shells that write quotes in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// bash and zsh.
    Posix,
    Fish,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedWord {
    /// The word as it is typed.
    pub raw: String,
    /// The word as the command gets it.
    pub text: String,
    /// The quotes that are open at its end.
    pub quote: Quote,
}

impl TypedWord {
    /// Reads one typed word. An open quote or a last backslash is not an error.
    pub fn read(raw: &str, syntax: Syntax) -> Self {
        let mut word = Self::default();
        let mut chars = raw.chars();
        while let Some(c) = chars.next() {
            word.add(c, &mut chars, syntax);
        }
        word
    }

    fn add(&mut self, c: char, rest: &mut std::str::Chars<'_>, syntax: Syntax) {
        self.raw.push(c);
        let next = rest.clone().next();
        let is_escape = c == '\\'
            && match self.quote {
                Quote::None => true,
                Quote::Single => syntax == Syntax::Fish && matches!(next, Some('\'' | '\\')),
                Quote::Double => matches!(next, Some('"' | '\\' | '$' | '`' | '\n')),
            };
        match (self.quote, c) {
            _ if is_escape => {
                if let Some(next) = rest.next() {
                    self.raw.push(next);
                    if next != '\n' {
                        self.text.push(next);
                    }
                }
            }
            (Quote::None, '\'') => self.quote = Quote::Single,
            (Quote::None, '"') => self.quote = Quote::Double,
            (Quote::Single, '\'') | (Quote::Double, '"') => self.quote = Quote::None,
            _ => self.text.push(c),
        }
    }

    /// Returns the word with the home directory in place of `~`, which the shell replaces before it runs the line.
    pub fn expanded(self, home: Option<&Path>) -> String {
        match (self.raw.strip_prefix("~/"), home) {
            (Some(_), Some(home)) => {
                let rest = self.text.trim_start_matches("~/");
                home.join(rest).to_string_lossy().into_owned()
            }
            _ => self.text,
        }
    }
}

/// Splits a line into its words. The last one is the word at its end, which is empty after a blank.
pub fn split(line: &str) -> Vec<TypedWord> {
    let mut done = Vec::new();
    let mut word = TypedWord::default();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if word.quote != Quote::None || !c.is_ascii_whitespace() {
            word.add(c, &mut chars, Syntax::Posix);
        } else if !word.raw.is_empty() {
            done.push(std::mem::take(&mut word));
        }
    }
    done.push(word);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<String> {
        split(line).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn a_line_is_split_as_a_shell_does() {
        assert_eq!(texts("a  b "), ["a", "b", ""]);
        assert_eq!(
            texts(r#"a\ b "c d"'e f' x:y=z"#),
            ["a b", "c de f", "x:y=z"]
        );
        assert_eq!(texts(r#"'it'\''s' "a\"b\c""#), ["it's", r#"a"b\c"#]);
        assert_eq!(texts("'' b"), ["", "b"]);
        assert_eq!(texts(r"a\"), ["a"]);
    }

    #[test]
    fn an_open_quote_is_kept() {
        let last = |line: &str| split(line).pop().expect("a word");
        let open = last("a 'b c");
        assert_eq!((open.text.as_str(), open.quote), ("b c", Quote::Single));
        let open = last("a x\"b c");
        assert_eq!((open.text.as_str(), open.quote), ("xb c", Quote::Double));
        assert_eq!(last("a 'b' ").quote, Quote::None);
    }

    #[test]
    fn fish_escapes_in_single_quotes() {
        let text = |syntax| TypedWord::read(r"'it\'s", syntax).text;
        assert_eq!(text(Syntax::Fish), "it's");
        assert_eq!(text(Syntax::Posix), r"it\s");
    }

    #[test]
    fn a_home_directory_is_replaced() {
        let home = Some(Path::new("/home/me"));
        let expanded = |raw: &str| TypedWord::read(raw, Syntax::Posix).expanded(home);
        assert_eq!(expanded("~/a\\ b"), "/home/me/a b");
        assert_eq!(expanded("'~/a'"), "~/a");
    }
}
