//! A scan that dies before it writes its rows leaves an unreferenced pack, which is removed once it is old.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use rusqlite::Connection;

use crate::support::rng::Rng;
use crate::support::{World, finish, tree};

/// Packs on disk.
fn present(world: &World) -> BTreeSet<String> {
    let entries = fs::read_dir(world.store().join("packs"))
        .into_iter()
        .flatten();
    let name = |e: std::io::Result<fs::DirEntry>| e.expect("an entry").file_name();
    entries
        .map(|e| name(e).into_string().expect("UTF-8"))
        .collect()
}

/// Packs that the database references.
fn named(world: &World) -> BTreeSet<String> {
    let db = Connection::open(world.store().join("store.db")).expect("the store");
    let mut select = db
        .prepare("SELECT DISTINCT pack FROM blob WHERE pack IS NOT NULL")
        .expect("the table");
    let rows = select.query_map([], |r| r.get(0)).expect("rows");
    rows.map(|r| r.expect("a name")).collect()
}

fn set_age(world: &World, age: Duration) {
    for name in present(world) {
        let path = world.store().join("packs").join(name);
        let file = File::options().append(true).open(path).expect("a pack");
        let then = SystemTime::now() - age;
        file.set_modified(then).expect("a time");
    }
}

/// U-20: a death while the first contents are written costs their space for a while, nothing else.
#[test]
fn a_pack_that_nobody_names_goes_when_it_is_old() {
    let mut orphans = 0;
    for point in 1..40 {
        let world = World::in_memory();
        world.write("a.txt", "one\n");
        world.write("big.bin", Rng::new(point).bytes(1_300_000));
        let mut scan = world.backstitch();
        scan.arg("scan").env("BACKSTITCH_FAULT", point.to_string());
        let output = finish(&mut scan, b"");
        if output.code == 0 {
            break;
        }
        assert_eq!(output.code, 137, "{output}");
        let left = present(&world);
        if left.is_empty() {
            continue;
        }
        world.ok(["verify"]);
        let orphan: BTreeSet<_> = left.difference(&named(&world)).cloned().collect();
        orphans += orphan.len();

        // another process may still work on it
        set_age(&world, Duration::from_mins(50));
        world.ok(["scan"]);
        assert!(present(&world).is_superset(&orphan), "point {point}");
        assert!(present(&world).is_superset(&named(&world)));

        // referenced packs stay, however old they are
        set_age(&world, Duration::from_hours(2));
        world.ok(["scan"]);
        assert_eq!(present(&world), named(&world), "point {point}");
        assert!(!named(&world).is_empty());
        world.ok(["verify"]);
        let into = world.home.join("out");
        world.ok(["materialize", "@", "--into", into.to_str().expect("UTF-8")]);
        assert!(tree::tree(&into) == world.tree());
    }
    println!("{orphans} orphans");
    assert!(orphans >= 3, "{orphans} orphans");
}
