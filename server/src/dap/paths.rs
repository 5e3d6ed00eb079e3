//! Files as clients name them: by a path, or by a URI where a client forgets that it has agreed on paths.

use std::path::{Path, PathBuf};

use dapts::Source;

/// The file of a source.
pub fn path_of(source: &Source) -> Result<PathBuf, String> {
    let path = source.path.as_deref().filter(|path| !path.is_empty());
    let path = path.ok_or("The source has no path.")?;
    let path = match path.strip_prefix("file://") {
        // nvim-dap has a URI where it asks for targets
        Some(rest) => decoded(rest),
        None => Path::new(path).to_owned(),
    };
    Ok(path.canonicalize().unwrap_or(path))
}

/// The path of a URI, in which `%20` stands for a blank.
fn decoded(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = (first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_paths() {
        let of = |path: &str| {
            path_of(&Source {
                path: Some(path.to_owned()),
                ..Source::default()
            })
        };
        assert_eq!(of("file:///no/a%20b%25").unwrap(), Path::new("/no/a b%"));
        assert_eq!(of("/no/a%20b").unwrap(), Path::new("/no/a%20b"));
        assert_eq!(of("file:///no/%z").unwrap(), Path::new("/no/%z"));
        assert!(of("").is_err());
    }
}
