//! The shapes of JSON answers, fixed by the protocol: field names that scripts rely on. A path that is
//! not UTF-8 is `{"bytes": "<base64>"}`; times are RFC 3339, UTC. Pure.

use backstitch_core::model::{
    Certainty, Coverage, EditorId, GitHead, Origin, Reason, RelPath, Role,
};
use backstitch_core::restore::{Action, Applied, BufferEdit, Conflict, Gap, Plan, Resolution};
use backstitch_core::{
    BranchInfo, EditorInfo, Entry, EntryChange, Operation, Orphan, PendingSave, Unsaved,
};
use base64::Engine as _;
use serde_json::{Map, Value, json};

use crate::render::{self, What};

/// Text, or its bytes where it is none.
pub fn text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "bytes": base64::engine::general_purpose::STANDARD.encode(bytes) }),
    }
}

/// Microseconds since 1970 as RFC 3339.
pub fn time(micros: i64) -> Value {
    jiff::Timestamp::from_microsecond(micros).map_or(Value::Null, |time| time.to_string().into())
}

pub fn checkpoint(entry: &Entry) -> Value {
    let node = &entry.node;
    let session = entry.session.as_ref();
    json!({
        "id": node.id.to_string(),
        "parent": node.parent.map(|id| id.to_string()),
        "kind": node.kind.name(),
        "session": session.map(|s| s.native.as_str()),
        "agent": session.map(|s| s.agent.as_str()),
        "turn": entry.turn.as_ref().map(|turn| format!("t{}", turn.number)),
        "iteration": entry.call.as_ref().map(|call| call.iteration),
        "tool": entry.call.as_ref().map(|call| call.tool.as_str()),
        "subagent": entry.call.as_ref().and_then(|call| call.subagent.as_deref()),
        "label": node.label,
        "prompt": entry.turn.as_ref().map(|turn| turn.prompt.as_str()),
        "time": time(node.time),
        "branch": entry.branch,
        "tags": entry.tags,
        "taken_out": entry.taken_out,
        "operation": entry.operation.as_ref().map(operation),
        "git": git_head(&node.git),
        "changes": entry.changes.iter().map(|c| change(c, entry)).collect::<Vec<_>>(),
        "coverage": coverage(&node.coverage),
        "unsaved": entry.unsaved.iter().map(unsaved).collect::<Vec<_>>(),
    })
}

fn unsaved(unsaved: &Unsaved) -> Value {
    json!({
        "path": text(unsaved.path.bytes()),
        "added": unsaved.added,
        "removed": unsaved.removed,
        "editor": unsaved.editor,
    })
}

pub fn editor(editor: &EditorInfo, unsaved: &[(EditorId, RelPath)]) -> Value {
    let own = unsaved.iter().filter(|(of, _)| *of == editor.id);
    json!({
        "id": editor.id.0,
        "name": editor.name,
        "pid": editor.pid,
        "unsaved": own.map(|(_, path)| text(path.bytes())).collect::<Vec<_>>(),
    })
}

pub fn pending_save(p: &PendingSave) -> Value {
    json!({
        "path": text(p.path.bytes()),
        "operation": p.operation.map(|op| op.to_string()),
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

fn change(entry_change: &EntryChange, entry: &Entry) -> Value {
    let change = &entry_change.change;
    let (path, from) = render::place(&change.before, &change.after);
    let mut object = Map::new();
    object.insert("path".into(), text(path));
    object.insert(
        "kind".into(),
        What::of(&change.before, &change.after).name().into(),
    );
    if let Some(from) = from {
        object.insert("from".into(), text(from));
    }
    object.insert("added".into(), entry_change.added.into());
    object.insert("removed".into(), entry_change.removed.into());
    object.insert("origin".into(), origin(&change.origin, change.role, entry));
    object.insert("binary".into(), entry_change.binary.into());
    Value::Object(object)
}

/// Who made a change: `by` is `agent`, `user`, `restore`, or `unknown` where it may have been either.
fn origin(origin: &Origin, role: Role, entry: &Entry) -> Value {
    let by = match (role, origin.session) {
        (Role::Restore, _) => "restore",
        (Role::Edit, Some(_)) => "agent",
        (Role::Edit, None) if origin.session_certainty == Certainty::Uncertain => "unknown",
        (Role::Edit, None) => "user",
    };
    let session = entry
        .session
        .as_ref()
        .filter(|s| origin.session == Some(s.id));
    json!({
        "by": by,
        "session": session.map(|s| s.native.as_str()),
        "session_certainty": render::certainty(origin.session_certainty),
        "step_certainty": render::certainty(origin.step_certainty),
    })
}

pub fn coverage(coverage: &Coverage) -> Value {
    let item = |item: &backstitch_core::model::CoverageItem| json!({ "path": text(&item.path), "reason": item.reason.name(), "detail": item.detail });
    json!({
        "captured": coverage.captured,
        "ignored": coverage.ignored,
        "pending": coverage.pending,
        "too_large": coverage.count(Reason::TooLarge),
        "outside": coverage.count(Reason::Outside),
        "unreadable": coverage.count(Reason::Unreadable),
        "special": coverage.count(Reason::Special),
        "failed": coverage.count(Reason::Failed),
        "items": coverage.items.iter().map(item).collect::<Vec<_>>(),
    })
}

pub fn git_head(git: &GitHead) -> Value {
    json!({ "head": git.head, "branch": git.branch })
}

pub fn branch(branch: &BranchInfo) -> Value {
    json!({
        "name": branch.name,
        "head": branch.head.map(|id| id.to_string()),
        "parent": branch.parent,
        "fork_point": branch.fork_point.map(|id| id.to_string()),
        "created": time(branch.created),
        "description": branch.description,
        "current": branch.current,
        "deleted": branch.deleted,
        "root": branch.root.as_ref().map(|dir| text(dir.as_os_str().as_encoded_bytes())),
    })
}

pub fn operation(operation: &Operation) -> Value {
    json!({
        "id": operation.id.to_string(),
        "kind": operation.kind.name(),
        "target": operation.target,
        "checkpoint": operation.node.map(|id| id.to_string()),
        "of": operation.of.map(|id| id.to_string()),
        "undone_by": operation.undone_by.map(|id| id.to_string()),
        "state": operation.state.name(),
        "detail": operation.detail,
        "files": operation.files,
        "time": time(operation.time),
    })
}

/// A plan: what `--dry-run` answers, and the start of what a restore answers. `rev` is what was typed.
pub fn plan(plan: &Plan, rev: Option<&str>, scope: &str) -> Value {
    let mut document = json!({
        "rev": rev,
        "target": plan.target,
        "scope": scope,
        "actions": plan.actions.iter().map(action).collect::<Vec<_>>(),
        "conflicts": plan.conflicts.iter().map(conflict).collect::<Vec<_>>(),
        "gaps": plan.gaps.iter().map(gap).collect::<Vec<_>>(),
        "plan": plan.fingerprint,
    });
    if !plan.edits.is_empty() {
        let edit = |e: &BufferEdit| json!({ "path": text(e.path.bytes()), "pending": e.pending });
        document["edits"] = plan.edits.iter().map(edit).collect();
    }
    let uncarried = plan.uncarried();
    if !uncarried.is_empty() {
        document["uncarried"] = uncarried.iter().map(|p| text(p.bytes())).collect();
    }
    if let Some(why) = &plan.nothing {
        document["nothing"] = why.as_str().into();
    }
    if let Some((then, now)) = &plan.git_moved {
        document["git_head"] = json!({ "then": git_head(then), "now": git_head(now) });
    }
    document
}

pub fn applied(applied: &Applied, rev: Option<&str>, scope: &str) -> Value {
    let mut document = plan(&applied.plan, rev, scope);
    document["checkpoint"] = json!(applied.node.map(|id| id.to_string()));
    document["operation"] = json!(applied.operation.map(|id| id.to_string()));
    if let Some(by) = &applied.by {
        document["editor"] = editor(by, &[]);
    }
    if !applied.incomplete.is_empty() {
        document["incomplete"] = applied.incomplete.iter().map(|p| text(p.bytes())).collect();
    }
    if !applied.saved.is_empty() {
        document["saved"] = applied.saved.iter().map(|p| text(p.bytes())).collect();
    }
    unseen(&mut document, &applied.not_taken, &applied.awaited);
    document
}

/// Documents whose new text has not been seen in the editor.
pub fn unseen(document: &mut Value, not_taken: &[RelPath], awaited: &[RelPath]) {
    for (name, paths) in [("not_taken", not_taken), ("awaited", awaited)] {
        if !paths.is_empty() {
            document[name] = paths.iter().map(|p| text(p.bytes())).collect();
        }
    }
}

fn action(action: &Action) -> Value {
    let mut object = Map::new();
    object.insert("path".into(), text(action.path.bytes()));
    object.insert("action".into(), action.kind.name().into());
    if let Some(from) = &action.from {
        object.insert("from".into(), text(from.bytes()));
    }
    if let Some(reason) = &action.reason {
        object.insert("reason".into(), reason.as_str().into());
    }
    Value::Object(object)
}

/// Line ranges are 0-based, the end excluded.
fn conflict(conflict: &Conflict) -> Value {
    let hunks = conflict.hunks.iter();
    json!({
        "path": text(conflict.path.bytes()),
        "reason": conflict.reason,
        "resolution": conflict.resolution.map(Resolution::name),
        "hunks": hunks
            .map(|h| json!({ "target": [h.target.0, h.target.1], "kept": [h.kept.0, h.kept.1] }))
            .collect::<Vec<_>>(),
    })
}

pub fn gap(gap: &Gap) -> Value {
    json!({
        "path": gap.path.as_deref().map(text),
        "kind": gap.kind.name(),
        "detail": gap.detail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_text_keeps_its_bytes() {
        assert_eq!(text("é".as_bytes()), json!("é"));
        assert_eq!(text(b"\xff\x00"), json!({ "bytes": "/wA=" }));
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(time(1_500_000), json!("1970-01-01T00:00:01.5Z"));
    }
}
