//! Agents that work inside the editor: their turns, and their edits, which go through the editor and not over the
//! disk. What they tell is recorded as hooks are; who types meanwhile is the user.

use std::collections::BTreeMap;
use std::sync::Arc;

use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall};
use backstitch_core::{Engine, InEditor};
use backstitch_protocol::{
    ApplyEditParams, ApplyEditResult, FailureKind, TurnBeginParams, TurnEndParams, TurnResult,
};
use tower_lsp::gen_lsp_types::{
    DocumentChange, Edit, TextDocumentContentChangeEvent as Change,
    TextDocumentContentChangePartial, TextEdit, WorkspaceEdit,
};

use super::commands;
use super::document::{Document, edit};
use super::failure::{Failure, Outcome};
use super::room::{Acting, Room};
use super::session::{ANSWER, Session};

/// How long the client may take to send what an edit came to.
const ECHO: std::time::Duration = std::time::Duration::from_secs(5);

/// The agent at work in this editor, from one turn's begin to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtWork {
    pub agent: String,
    pub session: String,
}

pub async fn turn_begin(session: &Session, turn: TurnBeginParams) -> Outcome<TurnResult> {
    let room = commands::room(session, &turn.place)?;
    let (Some(agent), Some(id)) = (turn.agent, turn.session) else {
        return Err(Failure::usage(
            "backstitch/turnBegin needs `agent` and `session`",
        ));
    };
    let at_work = AtWork { agent, session: id };
    session.set_at_work(Some(at_work.clone()));
    // what is typed by now belongs to the state before the turn
    super::buffers::keep_all(session, &room, true).await;
    let event = event(
        &room,
        &at_work,
        "turnBegin",
        EventKind::Prompt {
            text: turn.prompt,
            synthetic: false,
        },
    );
    let made = room.act(true, move |Acting { engine, .. }| recorded(engine, &event));
    Ok(TurnResult {
        checkpoint: made.await?,
    })
}

pub async fn turn_end(session: &Session, turn: TurnEndParams) -> Outcome<TurnResult> {
    let room = commands::room(session, &turn.place)?;
    let known = session.at_work();
    let named = turn
        .agent
        .zip(turn.session)
        .map(|(agent, session)| AtWork { agent, session });
    let Some(at_work) = named.or(known) else {
        return Err(Failure::usage(
            "no turn has begun; `agent` and `session` name one",
        ));
    };
    session.set_at_work(None);
    let event = event(
        &room,
        &at_work,
        "turnEnd",
        EventKind::Stop { background: false },
    );
    let made = room.act(true, move |Acting { engine, .. }| recorded(engine, &event));
    Ok(TurnResult {
        checkpoint: made.await?,
    })
}

fn event(room: &Room, at_work: &AtWork, name: &str, kind: EventKind) -> AgentEvent {
    AgentEvent {
        agent: at_work.agent.clone(),
        session: at_work.session.clone(),
        transcript: None,
        prompt_id: None,
        subagent: None,
        cwd: Some(room.root().to_path_buf()),
        name: name.to_owned(),
        kind,
    }
}

fn recorded(engine: &mut Engine, event: &AgentEvent) -> backstitch_core::Result<Option<String>> {
    let recorded = engine.record(event)?;
    Ok(recorded.node.map(|node| node.to_string()))
}

/// Applies an agent's edit in the editor, and records what it came to as the agent's.
pub async fn apply_edit(session: &Session, asked: ApplyEditParams) -> Outcome<ApplyEditResult> {
    let at_work = asked.agent.clone().zip(asked.session.clone());
    let at_work = at_work.map(|(agent, session)| AtWork { agent, session });
    let at_work = at_work.or_else(|| session.at_work()).ok_or_else(|| {
        Failure::usage("no turn has begun")
            .hint("`backstitch/turnBegin` begins one; or name `agent` and `session` here")
    })?;
    let edit: WorkspaceEdit = commands::read("backstitch/applyEdit", &asked.edit.0)?;
    let wanted = wanted(session, &edit)?;
    let answer = tokio::time::timeout(ANSWER, session.client.apply_edit(edit)).await;
    let refused = match answer {
        Ok(Ok(answer)) if answer.applied => None,
        Ok(Ok(answer)) => Some(
            answer
                .failure_reason
                .unwrap_or_else(|| "refused".to_owned()),
        ),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("no answer".to_owned()),
    };
    if let Some(why) = refused {
        return Err(Failure::new(
            FailureKind::Refused,
            format!("the editor did not take the edit: {why}"),
        ));
    }
    let mut rooms: BTreeMap<std::path::PathBuf, (Arc<Room>, Vec<InEditor>)> = BTreeMap::new();
    let mut not_taken = Vec::new();
    for (uri, (before, after)) in wanted {
        // what counts is what the client then has
        let taken = session.comes_to(&uri, ECHO, |document| document.text == after.text);
        if !taken.await {
            not_taken.push(uri);
            continue;
        }
        let (Some(place), Some(old), Some(new)) =
            (before.place.clone(), before.as_saved(), after.as_saved())
        else {
            continue;
        };
        let root = place.room.root().to_path_buf();
        let (_, edits) = rooms
            .entry(root)
            .or_insert_with(|| (place.room.clone(), Vec::new()));
        edits.push(InEditor {
            path: place.path,
            before: old,
            after: new,
        });
    }
    let mut checkpoints = Vec::new();
    for (room, edits) in rooms.into_values() {
        let tool = asked
            .label
            .clone()
            .unwrap_or_else(|| "applyEdit".to_owned());
        let call = ToolCall {
            id: None,
            tool,
            input: Vec::new(),
            effect: Effect::Names(edits.iter().map(|e| e.path.to_path()).collect()),
        };
        let event = event(&room, &at_work, "applyEdit", EventKind::Other);
        let made = room.act(true, move |Acting { engine, lease }| {
            engine.record_in_editor(&lease, &event, &call, &edits)
        });
        checkpoints.extend(made.await?.map(|node| node.to_string()));
        session.changed(&room);
    }
    Ok(ApplyEditResult {
        applied: not_taken.is_empty(),
        checkpoints,
        not_taken,
    })
}

/// What each open document is to become; files that are not open are the disk's, and found there.
fn wanted(
    session: &Session,
    workspace: &WorkspaceEdit,
) -> Outcome<BTreeMap<String, (Document, Document)>> {
    let mut edits: Vec<(String, Vec<TextEdit>)> = Vec::new();
    for change in workspace.document_changes.iter().flatten() {
        if let DocumentChange::TextDocumentEdit(change) = change {
            let uri = &change.text_document.text_document_identifier.uri;
            let plain = change.edits.iter().map(|edit| match edit {
                Edit::TextEdit(edit) => Ok(edit.clone()),
                Edit::AnnotatedTextEdit(edit) => Ok(edit.text_edit.clone()),
                Edit::SnippetTextEdit(_) => Err(Failure::usage(
                    "an edit with a snippet cannot be recorded; send plain text",
                )),
            });
            edits.push((uri.0.clone(), plain.collect::<Outcome<_>>()?));
        }
    }
    for (uri, plain) in workspace.changes.iter().flatten() {
        edits.push((uri.0.clone(), plain.clone()));
    }
    let encoding = session.abilities().encoding;
    let mut wanted = BTreeMap::new();
    for (uri, mut edits) in edits {
        let Some(before) = session.documents.get(&uri) else {
            continue;
        };
        let (_, after) = wanted
            .entry(uri)
            .or_insert_with(|| (before.clone(), before));
        // all count from the text before them: the last in the text goes first
        edits.sort_by_key(|edit| {
            let start = edit.range.start;
            (start.line, start.character)
        });
        for change in edits.into_iter().rev() {
            #[expect(deprecated, reason = "the field is there, and has to be named")]
            let part = TextDocumentContentChangePartial {
                range: change.range,
                range_length: None,
                text: change.new_text,
            };
            edit(&mut after.text, &Change::from(part), encoding);
        }
    }
    Ok(wanted)
}
