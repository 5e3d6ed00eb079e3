//! Text that is not saved: its record, the texts that others give to open documents, and files that wait for a save.

pub mod buffers;
pub mod disk_merge;
pub mod editing;
pub mod external_changes;
pub mod pending_saves;
pub mod written_below;
