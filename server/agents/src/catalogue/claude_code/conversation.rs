//! Conversations of Claude Code: a record is a file of rows, chained by `uuid` and `parentUuid`. A new session is a new file
//! beside it with the rows of the chain (`row_chain`). `--resume-session-at` is not used: in a terminal the agent ignores it without a word.

mod content;
mod messages;
mod rows;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::spec::SPEC;
use crate::conversations::{
    CommandLine, Conversations, CutRequest, Excerpts, Made, NewConversation, PlainMessage,
    RecordCandidate, RecordPart, RecordPlace, RecordSource, RecordedPrompt, Refused, ToldTurn,
    Unreadable, new_id,
};
use crate::row_chain::{self, LinkedRow, RowFormat, RowIds, RowKind};
use content::MessageContent;

/// First version that takes `--prefill`. It stands in no help, and an unknown option ends the program.
const PREFILL_SINCE: [u32; 3] = [2, 1, 330];

/// Attachments that describe the session to the model: its system prompt, tools, model and surroundings. The newest of each
/// kind is kept with a summary of the rows before it, as the agent does after its own summaries.
const STANDING: [&str; 9] = [
    "environment",
    "model",
    "deferred_tools_delta",
    "agent_listing_delta",
    "skill_listing",
    "session_context",
    "date",
    "remote_session_change",
    "prompt_snapshot",
];

#[derive(Clone, Copy, Debug)]
pub struct ClaudeConversations;

impl Conversations for ClaudeConversations {
    fn source(&self, place: &RecordPlace) -> RecordSource {
        let mut files: Vec<RecordCandidate> = Vec::new();
        files.extend(place.transcript.clone().map(RecordCandidate::File));
        // a session resumed elsewhere reports a path that does not exist
        files.extend(projects(place, None).map(|root| RecordCandidate::Search {
            root,
            depth: 1,
            suffix: format!("{}.jsonl", place.session),
        }));
        RecordSource::Files(files)
    }

    fn folders(&self, place: &RecordPlace, record: Option<&Path>) -> Option<PathBuf> {
        projects(place, record)
    }

    fn turns(&self, record: &[u8]) -> Result<Vec<RecordedPrompt>, Unreadable> {
        row_chain::turns(&ClaudeRows, record)
    }

    fn messages(&self, record: &[u8], part: &RecordPart) -> Result<Vec<PlainMessage>, Refused> {
        row_chain::messages(&ClaudeRows, record, part)
    }

    fn cut(&self, record: &[u8], request: &CutRequest<'_>) -> Result<NewConversation, Refused> {
        row_chain::cut(&ClaudeRows, record, request)
    }

    fn tells(&self, record: &[u8]) -> Result<Vec<ToldTurn>, Unreadable> {
        row_chain::tells(&ClaudeRows, record)
    }

    fn summarizer(&self) -> &'static [&'static str] {
        &[
            SPEC.program,
            "-p",
            "--no-session-persistence",
            "--tools",
            "",
            "--settings",
            r#"{"disableAllHooks":true}"#,
        ]
    }

    fn opening(&self, made: &Made, prompt: &str) -> CommandLine {
        let mut argv = vec![SPEC.program.to_owned()];
        if let Some(session) = &made.session {
            argv.extend(["--resume".to_owned(), session.clone()]);
        }
        let can_prefill = made.version.as_deref().is_some_and(|version| {
            version_of(version).is_some_and(|version| version >= PREFILL_SINCE)
        });
        let prompt_in_it = can_prefill && !prompt.is_empty() && Excerpts::fits_argument(prompt);
        if prompt_in_it {
            // in one argument: a prompt may begin with a dash
            if prompt.starts_with('-') {
                argv.push(format!("--prefill={prompt}"));
            } else {
                argv.extend(["--prefill".to_owned(), prompt.to_owned()]);
            }
        }
        CommandLine {
            argv,
            cwd: made.directory.clone(),
            prompt_in_it,
        }
    }
}

/// Returns the directory whose folders hold the records.
fn projects(place: &RecordPlace, record: Option<&Path>) -> Option<PathBuf> {
    let above = |file: &Path| Some(file.parent()?.parent()?.to_owned());
    let beside = record.and_then(above);
    let reported = || place.transcript.as_deref().and_then(above);
    let own = || Some(place.home.as_ref()?.join("projects"));
    beside.or_else(reported).or_else(own)
}

#[derive(Debug)]
struct ClaudeRows;

impl RowFormat for ClaudeRows {
    fn agent(&self) -> &'static str {
        SPEC.title
    }

    fn read<'a>(&self, record: &'a [u8]) -> Vec<LinkedRow<'a>> {
        rows::read(record)
    }

    fn text(&self, row: &LinkedRow<'_>) -> String {
        messages::text(row)
    }

    fn plain(&self, row: &LinkedRow<'_>) -> Option<PlainMessage> {
        messages::plain(row)
    }

    fn tokens(&self, row: &LinkedRow<'_>) -> Option<u64> {
        messages::tokens(row)
    }

    fn ids(&self, row: &LinkedRow<'_>) -> RowIds {
        let content = row.message.and_then(MessageContent::read);
        let content = content.as_ref();
        RowIds {
            message: messages::message_id(row).map(str::to_owned),
            calls: content.map_or_else(Vec::new, |content| {
                content.calls().map(str::to_owned).collect()
            }),
            results: content.map_or_else(Vec::new, |content| {
                content.results().map(str::to_owned).collect()
            }),
        }
    }

    fn standing<'a>(&self, row: &LinkedRow<'a>) -> Option<Cow<'a, str>> {
        let attachment = row.extra.filter(|_| row.kind == RowKind::Attachment)?;
        messages::attachment_kind(attachment).filter(|kind| STANDING.contains(&&**kind))
    }

    fn projects(&self, place: &RecordPlace, record: Option<&Path>) -> Option<PathBuf> {
        projects(place, record)
    }

    fn summary(&self, session: &str, text: &str) -> Value {
        json!({
            "isSidechain": false, "message": {"role": "user", "content": text},
            "isCompactSummary": true, "promptId": new_id(session, 2),
        })
    }

    fn title_row(&self, session: &str, title: &str) -> Option<Value> {
        Some(json!({"type": "custom-title", "customTitle": title, "sessionId": session}))
    }
}

fn version_of(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split(['.', '-', '+']).map(str::parse);
    let mut next = || parts.next()?.ok();
    Some([next()?, next()?, next()?])
}
