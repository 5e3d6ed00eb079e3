//! Path patterns of GitHub's actions, as `@actions/glob` reads them: one per line, `!` excludes, `#` begins a comment. Braces are
//! plain characters, names that begin with a dot match, and links are followed.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

/// Entries that one search looks at. Links to a whole disk end here.
const MAX_VISITS: usize = 2_000_000;

/// Patterns in their order: a later one decides over an earlier one.
#[derive(Debug)]
pub(super) struct Globs {
    patterns: Vec<PathPattern>,
}

#[derive(Debug)]
struct PathPattern {
    is_excluding: bool,
    is_directory_only: bool,
    segments: Vec<PathSegment>,
    /// The directories before the first wildcard.
    search_path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathSegment {
    /// `**`: any number of directories.
    Globstar,
    Name(Vec<NamePart>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum NamePart {
    Byte(u8),
    One,
    Many,
    Class {
        is_negated: bool,
        ranges: Vec<(u8, u8)>,
    },
}

/// Rules of one search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchRules<'a> {
    /// Names that begin with a dot are left out, with all below them.
    pub excludes_hidden: bool,
    /// Directories into which links are followed.
    pub inside: &'a [&'a Path],
}

/// Result of a search.
#[derive(Debug, Default)]
pub(super) struct Matches {
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
        home: &str,
        has_descendants: bool,
    ) -> Result<Globs, String> {
        let mut patterns = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let pattern = PathPattern::parse(line, directory, home)?;
            let last = pattern.segments.last();
            if has_descendants
                && (pattern.is_directory_only || last != Some(&PathSegment::Globstar))
            {
                let mut segments = pattern.segments.clone();
                segments.push(PathSegment::Globstar);
                let search_path = pattern.search_path.clone();
                patterns.push(PathPattern {
                    segments,
                    search_path,
                    is_directory_only: false,
                    ..pattern
                });
            }
            patterns.push(pattern);
        }
        Ok(Globs { patterns })
    }

    /// Directories or files at which the search begins; none lies below another.
    pub fn search_paths(&self) -> Vec<PathBuf> {
        let including = self.patterns.iter().filter(|pattern| !pattern.is_excluding);
        let all: Vec<&PathBuf> = including.map(|pattern| &pattern.search_path).collect();
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in &all {
            let is_below = all
                .iter()
                .any(|other| path != other && path.starts_with(other));
            if !is_below && !paths.contains(path) {
                paths.push((*path).clone());
            }
        }
        paths
    }

    /// Files and directories that match.
    pub fn find(&self, rules: SearchRules<'_>) -> io::Result<Matches> {
        let mut search = Search {
            globs: self,
            rules,
            found: BTreeSet::new(),
            outside: Vec::new(),
            visits: 0,
        };
        for path in self.search_paths() {
            search.visit(&path, &mut Vec::new())?;
        }
        Ok(Matches {
            paths: search.found.into_iter().collect(),
            outside: search.outside,
        })
    }

    fn is_match(&self, path: &Path, is_directory: bool) -> bool {
        let mut is_in = false;
        for pattern in &self.patterns {
            let fits = is_directory || !pattern.is_directory_only;
            if pattern.is_excluding == is_in && fits && pattern.matches(path) {
                is_in = !pattern.is_excluding;
            }
        }
        is_in
    }

    /// True if something below the directory may match.
    fn leads_to_match(&self, path: &Path) -> bool {
        let mut including = self.patterns.iter().filter(|pattern| !pattern.is_excluding);
        including.any(|pattern| pattern.states(path).contains(&true))
    }
}

struct Search<'a> {
    globs: &'a Globs,
    rules: SearchRules<'a>,
    found: BTreeSet<PathBuf>,
    outside: Vec<PathBuf>,
    visits: usize,
}

impl Search<'_> {
    /// Looks at an entry and below it; `above` has the real paths of the directories on the way.
    fn visit(&mut self, path: &Path, above: &mut Vec<PathBuf>) -> io::Result<()> {
        self.visits += 1;
        if self.visits > MAX_VISITS {
            return Err(io::Error::other(format!(
                "more than {MAX_VISITS} files are below the paths"
            )));
        }
        let name = path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
        if self.rules.excludes_hidden && name.starts_with(b".") {
            return Ok(());
        }
        let Some(found) = existing(path)? else {
            return Ok(());
        };
        if self.globs.is_match(path, found.is_dir()) {
            self.found.insert(path.to_owned());
        }
        if !found.is_dir() || !self.globs.leads_to_match(path) {
            return Ok(());
        }
        let real = path.canonicalize()?;
        if above.contains(&real) {
            return Ok(());
        }
        let is_link = fs::symlink_metadata(path)?.is_symlink();
        if is_link && !self.rules.inside.iter().any(|dir| real.starts_with(dir)) {
            self.outside.push(path.to_owned());
            return Ok(());
        }
        above.push(real);
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(|error| named(path, &error))? {
            names.push(entry?.file_name());
        }
        names.sort();
        for name in names {
            self.visit(&path.join(name), above)?;
        }
        above.pop();
        Ok(())
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Metadata of what a path leads to; none for a link that leads nowhere.
fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    let is_circle = |error: &io::Error| error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) if is_circle(&error) => Ok(None),
        Err(error) => Err(named(path, &error)),
    }
}

impl PathPattern {
    fn parse(line: &str, directory: &Path, home: &str) -> Result<PathPattern, String> {
        let excluded = line.strip_prefix('!');
        // further signs turn the meaning back and forth
        let is_excluding = line.len().wrapping_sub(line.trim_start_matches('!').len()) % 2 == 1;
        let text = excluded.map_or(line, |_| line.trim_start_matches('!').trim());
        if text.is_empty() {
            return Err(format!(
                "the path pattern '{line}' is empty: give it a path"
            ));
        }
        let text = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                format!("{}{rest}", escaped(home))
            }
            _ => text.to_owned(),
        };
        let mut segments: Vec<PathSegment> = Vec::new();
        if !text.starts_with('/') {
            segments.extend(literal(directory));
        }
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    segments.pop();
                }
                "**" if segments.last() == Some(&PathSegment::Globstar) => {}
                "**" => segments.push(PathSegment::Globstar),
                name => segments.push(PathSegment::Name(parts(name.as_bytes()))),
            }
        }
        let plain = segments.iter().map_while(PathSegment::literal);
        let mut search_path = PathBuf::from("/");
        search_path.extend(plain.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(&name))));
        Ok(PathPattern {
            is_excluding,
            is_directory_only: text.ends_with('/'),
            segments,
            search_path,
        })
    }

    fn matches(&self, path: &Path) -> bool {
        self.states(path).last() == Some(&true)
    }

    /// Places in the pattern that the path can have come to: one state per segment, and the end.
    fn states(&self, path: &Path) -> Vec<bool> {
        let mut states = vec![false; self.segments.len() + 1];
        states[0] = true;
        self.pass_globstars(&mut states);
        for component in path.components() {
            let Component::Normal(name) = component else {
                continue;
            };
            let mut next = vec![false; states.len()];
            for (place, segment) in self
                .segments
                .iter()
                .enumerate()
                .filter(|(place, _)| states[*place])
            {
                match segment {
                    PathSegment::Globstar => next[place] = true,
                    PathSegment::Name(parts) => next[place + 1] |= is_name(parts, name.as_bytes()),
                }
            }
            self.pass_globstars(&mut next);
            states = next;
        }
        states
    }

    fn pass_globstars(&self, states: &mut [bool]) {
        for (place, segment) in self.segments.iter().enumerate() {
            if states[place] && *segment == PathSegment::Globstar {
                states[place + 1] = true;
            }
        }
    }
}

impl PathSegment {
    fn literal(&self) -> Option<Vec<u8>> {
        let PathSegment::Name(parts) = self else {
            return None;
        };
        let byte = |token: &NamePart| match token {
            NamePart::Byte(byte) => Some(*byte),
            NamePart::One | NamePart::Many | NamePart::Class { .. } => None,
        };
        parts.iter().map(byte).collect()
    }
}

fn literal(directory: &Path) -> impl Iterator<Item = PathSegment> {
    let names = directory
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(
                name.as_bytes()
                    .iter()
                    .copied()
                    .map(NamePart::Byte)
                    .collect(),
            ),
            _ => None,
        });
    names.map(PathSegment::Name)
}

/// A path of which no character is a wildcard.
fn escaped(path: &str) -> String {
    let mut text = String::new();
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// The parts of a name's pattern.
fn parts(name: &[u8]) -> Vec<NamePart> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'\\' if !rest.is_empty() => {
                parts.push(NamePart::Byte(rest[0]));
                rest = &rest[1..];
            }
            b'?' => parts.push(NamePart::One),
            b'*' if parts.last() == Some(&NamePart::Many) => {}
            b'*' => parts.push(NamePart::Many),
            b'[' => match class(rest) {
                Some((token, after)) => {
                    parts.push(token);
                    rest = after;
                }
                None => parts.push(NamePart::Byte(b'[')),
            },
            other => parts.push(NamePart::Byte(*other)),
        }
    }
    parts
}

/// The class behind `[`, and the text after its `]`; none for a bracket that does not close.
fn class(text: &[u8]) -> Option<(NamePart, &[u8])> {
    let is_negated = matches!(text.first(), Some(b'!' | b'^'));
    let body = &text[usize::from(is_negated)..];
    let end = body.iter().skip(1).position(|byte| *byte == b']')? + 1;
    let (mut inner, after) = (&body[..end], &body[end + 1..]);
    let mut ranges = Vec::new();
    while let Some((first, rest)) = inner.split_first() {
        match rest {
            [b'-', last, rest @ ..] => {
                ranges.push((*first, *last));
                inner = rest;
            }
            rest => {
                ranges.push((*first, *first));
                inner = rest;
            }
        }
    }
    Some((NamePart::Class { is_negated, ranges }, after))
}

/// True if a name matches; after a failure only the last `*` takes one more byte, so the work is bounded.
fn is_name(parts: &[NamePart], name: &[u8]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        let fits = match parts.get(token) {
            Some(NamePart::Many) => {
                star = Some((token, at));
                token += 1;
                continue;
            }
            Some(NamePart::One) => true,
            Some(NamePart::Byte(byte)) => *byte == name[at],
            Some(NamePart::Class { is_negated, ranges }) => {
                let is_in = ranges
                    .iter()
                    .any(|(first, last)| (*first..=*last).contains(&name[at]));
                is_in != *is_negated
            }
            None => false,
        };
        match &mut star {
            _ if fits => {
                token += 1;
                at += 1;
            }
            Some((place, from)) => {
                *from += 1;
                (token, at) = (*place + 1, *from);
            }
            None => return false,
        }
    }
    parts[token..].iter().all(|token| *token == NamePart::Many)
}

/// True if a whole name matches a pattern, as for the names of artifacts.
pub(super) fn name_matches(pattern: &str, name: &str) -> bool {
    is_name(&parts(pattern.as_bytes()), name.as_bytes())
}

#[cfg(test)]
mod tests {
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
        let globs = Globs::parse(patterns, dir, "/none", has_descendants).expect("patterns");
        let rules = SearchRules {
            excludes_hidden: false,
            inside: &[dir],
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
        assert_eq!(of("./dist/../?.ts"), ["b.ts"]);
        assert_eq!(of("n[1-2]\n{x}\n\\[y"), ["[y", "n1", "n2", "{x}"]);
        assert_eq!(of("n[!1-2]"), ["n3"]);
        assert_eq!(of("none\nnone/*\na.js/x"), [""; 0]);
        assert_eq!(found(dir.path(), "dist", false), ["dist"]);
        assert_eq!(found(dir.path(), "**/sub", false), ["dist/sub"]);
        assert!(Globs::parse("!", dir.path(), "/none", true).is_err());
    }

    #[test]
    fn searches_begin_before_the_first_wildcard() {
        let paths = |text: &str| {
            Globs::parse(text, Path::new("/w"), "/h*", true)
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
        let globs = Globs::parse("**", &root, "/none", true).expect("patterns");
        let matches = globs
            .find(SearchRules {
                excludes_hidden: false,
                inside: &[&root],
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
