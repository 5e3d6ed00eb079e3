//! Conversations of Claude Code: a record is a file of rows, chained by `uuid` and `parentUuid`. A new session is a new file
//! beside it with the rows of the chain. `--resume-session-at` is not used: in a terminal the agent ignores it without a word.

mod chain;
mod content;
mod cut;
mod file;
mod folders;
mod messages;
mod plan;
mod rewrite;
mod rows;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use super::spec::SPEC;
use crate::conversations::{
    Anchor, CommandLine, Conversations, CutRequest, Excerpts, Made, NewConversation, PlainMessage,
    RecordCandidate, RecordPart, RecordPlace, RecordSource, RecordedPrompt, Refused, ToldTurn,
    Unreadable,
};
use chain::Chain;

/// First version that takes `--prefill`. It stands in no help, and an unknown option ends the program.
const PREFILL_SINCE: [u32; 3] = [2, 1, 330];

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
        let chain = read(record)?;
        let places = chain.prompts();
        // a fork gives the rows that it copies the id of its first prompt: the last one is meant
        let mut last = std::collections::HashMap::new();
        for place in &places {
            if let Some(id) = chain.rows[place.row].prompt_id {
                let newest = last.entry(id).or_insert(place.row);
                *newest = place.row.max(*newest);
            }
        }
        let turns = places.iter().map(|place| {
            let row = &chain.rows[place.row];
            let native = row.prompt_id.filter(|id| last.get(id) == Some(&place.row));
            let time = row
                .timestamp
                .and_then(|time| time.parse::<jiff::Timestamp>().ok());
            RecordedPrompt {
                anchor: Anchor {
                    row: row.id.to_owned(),
                    native: native.map(str::to_owned),
                },
                text: messages::text(row),
                time: time.map(jiff::Timestamp::as_microsecond),
                branch: place.branch,
                before: place.before,
            }
        });
        Ok(turns.collect())
    }

    fn messages(&self, record: &[u8], part: &RecordPart) -> Result<Vec<PlainMessage>, Refused> {
        let chain = read(record)?;
        let rows = cut::rows_of(&chain, part)?;
        let rows = rows.into_iter().map(|row| &chain.rows[row]);
        Ok(rows.filter_map(messages::plain).collect())
    }

    fn cut(&self, record: &[u8], request: &CutRequest<'_>) -> Result<NewConversation, Refused> {
        cut::cut(&read(record)?, record, request)
    }

    fn tells(&self, record: &[u8]) -> Result<Vec<ToldTurn>, Unreadable> {
        let chain = read(record)?;
        let Some(Ok(rows)) = chain.leaf().map(|leaf| chain.context(leaf)) else {
            return Ok(Vec::new());
        };
        Ok(cut::prompts_told(&chain, &rows))
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

fn read(record: &[u8]) -> Result<Chain<'_>, Unreadable> {
    let rows = rows::read(record);
    if !rows.iter().any(|row| row.is_prompt || row.is_summary) {
        return Err(Unreadable::NoPrompts { agent: SPEC.title });
    }
    Ok(Chain { rows })
}

fn version_of(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split(['.', '-', '+']).map(str::parse);
    let mut next = || parts.next()?.ok();
    Some([next()?, next()?, next()?])
}
