//! The custom requests of Backstitch's own clients: their parameters, and their answers in the shapes that the
//! command line's JSON has. Decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use backstitch_core::model::Kind;
use backstitch_core::{Author, By, LogFilter};
use serde::Deserialize;
use serde_json::{Value, json};

use super::commands::{self, Restoring, Where};
use super::failure::{Failure, Outcome};
use super::groups;
use super::position::Encoding;
use super::restore::{self, Job};
use super::room::Acting;
use super::session::Session;
use super::{spans, views};
use crate::changed::Changed;
use crate::{render, shape};

/// Rows of a page, where none are asked for.
const PAGE: usize = 200;
/// However many are asked for.
const MOST: usize = 100_000;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    pub uri: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Timeline {
    limit: Option<usize>,
    /// Only those older than this checkpoint: the next page.
    before: Option<String>,
    session: Option<String>,
    agent: Option<String>,
    kind: Option<String>,
    text: Option<String>,
    branch: Option<String>,
    all_branches: bool,
    /// Only what changed this file.
    uri: Option<String>,
    workspace: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Checkpoint {
    rev: String,
    uri: Option<String>,
    workspace: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Diff {
    from: String,
    /// None: the disk.
    to: Option<String>,
    uri: Option<String>,
    workspace: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    uri: Option<String>,
    workspace: Option<String>,
}

fn place(uri: Option<&String>, workspace: Option<&String>) -> Where {
    Where {
        uri: uri.cloned(),
        workspace: workspace.cloned(),
    }
}

pub async fn timeline(session: &Session, asked: Timeline) -> Outcome<Value> {
    let here = place(asked.uri.as_ref(), asked.workspace.as_ref());
    let room = commands::room(session, &here)?;
    let path = asked.uri.as_deref().map(|uri| commands::path(&room, uri));
    let path = path.transpose()?;
    let kind = asked.kind.as_deref().map(|name| {
        let mut all = Kind::ALL.into_iter();
        all.find(|kind| kind.name() == name)
            .ok_or_else(|| Failure::usage(format!("there is no kind `{name}`")))
    });
    let kind = kind.transpose()?;
    let answered = room.ask(move |engine| {
        let before = asked.before.as_deref().map(|rev| engine.resolve(rev));
        let limit = asked.limit.unwrap_or(PAGE).min(MOST);
        let mut entries = engine.log(&LogFilter {
            limit: Some(limit + 1),
            before: before.transpose()?,
            session: asked.session,
            agent: asked.agent,
            path,
            text: asked.text,
            kind,
            branch: asked.branch,
            all_branches: asked.all_branches,
            ..LogFilter::default()
        })?;
        let more = entries.len() > limit;
        entries.truncate(limit);
        Ok(json!({
            "checkpoints": entries.iter().map(shape::checkpoint).collect::<Vec<_>>(),
            "branches": engine.branches()?.iter().map(shape::branch).collect::<Vec<_>>(),
            "head": engine.head()?.map(|head| head.to_string()),
            "branch": engine.branch_name()?,
            "more": more,
        }))
    });
    match answered.await {
        Err(backstitch_core::Error::NoStore(_)) => Ok(json!({
            "checkpoints": [], "branches": [], "head": null, "branch": "main", "more": false,
        })),
        answered => Ok(answered?),
    }
}

pub async fn checkpoint(session: &Session, asked: Checkpoint) -> Outcome<Value> {
    let here = place(asked.uri.as_ref(), asked.workspace.as_ref());
    let room = commands::room(session, &here)?;
    let answered = room.ask(move |engine| {
        let node = engine.resolve(&asked.rev)?;
        let mut answer = shape::checkpoint(&engine.entry(node)?);
        let steps = engine.turn_steps(node)?.into_iter();
        let steps = steps.map(|step| Ok(shape::checkpoint(&engine.entry(step)?)));
        answer["steps"] = steps
            .collect::<backstitch_core::Result<Vec<Value>>>()?
            .into();
        Ok(answer)
    });
    Ok(answered.await?)
}

/// Hunks with line ranges on both sides, and the words that differ in them.
pub async fn diff(session: &Session, asked: Diff) -> Outcome<Value> {
    let here = place(asked.uri.as_ref(), asked.workspace.as_ref());
    let room = commands::room(session, &here)?;
    let path = asked.uri.as_deref().map(|uri| commands::path(&room, uri));
    let path = path.transpose()?;
    let (from, to) = (asked.from.clone(), asked.to.clone());
    let encoding = session.abilities().encoding;
    let answered = room.act(false, move |Acting { engine, .. }| {
        let to = asked.to.as_deref().filter(|to| *to != "disk");
        let files = views::changed(engine, &asked.from, to, path.as_ref())?;
        Ok(files
            .iter()
            .map(|file| with_words(file, encoding))
            .collect::<Vec<_>>())
    });
    Ok(json!({ "from": from, "to": to.unwrap_or_else(|| "disk".into()), "files": answered.await? }))
}

fn with_words(file: &Changed, encoding: Encoding) -> Value {
    let mut file = file.json();
    for hunk in file["hunks"].as_array_mut().into_iter().flatten() {
        let lines = |side: &str| -> Vec<&str> {
            let lines = hunk[side].as_array().into_iter().flatten();
            lines
                .map(|line| line.as_str().unwrap_or_default())
                .collect()
        };
        let (gone, come) = spans::of(&lines("removed"), &lines("added"), encoding);
        hunk["words"] = json!({ "removed": gone, "added": come });
    }
    file
}

/// The dry run of a restore.
pub async fn plan(session: &Arc<Session>, asked: &Value) -> Outcome<Value> {
    commands::only(
        "backstitch/plan",
        asked,
        &[
            &["rev", "turn", "step", "op", "branch", "carry"],
            &commands::RESTORING,
        ],
    )?;
    let here: Where = commands::read("backstitch/plan", asked)?;
    let typed: Restoring = commands::read("backstitch/plan", asked)?;
    let room = commands::room(session, &here)?;
    let (verb, rev) = if let Some(branch) = &typed.branch {
        ("switch to", Some(branch.clone()))
    } else if let Some(rev) = typed.turn.as_ref().or(typed.step.as_ref()) {
        ("revert", Some(rev.clone()))
    } else if let Some(rev) = &typed.rev {
        ("rewind to", Some(rev.clone()))
    } else {
        ("undo", typed.op.clone())
    };
    let shown = restore::plan(session, &Job::new(room, verb, rev, &typed)?).await?;
    let mut answer = shown.document;
    answer["title"] = json!(shown.title);
    answer["empty"] = json!(shown.plan.is_empty());
    Ok(answer)
}

/// Who wrote each line of an open document, unsaved text included.
pub async fn blame(session: &Session, uri: &str) -> Outcome<Value> {
    let Some((document, known)) = session.known(uri).await? else {
        return Ok(json!({ "version": null, "runs": [] }));
    };
    let runs = known.blame.runs.iter().map(|run| {
        let mut object = author(&run.author);
        object["start"] = json!(run.start - 1);
        object["count"] = json!(run.count);
        object
    });
    Ok(json!({
        "version": document.version,
        "runs": runs.collect::<Vec<_>>(),
        "checkpoints": known.checkpoints,
    }))
}

fn author(author: &Author) -> Value {
    let work = groups::work(author);
    let turn = work.and_then(|work| work.turn.as_ref());
    let by = match &author.by {
        By::Agent(_) => "agent",
        By::User => "user",
        By::Unsaved => "unsaved",
        By::Unknown => "unknown",
        By::Before => "before",
    };
    json!({
        "by": by,
        "checkpoint": author.node.map(|id| id.to_string()),
        "time": author.time.map(shape::time),
        "agent": work.map(|w| w.session.agent.as_str()),
        "session": work.map(|w| w.session.native.as_str()),
        "certainty": work.map(|w| render::certainty(w.session_certainty)),
        "turn": turn.map(|t| format!("t{}", t.number)),
        "prompt": turn.map(|t| t.prompt.as_str()),
        "tool": work.and_then(|w| w.tool.as_deref()),
        "iteration": work.and_then(|w| w.iteration),
    })
}

/// The sessions of the newest turns, newest first.
pub async fn sessions(session: &Session, asked: &Sessions) -> Outcome<Value> {
    let here = place(asked.uri.as_ref(), asked.workspace.as_ref());
    let room = commands::room(session, &here)?;
    let entries = room.ask(|engine| {
        engine.log(&LogFilter {
            kind: Some(Kind::Turn),
            all_branches: true,
            limit: Some(1000),
            ..LogFilter::default()
        })
    });
    let entries = match entries.await {
        Err(backstitch_core::Error::NoStore(_)) => Vec::new(),
        entries => entries?,
    };
    let mut order = Vec::new();
    let mut turns: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut agents: BTreeMap<String, String> = BTreeMap::new();
    for entry in &entries {
        let (Some(of), Some(turn)) = (&entry.session, &entry.turn) else {
            continue;
        };
        let id = of.native.clone();
        if !order.contains(&id) {
            order.push(id.clone());
        }
        agents.insert(id.clone(), of.agent.clone());
        turns.entry(id).or_default().push(json!({
            "turn": format!("t{}", turn.number),
            "prompt": turn.prompt,
            "checkpoint": entry.node.id.to_string(),
            "time": shape::time(entry.node.time),
        }));
    }
    let sessions = order
        .iter()
        .map(|id| json!({ "session": id, "agent": agents.get(id), "turns": turns.get(id) }));
    Ok(json!({ "sessions": sessions.collect::<Vec<_>>() }))
}
