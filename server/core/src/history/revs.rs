//! References that a user may type: `c12`, `c12^`, `t4`, `@`, `@~2`, a tag, a branch, a label.

use rusqlite::Connection;

use super::{Ancestry, head, in_force};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::{Here, NodeId, OpId, SessionId, TurnId};
use crate::store::tables::{branch, node, operation, tag, turn};

pub(crate) fn resolve(conn: &Connection, here: Here, rev: &str) -> Result<NodeId> {
    let missing = || missing(conn, rev).unwrap_or_else(|_| Error::NoRevision(rev.to_owned()));
    // a label may itself contain ^ or ~, so try the whole name first
    if let Some(node) = name(conn, here, rev)? {
        return Ok(node);
    }
    let at = rev.rfind(['^', '~']).ok_or_else(missing)?;
    let (base, suffix) = rev.split_at(at);
    let steps: u32 = match suffix {
        "^" | "~" => 1,
        _ => suffix
            .strip_prefix('~')
            .and_then(digits)
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(missing)?,
    };
    let ancestry = Ancestry::new(conn);
    let mut node = resolve(conn, here, base).map_err(|_| missing())?;
    for _ in 0..steps {
        node = ancestry.parent(node)?.ok_or_else(missing)?;
    }
    Ok(node)
}

/// Parses an unsigned decimal number. `+1` is a name like any other.
fn digits(text: &str) -> Option<i64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// The reason why nothing has this name. Only `gc` leaves gaps in the numbers of checkpoints and turns.
fn missing(conn: &Connection, rev: &str) -> Result<Error> {
    let base = rev.split(['^', '~']).next().unwrap_or(rev);
    let unknown = || Error::NoRevision(rev.to_owned());
    let (what, newest) = match base.as_bytes().first() {
        Some(b'c') => ("checkpoint", node::newest(conn)?.map_or(0, |node| node.0)),
        Some(b't') => ("turn", turn::newest_number(conn)?),
        _ => return Ok(unknown()),
    };
    Ok(match digits(&base[1..]) {
        Some(number) if number > 0 && number < newest => Error::Squashed(rev.to_owned()),
        Some(number) if number > newest => Error::NoNumber {
            what,
            name: base.to_owned(),
            newest,
        },
        _ => unknown(),
    })
}

/// True if this is `@` or this branch, or an ancestor of it by `^` or `~`.
pub(crate) fn names_head(rev: &str, branch: &str) -> bool {
    let mut base = rev;
    loop {
        if base == "@" || base == branch {
            return true;
        }
        match base.rfind(['^', '~']) {
            Some(at) => base = &base[..at],
            None => return false,
        }
    }
}

fn name(conn: &Connection, here: Here, rev: &str) -> Result<Option<NodeId>> {
    if rev == "@" {
        return head(conn, here.branch);
    }
    if rev == LAST_TURN {
        return last_turn(conn, here).map(Some);
    }
    let number = |prefix: char| rev.strip_prefix(prefix).and_then(digits);
    if let Some(node) = number('c').map(NodeId)
        && node::is_there(conn, node)?
    {
        return Ok(Some(node));
    }
    if let Some(n) = number('t')
        && let Some(node) = turn::start_of(conn, n)?
    {
        if !turn::has_node(conn, n, node)? {
            return Err(super::damaged(&format!("the start of turn {n}")).into());
        }
        return Ok(Some(node));
    }
    if let Some(node) = tag::node_of(conn, rev)? {
        return Ok(Some(node));
    }
    if let Some(node) = branch::head_of_name(conn, rev)? {
        return Ok(Some(node));
    }
    let label = rev.trim_matches('"');
    match node::with_label(conn, label, 2)?.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        [first, second, ..] => Err(Error::Ambiguous {
            reason: format!("several checkpoints have the label `{label}`: {first}, {second} …"),
            hint: Hint::SameLabel {
                label: label.to_owned(),
                node: *first,
            },
        }),
    }
}

/// Revision for the state before the newest turn whose edits are in force.
pub const LAST_TURN: &str = "@turn";

/// A turn that began on a branch.
pub(crate) struct BegunTurn {
    pub id: TurnId,
    pub start: NodeId,
    pub session: Option<SessionId>,
}

/// Returns the turn with this number. None: it began elsewhere than before this head, or was squashed.
pub(crate) fn begun_turn(
    ancestry: &Ancestry<'_>,
    number: i64,
    head: NodeId,
) -> Result<Option<BegunTurn>> {
    let conn = ancestry.conn();
    // a number is free where `gc` has squashed its turn
    let Some(start) = turn::start_of(conn, number)? else {
        return Ok(None);
    };
    let begun = super::node(conn, start)?;
    let Some(id) = begun.turn.filter(|_| start <= head) else {
        return Ok(None);
    };
    let is_here = ancestry.is_ancestor(start, head)?;
    Ok(is_here.then_some(BegunTurn {
        id,
        start,
        session: begun.session,
    }))
}

/// Returns the checkpoint at the start of the newest turn of this branch that has an edit in force.
fn last_turn(conn: &Connection, here: Here) -> Result<NodeId> {
    let ancestry = Ancestry::new(conn);
    let none = || {
        Error::refused(
            "no agent's turn is left to undo on this branch",
            Hint::NoTurn,
        )
    };
    let head = head(conn, here.branch)?.ok_or_else(none)?;
    for number in (1..=turn::newest_number(conn)?).rev() {
        let Some(BegunTurn { id, start, .. }) = begun_turn(&ancestry, number, head)? else {
            continue;
        };
        for node in node::edits_of_turn(conn, id)? {
            for change in super::changes_of_node(conn, node)? {
                let is_agents = change.origin.session.is_some();
                if is_agents && in_force(&ancestry, change.file, head)?.contains(&change.id) {
                    return Ok(start);
                }
            }
        }
    }
    Err(none())
}

/// Resolves `op3` or `3`.
pub(crate) fn resolve_op(conn: &Connection, op: &str) -> Result<OpId> {
    let missing = || Error::NotFound {
        what: "operation",
        name: op.to_owned(),
    };
    let n = digits(op.strip_prefix("op").unwrap_or(op)).ok_or_else(missing)?;
    let id = OpId(n);
    if operation::exists(conn, id)? {
        Ok(id)
    } else {
        Err(missing())
    }
}
