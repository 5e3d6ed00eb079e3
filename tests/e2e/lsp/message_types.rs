//! Checks every message of every test against the types of the protocol.

use std::collections::{BTreeMap, BTreeSet};

use backstitch_protocol::{COMMANDS, NOTIFICATIONS, REQUESTS};
use serde_json::Value;

/// Open requests, and the methods and commands that were answered.
#[derive(Debug, Default)]
pub struct Shapes {
    open: BTreeMap<i64, (String, Value)>,
    pub answered: BTreeSet<String>,
}

impl Shapes {
    pub fn asked(&mut self, id: i64, method: &str, params: &Value) {
        self.open.insert(id, (method.to_owned(), params.clone()));
    }

    pub fn response(&mut self, id: i64, response: &Value) {
        let Some((method, params)) = self.open.remove(&id) else {
            return;
        };
        let command = params["command"].as_str().unwrap_or_default();
        let request = REQUESTS.iter().find(|request| request.method == method);
        let command = COMMANDS
            .iter()
            .find(|known| method == "workspace/executeCommand" && known.name == command);
        let data = &response["error"]["data"];
        let told = if let Some(error) = response.get("error") {
            let own = request.is_some() || command.is_some();
            match backstitch_protocol::failure_data().is(data) {
                Err(wrong) if own && !data.is_null() => Err(format!("{error}: {wrong}")),
                _ => Ok(()),
            }
        } else if let Some(request) = request {
            self.answered.insert(method.clone());
            let taken = request.params.takes(&params);
            taken.and_then(|()| request.result.is(&response["result"]))
        } else if let Some(command) = command {
            self.answered.insert(command.name.to_owned());
            let taken = match &params["arguments"][0] {
                Value::Null => Ok(()),
                arguments => command.params.takes(arguments),
            };
            taken.and_then(|()| command.answers(&response["result"]))
        } else {
            Ok(())
        };
        told.unwrap_or_else(|wrong| panic!("{method}: {wrong}"));
    }

    pub fn notification(&mut self, method: &str, params: &Value) {
        if let Some(known) = NOTIFICATIONS.iter().find(|known| known.method == method) {
            self.answered.insert(method.to_owned());
            let told = known.params.is(params);
            told.unwrap_or_else(|wrong| panic!("{method}: {wrong}"));
        }
    }
}
