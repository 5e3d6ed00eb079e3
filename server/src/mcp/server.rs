//! The methods of the protocol: lists, reads and calls. Each call runs beside the others, and a failure or a panic costs
//! that call alone.

use std::sync::Arc;
use std::time::Duration;

use backstitch_control::{Control, PauseId, Subject};
use backstitch_core::config::Config;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorData,
    Implementation, JsonObject, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use super::access::WorkspaceAccess;
use super::answer::{ToolAnswer, ToolError, ToolResult, call_result};
use super::arguments::{MAX_WAIT, RewindArguments};
use super::proposals::{ClientProposals, ProposalOutcome, Proposer, WaitingProposal};
use super::rewind::{self, PlannedRewind};
use super::{history, resources, tools};
use crate::{render, restore_words};

/// Calls that read or write a store at the same time.
const MAX_AT_ONCE: usize = 4;

#[derive(Debug)]
pub struct McpServer {
    access: Arc<WorkspaceAccess>,
    pub proposals: Arc<ClientProposals>,
    tools: Vec<Tool>,
    at_once: Semaphore,
    /// True once the client is gone.
    gone: watch::Receiver<bool>,
}

/// A rewind at its first call.
enum Proposed {
    /// No decision of the user is needed.
    Answered(ToolAnswer),
    Waits(Arc<WaitingProposal>),
}

impl McpServer {
    pub fn new(access: WorkspaceAccess, gone: watch::Receiver<bool>) -> Self {
        Self {
            access: Arc::new(access),
            proposals: Arc::default(),
            tools: tools::all(),
            at_once: Semaphore::new(MAX_AT_ONCE),
            gone,
        }
    }

    /// Runs work on a store beside the messages.
    async fn run<T, F>(&self, work: F) -> Result<T, ToolError>
    where
        T: Send + 'static,
        F: FnOnce(&WorkspaceAccess) -> Result<T, ToolError> + Send + 'static,
    {
        let _turn = self.at_once.acquire().await;
        let access = self.access.clone();
        let done = tokio::task::spawn_blocking(move || work(&access)).await;
        done.unwrap_or_else(|error| {
            tracing::error!("a call: {error}");
            Err(ToolError::failed("the call failed inside of Backstitch")
                .hint("start `backstitch mcp` with RUST_LOG=debug to see more, and report it"))
        })
    }

    async fn call(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> ToolResult {
        match name {
            "checkpoint" => {
                let arguments = read(name, &arguments)?;
                self.run(move |access| history::checkpoint(access, &arguments))
                    .await
            }
            "log" => {
                let arguments = read(name, &arguments)?;
                self.run(|access| history::log(access, arguments)).await
            }
            "show" => {
                let arguments = read(name, &arguments)?;
                self.run(move |access| history::show(access, &arguments))
                    .await
            }
            "diff" => {
                let arguments = read(name, &arguments)?;
                self.run(|access| history::diff(access, arguments)).await
            }
            "blame" => {
                let arguments = read(name, &arguments)?;
                self.run(move |access| history::blame(access, &arguments))
                    .await
            }
            "cat" => {
                let arguments = read(name, &arguments)?;
                self.run(move |access| history::cat(access, &arguments))
                    .await
            }
            _ => self.propose(name, arguments, context).await,
        }
    }

    async fn propose(
        &self,
        name: &str,
        sent: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> ToolResult {
        let only_waits = sent.keys().all(|key| key == "proposal" || key == "wait");
        let arguments: RewindArguments = read(name, &sent)?;
        let wait = Duration::from_secs(arguments.wait.unwrap_or(MAX_WAIT).min(MAX_WAIT));
        let proposal = if let Some(id) = &arguments.proposal {
            if !only_waits {
                return Err(
                    ToolError::usage("`proposal` goes with no other argument but `wait`")
                        .hint("leave `proposal` out to propose another rewind"),
                );
            }
            match self.waiting(id).await? {
                Proposed::Answered(answer) => return Ok(answer),
                Proposed::Waits(proposal) => proposal,
            }
        } else {
            let proposer = Proposer {
                agent: context.client_info().map(|client| client.name),
                reason: arguments.reason.clone(),
                arguments: Value::Object(sent),
            };
            let proposals = self.proposals.clone();
            let begun = self.run(move |access| begin(access, &arguments, proposer, &proposals));
            match begun.await? {
                Proposed::Answered(answer) => return Ok(answer),
                Proposed::Waits(proposal) => proposal,
            }
        };
        self.wait_for(&proposal, wait, context).await
    }

    /// Finds a proposal that waits, or the outcome of one that another server of this workspace had.
    async fn waiting(&self, name: &str) -> Result<Proposed, ToolError> {
        let number = name.strip_prefix('p').unwrap_or(name).parse().ok();
        let shown = render::clean(name);
        let unknown = move || {
            ToolError::not_found(format!("there is no proposal `{shown}`"))
                .hint("leave `proposal` out to propose a rewind")
        };
        let Some(id) = number.map(PauseId) else {
            return Err(unknown());
        };
        if let Some(proposal) = self.proposals.get(id) {
            return Ok(Proposed::Waits(proposal));
        }
        self.run(move |access| {
            let control = Control::open_existing(&access.find()?)?;
            let pause = control.and_then(|control| control.pauses().get(id).transpose());
            let pause = pause
                .transpose()?
                .filter(|pause| pause.call.subject == Subject::Proposal);
            let pause = pause.ok_or_else(unknown)?;
            let state = crate::control::words::state(&pause);
            Err(
                ToolError::refused(format!("{id} is not a proposal of this session: {state}"))
                    .hint("leave `proposal` out to propose a rewind"),
            )
        })
        .await
    }

    /// Waits for the decision. A client that goes away, or cancels the call, withdraws the proposal.
    async fn wait_for(
        &self,
        proposal: &Arc<WaitingProposal>,
        wait: Duration,
        context: &RequestContext<RoleServer>,
    ) -> ToolResult {
        let mut outcome = proposal.outcome.clone();
        let mut gone = self.gone.clone();
        let is_withdrawn = tokio::select! {
            decided = outcome.wait_for(Option::is_some) => {
                if decided.is_err() {
                    return Err(ToolError::failed(format!("{}: its thread ended", proposal.id))
                        .hint("`log` shows the state of the files; propose it again if it is still needed"));
                }
                false
            }
            () = tokio::time::sleep(wait) => false,
            () = context.ct.cancelled() => true,
            _ = gone.wait_for(|gone| *gone) => true,
        };
        if is_withdrawn {
            let own = proposal.clone();
            self.run(move |_| {
                own.withdraw();
                Ok(())
            })
            .await?;
            outcome.wait_for(Option::is_some).await.ok();
        }
        let ended = outcome.borrow().clone();
        let Some(ended) = ended else {
            return self.still_waiting(proposal).await;
        };
        answer(proposal, ended)
    }

    async fn still_waiting(&self, proposal: &Arc<WaitingProposal>) -> ToolResult {
        let own = proposal.clone();
        let is_seen = self.run(move |_| Ok(own.is_seen())).await?;
        let WaitingProposal { id, title, .. } = &**proposal;
        let seen = if is_seen {
            "The user has not decided yet"
        } else {
            "The user has not decided yet, and no editor or terminal shows it: tell the user that `backstitch pauses` does"
        };
        Ok(ToolAnswer {
            message: None,
            text: format!(
                "{seen}. {id}: {title}. No file was changed. To keep waiting, call propose_rewind with proposal {id}.\n"
            ),
            document: json!({
                "state": "waiting",
                "proposal": id.to_string(),
                "seen": is_seen,
                "plan": proposal.plan,
            }),
        })
    }
}

/// Plans a rewind, and asks the user. Where the user's settings let agents decide, it is carried out at once.
fn begin(
    access: &WorkspaceAccess,
    arguments: &RewindArguments,
    proposer: Proposer,
    proposals: &ClientProposals,
) -> Result<Proposed, ToolError> {
    let workspace = access.find()?;
    let mut engine = access.open()?;
    let planned = PlannedRewind::of(&mut engine, access, arguments)?;
    if planned.plan().is_empty() {
        let nothing = restore_words::nothing_done(planned.plan());
        return Ok(Proposed::Answered(ToolAnswer {
            message: None,
            text: format!("{}\n", nothing.text),
            document: json!({ "state": "nothing", "plan": planned.document() }),
        }));
    }
    if arguments.dry_run {
        return Ok(Proposed::Answered(ToolAnswer {
            message: None,
            text: format!("The plan, nothing was changed: {}", planned.text()),
            document: json!({ "state": "planned", "plan": planned.document() }),
        }));
    }
    if Config::of(&workspace).agents_may_control() {
        let fingerprint = planned.plan().fingerprint.clone();
        let (request, rev) = (&planned.request, planned.rev.as_deref());
        let done = rewind::apply(&mut engine, request, rev, &fingerprint)?;
        return Ok(Proposed::Answered(ToolAnswer {
            message: None,
            text: format!(
                "Nobody was asked, since the user's settings let agents decide (agents.allowControl). {}",
                done.text
            ),
            document: json!({ "state": "applied", "asked": false, "result": done.document }),
        }));
    }
    let waits = proposals.ask(&engine, &workspace, &planned, proposer)?;
    Ok(Proposed::Waits(waits))
}

fn answer(proposal: &WaitingProposal, outcome: ProposalOutcome) -> ToolResult {
    let id = proposal.id.to_string();
    match outcome {
        ProposalOutcome::Accepted(Ok(done)) => Ok(ToolAnswer {
            message: None,
            text: format!("The user accepted it. {}", done.text),
            document: json!({ "state": "applied", "proposal": id, "result": done.document }),
        }),
        ProposalOutcome::Accepted(Err(error)) => {
            let message = format!("the user accepted {id}, and it failed: {}", error.message);
            let mut document = error
                .document
                .clone()
                .map_or_else(|| json!({ "state": "refused" }), |document| *document);
            document["proposal"] = json!(id);
            Err(ToolError { message, ..error }.document(document))
        }
        ProposalOutcome::Denied { reason, by } => Ok(ToolAnswer {
            message: None,
            text: if by == "time limit" {
                format!(
                    "Nobody answered {id} in time. No file was changed. Ask the user before you propose it again.\n"
                )
            } else {
                format!(
                    "The user denied {id}: {}\nNo file was changed. Do not propose it again unless the user asks for it.\n",
                    render::visible(&reason)
                )
            },
            document: json!({ "state": "denied", "proposal": id, "reason": reason, "by": by }),
        }),
        ProposalOutcome::Withdrawn => Ok(ToolAnswer {
            message: None,
            text: format!("{id} was withdrawn. No file was changed.\n"),
            document: json!({ "state": "withdrawn", "proposal": id }),
        }),
    }
}

fn read<T: DeserializeOwned>(name: &str, arguments: &JsonObject) -> Result<T, ToolError> {
    let parse = |arguments: JsonObject| serde_json::from_value::<T>(Value::Object(arguments));
    parse(arguments.clone()).map_err(|error| {
        // the parser names no field of a wrong type: it is the one without which the rest is right
        let is_wrong = |field: &&String| {
            let mut others = arguments.clone();
            others.shift_remove(*field);
            parse(others).is_ok()
        };
        let field = arguments.keys().find(is_wrong);
        let field = field.map_or_else(String::new, |field| format!("`{}`: ", render::clean(field)));
        let reason = render::clean(&error.to_string());
        let reason = reason.replace("usize", "a whole number from 0 on");
        let reason = reason.replace("u64", "a whole number from 0 on");
        let reason = render::cut(&format!("{field}{reason}"), 300);
        ToolError::usage(format!("arguments of `{name}`: {reason}"))
            .hint("the tool's input schema has its arguments")
    })
}

/// The error of a resource. It has no form of its own, as tools have.
fn resource_error(error: &ToolError) -> ErrorData {
    let message = render::visible(&error.text());
    let data = Some(json!({ "kind": error.kind }));
    match error.kind {
        "not_found" => ErrorData::resource_not_found(message, data),
        "usage" => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .build();
        let mut info = ServerConfig::new(capabilities).with_instructions(tools::INSTRUCTIONS);
        info.server_info =
            Implementation::new("backstitch", env!("CARGO_PKG_VERSION")).with_title("Backstitch");
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.as_ref();
        if self.get_tool(name).is_none() {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_ref()).collect();
            let shown = render::cut(&render::clean(name), 80);
            let message = format!(
                "there is no tool `{shown}`; the tools are {}",
                names.join(", ")
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        let arguments = request.arguments.unwrap_or_default();
        Ok(call_result(self.call(name, arguments, &context).await).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = self.run(resources::list).await;
        let listed = listed.map_err(|error| resource_error(&error))?;
        Ok(ListResourcesResult::with_all_items(listed))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let all = resources::templates();
        Ok(ListResourceTemplatesResult::with_all_items(all))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.run(move |access| resources::read(access, &request.uri));
        let contents = read.await.map_err(|error| resource_error(&error))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    /// Requests that the library cannot read as those it knows: an unknown method, or wrong parameters of a known one.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let shown = render::cut(&render::clean(&method), 80);
        Err(match method.as_str() {
            "tools/call"
            | "tools/list"
            | "resources/read"
            | "resources/list"
            | "resources/templates/list"
            | "initialize" => ErrorData::invalid_params(
                format!("{shown}: the parameters do not have the form of this method"),
                None,
            ),
            _ => ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, shown, None),
        })
    }
}
