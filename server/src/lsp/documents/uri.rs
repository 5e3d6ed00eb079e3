//! URIs: files as clients write them, and Backstitch's virtual documents. Pure. Any byte that is not plain in a path
//! is written as `%XX`, so that names that are not UTF-8 work, too.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use backstitch_core::model::RelPath;

/// `backstitch://<workspace>/<rev>/<path>`: a file at a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Virtual {
    /// Root of the workspace.
    pub root: PathBuf,
    pub rev: String,
    pub path: RelPath,
}

pub const SCHEME: &str = "backstitch";

/// Returns the file of a `file:` URI; None for every other scheme, and for a file on another host.
pub fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = strip_scheme(uri, "file")?;
    let rest = rest
        .strip_prefix("//")
        .map_or(rest, |rest| rest.strip_prefix("localhost").unwrap_or(rest));
    if !rest.starts_with('/') {
        return None;
    }
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    Some(path_of(&decode(&rest[..end])))
}

pub fn of_path(path: &Path) -> String {
    format!("file://{}", encode(&bytes_of(path.as_os_str()), true))
}

impl Virtual {
    pub fn parse(uri: &str) -> Option<Self> {
        let rest = strip_scheme(uri, SCHEME)?.strip_prefix("//")?;
        let (root, rest) = rest.split_once('/')?;
        let (rev, path) = rest.split_once('/')?;
        Some(Self {
            root: path_of(&decode_bytes(&decode(root))),
            rev: String::from_utf8(decode(rev)).ok()?,
            path: RelPath::new(decode(path))?,
        })
    }

    #[cfg(any(test, fuzzing))] // clients make them; `server/docs/protocol.md` has the form
    pub fn uri(&self) -> String {
        format!(
            "{SCHEME}://{}/{}/{}",
            encode(escape(&bytes_of(self.root.as_os_str())).as_bytes(), false),
            encode(self.rev.as_bytes(), false),
            encode(self.path.bytes(), true)
        )
    }
}

/// Escapes capitals, `%` and bytes that are not ASCII once more as `%XX`, since hosts have no case and clients write
/// them in small letters.
#[cfg(any(test, fuzzing))]
fn escape(root: &[u8]) -> String {
    let one = |byte: &u8| {
        if byte.is_ascii_uppercase() || !byte.is_ascii() || *byte == b'%' {
            format!("%{byte:02x}")
        } else {
            char::from(*byte).to_string()
        }
    };
    root.iter().map(one).collect()
}

/// Returns the URI of a view, a text that is shown in a virtual document.
pub fn of_view(number: u64, name: &str) -> String {
    format!(
        "{SCHEME}://view/{number}/{}",
        encode(name.as_bytes(), false)
    )
}

/// True if it names a view, and not a file at a checkpoint.
pub fn is_view(uri: &str) -> bool {
    strip_scheme(uri, SCHEME).is_some_and(|rest| rest.starts_with("//view/"))
}

/// True if two URIs name the same view; clients escape URIs in different ways.
pub fn same_view(one: &str, other: &str) -> bool {
    decode(one) == decode(other)
}

fn strip_scheme<'u>(uri: &'u str, scheme: &str) -> Option<&'u str> {
    let (found, rest) = uri.split_once(':')?;
    found.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn encode(bytes: &[u8], slashes: bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        let plain =
            byte.is_ascii_alphanumeric() || b"-._~".contains(byte) || (slashes && *byte == b'/');
        if plain {
            text.push(char::from(*byte));
        } else {
            text.push('%');
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
            }
        }
    }
    text
}

/// Decodes `%XX`; a `%` without two hex digits is kept.
fn decode(text: &str) -> Vec<u8> {
    decode_bytes(text.as_bytes())
}

fn decode_bytes(bytes: &[u8]) -> Vec<u8> {
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let pair = digit(at + 1).zip(digit(at + 2));
        if let Some((high, low)) = pair.filter(|_| *byte == b'%') {
            decoded.extend(u8::try_from(high * 16 + low));
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    decoded
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    OsStr::from_bytes(bytes).into()
}

#[cfg(unix)]
fn bytes_of(path: &OsStr) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_bytes().to_vec()
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    // `/c:/dir` is `c:/dir`
    let text = String::from_utf8_lossy(bytes);
    let drive = text
        .strip_prefix('/')
        .filter(|t| t.as_bytes().get(1) == Some(&b':'));
    PathBuf::from(drive.unwrap_or(&text))
}

#[cfg(not(unix))]
fn bytes_of(path: &OsStr) -> Vec<u8> {
    let text = path.to_string_lossy().replace('\\', "/");
    let drive = text.as_bytes().get(1) == Some(&b':');
    if drive { format!("/{text}") } else { text }.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_as_clients_write_them() {
        let path = |uri: &str| to_path(uri).map(|path| path.display().to_string());
        assert_eq!(path("file:///a/b.rs").as_deref(), Some("/a/b.rs"));
        assert_eq!(path("file:/a/b.rs").as_deref(), Some("/a/b.rs"));
        assert_eq!(path("FILE://localhost/a").as_deref(), Some("/a"));
        assert_eq!(path("file:///a%20b%C3%A9").as_deref(), Some("/a bé"));
        assert_eq!(path("file:///a+b@c:d!").as_deref(), Some("/a+b@c:d!"));
        assert_eq!(path("file:///100%").as_deref(), Some("/100%"));
        assert_eq!(path("file://host/a"), None);
        assert_eq!(path("untitled:Untitled-1"), None);
    }

    #[test]
    #[cfg(unix)]
    fn any_name_leads_back() {
        let name: Vec<u8> = (1..=255).filter(|b| *b != b'/').collect();
        let path = Path::new("/").join(path_of(&name));
        assert_eq!(to_path(&of_path(&path)), Some(path));
    }

    #[test]
    fn own_documents_lead_back() {
        let document = Virtual {
            root: "/home/me/a project".into(),
            rev: "fix/one two".into(),
            path: RelPath::new("src/é?.rs").unwrap(),
        };
        assert_eq!(Virtual::parse(&document.uri()), Some(document.clone()));
        let capital = Virtual {
            root: "/home/Me/50%41 É".into(),
            ..document
        };
        let uri = capital.uri();
        let (host, rest) = uri.split_at(uri.find("/fix").unwrap());
        let small = format!("{}{rest}", host.to_lowercase());
        assert_eq!(Virtual::parse(&small), Some(capital));
        let once = Virtual::parse("backstitch://%2Fhome%2FMe/t1/a").unwrap();
        assert_eq!(once.root, Path::new("/home/Me"));
        assert_eq!(Virtual::parse("file:///a/b/c"), None);
        assert_eq!(Virtual::parse("backstitch://a/b"), None);
    }
}
