//! Names of directories for names of artifacts and caches, which may have any character.

use sha2::{Digest, Sha256};

use crate::digest::hexadecimal;

/// Bytes of a name up to which a directory has it.
const MAX_PLAIN_NAME: usize = 100;

/// A name that every file system takes, different for different names.
pub(super) fn directory_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    if name.len() <= MAX_PLAIN_NAME && !name.starts_with('.') && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let digest = hexadecimal(&Sha256::digest(name.as_bytes()));
    let front: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(20)
        .collect();
    // the sign is in no plain name
    format!("{front}%{digest}")
}
