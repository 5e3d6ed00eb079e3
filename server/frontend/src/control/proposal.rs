//! A rewind that an agent proposes, as the input of its pause: its words, and the files that it would write. Pure.

use backstitch_control::{HeldCall, Subject};
use backstitch_protocol::{CallFile, PlannedTurn, PredictResult, PredictedFile, ProposedPlan};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum number of bytes of all texts that a proposal shows. Files beyond are named without their texts.
pub const MAX_SHOWN: usize = 4 << 20;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Proposal {
    /// For example `rewind to before “Add a cart”`.
    pub title: String,
    /// The agent's reason.
    pub reason: Option<String>,
    /// The arguments of the tool, as the agent sent them.
    pub arguments: Value,
    /// Sentences about whose work goes and whose stays.
    pub summary: Vec<String>,
    /// The turns that go.
    #[serde(default)]
    pub turns: Vec<PlannedTurn>,
    /// Fingerprint of the plan.
    pub plan: String,
    pub files: Vec<PredictedFile>,
}

impl Proposal {
    /// Returns the proposal of a pause. None: a call or a program is held.
    pub fn of(call: &HeldCall) -> Option<Self> {
        let input = &call.input;
        let proposed = (call.subject == Subject::Proposal).then(|| serde_json::from_str(input));
        proposed?.ok()
    }

    /// The input as a person reads it: all but the texts of the files.
    pub fn input(&self) -> Value {
        json!({
            "title": self.title,
            "reason": self.reason,
            "arguments": self.arguments,
            "summary": self.summary,
            "plan": self.plan,
        })
    }

    /// The plan as people see it.
    pub fn plan(self) -> ProposedPlan {
        ProposedPlan {
            title: self.title,
            reason: self.reason,
            summary: self.summary,
            turns: self.turns,
        }
    }

    /// `files`, `summary`: as its row has them.
    pub fn predicted(self, files: Vec<CallFile>, summary: String) -> PredictResult {
        let input = self.input();
        PredictResult {
            command: None,
            input_text: serde_json::to_string_pretty(&input).unwrap_or_default(),
            fingerprint: self.plan,
            input,
            predicted: self.files,
            unpredicted: None,
            files,
            summary,
            problem: None,
        }
    }
}
