//! Checkpoints and their files as resources: `backstitch://checkpoint/c12` and `backstitch://checkpoint/c12/src/a.rs`.

use backstitch_core::LogFilter;
use backstitch_core::model::RelPath;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use super::access::WorkspaceAccess;
use super::answer::ToolError;
use super::history;
use crate::render;
use crate::to_protocol;

const PREFIX: &str = "backstitch://checkpoint/";
/// Checkpoints in the list.
const LISTED: usize = 20;
/// Maximum size of a file as a resource, which clients read as a whole.
const MAX_FILE: usize = 1 << 20;

/// A URI, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Checkpoint(String),
    File(String, RelPath),
}

/// The newest checkpoints.
pub fn list(access: &WorkspaceAccess) -> Result<Vec<Resource>, ToolError> {
    let Some(engine) = access.open_recorded()? else {
        return Ok(Vec::new());
    };
    let entries = engine.history().log(&LogFilter {
        limit: Some(LISTED),
        ..LogFilter::default()
    })?;
    let resource = |entry| {
        let shape = to_protocol::checkpoint(entry);
        Resource::new(format!("{PREFIX}{}", shape.id), shape.id.clone())
            .with_title(render::cut(&history::row(&shape), 160))
            .with_mime_type("application/json")
    };
    Ok(entries.iter().map(resource).collect())
}

pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{PREFIX}{{id}}"), "checkpoint")
            .with_title("A checkpoint")
            .with_description("One checkpoint, such as c12: its author, prompt and changed files.")
            .with_mime_type("application/json"),
        ResourceTemplate::new(format!("{PREFIX}{{id}}/{{+path}}"), "file")
            .with_title("A file at a checkpoint")
            .with_description(
                "The content of a file at a checkpoint. The path is relative to the workspace.",
            ),
    ]
}

pub fn read(access: &WorkspaceAccess, uri: &str) -> Result<ResourceContents, ToolError> {
    match parse(uri)? {
        Named::Checkpoint(rev) => {
            let engine = access.open()?;
            let document = history::document(&engine, &rev)?;
            let text = serde_json::to_string_pretty(&document).unwrap_or_default();
            Ok(ResourceContents::text(text, uri).with_mime_type("application/json"))
        }
        Named::File(rev, path) => {
            let engine = access.open()?;
            let (_, content) = history::content_at(&engine, &rev, &path)?;
            let (bytes, is_whole) = history::read_up_to(&engine, &content, MAX_FILE)?;
            if !is_whole {
                let path = render::path(path.bytes());
                let limit = render::bytes(MAX_FILE as u64);
                return Err(
                    ToolError::refused(format!("{path} is larger than {limit} at {rev}"))
                        .hint("the tool `cat` has its lines"),
                );
            }
            Ok(match String::from_utf8(bytes) {
                Ok(text) => ResourceContents::text(text, uri),
                Err(error) => ResourceContents::blob(STANDARD.encode(error.as_bytes()), uri)
                    .with_mime_type("application/octet-stream"),
            })
        }
    }
}

fn parse(uri: &str) -> Result<Named, ToolError> {
    let unknown = |what: &str| {
        let shown = render::cut(&render::clean(uri), 200);
        ToolError::usage(format!("{shown}: {what}"))
            .hint("a resource is backstitch://checkpoint/c12, or a file in it: backstitch://checkpoint/c12/src/a.rs")
    };
    let rest = uri
        .strip_prefix(PREFIX)
        .ok_or_else(|| unknown("not a resource of Backstitch"))?;
    let (rev, path) = match rest.split_once('/') {
        Some((rev, path)) => (rev, Some(path)),
        None => (rest, None),
    };
    let rev = decode(rev).and_then(|rev| String::from_utf8(rev).ok());
    let rev = rev
        .filter(|rev| !rev.is_empty())
        .ok_or_else(|| unknown("it names no checkpoint"))?;
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Ok(Named::Checkpoint(rev));
    };
    let path = decode(path)
        .and_then(RelPath::new)
        .ok_or_else(|| unknown("its path is not one inside of the workspace"))?;
    Ok(Named::File(rev, path))
}

/// Decodes `%XX`. None: a `%` without two digits.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
        decoded.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_name_checkpoints_and_files_inside() {
        let file = |rev: &str, path: &str| Named::File(rev.into(), RelPath::new(path).unwrap());
        let at = |rest: &str| parse(&format!("{PREFIX}{rest}")).ok();
        assert_eq!(at("c12"), Some(Named::Checkpoint("c12".into())));
        assert_eq!(at("c12/"), Some(Named::Checkpoint("c12".into())));
        assert_eq!(at("c12/src/a%20b.rs"), Some(file("c12", "src/a b.rs")));
        for outside in [
            "",
            "/a",
            "c12/../a",
            "c12//etc/passwd",
            "c12/%2e%2e/a",
            "c12/a/..%2f..%2fb",
            "c12/%00",
            "c12/%",
            "c12/%zz",
        ] {
            assert_eq!(at(outside), None, "{outside}");
        }
        assert!(parse("file:///etc/passwd").is_err());
        assert!(parse("backstitch://other/c12").is_err());
    }
}
