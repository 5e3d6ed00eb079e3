//! Refusals: the reason and the next step. `hint` has the next step for the engine's own errors.

use std::path::Path;

pub const CANCELLED: &str = "cancelled; nothing was changed";
pub const CANNOT_ASK: &str =
    "this editor cannot show the question that has to be answered first; nothing was changed";
pub const CANNOT_ASK_HINT: &str = "call the command with `confirm: false` to continue without it, and with `onConflict` to resolve conflicts";
/// A panic.
pub const FAILED: &str = "the server failed at this; its log says why";
/// Subject of an error if the runtime does not start.
pub const RUNTIME: &str = "the runtime";
pub const NO_SHUTDOWN: &str = "the client sent `exit` without `shutdown` before it";

pub fn log_level(level: &str) -> String {
    format!("--log-level {level}: off, error, warn, info, debug or trace")
}

pub fn log_file(path: &Path) -> String {
    format!("the log {}", path.display())
}

pub fn no_request(method: &str) -> String {
    format!("there is no request {method}")
}

pub fn no_command(name: &str) -> String {
    format!("there is no command `{name}`")
}

pub fn there_are(commands: &[&str]) -> String {
    format!("there are {}", commands.join(", "))
}

pub const NO_WORKSPACE: &str = "no workspace is open";
pub const NO_WORKSPACE_HINT: &str =
    "open a file of the workspace, or name the workspace with `workspace`";
pub const SEVERAL_WORKSPACES: &str = "several workspaces are open";
pub const SEVERAL_WORKSPACES_HINT: &str = "name a document with `uri`, or a root with `workspace`";

pub fn no_directory(path: &Path) -> String {
    format!("`workspace`: {} is not a directory", path.display())
}

pub const NO_DIRECTORY_HINT: &str = "it names the root of a workspace, as a path or a URI";

pub fn no_path(typed: &str, root: &Path) -> String {
    format!("{typed} is not a path in {}", root.display())
}

pub fn scope(typed: &str) -> String {
    format!("scope: `{typed}` is none of code, conversation, both")
}

pub const NOTHING_BEFORE: &str = "nothing comes before this turn in its conversation";

pub fn fork_scope(typed: &str) -> String {
    format!("scope: `{typed}` is neither code nor both")
}

pub fn part(typed: &str) -> String {
    format!("part: `{typed}` is neither from nor up_to")
}

pub fn uncertain(typed: &str) -> String {
    format!("uncertain: `{typed}` is neither keep nor take")
}

pub fn on_conflict(typed: &str) -> String {
    format!("onConflict: `{typed}` is none of fail, markers, current, target")
}

pub fn no_kind(name: &str) -> String {
    format!("there is no kind `{name}`")
}

pub fn no_action(name: &str) -> String {
    format!("there is no action `{name}`: it is none, keep or unkeep")
}

pub fn no_state(name: &str) -> String {
    format!("`{name}` is not the `shown` of a file in an answer")
}

pub const NO_TURN: &str = "no turn of an agent has been recorded yet";
pub const NO_BRANCH: &str = "there is no other branch";
pub const NO_BRANCH_HINT: &str = "a fork makes one: the lens or the action above an agent's lines";
pub const KEPT_CHANGING: &str =
    "the files kept changing while the plan was shown; nothing was changed";
pub const KEPT_CHANGING_HINT: &str = "try again when the agent has stopped";
pub const CONFLICT_HINT: &str = "`onConflict` resolves them: markers, current or target; `paths` leaves files out; `exact` restores the target's exact state";

pub fn temporary(error: &std::io::Error) -> String {
    format!("a temporary file: {error}")
}

pub const TEMPORARY_HINT: &str =
    "temporary files need a directory that can be written to: see TMPDIR";

/// The lines that the restore would change are elsewhere.
pub fn nothing_at_lines(title: &str) -> String {
    format!("{title} changes nothing at these lines")
}

pub const NOTHING_AT_LINES_HINT: &str =
    "select lines that an agent wrote since then; if there are conflicts, rewind the whole file";

/// Place where a file does not exist.
pub fn at(rev: &str) -> String {
    format!("at {rev}")
}

/// Place where a file has no unsaved text.
pub fn unsaved_at(rev: &str) -> String {
    format!("among the unsaved texts at {rev}")
}

pub fn no_document(uri: &str) -> String {
    format!("{uri} is not a document of Backstitch")
}

pub const NO_DOCUMENT_HINT: &str = "backstitch://<workspace>/<rev>/<path> is one";

/// A text that was shown in a virtual document.
pub fn not_kept(uri: &str) -> String {
    format!("`uri`: {uri} is no longer available")
}

pub const NOT_KEPT_HINT: &str = "the server keeps the 64 newest; show it again";

/// A merge of a change on disk into unsaved text.
pub mod merge {
    use crate::render::plural;

    pub const NONE_CHANGED: &str = "No file changed on disk below unsaved text";
    pub const SEVERAL_CHANGED: &str = "Several files changed on disk below unsaved text";
    pub const URI_HINT: &str = "`uri` names one of them";

    pub fn not_open(uri: &str) -> String {
        format!("{uri} is not an open file of a workspace")
    }

    pub fn no_file(path: &str) -> String {
        format!("{path} is no longer on disk")
    }

    pub const NO_FILE_HINT: &str = "Save the document to write it again";

    pub fn unreadable(path: &str) -> String {
        format!("{path} cannot be merged: it is binary, or in an unknown encoding")
    }

    pub fn conflicts(path: &str, count: usize) -> String {
        let conflicts = plural(count, "conflict", "conflicts");
        format!("{conflicts} between your unsaved text and {path} on disk")
    }

    pub const CONFLICT_HINT: &str =
        "`onConflict` decides: markers, current (your lines) or target (the lines on disk)";

    pub fn not_taken(path: &str) -> String {
        format!("The editor did not apply the merged text of {path}")
    }

    pub const NOT_TAKEN_HINT: &str =
        "Your text is unchanged; merge again when nothing is being typed";
}

/// An agent inside the editor, and its edits.
pub mod agent {
    use std::path::Path;

    /// `named`: the agent or the session that was given.
    pub fn no_turn(named: Option<&str>) -> String {
        let of = named.map(|name| format!(" of `{name}`"));
        format!("no turn{} has begun here", of.unwrap_or_default())
    }

    pub const NO_TURN_HINT: &str =
        "`backstitch/turnBegin` begins one; or name both `agent` and `session`";

    /// `at_work`: each agent with its session.
    pub fn several(at_work: &[(&str, &str)]) -> String {
        let names = at_work.iter().map(|(agent, id)| format!("{agent} `{id}`"));
        let names: Vec<String> = names.collect();
        format!("several agents are at work: {}", names.join(", "))
    }

    pub const SEVERAL_HINT: &str = "name one of them with `session`; nothing was changed";
    pub const REFUSED: &str = "refused";
    pub const NO_ANSWER: &str = "no answer";
    pub const SNIPPET: &str = "an edit with a snippet cannot be recorded; send plain text";

    pub fn not_applied(why: &str) -> String {
        format!("the editor did not apply the edit: {why}")
    }

    pub fn out_of_step(uri: &str) -> String {
        format!("{uri}: its text in the editor is unknown; nothing was changed")
    }

    pub const OUT_OF_STEP_HINT: &str = "close it and open it again, or save it as UTF-8";

    pub fn nothing_to_edit(uri: &str) -> String {
        format!("{uri} does not exist")
    }

    pub const NOTHING_TO_EDIT_HINT: &str =
        "a `create` before the edit makes it; nothing was changed";

    pub fn missing(uri: &str) -> String {
        format!("{uri} does not exist; nothing was changed")
    }

    pub fn exists(uri: &str) -> String {
        format!("{uri} exists already")
    }

    pub const EXISTS_HINT: &str = "set `overwrite` or `ignoreIfExists`; nothing was changed";

    pub fn not_empty(uri: &str) -> String {
        format!("{uri} is a directory with files")
    }

    pub const NOT_EMPTY_HINT: &str = "set `recursive` to delete them, too; nothing was changed";

    pub fn no_file(uri: &str) -> String {
        format!("{uri} is not a file; nothing was changed")
    }

    pub fn version_control(uri: &str) -> String {
        format!("{uri} belongs to a version control system; nothing was changed")
    }

    pub const VERSION_CONTROL_HINT: &str =
        "its content is not recorded and could not be restored; use its own tool";

    pub fn repository(dir: &Path) -> String {
        let dir = dir.display();
        format!("{dir} is a repository, whose history is not recorded; nothing was changed")
    }

    pub fn recorded_nowhere(path: &Path) -> String {
        let path = path.display();
        format!("{path} is not recorded; nothing was changed")
    }

    pub const BY_HAND: &str = "delete or move it by hand";

    pub fn directory(uri: &str) -> String {
        format!("{uri} is a directory; nothing was changed")
    }

    pub const DIRECTORY_HINT: &str = "`overwrite` replaces files only";

    pub fn outside(uri: &str) -> String {
        format!("{uri} is in no open workspace; nothing was changed")
    }

    pub const OUTSIDE_HINT: &str = "open its folder in the editor";

    pub fn link(uri: &str) -> String {
        format!("{uri} is a link; nothing was changed")
    }

    pub const LINK_HINT: &str = "name the file that it points to";

    pub fn encoding(path: &Path) -> String {
        let path = path.display();
        format!("{path}: its encoding lacks some of these characters; nothing was changed")
    }

    pub fn no_text(path: &Path) -> String {
        let path = path.display();
        format!("{path} cannot be edited as text; nothing was changed")
    }
}
