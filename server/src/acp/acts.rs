//! Consequences of a message: events for the record, and questions that wait.

use backstitch_core::capture::AgentEvent;

use super::message::PermissionOption;

/// Name of the agent's question.
pub const QUESTION: &str = "session/request_permission";

/// An event for the record.
#[derive(Clone, Debug)]
pub struct ObservedEvent {
    pub event: AgentEvent,
    /// A call ran without a question of the agent, so that no breakpoint could hold it.
    pub unasked: bool,
}

/// A question of the agent about a call.
#[derive(Clone, Debug)]
pub struct Question {
    /// The id of the request, as it stands in the line.
    pub id: String,
    /// The call, as an event before it.
    pub event: AgentEvent,
    pub options: Vec<PermissionOption>,
}

/// Consequence of a message.
#[derive(Debug)]
pub enum ProxyAct {
    /// The event is recorded. The line does not wait.
    Record(ObservedEvent),
    /// As `Record`, unless a question about the call comes right after it: then it does not run yet.
    RecordDelayed(ObservedEvent),
    /// Such an event of this session and call is not recorded.
    Withdraw(CallKey),
    /// The event is recorded before the line continues.
    RecordFirst(ObservedEvent),
    /// The line may be held.
    Ask(Box<Question>),
    /// Questions of this session are not held any longer: its turn is cancelled.
    Cancel(String),
    /// A line for people.
    Say(String),
}

/// A call of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallKey {
    pub session: String,
    pub call: String,
}
