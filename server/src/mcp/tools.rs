//! The tools as clients list them: names, words, schemas and hints about their effects.

use std::sync::Arc;

use rmcp::handler::server::common::schema_for_input;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde_json::{Value, json};

use super::arguments::{
    BlameArguments, CatArguments, CheckpointArguments, DiffArguments, LogArguments,
    RewindArguments, ShowArguments,
};
use super::schema;

/// Words for the model about the server.
pub const INSTRUCTIONS: &str = "Backstitch records the edits of coding agents as checkpoints. Read the history with log, show, diff, blame and cat. \
     Label the state before a risky change with checkpoint. To undo edits, use propose_rewind: it shows the user a plan, \
     and files change only if the user accepts it. A state is named c12 (after a checkpoint), t4 (before turn 4) or @ (the newest).";

pub fn all() -> Vec<Tool> {
    vec![
        tool::<CheckpointArguments>(
            "checkpoint",
            "Record a checkpoint",
            "Records the state of all files now as a checkpoint, with a label. Changes no file.",
            &["id", "kind", "label", "time", "changes"],
        )
        .annotate(hints("Record a checkpoint").read_only(false).destructive(false)),
        reading::<LogArguments>(
            "log",
            "List checkpoints",
            "Lists checkpoints, newest first: turns (the state before a prompt), steps (tool calls that changed files), the \
             user's edits, rewinds.",
            &["checkpoints", "branches", "head", "branch", "more"],
        ),
        reading::<ShowArguments>(
            "show",
            "Show a checkpoint",
            "Shows one checkpoint: its agent, prompt, tool, and changed files; a turn with its steps.",
            &["id", "kind", "turn", "prompt", "changes", "steps", "files"],
        ),
        reading::<DiffArguments>(
            "diff",
            "Compare states",
            "Compares two checkpoints, or one with the files on disk, line by line. The ids of its hunks select lines in \
             propose_rewind.",
            &["from", "to", "files", "more"],
        ),
        reading::<BlameArguments>(
            "blame",
            "Show authors of lines",
            "Names the author of each line of a file: the agent's turn and tool, or the user.",
            &["path", "against", "line_count", "lines", "runs", "rest"],
        ),
        reading::<CatArguments>(
            "cat",
            "Read a file of a checkpoint",
            "Returns a file as it was at a checkpoint.",
            &["checkpoint", "path", "content", "lines", "line_count", "rest"],
        ),
        tool::<RewindArguments>(
            "propose_rewind",
            "Propose a rewind",
            "Asks the user to rewind files to an earlier state: the agent's edits after it are undone, the user's edits stay. \
             The user sees the plan in their editor or with `backstitch pauses`, and accepts or denies it. Waits up to 45 \
             seconds; if the user has not decided by then, call again with `proposal`. With `dry_run`, only returns the plan.",
            &["state", "proposal", "plan", "result", "reason", "seen"],
        )
        .annotate(
            hints("Propose a rewind")
                .read_only(false)
                .destructive(true)
                .idempotent(true),
        ),
    ]
}

fn hints(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title).open_world(false)
}

fn reading<T: JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    description: &'static str,
    fields: &[&str],
) -> Tool {
    tool::<T>(name, title, description, fields).annotate(hints(title).read_only(true))
}

/// `fields`: the main fields of its document.
fn tool<T: JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    description: &'static str,
    fields: &[&str],
) -> Tool {
    let input = schema_for_input::<T>();
    let input = input.unwrap_or_else(|reason| unreachable!("schema of {name}: {reason}"));
    Tool::new(name, description, Arc::new(schema::plain(&input)))
        .with_title(title)
        .with_raw_output_schema(output(fields))
}

/// Schema of a document. Nothing is required: a failure has `error` instead.
fn output(fields: &[&str]) -> Arc<JsonObject> {
    let any = json!({});
    let named = fields.iter().chain(&["cut", "error"]);
    let properties: JsonObject = named
        .map(|name| ((*name).to_owned(), any.clone()))
        .collect();
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), Value::from("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    Arc::new(schema)
}

#[cfg(test)]
mod tests {
    use backstitch_agents::own_tools::OWN_TOOLS;

    #[test]
    fn hooks_know_all_tools() {
        let names: Vec<_> = super::all().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, OWN_TOOLS);
    }
}
