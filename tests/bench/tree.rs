//! Generated trees of files that look and compress like source code. They are the same in every run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::place::Place;
use crate::rng::Rng;

/// Files per directory, and subdirectories per directory.
const FAN: usize = 16;

const WORDS: [&str; 64] = [
    "let", "mut", "fn", "return", "if", "else", "for", "while", "match", "struct", "impl", "self",
    "pub", "use", "mod", "const", "state", "index", "value", "result", "error", "buffer", "length",
    "offset", "cursor", "parser", "token", "node", "parent", "child", "entry", "path", "file",
    "read", "write", "open", "close", "next", "previous", "first", "last", "count", "total",
    "name", "kind", "key", "map", "list", "queue", "stack", "push", "pop", "insert", "remove",
    "update", "request", "response", "handler", "session", "config", "option", "default", "none",
    "some",
];

/// Generates a text of about this many bytes.
pub fn text(rng: &mut Rng, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 80);
    let mut depth: usize = 0;
    while text.len() < bytes {
        text.push_str(&"    ".repeat(depth));
        for _ in 0..2 + rng.below(7) {
            text.push_str(rng.pick::<&str>(&WORDS));
            if rng.once_in(6) {
                text.push('_');
                text.push_str(&rng.below(1000).to_string());
            }
            text.push_str(rng.pick::<&str>(&[" ", " ", " = ", "(", ") ", ".", ", "]));
        }
        depth = match rng.below(5) {
            0 => (depth + 1).min(6),
            1 => depth.saturating_sub(1),
            _ => depth,
        };
        text.push_str(rng.pick::<&str>(&[";\n", ";\n", " {\n", "}\n", ",\n"]));
    }
    text
}

/// Path of the n-th file.
fn path(n: usize) -> PathBuf {
    let dir = n / FAN;
    let (top, middle) = (dir / FAN / FAN, dir / FAN % FAN);
    PathBuf::from(format!(
        "part{top}/group{middle}/module{}/file{n}.rs",
        dir % FAN
    ))
}

/// Writes this many files of 3 to 12 KB below a directory.
pub fn write(root: &Path, files: usize) -> Result<()> {
    let mut rng = Rng::new(files as u64);
    for n in 0..files {
        let full = root.join(path(n));
        if n % FAN == 0 {
            fs::create_dir_all(full.parent().context("a parent")?)?;
        }
        let size = 3000 + rng.below(9000);
        fs::write(full, text(&mut rng, size))?;
    }
    Ok(())
}

/// Copies a tree with its metadata.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp")
        .arg("-a")
        .arg(from.join("."))
        .arg(to)
        .status()?;
    ensure!(status.success(), "{} cannot be copied", from.display());
    Ok(())
}

/// Makes it a git repository with everything in one commit.
pub fn commit(root: &Path) -> Result<()> {
    // fast-import streams all contents into one pack instead of one file each
    let quick = [
        "-c",
        "core.bigFileThreshold=1",
        "-c",
        "core.compression=1",
        "-c",
        "gc.auto=0",
        "-c",
        "user.name=Dev",
        "-c",
        "user.email=dev@example.com",
    ];
    for args in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "start"],
    ] {
        git(root, &[&quick[..], args].concat())?;
    }
    Ok(())
}

/// A git repository that stores versions of files as loose objects, as before any gc.
#[derive(Debug)]
pub struct Loose(PathBuf);

impl Loose {
    pub fn new(place: &Place<'_>) -> Result<Self> {
        let dir = place.beside("loose");
        git(
            place.root.as_path(),
            &["init", "-q", "--bare", path_text(&dir)?],
        )?;
        Ok(Self(dir))
    }

    /// Stores the content of a file. Returns the bytes that this took.
    pub fn add(&self, path: &Path) -> Result<u64> {
        let hash = git(
            &self.0,
            &["hash-object", "-w", "--no-filters", path_text(path)?],
        )?;
        let (dir, rest) = hash.trim().split_at(2);
        Ok(self
            .0
            .join("objects")
            .join(dir)
            .join(rest)
            .metadata()?
            .len())
    }
}

fn path_text(path: &Path) -> Result<&str> {
    path.to_str().context("a path in UTF-8")
}

fn git(dir: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(dir).args(args).output()?;
    ensure!(output.status.success(), "git {args:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}
