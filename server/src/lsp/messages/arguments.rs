//! Errors about the arguments of commands and requests.

pub const A_NAME: &str = "a string that is not empty";
pub const A_TEXT: &str = "a string";
pub const A_FLAG: &str = "true or false";
pub const NAMES: &str = "an array of strings, with at least one and none of them empty";
pub const A_COUNT: &str = "a whole number, 0 or more";
pub const LINES: &str = "an array of two lines from 0: the first, and the one after the last";
pub const A_VALUE: &str = "a JSON value";
pub const FIELDS: &str = "an object of texts, numbers and flags";
pub const TEXTS: &str = "an array of objects with `path` and `text`";
pub const AN_EDIT: &str = "a WorkspaceEdit, as LSP has it";

/// `given`: as it was written.
pub fn one_object(name: &str, given: &str) -> String {
    format!("{name} takes one object of named arguments, but got {given}")
}

pub fn several(name: &str, count: usize) -> String {
    one_object(name, &format!("{count} arguments"))
}

pub const SEVERAL_HINT: &str = "leave out all but the first";

/// `kind`: the expected kind of value.
pub fn missing(name: &str, argument: &str, kind: &str) -> String {
    format!("{name} needs `{argument}`: {kind}")
}

pub fn wrong(name: &str, argument: &str, kind: &str, given: &str) -> String {
    format!("`{argument}` of {name} must be {kind}; it is {given}")
}

pub fn none_of(name: &str, all: &[&str]) -> String {
    format!("{name} needs one of {}", all.join(", "))
}

pub const NONE_OF_HINT: &str = "each names a target; set `undo` for the last operation, `redo` for the one that was undone last";

/// Only one of `all` may be given.
pub fn too_many(name: &str, all: &[&str], given: &[&str]) -> String {
    let given: Vec<String> = given.iter().map(|key| format!("`{key}`")).collect();
    format!(
        "{name} takes one of {}, but got {}",
        all.join(", "),
        given.join(", ")
    )
}

pub const TOO_MANY_HINT: &str = "leave out all but one";

/// `unknown`: the arguments that `name` does not have.
pub fn not_taken(name: &str, unknown: &[&str]) -> String {
    let unknown: Vec<String> = unknown.iter().map(|key| format!("`{key}`")).collect();
    format!("{name} does not take {}", unknown.join(", "))
}

pub fn takes(known: &[&str]) -> String {
    format!("it takes {}", known.join(", "))
}

pub fn unreadable(name: &str) -> String {
    format!("the arguments of {name} cannot be read")
}

pub const UNREADABLE_HINT: &str = "the log says what is wrong, at the level `info`";

/// About the parameters of LSP's own methods. `said`: the library's error, with Rust's type names.
pub fn lsp_unreadable(method: &str, said: &str) -> String {
    match said.strip_prefix("missing field ") {
        Some(field) => format!("{method} needs {field}"),
        None => format!("{method}: its params are not those of LSP"),
    }
}

pub const LSP_HINT: &str = "see the specification of LSP; nothing was done";

pub fn edit_unreadable() -> String {
    format!("`edit` of backstitch/applyEdit must be {AN_EDIT}")
}

pub const EDIT_HINT: &str = "it has `changes` or `documentChanges`; nothing was changed";
