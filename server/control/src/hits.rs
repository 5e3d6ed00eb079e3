//! The triggers of breakpoints.

use super::Control;
use super::breakpoint::BreakpointId;
use super::tables::hit::Hit;
use super::tables::{breakpoint, hit};
use backstitch_core::Result;

/// The triggers of breakpoints.
#[derive(Debug)]
pub struct Hits<'a> {
    pub(crate) control: &'a Control,
}

impl Hits<'_> {
    /// True if a breakpoint has a trigger in this session.
    pub fn has_in(&self, id: BreakpointId, (agent, session): (&str, &str)) -> Result<bool> {
        hit::any_in(&self.control.conn, id, (agent, session))
    }

    /// Stores a trigger that holds no call. `once`: its breakpoint goes with it. Returns false if another call has
    /// taken it.
    pub fn record_only(&self, hit: &Hit, once: bool) -> Result<bool> {
        if !once {
            self.record(hit)?;
            return Ok(true);
        }
        self.control.write_armed(|conn| {
            let was_there = breakpoint::delete(conn, hit.breakpoint)?;
            if was_there {
                hit::insert(conn, hit)?;
            }
            Ok(was_there)
        })
    }

    /// Stores a trigger that holds no call.
    pub fn record(&self, hit: &Hit) -> Result<i64> {
        self.control.write(|conn| hit::insert(conn, hit))
    }

    /// Returns the newest triggers that acted, oldest first; `of`: only of this breakpoint.
    pub fn newest(&self, of: Option<BreakpointId>, limit: usize) -> Result<Vec<Hit>> {
        hit::newest_of(&self.control.conn, of, limit)
    }

    /// Returns the newest calls that breakpoints denied by themselves, oldest first. `session`: the beginning of its id.
    /// `turn`: only in this one.
    pub fn denied(
        &self,
        session: Option<&str>,
        turn: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Hit>> {
        hit::denied(&self.control.conn, session, turn, limit)
    }

    /// Returns the triggers after a number, oldest first.
    pub fn after(&self, id: i64, limit: usize) -> Result<Vec<Hit>> {
        hit::after(&self.control.conn, id, limit)
    }

    /// Returns the number of the newest trigger. 0: there is none.
    pub fn newest_number(&self) -> Result<i64> {
        hit::newest(&self.control.conn)
    }

    /// True if a breakpoint has a trigger at this call of a session.
    pub fn has(
        &self,
        id: BreakpointId,
        (agent, session): (&str, &str),
        call: &str,
    ) -> Result<bool> {
        hit::any(&self.control.conn, id, (agent, session), call)
    }
}
