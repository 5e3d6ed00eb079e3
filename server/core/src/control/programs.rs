//! Programs that pause, and the calls that they watch.

use serde::{Deserialize, Serialize};

use super::Control;
use super::hold::Hold;
use super::pause::{HeldCall, Pause, PauseId};
use super::process::ProcessId;
use super::tables::hit::Hit;
use super::tables::{breakpoint, hit, pause, program};
use crate::error::Result;

/// A program that connects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramHello {
    pub pid: u32,
    /// Its start in microseconds since 1970, by its own clock. Two programs that had one process number differ in it.
    pub started: i64,
    pub argv: Vec<String>,
    pub language: String,
    #[serde(default)]
    pub cwd: String,
}

/// A program that is, or was, connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub id: i64,
    pub pid: u32,
    /// JSON.
    pub argv: String,
    pub language: String,
    pub cwd: String,
    pub connected: i64,
    pub ended: Option<i64>,
}

/// A call that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFunctionCall {
    pub process: i64,
    pub parent: Option<i64>,
    pub function: String,
    pub kind: String,
    pub thread: String,
    /// JSON.
    pub args: String,
}

/// A recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCall {
    pub id: i64,
    pub parent: Option<i64>,
    pub function: String,
    pub kind: String,
    pub thread: String,
    pub args: String,
    pub started: i64,
    pub ended: Option<i64>,
    pub outcome: Option<String>,
    pub result: Option<String>,
}

/// A frame of a program's stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFrame {
    pub name: String,
    pub path: String,
    /// From 1.
    pub line: i64,
    /// Lines of the source around it.
    #[serde(default)]
    pub context: Vec<String>,
    /// From 1: the first line of `context`.
    #[serde(default)]
    pub first: i64,
}

/// The program part of a pause.
#[derive(Clone, Debug)]
pub struct ProgramPause<'a> {
    pub process: i64,
    pub call: Option<i64>,
    /// Outermost first.
    pub stack: &'a [StackFrame],
}

impl Control {
    /// Notes a program. One that connects again keeps its number.
    pub fn connect_program(&self, hello: &ProgramHello) -> Result<i64> {
        self.write(|conn| program::connect(conn, hello))
    }

    pub fn program_ended(&self, process: i64) -> Result<()> {
        self.write(|conn| program::end(conn, process))
    }

    /// Returns all programs, the newest first.
    pub fn programs(&self) -> Result<Vec<Program>> {
        program::all(&self.conn)
    }

    /// Returns the program of a pause. None: it is of an agent's call.
    pub fn program_of(&self, id: PauseId) -> Result<Option<Program>> {
        match pause::program(&self.conn, id)?.0 {
            Some(process) => program::get(&self.conn, process),
            None => Ok(None),
        }
    }

    /// Returns the number of a program's call that is paused.
    pub fn function_call_of(&self, id: PauseId) -> Result<Option<i64>> {
        Ok(pause::program(&self.conn, id)?.1)
    }

    /// Returns the stack of a program's pause, outermost first.
    pub fn stack_of(&self, id: PauseId) -> Result<Vec<StackFrame>> {
        pause::stack(&self.conn, id)
    }

    pub fn begin_function_call(&self, new: &NewFunctionCall) -> Result<i64> {
        self.write(|conn| program::begin_call(conn, new))
    }

    pub fn end_function_call(&self, call: i64, outcome: &str, result: Option<&str>) -> Result<()> {
        self.write(|conn| program::end_call(conn, call, outcome, result))
    }

    /// Returns the newest calls of a program, oldest first.
    pub fn function_calls(&self, process: i64, limit: usize) -> Result<Vec<FunctionCall>> {
        program::calls(&self.conn, process, limit)
    }

    /// Holds a program. None: the breakpoint for one hit has held another one meanwhile.
    pub fn hold_program(
        &self,
        call: &HeldCall,
        at: &ProgramPause<'_>,
        trigger: Option<&Hit>,
        once: bool,
    ) -> Result<Option<Hold>> {
        self.make_holds_dir()?;
        self.write_armed(|conn| {
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
            Ok(Some(Hold::new(id, self.try_lock(id)?)))
        })
    }

    /// Takes a program's pause over from a bridge that died.
    pub fn take_over(&self, id: PauseId) -> Result<Option<(Pause, Hold)>> {
        self.make_holds_dir()?;
        self.write_armed(|conn| {
            let Some(there) = pause::get(conn, id)? else {
                return Ok(None);
            };
            let Some(lock) = self.try_lock(id)? else {
                return Ok(None);
            };
            if there.decision.is_none() {
                pause::take_over(conn, id, ProcessId::own(), &there.call.call, None)?;
            }
            super::tables::repl::untake(conn, id)?;
            let now = pause::get(conn, id)?.unwrap_or(there);
            Ok(Some((now, Hold::new(id, Some(lock)))))
        })
    }
}
