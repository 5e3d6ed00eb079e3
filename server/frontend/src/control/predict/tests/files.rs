//! Files that are no text, symlinks, folders, and the disk.

use super::*;

#[test]
fn files_that_are_no_text_are_named_with_their_sizes() {
    let edit = json!({"file_path": "/w/f.txt", "old_string": "one", "new_string": "two"});
    let gemini = json!({"file_path": "/w/f.txt", "old_string": "one", "new_string": "two", "instruction": ""});
    for bytes in [&b"caf\xe9\none\n"[..], b"a\0b\none\n", b"\xfe\xff\0o\0n\0e"] {
        let disk = Disk::of(&[("f.txt", bytes)]);
        let file = disk.only("Edit", &edit);
        assert!(matches!(file.outlook, Outlook::Fails(_)), "{file:?}");
        let file = disk.only("replace", &gemini);
        assert!(matches!(file.outlook, Outlook::Unsure(_)), "{file:?}");
        assert_eq!(
            (file.before, file.after),
            (
                PredictedContent::Size(bytes.len() as u64),
                PredictedContent::Unknown
            )
        );
    }
    let large = Disk::default().with("/w/f.txt", FileNow::TooLarge(2 << 20));
    let file = large.only("Edit", &edit);
    assert_eq!(file.before, PredictedContent::Size(2 << 20));
    assert_eq!(
        file.outlook,
        Outlook::Unsure("the file is too large to predict".to_owned())
    );
    let content = "x".repeat(1 + (1 << 20));
    let file = large.only(
        "Write",
        &json!({"file_path": "/w/f.txt", "content": content}),
    );
    assert_eq!(file.after, PredictedContent::Size(1 + (1 << 20)));
}

#[test]
fn symlinks_folders_and_notebooks() {
    let disk = Disk::of(&[("target.txt", "one\n"), ("book.ipynb", "{}")])
        .with("/w/link.txt", FileNow::Link("/w/target.txt".into()))
        .with("/w/loop", FileNow::Link("/w/loop".into()))
        .with("/w/dir", FileNow::Directory);
    let edit = |path: &str| json!({"file_path": path, "old_string": "one", "new_string": "two"});
    let outlook = |tool, path| disk.only(tool, &edit(path)).outlook;
    let Outlook::Fails(reason) = outlook("Edit", "link.txt") else {
        panic!()
    };
    assert!(reason.contains("/w/target.txt"), "{reason}");
    let file = disk.only("replace", &edit("link.txt"));
    assert_eq!(file.after, PredictedContent::Text(b"two\n".to_vec()));
    assert_eq!(
        file.outlook,
        Outlook::Unsure("it is a symlink, and the tool writes to /w/target.txt".to_owned())
    );
    assert!(matches!(outlook("Edit", "loop"), Outlook::Unsure(_)));
    assert!(matches!(outlook("Edit", "dir"), Outlook::Fails(_)));
    assert!(matches!(outlook("Edit", "book.ipynb"), Outlook::Fails(_)));
    // relative paths are those of the call's directory
    assert_eq!(
        disk.only("Edit", &edit("a/../b.txt")).path,
        Path::new("/w/b.txt")
    );
}

#[test]
fn a_disk_is_read_without_large_files() {
    let dir = std::env::temp_dir().join(format!("backstitch-predict-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let at = |name: &str| dir.join(name);
    std::fs::write(at("f"), "x").expect("a file");
    std::fs::write(at("large"), vec![b'x'; (1 << 20) + 1]).expect("a file");
    let read = |name| read_disk(&at(name)).expect("readable");
    assert_eq!(read("f"), FileNow::File(b"x".to_vec()));
    assert_eq!(read("large"), FileNow::TooLarge((1 << 20) + 1));
    assert_eq!(read("none/below"), FileNow::Absent);
    assert_eq!(read("f/below"), FileNow::Absent);
    assert_eq!(read(""), FileNow::Directory);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("f", at("link")).expect("a link");
        assert_eq!(read("link"), FileNow::Link(at("f")));
    }
    std::fs::remove_dir_all(&dir).expect("removed");
}
