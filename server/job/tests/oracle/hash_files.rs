//! Digests of generated folders by generated patterns: equal to those of GitHub's package `@actions/glob`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use backstitch_job::expr::hash_files;
use serde_json::json;

use crate::node::Node;
use crate::random::Random;

const FOLDERS: usize = 20;
const PATTERNS: usize = 100;
const NAMES: [&str; 16] = [
    "a",
    "b",
    "B",
    "ab",
    "a b",
    "a-b",
    ".git",
    ".a",
    "Cargo.lock",
    "x.lock",
    "x.ts",
    "y.TS",
    "[a]",
    "é",
    "a*",
    "#a",
];
/// Segments of patterns, beside names.
const SEGMENTS: [&str; 24] = [
    "*",
    "**",
    "**",
    "**",
    "*.lock",
    "*.*",
    ".*",
    "?",
    "??",
    "?.ts",
    "[ab]",
    "[!ab]",
    "[a-z]*",
    "[[]a]",
    "[z-a]",
    "[[:upper:]]*",
    "a*b",
    "*a*",
    "\\*",
    "a\\*",
    "[a",
    "*.t?",
    "[]a]*",
    "***",
];

/// Fills a folder with files, folders and links, among them links to nothing.
fn fill(random: &mut Random, folder: &Path, depth: usize) {
    for _ in 0..=random.below(7) {
        let path = folder.join(random.pick(&NAMES));
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match random.below(10) {
            0..=4 => {
                let content = format!("{}", random.below(1000));
                fs::write(path, content).expect("a file");
            }
            5 => {
                let targets = ["a", "b", "x.ts", "nothing"];
                symlink(random.pick(&targets), path).expect("a link");
            }
            _ if depth > 0 => {
                fs::create_dir(&path).expect("a folder");
                fill(random, &path, depth - 1);
            }
            _ => {}
        }
    }
}

fn pattern(random: &mut Random, workspace: &Path) -> String {
    let mut text = String::new();
    if random.percent(20) {
        text.push_str(random.pick(&["!", "!!", "! ", "#", "  "]));
    }
    match random.below(20) {
        0 => text = format!("{text}{}/", workspace.display()),
        1 => text.push_str("./"),
        2 => text = format!("{text}{}/", workspace.parent().expect("above").display()),
        _ => {}
    }
    if random.percent(40) {
        text.push_str("**/");
    }
    let count = random.below(3) + 1;
    for place in 0..count {
        if place > 0 {
            text.push_str(if random.percent(5) { "//" } else { "/" });
        }
        if random.percent(55) {
            text.push_str(random.pick(&SEGMENTS));
        } else if random.percent(2) {
            text.push_str(random.pick(&[".", ".."]));
        } else {
            text.push_str(random.pick(&NAMES));
        }
    }
    if random.percent(15) {
        text.push('/');
    }
    text
}

#[test]
fn digests_of_files_are_those_of_githubs_package() {
    let test = "digests_of_files_are_those_of_githubs_package";
    let Some(mut node) = Node::start(test, "hash_files.mjs", "@actions/glob") else {
        return;
    };
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path().canonicalize().expect("a path");
    let mut random = Random::new(7);
    let mut questions = Vec::new();
    for number in 0..FOLDERS {
        let workspace: PathBuf = root.join(number.to_string()).join("[w] *");
        fs::create_dir_all(&workspace).expect("a folder");
        fill(&mut random, &workspace, 3);
        // one link to a folder above: with several, their paths are as many as their orders
        let _ = symlink(
            "..",
            workspace.join(random.pick(&["a", "b", "ab"])).join("up"),
        );
        for _ in 0..PATTERNS {
            let count = random.below(3) + 1;
            let lines: Vec<String> = (0..count)
                .map(|_| pattern(&mut random, &workspace))
                .collect();
            let follow = random.percent(40);
            questions.push(json!({
                "workspace": workspace, "patterns": lines.join("\n"), "follow": follow,
            }));
        }
    }
    let home = std::env::var("HOME").expect("a home");
    let (mut wrong, mut digests) = (Vec::new(), 0);
    for (question, expected) in questions.iter().zip(node.ask(&questions)) {
        let workspace = question["workspace"].as_str().expect("a path");
        let mut patterns = vec![question["patterns"].as_str().expect("a text").to_owned()];
        if question["follow"] == true {
            patterns.insert(0, "--follow-symbolic-links".into());
        }
        let answer = hash_files(Path::new(workspace), Path::new(&home), &patterns).ok();
        let expected = expected["ok"].as_str();
        digests += usize::from(expected.is_some_and(|digest| !digest.is_empty()));
        if answer.as_deref() != expected {
            wrong.push(format!("{question}: {answer:?}, not {expected:?}"));
        }
    }
    assert!(digests > questions.len() / 5, "only {digests} digests");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}
