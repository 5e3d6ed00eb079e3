//! New sessions of agents, which end before a turn of an older one. Nothing is known here of the agents' own records.

use std::ops::Deref;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::{BranchId, ConversationId, NodeId, OpId, Session, Turn};
use crate::store::Durable;
use crate::store::tables::operation::OpPhase;
use crate::store::tables::{conversation, session, turn};

pub use crate::store::tables::conversation::{Conversation, ConversationHow, ConversationNote};

/// A turn, with the facts by which it is found in the record of its agent.
#[derive(Clone, Debug)]
pub struct ConversationTurn {
    pub turn: Turn,
    pub session: Session,
    /// The agent's own ids of the turn. A prompt that continued it has one, too.
    pub natives: Vec<String>,
    /// Number of turns of the session before it.
    pub before: usize,
    /// Number of turns of the session.
    pub of: usize,
}

/// Questions about conversations, and their record. `E` is `&Engine` for questions, `&mut Engine` for the rest.
#[derive(Clone, Copy, Debug)]
pub struct ConversationRecords<E> {
    engine: E,
}

impl<E> ConversationRecords<E> {
    pub fn of(engine: E) -> Self {
        Self { engine }
    }
}

impl<E: Deref<Target = Engine>> ConversationRecords<E> {
    /// Returns the turn that begins at a node. Refused for another node, with the turn to name.
    pub fn turn_at(&self, node: NodeId) -> Result<ConversationTurn> {
        let conn = &self.engine.store.conn;
        let Some(id) = conversation::turn_at(conn, node)? else {
            let within = self.engine.history().entry(node)?.turn;
            let reason =
                format!("a conversation goes back to turns, and {node} is not the start of one");
            let hint = within.map_or_else(
                || "name a turn; `backstitch log` lists them".to_owned(),
                |turn| format!("t{} begins before it: name that", turn.number),
            );
            return Err(Error::refused(reason, Hint::terminal(hint)));
        };
        let turn = turn::row(conn, id)?;
        let all = conversation::turns_of(conn, turn.session)?;
        Ok(ConversationTurn {
            session: session::row(conn, turn.session)?,
            natives: conversation::natives_of(conn, id)?,
            before: all.iter().filter(|other| **other < id).count(),
            of: all.len(),
            turn,
        })
    }

    /// Returns the conversations that are made, the newest first.
    pub fn made(&self) -> Result<Vec<Conversation>> {
        conversation::made(&self.engine.store.conn)
    }

    /// Returns those that were begun and are not made: their process works on them, or was killed.
    pub fn begun(&self) -> Result<Vec<Conversation>> {
        conversation::begun(&self.engine.store.conn)
    }

    /// Returns those that nobody has opened, and whose restore was rolled back.
    pub fn rolled_back(&self) -> Result<Vec<Conversation>> {
        conversation::unused_in(&self.engine.store.conn, OpPhase::RolledBack.stored())
    }

    pub fn row(&self, id: ConversationId) -> Result<Option<Conversation>> {
        conversation::row(&self.engine.store.conn, id)
    }

    /// Returns a turn and its session.
    pub fn turn_of(&self, conversation: &Conversation) -> Result<(Turn, Session)> {
        let conn = &self.engine.store.conn;
        let turn = turn::row(conn, conversation.turn)?;
        let session = session::row(conn, turn.session)?;
        Ok((turn, session))
    }
}

impl ConversationRecords<&mut Engine> {
    /// Notes a conversation before it is made, so that a kill leaves nothing that nobody knows of.
    pub fn begin(&mut self, new: &ConversationNote<'_>) -> Result<ConversationId> {
        let write = |conn: &_| conversation::insert(conn, new);
        self.engine.store.write(Durable::Power, write)
    }

    /// Keeps the id and the command line of a session that its agent has made.
    pub fn set_made(
        &mut self,
        id: ConversationId,
        native: Option<&str>,
        command: &str,
    ) -> Result<()> {
        let write = |conn: &_| conversation::set_made(conn, id, native, command);
        self.engine.store.write(Durable::Power, write)
    }

    /// The conversation is whole. A restore that belongs to it has recorded that by itself.
    pub fn finish(&mut self, id: ConversationId, operation: Option<OpId>) -> Result<()> {
        let write = |conn: &_| conversation::finish(conn, id, operation);
        self.engine.store.write(Durable::Power, write)
    }

    /// The conversation belongs to a branch that was created with it.
    pub fn join_branch(&mut self, id: ConversationId, branch: BranchId) -> Result<()> {
        let write = |conn: &_| conversation::join_branch(conn, id, branch);
        self.engine.store.write(Durable::Power, write)
    }

    /// Forgets a conversation that was removed.
    pub fn forget(&mut self, id: ConversationId) -> Result<()> {
        let write = |conn: &_| conversation::delete(conn, id);
        self.engine.store.write(Durable::Power, write)
    }
}
