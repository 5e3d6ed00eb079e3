//! Parameters of requests, the one argument of each command, and the client's description of itself. Unknown fields
//! are ignored here.

use crate::editing::WorkspaceEdit;
use crate::{names, shape};

/// Declares parameters whose fields are all optional.
macro_rules! params {
    ($($item:item)*) => {$(
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $item
    )*};
}

params! {
    /// `initializationOptions.backstitch`. A client that leaves it out gets plain LSP.
    pub struct ClientOptions {
        /// The client reloads a document without unsaved text when its file changes on disk. Such a file is then
        /// written on disk instead of edited in the client.
        pub reloads_from_disk: bool,
        /// The client opens `backstitch:` documents and requests their content.
        pub content_provider: bool,
        /// The client wants the notifications, and failures of commands as errors instead of messages.
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

    /// Which files are recorded.
    pub struct CaptureSettings {
        /// A number of bytes, or a text such as `10MB`.
        pub max_file_size: Option<serde_json::Value>,
        /// Patterns as in a `.gitignore`, relative to the workspace root.
        pub exclude: Option<Vec<String>>,
        /// Patterns of ignored files that are recorded all the same.
        pub include: Option<Vec<String>>,
    }

    pub struct RestoreSettings {
        #[cfg_attr(test, schemars(with = "Option<Restoring>"))]
        pub default: Option<String>,
    }

    pub struct StoreSettings {
        /// Directory of all histories: absolute, or starting with `~/`.
        pub dir: Option<String>,
    }

    /// The workspace to use; not needed if only one is open.
    pub struct Where {
        /// A document of the workspace.
        pub uri: Option<String>,
        /// Root of the workspace, as a path or URI.
        pub workspace: Option<String>,
    }

    /// Options of a restore.
    pub struct Choices {
        /// Only `code` for now.
        pub scope: Option<String>,
        /// Restores the exact state: the user's later edits are undone, too. The default is the setting
        /// `restore.default`.
        pub exact: Option<bool>,
        /// URIs, or paths relative to the root. The default is all files.
        pub paths: Vec<String>,
        /// Hunk ids from `backstitch/diff`.
        pub hunks: Vec<String>,
        /// Restricts the restore to this session's edits.
        pub session: Option<String>,
        /// The default is `keep`.
        #[cfg_attr(test, schemars(with = "Option<Uncertain>"))]
        pub uncertain: Option<String>,
        /// The default is `fail`.
        #[cfg_attr(test, schemars(with = "Option<OnConflict>"))]
        pub on_conflict: Option<String>,
        /// Fingerprint of a plan that was shown. Only that plan is applied.
        pub plan: Option<String>,
        /// True if the user is asked to confirm. The default is true unless there is a `plan`.
        pub confirm: Option<bool>,
    }

    pub struct RewindParams {
        #[serde(flatten)]
        pub place: Where,
        /// Asks the user if left out.
        pub rev: Option<String>,
        /// Restricts the rewind to the hunks at these lines of the document `uri`: first line from 0, end excluded.
        pub lines: Option<(usize, usize)>,
        #[serde(flatten)]
        pub choices: Choices,
    }

    pub struct RevertParams {
        #[serde(flatten)]
        pub place: Where,
        /// Asks the user if both `turn` and `step` are left out.
        pub turn: Option<String>,
        pub step: Option<String>,
        #[serde(flatten)]
        pub choices: Choices,
    }

    pub struct UndoParams {
        #[serde(flatten)]
        pub place: Where,
        /// The default is the last operation.
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
        /// Asks the user if left out.
        pub branch: Option<String>,
        /// Takes the user's own edits along.
        pub carry: bool,
        #[serde(flatten)]
        pub choices: Choices,
    }

    /// Same fields as the command that would do it. One of `rev`, `turn`, `step`, `op`, `undo`, `redo` and `branch`
    /// is required.
    pub struct PlanParams {
        #[serde(flatten)]
        pub place: Where,
        pub rev: Option<String>,
        pub turn: Option<String>,
        pub step: Option<String>,
        pub op: Option<String>,
        /// Plans to undo the last operation.
        pub undo: bool,
        /// Plans to redo the operation that was undone last.
        pub redo: bool,
        /// True if the answer has the texts of the files.
        pub texts: Option<bool>,
        pub branch: Option<String>,
        pub carry: bool,
        #[serde(flatten)]
        pub choices: Choices,
    }

    pub struct ForkParams {
        #[serde(flatten)]
        pub place: Where,
        /// Asks the user if left out.
        pub rev: Option<String>,
        /// A name is generated if left out.
        pub name: Option<String>,
        /// Directory for a separate copy of the files.
        pub into: Option<String>,
        /// Switches to the new branch, too.
        pub switch: bool,
        /// Asks the user if neither a name nor a directory is given. The default is true.
        pub confirm: Option<bool>,
    }

    pub struct TagParams {
        #[serde(flatten)]
        pub place: Where,
        /// Offers some names if left out.
        pub name: Option<String>,
        /// The default is `@`.
        pub rev: Option<String>,
    }

    pub struct PinParams {
        #[serde(flatten)]
        pub place: Where,
        /// The default is `@`.
        pub rev: Option<String>,
        /// false: `gc` may remove it when it is old. The default is true.
        pub pinned: Option<bool>,
    }

    pub struct NewCheckpointParams {
        #[serde(flatten)]
        pub place: Where,
        pub label: Option<String>,
        /// A longer description.
        pub description: Option<String>,
    }

    pub struct ShowDiffParams {
        /// Restricted to one file if `uri` is given.
        #[serde(flatten)]
        pub place: Where,
        /// The default is `@`.
        pub rev: Option<String>,
        /// The default is the disk.
        pub rev2: Option<String>,
        /// Shows what this turn itself changed, instead of `rev` and `rev2`.
        pub turn: Option<String>,
    }

    pub struct ShowTimelineParams {
        /// Restricted to one file if `uri` is given.
        #[serde(flatten)]
        pub place: Where,
    }

    pub struct TimelineParams {
        /// Restricted to checkpoints that changed one file if `uri` is given.
        #[serde(flatten)]
        pub place: Where,
        /// The default is 200.
        pub limit: Option<usize>,
        /// Returns only checkpoints older than this one: the next page.
        pub before: Option<String>,
        /// The agent's own session id, or a prefix of it.
        pub session: Option<String>,
        pub agent: Option<String>,
        #[cfg_attr(test, schemars(with = "Option<crate::history::Kind>"))]
        pub kind: Option<String>,
        /// Words that must all occur in a prompt, a label or a tool's input; `wor*` matches a prefix.
        pub text: Option<String>,
        pub branch: Option<String>,
        pub all_branches: bool,
    }

    pub struct CheckpointParams {
        #[serde(flatten)]
        pub place: Where,
        /// Required.
        pub rev: String,
    }

    pub struct DiffParams {
        /// Restricted to one file if `uri` is given.
        #[serde(flatten)]
        pub place: Where,
        /// Required.
        pub from: String,
        /// A revision, `disk`, or `buffer`: the disk with the unsaved text of open documents. The default is `disk`.
        pub to: Option<String>,
    }

    pub struct ReviewParams {
        /// Restricted to one file, or one directory, if `uri` is given.
        #[serde(flatten)]
        pub place: Where,
        /// The default is `none`.
        #[cfg_attr(test, schemars(with = "Option<ReviewAction>"))]
        pub action: Option<String>,
        /// Restricts it to the hunks at these lines of the file on disk: first line from 0, end excluded. Needs `uri`.
        pub lines: Option<(usize, usize)>,
    }

    pub struct TurnBeginParams {
        #[serde(flatten)]
        pub place: Where,
        /// Required, as is `session`.
        pub agent: Option<String>,
        pub session: Option<String>,
        pub prompt: String,
    }

    pub struct TurnEndParams {
        #[serde(flatten)]
        pub place: Where,
        /// The default is the turn that has begun, if it is the only one. `session` alone names one of several.
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
        /// The default is the turn that has begun, if it is the only one. `session` alone names one of several.
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

    /// Change of what counts as reviewed: `keep` marks files or hunks as reviewed, `unkeep` takes the last `keep` of each
    /// file back.
    pub enum ReviewAction {
        None,
        Keep,
        Unkeep,
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
