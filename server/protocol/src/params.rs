//! What clients send: the parameters of requests, the one argument of each command, and what a client says of
//! itself. What is not known here is passed over.

use crate::editing::WorkspaceEdit;
use crate::{names, shape};

/// Every field may be left out.
macro_rules! asked {
    ($($item:item)*) => {$(
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $item
    )*};
}

asked! {
    /// `initializationOptions.backstitch`. Who says nothing gets plain LSP.
    pub struct ClientOptions {
        /// A clean document is read anew when its file changed on disk: it is then written there instead of edited.
        pub reloads_from_disk: bool,
        /// Opens `backstitch:` documents, whose content it asks for.
        pub content_provider: bool,
        /// Wants the notifications, and failures of commands as errors instead of messages.
        pub notifications: bool,
        #[cfg_attr(test, schemars(with = "Option<Lenses>"))]
        pub code_lens: Option<serde_json::Value>,
        #[cfg_attr(test, schemars(with = "Option<CaptureSettings>"))]
        pub capture: Option<serde_json::Value>,
        #[cfg_attr(test, schemars(with = "Option<RestoreSettings>"))]
        pub restore: Option<serde_json::Value>,
        #[cfg_attr(test, schemars(with = "Option<StoreSettings>"))]
        pub store: Option<serde_json::Value>,
    }

    /// What is recorded.
    pub struct CaptureSettings {
        /// A number of bytes, or a text such as `10MB`.
        pub max_file_size: Option<serde_json::Value>,
        /// Patterns of a `.gitignore`, from the workspace's root.
        pub exclude: Option<Vec<String>>,
        /// Of what is ignored, and recorded all the same.
        pub include: Option<Vec<String>>,
    }

    pub struct RestoreSettings {
        #[cfg_attr(test, schemars(with = "Option<Restoring>"))]
        pub default: Option<String>,
    }

    pub struct StoreSettings {
        /// Absolute, or from `~/`: the directory of all histories.
        pub dir: Option<String>,
    }

    /// Which workspace is meant; not needed where only one is open.
    pub struct Where {
        /// A document of it.
        pub uri: Option<String>,
        /// Its root, as a path or URI.
        pub workspace: Option<String>,
    }

    /// How a restore is done.
    pub struct Choices {
        /// Only `code` for now.
        pub scope: Option<String>,
        /// The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said.
        pub exact: Option<bool>,
        /// URIs, or paths from the root; without them all.
        pub paths: Vec<String>,
        /// Ids of hunks, of `backstitch/diff`.
        pub hunks: Vec<String>,
        /// Only this session's work.
        pub session: Option<String>,
        /// `keep` where nothing is said.
        #[cfg_attr(test, schemars(with = "Option<Uncertain>"))]
        pub uncertain: Option<String>,
        /// `fail` where nothing is said.
        #[cfg_attr(test, schemars(with = "Option<OnConflict>"))]
        pub on_conflict: Option<String>,
        /// The fingerprint of a plan that was shown: just this is done.
        pub plan: Option<String>,
        /// Whether the user is asked; without it, unless there is a `plan`.
        pub confirm: Option<bool>,
    }

    pub struct RewindParams {
        #[serde(flatten)]
        pub place: Where,
        /// Without it the user is asked.
        pub rev: Option<String>,
        /// Only the hunks at these lines of the document `uri`: the first from 0, and the one behind the last.
        pub lines: Option<(usize, usize)>,
        #[serde(flatten)]
        pub choices: Choices,
    }

    pub struct RevertParams {
        #[serde(flatten)]
        pub place: Where,
        /// Without it and `step` the user is asked.
        pub turn: Option<String>,
        pub step: Option<String>,
        #[serde(flatten)]
        pub choices: Choices,
    }

    pub struct UndoParams {
        #[serde(flatten)]
        pub place: Where,
        /// Without it, what was done last.
        pub op: Option<String>,
        #[serde(flatten)]
        pub choices: Choices,
    }

    pub struct RedoParams {
        #[serde(flatten)]
        pub place: Where,
        #[serde(flatten)]
        pub choices: Choices,
    }

    pub struct SwitchParams {
        #[serde(flatten)]
        pub place: Where,
        /// Without it the user is asked.
        pub branch: Option<String>,
        /// Takes the user's own edits along.
        pub carry: bool,
        #[serde(flatten)]
        pub choices: Choices,
    }

    /// As the command that would do it. One of `rev`, `turn`, `step`, `op`, `undo`, `redo` and `branch` is needed.
    pub struct PlanParams {
        #[serde(flatten)]
        pub place: Where,
        pub rev: Option<String>,
        pub turn: Option<String>,
        pub step: Option<String>,
        pub op: Option<String>,
        /// What was done last is undone.
        pub undo: bool,
        /// What was undone last is done again.
        pub redo: bool,
        /// Whether the answer is to have the texts of the files.
        pub texts: Option<bool>,
        pub branch: Option<String>,
        pub carry: bool,
        #[serde(flatten)]
        pub choices: Choices,
    }

    pub struct ForkParams {
        #[serde(flatten)]
        pub place: Where,
        /// Without it the user is asked.
        pub rev: Option<String>,
        /// One is made up where there is none.
        pub name: Option<String>,
        /// A directory of its own.
        pub into: Option<String>,
        /// Goes there, too.
        pub switch: bool,
        /// Whether to ask where neither a name nor a directory is given; it asks unless this is false.
        pub confirm: Option<bool>,
    }

    pub struct TagParams {
        #[serde(flatten)]
        pub place: Where,
        /// Without it some are offered.
        pub name: Option<String>,
        /// `@` where there is none.
        pub rev: Option<String>,
    }

    pub struct PinParams {
        #[serde(flatten)]
        pub place: Where,
        /// `@` where there is none.
        pub rev: Option<String>,
        /// false: it may go with its age again; without it, it is kept for good.
        pub pinned: Option<bool>,
    }

    pub struct NewCheckpointParams {
        #[serde(flatten)]
        pub place: Where,
        pub label: Option<String>,
        /// What it is about, at more length.
        pub description: Option<String>,
    }

    pub struct ShowDiffParams {
        /// Of one file, where there is a `uri`.
        #[serde(flatten)]
        pub place: Where,
        /// `@` where there is none.
        pub rev: Option<String>,
        /// The disk where there is none.
        pub rev2: Option<String>,
        /// Instead of both: what this turn changed, and nobody else.
        pub turn: Option<String>,
    }

    pub struct ShowTimelineParams {
        /// Of one file, where there is a `uri`.
        #[serde(flatten)]
        pub place: Where,
    }

    pub struct TimelineParams {
        /// Only what changed this file, where there is a `uri`.
        #[serde(flatten)]
        pub place: Where,
        /// 200 where nothing is said.
        pub limit: Option<usize>,
        /// Only those older than this checkpoint: the next page.
        pub before: Option<String>,
        /// The agent's own id of it, or the start of that.
        pub session: Option<String>,
        pub agent: Option<String>,
        #[cfg_attr(test, schemars(with = "Option<crate::history::Kind>"))]
        pub kind: Option<String>,
        /// All of these words in a prompt, a label or the input of a tool; `wor*` finds every end.
        pub text: Option<String>,
        pub branch: Option<String>,
        pub all_branches: bool,
    }

    pub struct CheckpointParams {
        #[serde(flatten)]
        pub place: Where,
        /// Needed.
        pub rev: String,
    }

    pub struct DiffParams {
        /// Only this file, where there is a `uri`.
        #[serde(flatten)]
        pub place: Where,
        /// Needed.
        pub from: String,
        /// The disk where there is none, or `disk`; `buffer`: with what open documents have and have not saved.
        pub to: Option<String>,
    }

    pub struct TurnBeginParams {
        #[serde(flatten)]
        pub place: Where,
        /// Needed, as is `session`.
        pub agent: Option<String>,
        pub session: Option<String>,
        pub prompt: String,
    }

    pub struct TurnEndParams {
        #[serde(flatten)]
        pub place: Where,
        /// The turn that has begun where nothing is said, if it is the only one; `session` alone names one of several.
        pub agent: Option<String>,
        pub session: Option<String>,
    }
}

shape! {
    /// A document.
    pub struct DocumentParams {
        pub uri: String,
    }

    #[serde(rename_all = "camelCase")]
    pub struct ApplyEditParams {
        pub edit: WorkspaceEdit,
        /// The tool's name.
        #[serde(default)]
        pub label: Option<String>,
        /// The turn that has begun where nothing is said, if it is the only one; `session` alone names one of several.
        #[serde(default)]
        pub agent: Option<String>,
        #[serde(default)]
        pub session: Option<String>,
    }
}

names! {
    pub enum Lenses {
        All,
        Session,
        #[serde(rename = "latestTurn")]
        LatestTurn,
        Off,
    }

    pub enum Restoring {
        Merge,
        Exact,
    }

    pub enum Uncertain {
        Keep,
        Take,
    }

    pub enum OnConflict {
        Fail,
        Markers,
        Current,
        Target,
    }
}
