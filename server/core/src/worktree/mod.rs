//! The files of a workspace's root: reading and writing them, the rules for files that are not tracked, scans,
//! the recorded state of each file, and git's index. Knows no history.

pub(crate) mod backed_content;
pub(crate) mod changed_paths;
pub(crate) mod clean_index;
pub(crate) mod cookie;
pub(crate) mod dir_cache;
pub(crate) mod directories;
pub(crate) mod dirty;
pub(crate) mod disk;
pub(crate) mod file_state;
pub(crate) mod git_index;
pub(crate) mod ignore_rules;
pub(crate) mod ignored_paths;
pub(crate) mod linked_worktrees;
pub(crate) mod past_times;
pub(crate) mod pending_saves;
pub(crate) mod recorded_vcs;
pub(crate) mod scan;
