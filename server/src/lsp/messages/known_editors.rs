//! Editors that use plain LSP, and what they are known to do. A row is an editor.

/// A plain editor.
struct KnownEditor {
    /// Part of the name that it sends, in small letters.
    name: &'static str,
    /// The command with which its user reads a file again. None: it reads files again by itself, or asks.
    reload: Option<&'static str>,
}

const fn row(name: &'static str, reload: Option<&'static str>) -> KnownEditor {
    KnownEditor { name, reload }
}

/// All of them show questions to a person.
const KNOWN: [KnownEditor; 11] = [
    row("helix", Some(":reload")),
    row("eglot", Some("M-x revert-buffer")),
    row("emacs", Some("M-x revert-buffer")),
    row("lsp-mode", Some("M-x revert-buffer")),
    row("vim", Some(":checktime")),
    row("kakoune", None),
    row("kak-lsp", None),
    row("sublime", None),
    row("zed", None),
    row("kate", None),
    row("visual studio code", None),
];

fn known(client: &str) -> Option<&'static KnownEditor> {
    let client = client.to_ascii_lowercase();
    KNOWN.iter().find(|editor| client.contains(editor.name))
}

/// True if the editor with this name shows questions to a person.
pub fn shows_questions(client: &str) -> bool {
    known(client).is_some()
}

/// The command with which the user of this editor reads a file again. None: none is needed, or it is unknown.
pub fn reload_command(client: &str) -> Option<&'static str> {
    known(client)?.reload
}
