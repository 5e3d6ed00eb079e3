//! A table of requirements and the tests that cover them: `cargo run -q -p backstitch-tests --bin requirements`.
//!
//! Reads `requirements.txt` and `waived.txt` next to this file and the tests of the repository, and prints a table.
//! A test covers exactly the ids in its name (`s3_012_…`) and in its own comment (`S3-012`, `S3-001…004`).

mod ids;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use ids::Id;
use scan::Mention;

const USAGE: &str = "usage: requirements [--ids RANGES] [--require RANGES] [--brief]
  --ids RANGES      show only these: S3-001..037,S4-012,U-12..21
  --require RANGES  fail if one of these is neither covered nor waived
  --brief           only what is wrong, and the last line";

/// Options of the command line.
#[derive(Debug, Default)]
struct Options {
    shown: Option<BTreeSet<Id>>,
    required: BTreeSet<Id>,
    brief: bool,
}

/// Input of the table.
#[derive(Debug, Default)]
struct Table {
    /// Text of each requirement.
    known: BTreeMap<Id, String>,
    /// Reason why a requirement is waived, or what satisfies it instead.
    waived: BTreeMap<Id, String>,
    covered: BTreeMap<Id, Vec<Mention>>,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    match Table::read(here) {
        Ok(table) => {
            let (text, problems) = table.show(&options);
            print!("{text}");
            for problem in &problems {
                eprintln!("wrong: {problem}");
            }
            ExitCode::from(u8::from(!problems.is_empty()))
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--brief" => options.brief = true,
            "--ids" | "--require" => {
                let text = args.next().ok_or(format!("{arg} needs ranges"))?;
                let ids = ids::ranges(&text).ok_or(format!("no ids: {text}"))?;
                if arg == "--ids" {
                    options.shown = Some(ids);
                } else {
                    options.required = ids;
                }
            }
            _ => return Err(format!("unknown option: {arg}")),
        }
    }
    Ok(options)
}

impl Table {
    /// Reads the two lists and the tests; `here` is the directory of the tests.
    fn read(here: &Path) -> Result<Self, String> {
        let read = |name: &str| {
            let path = here.join("requirements").join(name);
            std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
        };
        let mut table = Self {
            known: list(&read("requirements.txt")?)?,
            waived: list(&read("waived.txt")?)?,
            covered: BTreeMap::new(),
        };
        let root = here.parent().expect("the tests are in the repository");
        for mention in scan::repository(root).map_err(|e| e.to_string())? {
            table.covered.entry(mention.id).or_default().push(mention);
        }
        Ok(table)
    }

    /// The table as text, and its problems.
    fn show(&self, options: &Options) -> (String, Vec<String>) {
        let mut text = String::new();
        let mut line = |s: String| {
            if !options.brief {
                text.push_str(&s);
                text.push('\n');
            }
        };
        let shown = |id: &Id| options.shown.as_ref().is_none_or(|ids| ids.contains(id));
        let [mut covered, mut waived, mut uncovered] = [0, 0, 0];
        for (id, what) in self.known.iter().filter(|(id, _)| shown(id)) {
            if let Some(mentions) = self.covered.get(id) {
                covered += 1;
                line(format!("{id:6}  covered    {what}"));
                for mention in mentions {
                    line(format!("                     {}", mention.place()));
                }
            } else if let Some(reason) = self.waived.get(id) {
                waived += 1;
                line(format!("{id:6}  waived     {what} – {reason}"));
            } else {
                uncovered += 1;
                line(format!("{id:6}  uncovered  {what}"));
            }
        }
        let sum = format!("{covered} covered, {waived} waived, {uncovered} uncovered\n");
        (text + &sum, self.problems(&options.required))
    }

    fn problems(&self, required: &BTreeSet<Id>) -> Vec<String> {
        let mut problems = Vec::new();
        for (id, mentions) in &self.covered {
            let place = mentions[0].place();
            if !self.known.contains_key(id) {
                problems.push(format!("{place} names {id}, which does not exist"));
            }
            if self.waived.contains_key(id) {
                problems.push(format!("{id} is waived, and covered by {place}"));
            }
        }
        for id in self.waived.keys().filter(|id| !self.known.contains_key(id)) {
            problems.push(format!("{id} is waived and does not exist"));
        }
        for id in required {
            if !self.known.contains_key(id) {
                problems.push(format!("{id} is required and does not exist"));
            } else if !self.covered.contains_key(id) && !self.waived.contains_key(id) {
                problems.push(format!("{id} is required and not covered"));
            }
        }
        problems
    }
}

/// Parses a list: one id or range and its text per line. `#` begins a comment, and a dash after the id is dropped.
fn list(text: &str) -> Result<BTreeMap<Id, String>, String> {
    let mut entries = BTreeMap::new();
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let (range, rest) = line.split_once(' ').ok_or(format!("no text: {line}"))?;
        let rest = rest.trim_start_matches(['–', '-', ' ']);
        for id in ids::ranges(range).ok_or(format!("no id: {line}"))? {
            if entries.insert(id, rest.to_owned()).is_some() {
                return Err(format!("{id} is listed twice"));
            }
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Id {
        *ids::ranges(text).unwrap().first().unwrap()
    }

    fn table() -> Table {
        let source = "/// S3-001\n#[test]\nfn one() {}\n#[test]\nfn s3_002_two() {}\n";
        let mut covered: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for mention in scan::rust("a.rs", source) {
            covered.entry(mention.id).or_default().push(mention);
        }
        Table {
            known: list("S3-001 one\nS3-002 two\nS3-003 three\nS3-004 four").unwrap(),
            waived: list("# none\nS3-003 – as four").unwrap(),
            covered,
        }
    }

    #[test]
    fn the_table_says_what_is_covered_waived_and_uncovered() {
        let (text, problems) = table().show(&Options::default());
        let expected = "\
S3-001  covered    one
                     a.rs:3 one
S3-002  covered    two
                     a.rs:5 s3_002_two
S3-003  waived     three – as four
S3-004  uncovered  four
2 covered, 1 waived, 1 uncovered
";
        assert_eq!((text.as_str(), problems.len()), (expected, 0));
    }

    #[test]
    fn options_narrow_and_require() {
        let args = [
            "--ids",
            "S3-003..004",
            "--require",
            "S3-002..005",
            "--brief",
        ];
        let options = options(args.iter().map(ToString::to_string)).unwrap();
        let (text, problems) = table().show(&options);
        assert_eq!(text, "0 covered, 1 waived, 1 uncovered\n");
        let expected = [
            "S3-004 is required and not covered",
            "S3-005 is required and does not exist",
        ];
        assert_eq!(problems, expected);
        assert!(super::options(["--ids".to_owned()].into_iter()).is_err());
    }

    #[test]
    fn contradictions_are_problems() {
        let mut table = table();
        table.waived.insert(id("S3-001"), "no".into());
        table.waived.insert(id("S9-001"), "no".into());
        table.known.remove(&id("S3-002"));
        let expected = [
            "S3-001 is waived, and covered by a.rs:3 one",
            "a.rs:5 s3_002_two names S3-002, which does not exist",
            "S9-001 is waived and does not exist",
        ];
        assert_eq!(table.problems(&BTreeSet::new()), expected);
        assert!(list("S3-001 one\nS3-001..002 again").is_err());
        assert!(list("nonsense here").is_err());
    }

    #[test]
    fn the_lists_are_whole() {
        let table = Table::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let all = "S1-001..082,S1-D1..D2,S1-F1..F6,S1-L1..L6,\
                   S2-001..097,S2-D1..D5,S2-L1..L2,S2-R1..R5,\
                   S3-001..056,S3-F1..F2,S3-L1..L5,S3-Q1..Q3,\
                   S4-001..075,S4-D1..D5,S4-L1..L5,\
                   S5-001..153,S5-D1..D3,S5-F1..F2,S5-L1..L7,S5-Q1,\
                   U-01..30";
        let (all, known) = (
            ids::ranges(all).unwrap(),
            table.known.keys().copied().collect(),
        );
        let differ: Vec<_> = all
            .symmetric_difference(&known)
            .map(Id::to_string)
            .collect();
        assert!(differ.is_empty(), "missing or too much: {differ:?}");
        assert_eq!(table.problems(&BTreeSet::new()), Vec::<String>::new());
    }
}
