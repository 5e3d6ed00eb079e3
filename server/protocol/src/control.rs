//! Breakpoints, and calls that are held at them.

use serde_json::Value;

use crate::history::{Checkpoint, Text, Time};
use crate::restore::PlannedTurn;
use crate::shape;

shape! {
    /// A breakpoint.
    #[serde(rename_all = "camelCase")]
    pub struct Breakpoint {
        /// For example `b3`.
        pub id: String,
        /// `bp_<milliseconds>_<4 letters>`.
        pub name: String,
        /// A kind of the table in `control.md`, or `step` for the breakpoint that a step sets.
        pub kind: String,
        /// The parameters of the kind.
        pub spec: Value,
        /// The parameters in one line.
        pub summary: String,
        /// `before` or `after` the call.
        pub at: String,
        /// `agent`, `session` and `subagent`, as far as they are set.
        pub scope: Value,
        /// Condition in jq.
        pub when: Option<String>,
        /// Condition on the number of triggers: `>= 3`.
        pub hits: Option<String>,
        /// `pause`, `log` or `deny`.
        pub action: String,
        pub message: Option<String>,
        pub once: bool,
        pub enabled: bool,
        pub hit_count: i64,
        /// The last failure of its condition.
        pub problem: Option<String>,
        /// The lines of a `line` breakpoint as they stand now. Only in `backstitch/breakpoints`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub region: Option<Region>,
        pub created: Time,
    }

    /// Lines of a file.
    pub struct Region {
        /// Relative to the root.
        pub path: String,
        /// From 0.
        pub start: u32,
        pub count: u32,
        /// `present`, or `gone`: all its lines were deleted.
        pub state: String,
    }

    /// All breakpoints in the order in which they were made.
    pub struct BreakpointsResult {
        /// Number of the newest commit of breakpoints and pauses.
        pub seq: i64,
        pub breakpoints: Vec<Breakpoint>,
    }

    /// A call that is, or was, held.
    #[serde(rename_all = "camelCase")]
    pub struct Pause {
        /// For example `p7`.
        pub id: String,
        /// The holder: `call`, `program`, or `proposal` for a rewind that an agent proposes.
        pub by: String,
        /// `before` or `after` the call.
        pub at: String,
        pub breakpoint: Option<String>,
        /// That breakpoint as it was when it held the call. Null: none did, or an older version noted it.
        pub hit: Option<PauseHit>,
        /// The reason in words.
        pub why: String,
        pub agent: String,
        pub session: String,
        /// Letter of the session, as in the timeline: `A`. Null: the history does not have it yet.
        pub letter: Option<String>,
        /// For example `t4`.
        pub turn: Option<String>,
        pub prompt: Option<String>,
        pub subagent: Option<String>,
        pub iteration: Option<i64>,
        pub tool: String,
        /// The call in one line, with all its files: `apply_patch: M app.js, A mod/extra.js, D n.ipynb`, or, if they are many,
        /// `apply_patch: app.js +3 files (1 A, 2 M, 1 D)`.
        pub summary: String,
        /// The files that it would write with the input that runs. Empty where nothing is predicted. A call that is over has
        /// them as they were shown last.
        pub files: Vec<CallFile>,
        /// Paths that it names.
        pub names: Vec<String>,
        /// The error of a call that has failed.
        pub error: Option<String>,
        /// The front end in which its input was changed. Null: it runs as the agent gave it.
        pub changed_by: Option<String>,
        /// Names the input that runs, and the files as they are now. Null: it is over.
        pub fingerprint: Option<String>,
        /// Root of the directory that the agent works in.
        pub root: Text,
        pub made: Time,
        /// The agent's own limit.
        pub until: Option<Time>,
        /// `held`, `decided`, `answered`, `parked`, `used`, `expired`, `handed`, `ended`, `lost` or `slipped`.
        pub state: String,
        /// `continued`, `changed`, `denied`, `skipped`, `stopped`, `back`, `asked`, `timedOut`, `parked`, `ended`, `lost` or
        /// `slipped`. Null: not over.
        pub outcome: Option<String>,
        /// The client that decided, or the rule.
        pub decided_by: Option<String>,
        /// Decisions that the agent can receive now: `continue`, `deny`, `skip`, `replace`, `change`, `stop`, `inject`, `ask`,
        /// `back`. A proposed rewind has `rewind` and `deny`. Steps need `continue`. Empty: it is decided, or over.
        pub can: Vec<String>,
    }

    /// A breakpoint at the moment at which it held a call.
    pub struct PauseHit {
        /// As in `Breakpoint`.
        pub kind: String,
        /// Its parameters in one line.
        pub summary: String,
        /// Its condition in jq.
        pub when: Option<String>,
        /// Its condition on the number of triggers.
        pub hits: Option<String>,
    }

    /// A file that a held call would write.
    #[serde(rename_all = "camelCase")]
    pub struct CallFile {
        /// As in `PredictedFile`, as are the others.
        pub path: Text,
        pub moved_from: Option<Text>,
        pub letter: String,
        /// Lines. Null: binary, or too large.
        pub added: Option<usize>,
        pub removed: Option<usize>,
        pub binary: bool,
        /// True: the tool will refuse the call.
        pub fails: bool,
    }

    /// A rewind that an agent proposes.
    pub struct ProposedPlan {
        /// For example `rewind to before “Add a cart”`.
        pub title: String,
        /// The agent's reason.
        pub reason: Option<String>,
        /// Sentences about whose work goes and whose stays.
        pub summary: Vec<String>,
        /// The turns that go, the newest first.
        pub turns: Vec<PlannedTurn>,
    }

    pub struct PausesResult {
        pub seq: i64,
        pub pauses: Vec<Pause>,
    }

    /// A held call with everything that a person decides by.
    #[serde(rename_all = "camelCase")]
    pub struct PauseDetails {
        pub seq: i64,
        pub pause: Pause,
        /// Input of the tool that runs, if the call is resumed: as a user changed it, else the agent's own.
        pub input: Value,
        /// The same as a JSON text, with the order and the numbers of the agent. Editors that cannot keep these edit it.
        pub input_text: String,
        /// Text of its shell command. Null: its tool is not a shell.
        pub command: Option<String>,
        /// The agent's own input, if it was changed.
        pub own_input: Option<Value>,
        /// The reason why the changed input is not sent without `force`. Null: it is.
        pub problem: Option<String>,
        /// Output of a call that has run, as its agent reports it.
        pub output: Option<Value>,
        /// The plan of a proposed rewind.
        pub plan: Option<ProposedPlan>,
        pub cwd: Option<Text>,
        /// The files that the call would write.
        pub predicted: Vec<PredictedFile>,
        /// The reason why nothing is predicted, and the paths that the input may mean.
        pub unpredicted: Option<Unpredicted>,
        /// Names the input and the files as they are shown here.
        pub fingerprint: String,
        /// The places that the call stands in, the outermost first: session, turn, subagent, call.
        pub stack: Vec<Frame>,
        /// The last checkpoints of the session, newest first; at most 20.
        pub recent: Vec<Checkpoint>,
        /// Other calls that are held, and agents that are at work meanwhile.
        pub others: Vec<String>,
    }

    /// A file as a call would write it.
    #[serde(rename_all = "camelCase")]
    pub struct PredictedFile {
        /// Relative to the root; absolute if it is outside.
        pub path: Text,
        /// The path that the file has now, if the call moves it.
        pub moved_from: Option<Text>,
        /// `A`, `M`, `D` or `R`.
        pub letter: String,
        /// Text as it is now. Null: there is none, or it is binary or above 1 MiB.
        pub now: Option<String>,
        /// Text after the call.
        pub then: Option<String>,
        /// Lines.
        pub added: Option<usize>,
        pub removed: Option<usize>,
        /// First line that changes in the text as it is now, from 0.
        pub line: Option<usize>,
        pub certain: bool,
        /// True: its text is not shown, because it is binary.
        #[serde(default)]
        pub binary: bool,
        /// True: the tool will refuse the call.
        pub fails: bool,
        /// The reason why it is not certain, or fails.
        pub why: Option<String>,
    }

    pub struct Unpredicted {
        pub reason: String,
        pub paths: Vec<Text>,
    }

    pub struct Frame {
        /// `session`, `turn`, `subagent` or `call`.
        pub kind: String,
        pub name: String,
        /// The frame that is held.
        pub held: bool,
    }

    /// The files that a call would write with another input.
    #[serde(rename_all = "camelCase")]
    pub struct PredictResult {
        pub input: Value,
        /// The same as a JSON text.
        pub input_text: String,
        /// As in `PauseDetails`.
        pub command: Option<String>,
        pub predicted: Vec<PredictedFile>,
        pub unpredicted: Option<Unpredicted>,
        pub fingerprint: String,
        /// As in `Pause`.
        pub files: Vec<CallFile>,
        /// As in `Pause`.
        pub summary: String,
        /// As in `PauseDetails`.
        pub problem: Option<String>,
    }

    /// Answer to a decision.
    pub struct DecisionResult {
        pub pause: Pause,
        /// As in `Pause`.
        pub outcome: String,
    }

    pub struct BreakpointResult {
        pub breakpoint: Breakpoint,
        /// Remarks on a new one, for people: the files of its pattern, and the limits of its kind.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub remarks: Vec<String>,
    }

    pub struct RemovedResult {
        /// Number of breakpoints that were removed.
        pub removed: usize,
    }

    /// Answer to `toggle`: the breakpoint that was made, or those that were removed.
    pub struct ToggleResult {
        pub added: Option<Breakpoint>,
        pub removed: Vec<String>,
    }

    pub struct InjectResult {
        pub injected: bool,
    }

    /// A text as it is to be after the call.
    #[serde(deny_unknown_fields)]
    pub struct WantedText {
        /// As in `PredictedFile`.
        pub path: String,
        pub text: String,
    }

    /// A trigger of a breakpoint that only logs.
    pub struct Hit {
        pub breakpoint: String,
        /// As in `Breakpoint`.
        pub kind: String,
        /// As in `Breakpoint`, as is `when`. Null: it is gone by now.
        pub summary: Option<String>,
        pub when: Option<String>,
        pub agent: String,
        pub session: String,
        pub tool: String,
        pub why: String,
        pub text: String,
        pub time: Time,
    }

    /// `backstitch/didPause`: a call is held.
    pub struct DidPause {
        pub workspace: Text,
        pub seq: i64,
        pub pause: Pause,
    }

    /// `backstitch/didResume`: a call is no longer held.
    pub struct DidResume {
        pub workspace: Text,
        pub seq: i64,
        pub pause: Pause,
        /// As in `Pause`.
        pub outcome: String,
        pub by: Option<String>,
    }

    /// `backstitch/pauseChanged`: the input of a held call was changed, or a call that its agent tries again was decided.
    pub struct PauseChanged {
        pub workspace: Text,
        pub seq: i64,
        pub pause: Pause,
    }

    /// `backstitch/breakpointsChanged`.
    pub struct BreakpointsChanged {
        pub workspace: Text,
        pub seq: i64,
    }

    /// `backstitch/didHit`.
    pub struct DidHit {
        pub workspace: Text,
        pub seq: i64,
        pub hit: Hit,
    }
}
