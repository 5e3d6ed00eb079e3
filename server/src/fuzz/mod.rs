//! Subjects of the fuzz targets (`tests/fuzz`) and, in short, of the ordinary tests: [`text`] compares documents,
//! positions and edits with a plain string. [`wire`] checks the server against the rules of the transport, and [`adapter`] the debug
//! adapter. Each takes any bytes and panics if a rule is broken. Inputs that failed once are kept in `tests/fuzz/found`, and the tests
//! run them again.

pub mod adapter;
pub mod text;
pub mod wire;
mod world;

/// Returns the inputs that once broke a rule.
#[cfg(test)]
fn found(target: &str) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/found");
    let folder = std::path::Path::new(folder).join(target);
    let files = std::fs::read_dir(&folder).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .map(|file| (file.clone(), std::fs::read(file).unwrap()))
        .collect()
}

/// How many cases a generated test takes: the second number in a long run (`tests/run --long`), else the first.
#[cfg(test)]
fn cases(ordinary: u32, long: u32) -> u32 {
    if std::env::var_os("BACKSTITCH_LONG").is_some() {
        long
    } else {
        ordinary
    }
}
