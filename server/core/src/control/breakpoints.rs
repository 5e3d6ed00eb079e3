//! Making, listing and removing breakpoints.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::Control;
use super::breakpoint::{
    Breakpoint, BreakpointAction, BreakpointId, BreakpointScope, BreakpointSpec, CallMoment,
    HitCondition, Unattended,
};
use super::tables::command::{self, NewCommand};
use super::tables::hit::Hit;
use super::tables::{breakpoint, hit, region};
use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::store::now;

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
    /// The face that makes it.
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

impl Control {
    /// Makes a breakpoint. It is enabled, with no hits (S2-008).
    pub fn add_breakpoint(&self, new: NewBreakpoint) -> Result<Breakpoint> {
        new.spec.check()?;
        let moment = new.moment.unwrap_or_else(|| new.spec.usual_moment());
        if !new.spec.allows(moment) {
            return Err(Error::Usage(format!(
                "a breakpoint of the kind `{}` does not trigger at this side of a call",
                new.spec.kind()
            )));
        }
        if new.action == BreakpointAction::Deny && moment == CallMoment::After {
            return Err(Error::Usage(
                "a call that has run cannot be denied; leave out --after".to_owned(),
            ));
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
        let id = self.write_armed(|conn| {
            let id = breakpoint::insert(conn, &made)?;
            if let BreakpointSpec::Line { path, .. } = &made.spec
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
    pub fn breakpoints(&self) -> Result<Vec<Breakpoint>> {
        breakpoint::all(&self.conn)
    }

    /// Finds a breakpoint by `b3`, `3` or its name.
    pub fn breakpoint(&self, name: &str) -> Result<Breakpoint> {
        let number = name.strip_prefix('b').unwrap_or(name).parse::<i64>().ok();
        let is_named =
            |one: &Breakpoint| one.name == name || number.is_some_and(|id| one.id.0 == id);
        let found = self.breakpoints()?.into_iter().find(is_named);
        found.ok_or_else(|| Error::NotFound {
            what: "breakpoint",
            name: name.to_owned(),
        })
    }

    /// Replaces the fields that a user can edit.
    pub fn edit_breakpoint(&self, changed: &Breakpoint, face: &str) -> Result<()> {
        changed.spec.check()?;
        let is_there = self.write_armed(|conn| {
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

    /// Removes a breakpoint. Returns false if it was not there (S2-017).
    pub fn remove_breakpoint(&self, id: BreakpointId, face: &str) -> Result<bool> {
        self.write_armed(|conn| {
            let args = json!({ "breakpoint": id.to_string() });
            let scope = BreakpointScope::default();
            log(conn, face, &scope, "breakpoint remove", &args)?;
            breakpoint::delete(conn, id)
        })
    }

    /// Removes all breakpoints (S2-018). Returns their number.
    pub fn clear_breakpoints(&self, face: &str) -> Result<usize> {
        self.write_armed(|conn| {
            // a damaged row goes, too
            let removed = breakpoint::delete_all(conn)?;
            let scope = BreakpointScope::default();
            log(conn, face, &scope, "breakpoint clear", &json!({}))?;
            Ok(removed)
        })
    }

    /// True if a breakpoint has a trigger in this session.
    pub fn has_hit_in(&self, id: BreakpointId, (agent, session): (&str, &str)) -> Result<bool> {
        hit::any_in(&self.conn, id, (agent, session))
    }

    /// Raises the number of triggers of a breakpoint. None: it is gone or disabled by now.
    pub fn count_hit(&self, id: BreakpointId) -> Result<Option<i64>> {
        self.write(|conn| breakpoint::count(conn, id))
    }

    /// Notes the failure of a breakpoint's condition.
    pub fn note_problem(&self, id: BreakpointId, problem: &str) -> Result<()> {
        self.write(|conn| breakpoint::set_problem(conn, id, problem))
    }

    /// Stores a trigger that holds no call.
    pub fn record_hit(&self, hit: &Hit) -> Result<i64> {
        self.write(|conn| hit::insert(conn, hit))
    }

    /// Returns the triggers after a number, oldest first.
    pub fn hits_after(&self, id: i64, limit: usize) -> Result<Vec<Hit>> {
        hit::after(&self.conn, id, limit)
    }

    /// Returns the number of the newest trigger. 0: there is none.
    pub fn newest_hit(&self) -> Result<i64> {
        hit::newest(&self.conn)
    }

    /// True if a breakpoint has a trigger at this call of a session.
    pub fn has_hit(
        &self,
        id: BreakpointId,
        (agent, session): (&str, &str),
        call: &str,
    ) -> Result<bool> {
        hit::any(&self.conn, id, (agent, session), call)
    }

    /// Returns what is armed, as the rows say it.
    pub fn armed(&self) -> Result<super::Armed> {
        super::Armed::of(&self.conn)
    }

    /// Returns the path of a `line` breakpoint, and the text in which it was set.
    pub fn region_base(&self, id: BreakpointId) -> Result<Option<(RelPath, Vec<u8>)>> {
        region::get(&self.conn, id)
    }
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
    command::insert(conn, &command)
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
