//! Files as clients name them: by paths, which may lead over links, or by URIs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use dapts::Source;
use serde_json::Value;

/// Ways in which a client names files.
#[derive(Debug, Default)]
pub struct ClientPaths {
    /// By URIs.
    pub are_uris: bool,
    /// Directories without links, and the paths by which the client names them.
    links: Vec<(PathBuf, PathBuf)>,
}

impl ClientPaths {
    /// Learns the names of directories from the files that a request names.
    pub fn learn(&mut self, arguments: &Value) {
        match arguments {
            Value::Object(all) => {
                for (key, value) in all {
                    match value {
                        Value::String(path) if key == "path" || key == "workflow" => {
                            self.learn_path(&plain(path));
                        }
                        value => self.learn(value),
                    }
                }
            }
            Value::Array(all) => all.iter().for_each(|one| self.learn(one)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn learn_path(&mut self, path: &Path) {
        let Some(real) = path
            .is_absolute()
            .then(|| path.canonicalize().ok())
            .flatten()
        else {
            return;
        };
        let (mut named, mut real) = (path.to_owned(), real);
        while named != real && named.file_name().is_some() && named.file_name() == real.file_name()
        {
            named.pop();
            real.pop();
        }
        if named != real && self.links.iter().all(|(known, _)| *known != real) {
            self.links.push((real, named));
        }
    }

    /// Names the files of a message as the client does.
    pub fn name_in(&self, message: &mut Value) {
        if self.links.is_empty() && !self.are_uris {
            return;
        }
        match message {
            Value::Object(all) => {
                for (key, value) in all.iter_mut() {
                    if key == "source"
                        && let Some(Value::String(path)) = value.get_mut("path")
                    {
                        *path = self.named(path);
                    } else if key == "sources"
                        && let Value::Array(sources) = value
                    {
                        for source in sources {
                            if let Some(Value::String(path)) = source.get_mut("path") {
                                *path = self.named(path);
                            }
                        }
                    } else {
                        self.name_in(value);
                    }
                }
            }
            Value::Array(all) => all.iter_mut().for_each(|one| self.name_in(one)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn named(&self, path: &str) -> String {
        let file = Path::new(path);
        let found = self.links.iter().find_map(|(real, named)| {
            let rest = file.strip_prefix(real).ok()?;
            // joined to nothing, it would end with a slash
            Some(if rest == Path::new("") {
                named.clone()
            } else {
                named.join(rest)
            })
        });
        let shown = found.map_or_else(
            || path.to_owned(),
            |named| named.to_string_lossy().into_owned(),
        );
        if self.are_uris { uri(&shown) } else { shown }
    }
}

/// The path that a text names: by itself, or as a URI.
fn plain(text: &str) -> PathBuf {
    text.strip_prefix("file://")
        .map_or_else(|| Path::new(text).to_owned(), decoded)
}

/// The URI of an absolute path.
fn uri(path: &str) -> String {
    let mut text = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            other => {
                let _ = write!(text, "%{other:02X}");
            }
        }
    }
    text
}

/// The file of a source.
pub fn path_of(source: &Source) -> Result<PathBuf, String> {
    let path = source.path.as_deref().filter(|path| !path.is_empty());
    let path = path.ok_or("The source has no path.")?;
    // nvim-dap has a URI where it asks for targets
    let path = plain(path);
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

    /// A client hears of files by the names that it gives them.
    #[test]
    fn files_have_the_names_of_the_client() {
        let dir = tempfile::tempdir().expect("a directory");
        let real = dir.path().canonicalize().expect("a path").join("real dir");
        std::fs::create_dir_all(real.join("sub")).expect("a directory");
        std::fs::write(real.join("sub/a.yml"), "").expect("a file");
        let link = real.with_file_name("link");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        let mut paths = ClientPaths::default();
        let asked = serde_json::json!({"source": {"path": link.join("sub/a.yml")}});
        paths.learn(&asked);
        let mut answer = serde_json::json!({
            "frames": [{"source": {"path": real.join("sub/b.yml")}}], "sources": [{"path": real}], "path": real,
            "output": {"source": {"path": "/elsewhere"}},
        });
        paths.name_in(&mut answer);
        let expected = serde_json::json!({
            "frames": [{"source": {"path": link.join("sub/b.yml")}}], "sources": [{"path": link}], "path": real,
            "output": {"source": {"path": "/elsewhere"}},
        });
        assert_eq!(answer, expected);
        paths.are_uris = true;
        let mut answer = serde_json::json!({"source": {"path": real.join("ü b")}});
        paths.name_in(&mut answer);
        let text = answer["source"]["path"].as_str().expect("a text");
        assert!(
            text.starts_with("file:///") && text.ends_with("/link/%C3%BC%20b"),
            "{text}"
        );
    }

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
