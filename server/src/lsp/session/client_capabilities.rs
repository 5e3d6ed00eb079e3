//! Features of the client, read once from its `initialize`. Pure.

use backstitch_protocol::{CodeActions, Hovers, LensForm};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_lsp::gen_lsp_types::{ClientCapabilities, InitializeParams};

use crate::lsp::documents::position::Encoding;
use crate::lsp::messages::notice;

#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a client can do each of these or not"
)]
pub struct ClientFeatures {
    pub encoding: Encoding,
    /// The editor's name, for people.
    pub name: String,
    pub lens_refresh: bool,
    /// Requests diagnostics. Other clients get them without a request.
    pub pulls_problems: bool,
    /// Requests them again if it is asked to.
    pub problem_refresh: bool,
    /// Edits may name the version that they apply to.
    pub versioned_edits: bool,
    /// Edits may have a description.
    pub annotated_edits: bool,
    pub show_document: bool,
    /// Shows progress of long work.
    pub progress: bool,
    /// Opens `backstitch:` documents.
    pub virtual_documents: bool,
    /// Answers `workspace/configuration`.
    pub configuration: bool,
    /// Code actions may be more than a command.
    pub actions: bool,
    pub markdown: bool,
    /// Draws `$(name)` in titles as an icon.
    pub draws_icons: bool,
    pub own: PluginCapabilities,
}

/// `initializationOptions.backstitch`, which Backstitch's own plugins send. A client that leaves it out gets plain
/// LSP.
#[derive(Clone, Copy, Debug, Default)]
pub struct PluginCapabilities {
    /// Reloads a document without unsaved text when its file changes on disk.
    pub reloads_from_disk: bool,
    /// Wants the notifications of `backstitch/`, and failures as errors.
    pub notifications: bool,
    /// Shows held calls to the user.
    pub panels: bool,
    /// None stands for the default, as below.
    pub lens_form: Option<LensForm>,
    pub code_actions: Option<CodeActions>,
    pub hover: Option<Hovers>,
}

impl ClientFeatures {
    pub fn of(params: &InitializeParams) -> Self {
        let all = &params.capabilities;
        let workspace = all.workspace.as_ref();
        let window = all.window.as_ref();
        let options = params.initialization_options.as_ref();
        let own = options.and_then(|options| options.get("backstitch"));
        let says = |key: &str| {
            own.and_then(|own| own.get(key)?.as_bool())
                .unwrap_or_default()
        };
        Self {
            encoding: Encoding::agreed(all.general.as_ref()),
            name: params
                .client_info
                .as_ref()
                .map_or_else(|| notice::SOME_EDITOR.to_owned(), |info| info.name.clone()),
            lens_refresh: workspace
                .and_then(|w| w.code_lens.as_ref()?.refresh_support)
                .unwrap_or_default(),
            pulls_problems: all
                .text_document
                .as_ref()
                .is_some_and(|t| t.diagnostic.is_some()),
            problem_refresh: workspace
                .and_then(|w| w.diagnostics.as_ref()?.refresh_support)
                .unwrap_or_default(),
            annotated_edits: workspace
                .and_then(|w| w.workspace_edit.as_ref())
                .is_some_and(|edit| edit.change_annotation_support.is_some()),
            versioned_edits: workspace
                .and_then(|w| w.workspace_edit.as_ref()?.document_changes)
                .unwrap_or_default(),
            progress: window
                .and_then(|w| w.work_done_progress)
                .unwrap_or_default(),
            virtual_documents: says("contentProvider")
                || workspace.is_some_and(|w| w.text_document_content.is_some()),
            configuration: workspace.and_then(|w| w.configuration).unwrap_or_default(),
            show_document: window
                .and_then(|w| Some(w.show_document.as_ref()?.support))
                .unwrap_or_default(),
            actions: has_literals(all),
            markdown: reads_markdown(all),
            draws_icons: params
                .client_info
                .as_ref()
                .is_some_and(|info| is_vscode(&info.name)),
            own: PluginCapabilities {
                reloads_from_disk: says("reloadsFromDisk"),
                notifications: says("notifications"),
                panels: says("panels"),
                lens_form: choice(own, "lensForm"),
                code_actions: choice(own, "codeActions"),
                hover: choice(own, "hover"),
            },
        }
    }
}

/// Returns one of the names that an option takes; None if it is left out or wrong.
fn choice<T: DeserializeOwned>(own: Option<&Value>, key: &str) -> Option<T> {
    serde_json::from_value(own?.get(key)?.clone()).ok()
}

/// True for VS Code and editors made of it, by the names that they send.
fn is_vscode(name: &str) -> bool {
    let name = name.to_lowercase();
    let known = ["code", "codium", "cursor", "windsurf", "positron"];
    known.iter().any(|part| name.contains(part))
}

fn has_literals(all: &ClientCapabilities) -> bool {
    let actions = all
        .text_document
        .as_ref()
        .and_then(|t| t.code_action.as_ref());
    actions.is_some_and(|actions| actions.code_action_literal_support.is_some())
}

fn reads_markdown(all: &ClientCapabilities) -> bool {
    let hover = all.text_document.as_ref().and_then(|t| t.hover.as_ref());
    let formats = hover.and_then(|hover| hover.content_format.as_ref());
    formats.is_some_and(|all| all.contains(&tower_lsp::gen_lsp_types::MarkupKind::Markdown))
}
