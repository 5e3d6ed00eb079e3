//! An interrupted restore of what files alone do not tell: owners, extended attributes, empty directories and modes of
//! directories are as before it or as after it, whatever the clock says meanwhile.

use std::fs;

use crate::faithful::{Facts, facts, is_superuser, set_attribute};
use crate::oracle::dirs::CLOCK_ERRORS;
use crate::support::tree::{Tree, assert_same};
use crate::support::{World, finish};

fn state(world: &World) -> (Tree, Facts) {
    (world.tree(), facts(world, "a.txt"))
}

/// U-20 restoring is all or nothing, survives a crash and can be undone: killed at any point, and recovered by the next command.
#[test]
fn owners_attributes_and_directories_survive_a_restore_that_is_cut_off() {
    let world = World::new().with_clock();
    world.write("a.txt", "one\n");
    world.write("keep/k.txt", "k\n");
    world.write("gone/g.txt", "g\n");
    for dir in ["logs", "half", "swap"] {
        fs::create_dir(world.path(dir)).expect("a directory");
    }
    if is_superuser(&world) {
        std::os::unix::fs::chown(world.path("a.txt"), Some(1000), Some(1001)).expect("chown");
    } else {
        eprintln!("owners are left out: this is not the superuser");
    }
    set_attribute(&world, "a.txt", "user.note", b"mine");
    world.ok(["init"]);
    // a repository of any name stays as it is
    world.git_ok(["init", "-q", "--bare", "depot"]);
    let before = state(&world);
    let mut agent = world.agent();
    agent.prompt("change it");
    agent.bash("echo two > a.txt; mkdir -p a/b n/m; rmdir logs; chmod 700 keep; echo 1 > half/f; echo 1 > n/m/f; rm -r gone");
    agent.bash("rm n/m/f; rmdir swap; echo 1 > swap");
    agent.stop();
    let after = state(&world);
    assert_eq!(before.1, after.1);
    let mut cut = 0;
    for (args, back, from, to) in [
        (&["rewind", "t1"][..], "undo", &after, &before),
        (&["undo"], "redo", &before, &after),
    ] {
        for (fault, error) in (1..).zip(CLOCK_ERRORS.into_iter().cycle()) {
            world.set_clock_error(error);
            let mut command = world.backstitch();
            command
                .args(args)
                .env("BACKSTITCH_FAULT", fault.to_string());
            let is_done = finish(&mut command, b"").code == 0;
            world.set_clock_error(-error);
            world.ok(["verify"]);
            world.json(["diff"]);
            let now = state(&world);
            assert_eq!(now.1, from.1, "{args:?} {fault}");
            if is_done {
                assert_same(&now.0, &to.0);
                break;
            }
            cut += 1;
            if now.0 == to.0 {
                world.ok([back]);
                assert_same(&world.tree(), &from.0);
            } else {
                assert_same(&now.0, &from.0);
            }
        }
    }
    assert!(cut > 10, "{cut}");
}
