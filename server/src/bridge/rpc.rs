//! Messages of the bridge: JSON-RPC 2.0, one in each line.

use std::io::{Write as _, stdout};

use serde::Deserialize;
use serde_json::{Value, json};

/// Codes of errors: those of JSON-RPC, and those of HTTP for what the seed answered by them.
pub const NOT_JSON: i64 = -32700;
pub const NOT_A_REQUEST: i64 = -32600;
pub const NO_METHOD: i64 = -32601;
pub const WRONG_PARAMS: i64 = -32602;
pub const FAILED: i64 = -32603;
pub const TOO_LONG: i64 = -32000;
pub const MISSING: i64 = 400;
pub const UNKNOWN: i64 = 404;
pub const CLOSED: i64 = 409;

/// A message of the program.
#[derive(Debug, Deserialize)]
pub struct Message {
    pub id: Option<Value>,
    pub method: String,
    #[serde(default)]
    pub params: Value,
}

/// An error for the program.
#[derive(Debug)]
pub struct Refusal {
    pub code: i64,
    pub message: String,
}

impl From<backstitch_core::Error> for Refusal {
    fn from(error: backstitch_core::Error) -> Self {
        use backstitch_core::Error;
        let code = match &error {
            Error::MissingField(_) => MISSING,
            Error::UnknownPause(_) | Error::UnknownSession(_) => UNKNOWN,
            Error::SessionClosed { .. } | Error::Resumed { .. } => CLOSED,
            _ => FAILED,
        };
        Self {
            code,
            message: error.to_string(),
        }
    }
}

/// Writes one message. The lock keeps lines whole; a program that reads no more is over.
fn send(message: &Value) {
    let mut line = message.to_string();
    line.push('\n');
    let mut stdout = stdout().lock();
    let _ = stdout
        .write_all(line.as_bytes())
        .and_then(|()| stdout.flush());
}

pub fn answer(id: &Value, result: &Value) {
    send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
}

pub fn refuse(id: Option<&Value>, code: i64, message: &str) {
    send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }));
}

pub fn notify(method: &str, params: &Value) {
    send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
}
