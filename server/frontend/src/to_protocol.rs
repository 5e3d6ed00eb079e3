//! Conversions from the engine's types to those of the protocol. Pure.

use std::path::Path;

use backstitch_core::capture::AtWork;
use backstitch_core::model::{self, EditorId, Origin, Reason, RelPath, Role};
use backstitch_core::restore::{self, Applied, BufferEdit, ConflictSpan, PlannedWork};
use backstitch_core::{
    BranchInfo, EditorInfo, Entry, EntryChange, OpKind, OpState, OperationSubject, Orphan,
    PendingSave, ReviewAuthor, ReviewFile, ReviewHunk, ShellCommand, ShownState,
};
use backstitch_protocol::{
    Action, ActionKind, AgentAtWork, Branch, Certainty, Change, ChangeKind, ChangedBy, Checkpoint,
    Conflict, ConflictHunk, Coverage, CoverageItem, CoverageReason, DocumentEdit, EditorAtWork,
    Gap, GapKind, GitHead, GitMoved, Kind, Operation, OperationKind, OperationState, Plan,
    PlannedTurn, Resolution, Squashed, Text, Time, Unsaved,
};
use base64::Engine as _;
use serde::Serialize;
use serde_json::{Value, json};

use crate::render::{self, PathChange};
use crate::restore_words;

/// A function from an enum of the engine to that of the protocol with the same names. A new name of either does not compile
/// without its place here.
macro_rules! twin {
    ($vis:vis $function:ident: $from:path => $to:ident { $($name:ident),* $(,)? }) => {
        $vis fn $function(value: $from) -> $to {
            use $from as From;
            match value {
                $(From::$name => $to::$name,)*
            }
        }
    };
}

/// Serializes a shape, so that more fields can be added.
pub fn value(shape: &impl Serialize) -> Value {
    // none of the shapes has a map whose keys are not text
    serde_json::to_value(shape).unwrap_or_default()
}

/// Returns the text, or its bytes if it is not UTF-8.
pub fn text(bytes: &[u8]) -> Text {
    match std::str::from_utf8(bytes) {
        Ok(text) => Text::Plain(text.to_owned()),
        Err(_) => Text::Bytes {
            bytes: base64::engine::general_purpose::STANDARD.encode(bytes),
        },
    }
}

pub fn path(path: &Path) -> Text {
    text(path.as_os_str().as_encoded_bytes())
}

/// Returns None if there are no paths, so that the field is left out.
pub fn paths<'p>(paths: impl IntoIterator<Item = &'p RelPath>) -> Option<Vec<Text>> {
    let all = paths.into_iter().map(|path| text(path.bytes()));
    let all: Vec<Text> = all.collect();
    (!all.is_empty()).then_some(all)
}

/// Converts microseconds since 1970.
pub fn time(micros: i64) -> Time {
    let time = jiff::Timestamp::from_microsecond(micros);
    Time(time.ok().map(|time| time.to_string()))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "ids are copied, and mapped over"
)]
fn id(id: impl ToString) -> String {
    id.to_string()
}

pub fn checkpoint(entry: &Entry) -> Checkpoint {
    let node = &entry.node;
    let (session, call) = (entry.session.as_ref(), entry.call.as_ref());
    let turn = entry.turn.as_ref();
    Checkpoint {
        id: id(node.id),
        parent: node.parent.map(id),
        kind: kind(node.kind),
        session: session.map(|s| s.native.clone()),
        letter: session.map(|s| s.id.letter()),
        agent: session.map(|s| s.agent.clone()),
        turn: turn.map(|turn| format!("t{}", turn.number)),
        iteration: call.map(|call| call.iteration),
        tool: call.map(|call| call.tool.clone()),
        summary: entry.command.as_ref().map(command_line),
        command: entry.command.as_ref().map(|command| command.text.clone()),
        failed: call.is_some_and(|call| call.failed),
        exit: call.and_then(|call| call.exit),
        subagent: call.and_then(|call| call.subagent.clone()),
        label: node.label.clone(),
        description: node.description.clone(),
        prompt: turn.map(|turn| turn.prompt.clone()),
        time: time(node.time),
        branch: entry.branch.clone(),
        tags: entry.tags.clone(),
        pinned: entry.pinned,
        squashed: node.squashed.as_ref().map(squashed),
        taken_out: entry.taken_out,
        operation: (entry.operation.as_ref())
            .zip(entry.subject.as_ref())
            .map(|(done, subject)| operation(done, subject)),
        git: git_head(&node.git),
        changes: entry.changes.iter().map(|c| change(c, entry)).collect(),
        coverage: coverage(&node.coverage),
        unsaved: entry.unsaved.iter().map(unsaved).collect(),
    }
}

/// Returns the agent's own words about a shell command, else the command.
pub fn command_line(command: &ShellCommand) -> String {
    let words = command.description.as_deref().unwrap_or(&command.text);
    render::clean(words)
}

pub fn at_work(working: &AtWork) -> AgentAtWork {
    AgentAtWork {
        agent: working.agent.clone(),
        letter: working.session.letter(),
        since: time(working.since),
        until: time(working.until),
    }
}

pub fn squashed(squashed: &model::Squashed) -> Squashed {
    Squashed {
        checkpoints: squashed.checkpoints,
        turns: squashed.turns,
        since: time(squashed.since),
        agents: squashed.agents.clone(),
    }
}

twin!(kind: model::Kind => Kind { Turn, Step, Manual, External, Rewind, Squash, Import });

fn unsaved(unsaved: &backstitch_core::Unsaved) -> Unsaved {
    Unsaved {
        path: text(unsaved.path.bytes()),
        added: unsaved.added,
        removed: unsaved.removed,
        editor: unsaved.editor.clone(),
    }
}

pub fn editor(editor: &EditorInfo, unsaved: &[(EditorId, RelPath)]) -> EditorAtWork {
    let own = unsaved.iter().filter(|(of, _)| *of == editor.id);
    EditorAtWork {
        id: editor.id.0,
        name: editor.name.clone(),
        pid: editor.pid,
        unsaved: own.map(|(_, path)| text(path.bytes())).collect(),
    }
}

pub fn pending_save(p: &PendingSave) -> Value {
    json!({
        "path": text(p.path.bytes()),
        "operation": p.operation.map(id),
        "editor": p.editor,
        "pid": p.pid,
        "time": time(p.time),
    })
}

pub fn orphan(orphan: &Orphan) -> Value {
    json!({
        "path": text(orphan.path.bytes()),
        "editor": orphan.editor.name,
        "pid": orphan.editor.pid,
        "time": time(orphan.time),
    })
}

fn change(entry_change: &EntryChange, entry: &Entry) -> Change {
    let change = &entry_change.change;
    let (path, from) = render::place(&change.before, &change.after);
    Change {
        path: text(path),
        kind: change_kind(PathChange::of(&change.before, &change.after)),
        from: from.map(text),
        added: entry_change.added,
        removed: entry_change.removed,
        origin: origin(&change.origin, change.role, entry),
        binary: entry_change.binary,
    }
}

twin!(pub change_kind: PathChange => ChangeKind { Create, Modify, Delete, Rename, Mode });

/// Returns a file with unreviewed work. `with_hunks`: with its hunks, not only their number.
pub fn review_file(file: &ReviewFile, with_hunks: bool) -> backstitch_protocol::ReviewFile {
    let (old, new) = (&file.delta.old, &file.delta.new);
    let (path, from) = render::place(old, new);
    let count = |lines: fn(&ReviewHunk) -> usize| file.hunks.iter().map(lines).sum();
    backstitch_protocol::ReviewFile {
        path: text(path),
        kind: change_kind(PathChange::of(old, new)),
        from: from.map(text),
        added: count(|hunk| hunk.added.len()),
        removed: count(|hunk| hunk.removed.len()),
        binary: file.binary,
        unreviewed: file.hunks.len(),
        line_ends: file.line_ends,
        shown: shown_state(file.shown),
        hunks: with_hunks.then(|| file.hunks.iter().map(review_hunk).collect()),
    }
}

/// Returns the name of a shown state, for `keep`.
pub fn shown_state(state: ShownState) -> String {
    format!("s{}", state.0.0)
}

/// Reads the name of a shown state.
pub fn read_shown_state(name: &str) -> Option<ShownState> {
    let number = name.strip_prefix('s')?.parse().ok()?;
    Some(ShownState(model::ChangeId(number)))
}

fn review_hunk(hunk: &ReviewHunk) -> backstitch_protocol::ReviewHunk {
    let lines = |lines: &[Vec<u8>]| -> Vec<Text> {
        let lines = lines.iter();
        let lines = lines.map(|line| text(line.strip_suffix(b"\n").unwrap_or(line)));
        lines.collect()
    };
    let author = hunk.author.as_ref();
    let turn = |author: &ReviewAuthor| author.turn.clone();
    backstitch_protocol::ReviewHunk {
        old: (hunk.old.start + 1, hunk.old.len()),
        new: (hunk.new.start + 1, hunk.new.len()),
        removed: lines(&hunk.removed),
        added: lines(&hunk.added),
        agent: author.map(|author| author.agent.clone()),
        session: author.map(|author| author.session.clone()),
        letter: author.map(|author| author.letter.clone()),
        turn: author
            .and_then(turn)
            .map(|(number, _)| format!("t{number}")),
        prompt: author.and_then(turn).map(|(_, prompt)| prompt),
        checkpoint: author.map(|author| author.node.to_string()),
    }
}

fn origin(origin: &Origin, role: Role, entry: &Entry) -> backstitch_protocol::Origin {
    let unsure = origin.session_certainty == model::Certainty::Uncertain;
    let by = match (role, origin.session) {
        (Role::Restore, _) => ChangedBy::Restore,
        (Role::Edit, Some(_)) => ChangedBy::Agent,
        (Role::Edit, None) if unsure => ChangedBy::Unknown,
        (Role::Edit, None) => ChangedBy::User,
    };
    let session = entry
        .session
        .as_ref()
        .filter(|s| origin.session == Some(s.id));
    backstitch_protocol::Origin {
        by,
        session: session.map(|s| s.native.clone()),
        session_certainty: certainty(origin.session_certainty),
        step_certainty: certainty(origin.step_certainty),
    }
}

twin!(pub certainty: model::Certainty => Certainty { Certain, Group, Uncertain });

pub fn coverage(coverage: &model::Coverage) -> Coverage {
    let item = |item: &model::CoverageItem| CoverageItem {
        path: text(&item.path),
        reason: coverage_reason(item.reason),
        detail: item.detail.clone(),
    };
    Coverage {
        captured: coverage.captured,
        ignored: coverage.ignored,
        pending: coverage.pending,
        too_large: coverage.count(Reason::TooLarge),
        outside: coverage.count(Reason::Outside),
        unreadable: coverage.count(Reason::Unreadable),
        special: coverage.count(Reason::Special),
        failed: coverage.count(Reason::Failed),
        items: coverage.items.iter().map(item).collect(),
    }
}

twin!(coverage_reason: Reason => CoverageReason { TooLarge, Outside, Excluded, Unreadable, Special, Failed, VersionControl, Ignored });

pub fn git_head(git: &model::GitHead) -> GitHead {
    GitHead {
        head: git.head.clone(),
        branch: git.branch.clone(),
    }
}

pub fn branch(branch: &BranchInfo) -> Branch {
    Branch {
        name: branch.name.clone(),
        head: branch.head.map(id),
        parent: branch.parent.clone(),
        fork_point: branch.fork_point.map(id),
        created: time(branch.created),
        description: branch.description.clone(),
        current: branch.current,
        deleted: branch.deleted,
        root: branch.root.as_deref().map(path),
    }
}

pub fn operation(operation: &backstitch_core::Operation, subject: &OperationSubject) -> Operation {
    Operation {
        id: id(operation.id),
        kind: operation_kind(operation.kind),
        target: operation.target.clone(),
        title: restore_words::noun(subject),
        checkpoint: operation.node.map(id),
        of: operation.of.map(id),
        undone_by: operation.undone_by.map(id),
        state: operation_state(operation.state),
        detail: operation.detail.clone(),
        files: operation.files,
        time: time(operation.time),
    }
}

twin!(operation_kind: OpKind => OperationKind { Rewind, Revert, Undo, Redo, Switch, Fork, Branch, Tag, Save });

twin!(operation_state: OpState => OperationState { Open, Done, Incomplete, RolledBack });

/// Converts a plan: the answer to `--dry-run`, and the start of a restore's answer. `rev`: as it was typed. The letters
/// and counts of its actions are not known here.
pub fn plan(plan: &restore::Plan, work: &PlannedWork, rev: Option<&str>) -> Plan {
    let replaced = plan.replaced();
    let edit = |edit: &BufferEdit| DocumentEdit {
        path: text(edit.path.bytes()),
        pending: edit.pending,
        replaces: replaced.contains(&&edit.path),
    };
    let moved = |(then, now): &(model::GitHead, model::GitHead)| GitMoved {
        then: git_head(then),
        now: git_head(now),
    };
    let edits = plan.edits.iter().map(edit);
    Plan {
        rev: rev.map(str::to_owned),
        target: plan.target.clone(),
        scope: plan.scope.name().to_owned(),
        actions: plan.actions.iter().map(|a| action(a, work)).collect(),
        conflicts: plan.conflicts.iter().map(conflict).collect(),
        gaps: plan.gaps.iter().map(gap).collect(),
        takes: work.takes.iter().map(planned_turn).collect(),
        brings_back: work.brings_back,
        stays: work.stays.iter().map(planned_turn).collect(),
        own_edits: work.own_stay.iter().map(|p| text(p.bytes())).collect(),
        plan: plan.fingerprint.clone(),
        edits: (!plan.edits.is_empty()).then(|| edits.collect()),
        uncarried: paths(plan.uncarried()),
        nothing: plan.nothing.clone(),
        git_head: plan.git_moved.as_ref().map(moved),
        conversation: None,
    }
}

/// `plan`: the document of its plan.
pub fn applied(applied: &Applied, plan: Plan) -> backstitch_protocol::Applied {
    backstitch_protocol::Applied {
        plan,
        checkpoint: applied.node.map(id),
        operation: applied.operation.map(id),
        editor: applied.by.as_ref().map(|by| editor(by, &[])),
        incomplete: paths(&applied.incomplete),
        saved: paths(&applied.saved),
        not_taken: paths(&applied.not_taken),
        awaited: paths(&applied.awaited),
    }
}

fn planned_turn(planned: &restore::PlannedTurn) -> PlannedTurn {
    let turn = planned.turn.as_ref();
    PlannedTurn {
        turn: turn.map(|turn| format!("t{}", turn.number)),
        prompt: turn.map(|turn| turn.prompt.clone()),
        agent: planned.session.agent.clone(),
        session: planned.session.native.clone(),
        letter: planned.session.id.letter(),
        time: time(planned.time),
        checkpoint: id(planned.node),
        part: planned.is_part,
    }
}

fn action(action: &restore::Action, work: &PlannedWork) -> Action {
    let unsaved = work.unsaved.iter().find(|(path, _)| *path == action.path);
    Action {
        path: text(action.path.bytes()),
        action: action_kind(action.kind),
        letter: None,
        from: action.from.as_ref().map(|from| text(from.bytes())),
        added: None,
        removed: None,
        unsaved: unsaved.map(|(_, editor)| editor.clone()),
        reason: action.reason.clone(),
    }
}

twin!(action_kind: restore::ActionKind => ActionKind { Write, Delete, Create, Merge, Chmod, Skip });

fn conflict(conflict: &restore::Conflict) -> Conflict {
    let hunk = |hunk: &ConflictSpan| ConflictHunk {
        target: hunk.target,
        kept: hunk.kept,
    };
    Conflict {
        path: text(conflict.path.bytes()),
        reason: conflict.reason.clone(),
        resolution: conflict.resolution.map(resolution),
        hunks: conflict.hunks.iter().map(hunk).collect(),
    }
}

twin!(resolution: restore::Resolution => Resolution { Markers, Current, Target, Left });

pub fn gap(gap: &restore::Gap) -> Gap {
    Gap {
        path: gap.path.as_deref().map(text),
        kind: gap_kind(gap.kind),
        detail: gap.detail.clone(),
    }
}

twin!(gap_kind: restore::GapKind => GapKind { Uncertain, TooLarge, Outside, Excluded, Unreadable, Special, Failed, Pending, Unknown, HardLink, Attributes, Directory, GitHead, Unsaved, VersionControl, Ignored });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_text_keeps_its_bytes() {
        assert_eq!(value(&text("é".as_bytes())), json!("é"));
        assert_eq!(value(&text(b"\xff\x00")), json!({ "bytes": "/wA=" }));
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(value(&time(1_500_000)), json!("1970-01-01T00:00:01.5Z"));
    }
}
