//! What the language server says beyond LSP, as types: the parameters and answers of its requests and commands,
//! and its notifications. The command line's `--json` has the same shapes. Owns the names of fields, which
//! scripts and extensions rely on; how they come to be filled is the server's business.
//!
//! `server/docs/backstitch.d.ts` and `nvim-plugin/lua/backstitch/protocol.lua` are made from these types by a
//! test: `BACKSTITCH_RENEW_TYPES=1` writes them anew.

mod catalogue;
#[cfg(test)]
mod declarations;
mod editing;
mod failure;
mod history;
mod params;
mod restore;

pub use catalogue::{
    COMMANDS, CommandSpec, NOTIFICATIONS, Notification, REQUESTS, RequestSpec, Shape, failure_data,
};
pub use editing::*;
pub use failure::*;
pub use history::*;
pub use params::*;
pub use restore::*;

/// A type of the protocol: what goes over the wire, compared by what it says.
macro_rules! shape {
    ($($item:item)*) => {$(
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $item
    )*};
}
/// The same for one of several names.
macro_rules! names {
    ($($item:item)*) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $item
    )*};
}
use {names, shape};
