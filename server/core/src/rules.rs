//! Which paths belong: .gitignore files, `.git/info/exclude` and git's global excludes, by git's rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::model::{ContentId, RelPath, bytes_path};

pub(crate) const FILE: &[u8] = b".gitignore";

/// The rules in force in one directory: its own, then those of the directories above.
#[derive(Debug)]
pub(crate) struct Rules {
    own: Option<Gitignore>,
    /// Relative to the root; empty for the root itself.
    dir: Vec<u8>,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// The rules that hold everywhere: git's global excludes, weaker than `.git/info/exclude`.
    pub(crate) fn base(excludes: &Excludes) -> Arc<Self> {
        let global = Arc::new(Self {
            own: parse(&excludes.global),
            dir: Vec::new(),
            above: None,
        });
        Arc::new(Self {
            own: parse(&excludes.info),
            dir: Vec::new(),
            above: Some(global),
        })
    }

    /// The rules inside `dir`, which has this .gitignore.
    pub(crate) fn below(self: &Arc<Self>, dir: &[u8], text: Option<&[u8]>) -> Arc<Self> {
        match text.and_then(parse_bytes) {
            Some(own) => Arc::new(Self {
                own: Some(own),
                dir: dir.to_vec(),
                above: Some(Arc::clone(self)),
            }),
            None => Arc::clone(self),
        }
    }

    /// Whether a path directly in this directory is ignored. The directory itself is not.
    pub(crate) fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        let mut rules = Some(self);
        while let Some(at) = rules {
            if let Some(own) = &at.own {
                let rel = path.strip_prefix(at.dir.as_slice()).unwrap_or(path);
                let rel = rel.strip_prefix(b"/").unwrap_or(rel);
                match own.matched(bytes_path(rel), is_dir) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
            rules = at.above.as_deref();
        }
        false
    }
}

/// Whether `path` was out of sight under the rules that `text` gives for each directory.
pub(crate) fn was_ignored(
    base: &Arc<Rules>,
    path: &RelPath,
    text: &mut dyn FnMut(&RelPath) -> Option<Vec<u8>>,
) -> bool {
    let (dir, _) = path.split();
    match down_to(base, dir, text) {
        Some(above) => own(&above, dir, text).ignores(path.bytes(), false),
        None => true,
    }
}

/// The rules of the directories above `dir`, whose own are not among them. None: it is ignored.
pub(crate) fn down_to(
    base: &Arc<Rules>,
    dir: &[u8],
    text: &mut dyn FnMut(&RelPath) -> Option<Vec<u8>>,
) -> Option<Arc<Rules>> {
    let mut rules = Arc::clone(base);
    let mut above: &[u8] = b"";
    let slashes = (0..dir.len()).filter(|at| dir[*at] == b'/');
    for end in slashes.chain([dir.len()]).filter(|end| *end > 0) {
        rules = own(&rules, above, text);
        if rules.ignores(&dir[..end], true) {
            return None;
        }
        above = &dir[..end];
    }
    Some(rules)
}

/// The rules inside a directory, given those above it.
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

/// The rules outside the tree. Kept with the scan, to tell later what was out of sight.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Excludes {
    pub global: String,
    pub info: String,
    /// .gitignore files whose record moved on since the scan (a named edit, a restore), each with the
    /// content that the scan went by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<(Vec<u8>, Option<[u8; 32]>)>,
}

impl Excludes {
    /// The content of a .gitignore that the scan went by; `recorded`: what the record holds by now.
    pub(crate) fn went_by(
        &self,
        file: &RelPath,
        recorded: impl FnOnce() -> Option<ContentId>,
    ) -> Option<ContentId> {
        match self.moved.iter().find(|(path, _)| path == file.bytes()) {
            Some((_, content)) => content.map(ContentId),
            None => recorded(),
        }
    }

    pub(crate) fn note(&mut self, file: &RelPath, content: Option<ContentId>) {
        if !self.moved.iter().any(|(path, _)| path == file.bytes()) {
            self.moved
                .push((file.bytes().to_vec(), content.map(|c| c.0)));
        }
    }

    pub(crate) fn read(root: &Path) -> Self {
        let text = |p: Option<PathBuf>| {
            p.and_then(|p| crate::disk::read_small(&p, true))
                .unwrap_or_default()
        };
        let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            global: lossy(text(ignore::gitignore::gitconfig_excludes_path())),
            info: lossy(text(
                crate::git::common_dir(root).map(|d| d.join("info/exclude")),
            )),
            moved: Vec::new(),
        }
    }
}

fn parse(text: &str) -> Option<Gitignore> {
    parse_bytes(text.as_bytes())
}

fn parse_bytes(text: &[u8]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(".");
    for line in String::from_utf8_lossy(text).lines() {
        // a line that git would not take either is passed over
        builder.add_line(None, line).ok();
    }
    builder.build().ok().filter(|g| !g.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(s: &str) -> RelPath {
        RelPath::new(s).expect("a plain path")
    }

    #[test]
    fn inner_rules_win_and_directories_hide_what_is_below() {
        let base = Rules::base(&Excludes {
            global: "*.swp\n".into(),
            info: "private\n".into(),
            moved: Vec::new(),
        });
        let root = base.below(b"", Some(b"*.log\n/build/\n"));
        let sub = root.below(b"sub", Some(b"!keep.log\n"));
        assert!(root.ignores(b"a.log", false));
        assert!(root.ignores(b"build", true));
        assert!(!root.ignores(b"build", false), "a file is no directory");
        assert!(sub.ignores(b"sub/a.log", false));
        assert!(!sub.ignores(b"sub/keep.log", false));
        assert!(!sub.ignores(b"sub/build", true), "anchored at the root");
        assert!(root.ignores(b"x.swp", false) && root.ignores(b"private", false));
    }

    #[test]
    fn what_lay_in_an_ignored_directory_was_out_of_sight() {
        let base = Rules::base(&Excludes::default());
        let mut text = |p: &RelPath| (p.bytes() == b".gitignore").then(|| b"out/\n".to_vec());
        assert!(was_ignored(&base, &path("out/a/b.txt"), &mut text));
        assert!(!was_ignored(&base, &path("src/out.txt"), &mut text));
    }
}
