//! Patches as Codex applied them.

use super::*;

fn patch(body: &str) -> Value {
    json!({"command": format!("*** Begin Patch\n{body}\n*** End Patch\n")})
}

/// Applies a patch to the file `a`. None: refused.
fn update(before: &str, body: &str) -> Option<String> {
    let input = patch(&format!("*** Update File: a\n{body}"));
    let file = Disk::of(&[("a", before)]).only("apply_patch", &input);
    match (&file.outlook, &file.after) {
        (Outlook::Certain, PredictedContent::Text(bytes)) => String::from_utf8(bytes.clone()).ok(),
        (Outlook::Fails(_), after) if *after == file.before => None,
        _ => panic!("{before:?} {body:?}: {file:?}"),
    }
}

#[test]
fn chunks_as_the_program_applies_them() {
    let cases = [
        ("x\n\ny\n", "@@\n x\n\n-y\n+z", Some("x\n\nz\n")),
        ("f\ng\n", "-f\n+g\n@@\n-g\n+h", Some("g\nh\n")),
        (
            "x\ny\nx\n",
            "@@\n-x\n+z\n*** End of File",
            Some("x\ny\nz\n"),
        ),
        ("x\ny\n", "@@\n-x\n+z\n*** End of File", None),
        ("x\ny\n", "@@ x\n+z", Some("x\ny\nz\n")),
        ("x\n\n", "@@\n+z", Some("x\n\nz\n")),
        ("x\ny", "@@\n-x\n+z", Some("z\ny\n")),
        ("x\n", "@@\n-x", Some("")),
        ("x\r\ny\r\n", "@@\n-x\n+z\n+w", Some("z\r\nw\r\ny\r\n")),
        ("x\ny\r\n", "@@\n-y\n+z", Some("x\nz\n")),
        ("x\ny\r\nz\n", "@@\n x\n y\n-z\n+w", Some("x\ny\r\nw\n")),
        ("x\ry\r\nz\nq", "@@\n-y\n+w", Some("x\rw\rz\nq\r")),
        ("x\ny\rq\nz\n", "@@\n-q\n+w", Some("x\ny\rw\nz\n")),
        ("\u{feff}x\ny\n", "@@\n-x\n+z", None),
        ("\u{feff}x\ny\n", "@@\n-y\n+z", Some("\u{feff}x\nz\n")),
        (
            "x \n  y\nz\n",
            "@@\n x\n+n\n y\n-z\n+w",
            Some("x \nn\n  y\nw\n"),
        ),
        (
            "x – “q”\ny\n",
            "@@\n x - \"q\"\n-y\n+z",
            Some("x – “q”\nz\n"),
        ),
        ("b \nq\nb\n", "@@\n-b\n+x", Some("b \nq\nx\n")),
        ("x \ny\n", "@@\n-x\n+x\n-y\n+z", Some("x\nz\n")),
        ("1\n2\n3\n", "@@\n-3\n+c\n@@\n-1\n+a", None),
        ("x\ny\n", "@@\n y\n-\n+z", Some("x\ny\nz\n")),
        ("a\n", "@@\n-a\n+b\n ", Some("b\n")),
        ("a\n", "@@\n a\n \n+b", Some("a\n\nb\n")),
        ("a\nb\nc\n", "@@\n+x\n@@\n-c\n+d", Some("a\nb\nd\nx\n")),
        (
            "a\nb\na\n\nc\n",
            "@@\n-a\n+x\n\n@@\n-c\n+d",
            Some("a\nb\nx\n\nd\n"),
        ),
        ("  f()\nq\na\n", "@@ f()  \n-a\n+x", Some("  f()\nq\nx\n")),
        ("f\na\n", "@@ f\n f\n-a\n+x", None),
        ("f\na\n", "@@ f", None),
        ("a\nb\n", "@@x\n-a\n+x", None),
        ("a\nb\n", "@@\n-a\n+x\nb", None),
        ("x\ny\n", "@@ -1,2 +1,2 @@\n-x\n+q", None),
        ("", "@@\n+q", Some("q\n")),
        (
            "*** End Patch\nx\n",
            "@@\n *** End Patch\n-x\n+z",
            Some("*** End Patch\nz\n"),
        ),
        // an added last line goes behind a line that an earlier chunk adds at the end
        ("a\nb\n", "@@\n+1\n@@\n b\n+2", Some("a\nb\n1\n2\n")),
    ];
    for (before, body, after) in cases {
        assert_eq!(
            update(before, body).as_deref(),
            after,
            "{before:?} {body:?}"
        );
    }
    // lines of a patch may end in CRLF
    let input = json!({"command": "*** Begin Patch\r\n*** Update File: a\r\n@@\r\n-y\r\n+z\r\n*** End Patch\r\n"});
    let file = Disk::of(&[("a", "x\ny\n")]).only("apply_patch", &input);
    assert_eq!(file.after, PredictedContent::Text(b"x\nz\n".to_vec()));
}

/// Path, path before a move, text before, text after.
type FileRow = (String, Option<String>, Option<String>, Option<String>);

fn told(files: &[PredictedFile]) -> Vec<FileRow> {
    let text = |content: &PredictedContent| {
        content
            .text()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    let path = |path: &Path| path.display().to_string();
    files
        .iter()
        .map(|file| {
            (
                path(&file.path),
                file.moved_from.as_deref().map(path),
                text(&file.before),
                text(&file.after),
            )
        })
        .collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn files_are_added_deleted_moved_and_changed_in_one_patch() {
    let disk = Disk::of(&[
        ("a", "q\n"),
        ("b", "x\n"),
        ("gone", "g\n"),
        ("there", "t\n"),
    ]);
    let body = "*** Add File: sub/new\n+n\n+\n*** Delete File: gone\n*** Update File: a\n*** Move to: m/a\n@@\n-q\n+r\n\n*** Update File: ./b\n@@\n-x\n+y";
    let files = disk.files("apply_patch", &patch(body));
    assert!(
        files.iter().all(|file| file.outlook == Outlook::Certain),
        "{files:?}"
    );
    assert_eq!(
        told(&files),
        [
            ("/w/sub/new".to_owned(), None, None, some("n\n\n")),
            ("/w/gone".to_owned(), None, some("g\n"), None),
            ("/w/m/a".to_owned(), some("/w/a"), some("q\n"), some("r\n")),
            ("/w/b".to_owned(), None, some("x\n"), some("y\n")),
        ]
    );
    // a move over a file is reported as two files
    let files = disk.files(
        "apply_patch",
        &patch("*** Update File: a\n*** Move to: there\n@@\n q"),
    );
    assert_eq!(
        told(&files),
        [
            ("/w/there".to_owned(), None, some("t\n"), some("q\n")),
            ("/w/a".to_owned(), None, some("q\n"), None),
        ]
    );
    // a file that exists is overwritten
    let files = disk.files("apply_patch", &patch("*** Add File: a\n+n"));
    assert_eq!(
        told(&files),
        [("/w/a".to_owned(), None, some("q\n"), some("n\n"))]
    );
    let files = disk.files(
        "apply_patch",
        &patch("*** Update File: b\n@@\n-x\n+z\n*** Update File: b\n@@\n-z\n+w"),
    );
    assert_eq!(
        told(&files),
        [("/w/b".to_owned(), None, some("x\n"), some("w\n"))]
    );
    assert!(matches!(files[0].outlook, Outlook::Unsure(_)));
}

#[test]
fn a_patch_is_refused_as_a_whole() {
    let disk = Disk::of(&[("a", "q\n"), ("bin", "\u{0}")]).with("/w/dir", FileNow::Directory);
    let body = "*** Update File: a\n@@\n-q\n+r\n*** Update File: none\n@@\n-q\n+r";
    let files = disk.files("apply_patch", &patch(body));
    let reasons: Vec<_> = files
        .iter()
        .map(|file| (file.after == file.before, &file.outlook))
        .collect();
    let fails = |reason: &str| Outlook::Fails(reason.to_owned());
    assert_eq!(
        reasons,
        [
            (
                true,
                &fails("the patch is refused as a whole: none: the file does not exist")
            ),
            (true, &fails("the file does not exist")),
        ]
    );
    for body in [
        "*** Update File: a",
        "*** Delete File: none",
        "*** Delete File: dir",
        "*** Add File: x\n+a\nb",
        "*** Delete File: a\n\n",
    ] {
        let files = disk.files("apply_patch", &patch(body));
        assert!(
            files
                .iter()
                .all(|file| matches!(file.outlook, Outlook::Fails(_))),
            "{body}: {files:?}"
        );
        assert!(!files.is_empty(), "{body}");
    }
    let files = disk.files("apply_patch", &patch("*** Delete File: bin"));
    assert_eq!(
        (&files[0].before, &files[0].after),
        (&PredictedContent::Size(1), &PredictedContent::Absent)
    );
}

#[test]
fn patches_in_shell_commands() {
    let disk = Disk::of(&[("sub/a", "q\n")]);
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-q\n+r\n*** End Patch\n";
    let commands = [
        json!(format!("cd sub && apply_patch <<'EOF'\n{patch}EOF\n")),
        json!([
            "bash",
            "-lc",
            format!("cd \"sub\" && apply_patch <<EOF\n{patch}EOF")
        ]),
    ];
    for command in commands {
        let file = disk.only("Bash", &json!({"command": command}));
        assert_eq!(file.path, Path::new("/w/sub/a"));
        assert_eq!(file.after, PredictedContent::Text(b"r\n".to_vec()));
        assert_eq!(
            file.outlook,
            Outlook::Unsure("the patch is part of a shell command".to_owned())
        );
    }
}
