// What Backstitch's language server says beyond LSP; server/docs/protocol.md tells what it means.
// Made from the types of server/protocol: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo test -p backstitch-protocol

import type { WorkspaceEdit } from "vscode-languageserver-types";

export interface Action {
  path: Text;
  action: ActionKind;
  from?: Text;
  reason?: string;
}

export type ActionKind = "write" | "delete" | "create" | "merge" | "chmod" | "skip";

export interface AgentSession {
  session: string;
  agent: string;
  /** Newest first. */
  turns: AgentTurn[];
}

export interface AgentTurn {
  turn: string;
  prompt: string;
  checkpoint: string;
  time: Time;
}

/** What a restore did: its plan, and what came of it. */
export interface Applied {
  /** What was typed. */
  rev: string | null;
  /** What that means, for people. */
  target: string;
  scope: string;
  actions: Action[];
  conflicts: Conflict[];
  gaps: Gap[];
  /** The fingerprint: who hands it back gets just this, or a refusal. */
  plan: string;
  /** Open documents that are changed in the editor. */
  edits?: DocumentEdit[];
  /** Edits of the user that a switch leaves behind. */
  uncarried?: Text[];
  /** Why there is nothing to do. */
  nothing?: string;
  /** Where git's HEAD was elsewhere. */
  git_head?: GitMoved;
  /** What records it. */
  checkpoint: string | null;
  operation: string | null;
  /** The editor that carried it out, where it was another one. */
  editor?: EditorAtWork;
  /** Left alone, since another writer had them. */
  incomplete?: Text[];
  saved?: Text[];
  /** Documents whose editor did not take their new text. */
  not_taken?: Text[];
  /** Documents whose editor says that it took their text, and has not told of the change yet. */
  awaited?: Text[];
}

export interface ApplyEditParams {
  edit: WorkspaceEdit;
  /** The tool's name. */
  label?: string | null;
  /** The turn that has begun where nothing is said, if it is the only one; `session` alone names one of several. */
  agent?: string | null;
  session?: string | null;
}

export interface ApplyEditResult {
  /** All of it. */
  applied: boolean;
  checkpoints: string[];
  /** URIs of documents whose editor did not take their new text. */
  notTaken: string[];
}

/** Who wrote each line of a document as it stands. */
export interface BlameResult {
  /** The document's; null where nothing is known of it. */
  version: number | null;
  runs: BlameRun[];
  /** How many checkpoints changed the file; no more than 100 are counted. */
  checkpoints?: number;
}

/** Neighbouring lines of one author. */
export interface BlameRun {
  by: WrittenBy;
  checkpoint: string | null;
  time: Time | null;
  agent: string | null;
  session: string | null;
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
  /** The directory that is on it. */
  root: Text | null;
}

/** What is recorded. */
export interface CaptureSettings {
  /** A number of bytes, or a text such as `10MB`. */
  maxFileSize?: unknown;
  /** Patterns of a `.gitignore`, from the workspace's root. */
  exclude?: string[] | null;
  /** Of what is ignored, and recorded all the same. */
  include?: string[] | null;
}

export type Certainty = "certain" | "uncertain" | "group";

/** A file in a checkpoint. */
export interface Change {
  path: Text;
  kind: ChangeKind;
  /** Where it was before, if that is another place. */
  from?: Text;
  /** Lines. */
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
  /** Why a content is not kept, where it is not. */
  not_kept?: NotKept;
}

/** A node of the history: the state after its own changes. */
export interface Checkpoint {
  /** `c12`. */
  id: string;
  parent: string | null;
  kind: Kind;
  /** The agent's own id of its session. */
  session: string | null;
  agent: string | null;
  /** `t4`. */
  turn: string | null;
  /** The number of the tool call in its session. */
  iteration: number | null;
  tool: string | null;
  subagent: string | null;
  label: string | null;
  /** What whoever made it by hand wrote of it, beside the label. */
  description?: string;
  prompt: string | null;
  time: Time;
  branch: string;
  tags: string[];
  /** Kept for good, whatever `gc` removes. */
  pinned: boolean;
  /** Where it stands for several that became one with their age. */
  squashed?: Squashed;
  /** It has edits, and none of them is in force any more. */
  taken_out: boolean;
  /** What made it, where it is a rewind. */
  operation: Operation | null;
  git: GitHead;
  changes: Change[];
  coverage: Coverage;
  /** Text that was not saved at that moment. */
  unsaved: Unsaved[];
}

/** Which workspace is meant; not needed where only one is open. */
export interface CheckpointParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** Needed. */
  rev?: string;
}

/** A node of the history: the state after its own changes. */
export interface CheckpointResult {
  /** `c12`. */
  id: string;
  parent: string | null;
  kind: Kind;
  /** The agent's own id of its session. */
  session: string | null;
  agent: string | null;
  /** `t4`. */
  turn: string | null;
  /** The number of the tool call in its session. */
  iteration: number | null;
  tool: string | null;
  subagent: string | null;
  label: string | null;
  /** What whoever made it by hand wrote of it, beside the label. */
  description?: string;
  prompt: string | null;
  time: Time;
  branch: string;
  tags: string[];
  /** Kept for good, whatever `gc` removes. */
  pinned: boolean;
  /** Where it stands for several that became one with their age. */
  squashed?: Squashed;
  /** It has edits, and none of them is in force any more. */
  taken_out: boolean;
  /** What made it, where it is a rewind. */
  operation: Operation | null;
  git: GitHead;
  changes: Change[];
  coverage: Coverage;
  /** Text that was not saved at that moment. */
  unsaved: Unsaved[];
  /** What the agent did in this turn. */
  steps: Checkpoint[];
}

/** `initializationOptions.backstitch`. Who says nothing gets plain LSP. */
export interface ClientOptions {
  /** A clean document is read anew when its file changed on disk: it is then written there instead of edited. */
  reloadsFromDisk?: boolean;
  /** Opens `backstitch:` documents, whose content it asks for. */
  contentProvider?: boolean;
  /** Wants the notifications, and failures of commands as errors instead of messages. */
  notifications?: boolean;
  codeLens?: Lenses | null;
  capture?: CaptureSettings | null;
  restore?: RestoreSettings | null;
  store?: StoreSettings | null;
}

/** What a command answers clients that did not ask for errors; the user has been told. */
export interface CommandFailed {
  error: FailureTold;
}

export interface Conflict {
  path: Text;
  reason: string;
  /** Null as long as it is open. */
  resolution: Resolution | null;
  hunks: ConflictHunk[];
}

/** Lines from 0, the end excluded. */
export interface ConflictHunk {
  target: [number, number];
  kept: [number, number];
}

export interface ContentResult {
  text: string;
}

/** What a checkpoint could and could not capture: how many paths. */
export interface Coverage {
  captured: number;
  ignored: number;
  /** A scan goes on; what it finds is not in it yet. */
  pending: boolean;
  too_large: number;
  outside: number;
  unreadable: number;
  special: number;
  failed: number;
  /** What was not captured, by name. */
  items: CoverageItem[];
}

export interface CoverageItem {
  path: Text;
  reason: CoverageReason;
  detail: string;
}

export type CoverageReason = "too_large" | "outside" | "excluded" | "unreadable" | "special" | "failed";

/** What any process recorded. */
export interface DidCheckpoint {
  workspace: Text;
  checkpoint: Checkpoint;
}

/** What any process rewound. */
export interface DidRewind {
  workspace: Text;
  operation: Operation;
  checkpoint: string;
}

/** Which workspace is meant; not needed where only one is open. */
export interface DiffParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** Needed. */
  from?: string;
  /** The disk where there is none, or `disk`; `buffer`: with what open documents have and have not saved. */
  to?: string | null;
}

/** What differs between two revisions, or between one and the disk. */
export interface DiffResult {
  from: string;
  /** `disk`, or a revision. */
  to: string;
  files: ChangedFile[];
}

export interface DocumentEdit {
  path: Text;
  /** The file waits for a save. */
  pending: boolean;
  /** Its text that is not saved is not merged, but makes way. */
  replaces?: boolean;
}

/** A document. */
export interface DocumentParams {
  uri: string;
}

/** A language server at work. */
export interface EditorAtWork {
  id: number;
  name: string;
  pid: number;
  /** Of which files it has text that is not saved. */
  unsaved: Text[];
}

/** An error's `data`. */
export interface FailureData {
  kind: FailureKind;
  /** What to do next. */
  hint: string | null;
  /** The plan, where edits collide. */
  answer: Plan | null;
}

export type FailureKind = "usage" | "not_found" | "refused" | "conflict" | "cancelled" | "store" | "failed";

export interface FailureTold {
  kind: FailureKind;
  message: string;
  hint: string | null;
}

/** Which workspace is meant; not needed where only one is open. */
export interface ForkParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** Without it the user is asked. */
  rev?: string | null;
  /** One is made up where there is none. */
  name?: string | null;
  /** A directory of its own. */
  into?: string | null;
  /** Goes there, too. */
  switch?: boolean;
  /** Whether to ask where neither a name nor a directory is given; it asks unless this is false. */
  confirm?: boolean | null;
}

export interface ForkResult {
  branch: Branch;
  /** The directory that was made. */
  into?: Text;
  files?: number;
  gaps?: Gap[];
}

/** What a restore does not reach. */
export interface Gap {
  /** Null: it is not about one path. */
  path: Text | null;
  kind: GapKind;
  detail: string;
}

export type GapKind = "uncertain" | "too_large" | "outside" | "excluded" | "unreadable" | "special" | "failed" | "pending" | "unknown" | "hard_link" | "git_head" | "unsaved";

/** Git's HEAD, as its files have it. */
export interface GitHead {
  head: string | null;
  branch: string | null;
}

export interface GitMoved {
  then: GitHead;
  now: GitHead;
}

/** Ranges are the first line, from 1, and the count; an empty range stands before that line. */
export interface Hunk {
  id: string;
  old: [number, number];
  new: [number, number];
  removed: Text[];
  added: Text[];
  /** The last of these lines has no line end, at the end of the file. */
  removed_no_newline?: boolean;
  added_no_newline?: boolean;
  /** Only in answers to `backstitch/diff`. */
  words?: Words;
}

export type Kind = "turn" | "step" | "manual" | "external" | "rewind" | "squash" | "import";

export type Lenses = "all" | "session" | "latestTurn" | "off";

/** Which workspace is meant; not needed where only one is open. */
export interface NewCheckpointParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  label?: string | null;
  /** What it is about, at more length. */
  description?: string | null;
}

export type NotKept = "too_large" | "unreadable" | "special";

export type OnConflict = "fail" | "markers" | "current" | "target";

export interface Operation {
  /** `o3`. */
  id: string;
  kind: OperationKind;
  target: string;
  checkpoint: string | null;
  /** What an undo or redo is about. */
  of: string | null;
  undone_by: string | null;
  state: OperationState;
  /** What was left undone, and why; empty where nothing was. */
  detail: string;
  files: number;
  time: Time;
}

export type OperationKind = "rewind" | "revert" | "undo" | "redo" | "switch" | "fork" | "branch" | "tag" | "save";

export type OperationState = "open" | "done" | "incomplete" | "rolled back";

/** Who made a change. */
export interface Origin {
  by: ChangedBy;
  session: string | null;
  session_certainty: Certainty;
  step_certainty: Certainty;
}

/** Which workspace is meant; not needed where only one is open. */
export interface PinParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** `@` where there is none. */
  rev?: string | null;
  /** false: it may go with its age again; without it, it is kept for good. */
  pinned?: boolean | null;
}

export interface PinResult {
  checkpoint: string;
  pinned: boolean;
}

/** What a restore would do, without anything touched. */
export interface Plan {
  /** What was typed. */
  rev: string | null;
  /** What that means, for people. */
  target: string;
  scope: string;
  actions: Action[];
  conflicts: Conflict[];
  gaps: Gap[];
  /** The fingerprint: who hands it back gets just this, or a refusal. */
  plan: string;
  /** Open documents that are changed in the editor. */
  edits?: DocumentEdit[];
  /** Edits of the user that a switch leaves behind. */
  uncarried?: Text[];
  /** Why there is nothing to do. */
  nothing?: string;
  /** Where git's HEAD was elsewhere. */
  git_head?: GitMoved;
}

/** As the command that would do it. One of `rev`, `turn`, `step`, `op`, `undo`, `redo` and `branch` is needed. */
export interface PlanParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  rev?: string | null;
  turn?: string | null;
  step?: string | null;
  op?: string | null;
  /** What was done last is undone. */
  undo?: boolean;
  /** What was undone last is done again. */
  redo?: boolean;
  /** Whether the answer is to have the texts of the files. */
  texts?: boolean | null;
  branch?: string | null;
  carry?: boolean;
  /** Only `code` for now. */
  scope?: string | null;
  /** The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said. */
  exact?: boolean | null;
  /** URIs, or paths from the root; without them all. */
  paths?: string[];
  /** Ids of hunks, of `backstitch/diff`. */
  hunks?: string[];
  /** Only this session's work. */
  session?: string | null;
  /** `keep` where nothing is said. */
  uncertain?: Uncertain | null;
  /** `fail` where nothing is said. */
  onConflict?: OnConflict | null;
  /** The fingerprint of a plan that was shown: just this is done. */
  plan?: string | null;
  /** Whether the user is asked; without it, unless there is a `plan`. */
  confirm?: boolean | null;
}

/** A plan as `backstitch/plan` shows it. */
export interface PlanResult {
  /** What was typed. */
  rev: string | null;
  /** What that means, for people. */
  target: string;
  scope: string;
  actions: Action[];
  conflicts: Conflict[];
  gaps: Gap[];
  /** The fingerprint: who hands it back gets just this, or a refusal. */
  plan: string;
  /** Open documents that are changed in the editor. */
  edits?: DocumentEdit[];
  /** Edits of the user that a switch leaves behind. */
  uncarried?: Text[];
  /** Why there is nothing to do. */
  nothing?: string;
  /** Where git's HEAD was elsewhere. */
  git_head?: GitMoved;
  /** `rewind to t4`. */
  title: string;
  /** Nothing would be done. */
  empty: boolean;
  /** The very state: by what was asked for, else by the settings. */
  exact: boolean;
  /** Where they were asked for: the files that would change, as far as they are UTF-8 and not too long to be read. */
  texts?: PlannedText[];
}

/** A file as it is, unsaved text included, and as it would be. Null where there is none. */
export interface PlannedText {
  path: Text;
  /** Where it is now, if that is another place. */
  from?: Text;
  now: string | null;
  then: string | null;
}

/** Who watches the files of the workspace. */
export type Recorder = { state: "waiting" } | { state: "watching"; directories: number } | { state: "failed"; reason: string };

/** Which workspace is meant; not needed where only one is open. */
export interface RedoParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** Only `code` for now. */
  scope?: string | null;
  /** The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said. */
  exact?: boolean | null;
  /** URIs, or paths from the root; without them all. */
  paths?: string[];
  /** Ids of hunks, of `backstitch/diff`. */
  hunks?: string[];
  /** Only this session's work. */
  session?: string | null;
  /** `keep` where nothing is said. */
  uncertain?: Uncertain | null;
  /** `fail` where nothing is said. */
  onConflict?: OnConflict | null;
  /** The fingerprint of a plan that was shown: just this is done. */
  plan?: string | null;
  /** Whether the user is asked; without it, unless there is a `plan`. */
  confirm?: boolean | null;
}

export type Resolution = "markers" | "current" | "target" | "left";

/** What was done; or the plan where there was nothing to do. */
export type RestoreResult = Applied | Plan;

export interface RestoreSettings {
  default?: Restoring | null;
}

export type Restoring = "merge" | "exact";

/** Which workspace is meant; not needed where only one is open. */
export interface RevertParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** Without it and `step` the user is asked. */
  turn?: string | null;
  step?: string | null;
  /** Only `code` for now. */
  scope?: string | null;
  /** The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said. */
  exact?: boolean | null;
  /** URIs, or paths from the root; without them all. */
  paths?: string[];
  /** Ids of hunks, of `backstitch/diff`. */
  hunks?: string[];
  /** Only this session's work. */
  session?: string | null;
  /** `keep` where nothing is said. */
  uncertain?: Uncertain | null;
  /** `fail` where nothing is said. */
  onConflict?: OnConflict | null;
  /** The fingerprint of a plan that was shown: just this is done. */
  plan?: string | null;
  /** Whether the user is asked; without it, unless there is a `plan`. */
  confirm?: boolean | null;
}

/** Which workspace is meant; not needed where only one is open. */
export interface RewindParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** Without it the user is asked. */
  rev?: string | null;
  /** Only the hunks at these lines of the document `uri`: the first from 0, and the one behind the last. */
  lines?: [number, number] | null;
  /** Only `code` for now. */
  scope?: string | null;
  /** The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said. */
  exact?: boolean | null;
  /** URIs, or paths from the root; without them all. */
  paths?: string[];
  /** Ids of hunks, of `backstitch/diff`. */
  hunks?: string[];
  /** Only this session's work. */
  session?: string | null;
  /** `keep` where nothing is said. */
  uncertain?: Uncertain | null;
  /** `fail` where nothing is said. */
  onConflict?: OnConflict | null;
  /** The fingerprint of a plan that was shown: just this is done. */
  plan?: string | null;
  /** Whether the user is asked; without it, unless there is a `plan`. */
  confirm?: boolean | null;
}

/** Newest first. */
export interface SessionsResult {
  sessions: AgentSession[];
}

/** Which workspace is meant; not needed where only one is open. */
export interface ShowDiffParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** `@` where there is none. */
  rev?: string | null;
  /** The disk where there is none. */
  rev2?: string | null;
  /** Instead of both: what this turn changed, and nobody else. */
  turn?: string | null;
}

/** Which workspace is meant; not needed where only one is open. */
export interface ShowTimelineParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
}

/** The rows that were shown, newest first. */
export interface ShowTimelineResult {
  checkpoints: Checkpoint[];
}

/** What became one checkpoint. */
export interface Squashed {
  checkpoints: number;
  turns: number;
  /** Of the oldest of them. */
  since: Time;
  /** By their names. */
  agents: string[];
}

/** How the server stands. */
export interface Status {
  workspace: Text;
  recorder: Recorder;
}

export interface StoreSettings {
  /** Absolute, or from `~/`: the directory of all histories. */
  dir?: string | null;
}

/** Which workspace is meant; not needed where only one is open. */
export interface SwitchParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** Without it the user is asked. */
  branch?: string | null;
  /** Takes the user's own edits along. */
  carry?: boolean;
  /** Only `code` for now. */
  scope?: string | null;
  /** The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said. */
  exact?: boolean | null;
  /** URIs, or paths from the root; without them all. */
  paths?: string[];
  /** Ids of hunks, of `backstitch/diff`. */
  hunks?: string[];
  /** Only this session's work. */
  session?: string | null;
  /** `keep` where nothing is said. */
  uncertain?: Uncertain | null;
  /** `fail` where nothing is said. */
  onConflict?: OnConflict | null;
  /** The fingerprint of a plan that was shown: just this is done. */
  plan?: string | null;
  /** Whether the user is asked; without it, unless there is a `plan`. */
  confirm?: boolean | null;
}

/** Which workspace is meant; not needed where only one is open. */
export interface TagParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** Without it some are offered. */
  name?: string | null;
  /** `@` where there is none. */
  rev?: string | null;
}

export interface TagResult {
  tag: string;
  checkpoint: string;
}

/** A text, or its bytes in Base64 where it is not UTF-8. Paths count from the workspace's root. */
export type Text = string | { bytes: string };

/** RFC 3339, UTC. Null where the clock was out of range. */
export type Time = string | null;

/** The timeline is to be read anew. */
export interface TimelineChanged {
  workspace: Text;
}

/** Which workspace is meant; not needed where only one is open. */
export interface TimelineParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** 200 where nothing is said. */
  limit?: number | null;
  /** Only those older than this checkpoint: the next page. */
  before?: string | null;
  /** The agent's own id of it, or the start of that. */
  session?: string | null;
  agent?: string | null;
  kind?: Kind | null;
  /** All of these words in a prompt, a label or the input of a tool; `wor*` finds every end. */
  text?: string | null;
  branch?: string | null;
  allBranches?: boolean;
}

/** A page of the timeline, newest first. */
export interface TimelineResult {
  /** The root of the workspace, from which paths count. */
  workspace: Text;
  checkpoints: Checkpoint[];
  branches: Branch[];
  head: string | null;
  /** The branch that one is on. */
  branch: string;
  /** There are older ones. */
  more: boolean;
}

/** Which workspace is meant; not needed where only one is open. */
export interface TurnBeginParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** Needed, as is `session`. */
  agent?: string | null;
  session?: string | null;
  prompt?: string;
}

/** Which workspace is meant; not needed where only one is open. */
export interface TurnEndParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** The turn that has begun where nothing is said, if it is the only one; `session` alone names one of several. */
  agent?: string | null;
  session?: string | null;
}

/** What was recorded; null where nothing had to be. */
export interface TurnResult {
  checkpoint: string | null;
}

export type Uncertain = "keep" | "take";

/** Which workspace is meant; not needed where only one is open. */
export interface UndoParams {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
  workspace?: string | null;
  /** Without it, what was done last. */
  op?: string | null;
  /** Only `code` for now. */
  scope?: string | null;
  /** The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said. */
  exact?: boolean | null;
  /** URIs, or paths from the root; without them all. */
  paths?: string[];
  /** Ids of hunks, of `backstitch/diff`. */
  hunks?: string[];
  /** Only this session's work. */
  session?: string | null;
  /** `keep` where nothing is said. */
  uncertain?: Uncertain | null;
  /** `fail` where nothing is said. */
  onConflict?: OnConflict | null;
  /** The fingerprint of a plan that was shown: just this is done. */
  plan?: string | null;
  /** Whether the user is asked; without it, unless there is a `plan`. */
  confirm?: boolean | null;
}

export interface Unsaved {
  path: Text;
  added: number;
  removed: number;
  /** The editor's name. */
  editor: string;
}

/** Which workspace is meant; not needed where only one is open. */
export interface Where {
  /** A document of it. */
  uri?: string | null;
  /** Its root, as a path or URI. */
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
  "backstitch/content": { params: DocumentParams; result: ContentResult };
  "backstitch/blame": { params: DocumentParams; result: BlameResult };
  "backstitch/sessions": { params: Where; result: SessionsResult };
  "backstitch/turnBegin": { params: TurnBeginParams; result: TurnResult };
  "backstitch/applyEdit": { params: ApplyEditParams; result: ApplyEditResult };
  "backstitch/turnEnd": { params: TurnEndParams; result: TurnResult };
}

/** Commands of `workspace/executeCommand`, with their one argument. */
export interface Commands {
  "backstitch.rewind": { params: RewindParams; result: RestoreResult | CommandFailed };
  "backstitch.revert": { params: RevertParams; result: RestoreResult | CommandFailed };
  "backstitch.undo": { params: UndoParams; result: RestoreResult | CommandFailed };
  "backstitch.redo": { params: RedoParams; result: RestoreResult | CommandFailed };
  "backstitch.switch": { params: SwitchParams; result: RestoreResult | CommandFailed };
  "backstitch.fork": { params: ForkParams; result: ForkResult | CommandFailed };
  "backstitch.tag": { params: TagParams; result: TagResult | CommandFailed };
  "backstitch.pin": { params: PinParams; result: PinResult | CommandFailed };
  "backstitch.checkpoint": { params: NewCheckpointParams; result: Checkpoint | CommandFailed };
  "backstitch.diff": { params: ShowDiffParams; result: DiffResult | CommandFailed };
  "backstitch.timeline": { params: ShowTimelineParams; result: ShowTimelineResult | CommandFailed };
}

/** From the server, by method, with their parameters. */
export interface Notifications {
  "backstitch/didCheckpoint": DidCheckpoint;
  "backstitch/didRewind": DidRewind;
  "backstitch/timelineChanged": TimelineChanged;
  "backstitch/status": Status;
}
