//! Conversations of Gemini CLI: a record is a journal of messages and changes. A new conversation is one file, which the agent reads
//! with `--session-file` and copies into another session. Its hooks give no ids: order and text find a turn.

mod cut;
mod journal;
#[cfg(test)]
mod tests;

use super::spec::SPEC;
use crate::conversations::{
    CommandLine, Conversations, CutRequest, Made, NewConversation, PlainMessage, RecordCandidate,
    RecordPart, RecordPlace, RecordSource, RecordedPrompt, Refused, ToldTurn, Unreadable,
};

#[derive(Clone, Copy, Debug)]
pub struct GeminiConversations;

impl Conversations for GeminiConversations {
    fn source(&self, place: &RecordPlace) -> RecordSource {
        let mut files: Vec<RecordCandidate> = Vec::new();
        files.extend(place.transcript.clone().map(RecordCandidate::File));
        // its name ends with the first part of the session's id
        if let (Some(home), Some(short)) = (&place.home, place.session.get(..8)) {
            files.push(RecordCandidate::Search {
                root: home.join("tmp"),
                depth: 2,
                suffix: format!("-{short}.jsonl"),
            });
        }
        RecordSource::Files(files)
    }

    fn turns(&self, record: &[u8]) -> Result<Vec<RecordedPrompt>, Unreadable> {
        let journal = journal::read(record)?;
        Ok(journal.prompts())
    }

    fn messages(&self, record: &[u8], part: &RecordPart) -> Result<Vec<PlainMessage>, Refused> {
        let journal = journal::read(record)?;
        cut::messages(&journal, part)
    }

    fn cut(&self, record: &[u8], request: &CutRequest<'_>) -> Result<NewConversation, Refused> {
        cut::cut(&journal::read(record)?, request)
    }

    fn tells(&self, record: &[u8]) -> Result<Vec<ToldTurn>, Unreadable> {
        let journal = journal::read(record)?;
        Ok(cut::prompts_told(&journal, &journal.open.messages))
    }

    fn opens_copies(&self) -> bool {
        true
    }

    fn opening(&self, made: &Made, _prompt: &str) -> CommandLine {
        // a prompt on its command line is sent at once
        let mut argv = vec![SPEC.program.to_owned()];
        if let Some(file) = &made.file {
            argv.extend([
                "--session-file".to_owned(),
                file.to_string_lossy().into_owned(),
            ]);
        } else if let Some(session) = &made.session {
            argv.extend(["--resume".to_owned(), session.clone()]);
        }
        CommandLine {
            argv,
            cwd: made.directory.clone(),
            prompt_in_it: false,
        }
    }
}
