//! Editors: the settings file of each, and the configuration of the language server. `helix` owns the edit of its
//! TOML, `zed` the extension that Zed needs. Files that cannot be edited safely (Lisp, kak) are not written; setup
//! prints the lines to add.

mod helix;
mod text;
mod zed;

use std::path::{Component, Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::{Context, Result, bail};
use backstitch_agents::settings_file::SettingsFile;
use backstitch_agents::{home, neutral_dir};
use backstitch_core::launch;

use super::{SetupOutcome, SetupRequest, SetupResult, binary};

/// An editor that can be set up.
#[derive(Debug)]
struct EditorSetup {
    name: &'static str,
    aliases: &'static [&'static str],
    /// Relative to the directory of settings.
    path: &'static str,
    method: SetupMethod,
    note: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum SetupMethod {
    Helix,
    /// A separate file that the editor loads by itself.
    Own(fn(&str) -> String),
    /// Lines that the user adds to a file.
    ByHand(fn(&str) -> String),
    /// A separate directory with an extension that the user installs in Zed.
    Zed,
}

const EDITORS: &[EditorSetup] = &[
    EditorSetup {
        name: "helix",
        aliases: &["hx"],
        path: "helix/languages.toml",
        method: SetupMethod::Helix,
        note: "For a language that is not in it, add its servers and `backstitch`, for example:\n\n\
               [[language]]\nname = \"kotlin\"\nlanguage-servers = [\"kotlin-language-server\", \"backstitch\"]\n\n\
               CI jobs: `space G l` in a workflow, then `CI job`.",
    },
    EditorSetup {
        name: "neovim",
        aliases: &["nvim"],
        path: "nvim/plugin/backstitch.lua",
        method: SetupMethod::Own(text::neovim),
        note: "Neovim loads it at startup (0.11 or newer; lenses need no further setup from 0.12). `grx` runs a lens.",
    },
    EditorSetup {
        name: "emacs",
        aliases: &["eglot"],
        path: "emacs/init.el",
        method: SetupMethod::ByHand(text::emacs),
        note: "`M-x backstitch` in a buffer, then `M-x eglot-code-actions` on a line. Eglot runs one server per buffer.\nCI jobs, with dape: `M-x dape`, then `backstitch-job` in a workflow.",
    },
    EditorSetup {
        name: "kakoune",
        aliases: &["kak"],
        path: "kak/kakrc",
        method: SetupMethod::ByHand(text::kakoune),
        note: "It needs kakoune-lsp. `lsp-code-actions` lists the actions.",
    },
    EditorSetup {
        name: "sublime",
        aliases: &["sublime-text"],
        path: "sublime-text/Packages/User/LSP.sublime-settings",
        method: SetupMethod::ByHand(text::sublime),
        note: "It needs the package LSP. `LSP: Code Action` lists the actions.",
    },
    EditorSetup {
        name: "vscode",
        aliases: &["code"],
        path: "Code/User/settings.json",
        method: SetupMethod::ByHand(text::vscode),
        note: "It needs the extension: `npm ci && npm run package` in vscode-extension, then `code --install-extension\nbackstitch.vsix`. If `backstitch` is on the PATH, no setting is needed.",
    },
    EditorSetup {
        name: "zed",
        aliases: &[],
        path: "backstitch/zed",
        method: SetupMethod::Zed,
        note: "In Zed: `zed: install dev extension`, and choose that directory. Zed builds it, which needs Rust from rustup.\n`\"code_lens\": \"on\"` in Zed's settings shows the lenses; `editor: toggle code actions` lists the same actions.\nCI jobs: an entry in debug.json with `\"adapter\": \"backstitch-job\"`, `\"workflow\"` and `\"job\"`.",
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
        .find(|editor| editor.name == name || editor.aliases.contains(&name))
}

/// Sets up one editor.
pub fn run(name: &str, request: SetupRequest) -> Result<SetupResult> {
    let Some(editor) = editor(name) else {
        bail!("there is nothing to set up for `{name}`")
    };
    let path = settings_path(editor, request.project)?;
    let binary = binary()?;
    let (file, text) = match editor.method {
        SetupMethod::Helix => return helix(editor, &path, &binary, request),
        SetupMethod::Zed => {
            let (outcome, text) = zed::run(&path, &binary, request)?;
            return Ok(result(editor, path, outcome, None, text));
        }
        SetupMethod::Own(text) => (SettingsFile::read(&path)?, text(&binary)),
        SetupMethod::ByHand(text) => (SettingsFile::read(&path)?, text(&binary)),
    };
    let ours = |text: &str| text.starts_with(text::MARKER);
    let outcome = match editor.method {
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
                "{} exists and is not from Backstitch; it was not changed",
                file.path.display()
            ),
            _ => {
                // the replaced file is ours and needs no backup
                SettingsFile {
                    text: None,
                    ..file.clone()
                }
                .write(&text)?;
                SetupOutcome::Written
            }
        },
    };
    Ok(result(editor, file.path, outcome, None, text))
}

fn helix(
    editor: &EditorSetup,
    path: &Path,
    binary: &str,
    request: SetupRequest,
) -> Result<SetupResult> {
    let file = SettingsFile::read(path)?;
    let before = file.text.as_deref().unwrap_or_default();
    let context = || format!("{} was not changed", file.path.display());
    let original = file.backup_text().unwrap_or_default();
    let text = if request.uninstall {
        helix::remove(before, &original)
    } else {
        helix::add(before, binary, helix_has(helix::NEWER))
    }
    .with_context(context)?;
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
        if !helix::is_installed(before) {
            // an older backup is not the original of this setup
            file.remove_backup();
        }
        (SetupOutcome::Written, file.write(&text)?)
    };
    Ok(result(editor, file.path, outcome, backup, text))
}

/// True if the Helix on this machine has a language.
fn helix_has(language: &str) -> bool {
    ["hx", "helix"].into_iter().any(|name| {
        let asked = launch::program(name).and_then(|mut helix| {
            let asked = helix.args(["--health", language]);
            asked
                .current_dir(neutral_dir())
                .stdin(Stdio::null())
                .output()
        });
        let known =
            |output: Output| String::from_utf8_lossy(&output.stdout).contains("debug adapter");
        asked.is_ok_and(known)
    })
}

fn result(
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

/// Returns the editor's settings file, for all projects or for one.
fn settings_path(editor: &EditorSetup, project: Option<&Path>) -> Result<PathBuf> {
    if let Some(root) = project {
        return match editor.method {
            SetupMethod::Helix => Ok(root.join(".helix/languages.toml")),
            _ => bail!(
                "{} has no project settings that can start a server; leave out --scope project",
                editor.name
            ),
        };
    }
    if let SetupMethod::Zed = editor.method {
        return zed::extension_dir().context("the home directory is unknown");
    }
    let config = config_dir().context("the home directory is unknown")?;
    if editor.name == "emacs" {
        let home = home().context("the home directory is unknown")?;
        let old = [".emacs", ".emacs.el", ".emacs.d/init.el"];
        let mut paths = old.iter().map(|name| home.join(name));
        let found = paths.find(|path| path.exists());
        return Ok(found.unwrap_or_else(|| config.join(editor.path)));
    }
    if let ("neovim", Some(name)) = (editor.name, nvim_appname())
        && let Ok(path) = Path::new(editor.path).strip_prefix("nvim")
    {
        return Ok(config.join(name).join(path));
    }
    Ok(config.join(editor.path))
}

/// Returns the directory of settings that Neovim uses instead of `nvim`; it is relative.
fn nvim_appname() -> Option<PathBuf> {
    let name = PathBuf::from(std::env::var_os("NVIM_APPNAME")?);
    let is_plain = |part| matches!(part, Component::Normal(_));
    (!name.as_os_str().is_empty() && name.components().all(is_plain)).then_some(name)
}

/// Returns the settings directory of terminal programs.
fn config_dir() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let named = named.filter(|dir| dir.is_absolute());
    let windows = || std::env::var_os("APPDATA").map(PathBuf::from);
    named
        .or_else(|| cfg!(windows).then(windows).flatten())
        .or_else(|| home().map(|home| home.join(".config")))
}
