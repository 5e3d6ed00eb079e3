//! Big files while the settings that say what is recorded change: a checkpoint's tree, its single files and its
//! materialized copy are the same.

use std::collections::BTreeMap;

use crate::support::World;
use crate::support::rng::{Rng, cases};
use crate::support::tree::tree;

/// Paths of files above and below the limits.
const PATHS: [&str; 5] = [
    "big.bin",
    "dir/big.bin",
    "data/huge.txt",
    "small.txt",
    "out/log.txt",
];
const SIZES: [usize; 4] = [100, 3 << 20, 9 << 20, (9 << 20) + 1];
/// Settings that a day begins with and changes to; the default limit is 10 MiB.
const SETTINGS: [&str; 6] = [
    "",
    "capture.maxFileSize = \"4 MiB\"\n",
    "capture.maxFileSize = \"9 MiB\"\n",
    "capture.maxFileSize = \"20 MiB\"\n",
    "capture.exclude = [\"data\", \"*.bin\"]\n",
    "capture.maxFileSize = \"20 MiB\"\ncapture.exclude = [\"dir\"]\ncapture.include = [\"out\"]\n",
];

fn fill(rng: &mut Rng, size: usize) -> Vec<u8> {
    // a repeated block: quick to make and to store, and different each time
    let block = rng.bytes(4096);
    block.iter().copied().cycle().take(size).collect()
}

/// One event of the day.
fn event(world: &World, rng: &mut Rng) -> String {
    let path = *rng.pick(&PATHS);
    match rng.below(9) {
        0..=2 => {
            let settings = *rng.pick(&SETTINGS);
            world.configure(settings);
            format!("settings {settings:?}")
        }
        3 | 4 => {
            let size = *rng.pick(&SIZES);
            world.write(path, fill(rng, size));
            format!("{path}: {size} bytes")
        }
        5 if world.exists(path) => {
            let mut bytes = world.bytes(path);
            let at = rng.below(bytes.len());
            bytes[at] ^= 1;
            world.write(path, bytes);
            format!("{path}: one byte")
        }
        6 if world.exists(path) => {
            let to = *rng.pick(&PATHS);
            world.write(to, world.bytes(path));
            if to != path {
                world.remove(path);
            }
            format!("{path} to {to}")
        }
        7 if world.exists(path) => {
            world.remove(path);
            format!("{path} goes")
        }
        _ => {
            let size = *rng.pick(&SIZES);
            world.turn("Make it big", |agent| {
                agent.bash(&format!(
                    "mkdir -p dir; head -c {size} /dev/urandom > dir/big.bin"
                ));
            });
            format!("an agent: dir/big.bin, {size} bytes")
        }
    }
}

/// Contents at a checkpoint by `cat`, and those of its copy, as hashes.
fn known_and_copied(world: &World, id: &str) -> [BTreeMap<String, blake3::Hash>; 2] {
    let mut known = BTreeMap::new();
    for path in PATHS {
        let shown = world.backstitch().args(["cat", id, path]).output();
        let shown = shown.expect("the binary runs");
        if shown.status.success() {
            known.insert(path.to_owned(), blake3::hash(&shown.stdout));
        }
    }
    let into = world.home.join(format!("copy-of-{id}"));
    world.ok(["materialize", id, "--into", into.to_str().expect("UTF-8")]);
    let mut copied = BTreeMap::new();
    for path in tree(&into).keys() {
        let full = into.join(path);
        if full.is_file() {
            let bytes = std::fs::read(&full).expect("a file of the copy");
            copied.insert(path.to_string_lossy().into_owned(), blake3::hash(&bytes));
        }
    }
    std::fs::remove_dir_all(&into).expect("the copy");
    [known, copied]
}

/// Asserts that a copy has each known content. A file above the limit may have what the disk has now instead.
fn assert_copied([known, copied]: &[BTreeMap<String, blake3::Hash>; 2], world: &World, what: &str) {
    for (path, content) in known {
        assert_eq!(copied.get(path), Some(content), "{path}: {what}");
    }
    for (path, content) in copied.iter().filter(|(path, _)| !known.contains_key(*path)) {
        let disk = world.exists(path).then(|| blake3::hash(&world.bytes(path)));
        assert_eq!(disk, Some(*content), "{path} is not known: {what}");
    }
}

/// U-22: whatever the settings were and are, a copy of a checkpoint has each file whose content it knows. So has every
/// older checkpoint at the end of the day.
#[test]
fn a_copy_of_a_checkpoint_has_what_it_knows_while_settings_change() {
    let seed = Rng::seed("BACKSTITCH_SEED", 20_261_124);
    let days = cases("BACKSTITCH_DAYS", 4, 40);
    for day in 0..days {
        let mut rng = Rng::new(seed + day);
        let world = World::in_memory();
        world.write("small.txt", "small\n");
        let mut story = vec![format!("BACKSTITCH_SEED={}", seed + day)];
        let mut then = Vec::new();
        for _ in 0..12 {
            story.push(event(&world, &mut rng));
            let made = world.json(["checkpoint"]);
            let id = made["id"].as_str().expect("an id").to_owned();
            let both = known_and_copied(&world, &id);
            assert_copied(&both, &world, &format!("{id}: {story:#?}"));
            let [known, _] = both;
            then.push((id, known));
        }
        for (id, known) in then {
            let both = known_and_copied(&world, &id);
            assert_copied(&both, &world, &format!("{id} afterwards: {story:#?}"));
            assert_eq!(known, both[0], "{id} afterwards: {story:#?}");
        }
        world.ok(["verify"]);
    }
}
