//! Patterns of files, as `@actions/glob` reads them.

use std::io;
use std::path::{Path, PathBuf};

use super::segment::Segment;

/// A pattern of absolute paths.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub is_exclusion: bool,
    /// True for a pattern that ends with `/`, and matches folders alone.
    only_folders: bool,
    /// True for a pattern that matches what is below another pattern's matches.
    is_implicit: bool,
    segments: Vec<Segment>,
    /// The folder below which all matches are.
    pub search_path: PathBuf,
}

/// Matches of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathMatch {
    pub as_folder: bool,
    pub as_file: bool,
}

impl Pattern {
    /// The pattern of a line. A relative one begins at the directory.
    pub fn parse(line: &str, directory: &Path, home: &Path) -> io::Result<Pattern> {
        let mut text = line.trim();
        let mut is_exclusion = false;
        while let Some(rest) = text.strip_prefix('!') {
            is_exclusion = !is_exclusion;
            text = rest.trim();
        }
        if text.is_empty() {
            return Err(invalid("pattern cannot be empty".into()));
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        let is_rooted = text.starts_with('/');
        let is_dots = |(place, part): (usize, &&str)| {
            let literal = literal(part);
            literal == ".." || (literal == "." && (place > 0 || is_rooted))
        };
        if parts.iter().enumerate().any(is_dots) {
            return Err(invalid(format!(
                "Invalid pattern '{text}'. Relative pathing '.' and '..' is not allowed."
            )));
        }
        let (base, parts) = match parts.split_first() {
            _ if is_rooted => (PathBuf::from("/"), &*parts),
            Some((&".", rest)) => (directory.to_owned(), rest),
            Some((&"~", rest)) => (home.to_owned(), rest),
            _ => (directory.to_owned(), &*parts),
        };
        let mut segments: Vec<Segment> = names(&base).map(Segment::Literal).collect();
        let mut search_path = base;
        let mut is_literal = true;
        for part in parts {
            let segment = Segment::parse(part);
            let name = literal(part);
            is_literal &= !name.is_empty();
            if is_literal {
                search_path.push(name);
            }
            if segment != Segment::Globstar || segments.last() != Some(&segment) {
                segments.push(segment);
            }
        }
        Ok(Pattern {
            is_exclusion,
            only_folders: text.ends_with('/') && text != "/",
            is_implicit: false,
            segments,
            search_path,
        })
    }

    /// The pattern of all that is below the matches; none if the pattern has it.
    pub fn descendants(&self) -> Option<Pattern> {
        if self.ends_with_globstar() && !self.only_folders {
            return None;
        }
        let mut below = self.clone();
        below.only_folders = false;
        below.is_implicit = true;
        if !self.ends_with_globstar() {
            below.segments.push(Segment::Globstar);
        }
        Some(below)
    }

    pub fn matches(&self, path: &Path) -> PathMatch {
        let names: Vec<String> = names(path).collect();
        // `a/**` matches the folder `a`, unless the pattern is an implicit one
        let with_end = self.ends_with_globstar() && !self.is_implicit;
        let is_match = matches_all(&self.segments, &names, with_end);
        PathMatch {
            as_folder: is_match,
            as_file: is_match && !self.only_folders,
        }
    }

    /// True if the pattern may match something below a folder.
    pub fn may_match_below(&self, folder: &Path) -> bool {
        let head = self
            .segments
            .split(|segment| *segment == Segment::Globstar)
            .next();
        let head = head.unwrap_or_default();
        let has_globstar = head.len() < self.segments.len();
        let mut place = 0;
        for name in names(folder) {
            match head.get(place) {
                Some(segment) if segment.matches(&name) => place += 1,
                Some(_) => return false,
                None => return has_globstar,
            }
        }
        true
    }

    fn ends_with_globstar(&self) -> bool {
        self.segments.last() == Some(&Segment::Globstar)
    }
}

/// Matches names with segments. With `with_end`, a last `**` also matches nothing at all.
fn matches_all(segments: &[Segment], names: &[String], with_end: bool) -> bool {
    let mut sections = segments.split(|segment| *segment == Segment::Globstar);
    let head = sections.next().unwrap_or_default();
    let Some(tail) = sections.next_back() else {
        return head.len() == names.len() && matches_at(head, names);
    };
    if head.len() + tail.len() > names.len() || !matches_at(head, names) {
        return false;
    }
    let (body, end) = names[head.len()..].split_at(names.len() - head.len() - tail.len());
    if !matches_at(tail, end) {
        return false;
    }
    let mut rest = body;
    for section in sections {
        let Some(place) = rest
            .windows(section.len())
            .position(|window| matches_at(section, window))
        else {
            return false;
        };
        rest = &rest[place + section.len()..];
    }
    with_end || !tail.is_empty() || !rest.is_empty()
}

fn matches_at(segments: &[Segment], names: &[String]) -> bool {
    segments
        .iter()
        .zip(names)
        .all(|(segment, name)| segment.matches(name))
}

fn names(path: &Path) -> impl Iterator<Item = String> {
    path.iter()
        .skip(1)
        .map(|name| name.to_string_lossy().into_owned())
}

/// The name that a segment stands for; empty if it stands for several.
fn literal(segment: &str) -> String {
    let characters: Vec<char> = segment.chars().collect();
    let mut literal = String::new();
    let mut place = 0;
    while let Some(&next) = characters.get(place) {
        place += 1;
        match next {
            '\\' if place < characters.len() => {
                literal.push(characters[place]);
                place += 1;
            }
            '*' | '?' => return String::new(),
            '[' if place < characters.len() => match literal_set(&characters[place..]) {
                Some((set, length)) if set.len() == 1 => {
                    literal.extend(set);
                    place += length;
                }
                Some((set, _)) if set.len() > 1 => return String::new(),
                _ => literal.push(next),
            },
            _ => literal.push(next),
        }
    }
    literal
}

/// Characters of a set after its `[`, and its length.
fn literal_set(text: &[char]) -> Option<(Vec<char>, usize)> {
    let mut set = Vec::new();
    let mut place = 0;
    while let Some(&next) = text.get(place) {
        place += 1;
        match next {
            '\\' if place < text.len() => {
                set.push(text[place]);
                place += 1;
            }
            ']' => return Some((set, place)),
            _ => set.push(next),
        }
    }
    None
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
