//! New sessions: made before the files go back, and removed where those do not.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use backstitch_agents::conversations::Placement;
use backstitch_core::model::ConversationId;
use backstitch_core::process::ProcessId;
use backstitch_core::restore::Applied;
use backstitch_core::{Conversation, ConversationNote, ConversationRecords, Engine, fault_point};

use backstitch_protocol::PlannedConversation;

use super::plan::ConversationPlan;
use super::record::{bytes_of, is_as_written, path_of};
use super::server;
use super::words::CommandText;
use crate::terminal::error::{CliError, CliResult};

/// A session that was made, and that is not final before its files are.
#[derive(Debug)]
pub struct MadeConversation {
    pub id: ConversationId,
    /// The agent's id. None: it begins one by itself.
    pub session: Option<String>,
    pub command: CommandText,
    /// True if it had been made before.
    is_older: bool,
}

impl ConversationPlan {
    /// Makes the session. A failure leaves nothing.
    pub fn make(&self, engine: &mut Engine) -> CliResult<MadeConversation> {
        if let Some(older) = &self.unused
            && let Some(command) = CommandText::read(&older.command)
        {
            return Ok(MadeConversation {
                id: older.id,
                session: older.native.clone(),
                command,
                is_older: true,
            });
        }
        let session = self.known_session();
        let command = CommandText::of(self.opening(session.clone()));
        let (file, hash) = match &self.new.placement {
            Placement::File { path, bytes } => {
                (Some(path), blake3::hash(bytes).as_bytes().to_vec())
            }
            _ => (None, Vec::new()),
        };
        let place = file.map(|path| path.as_os_str().as_bytes());
        let process = ProcessId::own();
        let id = ConversationRecords::of(&mut *engine).begin(&ConversationNote {
            turn: self.turn.turn.id,
            how: self.how,
            native: session.as_deref(),
            file: place.map(|place| (place, hash.as_slice())),
            command: &command.stored(),
            process: &process.to_string(),
            summary: self.summary.as_deref(),
        })?;
        fault_point("conversation noted");
        let mut made = MadeConversation {
            id,
            session,
            command,
            is_older: false,
        };
        match self.place(engine, &mut made) {
            Ok(()) => {
                fault_point("conversation made");
                Ok(made)
            }
            Err(error) => {
                made.remove(engine)?;
                Err(error)
            }
        }
    }

    fn place(&self, engine: &mut Engine, made: &mut MadeConversation) -> CliResult<()> {
        match &self.new.placement {
            Placement::Fresh => Ok(()),
            Placement::File { path, bytes } => {
                let written = write(path, bytes);
                written.map_err(|error| {
                    CliError::failed(format!("{} cannot be written: {error}", path.display()))
                        .hint("nothing was changed")
                })?;
                let told = self.new.verify(self.conversations, &bytes_of(path, None)?);
                told.map_err(|why| CliError::refused(why.to_string()).hint("nothing was changed"))
            }
            Placement::Serve { argv, calls } => {
                let session = server::make(self.agent_name(), argv, calls)?;
                let command = CommandText::of(self.opening(Some(session.clone())));
                let kept = command.stored();
                let mut conversations = ConversationRecords::of(&mut *engine);
                conversations.set_made(made.id, Some(&session), &kept)?;
                made.session = Some(session);
                made.command = command;
                Ok(())
            }
            Placement::Import { .. } | Placement::Window { .. } => Err(CliError::refused(format!(
                "the conversations of {} cannot go back yet",
                self.agent_name()
            ))),
        }
    }
}

impl MadeConversation {
    /// No file had to go back. A restore of files keeps that in its journal by itself.
    pub fn finish(&self, engine: &mut Engine) -> CliResult<()> {
        Ok(ConversationRecords::of(&mut *engine).finish(self.id, None)?)
    }

    /// The plan of its conversation, with the way to open it.
    pub fn shape(&self, plan: &ConversationPlan) -> PlannedConversation {
        plan.shape(Some((self.session.as_deref(), &self.command)))
    }

    /// Keeps the session of a restore whose files are where they should be, or removes it: both halves, or neither. `is_there`: true
    /// if the files were there already.
    pub fn settle(
        &self,
        engine: &mut Engine,
        applied: Option<&Applied>,
        is_there: bool,
    ) -> CliResult<()> {
        match applied {
            // the journal has it
            Some(applied) if applied.operation.is_some() => Ok(()),
            Some(_) if is_there => self.finish(engine),
            Some(_) | None => self.remove(engine),
        }
    }

    /// Removes the session, since its files did not go back. One that was made before stays, and so does one whose restore is in the
    /// journal: the next command finishes that.
    pub fn remove(&self, engine: &mut Engine) -> CliResult<()> {
        if self.is_older {
            return Ok(());
        }
        let Some(row) = ConversationRecords::of(&*engine).row(self.id)? else {
            return Ok(());
        };
        if row.operation.is_some() {
            return remove_left(engine).map(drop);
        }
        remove_file(&row)?;
        Ok(ConversationRecords::of(&mut *engine).forget(self.id)?)
    }
}

/// Removes sessions whose process was killed before their files went back, and those whose restore was rolled back. Returns sentences about those that stay with their
/// agent.
pub fn remove_left(engine: &mut Engine) -> CliResult<Vec<String>> {
    let mut said = Vec::new();
    for row in ConversationRecords::of(&*engine).rolled_back()? {
        remove_file(&row)?;
        ConversationRecords::of(&mut *engine).forget(row.id)?;
    }
    for row in ConversationRecords::of(&*engine).begun()? {
        let process = row.process.as_deref().unwrap_or_default();
        let is_at_work = process.parse::<ProcessId>().is_ok_and(ProcessId::is_alive);
        if is_at_work {
            continue;
        }
        remove_file(&row)?;
        if let (Some(session), None) = (&row.native, &row.place) {
            said.push(format!(
                "the session {session} was made for a rewind that did not happen; it stays in the list of its agent"
            ));
        }
        ConversationRecords::of(&mut *engine).forget(row.id)?;
    }
    Ok(said)
}

/// Removes the file of a session that nobody has opened. One that is not as it was written is somebody's.
fn remove_file(row: &Conversation) -> CliResult<()> {
    let Some(path) = path_of(row) else {
        return Ok(());
    };
    // cut off while it was written
    let _ = fs::remove_file(part_of(&path));
    if !path.exists() || !is_as_written(row) {
        return Ok(());
    }
    fs::remove_file(&path)
        .map_err(|error| CliError::failed(format!("{} cannot be removed: {error}", path.display())))
}

/// The name of a file while it is written, which its agent does not list.
fn part_of(path: &Path) -> PathBuf {
    path.with_extension("backstitch-part")
}

/// Writes a new file, whole on the disk or not at all.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let part = part_of(path);
    let _ = fs::remove_file(&part);
    let made = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // fails where the name is taken, unlike a rename
        fs::hard_link(&part, path)?;
        fs::File::open(folder)?.sync_all()
    };
    let made = made();
    let _ = fs::remove_file(&part);
    made
}
