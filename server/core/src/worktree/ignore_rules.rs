//! Ignore rules: .gitignore files, `.git/info/exclude` and git's global excludes, by git's rules, plus the patterns
//! of the settings.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::config::{MAX_FILE, Sources};
use crate::model::{ContentId, RelPath, bytes_path};
use crate::vcs::VcsFiles;
use crate::worktree::disk::Root;

pub(crate) const FILE: &[u8] = b".gitignore";

/// True for a file that an editor keeps beside an open one: a lock link of Emacs, or a swap file of Vim. A stale one does harm if
/// it comes back. The weakest rule: a .gitignore may include such files.
pub(crate) fn is_editor_file(path: &[u8]) -> bool {
    let name = file_name(path);
    let is_swap = |(letter, rest): (&u8, &[u8])| {
        name.starts_with(b".") && rest.ends_with(b".sw") && (b'a'..=b'p').contains(letter)
    };
    name.starts_with(b".#") || name.split_last().is_some_and(is_swap)
}

/// The rules in force in one directory: its own, then those of the directories above.
#[derive(Debug)]
pub(crate) struct Rules {
    own: Option<Gitignore>,
    /// Relative to the root; empty for the root itself.
    dir: Vec<u8>,
    above: Option<Arc<Rules>>,
    /// The same in every directory.
    settings: Option<Arc<Patterns>>,
    inside: Entered,
}

/// State of an entered directory; applies to everything in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entered {
    /// True if .gitignore files ignore it.
    ignored: bool,
    /// True if the settings include it nevertheless.
    included: bool,
}

impl Entered {
    fn hidden(self) -> bool {
        self.ignored && !self.included
    }
}

/// Exclude patterns of the settings, relative to the root.
#[derive(Debug)]
pub(crate) struct ExcludePatterns(Gitignore);

impl ExcludePatterns {
    /// None if there are no patterns.
    pub(crate) fn of(patterns: &[String]) -> Option<Self> {
        parse_lines(patterns.iter().map(String::as_str)).map(Self)
    }

    /// True if the patterns exclude a path whose directories are not excluded. A .gitignore always counts and is
    /// recorded: otherwise the paths that it ignored would be unknown later.
    fn has(&self, path: &[u8], is_dir: bool) -> bool {
        matched(Some(&self.0), path, is_dir) == Some(true) && (is_dir || file_name(path) != FILE)
    }

    pub(crate) fn holds(&self, path: &RelPath) -> bool {
        let path = path.bytes();
        let mut slashes = (0..path.len()).filter(|at| path[*at] == b'/');
        slashes.any(|end| self.has(&path[..end], true)) || self.has(path, false)
    }
}

/// The patterns of the settings, relative to the root.
#[derive(Debug)]
struct Patterns {
    exclude: Option<ExcludePatterns>,
    include: Option<Gitignore>,
    /// Directories that may contain included paths.
    leading_dirs: Option<Gitignore>,
}

impl Patterns {
    /// None if no pattern is set.
    fn of(excludes: &Excludes) -> Option<Arc<Self>> {
        let Excludes {
            exclude, include, ..
        } = excludes;
        if exclude.is_empty() && include.is_empty() {
            return None;
        }
        let leading: Vec<String> = include
            .iter()
            .flat_map(|pattern| leading_dirs(pattern))
            .collect();
        Some(Arc::new(Self {
            exclude: ExcludePatterns::of(exclude),
            include: parse_lines(include.iter().map(String::as_str)),
            leading_dirs: parse_lines(leading.iter().map(String::as_str)),
        }))
    }
}

/// Returns, as patterns, the directories that lead to paths of an include pattern. A pattern without a slash yields
/// none: otherwise every ignored directory would have to be searched.
fn leading_dirs(pattern: &str) -> Vec<String> {
    let path = pattern.trim_end().trim_end_matches('/');
    if path.starts_with('!') || !path.contains('/') {
        return Vec::new();
    }
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let mut dirs = Vec::new();
    for end in 1..parts.len() {
        dirs.push(format!("/{}/", parts[..end].join("/")));
        if parts[end - 1] == "**" {
            // any depth from here on
            break;
        }
    }
    dirs
}

/// True if the last matching pattern is not a negation. None: no pattern matches.
fn matched(patterns: Option<&Gitignore>, path: &[u8], is_dir: bool) -> Option<bool> {
    match patterns?.matched(bytes_path(path), is_dir) {
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
        Match::None => None,
    }
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}

impl Rules {
    /// Returns the rules that apply everywhere. Git's global excludes are weaker than `.git/info/exclude`; the
    /// settings are the strongest.
    pub(crate) fn base(excludes: &Excludes) -> Arc<Self> {
        let settings = Patterns::of(excludes);
        let level = |text: &str, above| {
            Arc::new(Self {
                own: parse(text),
                dir: Vec::new(),
                above,
                settings: settings.clone(),
                inside: Entered::default(),
            })
        };
        let global = level(&excludes.global, None);
        level(&excludes.info, Some(global))
    }

    /// Returns the rules inside `dir`, which has this .gitignore.
    pub(crate) fn below(self: &Arc<Self>, dir: &[u8], text: Option<&[u8]>) -> Arc<Self> {
        match text.and_then(parse_bytes) {
            Some(own) => Arc::new(Self {
                own: Some(own),
                dir: dir.to_vec(),
                above: Some(Arc::clone(self)),
                settings: self.settings.clone(),
                inside: self.inside,
            }),
            None => Arc::clone(self),
        }
    }

    /// True if a file directly in this directory is hidden.
    pub(crate) fn hides(&self, path: &[u8]) -> bool {
        self.state_of(path, false).is_none_or(Entered::hidden)
    }

    /// Returns the rules for entering a directory directly in this one. None: nothing in it is visible.
    pub(crate) fn enter(self: &Arc<Self>, dir: &[u8]) -> Option<Arc<Self>> {
        let inside = self.state_of(dir, true)?;
        let leads = || {
            let patterns = self.settings.as_ref().and_then(|s| s.leading_dirs.as_ref());
            matched(patterns, dir, true) == Some(true)
        };
        if inside.hidden() && !leads() {
            return None;
        }
        if inside == self.inside {
            return Some(Arc::clone(self));
        }
        Some(Arc::new(Self {
            own: None,
            dir: self.dir.clone(),
            above: Some(Arc::clone(self)),
            settings: self.settings.clone(),
            inside,
        }))
    }

    /// True if this directory is entered only for paths that may be included.
    pub(crate) fn is_way(&self) -> bool {
        self.inside.hidden()
    }

    /// Returns the state of a path directly in this directory. None: the settings exclude it.
    fn state_of(&self, path: &[u8], is_dir: bool) -> Option<Entered> {
        let Some(settings) = &self.settings else {
            return Some(Entered {
                ignored: self.ignores(path, is_dir),
                included: false,
            });
        };
        let exclude = settings.exclude.as_ref();
        if exclude.is_some_and(|exclude| exclude.has(path, is_dir)) {
            return None;
        }
        let include = matched(settings.include.as_ref(), path, is_dir);
        Some(Entered {
            ignored: self.inside.ignored || self.ignores(path, is_dir),
            included: include.unwrap_or(self.inside.included),
        })
    }

    /// True if git would ignore a path directly in this directory. The directory itself is not ignored.
    fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        let mut rules = Some(self);
        while let Some(at) = rules {
            let rel = path.strip_prefix(at.dir.as_slice()).unwrap_or(path);
            let rel = rel.strip_prefix(b"/").unwrap_or(rel);
            if let Some(ignored) = matched(at.own.as_ref(), rel, is_dir) {
                return ignored;
            }
            rules = at.above.as_deref();
        }
        !is_dir && is_editor_file(path)
    }
}

/// True if `path` was hidden by the rules that `text` returns for each directory.
pub(crate) fn was_ignored(
    base: &Arc<Rules>,
    path: &RelPath,
    text: &mut dyn FnMut(&RelPath) -> Option<Vec<u8>>,
) -> bool {
    let (dir, _) = path.split();
    match down_to(base, dir, text) {
        Some(above) => own(&above, dir, text).hides(path.bytes()),
        None => true,
    }
}

/// Returns the rules of the directories above `dir`, without its own. None: it is ignored.
pub(crate) fn down_to(
    base: &Arc<Rules>,
    dir: &[u8],
    text: &mut dyn FnMut(&RelPath) -> Option<Vec<u8>>,
) -> Option<Arc<Rules>> {
    let mut rules = Arc::clone(base);
    let mut above: &[u8] = b"";
    let slashes = (0..dir.len()).filter(|at| dir[*at] == b'/');
    for end in slashes.chain([dir.len()]).filter(|end| *end > 0) {
        rules = own(&rules, above, text).enter(&dir[..end])?;
        above = &dir[..end];
    }
    Some(rules)
}

/// Returns the rules inside a directory, given those above it.
pub(crate) fn own(
    above: &Arc<Rules>,
    dir: &[u8],
    text: &mut dyn FnMut(&RelPath) -> Option<Vec<u8>>,
) -> Arc<Rules> {
    let file = if dir.is_empty() {
        FILE.to_vec()
    } else {
        [dir, b"/", FILE].concat()
    };
    let own = RelPath::new(file).and_then(|path| text(&path));
    above.below(dir, own.as_deref())
}

/// Rules from outside the tree. Stored with the scan, to tell later which paths were hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Excludes {
    pub global: String,
    pub info: String,
    /// Exclude patterns of the settings, and of Backstitch's own files in the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Size limit of captured contents in bytes, if it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// .gitignore files whose row changed after the scan (by a reported edit or a restore), each with the content
    /// that the scan used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<(Vec<u8>, Option<[u8; 32]>)>,
}

impl Excludes {
    /// Returns the content of a .gitignore that the scan used; `recorded` is the current content.
    pub(crate) fn content_at_scan(
        &self,
        file: &RelPath,
        recorded: impl FnOnce() -> Option<ContentId>,
    ) -> Option<ContentId> {
        match self.moved.iter().find(|(path, _)| path == file.bytes()) {
            Some((_, content)) => content.map(ContentId),
            None => recorded(),
        }
    }

    /// Contents of .gitignore files that only these rules still name.
    pub(crate) fn contents(&self) -> impl Iterator<Item = ContentId> + '_ {
        self.moved
            .iter()
            .filter_map(|(_, content)| content.map(ContentId))
    }

    pub(crate) fn note(&mut self, file: &RelPath, content: Option<ContentId>) {
        if !self.moved.iter().any(|(path, _)| path == file.bytes()) {
            self.moved
                .push((file.bytes().to_vec(), content.map(|c| c.0)));
        }
    }

    /// Reads the current rules of `tree`, whose settings are in these sources.
    pub(crate) fn read(tree: &Path, sources: &Sources) -> Self {
        let config = sources.now();
        let text = |p: Option<PathBuf>| {
            p.and_then(|p| crate::system::read_small(&p, true))
                .unwrap_or_default()
        };
        let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if sources.vcs() == VcsFiles::Recorded {
            // all files are included, so no rule of git hides one
            return Self {
                include: config.include(),
                limit: Some(config.max_file_size()),
                ..Self::default()
            };
        }
        Self {
            global: lossy(text(ignore::gitignore::gitconfig_excludes_path())),
            info: lossy(text(
                crate::git::common_dir(tree).map(|d| d.join("info/exclude")),
            )),
            exclude: sources.exclude(&config),
            include: config.include(),
            limit: Some(config.max_file_size()).filter(|limit| *limit != MAX_FILE),
            moved: Vec::new(),
        }
    }
}

fn parse(text: &str) -> Option<Gitignore> {
    parse_bytes(text.as_bytes())
}

fn parse_bytes(text: &[u8]) -> Option<Gitignore> {
    // as git, skips a byte order mark
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    parse_lines(String::from_utf8_lossy(text).lines())
}

fn parse_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(".");
    for line in lines {
        // a negation of nothing is not a rule to git, and one of everything to the library
        if matches!(line.trim_end_matches(' '), "!" | "/" | "!/") {
            continue;
        }
        // invalid lines are skipped, as git does
        builder.add_line(None, &as_library_pattern(line)).ok();
    }
    builder.build().ok().filter(|g| !g.is_empty())
}

/// Writes a rule as the library understands it: a tab at the end belongs to the pattern, and a bracket may name a class of
/// characters.
fn as_library_pattern(line: &str) -> Cow<'_, str> {
    let blanks = line.len() - line.trim_end_matches([' ', '\t']).len();
    let ends_with_tab = line[line.len() - blanks..].contains('\t');
    if !ends_with_tab && !line.contains("[:") {
        return Cow::Borrowed(line);
    }
    let mut text = line.to_owned();
    if ends_with_tab {
        // git cuts off blanks alone, up to the last tab
        text = text.trim_end_matches(' ').to_owned();
        if text.ends_with('\t') {
            text.pop();
            text.push_str("[\t]");
        }
    }
    for (class, members) in CLASSES {
        text = text.replace(class, members);
    }
    Cow::Owned(text)
}

/// The classes of characters of `fnmatch`, as members of a bracket.
const CLASSES: [(&str, &str); 11] = [
    ("[:alnum:]", "a-zA-Z0-9"),
    ("[:alpha:]", "a-zA-Z"),
    ("[:blank:]", " \t"),
    ("[:cntrl:]", "\u{1}-\u{1f}\u{7f}"),
    ("[:digit:]", "0-9"),
    ("[:graph:]", "!-~"),
    ("[:lower:]", "a-z"),
    ("[:print:]", " -~"),
    ("[:space:]", " \t\n\u{b}\u{c}\r"),
    ("[:upper:]", "A-Z"),
    ("[:xdigit:]", "0-9a-fA-F"),
];

impl Root {
    pub(crate) fn excludes(&self) -> Excludes {
        let excludes = Excludes::read(&self.path, &self.sources);
        let limit = excludes.limit.unwrap_or(MAX_FILE);
        self.limit.store(limit, Ordering::Relaxed);
        excludes
    }

    /// Returns the exclude patterns of the settings. None: there are none.
    pub(crate) fn excluding(&self) -> Option<ExcludePatterns> {
        ExcludePatterns::of(&self.sources.exclude(&self.settings()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(s: &str) -> RelPath {
        RelPath::new(s).expect("a plain path")
    }

    #[test]
    fn inner_rules_win_and_directories_hide_their_content() {
        let base = Rules::base(&Excludes {
            global: "*.swp\n".into(),
            info: "private\n".into(),
            ..Excludes::default()
        });
        let root = base.below(b"", Some(b"*.log\n/build/\n"));
        let sub = root.below(b"sub", Some(b"!keep.log\n"));
        assert!(root.hides(b"a.log"));
        assert!(root.enter(b"build").is_none());
        assert!(!root.hides(b"build"), "a file is no directory");
        assert!(sub.hides(b"sub/a.log"));
        assert!(!sub.hides(b"sub/keep.log"));
        assert!(sub.enter(b"sub/build").is_some(), "anchored at the root");
        assert!(root.hides(b"x.swp") && root.hides(b"private"));
    }

    /// Returns the visible paths of these, as a walk sees them.
    fn visible(excludes: &Excludes, gitignore: &str, paths: &[&str]) -> Vec<String> {
        let base = Rules::base(excludes);
        let mut text =
            |p: &RelPath| (p.bytes() == b".gitignore").then(|| gitignore.as_bytes().to_vec());
        let paths = paths.iter().copied().map(path);
        let visible = paths.filter(|path| !was_ignored(&base, path, &mut text));
        visible.map(|path| path.display()).collect()
    }

    fn set(exclude: &[&str], include: &[&str]) -> Excludes {
        let texts = |all: &[&str]| all.iter().map(|p| (*p).to_owned()).collect();
        Excludes {
            exclude: texts(exclude),
            include: texts(include),
            ..Excludes::default()
        }
    }

    #[test]
    fn files_of_editors_are_hidden_unless_a_rule_includes_them() {
        let rules = Rules::base(&Excludes::default());
        for path in [".#a.rs", "src/.#a.rs", ".a.rs.swp", "src/.swo"] {
            assert!(rules.hides(path.as_bytes()), "{path}");
        }
        for path in ["#a.rs#", "a.swp", ".a.swz", "4913", "a~", ".swift"] {
            assert!(!rules.hides(path.as_bytes()), "{path}");
        }
        assert!(rules.enter(b".#a").is_some());
        assert!(!rules.below(b"", Some(b"!.#a\n")).hides(b".#a"));
    }

    #[test]
    fn odd_lines_mean_what_they_mean_to_git() {
        let hidden = |gitignore: &[u8], path: &str| {
            let rules = Rules::base(&Excludes::default()).below(b"", Some(gitignore));
            rules.hides(path.as_bytes())
        };
        // a byte order mark belongs to no rule
        assert!(hidden(b"\xef\xbb\xbfa.log\nb.log\n", "a.log"));
        // a negation of nothing undoes nothing
        for line in ["!", "!/", "! ", "/"] {
            assert!(
                hidden(format!("a.log\n{line}\n").as_bytes(), "a.log"),
                "{line:?}"
            );
        }
        assert!(!hidden(b"a.log\n!", "b.log"));
        // a tab at the end is a part of the name, blanks are not
        assert!(!hidden(b"a.log\t\n", "a.log"));
        assert!(hidden(b"a.log\t\n", "a.log\t"));
        assert!(hidden(b"a.log  \n", "a.log"));
        for (rule, yes, no) in [
            ("[[:alpha:]].x", "b.x", "1.x"),
            ("[[:digit:]_].x", "_.x", "a.x"),
            ("[![:upper:]].x", "a.x", "A.x"),
            ("f[[:xdigit:]]", "fF", "fg"),
        ] {
            assert!(hidden(rule.as_bytes(), yes), "{rule} {yes}");
            assert!(!hidden(rule.as_bytes(), no), "{rule} {no}");
        }
    }

    #[test]
    fn exclude_patterns_win_over_gitignore() {
        let excludes = set(&["*.log", "!keep.log", "/data/"], &["data/x", "a.log"]);
        let paths = [
            "a.log",
            "keep.log",
            "data/x",
            "sub/data/x",
            ".gitignore",
            "data",
        ];
        assert_eq!(
            visible(&excludes, "!a.log\n", &paths),
            ["keep.log", "sub/data/x", ".gitignore", "data"]
        );
        assert_eq!(
            visible(&set(&["*"], &[]), "", &["a", ".gitignore", "d/.gitignore"]),
            [".gitignore"]
        );
    }

    #[test]
    fn include_patterns_win_over_gitignore() {
        let paths = [
            ".env.local",
            "out/.env.local",
            "out/deep/keep.txt",
            "out/deep/other.txt",
            "out/other/keep.txt",
            "gen/x",
            "gen/tmp/x",
            "src/gen/y",
        ];
        let ignored = ".env*\nout/\ngen/\n";
        let included = |include: &[&str]| visible(&set(&[], include), ignored, &paths);
        assert_eq!(included(&[]), Vec::<String>::new());
        // a pattern without a slash does not lead into a directory that is ignored as a whole
        assert_eq!(included(&[".env.local"]), [".env.local"]);
        assert_eq!(
            included(&["**/.env.local"]),
            [".env.local", "out/.env.local"]
        );
        assert_eq!(included(&["out/deep/keep.txt"]), ["out/deep/keep.txt"]);
        assert_eq!(
            included(&["/out/*/keep.txt"]),
            ["out/deep/keep.txt", "out/other/keep.txt"]
        );
        assert_eq!(
            included(&["out/**/keep.txt"]),
            ["out/deep/keep.txt", "out/other/keep.txt"]
        );
        assert_eq!(included(&["gen/"]), ["gen/x", "gen/tmp/x", "src/gen/y"]);
        assert_eq!(included(&["/gen/", "!/gen/tmp/"]), ["gen/x"]);
        assert_eq!(
            visible(&set(&["tmp"], &["/gen/"]), ignored, &paths),
            ["gen/x"],
            "an excluded path is not included"
        );
    }

    #[test]
    fn rules_without_settings_are_read() {
        let old = r#"{"global":"*.swp\n","info":""}"#;
        let read: Excludes = serde_json::from_str(old).expect("old rules");
        assert_eq!(
            (read.exclude.len(), read.include.len(), read.limit),
            (0, 0, None)
        );
        assert_eq!(serde_json::to_string(&read).expect("JSON"), old);
    }

    #[test]
    fn paths_in_an_ignored_directory_were_hidden() {
        let base = Rules::base(&Excludes::default());
        let mut text = |p: &RelPath| (p.bytes() == b".gitignore").then(|| b"out/\n".to_vec());
        assert!(was_ignored(&base, &path("out/a/b.txt"), &mut text));
        assert!(!was_ignored(&base, &path("src/out.txt"), &mut text));
    }
}
