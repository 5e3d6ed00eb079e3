//! Changed files as answers show them: counts, letters, patches. Reads contents through the engine;
//! how texts differ is the engine's business.

use backstitch_core::diff::{self, FileDiff, Side};
use backstitch_core::model::{ContentId, FileState, Image};
use backstitch_core::restore::{Action, Plan};
use backstitch_core::{Delta, Engine};
use serde_json::{Value, json};

use super::error::Result;
use super::json::text;
use super::line::Line;
use super::out::Out;
use super::render::{self, BOLD, CYAN, GREEN, PLAIN, Paint, RED, What};

/// Lines around a change in a patch.
const CONTEXT: usize = 3;

/// A changed file with both contents in memory.
#[derive(Debug)]
pub struct Changed {
    old: Loaded,
    new: Loaded,
    pub what: What,
    path: Vec<u8>,
    from: Option<Vec<u8>>,
    /// Why a content is not kept, where it is not.
    pub opaque: Option<&'static str>,
}

type Loaded = Option<(Vec<u8>, u32, Vec<u8>)>;

impl Changed {
    pub fn load(engine: &Engine, delta: &Delta) -> Result<Self> {
        let (path, from) = render::place(&delta.old, &delta.new);
        let image = |state: &FileState| state.as_ref().and_then(|p| render::opaque(&p.image));
        Ok(Self {
            old: side(engine, &delta.old)?,
            new: side(engine, &delta.new)?,
            what: What::of(&delta.old, &delta.new),
            path: path.to_vec(),
            from: from.map(<[u8]>::to_vec),
            opaque: image(&delta.old).or_else(|| image(&delta.new)),
        })
    }

    fn with<T>(&self, f: impl FnOnce(&FileDiff) -> T) -> T {
        f(&FileDiff {
            old: borrow(&self.old),
            new: borrow(&self.new),
        })
    }

    pub fn counts(&self) -> (usize, usize) {
        if self.is_binary() {
            (0, 0)
        } else {
            self.with(diff::line_counts)
        }
    }

    pub fn is_binary(&self) -> bool {
        self.opaque.is_some() || self.with(diff::is_binary)
    }

    pub fn patch(&self) -> Vec<u8> {
        self.with(|d| diff::patch(d, CONTEXT))
    }

    pub fn words(&self) -> Vec<u8> {
        self.with(diff::word_diff)
    }

    /// The path, and where it came from.
    pub fn name(&self) -> String {
        name(&self.path, self.from.as_deref())
    }

    /// Ranges are `[start, lines]` with the first line as 1; an empty range stands before `start`.
    pub fn json(&self) -> Value {
        let (added, removed) = self.counts();
        let binary = self.is_binary();
        let mut file = json!({
            "path": text(&self.path),
            "kind": self.what.name(),
            "added": added,
            "removed": removed,
            "binary": binary,
            "hunks": if binary { Vec::new() } else { self.hunks() },
        });
        if let Some(from) = &self.from {
            file["from"] = text(from);
        }
        if let Some(reason) = self.opaque {
            file["not_kept"] = reason.into();
        }
        file
    }

    fn hunks(&self) -> Vec<Value> {
        let (old, new) = (lines(&self.old), lines(&self.new));
        let texts = |lines: &[&[u8]], range: &std::ops::Range<usize>| -> Vec<Value> {
            let part = lines.get(range.clone()).unwrap_or_default();
            part.iter().map(|line| text(line)).collect()
        };
        let hunk = |hunk: diff::Hunk| {
            json!({
                "id": hunk.id,
                "old": [hunk.old.start + 1, hunk.old.len()],
                "new": [hunk.new.start + 1, hunk.new.len()],
                "removed": texts(&old, &hunk.old),
                "added": texts(&new, &hunk.new),
            })
        };
        self.with(diff::hunks).into_iter().map(hunk).collect()
    }
}

fn borrow(side: &Loaded) -> Option<Side<'_>> {
    side.as_ref().map(|(path, mode, bytes)| Side {
        path,
        mode: *mode,
        bytes,
    })
}

fn side(engine: &Engine, state: &FileState) -> Result<Loaded> {
    let Some(placed) = state else { return Ok(None) };
    let (Some(content), Some(mode)) = (placed.image.content(), placed.image.git_mode()) else {
        return Ok(None);
    };
    Ok(Some((
        placed.path.bytes().to_vec(),
        mode,
        engine.content(&content)?,
    )))
}

fn lines(side: &Loaded) -> Vec<&[u8]> {
    let Some((_, _, bytes)) = side else {
        return Vec::new();
    };
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .collect()
}

/// `path`, or `old → new`.
pub fn name(path: &[u8], from: Option<&[u8]>) -> String {
    match from {
        Some(from) => format!("{} → {}", render::path(from), render::path(path)),
        None => render::path(path),
    }
}

/// How two images differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    Lines(usize, usize),
    Binary,
    /// A content cannot be read: it is not kept, or not yet.
    Unknown,
}

pub fn difference(engine: &Engine, plan: &Plan, action: &Action) -> Difference {
    let content = |id: &ContentId| match plan.content(id) {
        Some(bytes) => Some(bytes.to_vec()),
        None => engine.content(id).ok(),
    };
    let side = |image: &Image| -> Option<Loaded> {
        match (image.content(), image.git_mode()) {
            (Some(id), Some(mode)) => {
                Some(Some((action.path.bytes().to_vec(), mode, content(&id)?)))
            }
            _ => image.is_absent().then_some(None),
        }
    };
    let (Some(before), Some(after)) = (side(&action.before), side(&action.after)) else {
        return Difference::Unknown;
    };
    let pair = FileDiff {
        old: borrow(&before),
        new: borrow(&after),
    };
    if diff::is_binary(&pair) {
        return Difference::Binary;
    }
    let (added, removed) = diff::line_counts(&pair);
    Difference::Lines(added, removed)
}

/// `M path`, as git writes it.
pub fn name_status(files: &[Changed], paint: Paint) -> String {
    let row = |file: &Changed| {
        let letter = paint.on(file.what.style(), &file.what.letter().to_string());
        match &file.from {
            Some(from) => {
                format!(
                    "{letter}\t{}\t{}\n",
                    render::path(from),
                    render::path(&file.path)
                )
            }
            None => format!("{letter}\t{}\n", render::path(&file.path)),
        }
    };
    files.iter().map(row).collect()
}

/// One row for each file, and the sum.
pub fn stat(files: &[Changed], paint: Paint) -> String {
    if files.is_empty() {
        return String::new();
    }
    let width = name_width(files.iter().map(Changed::name), paint);
    let mut text = String::new();
    let (mut added, mut removed) = (0, 0);
    for file in files {
        let (plus, minus) = file.counts();
        added += plus;
        removed += minus;
        let line = Line::new()
            .plain("  ")
            .add(file.what.style(), file.what.letter().to_string())
            .plain("  ")
            .column(PLAIN, &render::cut(&file.name(), width), width + 2);
        text.push_str(&with_counts(line, file.is_binary(), (plus, minus)).draw(paint));
    }
    let files = render::plural(files.len(), "file", "files");
    let sum = paint.counts(added, removed);
    text.push_str(format!("  {files}  {sum}").trim_end());
    text.push('\n');
    text
}

/// How wide the column of names may be.
pub fn name_width(names: impl Iterator<Item = String>, paint: Paint) -> usize {
    let widest = names.map(|name| render::columns(&name)).max().unwrap_or(0);
    widest.min(paint.width.saturating_sub(24).max(16))
}

/// Adds `+3 -1`, or what stands for it.
pub fn with_counts(line: Line, binary: bool, (added, removed): (usize, usize)) -> Line {
    if binary {
        return line.add(render::DIM, "binary");
    }
    let line = if added > 0 {
        line.add(GREEN, format!("+{added}"))
    } else {
        line
    };
    let between = if added > 0 && removed > 0 { " " } else { "" };
    let line = line.plain(between);
    if removed > 0 {
        line.add(RED, format!("-{removed}"))
    } else {
        line
    }
}

/// Patches of all files on stdout; what has no kept content is named on stderr.
pub fn patches(files: &[Changed], out: &Out) -> Result<()> {
    for file in files {
        match file.opaque {
            Some(reason) => out.note(
                "note",
                &format!(
                    "{} is not shown: its content is not kept ({reason})",
                    file.name()
                ),
            ),
            None if out.paint.color => out.bytes(&coloured(&file.patch()))?,
            None => out.bytes(&file.patch())?,
        }
    }
    Ok(())
}

/// A patch in colour. Inside a hunk the first byte decides; a removed line may look like a header.
fn coloured(patch: &[u8]) -> Vec<u8> {
    let mut drawn = Vec::with_capacity(patch.len() * 2);
    let (mut old, mut new) = (0, 0);
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        let style = match (old + new > 0, line.first()) {
            (true, Some(b'+')) => {
                new -= 1.min(new);
                GREEN
            }
            (true, Some(b'-')) => {
                old -= 1.min(old);
                RED
            }
            (_, Some(b'\\')) => PLAIN,
            (true, _) => {
                old -= 1.min(old);
                new -= 1.min(new);
                PLAIN
            }
            (false, Some(b'@')) => {
                (old, new) = hunk_lengths(line).unwrap_or_default();
                CYAN
            }
            (false, _) => BOLD,
        };
        let (body, end) = match line.strip_suffix(b"\n") {
            Some(body) => (body, &b"\n"[..]),
            None => (line, &b""[..]),
        };
        if style == PLAIN {
            drawn.extend_from_slice(body);
        } else {
            drawn.extend(style.render().to_string().bytes());
            drawn.extend_from_slice(body);
            drawn.extend(style.render_reset().to_string().bytes());
        }
        drawn.extend_from_slice(end);
    }
    drawn
}

/// The lengths in `@@ -3,7 +3,8 @@`.
fn hunk_lengths(line: &[u8]) -> Option<(usize, usize)> {
    let line = std::str::from_utf8(line.split(|b| *b == b'@').nth(2)?).ok()?;
    let mut lengths = line
        .split_whitespace()
        .map(|range| match range.split_once(',') {
            Some((_, length)) => length.parse().ok(),
            None => Some(1),
        });
    Some((lengths.next()??, lengths.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_coloured_by_its_structure() {
        let patch = b"--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- was a comment\n same\n--- a/y\n";
        let drawn = String::from_utf8(coloured(patch)).unwrap();
        let lines: Vec<&str> = drawn.lines().collect();
        assert!(lines[0].starts_with("\u{1b}[1m"), "a header is bold");
        assert!(lines[3].starts_with("\u{1b}[31m"), "a removed line is red");
        assert_eq!(lines[4], " same");
        assert!(
            lines[5].starts_with("\u{1b}[1m"),
            "the next header is bold again"
        );
    }

    #[test]
    fn lengths_of_a_hunk() {
        assert_eq!(hunk_lengths(b"@@ -3,7 +3,8 @@ fn x() {\n"), Some((7, 8)));
        assert_eq!(hunk_lengths(b"@@ -1 +0,0 @@\n"), Some((1, 0)));
        assert_eq!(hunk_lengths(b"@@ nonsense"), None);
    }
}
