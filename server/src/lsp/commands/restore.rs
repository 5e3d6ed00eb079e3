//! A restore from an editor: its plan, the confirmation, the restore and the report. The engine decides its effect;
//! this module owns the questions and their order.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use backstitch_core::restore::{Goal, OnConflict, Plan, Request, Scope};
use backstitch_core::{EditorLease, Engine, LAST_TURN};
use backstitch_protocol::{
    self as protocol, Choices, ConversationResult, FailureKind, RestoreResult,
};
use tower_lsp::gen_lsp_types::MessageType;

use crate::conversation::ConversationPlan;
use crate::host::progress::{WorkDone, cancel_flag};
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::hunk_selection;
use crate::lsp::features::views;
use crate::lsp::handler::ask::must_ask;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::handler::progress;
use crate::lsp::handler::targets::{path, request};
use crate::lsp::messages::{choice, plan as messages, refusal};
use crate::lsp::session::ServerState;
use crate::lsp::unsaved::editing::{self, EditWait, NewText, OpenDocuments};
use crate::lsp::verb::Verb;
use crate::restore_plan::{self, ShownPlan};
use crate::restore_words;
use crate::terminal::error::CliResult;
use crate::to_protocol;

fn should_stop() -> bool {
    cancel_flag().load(Ordering::Relaxed)
}

/// Number of times a plan is made again because something changed while it was shown.
const TRIES: usize = 4;

/// A restore as requested.
#[derive(Clone, Debug)]
pub struct RestoreCommand {
    handle: Arc<WorkspaceHandle>,
    request: Request,
    verb: Verb,
    /// The revision, operation or branch as it was typed.
    rev: Option<String>,
    confirm: bool,
    /// Fingerprint of the plan that was shown before.
    shown: Option<String>,
}

impl RestoreCommand {
    pub fn new(
        server: &ServerState,
        handle: Arc<WorkspaceHandle>,
        verb: Verb,
        rev: Option<String>,
        typed: &Choices,
    ) -> Reply<Self> {
        let default_exact =
            || verb == Verb::Rewind && server.settings.config(&handle).rewinds_exactly();
        let request = Request {
            exact: typed.exact.unwrap_or_else(default_exact),
            ..request(&handle, typed)?
        };
        Ok(Self {
            request,
            handle,
            verb,
            rev,
            confirm: typed.confirm.unwrap_or(typed.plan.is_none()),
            shown: typed.plan.clone(),
        })
    }

    pub fn is_exact(&self) -> bool {
        self.request.exact
    }

    /// Hunks to which it is restricted; empty if it is not.
    pub fn hunks(&self) -> &[String] {
        &self.request.hunks
    }

    /// Restricts it to its changes at these lines of a document. The hunks are selected now: later typing moves
    /// lines, but no hunk.
    pub async fn at_lines(
        mut self,
        server: &ServerState,
        uri: &str,
        lines: Range<usize>,
    ) -> Reply<Self> {
        let path = path(&self.handle, uri)?;
        self.request.paths = vec![path.clone()];
        let mut whole = self.clone();
        if whole.request.on_conflict == OnConflict::Fail {
            // conflicts elsewhere in the file do not matter
            whole.request.on_conflict = OnConflict::Current;
        }
        let open = OpenDocuments::of(server, &self.handle);
        let document = server.documents.get(uri);
        let chosen = self
            .handle
            .act(false, move |WriteAccess { engine, lease }| {
                let request = whole.request(engine, &lease, &open)?;
                let plan = engine.restore_mut().plan(&request)?;
                hunk_selection::hunks(engine, &plan, &path, document.as_ref(), &lines)
            });
        self.request.hunks = chosen.await?;
        if self.request.hunks.is_empty() {
            let title = messages::doing(self.verb, self.rev.as_deref());
            let message = refusal::nothing_at_lines(&title);
            let failure = Failure::new(FailureKind::NotFound, message);
            return Err(failure.hint(refusal::NOTHING_AT_LINES_HINT));
        }
        Ok(self)
    }

    /// Resolves the typed names now, with the documents that are open now.
    fn request(
        &self,
        engine: &Engine,
        lease: &EditorLease,
        open: &OpenDocuments,
    ) -> backstitch_core::Result<Request> {
        let mut request = self.request.clone();
        request.editor = Some(lease.id());
        request.open = open.documents(engine.root());
        request.unreadable = open.unreadable(engine.root());
        let is_empty = engine.history().head()?.is_none();
        for path in request.paths.iter().filter(|_| !is_empty) {
            let is_open = request.open.iter().any(|document| document.path == *path);
            if !is_open && !engine.history().has_path(engine.root(), path)? {
                return Err(backstitch_core::Error::NoPath(path.display()));
            }
        }
        let rev = self.rev.as_deref();
        request.goal = match (self.verb, rev) {
            (Verb::Rewind, Some(LAST_TURN)) => {
                Goal::Rewind(engine.restore().last_turn(&request)?.start)
            }
            (Verb::Rewind, Some(rev)) => Goal::Rewind(engine.history().resolve(rev)?),
            (Verb::Revert, Some(rev)) => Goal::Revert(vec![engine.history().resolve(rev)?]),
            (Verb::Undo, op) => {
                Goal::Undo(op.map(|op| engine.history().resolve_op(op)).transpose()?)
            }
            (Verb::Switch { carry }, Some(branch)) => Goal::Switch {
                branch: branch.to_owned(),
                carry,
            },
            (Verb::Redo, _) => Goal::Redo,
            (Verb::Rewind | Verb::Revert | Verb::Switch { .. }, None) => {
                return Err(backstitch_core::Error::MissingField("rev"));
            }
        };
        Ok(request)
    }
}

/// Plans a restore without applying it.
pub async fn plan(server: &Arc<ServerState>, job: &RestoreCommand) -> Reply<ShownPlan> {
    let command = job.clone();
    let open = OpenDocuments::of(server, &job.handle);
    let title = messages::looking(job.verb, job.rev.as_deref());
    let work = |shown: WorkDone| {
        job.handle.act(false, move |WriteAccess { engine, lease }| {
            planned(&mut shown.reporting(engine), &command, &lease, &open)
        })
    };
    Ok(progress::with(server, title, cancel_flag(), work).await??)
}

/// Plans with the target's lines in all conflicts, to show those files before the decision.
pub async fn plan_for_target(server: &Arc<ServerState>, job: &RestoreCommand) -> Reply<ShownPlan> {
    let mut job = job.clone();
    job.request.on_conflict = OnConflict::Target;
    plan(server, &job).await
}

fn planned(
    engine: &mut Engine,
    command: &RestoreCommand,
    lease: &EditorLease,
    open: &OpenDocuments,
) -> backstitch_core::Result<CliResult<ShownPlan>> {
    if command.verb == Verb::Rewind && command.rev.as_deref() == Some(LAST_TURN) {
        // a turn that was undone by hand is not the last one
        engine.capture_mut().record_changes()?;
    }
    let mut request = command.request(engine, lease, open)?;
    let conversation = match ConversationPlan::of_restore(engine, &request) {
        Ok(conversation) => conversation,
        Err(error) => return Ok(Err(error)),
    };
    request.conversation = conversation.as_ref().map(|plan| plan.half(None));
    let plan = engine.restore_mut().plan(&request)?;
    let mut shown = ShownPlan::of(engine, &request, plan, command.rev.as_deref())?;
    if let Some(conversation) = &conversation {
        conversation.show_in(&mut shown);
    }
    Ok(Ok(shown))
}

/// Plans, asks for confirmation if required, applies the plan, and reports the result.
pub async fn run(server: &Arc<ServerState>, mut job: RestoreCommand) -> Reply<RestoreResult> {
    if job.request.scope == Scope::Conversation {
        return conversation_alone(server, job).await;
    }
    for _ in 0..TRIES {
        let shown = plan(server, &job).await?;
        let has_conversation = shown.document.conversation.is_some();
        if shown.plan.is_empty() && shown.plan.open_conflicts() == 0 && !has_conversation {
            server
                .client
                .report(messages::nothing(&shown.title, &shown.plan));
            return Ok(RestoreResult::Nothing(Box::new(shown.document)));
        }
        if shown.plan.open_conflicts() > 0 && job.request.on_conflict == OnConflict::Fail {
            if !job.confirm {
                return Err(conflict(&shown));
            }
            decide(server, &mut job, &shown).await?;
            continue;
        }
        let mut fingerprint = job.shown.take();
        if job.confirm && fingerprint.is_none() {
            confirm(server, &job, &shown).await?;
            fingerprint = Some(shown.plan.fingerprint.clone());
        }
        if should_stop() {
            return Err(Failure::cancelled());
        }
        let asked = fingerprint.is_some() && job.confirm;
        match apply(server, &job, fingerprint).await {
            Ok(applied) => return Ok(RestoreResult::Applied(Box::new(applied))),
            // something changed while the plan was shown: the new plan is shown
            Err(failure) if asked && failure.kind == FailureKind::Refused => {
                let new = plan(server, &job).await?;
                if new.plan.fingerprint == shown.plan.fingerprint {
                    return Err(failure);
                }
            }
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure::new(FailureKind::Refused, refusal::KEPT_CHANGING)
        .hint(refusal::KEPT_CHANGING_HINT))
}

fn conflict(shown: &ShownPlan) -> Box<Failure> {
    let files = shown.plan.open_conflicts();
    Failure::new(FailureKind::Conflict, messages::conflict(files))
        .hint(refusal::CONFLICT_HINT)
        .answer(shown.document.clone())
}

/// Asks the user how to resolve the conflicts.
async fn decide(
    server: &Arc<ServerState>,
    job: &mut RestoreCommand,
    shown: &ShownPlan,
) -> Reply<()> {
    let question = messages::question(shown, job.request.on_conflict);
    let answers = [
        choice::CURRENT,
        choice::TARGET,
        choice::MARKERS,
        choice::SHOW,
        choice::CANCEL,
    ];
    loop {
        let chosen = must_ask(&server.client, MessageType::Warning, &question, &answers).await?;
        job.request.on_conflict = match chosen.as_deref() {
            Some(choice::CURRENT) => OnConflict::Current,
            Some(choice::TARGET) => OnConflict::Target,
            Some(choice::MARKERS) => OnConflict::Markers,
            Some(choice::SHOW) => {
                views::plan(server, &job.handle, shown).await?;
                continue;
            }
            _ => return Err(Failure::cancelled()),
        };
        // the plan with the decision is shown once more, with its fingerprint
        return Ok(());
    }
}

async fn confirm(server: &Arc<ServerState>, job: &RestoreCommand, shown: &ShownPlan) -> Reply<()> {
    let question = messages::question(shown, job.request.on_conflict);
    let yes = messages::yes(job.verb);
    loop {
        let answers = [yes, choice::SHOW, choice::CANCEL];
        let chosen = must_ask(&server.client, MessageType::Info, &question, &answers).await?;
        match chosen.as_deref() {
            Some(answer) if answer == yes => return Ok(()),
            Some(choice::SHOW) => {
                views::plan(server, &job.handle, shown).await?;
            }
            _ => return Err(Failure::cancelled()),
        }
    }
}

/// Applies it: files on disk first, then open documents in the editor.
async fn apply(
    server: &Arc<ServerState>,
    job: &RestoreCommand,
    fingerprint: Option<String>,
) -> Reply<protocol::Applied> {
    let command = job.clone();
    let _alone = job.handle.restoring.lock().await;
    let open = OpenDocuments::of(server, &job.handle);
    let title = messages::doing(job.verb, job.rev.as_deref());
    let work = |shown: WorkDone| {
        job.handle.act(false, move |WriteAccess { engine, lease }| {
            let mut engine = shown.reporting(engine);
            let mut request = command.request(&engine, &lease, &open)?;
            let conversation = match ConversationPlan::make_for(&mut engine, &mut request) {
                Ok(conversation) => conversation,
                Err(error) => return Ok(Err(error)),
            };
            let applied =
                engine
                    .restore_mut()
                    .apply(&request, fingerprint.as_deref(), &mut |progress| {
                        shown.report(progress);
                    });
            if let Some((_, made)) = &conversation {
                let is_there = applied
                    .as_ref()
                    .is_ok_and(|applied| restore_words::nothing_done(&applied.plan).is_reached);
                if let Err(error) = made.settle(&mut engine, applied.as_ref().ok(), is_there) {
                    return Ok(Err(error));
                }
            }
            let applied = applied?;
            // if another editor applied it, the texts are in its documents
            let texts = match &applied.by {
                None => texts(&engine, &applied.plan)?,
                Some(_) => Vec::new(),
            };
            let rev = command.rev.as_deref();
            let mut document = restore_plan::applied(&engine, &request, &applied, rev)?;
            document.plan.conversation = conversation.map(|(plan, made)| made.shape(&plan));
            let subject = engine.restore().subject(&applied.plan)?;
            Ok(Ok((applied, subject, texts, document)))
        })
    };
    let worked = progress::with(server, title, cancel_flag(), work);
    let (applied, subject, texts, mut document) = worked.await??;
    server.changed(&job.handle);
    let unsaved: Vec<_> = texts.iter().map(|text| text.path.clone()).collect();
    let unconfirmed = editing::apply(server, &job.handle, texts, EditWait::Command).await;
    document.not_taken = to_protocol::paths(&unconfirmed.not_taken);
    document.awaited = to_protocol::paths(&unconfirmed.awaited);
    let mut message = messages::done(&subject, &applied, &unsaved);
    if let Some(conversation) = &document.plan.conversation {
        message.push_str(&messages::continue_with(conversation));
    }
    server.client.report(message);
    Ok(document)
}

/// Makes a conversation that goes back alone, after one question. The files stay as they are.
async fn conversation_alone(
    server: &Arc<ServerState>,
    job: RestoreCommand,
) -> Reply<RestoreResult> {
    let planned = |makes: bool| {
        let (command, open) = (job.clone(), OpenDocuments::of(server, &job.handle));
        job.handle.act(false, move |WriteAccess { engine, lease }| {
            let request = command.request(engine, &lease, &open)?;
            Ok(ConversationPlan::alone(engine, &request, makes))
        })
    };
    let shown = planned(false).await??;
    if job.confirm {
        let question = messages::conversation_question(&shown);
        let answers = [choice::CONVERSATION, choice::CANCEL];
        let chosen = must_ask(&server.client, MessageType::Info, &question, &answers).await?;
        if chosen.as_deref() != Some(choice::CONVERSATION) {
            return Err(Failure::cancelled());
        }
    }
    let conversation = planned(true).await??;
    server.changed(&job.handle);
    let message = format!(
        "{}.{}",
        conversation.line,
        messages::continue_with(&conversation)
    );
    server.client.report(message);
    Ok(RestoreResult::Conversation(Box::new(ConversationResult {
        conversation,
    })))
}

/// Returns the new texts of open documents.
pub fn texts(engine: &Engine, plan: &Plan) -> backstitch_core::Result<Vec<NewText>> {
    let edits = plan.edits.iter().filter(|edit| edit.from != edit.to);
    edits
        .map(|edit| {
            Ok(NewText {
                path: edit.path.clone(),
                from: edit.from,
                content: engine.restore().text_of(plan, &edit.to)?,
                base: edit.base,
                disk: None,
            })
        })
        .collect()
}
