//! Programs that pause, their calls and their stacks.

use serde::{Deserialize, Serialize};

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
