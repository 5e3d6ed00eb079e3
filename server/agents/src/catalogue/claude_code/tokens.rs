//! Tokens of a turn, from the transcript that an agent keeps. Read only where a budget of tokens is set.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::Value;

/// Returns the output tokens of a turn, and the input tokens that were not cached. None: the transcript is not there, or
/// has no such turn.
pub fn of_turn(transcript: &Path, prompt_id: Option<&str>) -> Option<u64> {
    // a fifo would never end
    if !transcript.metadata().ok()?.is_file() {
        return None;
    }
    let file = std::fs::File::open(transcript).ok()?;
    let mut is_in_turn = prompt_id.is_none();
    let mut total = 0;
    let mut last_message = None;
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        let Ok(row) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if row["type"] == "user"
            && let Some(id) = row["promptId"].as_str()
        {
            is_in_turn = prompt_id.is_none_or(|wanted| wanted == id);
        }
        let usage = &row["message"]["usage"];
        // a message of several parts has a row for each, with the same sums
        let message = row["message"]["id"].as_str().map(str::to_owned);
        if !is_in_turn || usage.is_null() || message.is_some() && message == last_message {
            continue;
        }
        last_message = message;
        for field in ["input_tokens", "output_tokens"] {
            total += usage[field].as_u64().unwrap_or(0);
        }
    }
    is_in_turn.then_some(total)
}
