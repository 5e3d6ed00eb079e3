---@meta _
-- What Backstitch's language server says beyond LSP; server/docs/protocol.md tells what it means.
-- Made from the types of server/protocol: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo test -p backstitch-protocol

---@class backstitch.Action
---@field path backstitch.Text
---@field action backstitch.ActionKind
---@field from? backstitch.Text
---@field reason? string

---@alias backstitch.ActionKind "write"|"delete"|"create"|"merge"|"chmod"|"skip"

---@class backstitch.AgentSession
---@field session string
---@field agent string
---@field turns backstitch.AgentTurn[] Newest first.

---@class backstitch.AgentTurn
---@field turn string
---@field prompt string
---@field checkpoint string
---@field time backstitch.Time

---What a restore did: its plan, and what came of it.
---@class backstitch.Applied
---@field rev string|nil What was typed.
---@field target string What that means, for people.
---@field scope string
---@field actions backstitch.Action[]
---@field conflicts backstitch.Conflict[]
---@field gaps backstitch.Gap[]
---@field plan string The fingerprint: who hands it back gets just this, or a refusal.
---@field edits? backstitch.DocumentEdit[] Open documents that are changed in the editor.
---@field uncarried? backstitch.Text[] Edits of the user that a switch leaves behind.
---@field nothing? string Why there is nothing to do.
---@field git_head? backstitch.GitMoved Where git's HEAD was elsewhere.
---@field checkpoint string|nil What records it.
---@field operation string|nil
---@field editor? backstitch.EditorAtWork The editor that carried it out, where it was another one.
---@field incomplete? backstitch.Text[] Left alone, since another writer had them.
---@field saved? backstitch.Text[]
---@field not_taken? backstitch.Text[] Documents whose editor did not take their new text.
---@field awaited? backstitch.Text[] Documents whose editor says that it took their text, and has not told of the change yet.

---@class backstitch.ApplyEditParams
---@field edit lsp.WorkspaceEdit
---@field label? string|nil The tool's name.
---@field agent? string|nil The turn that has begun where nothing is said, if it is the only one; `session` alone names one of several.
---@field session? string|nil

---@class backstitch.ApplyEditResult
---@field applied boolean All of it.
---@field checkpoints string[]
---@field notTaken string[] URIs of documents whose editor did not take their new text.

---Who wrote each line of a document as it stands.
---@class backstitch.BlameResult
---@field version integer|nil The document's; null where nothing is known of it.
---@field runs backstitch.BlameRun[]
---@field checkpoints? integer How many checkpoints changed the file; no more than 100 are counted.

---Neighbouring lines of one author.
---@class backstitch.BlameRun
---@field by backstitch.WrittenBy
---@field checkpoint string|nil
---@field time backstitch.Time|nil
---@field agent string|nil
---@field session string|nil
---@field certainty backstitch.Certainty|nil
---@field turn string|nil
---@field prompt string|nil
---@field tool string|nil
---@field iteration integer|nil
---@field start integer The first line, from 0.
---@field count integer

---@class backstitch.Branch
---@field name string
---@field head string|nil
---@field parent string|nil
---@field fork_point string|nil
---@field created backstitch.Time
---@field description string|nil
---@field current boolean
---@field deleted boolean
---@field root backstitch.Text|nil The directory that is on it.

---What is recorded.
---@class backstitch.CaptureSettings
---@field maxFileSize? any A number of bytes, or a text such as `10MB`.
---@field exclude? string[]|nil Patterns of a `.gitignore`, from the workspace's root.
---@field include? string[]|nil Of what is ignored, and recorded all the same.

---@alias backstitch.Certainty "certain"|"uncertain"|"group"

---A file in a checkpoint.
---@class backstitch.Change
---@field path backstitch.Text
---@field kind backstitch.ChangeKind
---@field from? backstitch.Text Where it was before, if that is another place.
---@field added integer Lines.
---@field removed integer
---@field origin backstitch.Origin
---@field binary boolean

---@alias backstitch.ChangeKind "create"|"modify"|"delete"|"rename"|"mode"

---@alias backstitch.ChangedBy "agent"|"user"|"restore"|"unknown"

---@class backstitch.ChangedFile
---@field path backstitch.Text
---@field kind backstitch.ChangeKind
---@field added integer
---@field removed integer
---@field binary boolean
---@field hunks backstitch.Hunk[]
---@field from? backstitch.Text
---@field not_kept? backstitch.NotKept Why a content is not kept, where it is not.

---A node of the history: the state after its own changes.
---@class backstitch.Checkpoint
---@field id string `c12`.
---@field parent string|nil
---@field kind backstitch.Kind
---@field session string|nil The agent's own id of its session.
---@field agent string|nil
---@field turn string|nil `t4`.
---@field iteration integer|nil The number of the tool call in its session.
---@field tool string|nil
---@field subagent string|nil
---@field label string|nil
---@field description? string What whoever made it by hand wrote of it, beside the label.
---@field prompt string|nil
---@field time backstitch.Time
---@field branch string
---@field tags string[]
---@field pinned boolean Kept for good, whatever `gc` removes.
---@field squashed? backstitch.Squashed Where it stands for several that became one with their age.
---@field taken_out boolean It has edits, and none of them is in force any more.
---@field operation backstitch.Operation|nil What made it, where it is a rewind.
---@field git backstitch.GitHead
---@field changes backstitch.Change[]
---@field coverage backstitch.Coverage
---@field unsaved backstitch.Unsaved[] Text that was not saved at that moment.

---Which workspace is meant; not needed where only one is open.
---@class backstitch.CheckpointParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field rev? string Needed.

---A node of the history: the state after its own changes.
---@class backstitch.CheckpointResult
---@field id string `c12`.
---@field parent string|nil
---@field kind backstitch.Kind
---@field session string|nil The agent's own id of its session.
---@field agent string|nil
---@field turn string|nil `t4`.
---@field iteration integer|nil The number of the tool call in its session.
---@field tool string|nil
---@field subagent string|nil
---@field label string|nil
---@field description? string What whoever made it by hand wrote of it, beside the label.
---@field prompt string|nil
---@field time backstitch.Time
---@field branch string
---@field tags string[]
---@field pinned boolean Kept for good, whatever `gc` removes.
---@field squashed? backstitch.Squashed Where it stands for several that became one with their age.
---@field taken_out boolean It has edits, and none of them is in force any more.
---@field operation backstitch.Operation|nil What made it, where it is a rewind.
---@field git backstitch.GitHead
---@field changes backstitch.Change[]
---@field coverage backstitch.Coverage
---@field unsaved backstitch.Unsaved[] Text that was not saved at that moment.
---@field steps backstitch.Checkpoint[] What the agent did in this turn.

---`initializationOptions.backstitch`. Who says nothing gets plain LSP.
---@class backstitch.ClientOptions
---@field reloadsFromDisk? boolean A clean document is read anew when its file changed on disk: it is then written there instead of edited.
---@field contentProvider? boolean Opens `backstitch:` documents, whose content it asks for.
---@field notifications? boolean Wants the notifications, and failures of commands as errors instead of messages.
---@field codeLens? backstitch.Lenses|nil
---@field capture? backstitch.CaptureSettings|nil
---@field restore? backstitch.RestoreSettings|nil
---@field store? backstitch.StoreSettings|nil

---What a command answers clients that did not ask for errors; the user has been told.
---@class backstitch.CommandFailed
---@field error backstitch.FailureTold

---@class backstitch.Conflict
---@field path backstitch.Text
---@field reason string
---@field resolution backstitch.Resolution|nil Null as long as it is open.
---@field hunks backstitch.ConflictHunk[]

---Lines from 0, the end excluded.
---@class backstitch.ConflictHunk
---@field target [integer, integer]
---@field kept [integer, integer]

---@class backstitch.ContentResult
---@field text string

---What a checkpoint could and could not capture: how many paths.
---@class backstitch.Coverage
---@field captured integer
---@field ignored integer
---@field pending boolean A scan goes on; what it finds is not in it yet.
---@field too_large integer
---@field outside integer
---@field unreadable integer
---@field special integer
---@field failed integer
---@field items backstitch.CoverageItem[] What was not captured, by name.

---@class backstitch.CoverageItem
---@field path backstitch.Text
---@field reason backstitch.CoverageReason
---@field detail string

---@alias backstitch.CoverageReason "too_large"|"outside"|"excluded"|"unreadable"|"special"|"failed"

---What any process recorded.
---@class backstitch.DidCheckpoint
---@field workspace backstitch.Text
---@field checkpoint backstitch.Checkpoint

---What any process rewound.
---@class backstitch.DidRewind
---@field workspace backstitch.Text
---@field operation backstitch.Operation
---@field checkpoint string

---Which workspace is meant; not needed where only one is open.
---@class backstitch.DiffParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field from? string Needed.
---@field to? string|nil The disk where there is none, or `disk`; `buffer`: with what open documents have and have not saved.

---What differs between two revisions, or between one and the disk.
---@class backstitch.DiffResult
---@field from string
---@field to string `disk`, or a revision.
---@field files backstitch.ChangedFile[]

---@class backstitch.DocumentEdit
---@field path backstitch.Text
---@field pending boolean The file waits for a save.
---@field replaces? boolean Its text that is not saved is not merged, but makes way.

---A document.
---@class backstitch.DocumentParams
---@field uri string

---A language server at work.
---@class backstitch.EditorAtWork
---@field id integer
---@field name string
---@field pid integer
---@field unsaved backstitch.Text[] Of which files it has text that is not saved.

---An error's `data`.
---@class backstitch.FailureData
---@field kind backstitch.FailureKind
---@field hint string|nil What to do next.
---@field answer backstitch.Plan|nil The plan, where edits collide.

---@alias backstitch.FailureKind "usage"|"not_found"|"refused"|"conflict"|"cancelled"|"store"|"failed"

---@class backstitch.FailureTold
---@field kind backstitch.FailureKind
---@field message string
---@field hint string|nil

---Which workspace is meant; not needed where only one is open.
---@class backstitch.ForkParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field rev? string|nil Without it the user is asked.
---@field name? string|nil One is made up where there is none.
---@field into? string|nil A directory of its own.
---@field switch? boolean Goes there, too.
---@field confirm? boolean|nil Whether to ask where neither a name nor a directory is given; it asks unless this is false.

---@class backstitch.ForkResult
---@field branch backstitch.Branch
---@field into? backstitch.Text The directory that was made.
---@field files? integer
---@field gaps? backstitch.Gap[]

---What a restore does not reach.
---@class backstitch.Gap
---@field path backstitch.Text|nil Null: it is not about one path.
---@field kind backstitch.GapKind
---@field detail string

---@alias backstitch.GapKind "uncertain"|"too_large"|"outside"|"excluded"|"unreadable"|"special"|"failed"|"pending"|"unknown"|"hard_link"|"git_head"|"unsaved"

---Git's HEAD, as its files have it.
---@class backstitch.GitHead
---@field head string|nil
---@field branch string|nil

---@class backstitch.GitMoved
---@field then backstitch.GitHead
---@field now backstitch.GitHead

---Ranges are the first line, from 1, and the count; an empty range stands before that line.
---@class backstitch.Hunk
---@field id string
---@field old [integer, integer]
---@field new [integer, integer]
---@field removed backstitch.Text[]
---@field added backstitch.Text[]
---@field removed_no_newline? boolean The last of these lines has no line end, at the end of the file.
---@field added_no_newline? boolean
---@field words? backstitch.Words Only in answers to `backstitch/diff`.

---@alias backstitch.Kind "turn"|"step"|"manual"|"external"|"rewind"|"squash"|"import"

---@alias backstitch.Lenses "all"|"session"|"latestTurn"|"off"

---Which workspace is meant; not needed where only one is open.
---@class backstitch.NewCheckpointParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field label? string|nil
---@field description? string|nil What it is about, at more length.

---@alias backstitch.NotKept "too_large"|"unreadable"|"special"

---@alias backstitch.OnConflict "fail"|"markers"|"current"|"target"

---@class backstitch.Operation
---@field id string `o3`.
---@field kind backstitch.OperationKind
---@field target string
---@field checkpoint string|nil
---@field of string|nil What an undo or redo is about.
---@field undone_by string|nil
---@field state backstitch.OperationState
---@field detail string What was left undone, and why; empty where nothing was.
---@field files integer
---@field time backstitch.Time

---@alias backstitch.OperationKind "rewind"|"revert"|"undo"|"redo"|"switch"|"fork"|"branch"|"tag"|"save"

---@alias backstitch.OperationState "open"|"done"|"incomplete"|"rolled back"

---Who made a change.
---@class backstitch.Origin
---@field by backstitch.ChangedBy
---@field session string|nil
---@field session_certainty backstitch.Certainty
---@field step_certainty backstitch.Certainty

---Which workspace is meant; not needed where only one is open.
---@class backstitch.PinParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field rev? string|nil `@` where there is none.
---@field pinned? boolean|nil false: it may go with its age again; without it, it is kept for good.

---@class backstitch.PinResult
---@field checkpoint string
---@field pinned boolean

---What a restore would do, without anything touched.
---@class backstitch.Plan
---@field rev string|nil What was typed.
---@field target string What that means, for people.
---@field scope string
---@field actions backstitch.Action[]
---@field conflicts backstitch.Conflict[]
---@field gaps backstitch.Gap[]
---@field plan string The fingerprint: who hands it back gets just this, or a refusal.
---@field edits? backstitch.DocumentEdit[] Open documents that are changed in the editor.
---@field uncarried? backstitch.Text[] Edits of the user that a switch leaves behind.
---@field nothing? string Why there is nothing to do.
---@field git_head? backstitch.GitMoved Where git's HEAD was elsewhere.

---As the command that would do it. One of `rev`, `turn`, `step`, `op`, `undo`, `redo` and `branch` is needed.
---@class backstitch.PlanParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field rev? string|nil
---@field turn? string|nil
---@field step? string|nil
---@field op? string|nil
---@field undo? boolean What was done last is undone.
---@field redo? boolean What was undone last is done again.
---@field texts? boolean|nil Whether the answer is to have the texts of the files.
---@field branch? string|nil
---@field carry? boolean
---@field scope? string|nil Only `code` for now.
---@field exact? boolean|nil The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said.
---@field paths? string[] URIs, or paths from the root; without them all.
---@field hunks? string[] Ids of hunks, of `backstitch/diff`.
---@field session? string|nil Only this session's work.
---@field uncertain? backstitch.Uncertain|nil `keep` where nothing is said.
---@field onConflict? backstitch.OnConflict|nil `fail` where nothing is said.
---@field plan? string|nil The fingerprint of a plan that was shown: just this is done.
---@field confirm? boolean|nil Whether the user is asked; without it, unless there is a `plan`.

---A plan as `backstitch/plan` shows it.
---@class backstitch.PlanResult
---@field rev string|nil What was typed.
---@field target string What that means, for people.
---@field scope string
---@field actions backstitch.Action[]
---@field conflicts backstitch.Conflict[]
---@field gaps backstitch.Gap[]
---@field plan string The fingerprint: who hands it back gets just this, or a refusal.
---@field edits? backstitch.DocumentEdit[] Open documents that are changed in the editor.
---@field uncarried? backstitch.Text[] Edits of the user that a switch leaves behind.
---@field nothing? string Why there is nothing to do.
---@field git_head? backstitch.GitMoved Where git's HEAD was elsewhere.
---@field title string `rewind to t4`.
---@field empty boolean Nothing would be done.
---@field exact boolean The very state: by what was asked for, else by the settings.
---@field texts? backstitch.PlannedText[] Where they were asked for: the files that would change, as far as they are UTF-8 and not too long to be read.

---A file as it is, unsaved text included, and as it would be. Null where there is none.
---@class backstitch.PlannedText
---@field path backstitch.Text
---@field from? backstitch.Text Where it is now, if that is another place.
---@field now string|nil
---@field then string|nil

---Who watches the files of the workspace.
---@alias backstitch.Recorder { state: "waiting" }|{ state: "watching", directories: integer }|{ state: "failed", reason: string }

---Which workspace is meant; not needed where only one is open.
---@class backstitch.RedoParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field scope? string|nil Only `code` for now.
---@field exact? boolean|nil The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said.
---@field paths? string[] URIs, or paths from the root; without them all.
---@field hunks? string[] Ids of hunks, of `backstitch/diff`.
---@field session? string|nil Only this session's work.
---@field uncertain? backstitch.Uncertain|nil `keep` where nothing is said.
---@field onConflict? backstitch.OnConflict|nil `fail` where nothing is said.
---@field plan? string|nil The fingerprint of a plan that was shown: just this is done.
---@field confirm? boolean|nil Whether the user is asked; without it, unless there is a `plan`.

---@alias backstitch.Resolution "markers"|"current"|"target"|"left"

---What was done; or the plan where there was nothing to do.
---@alias backstitch.RestoreResult backstitch.Applied|backstitch.Plan

---@class backstitch.RestoreSettings
---@field default? backstitch.Restoring|nil

---@alias backstitch.Restoring "merge"|"exact"

---Which workspace is meant; not needed where only one is open.
---@class backstitch.RevertParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field turn? string|nil Without it and `step` the user is asked.
---@field step? string|nil
---@field scope? string|nil Only `code` for now.
---@field exact? boolean|nil The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said.
---@field paths? string[] URIs, or paths from the root; without them all.
---@field hunks? string[] Ids of hunks, of `backstitch/diff`.
---@field session? string|nil Only this session's work.
---@field uncertain? backstitch.Uncertain|nil `keep` where nothing is said.
---@field onConflict? backstitch.OnConflict|nil `fail` where nothing is said.
---@field plan? string|nil The fingerprint of a plan that was shown: just this is done.
---@field confirm? boolean|nil Whether the user is asked; without it, unless there is a `plan`.

---Which workspace is meant; not needed where only one is open.
---@class backstitch.RewindParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field rev? string|nil Without it the user is asked.
---@field lines? [integer, integer]|nil Only the hunks at these lines of the document `uri`: the first from 0, and the one behind the last.
---@field scope? string|nil Only `code` for now.
---@field exact? boolean|nil The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said.
---@field paths? string[] URIs, or paths from the root; without them all.
---@field hunks? string[] Ids of hunks, of `backstitch/diff`.
---@field session? string|nil Only this session's work.
---@field uncertain? backstitch.Uncertain|nil `keep` where nothing is said.
---@field onConflict? backstitch.OnConflict|nil `fail` where nothing is said.
---@field plan? string|nil The fingerprint of a plan that was shown: just this is done.
---@field confirm? boolean|nil Whether the user is asked; without it, unless there is a `plan`.

---Newest first.
---@class backstitch.SessionsResult
---@field sessions backstitch.AgentSession[]

---Which workspace is meant; not needed where only one is open.
---@class backstitch.ShowDiffParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field rev? string|nil `@` where there is none.
---@field rev2? string|nil The disk where there is none.
---@field turn? string|nil Instead of both: what this turn changed, and nobody else.

---Which workspace is meant; not needed where only one is open.
---@class backstitch.ShowTimelineParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.

---The rows that were shown, newest first.
---@class backstitch.ShowTimelineResult
---@field checkpoints backstitch.Checkpoint[]

---What became one checkpoint.
---@class backstitch.Squashed
---@field checkpoints integer
---@field turns integer
---@field since backstitch.Time Of the oldest of them.
---@field agents string[] By their names.

---How the server stands.
---@class backstitch.Status
---@field workspace backstitch.Text
---@field recorder backstitch.Recorder

---@class backstitch.StoreSettings
---@field dir? string|nil Absolute, or from `~/`: the directory of all histories.

---Which workspace is meant; not needed where only one is open.
---@class backstitch.SwitchParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field branch? string|nil Without it the user is asked.
---@field carry? boolean Takes the user's own edits along.
---@field scope? string|nil Only `code` for now.
---@field exact? boolean|nil The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said.
---@field paths? string[] URIs, or paths from the root; without them all.
---@field hunks? string[] Ids of hunks, of `backstitch/diff`.
---@field session? string|nil Only this session's work.
---@field uncertain? backstitch.Uncertain|nil `keep` where nothing is said.
---@field onConflict? backstitch.OnConflict|nil `fail` where nothing is said.
---@field plan? string|nil The fingerprint of a plan that was shown: just this is done.
---@field confirm? boolean|nil Whether the user is asked; without it, unless there is a `plan`.

---Which workspace is meant; not needed where only one is open.
---@class backstitch.TagParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field name? string|nil Without it some are offered.
---@field rev? string|nil `@` where there is none.

---@class backstitch.TagResult
---@field tag string
---@field checkpoint string

---A text, or its bytes in Base64 where it is not UTF-8. Paths count from the workspace's root.
---@alias backstitch.Text string|{ bytes: string }

---RFC 3339, UTC. Null where the clock was out of range.
---@alias backstitch.Time string|nil

---The timeline is to be read anew.
---@class backstitch.TimelineChanged
---@field workspace backstitch.Text

---Which workspace is meant; not needed where only one is open.
---@class backstitch.TimelineParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field limit? integer|nil 200 where nothing is said.
---@field before? string|nil Only those older than this checkpoint: the next page.
---@field session? string|nil The agent's own id of it, or the start of that.
---@field agent? string|nil
---@field kind? backstitch.Kind|nil
---@field text? string|nil All of these words in a prompt, a label or the input of a tool; `wor*` finds every end.
---@field branch? string|nil
---@field allBranches? boolean

---A page of the timeline, newest first.
---@class backstitch.TimelineResult
---@field workspace backstitch.Text The root of the workspace, from which paths count.
---@field checkpoints backstitch.Checkpoint[]
---@field branches backstitch.Branch[]
---@field head string|nil
---@field branch string The branch that one is on.
---@field more boolean There are older ones.

---Which workspace is meant; not needed where only one is open.
---@class backstitch.TurnBeginParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field agent? string|nil Needed, as is `session`.
---@field session? string|nil
---@field prompt? string

---Which workspace is meant; not needed where only one is open.
---@class backstitch.TurnEndParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field agent? string|nil The turn that has begun where nothing is said, if it is the only one; `session` alone names one of several.
---@field session? string|nil

---What was recorded; null where nothing had to be.
---@class backstitch.TurnResult
---@field checkpoint string|nil

---@alias backstitch.Uncertain "keep"|"take"

---Which workspace is meant; not needed where only one is open.
---@class backstitch.UndoParams
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.
---@field op? string|nil Without it, what was done last.
---@field scope? string|nil Only `code` for now.
---@field exact? boolean|nil The very state, with what the user wrote since taken out, too; `restore.default` where nothing is said.
---@field paths? string[] URIs, or paths from the root; without them all.
---@field hunks? string[] Ids of hunks, of `backstitch/diff`.
---@field session? string|nil Only this session's work.
---@field uncertain? backstitch.Uncertain|nil `keep` where nothing is said.
---@field onConflict? backstitch.OnConflict|nil `fail` where nothing is said.
---@field plan? string|nil The fingerprint of a plan that was shown: just this is done.
---@field confirm? boolean|nil Whether the user is asked; without it, unless there is a `plan`.

---@class backstitch.Unsaved
---@field path backstitch.Text
---@field added integer
---@field removed integer
---@field editor string The editor's name.

---Which workspace is meant; not needed where only one is open.
---@class backstitch.Where
---@field uri? string|nil A document of it.
---@field workspace? string|nil Its root, as a path or URI.

---The words that differ: line from 0 in its side of the hunk, start and end in the client's units.
---@class backstitch.Words
---@field removed [integer, integer, integer][]
---@field added [integer, integer, integer][]

---@alias backstitch.WrittenBy "agent"|"user"|"unknown"|"unsaved"|"before"

---@class backstitch.Requests
---@field ["backstitch/timeline"] { params: backstitch.TimelineParams, result: backstitch.TimelineResult }
---@field ["backstitch/checkpoint"] { params: backstitch.CheckpointParams, result: backstitch.CheckpointResult }
---@field ["backstitch/diff"] { params: backstitch.DiffParams, result: backstitch.DiffResult }
---@field ["backstitch/plan"] { params: backstitch.PlanParams, result: backstitch.PlanResult }
---@field ["backstitch/content"] { params: backstitch.DocumentParams, result: backstitch.ContentResult }
---@field ["backstitch/blame"] { params: backstitch.DocumentParams, result: backstitch.BlameResult }
---@field ["backstitch/sessions"] { params: backstitch.Where, result: backstitch.SessionsResult }
---@field ["backstitch/turnBegin"] { params: backstitch.TurnBeginParams, result: backstitch.TurnResult }
---@field ["backstitch/applyEdit"] { params: backstitch.ApplyEditParams, result: backstitch.ApplyEditResult }
---@field ["backstitch/turnEnd"] { params: backstitch.TurnEndParams, result: backstitch.TurnResult }

---@class backstitch.Commands
---@field ["backstitch.rewind"] { params: backstitch.RewindParams, result: backstitch.RestoreResult|backstitch.CommandFailed }
---@field ["backstitch.revert"] { params: backstitch.RevertParams, result: backstitch.RestoreResult|backstitch.CommandFailed }
---@field ["backstitch.undo"] { params: backstitch.UndoParams, result: backstitch.RestoreResult|backstitch.CommandFailed }
---@field ["backstitch.redo"] { params: backstitch.RedoParams, result: backstitch.RestoreResult|backstitch.CommandFailed }
---@field ["backstitch.switch"] { params: backstitch.SwitchParams, result: backstitch.RestoreResult|backstitch.CommandFailed }
---@field ["backstitch.fork"] { params: backstitch.ForkParams, result: backstitch.ForkResult|backstitch.CommandFailed }
---@field ["backstitch.tag"] { params: backstitch.TagParams, result: backstitch.TagResult|backstitch.CommandFailed }
---@field ["backstitch.pin"] { params: backstitch.PinParams, result: backstitch.PinResult|backstitch.CommandFailed }
---@field ["backstitch.checkpoint"] { params: backstitch.NewCheckpointParams, result: backstitch.Checkpoint|backstitch.CommandFailed }
---@field ["backstitch.diff"] { params: backstitch.ShowDiffParams, result: backstitch.DiffResult|backstitch.CommandFailed }
---@field ["backstitch.timeline"] { params: backstitch.ShowTimelineParams, result: backstitch.ShowTimelineResult|backstitch.CommandFailed }

---@class backstitch.Notifications
---@field ["backstitch/didCheckpoint"] backstitch.DidCheckpoint
---@field ["backstitch/didRewind"] backstitch.DidRewind
---@field ["backstitch/timelineChanged"] backstitch.TimelineChanged
---@field ["backstitch/status"] backstitch.Status
