//! Editors: where each keeps its settings, and how it is told of the language server. Owns the places and the
//! words; `helix` owns the edit of its TOML, `zed` the extension that Zed needs. What cannot be edited safely (Lisp, kak) is said, not written.

mod helix;
mod text;
mod zed;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::file::SettingsFile;
use super::{SetupOutcome, SetupRequest, SetupResult, binary, home};

/// An editor that can be set up.
#[derive(Debug)]
struct EditorSetup {
    name: &'static str,
    other_names: &'static [&'static str],
    /// Below the directory of settings.
    place: &'static str,
    way: SetupMethod,
    note: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum SetupMethod {
    Helix,
    /// A file of our own, that the editor finds by itself.
    Own(fn(&str) -> String),
    /// Lines that the user adds to a file.
    ByHand(fn(&str) -> String),
    /// A directory of our own, with an extension that the user has Zed install.
    Zed,
}

const EDITORS: &[EditorSetup] = &[
    EditorSetup {
        name: "helix",
        other_names: &["hx"],
        place: "helix/languages.toml",
        way: SetupMethod::Helix,
        note: "Helix names the servers of each language: another language is another entry like these.",
    },
    EditorSetup {
        name: "neovim",
        other_names: &["nvim"],
        place: "nvim/plugin/backstitch.lua",
        way: SetupMethod::Own(text::neovim),
        note: "Neovim reads it when it starts (0.11 or newer; lenses without more from 0.12). `grx` runs a lens.",
    },
    EditorSetup {
        name: "emacs",
        other_names: &["eglot"],
        place: "emacs/init.el",
        way: SetupMethod::ByHand(text::emacs),
        note: "`M-x eglot`, then `M-x eglot-code-actions` on a line. Eglot has one server for a buffer.",
    },
    EditorSetup {
        name: "kakoune",
        other_names: &["kak"],
        place: "kak/kakrc",
        way: SetupMethod::ByHand(text::kakoune),
        note: "It needs kakoune-lsp. `lsp-code-actions` offers what there is.",
    },
    EditorSetup {
        name: "sublime",
        other_names: &["sublime-text"],
        place: "sublime-text/Packages/User/LSP.sublime-settings",
        way: SetupMethod::ByHand(text::sublime),
        note: "It needs the package LSP. `LSP: Code Action` offers what there is.",
    },
    EditorSetup {
        name: "vscode",
        other_names: &["code"],
        place: "Code/User/settings.json",
        way: SetupMethod::ByHand(text::vscode),
        note: "It needs the extension: `npm ci && npm run package` in vscode-extension, then `code --install-extension\nbackstitch.vsix`. Where `backstitch` is on the PATH, nothing has to be set.",
    },
    EditorSetup {
        name: "zed",
        other_names: &[],
        place: "backstitch/zed",
        way: SetupMethod::Zed,
        note: "In Zed: `zed: install dev extension`, and choose that directory. Zed builds it, which needs Rust by rustup.\n`\"code_lens\": \"on\"` in Zed's settings shows the lenses; `editor: toggle code actions` offers the same.",
    },
];

pub fn known() -> impl Iterator<Item = &'static str> {
    EDITORS.iter().map(|editor| editor.name)
}

pub fn is_known(name: &str) -> bool {
    editor(name).is_some()
}

fn editor(name: &str) -> Option<&'static EditorSetup> {
    EDITORS
        .iter()
        .find(|editor| editor.name == name || editor.other_names.contains(&name))
}

/// Sets up one editor.
pub fn run(name: &str, request: SetupRequest) -> Result<SetupResult> {
    let Some(editor) = editor(name) else {
        bail!("there is nothing to set up for `{name}`")
    };
    let path = place(editor, request.project)?;
    let binary = binary()?;
    let (file, text) = match editor.way {
        SetupMethod::Helix => return helix(editor, &path, &binary, request),
        SetupMethod::Zed => {
            let (outcome, text) = zed::run(&path, &binary, request)?;
            return Ok(done(editor, path, outcome, None, text));
        }
        SetupMethod::Own(text) => (SettingsFile::read(&path)?, text(&binary)),
        SetupMethod::ByHand(text) => (SettingsFile::read(&path)?, text(&binary)),
    };
    let ours = |text: &str| text.starts_with(text::OURS);
    let outcome = match editor.way {
        _ if request.print => SetupOutcome::Printed,
        SetupMethod::ByHand(_) => SetupOutcome::ByHand,
        _ if request.uninstall => match file.text.as_deref() {
            Some(found) if ours(found) => {
                file.remove()?;
                SetupOutcome::Written
            }
            _ => SetupOutcome::Unchanged,
        },
        _ => match file.text.as_deref() {
            Some(found) if found == text => SetupOutcome::Unchanged,
            Some(found) if !ours(found) => bail!(
                "{} is there and not ours; it was not changed",
                file.path.display()
            ),
            _ => {
                // whatever is replaced is ours: nothing to keep
                SettingsFile {
                    text: None,
                    ..file.clone()
                }
                .write(&text)?;
                SetupOutcome::Written
            }
        },
    };
    Ok(done(editor, file.path, outcome, None, text))
}

fn helix(
    editor: &EditorSetup,
    path: &Path,
    binary: &str,
    request: SetupRequest,
) -> Result<SetupResult> {
    let file = SettingsFile::read(path)?;
    let before = file.text.as_deref().unwrap_or_default();
    let doing = || format!("{} was not changed", file.path.display());
    let original = file.kept().unwrap_or_default();
    let text = if request.uninstall {
        helix::remove(before, &original)
    } else {
        helix::add(before, binary)
    }
    .with_context(doing)?;
    let (outcome, backup) = if request.print {
        (SetupOutcome::Printed, None)
    } else if text == before {
        (SetupOutcome::Unchanged, None)
    } else if request.uninstall {
        let same = |before: &str| {
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            bare(before) == bare(&text)
        };
        file.restore(&text, text.trim().is_empty(), same)?;
        (SetupOutcome::Written, None)
    } else {
        if !helix::is_there(before) {
            // an older backup is not what this set-up begins from
            file.forget_kept();
        }
        (SetupOutcome::Written, file.write(&text)?)
    };
    Ok(done(editor, file.path, outcome, backup, text))
}

fn done(
    editor: &EditorSetup,
    settings: PathBuf,
    outcome: SetupOutcome,
    backup: Option<PathBuf>,
    text: String,
) -> SetupResult {
    SetupResult {
        agent: editor.name,
        found: None,
        settings,
        outcome,
        events: &[],
        backup,
        text,
        note: Some(editor.note),
        program: None,
    }
}

/// The file that is read by the editor, for all projects or for one.
fn place(editor: &EditorSetup, project: Option<&Path>) -> Result<PathBuf> {
    if let Some(root) = project {
        return match editor.way {
            SetupMethod::Helix => Ok(root.join(".helix/languages.toml")),
            _ => bail!(
                "{} has no settings for one project that could start a server; leave out --scope project",
                editor.name
            ),
        };
    }
    if let SetupMethod::Zed = editor.way {
        return zed::place().context("the home directory is unknown");
    }
    let config = config_dir().context("the home directory is unknown")?;
    if editor.name == "emacs" {
        let home = home().context("the home directory is unknown")?;
        let old = [".emacs", ".emacs.el", ".emacs.d/init.el"];
        let mut places = old.iter().map(|name| home.join(name));
        let found = places.find(|path| path.exists());
        return Ok(found.unwrap_or_else(|| config.join(editor.place)));
    }
    Ok(config.join(editor.place))
}

/// Where terminal programs look for their settings.
fn config_dir() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let named = named.filter(|dir| dir.is_absolute());
    let windows = || std::env::var_os("APPDATA").map(PathBuf::from);
    named
        .or_else(|| cfg!(windows).then(windows).flatten())
        .or_else(|| home().map(|home| home.join(".config")))
}
