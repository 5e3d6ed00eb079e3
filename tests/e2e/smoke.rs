//! The binary exists and runs.

use crate::support::World;

#[test]
fn the_binary_runs_and_leaves_the_workspace_alone() {
    let world = World::git();
    world.write("src/main.rs", "fn main() {}\n");
    let (tree, git) = (world.tree(), world.git_digest());
    world.ok(["--version"]);
    assert_eq!(world.tree(), tree);
    assert_eq!(world.git_digest(), git);
}
