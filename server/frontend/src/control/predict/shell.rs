//! Shell commands: the words that may be paths, and patches that are given to `apply_patch`. Runs and expands nothing.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::absolute;

/// A patch that a shell command gives to `apply_patch`.
#[derive(Debug, PartialEq, Eq)]
pub struct ShellPatch<'a> {
    pub patch: &'a str,
    /// The directory that the command changes to before; empty if none.
    pub dir: PathBuf,
}

/// Names that are kept of one command.
pub const MAX_NAMES: usize = 256;

/// Returns the command of a shell tool: a text, or the words of one.
pub fn command(input: &Value) -> Option<String> {
    let field = ["command", "cmd", "script", "commands"]
        .iter()
        .find_map(|name| input.get(name))?;
    match field {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            match parts[..] {
                // the words of one command
                [shell, flag, script] if is_shell_call(shell, flag) => Some(script.to_owned()),
                _ => Some(parts.join("\n")),
            }
        }
        _ => None,
    }
}

fn is_shell_call(shell: &str, flag: &str) -> bool {
    let name = Path::new(shell).file_name().and_then(|name| name.to_str());
    matches!(name, Some("bash" | "sh" | "zsh")) && matches!(flag, "-c" | "-lc")
}

/// Returns the patch that a command gives to `apply_patch` in a here-document, or as an argument.
pub fn patch(input: &Value) -> Option<ShellPatch<'_>> {
    let field = input.get("command").or_else(|| input.get("cmd"))?;
    let script = match field {
        Value::String(text) => text.as_str(),
        Value::Array(parts) => match &parts[..] {
            [program, patch] if is_apply_patch(program.as_str()?) => {
                let patch = patch.as_str()?;
                return Some(ShellPatch {
                    patch,
                    dir: PathBuf::new(),
                });
            }
            [shell, flag, script] if is_shell_call(shell.as_str()?, flag.as_str()?) => {
                script.as_str()?
            }
            _ => return None,
        },
        _ => return None,
    };
    let (first, rest) = script.trim_start().split_once('\n')?;
    let (dir, call) = match first.split_once("&&") {
        Some((change, call)) => (change.trim().strip_prefix("cd ")?.trim(), call.trim()),
        None => ("", first.trim()),
    };
    let dir = dir.trim_matches(['"', '\'']);
    let (program, end) = call.split_once("<<")?;
    let end = end.trim().trim_matches(['"', '\'']);
    let patch = rest.trim_end().strip_suffix(end)?;
    let is_here_document = !end.is_empty() && patch.ends_with('\n');
    (is_here_document && is_apply_patch(program.trim())).then(|| ShellPatch {
        patch,
        dir: PathBuf::from(dir),
    })
}

fn is_apply_patch(program: &str) -> bool {
    matches!(program, "apply_patch" | "applypatch")
}

/// Returns the words of a command that may be paths, as absolute paths, each once: no options, no words with variables,
/// substitutions or patterns. A `cd` before them counts.
pub fn names(command: &str, cwd: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = Vec::new();
    let mut dir = cwd.to_path_buf();
    for words in simple_commands(command) {
        if let [program, to] = &words[..]
            && program == "cd"
            && is_plain(to)
        {
            dir = absolute(&dir, Path::new(to));
            continue;
        }
        for word in arguments(&words) {
            // --output=FILE, of=FILE
            let word = match word.split_once('=') {
                Some((name, value)) if !name.contains('/') => value,
                _ => word,
            };
            if !is_plain(word) {
                continue;
            }
            let path = absolute(&dir, Path::new(word));
            if names.len() < MAX_NAMES && !names.contains(&path) {
                names.push(path);
            }
        }
    }
    names
}

/// Words of a shell's grammar that stand before a program.
const KEYWORDS: [&str; 9] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{",
];

/// Returns the words of a simple command that may be paths: no keywords, no variable of a loop, no expression of `sed`. The
/// program is a path only if it is written as one.
fn arguments(words: &[String]) -> Vec<&String> {
    let is_keyword = |word: &&String| KEYWORDS.contains(&word.as_str());
    let words: Vec<&String> = words.iter().skip_while(is_keyword).collect();
    match words.as_slice() {
        [keyword, _, of, rest @ ..]
            if matches!(keyword.as_str(), "for" | "select") && *of == "in" =>
        {
            rest.to_vec()
        }
        [keyword, ..] if matches!(keyword.as_str(), "for" | "select") => Vec::new(),
        [program, rest @ ..] if *program == "sed" => {
            let script = rest.iter().position(|word| !word.starts_with('-'));
            let paths = rest.iter().enumerate();
            paths
                .filter(|(at, _)| Some(*at) != script)
                .map(|(_, word)| *word)
                .collect()
        }
        [program, rest @ ..] if !program.contains('/') => rest.to_vec(),
        all => all.to_vec(),
    }
}

fn is_plain(word: &str) -> bool {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    let special = ['$', '`', '*', '?', '[', '{', '\0', '\n', '\r'];
    let not_a_path = word.starts_with(['-', '~']) || word.contains("://");
    !(is_number || not_a_path || word.contains(special))
}

/// Splits a command into simple commands, and these into words, with quotes and backslashes removed.
fn simple_commands(command: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = command.chars().peekable();
    let end_word = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(last)) = (word.take(), commands.last_mut()) {
            last.push(word);
        }
    };
    while let Some(char) = chars.next() {
        match char {
            '\'' | '"' => {
                let text = word.get_or_insert_default();
                while let Some(inner) = chars.next() {
                    match inner {
                        _ if inner == char => break,
                        '\\' if char == '"' => text.extend(chars.next()),
                        inner => text.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            ';' | '&' | '|' | '(' | ')' | '\n' => {
                end_word(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            '<' | '>' => {
                // 2>FILE
                if word
                    .as_deref()
                    .is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()))
                {
                    word = None;
                }
                end_word(&mut word, &mut commands);
                // a redirection may stand before the program
                if let Some(words) = commands.last_mut().filter(|words| words.is_empty()) {
                    words.push(String::new());
                }
            }
            '#' if word.is_none() => {
                while chars.peek().is_some_and(|&next| next != '\n') {
                    chars.next();
                }
            }
            char if char.is_whitespace() => end_word(&mut word, &mut commands),
            char => word.get_or_insert_default().push(char),
        }
    }
    end_word(&mut word, &mut commands);
    commands
}
