//! The file of a new conversation: one JSON document of the messages that stay.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::SPEC;
use super::journal::{Journal, JournalBranch, ReadMessage, SUMMARY_ID, parts};
use crate::conversations::{
    Anchor, CutRequest, MessageAuthor, NewConversation, Placement, PlainMessage, RecordPart,
    Refused, SessionCut, ToldTurn, new_id, rfc3339, title,
};
use crate::gemini_family::{self as family, CalledFunction, FunctionResult};

/// Folder of the new files. It is beside the agent's own `chats`, so that it is as private as these. The agent lists, cleans and
/// deletes files in `chats` alone, and no name comes twice: each is a new UUID.
const FOLDER: &str = "backstitch";

pub fn cut(journal: &Journal<'_>, request: &CutRequest<'_>) -> Result<NewConversation, Refused> {
    let (branch, place) = found(journal, request.cut.anchor())?;
    let (start, rest) = branch.messages.split_at(place);
    let (kept, summary) = match request.cut {
        SessionCut::Before(_) => (start, None),
        SessionCut::SummaryOfRest(_, summary) => (start, Some(summary)),
        SessionCut::SummaryOfStart(_, summary) => (rest, Some(summary)),
    };
    if summary.is_some_and(|summary| summary.trim().is_empty()) {
        return Err(Refused::EmptySummary);
    }
    let tells = prompts_told(journal, kept);
    let of_branch = branch.earlier + prompts_told(journal, &branch.messages).len();
    let mut messages = kept
        .iter()
        .rev()
        .filter_map(|number| journal.all[*number].read());
    let mut new = NewConversation {
        placement: Placement::Fresh,
        dropped: of_branch.saturating_sub(tells.len()),
        tells,
        basis: basis(journal, kept),
        version: None,
        tokens: messages.find_map(|message| message.tokens?.total),
    };
    let has_answers = kept.iter().any(|number| {
        let message = journal.all[*number].read();
        message.is_some_and(|message| message.kind == "gemini")
    });
    if summary.is_some() || !new.tells.is_empty() || has_answers {
        let prompt = journal.all[branch.messages[place]].text();
        let bytes = write(journal, kept, summary.map(String::as_str), request, &prompt);
        new.placement = Placement::File {
            path: path(request)?,
            bytes,
        };
        if let Placement::File { bytes, .. } = &new.placement {
            new.verify(&super::GeminiConversations, bytes)?;
        }
    }
    Ok(new)
}

fn found<'j>(
    journal: &'j Journal<'_>,
    anchor: &Anchor,
) -> Result<(&'j JournalBranch, usize), Refused> {
    journal.find(anchor).ok_or_else(|| Refused::NotFound {
        text: anchor.row.clone(),
        nearest: None,
    })
}

/// Returns the lines in which messages have their newest form.
fn basis(journal: &Journal<'_>, kept: &[usize]) -> Vec<Range<usize>> {
    let mut lines: Vec<Range<usize>> = kept
        .iter()
        .map(|number| journal.all[*number].line.clone())
        .collect();
    lines.sort_unstable_by_key(|line| line.start);
    lines.dedup();
    lines
}

fn path(request: &CutRequest<'_>) -> Result<PathBuf, Refused> {
    let known = [request.record, request.place.transcript.as_deref()];
    let beside = |file: &Path| Some(file.parent()?.parent()?.to_owned());
    let project = known.into_iter().flatten().find_map(beside);
    let folder = project.or_else(|| request.place.home.clone());
    let folder = folder.ok_or(Refused::NoPlace { agent: SPEC.title })?;
    Ok(folder
        .join(FOLDER)
        .join(format!("{}.json", request.session)))
}

fn write(
    journal: &Journal<'_>,
    kept: &[usize],
    summary: Option<&str>,
    request: &CutRequest<'_>,
    prompt: &str,
) -> Vec<u8> {
    let now = rfc3339(request.now);
    let mut messages = without_twins(journal, kept);
    if let Some(text) = summary {
        let id = format!("{SUMMARY_ID}{}", new_id(request.session, 1));
        let summary =
            json!({"id": id, "timestamp": now, "type": "user", "content": [{"text": text}]});
        let at = match request.cut {
            SessionCut::SummaryOfStart(..) => 0,
            SessionCut::Before(_) | SessionCut::SummaryOfRest(..) => messages.len(),
        };
        messages.insert(at, summary.to_string());
    }
    let head = json!({
        "sessionId": request.session, "projectHash": journal.project.as_deref().unwrap_or("none"),
        "startTime": now, "lastUpdated": now, "kind": journal.kind.as_deref().unwrap_or("main"),
        "summary": title(request.cut, prompt),
    });
    let head = head.to_string();
    let head = head.strip_suffix('}').unwrap_or_default();
    format!("{head},\"messages\":[{}]}}\n", messages.join(",")).into_bytes()
}

/// Returns messages as they are, without the second result of a call. The agent writes results twice at each resume, and sends
/// both.
fn without_twins(journal: &Journal<'_>, kept: &[usize]) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut written = Vec::with_capacity(kept.len());
    for number in kept {
        let json = journal.all[*number].json;
        let Some(message) = journal.all[*number].read() else {
            written.push(json.get().to_owned());
            continue;
        };
        // the agent makes a message of these
        for result in message.tool_calls.iter().filter_map(|call| call.result) {
            seen.extend(results(result));
        }
        let content = message.content.filter(|_| message.kind == "user");
        let once = content.and_then(|content| once(content, &mut seen));
        match (content, once) {
            (Some(_), Some(parts)) if parts.is_empty() => {}
            (Some(content), Some(parts)) => {
                let (whole, old) = (json.get(), content.get());
                let start = old.as_ptr().addr() - whole.as_ptr().addr();
                let (head, tail) = (&whole[..start], &whole[start + old.len()..]);
                written.push(format!("{head}[{}]{tail}", parts.join(",")));
            }
            (_, None) | (None, _) => written.push(json.get().to_owned()),
        }
    }
    written
}

/// Returns the parts of a content whose results were not there before. None: all of them.
fn once<'a>(content: &'a RawValue, seen: &mut HashSet<String>) -> Option<Vec<&'a str>> {
    let parts: Vec<&'a RawValue> = serde_json::from_str(content.get()).ok()?;
    let count = parts.len();
    let is_new = |part: &&RawValue| match results(part).first() {
        Some(id) => id.is_empty() || seen.insert(id.clone()),
        None => true,
    };
    let kept: Vec<&str> = parts
        .into_iter()
        .filter(is_new)
        .map(RawValue::get)
        .collect();
    (kept.len() < count).then_some(kept)
}

/// Returns the ids of results in a part, or in a list of parts.
fn results(value: &RawValue) -> Vec<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ResultPart {
        function_response: Option<FunctionResult>,
    }
    let json = value.get();
    let parts = match serde_json::from_str::<Vec<ResultPart>>(json) {
        Ok(parts) => parts,
        Err(_) => serde_json::from_str(json).into_iter().collect(),
    };
    let responses = parts.into_iter().filter_map(|part| part.function_response);
    responses.map(|response| response.id).collect()
}

/// Returns the prompts among messages.
pub fn prompts_told(journal: &Journal<'_>, messages: &[usize]) -> Vec<ToldTurn> {
    let messages = messages.iter().map(|number| &journal.all[*number]);
    let prompts = messages.filter(|message| message.is_prompt);
    let told = prompts.map(|message| ToldTurn {
        row: message.id.clone(),
        text: message.text(),
    });
    told.collect()
}

/// Returns the messages of a part, as plain text.
pub fn messages(journal: &Journal<'_>, part: &RecordPart) -> Result<Vec<PlainMessage>, Refused> {
    let numbers = match part {
        RecordPart::All | RecordPart::Shown => &journal.open.messages[..],
        RecordPart::Before(anchor) => {
            let (branch, place) = found(journal, anchor)?;
            &branch.messages[..place]
        }
        RecordPart::From(anchor) => {
            let (branch, place) = found(journal, anchor)?;
            &branch.messages[place..]
        }
        RecordPart::Turn(anchor) => {
            let (branch, place) = found(journal, anchor)?;
            let rest = &branch.messages[place + 1..];
            let more = rest
                .iter()
                .take_while(|number| !journal.all[**number].is_prompt);
            &branch.messages[place..=place + more.count()]
        }
    };
    let mut seen = HashSet::new();
    let mut plain = Vec::new();
    for number in numbers {
        if let Some(message) = journal.all[*number].read() {
            add_plain(&message, &mut seen, &mut plain);
        }
    }
    Ok(plain)
}

fn add_plain(message: &ReadMessage<'_>, seen: &mut HashSet<String>, to: &mut Vec<PlainMessage>) {
    let mut all = message.content.map(parts).unwrap_or_default();
    let role = match &*message.kind {
        "user" => MessageAuthor::User,
        "gemini" => MessageAuthor::Assistant,
        // a notice that the agent showed, and did not send
        _ => return,
    };
    let text = family::text(&all);
    if text.starts_with("<session_context>") {
        return;
    }
    let is_twin =
        |id: &str, seen: &mut HashSet<String>| !id.is_empty() && !seen.insert(id.to_owned());
    all.retain(|part| {
        let response = part.function_response.as_ref();
        response.is_none_or(|response| !is_twin(&response.id, seen))
    });
    let has_calls = all.iter().any(|part| part.function_call.is_some());
    let mut plain = family::plain(role, &all);
    if !has_calls && !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| CalledFunction {
            id: String::new(),
            name: call.name.to_string(),
            args: call.args.clone(),
        });
        let plain = plain.get_or_insert_with(|| PlainMessage {
            role,
            text: String::new(),
            calls: Vec::new(),
            results: Vec::new(),
        });
        plain.calls.extend(calls.map(|call| call.plain()));
    }
    to.extend(plain);
    let mut results = Vec::new();
    for result in message.tool_calls.iter().filter_map(|call| call.result) {
        for part in parts(result) {
            let response = part.function_response;
            results.extend(response.filter(|response| !is_twin(&response.id, seen)));
        }
    }
    if !results.is_empty() {
        to.push(PlainMessage {
            role: MessageAuthor::User,
            text: String::new(),
            calls: Vec::new(),
            results: results.iter().map(FunctionResult::plain).collect(),
        });
    }
}
