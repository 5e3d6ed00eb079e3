//! A table of requirements and the tests that cover them: `cargo run -q -p backstitch-tests --bin requirements`.
//!
//! Reads `requirements.txt`, `waived.txt`, `to_come.txt` and `claims.txt` next to this file and the tests of the repository, and
//! prints a table. A test covers exactly the ids in its name (`s3_012_…`) and in its own comment (`S3-012`, `S3-001…004`), if the
//! first words of the requirement stand beside them, or if the claim is one of those in `claims.txt`.

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
  --brief           only what is wrong, and the last line
  --bare-claims     list claims without the words of their requirement, in the form of claims.txt";

/// Options of the command line.
#[derive(Debug, Default)]
struct Options {
    shown: Option<BTreeSet<Id>>,
    required: BTreeSet<Id>,
    brief: bool,
    bare_claims: bool,
}

/// Input of the table.
#[derive(Debug, Default)]
struct Table {
    /// Text of each requirement.
    known: BTreeMap<Id, String>,
    /// Reason why a requirement is waived, or what satisfies it instead.
    waived: BTreeMap<Id, String>,
    /// Feature that a requirement waits for.
    to_come: BTreeMap<Id, String>,
    /// Claims that were read by a person, and do not repeat the words of their requirement: file, test and id.
    claims: BTreeSet<(String, String, Id)>,
    covered: BTreeMap<Id, Vec<Mention>>,
    /// Claims without the words of their requirement that are in no list.
    bare: Vec<Mention>,
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
        Ok(table) if options.bare_claims => {
            print!("{}", table.bare_claims());
            ExitCode::SUCCESS
        }
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
            "--bare-claims" => options.bare_claims = true,
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
            to_come: list(&read("to_come.txt")?)?,
            claims: claims(&read("claims.txt")?)?,
            ..Self::default()
        };
        let root = here.parent().expect("the tests are in the repository");
        for mention in scan::repository(root).map_err(|e| e.to_string())? {
            table.add(mention);
        }
        Ok(table)
    }

    /// Counts a mention as cover if it is more than a number.
    fn add(&mut self, mention: Mention) {
        let text = self.known.get(&mention.id).map_or("", String::as_str);
        let claim = (mention.file.clone(), mention.test.clone(), mention.id);
        if mention.repeats(text) || self.claims.contains(&claim) {
            self.covered.entry(mention.id).or_default().push(mention);
        } else {
            self.bare.push(mention);
        }
    }

    /// All claims without words, those of the list, too.
    fn bare_claims(&self) -> String {
        let mut by_test: BTreeMap<(&str, &str), BTreeSet<Id>> = BTreeMap::new();
        for mention in self.covered.values().flatten().chain(&self.bare) {
            let text = self.known.get(&mention.id).map_or("", String::as_str);
            if !mention.repeats(text) {
                let ids = by_test.entry((&mention.file, &mention.test)).or_default();
                ids.insert(mention.id);
            }
        }
        let mut text = String::new();
        for ((file, test), ids) in by_test {
            let ids: Vec<String> = ids.iter().map(Id::to_string).collect();
            text.extend([&ids.join(","), " | ", file, " | ", test, "\n"]);
        }
        text
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
        let [mut covered, mut waived, mut to_come, mut uncovered] = [0, 0, 0, 0];
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
            } else if let Some(feature) = self.to_come.get(id) {
                to_come += 1;
                line(format!("{id:6}  to come    {what} – {feature}"));
            } else {
                uncovered += 1;
                line(format!("{id:6}  uncovered  {what}"));
            }
        }
        let sum = format!(
            "{covered} covered, {waived} waived, {to_come} to come, {uncovered} uncovered\n"
        );
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
        for mention in &self.bare {
            let (id, place) = (mention.id, mention.place());
            problems.push(match self.known.get(&id) {
                Some(text) => format!("{place} names {id} without its first words: {text}"),
                None => format!("{place} names {id}, which does not exist"),
            });
        }
        for id in self.to_come.keys() {
            if !self.known.contains_key(id) {
                problems.push(format!("{id} is to come and does not exist"));
            } else if let Some(mentions) = self.covered.get(id) {
                let place = mentions[0].place();
                problems.push(format!("{id} is to come, and covered by {place}"));
            } else if self.waived.contains_key(id) {
                problems.push(format!("{id} is to come, and waived"));
            }
        }
        let is_listed = |id: &Id| {
            self.covered.contains_key(id)
                || self.waived.contains_key(id)
                || self.to_come.contains_key(id)
        };
        for (id, text) in self.known.iter().filter(|(id, _)| !is_listed(id)) {
            problems.push(format!(
                "{id} is not covered, not waived, and not to come: {text}"
            ));
        }
        let claimed = |claim: &&(String, String, Id)| {
            let mentions = self.covered.get(&claim.2).into_iter().flatten();
            let mut mentions = mentions.map(|one| (&one.file, &one.test));
            !mentions.any(|(file, test)| (file, test) == (&claim.0, &claim.1))
        };
        for (file, test, id) in self.claims.iter().filter(claimed) {
            problems.push(format!("claims.txt: {file} {test} does not name {id}"));
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

/// Parses the list of claims: ids, file and test in each line.
fn claims(text: &str) -> Result<BTreeSet<(String, String, Id)>, String> {
    let mut claims = BTreeSet::new();
    for line in text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
    {
        let wrong = || format!("claims.txt: no claim: {line}");
        let (ids, rest) = line.split_once(" | ").ok_or_else(wrong)?;
        let (file, test) = rest.split_once(" | ").ok_or_else(wrong)?;
        for id in ids::ranges(ids).ok_or_else(wrong)? {
            claims.insert((file.to_owned(), test.to_owned(), id));
        }
    }
    Ok(claims)
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
        let source = "/// S3-001 one\n#[test]\nfn a() {}\n#[test]\nfn s3_002_b() {}\n";
        let mut table = Table {
            known: list("S3-001 one\nS3-002 two\nS3-003 three\nS3-004 four").unwrap(),
            waived: list("# none\nS3-003 – as four").unwrap(),
            to_come: list("S3-004 – jobs").unwrap(),
            claims: claims("# read\nS3-002 | a.rs | s3_002_b").unwrap(),
            ..Table::default()
        };
        for mention in scan::rust("a.rs", source) {
            table.add(mention);
        }
        table
    }

    #[test]
    fn the_table_says_what_is_covered_waived_and_uncovered() {
        let (text, problems) = table().show(&Options::default());
        let expected = "\
S3-001  covered    one
                     a.rs:3 a
S3-002  covered    two
                     a.rs:5 s3_002_b
S3-003  waived     three – as four
S3-004  to come    four – jobs
2 covered, 1 waived, 1 to come, 0 uncovered
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
        assert_eq!(text, "0 covered, 1 waived, 1 to come, 0 uncovered\n");
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
            "S3-001 is waived, and covered by a.rs:3 a",
            "a.rs:5 s3_002_b names S3-002, which does not exist",
            "S9-001 is waived and does not exist",
        ];
        assert_eq!(table.problems(&BTreeSet::new()), expected);
        let mut table = self::table();
        table.to_come = list("S3-002..003 – jobs\nS9-001 – jobs").unwrap();
        table
            .claims
            .insert(("a.rs".into(), "gone".into(), id("S3-001")));
        for mention in scan::rust("b.rs", "/// S3-002\n#[test]\nfn bare() {}\n") {
            table.add(mention);
        }
        let expected = [
            "b.rs:3 bare names S3-002 without its first words: two",
            "S3-002 is to come, and covered by a.rs:5 s3_002_b",
            "S3-003 is to come, and waived",
            "S9-001 is to come and does not exist",
            "S3-004 is not covered, not waived, and not to come: four",
            "claims.txt: a.rs gone does not name S3-001",
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
