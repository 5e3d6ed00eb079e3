//! `backstitch demo job`.

use std::time::{Duration, Instant};

use crate::support::World;
use crate::support::limits::at_most;
use crate::support::tree::assert_same;

/// The demo tells its story and makes its comparisons in less than 10 s, and touches nothing but its scratch directory.
#[test]
fn the_demo_of_a_job_runs() {
    let world = World::new();
    let before = world.tree();
    let since = Instant::now();
    let demo = world.ok(["demo", "job"]);
    let took = since.elapsed();
    assert!(took < at_most(Duration::from_secs(10)), "{took:?}");
    assert_eq!(demo.stderr, "");
    for part in [
        "■ failed: step 3 of 4: Test – Process completed with exit code 1.",
        "Restored checkpoint [2] before 'Test'",
        "Your edits were taken up: src/words.",
        "■ at the end of the job",
        "✓ one step back: every byte of the run is as before the step",
        "✓ its files are those of a fresh run of the mended repository, byte for byte",
    ] {
        assert!(demo.stdout.contains(part), "{part}\n{}", demo.stdout);
    }
    assert_same(&world.tree(), &before);
    let answer = world.json(["demo", "job"]);
    assert_eq!(answer["checks"].as_array().map(Vec::len), Some(4));
}
