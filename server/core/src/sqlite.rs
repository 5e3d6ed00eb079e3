//! Parts of a database that other databases beside the store share: connections, schemas, locks, private files and damage.

pub use crate::store::migrate::Schema;
pub use crate::store::tables::damage::{InRow, read_all, unknown_value};
pub use crate::store::{
    BUSY_TIMEOUT, BUSY_TIMEOUT_HOOK, CONTROL_BELL, Lock, connect, lock, make_private_dir, now,
    private_file, to_json,
};
pub use crate::stored_as;
