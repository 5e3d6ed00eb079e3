//! Conversations of Gemini CLI and of Qwen Code that go back with the files.

use serde_json::{Value, json};

use super::{Spoken, plain};

/// The text of a request without what differs between two sessions: ids, times, and the listing of the directory, which Gemini CLI
/// makes anew. Results of one call that are there twice are counted once: the agent doubles them at each resume.
fn compared(request: &Value) -> String {
    fn without(value: &mut Value) {
        match value {
            Value::Object(all) => all.values_mut().for_each(without),
            Value::Array(all) => {
                all.iter_mut().for_each(without);
                all.retain(|part| {
                    let text = part["text"].as_str().unwrap_or_default();
                    !text.starts_with("<session_context>")
                });
            }
            _ => {}
        }
    }
    let mut request = request.clone();
    without(&mut request);
    if let Some(contents) = request["contents"].as_array_mut() {
        let mut seen: Vec<Value> = Vec::new();
        for content in contents.iter_mut() {
            if let Some(parts) = content["parts"].as_array_mut() {
                parts.retain(|part| {
                    let result = &part["functionResponse"];
                    let is_new = result.is_null() || !seen.contains(result);
                    seen.push(result.clone());
                    is_new
                });
            }
        }
        contents.retain(|content| content["parts"] != json!([]));
    }
    plain(&request).to_string()
}

/// Code and conversation go back together (S3-042). The rewind leaves the old record byte for byte as it was, and the user's own edit stays.
fn both_go_back(agent: &'static str, records: &str, is_copy: bool) {
    let Some(spoken) = Spoken::new("both_go_back", agent) else {
        return;
    };
    let world = &spoken.world;
    // a file that is there before the third turn: both agents list the directory for the model
    let keep = format!(
        "[ $TURN = 2 ] && echo first > by-hand; [ $TURN = 5 ] || exit 0; echo mine > by-hand; \
         f=$(find \"$HOME/{records}\" -path '*/chats/*.jsonl' -printf '%s %p\\n' | sort -rn | head -1 | cut -d' ' -f2-); \
         cp \"$f\" ~/before; {}; cmp -s \"$f\" ~/before && touch ~/unchanged",
        spoken.answering("rewind t3 --scope both --yes")
    );
    let report = spoken.say(&keep);
    let turns = report["turns"].as_array().expect("turns");
    assert_ne!(turns[3]["session"], turns[4]["session"], "{report:#}");
    let then = compared(&spoken.request("prompt charlie"));
    let now = compared(&spoken.request("prompt again"));
    assert_eq!(then.replace("prompt charlie", "prompt again"), now);
    assert!(world.home.join("unchanged").exists(), "the old record");
    assert_eq!(world.read("by-hand"), "mine\n");
    // the model's script goes by the prompts that it is shown, so the third turn ran once more
    assert_eq!(world.read("main.txt"), "start\n1\n2\n3\n");
    assert!(world.root.join("t3.txt").exists() && !world.root.join("t4.txt").exists());
    let made = world.json(["conversation", "list"]);
    let made = &made["conversations"][0];
    assert_eq!(made["turn"], "t3", "{made:#}");
    assert!(made["operation"].is_string(), "{made:#}");
    // an agent that copies a file chooses the id of the session
    assert_eq!(made["new"].is_null(), is_copy, "{made:#}");
}

/// S3-038: the conversation is cut just before the turn's message. S3-039: the shortened history is saved.
#[test]
fn s3_038_s3_039_both_go_back_in_gemini() {
    both_go_back("gemini", ".gemini/tmp", true);
}

/// S3-038: the conversation is cut just before the turn's message. S3-039: the shortened history is saved.
#[test]
fn s3_038_s3_039_both_go_back_in_qwen() {
    both_go_back("qwen", ".qwen/projects", false);
}
