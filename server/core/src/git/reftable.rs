//! Refs of repositories that keep them in the format `reftable` (git's `Documentation/technical/reftable.adoc`), read
//! from the files. Only what HEAD needs: the record of one ref.

use std::path::Path;

use crate::system::{read_text, read_up_to};

/// More than this is not read of one table, in bytes.
const MAX_TABLE: u64 = 64 << 20;
/// The largest number in a table.
const MAX_NUMBER: usize = 512 << 20;

/// Value of a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RefValue {
    /// An object id in hexadecimal digits.
    Object(String),
    /// The name of another ref.
    Symbolic(String),
}

/// Returns the value of a ref from the tables of a directory, the newest first. None: there is none, or they cannot be
/// read.
pub(super) fn find(dir: &Path, name: &str) -> Option<RefValue> {
    let list = read_text(&dir.join("tables.list"))?;
    for table in list.lines().rev() {
        let path = dir.join(Path::new(table).file_name()?);
        if std::fs::metadata(&path).ok()?.len() > MAX_TABLE {
            return None;
        }
        match in_table(&read_up_to(&path, true, MAX_TABLE)?, name.as_bytes()) {
            TableRef::Value(value) => return Some(value),
            TableRef::Deleted | TableRef::Damaged => return None,
            TableRef::Nothing => {}
        }
    }
    None
}

#[derive(Debug, PartialEq, Eq)]
enum TableRef {
    Value(RefValue),
    Deleted,
    Nothing,
    Damaged,
}

/// Searches the ref blocks of a table, whose names are in order.
fn in_table(table: &[u8], name: &[u8]) -> TableRef {
    search(table, name).unwrap_or(TableRef::Damaged)
}

fn search(table: &[u8], name: &[u8]) -> Option<TableRef> {
    let (header, id_len) = match (table.get(..4)?, table.get(4)?) {
        (b"REFT", 1) => (24, 20),
        (b"REFT", 2) => (
            28,
            if table.get(24..28)? == b"s256" {
                32
            } else {
                20
            },
        ),
        _ => return None,
    };
    let block_size = number(table.get(5..8)?);
    // the first block includes the header
    let (mut start, mut at): (usize, usize) = (0, header);
    while table.get(at) == Some(&b'r') {
        let len = number(table.get(at + 1..at + 4)?);
        let block = table.get(start..start.checked_add(len)?)?;
        let restarts = number(block.get(block.len().checked_sub(2)?..)?);
        let end = block.len().checked_sub(2 + 3 * restarts)?;
        let mut records = RecordReader(block.get(at - start + 4..end)?);
        let mut last: Vec<u8> = Vec::new();
        while !records.0.is_empty() {
            let prefix = records.varint()?;
            let kind = records.varint()?;
            last.truncate(prefix);
            last.extend_from_slice(records.take(kind >> 3)?);
            records.varint()?;
            let value = match kind & 7 {
                0 => None,
                kind @ (1 | 2) => {
                    let id = hex(records.take(id_len)?);
                    records.take(if kind == 2 { id_len } else { 0 })?;
                    Some(RefValue::Object(id))
                }
                3 => {
                    let len = records.varint()?;
                    let target = records.take(len)?;
                    Some(RefValue::Symbolic(String::from_utf8(target.to_vec()).ok()?))
                }
                _ => return None,
            };
            match last.as_slice().cmp(name) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => {
                    return Some(value.map_or(TableRef::Deleted, TableRef::Value));
                }
                std::cmp::Ordering::Greater => return Some(TableRef::Nothing),
            }
        }
        // blocks are padded to the block size, if there is one
        let next = if block_size == 0 {
            start + len
        } else {
            start + block_size.max(len)
        };
        (start, at) = (next, next);
    }
    Some(TableRef::Nothing)
}

/// A number in big-endian bytes.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |n, b| n << 8 | usize::from(*b))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, b| {
        write!(text, "{b:02x}").ok();
        text
    })
}

struct RecordReader<'a>(&'a [u8]);

impl<'a> RecordReader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads a number as pack files have the offsets of deltas.
    fn varint(&mut self) -> Option<usize> {
        let mut byte = *self.take(1)?.first()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.take(1)?.first()?;
            value = (value + 1).checked_shl(7)? | usize::from(byte & 0x7f);
            if value > MAX_NUMBER {
                return None;
            }
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.email=a@b", "-c", "user.name=n", "-C"]);
        command.arg(dir).args(args);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout)
            .expect("UTF-8")
            .trim()
            .to_owned()
    }

    #[test]
    fn head_is_read_from_reftables() {
        for format in ["sha1", "sha256"] {
            let dir = tempfile::tempdir().expect("a directory");
            let dir = dir.path();
            let object = format!("--object-format={format}");
            git(
                dir,
                &["init", "-q", "-b", "main", "--ref-format=reftable", &object],
            );
            let head = || super::super::head(dir);
            assert_eq!(head().branch.as_deref(), Some("main"));
            assert_eq!(head().head, None);
            // enough refs for several blocks
            git(dir, &["commit", "-q", "--allow-empty", "-m", "one"]);
            let first = git(dir, &["rev-parse", "HEAD"]);
            for n in 0..200 {
                git(dir, &["tag", &format!("a-rather-long-name-of-a-tag-{n}")]);
                if n % 100 == 0 {
                    git(dir, &["branch", &format!("branch-{n}")]);
                }
            }
            assert_eq!(head().head.as_deref(), Some(first.as_str()));
            git(dir, &["pack-refs"]);
            assert_eq!(head().head.as_deref(), Some(first.as_str()));
            git(dir, &["switch", "-q", "branch-100"]);
            git(dir, &["commit", "-q", "--allow-empty", "-m", "two"]);
            let second = git(dir, &["rev-parse", "HEAD"]);
            assert_eq!(head().branch.as_deref(), Some("branch-100"));
            assert_eq!(head().head.as_deref(), Some(second.as_str()));
            git(dir, &["switch", "-q", "--detach", "main"]);
            assert_eq!(head().branch, None);
            assert_eq!(head().head, Some(first));
        }
    }

    #[test]
    fn damaged_tables_are_no_refs() {
        for table in [
            &b""[..],
            b"REFT",
            b"REFT\x01",
            b"REFT\x01\0\0\0                r\0\0\xff",
            b"nothing at all",
        ] {
            assert!(matches!(
                in_table(table, b"HEAD"),
                TableRef::Damaged | TableRef::Nothing
            ));
        }
    }
}
