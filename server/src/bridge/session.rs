//! A connected program: its workspace, its holds, and its first message.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use backstitch_control::{Control, Hold, PauseId, ProcessId, ProgramHello, ancestors};
use backstitch_core::Workspace;
use backstitch_core::config::Config;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::rpc::{self, Refusal};

/// Shared by the threads that answer polls.
pub(super) struct BridgeShared {
    pub workspace: Workspace,
    pub control: Mutex<Control>,
    pub state: Mutex<BridgeState>,
}

#[derive(Default)]
pub(super) struct BridgeState {
    pub program: Option<Connected>,
    pub holds: BTreeMap<PauseId, Hold>,
    /// Sessions whose inputs this program has evaluated, by pause.
    pub served: BTreeMap<PauseId, BTreeSet<String>>,
    /// Number of decisions that the program refused. Polls of before count no more: the program polls anew.
    pub refusals: u64,
}

#[derive(Clone)]
pub(super) struct Connected {
    pub process: i64,
    pub language: String,
    /// Names the program in scopes and lists: `<pid>-<start>`.
    pub session: String,
    /// The program's process, if this bridge runs inside it. A number that a program only claims is nobody's.
    pub process_id: Option<ProcessId>,
    pub cwd: String,
}

pub(super) type Outcome = Result<Value, Refusal>;

pub(super) fn wrong(reason: impl std::fmt::Display) -> Refusal {
    Refusal {
        code: rpc::WRONG_PARAMS,
        message: reason.to_string(),
    }
}

pub(super) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(wrong)
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the process of this number if it is an ancestor of this one, and is not the first of the system.
fn above(pid: u32) -> Option<ProcessId> {
    let mut all = ancestors(std::process::id()).into_iter();
    all.find(|process| process.pid == pid && pid > 1)
}

/// The stored name of a request.
pub(super) fn call_of(key: &str) -> String {
    format!("key {key}")
}

impl BridgeShared {
    pub(super) fn program(&self) -> Result<Connected, Refusal> {
        let state = locked(&self.state);
        state.program.clone().ok_or_else(|| Refusal {
            code: rpc::NOT_A_REQUEST,
            message: "the first message is `hello`".to_owned(),
        })
    }

    pub(super) fn hello(&self, hello: &ProgramHello) -> Outcome {
        let control = locked(&self.control);
        let process = control.programs().connect(hello)?;
        let functions: Vec<String> = control
            .breakpoints()
            .all()?
            .into_iter()
            .filter(|one| one.enabled && one.spec.kind() == "function")
            .map(|one| one.spec.summary())
            .collect();
        locked(&self.state).program = Some(Connected {
            process,
            language: hello.language.clone(),
            session: format!(
                "{}-{}.{:06}",
                hello.pid,
                hello.started / 1_000_000,
                hello.started % 1_000_000
            ),
            process_id: above(hello.pid),
            cwd: hello.cwd.clone(),
        });
        let config = Config::of(&self.workspace);
        let timeout = u64::try_from(config.eval_timeout().as_millis()).unwrap_or(u64::MAX);
        Ok(json!({
            "process": process,
            "evalTimeoutMs": timeout,
            "maxObject": config.max_object(),
            "functions": functions,
        }))
    }
}
