use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;

const FILE: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;
const LINK: u32 = 0o120_000;

#[expect(
    clippy::unnecessary_wraps,
    reason = "it goes into a field that is optional"
)]
fn side<'a>(path: &'a str, mode: u32, bytes: &'a [u8]) -> Option<Side<'a>> {
    let path = path.as_bytes();
    Some(Side { path, mode, bytes })
}

/// A modified text file.
fn modified<'a>(old: &'a [u8], new: &'a [u8]) -> FileDiff<'a> {
    FileDiff {
        old: side("f", FILE, old),
        new: side("f", FILE, new),
    }
}

fn put(root: &Path, side: Option<Side>) {
    let Some(side) = side else { return };
    let path = root.join(std::ffi::OsStr::from_bytes(side.path));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if side.mode == LINK {
        symlink(std::ffi::OsStr::from_bytes(side.bytes), &path).unwrap();
    } else {
        fs::write(&path, side.bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(side.mode & 0o777)).unwrap();
    }
}

/// Returns the one file below `root`, as (path, mode, bytes).
fn found(root: &Path) -> Option<(PathBuf, u32, Vec<u8>)> {
    fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), files);
            } else {
                files.push(entry.path());
            }
        }
    }
    let mut files = Vec::new();
    walk(root, &mut files);
    assert!(files.len() <= 1, "{files:?}");
    let file = files.pop()?;
    let meta = file.symlink_metadata().unwrap();
    let path = file.strip_prefix(root).unwrap().to_owned();
    Some(if meta.is_symlink() {
        let target = fs::read_link(&file).unwrap();
        (path, LINK, target.as_os_str().as_bytes().to_vec())
    } else {
        let executable = meta.permissions().mode() & 0o100 != 0;
        let mode = if executable { EXECUTABLE } else { FILE };
        (path, mode, fs::read(&file).unwrap())
    })
}

fn git_apply(root: &Path, patch: &[u8], reverse: bool) {
    let mut command = Command::new("git");
    command
        .args(["apply", "--whitespace=nowarn", "--unidiff-zero"])
        .args(reverse.then_some("-R"))
        .current_dir(root)
        // no repository above the directory and no user settings apply
        .env("GIT_CEILING_DIRECTORIES", root.parent().unwrap())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), patch).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(patch)
    );
}

/// `git apply` turns old into new, and with `-R` new into old.
#[track_caller]
fn applies(d: &FileDiff, context: usize) {
    let patch = patch(d, context);
    for (from, to, reverse) in [(d.old, d.new, false), (d.new, d.old, true)] {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), from);
        git_apply(dir.path(), &patch, reverse);
        let mut want = to.map(|side| {
            let name = PathBuf::from(std::ffi::OsStr::from_bytes(side.path));
            (name, side.mode, side.bytes.to_vec())
        });
        let mut got = found(dir.path());
        // `git apply -R` loses the mode of a deleted file (observed in 2.47), even with git's own
        // patches
        if reverse && (d.new.is_none() || d.changes_type()) {
            for file in [&mut got, &mut want].into_iter().flatten() {
                file.1 = 0;
            }
        }
        assert_eq!(got, want, "{}", String::from_utf8_lossy(&patch));
    }
}

const LONG: &[u8] = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n";
const EDITED: &[u8] = b"0\n1\n3\n4\n5\n6\n7\n8\n9\n10\n11\nx\ny\n13\n14\n15\n16";

#[test]
fn git_applies_changed_content() {
    let noise: Vec<u8> = (0..5000u32)
        .flat_map(|n| (n * n * 31).to_be_bytes())
        .collect();
    for (old, new) in [
        (LONG, EDITED),
        (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\nd\n"),
        (b"a\n", b"a"),
        (b"a\nb", b"a\nb\nc"),
        (b"a\nb", b"x\nb"),
        (b"", b"a\n"),
        (b"a", b""),
        (b"\n\n", b"\n"),
        (b"-- a\n++ b\n", b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n"),
        (b"caf\xe9 \xc3\xa9\n", b"caf\xc3\xa9\n\xff\n"),
        // binaries
        (b"\0\x01\x02", b"\0\x01\x03"),
        (b"", b"\0"),
        (b"text\n", &noise),
        (&noise, &noise[7..]),
    ] {
        for context in [0, 1, 3, 100] {
            applies(&modified(old, new), context);
        }
    }
}

#[test]
fn git_applies_creation_deletion_mode_rename_and_type() {
    let cases = [
        (None, side("f", FILE, b"a\nb\n")),
        (None, side("f", EXECUTABLE, b"#!/bin/sh")),
        (None, side("f", FILE, b"")),
        (None, side("f", FILE, b"\0binary")),
        (None, side("dir/deeper/f", FILE, b"a\n")),
        (None, side("link", LINK, b"where/to")),
        (side("link", LINK, b"here"), side("link", LINK, b"there")),
        (side("f", FILE, b"a\n"), side("f", EXECUTABLE, b"a\n")),
        (side("f", FILE, b"a\n"), side("f", EXECUTABLE, b"b\n")),
        (side("f", FILE, b"\0a"), side("f", EXECUTABLE, b"\0b")),
        (side("f", FILE, b""), side("f", EXECUTABLE, b"")),
        (side("f", FILE, LONG), side("g", FILE, LONG)),
        (side("f", FILE, LONG), side("dir/g", FILE, EDITED)),
        (side("f", FILE, LONG), side("g", EXECUTABLE, EDITED)),
        (side("f", FILE, b"\0a"), side("g", FILE, b"\0b")),
        (side("f", FILE, b"a\n"), side("f", LINK, b"target")),
        (side("f", FILE, b"\0a"), side("f", LINK, b"target")),
    ];
    for (old, new) in cases {
        applies(&FileDiff { old, new }, 3);
        applies(&FileDiff { old: new, new: old }, 3);
    }
}

#[test]
fn git_applies_to_names_that_need_quotes() {
    for name in [
        "with space",
        "two  spaces ",
        "é",
        "tab\there",
        "line\nbreak",
        "quote\"and\\backslash",
        "bell\x07 \x7f\x01",
        "a b/c d",
        "x b/x",
    ] {
        for (old, new) in [
            (side(name, FILE, LONG), side(name, FILE, EDITED)),
            (None, side(name, FILE, LONG)),
            (None, side(name, FILE, b"")),
            (side(name, FILE, LONG), side(name, EXECUTABLE, LONG)),
            (side("plain", FILE, LONG), side(name, FILE, EDITED)),
            (side(name, FILE, b"\0a"), side(name, FILE, b"\0b")),
        ] {
            applies(&FileDiff { old, new }, 3);
        }
    }
    assert_eq!(patch::quoted(b"a/", "é".as_bytes()), br#""a/\303\251""#);
    assert_eq!(patch::quoted(b"a/", b"plain name"), b"a/plain name");
}

#[test]
fn the_patch_of_a_modified_file() {
    let patch = patch(&modified(LONG, EDITED), 1);
    assert_eq!(
        String::from_utf8(patch).unwrap(),
        "diff --git a/f b/f
--- a/f
+++ b/f
@@ -1,3 +1,3 @@
+0
 1
-2
 3
@@ -11,3 +11,4 @@
 11
-12
+x
+y
 13
@@ -15,2 +16,2 @@
 15
-16
+16
\\ No newline at end of file
"
    );
}

#[test]
fn the_patch_of_a_rename() {
    let d = FileDiff {
        old: side("f", FILE, b"a\nb\nc\nd\n"),
        new: side("é", EXECUTABLE, b"a\nb\nc\nD\n"),
    };
    assert_eq!(
        String::from_utf8(patch(&d, 0)).unwrap(),
        "diff --git a/f \"b/\\303\\251\"
old mode 100644
new mode 100755
similarity index 75%
rename from f
rename to \"\\303\\251\"
--- a/f
+++ \"b/\\303\\251\"
@@ -4 +4 @@
-d
+D
"
    );
}

#[test]
fn nothing_changed_is_an_empty_patch() {
    let d = modified(b"a\n", b"a\n");
    assert_eq!(patch(&d, 3), b"");
    assert_eq!(word_diff(&d), b"");
    assert_eq!(hunks(&d), []);
    assert_eq!(patch(&FileDiff::default(), 3), b"");
}

#[test]
fn hunk_ids_depend_on_path_content_and_occurrence() {
    let old = b"a\nx\nb\nx\nc\n";
    let new = b"a\ny\nb\ny\nc\n";
    let [first, second] = &hunks(&modified(old, new))[..] else {
        panic!()
    };
    assert_eq!((&first.old, &first.new), (&(1..2), &(1..2)));
    assert_eq!((&second.old, &second.new), (&(3..4), &(3..4)));
    assert_eq!(first.id.len(), 12);
    assert_ne!(first.id, second.id);
    let elsewhere = FileDiff {
        old: side("g", FILE, old),
        new: side("g", FILE, new),
    };
    assert_ne!(hunks(&elsewhere)[0].id, first.id);
    // an edit elsewhere in the file does not change the ids
    let more = hunks(&modified(old, b"0\na\ny\nb\ny\nc\n"));
    assert_eq!((&more[1].id, &more[2].id), (&first.id, &second.id));
}

#[test]
fn a_renamed_file_has_the_same_ids_in_both_directions() {
    let (old, new) = (side("f", FILE, b"a\nb\n"), side("e", FILE, b"a\nc\n"));
    let there = hunks(&FileDiff { old, new });
    let back = hunks(&FileDiff { old: new, new: old });
    assert_eq!(there, back);
    assert_eq!(FileDiff { old, new }.hunk_path(), b"e");
    assert_eq!(pick(b"a\nb\n", b"a\nc\n", b"e", &[&there[0].id]).1, 1);
}

#[test]
fn pick_applies_the_named_hunks_only() {
    let all = hunks(&modified(LONG, EDITED));
    assert_eq!(all.len(), 4);
    let (bytes, found) = pick(LONG, EDITED, b"f", &[&all[2].id, "000000000000"]);
    assert_eq!(found, 1);
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        String::from_utf8_lossy(LONG).replace("12\n", "x\ny\n")
    );
    assert_eq!(pick(b"\0", b"\x01", b"f", &["x"]), (b"\0".to_vec(), 0));
}

#[test]
fn binaries_and_changes_of_type_have_no_hunks() {
    let binary = modified(b"a\0", b"b");
    assert!(is_binary(&binary));
    assert_eq!((hunks(&binary), line_counts(&binary)), (vec![], (0, 0)));
    let d = FileDiff {
        old: side("f", FILE, b"a\nb\n"),
        new: side("f", LINK, b"target"),
    };
    assert!(!is_binary(&d));
    assert_eq!((hunks(&d), line_counts(&d)), (vec![], (1, 2)));
    assert_eq!(line_counts(&modified(LONG, EDITED)), (4, 3));
}

#[track_caller]
fn words_of(old: &str, new: &str, want: &str) {
    let diff = String::from_utf8(word_diff(&modified(old.as_bytes(), new.as_bytes()))).unwrap();
    let body = diff.split_once(" @@\n").map_or("", |(_, body)| body);
    assert_eq!(body, want);
}

#[test]
fn word_diffs_mark_the_words() {
    words_of("a b c\n", "a x c\n", "a [-b-]{+x+} c\n");
    words_of("a b c\n", "a c\n", "a[-b-] c\n");
    words_of("a c\n", "a b c\n", "a {+b+} c\n");
    words_of("k\na\nb\n", "k\n", "k\n[-a-]\n[-b-]\n");
    words_of("k\n", "k\na b\nc\n", "k\n{+a b+}\n{+c+}\n");
    words_of("f(a)\n", "f(a)   \n", "f(a)   \n");
    words_of("end", "end\n", "end\n");
    words_of("a", "b", "[-a-]{+b+}\n");
    let binary = word_diff(&FileDiff {
        old: None,
        new: side("f", FILE, b"\0"),
    });
    assert_eq!(
        String::from_utf8(binary).unwrap(),
        "diff --git a/f b/f\nnew file mode 100644\nBinary files /dev/null and b/f differ\n"
    );
}

/// Texts of few different lines, so that they have much in common.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec!["a", "b", "c d", "", "\r", "}", "-", "\\ x"]);
    (prop::collection::vec(line, 0..30), any::<bool>()).prop_map(|(lines, cut)| {
        let mut text = lines.join("\n");
        if !cut && !lines.is_empty() {
            text.push('\n');
        }
        text.into_bytes()
    })
}

proptest! {
    // each case runs git
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn git_applies_any_text(old in text(), new in text(), context in 1usize..5) {
        if old != new {
            applies(&modified(&old, &new), context);
        }
    }

    #[test]
    fn git_applies_any_bytes(
        old in prop::collection::vec(any::<u8>(), 0..300),
        new in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        if old != new {
            applies(&modified(&old, &new), 3);
        }
    }
}

proptest! {
    #[test]
    fn swapping_old_and_new_swaps_the_hunks(old in text(), new in text()) {
        let there = hunks(&modified(&old, &new));
        let back = hunks(&modified(&new, &old));
        let swapped: Vec<_> = back
            .into_iter()
            .map(|hunk| Hunk { id: hunk.id, old: hunk.new, new: hunk.old })
            .collect();
        let mut ids: Vec<_> = there.iter().map(|hunk| hunk.id.clone()).collect();
        prop_assert_eq!(&there, &swapped);
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), there.len());
    }

    #[test]
    fn picking_all_gives_new_and_none_gives_old(old in text(), new in text()) {
        let all = hunks(&modified(&old, &new));
        let ids: Vec<_> = all.iter().map(|hunk| hunk.id.as_str()).collect();
        prop_assert_eq!(pick(&old, &new, b"f", &ids), (new.clone(), ids.len()));
        prop_assert_eq!(pick(&old, &new, b"f", &[]), (old, 0));
    }
}
