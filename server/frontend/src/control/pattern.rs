//! Patterns of paths as a person types them, made relative to the root.

use std::path::{Path, PathBuf};

use backstitch_control::{fixed_start, literal_glob};

use super::matches::matches_now;

/// Characters that a pattern does not take literally.
const WILDCARDS: [char; 5] = ['*', '?', '[', '{', '\\'];

/// Returns a typed pattern as one for paths relative to the root. One that begins with `./` or `../`, and the plain name of a
/// file that only the directory `cwd` has, are relative to `cwd`. A directory stands for everything below it. A pattern for
/// files outside of the root stays absolute. The name of a file or directory that exists is taken literally, whatever signs it
/// has: `app/[id]/page.tsx`.
pub fn pattern(root: &Path, cwd: &Path, typed: &str) -> String {
    if root.to_str().is_none() {
        return typed.to_owned();
    }
    let exists = |path: PathBuf| path.symlink_metadata().is_ok();
    let is_in_root = exists(root.join(typed));
    let is_literal = !typed.contains(WILDCARDS) || is_in_root || exists(cwd.join(typed));
    let is_here = typed == "."
        || typed == ".."
        || typed.starts_with("./")
        || typed.starts_with("../")
        || is_literal && !is_in_root && exists(cwd.join(typed));
    let whole = if typed.starts_with('/') {
        typed.to_owned()
    } else if is_here {
        format!("{}/{typed}", cwd.display())
    } else {
        format!("{}/{typed}", root.display())
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let absolute = format!("/{}", parts.join("/"));
    let below = below(root, &absolute, is_literal);
    let path = below.as_deref().unwrap_or(&absolute);
    if path.is_empty() {
        return "**".to_owned();
    }
    let mut pattern = if is_literal {
        literal_glob(path)
    } else {
        escaped(root, path)
    };
    let (fixed, is_whole) = fixed_start(&pattern);
    if typed.ends_with('/') || is_whole && root.join(fixed).is_dir() {
        pattern.push_str("/**");
    }
    pattern
}

/// Takes the directories of a pattern literally that exist under their name: `app/[id]/*.tsx`.
fn escaped(root: &Path, path: &str) -> String {
    let mut dir = Some(root.join(if path.starts_with('/') { "/" } else { "" }));
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        dir = dir
            .map(|dir| dir.join(part))
            .filter(|dir| dir.symlink_metadata().is_ok());
        parts.push(match dir {
            Some(_) => literal_glob(part),
            None => part.to_owned(),
        });
    }
    parts.join("/")
}

/// Returns a remark on a pattern for the person who typed it: what it stands for now. None: nothing surprises.
pub fn remark(root: &Path, typed: &str, pattern: &str) -> Option<String> {
    let below = pattern.strip_suffix("/**").unwrap_or(pattern);
    let (path, is_literal) = fixed_start(below);
    let escapes = |text: &str| text.matches('\\').count();
    let is_escaped = is_literal && escapes(below) > escapes(typed);
    if is_escaped && root.join(&path).symlink_metadata().is_ok() {
        return Some(format!(
            "`{path}` exists, so this is taken as its name and not as a pattern."
        ));
    }
    if matches_now(root, below) != Some(false) {
        return None;
    }
    let hint = if has_plain_escape(typed) {
        " A `\\` takes the sign after it literally; `/` stands between directories."
    } else if has_bracket(typed) {
        " `[ab]` is one letter of these; write `\\[` for a bracket."
    } else {
        ""
    };
    Some(format!("No file matches it now.{hint}"))
}

/// True if a pattern has a backslash before a sign that is literal anyway, as in `src\a.rs`.
fn has_plain_escape(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == '\\'
            && chars
                .next()
                .is_some_and(|c| !WILDCARDS.contains(&c) && !"]}".contains(c))
        {
            return true;
        }
    }
    false
}

/// True if a pattern has a bracket that is not literal.
fn has_bracket(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => return true,
            _ => {}
        }
    }
    false
}

/// Returns an absolute pattern relative to the root. None: it is outside of it.
fn below(root: &Path, absolute: &str, is_literal: bool) -> Option<String> {
    let strip = |text: &str| {
        let rest = text.strip_prefix(root.to_str()?)?;
        let is_whole = rest.is_empty() || rest.starts_with('/');
        is_whole.then(|| rest.trim_start_matches('/').to_owned())
    };
    strip(absolute).or_else(|| {
        // the start may be a link
        let fixed = if is_literal {
            absolute
        } else {
            absolute.split(WILDCARDS).next().unwrap_or_default()
        };
        let at = fixed.rfind('/').filter(|at| *at > 0)?;
        let real = super::paths::resolved(Path::new(&absolute[..at]))?;
        strip(&format!("{}{}", real.display(), &absolute[at..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_relative_to_the_root() {
        let dir = tempfile::tempdir().expect("a directory");
        let outer = dir.path().canonicalize().expect("its path");
        let root = outer.join("work");
        std::fs::create_dir_all(root.join("src/auth")).expect("made");
        std::fs::write(root.join("src/auth/k.rs"), "").expect("written");
        std::os::unix::fs::symlink(&root, outer.join("link")).expect("linked");
        let at = |cwd: &str, typed: &str| pattern(&root, &root.join(cwd), typed);
        for same in ["src/**", "**/*.rs", "a.txt", "src/auth/k.rs", "{a,b}/**"] {
            assert_eq!(at("", same), same);
        }
        for dir in [
            "src/auth",
            "src/auth/",
            "./src/auth",
            "src//auth/",
            "src/./auth/",
        ] {
            assert_eq!(at("", dir), "src/auth/**", "{dir}");
        }
        assert_eq!(at("", "auth/"), "auth/**");
        assert_eq!(at("", "."), "**");
        assert_eq!(at("src/auth", "k.rs"), "src/auth/k.rs");
        assert_eq!(at("src/auth", "./*"), "src/auth/*");
        assert_eq!(at("src/auth", "../*.rs"), "src/*.rs");
        assert_eq!(at("", "../work/src/auth/k.rs"), "src/auth/k.rs");
        let typed = |start: &Path, rest: &str| format!("{}/{rest}", start.display());
        assert_eq!(at("", &typed(&root, "src/**")), "src/**");
        assert_eq!(at("", &typed(&outer.join("link"), "src/*.rs")), "src/*.rs");
        assert_eq!(at("", "/etc/hosts"), "/etc/hosts");
        assert_eq!(
            at("", &typed(&outer, "workshop/a")),
            typed(&outer, "workshop/a")
        );
    }

    #[test]
    fn a_file_that_exists_is_taken_literally() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("its path");
        for name in ["app/[id]", "app/(group)", "{x}"] {
            std::fs::create_dir_all(root.join(name)).expect("made");
        }
        for name in ["app/[id]/page.tsx", "app/(group)/a.ts", "{x}/a", "*", "a?"] {
            std::fs::write(root.join(name), "").expect("written");
        }
        let at = |cwd: &str, typed: &str| pattern(&root, &root.join(cwd), typed);
        for (typed, expected) in [
            ("app/[id]/page.tsx", r"app/\[id\]/page.tsx"),
            ("./app/[id]/page.tsx", r"app/\[id\]/page.tsx"),
            ("app/[id]", r"app/\[id\]/**"),
            ("app/[id]/*.tsx", r"app/\[id\]/*.tsx"),
            ("app/[id]/**", r"app/\[id\]/**"),
            ("app/(group)/a.ts", "app/(group)/a.ts"),
            ("{x}/a", r"\{x\}/a"),
            ("*", r"\*"),
            ("a?", r"a\?"),
            ("app/[xyz]/page.tsx", "app/[xyz]/page.tsx"),
            ("**/*.tsx", "**/*.tsx"),
        ] {
            assert_eq!(at("", typed), expected, "{typed}");
        }
        assert_eq!(at("app", "[id]/page.tsx"), r"app/\[id\]/page.tsx");
        let whole = format!("{}/app/[id]/page.tsx", root.display());
        assert_eq!(at("", &whole), r"app/\[id\]/page.tsx");
        let said = |typed: &str| remark(&root, typed, &at("", typed)).unwrap_or_default();
        assert!(said("app/[id]/page.tsx").contains("is taken as its name"));
        assert!(said("app/[xyz]/page.tsx").contains("No file matches it now. `[ab]`"));
        assert!(said("none/**").contains("No file matches it now."));
        let none = said(r"nope/\[id\].tsx");
        assert_eq!(none, "No file matches it now.", "nothing has this name");
        let none = said(r"src\a.rs");
        assert!(none.contains("No file matches it now. A `\\`"), "{none}");
        assert_eq!(said(r"app/\[id\]/page.tsx"), "");
        assert_eq!(at("", r"app/\[id\]"), r"app/\[id\]/**");
        assert_eq!(said(r"app/\[id\]"), "");
        std::fs::write(root.join(r"src\a.rs"), "").expect("written");
        assert_eq!(at("", r"src\a.rs"), r"src\\a.rs");
        assert!(said(r"src\a.rs").contains(r"`src\a.rs` exists"));
        assert_eq!(said("app/**"), "");
    }
}
