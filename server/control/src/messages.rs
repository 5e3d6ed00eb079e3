//! Texts of the user for models: each goes with the next event that can carry it.

use serde_json::json;

use super::Control;
use super::tables::command::{self, NewCommand};
use super::tables::message::{self, WaitingMessage};
use backstitch_core::{Error, Result};

/// Texts of the user for models.
#[derive(Debug)]
pub struct Messages<'a> {
    pub(crate) control: &'a Control,
}

impl Messages<'_> {
    /// Stores a text for the model of a session: it goes with the next event that can carry it. Returns its number.
    pub fn inject(
        &self,
        agent: Option<&str>,
        session: Option<&str>,
        text: &str,
        face: &str,
    ) -> Result<i64> {
        if text.trim().is_empty() {
            return Err(Error::Usage("the text for the model is empty".to_owned()));
        }
        self.control.write_armed(|conn| {
            let id = message::insert(conn, agent, session, text)?;
            let args = json!({ "text": text });
            let command = NewCommand {
                face,
                agent,
                session,
                pause: None,
                name: "inject",
                args: &args,
            };
            command::insert(conn, &command)?;
            Ok(id)
        })
    }

    /// Returns the texts that wait for an event, oldest first.
    pub fn waiting(&self) -> Result<Vec<WaitingMessage>> {
        message::waiting(&self.control.conn)
    }

    /// Withdraws a text that waits. Returns false if it does not: the model has it, or there is none with this number.
    pub fn withdraw(&self, id: i64) -> Result<bool> {
        self.control.write_armed(|conn| message::withdraw(conn, id))
    }

    /// Takes the texts that wait for a session.
    pub fn take(&self, agent: &str, session: &str) -> Result<Vec<String>> {
        self.control
            .write_armed(|conn| message::take(conn, agent, session))
    }
}
