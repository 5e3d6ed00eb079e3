//! The client of the protocol's own SDK, for Python. `tests/mcp/install.sh` installs it; where it is missing, the test says
//! so and passes, and with `CI=true` fails.

use std::env;
use std::path::{Path, PathBuf};

use super::recorded;
use crate::support::{binary, finish, skip};

/// Lists the tools and calls some, with a handshake and in the newest version.
#[test]
fn the_official_client_lists_and_calls_tools() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = env::var_os("BACKSTITCH_TEST_MCP");
    let folder = folder.map_or_else(|| tests.join(".cache/mcp"), PathBuf::from);
    let python = folder.join("bin/python");
    if !python.exists() {
        let reason = "the protocol's client is not installed (tests/mcp/install.sh)";
        return skip("mcp::the_official_client_lists_and_calls_tools", reason);
    }
    let world = recorded();
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let mut client = world.command(&python);
        client.arg(tests.join("mcp/client.py")).arg(mode);
        let said = finish(client.arg(binary::path()).arg("mcp"), b"").expect_code(0);
        let said = said.json();
        assert_eq!(said["version"], version, "{said:#}");
        assert_eq!(said["tools"].as_array().map(Vec::len), Some(7));
        assert_eq!(said["tools"][0], "checkpoint");
        let newest = &world.json(["log", "-n", "1"])["checkpoints"][0];
        assert_eq!(said["log"]["checkpoints"][0]["id"], newest["id"]);
        assert_eq!(said["cat"], "one\ntwo\nthree\n");
        assert_eq!(said["wrong"][0], true);
        assert!(
            said["wrong"][1]
                .as_str()
                .is_some_and(|text| text.contains("c99"))
        );
        assert_eq!(said["resource"], newest["id"]);
    }
}
