//! End-to-end tests: each drives the real binary and looks at what a user would see.
//!
//! One test binary, one module per theme; `support` holds the fixture. No test sleeps: each waits for what it needs.

mod garbage;
mod kill;
mod oracle;
mod smoke;
mod support;
mod together;
mod untouched;

// Enabled with the commands it drives (setup, hook, log, cat, rewind, undo):
mod real_claude;
