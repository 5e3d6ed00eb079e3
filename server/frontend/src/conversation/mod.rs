//! Conversations of agents that go back: the agent's record is read, a new session is planned that ends before a turn, and made. The
//! old session is only read.

mod branch;
mod listed;
mod make;
mod plan;
mod read;
mod record;
mod restored;
mod server;
mod summary;
mod words;

pub use branch::branch_conversation;
pub use listed::{conversation_of, listed, newest_conversation};
pub use make::{MadeConversation, remove_left};
pub use plan::{ConversationPlan, ConversationWanted, old_session};
pub use read::ReadConversation;
pub use summary::{Summarizer, summary_message};
pub use words::{CommandText, command_text, way_of};
