//! End-to-end tests: each runs the real binary and checks what a user would see.
//!
//! One test binary, one module per feature; `support` holds the fixture. No test sleeps: each waits for an event.

// a story is written in one function
#![allow(clippy::too_many_lines)]

mod acp;
mod aider;
mod attribution;
mod blame;
mod branch_graph;
mod branches;
mod capture;
mod commands;
mod completion;
mod concurrency;
mod control;
mod conversations;
mod dap;
mod directories;
mod docs;
mod doctor;
mod edge_cases;
mod editors;
mod faithful;
mod forks;
mod gc;
mod generated;
mod git_backed;
mod git_returns;
mod git_untouched;
mod ignored_paths;
mod jobs;
mod kill;
mod large_files;
mod last_turn;
mod lens_truth;
mod linked_worktrees;
mod lsp;
mod mcp;
mod messages;
mod moves;
mod nvim;
mod oracle;
mod outside;
mod paging;
mod patches;
mod payloads;
mod real_agents;
mod real_claude;
mod repl;
mod revert;
mod review;
mod review_walk;
mod rewind;
mod rewind_safety;
mod robustness;
mod safeguards;
mod settings;
mod setup;
mod smoke;
mod statistics;
mod support;
mod terminal;
mod timeline;
mod timeline_filters;
mod undo;
mod unsaved_text;
mod vcs_dirs;
mod views;
mod whole_turns;
