//! The binary under test: `BACKSTITCH_BIN`, else the one that cargo builds from this workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{env, fs};

use serde_json::Value;

/// Path of the binary; built once per test process if the variable is not set.
pub fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match env::var_os("BACKSTITCH_BIN") {
        Some(path) => fs::canonicalize(&path)
            .unwrap_or_else(|e| panic!("BACKSTITCH_BIN={}: {e}", path.display())),
        None => build(),
    })
}

/// Builds it with the profile of these tests; cargo reports its path.
fn build() -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "backstitch",
            "--bin",
            "backstitch",
        ])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.stderr(Stdio::inherit()).output().expect("cargo");
    assert!(output.status.success(), "the binary does not build");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|m| m["target"]["name"] == "backstitch")
        .find_map(|m| m["executable"].as_str().map(PathBuf::from))
        .expect("cargo names the executable")
}
