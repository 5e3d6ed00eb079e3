//! Patterns of paths, as `@actions/glob` reads them, and the search for what they match: for `hashFiles`, caches and artifacts.
//! A line has one pattern; `!` excludes, `#` begins a comment. Braces are plain characters, and names that begin with a dot match.

mod pattern;
mod search;
mod segment;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use pattern::{PathMatch, Pattern};
pub(crate) use search::{FollowLinks, SearchRules};
use segment::Segment;

/// Patterns in their order: a later one decides over an earlier one.
#[derive(Debug)]
pub(crate) struct Globs {
    patterns: Vec<Pattern>,
}

/// Result of a search.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// Absolute paths of files and directories, sorted.
    pub paths: Vec<PathBuf>,
    /// Links to directories outside, which were not followed.
    pub outside: Vec<PathBuf>,
}

impl Globs {
    /// Reads patterns; relative ones begin at `directory`. With `has_descendants` a directory stands for all below it.
    pub fn parse(
        text: &str,
        directory: &Path,
        home: &Path,
        has_descendants: bool,
    ) -> io::Result<Globs> {
        let mut patterns = Vec::new();
        for line in text.split('\n').map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let pattern = Pattern::parse(line, directory, home)?;
            let below = pattern.descendants().filter(|_| has_descendants);
            patterns.push(pattern);
            patterns.extend(below);
        }
        Ok(Globs { patterns })
    }

    /// Directories or files at which the search begins; none lies below another.
    pub fn search_paths(&self) -> Vec<PathBuf> {
        let including = || self.patterns.iter().filter(|pattern| !pattern.is_exclusion);
        let all: HashSet<&Path> = including()
            .map(|pattern| pattern.search_path.as_path())
            .collect();
        let mut found: Vec<PathBuf> = Vec::new();
        for pattern in including() {
            let path = &pattern.search_path;
            let is_below = path.ancestors().skip(1).any(|above| all.contains(above));
            if !is_below && !found.contains(path) {
                found.push(path.clone());
            }
        }
        found
    }

    /// Files and directories that match.
    pub fn find(&self, rules: SearchRules<'_>) -> io::Result<Matches> {
        let mut paths = Vec::new();
        let outside = self.search(rules, &mut |path, matched, metadata| {
            let fits = if metadata.is_dir() {
                matched.as_folder
            } else {
                matched.as_file
            };
            if fits {
                paths.push(path.to_owned());
            }
            Ok(())
        })?;
        paths.sort();
        Ok(Matches { paths, outside })
    }

    fn matches(&self, path: &Path) -> PathMatch {
        let mut result = PathMatch::default();
        for pattern in &self.patterns {
            let found = pattern.matches(path);
            if pattern.is_exclusion {
                result.as_folder &= !found.as_folder;
                result.as_file &= !found.as_file;
            } else {
                result.as_folder |= found.as_folder;
                result.as_file |= found.as_file;
            }
        }
        result
    }

    fn may_match_below(&self, path: &Path) -> bool {
        let mut included = self.patterns.iter().filter(|pattern| !pattern.is_exclusion);
        included.any(|pattern| pattern.may_match_below(path))
    }
}

/// True if a whole name matches a pattern, as for the names of artifacts.
pub(crate) fn name_matches(pattern: &str, name: &str) -> bool {
    Segment::parse(pattern).matches(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        for path in paths {
            let file = dir.path().join(path);
            fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
            fs::write(file, path).expect("a file");
        }
        dir
    }

    fn found(dir: &Path, patterns: &str, has_descendants: bool) -> Vec<String> {
        let globs =
            Globs::parse(patterns, dir, Path::new("/none"), has_descendants).expect("patterns");
        let rules = SearchRules {
            follow: FollowLinks::Into(&[dir]),
            ..SearchRules::default()
        };
        let matches = globs.find(rules).expect("a search");
        let below = matches
            .paths
            .iter()
            .map(|path| path.strip_prefix(dir).expect("below"));
        below.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn patterns_match_as_on_github() {
        let dir = tree(&[
            "a.js",
            "b.ts",
            "dist/a.js",
            "dist/sub/b.js",
            "dist/.hidden",
            "{x}",
            "[y",
            "n1",
            "n2",
            "n3",
        ]);
        let of = |patterns: &str| found(dir.path(), patterns, true);
        assert_eq!(of("*.js"), ["a.js"]);
        assert_eq!(of("**/*.js"), ["a.js", "dist/a.js", "dist/sub/b.js"]);
        assert_eq!(
            of("dist"),
            [
                "dist",
                "dist/.hidden",
                "dist/a.js",
                "dist/sub",
                "dist/sub/b.js"
            ]
        );
        assert_eq!(of("dist/**/*.js\n!dist/sub/**"), ["dist/a.js"]);
        assert_eq!(
            of("# no\n\ndist/\n!**/*.js\ndist/a.js"),
            ["dist", "dist/.hidden", "dist/a.js", "dist/sub"]
        );
        assert_eq!(of("./?.ts"), ["b.ts"]);
        assert_eq!(of("n[1-2]\n{x}\n\\[y"), ["[y", "n1", "n2", "{x}"]);
        assert_eq!(of("n[!1-2]"), ["n3"]);
        assert_eq!(of("none\nnone/*\na.js/x"), [""; 0]);
        assert_eq!(found(dir.path(), "dist", false), ["dist"]);
        assert_eq!(found(dir.path(), "**/sub", false), ["dist/sub"]);
        let refused = Globs::parse("dist/../*.ts", dir.path(), Path::new("/none"), true);
        assert!(
            refused
                .expect_err("an error")
                .to_string()
                .contains("'.' and '..'")
        );
        assert!(Globs::parse("!", dir.path(), Path::new("/none"), true).is_err());
    }

    #[test]
    fn searches_begin_before_the_first_wildcard() {
        let paths = |text: &str| {
            Globs::parse(text, Path::new("/w"), Path::new("/h*"), true)
                .expect("patterns")
                .search_paths()
        };
        assert_eq!(paths("a/b/*.js\na/b\n!c/d"), [PathBuf::from("/w/a/b")]);
        assert_eq!(
            paths("a/x\na/y\n~/z"),
            ["/w/a/x", "/w/a/y", "/h*/z"].map(PathBuf::from)
        );
    }

    #[test]
    fn links_are_followed_and_circles_end() {
        let dir = tree(&["real/a", "real/b"]);
        let root = dir.path().canonicalize().expect("a path");
        let link =
            |to: &str, at: &str| std::os::unix::fs::symlink(to, root.join(at)).expect("a link");
        link("real", "link");
        link("..", "real/up");
        link("missing", "broken");
        link("self", "self");
        link("/", "disk");
        let globs = Globs::parse("**", &root, Path::new("/none"), true).expect("patterns");
        let matches = globs
            .find(SearchRules {
                follow: FollowLinks::Into(&[&root]),
                ..SearchRules::default()
            })
            .expect("a search");
        assert!(matches.paths.contains(&root.join("link/a")));
        assert!(!matches.paths.contains(&root.join("broken")));
        assert_eq!(matches.outside, [root.join("disk")]);
    }

    #[test]
    fn hard_patterns_do_not_take_long() {
        let name = "a".repeat(200);
        assert!(!name_matches(&format!("{}b", "a*".repeat(100)), &name));
        let dir = tree(&["a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/x"]);
        assert_eq!(found(dir.path(), &"**/a/".repeat(20), true).len(), 2);
    }
}
