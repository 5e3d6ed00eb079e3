-- Types and names of Backstitch's protocol beyond LSP; server/docs/protocol.md describes it.
-- Generated from the types of server/protocol: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo test -p backstitch-protocol

---@class backstitch.Action
---@field path backstitch.Text
---@field action backstitch.ActionKind
---@field letter string|nil Change of the file as git writes it: `A`, `M`, `D`, `R` or `T` (the mode). Null if it is skipped.
---@field from? backstitch.Text The current path, if the file is renamed.
---@field added integer|nil Number of lines. Null if the file is binary, or a content is not known.
---@field removed integer|nil
---@field unsaved? string Name of an editor that has unsaved text of the file.
---@field reason? string

---@alias backstitch.ActionKind "write"|"delete"|"create"|"merge"|"chmod"|"skip"

---@class backstitch.AddBreakpointParams
---@field kind string A kind of `backstitch breakpoint add`, for example `path`.
---@field spec {  } The parameters of the kind: as a person types them, or as in `Breakpoint`.
---@field at? string|nil `before` or `after` the call. The default is the usual moment of the kind.
---@field agent? string|nil
---@field session? string|nil
---@field subagent? string|nil
---@field when? string|nil Condition in jq.
---@field hits? string|nil Condition on the number of triggers: `>= 3`, `== 2`, `% 5`.
---@field action? string|nil `pause`, `log` or `deny`. The default is `pause`.
---@field message? string|nil Text for the model, or of the log.
---@field once? boolean|nil
---@field unattended? string|nil `ask`, `hold`, `deny` or `allow`: the outcome if nobody sees it. The default is the setting.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A session of an agent that works on a prompt.
---@class backstitch.AgentAtWork
---@field agent string
---@field letter string Letter of the session.
---@field since backstitch.Time Time of the prompt.
---@field until backstitch.Time Time from which on it does not count as working, unless it reports until then.

---@class backstitch.AgentSession
---@field session string
---@field letter string `A` for the first session of the workspace.
---@field agent string
---@field turns backstitch.AgentTurn[] Turns, newest first.

---@class backstitch.AgentTurn
---@field turn string
---@field prompt string
---@field checkpoint string
---@field time backstitch.Time

---A restore that was applied: its plan and its outcome.
---@class backstitch.Applied
---@field rev string|nil The revision as it was typed.
---@field target string The target, for people.
---@field scope string
---@field actions backstitch.Action[]
---@field conflicts backstitch.Conflict[]
---@field gaps backstitch.Gap[]
---@field takes backstitch.PlannedTurn[] Turns whose edits are undone, or done again by the undo of a rewind; newest first.
---@field brings_back? boolean True if the edits of `takes` are done again.
---@field stays backstitch.PlannedTurn[] Later turns whose edits stay; newest first.
---@field own_edits backstitch.Text[] Changed files in which later edits of the user stay.
---@field plan string Fingerprint. A restore that passes it applies exactly this plan, or is refused.
---@field edits? backstitch.DocumentEdit[] Open documents that are edited in the editor.
---@field uncarried? backstitch.Text[] The user's edits that a switch leaves behind.
---@field nothing? string Reason why there is nothing to do.
---@field git_head? backstitch.GitMoved Set if git's HEAD was at another commit or branch.
---@field conversation? backstitch.PlannedConversation The agent's conversation that goes back with the files, or alone.
---@field checkpoint string|nil The checkpoint that records the restore.
---@field operation string|nil
---@field editor? backstitch.EditorAtWork The editor that applied it, if it was another process.
---@field incomplete? backstitch.Text[] Files that were skipped because another process wrote to them.
---@field saved? backstitch.Text[]
---@field not_taken? backstitch.Text[] Documents whose editor did not apply their new text.
---@field awaited? backstitch.Text[] Documents whose editor has confirmed the edit but not sent the change yet.

---@class backstitch.ApplyEditParams
---@field agent? string|nil The default is the turn that has begun, if it is the only one. `session` alone names one of several.
---@field session? string|nil
---@field label? string|nil The tool's name.
---@field edit lsp.WorkspaceEdit
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.ApplyEditResult
---@field applied boolean True if every document took its part of the edit.
---@field checkpoints string[]
---@field notTaken string[] URIs of documents whose editor did not apply their new text.

---@class backstitch.BackParams
---@field pause? string|nil
---@field steps? integer|nil Number of steps. The default is 1.
---@field onConflict? backstitch.OnConflict|nil The default is `fail`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---Author of each line of a document, unsaved text included.
---@class backstitch.BlameResult
---@field version integer|nil Version of the document; null if it has no recorded history.
---@field runs backstitch.BlameRun[]
---@field checkpoints? integer Number of checkpoints that changed the file, at most 100.

---Neighbouring lines with the same author.
---@class backstitch.BlameRun
---@field by backstitch.WrittenBy
---@field checkpoint string|nil
---@field time backstitch.Time|nil
---@field agent string|nil
---@field session string|nil
---@field letter string|nil Letter of the session.
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
---@field root backstitch.Text|nil The directory that has this branch checked out.

---A breakpoint.
---@class backstitch.Breakpoint
---@field id string For example `b3`.
---@field name string `bp_<milliseconds>_<4 letters>`.
---@field kind string A kind of the table in `control.md`, or `step` for the breakpoint that a step sets.
---@field spec any The parameters of the kind.
---@field summary string The parameters in one line.
---@field at string `before` or `after` the call.
---@field scope any `agent`, `session` and `subagent`, as far as they are set.
---@field when string|nil Condition in jq.
---@field hits string|nil Condition on the number of triggers: `>= 3`.
---@field action string `pause`, `log` or `deny`.
---@field message string|nil
---@field once boolean
---@field enabled boolean
---@field hitCount integer
---@field problem string|nil The last failure of its condition.
---@field region? backstitch.Region The lines of a `line` breakpoint as they stand now. Only in `backstitch/breakpoints`.
---@field created backstitch.Time

---@class backstitch.BreakpointParams
---@field breakpoint string For example `b3`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.BreakpointResult
---@field breakpoint backstitch.Breakpoint
---@field remarks? string[] Remarks on a new one, for people: the files of its pattern, and the limits of its kind.

---`backstitch/breakpointsChanged`.
---@class backstitch.BreakpointsChanged
---@field workspace backstitch.Text
---@field seq integer

---All breakpoints in the order in which they were made.
---@class backstitch.BreakpointsResult
---@field seq integer Number of the newest commit of breakpoints and pauses.
---@field breakpoints backstitch.Breakpoint[]

---A file that a held call would write.
---@class backstitch.CallFile
---@field path backstitch.Text As in `PredictedFile`, as are the others.
---@field movedFrom backstitch.Text|nil
---@field letter string
---@field added integer|nil Lines. Null: binary, or too large.
---@field removed integer|nil
---@field binary boolean
---@field fails boolean True: the tool will refuse the call.

---@class backstitch.CallsParams
---@field process? integer|nil Number of a program. The default is all.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---The newest program first.
---@class backstitch.CallsResult
---@field programs backstitch.Program[]

---Which files are recorded.
---@class backstitch.CaptureSettings
---@field maxFileSize? any A number of bytes, or a text such as `10MB`.
---@field exclude? string[]|nil Patterns as in a `.gitignore`, relative to the workspace root.
---@field include? string[]|nil Patterns of ignored files that are recorded all the same.

---@alias backstitch.Certainty "certain"|"uncertain"|"group"

---A changed file of a checkpoint.
---@class backstitch.Change
---@field path backstitch.Text
---@field kind backstitch.ChangeKind
---@field from? backstitch.Text The previous path, if the file was renamed.
---@field added integer Number of lines.
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
---@field not_kept? backstitch.NotKept Reason why a content was not captured.
---@field shown? string Only in answers to `backstitch/diff`: names the recorded state, for `backstitch/review`.
---@field kept? boolean True if the user has kept all of these changes.

---Sent when an agent changed a file on disk whose document has unsaved text, and when it renamed the file of a document.
---@class backstitch.ChangedOnDisk
---@field workspace backstitch.Text
---@field uri string The document.
---@field agent string|nil
---@field checkpoint string The checkpoint of the change. It keeps the unsaved text.
---@field conflicts integer Conflicts of a merge into the unsaved text. 0 if there are none, or if the file is no longer there.
---@field unsaved boolean True if the document has unsaved text.
---@field renamedTo? string The file's new URI, if the agent renamed it.
---@field deleted? boolean True if the agent deleted the file.

---A node of the history: the state after its own changes.
---@class backstitch.Checkpoint
---@field id string For example `c12`.
---@field parent string|nil
---@field kind backstitch.Kind
---@field session string|nil The agent's own id of its session.
---@field letter string|nil Letter of the session: `A` for the first one of the workspace.
---@field agent string|nil
---@field turn string|nil For example `t4`.
---@field iteration integer|nil The number of the tool call in its session.
---@field tool string|nil
---@field summary? string The work of a step in one line: the agent's description of a shell command, or the command.
---@field command? string The shell command of a step.
---@field failed? boolean True if the agent reported that the tool call failed.
---@field exit? integer Exit status of the shell command, where the agent reports it.
---@field subagent string|nil
---@field label string|nil
---@field description? string Longer description of a checkpoint that was made by hand, in addition to the label.
---@field prompt string|nil
---@field time backstitch.Time
---@field branch string
---@field tags string[]
---@field pinned boolean True if `gc` never removes it.
---@field squashed? backstitch.Squashed Set if it stands for several old checkpoints that `gc` squashed.
---@field taken_out boolean True if it has edits and all of them are undone.
---@field operation backstitch.Operation|nil The operation that made it, such as a rewind.
---@field git backstitch.GitHead
---@field changes backstitch.Change[]
---@field coverage backstitch.Coverage
---@field unsaved backstitch.Unsaved[] Text that was not saved at that moment.

---@class backstitch.CheckpointParams
---@field rev string
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A node of the history: the state after its own changes.
---@class backstitch.CheckpointResult
---@field id string For example `c12`.
---@field parent string|nil
---@field kind backstitch.Kind
---@field session string|nil The agent's own id of its session.
---@field letter string|nil Letter of the session: `A` for the first one of the workspace.
---@field agent string|nil
---@field turn string|nil For example `t4`.
---@field iteration integer|nil The number of the tool call in its session.
---@field tool string|nil
---@field summary? string The work of a step in one line: the agent's description of a shell command, or the command.
---@field command? string The shell command of a step.
---@field failed? boolean True if the agent reported that the tool call failed.
---@field exit? integer Exit status of the shell command, where the agent reports it.
---@field subagent string|nil
---@field label string|nil
---@field description? string Longer description of a checkpoint that was made by hand, in addition to the label.
---@field prompt string|nil
---@field time backstitch.Time
---@field branch string
---@field tags string[]
---@field pinned boolean True if `gc` never removes it.
---@field squashed? backstitch.Squashed Set if it stands for several old checkpoints that `gc` squashed.
---@field taken_out boolean True if it has edits and all of them are undone.
---@field operation backstitch.Operation|nil The operation that made it, such as a rewind.
---@field git backstitch.GitHead
---@field changes backstitch.Change[]
---@field coverage backstitch.Coverage
---@field unsaved backstitch.Unsaved[] Text that was not saved at that moment.
---@field steps backstitch.Checkpoint[] The agent's steps in this turn.

---`initializationOptions.backstitch`. A client that leaves it out gets plain LSP.
---@class backstitch.ClientOptions
---@field reloadsFromDisk? boolean The client reloads a document without unsaved text when its file changes on disk. Such a file is then written on disk instead of edited in the client.
---@field contentProvider? boolean The client opens `backstitch:` documents and requests their content.
---@field notifications? boolean The client wants the notifications, and failures of commands as errors instead of messages.
---@field panels? boolean|nil The client shows held calls to the user.
---@field lensForm? backstitch.LensForm|nil Form of the lenses. The default is `full`.
---@field codeActions? backstitch.CodeActions|nil Code actions that are offered. The default is `all`.
---@field hover? backstitch.Hovers|nil Lines that have a hover. The default is `all`.
---@field codeLens? backstitch.Lenses|nil
---@field capture? backstitch.CaptureSettings|nil
---@field restore? backstitch.RestoreSettings|nil
---@field store? backstitch.StoreSettings|nil

---Code actions: `all`, or three on lines that an agent wrote: for these lines, this file and this turn.
---@alias backstitch.CodeActions "all"|"agentLines"

---Answer to a command for clients that did not ask for errors. The user has already seen the message.
---@class backstitch.CommandFailed
---@field error backstitch.FailureMessage

---@class backstitch.Conflict
---@field path backstitch.Text
---@field reason string
---@field resolution backstitch.Resolution|nil Null if the conflict is not resolved.
---@field hunks backstitch.ConflictHunk[]

---Ranges of lines from 0, end excluded.
---@class backstitch.ConflictHunk
---@field target [integer, integer]
---@field kept [integer, integer]

---A `backstitch:` document.
---@class backstitch.ContentParams
---@field uri string
---@field workspace? string|nil Not used: the document names its workspace.
---@field kept? boolean|nil True: with the changes since that the user kept.
---@field unsaved? integer|nil The text that an editor had not saved instead, by its number among those of this file: 1 for the first one in `unsaved` of the checkpoint.

---@class backstitch.ContentResult
---@field text string
---@field kept? boolean True if the text has changes that the user kept.
---@field deleted? boolean True if the user kept the deletion of the file.

---@class backstitch.ConversationParams
---@field rev? string|nil The turn before which it ends. The default is the newest conversation.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A conversation that was made alone.
---@class backstitch.ConversationResult
---@field conversation backstitch.PlannedConversation

---Number of paths that a checkpoint captured and did not capture.
---@class backstitch.Coverage
---@field captured integer
---@field ignored integer
---@field pending boolean True if a scan is still running. Its results are not counted yet.
---@field too_large integer
---@field outside integer
---@field unreadable integer
---@field special integer
---@field failed integer
---@field items backstitch.CoverageItem[] Paths that were not captured.

---@class backstitch.CoverageItem
---@field path backstitch.Text
---@field reason backstitch.CoverageReason
---@field detail string

---@alias backstitch.CoverageReason "too_large"|"outside"|"excluded"|"unreadable"|"special"|"failed"|"version_control"|"ignored"

---Answer to a decision.
---@class backstitch.DecisionResult
---@field pause backstitch.Pause
---@field outcome string As in `Pause`.

---Sent when any process recorded a checkpoint.
---@class backstitch.DidCheckpoint
---@field workspace backstitch.Text
---@field checkpoint backstitch.Checkpoint

---Sent when any process created a branch: its name, parent and fork point.
---@class backstitch.DidFork
---@field workspace backstitch.Text
---@field branch backstitch.Branch

---`backstitch/didHit`.
---@class backstitch.DidHit
---@field workspace backstitch.Text
---@field seq integer
---@field hit backstitch.Hit

---`backstitch/didPause`: a call is held.
---@class backstitch.DidPause
---@field workspace backstitch.Text
---@field seq integer
---@field pause backstitch.Pause

---`backstitch/didResume`: a call is no longer held.
---@class backstitch.DidResume
---@field workspace backstitch.Text
---@field seq integer
---@field pause backstitch.Pause
---@field outcome string As in `Pause`.
---@field by string|nil

---Sent when any process rewound files.
---@class backstitch.DidRewind
---@field workspace backstitch.Text
---@field operation backstitch.Operation
---@field checkpoint string
---@field conversation? backstitch.ListedConversation The agent's conversation that went back with the files.

---Sent when the workspace was switched to another branch, also by an undo.
---@class backstitch.DidSwitch
---@field workspace backstitch.Text
---@field branch backstitch.Branch
---@field iteration integer|nil Number of the tool call in its session, if the newest checkpoint of the branch is a step.

---Restricted to one file if `uri` is given.
---@class backstitch.DiffParams
---@field from string
---@field to? string|nil A revision, `disk`, or `buffer`: the disk with the unsaved text of open documents. The default is `disk`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---Differences between two revisions, or between a revision and the disk.
---@class backstitch.DiffResult
---@field from string
---@field to string `disk`, or a revision.
---@field files backstitch.ChangedFile[]

---@class backstitch.DocumentEdit
---@field path backstitch.Text
---@field pending boolean True if the file is written when the document is saved.
---@field replaces? boolean True if its unsaved text is replaced instead of merged.

---A document.
---@class backstitch.DocumentParams
---@field uri string
---@field workspace? string|nil Not used: the document names its workspace.

---Sets the input with which a held call runs, for all who see it. Without one: back to the agent's own.
---@class backstitch.DraftParams
---@field pause string
---@field input? any As in `backstitch/predict`, as are the others.
---@field inputText? string|nil
---@field then? backstitch.WantedText[]|nil
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---Fields that are left out stay. An empty text clears its field.
---@class backstitch.EditBreakpointParams
---@field breakpoint string For example `b3`.
---@field when? string|nil
---@field hits? string|nil
---@field action? string|nil
---@field message? string|nil
---@field once? boolean|nil
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A running language server.
---@class backstitch.EditorAtWork
---@field id integer
---@field name string
---@field pid integer
---@field unsaved backstitch.Text[] Files of which it has unsaved text.

---The `data` of an error.
---@class backstitch.FailureData
---@field kind backstitch.FailureKind
---@field hint string|nil The next step for the user.
---@field answer backstitch.Plan|nil The plan, if there are conflicts.
---@field conflicts? backstitch.Conflict[] The conflicts, if there is no plan.
---@field offers? backstitch.Offer[] Next steps, for buttons.

---@alias backstitch.FailureKind "usage"|"not_found"|"refused"|"conflict"|"cancelled"|"store"|"failed"|"unknown_pause"|"session_closed"|"already_resumed"|"stale"|"missing_field"|"unknown_session"|"eval_timeout"

---@class backstitch.FailureMessage
---@field kind backstitch.FailureKind
---@field message string
---@field hint string|nil

---@class backstitch.ForkParams
---@field rev? string|nil Asks the user if left out.
---@field name? string|nil A name is generated if left out.
---@field into? string|nil Directory for a separate copy of the files.
---@field switch? boolean|nil Switches to the new branch, too.
---@field scope? string|nil `code` (the default) or `both`: the agent's conversation is forked, too.
---@field confirm? boolean|nil Asks the user if neither a name nor a directory is given. The default is true.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.ForkResult
---@field branch backstitch.Branch
---@field into? backstitch.Text The directory that was created.
---@field files? integer
---@field gaps? backstitch.Gap[]
---@field conversation? backstitch.PlannedConversation

---@class backstitch.Frame
---@field kind string `session`, `turn`, `subagent` or `call`.
---@field name string
---@field held boolean The frame that is held.

---A call of a function that a program watches.
---@class backstitch.FunctionCall
---@field id integer
---@field parent integer|nil Number of the call that made it.
---@field function string
---@field kind string `inline` or `proxy`.
---@field thread string
---@field args any Views of the arguments.
---@field started backstitch.Time
---@field ended backstitch.Time|nil
---@field outcome string|nil `returned`, `raised` or `skipped`. Null: not over.
---@field result any View of the result.
---@field replSessions string[] Ids of its REPL sessions.

---A part of the target state that a restore does not cover.
---@class backstitch.Gap
---@field path backstitch.Text|nil Null if the gap is not about one path.
---@field kind backstitch.GapKind
---@field detail string

---@alias backstitch.GapKind "uncertain"|"too_large"|"outside"|"excluded"|"unreadable"|"special"|"failed"|"pending"|"unknown"|"hard_link"|"git_head"|"unsaved"|"attributes"|"directory"|"version_control"|"ignored"

---Git's HEAD, as read from its files.
---@class backstitch.GitHead
---@field head string|nil
---@field branch string|nil

---@class backstitch.GitMoved
---@field then backstitch.GitHead
---@field now backstitch.GitHead

---@class backstitch.HeldParams
---@field pause? string|nil
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A trigger of a breakpoint that only logs.
---@class backstitch.Hit
---@field breakpoint string
---@field kind string As in `Breakpoint`.
---@field summary string|nil As in `Breakpoint`, as is `when`. Null: it is gone by now.
---@field when string|nil
---@field agent string
---@field session string
---@field tool string
---@field why string
---@field text string
---@field time backstitch.Time

---Lines with a hover: all that have a known author, those of agents, or none.
---@alias backstitch.Hovers "all"|"agent"|"off"

---A hunk. A range is its first line, from 1, and its line count; an empty range stands before that line.
---@class backstitch.Hunk
---@field id string
---@field old [integer, integer]
---@field new [integer, integer]
---@field removed backstitch.Text[]
---@field added backstitch.Text[]
---@field removed_no_newline? boolean True if the last of these lines ends the file and has no newline.
---@field added_no_newline? boolean
---@field words? backstitch.Words Present only in answers to `backstitch/diff`.
---@field kept? boolean True if the user has kept this change.

---@class backstitch.InjectParams
---@field text string Text for the model. It goes with the next event that can carry it.
---@field pause? string|nil The session of this held call.
---@field session? string|nil The default is any session.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.InjectResult
---@field injected boolean

---@alias backstitch.Kind "turn"|"step"|"manual"|"external"|"rewind"|"squash"|"import"

---The newest conversation that was made. Null: there is none.
---@class backstitch.LastConversation
---@field conversation backstitch.ListedConversation|nil

---Form of the lenses: `full` names each turn above each of its runs of lines; `short` has `Revert turn`, `Revert here` and `Diff` above the first run of each turn in a file.
---@alias backstitch.LensForm "full"|"short"

---@alias backstitch.Lenses "all"|"session"|"latestTurn"|"off"

---A new session of an agent that was made.
---@class backstitch.ListedConversation
---@field agent string
---@field session string
---@field turn string
---@field prompt string
---@field how string Place of the cut, for people: `before`, `summary from`, `summary up to`.
---@field branch string|nil The branch that was created with it.
---@field summary string|nil
---@field used boolean True if the agent has reported an event of it.
---@field operation string|nil The restore of the files that belongs to it.
---@field new string|nil The agent's own id of the new session. Null: the agent begins one by itself.
---@field argv string[] The command line that opens it. It is never given to a shell.
---@field cwd backstitch.Text
---@field prefilled boolean

---The default of `uri` is the only document with unsaved text whose file changed on disk.
---@class backstitch.MergeParams
---@field onConflict? backstitch.OnConflict|nil The default is `fail`. `current` keeps the lines of the document, `target` takes those on disk.
---@field merged? string|nil Text of the file that the client has already merged into the document itself. It becomes the base of the unsaved text, and nothing else is done.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---Result of merging a change on disk into unsaved text.
---@class backstitch.MergeResult
---@field uri string The document.
---@field merged boolean False if there was nothing to merge.
---@field conflicts integer Conflicts, decided as `onConflict` says.

---@class backstitch.NewCheckpointParams
---@field label? string|nil
---@field description? string|nil A longer description.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@alias backstitch.NotKept "too_large"|"unreadable"|"special"

---@class backstitch.ObjectParams
---@field cid string Content id: `sha256:<hash>`.
---@field save? string|nil Path of a file to which the bytes are written. They are not interpreted.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A stored value, as its program described it. Nothing of it is interpreted.
---@class backstitch.ObjectResult
---@field cid string
---@field size integer In bytes.
---@field view any `type`, `repr`, and possibly `length` and `fields`.
---@field text string The view in lines, as a person reads it.

---A next step that a command takes.
---@class backstitch.Offer
---@field title string For example `Rewind Last Turn`.
---@field command string
---@field arguments any The command's one argument.

---@alias backstitch.OnConflict "fail"|"markers"|"current"|"target"

---@class backstitch.Operation
---@field id string For example `o3`.
---@field kind backstitch.OperationKind
---@field target string
---@field title string For people: `rewind to before “Add a cart”`.
---@field checkpoint string|nil
---@field of string|nil The operation that this undo or redo reverses.
---@field undone_by string|nil
---@field state backstitch.OperationState
---@field detail string Reason why parts were left undone; empty if none were.
---@field files integer
---@field time backstitch.Time

---@alias backstitch.OperationKind "rewind"|"revert"|"undo"|"redo"|"switch"|"fork"|"branch"|"tag"|"save"

---@alias backstitch.OperationState "open"|"done"|"incomplete"|"rolled back"

---Author of a change.
---@class backstitch.Origin
---@field by backstitch.ChangedBy
---@field session string|nil
---@field session_certainty backstitch.Certainty
---@field step_certainty backstitch.Certainty

---A call that is, or was, held.
---@class backstitch.Pause
---@field id string For example `p7`.
---@field by string The holder: `call`, `program`, or `proposal` for a rewind that an agent proposes.
---@field at string `before` or `after` the call.
---@field breakpoint string|nil
---@field hit backstitch.PauseHit|nil That breakpoint as it was when it held the call. Null: none did, or an older version noted it.
---@field why string The reason in words.
---@field agent string
---@field session string
---@field letter string|nil Letter of the session, as in the timeline: `A`. Null: the history does not have it yet.
---@field turn string|nil For example `t4`.
---@field prompt string|nil
---@field subagent string|nil
---@field iteration integer|nil
---@field tool string
---@field summary string The call in one line, with all its files: `apply_patch: M app.js, A mod/extra.js, D n.ipynb`, or, if they are many, `apply_patch: app.js +3 files (1 A, 2 M, 1 D)`.
---@field files backstitch.CallFile[] The files that it would write with the input that runs. Empty where nothing is predicted. A call that is over has them as they were shown last.
---@field names string[] Paths that it names.
---@field error string|nil The error of a call that has failed.
---@field changedBy string|nil The front end in which its input was changed. Null: it runs as the agent gave it.
---@field fingerprint string|nil Names the input that runs, and the files as they are now. Null: it is over.
---@field root backstitch.Text Root of the directory that the agent works in.
---@field made backstitch.Time
---@field until backstitch.Time|nil The agent's own limit.
---@field state string `held`, `decided`, `answered`, `parked`, `used`, `expired`, `handed`, `ended`, `lost` or `slipped`.
---@field outcome string|nil `continued`, `changed`, `denied`, `skipped`, `stopped`, `back`, `asked`, `timedOut`, `parked`, `ended`, `lost` or `slipped`. Null: not over.
---@field decidedBy string|nil The client that decided, or the rule.
---@field can string[] Decisions that the agent can receive now: `continue`, `deny`, `skip`, `replace`, `change`, `stop`, `inject`, `ask`, `back`. A proposed rewind has `rewind` and `deny`. Steps need `continue`. Empty: it is decided, or over.

---`backstitch/pauseChanged`: the input of a held call was changed, or a call that its agent tries again was decided.
---@class backstitch.PauseChanged
---@field workspace backstitch.Text
---@field seq integer
---@field pause backstitch.Pause

---A held call with everything that a person decides by.
---@class backstitch.PauseDetails
---@field seq integer
---@field pause backstitch.Pause
---@field input any Input of the tool that runs, if the call is resumed: as a user changed it, else the agent's own.
---@field inputText string The same as a JSON text, with the order and the numbers of the agent. Editors that cannot keep these edit it.
---@field command string|nil Text of its shell command. Null: its tool is not a shell.
---@field ownInput any The agent's own input, if it was changed.
---@field problem string|nil The reason why the changed input is not sent without `force`. Null: it is.
---@field output any Output of a call that has run, as its agent reports it.
---@field plan backstitch.ProposedPlan|nil The plan of a proposed rewind.
---@field cwd backstitch.Text|nil
---@field predicted backstitch.PredictedFile[] The files that the call would write.
---@field unpredicted backstitch.Unpredicted|nil The reason why nothing is predicted, and the paths that the input may mean.
---@field fingerprint string Names the input and the files as they are shown here.
---@field stack backstitch.Frame[] The places that the call stands in, the outermost first: session, turn, subagent, call.
---@field recent backstitch.Checkpoint[] The last checkpoints of the session, newest first; at most 20.
---@field others string[] Other calls that are held, and agents that are at work meanwhile.

---@class backstitch.PauseDetailsParams
---@field pause string For example `p7`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A breakpoint at the moment at which it held a call.
---@class backstitch.PauseHit
---@field kind string As in `Breakpoint`.
---@field summary string Its parameters in one line.
---@field when string|nil Its condition in jq.
---@field hits string|nil Its condition on the number of triggers.

---@class backstitch.PauseParams
---@field session? string|nil The default is any session.
---@field all? boolean|nil True: calls of subagents, too.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.PausesParams
---@field all? boolean|nil True: with those that are over.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.PausesResult
---@field seq integer
---@field pauses backstitch.Pause[]

---@class backstitch.PinParams
---@field rev? string|nil The default is `@`.
---@field pinned? boolean|nil false: `gc` may remove it when it is old. The default is true.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.PinResult
---@field checkpoint string
---@field pinned boolean

---A restore plan; no file has been touched.
---@class backstitch.Plan
---@field rev string|nil The revision as it was typed.
---@field target string The target, for people.
---@field scope string
---@field actions backstitch.Action[]
---@field conflicts backstitch.Conflict[]
---@field gaps backstitch.Gap[]
---@field takes backstitch.PlannedTurn[] Turns whose edits are undone, or done again by the undo of a rewind; newest first.
---@field brings_back? boolean True if the edits of `takes` are done again.
---@field stays backstitch.PlannedTurn[] Later turns whose edits stay; newest first.
---@field own_edits backstitch.Text[] Changed files in which later edits of the user stay.
---@field plan string Fingerprint. A restore that passes it applies exactly this plan, or is refused.
---@field edits? backstitch.DocumentEdit[] Open documents that are edited in the editor.
---@field uncarried? backstitch.Text[] The user's edits that a switch leaves behind.
---@field nothing? string Reason why there is nothing to do.
---@field git_head? backstitch.GitMoved Set if git's HEAD was at another commit or branch.
---@field conversation? backstitch.PlannedConversation The agent's conversation that goes back with the files, or alone.

---Same fields as the command that would do it. One of `rev`, `turn`, `step`, `op`, `undo`, `redo` and `branch` is required.
---@class backstitch.PlanParams
---@field rev? string|nil
---@field turn? string|nil
---@field step? string|nil
---@field op? string|nil
---@field undo? boolean|nil Plans to undo the last operation.
---@field redo? boolean|nil Plans to redo the operation that was undone last.
---@field branch? string|nil
---@field carry? boolean|nil
---@field texts? boolean|nil True if the answer has the texts of the files.
---@field lines? [integer, integer]|nil Restricts the restore to the hunks at these lines of the document `uri`: first line from 0, end excluded.
---@field scope? string|nil `code` (the default), `conversation` or `both`.
---@field exact? boolean|nil Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`.
---@field paths? string[]|nil URIs, or paths relative to the root. The default is all files.
---@field hunks? string[]|nil Hunk ids from `backstitch/diff`.
---@field session? string|nil Restricts the restore to this session's edits.
---@field allSessions? boolean|nil Undoes the work of all agents since, not only of the target's session.
---@field uncertain? backstitch.Uncertain|nil The default is `keep`.
---@field onConflict? backstitch.OnConflict|nil The default is `fail`.
---@field plan? string|nil Fingerprint of a plan that was shown. Only that plan is applied.
---@field confirm? boolean|nil True if the user is asked to confirm. The default is true unless there is a `plan`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A plan as `backstitch/plan` answers it.
---@class backstitch.PlanResult
---@field rev string|nil The revision as it was typed.
---@field target string The target, for people.
---@field scope string
---@field actions backstitch.Action[]
---@field conflicts backstitch.Conflict[]
---@field gaps backstitch.Gap[]
---@field takes backstitch.PlannedTurn[] Turns whose edits are undone, or done again by the undo of a rewind; newest first.
---@field brings_back? boolean True if the edits of `takes` are done again.
---@field stays backstitch.PlannedTurn[] Later turns whose edits stay; newest first.
---@field own_edits backstitch.Text[] Changed files in which later edits of the user stay.
---@field plan string Fingerprint. A restore that passes it applies exactly this plan, or is refused.
---@field edits? backstitch.DocumentEdit[] Open documents that are edited in the editor.
---@field uncarried? backstitch.Text[] The user's edits that a switch leaves behind.
---@field nothing? string Reason why there is nothing to do.
---@field git_head? backstitch.GitMoved Set if git's HEAD was at another commit or branch.
---@field conversation? backstitch.PlannedConversation The agent's conversation that goes back with the files, or alone.
---@field title string For people: `Rewind to before “Add a cart” (2 min ago)`.
---@field sentence string The sentence that a plan begins with, without a full stop and without ids: `Undoes turn “Add a cart” (codex, 2 min ago)`.
---@field summary string[] Further sentences for people about whose work goes and whose stays, the most important first.
---@field empty boolean True if there is nothing to do.
---@field other_sessions boolean True if later work of other sessions stays, which `allSessions` undoes, too.
---@field exact boolean True for an exact restore: as requested, else by the settings.
---@field texts? backstitch.PlannedText[] The texts of changed files, if they were requested. Files that are not UTF-8 or too long are left out.
---@field hunks? string[] Ids of the hunks at the requested lines. The restore of this plan passes them instead of the lines.

---A new session of an agent, as it is planned, or was made.
---@class backstitch.PlannedConversation
---@field agent string
---@field session string The agent's own id of the old session, which is only read.
---@field turn string For example `t4`.
---@field kept integer Number of prompts that the new session tells.
---@field dropped integer
---@field line string For people: `before t4 “Add a cart” · Codex · 3 of 5 prompts stay`.
---@field notes string[] Sentences for people about the parts that stay as they are.
---@field prompt string The prompt to say again. Empty: the session tells it, or the summary does.
---@field open boolean|nil True if a process has the old session open. Null: that is not known.
---@field tokens integer|nil Tokens that the agent counted for it.
---@field summary? string The text in place of a part.
---@field new? string The agent's own id of the new session, once it is made. Left out: the agent begins one by itself.
---@field argv? string[] The command line that opens it, once it is made. It is never given to a shell.
---@field cwd? backstitch.Text
---@field prefilled? boolean True if the prompt is part of the command line.

---A file's text now, unsaved text included, and after the restore. Null if there is no file.
---@class backstitch.PlannedText
---@field path backstitch.Text
---@field from? backstitch.Text The path now, if the file would be renamed.
---@field now string|nil
---@field then string|nil

---A turn of an agent, or its steps that belong to no turn.
---@class backstitch.PlannedTurn
---@field turn string|nil For example `t4`. Null for steps without a prompt.
---@field prompt string|nil
---@field agent string
---@field session string The agent's own id of its session.
---@field letter string Letter of the session.
---@field time backstitch.Time
---@field checkpoint string
---@field part boolean True if the plan moves only a part of its edits.

---One of `input` and `then` is required.
---@class backstitch.PredictParams
---@field pause string
---@field input? any Another input of the tool.
---@field inputText? string|nil The same as a JSON text.
---@field then? backstitch.WantedText[]|nil Texts of some of the predicted files as they are to be. The answer has the input that leads to them.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---The files that a call would write with another input.
---@class backstitch.PredictResult
---@field input any
---@field inputText string The same as a JSON text.
---@field command string|nil As in `PauseDetails`.
---@field predicted backstitch.PredictedFile[]
---@field unpredicted backstitch.Unpredicted|nil
---@field fingerprint string
---@field files backstitch.CallFile[] As in `Pause`.
---@field summary string As in `Pause`.
---@field problem string|nil As in `PauseDetails`.

---A file as a call would write it.
---@class backstitch.PredictedFile
---@field path backstitch.Text Relative to the root; absolute if it is outside.
---@field movedFrom backstitch.Text|nil The path that the file has now, if the call moves it.
---@field letter string `A`, `M`, `D` or `R`.
---@field now string|nil Text as it is now. Null: there is none, or it is binary or above 1 MiB.
---@field then string|nil Text after the call.
---@field added integer|nil Lines.
---@field removed integer|nil
---@field line integer|nil First line that changes in the text as it is now, from 0.
---@field certain boolean
---@field binary boolean True: its text is not shown, because it is binary.
---@field fails boolean True: the tool will refuse the call.
---@field why string|nil The reason why it is not certain, or fails.

---A program that is, or was, connected.
---@class backstitch.Program
---@field id integer
---@field pid integer
---@field argv string[]
---@field language string
---@field cwd string
---@field connected backstitch.Time
---@field ended backstitch.Time|nil
---@field calls backstitch.FunctionCall[] The newest calls, oldest first.

---A rewind that an agent proposes.
---@class backstitch.ProposedPlan
---@field title string For example `rewind to before “Add a cart”`.
---@field reason string|nil The agent's reason.
---@field summary string[] Sentences about whose work goes and whose stays.
---@field turns backstitch.PlannedTurn[] The turns that go, the newest first.

---State of the recorder, which watches the files of the workspace.
---@alias backstitch.Recorder { state: "waiting" }|{ state: "watching", directories: integer }|{ state: "failed", reason: string }

---@class backstitch.RedoParams
---@field scope? string|nil `code` (the default), `conversation` or `both`.
---@field exact? boolean|nil Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`.
---@field paths? string[]|nil URIs, or paths relative to the root. The default is all files.
---@field hunks? string[]|nil Hunk ids from `backstitch/diff`.
---@field session? string|nil Restricts the restore to this session's edits.
---@field allSessions? boolean|nil Undoes the work of all agents since, not only of the target's session.
---@field uncertain? backstitch.Uncertain|nil The default is `keep`.
---@field onConflict? backstitch.OnConflict|nil The default is `fail`.
---@field plan? string|nil Fingerprint of a plan that was shown. Only that plan is applied.
---@field confirm? boolean|nil True if the user is asked to confirm. The default is true unless there is a `plan`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.RefuseParams
---@field pause? string|nil
---@field message? string|nil Reason for the model.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---Lines of a file.
---@class backstitch.Region
---@field path string Relative to the root.
---@field start integer From 0.
---@field count integer
---@field state string `present`, or `gone`: all its lines were deleted.

---@class backstitch.RemovedResult
---@field removed integer Number of breakpoints that were removed.

---`backstitch/replChanged`: a session was opened or closed.
---@class backstitch.ReplChanged
---@field workspace backstitch.Text
---@field seq integer
---@field session backstitch.ReplSession

---@class backstitch.ReplCloseParams
---@field session string
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---An input with its output.
---@class backstitch.ReplEntry
---@field index integer From 1.
---@field input string
---@field output string The error, else the value. Empty: there is none.
---@field stdout string Text that the evaluation printed.
---@field isError boolean
---@field cid string|nil Names the stored value.
---@field time backstitch.Time
---@field ms integer Duration in milliseconds.
---@field shows string The parts to show: `error`, `both` (the printed text, then the value), `value`, `stdout` or `nothing`.

---@class backstitch.ReplEvalParams
---@field session string
---@field input string As it was typed.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.ReplEvalResult
---@field session backstitch.ReplSession
---@field entry backstitch.ReplEntry

---Conditions hold together.
---@class backstitch.ReplListParams
---@field search? string|nil Text in the function, or in the transcript.
---@field status? string|nil `active` or `closed`.
---@field from? string|nil Start of the session, as RFC 3339 has times.
---@field to? string|nil
---@field pause? string|nil For example `p7`.
---@field call? integer|nil Number of a program's call.
---@field limit? integer|nil The default is 50.
---@field before? string|nil The last session of the page before.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---The newest first.
---@class backstitch.ReplListResult
---@field sessions backstitch.ReplSession[]
---@field more boolean True: `before` with the last of these returns more.

---`backstitch/replOutput`: an entry was added to a session.
---@class backstitch.ReplOutput
---@field workspace backstitch.Text
---@field seq integer
---@field session backstitch.ReplSession
---@field entry backstitch.ReplEntry

---A REPL at a pause.
---@class backstitch.ReplSession
---@field id string `<process number>-<start>`.
---@field pause string For example `p7`.
---@field pid integer Process number of the program, or of the agent.
---@field process integer|nil Number of the program. Null: it is an agent's call.
---@field function string The function that is paused: the watched one, else that of the innermost frame. At an agent's call: the tool.
---@field letter string|nil Letter of the agent's session. Null: it is a program, or the pause is no longer kept.
---@field prompt string|nil Prompt of the turn that is held. Null: there is none.
---@field why string|nil The reason of the pause: `pause("here")`, `calls Edit`. Null: the pause is no longer kept.
---@field breakpoint string|nil Breakpoint of the pause, for example `b3`.
---@field hit backstitch.PauseHit|nil That breakpoint as it was then.
---@field call integer|nil Number of the program's call.
---@field language string `jq`, `python` or `javascript`.
---@field started backstitch.Time
---@field closed backstitch.Time|nil
---@field reason string|nil The reason of its end.
---@field status string `active` or `closed`.
---@field entries integer Number of entries.

---@class backstitch.ReplShowParams
---@field session string
---@field after? integer|nil Only entries after this number.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.ReplShowResult
---@field session backstitch.ReplSession
---@field entries backstitch.ReplEntry[]

---@class backstitch.ReplStartParams
---@field pause? string|nil For example `p7`. The default is the only held call.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.ReplStartResult
---@field session backstitch.ReplSession

---@alias backstitch.Resolution "markers"|"current"|"target"|"left"

---The result of a restore, or its plan if there was nothing to do.
---@alias backstitch.RestoreResult backstitch.Applied|backstitch.Plan|backstitch.ConversationResult

---@class backstitch.RestoreSettings
---@field default? backstitch.Restoring|nil

---@alias backstitch.Restoring "merge"|"exact"

---The default of `pause` is the only call that is held; the user is asked to choose one of several.
---@class backstitch.ResumeParams
---@field pause? string|nil
---@field input? any Another input of the tool. The default is the one that runs as it is: as a user changed it, else the agent's own.
---@field inputText? string|nil The same as a JSON text.
---@field fingerprint? string|nil Fingerprint of the prediction that was shown: only that is let through.
---@field force? boolean|nil True: also a changed input that the tool will refuse, or that has other fields or types than the call's own.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.RevertParams
---@field turn? string|nil Asks the user if both `turn` and `step` are left out.
---@field step? string|nil
---@field scope? string|nil `code` (the default), `conversation` or `both`.
---@field exact? boolean|nil Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`.
---@field paths? string[]|nil URIs, or paths relative to the root. The default is all files.
---@field hunks? string[]|nil Hunk ids from `backstitch/diff`.
---@field session? string|nil Restricts the restore to this session's edits.
---@field allSessions? boolean|nil Undoes the work of all agents since, not only of the target's session.
---@field uncertain? backstitch.Uncertain|nil The default is `keep`.
---@field onConflict? backstitch.OnConflict|nil The default is `fail`.
---@field plan? string|nil Fingerprint of a plan that was shown. Only that plan is applied.
---@field confirm? boolean|nil True if the user is asked to confirm. The default is true unless there is a `plan`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A file with unreviewed work, from the state that the user has reviewed to the shown state.
---@class backstitch.ReviewFile
---@field path backstitch.Text
---@field kind backstitch.ChangeKind
---@field from? backstitch.Text The reviewed path, if the file was renamed since.
---@field added integer Number of lines.
---@field removed integer
---@field binary boolean
---@field unreviewed integer Number of hunks.
---@field line_ends? boolean True if the lines are the same, and their ends differ.
---@field shown string Names the state that is shown here, for `keep`.
---@field hunks? backstitch.ReviewHunk[] Left out if the request names no file.

---An unreviewed hunk. A range is its first line, from 1, and its line count; an empty range stands before that line.
---@class backstitch.ReviewHunk
---@field old [integer, integer]
---@field new [integer, integer]
---@field removed backstitch.Text[]
---@field added backstitch.Text[]
---@field agent string|nil
---@field session string|nil
---@field letter string|nil Letter of the session.
---@field turn string|nil For example `t4`; of several turns the newest.
---@field prompt string|nil
---@field checkpoint string|nil

---@class backstitch.ReviewParams
---@field action? string|nil `none`, `keep` or `unkeep`. The default is `none`. Restricted to one file, or one directory, if `uri` is given.
---@field lines? [integer, integer]|nil Restricts it to the hunks at these lines of the open document, or of the file on disk: first line from 0, end excluded; equal numbers are the place of removed lines. Needs `uri`.
---@field since? string|nil A checkpoint: all changes since count, by any author.
---@field shown? string|nil `shown` of the file in an earlier answer: only the state that was shown then is kept. Needs `uri`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---The work of agents that is not reviewed, by path. An answer to `keep` has what was marked as reviewed.
---@class backstitch.ReviewResult
---@field files backstitch.ReviewFile[]

---@class backstitch.RewindParams
---@field rev? string|nil Asks the user if left out.
---@field lines? [integer, integer]|nil Restricts the rewind to the hunks at these lines of the document `uri`: first line from 0, end excluded.
---@field scope? string|nil `code` (the default), `conversation` or `both`.
---@field exact? boolean|nil Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`.
---@field paths? string[]|nil URIs, or paths relative to the root. The default is all files.
---@field hunks? string[]|nil Hunk ids from `backstitch/diff`.
---@field session? string|nil Restricts the restore to this session's edits.
---@field allSessions? boolean|nil Undoes the work of all agents since, not only of the target's session.
---@field uncertain? backstitch.Uncertain|nil The default is `keep`.
---@field onConflict? backstitch.OnConflict|nil The default is `fail`.
---@field plan? string|nil Fingerprint of a plan that was shown. Only that plan is applied.
---@field confirm? boolean|nil True if the user is asked to confirm. The default is true unless there is a `plan`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---Agent sessions, newest first.
---@class backstitch.SessionsResult
---@field sessions backstitch.AgentSession[]

---Restricted to one file if `uri` is given.
---@class backstitch.ShowDiffParams
---@field rev? string|nil The default is `@`.
---@field rev2? string|nil The default is the disk.
---@field turn? string|nil Shows what this turn itself changed, instead of `rev` and `rev2`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---Restricted to one file if `uri` is given.
---@class backstitch.ShowTimelineParams
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---The rows that were shown, newest first.
---@class backstitch.ShowTimelineResult
---@field checkpoints backstitch.Checkpoint[]

---@class backstitch.SkipParams
---@field pause? string|nil
---@field value? string|nil The result of a program's call, as an expression in its language. The default is none. After a call, the result that it has from here on. One that fails is refused, and the program stays held.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A frame of a paused program's stack.
---@class backstitch.SourceFrame
---@field name string
---@field path string
---@field line integer From 1.
---@field context string[] Lines of the source.
---@field first integer From 1: the first line of `context`.
---@field held boolean True for the frame that is paused.

---The checkpoints that were squashed into one.
---@class backstitch.Squashed
---@field checkpoints integer
---@field turns integer
---@field since backstitch.Time Time of the oldest of them.
---@field agents string[] Names of the agents.

---@class backstitch.StackParams
---@field pause string For example `p7`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.StackResult
---@field pause string
---@field call integer|nil Number of the program's call, as in `backstitch/calls`.
---@field frames backstitch.SourceFrame[] The innermost first.
---@field sessions backstitch.ReplSession[] REPLs at this pause.

---State of the server for a workspace.
---@class backstitch.Status
---@field workspace backstitch.Text
---@field recorder backstitch.Recorder

---The input, the fingerprint and `force` are those of `backstitch.resume`.
---@class backstitch.StepParams
---@field pause? string|nil
---@field how? string|nil `over`, `into`, `out`, `file` or `turn`. The default is `over`.
---@field input? any
---@field inputText? string|nil
---@field fingerprint? string|nil
---@field force? boolean|nil
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.StoreSettings
---@field dir? string|nil Directory of all histories: absolute, or starting with `~/`.

---Without `summary` nothing is made: the answer has one to edit.
---@class backstitch.SummarizeParams
---@field turn string
---@field part backstitch.SummaryPart
---@field summary? string|nil The text that takes the place of the part.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A summary, and the conversation with it if that was made.
---@class backstitch.SummarizeResult
---@field summary string
---@field conversation? backstitch.PlannedConversation

---The part of a conversation that a summary replaces.
---@alias backstitch.SummaryPart "from"|"up_to"

---@class backstitch.SwitchParams
---@field branch? string|nil Asks the user if left out.
---@field carry? boolean|nil Takes the user's own edits along.
---@field scope? string|nil `code` (the default), `conversation` or `both`.
---@field exact? boolean|nil Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`.
---@field paths? string[]|nil URIs, or paths relative to the root. The default is all files.
---@field hunks? string[]|nil Hunk ids from `backstitch/diff`.
---@field session? string|nil Restricts the restore to this session's edits.
---@field allSessions? boolean|nil Undoes the work of all agents since, not only of the target's session.
---@field uncertain? backstitch.Uncertain|nil The default is `keep`.
---@field onConflict? backstitch.OnConflict|nil The default is `fail`.
---@field plan? string|nil Fingerprint of a plan that was shown. Only that plan is applied.
---@field confirm? boolean|nil True if the user is asked to confirm. The default is true unless there is a `plan`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.TagParams
---@field name? string|nil Offers some names if left out.
---@field rev? string|nil The default is `@`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.TagResult
---@field tag string
---@field checkpoint string

---A text, or its bytes in Base64 if it is not UTF-8. Paths are relative to the workspace root.
---@alias backstitch.Text string|{ bytes: string }

---A time in RFC 3339, UTC. Null if the clock was out of range.
---@alias backstitch.Time string|nil

---Sent when the timeline, or what the user has reviewed, has changed and has to be read again.
---@class backstitch.TimelineChanged
---@field workspace backstitch.Text

---Restricted to checkpoints that changed one file if `uri` is given.
---@class backstitch.TimelineParams
---@field limit? integer|nil The default is 200.
---@field before? string|nil Returns only checkpoints older than this one: the next page.
---@field session? string|nil The agent's own session id, or a prefix of it.
---@field agent? string|nil
---@field kind? backstitch.Kind|nil
---@field text? string|nil Words that must all occur in a prompt, a label or a tool's input; `wor*` matches a prefix.
---@field branch? string|nil
---@field allBranches? boolean|nil
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---A page of the timeline, newest first.
---@class backstitch.TimelineResult
---@field workspace backstitch.Text Root of the workspace; paths are relative to it.
---@field checkpoints backstitch.Checkpoint[]
---@field branches backstitch.Branch[]
---@field head string|nil
---@field branch string The current branch.
---@field more boolean True if there are older checkpoints.
---@field at_work backstitch.AgentAtWork[] Sessions of agents that work on a prompt now.

---Makes a `line` breakpoint at these lines, or removes those that are there.
---@class backstitch.ToggleBreakpointParams
---@field lines [integer, integer] First line from 0, end excluded.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---Answer to `toggle`: the breakpoint that was made, or those that were removed.
---@class backstitch.ToggleResult
---@field added backstitch.Breakpoint|nil
---@field removed string[]

---@class backstitch.TurnBeginParams
---@field agent string
---@field session string
---@field prompt? string|nil
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.TurnEndParams
---@field agent? string|nil The default is the turn that has begun, if it is the only one. `session` alone names one of several.
---@field session? string|nil
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---The checkpoint that was recorded; null if there was nothing to record.
---@class backstitch.TurnResult
---@field checkpoint string|nil

---@alias backstitch.Uncertain "keep"|"take"

---@class backstitch.UndoParams
---@field op? string|nil The default is the last operation.
---@field scope? string|nil `code` (the default), `conversation` or `both`.
---@field exact? boolean|nil Restores the exact state: the user's later edits are undone, too. The default is the setting `restore.default`.
---@field paths? string[]|nil URIs, or paths relative to the root. The default is all files.
---@field hunks? string[]|nil Hunk ids from `backstitch/diff`.
---@field session? string|nil Restricts the restore to this session's edits.
---@field allSessions? boolean|nil Undoes the work of all agents since, not only of the target's session.
---@field uncertain? backstitch.Uncertain|nil The default is `keep`.
---@field onConflict? backstitch.OnConflict|nil The default is `fail`.
---@field plan? string|nil Fingerprint of a plan that was shown. Only that plan is applied.
---@field confirm? boolean|nil True if the user is asked to confirm. The default is true unless there is a `plan`.
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

---@class backstitch.Unpredicted
---@field reason string
---@field paths backstitch.Text[]

---@class backstitch.Unsaved
---@field path backstitch.Text
---@field added integer
---@field removed integer
---@field editor string Name of the editor.

---A text as it is to be after the call.
---@class backstitch.WantedText
---@field path string As in `PredictedFile`.
---@field text string

---The workspace to use; not needed if only one is open.
---@class backstitch.Where
---@field uri? string|nil A document of the workspace.
---@field workspace? string|nil Root of the workspace, as a path or URI. Not needed if only one is open.

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
---@field ["backstitch/content"] { params: backstitch.ContentParams, result: backstitch.ContentResult }
---@field ["backstitch/blame"] { params: backstitch.DocumentParams, result: backstitch.BlameResult }
---@field ["backstitch/sessions"] { params: backstitch.Where, result: backstitch.SessionsResult }
---@field ["backstitch/review"] { params: backstitch.ReviewParams, result: backstitch.ReviewResult }
---@field ["backstitch/turnBegin"] { params: backstitch.TurnBeginParams, result: backstitch.TurnResult }
---@field ["backstitch/applyEdit"] { params: backstitch.ApplyEditParams, result: backstitch.ApplyEditResult }
---@field ["backstitch/turnEnd"] { params: backstitch.TurnEndParams, result: backstitch.TurnResult }
---@field ["backstitch/breakpoints"] { params: backstitch.Where, result: backstitch.BreakpointsResult }
---@field ["backstitch/pauses"] { params: backstitch.PausesParams, result: backstitch.PausesResult }
---@field ["backstitch/pause"] { params: backstitch.PauseDetailsParams, result: backstitch.PauseDetails }
---@field ["backstitch/predict"] { params: backstitch.PredictParams, result: backstitch.PredictResult }
---@field ["backstitch/draft"] { params: backstitch.DraftParams, result: backstitch.PauseDetails }
---@field ["backstitch/repl/start"] { params: backstitch.ReplStartParams, result: backstitch.ReplStartResult }
---@field ["backstitch/repl/eval"] { params: backstitch.ReplEvalParams, result: backstitch.ReplEvalResult }
---@field ["backstitch/repl/close"] { params: backstitch.ReplCloseParams, result: backstitch.ReplStartResult }
---@field ["backstitch/repl/show"] { params: backstitch.ReplShowParams, result: backstitch.ReplShowResult }
---@field ["backstitch/repl/list"] { params: backstitch.ReplListParams, result: backstitch.ReplListResult }
---@field ["backstitch/repl/object"] { params: backstitch.ObjectParams, result: backstitch.ObjectResult }
---@field ["backstitch/stack"] { params: backstitch.StackParams, result: backstitch.StackResult }
---@field ["backstitch/calls"] { params: backstitch.CallsParams, result: backstitch.CallsResult }

---@class backstitch.Commands
---@field ["backstitch.rewind"] { params: backstitch.RewindParams, result: backstitch.RestoreResult|backstitch.CommandFailed }
---@field ["backstitch.undo"] { params: backstitch.UndoParams, result: backstitch.RestoreResult|backstitch.CommandFailed }
---@field ["backstitch.redo"] { params: backstitch.RedoParams, result: backstitch.RestoreResult|backstitch.CommandFailed }
---@field ["backstitch.revert"] { params: backstitch.RevertParams, result: backstitch.RestoreResult|backstitch.CommandFailed }
---@field ["backstitch.fork"] { params: backstitch.ForkParams, result: backstitch.ForkResult|backstitch.CommandFailed }
---@field ["backstitch.switch"] { params: backstitch.SwitchParams, result: backstitch.RestoreResult|backstitch.CommandFailed }
---@field ["backstitch.conversation"] { params: backstitch.ConversationParams, result: backstitch.LastConversation|backstitch.CommandFailed }
---@field ["backstitch.summarize"] { params: backstitch.SummarizeParams, result: backstitch.SummarizeResult|backstitch.CommandFailed }
---@field ["backstitch.tag"] { params: backstitch.TagParams, result: backstitch.TagResult|backstitch.CommandFailed }
---@field ["backstitch.pin"] { params: backstitch.PinParams, result: backstitch.PinResult|backstitch.CommandFailed }
---@field ["backstitch.checkpoint"] { params: backstitch.NewCheckpointParams, result: backstitch.Checkpoint|backstitch.CommandFailed }
---@field ["backstitch.diff"] { params: backstitch.ShowDiffParams, result: backstitch.DiffResult|backstitch.CommandFailed }
---@field ["backstitch.timeline"] { params: backstitch.ShowTimelineParams, result: backstitch.ShowTimelineResult|backstitch.CommandFailed }
---@field ["backstitch.review"] { params: backstitch.Where, result: backstitch.ReviewResult|backstitch.CommandFailed }
---@field ["backstitch.merge"] { params: backstitch.MergeParams, result: backstitch.MergeResult|backstitch.CommandFailed }
---@field ["backstitch.breakpoint.add"] { params: backstitch.AddBreakpointParams, result: backstitch.BreakpointResult|backstitch.CommandFailed }
---@field ["backstitch.breakpoint.edit"] { params: backstitch.EditBreakpointParams, result: backstitch.BreakpointResult|backstitch.CommandFailed }
---@field ["backstitch.breakpoint.remove"] { params: backstitch.BreakpointParams, result: backstitch.RemovedResult|backstitch.CommandFailed }
---@field ["backstitch.breakpoint.enable"] { params: backstitch.BreakpointParams, result: backstitch.BreakpointResult|backstitch.CommandFailed }
---@field ["backstitch.breakpoint.disable"] { params: backstitch.BreakpointParams, result: backstitch.BreakpointResult|backstitch.CommandFailed }
---@field ["backstitch.breakpoint.clear"] { params: backstitch.Where, result: backstitch.RemovedResult|backstitch.CommandFailed }
---@field ["backstitch.breakpoint.list"] { params: backstitch.Where, result: backstitch.BreakpointsResult|backstitch.CommandFailed }
---@field ["backstitch.breakpoint.toggle"] { params: backstitch.ToggleBreakpointParams, result: backstitch.ToggleResult|backstitch.CommandFailed }
---@field ["backstitch.pause"] { params: backstitch.PauseParams, result: backstitch.BreakpointResult|backstitch.CommandFailed }
---@field ["backstitch.resume"] { params: backstitch.ResumeParams, result: backstitch.DecisionResult|backstitch.CommandFailed }
---@field ["backstitch.step"] { params: backstitch.StepParams, result: backstitch.DecisionResult|backstitch.CommandFailed }
---@field ["backstitch.skip"] { params: backstitch.SkipParams, result: backstitch.DecisionResult|backstitch.CommandFailed }
---@field ["backstitch.deny"] { params: backstitch.RefuseParams, result: backstitch.DecisionResult|backstitch.CommandFailed }
---@field ["backstitch.stop"] { params: backstitch.RefuseParams, result: backstitch.DecisionResult|backstitch.CommandFailed }
---@field ["backstitch.inject"] { params: backstitch.InjectParams, result: backstitch.InjectResult|backstitch.CommandFailed }
---@field ["backstitch.back"] { params: backstitch.BackParams, result: backstitch.DecisionResult|backstitch.CommandFailed }
---@field ["backstitch.inspect"] { params: backstitch.HeldParams, result: backstitch.PauseDetails|backstitch.CommandFailed }
---@field ["backstitch.repl.start"] { params: backstitch.ReplStartParams, result: backstitch.ReplStartResult|backstitch.CommandFailed }
---@field ["backstitch.repl.eval"] { params: backstitch.ReplEvalParams, result: backstitch.ReplEvalResult|backstitch.CommandFailed }
---@field ["backstitch.repl.close"] { params: backstitch.ReplCloseParams, result: backstitch.ReplStartResult|backstitch.CommandFailed }
---@field ["backstitch.repl.list"] { params: backstitch.ReplListParams, result: backstitch.ReplListResult|backstitch.CommandFailed }

---@class backstitch.Notifications
---@field ["backstitch/didCheckpoint"] backstitch.DidCheckpoint
---@field ["backstitch/didRewind"] backstitch.DidRewind
---@field ["backstitch/didFork"] backstitch.DidFork
---@field ["backstitch/didSwitch"] backstitch.DidSwitch
---@field ["backstitch/timelineChanged"] backstitch.TimelineChanged
---@field ["backstitch/status"] backstitch.Status
---@field ["backstitch/changedOnDisk"] backstitch.ChangedOnDisk
---@field ["backstitch/didPause"] backstitch.DidPause
---@field ["backstitch/didResume"] backstitch.DidResume
---@field ["backstitch/pauseChanged"] backstitch.PauseChanged
---@field ["backstitch/breakpointsChanged"] backstitch.BreakpointsChanged
---@field ["backstitch/didHit"] backstitch.DidHit
---@field ["backstitch/replOutput"] backstitch.ReplOutput
---@field ["backstitch/replChanged"] backstitch.ReplChanged

return {
  --- The server's commands.
  commands = {
    'backstitch.rewind',
    'backstitch.undo',
    'backstitch.redo',
    'backstitch.revert',
    'backstitch.fork',
    'backstitch.switch',
    'backstitch.conversation',
    'backstitch.summarize',
    'backstitch.tag',
    'backstitch.pin',
    'backstitch.checkpoint',
    'backstitch.diff',
    'backstitch.timeline',
    'backstitch.review',
    'backstitch.merge',
    'backstitch.breakpoint.add',
    'backstitch.breakpoint.edit',
    'backstitch.breakpoint.remove',
    'backstitch.breakpoint.enable',
    'backstitch.breakpoint.disable',
    'backstitch.breakpoint.clear',
    'backstitch.breakpoint.list',
    'backstitch.breakpoint.toggle',
    'backstitch.pause',
    'backstitch.resume',
    'backstitch.step',
    'backstitch.skip',
    'backstitch.deny',
    'backstitch.stop',
    'backstitch.inject',
    'backstitch.back',
    'backstitch.inspect',
    'backstitch.repl.start',
    'backstitch.repl.eval',
    'backstitch.repl.close',
    'backstitch.repl.list',
  },
  --- Notifications from the server.
  notifications = {
    'backstitch/didCheckpoint',
    'backstitch/didRewind',
    'backstitch/didFork',
    'backstitch/didSwitch',
    'backstitch/timelineChanged',
    'backstitch/status',
    'backstitch/changedOnDisk',
    'backstitch/didPause',
    'backstitch/didResume',
    'backstitch/pauseChanged',
    'backstitch/breakpointsChanged',
    'backstitch/didHit',
    'backstitch/replOutput',
    'backstitch/replChanged',
  },
}
