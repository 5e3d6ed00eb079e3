//! From each message of the client, and each commit to a store, to its handler.

pub mod backend;
pub mod capabilities;
pub mod commands;
pub mod from_proto;
pub mod ingress;
pub mod requests;
pub mod store_events;
