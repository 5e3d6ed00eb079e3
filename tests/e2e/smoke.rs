//! The binary exists and runs.

use std::fs;
use std::process::Command;

use crate::support::{World, binary, skip};

#[test]
fn the_binary_runs_and_leaves_the_workspace_alone() {
    let world = World::git();
    world.write("src/main.rs", "fn main() {}\n");
    let (tree, git) = (world.tree(), world.git_digest());
    world.ok(["--version"]);
    assert_eq!(world.tree(), tree);
    assert_eq!(world.git_digest(), git);
}

/// Types of a program header that name the loader, and the shared libraries that it loads.
const INTERPRETER: u32 = 3;
const DYNAMIC: u32 = 2;

/// Loading shared libraries was a sixth of a hook's time. Where the system has the static ones, the program has them inside.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
fn the_program_loads_no_shared_library() {
    let world = World::git();
    let test = "smoke::the_program_loads_no_shared_library";
    world.write("main.c", "int main(void) { return 0; }\n");
    let linked = Command::new("cc")
        .args(["-static", "main.c", "-o", "main"])
        .current_dir(&world.root)
        .output();
    if !linked.is_ok_and(|output| output.status.success()) {
        return skip(test, "no C compiler with a static C library");
    }
    let types = program_headers(&fs::read(binary::path()).expect("the program"));
    assert!(!types.is_empty());
    assert!(
        !types.contains(&INTERPRETER) && !types.contains(&DYNAMIC),
        "{types:?}"
    );
}

/// Returns the types of the program headers of a 64-bit ELF file.
fn program_headers(elf: &[u8]) -> Vec<u32> {
    assert_eq!(&elf[..5], b"\x7fELF\x02", "a 64-bit ELF file");
    let two = |at: usize| u16::from_ne_bytes(elf[at..at + 2].try_into().expect("two bytes"));
    let offset = u64::from_ne_bytes(elf[32..40].try_into().expect("eight bytes"));
    let (size, count) = (usize::from(two(54)), usize::from(two(56)));
    let first = usize::try_from(offset).expect("an offset");
    (0..count)
        .map(|n| first + n * size)
        .map(|at| u32::from_ne_bytes(elf[at..at + 4].try_into().expect("four bytes")))
        .collect()
}
