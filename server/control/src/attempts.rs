//! Decisions that an agent tried to make, and that were refused. Each is told to the user.

use serde_json::{Value, json};

use super::Control;
use super::tables::command::{self, NewCommand};
use backstitch_core::Result;

/// Name of the row.
const NAME: &str = "attempt";

/// A refused attempt of an agent to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub id: i64,
    /// Microseconds since 1970.
    pub time: i64,
    /// The front end that refused it.
    pub face: String,
    /// The command, without values.
    pub command: String,
    /// How the agent was known.
    pub reason: String,
}

impl Control {
    /// Stores an attempt.
    pub fn note_attempt(&self, face: &str, tried: &str, reason: &str) -> Result<()> {
        let args = json!({ "command": tried, "reason": reason });
        let row = NewCommand {
            face,
            agent: None,
            session: None,
            pause: None,
            name: NAME,
            args: &args,
        };
        self.write(|conn| command::insert(conn, &row)).map(drop)
    }

    /// Returns the attempts after a row and not before a time, oldest first.
    pub fn attempts(&self, after: i64, since: i64) -> Result<Vec<Attempt>> {
        let rows = command::all_after(&self.conn, NAME, (after, since))?;
        let attempt = |(id, time, face, args): (i64, i64, String, String)| {
            let args: Value = serde_json::from_str(&args).unwrap_or_default();
            let text = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
            Attempt {
                id,
                time,
                face,
                command: text("command"),
                reason: text("reason"),
            }
        };
        Ok(rows.into_iter().map(attempt).collect())
    }
}
