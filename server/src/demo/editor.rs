//! A minimal client of the language server over real pipes, which gets the lenses of a file.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// A line of the file, counted from 0, and the lenses above it.
#[derive(Debug)]
pub struct LensLine {
    pub line: usize,
    pub titles: Vec<String>,
    /// True if a lens rewinds.
    pub rewinds: bool,
}

/// Opens a file in a language server, and asks for its lenses as an editor does.
pub fn lenses(mut server: Command, root: &Path, file: &str) -> Result<Vec<LensLine>> {
    let mut child = server
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting the language server")?;
    let mut pipes = Pipes {
        to: child.stdin.take().context("a pipe")?,
        from: BufReader::new(child.stdout.take().context("a pipe")?),
        last: 0,
    };
    let uri = |path: &Path| format!("file://{}", path.display());
    let (folder, document) = (uri(root), uri(&root.join(file)));
    pipes.request(
        "initialize",
        &json!({
            "processId": std::process::id(),
            "rootUri": folder,
            "workspaceFolders": [{ "uri": folder, "name": "demo" }],
            "capabilities": {},
        }),
    )?;
    pipes.notify("initialized", &json!({}))?;
    let text = std::fs::read_to_string(root.join(file))?;
    let item = json!({ "uri": document, "languageId": "rust", "version": 1, "text": text });
    pipes.notify("textDocument/didOpen", &json!({ "textDocument": item }))?;
    let asked = json!({ "textDocument": { "uri": document } });
    let found = pipes.request("textDocument/codeLens", &asked)?;
    let mut above: Vec<LensLine> = Vec::new();
    for lens in found.as_array().into_iter().flatten() {
        let whole = if lens["command"].is_object() {
            lens.clone()
        } else {
            pipes.request("codeLens/resolve", lens)?
        };
        let line = lens["range"]["start"]["line"].as_u64().context("a line")?;
        let line = usize::try_from(line)?;
        let title = whole["command"]["title"].as_str().context("a title")?;
        if above.last().is_none_or(|last| last.line != line) {
            above.push(LensLine {
                line,
                titles: Vec::new(),
                rewinds: false,
            });
        }
        if let Some(last) = above.last_mut() {
            last.titles.push(title.to_owned());
            last.rewinds |= whole["command"]["command"] == "backstitch.rewind";
        }
    }
    pipes.request("shutdown", &Value::Null)?;
    pipes.notify("exit", &Value::Null)?;
    drop(pipes);
    let status = child.wait()?;
    ensure!(status.success(), "the language server ended with {status}");
    Ok(above)
}

struct Pipes {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: u64,
}

impl Pipes {
    fn notify(&mut self, method: &str, params: &Value) -> Result<()> {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    /// Sends a request and returns its result. Ignores the server's other messages.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last += 1;
        let id = self.last;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut message = self.read()?;
            if message["method"].is_null() && message["id"] == id {
                ensure!(message["error"].is_null(), "{method}: {message}");
                return Ok(message["result"].take());
            }
        }
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        let body = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{body}", body.len())?;
        Ok(self.to.flush()?)
    }

    fn read(&mut self) -> Result<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            ensure!(
                self.from.read_line(&mut line)? > 0,
                "the language server ended"
            );
            let line = line.trim();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }
}
