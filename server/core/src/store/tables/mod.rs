//! One module per table of the database: its typed rows and all SQL that reads or writes it.

pub(crate) mod blob;
pub(crate) mod buffer;
pub(crate) mod call;
pub(crate) mod damage;
pub(crate) mod editor;
pub(crate) mod event;
pub(crate) mod id_list;
pub(crate) mod journal;
pub(crate) mod meta;
pub(crate) mod operation;
pub(crate) mod pending_save;
pub(crate) mod request;
pub(crate) mod reserved;
pub(crate) mod reviewed;
pub(crate) mod root;
pub(crate) mod session;
pub(crate) mod turn;
