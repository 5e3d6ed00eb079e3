//! A failed command: its message, its hint and its JSON document.

use std::process::ExitCode;

use serde_json::json;

use super::error::{CliError, ExitKind};
use super::out::{self, Out};

/// Prints an error and returns its exit code.
pub fn report(mut error: CliError, out: &Out) -> ExitCode {
    let code = ExitCode::from(error.kind.exit_code());
    match error.kind {
        ExitKind::Closed => return code,
        // the user's own answer is not an error
        ExitKind::Declined if !out.json => {
            let _ = out.remark(&format!("{}\n", error.message));
            return code;
        }
        _ => out.note("error", &error.message),
    }
    if let Some(hint) = &error.hint {
        out.note("hint", hint);
    }
    if out.json {
        let fields = error_fields(&error);
        let mut answer = error
            .answer
            .take()
            .map_or_else(|| json!({}), |answer| *answer);
        answer["error"] = fields["error"].clone();
        let _ = if error.is_line {
            answer["schema"] = 1.into();
            Out::json_line(&answer)
        } else {
            out::answer(answer)
        };
    }
    code
}

/// Returns an error as a field of a JSON document.
pub fn error_fields(error: &CliError) -> serde_json::Value {
    json!({ "error": {
        "kind": error.kind.name(),
        "message": error.message,
        "hint": error.hint,
    }})
}
