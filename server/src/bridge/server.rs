//! The bridge of one program: reads its messages and answers them. Polls wait on their own threads.

use std::sync::{Arc, Mutex};

use backstitch_control::{Control, PauseOutcome, PauseState};
use backstitch_core::Workspace;
use backstitch_core::config::Config;
use serde_json::Value;

use super::rpc::{self, Message, Refusal};
use super::session::{BridgeShared, Outcome, locked, read};
use crate::json_text;

pub struct Bridge {
    shared: Arc<BridgeShared>,
}

impl Bridge {
    pub fn new(workspace: Workspace, control: Control) -> Self {
        Self {
            shared: Arc::new(BridgeShared {
                workspace,
                control: Mutex::new(control),
                state: Mutex::default(),
            }),
        }
    }

    /// Handles one message. Polls wait on their own threads.
    pub fn handle_line(&self, line: &[u8]) {
        let read = serde_json::from_slice(line);
        // names of files and texts of a program need not be Unicode
        let read = read.or_else(|_| serde_json::from_str(&json_text::strict(line)));
        let message: Message = match read {
            Ok(message) => message,
            Err(error) => {
                let code = if error.is_data() {
                    rpc::NOT_A_REQUEST
                } else {
                    rpc::NOT_JSON
                };
                return rpc::refuse(None, code, &error.to_string());
            }
        };
        let shared = self.shared.clone();
        // in the order of the messages: a refusal ends the polls before it, and none after it
        let refusals = locked(&shared.state).refusals;
        if matches!(&*message.method, "pause/poll" | "repl/poll") {
            std::thread::spawn(move || shared.answer(message, refusals));
        } else {
            shared.answer(message, refusals);
        }
    }

    /// The program is gone: its pauses are over.
    pub fn end(&self) {
        let control = locked(&self.shared.control);
        let mut state = locked(&self.shared.state);
        for (id, _) in std::mem::take(&mut state.holds) {
            let _ = control
                .pauses()
                .end(id, PauseState::Lost, Some(PauseOutcome::Lost));
        }
        if let Some(program) = &state.program {
            let _ = control.programs().ended(program.process, &program.session);
            // a workspace may have programs, and no agent whose hooks do it
            let config = Config::of(&self.shared.workspace);
            let _ = control.gc_if_due(Some(config.keep_days()), config.most_bytes());
        }
    }
}

impl BridgeShared {
    /// `refusals`: their number when the message came.
    fn answer(&self, message: Message, refusals: u64) {
        let outcome = self.handle(&message.method, message.params, refusals);
        let Some(id) = message.id else {
            return;
        };
        match outcome {
            Ok(result) => rpc::answer(&id, &result),
            Err(refusal) => rpc::refuse(Some(&id), refusal.code, &refusal.message),
        }
    }

    fn handle(&self, method: &str, params: Value, refusals: u64) -> Outcome {
        match method {
            "hello" => self.hello(&read(params)?),
            "call/begin" => self.call_begin(&read(params)?),
            "call/end" => self.call_end(&read(params)?),
            "pause/open" => self.pause_open(&read(params)?),
            "pause/take" => self.pause_take(&read(params)?),
            "pause/confirm" => self.pause_confirm(&read(params)?),
            "pause/refuse" => self.pause_refuse(&read(params)?),
            "pause/withdraw" => self.pause_withdraw(&read(params)?),
            "pause/poll" => self.pause_poll(&read(params)?),
            "repl/poll" => self.repl_poll(&read(params)?, refusals),
            "repl/result" => self.repl_result(read(params)?),
            _ => Err(Refusal {
                code: rpc::NO_METHOD,
                message: format!("there is no method `{method}`"),
            }),
        }
    }
}
