//! Ids of jobs and steps.

use std::collections::HashSet;

/// Ids have fewer characters.
const MAX_LENGTH: usize = 100;

/// Ids of the steps of one job.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// In small letters, since ids have no case.
    taken: HashSet<String>,
}

impl Ids {
    /// Takes an id that the file gives.
    pub fn take(&mut self, id: &str) -> Result<(), String> {
        check(id)?;
        if self.taken.insert(id.to_ascii_lowercase()) {
            Ok(())
        } else {
            Err(format!(
                "The identifier '{id}' may not be used more than once within the same scope."
            ))
        }
    }

    /// An id for a step without one, from the words for what it does: `__run`, then `__run_2`.
    pub fn make(&mut self, words: &str) -> String {
        let is_legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let legal = |c: char| if is_legal(c) { c } else { '_' };
        let base: String = format!("__{words}").chars().map(legal).collect();
        let mut id = base.get(..MAX_LENGTH).unwrap_or(&base).to_owned();
        let mut attempt = 2;
        while !self.taken.insert(id.to_ascii_lowercase()) {
            let suffix = format!("_{attempt}");
            let length = base.len().min(MAX_LENGTH - suffix.len());
            id = format!("{}{suffix}", base.get(..length).unwrap_or(&base));
            attempt += 1;
        }
        id
    }
}

/// The problem of an id that GitHub does not take.
pub(super) fn check(id: &str) -> Result<(), String> {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_next = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_valid = id.starts_with(is_first) && id.chars().all(is_next) && id.len() < MAX_LENGTH;
    if !is_valid {
        // the doubled word is GitHub's
        return Err(format!(
            "The identifier '{id}' is invalid. IDs may only contain alphanumeric characters, '_', and '-'. IDs must \
             start with a letter or '_' and and must be less than {MAX_LENGTH} characters."
        ));
    }
    if id.starts_with("__") {
        return Err(format!(
            "The identifier '{id}' is invalid. IDs starting with '__' are reserved."
        ));
    }
    Ok(())
}
