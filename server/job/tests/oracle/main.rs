//! Tests against GitHub's own programs: answers of its test suite, and its packages in a Node process.

mod expressions;
mod given;
mod hash_files;
mod known_answers;
mod node;
mod random;
