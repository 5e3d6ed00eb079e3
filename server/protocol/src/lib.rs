//! Types of the language server's protocol beyond LSP: parameters and results of its requests and commands, and its
//! notifications. The command line's `--json` has the same shapes. Owns the field names, which scripts and extensions
//! rely on; filling them is the server's task.
//!
//! A test generates `server/protocol/generated/backstitch.d.ts` and `nvim-plugin/lua/backstitch/protocol.lua` from
//! these types. With `BACKSTITCH_RENEW_TYPES=1` it writes the files.

mod arguments;
mod catalogue;
#[cfg(feature = "checks")]
mod checks;
mod control;
#[cfg(test)]
mod declarations;
mod editing;
mod failure;
mod history;
mod jobs;
mod params;
mod repl;
mod restore;

pub use arguments::*;
pub use catalogue::{
    COMMANDS, Command, CommandSpec, CustomRequest, Effect, NOTIFICATIONS, Notification, REQUESTS,
    REWIND_LENS, RequestSpec, Shape, failure_data,
};
pub use control::*;
pub use editing::*;
pub use failure::*;
pub use history::*;
pub use jobs::*;
pub use params::*;
pub use repl::*;
pub use restore::*;

/// Declares a type that goes over the wire; two values are equal if all their fields are.
macro_rules! shape {
    ($($item:item)*) => {$(
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $item
    )*};
}
/// The same for an enum of names.
macro_rules! names {
    ($($item:item)*) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $item
    )*};
}
use {names, shape};
