//! Links the program without shared libraries, at a fixed address, on Linux with glibc. An agent starts a hook around every
//! tool call, and a sixth of a hook's time went to loading three libraries. A program at a random address relocates some
//! 40,000 pointers besides.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The linker asks for shared libraries by these names, and finds these texts instead. The libraries need each other.
const LIBRARIES: [(&str, &str); 3] = [
    ("libc.so", "GROUP(-l:libc.a -l:libgcc_eh.a -l:libgcc.a)"),
    ("libgcc_s.so", "GROUP(-l:libgcc_eh.a -l:libgcc.a -l:libc.a)"),
    ("libm.so", "GROUP(-l:libm.a)"),
];

/// It needs each of the libraries: a thread, an unwinding panic, mathematics.
const TRIED: &str = "fn main() {
    let thread = std::thread::spawn(|| panic!());
    assert!(thread.join().is_err() && (std::env::args().len() as f64).powf(0.3) > 0.0);
}";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    let out = env::var("OUT_DIR").expect("Cargo names a directory");
    let dir = Path::new(&out).join("libraries");
    // not every system has the static libraries: Fedora has them in a package that few install
    let args = [
        format!("-L{}", dir.display()),
        "-static".to_owned(),
        "-no-pie".to_owned(),
    ];
    let args = if links(&dir, &args) {
        &args[..]
    } else {
        &args[2..]
    };
    for arg in args {
        println!("cargo::rustc-link-arg-bins={arg}");
    }
}

/// True if a program that is linked so runs here.
fn links(dir: &Path, args: &[String]) -> bool {
    let is_native = env::var("HOST") == env::var("TARGET");
    let source = dir.join("try.rs");
    let program = dir.join("try");
    let written = fs::create_dir_all(dir)
        .and_then(|()| {
            let mut texts = LIBRARIES.iter();
            texts.try_for_each(|(name, text)| fs::write(dir.join(name), text))
        })
        .and_then(|()| fs::write(&source, TRIED));
    if !is_native || written.is_err() {
        return false;
    }
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc
        .arg("--edition=2024")
        .arg(&source)
        .arg("-o")
        .arg(&program);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={}", linker.display()));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    for arg in args {
        rustc.arg("-C").arg(format!("link-arg={arg}"));
    }
    let succeeds =
        |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    succeeds(&mut rustc) && succeeds(&mut Command::new(&program))
}
