//! What the fuzz targets exercise (`tests/fuzz`), and the ordinary tests in short: [`text`] holds documents, positions
//! and edits against a plain string, [`wire`] holds the server to the rules of the transport. Each takes any bytes
//! and panics where a rule is broken. What was found is kept in `tests/fuzz/found` and tried again by the tests.

pub mod text;
pub mod wire;
mod world;

/// Inputs that once broke a rule.
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
