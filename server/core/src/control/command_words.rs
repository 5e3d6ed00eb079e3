//! Files that the text of a shell command names. Splits it into words and emulates nothing else of a shell. Pure.

use std::borrow::Cow;

/// Levels of quotes within one another that are looked into.
const QUOTES: usize = 4;

/// Returns the words of a command as paths: relative to the root with `/`, absolute if they are outside of it.
///
/// `root` and `cwd` are absolute. The part after `=` or `:` counts, too, as in `--file=src/a.rs` and `HEAD:src/a.rs`, and so
/// does one after a variable at the start, as in `$PWD/src/a.rs`. A quoted command inside is split like the whole. The root, and
/// each directory above it, is `.`.
pub fn named_paths(command: &str, root: &str, cwd: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut all = words(command);
    let mut new = all.clone();
    for _ in 0..QUOTES {
        let quoted = new.iter().filter(|word| word.contains(char::is_whitespace));
        new = quoted.flat_map(|word| words(word)).collect();
        all.extend(new.iter().cloned());
    }
    for word in &all {
        let parts = [
            Some(Cow::Borrowed(word.as_str())),
            word.split_once('=').map(|(_, value)| Cow::Borrowed(value)),
            word.split_once(':').map(|(_, path)| Cow::Borrowed(path)),
            after_variable(word),
        ];
        for text in parts.into_iter().flatten() {
            if text.is_empty() {
                continue;
            }
            let path = relative(&text, root, cwd);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

/// `./src/a.rs` for `$PWD/src/a.rs`: the value of the variable is not known.
fn after_variable(word: &str) -> Option<Cow<'_, str>> {
    let name = word.strip_prefix('$')?;
    let (_, rest) = name.split_once('/')?;
    Some(Cow::Owned(format!("./{rest}")))
}

/// Splits a command at blanks and operators. Quotes and backslashes keep a word together.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                // a backslash at the end of a line joins it with the next
                if let Some(c) = chars.next().filter(|c| *c != '\n') {
                    word.get_or_insert_default().push(c);
                }
            }
            // the name of a variable
            (_, '$') if chars.peek() == Some(&'{') => {
                let word = word.get_or_insert_default();
                word.push('$');
                word.extend(chars.by_ref().take_while(|c| *c != '}'));
            }
            (None, c) if c.is_whitespace() || ";|&<>()`{},".contains(c) => {
                words.extend(word.take());
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Returns a path relative to the root, or absolute if it is outside. `.` and `..` are resolved by name.
fn relative(path: &str, root: &str, cwd: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { cwd };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root_parts: Vec<&str> = root.split('/').filter(|part| !part.is_empty()).collect();
    if root_parts.starts_with(&parts) {
        return ".".to_owned();
    }
    match parts.strip_prefix(root_parts.as_slice()) {
        Some(below) => below.join("/"),
        None => format!("/{}", parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command() {
        assert_eq!(words("cat a b"), ["cat", "a", "b"]);
        assert_eq!(
            words("cat 'my file' \"a \\\"b\\\"\""),
            ["cat", "my file", "a \"b\""]
        );
        assert_eq!(
            words("echo x>out;rm -f a&&(cat<in|wc)"),
            ["echo", "x", "out", "rm", "-f", "a", "cat", "in", "wc"]
        );
        assert_eq!(words("a\\ b c\\\nd"), ["a b", "cd"]);
        assert_eq!(words("echo ''"), ["echo", ""]);
        assert_eq!(words("echo 'open"), ["echo", "open"]);
        assert_eq!(words("rm \\"), ["rm"]);
    }

    #[test]
    fn paths_are_relative_to_the_root() {
        let named = |command: &str| named_paths(command, "/srv/app", "/srv/app/src");
        assert_eq!(named("a.rs"), ["src/a.rs"]);
        assert_eq!(named("./a.rs ../b.rs"), ["src/a.rs", "b.rs"]);
        assert_eq!(
            named("/srv/app/c.rs /etc/hosts ../../x"),
            ["c.rs", "/etc/hosts", "/srv/x"]
        );
        assert_eq!(named("/srv/apple"), ["/srv/apple"]);
        assert_eq!(named("--file=a.rs"), ["src/--file=a.rs", "src/a.rs"]);
        assert_eq!(named(".."), ["."], "the root itself");
        assert_eq!(named("../.."), ["."], "above the root");
        assert!(named("bash -c \"sh -c 'rm a.rs'\"").contains(&"src/a.rs".to_owned()));
        assert_eq!(named("../../../../../etc"), ["/etc"]);
        assert_eq!(
            named("rm \"$PWD/a.rs\""),
            ["src/rm", "src/$PWD/a.rs", "src/a.rs"]
        );
        assert!(named("rm ${PWD}/a.rs").contains(&"src/a.rs".to_owned()));
        assert!(named("sh -c 'rm a.rs'").contains(&"src/a.rs".to_owned()));
        assert!(named("git checkout HEAD:./a.rs").contains(&"src/a.rs".to_owned()));
    }
}
