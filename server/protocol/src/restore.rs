//! Restores: what one would do, what one did.

use serde::{Deserialize, Deserializer};

use crate::history::{Branch, GitHead, Text};
use crate::{names, shape};

shape! {
    /// What a restore would do, without anything touched.
    pub struct Plan {
        /// What was typed.
        pub rev: Option<String>,
        /// What that means, for people.
        pub target: String,
        pub scope: String,
        pub actions: Vec<Action>,
        pub conflicts: Vec<Conflict>,
        pub gaps: Vec<Gap>,
        /// The fingerprint: who hands it back gets just this, or a refusal.
        pub plan: String,
        /// Open documents that are changed in the editor.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub edits: Option<Vec<DocumentEdit>>,
        /// Edits of the user that a switch leaves behind.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub uncarried: Option<Vec<Text>>,
        /// Why there is nothing to do.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub nothing: Option<String>,
        /// Where git's HEAD was elsewhere.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub git_head: Option<GitMoved>,
    }

    /// A plan as `backstitch/plan` shows it.
    pub struct PlanResult {
        #[serde(flatten)]
        pub plan: Plan,
        /// `rewind to t4`.
        pub title: String,
        /// Nothing would be done.
        pub empty: bool,
        /// The very state: by what was asked for, else by the settings.
        pub exact: bool,
        /// Where they were asked for: the files that would change, as far as they are UTF-8 and not too long to be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub texts: Option<Vec<PlannedText>>,
    }

    /// A file as it is, unsaved text included, and as it would be. Null where there is none.
    pub struct PlannedText {
        pub path: Text,
        /// Where it is now, if that is another place.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from: Option<Text>,
        pub now: Option<String>,
        pub then: Option<String>,
    }

    /// What was done; or the plan where there was nothing to do.
    #[serde(untagged)]
    pub enum RestoreResult {
        Applied(Box<Applied>),
        Nothing(Box<Plan>),
    }

    /// What a restore did: its plan, and what came of it.
    pub struct Applied {
        #[serde(flatten)]
        pub plan: Plan,
        /// What records it.
        #[serde(deserialize_with = "named")]
        pub checkpoint: Option<String>,
        #[serde(deserialize_with = "named")]
        pub operation: Option<String>,
        /// The editor that carried it out, where it was another one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub editor: Option<EditorAtWork>,
        /// Left alone, since another writer had them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub incomplete: Option<Vec<Text>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub saved: Option<Vec<Text>>,
        /// Documents whose editor did not take their new text.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub not_taken: Option<Vec<Text>>,
        /// Documents whose editor says that it took their text, and has not told of the change yet.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub awaited: Option<Vec<Text>>,
    }

    pub struct DocumentEdit {
        pub path: Text,
        /// The file waits for a save.
        pub pending: bool,
        /// Its text that is not saved is not merged, but makes way.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub replaces: bool,
    }

    pub struct GitMoved {
        pub then: GitHead,
        pub now: GitHead,
    }

    pub struct Action {
        pub path: Text,
        pub action: ActionKind,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from: Option<Text>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }

    pub struct Conflict {
        pub path: Text,
        pub reason: String,
        /// Null as long as it is open.
        pub resolution: Option<Resolution>,
        pub hunks: Vec<ConflictHunk>,
    }

    /// Lines from 0, the end excluded.
    pub struct ConflictHunk {
        pub target: (usize, usize),
        pub kept: (usize, usize),
    }

    /// What a restore does not reach.
    pub struct Gap {
        /// Null: it is not about one path.
        pub path: Option<Text>,
        pub kind: GapKind,
        pub detail: String,
    }

    /// A language server at work.
    pub struct EditorAtWork {
        pub id: i64,
        pub name: String,
        pub pid: u32,
        /// Of which files it has text that is not saved.
        pub unsaved: Vec<Text>,
    }

    pub struct ForkResult {
        pub branch: Branch,
        /// The directory that was made.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub into: Option<Text>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub files: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub gaps: Option<Vec<Gap>>,
    }

    pub struct TagResult {
        pub tag: String,
        pub checkpoint: String,
    }

    pub struct PinResult {
        pub checkpoint: String,
        pub pinned: bool,
    }
}

names! {
    pub enum ActionKind {
        Write,
        Delete,
        Create,
        Merge,
        Chmod,
        Skip,
    }

    pub enum Resolution {
        Markers,
        Current,
        Target,
        Left,
    }

    pub enum GapKind {
        Uncertain,
        TooLarge,
        Outside,
        Excluded,
        Unreadable,
        Special,
        Failed,
        Pending,
        Unknown,
        HardLink,
        GitHead,
        Unsaved,
    }
}

/// May be null, but has to be there: it tells what was done from what would be.
fn named<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from)
}
