use globset::GlobBuilder;
use serde_json::{Value, json};

use crate::matching::{CallFacts, CallLookup, Trigger, check};
use crate::{
    Breakpoint, BreakpointAction, BreakpointId, BreakpointScope, BreakpointSpec, CallMoment,
    ChangedLines, CommandKind, LineRange, PathKind, TurnFacts, glob,
};
use backstitch_core::Result as CoreResult;
use backstitch_core::command_words::*;

/// The table of commands. A row is a verdict, a command, and for `unseen` the reason after `##`.
const TABLE: &str = include_str!("../../../../../tests/commands/table.txt");

const ROOT: &str = "/home/me/app";

/// Files of the workspace of the table. They begin a comment of the table, too.
const FILES: &[&str] = &[
    ".env",
    "README.md",
    "app/[id]/page.tsx",
    "docs/guide.md",
    "src/auth/a.rs",
    "src/auth/deep/b.rs",
    "src/main.rs",
    "src/other/c.rs",
    "sub/y",
    "list.txt",
];

fn variable(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/me".to_owned()),
        "PROJECT" => Some(ROOT.to_owned()),
        _ => None,
    }
}

fn is_dir(path: &str) -> bool {
    let Some(below) = path.strip_prefix(ROOT) else {
        return ["/", "/home", "/home/me", "/tmp"].contains(&path);
    };
    let dir = format!("{}/", below.trim_start_matches('/'));
    dir == "/" || FILES.iter().any(|file| file.starts_with(&dir))
}

fn place<'a>(root: &'a str, cwd: &'a str) -> CommandPlace<'a> {
    CommandPlace {
        root,
        cwd,
        variable: &variable,
        is_dir: &is_dir,
    }
}

/// The paths that a command names.
pub(crate) fn named_paths(command: &str, root: &str, cwd: &str) -> Vec<String> {
    named_files(command, place(root, cwd)).paths
}

#[test]
fn paths_are_relative_to_the_root() {
    let named = |command: &str| named_paths(command, "/srv/app", "/srv/app/src");
    assert_eq!(named("a.rs"), ["src/a.rs"]);
    assert_eq!(named("./a.rs ../b.rs"), ["src/a.rs", "b.rs"]);
    assert_eq!(
        named("/srv/app/c.rs /etc/hosts ../../x"),
        ["c.rs", "/etc/hosts", "/srv/x"]
    );
    assert_eq!(named("/srv/apple"), ["/srv/apple"]);
    let option = named("--file=a.rs");
    assert!(option.contains(&"src/a.rs".to_owned()), "{option:?}");
    assert_eq!(named(".."), ["."], "the root itself");
    assert_eq!(named("../.."), ["."], "above the root");
    assert_eq!(named("../../../../../etc"), ["/etc"]);
    for command in [
        "bash -c \"sh -c 'rm a.rs'\"",
        "rm \"$PWD/a.rs\"",
        "rm ${PWD}/a.rs",
        "rm $UNKNOWN/a.rs",
        "sh -c 'rm a.rs'",
        "git checkout HEAD:./a.rs",
    ] {
        assert!(named(command).contains(&"src/a.rs".to_owned()), "{command}");
    }
}

#[test]
fn words_of_simple_commands() {
    let words = |command: &str| {
        let all = simple_commands(command);
        all.iter().map(|words| words.join("|")).collect::<Vec<_>>()
    };
    assert_eq!(words("cat a b"), ["cat|a|b"]);
    assert_eq!(
        words("cat 'my file' \"a \\\"b\\\"\""),
        ["cat|my file|a \"b\""]
    );
    assert_eq!(
        words("echo x>out;rm -f a&&(cat<in|wc)"),
        ["echo|x", "rm|-f|a", "cat", "wc"]
    );
    assert_eq!(words("a\\ b c\\\nd"), ["a b|cd"]);
    assert_eq!(words("echo ''"), ["echo|"]);
    assert_eq!(words("echo 'open"), ["echo|open"]);
    assert_eq!(words("rm \\"), ["rm"]);
    assert_eq!(words("x=1 y 2>&1 3>f"), ["x=1|y"]);
    assert_eq!(words("a $'b\\x63\\n'"), ["a|bc\n"]);
    assert_eq!(words("a {b,c{d,e}} {} x{y"), ["a|b|cd|ce|{}|x{y"]);
    assert_eq!(
        words("for f in a b; do cat $f; done"),
        ["f|in|a|b", "cat|a|b"]
    );
}

/// A command with more words than are looked at counts as naming everything.
#[test]
fn work_is_limited() {
    let began = std::time::Instant::now();
    let long = "a ".repeat(MAX_TOKENS + 1);
    assert!(named_paths(&long, ROOT, ROOT).contains(&".".to_owned()));
    let wide = format!("cat {}", "{a,b}".repeat(40));
    assert!(named_paths(&wide, ROOT, ROOT).len() <= MAX_PATHS);
    let deep = format!("{}ls{}", "$(".repeat(2000), ")".repeat(2000));
    named_paths(&deep, ROOT, ROOT);
    let variables: Vec<String> = (0..200).map(|n| format!("a{n}=$a{n}$a{n}; ")).collect();
    let variables = variables.concat();
    named_paths(&format!("a=b; {variables} cat $a199"), ROOT, ROOT);
    let code = format!("python3 -c \"{}\"", "'a b' ".repeat(20_000));
    named_paths(&code, ROOT, ROOT);
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

/// The disk of the table.
struct Disk;

impl CallLookup for Disk {
    fn iteration(&mut self) -> CoreResult<u32> {
        Ok(1)
    }
    fn turn(&mut self) -> CoreResult<TurnFacts> {
        Ok(TurnFacts::default())
    }
    fn tokens(&mut self) -> CoreResult<Option<u64>> {
        Ok(None)
    }
    fn changed(&mut self) -> CoreResult<Vec<ChangedLines>> {
        Ok(Vec::new())
    }
    fn predicted(&mut self) -> CoreResult<Vec<ChangedLines>> {
        Ok(Vec::new())
    }
    fn region(&mut self, _: BreakpointId) -> CoreResult<Option<LineRange>> {
        Ok(None)
    }
    fn triggered_before(&mut self, _: BreakpointId) -> CoreResult<bool> {
        Ok(false)
    }
    fn has_below(&mut self, dir: &str, pattern: &str) -> CoreResult<bool> {
        let pattern = glob(pattern)?;
        let is_below = |file: &&&str| dir == "." || file.starts_with(&format!("{dir}/"));
        Ok(FILES
            .iter()
            .filter(is_below)
            .any(|file| pattern.is_match(file)))
    }
    fn is_searched(&mut self, search: &SearchedFiles, pattern: &str) -> CoreResult<bool> {
        let (one, other) = (glob(pattern)?, glob(&search.glob)?);
        Ok(FILES
            .iter()
            .any(|file| one.is_match(file) && other.is_match(file)))
    }
    fn was_let_go(&mut self) -> CoreResult<bool> {
        Ok(false)
    }
    fn condition(&mut self, _: &str) -> Result<bool, String> {
        Ok(true)
    }
    fn count(&mut self, _: BreakpointId) -> CoreResult<Option<i64>> {
        Ok(Some(1))
    }
    fn passed_by(&mut self, _: &Trigger) {}
    fn problem(&mut self, _: BreakpointId, what: &str) {
        panic!("{what}");
    }
}

fn is_held(spec: &BreakpointSpec, command: &str) -> bool {
    let breakpoint = Breakpoint {
        id: BreakpointId(1),
        name: String::new(),
        spec: spec.clone(),
        moment: CallMoment::Before,
        scope: BreakpointScope::default(),
        condition: None,
        hits_when: None,
        action: BreakpointAction::Pause,
        message: None,
        once: false,
        enabled: true,
        hits: 0,
        unattended: None,
        made_by: String::new(),
        created: 0,
        problem: None,
    };
    let mut named = named_files(command, place(ROOT, ROOT));
    for pattern in &named.patterns.clone() {
        let expression = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        let Ok(expression) = expression else { continue };
        let expression = expression.compile_matcher();
        let mut dirs: Vec<&str> = FILES.to_vec();
        for file in FILES {
            dirs.extend(file.match_indices('/').map(|(at, _)| &file[..at]));
        }
        let found: Vec<String> = dirs
            .iter()
            .filter(|path| expression.is_match(path))
            // a wildcard does not stand for the first dot
            .filter(|path| !path.starts_with('.') || pattern.starts_with('.'))
            .map(|path| (*path).to_owned())
            .collect();
        if named.only_read.contains(pattern) {
            named.only_read.extend(found.iter().cloned());
        }
        named.paths.extend(found);
    }
    let input: Value = json!({ "command": command });
    let facts = CallFacts {
        moment: CallMoment::Before,
        agent: "claude-code",
        session: "s",
        subagent: None,
        tool: "Bash",
        input: &input,
        unreadable: None,
        command: Some(command),
        paths: &[],
        mentioned: &named.paths,
        only_read: &named.only_read,
        searched: &named.searched,
        reads: false,
        cwd: ROOT,
        failed: false,
        writes_named: false,
    };
    let checked = check(std::slice::from_ref(&breakpoint), &facts, &mut Disk).expect("checked");
    checked.stop.is_some()
}

/// Every row of the table. `unseen` fixes a command that a breakpoint does not see: one that is seen some day is `held`.
#[test]
fn the_table_of_commands_holds() {
    let mut spec = None;
    let (mut rows, mut wrong) = (0, Vec::new());
    for line in TABLE.lines() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(of) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            let (kind, rest) = of.split_once(' ').expect(line);
            spec = Some(match kind {
                "path" => BreakpointSpec::Path(PathKind {
                    glob: rest.to_owned(),
                    edits: false,
                }),
                "edits" => BreakpointSpec::Path(PathKind {
                    glob: rest.to_owned(),
                    edits: true,
                }),
                "command" => CommandKind::typed(rest).into(),
                other => panic!("{other}"),
            });
            continue;
        }
        let spec = spec.as_ref().expect("a breakpoint comes first");
        let (verdict, rest) = line.split_once(' ').expect(line);
        let (command, reason) = match rest.split_once("  ## ") {
            Some((command, reason)) => (command, reason),
            None => (rest, ""),
        };
        let command = command.trim().replace('⏎', "\n");
        let expected = match verdict {
            "held" => true,
            "runs" => false,
            "unseen" => {
                assert!(!reason.is_empty(), "{line}: a reason is missing");
                false
            }
            other => panic!("{other}: {line}"),
        };
        rows += 1;
        if is_held(spec, &command) != expected {
            let named = named_files(&command, place(ROOT, ROOT));
            wrong.push(format!("{} {line}\n   {named:?}", spec.summary()));
        }
    }
    assert!(rows >= 300, "{rows} rows");
    assert!(
        wrong.is_empty(),
        "{}\n{} of {rows}",
        wrong.join("\n"),
        wrong.len()
    );
}
