//! Making, listing and removing breakpoints.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::Control;
use super::breakpoint::CallMoment;
use super::breakpoint::{
    Breakpoint, BreakpointAction, BreakpointId, BreakpointScope, BreakpointSpec, LineKind,
};
use super::hit_condition::HitCondition;
use super::tables::command::{self, NewCommand};
use super::tables::{breakpoint, region};
use backstitch_core::config::Unattended;
use backstitch_core::model::RelPath;
use backstitch_core::sqlite::now;
use backstitch_core::{Error, Result};

/// A breakpoint to make.
#[derive(Clone, Debug)]
pub struct NewBreakpoint {
    pub spec: BreakpointSpec,
    /// None: the usual one of the kind.
    pub moment: Option<CallMoment>,
    pub scope: BreakpointScope,
    pub condition: Option<String>,
    pub hits_when: Option<HitCondition>,
    pub action: BreakpointAction,
    pub message: Option<String>,
    pub once: bool,
    pub unattended: Option<Unattended>,
    /// The client that makes it.
    pub made_by: String,
    /// Text of the file of a `line` breakpoint, by which its lines follow edits.
    pub base: Option<Vec<u8>>,
}

impl NewBreakpoint {
    /// A breakpoint that pauses at every trigger.
    pub fn of(spec: BreakpointSpec, made_by: &str) -> Self {
        Self {
            spec,
            moment: None,
            scope: BreakpointScope::default(),
            condition: None,
            hits_when: None,
            action: BreakpointAction::Pause,
            message: None,
            once: false,
            unattended: None,
            made_by: made_by.to_owned(),
            base: None,
        }
    }
}

/// The breakpoints of a workspace.
#[derive(Debug)]
pub struct Breakpoints<'a> {
    pub(crate) control: &'a Control,
}

impl Breakpoints<'_> {
    /// Makes a breakpoint. It is enabled, with no hits (S2-008).
    pub fn add(&self, new: NewBreakpoint) -> Result<Breakpoint> {
        new.spec.check()?;
        let moment = new.moment.unwrap_or_else(|| new.spec.usual_moment());
        if !new.spec.allows(moment) {
            return Err(Error::Usage(format!(
                "a breakpoint of the kind `{}` does not trigger at this side of a call",
                new.spec.kind()
            )));
        }
        let mut made = Breakpoint {
            id: BreakpointId(0),
            name: name(),
            spec: new.spec,
            moment,
            scope: new.scope,
            condition: new.condition,
            hits_when: new.hits_when,
            action: new.action,
            message: new.message,
            once: new.once,
            enabled: true,
            hits: 0,
            unattended: new.unattended,
            made_by: new.made_by,
            created: now(),
            problem: None,
        };
        check_action(&made)?;
        if let (BreakpointSpec::Line(LineKind { path, start, count }), Some(base)) =
            (&made.spec, &new.base)
        {
            let lines = backstitch_core::diff::count_lines(base);
            let last = start.saturating_add(count.saturating_sub(1)) as usize;
            if last > lines {
                return Err(Error::Usage(format!(
                    "`{path}` has {}, and no line {last}",
                    if lines == 1 {
                        "1 line".to_owned()
                    } else {
                        format!("{lines} lines")
                    }
                )));
            }
        }
        let id = self.control.write_armed(|conn| {
            let id = breakpoint::insert(conn, &made)?;
            if let BreakpointSpec::Line(LineKind { path, .. }) = &made.spec
                && let Some(base) = &new.base
            {
                let path = RelPath::new(path.as_bytes()).ok_or_else(|| {
                    Error::Usage(format!("`{path}` is not a path below the workspace"))
                })?;
                region::set(conn, id, &path, base)?;
            }
            let args = json!({ "spec": made.spec, "name": made.name });
            log(conn, &made.made_by, &made.scope, "breakpoint add", &args)?;
            Ok(id)
        })?;
        made.id = id;
        Ok(made)
    }

    /// Returns all breakpoints in the order in which they were made (S2-019).
    pub fn all(&self) -> Result<Vec<Breakpoint>> {
        breakpoint::all(&self.control.conn)
    }

    /// Finds a breakpoint by `b3`, `3` or its name.
    pub fn named(&self, name: &str) -> Result<Breakpoint> {
        let number = name.strip_prefix('b').unwrap_or(name).parse::<i64>().ok();
        let is_named =
            |one: &Breakpoint| one.name == name || number.is_some_and(|id| one.id.0 == id);
        let found = self.all()?.into_iter().find(is_named);
        found.ok_or_else(|| Error::NotFound {
            what: "breakpoint",
            name: name.to_owned(),
        })
    }

    /// Replaces the fields that a user can edit.
    pub fn edit(&self, changed: &Breakpoint, face: &str) -> Result<()> {
        changed.spec.check()?;
        check_action(changed)?;
        let is_there = self.control.write_armed(|conn| {
            let args = json!({ "breakpoint": changed.id.to_string(), "enabled": changed.enabled });
            log(conn, face, &changed.scope, "breakpoint edit", &args)?;
            breakpoint::update(conn, changed)
        })?;
        if is_there {
            Ok(())
        } else {
            Err(Error::NotFound {
                what: "breakpoint",
                name: changed.id.to_string(),
            })
        }
    }

    /// Has a `line` breakpoint follow its file to another path.
    pub fn move_to(&self, id: BreakpointId, to: &RelPath) -> Result<()> {
        self.control.write_armed(|conn| {
            let all = breakpoint::all(conn)?;
            let Some(mut one) = all.into_iter().find(|one| one.id == id) else {
                return Ok(());
            };
            if let BreakpointSpec::Line(LineKind { path, .. }) = &mut one.spec {
                *path = to.display();
                breakpoint::set_spec(conn, &one)?;
                region::set_path(conn, id, to)?;
            }
            Ok(())
        })
    }

    /// Removes a breakpoint. Returns false if it was not there (S2-017).
    pub fn remove(&self, id: BreakpointId, face: &str) -> Result<bool> {
        self.control.write_armed(|conn| {
            let args = json!({ "breakpoint": id.to_string() });
            let scope = BreakpointScope::default();
            log(conn, face, &scope, "breakpoint remove", &args)?;
            breakpoint::delete(conn, id)
        })
    }

    /// Removes all breakpoints (S2-018). Returns their number.
    pub fn clear(&self, face: &str) -> Result<usize> {
        self.control.write_armed(|conn| {
            // a damaged row goes, too
            let removed = breakpoint::delete_all(conn)?;
            let scope = BreakpointScope::default();
            log(conn, face, &scope, "breakpoint clear", &json!({}))?;
            Ok(removed)
        })
    }

    /// Raises the number of triggers of a breakpoint. None: it is gone or disabled by now.
    pub fn count_hit(&self, id: BreakpointId) -> Result<Option<i64>> {
        self.control.write(|conn| breakpoint::count(conn, id))
    }

    /// Notes the failure of a breakpoint's condition.
    pub fn note_problem(&self, id: BreakpointId, problem: &str) -> Result<()> {
        self.control
            .write(|conn| breakpoint::set_problem(conn, id, problem))
    }

    /// Returns the path of a `line` breakpoint, and the text in which it was set.
    pub fn region_base(&self, id: BreakpointId) -> Result<Option<(RelPath, Vec<u8>)>> {
        region::get(&self.control.conn, id)
    }
}

/// Refuses an action that does not go with the rest: a field without effect is a mistake.
fn check_action(one: &Breakpoint) -> Result<()> {
    let wrong = match one.action {
        BreakpointAction::Deny if one.moment == CallMoment::After => {
            "a call that has run cannot be denied; leave out --after"
        }
        BreakpointAction::Deny if one.spec.kind() == "function" => {
            "a program has no model to receive a denial; let the breakpoint pause, and `backstitch deny` raises there"
        }
        BreakpointAction::Pause if one.message.is_some() => {
            "a breakpoint that pauses has no message; it goes with --action deny or log"
        }
        BreakpointAction::Log | BreakpointAction::Deny if one.unattended.is_some() => {
            "--unattended goes with a breakpoint that pauses"
        }
        BreakpointAction::Deny
            if one
                .message
                .as_deref()
                .is_some_and(|text| text.trim().is_empty()) =>
        {
            "the message for the model is empty"
        }
        BreakpointAction::Pause | BreakpointAction::Log | BreakpointAction::Deny => return Ok(()),
    };
    Err(Error::Usage(wrong.to_owned()))
}

fn log(
    conn: &rusqlite::Connection,
    face: &str,
    scope: &BreakpointScope,
    name: &str,
    args: &serde_json::Value,
) -> Result<()> {
    let command = NewCommand {
        face,
        agent: scope.agent.as_deref(),
        session: scope.session.as_deref(),
        pause: None,
        name,
        args,
    };
    command::insert(conn, &command)?;
    Ok(())
}

/// A name for scripts: `bp_<milliseconds>_<4 letters>` (S2-009).
fn name() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = time.unwrap_or_default();
    // the letters only keep names apart that were made in one millisecond
    let mut seed = blake3::Hasher::new();
    seed.update(&time.as_nanos().to_le_bytes());
    seed.update(&std::process::id().to_le_bytes());
    let letters: String = seed.finalize().as_bytes()[..4]
        .iter()
        .map(|byte| char::from(b'a' + byte % 26))
        .collect();
    format!("bp_{}_{letters}", time.as_millis())
}
