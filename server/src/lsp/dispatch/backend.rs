//! The methods that are answered. Notifications that change state never come here: `ingress` handles them.

use std::pin::Pin;
use std::sync::Arc;

use backstitch_protocol::{
    CodeActions, CommandFailed, FailureKind, FailureMessage, Hovers, LensForm, REQUESTS,
};
use serde_json::Value;
use tower_lsp::gen_lsp_types::{
    CodeActionParams, CodeActionResponse, CodeLens, CodeLensParams, Contents,
    DocumentDiagnosticParams, DocumentDiagnosticReport, ExecuteCommandParams,
    FullDocumentDiagnosticReport, Hover, HoverParams, InitializeParams, InitializeResult,
    InitializedParams, MarkupContent, MarkupKind, MessageType, RelatedFullDocumentDiagnosticReport,
    ServerInfo, TextDocumentContentParams, TextDocumentContentResult,
};
use tower_lsp::jsonrpc::Result;
use tower_lsp::{LanguageServer, LspService, LspServiceBuilder};

use super::capabilities::capabilities;
use super::{commands, from_proto, requests};
use crate::host::progress::{CANCELLATION, is_cancelled};
use crate::lsp::control;
use crate::lsp::documents::blame_groups::{author_of, work};
use crate::lsp::features::actions::{self, Offer};
use crate::lsp::features::views::{self, TextChoice};
use crate::lsp::features::{hover, lenses, problems};
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::messages::{Now, arguments as messages, refusal};
use crate::lsp::session::ServerState;
use crate::lsp::session::client_capabilities::ClientFeatures;
use crate::lsp::unsaved::buffers;
use crate::to_protocol;
use crate::transport::outgoing::Outgoing;

#[derive(Debug)]
pub struct Backend {
    pub server: Arc<ServerState>,
    /// Large answers, which bypass the transport's value tree.
    pub outgoing: Arc<Outgoing>,
}

/// Registers every method other than the life cycle.
pub fn methods(builder: LspServiceBuilder<Backend>) -> LspServiceBuilder<Backend> {
    let builder = builder
        .custom_method("textDocument/codeLens", Backend::code_lens)
        .custom_method("codeLens/resolve", Backend::resolve_lens)
        .custom_method("textDocument/codeAction", Backend::code_action)
        .custom_method("textDocument/hover", Backend::hover)
        .custom_method("textDocument/diagnostic", Backend::diagnostic)
        .custom_method("workspace/executeCommand", Backend::execute_command)
        .custom_method(
            "workspace/textDocumentContent",
            Backend::text_document_content,
        );
    REQUESTS.iter().fold(builder, |builder, request| {
        builder.custom_method(request.method, custom_request(request.method))
    })
}

/// Returns the handler of one of our own requests.
fn custom_request(
    method: &'static str,
) -> impl for<'a> Fn(&'a Backend, Value) -> Answering<'a> + Clone + Send + Sync {
    move |backend, params| {
        Box::pin(requests::run(
            &backend.server,
            &backend.outgoing,
            method,
            params,
        ))
    }
}

type Answering<'a> = Pin<Box<dyn Future<Output = Result<Value>> + Send + 'a>>;

pub fn service(
    server: impl FnOnce(tower_lsp::Client) -> Arc<ServerState>,
) -> (LspService<Backend>, tower_lsp::ClientSocket) {
    let builder = LspService::build_with_lifecycle_methods(|client| Backend {
        server: server(client),
        outgoing: Arc::default(),
    });
    methods(builder).finish()
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let features = ClientFeatures::of(&params);
        let options = params.initialization_options.as_ref();
        if let Some(options) = options.and_then(|options| options.get("backstitch")) {
            self.server.configure(|settings| settings.begin(options));
        }
        let capabilities = capabilities(&features);
        self.server.begin(features, from_proto::opened(&params));
        Ok(InitializeResult {
            capabilities,
            server_info: Some(ServerInfo {
                name: "backstitch".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        self.server.client.set_ready();
        self.server.announce_store_dir();
        self.server.pull_settings();
    }

    async fn shutdown(&self) -> Result<()> {
        for handle in self.server.workspaces.all() {
            buffers::record_all(&self.server, &handle, false).await;
        }
        self.server.client.begin_shutdown();
        Ok(())
    }
}

impl Backend {
    async fn code_lens(&self, params: CodeLensParams) -> Result<Value> {
        let uri = params.text_document.uri.0;
        let history = self
            .server
            .history(&uri)
            .await
            .map_err(Box::<Failure>::from)?;
        let Some((document, history)) = history else {
            return Ok(Value::Null);
        };
        let place = document.place.as_ref();
        let which = place.map(|place| self.server.settings.config(&place.handle).choice());
        let features = self.server.client.features();
        let form = lenses::Form {
            which: which.unwrap_or_default(),
            short: features.own.lens_form == Some(LensForm::Short),
            draws_icons: features.draws_icons,
        };
        let lenses = lenses::of(&uri, &document, &history, form, Now::read());
        let held = control::lenses(&self.server, &document);
        if held.is_empty() {
            return Ok(self.outgoing.answer(&lenses));
        }
        let mut all = vec![to_protocol::value(&held), to_protocol::value(&lenses)];
        let mut all: Vec<Value> = all
            .drain(..)
            .flat_map(|list| match list {
                Value::Array(list) => list,
                _ => Vec::new(),
            })
            .collect();
        all.sort_by_key(|lens| lens["range"]["start"]["line"].as_u64());
        Ok(Value::Array(all))
    }

    /// Returns the lens unchanged: lenses are complete already.
    #[expect(clippy::unused_async, reason = "a handler is")]
    async fn resolve_lens(&self, lens: CodeLens) -> Result<CodeLens> {
        Ok(lens)
    }

    async fn code_action(
        &self,
        params: CodeActionParams,
    ) -> Result<Option<Vec<CodeActionResponse>>> {
        if !actions::is_requested(&params.context) {
            return Ok(None);
        }
        let uri = params.text_document.uri.0;
        let history = self
            .server
            .history(&uri)
            .await
            .map_err(Box::<Failure>::from)?;
        let line = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
        let lines = line(params.range.start.line)..line(params.range.end.line).saturating_add(1);
        let features = self.server.client.features();
        let Some((document, history)) = history else {
            return Ok(None);
        };
        let offer = match features.own.code_actions {
            Some(CodeActions::AgentLines) => Offer::AgentLines,
            _ => Offer::All(self.server.history_cache.reversible(&document).await),
        };
        let literals = features.actions;
        let turns = match offer {
            Offer::AgentLines => self.server.history_cache.turns_in_force(&document).await,
            Offer::All(_) => Arc::default(),
        };
        let mut commands = actions::of(&uri, &document, &history, &lines, offer, &turns);
        if let Offer::All(_) = offer {
            let control = control::actions(&self.server, &uri, &document, &lines);
            commands.splice(0..0, control.decisions);
            commands.extend(control.breakpoint);
        }
        Ok(Some(actions::answer(commands, literals)))
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        let wanted = self.server.client.features().own.hover;
        if wanted == Some(Hovers::Off) {
            return Ok(None);
        }
        let at = params.text_document_position_params;
        let uri = at.text_document.uri.0;
        let history = self
            .server
            .history(&uri)
            .await
            .map_err(Box::<Failure>::from)?;
        let Some((document, history)) = history else {
            return Ok(None);
        };
        let line = usize::try_from(at.position.line).unwrap_or(usize::MAX);
        let author = author_of(&history.blame, &document.text, line).cloned();
        let (Some(author), Some(place)) = (author, document.place) else {
            return Ok(None);
        };
        if wanted == Some(Hovers::Agent) && work(&author).is_none() {
            return Ok(None);
        }
        let text = document.text.get_line(line).map(|line| line.to_string());
        let text = text.unwrap_or_default();
        let markdown = self.server.client.features().markdown;
        let markup = place.handle.ask(move |engine| {
            let line = text.trim_end_matches(['\r', '\n']);
            hover::text(engine, &author, &place.path, line, Now::read(), markdown)
        });
        let markup = markup.await.map_err(Box::<Failure>::from)?;
        let kind = if markdown {
            MarkupKind::Markdown
        } else {
            MarkupKind::PlainText
        };
        Ok(markup.map(|value| Hover {
            contents: Contents::MarkupContent(MarkupContent { kind, value }),
            range: None,
        }))
    }

    async fn diagnostic(
        &self,
        params: DocumentDiagnosticParams,
    ) -> Result<DocumentDiagnosticReport> {
        let found = problems::of(&self.server, &params.text_document.uri.0).await;
        let items = found.map(|found| found.items).unwrap_or_default();
        let report = FullDocumentDiagnosticReport::new(None, items);
        Ok(RelatedFullDocumentDiagnosticReport::new(None, report).into())
    }

    /// Runs the command in its own task, so that dropping the request does not stop it in the middle.
    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        let server = self.server.clone();
        let arguments = params.arguments.unwrap_or_default();
        let cancellation = CANCELLATION.try_with(Arc::clone).unwrap_or_default();
        let running = tokio::spawn(CANCELLATION.scope(cancellation, async move {
            let name = &params.command;
            if arguments.len() > 1 {
                let message = messages::several(name, arguments.len());
                return Err(Failure::usage(message).hint(messages::SEVERAL_HINT));
            }
            let arguments = arguments.into_iter().next().unwrap_or_default();
            commands::run(&server, name, arguments).await
        }));
        let outcome = match running.await {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::error!("a command: {error}");
                Err(Failure::new(FailureKind::Failed, refusal::FAILED))
            }
        };
        self.command_answer(outcome)
    }

    /// Returns failures as errors to our own clients, and as messages to all others.
    fn command_answer(&self, outcome: Reply<Value>) -> Result<Option<Value>> {
        match outcome {
            Ok(answer) => Ok(Some(answer)),
            Err(failure) if self.server.client.features().own.notifications => Err(failure.into()),
            Err(failure) if is_cancelled() => Err(failure.into()),
            Err(failure) => {
                if failure.kind != FailureKind::Cancelled {
                    self.server.client.say(MessageType::Error, failure.text());
                }
                let error = FailureMessage {
                    kind: failure.kind,
                    message: failure.message,
                    hint: failure.hint,
                };
                Ok(Some(to_protocol::value(&CommandFailed { error })))
            }
        }
    }

    async fn text_document_content(
        &self,
        params: TextDocumentContentParams,
    ) -> Result<TextDocumentContentResult> {
        let uri = params.uri.as_ref();
        let content = views::content(&self.server, uri, TextChoice::default()).await?;
        let text = content.text;
        Ok(TextDocumentContentResult { text })
    }
}
