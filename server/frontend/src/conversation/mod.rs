//! Conversations of agents that go back: the agent's record is read, a new session is planned that ends before a turn, and made. The
//! old session is only read.

mod make;
mod plan;
mod record;
mod server;
mod words;

pub use make::{MadeConversation, remove_left};
pub use plan::{ConversationPlan, ConversationWanted, old_session};
pub use words::{CommandText, command_text};
