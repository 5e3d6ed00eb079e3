//! The capabilities that the server declares at `initialize`.

use backstitch_protocol::COMMANDS;
use tower_lsp::gen_lsp_types::{
    CodeActionKind, CodeActionOptions, CodeLensOptions, ExecuteCommandOptions, FileOperationFilter,
    FileOperationOptions, FileOperationPattern, FileOperationRegistrationOptions, SaveOptions,
    ServerCapabilities, TextDocumentContentOptions, TextDocumentSyncKind, TextDocumentSyncOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceOptions,
};

use crate::lsp::documents::uri;
use crate::lsp::features::{actions, problems};
use crate::lsp::session::client_capabilities::ClientFeatures;

/// Returns a filter that matches files and directories.
fn all_files() -> FileOperationRegistrationOptions {
    FileOperationRegistrationOptions {
        filters: vec![FileOperationFilter {
            scheme: Some("file".to_owned()),
            pattern: FileOperationPattern {
                glob: "**".to_owned(),
                ..FileOperationPattern::default()
            },
        }],
    }
}

pub fn capabilities(features: &ClientFeatures) -> ServerCapabilities {
    let commands = COMMANDS.iter().map(|command| command.name.to_owned());
    ServerCapabilities {
        position_encoding: Some(features.encoding.kind()),
        text_document_sync: Some(
            TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::Incremental),
                save: Some(SaveOptions::default().into()),
                ..TextDocumentSyncOptions::default()
            }
            .into(),
        ),
        hover_provider: Some(true.into()),
        code_lens_provider: Some(CodeLensOptions {
            resolve_provider: Some(true),
            ..CodeLensOptions::default()
        }),
        code_action_provider: Some(
            CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::from(actions::KIND.to_owned())]),
                ..CodeActionOptions::default()
            }
            .into(),
        ),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands.collect(),
            ..ExecuteCommandOptions::default()
        }),
        diagnostic_provider: features
            .pulls_problems
            .then(|| problems::registration().into()),
        workspace: Some(WorkspaceOptions {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(true.into()),
            }),
            file_operations: Some(FileOperationOptions {
                did_create: Some(all_files()),
                did_rename: Some(all_files()),
                did_delete: Some(all_files()),
                ..FileOperationOptions::default()
            }),
            text_document_content: Some(
                TextDocumentContentOptions {
                    schemes: vec![uri::SCHEME.to_owned()],
                }
                .into(),
            ),
        }),
        ..ServerCapabilities::default()
    }
}
