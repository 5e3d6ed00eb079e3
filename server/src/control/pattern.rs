//! Patterns of paths as a person types them, made relative to the root.

use std::path::Path;

/// Characters that a pattern does not take literally.
const WILDCARDS: [char; 5] = ['*', '?', '[', '{', '\\'];

/// Returns a typed pattern as one for paths relative to the root. One that begins with `./` or `../`, and the plain name of a
/// file that only the directory `cwd` has, are relative to `cwd`. A directory stands for everything below it. A pattern for
/// files outside of the root stays absolute.
pub fn pattern(root: &Path, cwd: &Path, typed: &str) -> String {
    if root.to_str().is_none() {
        return typed.to_owned();
    }
    let is_plain = !typed.contains(WILDCARDS);
    let is_here = typed == "."
        || typed == ".."
        || typed.starts_with("./")
        || typed.starts_with("../")
        || is_plain && !root.join(typed).exists() && cwd.join(typed).exists();
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
    let mut pattern = below(root, &absolute).unwrap_or_else(|| absolute.clone());
    if pattern.is_empty() {
        return "**".to_owned();
    }
    if typed.ends_with('/') || is_plain && Path::new(&absolute).is_dir() {
        pattern.push_str("/**");
    }
    pattern
}

/// Returns an absolute pattern relative to the root. None: it is outside of it.
fn below(root: &Path, absolute: &str) -> Option<String> {
    let strip = |text: &str| {
        let rest = text.strip_prefix(root.to_str()?)?;
        let is_whole = rest.is_empty() || rest.starts_with('/');
        is_whole.then(|| rest.trim_start_matches('/').to_owned())
    };
    strip(absolute).or_else(|| {
        // the start may be a link
        let fixed = absolute.split(WILDCARDS).next().unwrap_or_default();
        let at = fixed.rfind('/').filter(|at| *at > 0)?;
        let real = super::lookup::resolved(Path::new(&absolute[..at]))?;
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
}
