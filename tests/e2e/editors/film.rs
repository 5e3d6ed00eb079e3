//! Films of tests on a terminal: with `BACKSTITCH_FILMS=FOLDER`, the keys and the output of each in a file of asciinema's format 2.

use std::env;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::json;

/// Seconds that each press of keys takes in a film: a test presses the next ones at once.
const STEP: f64 = 0.8;

/// The film of one terminal.
pub struct Film {
    file: File,
    /// Presses of keys so far.
    steps: u32,
    /// The start of a character whose other bytes come later.
    rest: Vec<u8>,
}

impl Film {
    /// Begins a film; None without a folder for films.
    pub fn start(name: &str, rows: u16, columns: u16) -> Option<Film> {
        let folder = PathBuf::from(env::var_os("BACKSTITCH_FILMS")?);
        fs::create_dir_all(&folder).expect("a folder");
        let mut file = File::create(folder.join(format!("{name}.cast"))).expect("a film");
        let head = json!({ "version": 2, "width": columns, "height": rows, "title": name });
        writeln!(file, "{head}").expect("written");
        Some(Film {
            file,
            steps: 0,
            rest: Vec::new(),
        })
    }

    /// Adds pressed keys.
    pub fn keys(&mut self, keys: &str) {
        self.steps += 1;
        self.add("i", keys);
    }

    /// Adds output of the program.
    pub fn output(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let end = match str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.rest.len(),
        };
        let whole: Vec<u8> = self.rest.drain(..end).collect();
        self.add("o", &String::from_utf8_lossy(&whole));
    }

    fn add(&mut self, kind: &str, text: &str) {
        let time = f64::from(self.steps) * STEP;
        writeln!(self.file, "{}", json!([time, kind, text])).expect("written");
    }
}
