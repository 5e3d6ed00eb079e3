//! Built-in actions on a full disk: each fails with a sentence, and leaves nothing that looks complete (J8).

use std::fs;

use super::BuiltinError;
use super::fixture::Fixture;

fn refused(fixture: &mut Fixture, name: &str, inputs: &[(&str, &str)]) -> String {
    match fixture.run(name, inputs) {
        Err(BuiltinError::Failed(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

/// Puts the run of a project on a disk with room for one megabyte. None where no file system can be mounted.
fn on_small_disk(test: &str, mut fixture: Fixture) -> Option<Fixture> {
    if !fixture.on_small_disk("1m") {
        eprintln!("skipped: {test}: no file system can be mounted");
        return None;
    }
    Some(fixture)
}

#[test]
fn a_checkout_fails() {
    // the one file: several are copied at a time, and the disk is full for each of them
    let Some(mut fixture) = on_small_disk("full_disk::a_checkout_fails", Fixture::folder()) else {
        return;
    };
    fixture.git(&["init", "-q"]);
    fixture.write("large", &"x".repeat(2 * 1024 * 1024));
    let reason = refused(&mut fixture, "actions/checkout", &[]);
    assert!(
        reason.contains("No space left") && reason.contains("large"),
        "{reason}"
    );
    assert_eq!(fixture.output("ls -A"), "");
}

#[test]
fn j8_an_artifact_and_a_cache_are_not_there() {
    let test = "full_disk::j8_an_artifact_and_a_cache";
    let Some(mut fixture) = on_small_disk(test, Fixture::project()) else {
        return;
    };
    fixture.output("head -c 600000 /dev/urandom > large");
    let reason = refused(
        &mut fixture,
        "actions/upload-artifact",
        &[("path", "large")],
    );
    assert!(
        reason.contains("was not stored") && reason.contains("No space left"),
        "{reason}"
    );
    let place = fixture.place();
    assert_eq!(
        fs::read_dir(&place.artifacts).expect("a directory").count(),
        0
    );
    let reason = refused(
        &mut fixture,
        "actions/download-artifact",
        &[("name", "artifact")],
    );
    assert!(reason.contains("not found"), "{reason}");
    let cache = [("path", "large"), ("key", "k")];
    let reason = refused(&mut fixture, "actions/cache/save", &cache);
    assert!(
        reason.contains("was not saved") && reason.contains("No space left"),
        "{reason}"
    );
    let done = fixture
        .run("actions/cache/restore", &cache)
        .expect("a miss");
    assert_eq!(done.outputs.len(), 1, "{done:?}");
}
