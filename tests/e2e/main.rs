//! End-to-end tests: each drives the real binary and looks at what a user would see.
//!
//! One test binary, one module per theme; `support` holds the fixture. No test sleeps: each waits for what it needs.

mod blame;
mod branches;
mod buffers;
mod capture;
mod commands;
mod docs;
mod doctor;
mod editors;
mod finding;
mod forks;
mod garbage;
mod gc;
mod hostile;
mod kill;
mod lanes;
mod large;
mod lent;
mod lsp;
mod messages;
mod moves;
mod numbers;
mod nvim;
mod oracle;
mod payloads;
mod real_claude;
mod reverting;
mod rewinding;
mod safety;
mod settings;
mod setup;
mod smoke;
mod support;
mod terminal;
mod timeline;
mod together;
mod undo;
mod untouched;
mod who;
