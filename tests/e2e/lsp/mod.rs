//! The language server, as editors see it: over its real pipes, with what each editor told of itself.

mod client;
mod hostile;
mod lenses;
mod restoring;
