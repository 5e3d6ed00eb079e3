//! The files that a call names, before it runs: the paths of its tool, the words of its command, and the fields of its input.

use std::path::{Path, PathBuf};

use backstitch_agents::patch_headers;
use backstitch_control::{CommandPlace, SearchedFiles, named_files};
use backstitch_core::capture::{Effect, ToolCall};
use serde_json::Value;

use super::matches::expanded;
use super::paths::{clean, relative, resolved};

/// Longest text of a field that may be a path, in bytes.
const MAX_PATH: usize = 4096;
/// Levels of an input that are looked into.
const MAX_DEPTH: usize = 16;
/// Paths that are taken from the fields of one input.
const MAX_PATHS: usize = 4096;

/// Words in the names of fields whose texts are paths.
const PATH_FIELDS: &[&str] = &[
    "path",
    "file",
    "dir",
    "folder",
    "uri",
    "source",
    "destination",
];

/// Names of fields whose texts may be paths.
const PLACE_FIELDS: &[&str] = &[
    "from", "to", "target", "src", "dest", "dst", "location", "root", "cwd", "document", "old",
    "new", "input", "output", "out", "in", "left", "right", "base",
];

/// Fields in which a shell tool names the directory of its command.
const WORK_DIRS: &[&str] = &[
    "workdir",
    "cwd",
    "working_directory",
    "workingDirectory",
    "working_dir",
    "dir_path",
    "directory",
    "dir",
];

/// Tools that search a tree of files, in small letters.
const SEARCHES: &[&str] = &[
    "grep",
    "glob",
    "rg",
    "ripgrep",
    "search_file_content",
    "grep_search",
    "grep_files",
    "file_search",
    "search_files",
    "find_by_name",
    "codebase_search",
    "search_codebase",
    "semantic_search",
    "text_search",
    "search_in_files",
    "find_files",
    "list_files",
    "search",
    "find",
];

/// Fields with a pattern of the files that a search reads.
const FILTERS: &[&str] = &[
    "glob",
    "include",
    "include_pattern",
    "includePattern",
    "file_pattern",
    "filePattern",
    "includes",
];

/// The files that a call names. Paths are relative to the root with `/`, absolute if they are outside of it.
#[derive(Debug, Default)]
pub struct NamedByCall {
    /// Those that it says it writes.
    pub paths: Vec<String>,
    pub mentioned: Vec<String>,
    /// Those of `mentioned` that it only reads.
    pub only_read: Vec<String>,
    pub searched: Vec<SearchedFiles>,
}

/// Returns the files that a call names. `command`: its text, for a shell.
pub fn by_call(
    call: &ToolCall,
    input: &Value,
    command: Option<&str>,
    root: &Path,
    cwd: &Path,
) -> NamedByCall {
    let mut named = NamedByCall {
        paths: by_effect(&call.effect, root, cwd),
        ..NamedByCall::default()
    };
    if let Some(command) = command {
        by_command(command, &mut named, root, &work_dir(input, cwd));
    }
    if named.paths.is_empty() {
        by_fields(&call.tool, input, &mut named, root, cwd);
    }
    add_real(&mut named.mentioned, root);
    add_real(&mut named.only_read, root);
    named
}

/// The directory in which a shell tool runs its command.
fn work_dir(input: &Value, cwd: &Path) -> PathBuf {
    let given = WORK_DIRS.iter().find_map(|name| input.get(name)?.as_str());
    given.map_or_else(|| cwd.to_path_buf(), |dir| clean(&cwd.join(dir)))
}

fn by_command(command: &str, named: &mut NamedByCall, root: &Path, cwd: &Path) {
    let (root_text, cwd) = (root.to_string_lossy(), cwd.to_string_lossy());
    let found = named_files(
        command,
        CommandPlace {
            root: &root_text,
            cwd: &cwd,
            variable: &|name| std::env::var(name).ok(),
            is_dir: &|path| Path::new(path).is_dir(),
        },
    );
    named.mentioned.extend(found.paths);
    named.only_read.extend(found.only_read.iter().cloned());
    for pattern in found.patterns.iter().filter(|one| !one.starts_with('/')) {
        let files = expanded(root, pattern);
        if found.only_read.contains(pattern) {
            named.only_read.extend(files.iter().cloned());
        }
        named.mentioned.extend(files);
    }
    named.searched.extend(found.searched);
}

/// Returns the paths that a tool says it writes.
fn by_effect(effect: &Effect, root: &Path, cwd: &Path) -> Vec<String> {
    let Effect::Names(paths) = effect else {
        return Vec::new();
    };
    let absolute = |path: &PathBuf| clean(&cwd.join(path));
    let mut named = paths
        .iter()
        .map(|path| relative(root, &absolute(path)))
        .collect();
    add_real(&mut named, root);
    named
}

/// Returns a path with those behind its links, if they differ: a path outside of the root may lead into it, and one inside may
/// lead elsewhere. A directory that is only looked at, `src/.`, stays one.
fn real(path: &str, root: &Path) -> Option<String> {
    let (name, mark) = match path.strip_suffix("/.") {
        Some(name) => (name, "/."),
        None => (path, ""),
    };
    let found = relative(root, &resolved(&root.join(name))?);
    (!found.is_empty() && found != name).then(|| found + mark)
}

/// Adds the paths behind links.
fn add_real(paths: &mut Vec<String>, root: &Path) {
    let all: Vec<String> = paths.iter().filter_map(|path| real(path, root)).collect();
    for path in all {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
}

/// Paths in the fields of an input.
struct FieldPaths<'a> {
    cwd: &'a Path,
    /// Absolute.
    found: Vec<PathBuf>,
}

/// Adds the paths in the input of a tool that is not a known edit tool, at any depth.
fn by_fields(tool: &str, input: &Value, named: &mut NamedByCall, root: &Path, cwd: &Path) {
    let mut fields = FieldPaths {
        cwd,
        found: Vec::new(),
    };
    fields.read("", input, 0);
    let paths = fields.found.iter().map(|path| below(root, path));
    let paths: Vec<String> = paths.filter(|path| !path.is_empty()).collect();
    match search_of(tool, input) {
        Some(SearchScope::Files(filter)) => {
            let dirs = if paths.is_empty() {
                vec![below(root, cwd)]
            } else {
                paths
            };
            for dir in dirs {
                // the place may be a file, too
                if root.join(&dir).is_file() {
                    named.mentioned.push(dir.clone());
                }
                named.searched.push(SearchedFiles::of(&dir, &filter));
            }
        }
        None => {
            named.mentioned.extend(paths);
            // a tool of another server may have a pattern, too
            let fields = FILTERS.iter().chain(&["pattern", "patterns", "globs"]);
            let texts = fields.filter_map(|name| input.get(name)).flat_map(texts_of);
            for pattern in texts {
                if pattern.contains('/') && pattern.len() < MAX_PATH {
                    let dir = below(root, cwd);
                    named.searched.push(SearchedFiles::of(&dir, pattern));
                }
            }
        }
        Some(SearchScope::All) if paths.is_empty() => named.mentioned.push(below(root, cwd)),
        Some(SearchScope::All) => named.mentioned.extend(paths),
    }
}

/// A text, or the texts of a list.
fn texts_of(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A search of a tree.
enum SearchScope {
    All,
    /// Only files that match a pattern.
    Files(String),
}

/// Returns the search that a tool is. None: it is another tool.
fn search_of(tool: &str, input: &Value) -> Option<SearchScope> {
    let tool = tool.to_ascii_lowercase();
    if !SEARCHES.contains(&tool.as_str()) {
        return None;
    }
    let text = |name: &&str| input.get(name)?.as_str().map(str::to_owned);
    let filter = FILTERS.iter().find_map(text);
    // the pattern of a tool that finds names
    let finds_names = tool.contains("glob")
        || ["file_search", "find_by_name", "find_files"].contains(&tool.as_str());
    let filter = filter.or_else(|| {
        let names = ["pattern", "glob_pattern", "Pattern", "query"];
        names.iter().find_map(text).filter(|_| finds_names)
    });
    // one that begins with `!` leaves files out
    let filter = filter.filter(|filter| !filter.is_empty() && !filter.starts_with('!'));
    Some(filter.map_or(SearchScope::All, SearchScope::Files))
}

/// A path relative to the root; the root, and what is above it, is `.`.
fn below(root: &Path, path: &Path) -> String {
    if root.starts_with(path) {
        return ".".to_owned();
    }
    relative(root, path)
}

impl FieldPaths<'_> {
    fn read(&mut self, name: &str, value: &Value, depth: usize) {
        if depth > MAX_DEPTH || self.found.len() >= MAX_PATHS {
            return;
        }
        match value {
            Value::String(text) => self.text(name, text, depth),
            Value::Array(items) => items
                .iter()
                .for_each(|item| self.read(name, item, depth + 1)),
            Value::Object(fields) => {
                for (own, value) in fields {
                    // files by their path: { "src/a.rs": "text" }
                    if own.contains(['/', '.']) {
                        self.text("", own, depth);
                    }
                    // an object in a field of paths has its own names
                    self.read(own, value, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, name: &str, text: &str, depth: usize) {
        // an input within a text
        if text.starts_with(['[', '{'])
            && let Ok(inner @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
        {
            return self.read(name, &inner, depth + 1);
        }
        let name = name.to_ascii_lowercase();
        if text.contains('\n') {
            return self.lines(&name, text);
        }
        if text.is_empty() || text.len() > MAX_PATH {
            return;
        }
        let patterns = ["pattern", "glob", "query", "regex", "include", "exclude"];
        if patterns.iter().any(|word| name.contains(word)) {
            return;
        }
        let is_path_field =
            PATH_FIELDS.iter().any(|word| name.contains(word)) && !name.contains("pattern");
        let path = match text.strip_prefix("file://") {
            Some(rest) => decoded(rest.strip_prefix("localhost").unwrap_or(rest)),
            None if text.contains("://") => return,
            None => text.to_owned(),
        };
        let path = match path.strip_prefix("~/").zip(std::env::var_os("HOME")) {
            Some((rest, home)) => Path::new(&home).join(rest),
            None => clean(&self.cwd.join(&path)),
        };
        let is_place = is_path_field || PLACE_FIELDS.contains(&name.as_str());
        // any other text may be a path, too
        let looks_like_one = || {
            let is_word = !text.contains(char::is_whitespace);
            is_word && text.contains('/') || path.is_file()
        };
        if is_path_field || is_place && path.symlink_metadata().is_ok() || looks_like_one() {
            self.found.push(path);
        }
    }
}

impl FieldPaths<'_> {
    /// Paths in a text of several lines: the headers of a patch, or one in each line of a field of paths.
    fn lines(&mut self, name: &str, text: &str) {
        let mut paths = patch_headers::paths_of_any(text);
        if PATH_FIELDS.iter().any(|word| name.contains(word)) {
            let lines = text.lines().map(str::trim);
            let lines = lines.filter(|line| !line.is_empty() && line.len() <= MAX_PATH);
            paths.extend(lines.take(MAX_PATHS).map(PathBuf::from));
        }
        let left = MAX_PATHS.saturating_sub(self.found.len());
        let absolute = paths.iter().map(|path| clean(&self.cwd.join(path)));
        self.found.extend(absolute.take(left));
    }
}

/// The path of a URI: `%20` is a blank.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = code.filter(|_| *first == b'%') {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mentioned(tool: &str, input: &Value) -> NamedByCall {
        let call = ToolCall {
            id: None,
            tool: tool.to_owned(),
            input: input.to_string().into_bytes(),
            effect: Effect::Any { background: false },
        };
        by_call(
            &call,
            input,
            None,
            Path::new("/srv/app"),
            Path::new("/srv/app/src"),
        )
    }

    #[test]
    fn paths_are_found_at_any_depth() {
        for input in [
            json!({ "path": "a.rs" }),
            json!({ "edits": [{ "path": "a.rs", "newText": "x" }] }),
            json!({ "args": { "path": "/srv/app/src/a.rs" } }),
            json!({ "files": [{ "path": "./a.rs" }] }),
            json!({ "files": "[{\"path\": \"a.rs\"}]" }),
            json!({ "paths": ["x", "a.rs"] }),
            json!({ "target": "/srv/app/src/a.rs" }),
            json!({ "request": { "from": "../src/a.rs", "to": "x" } }),
            json!({ "uri": "file:///srv/app/src/a.rs" }),
            json!({ "textDocument": { "uri": "file://localhost/srv/app/src/%61.rs" } }),
            json!({ "files": { "../src/a.rs": "text" } }),
            json!({ "anything": [["./a.rs"]] }),
            json!({ "source": "a.rs", "destination": "b.rs" }),
            json!({ "diff": "--- a/a.rs\t2026-01-01\n+++ b/a.rs\n@@ -1 +1 @@\n-x\n+y\n" }),
            json!({ "patch": "*** Begin Patch\n*** Delete File: a.rs\n*** End Patch\n" }),
            json!({ "text": "diff --git a/b.rs b/a.rs\nrename from b.rs\nrename to a.rs\n" }),
            json!({ "files": "x\n./a.rs\n" }),
        ] {
            let found = mentioned("mcp__fs__x", &input).mentioned;
            assert!(found.contains(&"src/a.rs".to_owned()), "{input}: {found:?}");
        }
        for input in [
            json!({ "query": "a.rs" }),
            json!({ "content": "see src/a.rs for more" }),
            json!({ "url": "https://example.org/src/a.rs" }),
            json!({ "text": "a\nsrc/a.rs" }),
        ] {
            let found = mentioned("mcp__web__x", &input).mentioned;
            assert!(found.is_empty(), "{input}: {found:?}");
        }
    }

    #[test]
    fn a_search_without_a_place_is_one_of_the_whole_tree() {
        let found = mentioned("Grep", &json!({ "pattern": "x" }));
        assert_eq!(found.mentioned, ["src"]);
        let found = mentioned("Grep", &json!({ "pattern": "x", "glob": "*.md" }));
        assert_eq!(found.searched, [SearchedFiles::of("src", "*.md")]);
        assert!(found.mentioned.is_empty());
        let found = mentioned("Glob", &json!({ "pattern": "**/*.ts", "path": "/srv/app" }));
        assert_eq!(found.searched, [SearchedFiles::of(".", "**/*.ts")]);
        let found = mentioned("WebSearch", &json!({ "query": "x" }));
        assert!(found.mentioned.is_empty() && found.searched.is_empty());
    }
}
