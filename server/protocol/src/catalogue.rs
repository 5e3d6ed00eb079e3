//! Catalogue of every method, with the types of its parameters and its result.

use std::any::type_name;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::{ArgumentError, Field, Params as _, Rule};
use crate::{
    AddBreakpointParams, ApplyEditParams, ApplyEditResult, BackParams, BlameResult,
    BreakpointParams, BreakpointResult, BreakpointsChanged, BreakpointsResult, CallsParams,
    CallsResult, ChangedOnDisk, Checkpoint, CheckpointParams, CheckpointResult, ContentParams,
    ContentResult, ConversationParams, DecisionResult, DidCheckpoint, DidFork, DidHit, DidPause,
    DidResume, DidRewind, DidSwitch, DiffParams, DiffResult, DocumentParams, DraftParams,
    EditBreakpointParams, FailureData, ForkParams, ForkResult, HeldParams, InjectParams,
    InjectResult, LastConversation, MergeParams, MergeResult, NewCheckpointParams, ObjectParams,
    ObjectResult, PauseChanged, PauseDetails, PauseDetailsParams, PauseParams, PausesParams,
    PausesResult, PinParams, PinResult, PlanParams, PlanResult, PredictParams, PredictResult,
    RedoParams, RefuseParams, RemovedResult, ReplChanged, ReplCloseParams, ReplEvalParams,
    ReplEvalResult, ReplListParams, ReplListResult, ReplOutput, ReplShowParams, ReplShowResult,
    ReplStartParams, ReplStartResult, RestoreResult, ResumeParams, RevertParams, ReviewParams,
    ReviewResult, RewindParams, SessionsResult, ShowDiffParams, ShowTimelineParams,
    ShowTimelineResult, SkipParams, StackParams, StackResult, Status, StepParams, SummarizeParams,
    SummarizeResult, SwitchParams, TagParams, TagResult, TimelineChanged, TimelineParams,
    TimelineResult, ToggleBreakpointParams, ToggleResult, TurnBeginParams, TurnEndParams,
    TurnResult, UndoParams, Where,
};

/// A protocol type, described by its name and, for tests, by its round trip and its schema.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    path: fn() -> &'static str,
    /// Deserializes a value as this type and serializes it again.
    #[cfg(feature = "checks")]
    pub(crate) round_trip: fn(Value) -> serde_json::Result<Value>,
    #[cfg(test)]
    pub(crate) schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

/// Effect of a command or a request. Each is declared with its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    Reads,
    /// Adds to the history, and takes nothing away.
    Records,
    /// Decides for the user: files or the history change, a call runs or does not, a guard goes. An agent may not.
    Decides,
}

impl Effect {
    /// True if it runs to its end after a cancellation, and its answer reports the result.
    #[must_use]
    pub fn changes(self) -> bool {
        self != Self::Reads
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Records => "records",
            Self::Decides => "decides",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct RequestSpec {
    pub method: &'static str,
    /// The strongest effect that its parameters may give it.
    pub effect: Effect,
    pub params: Shape,
    /// Returns the fields of `params`.
    pub fields: fn() -> Vec<Field>,
    pub rules: &'static [Rule],
    pub result: Shape,
}

/// A command of `workspace/executeCommand`. It may also answer `CommandFailed`.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    pub name: &'static str,
    /// The strongest effect that its arguments may give it.
    pub effect: Effect,
    /// The title in a list of commands.
    pub title: &'static str,
    /// The command's one argument.
    pub params: Shape,
    /// Returns the fields of `params`.
    pub fields: fn() -> Vec<Field>,
    pub rules: &'static [Rule],
    pub result: Shape,
}

#[derive(Clone, Copy, Debug)]
pub struct Notification {
    pub method: &'static str,
    pub params: Shape,
}

#[cfg(test)]
pub trait Wire: Serialize + DeserializeOwned + schemars::JsonSchema {}
#[cfg(test)]
impl<T: Serialize + DeserializeOwned + schemars::JsonSchema> Wire for T {}
#[cfg(not(test))]
pub trait Wire: Serialize + DeserializeOwned {}
#[cfg(not(test))]
impl<T: Serialize + DeserializeOwned> Wire for T {}

impl Shape {
    pub(crate) const fn of<T: Wire>() -> Self {
        Self {
            path: type_name::<T>,
            #[cfg(feature = "checks")]
            round_trip: |value| serde_json::to_value(serde_json::from_value::<T>(value)?),
            #[cfg(test)]
            schema: schemars::SchemaGenerator::subschema_for::<T>,
        }
    }

    pub fn name(self) -> &'static str {
        let path = (self.path)();
        path.rsplit("::").next().unwrap_or(path)
    }
}

/// Type of the `data` that an error of any of these methods has.
pub const fn failure_data() -> Shape {
    Shape::of::<FailureData>()
}

const fn notification<P: Wire>(method: &'static str) -> Notification {
    Notification {
        method,
        params: Shape::of::<P>(),
    }
}

/// Declares the requests from the client, one in each row: `REQUESTS`, and a type that has the checked parameters of
/// one of them.
macro_rules! requests {
    ($($variant:ident($params:ty) -> $result:ty = $effect:ident $method:literal;)*) => {
        /// Requests from the client.
        pub static REQUESTS: &[RequestSpec] = &[$(RequestSpec {
            method: $method,
            effect: Effect::$effect,
            params: Shape::of::<$params>(),
            fields: <$params>::fields,
            rules: <$params>::RULES,
            result: Shape::of::<$result>(),
        }),*];

        /// A request with its parameters.
        #[derive(Clone, Debug)]
        pub enum CustomRequest {
            $($variant($params),)*
        }

        impl CustomRequest {
            /// Returns None if no request has this method.
            pub fn parse(method: &str, params: Value) -> Option<Result<Self, Box<ArgumentError>>> {
                Some(match method {
                    $($method => <$params>::parse(params).map(Self::$variant),)*
                    _ => return None,
                })
            }

            fn declared(&self) -> Effect {
                match self {
                    $(Self::$variant(_) => Effect::$effect,)*
                }
            }
        }
    };
}

/// Declares the commands in the same way.
macro_rules! commands {
    ($($variant:ident($params:ty) -> $result:ty = $effect:ident $name:literal, $title:literal;)*) => {
        /// Commands, in the order in which the server offers them.
        pub static COMMANDS: &[CommandSpec] = &[$(CommandSpec {
            name: $name,
            effect: Effect::$effect,
            title: $title,
            params: Shape::of::<$params>(),
            fields: <$params>::fields,
            rules: <$params>::RULES,
            result: Shape::of::<$result>(),
        }),*];

        /// A command with its arguments.
        #[derive(Clone, Debug)]
        pub enum Command {
            $($variant($params),)*
        }

        impl Command {
            /// Returns None if no command has this name.
            pub fn parse(name: &str, arguments: Value) -> Option<Result<Self, Box<ArgumentError>>> {
                Some(match name {
                    $($name => <$params>::parse(arguments).map(Self::$variant),)*
                    _ => return None,
                })
            }

            fn declared(&self) -> Effect {
                match self {
                    $(Self::$variant(_) => Effect::$effect,)*
                }
            }

            /// Returns the workspace that the arguments name.
            #[must_use]
            pub fn place(&self) -> Where {
                match self {
                    $(Self::$variant(params) => params.place(),)*
                }
            }
        }
    };
}

requests! {
    Timeline(TimelineParams) -> TimelineResult = Reads "backstitch/timeline";
    Checkpoint(CheckpointParams) -> CheckpointResult = Reads "backstitch/checkpoint";
    Diff(DiffParams) -> DiffResult = Reads "backstitch/diff";
    Plan(PlanParams) -> PlanResult = Reads "backstitch/plan";
    Content(ContentParams) -> ContentResult = Reads "backstitch/content";
    Blame(DocumentParams) -> BlameResult = Reads "backstitch/blame";
    Sessions(Where) -> SessionsResult = Reads "backstitch/sessions";
    Review(ReviewParams) -> ReviewResult = Decides "backstitch/review";
    TurnBegin(TurnBeginParams) -> TurnResult = Records "backstitch/turnBegin";
    ApplyEdit(ApplyEditParams) -> ApplyEditResult = Records "backstitch/applyEdit";
    TurnEnd(TurnEndParams) -> TurnResult = Records "backstitch/turnEnd";
    Breakpoints(Where) -> BreakpointsResult = Reads "backstitch/breakpoints";
    Pauses(PausesParams) -> PausesResult = Reads "backstitch/pauses";
    Pause(PauseDetailsParams) -> PauseDetails = Reads "backstitch/pause";
    Predict(PredictParams) -> PredictResult = Reads "backstitch/predict";
    Draft(DraftParams) -> PauseDetails = Decides "backstitch/draft";
    ReplStart(ReplStartParams) -> ReplStartResult = Decides "backstitch/repl/start";
    ReplEval(ReplEvalParams) -> ReplEvalResult = Decides "backstitch/repl/eval";
    ReplClose(ReplCloseParams) -> ReplStartResult = Decides "backstitch/repl/close";
    ReplShow(ReplShowParams) -> ReplShowResult = Reads "backstitch/repl/show";
    ReplList(ReplListParams) -> ReplListResult = Reads "backstitch/repl/list";
    ReplObject(ObjectParams) -> ObjectResult = Reads "backstitch/repl/object";
    Stack(StackParams) -> StackResult = Reads "backstitch/stack";
    Calls(CallsParams) -> CallsResult = Reads "backstitch/calls";
}

/// Title of the lens that rewinds to before a turn; the turn follows. Clients and tests repeat its words.
pub const REWIND_LENS: &str = "⟲ rewind to here";

commands! {
    Rewind(RewindParams) -> RestoreResult = Decides "backstitch.rewind", "Rewind…";
    Undo(UndoParams) -> RestoreResult = Decides "backstitch.undo", "Undo the Last Rewind";
    Redo(RedoParams) -> RestoreResult = Decides "backstitch.redo", "Redo the Rewind";
    Revert(RevertParams) -> RestoreResult = Decides "backstitch.revert", "Revert Turn or Step…";
    Fork(ForkParams) -> ForkResult = Decides "backstitch.fork", "Fork…";
    Switch(SwitchParams) -> RestoreResult = Decides "backstitch.switch", "Switch to Branch…";
    Conversation(ConversationParams) -> LastConversation = Reads "backstitch.conversation", "Continue a Rewound Conversation";
    Summarize(SummarizeParams) -> SummarizeResult = Decides "backstitch.summarize", "Summarise a Conversation…";
    Tag(TagParams) -> TagResult = Records "backstitch.tag", "Tag…";
    Pin(PinParams) -> PinResult = Decides "backstitch.pin", "Pin";
    Checkpoint(NewCheckpointParams) -> Checkpoint = Records "backstitch.checkpoint", "Make a Checkpoint";
    Diff(ShowDiffParams) -> DiffResult = Reads "backstitch.diff", "Compare with Now…";
    Timeline(ShowTimelineParams) -> ShowTimelineResult = Reads "backstitch.timeline", "Show the Timeline";
    Review(Where) -> ReviewResult = Reads "backstitch.review", "Review Agent Changes";
    Merge(MergeParams) -> MergeResult = Records "backstitch.merge", "Merge the Change on Disk";
    AddBreakpoint(AddBreakpointParams) -> BreakpointResult = Decides "backstitch.breakpoint.add", "Add an Agent Breakpoint…";
    EditBreakpoint(EditBreakpointParams) -> BreakpointResult = Decides "backstitch.breakpoint.edit", "Edit Agent Breakpoint…";
    RemoveBreakpoint(BreakpointParams) -> RemovedResult = Decides "backstitch.breakpoint.remove", "Remove Agent Breakpoint";
    EnableBreakpoint(BreakpointParams) -> BreakpointResult = Decides "backstitch.breakpoint.enable", "Enable Agent Breakpoint";
    DisableBreakpoint(BreakpointParams) -> BreakpointResult = Decides "backstitch.breakpoint.disable", "Disable Agent Breakpoint";
    ClearBreakpoints(Where) -> RemovedResult = Decides "backstitch.breakpoint.clear", "Remove All Agent Breakpoints";
    ListBreakpoints(Where) -> BreakpointsResult = Reads "backstitch.breakpoint.list", "List the Agent Breakpoints";
    ToggleBreakpoint(ToggleBreakpointParams) -> ToggleResult = Decides "backstitch.breakpoint.toggle", "Stop Agents Here";
    Pause(PauseParams) -> BreakpointResult = Decides "backstitch.pause", "Pause the Agent at its Next Call";
    Resume(ResumeParams) -> DecisionResult = Decides "backstitch.resume", "Continue the Held Call";
    Step(StepParams) -> DecisionResult = Decides "backstitch.step", "Step to the Next Call";
    Skip(SkipParams) -> DecisionResult = Decides "backstitch.skip", "Skip the Held Call";
    Deny(RefuseParams) -> DecisionResult = Decides "backstitch.deny", "Deny the Held Call…";
    Stop(RefuseParams) -> DecisionResult = Decides "backstitch.stop", "Stop the Agent's Turn";
    Inject(InjectParams) -> InjectResult = Decides "backstitch.inject", "Tell the Agent…";
    Back(BackParams) -> DecisionResult = Decides "backstitch.back", "Take the Agent's Last Steps Back…";
    Inspect(HeldParams) -> PauseDetails = Reads "backstitch.inspect", "Show the Held Call";
    ReplStart(ReplStartParams) -> ReplStartResult = Decides "backstitch.repl.start", "Open a REPL at the Held Call";
    ReplEval(ReplEvalParams) -> ReplEvalResult = Decides "backstitch.repl.eval", "Evaluate in the REPL";
    ReplClose(ReplCloseParams) -> ReplStartResult = Decides "backstitch.repl.close", "Close the REPL";
    ReplList(ReplListParams) -> ReplListResult = Reads "backstitch.repl.list", "List REPL Sessions";
}

impl CustomRequest {
    /// Effect of this request with its parameters.
    #[must_use]
    pub fn effect(&self) -> Effect {
        if let Self::Review(params) = self
            && matches!(params.action.as_deref(), None | Some("none"))
        {
            return Effect::Reads;
        }
        self.declared()
    }
}

impl Command {
    /// Effect of this command with its arguments.
    #[must_use]
    pub fn effect(&self) -> Effect {
        // without a name or a directory the user is asked, and may switch
        if let Self::Fork(params) = self
            && params.switch != Some(true)
            && (params.name.is_some() || params.into.is_some() || params.confirm == Some(false))
        {
            return Effect::Records;
        }
        if let Self::Pin(params) = self
            && params.pinned.unwrap_or(true)
        {
            return Effect::Records;
        }
        self.declared()
    }
}

/// Notifications from the server.
pub static NOTIFICATIONS: &[Notification] = &[
    notification::<DidCheckpoint>("backstitch/didCheckpoint"),
    notification::<DidRewind>("backstitch/didRewind"),
    notification::<DidFork>("backstitch/didFork"),
    notification::<DidSwitch>("backstitch/didSwitch"),
    notification::<TimelineChanged>("backstitch/timelineChanged"),
    notification::<Status>("backstitch/status"),
    notification::<ChangedOnDisk>("backstitch/changedOnDisk"),
    notification::<DidPause>("backstitch/didPause"),
    notification::<DidResume>("backstitch/didResume"),
    notification::<PauseChanged>("backstitch/pauseChanged"),
    notification::<BreakpointsChanged>("backstitch/breakpointsChanged"),
    notification::<DidHit>("backstitch/didHit"),
    notification::<ReplOutput>("backstitch/replOutput"),
    notification::<ReplChanged>("backstitch/replChanged"),
];
