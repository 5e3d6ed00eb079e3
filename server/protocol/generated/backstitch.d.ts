// Types of Backstitch's protocol beyond LSP; server/docs/protocol.md describes it.
// Generated from the types of server/protocol: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo test -p backstitch-protocol

import type { WorkspaceEdit } from "vscode-languageserver-types";

export interface Action {
  path: Text;
  action: ActionKind;
  /** Change of the file as git writes it: `A`, `M`, `D`, `R` or `T` (the mode). Null if it is skipped. */
  letter: string | null;
  /** The current path, if the file is renamed. */
  from?: Text;
  /** Number of lines. Null if the file is binary, or a content is not known. */
  added: number | null;
  removed: number | null;
  /** Name of an editor that has unsaved text of the file. */
  unsaved?: string;
  reason?: string;
}

export type ActionKind = "write" | "delete" | "create" | "merge" | "chmod" | "skip";

export interface AddBreakpointParams {
  /** A kind of `backstitch breakpoint add`, for example `path`. */
  kind: string;
  /** The parameters of the kind: as a person types them, or as in `Breakpoint`. */
  spec: {  };
  /** `before` or `after` the call. The default is the usual moment of the kind. */
  at?: string | null;
  agent?: string | null;
  session?: string | null;
  subagent?: string | null;
  /** Condition in jq. */
  when?: string | null;
  /** Condition on the number of triggers: `>= 3`, `== 2`, `% 5`. */
  hits?: string | null;
  /** `pause`, `log` or `deny`. The default is `pause`. */
  action?: string | null;
  /** Text for the model, or of the log. */
  message?: string | null;
  once?: boolean | null;
  /** `ask`, `hold`, `deny` or `allow`: the outcome if nobody sees it. The default is the setting. */
  unattended?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A session of an agent that works on a prompt. */
export interface AgentAtWork {
  agent: string;
  /** Letter of the session. */
  letter: string;
  /** Time of the prompt. */
  since: Time;
  /** Time from which on it does not count as working, unless it reports until then. */
  until: Time;
}

export interface AgentSession {
  session: string;
  /** `A` for the first session of the workspace. */
  letter: string;
  agent: string;
  /** Turns, newest first. */
  turns: AgentTurn[];
}

export interface AgentTurn {
  turn: string;
  prompt: string;
  checkpoint: string;
  time: Time;
}

/** A restore that was applied: its plan and its outcome. */
export interface Applied {
  /** The revision as it was typed. */
  rev: string | null;
  /** The target, for people. */
  target: string;
  scope: string;
  actions: Action[];
  conflicts: Conflict[];
  gaps: Gap[];
  /** Turns whose edits are undone, or done again by the undo of a rewind; newest first. */
  takes: PlannedTurn[];
  /** True if the edits of `takes` are done again. */
  brings_back?: boolean;
  /** Later turns whose edits stay; newest first. */
  stays: PlannedTurn[];
  /** Changed files in which later edits of the user stay. */
  own_edits: Text[];
  /** Fingerprint. A restore that passes it applies exactly this plan, or is refused. */
  plan: string;
  /** Open documents that are edited in the editor. */
  edits?: DocumentEdit[];
  /** The user's edits that a switch leaves behind. */
  uncarried?: Text[];
  /** Reason why there is nothing to do. */
  nothing?: string;
  /** Set if git's HEAD was at another commit or branch. */
  git_head?: GitMoved;
  /** The agent's conversation that goes back with the files, or alone. */
  conversation?: PlannedConversation;
  /** The checkpoint that records the restore. */
  checkpoint: string | null;
  operation: string | null;
  /** The editor that applied it, if it was another process. */
  editor?: EditorAtWork;
  /** Files that were skipped because another process wrote to them. */
  incomplete?: Text[];
  saved?: Text[];
  /** Documents whose editor did not apply their new text. */
  not_taken?: Text[];
  /** Documents whose editor has confirmed the edit but not sent the change yet. */
  awaited?: Text[];
}

export interface ApplyEditParams {
  /** The default is the turn that has begun, if it is the only one. `session` alone names one of several. */
  agent?: string | null;
  session?: string | null;
  /** The tool's name. */
  label?: string | null;
  edit: WorkspaceEdit;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface ApplyEditResult {
  /** True if every document took its part of the edit. */
  applied: boolean;
  checkpoints: string[];
  /** URIs of documents whose editor did not apply their new text. */
  notTaken: string[];
}

export interface BackParams {
  pause?: string | null;
  /** Number of steps. The default is 1. */
  steps?: number | null;
  /** The default is `fail`. */
  onConflict?: OnConflict | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** Author of each line of a document, unsaved text included. */
export interface BlameResult {
  /** Version of the document; null if it has no recorded history. */
  version: number | null;
  runs: BlameRun[];
  /** Number of checkpoints that changed the file, at most 100. */
  checkpoints?: number;
}

/** Neighbouring lines with the same author. */
export interface BlameRun {
  by: WrittenBy;
  checkpoint: string | null;
  time: Time | null;
  agent: string | null;
  session: string | null;
  /** Letter of the session. */
  letter: string | null;
  certainty: Certainty | null;
  turn: string | null;
  prompt: string | null;
  tool: string | null;
  iteration: number | null;
  /** The first line, from 0. */
  start: number;
  count: number;
}

export interface Branch {
  name: string;
  head: string | null;
  parent: string | null;
  fork_point: string | null;
  created: Time;
  description: string | null;
  current: boolean;
  deleted: boolean;
  /** The directory that has this branch checked out. */
  root: Text | null;
}

/** A breakpoint. */
export interface Breakpoint {
  /** For example `b3`. */
  id: string;
  /** `bp_<milliseconds>_<4 letters>`. */
  name: string;
  /** A kind of the table in `control.md`, or `step` for the breakpoint that a step sets. */
  kind: string;
  /** The parameters of the kind. */
  spec: unknown;
  /** The parameters in one line. */
  summary: string;
  /** `before` or `after` the call. */
  at: string;
  /** `agent`, `session` and `subagent`, as far as they are set. */
  scope: unknown;
  /** Condition in jq. */
  when: string | null;
  /** Condition on the number of triggers: `>= 3`. */
  hits: string | null;
  /** `pause`, `log` or `deny`. */
  action: string;
  message: string | null;
  once: boolean;
  enabled: boolean;
  hitCount: number;
  /** The last failure of its condition. */
  problem: string | null;
  /** The lines of a `line` breakpoint as they stand now. Only in `backstitch/breakpoints`. */
  region?: Region;
  created: Time;
}

export interface BreakpointParams {
  /** For example `b3`. */
  breakpoint: string;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface BreakpointResult {
  breakpoint: Breakpoint;
  /** Remarks on a new one, for people: the files of its pattern, and the limits of its kind. */
  remarks?: string[];
}

/** `backstitch/breakpointsChanged`. */
export interface BreakpointsChanged {
  workspace: Text;
  seq: number;
}

/** All breakpoints in the order in which they were made. */
export interface BreakpointsResult {
  /** Number of the newest commit of breakpoints and pauses. */
  seq: number;
  breakpoints: Breakpoint[];
}

/** A file that a held call would write. */
export interface CallFile {
  /** As in `PredictedFile`, as are the others. */
  path: Text;
  movedFrom: Text | null;
  letter: string;
  /** Lines. Null: binary, or too large. */
  added: number | null;
  removed: number | null;
  binary: boolean;
  /** True: the tool will refuse the call. */
  fails: boolean;
}

export interface CallsParams {
  /** Number of a program. The default is all. */
  process?: number | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** The newest program first. */
export interface CallsResult {
  programs: Program[];
}

/** Which files are recorded. */
export interface CaptureSettings {
  /** A number of bytes, or a text such as `10MB`. */
  maxFileSize?: unknown;
  /** Patterns as in a `.gitignore`, relative to the workspace root. */
  exclude?: string[] | null;
  /** Patterns of ignored files that are recorded all the same. */
  include?: string[] | null;
}

export type Certainty = "certain" | "uncertain" | "group";

/** A changed file of a checkpoint. */
export interface Change {
  path: Text;
  kind: ChangeKind;
  /** The previous path, if the file was renamed. */
  from?: Text;
  /** Number of lines. */
  added: number;
  removed: number;
  origin: Origin;
  binary: boolean;
}

export type ChangeKind = "create" | "modify" | "delete" | "rename" | "mode";

export type ChangedBy = "agent" | "user" | "restore" | "unknown";

export interface ChangedFile {
  path: Text;
  kind: ChangeKind;
  added: number;
  removed: number;
  binary: boolean;
  hunks: Hunk[];
  from?: Text;
  /** Reason why a content was not captured. */
  not_kept?: NotKept;
  /** Only in answers to `backstitch/diff`: names the recorded state, for `backstitch/review`. */
  shown?: string;
  /** True if the user has kept all of these changes. */
  kept?: boolean;
}

/** Sent when an agent changed a file on disk whose document has unsaved text, and when it renamed the file of a document. */
export interface ChangedOnDisk {
  workspace: Text;
  /** The document. */
  uri: string;
  agent: string | null;
  /** The checkpoint of the change. It keeps the unsaved text. */
  checkpoint: string;
  /** Conflicts of a merge into the unsaved text. 0 if there are none, or if the file is no longer there. */
  conflicts: number;
  /** True if the document has unsaved text. */
  unsaved: boolean;
  /** The file's new URI, if the agent renamed it. */
  renamedTo?: string;
  /** True if the agent deleted the file. */
  deleted?: boolean;
}

/** A node of the history: the state after its own changes. */
export interface Checkpoint {
  /** For example `c12`. */
  id: string;
  parent: string | null;
  kind: Kind;
  /** The agent's own id of its session. */
  session: string | null;
  /** Letter of the session: `A` for the first one of the workspace. */
  letter: string | null;
  agent: string | null;
  /** For example `t4`. */
  turn: string | null;
  /** The number of the tool call in its session. */
  iteration: number | null;
  tool: string | null;
  /** The work of a step in one line: the agent's description of a shell command, or the command. */
  summary?: string;
  /** The shell command of a step. */
  command?: string;
  /** True if the agent reported that the tool call failed. */
  failed?: boolean;
  /** Exit status of the shell command, where the agent reports it. */
  exit?: number;
  subagent: string | null;
  label: string | null;
  /** Longer description of a checkpoint that was made by hand, in addition to the label. */
  description?: string;
  prompt: string | null;
  time: Time;
  branch: string;
  tags: string[];
  /** True if `gc` never removes it. */
  pinned: boolean;
  /** Set if it stands for several old checkpoints that `gc` squashed. */
  squashed?: Squashed;
  /** True if it has edits and all of them are undone. */
  taken_out: boolean;
  /** The operation that made it, such as a rewind. */
  operation: Operation | null;
  git: GitHead;
  changes: Change[];
  coverage: Coverage;
  /** Text that was not saved at that moment. */
  unsaved: Unsaved[];
}

export interface CheckpointParams {
  rev: string;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A node of the history: the state after its own changes. */
export interface CheckpointResult {
  /** For example `c12`. */
  id: string;
  parent: string | null;
  kind: Kind;
  /** The agent's own id of its session. */
  session: string | null;
  /** Letter of the session: `A` for the first one of the workspace. */
  letter: string | null;
  agent: string | null;
  /** For example `t4`. */
  turn: string | null;
  /** The number of the tool call in its session. */
  iteration: number | null;
  tool: string | null;
  /** The work of a step in one line: the agent's description of a shell command, or the command. */
  summary?: string;
  /** The shell command of a step. */
  command?: string;
  /** True if the agent reported that the tool call failed. */
  failed?: boolean;
  /** Exit status of the shell command, where the agent reports it. */
  exit?: number;
  subagent: string | null;
  label: string | null;
  /** Longer description of a checkpoint that was made by hand, in addition to the label. */
  description?: string;
  prompt: string | null;
  time: Time;
  branch: string;
  tags: string[];
  /** True if `gc` never removes it. */
  pinned: boolean;
  /** Set if it stands for several old checkpoints that `gc` squashed. */
  squashed?: Squashed;
  /** True if it has edits and all of them are undone. */
  taken_out: boolean;
  /** The operation that made it, such as a rewind. */
  operation: Operation | null;
  git: GitHead;
  changes: Change[];
  coverage: Coverage;
  /** Text that was not saved at that moment. */
  unsaved: Unsaved[];
  /** The agent's steps in this turn. */
  steps: Checkpoint[];
}

/** `initializationOptions.backstitch`. A client that leaves it out gets plain LSP. */
export interface ClientOptions {
  /** The client reloads a document without unsaved text when its file changes on disk. Such a file is then written on disk instead of edited in the client. */
  reloadsFromDisk?: boolean;
  /** The client opens `backstitch:` documents and requests their content. */
  contentProvider?: boolean;
  /** The client wants the notifications, and failures of commands as errors instead of messages. */
  notifications?: boolean;
  /** The client shows held calls to the user. */
  panels?: boolean | null;
  /** Form of the lenses. The default is `full`. */
  lensForm?: LensForm | null;
  /** Code actions that are offered. The default is `all`. */
  codeActions?: CodeActions | null;
  /** Lines that have a hover. The default is `all`. */
  hover?: Hovers | null;
  codeLens?: Lenses | null;
  capture?: CaptureSettings | null;
  restore?: RestoreSettings | null;
  store?: StoreSettings | null;
}

/** Code actions: `all`, or three on lines that an agent wrote: for these lines, this file and this turn. */
export type CodeActions = "all" | "agentLines";

/** Answer to a command for clients that did not ask for errors. The user has already seen the message. */
export interface CommandFailed {
  error: FailureMessage;
}

export interface Conflict {
  path: Text;
  reason: string;
  /** Null if the conflict is not resolved. */
  resolution: Resolution | null;
  hunks: ConflictHunk[];
}

/** Ranges of lines from 0, end excluded. */
export interface ConflictHunk {
  target: [number, number];
  kept: [number, number];
}

/** A `backstitch:` document. */
export interface ContentParams {
  uri: string;
  /** Not used: the document names its workspace. */
  workspace?: string | null;
  /** True: with the changes since that the user kept. */
  kept?: boolean | null;
  /** The text that an editor had not saved instead, by its number among those of this file: 1 for the first one in `unsaved` of the checkpoint. */
  unsaved?: number | null;
}

export interface ContentResult {
  text: string;
  /** True if the text has changes that the user kept. */
  kept?: boolean;
  /** True if the user kept the deletion of the file. */
  deleted?: boolean;
}

export interface ConversationParams {
  /** The turn before which it ends. The default is the newest conversation. */
  rev?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A conversation that was made alone. */
export interface ConversationResult {
  conversation: PlannedConversation;
}

/** Number of paths that a checkpoint captured and did not capture. */
export interface Coverage {
  captured: number;
  ignored: number;
  /** True if a scan is still running. Its results are not counted yet. */
  pending: boolean;
  too_large: number;
  outside: number;
  unreadable: number;
  special: number;
  failed: number;
  /** Paths that were not captured. */
  items: CoverageItem[];
}

export interface CoverageItem {
  path: Text;
  reason: CoverageReason;
  detail: string;
}

export type CoverageReason = "too_large" | "outside" | "excluded" | "unreadable" | "special" | "failed" | "version_control" | "ignored";

/** Answer to a decision. */
export interface DecisionResult {
  pause: Pause;
  /** As in `Pause`. */
  outcome: string;
}

/** Sent when any process recorded a checkpoint. */
export interface DidCheckpoint {
  workspace: Text;
  checkpoint: Checkpoint;
}

/** Sent when any process created a branch: its name, parent and fork point. */
export interface DidFork {
  workspace: Text;
  branch: Branch;
}

/** `backstitch/didHit`. */
export interface DidHit {
  workspace: Text;
  seq: number;
  hit: Hit;
}

/** `backstitch/didPause`: a call is held. */
export interface DidPause {
  workspace: Text;
  seq: number;
  pause: Pause;
}

/** `backstitch/didResume`: a call is no longer held. */
export interface DidResume {
  workspace: Text;
  seq: number;
  pause: Pause;
  /** As in `Pause`. */
  outcome: string;
  by: string | null;
}

/** Sent when any process rewound files. */
export interface DidRewind {
  workspace: Text;
  operation: Operation;
  checkpoint: string;
  /** The agent's conversation that went back with the files. */
  conversation?: ListedConversation;
}

/** Sent when the workspace was switched to another branch, also by an undo. */
export interface DidSwitch {
  workspace: Text;
  branch: Branch;
  /** Number of the tool call in its session, if the newest checkpoint of the branch is a step. */
  iteration: number | null;
}

/** Restricted to one file if `uri` is given. */
export interface DiffParams {
  from: string;
  /** A revision, `disk`, or `buffer`: the disk with the unsaved text of open documents. The default is `disk`. */
  to?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** Differences between two revisions, or between a revision and the disk. */
export interface DiffResult {
  from: string;
  /** `disk`, or a revision. */
  to: string;
  files: ChangedFile[];
}

export interface DocumentEdit {
  path: Text;
  /** True if the file is written when the document is saved. */
  pending: boolean;
  /** True if its unsaved text is replaced instead of merged. */
  replaces?: boolean;
}

/** A document. */
export interface DocumentParams {
  uri: string;
  /** Not used: the document names its workspace. */
  workspace?: string | null;
}

/** Sets the input with which a held call runs, for all who see it. Without one: back to the agent's own. */
export interface DraftParams {
  pause: string;
  /** As in `backstitch/predict`, as are the others. */
  input?: unknown;
  inputText?: string | null;
  then?: WantedText[] | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** Fields that are left out stay. An empty text clears its field. */
export interface EditBreakpointParams {
  /** For example `b3`. */
  breakpoint: string;
  when?: string | null;
  hits?: string | null;
  action?: string | null;
  message?: string | null;
  once?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A running language server. */
export interface EditorAtWork {
  id: number;
  name: string;
  pid: number;
  /** Files of which it has unsaved text. */
  unsaved: Text[];
}

/** The `data` of an error. */
export interface FailureData {
  kind: FailureKind;
  /** The next step for the user. */
  hint: string | null;
  /** The plan, if there are conflicts. */
  answer: Plan | null;
  /** The conflicts, if there is no plan. */
  conflicts?: Conflict[];
  /** Next steps, for buttons. */
  offers?: Offer[];
}

export type FailureKind = "usage" | "not_found" | "refused" | "conflict" | "cancelled" | "store" | "failed" | "unknown_pause" | "session_closed" | "already_resumed" | "stale" | "missing_field" | "unknown_session" | "eval_timeout";

export interface FailureMessage {
  kind: FailureKind;
  message: string;
  hint: string | null;
}

export interface ForkParams {
  /** Asks the user if left out. */
  rev?: string | null;
  /** A name is generated if left out. */
  name?: string | null;
  /** Directory for a separate copy of the files. */
  into?: string | null;
  /** Switches to the new branch, too. */
  switch?: boolean | null;
  /** `code` (the default) or `both`: the agent's conversation is forked, too. */
  scope?: string | null;
  /** Asks the user if neither a name nor a directory is given. The default is true. */
  confirm?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface ForkResult {
  branch: Branch;
  /** The directory that was created. */
  into?: Text;
  files?: number;
  gaps?: Gap[];
  conversation?: PlannedConversation;
}

export interface Frame {
  /** `session`, `turn`, `subagent` or `call`. */
  kind: string;
  name: string;
  /** The frame that is held. */
  held: boolean;
}

/** A call of a function that a program watches. */
export interface FunctionCall {
  id: number;
  /** Number of the call that made it. */
  parent: number | null;
  function: string;
  /** `inline` or `proxy`. */
  kind: string;
  thread: string;
  /** Views of the arguments. */
  args: unknown;
  started: Time;
  ended: Time | null;
  /** `returned`, `raised` or `skipped`. Null: not over. */
  outcome: string | null;
  /** View of the result. */
  result: unknown;
  /** Ids of its REPL sessions. */
  replSessions: string[];
}

/** A part of the target state that a restore does not cover. */
export interface Gap {
  /** Null if the gap is not about one path. */
  path: Text | null;
  kind: GapKind;
  detail: string;
}

export type GapKind = "uncertain" | "too_large" | "outside" | "excluded" | "unreadable" | "special" | "failed" | "pending" | "unknown" | "hard_link" | "git_head" | "unsaved" | "attributes" | "directory" | "version_control" | "ignored";

/** Git's HEAD, as read from its files. */
export interface GitHead {
  head: string | null;
  branch: string | null;
}

export interface GitMoved {
  then: GitHead;
  now: GitHead;
}

export interface HeldParams {
  pause?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A trigger of a breakpoint that only logs. */
export interface Hit {
  breakpoint: string;
  /** As in `Breakpoint`. */
  kind: string;
  /** As in `Breakpoint`, as is `when`. Null: it is gone by now. */
  summary: string | null;
  when: string | null;
  agent: string;
  session: string;
  tool: string;
  why: string;
  text: string;
  time: Time;
}

/** Lines with a hover: all that have a known author, those of agents, or none. */
export type Hovers = "all" | "agent" | "off";

/** A hunk. A range is its first line, from 1, and its line count; an empty range stands before that line. */
export interface Hunk {
  id: string;
  old: [number, number];
  new: [number, number];
  removed: Text[];
  added: Text[];
  /** True if the last of these lines ends the file and has no newline. */
  removed_no_newline?: boolean;
  added_no_newline?: boolean;
  /** Present only in answers to `backstitch/diff`. */
  words?: Words;
  /** True if the user has kept this change. */
  kept?: boolean;
}

export interface InjectParams {
  /** Text for the model. It goes with the next event that can carry it. */
  text: string;
  /** The session of this held call. */
  pause?: string | null;
  /** The default is any session. */
  session?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface InjectResult {
  injected: boolean;
}

export type Kind = "turn" | "step" | "manual" | "external" | "rewind" | "squash" | "import";

/** The newest conversation that was made. Null: there is none. */
export interface LastConversation {
  conversation: ListedConversation | null;
}

/** Form of the lenses: `full` names each turn above each of its runs of lines; `short` has `Revert turn`, `Revert here` and `Diff` above the first run of each turn in a file. */
export type LensForm = "full" | "short";

export type Lenses = "all" | "session" | "latestTurn" | "off";

/** A new session of an agent that was made. */
export interface ListedConversation {
  agent: string;
  session: string;
  turn: string;
  prompt: string;
  /** Place of the cut, for people: `before`, `summary from`, `summary up to`. */
  how: string;
  /** The branch that was created with it. */
  branch: string | null;
  summary: string | null;
  /** True if the agent has reported an event of it. */
  used: boolean;
  /** The restore of the files that belongs to it. */
  operation: string | null;
  /** The agent's own id of the new session. Null: the agent begins one by itself. */
  new: string | null;
  /** The command line that opens it. It is never given to a shell. */
  argv: string[];
  cwd: Text;
  prefilled: boolean;
}

/** The default of `uri` is the only document with unsaved text whose file changed on disk. */
export interface MergeParams {
  /** The default is `fail`. `current` keeps the lines of the document, `target` takes those on disk. */
  onConflict?: OnConflict | null;
  /** Text of the file that the client has already merged into the document itself. It becomes the base of the unsaved text, and nothing else is done. */
  merged?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** Result of merging a change on disk into unsaved text. */
export interface MergeResult {
  /** The document. */
  uri: string;
  /** False if there was nothing to merge. */
  merged: boolean;
  /** Conflicts, decided as `onConflict` says. */
  conflicts: number;
}

export interface NewCheckpointParams {
  label?: string | null;
  /** A longer description. */
  description?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export type NotKept = "too_large" | "unreadable" | "special";

export interface ObjectParams {
  /** Content id: `sha256:<hash>`. */
  cid: string;
  /** Path of a file to which the bytes are written. They are not interpreted. */
  save?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A stored value, as its program described it. Nothing of it is interpreted. */
export interface ObjectResult {
  cid: string;
  /** In bytes. */
  size: number;
  /** `type`, `repr`, and possibly `length` and `fields`. */
  view: unknown;
  /** The view in lines, as a person reads it. */
  text: string;
}

/** A next step that a command takes. */
export interface Offer {
  /** For example `Rewind Last Turn`. */
  title: string;
  command: string;
  /** The command's one argument. */
  arguments: unknown;
}

export type OnConflict = "fail" | "markers" | "current" | "target";

export interface Operation {
  /** For example `o3`. */
  id: string;
  kind: OperationKind;
  target: string;
  /** For people: `rewind to before “Add a cart”`. */
  title: string;
  checkpoint: string | null;
  /** The operation that this undo or redo reverses. */
  of: string | null;
  undone_by: string | null;
  state: OperationState;
  /** Reason why parts were left undone; empty if none were. */
  detail: string;
  files: number;
  time: Time;
}

export type OperationKind = "rewind" | "revert" | "undo" | "redo" | "switch" | "fork" | "branch" | "tag" | "save";

export type OperationState = "open" | "done" | "incomplete" | "rolled back";

/** Author of a change. */
export interface Origin {
  by: ChangedBy;
  session: string | null;
  session_certainty: Certainty;
  step_certainty: Certainty;
}

/** A call that is, or was, held. */
export interface Pause {
  /** For example `p7`. */
  id: string;
  /** The holder: `call`, `program`, or `proposal` for a rewind that an agent proposes. */
  by: string;
  /** `before` or `after` the call. */
  at: string;
  breakpoint: string | null;
  /** That breakpoint as it was when it held the call. Null: none did, or an older version noted it. */
  hit: PauseHit | null;
  /** The reason in words. */
  why: string;
  agent: string;
  session: string;
  /** Letter of the session, as in the timeline: `A`. Null: the history does not have it yet. */
  letter: string | null;
  /** For example `t4`. */
  turn: string | null;
  prompt: string | null;
  subagent: string | null;
  iteration: number | null;
  tool: string;
  /** The call in one line, with all its files: `apply_patch: M app.js, A mod/extra.js, D n.ipynb`, or, if they are many, `apply_patch: app.js +3 files (1 A, 2 M, 1 D)`. */
  summary: string;
  /** The files that it would write with the input that runs. Empty where nothing is predicted. A call that is over has them as they were shown last. */
  files: CallFile[];
  /** Paths that it names. */
  names: string[];
  /** The error of a call that has failed. */
  error: string | null;
  /** The front end in which its input was changed. Null: it runs as the agent gave it. */
  changedBy: string | null;
  /** Names the input that runs, and the files as they are now. Null: it is over. */
  fingerprint: string | null;
  /** Root of the directory that the agent works in. */
  root: Text;
  made: Time;
  /** The agent's own limit. */
  until: Time | null;
  /** `held`, `decided`, `answered`, `parked`, `used`, `expired`, `handed`, `ended`, `lost` or `slipped`. */
  state: string;
  /** `continued`, `changed`, `denied`, `skipped`, `stopped`, `back`, `asked`, `timedOut`, `parked`, `ended`, `lost` or `slipped`. Null: not over. */
  outcome: string | null;
  /** The client that decided, or the rule. */
  decidedBy: string | null;
  /** Decisions that the agent can receive now: `continue`, `deny`, `skip`, `replace`, `change`, `stop`, `inject`, `ask`, `back`. A proposed rewind has `rewind` and `deny`. Steps need `continue`. Empty: it is decided, or over. */
  can: string[];
}

/** `backstitch/pauseChanged`: the input of a held call was changed, or a call that its agent tries again was decided. */
export interface PauseChanged {
  workspace: Text;
  seq: number;
  pause: Pause;
}

/** A held call with everything that a person decides by. */
export interface PauseDetails {
  seq: number;
  pause: Pause;
  /** Input of the tool that runs, if the call is resumed: as a user changed it, else the agent's own. */
  input: unknown;
  /** The same as a JSON text, with the order and the numbers of the agent. Editors that cannot keep these edit it. */
  inputText: string;
  /** Text of its shell command. Null: its tool is not a shell. */
  command: string | null;
  /** The agent's own input, if it was changed. */
  ownInput: unknown;
  /** The reason why the changed input is not sent without `force`. Null: it is. */
  problem: string | null;
  /** Output of a call that has run, as its agent reports it. */
  output: unknown;
  /** The plan of a proposed rewind. */
  plan: ProposedPlan | null;
  cwd: Text | null;
  /** The files that the call would write. */
  predicted: PredictedFile[];
  /** The reason why nothing is predicted, and the paths that the input may mean. */
  unpredicted: Unpredicted | null;
  /** Names the input and the files as they are shown here. */
  fingerprint: string;
  /** The places that the call stands in, the outermost first: session, turn, subagent, call. */
  stack: Frame[];
  /** The last checkpoints of the session, newest first; at most 20. */
  recent: Checkpoint[];
  /** Other calls that are held, and agents that are at work meanwhile. */
  others: string[];
}

export interface PauseDetailsParams {
  /** For example `p7`. */
  pause: string;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A breakpoint at the moment at which it held a call. */
export interface PauseHit {
  /** As in `Breakpoint`. */
  kind: string;
  /** Its parameters in one line. */
  summary: string;
  /** Its condition in jq. */
  when: string | null;
  /** Its condition on the number of triggers. */
  hits: string | null;
}

export interface PauseParams {
  /** The default is any session. */
  session?: string | null;
  /** True: calls of subagents, too. */
  all?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface PausesParams {
  /** True: with those that are over. */
  all?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface PausesResult {
  seq: number;
  pauses: Pause[];
}

export interface PinParams {
  /** The default is `@`. */
  rev?: string | null;
  /** false: `gc` may remove it when it is old. The default is true. */
  pinned?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface PinResult {
  checkpoint: string;
  pinned: boolean;
}

/** A restore plan; no file has been touched. */
export interface Plan {
  /** The revision as it was typed. */
  rev: string | null;
  /** The target, for people. */
  target: string;
  scope: string;
  actions: Action[];
  conflicts: Conflict[];
  gaps: Gap[];
  /** Turns whose edits are undone, or done again by the undo of a rewind; newest first. */
  takes: PlannedTurn[];
  /** True if the edits of `takes` are done again. */
  brings_back?: boolean;
  /** Later turns whose edits stay; newest first. */
  stays: PlannedTurn[];
  /** Changed files in which later edits of the user stay. */
  own_edits: Text[];
  /** Fingerprint. A restore that passes it applies exactly this plan, or is refused. */
  plan: string;
  /** Open documents that are edited in the editor. */
  edits?: DocumentEdit[];
  /** The user's edits that a switch leaves behind. */
  uncarried?: Text[];
  /** Reason why there is nothing to do. */
  nothing?: string;
  /** Set if git's HEAD was at another commit or branch. */
  git_head?: GitMoved;
  /** The agent's conversation that goes back with the files, or alone. */
  conversation?: PlannedConversation;
}

/** Same fields as the command that would do it. One of `rev`, `turn`, `step`, `op`, `undo`, `redo` and `branch` is required. */
export interface PlanParams {
  rev?: string | null;
  turn?: string | null;
  step?: string | null;
  op?: string | null;
  /** Plans to undo the last operation. */
  undo?: boolean | null;
  /** Plans to redo the operation that was undone last. */
  redo?: boolean | null;
  branch?: string | null;
  carry?: boolean | null;
  /** True if the answer has the texts of the files. */
  texts?: boolean | null;
  /** Restricts the restore to the hunks at these lines of the document `uri`: first line from 0, end excluded. */
  lines?: [number, number] | null;
  /** `code` (the default), `conversation` or `both`. */
  scope?: string | null;
  /** Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`. */
  exact?: boolean | null;
  /** URIs, or paths relative to the root. The default is all files. */
  paths?: string[] | null;
  /** Hunk ids from `backstitch/diff`. */
  hunks?: string[] | null;
  /** Restricts the restore to this session's edits. */
  session?: string | null;
  /** Undoes the work of all agents since, not only of the target's session. */
  allSessions?: boolean | null;
  /** The default is `keep`. */
  uncertain?: Uncertain | null;
  /** The default is `fail`. */
  onConflict?: OnConflict | null;
  /** Fingerprint of a plan that was shown. Only that plan is applied. */
  plan?: string | null;
  /** True if the user is asked to confirm. The default is true unless there is a `plan`. */
  confirm?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A plan as `backstitch/plan` answers it. */
export interface PlanResult {
  /** The revision as it was typed. */
  rev: string | null;
  /** The target, for people. */
  target: string;
  scope: string;
  actions: Action[];
  conflicts: Conflict[];
  gaps: Gap[];
  /** Turns whose edits are undone, or done again by the undo of a rewind; newest first. */
  takes: PlannedTurn[];
  /** True if the edits of `takes` are done again. */
  brings_back?: boolean;
  /** Later turns whose edits stay; newest first. */
  stays: PlannedTurn[];
  /** Changed files in which later edits of the user stay. */
  own_edits: Text[];
  /** Fingerprint. A restore that passes it applies exactly this plan, or is refused. */
  plan: string;
  /** Open documents that are edited in the editor. */
  edits?: DocumentEdit[];
  /** The user's edits that a switch leaves behind. */
  uncarried?: Text[];
  /** Reason why there is nothing to do. */
  nothing?: string;
  /** Set if git's HEAD was at another commit or branch. */
  git_head?: GitMoved;
  /** The agent's conversation that goes back with the files, or alone. */
  conversation?: PlannedConversation;
  /** For people: `Rewind to before “Add a cart” (2 min ago)`. */
  title: string;
  /** The sentence that a plan begins with, without a full stop and without ids: `Undoes turn “Add a cart” (codex, 2 min ago)`. */
  sentence: string;
  /** Further sentences for people about whose work goes and whose stays, the most important first. */
  summary: string[];
  /** True if there is nothing to do. */
  empty: boolean;
  /** True if later work of other sessions stays, which `allSessions` undoes, too. */
  other_sessions: boolean;
  /** True for an exact restore: as requested, else by the settings. */
  exact: boolean;
  /** The texts of changed files, if they were requested. Files that are not UTF-8 or too long are left out. */
  texts?: PlannedText[];
  /** Ids of the hunks at the requested lines. The restore of this plan passes them instead of the lines. */
  hunks?: string[];
}

/** A new session of an agent, as it is planned, or was made. */
export interface PlannedConversation {
  agent: string;
  /** The agent's own id of the old session, which is only read. */
  session: string;
  /** For example `t4`. */
  turn: string;
  /** Number of prompts that the new session tells. */
  kept: number;
  dropped: number;
  /** For people: `before t4 “Add a cart” · Codex · 3 of 5 prompts stay`. */
  line: string;
  /** Sentences for people about the parts that stay as they are. */
  notes: string[];
  /** The prompt to say again. Empty: the session tells it, or the summary does. */
  prompt: string;
  /** True if a process has the old session open. Null: that is not known. */
  open: boolean | null;
  /** Tokens that the agent counted for it. */
  tokens: number | null;
  /** The text in place of a part. */
  summary?: string;
  /** The agent's own id of the new session, once it is made. Left out: the agent begins one by itself. */
  new?: string;
  /** The command line that opens it, once it is made. It is never given to a shell. */
  argv?: string[];
  cwd?: Text;
  /** True if the prompt is part of the command line. */
  prefilled?: boolean;
}

/** A file's text now, unsaved text included, and after the restore. Null if there is no file. */
export interface PlannedText {
  path: Text;
  /** The path now, if the file would be renamed. */
  from?: Text;
  now: string | null;
  then: string | null;
}

/** A turn of an agent, or its steps that belong to no turn. */
export interface PlannedTurn {
  /** For example `t4`. Null for steps without a prompt. */
  turn: string | null;
  prompt: string | null;
  agent: string;
  /** The agent's own id of its session. */
  session: string;
  /** Letter of the session. */
  letter: string;
  time: Time;
  checkpoint: string;
  /** True if the plan moves only a part of its edits. */
  part: boolean;
}

/** One of `input` and `then` is required. */
export interface PredictParams {
  pause: string;
  /** Another input of the tool. */
  input?: unknown;
  /** The same as a JSON text. */
  inputText?: string | null;
  /** Texts of some of the predicted files as they are to be. The answer has the input that leads to them. */
  then?: WantedText[] | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** The files that a call would write with another input. */
export interface PredictResult {
  input: unknown;
  /** The same as a JSON text. */
  inputText: string;
  /** As in `PauseDetails`. */
  command: string | null;
  predicted: PredictedFile[];
  unpredicted: Unpredicted | null;
  fingerprint: string;
  /** As in `Pause`. */
  files: CallFile[];
  /** As in `Pause`. */
  summary: string;
  /** As in `PauseDetails`. */
  problem: string | null;
}

/** A file as a call would write it. */
export interface PredictedFile {
  /** Relative to the root; absolute if it is outside. */
  path: Text;
  /** The path that the file has now, if the call moves it. */
  movedFrom: Text | null;
  /** `A`, `M`, `D` or `R`. */
  letter: string;
  /** Text as it is now. Null: there is none, or it is binary or above 1 MiB. */
  now: string | null;
  /** Text after the call. */
  then: string | null;
  /** Lines. */
  added: number | null;
  removed: number | null;
  /** First line that changes in the text as it is now, from 0. */
  line: number | null;
  certain: boolean;
  /** True: its text is not shown, because it is binary. */
  binary: boolean;
  /** True: the tool will refuse the call. */
  fails: boolean;
  /** The reason why it is not certain, or fails. */
  why: string | null;
}

/** A program that is, or was, connected. */
export interface Program {
  id: number;
  pid: number;
  argv: string[];
  language: string;
  cwd: string;
  connected: Time;
  ended: Time | null;
  /** The newest calls, oldest first. */
  calls: FunctionCall[];
}

/** A rewind that an agent proposes. */
export interface ProposedPlan {
  /** For example `rewind to before “Add a cart”`. */
  title: string;
  /** The agent's reason. */
  reason: string | null;
  /** Sentences about whose work goes and whose stays. */
  summary: string[];
  /** The turns that go, the newest first. */
  turns: PlannedTurn[];
}

/** State of the recorder, which watches the files of the workspace. */
export type Recorder = { state: "waiting" } | { state: "watching"; directories: number } | { state: "failed"; reason: string };

export interface RedoParams {
  /** `code` (the default), `conversation` or `both`. */
  scope?: string | null;
  /** Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`. */
  exact?: boolean | null;
  /** URIs, or paths relative to the root. The default is all files. */
  paths?: string[] | null;
  /** Hunk ids from `backstitch/diff`. */
  hunks?: string[] | null;
  /** Restricts the restore to this session's edits. */
  session?: string | null;
  /** Undoes the work of all agents since, not only of the target's session. */
  allSessions?: boolean | null;
  /** The default is `keep`. */
  uncertain?: Uncertain | null;
  /** The default is `fail`. */
  onConflict?: OnConflict | null;
  /** Fingerprint of a plan that was shown. Only that plan is applied. */
  plan?: string | null;
  /** True if the user is asked to confirm. The default is true unless there is a `plan`. */
  confirm?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface RefuseParams {
  pause?: string | null;
  /** Reason for the model. */
  message?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** Lines of a file. */
export interface Region {
  /** Relative to the root. */
  path: string;
  /** From 0. */
  start: number;
  count: number;
  /** `present`, or `gone`: all its lines were deleted. */
  state: string;
}

export interface RemovedResult {
  /** Number of breakpoints that were removed. */
  removed: number;
}

/** `backstitch/replChanged`: a session was opened or closed. */
export interface ReplChanged {
  workspace: Text;
  seq: number;
  session: ReplSession;
}

export interface ReplCloseParams {
  session: string;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** An input with its output. */
export interface ReplEntry {
  /** From 1. */
  index: number;
  input: string;
  /** The error, else the value. Empty: there is none. */
  output: string;
  /** Text that the evaluation printed. */
  stdout: string;
  isError: boolean;
  /** Names the stored value. */
  cid: string | null;
  time: Time;
  /** Duration in milliseconds. */
  ms: number;
  /** The parts to show: `error`, `both` (the printed text, then the value), `value`, `stdout` or `nothing`. */
  shows: string;
}

export interface ReplEvalParams {
  session: string;
  /** As it was typed. */
  input: string;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface ReplEvalResult {
  session: ReplSession;
  entry: ReplEntry;
}

/** Conditions hold together. */
export interface ReplListParams {
  /** Text in the function, or in the transcript. */
  search?: string | null;
  /** `active` or `closed`. */
  status?: string | null;
  /** Start of the session, as RFC 3339 has times. */
  from?: string | null;
  to?: string | null;
  /** For example `p7`. */
  pause?: string | null;
  /** Number of a program's call. */
  call?: number | null;
  /** The default is 50. */
  limit?: number | null;
  /** The last session of the page before. */
  before?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** The newest first. */
export interface ReplListResult {
  sessions: ReplSession[];
  /** True: `before` with the last of these returns more. */
  more: boolean;
}

/** `backstitch/replOutput`: an entry was added to a session. */
export interface ReplOutput {
  workspace: Text;
  seq: number;
  session: ReplSession;
  entry: ReplEntry;
}

/** A REPL at a pause. */
export interface ReplSession {
  /** `<process number>-<start>`. */
  id: string;
  /** For example `p7`. */
  pause: string;
  /** Process number of the program, or of the agent. */
  pid: number;
  /** Number of the program. Null: it is an agent's call. */
  process: number | null;
  /** The function that is paused: the watched one, else that of the innermost frame. At an agent's call: the tool. */
  function: string;
  /** Letter of the agent's session. Null: it is a program, or the pause is no longer kept. */
  letter: string | null;
  /** Prompt of the turn that is held. Null: there is none. */
  prompt: string | null;
  /** The reason of the pause: `pause("here")`, `calls Edit`. Null: the pause is no longer kept. */
  why: string | null;
  /** Breakpoint of the pause, for example `b3`. */
  breakpoint: string | null;
  /** That breakpoint as it was then. */
  hit: PauseHit | null;
  /** Number of the program's call. */
  call: number | null;
  /** `jq`, `python` or `javascript`. */
  language: string;
  started: Time;
  closed: Time | null;
  /** The reason of its end. */
  reason: string | null;
  /** `active` or `closed`. */
  status: string;
  /** Number of entries. */
  entries: number;
}

export interface ReplShowParams {
  session: string;
  /** Only entries after this number. */
  after?: number | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface ReplShowResult {
  session: ReplSession;
  entries: ReplEntry[];
}

export interface ReplStartParams {
  /** For example `p7`. The default is the only held call. */
  pause?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface ReplStartResult {
  session: ReplSession;
}

export type Resolution = "markers" | "current" | "target" | "left";

/** The result of a restore, or its plan if there was nothing to do. */
export type RestoreResult = Applied | Plan | ConversationResult;

export interface RestoreSettings {
  default?: Restoring | null;
}

export type Restoring = "merge" | "exact";

/** The default of `pause` is the only call that is held; the user is asked to choose one of several. */
export interface ResumeParams {
  pause?: string | null;
  /** Another input of the tool. The default is the one that runs as it is: as a user changed it, else the agent's own. */
  input?: unknown;
  /** The same as a JSON text. */
  inputText?: string | null;
  /** Fingerprint of the prediction that was shown: only that is let through. */
  fingerprint?: string | null;
  /** True: also a changed input that the tool will refuse, or that has other fields or types than the call's own. */
  force?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface RevertParams {
  /** Asks the user if both `turn` and `step` are left out. */
  turn?: string | null;
  step?: string | null;
  /** `code` (the default), `conversation` or `both`. */
  scope?: string | null;
  /** Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`. */
  exact?: boolean | null;
  /** URIs, or paths relative to the root. The default is all files. */
  paths?: string[] | null;
  /** Hunk ids from `backstitch/diff`. */
  hunks?: string[] | null;
  /** Restricts the restore to this session's edits. */
  session?: string | null;
  /** Undoes the work of all agents since, not only of the target's session. */
  allSessions?: boolean | null;
  /** The default is `keep`. */
  uncertain?: Uncertain | null;
  /** The default is `fail`. */
  onConflict?: OnConflict | null;
  /** Fingerprint of a plan that was shown. Only that plan is applied. */
  plan?: string | null;
  /** True if the user is asked to confirm. The default is true unless there is a `plan`. */
  confirm?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A file with unreviewed work, from the state that the user has reviewed to the shown state. */
export interface ReviewFile {
  path: Text;
  kind: ChangeKind;
  /** The reviewed path, if the file was renamed since. */
  from?: Text;
  /** Number of lines. */
  added: number;
  removed: number;
  binary: boolean;
  /** Number of hunks. */
  unreviewed: number;
  /** True if the lines are the same, and their ends differ. */
  line_ends?: boolean;
  /** Names the state that is shown here, for `keep`. */
  shown: string;
  /** Left out if the request names no file. */
  hunks?: ReviewHunk[];
}

/** An unreviewed hunk. A range is its first line, from 1, and its line count; an empty range stands before that line. */
export interface ReviewHunk {
  old: [number, number];
  new: [number, number];
  removed: Text[];
  added: Text[];
  agent: string | null;
  session: string | null;
  /** Letter of the session. */
  letter: string | null;
  /** For example `t4`; of several turns the newest. */
  turn: string | null;
  prompt: string | null;
  checkpoint: string | null;
}

export interface ReviewParams {
  /** `none`, `keep` or `unkeep`. The default is `none`. Restricted to one file, or one directory, if `uri` is given. */
  action?: string | null;
  /** Restricts it to the hunks at these lines of the open document, or of the file on disk: first line from 0, end excluded; equal numbers are the place of removed lines. Needs `uri`. */
  lines?: [number, number] | null;
  /** A checkpoint: all changes since count, by any author. */
  since?: string | null;
  /** `shown` of the file in an earlier answer: only the state that was shown then is kept. Needs `uri`. */
  shown?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** The work of agents that is not reviewed, by path. An answer to `keep` has what was marked as reviewed. */
export interface ReviewResult {
  files: ReviewFile[];
}

export interface RewindParams {
  /** Asks the user if left out. */
  rev?: string | null;
  /** Restricts the rewind to the hunks at these lines of the document `uri`: first line from 0, end excluded. */
  lines?: [number, number] | null;
  /** `code` (the default), `conversation` or `both`. */
  scope?: string | null;
  /** Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`. */
  exact?: boolean | null;
  /** URIs, or paths relative to the root. The default is all files. */
  paths?: string[] | null;
  /** Hunk ids from `backstitch/diff`. */
  hunks?: string[] | null;
  /** Restricts the restore to this session's edits. */
  session?: string | null;
  /** Undoes the work of all agents since, not only of the target's session. */
  allSessions?: boolean | null;
  /** The default is `keep`. */
  uncertain?: Uncertain | null;
  /** The default is `fail`. */
  onConflict?: OnConflict | null;
  /** Fingerprint of a plan that was shown. Only that plan is applied. */
  plan?: string | null;
  /** True if the user is asked to confirm. The default is true unless there is a `plan`. */
  confirm?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** Agent sessions, newest first. */
export interface SessionsResult {
  sessions: AgentSession[];
}

/** Restricted to one file if `uri` is given. */
export interface ShowDiffParams {
  /** The default is `@`. */
  rev?: string | null;
  /** The default is the disk. */
  rev2?: string | null;
  /** Shows what this turn itself changed, instead of `rev` and `rev2`. */
  turn?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** Restricted to one file if `uri` is given. */
export interface ShowTimelineParams {
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** The rows that were shown, newest first. */
export interface ShowTimelineResult {
  checkpoints: Checkpoint[];
}

export interface SkipParams {
  pause?: string | null;
  /** The result of a program's call, as an expression in its language. The default is none. After a call, the result that it has from here on. One that fails is refused, and the program stays held. */
  value?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A frame of a paused program's stack. */
export interface SourceFrame {
  name: string;
  path: string;
  /** From 1. */
  line: number;
  /** Lines of the source. */
  context: string[];
  /** From 1: the first line of `context`. */
  first: number;
  /** True for the frame that is paused. */
  held: boolean;
}

/** The checkpoints that were squashed into one. */
export interface Squashed {
  checkpoints: number;
  turns: number;
  /** Time of the oldest of them. */
  since: Time;
  /** Names of the agents. */
  agents: string[];
}

export interface StackParams {
  /** For example `p7`. */
  pause: string;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface StackResult {
  pause: string;
  /** Number of the program's call, as in `backstitch/calls`. */
  call: number | null;
  /** The innermost first. */
  frames: SourceFrame[];
  /** REPLs at this pause. */
  sessions: ReplSession[];
}

/** State of the server for a workspace. */
export interface Status {
  workspace: Text;
  recorder: Recorder;
}

/** The input, the fingerprint and `force` are those of `backstitch.resume`. */
export interface StepParams {
  pause?: string | null;
  /** `over`, `into`, `out`, `file` or `turn`. The default is `over`. */
  how?: string | null;
  input?: unknown;
  inputText?: string | null;
  fingerprint?: string | null;
  force?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface StoreSettings {
  /** Directory of all histories: absolute, or starting with `~/`. */
  dir?: string | null;
}

/** Without `summary` nothing is made: the answer has one to edit. */
export interface SummarizeParams {
  turn: string;
  part: SummaryPart;
  /** The text that takes the place of the part. */
  summary?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A summary, and the conversation with it if that was made. */
export interface SummarizeResult {
  summary: string;
  conversation?: PlannedConversation;
}

/** The part of a conversation that a summary replaces. */
export type SummaryPart = "from" | "up_to";

export interface SwitchParams {
  /** Asks the user if left out. */
  branch?: string | null;
  /** Takes the user's own edits along. */
  carry?: boolean | null;
  /** `code` (the default), `conversation` or `both`. */
  scope?: string | null;
  /** Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`. */
  exact?: boolean | null;
  /** URIs, or paths relative to the root. The default is all files. */
  paths?: string[] | null;
  /** Hunk ids from `backstitch/diff`. */
  hunks?: string[] | null;
  /** Restricts the restore to this session's edits. */
  session?: string | null;
  /** Undoes the work of all agents since, not only of the target's session. */
  allSessions?: boolean | null;
  /** The default is `keep`. */
  uncertain?: Uncertain | null;
  /** The default is `fail`. */
  onConflict?: OnConflict | null;
  /** Fingerprint of a plan that was shown. Only that plan is applied. */
  plan?: string | null;
  /** True if the user is asked to confirm. The default is true unless there is a `plan`. */
  confirm?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface TagParams {
  /** Offers some names if left out. */
  name?: string | null;
  /** The default is `@`. */
  rev?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface TagResult {
  tag: string;
  checkpoint: string;
}

/** A text, or its bytes in Base64 if it is not UTF-8. Paths are relative to the workspace root. */
export type Text = string | { bytes: string };

/** A time in RFC 3339, UTC. Null if the clock was out of range. */
export type Time = string | null;

/** Sent when the timeline, or what the user has reviewed, has changed and has to be read again. */
export interface TimelineChanged {
  workspace: Text;
}

/** Restricted to checkpoints that changed one file if `uri` is given. */
export interface TimelineParams {
  /** The default is 200. */
  limit?: number | null;
  /** Returns only checkpoints older than this one: the next page. */
  before?: string | null;
  /** The agent's own session id, or a prefix of it. */
  session?: string | null;
  agent?: string | null;
  kind?: Kind | null;
  /** Words that must all occur in a prompt, a label or a tool's input; `wor*` matches a prefix. */
  text?: string | null;
  branch?: string | null;
  allBranches?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** A page of the timeline, newest first. */
export interface TimelineResult {
  /** Root of the workspace; paths are relative to it. */
  workspace: Text;
  checkpoints: Checkpoint[];
  branches: Branch[];
  head: string | null;
  /** The current branch. */
  branch: string;
  /** True if there are older checkpoints. */
  more: boolean;
  /** Sessions of agents that work on a prompt now. */
  at_work: AgentAtWork[];
}

/** Makes a `line` breakpoint at these lines, or removes those that are there. */
export interface ToggleBreakpointParams {
  /** First line from 0, end excluded. */
  lines: [number, number];
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** Answer to `toggle`: the breakpoint that was made, or those that were removed. */
export interface ToggleResult {
  added: Breakpoint | null;
  removed: string[];
}

export interface TurnBeginParams {
  agent: string;
  session: string;
  prompt?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface TurnEndParams {
  /** The default is the turn that has begun, if it is the only one. `session` alone names one of several. */
  agent?: string | null;
  session?: string | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** The checkpoint that was recorded; null if there was nothing to record. */
export interface TurnResult {
  checkpoint: string | null;
}

export type Uncertain = "keep" | "take";

export interface UndoParams {
  /** The default is the last operation. */
  op?: string | null;
  /** `code` (the default), `conversation` or `both`. */
  scope?: string | null;
  /** Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`. */
  exact?: boolean | null;
  /** URIs, or paths relative to the root. The default is all files. */
  paths?: string[] | null;
  /** Hunk ids from `backstitch/diff`. */
  hunks?: string[] | null;
  /** Restricts the restore to this session's edits. */
  session?: string | null;
  /** Undoes the work of all agents since, not only of the target's session. */
  allSessions?: boolean | null;
  /** The default is `keep`. */
  uncertain?: Uncertain | null;
  /** The default is `fail`. */
  onConflict?: OnConflict | null;
  /** Fingerprint of a plan that was shown. Only that plan is applied. */
  plan?: string | null;
  /** True if the user is asked to confirm. The default is true unless there is a `plan`. */
  confirm?: boolean | null;
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

export interface Unpredicted {
  reason: string;
  paths: Text[];
}

export interface Unsaved {
  path: Text;
  added: number;
  removed: number;
  /** Name of the editor. */
  editor: string;
}

/** A text as it is to be after the call. */
export interface WantedText {
  /** As in `PredictedFile`. */
  path: string;
  text: string;
}

/** The workspace to use; not needed if only one is open. */
export interface Where {
  /** A document of the workspace. */
  uri?: string | null;
  /** Root of the workspace, as a path or URI. Not needed if only one is open. */
  workspace?: string | null;
}

/** The words that differ: line from 0 in its side of the hunk, start and end in the client's units. */
export interface Words {
  removed: [number, number, number][];
  added: [number, number, number][];
}

export type WrittenBy = "agent" | "user" | "unknown" | "unsaved" | "before";

/** From the client, by method. */
export interface Requests {
  "backstitch/timeline": { params: TimelineParams; result: TimelineResult };
  "backstitch/checkpoint": { params: CheckpointParams; result: CheckpointResult };
  "backstitch/diff": { params: DiffParams; result: DiffResult };
  "backstitch/plan": { params: PlanParams; result: PlanResult };
  "backstitch/content": { params: ContentParams; result: ContentResult };
  "backstitch/blame": { params: DocumentParams; result: BlameResult };
  "backstitch/sessions": { params: Where; result: SessionsResult };
  "backstitch/review": { params: ReviewParams; result: ReviewResult };
  "backstitch/turnBegin": { params: TurnBeginParams; result: TurnResult };
  "backstitch/applyEdit": { params: ApplyEditParams; result: ApplyEditResult };
  "backstitch/turnEnd": { params: TurnEndParams; result: TurnResult };
  "backstitch/breakpoints": { params: Where; result: BreakpointsResult };
  "backstitch/pauses": { params: PausesParams; result: PausesResult };
  "backstitch/pause": { params: PauseDetailsParams; result: PauseDetails };
  "backstitch/predict": { params: PredictParams; result: PredictResult };
  "backstitch/draft": { params: DraftParams; result: PauseDetails };
  "backstitch/repl/start": { params: ReplStartParams; result: ReplStartResult };
  "backstitch/repl/eval": { params: ReplEvalParams; result: ReplEvalResult };
  "backstitch/repl/close": { params: ReplCloseParams; result: ReplStartResult };
  "backstitch/repl/show": { params: ReplShowParams; result: ReplShowResult };
  "backstitch/repl/list": { params: ReplListParams; result: ReplListResult };
  "backstitch/repl/object": { params: ObjectParams; result: ObjectResult };
  "backstitch/stack": { params: StackParams; result: StackResult };
  "backstitch/calls": { params: CallsParams; result: CallsResult };
}

/** Commands of `workspace/executeCommand`, with their one argument. */
export interface Commands {
  /** Rewind… */
  "backstitch.rewind": { params: RewindParams; result: RestoreResult | CommandFailed };
  /** Undo the Last Rewind */
  "backstitch.undo": { params: UndoParams; result: RestoreResult | CommandFailed };
  /** Redo the Rewind */
  "backstitch.redo": { params: RedoParams; result: RestoreResult | CommandFailed };
  /** Revert Turn or Step… */
  "backstitch.revert": { params: RevertParams; result: RestoreResult | CommandFailed };
  /** Fork… */
  "backstitch.fork": { params: ForkParams; result: ForkResult | CommandFailed };
  /** Switch to Branch… */
  "backstitch.switch": { params: SwitchParams; result: RestoreResult | CommandFailed };
  /** Continue a Rewound Conversation */
  "backstitch.conversation": { params: ConversationParams; result: LastConversation | CommandFailed };
  /** Summarise a Conversation… */
  "backstitch.summarize": { params: SummarizeParams; result: SummarizeResult | CommandFailed };
  /** Tag… */
  "backstitch.tag": { params: TagParams; result: TagResult | CommandFailed };
  /** Pin */
  "backstitch.pin": { params: PinParams; result: PinResult | CommandFailed };
  /** Make a Checkpoint */
  "backstitch.checkpoint": { params: NewCheckpointParams; result: Checkpoint | CommandFailed };
  /** Compare with Now… */
  "backstitch.diff": { params: ShowDiffParams; result: DiffResult | CommandFailed };
  /** Show the Timeline */
  "backstitch.timeline": { params: ShowTimelineParams; result: ShowTimelineResult | CommandFailed };
  /** Review Agent Changes */
  "backstitch.review": { params: Where; result: ReviewResult | CommandFailed };
  /** Merge the Change on Disk */
  "backstitch.merge": { params: MergeParams; result: MergeResult | CommandFailed };
  /** Add an Agent Breakpoint… */
  "backstitch.breakpoint.add": { params: AddBreakpointParams; result: BreakpointResult | CommandFailed };
  /** Edit Agent Breakpoint… */
  "backstitch.breakpoint.edit": { params: EditBreakpointParams; result: BreakpointResult | CommandFailed };
  /** Remove Agent Breakpoint */
  "backstitch.breakpoint.remove": { params: BreakpointParams; result: RemovedResult | CommandFailed };
  /** Enable Agent Breakpoint */
  "backstitch.breakpoint.enable": { params: BreakpointParams; result: BreakpointResult | CommandFailed };
  /** Disable Agent Breakpoint */
  "backstitch.breakpoint.disable": { params: BreakpointParams; result: BreakpointResult | CommandFailed };
  /** Remove All Agent Breakpoints */
  "backstitch.breakpoint.clear": { params: Where; result: RemovedResult | CommandFailed };
  /** List the Agent Breakpoints */
  "backstitch.breakpoint.list": { params: Where; result: BreakpointsResult | CommandFailed };
  /** Stop Agents Here */
  "backstitch.breakpoint.toggle": { params: ToggleBreakpointParams; result: ToggleResult | CommandFailed };
  /** Pause the Agent at its Next Call */
  "backstitch.pause": { params: PauseParams; result: BreakpointResult | CommandFailed };
  /** Continue the Held Call */
  "backstitch.resume": { params: ResumeParams; result: DecisionResult | CommandFailed };
  /** Step to the Next Call */
  "backstitch.step": { params: StepParams; result: DecisionResult | CommandFailed };
  /** Skip the Held Call */
  "backstitch.skip": { params: SkipParams; result: DecisionResult | CommandFailed };
  /** Deny the Held Call… */
  "backstitch.deny": { params: RefuseParams; result: DecisionResult | CommandFailed };
  /** Stop the Agent's Turn */
  "backstitch.stop": { params: RefuseParams; result: DecisionResult | CommandFailed };
  /** Tell the Agent… */
  "backstitch.inject": { params: InjectParams; result: InjectResult | CommandFailed };
  /** Take the Agent's Last Steps Back… */
  "backstitch.back": { params: BackParams; result: DecisionResult | CommandFailed };
  /** Show the Held Call */
  "backstitch.inspect": { params: HeldParams; result: PauseDetails | CommandFailed };
  /** Open a REPL at the Held Call */
  "backstitch.repl.start": { params: ReplStartParams; result: ReplStartResult | CommandFailed };
  /** Evaluate in the REPL */
  "backstitch.repl.eval": { params: ReplEvalParams; result: ReplEvalResult | CommandFailed };
  /** Close the REPL */
  "backstitch.repl.close": { params: ReplCloseParams; result: ReplStartResult | CommandFailed };
  /** List REPL Sessions */
  "backstitch.repl.list": { params: ReplListParams; result: ReplListResult | CommandFailed };
}

/** From the server, by method, with their parameters. */
export interface Notifications {
  "backstitch/didCheckpoint": DidCheckpoint;
  "backstitch/didRewind": DidRewind;
  "backstitch/didFork": DidFork;
  "backstitch/didSwitch": DidSwitch;
  "backstitch/timelineChanged": TimelineChanged;
  "backstitch/status": Status;
  "backstitch/changedOnDisk": ChangedOnDisk;
  "backstitch/didPause": DidPause;
  "backstitch/didResume": DidResume;
  "backstitch/pauseChanged": PauseChanged;
  "backstitch/breakpointsChanged": BreakpointsChanged;
  "backstitch/didHit": DidHit;
  "backstitch/replOutput": ReplOutput;
  "backstitch/replChanged": ReplChanged;
}
