//! Inputs of REPLs that a program evaluates.

use std::time::{Duration, Instant};

use backstitch_control::{Control, EvalAnswer, EvalId, ObjectValue, PauseId, PauseState};
use backstitch_core::config::Config;
use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::pauses::{MAX_WAIT, Poll};
use super::rpc::{self, Refusal};
use super::session::{BridgeShared, Outcome, locked, wrong};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvalResult {
    eval_id: i64,
    #[serde(default)]
    result: String,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    cid: Option<String>,
    /// The bytes of the value in base64.
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    view: Value,
}

impl BridgeShared {
    /// Waits for an input to evaluate.
    pub(super) fn repl_poll(&self, poll: &Poll, at_begin: u64) -> Outcome {
        let id = self.own_pause(&poll.pause)?.id;
        let control = Control::open_for_hook(&self.workspace)?;
        let watch = control.watch();
        let until = Instant::now() + Duration::from_millis(poll.wait_ms).min(MAX_WAIT);
        let refusals = || locked(&self.state).refusals;
        loop {
            self.tell_closed(&control, id)?;
            let is_held = control
                .pauses()
                .get(id)?
                .is_some_and(|pause| pause.state == PauseState::Held);
            if is_held && let Some(request) = control.repls().take_eval(id)? {
                if refusals() != at_begin {
                    control.repls().untake_evals(id)?;
                    return Ok(json!({ "evalId": null }));
                }
                let mut state = locked(&self.state);
                let served = state.served.entry(id).or_default();
                served.insert(request.session.clone());
                return Ok(json!({
                    "evalId": request.id.0,
                    "pause": id.to_string(),
                    "session": request.session,
                    "expression": request.expression,
                    "timeoutMs": request.timeout,
                }));
            }
            let pause = control
                .pauses()
                .get(id)?
                .ok_or_else(|| backstitch_core::Error::UnknownPause(id.to_string()))?;
            if Instant::now() >= until || pause.state != PauseState::Held || refusals() != at_begin
            {
                return Ok(json!({ "evalId": null }));
            }
            watch.wait_as_holder(Some(until));
        }
    }

    /// Tells the program of sessions that were closed, so that it drops their names.
    fn tell_closed(&self, control: &Control, id: PauseId) -> Result<(), Refusal> {
        let served = locked(&self.state).served.get(&id).cloned();
        for session in served.unwrap_or_default() {
            let is_closed = control
                .repls()
                .get(&session)?
                .is_none_or(|session| session.closed.is_some());
            if is_closed {
                let mut state = locked(&self.state);
                let was_there = state.served.get_mut(&id);
                if was_there.is_some_and(|all| all.remove(&session)) {
                    drop(state);
                    rpc::notify("repl/closed", &json!({ "session": session }));
                }
            }
        }
        Ok(())
    }

    pub(super) fn repl_result(&self, result: EvalResult) -> Outcome {
        let value = match (result.cid, result.data) {
            (Some(cid), Some(data)) => {
                let bytes = base64::engine::general_purpose::STANDARD
                    .decode(data)
                    .map_err(|error| wrong(format!("`data` is not base64: {error}")))?;
                let limit = Config::of(&self.workspace).max_object();
                let is_kept = u64::try_from(bytes.len()).is_ok_and(|size| size <= limit);
                is_kept.then(|| ObjectValue {
                    cid,
                    bytes,
                    view: result.view.to_string(),
                })
            }
            _ => None,
        };
        let answer = EvalAnswer {
            result: result.result,
            stdout: result.stdout,
            error: result.error,
            value,
        };
        let control = locked(&self.control);
        let entry = control
            .repls()
            .answer_eval(EvalId(result.eval_id), &answer)?;
        Ok(json!({ "index": entry.map(|entry| entry.number) }))
    }
}
