//! Finds the ids of requirements that the tests of the repository name.

use std::path::Path;
use std::{fs, io};

use crate::ids::{self, Id};

/// One test that names an id.
#[derive(Debug)]
pub struct Mention {
    pub id: Id,
    pub file: String,
    line: usize,
    pub test: String,
    /// The test's comment and title.
    text: String,
}

/// Words of a requirement that stand beside its id in a test.
const REPEATED_WORDS: usize = 4;

/// The words of a text, without signs, in small letters.
fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect()
}

impl Mention {
    /// True if the test repeats the first words of a requirement, so that a wrong number is seen.
    pub fn repeats(&self, requirement: &str) -> bool {
        let first: Vec<String> = words(requirement)
            .into_iter()
            .take(REPEATED_WORDS)
            .collect();
        let own = words(&self.text);
        own.windows(first.len()).any(|some| some == first)
    }

    /// `file:line test`
    pub fn place(&self) -> String {
        format!("{}:{} {}", self.file, self.line, self.test)
    }
}

/// All mentions in a repository, in the order of its files.
pub fn repository(root: &Path) -> io::Result<Vec<Mention>> {
    let mut mentions = Vec::new();
    directory(root, root, &mut mentions)?;
    Ok(mentions)
}

fn directory(root: &Path, path: &Path, mentions: &mut Vec<Mention>) -> io::Result<()> {
    let mut entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let roots =
        ["main.rs", "lib.rs", "mod.rs"].map(|name| fs::read_to_string(path.join(name)).ok());
    let roots: Vec<_> = roots.into_iter().flatten().collect();
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            // hidden directories, built or fetched files, and this program, whose own tests contain many ids
            let skipped = ["target", "node_modules", "dist", "out", "requirements"];
            if !name.starts_with('.') && !skipped.contains(&&*name) {
                directory(root, &path, mentions)?;
            }
            continue;
        }
        let shown = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        match path.extension().and_then(|e| e.to_str()) {
            Some("rs") if !is_orphan(&name, &roots) => {
                mentions.extend(rust(&shown, &fs::read_to_string(&path)?));
            }
            Some("ts") if is_test_file(&shown) => {
                mentions.extend(typescript(&shown, &fs::read_to_string(&path)?));
            }
            Some("py" | "lua") if is_test_file(&shown) => {
                mentions.extend(other(&shown, &fs::read_to_string(&path)?));
            }
            _ => {}
        }
    }
    Ok(())
}

/// True for a Rust file that no `mod` names: it is not compiled, so its tests never run.
fn is_orphan(name: &str, roots: &[String]) -> bool {
    let module = name.trim_end_matches(".rs");
    let declares = |line: &str| {
        let words = line.trim().trim_end_matches(';').split(' ');
        !line.trim().starts_with("//") && words.rev().take(2).eq([module, "mod"])
    };
    let is_root = ["main", "lib", "mod"].contains(&module);
    !roots.is_empty() && !is_root && !roots.iter().any(|text| text.lines().any(declares))
}

/// True for a file of tests, by its own name or that of a directory.
fn is_test_file(path: &str) -> bool {
    path.split(['/', '.', '_', '-'])
        .any(|part| matches!(part, "test" | "tests" | "spec" | "e2e"))
}

/// Rust: the name and the comments of each `#[test]` function. Other comments cover nothing: they may only cite the
/// source of a rule.
pub fn rust(file: &str, text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let (mut comments, mut is_test) = (String::new(), false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix("//") {
            comments += comment;
            comments.push('\n');
        } else if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("::test(");
        } else if let Some(name) = function(line).filter(|_| is_test) {
            let mut ids = ids::in_text(&comments);
            ids.extend(ids::in_name(name));
            mentions.extend(ids.into_iter().map(|id| Mention {
                id,
                file: file.to_owned(),
                line: number + 1,
                test: name.to_owned(),
                text: format!("{comments} {name}"),
            }));
            (comments, is_test) = (String::new(), false);
        } else {
            (comments, is_test) = (String::new(), false);
        }
    }
    mentions
}

/// Name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let after = line
        .strip_prefix("fn ")
        .or_else(|| Some(line.split_once(" fn ")?.1))?;
    after
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
}

/// TypeScript: the title of each `test(…)` or `it(…)` and the comments directly above it.
fn typescript(file: &str, text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut comments = String::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix("//") {
            comments += comment;
            comments.push('\n');
            continue;
        }
        if line.starts_with("test(") || line.starts_with("it(") {
            let text = comments + line;
            let ids = ids::in_text(&text);
            mentions.extend(ids.into_iter().map(|id| Mention {
                id,
                file: file.to_owned(),
                line: number + 1,
                test: line.chars().take(80).collect(),
                text: text.clone(),
            }));
        }
        comments = String::new();
    }
    mentions
}

/// Other languages: every line of a test file that names an id, in a comment, a title or a function's name.
fn other(file: &str, text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut ids = ids::in_text(line);
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        ids.extend(words.flat_map(ids::in_name));
        mentions.extend(ids.into_iter().map(|id| Mention {
            id,
            file: file.to_owned(),
            line: number + 1,
            test: line.trim().chars().take(80).collect(),
            text: line.to_owned(),
        }));
    }
    mentions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(mentions: &[Mention]) -> Vec<String> {
        mentions
            .iter()
            .map(|m| format!("{} {}", m.id, m.place()))
            .collect()
    }

    #[test]
    fn rust_tests_are_read_by_name_and_comment() {
        let text = "
//! S3-001: not a test
/// S3-002: where the rule comes from
fn helper() {}

/// Covers S3-003…004.
#[test]
fn a_thing() {}

#[tokio::test]
async fn s3_005_another() {
    // S3-006 in passing
    let x = 1;
}

/// U-07
#[test]
#[should_panic(expected = \"no\")]
pub fn a_third() {}
";
        let expected = [
            "S3-003 x.rs:8 a_thing",
            "S3-004 x.rs:8 a_thing",
            "S3-005 x.rs:11 s3_005_another",
            "U-07 x.rs:19 a_third",
        ];
        assert_eq!(places(&rust("x.rs", text)), expected);
    }

    #[test]
    fn a_claim_repeats_the_first_words_of_its_requirement() {
        let text = "/// S2-016: the event has the iteration, and more.\n#[test]\nfn a() {}\n\
                    // S2-016: a call slips\n#[test]\nfn b() {}\n";
        let found = rust("x.rs", text);
        let repeats: Vec<bool> = found
            .iter()
            .map(|one| one.repeats("the event has the iteration, and tool, input"))
            .collect();
        assert_eq!(repeats, [true, false]);
        assert!(found[0].repeats("the event"), "a short one is whole");
    }

    #[test]
    fn a_file_that_no_module_names_is_an_orphan() {
        let roots = ["mod a;\n  pub(crate) mod b;\n// mod c;\n".to_owned()];
        let orphans = ["a.rs", "b.rs", "c.rs", "main.rs"].map(|name| is_orphan(name, &roots));
        assert_eq!(orphans, [false, false, true, false]);
        assert!(!is_orphan("c.rs", &[]));
    }

    #[test]
    fn other_tests_are_read_by_line() {
        assert!(is_test_file("nvim-plugin/tests/a.lua") && is_test_file("src/tree.test.ts"));
        assert!(is_test_file("client/test_repl.py") && !is_test_file("src/latest.py"));
        let text = "def test_s5_070_values():\n    pass\nit('U-07 masks', f)\n";
        let expected = [
            "S5-070 t.py:1 def test_s5_070_values():",
            "U-07 t.py:3 it('U-07 masks', f)",
        ];
        assert_eq!(places(&other("t.py", text)), expected);
    }

    #[test]
    fn typescript_tests_are_read_by_title_and_comment() {
        let text = "
// S3-001: of the file

// S3-002, S3-Q1: why
// U-01
test('a title', async () => {
  // S3-003 in passing
});
// S3-004
const x = 1;
  test(`U-02: ${how}`, f);
";
        let expected = [
            "S3-002 a.spec.ts:6 test('a title', async () => {",
            "S3-Q1 a.spec.ts:6 test('a title', async () => {",
            "U-01 a.spec.ts:6 test('a title', async () => {",
            "U-02 a.spec.ts:11 test(`U-02: ${how}`, f);",
        ];
        assert_eq!(places(&typescript("a.spec.ts", text)), expected);
    }
}
