//! Names of the folders in which Claude Code and Qwen Code keep the conversations of a working directory.

use std::path::Path;

/// Characters of a name. A longer one is cut there, and a hash follows that cannot be computed outside the agent.
const MAX_NAME: usize = 200;

/// The folder of a working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderName {
    Exact(String),
    /// Beginning of the name, with the dash before the hash.
    Begins(String),
}

impl FolderName {
    /// Every character but letters and digits becomes a dash, counted as the agent counts: in units of UTF-16.
    pub fn of(directory: &Path) -> Self {
        let mut name = String::new();
        for character in directory.to_string_lossy().chars() {
            if character.is_ascii_alphanumeric() {
                name.push(character);
            } else {
                name.extend(std::iter::repeat_n('-', character.len_utf16()));
            }
        }
        if name.len() <= MAX_NAME {
            return Self::Exact(name);
        }
        name.truncate(MAX_NAME);
        name.push('-');
        Self::Begins(name)
    }

    /// Returns the folder's name. `folders`: names of those that exist. None: its hash is unknown, or several begin so.
    pub fn choose(&self, folders: &[String]) -> Option<String> {
        let start = match self {
            Self::Exact(name) => return Some(name.clone()),
            Self::Begins(start) => start,
        };
        let is_hash =
            |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let mut matching = folders
            .iter()
            .filter(|name| name.strip_prefix(start.as_str()).is_some_and(is_hash));
        let first = matching.next()?;
        matching.next().is_none().then(|| first.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_stay() {
        let name = FolderName::of(Path::new("/home/dev/my_app.v2/größe 🦀"));
        let name = name.choose(&[]).unwrap();
        assert_eq!(name, "-home-dev-my-app-v2-gr--e---");
    }

    #[test]
    fn a_long_name_needs_a_folder_that_exists() {
        let long = format!("/{}/end", "a".repeat(250));
        let name = FolderName::of(Path::new(&long));
        let start = format!("-{}-", "a".repeat(199));
        assert_eq!(name, FolderName::Begins(start.clone()));
        assert_eq!(name.choose(&[]), None);
        let folders = ["other".to_owned(), format!("{start}x1y2z3"), start.clone()];
        assert_eq!(name.choose(&folders), Some(format!("{start}x1y2z3")));
        let two = [format!("{start}x1"), format!("{start}x2")];
        assert_eq!(name.choose(&two), None);
    }
}
