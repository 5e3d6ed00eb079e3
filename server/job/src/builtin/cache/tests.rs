use std::fs;

use super::super::fixture::{Fixture, has_program, output_of};
use super::super::{ActionResult, BuiltinError};

const CACHE: &str = "actions/cache";
const RESTORE: &str = "actions/cache/restore";
const SAVE: &str = "actions/cache/save";

fn refused(fixture: &mut Fixture, name: &str, inputs: &[(&str, &str)]) -> String {
    match fixture.run(name, inputs) {
        Err(BuiltinError::Failed(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

fn outputs(done: &ActionResult) -> [Option<&str>; 3] {
    ["cache-hit", "cache-matched-key", "cache-primary-key"].map(|name| output_of(done, name))
}

#[test]
fn a_cache_is_saved_after_the_job_and_restored_in_the_next_run() {
    if !has_program("a_cache_is_saved_after_the_job", "tar") {
        return;
    }
    let mut fixture = Fixture::folder();
    let inputs = [
        ("path", "target\n~/.tool/cache\n~/.none"),
        ("key", "k-1"),
        ("restore-keys", "k-\n"),
    ];
    let done = fixture.run(CACHE, &inputs).expect("a miss");
    assert_eq!(outputs(&done), [None, None, Some("k-1")]);
    assert!(done.has_post);
    fixture.output("mkdir -p target/x ~/.tool/cache; echo built > target/x/out; chmod 755 target/x/out; ln -s x/out target/link; echo c > ~/.tool/cache/c; printf x > \"target/-n
l\"");
    fixture.post(CACHE, &inputs, &done.state).expect("saved");
    assert!(
        fixture.printed[0].starts_with("Cache saved with key: k-1"),
        "{:?}",
        fixture.printed
    );
    fixture.next_run();
    let done = fixture.run(CACHE, &inputs).expect("a hit");
    assert_eq!(outputs(&done), [Some("true"), Some("k-1"), Some("k-1")]);
    assert_eq!(
        fixture
            .output("test -x target/x/out; cat target/link ~/.tool/cache/c; ls target | head -1"),
        "built\nc\n-n"
    );
    fixture
        .post(CACHE, &inputs, &done.state)
        .expect("not saved");
    assert!(
        fixture.printed[0].contains("not saving cache"),
        "{:?}",
        fixture.printed
    );
    fixture.next_run();
    let newer = [
        ("path", "target\n~/.tool/cache\n~/.none"),
        ("key", "k-2"),
        ("restore-keys", "k-\n"),
    ];
    let done = fixture.run(CACHE, &newer).expect("a partial hit");
    assert_eq!(outputs(&done), [Some("false"), Some("k-1"), Some("k-2")]);
    fixture.post(CACHE, &newer, &done.state).expect("saved");
    assert!(
        fixture.printed[0].contains("Cache saved with key: k-2"),
        "{:?}",
        fixture.printed
    );
}

#[test]
fn keys_match_whole_then_by_prefix_newest_first() {
    if !has_program("keys_match_whole_then_by_prefix", "tar") {
        return;
    }
    let mut fixture = Fixture::folder();
    fixture.place();
    fixture.output("mkdir d other");
    for key in ["a-1", "a-2", "b-1", "a-1-more"] {
        fixture.output(&format!("echo {key} > d/key"));
        fixture
            .run(SAVE, &[("path", "d"), ("key", key)])
            .expect("saved");
    }
    fixture
        .run(SAVE, &[("path", "other"), ("key", "c-1")])
        .expect("saved");
    let mut restored = |key: &str, prefixes: &str| {
        fixture.output("rm -rf d");
        let done = fixture
            .run(
                RESTORE,
                &[("path", "d"), ("key", key), ("restore-keys", prefixes)],
            )
            .expect("an answer");
        let hit = output_of(&done, "cache-hit").unwrap_or_default().to_owned();
        assert!(!done.has_post);
        format!("{hit} {}", fixture.output("cat d/key 2>/dev/null || true"))
    };
    assert_eq!(restored("a-1", ""), "true a-1");
    assert_eq!(restored("a", ""), "false a-1-more");
    assert_eq!(restored("x", "b\na-2\n"), "false b-1");
    assert_eq!(restored("x", "none\na-2"), "false a-2");
    assert_eq!(restored("c-1", "c"), " ");
    assert_eq!(restored("x", ""), " ");
    // a key is written once
    fixture.output("mkdir -p d; echo new > d/key");
    fixture
        .run(SAVE, &[("path", "d"), ("key", "a-1")])
        .expect("an answer");
    assert!(
        fixture.printed[0].contains("exists already"),
        "{:?}",
        fixture.printed
    );
}

#[test]
fn inputs_are_checked_as_on_github() {
    let mut fixture = Fixture::folder();
    fixture.place();
    let path = ("path", "d");
    assert!(refused(&mut fixture, CACHE, &[path]).contains("key"));
    assert!(refused(&mut fixture, CACHE, &[("key", "k")]).contains("path"));
    assert!(refused(&mut fixture, CACHE, &[path, ("key", "a,b")]).contains("commas"));
    assert!(refused(&mut fixture, CACHE, &[path, ("key", &"k".repeat(513))]).contains("512"));
    let missed = refused(
        &mut fixture,
        RESTORE,
        &[path, ("key", "k"), ("fail-on-cache-miss", "true")],
    );
    assert!(missed.contains("fail-on-cache-miss"), "{missed}");
    fixture.run(SAVE, &[path, ("key", "k")]).expect("a warning");
    assert!(
        fixture.printed[0].starts_with("::warning::Path Validation Error"),
        "{:?}",
        fixture.printed
    );
    if has_program("inputs_are_checked_as_on_github", "tar") {
        fixture.output("mkdir d; echo x > d/x");
        fixture
            .run(SAVE, &[path, ("key", "k/../../: \u{1f980}")])
            .expect("saved");
        fixture.output("rm -r d");
        let looked = [
            path,
            ("key", "k/../../: \u{1f980}"),
            ("lookup-only", "true"),
        ];
        let done = fixture.run(RESTORE, &looked).expect("found");
        assert_eq!(output_of(&done, "cache-hit"), Some("true"));
        assert_eq!(fixture.output("ls"), "");
    }
}

/// A store that cannot be reached fails the step (J9), paths of the user are refused, and what cannot be read is not stored.
#[test]
fn j9_a_cache_without_a_store_fails() {
    if !has_program("j9_a_cache_without_a_store_fails", "tar") {
        return;
    }
    let mut fixture = Fixture::folder();
    fixture.write("secret", "secret");
    let user = fixture.root.to_str().expect("a path").to_owned();
    assert!(
        refused(&mut fixture, SAVE, &[("path", &user), ("key", "k")])
            .contains("belongs to the user")
    );
    assert!(
        refused(&mut fixture, RESTORE, &[("path", &user), ("key", "k")])
            .contains("belongs to the user")
    );
    fixture.output("mkdir d; echo x > d/x");
    let store = fixture.place().caches.join("actions");
    fs::write(&store, "").expect("a file");
    let reason = refused(&mut fixture, SAVE, &[("path", "d"), ("key", "k")]);
    assert!(
        reason.contains("was not saved") && reason.contains("actions"),
        "{reason}"
    );
    let reason = refused(&mut fixture, RESTORE, &[("path", "d"), ("key", "k")]);
    assert!(reason.contains("cannot be read"), "{reason}");
    fs::remove_file(&store).expect("removed");
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: j9_a_cache_without_a_store_fails: root reads everything");
        return;
    }
    fixture.output("chmod 0 d/x");
    let reason = refused(&mut fixture, SAVE, &[("path", "d"), ("key", "k")]);
    assert!(reason.contains("tar says"), "{reason}");
    let done = fixture
        .run(RESTORE, &[("path", "d"), ("key", "k")])
        .expect("a miss");
    assert_eq!(output_of(&done, "cache-hit"), None);
}

/// Two runs that save one key have one cache.
#[test]
fn racing_saves_leave_one_cache() {
    if !has_program("racing_saves_leave_one_cache", "tar") {
        return;
    }
    let mut fixture = Fixture::folder();
    fixture.output("mkdir d; echo x > d/x");
    let place = fixture.place();
    let repository = crate::repository::ProjectRepository::of(&place.workspace).expect("a folder");
    let store = super::CacheStore::of(place, &repository);
    let other = crate::place::RunPlace::create(&place.dir.join("jobs"), "ci", "b", &repository)
        .expect("a run");
    let found = [place.workspace.join("d")];
    let saved = std::thread::scope(|scope| {
        let first = scope.spawn(|| store.save(place, &["d"], "k", &found).expect("saved"));
        let second = scope.spawn(|| store.save(&other, &["d"], "k", &found).expect("saved"));
        [first, second].map(|thread| thread.join().expect("a result"))
    });
    assert_eq!(saved.iter().flatten().count(), 1, "{saved:?}");
    assert!(store.has(&["d"], "k"));
}
