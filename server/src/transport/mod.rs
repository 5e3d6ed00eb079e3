//! The transport of a server that speaks JSON-RPC in frames, as LSP does: only whole messages come in, large answers go
//! out as text, and a panic costs one request. Knows bytes and JSON-RPC; no method and no type of LSP.

pub mod frames;
pub mod isolation;
pub mod outgoing;

/// Maximum number of concurrent requests. Others wait in the pipe; none of ours waits for the client.
pub const MAX_CONCURRENT: usize = 256;
