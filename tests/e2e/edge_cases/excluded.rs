//! A workspace's own file of settings that leaves nothing to record.

use crate::support::World;

const FILE: &str = ".backstitch.toml";

/// A7: a workspace's file that leaves nothing to record is named by `status` and `doctor`.
#[test]
fn a_workspace_that_excludes_everything_is_named() {
    let nothing = "excludes everything";
    for text in [
        "capture.exclude = [\"*\"]\n",
        "\n[capture]\nexclude = [\"/src/\", \"*.txt\", \".git*\"]\n",
        "capture.maxFileSize = 1\n",
    ] {
        let world = World::committed(&[
            ("a.txt", "one\n"),
            ("src/main.rs", "fn main() {}\n"),
            (".gitignore", "node_modules/\n"),
        ]);
        world.write("node_modules/x.js", "x\n");
        world.write(FILE, text);
        let status = world.ok(["status"]);
        assert!(status.stderr.contains(nothing), "{text}: {status}");
        assert!(status.stderr.contains(&format!("{FILE}:")), "{status}");
        let doctor = world.run(["doctor"]);
        assert!(doctor.stdout.contains(nothing), "{text}: {doctor}");
        // with one file that is left there is something to rewind
        world.write("b.rs", "fn b() {}\n");
        let status = world.ok(["status"]);
        let is_left = text.contains("src");
        assert_eq!(status.stderr.contains(nothing), !is_left, "{status}");
    }
    // the user's own settings need no warning
    let world = World::committed(&[("a.txt", "one\n")]);
    world.configure("capture.exclude = [\"*\"]\n");
    assert_eq!(world.ok(["status"]).stderr, "");
    let world = World::new();
    world.write(FILE, "capture.exclude = [\"*\"]\n");
    assert_eq!(world.ok(["status"]).stderr, "");
}
