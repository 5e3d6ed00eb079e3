//! Conversations of Codex: a record is a file of rows, and databases are made from it. A new thread is made by the agent's own
//! server, which forks through a turn. Turns keep their ids in a fork.

mod messages;
mod record;
#[cfg(test)]
mod tests;

use std::path::Path;

use serde_json::{Value, json};

use super::spec::SPEC;
use crate::conversations::{
    Anchor, CommandLine, Conversations, CutRequest, Made, NewConversation, Placement, PlainMessage,
    RecordBase, RecordCandidate, RecordPart, RecordPlace, RecordSource, RecordedPrompt, Refused,
    Requirement, ServerCall, SessionCut, ToldTurn, Unreadable,
};
use record::{Record, RolloutTurn};

/// Turns of one page of a list.
const PAGE: usize = 100;

#[derive(Clone, Copy, Debug)]
pub struct CodexConversations;

impl Conversations for CodexConversations {
    fn source(&self, place: &RecordPlace) -> RecordSource {
        let suffix = format!("-{}.jsonl", place.session);
        let mut files = Vec::new();
        if let Some(home) = &place.home {
            // a turn that was removed in the terminal begins a second file of the thread: the newest is right
            files.push(RecordCandidate::Search {
                root: home.join("sessions"),
                depth: 3,
                suffix: suffix.clone(),
            });
        }
        files.extend(place.transcript.clone().map(RecordCandidate::File));
        if let Some(home) = &place.home {
            files.push(RecordCandidate::Search {
                root: home.join("archived_sessions"),
                depth: 0,
                suffix,
            });
        }
        RecordSource::Files(files)
    }

    fn base(&self, record: &[u8]) -> Option<RecordBase> {
        let base = record::base(record)?;
        Some(RecordBase {
            session: base.thread_id,
            bytes: base.end_byte_offset,
        })
    }

    fn turns(&self, record: &[u8]) -> Result<Vec<RecordedPrompt>, Unreadable> {
        let record = read(record)?;
        let prompts = record.turns.iter().filter(|turn| turn.prompt.is_some());
        let prompts = prompts.enumerate().map(|(before, turn)| {
            let time = turn
                .timestamp
                .and_then(|time| time.parse::<jiff::Timestamp>().ok());
            RecordedPrompt {
                anchor: Anchor {
                    row: turn.id.to_owned(),
                    native: Some(turn.id.to_owned()),
                },
                text: turn.prompt.clone().unwrap_or_default(),
                time: time.map(jiff::Timestamp::as_microsecond),
                branch: 0,
                before,
            }
        });
        Ok(prompts.collect())
    }

    fn messages(&self, record: &[u8], part: &RecordPart) -> Result<Vec<PlainMessage>, Refused> {
        let record = read(record)?;
        let turns = match part {
            RecordPart::All | RecordPart::Shown => &record.turns[..],
            RecordPart::Before(anchor) => &record.turns[..number(&record, anchor)?],
            RecordPart::From(anchor) => &record.turns[number(&record, anchor)?..],
            RecordPart::Turn(anchor) => {
                let from = number(&record, anchor)?;
                let rest = record.turns[from + 1..].iter();
                let more = rest.take_while(|turn| turn.prompt.is_none()).count();
                &record.turns[from..=from + more]
            }
        };
        Ok(messages::plain(turns))
    }

    fn cut(&self, record: &[u8], request: &CutRequest<'_>) -> Result<NewConversation, Refused> {
        cut(&read(record)?, request)
    }

    fn tells(&self, record: &[u8]) -> Result<Vec<ToldTurn>, Unreadable> {
        Ok(prompts_told(&read(record)?.turns))
    }

    fn summarizer(&self) -> &'static [&'static str] {
        &[
            SPEC.program,
            "exec",
            "--ephemeral",
            "--disable",
            "hooks",
            "--sandbox",
            "read-only",
            "--skip-git-repo-check",
            "-",
        ]
    }

    fn opening(&self, made: &Made, _prompt: &str) -> CommandLine {
        // a prompt on its command line is sent at once
        let mut argv = vec![SPEC.program.to_owned()];
        if let Some(session) = &made.session {
            argv.extend(["resume".to_owned(), session.clone()]);
        }
        CommandLine {
            argv,
            cwd: made.directory.clone(),
            prompt_in_it: false,
        }
    }
}

fn read(bytes: &[u8]) -> Result<Record<'_>, Unreadable> {
    let record = record::read(bytes);
    if !record.turns.iter().any(|turn| turn.prompt.is_some()) {
        return Err(Unreadable::NoPrompts { agent: SPEC.title });
    }
    Ok(record)
}

fn number(record: &Record<'_>, anchor: &Anchor) -> Result<usize, Refused> {
    let number = record.number(&anchor.row);
    let number = number.filter(|number| record.turns[*number].prompt.is_some());
    number.ok_or_else(|| Refused::NotFound {
        text: anchor.row.clone(),
        nearest: None,
    })
}

fn prompts_told(turns: &[RolloutTurn<'_>]) -> Vec<ToldTurn> {
    let prompts = turns
        .iter()
        .filter_map(|turn| Some((turn, turn.prompt.as_ref()?)));
    let told = prompts.map(|(turn, text)| ToldTurn {
        row: turn.id.to_owned(),
        text: text.clone(),
    });
    told.collect()
}

fn cut(record: &Record<'_>, request: &CutRequest<'_>) -> Result<NewConversation, Refused> {
    let prompt = number(record, request.cut.anchor())?;
    let (start, rest) = record.turns.split_at(prompt);
    if let Some(id) = record.doubled(start) {
        return Err(Refused::Broken {
            row: id.to_owned(),
            reason: "is there twice",
        });
    }
    let kept = match request.cut {
        SessionCut::Before(_) | SessionCut::SummaryOfRest(..) => start,
        SessionCut::SummaryOfStart(..) => rest,
    };
    let tells = prompts_told(kept);
    let calls = match request.cut {
        SessionCut::Before(_) => forked(start, rest, request),
        SessionCut::SummaryOfRest(_, summary) => {
            has_text(summary)?;
            let mut calls = match forked(start, rest, request) {
                calls if calls.is_empty() => started(record, request),
                calls => calls,
            };
            calls.push(inject(&[summary_item(summary)]));
            calls
        }
        SessionCut::SummaryOfStart(_, summary) => {
            has_text(summary)?;
            if rest.iter().any(|turn| turn.is_compaction) {
                return Err(Refused::Compacted {
                    text: rest[0].prompt.clone().unwrap_or_default(),
                });
            }
            let items = rest.iter().flat_map(|turn| &turn.items);
            let mut all = vec![summary_item(summary)];
            all.extend(items.filter_map(messages::injected));
            let mut calls = started(record, request);
            calls.push(inject(&all));
            calls
        }
    };
    let of_branch = prompts_told(&record.turns).len();
    let argv = vec![SPEC.program.to_owned(), "app-server".to_owned()];
    let placement = if calls.is_empty() {
        Placement::Fresh
    } else {
        Placement::Serve { argv, calls }
    };
    Ok(NewConversation {
        placement,
        dropped: of_branch - tells.len(),
        tells,
        basis: kept.iter().map(|turn| turn.range.clone()).collect(),
        version: record.version.clone(),
        tokens: kept.iter().rev().find_map(|turn| turn.tokens),
    })
}

fn has_text(summary: &str) -> Result<(), Refused> {
    if summary.trim().is_empty() {
        return Err(Refused::EmptySummary);
    }
    Ok(())
}

/// Returns the calls that fork a thread through the last of these turns. Empty: there is none.
fn forked(
    start: &[RolloutTurn<'_>],
    rest: &[RolloutTurn<'_>],
    request: &CutRequest<'_>,
) -> Vec<ServerCall> {
    let Some(last) = start.last() else {
        return Vec::new();
    };
    let thread = &request.place.session;
    let kept = start.iter().map(|turn| turn.id.to_owned());
    let wanted = rest.first().map(|turn| turn.id.to_owned());
    let through: Vec<String> = kept.clone().chain(wanted).collect();
    let mut calls = greeting();
    // a turn that was removed in the terminal is not there
    calls.push(list(Some(thread), None, through, false));
    let mut params = json!({"threadId": thread, "lastTurnId": last.id, "excludeTurns": true});
    add_directory(&mut params, request.into);
    calls.push(ServerCall {
        new_id: Some("/thread/id"),
        ..call("thread/fork", params)
    });
    calls.push(list(None, Some("/threadId"), kept.collect(), true));
    calls
}

/// Returns the calls that begin a thread with the same model. The agent composes its system prompt itself. The text in the record
/// is a template: given as an override, it was another prompt.
fn started(record: &Record<'_>, request: &CutRequest<'_>) -> Vec<ServerCall> {
    let directory = request.into.unwrap_or(&request.place.directory);
    let mut params = json!({});
    add_directory(&mut params, Some(directory));
    if let Some(model) = &record.model {
        params["model"] = json!(model);
    }
    let mut calls = greeting();
    calls.push(ServerCall {
        new_id: Some("/thread/id"),
        ..call("thread/start", params)
    });
    calls
}

fn add_directory(params: &mut Value, directory: Option<&Path>) {
    if let Some(directory) = directory {
        params["cwd"] = json!(directory.to_string_lossy());
    }
}

fn greeting() -> Vec<ServerCall> {
    let client =
        json!({"name": "backstitch", "title": "Backstitch", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"clientInfo": client, "capabilities": {"experimentalApi": true}});
    let initialized = ServerCall {
        is_answered: false,
        ..call("initialized", Value::Null)
    };
    vec![call("initialize", params), initialized]
}

fn call(method: &'static str, params: Value) -> ServerCall {
    ServerCall {
        method,
        params,
        is_answered: true,
        new_id: None,
        takes_id: None,
        requires: None,
    }
}

/// Returns the call that lists the turns of a thread, and compares their ids.
fn list(
    thread: Option<&str>,
    takes_id: Option<&'static str>,
    values: Vec<String>,
    is_exact: bool,
) -> ServerCall {
    let params = json!({"threadId": thread, "sortDirection": "asc", "limit": PAGE});
    ServerCall {
        takes_id,
        requires: Some(Requirement {
            list: "/data",
            field: "id",
            values,
            is_exact,
            next: "nextCursor",
        }),
        ..call("thread/turns/list", params)
    }
}

fn inject(items: &[Value]) -> ServerCall {
    ServerCall {
        takes_id: Some("/threadId"),
        ..call(
            "thread/inject_items",
            json!({"threadId": null, "items": items}),
        )
    }
}

fn summary_item(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}
