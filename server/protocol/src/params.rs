//! Parameters of requests, the one argument of each command, and the client's description of itself.
//!
//! A type declared by `params!` is the only declaration of its arguments: a field that is no `Option` is required, an
//! unknown field is refused, and the list after the name has the rules about several of them.

use crate::arguments::{Field, Fields, LineSpan, Lines, Name, Names, Params, Rule};
use serde_json::Value;

use crate::control::WantedText;
use crate::editing::WorkspaceEdit;
use crate::names;

/// Declares options whose fields may all be left out. Unknown fields are ignored.
macro_rules! options {
    ($($item:item)*) => {$(
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $item
    )*};
}

options! {
    /// `initializationOptions.backstitch`. A client that leaves it out gets plain LSP.
    pub struct ClientOptions {
        /// The client reloads a document without unsaved text when its file changes on disk. Such a file is then
        /// written on disk instead of edited in the client.
        pub reloads_from_disk: bool,
        /// The client opens `backstitch:` documents and requests their content.
        pub content_provider: bool,
        /// The client wants the notifications, and failures of commands as errors instead of messages.
        pub notifications: bool,
        /// The client shows held calls to the user.
        pub panels: Option<bool>,
        /// Form of the lenses. The default is `full`.
        #[cfg_attr(test, schemars(with = "Option<LensForm>"))]
        pub lens_form: Option<String>,
        /// Code actions that are offered. The default is `all`.
        #[cfg_attr(test, schemars(with = "Option<CodeActions>"))]
        pub code_actions: Option<String>,
        /// Lines that have a hover. The default is `all`.
        #[cfg_attr(test, schemars(with = "Option<Hovers>"))]
        pub hover: Option<String>,
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
}

/// Declares parameters. `in workspace` adds the fields that name a workspace; `in restore` adds the options of a
/// restore, too.
macro_rules! params {
    (@alone $meta:tt $name:ident $rules:tt { $($body:tt)* }) => {
        params! { @type $meta $name $rules { $($body)* } }
    };
    (@workspace $meta:tt $name:ident $rules:tt { $($body:tt)* }) => {
        params! { @type $meta $name $rules {
            $($body)*
            /// A document of the workspace.
            pub uri: Option<Name>,
            /// Root of the workspace, as a path or URI. Not needed if only one is open.
            pub workspace: Option<Name>,
        } }

        impl $name {
            #[must_use]
            pub fn place(&self) -> Where {
                Where {
                    uri: self.uri.clone(),
                    workspace: self.workspace.clone(),
                }
            }
        }
    };
    (@restore $meta:tt $name:ident $rules:tt { $($body:tt)* }) => {
        params! { @workspace $meta $name $rules {
            $($body)*
            /// `code` (the default), `conversation` or `both`.
            pub scope: Option<Name>,
            /// Restores the exact state: the user's later edits are undone, too. The default is the setting
            /// `restore.default`.
            pub exact: Option<bool>,
            /// URIs, or paths relative to the root. The default is all files.
            pub paths: Option<Names>,
            /// Hunk ids from `backstitch/diff`.
            pub hunks: Option<Names>,
            /// Restricts the restore to this session's edits.
            pub session: Option<Name>,
            /// Undoes the work of all agents since, not only of the target's session.
            pub all_sessions: Option<bool>,
            /// The default is `keep`.
            #[cfg_attr(test, schemars(with = "Option<Uncertain>"))]
            pub uncertain: Option<Name>,
            /// The default is `fail`.
            #[cfg_attr(test, schemars(with = "Option<OnConflict>"))]
            pub on_conflict: Option<Name>,
            /// Fingerprint of a plan that was shown. Only that plan is applied.
            pub plan: Option<Name>,
            /// True if the user is asked to confirm. The default is true unless there is a `plan`.
            pub confirm: Option<bool>,
        } }

        impl $name {
            #[must_use]
            pub fn choices(&self) -> Choices {
                Choices {
                    scope: text(self.scope.as_ref()),
                    exact: self.exact,
                    paths: texts(self.paths.as_ref()),
                    hunks: texts(self.hunks.as_ref()),
                    session: text(self.session.as_ref()),
                    all_sessions: self.all_sessions.unwrap_or_default(),
                    uncertain: text(self.uncertain.as_ref()),
                    on_conflict: text(self.on_conflict.as_ref()),
                    plan: text(self.plan.as_ref()),
                    confirm: self.confirm,
                }
            }
        }
    };
    (@type [$($meta:tt)*] $name:ident [$($rule:expr),*] {
        $($(#[$about:meta])* pub $field:ident: $argument:ty,)*
    }) => {
        $($meta)*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct $name {
            $($(#[$about])* pub $field: $argument,)*
        }

        impl Params for $name {
            const RULES: &'static [Rule] = &[$($rule),*];

            fn fields() -> Vec<Field> {
                vec![$(Field::of::<$argument>(stringify!($field))),*]
            }
        }
    };
    ($($(#[$meta:meta])* pub struct $name:ident in $group:ident $rules:tt $body:tt)*) => {
        $(params! { @$group [$(#[$meta])*] $name $rules $body })*
    };
}

fn text(name: Option<&Name>) -> Option<String> {
    name.cloned().map(String::from)
}

fn texts(names: Option<&Names>) -> Vec<String> {
    let names = names.into_iter().flat_map(|names| names.iter());
    names.cloned().map(String::from).collect()
}

/// Options of a restore, as the commands that restore declare them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    pub scope: Option<String>,
    pub exact: Option<bool>,
    pub paths: Vec<String>,
    pub hunks: Vec<String>,
    pub session: Option<String>,
    pub all_sessions: bool,
    pub uncertain: Option<String>,
    pub on_conflict: Option<String>,
    pub plan: Option<String>,
    pub confirm: Option<bool>,
}

params! {
    /// The workspace to use; not needed if only one is open.
    pub struct Where in workspace [] {}

    pub struct RewindParams in restore [
        Rule::Needs("lines", "uri"),
        Rule::AtMostOneOf(&["lines", "hunks"]),
        Rule::AtMostOneOf(&["lines", "paths"])
    ] {
        /// Asks the user if left out.
        pub rev: Option<Name>,
        /// Restricts the rewind to the hunks at these lines of the document `uri`: first line from 0, end excluded.
        pub lines: Option<Lines>,
    }

    pub struct RevertParams in restore [Rule::AtMostOneOf(&["turn", "step"])] {
        /// Asks the user if both `turn` and `step` are left out.
        pub turn: Option<Name>,
        pub step: Option<Name>,
    }

    pub struct UndoParams in restore [] {
        /// The default is the last operation.
        pub op: Option<Name>,
    }

    pub struct RedoParams in restore [] {}

    pub struct SwitchParams in restore [] {
        /// Asks the user if left out.
        pub branch: Option<Name>,
        /// Takes the user's own edits along.
        pub carry: Option<bool>,
    }

    /// Same fields as the command that would do it. One of `rev`, `turn`, `step`, `op`, `undo`, `redo` and `branch`
    /// is required.
    pub struct PlanParams in restore [
        Rule::OneOf(&["rev", "turn", "step", "branch", "op", "undo", "redo"]),
        Rule::Needs("lines", "uri"),
        Rule::AtMostOneOf(&["lines", "hunks"]),
        Rule::AtMostOneOf(&["lines", "paths"])
    ] {
        pub rev: Option<Name>,
        pub turn: Option<Name>,
        pub step: Option<Name>,
        pub op: Option<Name>,
        /// Plans to undo the last operation.
        pub undo: Option<bool>,
        /// Plans to redo the operation that was undone last.
        pub redo: Option<bool>,
        pub branch: Option<Name>,
        pub carry: Option<bool>,
        /// True if the answer has the texts of the files.
        pub texts: Option<bool>,
        /// Restricts the restore to the hunks at these lines of the document `uri`: first line from 0, end excluded.
        pub lines: Option<Lines>,
    }

    /// The default of `uri` is the only document with unsaved text whose file changed on disk.
    pub struct MergeParams in workspace [] {
        /// The default is `fail`. `current` keeps the lines of the document, `target` takes those on disk.
        #[cfg_attr(test, schemars(with = "Option<OnConflict>"))]
        pub on_conflict: Option<Name>,
        /// Text of the file that the client has already merged into the document itself. It becomes the base of the
        /// unsaved text, and nothing else is done.
        pub merged: Option<String>,
    }

    pub struct ForkParams in workspace [] {
        /// Asks the user if left out.
        pub rev: Option<Name>,
        /// A name is generated if left out.
        pub name: Option<String>,
        /// Directory for a separate copy of the files.
        pub into: Option<Name>,
        /// Switches to the new branch, too.
        pub switch: Option<bool>,
        /// `code` (the default) or `both`: the agent's conversation is forked, too.
        pub scope: Option<Name>,
        /// Asks the user if neither a name nor a directory is given. The default is true.
        pub confirm: Option<bool>,
    }

    pub struct ConversationParams in workspace [] {
        /// The turn before which it ends. The default is the newest conversation.
        pub rev: Option<Name>,
    }

    /// Without `summary` nothing is made: the answer has one to edit.
    pub struct SummarizeParams in workspace [] {
        pub turn: Name,
        #[cfg_attr(test, schemars(with = "crate::SummaryPart"))]
        pub part: Name,
        /// The text that takes the place of the part.
        pub summary: Option<String>,
    }

    pub struct TagParams in workspace [] {
        /// Offers some names if left out.
        pub name: Option<String>,
        /// The default is `@`.
        pub rev: Option<Name>,
    }

    pub struct PinParams in workspace [] {
        /// The default is `@`.
        pub rev: Option<Name>,
        /// false: `gc` may remove it when it is old. The default is true.
        pub pinned: Option<bool>,
    }

    pub struct NewCheckpointParams in workspace [] {
        pub label: Option<String>,
        /// A longer description.
        pub description: Option<String>,
    }

    /// Restricted to one file if `uri` is given.
    pub struct ShowDiffParams in workspace [
        Rule::AtMostOneOf(&["turn", "rev"]),
        Rule::AtMostOneOf(&["turn", "rev2"])
    ] {
        /// The default is `@`.
        pub rev: Option<Name>,
        /// The default is the disk.
        pub rev2: Option<Name>,
        /// Shows what this turn itself changed, instead of `rev` and `rev2`.
        pub turn: Option<Name>,
    }

    /// Restricted to one file if `uri` is given.
    pub struct ShowTimelineParams in workspace [] {}

    /// Restricted to checkpoints that changed one file if `uri` is given.
    pub struct TimelineParams in workspace [] {
        /// The default is 200.
        pub limit: Option<usize>,
        /// Returns only checkpoints older than this one: the next page.
        pub before: Option<Name>,
        /// The agent's own session id, or a prefix of it.
        pub session: Option<Name>,
        pub agent: Option<Name>,
        #[cfg_attr(test, schemars(with = "Option<crate::history::Kind>"))]
        pub kind: Option<Name>,
        /// Words that must all occur in a prompt, a label or a tool's input; `wor*` matches a prefix.
        pub text: Option<String>,
        pub branch: Option<Name>,
        pub all_branches: Option<bool>,
    }

    pub struct CheckpointParams in workspace [] {
        pub rev: Name,
    }

    /// Restricted to one file if `uri` is given.
    pub struct DiffParams in workspace [] {
        pub from: Name,
        /// A revision, `disk`, or `buffer`: the disk with the unsaved text of open documents. The default is `disk`.
        pub to: Option<Name>,
    }

    /// A document.
    pub struct DocumentParams in alone [] {
        pub uri: Name,
        /// Not used: the document names its workspace.
        pub workspace: Option<Name>,
    }

    /// A `backstitch:` document.
    pub struct ContentParams in alone [] {
        pub uri: Name,
        /// Not used: the document names its workspace.
        pub workspace: Option<Name>,
        /// True: with the changes since that the user kept.
        pub kept: Option<bool>,
        /// The text that an editor had not saved instead, by its number among those of this file: 1 for the first
        /// one in `unsaved` of the checkpoint.
        pub unsaved: Option<usize>,
    }

    pub struct TurnBeginParams in workspace [] {
        pub agent: Name,
        pub session: Name,
        pub prompt: Option<String>,
    }

    pub struct ApplyEditParams in workspace [] {
        /// The default is the turn that has begun, if it is the only one. `session` alone names one of several.
        pub agent: Option<Name>,
        pub session: Option<Name>,
        /// The tool's name.
        pub label: Option<String>,
        pub edit: WorkspaceEdit,
    }

    pub struct ReviewParams in workspace [Rule::Needs("lines", "uri"), Rule::Needs("shown", "uri")] {
        /// `none`, `keep` or `unkeep`. The default is `none`. Restricted to one file, or one directory, if `uri` is given.
        pub action: Option<Name>,
        /// Restricts it to the hunks at these lines of the open document, or of the file on disk: first line from 0, end
        /// excluded; equal numbers are the place of removed lines. Needs `uri`.
        pub lines: Option<LineSpan>,
        /// A checkpoint: all changes since count, by any author.
        pub since: Option<Name>,
        /// `shown` of the file in an earlier answer: only the state that was shown then is kept. Needs `uri`.
        pub shown: Option<Name>,
    }

    pub struct TurnEndParams in workspace [] {
        /// The default is the turn that has begun, if it is the only one. `session` alone names one of several.
        pub agent: Option<Name>,
        pub session: Option<Name>,
    }

    pub struct PausesParams in workspace [] {
        /// True: with those that are over.
        pub all: Option<bool>,
    }

    pub struct PauseDetailsParams in workspace [] {
        /// For example `p7`.
        pub pause: Name,
    }

    /// One of `input` and `then` is required.
    pub struct PredictParams in workspace [Rule::OneOf(&["input", "inputText", "then"])] {
        pub pause: Name,
        /// Another input of the tool.
        pub input: Option<Value>,
        /// The same as a JSON text.
        pub input_text: Option<String>,
        /// Texts of some of the predicted files as they are to be. The answer has the input that leads to them.
        pub then: Option<Vec<WantedText>>,
    }

    /// Sets the input with which a held call runs, for all who see it. Without one: back to the agent's own.
    pub struct DraftParams in workspace [Rule::AtMostOneOf(&["input", "inputText", "then"])] {
        pub pause: Name,
        /// As in `backstitch/predict`, as are the others.
        pub input: Option<Value>,
        pub input_text: Option<String>,
        pub then: Option<Vec<WantedText>>,
    }

    pub struct AddBreakpointParams in workspace [] {
        /// A kind of `backstitch breakpoint add`, for example `path`.
        pub kind: Name,
        /// The parameters of the kind: as a person types them, or as in `Breakpoint`.
        pub spec: Fields,
        /// `before` or `after` the call. The default is the usual moment of the kind.
        pub at: Option<Name>,
        pub agent: Option<Name>,
        pub session: Option<Name>,
        pub subagent: Option<Name>,
        /// Condition in jq.
        pub when: Option<Name>,
        /// Condition on the number of triggers: `>= 3`, `== 2`, `% 5`.
        pub hits: Option<Name>,
        /// `pause`, `log` or `deny`. The default is `pause`.
        pub action: Option<Name>,
        /// Text for the model, or of the log.
        pub message: Option<String>,
        pub once: Option<bool>,
        /// `ask`, `hold`, `deny` or `allow`: the outcome if nobody sees it. The default is the setting.
        pub unattended: Option<Name>,
    }

    /// Fields that are left out stay. An empty text clears its field.
    pub struct EditBreakpointParams in workspace [] {
        /// For example `b3`.
        pub breakpoint: Name,
        pub when: Option<String>,
        pub hits: Option<String>,
        pub action: Option<Name>,
        pub message: Option<String>,
        pub once: Option<bool>,
    }

    pub struct BreakpointParams in workspace [] {
        /// For example `b3`.
        pub breakpoint: Name,
    }

    /// Makes a `line` breakpoint at these lines, or removes those that are there.
    pub struct ToggleBreakpointParams in workspace [Rule::Needs("lines", "uri")] {
        /// First line from 0, end excluded.
        pub lines: Lines,
    }

    pub struct PauseParams in workspace [] {
        /// The default is any session.
        pub session: Option<Name>,
        /// True: calls of subagents, too.
        pub all: Option<bool>,
    }

    /// The default of `pause` is the only call that is held; the user is asked to choose one of several.
    pub struct ResumeParams in workspace [Rule::AtMostOneOf(&["input", "inputText"])] {
        pub pause: Option<Name>,
        /// Another input of the tool. The default is the one that runs as it is: as a user changed it, else the agent's own.
        pub input: Option<Value>,
        /// The same as a JSON text.
        pub input_text: Option<String>,
        /// Fingerprint of the prediction that was shown: only that is let through.
        pub fingerprint: Option<Name>,
        /// True: also a changed input that the tool will refuse, or that has other fields or types than the call's own.
        pub force: Option<bool>,
    }

    /// The input, the fingerprint and `force` are those of `backstitch.resume`.
    pub struct StepParams in workspace [Rule::AtMostOneOf(&["input", "inputText"])] {
        pub pause: Option<Name>,
        /// `over`, `into`, `out`, `file` or `turn`. The default is `over`.
        pub how: Option<Name>,
        pub input: Option<Value>,
        pub input_text: Option<String>,
        pub fingerprint: Option<Name>,
        pub force: Option<bool>,
    }

    pub struct HeldParams in workspace [] {
        pub pause: Option<Name>,
    }

    pub struct SkipParams in workspace [] {
        pub pause: Option<Name>,
        /// The result of a program's call, as an expression in its language. The default is none. After a call, the result that
        /// it has from here on. One that fails is refused, and the program stays held.
        pub value: Option<String>,
    }

    pub struct RefuseParams in workspace [] {
        pub pause: Option<Name>,
        /// Reason for the model.
        pub message: Option<String>,
    }

    pub struct ReplStartParams in workspace [] {
        /// For example `p7`. The default is the only held call.
        pub pause: Option<Name>,
    }

    pub struct ReplEvalParams in workspace [] {
        pub session: Name,
        /// As it was typed.
        pub input: String,
    }

    pub struct ReplCloseParams in workspace [] {
        pub session: Name,
    }

    pub struct ReplShowParams in workspace [] {
        pub session: Name,
        /// Only entries after this number.
        pub after: Option<usize>,
    }

    /// Conditions hold together.
    pub struct ReplListParams in workspace [] {
        /// Text in the function, or in the transcript.
        pub search: Option<String>,
        /// `active` or `closed`.
        pub status: Option<Name>,
        /// Start of the session, as RFC 3339 has times.
        pub from: Option<Name>,
        pub to: Option<Name>,
        /// For example `p7`.
        pub pause: Option<Name>,
        /// Number of a program's call.
        pub call: Option<usize>,
        /// The default is 50.
        pub limit: Option<usize>,
        /// The last session of the page before.
        pub before: Option<Name>,
    }

    pub struct ObjectParams in workspace [] {
        /// Content id: `sha256:<hash>`.
        pub cid: Name,
        /// Path of a file to which the bytes are written. They are not interpreted.
        pub save: Option<Name>,
    }

    pub struct StackParams in workspace [] {
        /// For example `p7`.
        pub pause: Name,
    }

    pub struct CallsParams in workspace [] {
        /// Number of a program. The default is all.
        pub process: Option<usize>,
    }

    pub struct InjectParams in workspace [] {
        /// Text for the model. It goes with the next event that can carry it.
        pub text: Name,
        /// The session of this held call.
        pub pause: Option<Name>,
        /// The default is any session.
        pub session: Option<Name>,
    }

    pub struct BackParams in workspace [] {
        pub pause: Option<Name>,
        /// Number of steps. The default is 1.
        pub steps: Option<usize>,
        /// The default is `fail`.
        #[cfg_attr(test, schemars(with = "Option<OnConflict>"))]
        pub on_conflict: Option<Name>,
    }
}

impl RefuseParams {
    /// The parameters that name a held call.
    #[must_use]
    pub fn of(pause: &str) -> Self {
        Self {
            pause: serde_json::from_value(pause.into()).ok(),
            message: None,
            uri: None,
            workspace: None,
        }
    }
}

impl HeldParams {
    /// The parameters that name a held call.
    #[must_use]
    pub fn of(pause: &str) -> Self {
        Self {
            pause: serde_json::from_value(pause.into()).ok(),
            uri: None,
            workspace: None,
        }
    }
}

names! {
    /// Change of what counts as reviewed: `keep` marks files or hunks as reviewed, `unkeep` takes the last `keep` of each
    /// file back; with `lines` those of the hunks there, with `since` all later ones.
    pub enum ReviewAction {
        None,
        Keep,
        Unkeep,
    }

    pub enum Lenses {
        All,
        Session,
        #[serde(rename = "latestTurn")]
        LatestTurn,
        Off,
    }

    /// Form of the lenses: `full` names each turn above each of its runs of lines; `short` has `Revert turn`, `Revert here` and
    /// `Diff` above the first run of each turn in a file.
    pub enum LensForm {
        Full,
        Short,
    }

    /// Code actions: `all`, or three on lines that an agent wrote: for these lines, this file and this turn.
    pub enum CodeActions {
        All,
        #[serde(rename = "agentLines")]
        AgentLines,
    }

    /// Lines with a hover: all that have a known author, those of agents, or none.
    pub enum Hovers {
        All,
        Agent,
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
