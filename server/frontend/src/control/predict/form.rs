//! Recognises an edit tool by its name and by the fields of its input.

use backstitch_agents::edit_rules::{EditFields, EditRules, UNKNOWN};
use backstitch_agents::edit_tool;
use serde_json::Value;

use super::shell::{self, ShellPatch};

/// Field of the input of an edit inside an editor: a list of `path` and `text`; null deletes the file.
pub const EDITOR_TEXTS: &str = "applyEdit";

/// Form of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum CallForm<'a> {
    /// One or several replacements of text in one file.
    Replace(&'static EditRules),
    /// A whole file.
    Write(&'static EditRules),
    /// Cline's SEARCH and REPLACE blocks.
    Blocks,
    /// Cline's insertion before a line.
    Insert,
    /// Claude Code's cell of a Jupyter notebook.
    Notebook,
    /// A patch between `*** Begin Patch` and `*** End Patch`.
    Patch(&'a str),
    ShellPatch(ShellPatch<'a>),
    /// The words of a command, or its text.
    Shell(String),
    /// An edit of an agent inside an editor: the texts of its files, as the language server gives them.
    Texts(&'a [Value]),
    /// Edits of several files, each with its own path.
    Several(&'a [Value]),
    /// A tool that changes nothing.
    Read,
    Other,
}

/// A field of an input, under the names that agents give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputField {
    Path,
    Old,
    New,
    All,
    Content,
    Patch,
}

impl InputField {
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Path => &[
                "file_path",
                "filePath",
                "notebook_path",
                "path",
                "target_file",
            ],
            Self::Old => &["old_string", "oldString", "old_str", "old_text", "oldText"],
            Self::New => &["new_string", "newString", "new_str", "new_text", "newText"],
            Self::All => &["replace_all", "replaceAll", "allow_multiple"],
            Self::Content => &["content", "file_text", "contents"],
            Self::Patch => &["command", "patch", "input", "patchText"],
        }
    }

    /// The name that this input has for the field.
    pub fn name(self, input: &Value) -> Option<&'static str> {
        self.names()
            .iter()
            .copied()
            .find(|name| input.get(name).is_some_and(|value| !value.is_null()))
    }

    pub fn text(self, input: &Value) -> Option<&str> {
        input.get(self.name(input)?)?.as_str()
    }

    pub fn is_true(self, input: &Value) -> bool {
        let value = self.name(input).and_then(|name| input.get(name));
        value.and_then(Value::as_bool).unwrap_or(false)
    }
}

pub fn form<'a>(tool: &str, input: &'a Value) -> CallForm<'a> {
    if let Some(texts) = input.get(EDITOR_TEXTS).and_then(Value::as_array) {
        return CallForm::Texts(texts);
    }
    if let Some(patch) = InputField::Patch.text(input).filter(|_| !is_shell(tool))
        && patch.trim_start().starts_with("*** Begin Patch")
    {
        return CallForm::Patch(patch);
    }
    if matches!(tool, "apply_patch" | "applypatch" | "patch")
        && let Some(patch) = InputField::Patch.text(input)
    {
        return CallForm::Patch(patch);
    }
    if InputField::Path.text(input).is_none() {
        return match shell::command(input) {
            Some(_) if let Some(patch) = shell::patch(input) => CallForm::ShellPatch(patch),
            Some(command) => CallForm::Shell(command),
            None if is_reader(tool) => CallForm::Read,
            None => several(input).map_or(CallForm::Other, CallForm::Several),
        };
    }
    let is_notebook = input.get("notebook_path").is_some() && input.get("new_source").is_some();
    if tool == "NotebookEdit" || is_notebook {
        return CallForm::Notebook;
    }
    let is_cline = matches!(tool, "editor" | "replace_in_file" | "write_to_file");
    if is_cline && input.get("insert_line").is_some_and(|line| !line.is_null()) {
        return CallForm::Insert;
    }
    if tool == "replace_in_file" && input.get("diff").is_some_and(Value::is_string) {
        return CallForm::Blocks;
    }
    // the server that MCP gives as an example only shows the edits then
    if input.get("dryRun").and_then(Value::as_bool) == Some(true) {
        return CallForm::Read;
    }
    let has_edits = input.get("edits").is_some_and(Value::is_array);
    if has_edits || InputField::New.text(input).is_some() {
        return CallForm::Replace(replacing(tool, input));
    }
    match InputField::Content.text(input) {
        _ if is_reader(tool) => CallForm::Read,
        Some(_) => CallForm::Write(writing(tool, input)),
        None => CallForm::Other,
    }
}

/// Returns the edits of a tool of several files: each has a path and a text.
fn several(input: &Value) -> Option<&[Value]> {
    let has_text = |edit: &Value| {
        InputField::Path.text(edit).is_some()
            && (InputField::New.text(edit).is_some()
                || InputField::Content.text(edit).is_some()
                || edit.get("edits").is_some_and(Value::is_array))
    };
    let mut names = ["files", "edits", "changes"].iter();
    let edits = names.find_map(|name| input.get(name)?.as_array())?;
    (!edits.is_empty() && edits.iter().all(has_text)).then_some(edits)
}

fn replacing(tool: &str, input: &Value) -> &'static EditRules {
    let first = input.get("edits").and_then(|edits| edits.get(0));
    let fields = first.unwrap_or(input);
    let old = InputField::Old
        .name(fields)
        .or_else(|| InputField::New.name(fields));
    let tool = edit_tool(
        tool,
        |fields| matches!((fields, old), (EditFields::Replaces(all), Some(old)) if all.contains(&old)),
    );
    tool.map_or(&UNKNOWN, |tool| tool.rules)
}

fn writing(tool: &str, input: &Value) -> &'static EditRules {
    let path = InputField::Path.name(input);
    let content = InputField::Content.name(input);
    let written = path
        .zip(content)
        .map(|(path, content)| EditFields::Writes { path, content });
    let tool = edit_tool(tool, |fields| Some(fields) == written);
    tool.map_or(&UNKNOWN, |tool| tool.rules)
}

fn is_shell(tool: &str) -> bool {
    const NAMES: &[&str] = &[
        "bash",
        "shell",
        "local_shell",
        "powershell",
        "run_shell_command",
        "execute_command",
        "run_commands",
        "exec_command",
    ];
    let tool = tool.to_ascii_lowercase();
    NAMES.contains(&tool.as_str())
}

/// Tools that have a path and a text, and write nothing to the path.
fn is_reader(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    let reads = ["search", "grep", "read", "find", "view", "glob", "list"];
    // the name of an MCP server may be such a word: `mcp__reader__write_file`
    let own = tool.rsplit("__").next().unwrap_or(&tool);
    let writes = [
        "write", "edit", "replace", "create", "update", "delete", "append", "insert",
    ];
    reads.iter().any(|word| own.contains(word)) && !writes.iter().any(|word| own.contains(word))
}
