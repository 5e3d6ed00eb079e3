//! The model: whole copies of trees, and the writer of each line. It uses nothing of the engine but its types.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use backstitch_core::Tree;
use backstitch_core::model::{ContentId, Image, NodeId, RelPath};

#[derive(Clone, PartialEq, Eq)]
pub enum Entry {
    File { mode: u32, bytes: Vec<u8> },
    Link { target: Vec<u8> },
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { mode, bytes } => {
                write!(f, "{mode:o} {:?}", String::from_utf8_lossy(bytes))
            }
            Self::Link { target } => write!(f, "-> {:?}", String::from_utf8_lossy(target)),
        }
    }
}

impl Entry {
    pub fn is(&self, image: &Image) -> bool {
        match (self, image) {
            (
                Self::File { mode, bytes },
                Image::File {
                    mode: m,
                    content,
                    size,
                },
            ) => mode == m && *size == bytes.len() as u64 && ContentId::of(bytes) == *content,
            (Self::Link { target }, Image::Symlink { content }) => {
                ContentId::of(target) == *content
            }
            _ => false,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::File { bytes, .. } if !bytes.contains(&0) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

pub type Files = BTreeMap<String, Entry>;

/// Marks of an untouched file: modification time in nanoseconds, inode.
pub type Marks = BTreeMap<String, (i64, u64)>;

/// Every file and link below a directory, with the marks of each.
pub fn on_disk(root: &Path) -> (Files, Marks) {
    let (mut files, mut marks) = (Files::new(), Marks::new());
    walk(root, "", &mut files, &mut marks);
    (files, marks)
}

fn walk(dir: &Path, prefix: &str, files: &mut Files, marks: &mut Marks) {
    for entry in fs::read_dir(dir).expect("a directory of the workspace is readable") {
        let entry = entry.expect("a directory entry");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let meta = entry.metadata().expect("the metadata of an entry");
        if meta.is_dir() {
            walk(&entry.path(), &format!("{name}/"), files, marks);
            continue;
        }
        let found = if meta.is_symlink() {
            let target = fs::read_link(entry.path()).expect("a link's target");
            Entry::Link {
                target: target.as_os_str().as_bytes().to_vec(),
            }
        } else {
            Entry::File {
                mode: meta.permissions().mode() & 0o777,
                bytes: fs::read(entry.path()).expect("a file of the workspace is readable"),
            }
        };
        marks.insert(
            name.clone(),
            (meta.mtime() * 1_000_000_000 + meta.mtime_nsec(), meta.ino()),
        );
        files.insert(name, found);
    }
}

/// Paths in which a recorded tree differs from the expected one; `exempt` paths do not count.
pub fn differences(expected: &Files, tree: &Tree, exempt: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut out = Vec::new();
    for (path, entry) in expected {
        let image = RelPath::new(path.as_bytes()).and_then(|p| tree.get(&p));
        if !exempt(path) && !image.is_some_and(|i| entry.is(i)) {
            out.push(format!("{path}: expected {entry:?}, recorded {image:?}"));
        }
    }
    for (path, image) in tree {
        let path = path.display();
        if !expected.contains_key(&path) && !exempt(&path) {
            out.push(format!("{path}: expected nothing, recorded {image:?}"));
        }
    }
    out
}

/// Paths in which two trees differ.
pub fn unlike(expected: &Files, found: &Files) -> Vec<String> {
    let paths: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    paths
        .into_iter()
        .filter(|p| expected.get(*p) != found.get(*p))
        .map(|p| {
            format!(
                "{p}: expected {:?}, found {:?}",
                expected.get(p),
                found.get(p)
            )
        })
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    User,
    A,
    B,
}

impl Who {
    pub fn letter(self) -> char {
        match self {
            Self::User => 'u',
            Self::A => 'a',
            Self::B => 'b',
        }
    }

    pub fn session(self) -> &'static str {
        match self {
            Self::User => "",
            Self::A => "session-a",
            Self::B => "session-b",
        }
    }
}

/// Certainty with which the engine must know a line's writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    Yes,
    /// Certain once this call reports its end.
    When(usize),
    No,
}

/// A line that is unique in the whole history, named after its writer.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub who: Who,
    pub sure: Sure,
    /// The first node with this line.
    pub node: Option<NodeId>,
    /// The line was found while its call was open, and stays uncertain, though it is that call's. Or it was moved from
    /// a path named by an open call, and may count as written at the new path.
    pub early: bool,
}

/// Unique lines of a tree, with the paths that contain them.
pub fn tokens_in(files: &Files) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, entry) in files {
        for line in entry.text().unwrap_or_default().lines() {
            if is_token(line) {
                found.entry(line.to_owned()).or_default().push(path.clone());
            }
        }
    }
    found
}

pub fn is_token(line: &str) -> bool {
    line.len() > 1
        && line.starts_with(['u', 'a', 'b'])
        && line[1..].bytes().all(|b| b.is_ascii_digit())
}

/// True if the rules of this `.gitignore` hide a path. The generated rules are few and simple.
pub fn hides(rules: Option<&Entry>, path: &str) -> bool {
    rules
        .and_then(Entry::text)
        .unwrap_or_default()
        .lines()
        .any(|rule| match rule {
            "*.log" => path.as_bytes().ends_with(b".log"),
            "gen/" => path.starts_with("gen/"),
            _ => false,
        })
}
