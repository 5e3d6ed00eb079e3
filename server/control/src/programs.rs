//! Programs in the store: connections, watched calls and pauses.

use std::time::Duration;

use serde_json::json;

use super::Control;
use super::decided::REFUSED;
use super::hold::Hold;
use super::pause::{HeldCall, Pause, PauseId, PauseState};
use super::program::{
    FunctionCall, NewFunctionCall, Program, ProgramHello, ProgramPause, StackFrame,
};
use super::tables::command::{self, NewCommand};
use super::tables::hit::Hit;
use super::tables::{breakpoint, hit, pause, program};
use backstitch_core::Result;
use backstitch_core::process::ProcessId;

/// Time in which a process that was killed frees its locks.
const DYING: Duration = Duration::from_secs(2);

/// Programs that pause: connections, watched calls and pauses.
#[derive(Debug)]
pub struct Programs<'a> {
    pub(crate) control: &'a Control,
}

impl Programs<'_> {
    /// Notes a program. One that connects again keeps its number.
    pub fn connect(&self, hello: &ProgramHello) -> Result<i64> {
        self.control.write(|conn| program::connect(conn, hello))
    }

    /// Notes the end of a program. `session`: its name in scopes, whose steps end with it.
    pub fn ended(&self, process: i64, session: &str) -> Result<()> {
        self.control.write_armed(|conn| {
            breakpoint::delete_steps(conn, session)?;
            program::end(conn, process)
        })
    }

    /// Returns all programs, the newest first.
    pub fn all(&self) -> Result<Vec<Program>> {
        program::all(&self.control.conn)
    }

    /// Returns the program of a pause. None: it is of an agent's call.
    pub fn of_pause(&self, id: PauseId) -> Result<Option<Program>> {
        match pause::program(&self.control.conn, id)?.0 {
            Some(process) => program::get(&self.control.conn, process),
            None => Ok(None),
        }
    }

    /// Returns the number of a program's call that is paused.
    pub fn call_of_pause(&self, id: PauseId) -> Result<Option<i64>> {
        Ok(pause::program(&self.control.conn, id)?.1)
    }

    /// Returns the stack of a program's pause, outermost first.
    pub fn stack(&self, id: PauseId) -> Result<Vec<StackFrame>> {
        pause::stack(&self.control.conn, id)
    }

    pub fn begin_call(&self, new: &NewFunctionCall) -> Result<i64> {
        self.control.write(|conn| program::begin_call(conn, new))
    }

    pub fn end_call(&self, call: i64, outcome: &str, result: Option<&str>) -> Result<()> {
        self.control
            .write(|conn| program::end_call(conn, call, outcome, result))
    }

    /// Returns the newest calls of a program, oldest first.
    pub fn calls(&self, process: i64, limit: usize) -> Result<Vec<FunctionCall>> {
        program::calls(&self.control.conn, process, limit)
    }

    /// Holds a program. None: the breakpoint for one hit has held another one meanwhile.
    pub fn hold(
        &self,
        call: &HeldCall,
        at: &ProgramPause<'_>,
        trigger: Option<&Hit>,
        once: bool,
    ) -> Result<Option<Hold>> {
        self.control.make_holds_dir()?;
        self.control.write_armed(|conn| {
            if let Some(breakpoint) = call.breakpoint.filter(|_| once)
                && !breakpoint::delete(conn, breakpoint)?
            {
                return Ok(None);
            }
            let id = pause::insert(conn, call, ProcessId::own())?;
            pause::set_program(conn, id, at)?;
            if let Some(trigger) = trigger {
                let trigger = Hit {
                    pause: Some(id.0),
                    ..trigger.clone()
                };
                hit::insert(conn, &trigger)?;
            }
            Ok(Some(Hold::new(id, self.control.try_lock(id)?)))
        })
    }

    /// Finds the open pause that a program asked for under this name. A bridge that died may have opened it.
    pub fn pause_of(
        &self,
        (language, program): (&str, &str),
        call: &str,
    ) -> Result<Option<PauseId>> {
        pause::of_program(&self.control.conn, (language, program), call)
    }

    /// Takes a decision back whose expressions the program could not evaluate: it is held again. Returns false if the pause
    /// is over.
    pub fn refuse_decision(&self, id: PauseId, error: &str) -> Result<bool> {
        self.control.write(|conn| {
            if !pause::undecide(conn, id)? {
                return Ok(false);
            }
            let args = json!({ "error": error });
            let refusal = NewCommand {
                face: "program",
                agent: None,
                session: None,
                pause: Some(id.0),
                name: REFUSED,
                args: &args,
            };
            command::insert(conn, &refusal)?;
            // inputs that were taken meanwhile are asked again
            super::tables::repl::untake(conn, id)?;
            Ok(true)
        })
    }

    /// Takes a program's pause over from a bridge that died. None: it is over, or another bridge has it.
    pub fn take_over(&self, id: PauseId) -> Result<Option<(Pause, Hold)>> {
        self.control.make_holds_dir()?;
        // the pipes of a dying process may end before its locks do
        let Some(lock) = self.control.wait_for_lock(id, DYING)? else {
            return Ok(None);
        };
        self.control.is_no_orphan(id);
        self.control.write_armed(|conn| {
            let Some(there) = pause::get(conn, id)? else {
                return Ok(None);
            };
            let is_open = matches!(there.state, PauseState::Held | PauseState::Lost);
            if !is_open && there.decision.is_none() {
                return Ok(None);
            }
            if there.decision.is_none() {
                pause::take_over(conn, id, ProcessId::own(), &there.call.call, None)?;
            }
            super::tables::repl::untake(conn, id)?;
            let now = pause::get(conn, id)?.unwrap_or(there);
            Ok(Some((now, Hold::new(id, Some(lock)))))
        })
    }
}
