//! Conversations of Qwen Code: a record is a file of rows, chained by `uuid` and `parentUuid` as Claude Code's are (`row_chain`). A
//! new session is a new file beside it. Its hooks give ids of prompts that the record does not have: order and text find a turn.

mod rows;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::spec::SPEC;
use crate::conversations::{
    CommandLine, Conversations, CutRequest, Made, NewConversation, PlainMessage, RecordCandidate,
    RecordPart, RecordPlace, RecordSource, RecordedPrompt, Refused, ToldTurn, Unreadable,
};
use crate::row_chain::{self, LinkedRow, RowFormat, RowIds};

/// Folder of the records below that of a working directory.
const CHATS: &str = "chats";

/// Source of a row that no person sent. The model is shown such a row like any other.
const SUMMARY_SOURCE: &str = "system";

#[derive(Clone, Copy, Debug)]
pub struct QwenConversations;

impl Conversations for QwenConversations {
    fn source(&self, place: &RecordPlace) -> RecordSource {
        let mut files: Vec<RecordCandidate> = Vec::new();
        files.extend(place.transcript.clone().map(RecordCandidate::File));
        files.extend(projects(place, None).map(|root| RecordCandidate::Search {
            root,
            depth: 2,
            suffix: format!("{}.jsonl", place.session),
        }));
        RecordSource::Files(files)
    }

    fn folders(&self, place: &RecordPlace, record: Option<&Path>) -> Option<PathBuf> {
        projects(place, record)
    }

    fn turns(&self, record: &[u8]) -> Result<Vec<RecordedPrompt>, Unreadable> {
        row_chain::turns(&QwenRows, record)
    }

    fn messages(&self, record: &[u8], part: &RecordPart) -> Result<Vec<PlainMessage>, Refused> {
        row_chain::messages(&QwenRows, record, part)
    }

    fn cut(&self, record: &[u8], request: &CutRequest<'_>) -> Result<NewConversation, Refused> {
        row_chain::cut(&QwenRows, record, request)
    }

    fn tells(&self, record: &[u8]) -> Result<Vec<ToldTurn>, Unreadable> {
        row_chain::tells(&QwenRows, record)
    }

    fn opening(&self, made: &Made, _prompt: &str) -> CommandLine {
        // a prompt on its command line is sent at once
        let mut argv = vec![SPEC.program.to_owned()];
        if let Some(session) = &made.session {
            argv.extend(["--resume".to_owned(), session.clone()]);
        }
        CommandLine {
            argv,
            cwd: made.directory.clone(),
            prompt_in_it: false,
        }
    }
}

/// Returns the directory whose folders hold the records, each in a folder `chats`.
fn projects(place: &RecordPlace, record: Option<&Path>) -> Option<PathBuf> {
    let above = |file: &Path| Some(file.parent()?.parent()?.parent()?.to_owned());
    let beside = record.and_then(above);
    let reported = || place.transcript.as_deref().and_then(above);
    let own = || Some(place.home.as_ref()?.join("projects"));
    beside.or_else(reported).or_else(own)
}

#[derive(Debug)]
struct QwenRows;

impl RowFormat for QwenRows {
    fn agent(&self) -> &'static str {
        SPEC.title
    }

    fn read<'a>(&self, record: &'a [u8]) -> Vec<LinkedRow<'a>> {
        rows::read(record)
    }

    fn text(&self, row: &LinkedRow<'_>) -> String {
        rows::text(row)
    }

    fn plain(&self, row: &LinkedRow<'_>) -> Option<PlainMessage> {
        rows::plain(row)
    }

    fn tokens(&self, row: &LinkedRow<'_>) -> Option<u64> {
        rows::tokens(row)
    }

    fn ids(&self, row: &LinkedRow<'_>) -> RowIds {
        rows::ids(row)
    }

    fn projects(&self, place: &RecordPlace, record: Option<&Path>) -> Option<PathBuf> {
        projects(place, record)
    }

    fn inner_folder(&self) -> Option<&'static str> {
        Some(CHATS)
    }

    fn summary(&self, _session: &str, text: &str) -> Value {
        json!({"provenance": SUMMARY_SOURCE, "isCompactSummary": true, "message": {"role": "user", "parts": [{"text": text}]}})
    }
}
